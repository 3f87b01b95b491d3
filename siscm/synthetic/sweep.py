"""The paper's synthetic sweep (Appendix C): whether planted groups are found, and if it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
import pandas as pd

from siscm import partition
from siscm.checks import check_count, check_share
from siscm.graph import SimilarityGraph
from siscm.opinions import Opinions
from siscm.partition import Groups
from siscm.progress import run_all
from siscm.synthetic.pair_losses import PairLosses, pair_losses, same_group
from siscm.synthetic.planted import GROUP_SIZES, SyntheticPanel, make_synthetic_panel, sparsify
from siscm.synthetic.recovery import adjusted_rand

N_TRAIN = (10, 20, 50, 75, 100, 150, 200, 300, 400)
"""Training instances m, as in the released code; the paper's text names none."""

SPARSITIES = (0.1, 0.3, 0.6, 0.8, 0.95)

N_TEST, N_REPEATS, N_RESTARTS = 1000, 5, 5
"""Test instances, repeats of every run, and restarts of Algorithm 1, as in the paper."""

MODELS = ("fitted", "true", "singletons")
r"""Whose losses are taken: with the groups found, those planted, and everybody alone."""

Thin = Callable[[Opinions, float, np.random.Generator], Opinions]
"""From the opinions of everybody and a sparsity to those that stay."""

Row = dict[str, str | float]
"""What is told of a run, by column."""


def edge_ratio(graph: SimilarityGraph, groups: Groups) -> float:
    """Of the pairs that can be similar, the share that are: r of the paper; NaN without an edge."""
    edges = graph.edges
    count = int(edges.sum())
    return float(edges[same_group(groups, len(edges))].sum() / count) if count else float("nan")


@dataclass(frozen=True)
class Run:
    """One run of the sweep.

    Parameters
    ----------
    repeat, n_train, sparsity
        Which experts; m of the paper; and s, to three decimals: so :func:`stream` tells runs apart.

    Raises
    ------
    ValueError
        If m is no positive whole number, or s not in [0, 1] or of more decimals.
    """

    repeat: int
    n_train: int
    sparsity: float

    def __post_init__(self) -> None:
        check_count(self.n_train, "n_train")
        check_share(self.sparsity, "sparsity")
        if abs(self.sparsity - round(self.sparsity, 3)) > 1e-9:
            raise ValueError(f"sparsity is {self.sparsity}; round it to three decimals.")


def grid(
    n_repeats: int = N_REPEATS,
    n_train: Sequence[int] = N_TRAIN,
    sparsities: Sequence[float] = SPARSITIES,
) -> list[Run]:
    """All runs of a grid, by default of the paper's.

    Parameters
    ----------
    n_repeats
        How often experts are drawn anew.
    n_train
        Training instances, m of the paper.
    sparsities
        Shares of opinions left out, s of the paper.

    Raises
    ------
    ValueError
        If ``n_repeats`` is no positive whole number, or :class:`Run` refuses a run.
    """
    check_count(n_repeats, "n_repeats")
    return [Run(*of) for of in product(range(n_repeats), n_train, sparsities)]


RUNS = tuple(grid())
"""The experiment's: every m and sparsity, in each repeat."""


@dataclass(frozen=True)
class Given:
    """What a run has to work with.

    Parameters
    ----------
    run
        Which run it is.
    train, kept
        Training instances, and the opinions about them that stay.
    apart
        As many other instances, with all opinions.
    test, losses
        Test instances, and what :func:`siscm.synthetic.pair_losses.pair_losses` says of them.
    rng
        Random numbers that nothing else is drawn from, whatever else is run.
    """

    run: Run
    train: SyntheticPanel
    kept: Opinions
    apart: SyntheticPanel
    test: SyntheticPanel
    losses: Mapping[str, PairLosses]
    rng: np.random.Generator


def run_each(
    function: Callable[[Given], Sequence[Row]],
    runs: Sequence[Run],
    seed: int,
    n_test: int,
    group_sizes: Sequence[int],
    n_jobs: int = 1,
    thin: Thin = sparsify,
) -> pd.DataFrame:
    """What a function finds in each run: the rows of one table, in the order of the runs.

    Each repeat has experts, training and test instances of its own; within a repeat a larger
    training set begins with the smaller ones. The numbers do not depend on ``n_jobs``. A bar
    shows the progress on a terminal, and nowhere else.

    Parameters
    ----------
    function
        From what a run is given to its rows.
    runs, seed
        Every run has a stream of its own that is spawned from the seed.
    n_test, group_sizes
        As in :func:`draw_panel`.
    n_jobs
        Processes, as in joblib; -1 takes all cores.
    thin
        What sparsity means.

    Raises
    ------
    ValueError
        If there is no run, or :func:`draw_panel` refuses the sizes.
    """
    if not runs:
        raise ValueError("runs is empty; give at least one.")
    largest, repeats = max(run.n_train for run in runs), {run.repeat for run in runs}
    panels = {k: draw_panel(seed, k, 2 * largest, n_test, group_sizes) for k in repeats}
    tests = ((test,) for _, test in panels.values())
    losses = run_all(pair_losses, tests, len(panels), n_jobs, "test sets")
    losses_of = dict(zip(panels, losses, strict=True))

    def given(run: Run) -> Given:
        both, test = panels[run.repeat]
        train, apart = (both.part(start, start + run.n_train) for start in (0, largest))
        rng = stream(seed, run)
        kept = thin(train.opinions, run.sparsity, rng)
        return Given(run, train, kept, apart, test, losses_of[run.repeat], rng)

    # The longest first, so that no process is left alone with one at the end.
    order = np.argsort([-run.n_train for run in runs], kind="stable")
    found = run_all(function, ((given(runs[i]),) for i in order), len(runs), n_jobs)
    return pd.DataFrame(chain(*(found[i] for i in np.argsort(order))))


