r"""Graded sharing: how much of a noise two experts share, learned from what both saw.

Beyond the paper. Expert :math:`h` follows the noise of her group with probability :math:`a_h`, a
switch drawn anew for every instance, and a noise of her own otherwise. What she says still depends
on nothing but features, noises and her switch, so set invariance holds (Definition 1). Two of one
group follow it both with probability :math:`\lambda = a_h a_{h'}`: what they say is distributed as
:math:`\lambda J + (1 - \lambda)\, p\, q^\top`, where J is the law under one noise. The paper's
model is :math:`a_h = 1`; everybody alone is :math:`a_h = 0`.

With :math:`\varrho = J / (p\, q) - 1` at the opinions of a pair on an instance, its
log-likelihood, beside that of two strangers, is :math:`\log(1 + \lambda \varrho)`: concave in
:math:`\lambda`, and a sum over instances.

Gumbel and uniform noises are followed in this way. Gaussian ones (:mod:`siscm.beyond.gaussian`) are
not switched on and off: there :math:`a_h` is how much of the group's noise is in the expert's, and
:math:`\lambda = a_h a_{h'}` the correlation of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from siscm.beyond.gaussian import MOST_CORRELATION, TwoOpinions
from siscm.beyond.noises import Noise, check_noise, terms
from siscm.checks import FloatArray, IntArray
from siscm.names import refuse_other_experts
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals
from siscm.partition import Groups, group_of

MOST = MOST_CORRELATION
"""Sharing is never certain: one contradiction would then be impossible."""

_TIMES = np.append(np.linspace(0, 1, 9)[:-1], [15 / 16, 31 / 32, 1])
NODES = MOST * np.sin(np.pi / 2 * _TIMES) ** 2
"""Values of the sharing at which the log-likelihood is summed up; dense near 0, and denser near 1,
where Gaussian noises that are all but the same are told apart."""

_END = 1e-6

_BLOCK_PAIRS = 2**15

_BLOCK_ROWS = 2**13


@dataclass(frozen=True, eq=False)
class SharingEvidence:
    r"""What pairs of opinions say about the sharing of each pair of experts.

    Sums over instances, so evidence from other instances can be added: ``evidence + other``.
    Between :data:`NODES` the log-likelihood is a cubic through its values and slopes. For one pair
    of opinions it is off by less than 0.01 for :math:`\lambda` from 0.05 to 0.9, and by less than
    0.09 outside, unless they are nearly a contradiction or all but impossible apart
    (:math:`\varrho` below -0.95, above 100).

    Parameters
    ----------
    experts
        Names, in the order of their numbers.
    key
        (P,), sorted: the pairs of experts who met, as the smaller number times H plus the larger.
    sums
        (P, 2 * len(NODES) + 1), over the instances of both: :math:`\log(1 + \lambda\varrho)` and
        its derivative at each node where a shared noise can have produced both opinions; and on
        how many instances it cannot (contradictions), where the logarithm is
        :math:`\log(1 - \lambda)`.
    """

    experts: pd.Index[Any]
    key: IntArray
    sums: FloatArray

    @classmethod
    def from_opinions(
        cls, log_marginals: npt.ArrayLike, opinions: Opinions, noise: Noise = "gumbel"
    ) -> SharingEvidence:
        """Compare every two opinions on one instance.

        Parameters
        ----------
        log_marginals
            As for :meth:`siscm.graph.SimilarityGraph.from_opinions`. Those of opinions that trained
            the classifiers should be out-of-fold, or sharing comes out too low.
        opinions
            What the experts said.
        noise
            ``"gumbel"``; or for labels that have an order ``"uniform"`` or ``"gaussian"``.

        Raises
        ------
        ValueError
            If the noise is unknown, or the marginals do not fit the opinions.
        """
        check_noise(noise)
        log_p = opinion_marginals(log_marginals, opinions)
        h, y, n = opinions.expert_codes, opinions.label_codes, len(opinions.experts)
        # Who met is known first, so that blocks are added up in place. Within an instance opinions
        # are sorted by expert, so the first number is the smaller one.
        key = np.empty(0, dtype=np.int64)
        for a, b in iter_pairs(opinions, 32 * _BLOCK_PAIRS):
            key = _distinct(key, h[a] * n + h[b])
        sums = np.zeros((len(key), 2 * len(NODES) + 1))
        for a, b in iter_pairs(opinions, _BLOCK_PAIRS):
            pair = h[a] * n + h[b]
            order = np.argsort(pair, kind="stable")
            met, start = np.unique(pair[order], return_index=True)
            rows = terms(TwoOpinions(log_p[a], log_p[b], y[a], y[b]), noise, NODES)
            # A product with zeros and ones adds up rows faster than NumPy does.
            chosen = (np.ones(len(order)), order, np.append(start, len(order)))
            sums[np.searchsorted(key, met)] += csr_array(chosen, (len(met), len(order))) @ rows
        return cls(opinions.experts, key, sums)

    @property
    def first(self) -> IntArray:
        """(P,): the smaller number of each pair of experts who met."""
        return self.key // max(len(self.experts), 1)

    @property
    def second(self) -> IntArray:
        """(P,): the larger one."""
        return self.key % max(len(self.experts), 1)

    @property
    def values(self) -> FloatArray:
        """(P, len(NODES)): log-likelihoods at the nodes, contradictions left out."""
        return self.sums[:, : len(NODES)]

    @property
    def slopes(self) -> FloatArray:
        """(P, len(NODES)): their derivatives."""
        return self.sums[:, len(NODES) : -1]

    @property
    def contradictions(self) -> FloatArray:
        """(P,): on how many instances a shared noise cannot have produced both opinions."""
        return self.sums[:, -1]

    def __add__(self, other: SharingEvidence) -> SharingEvidence:
        """The evidence of both sets of instances together.

        Raises
        ------
        ValueError
            If the two are not about the same experts in the same order.
        """
        if not isinstance(other, SharingEvidence):
            return NotImplemented
        return merged([self, other])

    def inside(self, groups: Groups) -> SharingEvidence:
        """The evidence about pairs of one group only."""
        number = group_of(groups, range(len(self.experts)))
        kept = number[self.first] == number[self.second]
        return SharingEvidence(self.experts, self.key[kept], self.sums[kept])

    def log_likelihood(self, sharing: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        r"""Of each pair (P,), beside that of strangers, and its derivative.

        Parameters
        ----------
        sharing
            :math:`\lambda`, one for all or (P,) one for each pair; from 0 to :data:`MOST`.
        """
        sharing = np.broadcast_to(np.asarray(sharing, dtype=np.float64), self.key.shape)
        value, slope = np.empty((2, len(self.key)))
        for rows in _slices(len(self.key)):
            value[rows], slope[rows] = _between_nodes(self.sums[rows], sharing[rows])
        return value, slope

    def at_nodes(self) -> FloatArray:
        """(len(NODES) - 1, P): of each pair at all nodes but the first, where it is zero."""
        found = np.empty((len(NODES) - 1, len(self.key)))
        certain = np.log1p(-NODES[1:])
        for rows in _slices(len(self.key)):
            contradicted = np.outer(certain, self.contradictions[rows])
            found[:, rows] = self.values[rows, 1:].T + contradicted
        return found

    def together_at_nodes(self) -> FloatArray:
        """(len(NODES),): the log-likelihood of all pairs if they share alike, at each node."""
        total: FloatArray = self.values.sum(axis=0) + self.contradictions.sum() * np.log1p(-NODES)
        return total


def merged(parts: Sequence[SharingEvidence]) -> SharingEvidence:
    """The evidence of all parts, as ``parts[0] + parts[1] + ...``, without the sums in between.

    Raises
    ------
    ValueError
        If they are not about the same experts in the same order.
    """
    experts = parts[0].experts
    for part in parts[1:]:
        refuse_other_experts(experts, part.experts, "evidence is")
    key = _distinct(*(part.key for part in parts))
    sums = np.zeros((len(key), parts[0].sums.shape[1]))
    for part in parts:
        for rows in _slices(len(part.key)):
            sums[np.searchsorted(key, part.key[rows])] += part.sums[rows]
    return SharingEvidence(experts, key, sums)


def total_log_likelihood(evidence: SharingEvidence, a: FloatArray) -> float:
    """Of all pairs as if independent, beside that of strangers, at each expert's sharing (H,)."""
    pair = np.minimum(a[evidence.first] * a[evidence.second], MOST)
    return float(evidence.log_likelihood(pair)[0].sum())


