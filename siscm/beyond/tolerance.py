r"""Violations with a tolerance: how many two similar experts show by chance (beyond the paper).

Similar experts never violate under their true marginals, but marginals are estimates. What
estimates are worth is seen where they are learned again, each time from a random half of the
instances: the difference between half and whole varies about as much as the whole does around the
truth. If the truth were such a replicate, and two experts shared one noise, then on an instance

.. math:: \sum_{c, d\ \text{violate under the estimates}} J_{\text{replicate}}(c, d)

is the chance of a seeming violation. An edge is cut only where more violations are seen than
that explains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.stats import poisson

from siscm.checks import FloatArray, check_share
from siscm.graph import SimilarityGraph
from siscm.gumbel import joint_probabilities
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals

LEVEL = 0.01
"""Nominal chance that a pair of similar experts is cut: far fewer, if habits are learned with a
penalty."""

_BLOCK_PAIRS = 2**14


def half_samples(
    learn: Callable[[Opinions], FloatArray], opinions: Opinions, n: int, rng: np.random.Generator
) -> Iterable[FloatArray]:
    """Log-marginals (n_opinions, k) of all opinions, learned from random halves of the instances.

    Parameters
    ----------
    learn
        From some opinions to log-marginals of all of ``opinions``.
    opinions
        What the experts said.
    n
        How many halves.
    rng
        Draws the halves.
    """
    size = len(opinions.instances)
    for _ in range(n):
        half = np.sort(rng.permutation(size)[: (size + 1) // 2])
        yield learn(opinions.select(instances=opinions.instances[half]))


def expected_violations(
    log_marginals: FloatArray, replicates: Iterable[FloatArray], opinions: Opinions
) -> FloatArray:
    """How many violations each pair would show if it shared a noise, by replicate: (B, H, H).

    Parameters
    ----------
    log_marginals
        The estimates (n_opinions, k) that violations are judged by.
    replicates
        B times (n_opinions, k), as from :func:`half_samples`.
    opinions
        What the experts said; only who was asked together matters.

    Raises
    ------
    ValueError
        If a replicate is not about these opinions, or not of distributions.
    """
    log_p = opinion_marginals(log_marginals, opinions)
    h, n = opinions.expert_codes, len(opinions.experts)
    found = []
    for truth in replicates:
        if truth.shape != log_p.shape:
            raise ValueError(
                f"a replicate has shape {truth.shape}, but the log-marginals of the opinions have "
                f"{log_p.shape}; it must be about all opinions."
            )
        sums = np.zeros(n * n)
        for a, b in iter_pairs(opinions, _BLOCK_PAIRS):
            # As `violates` has it, to the last digit: log q_c + log p_d against log q_d + log p_c.
            crossed = log_p[b][:, :, None] + log_p[a][:, None, :]
            violating = crossed >= crossed.swapaxes(1, 2)
            violating &= ~np.eye(log_p.shape[1], dtype=bool)
            chance = (joint_probabilities(truth[a], truth[b]) * violating).sum(axis=(1, 2))
            sums += np.bincount(h[a] * n + h[b], chance, minlength=n * n)
        found.append(sums.reshape(n, n) + sums.reshape(n, n).T)
    return np.array(found)


def explained_by_chance(graph: SimilarityGraph, expected: FloatArray) -> FloatArray:
    """The p-value (H, H) of each pair's violations, if it shared a noise.

    Counts are Poisson given a replicate, and replicates are equally likely. Few of them do not show
    how far off an estimate can be: with 5, several times as many similar pairs are below
    :data:`LEVEL` as it says.

    Parameters
    ----------
    graph
        Of the opinions that the violations were expected of.
    expected
        As from :func:`expected_violations`.

    Raises
    ------
    ValueError
        If what is expected is about other experts, or there is no replicate.
    """
    if expected.shape != (max(len(expected), 1), *graph.violations.shape):
        raise ValueError(
            f"expected has shape {expected.shape}; it should hold one or more replicates of "
            f"{graph.violations.shape}, as from expected_violations."
        )
    return np.asarray(np.mean(poisson.sf(graph.violations - 1, expected), axis=0))


def forgive(graph: SimilarityGraph, expected: FloatArray, level: float = LEVEL) -> SimilarityGraph:
    """The graph without the violations of pairs that chance explains: they get their edge back.

    For graphs of the 0-1 loss. The log-loss of a violation is infinite, and stays so: such an edge
    is never taken.

    Parameters
    ----------
    graph
        Of the opinions that the violations were expected of.
    expected
        As from :func:`expected_violations`.
    level
        Pairs whose p-value is at least this are forgiven.

    Raises
    ------
    ValueError
        If the level is not in [0, 1]; or as :func:`explained_by_chance`.
    """
    check_share(level, "level")
    forgiven = explained_by_chance(graph, expected) >= level
    return replace(graph, violations=np.where(forgiven, 0, graph.violations))
