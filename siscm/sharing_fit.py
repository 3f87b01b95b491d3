r"""Groups and sharing by maximum likelihood: who follows one noise with whom, and how often.

Where two are in one group, what they say counts as :math:`\lambda J + (1 - \lambda)\,p\,q^\top`,
across groups as :math:`p\,q^\top` (see :mod:`siscm.sharing`). Both the partition and
:math:`\lambda` are chosen to make what was said likeliest: first one :math:`\lambda` for all, with
the groups that Algorithm 1 finds at it; then each expert's own :math:`a_h`, near to those of the
others unless her opinions say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logit

from siscm import partition
from siscm.checks import FloatArray
from siscm.graph import SimilarityGraph
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs
from siscm.partition import Groups, group_of
from siscm.sharing import MOST, NODES, Noise, SharingEvidence, pull

SPREAD = 0.5
"""Prior standard deviation, in log-odds, of the experts' sharing around their mean."""


def likelihood_graph(evidence: SharingEvidence, sharing: float) -> SimilarityGraph:
    r"""Every pair of experts, weighted by what one :math:`\lambda` would change of the log-loss.

    That of inferring each opinion from the other, summed over instances: minus twice the
    log-likelihood of the pair. So the likeliest partition is a clique partitioning problem again
    (Section 6, Eq. 7). All pairs have an edge, for no contradiction is proof, and two who never met
    weigh nothing.
    """
    n = len(evidence.experts)
    change = np.zeros((n, n))
    change[evidence.first, evidence.second] = -evidence.log_likelihood(sharing)[0]
    once = 1 - np.eye(n, dtype=np.int64)  # weights are means over meetings; here, sums
    return SimilarityGraph(evidence.experts, once, np.zeros_like(once), change + change.T, "log")


def likeliest_groups(
    evidence: SharingEvidence, n_restarts: int, *, rng: np.random.Generator
) -> tuple[Groups, float]:
    r"""The partition, and one :math:`\lambda` for all its groups, that make the opinions likeliest.

    For each of :data:`siscm.sharing.NODES` Algorithm 1 cuts the graph of log-likelihoods, and the
    best of all is returned.

    Returns
    -------
    groups, sharing
        Sharing is 0 where everybody is best alone.
    """
    best: Groups = [[h] for h in range(len(evidence.experts))]
    best_value, sharing = 0.0, 0.0
    for node in NODES[1:].tolist():
        graph = likelihood_graph(evidence, node)
        groups = partition.greedy(graph, n_restarts, rng=rng)
        value = partition.objective(graph, groups)
        if value < best_value - partition.ROUNDING:
            best, best_value, sharing = groups, value, node
    return best, sharing


def choose_groups(
    parts: Sequence[SharingEvidence], n_restarts: int, *, rng: np.random.Generator
) -> tuple[Groups, SharingEvidence]:
    """Groups as the data have them, or one group of all: whichever predicts better.

    Groups that were chosen because their experts agreed promise more sharing than there is. So
    groups are learned without each part of the instances in turn, and what is inside them counts
    only on that part.

    Parameters
    ----------
    parts
        Evidence about the same experts from disjoint instances, two parts at least.
    n_restarts
        Runs of Algorithm 1 at each sharing.

    Returns
    -------
    groups
        Learned from all parts, or one group of all experts.
    evidence
        Of the pairs inside groups that were learned without them: what sharing is learned from.
    """
    everything = reduce(add, parts)
    honest = reduce(
        add,
        (
            part.inside(likeliest_groups(everything - part, n_restarts, rng=rng)[0])
            for part in parts
        ),
    )
    one_group: Groups = [list(range(len(everything.experts)))]
    if _best_common(honest)[0] < _best_common(everything)[0]:
        return one_group, everything
    return likeliest_groups(everything, n_restarts, rng=rng)[0], honest


def _best_common(evidence: SharingEvidence) -> tuple[float, float]:
    r"""Highest log-likelihood if all pairs share alike, and the :math:`\lambda` where it is."""
    totals = [float(evidence.log_likelihood(node)[0].sum()) for node in NODES]
    best = int(np.argmax(totals))
    return totals[best], float(NODES[best])


