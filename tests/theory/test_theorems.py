"""Every numbered statement is confirmed on random models, and its check fails once it is broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from finite_models import spoilt

from siscm.theory import theorems
from siscm.theory.examples import contrary
from siscm.theory.populations import Drawn, pairs_of_gumbel_max_si_scms, silent_or_talking
from siscm.theory.properties import Counterexample
from siscm.theory.random_scms import TALK, different_groups, herding, set_invariant
from siscm.theory.scm import EXACT, FiniteSCM, all_sets
from siscm.theory.statements import STATEMENTS

each = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.check.__name__)


@pytest.fixture(scope="module")
def cases() -> dict[str, pd.DataFrame]:
    drawn = {
        models: list(models(np.random.default_rng(2026), 240))
        for models in {s.models for s in STATEMENTS}
    }
    return {s.check.__name__: theorems.run(s.check, drawn[s.models]) for s in STATEMENTS}


@each
def test_confirmed(statement, cases) -> None:
    found = cases[statement.check.__name__]
    assert len(found) >= 360
    theorems.confirm(found)
    gaps = found.loc[found["premise"] & found["left"], "gap"].dropna()
    assert (gaps <= EXACT).all()


@each
def test_refuted_when_broken(statement, cases) -> None:
    """Models without the premise, or made otherwise, are called what they are not."""
    found = cases[statement.check.__name__]
    broken = found.assign(**{"left" if found["premise"].all() else "premise": True})
    with pytest.raises(AssertionError, match=r"refute the statement; first a model of the family"):
        theorems.confirm(broken)


@each
def test_both_sides_are_well_filled(statement, cases) -> None:
    found = cases[statement.check.__name__]
    varying = [side for side in ("premise", "left") if not found[side].all()]
    assert varying
    for side in varying:
        assert 0.25 <= found[side].mean() <= 0.75


def test_a_check_that_could_not_fail_is_no_confirmation() -> None:
    rng = np.random.default_rng(1)
    silent = [drawn for drawn in silent_or_talking(rng, 60) if drawn.holds]
    for check in (theorems.theorem_3, theorems.definition_1):
        with pytest.raises(AssertionError, match="the check says little"):
            theorems.confirm(theorems.run(check, silent))


@pytest.mark.parametrize(
    ("premise", "left", "enough"),
    [
        (8, 40, False),
        (10, 40, True),
        (30, 40, True),
        (32, 40, False),
        (40, 9, False),
        (40, 10, True),
    ],
)
def test_a_quarter_must_lie_on_either_side(premise: int, left: int, enough: bool) -> None:
    number = np.arange(40)
    sides = {"premise": number < premise, "left": number < left}
    sides["right"] = number < min(premise, left)
    found = pd.DataFrame({"family": "any", **sides, "words": ""})
    if enough:
        theorems.confirm(found)
    else:
        with pytest.raises(AssertionError, match="the check says little"):
            theorems.confirm(found)


def test_a_false_theorem_is_refuted() -> None:
    """Experts of different groups taken for one group's: Theorem 10 must not survive."""
    models = pairs_of_gumbel_max_si_scms(np.random.default_rng(3), 50)
    swapped = (replace(drawn, holds=not drawn.holds) for drawn in models)
    found = theorems.run(theorems.theorem_10, swapped)
    with pytest.raises(AssertionError, match="different groups"):
        theorems.confirm(found)
    assert theorems.exceptions(found)["words"].str.contains("would have said").all()


def test_across_groups_the_counterfactual_is_the_marginal() -> None:
    models = pairs_of_gumbel_max_si_scms(np.random.default_rng(4), 100)
    theorems.confirm(theorems.run(theorems.across_groups, models))


@pytest.mark.parametrize("talk", TALK)
def test_rarer_talk_than_any_tolerance_of_ours_is_still_found(talk) -> None:
    """Set invariance is about mechanisms, not about how likely it is that they are used."""
    base = set_invariant(np.random.default_rng(0), n_noise=20)
    drawn = Drawn(talk(base, 1e-9), "rare", False)
    assert theorems.definition_1(drawn).right is False
    assert theorems.theorem_4(drawn).gap == pytest.approx(0, abs=1e-8)
    assert theorems.theorem_4(drawn).gap > 0


@pytest.mark.parametrize("off", [1e-11, 1e-9, 1e-3])
def test_equal_means_to_1e_12(off) -> None:
    """Two coins: she follows him that often when both are asked, or agrees with him so in any."""
    fair, joint = (
        np.array([0.5, 0.5]),
        np.array([[0.25 + off, 0.25 - off], [0.25 - off, 0.25 + off]]),
    )
    answers = np.indices((2, 2)).reshape(2, -1).T[None]
    scm = FiniteSCM.from_submechanisms(answers, joint.ravel(), 2)
    assert not theorems.across_groups(Drawn(scm, "", False, np.stack([fair, fair]))).right
    base = FiniteSCM.from_submechanisms(np.array([[[0, 0], [0, 1]]]), fair, 2)
    drawn = Drawn(herding(base, 4 * off), "", False)
    for check in (theorems.theorem_4, theorems.corollary_1, theorems.corollary_2):
        assert check(drawn).gap == pytest.approx(2 * off, rel=0.02)
        assert not check(drawn).right