def _between_nodes(sums: FloatArray, sharing: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log-likelihoods and derivatives of some pairs, from their rows of sums."""
    # A cubic in t, with λ = MOST sin²(πt/2), which is smooth where the logarithm is steep.
    t = 2 / np.pi * np.arcsin(np.sqrt(np.clip(sharing / MOST, 0, 1)))
    left = np.searchsorted(_TIMES[1:-1], t, side="right")
    step = np.diff(_TIMES)[left]
    s = (t - _TIMES[left]) / step
    rows = np.arange(len(left))
    speed = MOST * np.pi / 2 * np.sin(np.pi * _TIMES)
    slopes, contradictions = sums[:, len(NODES) : -1], sums[:, -1]
    v0, v1 = sums[rows, left], sums[rows, left + 1]
    m0 = slopes[rows, left] * speed[left] * step
    m1 = slopes[rows, left + 1] * speed[left + 1] * step
    value = v0 + s * (m0 + s * (3 * (v1 - v0) - 2 * m0 - m1 + s * (2 * (v0 - v1) + m0 + m1)))
    slope = m0 + s * (2 * (3 * (v1 - v0) - 2 * m0 - m1) + s * 3 * (2 * (v0 - v1) + m0 + m1))
    change = MOST * np.pi / 2 * np.sin(np.pi * t) * step
    # At the ends t tells nothing of λ, and near to them only rounding would be left.
    end = np.minimum(t, 1 - t) < _END
    ends = np.where(t < 0.5, slopes[:, 0], slopes[:, -1])
    slope = np.where(end, ends, slope / np.where(end, 1, change))
    value = value + contradictions * np.log1p(-sharing)
    return value, slope - contradictions / (1 - sharing)


def _distinct(*keys: IntArray) -> IntArray:
    """All keys, sorted, each once: far faster than np.union1d, which sorts by way of a table."""
    found: IntArray = np.concatenate(keys)
    found.sort(kind="stable")
    new: IntArray = found[np.append(True, found[1:] != found[:-1])[: len(found)]]
    return new


def _slices(n: int) -> Iterator[slice]:
    """Rows a few thousand at a time: what is computed from them stays in the cache."""
    return (slice(start, start + _BLOCK_ROWS) for start in range(0, n, _BLOCK_ROWS))