def experts_sharing(evidence: SharingEvidence) -> FloatArray:
    r"""Each expert's sharing (H,): :math:`a_h`, how likely she is to follow her group's noise.

    The most probable values, if the log-odds of all are normal around a mean that is learned too,
    with standard deviation :data:`SPREAD`. Whoever met nobody of her group gets the mean.

    Parameters
    ----------
    evidence
        Of the pairs of one group, as from :func:`choose_groups`.
    """
    if not len(evidence.key):
        return np.zeros(len(evidence.experts))
    mean = float(logit(np.sqrt(np.clip(_best_common(evidence)[1], 0.01, MOST))))
    start = np.full(len(evidence.experts), mean)
    # Beyond, the likelihood of a pair is flat, and a search may end where sharing is certain.
    bounds = [(None, float(logit(np.sqrt(MOST))))] * len(start)
    found = minimize(_minus_posterior, start, (evidence,), "L-BFGS-B", jac=True, bounds=bounds)
    return np.asarray(expit(found.x))


def total_log_likelihood(evidence: SharingEvidence, a: FloatArray) -> float:
    """Of everything said, beside that of strangers, at each expert's sharing (H,)."""
    pair = np.minimum(a[evidence.first] * a[evidence.second], MOST)
    return float(evidence.log_likelihood(pair)[0].sum())


def _minus_posterior(log_odds: FloatArray, evidence: SharingEvidence) -> tuple[float, FloatArray]:
    """Minus the log-posterior of the experts' log-odds, up to a constant, and its gradient."""
    a, gradient = expit(log_odds), np.zeros(len(log_odds))
    pair = a[evidence.first] * a[evidence.second]
    value, slope = evidence.log_likelihood(np.minimum(pair, MOST))
    up = slope * pair
    for h in (evidence.first, evidence.second):
        gradient += np.bincount(h, up * (1 - a[h]), minlength=len(a))
    away = log_odds - log_odds.mean()
    penalty = (away**2).sum() / (2 * SPREAD**2)
    return float(penalty - value.sum()), away / SPREAD**2 - gradient


def sharing_errors(
    log_p: FloatArray, opinions: Opinions, groups: Groups, a: FloatArray, noise: Noise
) -> FloatArray:
    r"""Standard errors (H,) of the log-odds of each expert's sharing.

    Pairs on one instance depend on each other, so the curvature of the log-likelihood alone would
    promise too much. The scores are added up by instance, and their spread over instances, with
    that of the prior, stands between two inverse curvatures (the "sandwich" of Huber). Marginals
    are taken as they are.

    Parameters
    ----------
    log_p
        Log-marginals (n_opinions, k) that the sharing was learned from.
    opinions, groups, a, noise
        What was said, positions of experts, and their sharing.
    """
    n, h, y = len(a), opinions.expert_codes, opinions.label_codes
    number = group_of(groups, range(n))
    # A trace of the identity, for the prior says nothing of the mean.
    prior = (np.eye(n) - (1 - 1e-6) / n) / SPREAD**2
    curvature = prior.copy()
    score = np.zeros(len(opinions))
    for one, two in iter_pairs(opinions):
        same = number[h[one]] == number[h[two]]
        one, two = one[same], two[same]
        pair = np.minimum(a[h[one]] * a[h[two]], MOST)
        g = pull(log_p[one], log_p[two], y[one], y[two], pair, noise)
        for first, second in ((one, two), (two, one)):
            mine, other = h[first], h[second]
            own, her = 1 - a[mine], 1 - a[other]
            own_curvature = (g * own) ** 2 - g * own * (own - a[mine])
            curvature[np.diag_indices(n)] += np.bincount(mine, own_curvature, minlength=n)
            np.add.at(curvature, (mine, other), (g**2 - g) * own * her)
            score += np.bincount(first, g * own, minlength=len(score))
    by_instance = csr_array((score, (opinions.instance_codes, h)), (len(opinions.instances), n))
    spread = prior + np.asarray((by_instance.T @ by_instance).todense())
    inverse = np.linalg.inv(curvature)
    return np.asarray(np.sqrt(np.diag(inverse @ spread @ inverse).clip(0)))
