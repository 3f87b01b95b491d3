r"""Groups and sharing by maximum composite likelihood: who shares a noise with whom, how much.

Where two are in one group, what they say counts as the law at the sharing :math:`\lambda`, across
groups as :math:`p\,q^\top` (see :mod:`siscm.beyond.sharing`). Both the partition and
:math:`\lambda` are chosen to make what was said likeliest, pair by pair: first one :math:`\lambda`
for all, with the groups that Algorithm 1 finds at it; then each expert's own :math:`a_h`, near to
those of the others unless her opinions say otherwise. Pairs on one instance are added up as if
independent, so this is a composite likelihood, not that of all opinions at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from functools import partial, reduce
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logit

from siscm import partition
from siscm.beyond.chunks import Source, each
from siscm.beyond.noises import Noise
from siscm.beyond.sharing import MOST, NODES, SharingEvidence, merged, total_log_likelihood
from siscm.beyond.sharing_errors import SPREAD, errors, fall_if_shifted, interval_ends
from siscm.checks import FloatArray, IntArray, check_rng, check_share
from siscm.graph import SimilarityGraph
from siscm.partition import Groups

N_PARTS = 4
"""Parts of the instances by which groups are judged."""

APART = 1e-6
"""Change of the log-loss for which two may as well be apart: of equals, the finer partition."""

NoiseChoice = Literal["likeliest", Noise]
"""A noise, or whichever makes the opinions likeliest."""

CANDIDATES: tuple[Noise, ...] = ("gumbel", "gaussian")
"""Noises of which the likeliest is taken: without an order of the labels, and with one."""


class Sharing(NamedTuple):
    """Who shares which noise with whom, and how much."""

    noise: Noise
    groups: Groups
    """Positions of experts: whose opinions say something about each other's."""
    likeliest: Groups
    """The likeliest: the same, unless one group of all predicts better."""
    table: pd.DataFrame
    """By expert: ``sharing``, and the ends ``low``, ``high`` of its 95 % interval; without these if
    it was given, or if no two of one group met."""


def fit_sharing(
    chunks: Sequence[Source],
    noise: NoiseChoice = "likeliest",
    n_restarts: int = 3,
    *,
    rng: np.random.Generator,
    groups: Groups | None = None,
    sharing: FloatArray | None = None,
) -> Sharing:
    """Who shares a noise with whom and how much, from chunks of instances.

    The chunks are read once for each noise tried, and once for the intervals. At any time memory
    holds the chunks at work, what they say, and the evidence of :data:`N_PARTS` parts: for each, at
    most 192 bytes for every pair of experts who met. The result does not depend on how many work,
    or where, as ``joblib.parallel_config`` says (see :func:`siscm.beyond.chunks.total`); on how
    instances are dealt out among chunks it depends as on the folds of any cross-validation.

    Parameters
    ----------
    chunks
        Log-marginals and opinions about instances, or functions that load them: see
        :mod:`siscm.beyond.chunks`. Their number modulo :data:`N_PARTS` says by which part they
        judge.
    noise
        As for :meth:`siscm.beyond.sharing.SharingEvidence.from_opinions`, or ``"likeliest"`` of
        :data:`CANDIDATES`, of which one takes the labels to be in order.
    n_restarts
        Runs of Algorithm 1 at each sharing.
    rng
        Of Algorithm 1; each noise gets the same.
    groups, sharing
        Positions of experts, and :math:`a_h` (H,), to use instead of learning them.

    Raises
    ------
    ValueError
        If the chunks cannot be read twice, are too few, or do not fit each other.
    """
    if isinstance(chunks, Iterator):
        raise ValueError(
            "chunks are read twice, but a generator can be read once; give a list, of functions "
            "that load them if they are large."
        )
    rng, best = check_rng(rng), -np.inf
    for a in () if sharing is None else sharing:
        check_share(a, "sharing")
    for candidate in CANDIDATES if noise == "likeliest" else (noise,):
        parts = _evidence_by_part(chunks, candidate, at_least=2 if groups is None else 1)
        if groups is None:
            likeliest, found, evidence = choose_groups(parts, n_restarts, rng=deepcopy(rng))
        else:
            likeliest = found = groups
            evidence = merged([part.inside(groups) for part in parts])
        del parts
        a = experts_sharing(evidence) if sharing is None else sharing
        if len(a) != len(evidence.experts):
            raise ValueError(f"sharing is of {len(a)} experts, but {len(evidence.experts)} spoke.")
        likely = total_log_likelihood(evidence, a)
        if likely > best:
            table = pd.DataFrame({"sharing": a}, index=evidence.experts)
            best, fall = likely, None
            chosen = Sharing(candidate, found, likeliest, table)
            if sharing is None and len(evidence.key):
                fall = fall_if_shifted(evidence, a)
        del evidence
    if fall is not None:
        a = chosen.table["sharing"].to_numpy()
        off = errors(chunks, chosen.groups, a, chosen.noise)
        chosen.table["low"], chosen.table["high"] = interval_ends(a, off, fall)
    return chosen


