"""Random finite models: experts who do not talk, experts who are alike, and experts who talk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from siscm.checks import FloatArray, IntArray, check_share
from siscm.gumbel import joint_probabilities
from siscm.theory.properties import submechanisms
from siscm.theory.scm import Experts, FiniteSCM, marginal

_MARGIN = 1e-3
"""Odds that differ by less, as products, are too close to be told apart for certain."""


def set_invariant(
    rng: np.random.Generator,
    n_experts: int = 3,
    n_classes: int = 3,
    n_noise: int = 12,
    n_x: int = 2,
) -> FiniteSCM:
    """Experts who answer on their own, by any mechanisms, under one common noise.

    Parameters
    ----------
    rng
        Draws the model.
    n_experts, n_classes, n_noise, n_x
        How many experts, labels, and values of the noise and of the features.
    """
    answers = rng.integers(n_classes, size=(n_x, n_noise, n_experts))
    return FiniteSCM.from_submechanisms(answers, rng.dirichlet(np.ones(n_noise)), n_classes)


def stable(
    rng: np.random.Generator,
    n_experts: int = 3,
    n_classes: int = 3,
    n_x: int = 2,
    n_steps: int = 5,
) -> FiniteSCM:
    r"""Experts who are alike: every two of them are stable.

    All see the same impression of the case, a label. Each has a threshold of doubt, and who doubts
    more than her threshold allows falls back on one and the same cautious label. Impression and
    doubt are the noise; only the thresholds differ. A pair then parts only towards the cautious
    label, which is the one whose odds are higher for whom doubts sooner.

    Parameters
    ----------
    rng
        Draws the model.
    n_experts, n_classes, n_x
        How many experts, labels, and values of the features.
    n_steps
        How many levels of doubt there are.
    """
    impression, doubt = np.indices((n_classes, n_steps)).reshape(2, -1)
    prior = np.outer(rng.dirichlet(np.ones(n_classes)), rng.dirichlet(np.ones(n_steps))).ravel()
    answers = np.empty((n_x, len(prior), n_experts), dtype=np.int64)
    for x in range(n_x):
        seen, cautious = rng.permutation(n_classes)[impression], rng.integers(n_classes)
        threshold = rng.integers(n_steps + 1, size=n_experts)
        answers[x] = np.where(doubt[:, None] >= threshold, cautious, seen[:, None])
    return FiniteSCM.from_submechanisms(answers, prior, n_classes)


def monotone(
    rng: np.random.Generator, n_experts: int = 3, n_classes: int = 3, n_x: int = 2
) -> FiniteSCM:
    r"""Experts who are alike, some more lenient: one uniform noise, cut at thresholds of their own.

    Labels are ordered, from harmless to grave, and expert h says the label in whose share of
    [0, 1] the noise falls. Her shares are :math:`p_{h,c} \propto b_c\, e^{t_h c}`: the greater
    her :math:`t_h`, the more she leans to grave labels, and the odds of a graver label rise with
    it. So a pair parts only towards the label whose odds are higher, which makes it stable. The
    noise is finite, for what matters is between which of all experts' thresholds it falls.

    Parameters
    ----------
    rng, n_experts, n_classes, n_x
        As for :func:`stable`.
    """
    base = np.log(rng.dirichlet(np.ones(n_classes), size=(n_x, 1)))
    lean = rng.normal(size=(n_x, n_experts, 1)) * np.arange(n_classes)
    shares = np.exp(base + lean)
    cuts = (shares / shares.sum(axis=-1, keepdims=True)).cumsum(axis=-1)[..., :-1]
    ends = np.concatenate([[0.0], np.unique(cuts), [1.0]])
    middle = (ends[1:] + ends[:-1]) / 2
    order = np.array([rng.permutation(n_classes) for _ in range(n_x)])
    place = (middle[:, None, None] > cuts[:, None]).sum(axis=-1)
    answers = np.take_along_axis(order[:, None], place.reshape(n_x, -1)[:, None], axis=-1)
    return FiniteSCM.from_submechanisms(
        answers.reshape(n_x, len(middle), n_experts), np.diff(ends), n_classes
    )


def contradicted(base: FiniteSCM, h: int, other: int) -> FiniteSCM | None:
    r"""The same experts, but for one rare noise under which two of them part against the odds.

    There h says c, and :math:`h'` says a label d that her odds forbid. How rare it is, is chosen
    such that the odds stay on that side. None if their habits are equal,
    or nearly so: then any such noise moves the odds themselves to the other side.

    Parameters
    ----------
    base
        The experts.
    h, other
        The two of them who part.

    Raises
    ------
    ValueError
        If the experts talk: what they say could not be kept.
    """
    if (talks := submechanisms(base)) is not None:
        raise ValueError(f"the experts must not talk; but {talks}")
    p, q = (
        np.array([marginal(base, x, frozenset({e}), e) for x in range(base.n_x)])
        for e in (h, other)
    )
    margin = q[:, :, None] * p[:, None, :] - q[:, None, :] * p[:, :, None]
    x, c, d = (int(i) for i in np.unravel_index(margin.argmax(), margin.shape))
    if margin[x, c, d] < _MARGIN:
        return None
    rare = margin[x, c, d] / 8
    alone = base.alone
    answers = np.concatenate([alone, alone[:, :1]], axis=1)
    answers[x, -1, [h, other]] = c, d
    prior = np.append((1 - rare) * base.prior, rare)
    return FiniteSCM.from_submechanisms(answers, prior, base.n_classes)


def same_group(p: FloatArray, q: FloatArray) -> FiniteSCM:
    """Two experts of one group of the Gumbel-Max SI-SCM, made finite without loss.

    For one case, what matters of the Gumbel noise is which two labels it makes them say; the
    exact law tells how likely that is. So a noise here is a pair of labels.

    Parameters
    ----------
    p, q
        Their marginals for the case, (k,).
    """
    return _from_joint(joint_probabilities(np.log(p), np.log(q)))


def different_groups(p: FloatArray, q: FloatArray) -> FiniteSCM:
    """Two experts of different groups, a noise each, made finite as by :func:`same_group`."""
    return _from_joint(np.outer(p, q))


def _from_joint(joint: FloatArray) -> FiniteSCM:
    answers = np.indices(joint.shape).reshape(2, -1).T[None]
    return FiniteSCM.from_submechanisms(answers, joint.ravel() / joint.sum(), len(joint))


def shared_noise(marginals: FloatArray, noise: FloatArray) -> FiniteSCM:
    """Experts who share additive noise as in the Gumbel-Max SI-SCM, only that it is not Gumbel.

    Parameters
    ----------
    marginals
        What they would tend to say under Gumbel noise, (n_experts, k).
    noise
        The values that it takes, all equally likely, (n_noise, k).
    """
    answers = (np.log(marginals) + noise[:, None]).argmax(axis=-1)[None]
    prior = np.full(len(noise), 1 / len(noise))
    return FiniteSCM.from_submechanisms(answers, prior, marginals.shape[1])


def normal_noise(marginals: FloatArray) -> FiniteSCM:
    r"""Experts with two labels who share normal noise in place of Gumbel, made finite without loss.

    Expert h says 1 if the noise of label 1 exceeds that of 0 by more than
    :math:`\log p_{h0} - \log p_{h1}`; the difference of the two is normal with variance 2. What
    matters is between which of all experts' thresholds it falls.

    Parameters
    ----------
    marginals
        What they would tend to say under Gumbel noise, (n_experts, 2).
    """
    threshold = np.log(marginals[:, 0]) - np.log(marginals[:, 1])
    cuts = np.sort(threshold)
    prior = np.diff(norm.cdf(cuts, scale=np.sqrt(2)), prepend=0.0, append=1.0)
    answers = np.arange(len(prior))[:, None] > np.searchsorted(cuts, threshold)
    return FiniteSCM.from_submechanisms(answers[None].astype(np.int64), prior, 2)


def herding(base: FiniteSCM, strength: float) -> FiniteSCM:
    """Experts who repeat, with this probability, what the first of those asked says.

    Parameters
    ----------
    base
        The experts, before they talk.
    strength
        The probability, from 0 to 1.
    """
    return _influenced(base, strength, lambda own, members: own[..., :1])


def senior(base: FiniteSCM, strength: float) -> FiniteSCM:
    """Experts who, if expert 0 is asked too, say what she says, with this probability.

    Parameters
    ----------
    base
        The experts, before they talk.
    strength
        The probability, from 0 to 1.
    """
    return _influenced(base, strength, lambda own, members: own[..., :1] if 0 in members else own)


def anchoring(base: FiniteSCM, strength: float) -> FiniteSCM:
    """Experts who go with the majority of those asked, with this probability; ties by label.

    Parameters
    ----------
    base
        The experts, before they talk.
    strength
        The probability, from 0 to 1.
    """

    def majority(own: IntArray, members: list[int]) -> IntArray:
        votes = (own[..., None] == np.arange(base.n_classes)).sum(axis=-2)
        return np.asarray(votes.argmax(axis=-1, keepdims=True))

    return _influenced(base, strength, majority)


TALK = (herding, senior, anchoring)
"""The ways in which experts talk."""


def _influenced(
    base: FiniteSCM, strength: float, influence: Callable[[IntArray, list[int]], IntArray]
) -> FiniteSCM:
    """Experts who talk with a probability: each noise of the base, once in silence, once not.

    ``influence`` turns what experts would say on their own (..., how many), and who they are, into
    what they say: (..., how many), or (..., 1) if all say the same.
    """
    check_share(strength, "strength")
    prior: FloatArray = np.concatenate([(1 - strength) * base.prior, strength * base.prior])

    def mechanism(asked: Experts) -> IntArray:
        members = sorted(asked)
        own = base.answers[asked][..., members]
        said = np.broadcast_to(influence(own, members), own.shape)
        return np.concatenate([own, said], axis=1)

    return FiniteSCM.from_mechanism(mechanism, prior, base.n_experts, base.n_classes)
