r"""What the paper's Monte Carlo costs the fit: signs, predictions and groups changed by chance.

The paper estimates every counterfactual distribution with T draws of the noise (Eq. 5). Given the
opinion observed, each draw is an answer of the target, independent of the others and distributed
by the exact law. So the T answers of a pair are one multinomial sample of that law, and can be
drawn as such (:func:`siscm.cifar10h.released.frequencies`), at a cost that hardly grows with T. A
weight is a loss under shared noise minus a loss under :math:`\mathcal M(\mathcal H)`, and both are
drawn (:func:`siscm.cifar10h.released.graph_by_draws`). Violations, and so the edges, need no draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import partial

import numpy as np
import pandas as pd

from siscm import partition
from siscm.checks import BoolArray, FloatArray, IntArray, check_count
from siscm.cifar10h.released import frequencies, graph_by_draws
from siscm.graph import SimilarityGraph
from siscm.gumbel import counterfactual_probabilities
from siscm.inference import predict
from siscm.synthetic.pair_losses import same_group
from siscm.synthetic.planted import GROUP_SIZES, SyntheticPanel
from siscm.synthetic.recovery import adjusted_rand
from siscm.synthetic.sweep import N_RESTARTS, Given, Row, Run, about, run_each

RUNS = (Run(0, 20, 0.6), Run(0, 100, 0.8), Run(0, 50, 0.6))
"""Runs of the sweep that are looked at: two that are hard to partition, and an easier one."""

N_SAMPLES = (100, 500, 1000, 5000)
"""Numbers of draws T; the paper takes 500 on synthetic and 1,000 on real data."""


def sampling_cost(
    seed: int = 0,
    *,
    runs: Sequence[Run] = RUNS,
    n_samples: Sequence[int] = N_SAMPLES,
    n_draws: int = 10,
    n_test: int = 50,
    group_sizes: Sequence[int] = GROUP_SIZES,
) -> pd.DataFrame:
    r"""Fit runs of the sweep by the exact law and by Monte Carlo, and count what differs.

    The opinions are those of :func:`siscm.synthetic.sweep.sweep` with this seed, the marginals the
    true ones. Algorithm 1 starts from the same experts with the exact weights and with the
    estimated.

    Parameters
    ----------
    seed
        As in :func:`siscm.synthetic.sweep.sweep`.
    runs
        Which of its runs.
    n_samples
        Numbers of draws: T.
    n_draws
        How often everything is drawn anew.
    n_test
        Test instances: the first of the sweep's.
    group_sizes
        As in the paper by default.

    Returns
    -------
    DataFrame
        A row a run (``repeat``, ``m``, ``s``), ``n_samples`` and ``draw``:

        - what :func:`siscm.synthetic.sweep.about` says of it, the same for every law;
        - ``signs``, the share of edges whose weight is of another sign (minus, zero, plus) than
          by the exact law; ``sides``, the share for which that decides whether two experts alone
          would form a group (they do up to zero);
        - ``predictions``, the share of test opinions, inferred from another of the same planted
          group, for which another label comes out likeliest; and ``zero_one``, their loss;
        - ``ari_exact`` and ``ari_planted``: how alike the groups found are to those found with
          the exact weights, and to those planted.

        Rows with ``n_samples`` infinite are the exact law with other restarts of Algorithm 1: what
        chance does to the groups without any sampling.

    Raises
    ------
    ValueError
        If a number of draws is no positive whole number, there are more test instances than the
        sweep has, or fewer than two experts.
    """
    for number in (n_draws, *n_samples):
        check_count(number, "each number of draws")
    function = partial(_compare, n_samples=n_samples, n_draws=n_draws)
    return run_each(function, runs, seed, n_test, group_sizes)


def _compare(given: Given, n_samples: Sequence[int], n_draws: int) -> list[Row]:
    """The rows of one run."""
    kept, log_p, rng = given.kept, given.train.log_marginals, given.rng
    exact = SimilarityGraph.from_opinions(log_p, kept)
    found = partition.greedy(exact, N_RESTARTS, rng=deepcopy(rng))
    expected, truth = _inferred(given.test)
    known, rows = about(given, exact), []
    for draws in (*n_samples, np.inf):
        for draw, own in enumerate(rng.spawn(n_draws)):
            if np.isfinite(draws):
                graph = graph_by_draws(log_p, kept, int(draws), own)
                inferred, restarts = frequencies(expected, int(draws), own), deepcopy(rng)
            else:
                graph, inferred, restarts = exact, expected, own
            groups = partition.greedy(graph, N_RESTARTS, rng=restarts)
            weight, estimate = exact.weights[exact.edges], graph.weights[exact.edges]
            rows.append(
                {
                    **known,
                    "n_samples": draws,
                    "draw": draw,
                    "signs": _share(np.sign(estimate) != np.sign(weight)),
                    "sides": _share((estimate > 0) != (weight > 0)),
                    "predictions": _share(predict(inferred) != predict(expected)),
                    "zero_one": _share(predict(inferred) != truth),
                    "ari_exact": adjusted_rand(groups, found),
                    "ari_planted": adjusted_rand(groups, given.train.groups),
                }
            )
    return rows


def _share(those: BoolArray) -> float:
    return float(those.mean()) if those.size else float("nan")


def _inferred(test: SyntheticPanel) -> tuple[FloatArray, IntArray]:
    """The exact law (n, pairs, k) of all ordered pairs of one planted group, and what was said.

    Only there does a model use the law; across groups it predicts by the marginal.
    """
    log_p, said = test.log_marginals, test.opinions.labels
    h = np.arange(said.shape[1])
    similar = same_group(test.groups, len(h)) & (h[:, None] != h)
    observed, target = np.nonzero(similar)
    law = counterfactual_probabilities(log_p[:, observed], log_p[:, target], said[:, observed])
    return law, said[:, target]
