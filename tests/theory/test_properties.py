"""Definitions as predicates: where they say "for all", by definition word for word, by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from finite_models import BOTH, SEEDS, by_hand, spoilt, with_seed

from siscm.theory.properties import (
    conditional_stability,
    counterfactual_stability,
    decoupled,
    equivalence,
    pairwise_conditional_stability,
    pairwise_counterfactual_stability,
    set_invariance,
    submechanisms,
)
from siscm.theory.random_scms import TALK, contradicted, herding, monotone, set_invariant
from siscm.theory.scm import FiniteSCM, all_sets, counterfactual, marginal


@pytest.mark.parametrize("talk", TALK)
def test_experts_who_talk_are_not(talk) -> None:
    found = 0
    for seed in SEEDS:
        base = set_invariant(with_seed(seed))
        scm = talk(base, 0.5)
        example = set_invariance(scm)
        found += example is not None and "are asked" in str(example)
        assert (equivalence(scm, decoupled(scm)) is None) == (example is None)
        # Talk that never happens has probability zero, and so no weight in equivalence.
        assert equivalence(talk(base, 0.0), decoupled(talk(base, 0.0))) is None
    assert found == len(SEEDS)


def test_both_notions_of_stability_agree_without_talk() -> None:
    """Theorem 7: on models that are stable, and on many that are not."""
    outcomes = []
    for seed in range(150):
        scm = set_invariant(with_seed(seed), n_experts=2, n_classes=2 + seed % 2, n_noise=4)
        seen = conditional_stability(scm, 0, 1)
        assert (seen is None) == (counterfactual_stability(scm, 0, 1) is None)
        outcomes.append(seen is None)
    assert 5 < sum(outcomes) < 145


def naive_stability(scm: FiniteSCM, h: int, other: int) -> bool:
    """The definition word for word, by the three steps of a counterfactual."""
    sets = all_sets(scm.n_experts)
    for x, asked, instead in product(range(scm.n_x), sets, sets):
        if h not in asked or other not in instead:
            continue
        p, q = marginal(scm, x, asked, h), marginal(scm, x, instead, other)
        for c, d in product(np.flatnonzero(p > 0).tolist(), range(scm.n_classes)):
            if c == d or q[c] * p[d] < q[d] * p[c] - 1e-12:
                continue
            if counterfactual(scm, x, asked, {h: c}, instead, other)[d] > 1e-12:
                return False
    return True


@pytest.mark.parametrize("seed", range(30))
def test_stability_in_all_worlds_at_once_is_stability_step_by_step(seed: int) -> None:
    alike, rng = monotone(with_seed(seed), n_experts=2 + seed % 2), with_seed(seed)
    models = [
        alike,
        contradicted(alike, 0, 1) or alike,
        herding(alike, 0.5),
        set_invariant(rng, n_experts=2, n_classes=2, n_noise=3),
    ]
    for scm in models:
        for h, other in ((0, 1), (1, 0), (1, 1)):
            found = counterfactual_stability(scm, h, other)
            assert (found is None) == naive_stability(scm, h, other)


@pytest.mark.parametrize("talk", TALK)
def test_who_talks_has_no_submechanism(talk) -> None:
    base = set_invariant(with_seed(1), n_experts=3, n_noise=20)
    assert submechanisms(base) is None
    example = submechanisms(talk(base, 0.5))
    assert example is not None
    assert "depending on who is asked" in str(example)


def test_with_talk_the_two_notions_part() -> None:
    base = FiniteSCM.from_submechanisms(
        np.array([[[0, 1], [1, 0]]]), np.array([0.5, 0.5]), n_classes=2
    )
    scm = herding(base, 1.0)
    assert conditional_stability(scm, 0, 1) is None  # asked together, they always agree
    example = counterfactual_stability(scm, 0, 1)
    assert example is not None
    assert example.experts == (0, 1)
    assert "would have said" in str(example)


SPOILT = [(asked, h, x) for asked in all_sets(3) for h in sorted(asked) for x in (0, 1)]
one_place = pytest.mark.parametrize(("asked", "expert", "x"), SPOILT)


@one_place
def test_talk_in_one_place_is_found_there(asked, expert, x) -> None:
    """In each set, of each expert and on each x: no part of the quantifier may be skipped."""
    base, scm = by_noise(), spoilt(asked, expert, x)
    for example in (set_invariance(scm), submechanisms(scm), equivalence(scm, base)):
        assert example is not None
        assert (example.x, example.experts) == (x, (expert,))
    assert f"{sorted(asked)} asked" in str(equivalence(scm, base))
    # Theorem 3's construction asks each alone, and knows nothing of what they say together.
    assert (equivalence(decoupled(scm), base) is None) == (len(asked) > 1)


def by_noise() -> FiniteSCM:
    """Three experts who all say the noise."""
    return FiniteSCM.from_submechanisms(np.tile([[0], [1]], (2, 1, 3)), np.array([0.25, 0.75]), 2)


@one_place
def test_parting_in_one_place_breaks_stability_of_those_concerned(asked, expert, x) -> None:
    """Conditionally, of those asked with her; counterfactually, of her and anybody."""
    scm = spoilt(asked, expert, x)
    for h, other in product(range(3), repeat=2):
        seen = h != other and expert in (h, other) and {h, other} <= asked
        example = conditional_stability(scm, h, other)
        assert (example is None) == (not seen)
        assert example is None or (example.x, example.experts) == (x, (h, other))
        example = counterfactual_stability(scm, h, other)
        assert (example is None) == (expert not in (h, other))
    for group in ([0, 1, 2], [2, 0], [1]):
        seen = len(asked & set(group)) > 1 and expert in group
        assert (pairwise_conditional_stability(scm, group) is None) == (not seen)
        concerned = len(group) > 1 and expert in group
        assert (pairwise_counterfactual_stability(scm, group) is None) == (not concerned)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [1, 0, 2]])
def test_every_pair_of_a_group_counts(order) -> None:
    """A and C, who only are not similar, stand anywhere in the group."""
    said = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0]])[order]
    scm = FiniteSCM.from_submechanisms(said.T[None], np.full(4, 0.25), 2)
    for found in (pairwise_counterfactual_stability, pairwise_conditional_stability):
        example = found(scm, range(3))
        assert example is not None
        assert found(scm, iter(range(3))) == example
        assert {order[h] for h in example.experts} == {0, 2}


def test_a_counterexample_is_told_by_hand() -> None:
    """Expert 0 says 1 with probability 0.6, expert 1 with 0.9; 0.1 of all turn from 1 to 0."""
    answers = np.array([[[0, 1], [1, 0], [1, 1]]])
    scm = FiniteSCM.from_submechanisms(answers, np.array([0.4, 0.1, 0.5]), 2)
    odds = "whose odds of 1 against 0 are no lower"
    assert str(conditional_stability(scm, 0, 1)) == (
        f"x = 0, [0, 1] asked: expert 0 says 1, and expert 1, {odds}, says 0 with "
        "probability 0.167."
    )
    assert str(counterfactual_stability(scm, 0, 1)) == (
        f"x = 0, [0] asked, then [1]: expert 0 says 1, and expert 1, {odds}, would have said 0 "
        "with probability 0.167."
    )
    assert str(conditional_stability(scm, 1, 0)) == (
        "x = 0, [0, 1] asked: expert 1 says 0, and expert 0, whose odds of 0 against 1 are no "
        "lower, says 1 with probability 1."
    )


@pytest.mark.parametrize("chance", [0.0, 1e-15, 0.01])
def test_set_invariance_is_about_every_noise_equivalence_about_those_that_occur(chance) -> None:
    own = np.array([[[0, 0], [0, 1]]])
    scm = FiniteSCM.from_mechanism(
        lambda asked: own[..., sorted(asked)] if len(asked) == 1 else own[..., [0, 0]],
        np.array([1 - chance, chance]),
        n_experts=2,
        n_classes=2,
    )
    assert set_invariance(scm) is not None
    assert submechanisms(scm) is not None
    assert (equivalence(scm, decoupled(scm)) is None) == (chance == 0)


@pytest.mark.parametrize("scale", [0.1, 1e-3, 1e-7, 1e-10])
def test_odds_of_rare_labels_are_told_apart(scale) -> None:
    """Expert 1 leans to label 2 and away from 1, and parts that way only, however rare both are."""
    answers = np.array([[[0, 0], [1, 1], [1, 2], [2, 2]]])
    scm = FiniteSCM.from_submechanisms(answers, np.array([1 - 3 * scale, *[scale] * 3]), 3)
    assert conditional_stability(scm, 0, 1) is None
    assert counterfactual_stability(scm, 0, 1) is None
    contrary = FiniteSCM.from_submechanisms(
        np.array([[[0, 0], [1, 1], [1, 2], [2, 1], [2, 1]]]),
        np.array([1 - 4 * scale, *[scale] * 4]),
        3,
    )
    assert conditional_stability(contrary, 0, 1) is not None  # from 1 to 2, against the odds
    assert counterfactual_stability(contrary, 0, 1) is not None


@pytest.mark.parametrize("parts", [1, 3, 7, 10])
def test_ratios_that_tie_forbid_the_move_however_rounding_falls(parts) -> None:
    """Both say 0 and 1 equally often; whichever way some of them turn, it is against the odds."""
    # Joint law in 1/10: from 2 to 0 twice, which is allowed; from 0 to 1 once, which is not.
    joint = {(0, 0): 1, (0, 1): 1, (1, 1): 2, (2, 0): 2, (2, 2): 4}
    for turned in (False, True):
        pairs = [
            tuple({0: 1, 1: 0}.get(label, label) for label in pair) if turned else pair
            for pair in joint
        ]
        weights = np.repeat(list(joint.values()), parts) / parts
        answers = np.repeat(pairs, parts, axis=0)[None]
        scm = FiniteSCM.from_submechanisms(answers, weights / weights.sum(), 3)
        for found in (conditional_stability, counterfactual_stability):
            for h, other in ((0, 1), (1, 0)):
                assert found(scm, h, other) is not None


@pytest.mark.parametrize("stranger", [-1, 2])
def test_nobody_whom_the_model_lacks_is_stable(stranger) -> None:
    words = f"expert {stranger} is none of the model's, 0 to 1"
    for found in (counterfactual_stability, conditional_stability):
        for h, other in ((0, stranger), (stranger, 0)):
            with pytest.raises(ValueError, match=words):
                found(by_hand(), h, other)
    for found in (pairwise_counterfactual_stability, pairwise_conditional_stability):
        for group in ([0, 1, stranger], [stranger]):
            with pytest.raises(ValueError, match=words):
                found(by_hand(), group)


def test_models_of_other_features_or_experts_are_not_compared() -> None:
    scm = by_hand()
    both = np.concatenate([scm.answers[BOTH]] * 2)
    with pytest.raises(ValueError, match="not 1 and 2 here, 2 and 2 there"):
        equivalence(scm, FiniteSCM.from_submechanisms(both, scm.prior, 2))
    with pytest.raises(ValueError, match="not 1 and 2 here, 1 and 1 there"):
        equivalence(scm, FiniteSCM.from_submechanisms(both[:1, :, :1], scm.prior, 2))


@pytest.mark.parametrize(("chance", "stable"), [(1e-13, True), (1e-9, False)])
def test_what_is_less_likely_than_rounding_is_breaks_no_stability(chance, stable) -> None:
    """Expert 1 leans to 0, and yet says 1 now and then where expert 0 says 0."""
    answers = np.array([[[0, 0], [1, 1], [1, 0], [0, 1]]])
    scm = FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.3, 0.2 - chance, chance]), 2)
    assert (counterfactual_stability(scm, 0, 1) is None) == stable
    assert (conditional_stability(scm, 0, 1) is None) == stable


def test_models_of_noises_that_are_not_as_likely_are_not_compared() -> None:
    scm = by_hand()
    other = FiniteSCM(scm.prior[::-1].copy(), scm.answers, 2)
    assert not np.array_equal(scm.prior, other.prior)
    with pytest.raises(ValueError, match="must have the same noise distribution"):
        equivalence(scm, other)
