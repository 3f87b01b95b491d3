"""What the paper's definitions ask of a model, as predicates that show a counterexample.

Each returns None if the property holds, by enumeration, and else where it fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from siscm.checks import FloatArray
from siscm.scm import Experts, FiniteSCM, all_sets, counterfactual, interventional, marginal

_TOLERANCE = 1e-12
"""Of probabilities that are sums: two within it are equal, one below it is zero."""


@dataclass(frozen=True)
class Counterexample:
    """Where a property fails.

    Parameters
    ----------
    x
        The features.
    experts
        The experts concerned.
    words
        What is wrong there, as a sentence.
    """

    x: int
    experts: tuple[int, ...]
    words: str

    def __str__(self) -> str:
        return self.words


def set_invariance(scm: FiniteSCM) -> Counterexample | None:
    r"""Set invariance (definition in Section 4): who else is asked changes nobody's answer.

    For all :math:`\zeta \subseteq \zeta'`, features and noises,
    :math:`f(x, \zeta, u) = (f(x, \zeta', u))_\zeta`.
    """
    sets = all_sets(scm.n_experts)
    for few, many in ((few, many) for few in sets for many in sets if few < many):
        differ = scm.answers[few] != scm.answers[many]
        differ[..., [expert for expert in range(scm.n_experts) if expert not in few]] = False
        if differ.any():
            x, u, expert = (int(i) for i in np.argwhere(differ)[0])
            alone, among = (scm.answers[asked][x, u, expert] for asked in (few, many))
            return Counterexample(
                x,
                (expert,),
                f"x = {x}, noise {u}: expert {expert} says {alone} when {sorted(few)} are asked, "
                f"and {among} when {sorted(many)} are.",
            )
    return None


def equivalence(one: FiniteSCM, other: FiniteSCM) -> Counterexample | None:
    """Equivalence of two models (Section 2): same noise, and the same answers almost surely.

    Raises
    ------
    ValueError
        If their noises differ in distribution: then they are not models of the same noise.
    """
    if not np.array_equal(one.prior, other.prior):
        raise ValueError("the models must have the same noise distribution to be compared.")
    for asked in all_sets(one.n_experts):
        differ = (one.answers[asked] != other.answers[asked]) & (one.prior > 0)[:, None]
        if differ.any():
            x, u, expert = (int(i) for i in np.argwhere(differ)[0])
            return Counterexample(
                x,
                (expert,),
                f"x = {x}, noise {u}, {sorted(asked)} asked: expert {expert} says "
                f"{one.answers[asked][x, u, expert]} in one model and "
                f"{other.answers[asked][x, u, expert]} in the other.",
            )
    return None


def decoupled(scm: FiniteSCM) -> FiniteSCM:
    """The construction of Theorem 2 (Section 4): each expert answers as if she alone were asked."""
    alone = [scm.answers[frozenset({h})][..., h] for h in range(scm.n_experts)]
    return FiniteSCM.from_submechanisms(np.stack(alone, axis=-1), scm.prior, scm.n_classes)


def counterfactual_stability(scm: FiniteSCM, h: int, other: int) -> Counterexample | None:
    r"""Counterfactual stability for two experts (definition in Section 5).

    If asking :math:`h'` in place of h raises the odds of c against :math:`c'`, or leaves them, then
    h' would not have said :math:`c'` where h said c; for all sets that h and h' are asked in.
    """
    sets = all_sets(scm.n_experts)
    for asked, instead in ((a, b) for a in sets for b in sets if h in a and other in b):
        for x in range(scm.n_features):
            p, q = marginal(scm, x, asked, h), marginal(scm, x, instead, other)
            for c in np.flatnonzero(p > _TOLERANCE):
                would = counterfactual(scm, x, asked, {h: int(c)}, instead, other)
                for d in _forbidden(p, q, int(c)):
                    if would[d] > _TOLERANCE:
                        return _instability(x, h, other, (int(c), d), would[d], asked, instead)
    return None


def conditional_stability(scm: FiniteSCM, h: int, other: int) -> Counterexample | None:
    r"""Conditional stability for two experts (definition in Section 5): the same, seen in data.

    If the odds of c against :math:`c'` are at least as high for :math:`h'` as for h, then h' does
    not say :math:`c'` where h says c; for all sets in which both are asked.
    """
    for asked in (asked for asked in all_sets(scm.n_experts) if {h, other} <= asked):
        for x in range(scm.n_features):
            p, q = marginal(scm, x, asked, h), marginal(scm, x, asked, other)
            both = _two_of(interventional(scm, x, asked), asked, h, other)
            for c in np.flatnonzero(p > _TOLERANCE):
                for d in _forbidden(p, q, int(c)):
                    if both[c, d] > _TOLERANCE:
                        chance = both[c, d] / p[c]
                        return _instability(x, h, other, (int(c), d), chance, asked, asked)
    return None


def pairwise_counterfactual_stability(
    scm: FiniteSCM, group: Collection[int]
) -> Counterexample | None:
    """Counterfactual stability for every two experts of a group (definition in Section 5)."""
    found = (counterfactual_stability(scm, h, other) for h, other in permutations(group, 2))
    return next((example for example in found if example is not None), None)


def pairwise_conditional_stability(scm: FiniteSCM, group: Collection[int]) -> Counterexample | None:
    """Conditional stability for every two experts of a group (Section 5)."""
    found = (conditional_stability(scm, h, other) for h, other in permutations(group, 2))
    return next((example for example in found if example is not None), None)


def _forbidden(p: FloatArray, q: FloatArray, c: int) -> Iterator[int]:
    """Labels d that the other must not say where c was said: her odds of c against d are no lower.

    Compared as products, so that a label impossible for one of the two needs no division.
    """
    for d in range(len(p)):
        if d != c and q[c] * p[d] >= q[d] * p[c] - _TOLERANCE:
            yield d


def _two_of(joint: FloatArray, asked: Experts, h: int, other: int) -> FloatArray:
    """Joint distribution of two of the experts asked, (k, k)."""
    order = sorted(asked)
    rest = tuple(axis for axis, expert in enumerate(order) if expert not in (h, other))
    both: FloatArray = joint.sum(axis=rest)
    return both if h < other else both.T


def _instability(
    x: int,
    h: int,
    other: int,
    labels: tuple[int, int],
    chance: float,
    asked: Experts,
    instead: Experts,
) -> Counterexample:
    c, d = labels
    together = asked is instead
    would = "says" if together else "would have said"
    sets = f"{sorted(asked)} asked" + ("" if together else f", then {sorted(instead)}")
    return Counterexample(
        x,
        (h, other),
        f"x = {x}, {sets}: expert {h} says {c}, and expert {other}, whose odds of {c} against {d} "
        f"are no lower, {would} {d} with probability {chance:.3g}.",
    )