def about(given: Given, graph: SimilarityGraph) -> Row:
    """Which run it is (``repeat``, ``m``, ``s``), and how hard.

    That is ``opinions``, how many stay, and ``edges`` and ``edge_ratio`` of the graph.
    """
    return {
        "repeat": given.run.repeat,
        "m": given.run.n_train,
        "s": given.run.sparsity,
        "opinions": len(given.kept),
        "edges": int(graph.edges.sum()) // 2,
        "edge_ratio": edge_ratio(graph, given.train.groups),
    }


def score_run(given: Given) -> list[Row]:
    """Build the graph with true marginals, partition it, and score: the row of one run."""
    graph = SimilarityGraph.from_opinions(given.train.log_marginals, given.kept)
    return [partition_and_score(given, graph, given.losses)]


def partition_and_score(
    given: Given, graph: SimilarityGraph, losses: Mapping[str, PairLosses]
) -> Row:
    """What :func:`about` says of a run, what Algorithm 1 finds, and what each model loses."""
    planted, alone = given.train.groups, [[h] for h in range(len(graph.experts))]
    found = partition.greedy(graph, N_RESTARTS, rng=deepcopy(given.rng))
    row = about(given, graph) | {
        "groups": len(found),
        "objective": partition.objective(graph, found),
        "ari": adjusted_rand(found, planted),
    }
    for (loss, by_pair), (model, groups) in product(
        losses.items(), zip(MODELS, (found, planted, alone), strict=True)
    ):
        row[f"{loss}_{model}"] = by_pair.all_pairs(groups)
        row[f"{loss}_{model}_own_group"] = by_pair.own_group(groups)
    return row


def sweep(
    seed: int = 0,
    *,
    runs: Sequence[Run] = RUNS,
    n_test: int = N_TEST,
    group_sizes: Sequence[int] = GROUP_SIZES,
    thin: Thin = sparsify,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Run the synthetic experiment of Appendix C.

    Parameters
    ----------
    seed, runs, n_test, group_sizes, n_jobs
        As in :func:`run_each`; as in the paper by default.
    thin
        What sparsity means: :func:`siscm.cifar10h.released.thin_out` is the other reading.

    Returns
    -------
    DataFrame
        A row a run: ``repeat``, ``m``, ``s``; ``opinions``, ``edges``, ``edge_ratio`` (r),
        ``groups``, ``objective`` and ``ari`` of what Algorithm 1 found; and for each loss
        (``zero_one``, ``log``) and model (:data:`MODELS`) its mean over all ordered pairs of
        experts, and, with the suffix ``_own_group``, as the released code scores it
        (:meth:`siscm.synthetic.pair_losses.PairLosses.own_group`).

    Raises
    ------
    ValueError
        As :func:`run_each`.
    """
    return run_each(score_run, runs, seed, n_test, group_sizes, n_jobs, thin)


def draw_panel(
    seed: int,
    repeat: int,
    n_train: int,
    n_test: int = N_TEST,
    group_sizes: Sequence[int] = GROUP_SIZES,
) -> tuple[SyntheticPanel, SyntheticPanel]:
    """The experts of one repeat, on training and on test instances: the sweep's own.

    Fewer test instances are the first of more, and leave the training instances as they are.

    Parameters
    ----------
    seed, repeat
        Of the sweep, and which experts of it.
    n_train, n_test
        How many instances to learn from, and how many to be inferred.
    group_sizes
        As for :func:`siscm.synthetic.planted.make_synthetic_panel`.

    Raises
    ------
    ValueError
        If there is no test instance, there are more than :data:`N_TEST`, or fewer than two experts.
    """
    if check_count(n_test, "n_test") > N_TEST:
        raise ValueError(f"n_test is {n_test}; the sweep has {N_TEST} test instances.")
    if sum(group_sizes) < 2:
        raise ValueError(f"group_sizes={list(group_sizes)}: a pair takes two experts at least.")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(repeat,)))
    panel = make_synthetic_panel(N_TEST + n_train, rng, group_sizes=group_sizes)
    return panel.part(N_TEST, N_TEST + n_train), panel.part(0, n_test)


def stream(seed: int, run: Run) -> np.random.Generator:
    """The random numbers of one run: the same whatever else is run, and in whatever order."""
    place = (run.repeat, run.n_train, round(run.sparsity * 1000))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))
