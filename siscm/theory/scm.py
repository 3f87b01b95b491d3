r"""Finite structural causal models of experts, every distribution computed by enumeration.

The model of the paper's Eq. 2, :math:`\mathbf Y = f_{\mathbf Y}(X, Z, U)`, with finitely many
features, noises, experts and labels. Nothing is sampled: probabilities are sums over the noise.
A counterfactual is computed in the three steps of its definition (Section 2): abduction, action,
prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from siscm.checks import FloatArray, IntArray
from siscm.opinions import NOT_ASKED

Experts = frozenset[int]
r"""Who is asked: a realisation :math:`\zeta` of :math:`Z`."""

EXACT = 1e-12
"""Two probabilities, which are sums, are equal within it; and one below it is zero. Two products of
probabilities, which may be tiny, are equal within this share of themselves."""


def all_sets(n_experts: int) -> list[Experts]:
    """Every non-empty set of experts, small ones first."""
    return [
        frozenset(chosen)
        for size in range(1, n_experts + 1)
        for chosen in combinations(range(n_experts), size)
    ]


@dataclass(frozen=True, eq=False)
class FiniteSCM:
    r"""A mechanism :math:`f_{\mathbf Y}` in full, with the distribution of its noise.

    Parameters
    ----------
    prior
        :math:`P(U = u)`, (n_noise,).
    answers
        For every non-empty set of experts what they say, (n_x, n_noise, n_experts): labels
        from 0, and -1 for experts who are not in the set.
    n_classes
        How many labels there are.

    Raises
    ------
    ValueError
        If the prior is no distribution, a set is missing, or an answer is not an integer label
        where one was asked for; names the set.
    """

    prior: FloatArray
    answers: Mapping[Experts, IntArray]
    n_classes: int

    def __post_init__(self) -> None:
        off = abs(self.prior.sum() - 1)
        if self.prior.ndim != 1 or (self.prior < 0).any() or not off <= EXACT:
            raise ValueError(f"prior must be probabilities that sum to 1, not {self.prior}.")
        if not self.answers:
            raise ValueError("answers must be given for every non-empty set of experts, not none.")
        shape = next(iter(self.answers.values())).shape
        if len(shape) != 3 or 0 in shape:
            raise ValueError(f"answers are (n_x, n_noise, n_experts), none of them 0, not {shape}.")
        if set(self.answers) != set(all_sets(shape[-1])):
            raise ValueError(
                f"answers must be given for every non-empty set of {shape[-1]} experts."
            )
        for asked, said in self.answers.items():
            member = np.array([expert in asked for expert in range(shape[-1])])
            fits = said.shape == (shape[0], len(self.prior), shape[2]) and said.dtype.kind in "iu"
            known = fits and said.min() >= NOT_ASKED and said.max() < self.n_classes
            if not known or ((said != NOT_ASKED) != member).any():
                raise ValueError(
                    f"the answers of experts {sorted(asked)} must be integer labels from 0 to "
                    f"{self.n_classes - 1} for them and {NOT_ASKED} for all others, of shape "
                    f"({shape[0]}, {len(self.prior)}, {shape[2]})."
                )

    @property
    def n_experts(self) -> int:
        """How many experts there are."""
        return int(next(iter(self.answers.values())).shape[-1])

    @property
    def n_x(self) -> int:
        """How many values the features can take."""
        return int(next(iter(self.answers.values())).shape[0])

    @property
    def alone(self) -> IntArray:
        """What each expert says if she alone is asked, (n_x, n_noise, n_experts)."""
        experts = range(self.n_experts)
        return np.stack([self.answers[frozenset({h})][..., h] for h in experts], axis=-1)

    @classmethod
    def from_submechanisms(cls, answers: IntArray, prior: FloatArray, n_classes: int) -> FiniteSCM:
        r"""One :math:`f_{Y_h}(X, U)` an expert, whoever else is asked: the form of Theorem 2.

        Parameters
        ----------
        answers
            (n_x, n_noise, n_experts): the label that each says.
        prior
            (n_noise,): how likely each value of the noise is.
        n_classes
            How many labels there are.
        """
        if answers.ndim != 3:
            raise ValueError(f"answers are (n_x, n_noise, n_experts), not {answers.shape}.")
        return cls.from_mechanism(
            lambda asked: answers[..., sorted(asked)], prior, answers.shape[-1], n_classes
        )

    @classmethod
    def from_mechanism(
        cls,
        mechanism: Callable[[Experts], IntArray],
        prior: FloatArray,
        n_experts: int,
        n_classes: int,
    ) -> FiniteSCM:
        r"""Any :math:`f_{\mathbf Y}`.

        Parameters
        ----------
        mechanism
            From a set of experts to what they say, (n_x, n_noise, how many they are), in
            the order of their numbers.
        prior, n_classes
            As for :meth:`from_submechanisms`.
        n_experts
            How many experts there are, numbered from 0.
        """
        answers = {}
        for asked in all_sets(n_experts):
            said = mechanism(asked)
            if said.ndim != 3 or said.shape[-1] != len(asked):
                raise ValueError(
                    f"the mechanism must return what experts {sorted(asked)} say, (n_x, n_noise, "
                    f"{len(asked)}), not {said.shape}."
                )
            if not np.issubdtype(said.dtype, np.integer):
                raise ValueError(
                    f"the answers of experts {sorted(asked)} must be integer labels, not "
                    f"{said.dtype}."
                )
            answers[asked] = np.full((*said.shape[:-1], n_experts), NOT_ASKED, dtype=np.int64)
            answers[asked][..., sorted(asked)] = said
        return cls(prior, answers, n_classes)


def interventional(scm: FiniteSCM, x: int, asked: Experts) -> FloatArray:
    r""":math:`P^{\mathcal M;\,do[Z=\zeta]}(\mathbf Y \mid X = x)`: an axis an expert asked.

    Parameters
    ----------
    scm, x, asked
        As for :func:`counterfactual`.
    """
    joint = np.zeros((scm.n_classes,) * len(asked))
    np.add.at(joint, tuple(_answers(scm, x, asked)[:, sorted(asked)].T), scm.prior)
    return joint


def marginal(scm: FiniteSCM, x: int, asked: Experts, expert: int) -> FloatArray:
    r""":math:`P^{\mathcal M;\,do[Z=\zeta]}(Y_h \mid X = x)`, (k,)."""
    return prediction(scm.prior, _answers(scm, x, asked), expert, scm.n_classes)


def conditional(
    scm: FiniteSCM, x: int, asked: Experts, said: Mapping[int, int], target: int
) -> FloatArray:
    r""":math:`P^{\mathcal M;\,do[Z=\zeta]}(Y_{h'} \mid X = x, Y_h = c)`: both were asked, (k,).

    Parameters
    ----------
    scm, x, asked, said
        As for :func:`counterfactual`.
    target
        Whose answer it is; one of those asked.

    Raises
    ------
    ValueError
        If nobody can have said that; names the experts and what they would have said. Or if the
        target, or who is to have said something, was not asked; names her.
    """
    posterior = abduction(scm, x, asked, said)
    return prediction(posterior, _answers(scm, x, asked), target, scm.n_classes)


def counterfactual(
    scm: FiniteSCM, x: int, asked: Experts, said: Mapping[int, int], instead: Experts, target: int
) -> FloatArray:
    r"""What an expert would have said, had others been asked than were, (k,).

    :math:`P^{\mathcal M \mid X=x, Z=\zeta, Y_h=c;\,do[Z=\zeta']}(Y_{h'})`.

    Parameters
    ----------
    scm
        The model.
    x
        The features.
    asked, said
        Who was asked, and what some of them said.
    instead
        Who is asked in the world that is imagined.
    target
        One of these.

    Raises
    ------
    ValueError
        As for :func:`conditional`.
    """
    posterior = abduction(scm, x, asked, said)
    mechanism = action(scm, instead)
    return prediction(posterior, mechanism[x], target, scm.n_classes)


def abduction(scm: FiniteSCM, x: int, asked: Experts, said: Mapping[int, int]) -> FloatArray:
    """First step: what the answers observed tell about the noise, its posterior (n_noise,).

    Parameters
    ----------
    scm, x, asked, said
        As for :func:`counterfactual`.
    """
    answers = _answers(scm, x, asked)
    for expert, label in said.items():
        if expert not in asked:
            raise ValueError(
                f"expert {expert} cannot have said {label}, for only {sorted(asked)} were asked."
            )
        if label not in range(scm.n_classes):
            raise ValueError(
                f"expert {expert} cannot have said {label}; labels are 0 to {scm.n_classes - 1}."
            )
    possible = np.all([answers[:, expert] == label for expert, label in said.items()], axis=0)
    weight = np.where(possible, scm.prior, 0.0)
    if weight.sum() == 0:
        raise ValueError(
            f"asked {sorted(asked)} about x = {x}, the experts cannot say {dict(said)} (expert: "
            "label): it has probability zero, and nothing can be conditioned on it."
        )
    return np.asarray(weight / weight.sum())


def action(scm: FiniteSCM, instead: Experts) -> IntArray:
    """Second step: the mechanism when others are asked, the noise untouched."""
    if instead not in scm.answers:
        raise ValueError(
            f"asked {sorted(instead)}: that must be one or more of the experts 0 to "
            f"{scm.n_experts - 1}."
        )
    return scm.answers[instead]


def prediction(noise: FloatArray, answers: IntArray, target: int, n_classes: int) -> FloatArray:
    """Third step: the distribution of one expert's answer (k,) that a law of the noise gives.

    Parameters
    ----------
    noise
        (n_noise,): its law.
    answers
        (n_noise, n_experts): what those asked say under each noise.
    target
        Whose answer it is.
    n_classes
        How many labels there are: k.
    """
    if target not in range(answers.shape[1]) or answers[0, target] == NOT_ASKED:
        asked = np.flatnonzero(answers[0] != NOT_ASKED).tolist()
        raise ValueError(
            f"what expert {target} says cannot be predicted, for only {asked} are asked; ask her, "
            "or predict one of them."
        )
    return np.asarray(np.bincount(answers[:, target], weights=noise, minlength=n_classes))


def _answers(scm: FiniteSCM, x: int, asked: Experts) -> IntArray:
    """What all say about x when these are asked, (n_noise, n_experts)."""
    answers = action(scm, asked)
    if x not in range(len(answers)):
        raise ValueError(f"x is {x}; the features are 0 to {len(answers) - 1}.")
    said: IntArray = answers[x]
    return said
