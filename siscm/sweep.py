"""The paper's synthetic sweep (Appendix C): whether planted groups are found, and if it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from siscm import partition
from siscm.checks import BoolArray, FloatArray, IntArray, check_count, check_share
from siscm.evaluation import log_loss
from siscm.graph import SimilarityGraph
from siscm.gumbel import counterfactual_probabilities
from siscm.opinions import Opinions
from siscm.partition import Groups, group_of
from siscm.progress import run_all
from siscm.recovery import adjusted_rand
from siscm.synthetic import GROUP_SIZES, SyntheticPanel, make_synthetic_panel, sparsify

N_TRAIN = (10, 20, 50, 75, 100, 150, 200, 300, 400)
"""Training instances m, as in the released code; the paper's figure shows them."""

SPARSITIES = (0.1, 0.3, 0.6, 0.8, 0.95)

N_TEST, N_REPEATS, N_RESTARTS = 1000, 5, 5
"""Test instances, repeats of every run, and restarts of Algorithm 1, as in the paper."""

MODELS = ("fitted", "true", "singletons")
r"""Whose losses are taken: with the groups found, those planted, and everybody alone."""

Thin = Callable[[Opinions, float, np.random.Generator], Opinions]
"""From the opinions of everybody and a sparsity to those that stay."""


class PairLosses(NamedTuple):
    """Mean losses on test instances, from which the loss under any partition is a sum.

    Parameters
    ----------
    shared
        (H, H): entry [h, h'] is the loss of inferring h' from h as if they shared a noise.
    alone
        (H,): the loss of an expert's marginal.
    """

    shared: FloatArray
    alone: FloatArray

    def all_pairs(self, groups: Groups) -> float:
        """Mean over all ordered pairs of experts; across groups the marginal predicts."""
        inside = same_group(groups, len(self.alone))
        loss = np.where(inside, self.shared, self.alone)
        return float(loss[~np.eye(len(loss), dtype=bool)].mean())

    def own_group(self, groups: Groups) -> float:
        """Mean over targets, the observed expert drawn from the target's group, as it is scored.

        Whoever is alone is predicted by her marginal. The released code's rule, in expectation
        over whom it draws: a model is asked only about pairs that it believes to be similar.
        """
        inside = same_group(groups, len(self.alone)) & ~np.eye(len(self.alone), dtype=bool)
        others = inside.sum(axis=0)
        from_others = np.where(inside, self.shared, 0.0).sum(axis=0) / np.maximum(others, 1)
        return float(np.where(others > 0, from_others, self.alone).mean())


def pair_losses(panel: SyntheticPanel, log_p: FloatArray | None = None) -> dict[str, PairLosses]:
    """0/1 loss and log-loss of every ordered pair of experts.

    The log-loss is taken after mixing in a little of the uniform distribution, as everywhere
    (:data:`siscm.evaluation.UNIFORM_WEIGHT`).

    Parameters
    ----------
    panel
        Test instances, on which every expert gave an opinion.
    log_p
        Log-marginals (n, H, k) to infer with, learned ones for instance; default the true ones.
    """
    log_p, said = panel.log_marginals if log_p is None else log_p, panel.opinions.labels
    rows = [
        _losses(counterfactual_probabilities(log_p[:, [h]], log_p, said[:, [h]]), said)
        for h in range(len(panel.weights))
    ]
    alone = _losses(np.exp(log_p), said)
    return {loss: PairLosses(np.stack([row[loss] for row in rows]), alone[loss]) for loss in alone}


def _losses(law: FloatArray, said: IntArray) -> dict[str, FloatArray]:
    """Mean over instances of both losses of predictions (n, H, k), for each expert."""
    chance = np.take_along_axis(law, said[..., None], axis=-1)[..., 0]
    return {
        "zero_one": (law.argmax(axis=-1) != said).mean(axis=0),
        "log": log_loss(chance, law.shape[-1]).mean(axis=0),
    }


def edge_ratio(graph: SimilarityGraph, groups: Groups) -> float:
    """Of the pairs that can be similar, the share that are: r of the paper; NaN without an edge."""
    edges = graph.edges
    count = int(edges.sum())
    return float(edges[same_group(groups, len(edges))].sum() / count) if count else float("nan")


def same_group(groups: Groups, n_experts: int) -> BoolArray:
    """(H, H): whether two experts are in one group."""
    number = group_of(groups, range(n_experts))
    return np.asarray(number[:, None] == number)


@dataclass(frozen=True)
class Cell:
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


def grid(n_repeats: int, n_train: Sequence[int], sparsities: Sequence[float]) -> list[Cell]:
    """All runs of a grid.

    Raises
    ------
    ValueError
        If ``n_repeats`` is no positive whole number, or :class:`Cell` refuses a run.
    """
    check_count(n_repeats, "n_repeats")
    return [Cell(*of) for of in product(range(n_repeats), n_train, sparsities)]


