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

Gumbel and uniform noises are followed in this way. Gaussian ones (:mod:`siscm.gaussian`) are not
switched on and off: there :math:`a_h` is how much of the group's noise is in the expert's, and
:math:`\lambda = a_h a_{h'}` the correlation of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm import gaussian, gumbel, ordered
from siscm.checks import FloatArray, IntArray
from siscm.names import refuse_other_experts
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals
from siscm.partition import Groups, group_of
from siscm.violations import violates

Noise = Literal["gumbel", "uniform", "gaussian"]

LAWS: dict[str, Callable[[FloatArray, FloatArray, IntArray], FloatArray]] = {
    "gumbel": gumbel.counterfactual_probabilities,
    "uniform": ordered.counterfactual_probabilities,
}
"""What a target says given what another said, by the noise that both follow or do not."""

MOST = 0.999
"""Sharing is never certain: one contradiction would then be impossible."""

_TIMES = np.linspace(0, 1, 9)
NODES = MOST * np.sin(np.pi / 2 * _TIMES) ** 2
"""Values of the sharing at which the log-likelihood is summed up; dense near 0 and near 1."""

_END = 1e-6

_BLOCK_PAIRS = 2**17

_CUT_ROUNDING = 1e-12
"""A joint probability below this share of p q is zero: two cuts that are equal but for rounding."""

_JUST_POSSIBLE = float(np.nextafter(-1, 0))

_MOST_LOG_EXCESS = 600.0
"""Beyond it, excesses would overflow when they are added up."""


