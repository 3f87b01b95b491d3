"""Every numbered statement is confirmed on random models, and its check fails once it is broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from siscm import theorems
from siscm.examples import contrary
from siscm.populations import Drawn, pairs_of_gumbel_max_si_scms, silent_or_talking
from siscm.random_scms import TALK, set_invariant
from siscm.scm import EXACT
from siscm.statements import STATEMENTS

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
    for check in (theorems.theorem_2, theorems.definition_1):
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
    sides = {"premise": number < premise, "left": number < left, "right": number < left}
    found = pd.DataFrame({"family": "any", **sides, "words": ""})
    if enough:
        theorems.confirm(found)
    else:
        with pytest.raises(AssertionError, match="the check says little"):
            theorems.confirm(found)


def test_a_false_theorem_is_refuted() -> None:
    """Experts of different groups taken for one group's: Theorem 5 must not survive."""
    models = pairs_of_gumbel_max_si_scms(np.random.default_rng(3), 50)
    swapped = (replace(drawn, holds=not drawn.holds) for drawn in models)
    found = theorems.run(theorems.theorem_5, swapped)
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
    assert theorems.theorem_3(drawn).gap == pytest.approx(0, abs=1e-8)
    assert theorems.theorem_3(drawn).gap > 0


def test_the_same_laws_for_every_set_do_not_make_two_worlds_one() -> None:
    """Theorem 3 cannot be turned around: its conclusion holds here, Corollary 2's does not."""
    drawn = Drawn(contrary(), "two worlds", False)
    assert not theorems.definition_1(drawn).right
    assert theorems.theorem_3(drawn).gap == 0
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
