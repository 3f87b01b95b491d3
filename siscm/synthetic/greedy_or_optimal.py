r"""How good Algorithm 1 is: beside the best partition there is, on runs of the synthetic sweep.

Two questions that have different answers. How much of the objective (Section 6, Eq. 7) does the
greedy algorithm miss, and do more restarts or a local search find it? And is a partition with a
better objective nearer to the groups that are planted, and its loss lower?

``make sweep-exact`` answers for all 225 runs, and for as many of each other seed; it
writes ``expected/synthetic_exact.json``.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy

from siscm import partition
from siscm.compendium.pages import today, write_expected
from siscm.graph import SimilarityGraph
from siscm.integer_programme import Limits
from siscm.partition import TOLERANCE
from siscm.synthetic.planted import GROUP_SIZES
from siscm.synthetic.recovery import adjusted_rand
from siscm.synthetic.sweep import N_RESTARTS, N_TEST, Given, Row, Run, about, grid, run_each

RUNS = tuple(grid(n_repeats=1))
"""One run of each cell of the sweep's grid."""

OTHER_SEEDS = (1, 2)
"""Draw other experts and other instances for the same runs."""

METHODS = ("greedy", "restarts", "local search", "exact", "planted")
"""Algorithm 1 as in the paper; with ten times the restarts; with as many as in the paper and a
local search after each; the best partition; and the groups that are planted."""

DRIFT = 0.005
"""How near recomputed figures must come to those recorded."""

MORE_RESTARTS = 10 * N_RESTARTS
"""Runs of Algorithm 1 where it is given ten times as many."""

RATIOS = (0.0, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0)
"""Bounds of the bands of edge ratios that are looked at apart."""


def compare(
    seed: int = 0,
    *,
    runs: Sequence[Run] = RUNS,
    unmet: bool = False,
    node_limit: int = Limits.nodes,
    n_test: int = N_TEST,
    group_sizes: Sequence[int] = GROUP_SIZES,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Partition the graphs of some runs of the sweep by every method.

    Graphs, and the groups of the method ``greedy``, are those of
    :func:`siscm.synthetic.sweep.sweep` with this seed, unless ``unmet``. The methods with more
    restarts or with local search begin with the same restarts, so they are never worse.

    Parameters
    ----------
    seed, runs, n_test, group_sizes, n_jobs
        As in :func:`siscm.synthetic.sweep.run_each`.
    unmet
        Whether two who never met can be in one group
        (:meth:`siscm.graph.SimilarityGraph.with_unmet_pairs`).
    node_limit
        As in :func:`siscm.partition.exact`.

    Returns
    -------
    DataFrame
        A row a run (``repeat``, ``m``, ``s``) and ``method``, of :data:`METHODS`:

        - what :func:`siscm.synthetic.sweep.about` says of it, pairs who never met having no edge
          there; and ``bound``: no partition into
          cliques has a smaller objective. The same for every method;
        - ``objective`` of the groups found; of those planted infinite if two of a group never
          met, for then they are no cliques. ``gap``, by how much it exceeds the bound, and
          ``optimal``, whether by no more than :data:`siscm.partition.TOLERANCE`;
        - ``groups``, how many; ``ari``, how alike they are to those planted; and ``zero_one``,
          the 0/1 loss over all ordered pairs of experts on test instances.

    Raises
    ------
    ValueError
        As :func:`siscm.synthetic.sweep.run_each`.
    """
    function = partial(_compare, unmet=unmet, node_limit=node_limit)
    return run_each(function, runs, seed, n_test, group_sizes, n_jobs)


def _compare(given: Given, unmet: bool, node_limit: int) -> list[Row]:
    """The rows of one run."""
    planted, rng = given.train.groups, given.rng
    graph = SimilarityGraph.from_opinions(given.train.log_marginals, given.kept)
    known = about(given, graph)
    graph = graph.with_unmet_pairs() if unmet else graph
    best = partition.exact(graph, node_limit=node_limit)
    found = (
        partition.greedy(graph, N_RESTARTS, rng=deepcopy(rng)),
        partition.greedy(graph, MORE_RESTARTS, rng=deepcopy(rng)),
        partition.greedy(graph, N_RESTARTS, rng=deepcopy(rng), local_search=True),
        best.groups,
        planted,
    )
    rows: list[Row] = []
    for method, groups in zip(METHODS, found, strict=True):
        value = partition.objective(graph, groups)
        rows.append(
            {
                **known,
                "bound": best.bound,
                "method": method,
                "objective": value,
                "gap": max(value - best.bound, 0.0),
                "optimal": value - best.bound <= TOLERANCE,
                "groups": len(groups),
                "ari": adjusted_rand(groups, planted),
                "zero_one": given.losses["zero_one"].all_pairs(groups),
            }
        )
    return rows


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """What a table of :func:`compare` says of each method, by bands of the edge ratio.

    Parameters
    ----------
    frame
        As from :func:`compare`. Runs without an edge inside a planted group are left out.

    Returns
    -------
    DataFrame
        A row a band (:data:`RATIOS`) and method: ``runs``; in how many of them the groups are
        cliques, which those planted need not be; how many are ``optimal``, which for the method
        ``exact`` is how many are proven; ``gap`` and ``worst_gap``, mean and largest; and the
        means of ``ari`` and ``zero_one``.
    """
    bands = pd.cut(frame["edge_ratio"], RATIOS)
    method = frame["method"].astype(pd.CategoricalDtype(list(METHODS)))  # for their order
    return frame.groupby([bands, method], observed=True).agg(
        runs=("gap", "size"),
        cliques=("objective", lambda values: np.isfinite(values).sum()),
        optimal=("optimal", "sum"),
        gap=("gap", "mean"),
        worst_gap=("gap", "max"),
        ari=("ari", "mean"),
        zero_one=("zero_one", "mean"),
    )


def record(frame: pd.DataFrame) -> dict[str, Any]:
    """A table of :func:`compare` as it is written down."""
    ratios: dict[str, Any] = {}
    for row in summary(frame).round(4).reset_index().to_dict("records"):
        band, method = row.pop("edge_ratio"), row.pop("method")
        # The gap of planted groups that are no cliques is infinite, which JSON does not know.
        numbers = {str(name): value for name, value in row.items() if np.isfinite(value)}
        ratios.setdefault(f"{band.left:g} to {band.right:g}", {})[method] = numbers
    return ratios


def main() -> None:
    """Compare on all 225 runs of the sweep, and as many of each other seed, and write them down."""
    seed = 0
    runs = grid()
    frame, unmet = (compare(seed, runs=runs, unmet=unmet, n_jobs=-1) for unmet in (False, True))
    others = pd.concat([compare(other, runs=runs, n_jobs=-1) for other in OTHER_SEEDS])
    content = {
        "date": today(),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "seed": seed,
        "tolerance": DRIFT,
        "node_limit": Limits.nodes,
        "round_limit": Limits.rounds,
        "runs": len(runs),
        "edge_ratios": record(frame),
        "one_run_a_cell": record(frame[frame["repeat"] == 0]),
        "unmet": record(unmet),
        "other_seeds": list(OTHER_SEEDS),
        "with_other_seeds": record(others),
    }
    write_expected("synthetic_exact", content)


if __name__ == "__main__":
    main()