def about(cell: Cell, graph: SimilarityGraph, planted: Groups) -> dict[str, float]:
    """Which run it is (``repeat``, ``m``, ``s``), and how hard (``edges``, ``edge_ratio``)."""
    return {
        "repeat": cell.repeat,
        "m": cell.n_train,
        "s": cell.sparsity,
        "edges": int(graph.edges.sum()) // 2,
        "edge_ratio": edge_ratio(graph, planted),
    }


def run_cell(
    cell: Cell,
    train: SyntheticPanel,
    losses: Mapping[str, PairLosses],
    rng: np.random.Generator,
    thin: Thin = sparsify,
) -> dict[str, float]:
    """Thin out the opinions, build the graph with true marginals, partition it, and score.

    Parameters
    ----------
    cell
        What to run.
    train
        Training instances; the first ``n_train`` of them are used.
    losses
        Of every pair on the test instances.
    rng
        Picks the opinions that stay and where Algorithm 1 starts.
    thin
        What sparsity means.
    """
    part = train.part(0, cell.n_train)
    kept = thin(part.opinions, cell.sparsity, rng)
    graph = SimilarityGraph.from_opinions(part.log_marginals, kept)
    return partition_and_score(cell, graph, part.groups, losses, rng) | {"opinions": len(kept)}


def partition_and_score(
    cell: Cell,
    graph: SimilarityGraph,
    planted: Groups,
    losses: Mapping[str, PairLosses],
    rng: np.random.Generator,
) -> dict[str, float]:
    """What :func:`about` says of a run, what Algorithm 1 finds, and what each model loses."""
    found = partition.greedy(graph, N_RESTARTS, rng=rng)
    alone = [[h] for h in range(len(graph.experts))]
    row = about(cell, graph, planted) | {
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
    n_train: Sequence[int] = N_TRAIN,
    sparsities: Sequence[float] = SPARSITIES,
    n_repeats: int = N_REPEATS,
    n_test: int = N_TEST,
    group_sizes: Sequence[int] = GROUP_SIZES,
    thin: Thin = sparsify,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Run the synthetic experiment of Appendix C: every m, every s, some repeats.

    Each repeat has experts, training and test instances of its own; within a repeat a larger
    training set begins with the smaller ones. The numbers do not depend on ``n_jobs``. A bar
    shows the progress on a terminal, and nowhere else.

    Parameters
    ----------
    seed
        Every run has a stream of its own that is spawned from it.
    n_train, sparsities, n_repeats, n_test, group_sizes
        The grid, and the panel's sizes; as in the paper by default.
    thin
        What sparsity means: :func:`siscm.released.thin_out` is the other reading.
    n_jobs
        Processes, as in joblib; -1 takes all cores.

    Returns
    -------
    DataFrame
        A row a run: ``repeat``, ``m``, ``s``; ``opinions``, ``edges``, ``edge_ratio`` (r),
        ``groups``, ``objective`` and ``ari`` of what Algorithm 1 found; and for each loss
        (``zero_one``, ``log``) and model (:data:`MODELS`) its mean over all ordered pairs of
        experts, and, with the suffix ``_own_group``, over pairs of one group of that model.

    Raises
    ------
    ValueError
        If the grid is empty, a number is no positive whole number, :class:`Cell` refuses a
        sparsity, there are more test instances than the paper's, or fewer than two experts.
    """
    cells = grid(n_repeats, n_train, sparsities)
    panels = [
        draw_panel(seed, repeat, max(n_train), n_test, group_sizes) for repeat in range(n_repeats)
    ]
    losses = run_all(pair_losses, ((test,) for _, test in panels), n_repeats, n_jobs, "test sets")
    tasks = (
        (cell, panels[cell.repeat][0], losses[cell.repeat], stream(seed, cell), thin)
        for cell in cells
    )
    return pd.DataFrame(run_all(run_cell, tasks, len(cells), n_jobs))


def draw_panel(
    seed: int,
    repeat: int,
    n_train: int,
    n_test: int = N_TEST,
    group_sizes: Sequence[int] = GROUP_SIZES,
) -> tuple[SyntheticPanel, SyntheticPanel]:
    """The experts of one repeat, on training and on test instances: the sweep's own.

    Fewer test instances are the first of more, and leave the training instances as they are.

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


def stream(seed: int, cell: Cell) -> np.random.Generator:
    """The random numbers of one run: the same whatever else is run, and in whatever order."""
    place = (cell.repeat, cell.n_train, round(cell.sparsity * 1000))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))
