r"""The synthetic sweep once more: groups by the paper's rule, by others near it, by likelihood.

Beyond the paper. Experts, instances, opinions and gaps are those of
:func:`siscm.synthetic.sweep.sweep`, so the groups planted are known, and every two of a group share
their noise always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, partial
from itertools import chain

import numpy as np
import pandas as pd

from siscm.beyond.chunks import split
from siscm.beyond.sharing import NODES, SharingEvidence
from siscm.beyond.sharing_fit import N_PARTS, choose_groups, experts_sharing
from siscm.beyond.tolerance import expected_violations, forgive, half_samples
from siscm.checks import FloatArray
from siscm.graph import SimilarityGraph
from siscm.opinions import Opinions
from siscm.pairs import opinion_marginals
from siscm.partition import Groups, greedy
from siscm.pooled import PooledMarginals
from siscm.synthetic.learned_sweep import LEARNERS, learn
from siscm.synthetic.pair_losses import same_group
from siscm.synthetic.planted import GROUP_SIZES, SyntheticPanel
from siscm.synthetic.recovery import adjusted_rand
from siscm.synthetic.sweep import N_RESTARTS, Given, Row, Run, about, grid, run_each

MARGINALS = TRUE, ALONE, ALONE_APART, POOLED_SEEN, POOLED = (
    "true",
    "an expert alone",
    "alone, out-of-fold",
    "pooled, in-sample",
    "pooled",
)
"""Known; a classifier from each expert's own opinions, as in the paper, but by logistic regression,
of opinions that it has seen and of those that it has not; and likewise
:class:`siscm.pooled.PooledMarginals`, for which out-of-fold goes without saying."""

RULES = PAPER, TOLERANT, LIKELIHOOD = ("the paper's rule", "with a tolerance", "by likelihood")
"""One violation parts two experts; more than chance explains does; the likeliest groups."""

NEAR = UNMET, LOG_LOSS = ("unmet pairs allowed", "and by log-loss")
"""The paper's rule, but that two who never met can be similar too; and that, too, edges have the
log-loss for weights. With true marginals only, where no violation parts who is similar."""

N_FOLDS = 5
"""Parts of the instances for what is out-of-fold, as in :class:`siscm.pooled.PooledMarginals`."""

MANY_RESTARTS = N_RESTARTS * (len(NODES) - 1)
"""Of :data:`NEAR`: as many as the likelihood takes, at all its values of the sharing together."""

N_REPLICATES = 20
"""Halves of the instances from which tolerance learns what estimates are worth."""

N_TRAIN, SPARSITIES = (20, 50, 100, 200), (0.1, 0.6, 0.8, 0.95)

RUNS = tuple(grid(2, N_TRAIN, SPARSITIES))
"""Two runs of each cell of this grid."""

PATIENT = 0.1
"""The sparsity at which the rule with a tolerance is tried too, which takes long."""


def graded_sweep(
    seed: int = 0,
    *,
    runs: Sequence[Run] = RUNS,
    marginals: Sequence[str] = MARGINALS,
    group_sizes: Sequence[int] = GROUP_SIZES,
    n_jobs: int = 1,
) -> pd.DataFrame:
    r"""Find groups that are known, by :data:`RULES` and :data:`NEAR`, marginals true and learned.

    Parameters
    ----------
    seed, runs, group_sizes, n_jobs
        As in :func:`siscm.synthetic.sweep.run_each`.
    marginals
        Of :data:`MARGINALS`.

    Returns
    -------
    DataFrame
        A row a run, ``marginals`` and ``rule``: ``ari``, what :func:`siscm.synthetic.sweep.about`
        says of the run with the graph of the paper's rule; and where groups are likeliest,
        ``one_group``, whether one group of all predicts better than these, and ``within`` and
        ``across``, the sharing :math:`\lambda` in what predicts better of two of one planted group,
        and of two who are not, means over pairs.
    """
    function = partial(_rows, marginals=marginals)
    return run_each(function, runs, seed, 1, group_sizes, n_jobs)


def _rows(given: Given, marginals: Sequence[str]) -> list[Row]:
    """The rows of one run."""
    learned = _marginals(marginals, given.train, given.kept)
    return list(chain(*(_rows_of(given, name, log_p) for name, log_p in learned.items())))


def _rows_of(given: Given, name: str, log_p: FloatArray) -> list[Row]:
    panel, kept, rng = given.train, given.kept, deepcopy(given.rng)
    graph = SimilarityGraph.from_opinions(log_p, kept)
    known = about(given, graph) | {"marginals": name}

    def row(rule: str, groups: Groups, **sharing: float) -> Row:
        return {**known, "rule": rule, "ari": adjusted_rand(groups, panel.groups), **sharing}

    rows = [row(PAPER, greedy(graph, N_RESTARTS, rng=rng))]
    if name == TRUE:
        log_loss = SimilarityGraph.from_opinions(log_p, kept, loss="log")
        for rule, other in zip(NEAR, (graph, log_loss), strict=True):
            fresh = deepcopy(given.rng)
            rows.append(row(rule, greedy(other.with_unmet_pairs(), MANY_RESTARTS, rng=fresh)))
    if name == ALONE and given.run.sparsity == PATIENT:
        halves = half_samples(lambda some: _alone(panel, kept, some), kept, N_REPLICATES, rng)
        forgiving = forgive(graph, expected_violations(log_p, halves, kept))
        rows.append(row(TOLERANT, greedy(forgiving, N_RESTARTS, rng=rng)))
    parts = [SharingEvidence.from_opinions(*part) for part in split(log_p, kept, N_PARTS, rng=rng)]
    likeliest, groups, evidence = choose_groups(parts, N_RESTARTS, rng=rng)
    sharing = _sharing(groups, experts_sharing(evidence), panel)
    rows.append(row(LIKELIHOOD, likeliest, one_group=len(groups) == 1, **sharing))
    return rows


def _marginals(
    names: Sequence[str], panel: SyntheticPanel, kept: Opinions
) -> dict[str, FloatArray]:
    """Log-marginals (n_opinions, k) of each name."""
    pooled = cache(lambda: PooledMarginals().fit(panel.X, kept))
    ways: dict[str, Callable[[], FloatArray]] = {
        TRUE: lambda: opinion_marginals(panel.log_marginals, kept),
        ALONE: lambda: _alone(panel, kept, kept),
        ALONE_APART: lambda: _alone_out_of_fold(panel, kept),
        POOLED_SEEN: lambda: pooled().log_marginals(panel.X, kept),
        POOLED: lambda: pooled().out_of_fold_,
    }
    return {name: ways[name]() for name in names}


def _alone_out_of_fold(panel: SyntheticPanel, kept: Opinions) -> FloatArray:
    """By classifiers of each expert that learned from other instances."""
    fold = np.random.default_rng(0).permutation(len(kept.instances)) % N_FOLDS
    log_p = np.empty((len(kept), kept.n_classes))
    for i in range(N_FOLDS):
        here = fold[kept.instance_codes] == i
        others = kept.select(instances=kept.instances[fold != i])
        log_p[here] = _alone(panel, kept, others)[here]
    return log_p


def _alone(panel: SyntheticPanel, kept: Opinions, some: Opinions) -> FloatArray:
    """Of everything kept, by classifiers of each expert that learned from some of it."""
    rows = kept.instances.get_indexer(some.instances)
    learned = learn(
        LEARNERS["logit"].classifier, panel.X[rows], some, panel.X, np.random.default_rng(0)
    )
    return learned[kept.instance_codes, kept.expert_codes]


def _sharing(groups: Groups, a: FloatArray, panel: SyntheticPanel) -> dict[str, float]:
    n = len(a)
    share = np.where(same_group(groups, n), np.multiply.outer(a, a), 0.0)
    planted = same_group(panel.groups, n)
    pairs = np.triu(np.ones((n, n), dtype=bool), 1)
    return {
        "within": float(share[pairs & planted].mean()),
        "across": float(share[pairs & ~planted].mean()),
    }
