"""Panels of experts who follow their group's noise more or less often, their marginals known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from siscm import Opinions
from siscm.beyond.chunks import Source, split
from siscm.beyond.noises import Noise
from siscm.beyond.sharing import SharingEvidence
from siscm.beyond.sharing_errors import errors, fall_if_shifted, interval_ends
from siscm.beyond.sharing_fit import N_PARTS
from siscm.partition import Groups

FloatArray = npt.NDArray[np.float64]


class GradedPanel(NamedTuple):
    """True log-marginals (n, H, k), and what was said."""

    log_p: FloatArray
    opinions: Opinions

    @property
    def of_opinions(self) -> FloatArray:
        """One log-marginal an opinion, (n_opinions, k)."""
        return self.log_p[self.opinions.instance_codes, self.opinions.expert_codes]

    @property
    def chunk(self) -> tuple[FloatArray, Opinions]:
        """All of it in one chunk."""
        return self.of_opinions, self.opinions


def graded_panel(
    rng: np.random.Generator,
    n: int,
    groups: Sequence[Sequence[int]],
    a: Sequence[float] | FloatArray,
    *,
    k: int = 3,
    noise: Noise = "gumbel",
    asked: float = 1.0,
) -> GradedPanel:
    """Draw noises of groups and of experts, and switches: the model as it is written."""
    n_experts = len(a)
    score = 1.5 * rng.normal(size=(n, n_experts, k))
    log_p = score - np.log(np.exp(score).sum(axis=2, keepdims=True))
    number = np.array([[h in group for group in groups] for h in range(n_experts)]).argmax(axis=1)
    shared, own = rng.random((2, n, n_experts, k))
    shared = shared[:, number]  # the first experts' draws stand for those of the groups
    a = np.asarray(a)[:, None]
    u = np.where(rng.random((n, n_experts, 1)) < a, shared, own)
    if noise == "gaussian":
        u = ndtr(a * ndtri(shared) + np.sqrt(1 - a**2) * ndtri(own))
    if noise == "gumbel":
        said = (log_p - np.log(-np.log(u))).argmax(axis=2)
    else:
        said = (u[..., :1] > np.exp(log_p).cumsum(axis=2)[..., :-1]).sum(axis=2)
    said[rng.random(said.shape) >= asked] = -1
    names = [f"e{h}" for h in range(n_experts)]
    return GradedPanel(log_p, Opinions.from_codes(said, experts=names, classes=range(k)))


def standard_errors(
    chunks: Sequence[Source], groups: Groups, a: FloatArray, noise: Noise
) -> FloatArray:
    """Of the experts' log-odds, by the sandwich (H,)."""
    return np.sqrt(np.diag(errors(chunks, groups, a, noise).covariance))


def ends_of(
    chunks: Sequence[Source], groups: Groups, a: FloatArray, evidence: SharingEvidence, noise: Noise
) -> tuple[FloatArray, FloatArray]:
    """The ends of the intervals, from the evidence that the sharing was learned from."""
    return interval_ends(a, errors(chunks, groups, a, noise), fall_if_shifted(evidence, a))


def parts_of(panel: GradedPanel, rng: np.random.Generator) -> list[SharingEvidence]:
    """What random parts of the instances say, as the estimator splits them."""
    parts = split(*panel.chunk, N_PARTS, rng=rng)
    return [SharingEvidence.from_opinions(*part) for part in parts]
