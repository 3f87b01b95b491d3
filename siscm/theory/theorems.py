r"""The paper's numbered statements as checks on one model, and what makes a check convincing.

Each function takes a model and returns a :class:`Case`: whether the statement's premise holds in
it, and both sides of what it claims. Nothing is sampled: every side is computed by enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
import pandas as pd

from siscm.theory.populations import Drawn
from siscm.theory.properties import (
    Counterexample,
    conditional_stability,
    counterfactual_stability,
    decoupled,
    equivalence,
    pairwise_conditional_stability,
    pairwise_counterfactual_stability,
    set_invariance,
    submechanisms,
)
from siscm.theory.scm import EXACT, conditional, counterfactual, interventional, marginal

SHARE = 0.25
"""Of all cases that must be on either side of a premise, or of an equivalence."""


@dataclass(frozen=True)
class Case:
    """What a statement makes of one model: given the premise, the left side iff the right side.

    Parameters
    ----------
    premise
        Whether the premise holds; True if there is none.
    left, right
        The two sides; the left one is True if the statement claims the right one outright.
    gap
        Where the claim is an equality: the largest difference between what ought to be equal.
    words
        Where a side fails.
    """

    premise: bool
    left: bool
    right: bool
    gap: float = float("nan")
    words: str = ""


Check = Callable[[Drawn], Case]


def _definition(made: bool, found: Counterexample | None) -> Case:
    return Case(True, made, found is None, words=str(found or ""))


def _implies(premise: Counterexample | None, claim: Counterexample | None) -> Case:
    return Case(premise is None, True, claim is None, words=str(claim or ""))


def _equal(premise: Counterexample | None, gap: float) -> Case:
    return Case(premise is None, True, gap <= EXACT, float(gap))


def _iff(
    premise: Counterexample | None, left: Counterexample | None, right: Counterexample | None
) -> Case:
    return Case(premise is None, left is None, right is None, words=str(left or right or ""))


def definition_1(drawn: Drawn) -> Case:
    """Set invariance: found exactly where nobody was made to listen to others."""
    return _definition(drawn.holds, set_invariance(drawn.scm))


def theorem_2(drawn: Drawn) -> Case:
    """Sub-mechanisms, one an expert, make an SCM set invariant."""
    return _implies(submechanisms(drawn.scm), set_invariance(drawn.scm))


def theorem_3(drawn: Drawn) -> Case:
    """A set-invariant SCM is equivalent to that of all experts as if asked alone, an SI-SCM."""
    scm, alone = drawn.scm, decoupled(drawn.scm)
    return _implies(set_invariance(scm), equivalence(scm, alone) or set_invariance(alone))


def theorem_4(drawn: Drawn) -> Case:
    """Given set invariance, asking more experts leaves the others' law as it is."""
    scm, gaps = drawn.scm, [0.0]
    for x in range(scm.n_x):
        law = {asked: interventional(scm, x, asked) for asked in scm.answers}
        for few, many in ((a, b) for a in law for b in law if a < b):
            others = tuple(i for i, h in enumerate(sorted(many)) if h not in few)
            gaps.append(np.abs(law[few] - law[many].sum(axis=others)).max())
    return _equal(set_invariance(scm), max(gaps))


def corollary_1(drawn: Drawn) -> Case:
    """Given set invariance, one expert has one marginal, whoever else is asked."""
    scm, gaps = drawn.scm, [0.0]
    for x, asked in product(range(scm.n_x), scm.answers):
        for h in asked:
            alone = marginal(scm, x, frozenset({h}), h)
            gaps.append(np.abs(alone - marginal(scm, x, asked, h)).max())
    return _equal(set_invariance(scm), max(gaps))


def corollary_2(drawn: Drawn) -> Case:
    """Given set invariance, "would have said" has the law of "says"."""
    scm, gaps = drawn.scm, [0.0]
    everybody = range(scm.n_experts)
    for x, h, other in product(range(scm.n_x), everybody, everybody):
        alone, instead = frozenset({h}), frozenset({other})
        would = {
            c: counterfactual(scm, x, alone, {h: c}, instead, other)
            for c in np.flatnonzero(marginal(scm, x, alone, h)).tolist()
        }
        for asked in (asked for asked in scm.answers if {h, other} <= asked):
            p = marginal(scm, x, asked, h)
            for c in (c for c in would if p[c] > 0):
                says = conditional(scm, x, asked, {h: c}, other)
                gaps.append(np.abs(would[c] - says).max())
    return _equal(set_invariance(scm), max(gaps))


def definition_5(drawn: Drawn) -> Case:
    """Counterfactual stability: found exactly where two experts were made alike."""
    return _definition(drawn.holds, counterfactual_stability(drawn.scm, 0, 1))


def definition_6(drawn: Drawn) -> Case:
    """Conditional stability: found exactly where two experts were made alike."""
    return _definition(drawn.holds, conditional_stability(drawn.scm, 0, 1))


def theorem_7(drawn: Drawn) -> Case:
    """Given set invariance, counterfactual stability iff conditional stability."""
    counterfactually = counterfactual_stability(drawn.scm, 0, 1)
    conditionally = conditional_stability(drawn.scm, 0, 1)
    return _iff(set_invariance(drawn.scm), counterfactually, conditionally)