@dataclass(frozen=True, eq=False)
class SharingEvidence:
    r"""What pairs of opinions say about the sharing of each pair of experts.

    Sums over instances, so evidence from other instances can be added, ``evidence + other``, and
    taken away again. Between :data:`NODES` the log-likelihood is a cubic through its values and
    slopes. For one pair of opinions it is off by less than 0.01 for :math:`\lambda` from 0.05 to
    0.9, and by less than 0.07 outside, unless they are nearly a contradiction or all but
    impossible apart (:math:`\varrho` below -0.95, above 100).

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
            As for :meth:`siscm.SimilarityGraph.from_opinions`. Those of opinions that trained the
            classifiers should be out-of-fold, or sharing comes out too low.
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
            key = np.union1d(key, h[a] * n + h[b])
        sums = np.zeros((len(key), 2 * len(NODES) + 1))
        for a, b in iter_pairs(opinions, _BLOCK_PAIRS):
            pair = h[a] * n + h[b]
            order = np.argsort(pair, kind="stable")
            met, start = np.unique(pair[order], return_index=True)
            rows = _terms(log_p[a], log_p[b], y[a], y[b], noise)[order]
            sums[np.searchsorted(key, met)] += np.add.reduceat(rows, start, axis=0)
        return cls(opinions.experts, key, sums)

    @cached_property
    def first(self) -> IntArray:
        """(P,): the smaller number of each pair of experts who met."""
        return self.key // max(len(self.experts), 1)

    @cached_property
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
        return self._combined(other, 1)

    def __sub__(self, other: SharingEvidence) -> SharingEvidence:
        """The evidence of the instances that are not in ``other``, which is part of this."""
        return self._combined(other, -1)

    def _combined(self, other: SharingEvidence, sign: int) -> SharingEvidence:
        if not isinstance(other, SharingEvidence):
            return NotImplemented
        refuse_other_experts(self.experts, other.experts, "evidence is")
        key = np.union1d(self.key, other.key)
        sums = np.zeros((len(key), self.sums.shape[1]))
        sums[np.searchsorted(key, self.key)] = self.sums
        sums[np.searchsorted(key, other.key)] += sign * other.sums
        return SharingEvidence(self.experts, key, sums)

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
        # A cubic in t, with λ = MOST sin²(πt/2), which is smooth where the logarithm is steep.
        t = 2 / np.pi * np.arcsin(np.sqrt(np.clip(sharing / MOST, 0, 1)))
        left = np.minimum((t * (len(NODES) - 1)).astype(np.int64), len(NODES) - 2)
        step = 1 / (len(NODES) - 1)
        s = t / step - left
        rows = np.arange(len(left))
        speed = MOST * np.pi / 2 * np.sin(np.pi * _TIMES)
        slopes = self.slopes
        v0, v1 = self.values[rows, left], self.values[rows, left + 1]
        m0 = slopes[rows, left] * speed[left] * step
        m1 = slopes[rows, left + 1] * speed[left + 1] * step
        value = v0 + s * (m0 + s * (3 * (v1 - v0) - 2 * m0 - m1 + s * (2 * (v0 - v1) + m0 + m1)))
        slope = m0 + s * (2 * (3 * (v1 - v0) - 2 * m0 - m1) + s * 3 * (2 * (v0 - v1) + m0 + m1))
        change = MOST * np.pi / 2 * np.sin(np.pi * t) * step
        # At the ends t tells nothing of λ, and near to them only rounding would be left.
        end = np.minimum(t, 1 - t) < _END
        ends = np.where(t < 0.5, slopes[:, 0], slopes[:, -1])
        slope = np.where(end, ends, slope / np.where(end, 1, change))
        value = value + self.contradictions * np.log1p(-sharing)
        return value, slope - self.contradictions / (1 - sharing)


def check_noise(noise: str) -> None:
    """Refuse a noise that there is not."""
    if noise not in (known := get_args(Noise)):
        raise ValueError(f"noise is {noise!r}; it must be one of {', '.join(known)}.")


def pair_law(
    log_p: FloatArray,
    log_q: FloatArray,
    label: IntArray,
    sharing: FloatArray,
    noise: Noise,
) -> FloatArray:
    r"""P(target says d | observed said ``label``) at a sharing :math:`\lambda` (...), for every d.

    Parameters
    ----------
    log_p, log_q, label
        As in :func:`siscm.gumbel.counterfactual_probabilities`.
    """
    if noise == "gaussian":
        return gaussian.law(log_p, log_q, label, sharing)
    share = sharing[..., None]
    return np.asarray(share * LAWS[noise](log_p, log_q, label) + (1 - share) * np.exp(log_q))


def _terms(
    log_p: FloatArray, log_q: FloatArray, label: IntArray, other: IntArray, noise: Noise
) -> FloatArray:
    """What each pair of opinions (n,) adds to :attr:`SharingEvidence.sums`."""
    if noise == "gaussian":
        values, slopes = gaussian.log_ratios(log_p, log_q, label, other, NODES)
        return np.concatenate([values, slopes, np.zeros((len(label), 1))], axis=1)
    rho = excess(log_p, log_q, label, other, noise)
    possible = rho > -1
    known = np.where(possible, rho, 0.0)[:, None]
    inner = 1 + NODES * known
    return np.concatenate([np.log(inner), known / inner, ~possible[:, None]], axis=1)


def pull(
    log_p: FloatArray,
    log_q: FloatArray,
    label: IntArray,
    other: IntArray,
    sharing: FloatArray,
    noise: Noise,
) -> FloatArray:
    r""":math:`\lambda\, \partial / \partial\lambda` of the log-likelihood of two opinions (n,)."""
    if noise == "gaussian":
        return sharing * gaussian.log_ratio(log_p, log_q, label, other, sharing)[1]
    rho = excess(log_p, log_q, label, other, noise)
    return np.asarray(sharing * rho / (1 + sharing * rho))


def excess(
    log_p: FloatArray, log_q: FloatArray, label: IntArray, other: IntArray, noise: Noise
) -> FloatArray:
    r""":math:`\varrho = J / (p\, q) - 1` at two opinions (n,).

    Above 0 where a shared noise makes them likelier than two noises do, -1 where it cannot
    produce them, and only there: under Gumbel noise where they violate conditional stability.
    """
    rows = np.arange(len(label))
    law = LAWS[noise](log_p, log_q, label)[rows, other]
    with np.errstate(divide="ignore"):
        log_ratio = np.log(law) - log_q[rows, other]
    rho = np.expm1(np.minimum(log_ratio, _MOST_LOG_EXCESS))
    if noise == "gumbel":
        impossible = violates(log_p, label, log_q, other)
    else:
        impossible = rho + 1 < _CUT_ROUNDING
    return np.where(impossible, -1.0, np.maximum(rho, _JUST_POSSIBLE))
