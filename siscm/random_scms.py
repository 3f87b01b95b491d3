"""Random finite models: experts who do not talk, experts who are alike, and experts who talk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siscm.checks import FloatArray, IntArray
from siscm.gumbel import joint_probabilities
from siscm.scm import Experts, FiniteSCM

Influence = Callable[[IntArray, list[int]], IntArray]
"""From what experts would say on their own (..., how many), and who they are, to what they say."""


def set_invariant(
    rng: np.random.Generator,
    n_experts: int = 3,
    n_classes: int = 3,
    n_noise: int = 12,
    n_features: int = 2,
) -> FiniteSCM:
    """Experts who answer on their own, by any mechanisms, under one common noise."""
    answers = rng.integers(n_classes, size=(n_features, n_noise, n_experts))
    return FiniteSCM.from_submechanisms(answers, rng.dirichlet(np.ones(n_noise)), n_classes)


def stable(
    rng: np.random.Generator,
    n_experts: int = 3,
    n_classes: int = 3,
    n_features: int = 2,
    n_steps: int = 5,
) -> FiniteSCM:
    r"""Experts who are alike: every two of them are stable.

    All see the same impression of the case, a label. Each has a threshold of doubt, and who doubts
    more than her threshold allows falls back on one and the same cautious label. Impression and
    doubt are the noise; only the thresholds differ. A pair then parts only towards the cautious
    label, which is the one whose odds are higher for whom doubts sooner.

    Parameters
    ----------
    n_steps
        How many levels of doubt there are.
    """
    impression, doubt = (
        grid.ravel() for grid in np.meshgrid(range(n_classes), range(n_steps), indexing="ij")
    )
    prior = np.outer(rng.dirichlet(np.ones(n_classes)), rng.dirichlet(np.ones(n_steps))).ravel()
    answers = np.empty((n_features, len(prior), n_experts), dtype=np.int64)
    for x in range(n_features):
        seen, cautious = rng.permutation(n_classes)[impression], rng.integers(n_classes)
        threshold = rng.integers(n_steps + 1, size=n_experts)
        answers[x] = np.where(doubt[:, None] >= threshold, cautious, seen[:, None])
    return FiniteSCM.from_submechanisms(answers, prior, n_classes)


def gumbel_pair(rng: np.random.Generator, n_classes: int = 3) -> FiniteSCM:
    """Two experts of one group of the Gumbel-Max SI-SCM, made finite without loss.

    For one case, what matters of the Gumbel noise is which two labels it makes them say; the
    exact law tells how likely that is. So a noise here is a pair of labels.
    """
    p, q = rng.dirichlet(np.ones(n_classes), size=2)
    joint = joint_probabilities(np.log(p), np.log(q))
    answers = np.indices(joint.shape).reshape(2, -1).T[None]
    return FiniteSCM.from_submechanisms(answers, joint.ravel() / joint.sum(), n_classes)


def herding(base: FiniteSCM, strength: float) -> FiniteSCM:
    """Experts who repeat, with this probability, what the first of those asked says."""
    return _influenced(base, strength, lambda own, members: own[..., :1] + 0 * own)


def senior(base: FiniteSCM, strength: float) -> FiniteSCM:
    """Experts who, if expert 0 is asked too, say what she says, with this probability."""
    return _influenced(
        base, strength, lambda own, members: own[..., :1] + 0 * own if 0 in members else own
    )


def anchoring(base: FiniteSCM, strength: float) -> FiniteSCM:
    """Experts who go with the majority of those asked, with this probability; ties by label."""

    def majority(own: IntArray, members: list[int]) -> IntArray:
        votes = (own[..., None] == np.arange(base.n_classes)).sum(axis=-2)
        chosen: IntArray = votes.argmax(axis=-1)[..., None] + 0 * own
        return chosen

    return _influenced(base, strength, majority)


def _influenced(base: FiniteSCM, strength: float, influence: Influence) -> FiniteSCM:
    """Experts who talk with a probability: each noise of the base, once in silence, once not."""
    if not 0 <= strength <= 1:
        raise ValueError(f"strength is {strength}; it is a probability.")
    prior: FloatArray = np.concatenate([(1 - strength) * base.prior, strength * base.prior])

    def mechanism(asked: Experts) -> IntArray:
        members = sorted(asked)
        own = base.answers[asked][..., members]
        return np.concatenate([own, influence(own, members)], axis=1)

    return FiniteSCM.from_mechanism(mechanism, prior, base.n_experts, base.n_classes)