def _evidence_by_part(
    chunks: Sequence[Source], noise: Noise, at_least: int
) -> list[SharingEvidence]:
    parts: list[SharingEvidence] = []
    task = partial(SharingEvidence.from_opinions, noise=noise)
    for number, evidence in enumerate(each(task, chunks)):
        if number < N_PARTS:
            parts.append(evidence)
        else:
            parts[number % N_PARTS] += evidence
    if len(parts) < at_least:
        raise ValueError(
            f"{len(parts)} chunks are too few, for groups are judged by chunks that they were not "
            f"learned from; give at least 2, better {N_PARTS} or more."
        )
    return parts


def likelihood_graph(
    experts: pd.Index[Any], key: IntArray, log_likelihood: FloatArray
) -> SimilarityGraph:
    r"""Every pair of experts, weighted by what one :math:`\lambda` would change of the log-loss.

    That of inferring each opinion from the other, summed over instances: minus twice the
    log-likelihood of the pair. So the partition that is likeliest pair by pair solves a clique
    partitioning problem again (Section 6, Eq. 7). All pairs have an edge, for no contradiction is
    proof, and two who never met weigh next to nothing, :data:`APART`: others must ask for them to
    be together.

    Parameters
    ----------
    experts, key
        As in :class:`~siscm.beyond.sharing.SharingEvidence`.
    log_likelihood
        (P,): of each pair, at that :math:`\lambda`.
    """
    n = len(experts)
    change = APART * np.triu(np.ones((n, n)), 1)  # both directions at once
    change.reshape(-1)[key] -= 2 * log_likelihood
    once = 1 - np.eye(n, dtype=np.int64)  # weights are means over meetings; here, sums
    return SimilarityGraph(experts, once, np.zeros_like(once), change, "log")


def likeliest_groups(
    experts: pd.Index[Any],
    key: IntArray,
    at_nodes: Iterable[FloatArray],
    n_restarts: int,
    *,
    rng: np.random.Generator,
) -> Groups:
    r"""The partition likeliest pair by pair, one :math:`\lambda` for all its groups.

    For each of :data:`siscm.beyond.sharing.NODES` Algorithm 1 cuts the graph of log-likelihoods,
    and the best of all is returned.

    Parameters
    ----------
    experts, key
        As in :class:`~siscm.beyond.sharing.SharingEvidence`.
    at_nodes
        Log-likelihoods of all pairs (P,) at each node but the first, as
        :meth:`~siscm.beyond.sharing.SharingEvidence.at_nodes` returns them.
    n_restarts
        Runs of Algorithm 1 at each sharing.
    rng
        Of Algorithm 1.

    """
    best: Groups = [[h] for h in range(len(experts))]
    best_value = 0.0
    for log_likelihood in at_nodes:
        graph = likelihood_graph(experts, key, log_likelihood)
        groups = partition.greedy(graph, n_restarts, rng=rng)
        value = partition.objective(graph, groups)
        if value < best_value - partition.ROUNDING:
            best, best_value = groups, value
    return best