def definition_8(drawn: Drawn) -> Case:
    """Pairwise stability: found exactly where the whole group was made alike."""
    group = range(drawn.scm.n_experts)
    found = pairwise_counterfactual_stability(drawn.scm, group)
    return _definition(drawn.holds, found)


def corollary_3(drawn: Drawn) -> Case:
    """Given set invariance, a group is stable in the one sense iff in the other."""
    group = range(drawn.scm.n_experts)
    counterfactually = pairwise_counterfactual_stability(drawn.scm, group)
    conditionally = pairwise_conditional_stability(drawn.scm, group)
    return _iff(set_invariance(drawn.scm), counterfactually, conditionally)


def definition_9(drawn: Drawn) -> Case:
    """The Gumbel-Max SI-SCM: set invariant, and all experts keep their habits."""
    scm = drawn.scm
    gap = max(
        np.abs(marginal(scm, 0, asked, h) - drawn.marginals[h]).max()
        for asked in scm.answers
        for h in asked
    )
    right = set_invariance(scm) is None and gap <= EXACT
    return Case(True, drawn.holds, right, float(gap))


def theorem_10(drawn: Drawn) -> Case:
    """Two experts of one group of the Gumbel-Max SI-SCM are stable."""
    found = pairwise_counterfactual_stability(drawn.scm, (0, 1))
    return Case(drawn.holds, True, found is None, words=str(found or ""))


def across_groups(drawn: Drawn) -> Case:
    """Between groups, what she would have said is what she tends to say."""
    scm, alone, instead = drawn.scm, frozenset({0}), frozenset({1})
    would = [counterfactual(scm, 0, alone, {0: c}, instead, 1) for c in range(scm.n_classes)]
    gap = np.abs(np.array(would) - drawn.marginals[1]).max()
    return Case(not drawn.holds, True, gap <= EXACT, float(gap))


def run(check: Check, models: Iterable[Drawn]) -> pd.DataFrame:
    """A check on many models: a row a model, how it was made and the fields of :class:`Case`.

    Parameters
    ----------
    check
        The statement as a check on one model.
    models
        The models, and how each was made.
    """
    return pd.DataFrame([{"family": m.family, **asdict(check(m))} for m in models])


def exceptions(cases: pd.DataFrame) -> pd.DataFrame:
    """Cases that refute the statement: the premise holds, and one side holds without the other."""
    return cases[cases["premise"] & (cases["left"] != cases["right"])]


def confirm(cases: pd.DataFrame) -> None:
    """See that the cases confirm the statement, and could have refuted it.

    Raises
    ------
    AssertionError
        If a case is an exception, or there are none. Or if less than a quarter of the
        cases lie on one side of the premise, or of the equivalence; or if the right side holds in
        all cases, premise or not: then little was checked.
    """
    if cases.empty:
        raise AssertionError("there are no cases, so the check says little.")
    found = exceptions(cases)
    if len(found):
        one = found.iloc[0]
        raise AssertionError(
            f"{len(found)} of {len(cases)} cases refute the statement; first a model of the family "
            f"{one['family']!r}: left side {one['left']}, right side {one['right']}. {one['words']}"
        )
    shares = cases["premise"].mean(), cases.loc[cases["premise"], "left"].mean()
    # An equivalence has a left side that fails somewhere; it must also do so under the premise.
    sides = zip(("premise", "left"), shares, strict=True)
    varying = [share for side, share in sides if not cases[side].all()]
    if not varying or any(not SHARE <= share <= 1 - SHARE for share in varying):
        raise AssertionError(
            f"the premise holds in {shares[0]:.0%} of the cases, the left side in {shares[1]:.0%} "
            f"of these: at least {SHARE:.0%} must have the one or the other and as many lack it, "
            "or the check says little."
        )
    if cases["right"].all():
        raise AssertionError("the right side holds in all cases, so the check says little.")


def tally(cases: pd.DataFrame, given: tuple[str, str], found: tuple[str, str]) -> pd.DataFrame:
    """How many cases there are of each kind, the kinds in words.

    Parameters
    ----------
    cases
        As from :func:`run`.
    given
        Names of the cases with the premise and of those without; where there is no premise, of
        those with the left side and of those without.
    found
        Names of the cases with the right side and of those without. Where both the premise and
        the left side vary: of those in which the two sides agree, both or neither, and of those
        in which only one holds.
    """
    premise, left, right = (cases[name] for name in ("premise", "left", "right"))
    rows = left if premise.all() else premise
    named = rows.map(dict(zip((True, False), given, strict=True)))
    if premise.all() or left.all():
        columns = right.map(dict(zip((True, False), found, strict=True)))
        order = list(found)
    else:
        agreed, one = found
        order = [f"{agreed}, both", f"{agreed}, neither", one]
        columns = pd.Series(
            np.select([left & right, ~left & ~right], order[:2], one), index=cases.index
        )
    counts = pd.crosstab(named, columns).reindex(index=given, columns=order, fill_value=0)
    return counts.rename_axis(index=None, columns=None)
