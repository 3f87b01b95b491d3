"""What the paper's definitions ask of a model, as predicates that show a counterexample.

Each returns None if the property holds, by enumeration, and else where it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from siscm.checks import BoolArray, FloatArray
from siscm.opinions import NOT_ASKED
from siscm.theory.scm import EXACT, Experts, FiniteSCM, interventional


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
    r"""Set invariance (Definition 1): who else is asked changes nobody's answer.

    For all :math:`\zeta \subseteq \zeta'`, features and noises,
    :math:`f(x, \zeta, u) = (f(x, \zeta', u))_\zeta`.
    """
    sets = scm.answers
    for few, many in ((few, many) for few in sets for many in sets if few < many):
        before, after = scm.answers[few], scm.answers[many]
        differ = (before != NOT_ASKED) & (before != after)
        if differ.any():
            x, u, expert = (int(i) for i in np.argwhere(differ)[0])
            return Counterexample(
                x,
                (expert,),
                f"x = {x}, noise {u}: expert {expert} says {before[x, u, expert]} when "
                f"{sorted(few)} are asked, and {after[x, u, expert]} when {sorted(many)} are.",
            )
    return None


def equivalence(one: FiniteSCM, other: FiniteSCM) -> Counterexample | None:
    """Equivalence of two models (Section 2): same noise, and the same answers almost surely.

    Raises
    ------
    ValueError
        If their noises differ in distribution: then they are not models of the same noise. Or if
        they are not of the same features and experts.
    """
    if (one.n_x, one.n_experts) != (other.n_x, other.n_experts):
        raise ValueError(
            f"the models must have the same features and experts to be compared, not "
            f"{one.n_x} and {one.n_experts} here, {other.n_x} and {other.n_experts} there."
        )
    if not np.array_equal(one.prior, other.prior):
        raise ValueError("the models must have the same noise distribution to be compared.")
    for asked in one.answers:
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
    """The construction of Theorem 3 (Section 4): each expert answers as if she alone were asked."""
    return FiniteSCM.from_submechanisms(scm.alone, scm.prior, scm.n_classes)


def submechanisms(scm: FiniteSCM) -> Counterexample | None:
    """Whether each expert has a sub-mechanism, of features and noise only (Theorem 2's form).

    She has if, for given features and noise, she says one and the same in every set.
    """
    for h in range(scm.n_experts):
        said = np.stack([scm.answers[asked][..., h] for asked in scm.answers if h in asked])
        differ = said.min(axis=0) != said.max(axis=0)
        if differ.any():
            x, u = (int(i) for i in np.argwhere(differ)[0])
            several = sorted(set(said[:, x, u].tolist()))
            words = f"x = {x}, noise {u}: expert {h} says {several}, depending on who is asked."
            return Counterexample(x, (h,), words)
    return None


def counterfactual_stability(scm: FiniteSCM, h: int, other: int) -> Counterexample | None:
    r"""Counterfactual stability for two experts (Definition 5).

    If asking :math:`h'` in place of h raises the odds of c against :math:`c'`, or leaves them, then
    h' would not have said :math:`c'` where h said c; for all sets :math:`\zeta \ni h` and
    :math:`\zeta' \ni h'`.
    """
    _check_experts(scm, h, other)
    asked, instead = ([s for s in scm.answers if expert in s] for expert in (h, other))
    for x in range(scm.n_x):
        said, would = _indicators(scm, x, asked, h), _indicators(scm, x, instead, other)
        p, q = scm.prior @ said, scm.prior @ would
        # P(h says c if zeta is asked, h' says c' if zeta' is), under one and the same noise.
        both = np.einsum("auc,bud->abcd", said * scm.prior[:, None], would, optimize=True)
        broken = _forbidden(p[:, None], q[None, :]) & (both > EXACT)
        if broken.any():
            a, b, c, d = (int(i) for i in np.argwhere(broken)[0])
            chance = both[a, b, c, d] / p[a, c]
            return _instability(x, h, other, (c, d), chance, asked[a], instead[b])
    return None


def conditional_stability(scm: FiniteSCM, h: int, other: int) -> Counterexample | None:
    """Conditional stability for two experts (Definition 6): the same, seen in data.

    If the odds of c against c' are at least as high for h' as for h, then h' does
    not say c' where h says c; for all sets that both are asked in.
    """
    _check_experts(scm, h, other)
    for asked in (asked for asked in scm.answers if {h, other} <= asked):
        for x in range(scm.n_x):
            both = _two_of(interventional(scm, x, asked), asked, h, other)
            p, q = both.sum(axis=1), both.sum(axis=0)
            broken = _forbidden(p, q) & (both > EXACT)
            if broken.any():
                c, d = (int(i) for i in np.argwhere(broken)[0])
                chance = both[c, d] / p[c]
                return _instability(x, h, other, (c, d), chance, asked, asked)
    return None


def pairwise_counterfactual_stability(
    scm: FiniteSCM, group: Iterable[int]
) -> Counterexample | None:
    """Counterfactual stability for every two experts of a group (Definition 8)."""
    return _pairwise(scm, group, counterfactual_stability)


def pairwise_conditional_stability(scm: FiniteSCM, group: Iterable[int]) -> Counterexample | None:
    """Conditional stability for every two experts of a group (Corollary 3)."""
    return _pairwise(scm, group, conditional_stability)


def _pairwise(
    scm: FiniteSCM,
    group: Iterable[int],
    stability: Callable[[FiniteSCM, int, int], Counterexample | None],
) -> Counterexample | None:
    group = tuple(group)  # read twice
    _check_experts(scm, *group)
    # The products and the joint law read the same from either side: each pair once.
    found = (stability(scm, h, other) for h, other in combinations(group, 2))
    return next((example for example in found if example is not None), None)


def _check_experts(scm: FiniteSCM, *experts: int) -> None:
    """Nobody whom the model lacks may pass for stable."""
    for expert in experts:
        if expert not in range(scm.n_experts):
            raise ValueError(f"expert {expert} is none of the model's, 0 to {scm.n_experts - 1}.")


def _indicators(scm: FiniteSCM, x: int, sets: Sequence[Experts], expert: int) -> FloatArray:
    """Whether the expert says c under noise u where a set is asked, (sets, n_noise, k)."""
    said = np.stack([scm.answers[asked][x, :, expert] for asked in sets])
    return np.asarray(said[..., None] == np.arange(scm.n_classes), dtype=float)


def _forbidden(p: FloatArray, q: FloatArray) -> BoolArray:
    """Whether the other must not say d where c was said: her odds of c against d are no lower.

    Compared as products, so that a label impossible for one of the two needs no division.
    """
    mine, hers = q[..., :, None] * p[..., None, :], q[..., None, :] * p[..., :, None]
    raised = mine >= hers * (1 - EXACT)
    same = np.eye(p.shape[-1], dtype=bool)
    return np.asarray(raised & ~same)


def _two_of(joint: FloatArray, asked: Experts, h: int, other: int) -> FloatArray:
    """Joint distribution of two of the experts asked, (k, k)."""
    order = sorted(asked)
    rest = tuple(axis for axis, expert in enumerate(order) if expert not in (h, other))
    both: FloatArray = joint.sum(axis=rest)
    if h == other:
        return np.diag(both)
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
    together = asked == instead
    would = "says" if together else "would have said"
    sets = f"{sorted(asked)} asked" + ("" if together else f", then {sorted(instead)}")
    return Counterexample(
        x,
        (h, other),
        f"x = {x}, {sets}: expert {h} says {c}, and expert {other}, whose odds of {c} against {d} "
        f"are no lower, {would} {d} with probability {chance:.3g}.",
    )