def test_the_same_laws_for_every_set_do_not_make_two_worlds_one() -> None:
    """Theorem 4 cannot be turned around: its conclusion holds here, Corollary 2's does not."""
    drawn = Drawn(contrary(), "two worlds", False)
    assert not theorems.definition_1(drawn).right
    assert theorems.theorem_4(drawn).gap == 0
    assert theorems.corollary_2(drawn).gap == 1


def test_tally_of_an_equivalence_under_a_premise() -> None:
    sides = [(True, True, True)] * 3 + [(True, False, False)] * 2 + [(False, True, False)]
    frame = pd.DataFrame(sides, columns=["premise", "left", "right"])
    counts = theorems.tally(frame, ("yes", "no"), ("agree", "one only"))
    assert counts.to_dict("index") == {
        "yes": {"agree, both": 3, "agree, neither": 2, "one only": 0},
        "no": {"agree, both": 0, "agree, neither": 0, "one only": 1},
    }
    frame["left"] = True
    counts = theorems.tally(frame, ("yes", "no"), ("holds", "fails"))
    assert counts.loc["yes"].tolist() == [3, 2]
    assert counts.loc["no"].tolist() == [0, 1]


@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize("asked", all_sets(3), ids=sorted)
def test_no_set_and_no_features_are_left_out(asked, x) -> None:
    """Her share of label 1 falls from 3/4 to 1/4 there, and "would" and "says" part for certain.

    With another asked, all of the 3/4 with which both say 1 is gone.
    """
    drawn = Drawn(spoilt(asked, min(asked), x), "one place", False)
    assert not theorems.definition_1(drawn).right
    assert not theorems.theorem_2(drawn).right
    # Together they may say whatever they like: with what each says alone it is not the same.
    assert not theorems.theorem_3(drawn).right
    for check, gap in (
        (theorems.theorem_4, 0.5 if len(asked) == 1 else 0.75),
        (theorems.corollary_1, 0.5),
        (theorems.corollary_2, 1.0),
    ):
        case = check(drawn)
        assert case.gap == pytest.approx(gap)
        assert not case.premise
        assert not case.right


def test_the_law_of_several_is_more_than_each_ones() -> None:
    """Theorem 4, not Corollary 1: one set of two agrees always; all else are two fair coins."""
    coins = np.indices((2, 2)).reshape(2, -1).T[None]

    def mechanism(members: frozenset[int]) -> np.ndarray:
        said = coins[..., [h % 2 for h in sorted(members)]]
        return said[..., [0, 0]] if members == {0, 1} else said

    drawn = Drawn(FiniteSCM.from_mechanism(mechanism, np.full(4, 0.25), 3, 2), "coins", False)
    assert theorems.corollary_1(drawn).gap == 0
    assert theorems.theorem_4(drawn).gap == pytest.approx(0.25)


def test_each_side_of_stability_is_its_own_predicate() -> None:
    """Strangers who repeat each other are stable in data only: Theorem 7 needs its premise."""
    fair = np.array([0.5, 0.5])
    talking = Drawn(herding(different_groups(fair, fair), 1.0), "talk", False)
    assert not theorems.definition_5(talking).right
    assert theorems.definition_6(talking).right
    for check in (theorems.theorem_7, theorems.corollary_3):
        case = check(talking)
        assert (case.premise, case.left, case.right) == (False, False, True)