def choose_groups(
    parts: Sequence[SharingEvidence], n_restarts: int, *, rng: np.random.Generator
) -> tuple[Groups, Groups, SharingEvidence]:
    """Groups as the data have them, and whichever predicts better: these, or one group of all.

    Groups that were chosen because their experts agreed promise more sharing than there is. So
    groups are learned without each part of the instances in turn, and what is inside them counts
    only on that part.

    Parameters
    ----------
    parts
        Evidence about the same experts from disjoint instances, two parts at least.
    n_restarts
        Runs of Algorithm 1 at each sharing.
    rng
        Picks where Algorithm 1 begins.

    Returns
    -------
    likeliest
        Learned from all parts.
    groups
        These, or one group of all experts.
    evidence
        Of the pairs inside groups that were learned without them: what sharing is learned from.
    """
    # The evidence of all parts takes as much memory as some of them; only what is needed is kept.
    everything = merged(parts)
    experts, key, at_nodes = everything.experts, everything.key, everything.at_nodes()
    one_group = everything.together_at_nodes().max()
    del everything
    learned = []
    for part in parts:
        others = _differences(at_nodes, part.at_nodes(), np.searchsorted(key, part.key))
        learned.append(likeliest_groups(experts, key, others, n_restarts, rng=rng))
    likeliest = likeliest_groups(experts, key, at_nodes, n_restarts, rng=rng)
    del at_nodes
    insides = (part.inside(found) for part, found in zip(parts, learned, strict=True))
    honest = reduce(add, insides)
    if honest.together_at_nodes().max() >= one_group:
        return likeliest, likeliest, honest
    del honest
    return likeliest, [list(range(len(experts)))], merged(parts)


def _differences(total: FloatArray, part: FloatArray, place: IntArray) -> Iterator[FloatArray]:
    """Rows of a total without those of a part, one at a time."""
    for row, left_out in zip(total, part, strict=True):
        others = row.copy()
        others[place] -= left_out
        yield others


def experts_sharing(evidence: SharingEvidence) -> FloatArray:
    r"""Each expert's sharing (H,) of her group's noise: :math:`a_h`.

    The values with the largest sum of the pairs' log-likelihoods and the log-density of log-odds
    that are normal around a mean, learned too, with standard deviation
    :data:`~siscm.beyond.sharing_errors.SPREAD`. As pairs on an instance count as if independent,
    the prior weighs less than in a posterior. Whoever met nobody of her group gets the mean.

    Parameters
    ----------
    evidence
        Of the pairs of one group, as from :func:`choose_groups`.
    """
    if not len(evidence.key):
        return np.zeros(len(evidence.experts))
    common = NODES[evidence.together_at_nodes().argmax()]
    mean = float(logit(np.sqrt(np.clip(common, 0.01, MOST))))
    start = np.full(len(evidence.experts), mean)
    # Beyond, the likelihood of a pair is flat, and a search may end where sharing is certain.
    bounds = [(None, float(logit(np.sqrt(MOST))))] * len(start)
    found = minimize(_minus_penalised, start, (evidence,), "L-BFGS-B", jac=True, bounds=bounds)
    return np.asarray(expit(found.x))


def _minus_penalised(log_odds: FloatArray, evidence: SharingEvidence) -> tuple[float, FloatArray]:
    """Minus that sum at the experts' log-odds, up to a constant, and its gradient."""
    a, gradient = expit(log_odds), np.zeros(len(log_odds))
    first, second = evidence.first, evidence.second
    pair = a[first] * a[second]
    value, slope = evidence.log_likelihood(np.minimum(pair, MOST))
    up = slope * pair
    for h in (first, second):
        gradient += np.bincount(h, up * (1 - a[h]), minlength=len(a))
    away = log_odds - log_odds.mean()
    penalty = (away**2).sum() / (2 * SPREAD**2)
    return float(penalty - value.sum()), away / SPREAD**2 - gradient