def test_a_group_is_more_than_its_first_pair() -> None:
    """A and B are similar, B and C are, A and C are not (see the page on similar experts)."""
    said = np.array([[[1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]])
    chain = Drawn(FiniteSCM.from_submechanisms(said, np.full(4, 0.25), 2), "chain", False)
    assert theorems.definition_5(chain).right
    assert theorems.definition_6(chain).right
    assert not theorems.definition_8(chain).right
    case = theorems.corollary_3(chain)
    assert (case.premise, case.left, case.right) == (True, False, False)


def test_theorem_1_asks_for_set_invariance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the predicate to find an exception where all have mechanisms of their own, it shows."""
    drawn = Drawn(set_invariant(np.random.default_rng(0)), "silent", True)
    assert theorems.theorem_2(drawn).right
    example = Counterexample(0, (0,), "she says otherwise")
    monkeypatch.setattr(theorems, "set_invariance", lambda _: example)
    case = theorems.theorem_2(drawn)
    assert (case.premise, case.right, case.words) == (True, False, "she says otherwise")


def test_theorem_2_asks_for_equivalence_and_for_an_si_scm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Talk that never occurs breaks set invariance, and leaves the answers almost surely."""
    silent = set_invariant(np.random.default_rng(0))
    talk_that_never_occurs = herding(silent, 0.0)
    case = theorems.theorem_3(Drawn(talk_that_never_occurs, "never occurs", False))
    assert (case.premise, case.right) == (False, True)
    drawn = Drawn(theorems.decoupled(talk_that_never_occurs), "silent", True)
    assert theorems.theorem_3(drawn).right
    monkeypatch.setattr(theorems, "decoupled", lambda _: talk_that_never_occurs)
    case = theorems.theorem_3(drawn)
    assert (case.premise, case.right) == (True, False)


def test_habits_kept_are_not_enough_for_a_gumbel_max_si_scm() -> None:
    drawn = replace(Drawn(contrary(), "talk", False), marginals=np.full((2, 2), 0.5))
    case = theorems.definition_9(drawn)
    assert case.gap == 0
    assert not case.right
    p, q = np.array([[0.5, 0.5], [0.2, 0.8]])
    case = theorems.definition_9(
        Drawn(different_groups(p, q), "exchanged", False, np.stack([q, p]))
    )
    assert case.gap == pytest.approx(0.3)
    assert not case.right


def test_across_groups_no_label_is_left_out() -> None:
    """After label 0 she says what she tends to, after the others she does not."""
    joint = np.array([[4, 2, 2], [2, 2, 0], [2, 0, 2]]) / 16
    answers = np.indices((3, 3)).reshape(2, -1).T[None]
    scm = FiniteSCM.from_submechanisms(answers, joint.ravel(), 3)
    drawn = Drawn(scm, "hand", False, np.stack([joint.sum(axis=1), joint.sum(axis=0)]))
    case = theorems.across_groups(drawn)
    assert case.gap == pytest.approx(0.25)
    assert not case.right


def frame(*cells: tuple[int, bool, bool, bool]) -> pd.DataFrame:
    """Cases of (how many, premise, left, right)."""
    rows = [(p, a, b) for n, p, a, b in cells for _ in range(n)]
    found = pd.DataFrame(rows, columns=["premise", "left", "right"])
    return found.assign(family="hand", gap=np.nan, words="")


YES, NO = True, False


@pytest.mark.parametrize(
    "cells",
    [
        [(50, YES, YES, YES), (50, NO, YES, NO)],
        [(25, YES, YES, YES), (75, NO, YES, NO)],
        [(75, YES, YES, YES), (25, NO, YES, NO)],
        [(50, YES, YES, YES), (25, NO, YES, NO), (25, NO, YES, YES)],
        [(50, YES, YES, YES), (50, YES, NO, NO)],
        [(25, YES, YES, YES), (25, YES, NO, NO), (50, NO, NO, YES)],
    ],
)
def test_what_is_well_filled_confirms(cells) -> None:
    theorems.confirm(frame(*cells))


@pytest.mark.parametrize(
    "cells",
    [
        [(24, YES, YES, YES), (76, NO, YES, NO)],
        [(76, YES, YES, YES), (24, NO, YES, NO)],
        [(76, YES, YES, YES), (24, YES, NO, NO)],
        [(24, YES, YES, YES), (76, YES, NO, NO)],
        [(100, NO, YES, NO)],
        # An equivalence of which only one side occurs where the premise holds.
        [(50, YES, YES, YES), (50, NO, NO, NO)],
        [(50, YES, YES, YES), (40, NO, NO, YES), (10, NO, YES, NO)],
        [(50, YES, NO, NO), (50, NO, YES, NO)],
        [(40, YES, YES, YES), (10, YES, NO, NO), (50, NO, NO, YES)],
        # A claim that held in whatever was drawn.
        [(50, YES, YES, YES), (50, NO, YES, YES)],
        [],
    ],
)
def test_what_is_badly_filled_says_little(cells) -> None:
    with pytest.raises(AssertionError, match="the check says little"):
        theorems.confirm(frame(*cells))


@pytest.mark.parametrize("sides", [(YES, NO), (NO, YES)])
def test_a_single_exception_refutes_whichever_side_it_is_on(sides) -> None:
    with pytest.raises(AssertionError, match="1 of 101 cases refute the statement"):
        theorems.confirm(
            frame((25, YES, YES, YES), (25, YES, NO, NO), (50, NO, NO, YES), (1, YES, *sides))
        )


def test_a_tally_counts_every_case() -> None:
    cases = frame((3, YES, YES, YES), (2, NO, YES, NO))
    assert theorems.tally(cases, ("a", "b"), ("c", "d")).to_numpy().sum() == 5


def test_what_she_would_have_said_is_compared_for_each_label_that_was_said() -> None:
    """Expert 1 says 0 alone, and with expert 0 repeats her: only where that one says 1 it shows."""
    alone, together = np.array([[[0, 0], [1, 0]]]), np.array([[[0, 0], [1, 1]]])
    scm = FiniteSCM.from_mechanism(
        lambda asked: (alone if len(asked) == 1 else together)[..., sorted(asked)],
        np.array([0.5, 0.5]),
        n_experts=2,
        n_classes=2,
    )
    assert theorems.corollary_2(Drawn(scm, "", False)).gap == pytest.approx(1)
