"""Finite models: distributions by enumeration, definitions as predicates, random models."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from siscm import gumbel
from siscm.properties import (
    conditional_stability,
    counterfactual_stability,
    decoupled,
    equivalence,
    pairwise_conditional_stability,
    pairwise_counterfactual_stability,
    set_invariance,
    submechanisms,
)
from siscm.random_scms import (
    TALK,
    anchoring,
    contradicted,
    different_groups,
    herding,
    monotone,
    same_group,
    senior,
    set_invariant,
    shared_noise,
    stable,
)
from siscm.scm import (
    FiniteSCM,
    all_sets,
    conditional,
    counterfactual,
    interventional,
    marginal,
)

SEEDS = range(40)
BOTH = frozenset({0, 1})


def with_seed(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_hand() -> FiniteSCM:
    """Two experts, three equally likely noises: the second says otherwise at the last."""
    answers = np.array([[[0, 0], [1, 1], [1, 0]]])
    return FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.25, 0.25]), 2)


def test_distributions_of_a_model_counted_by_hand() -> None:
    scm = by_hand()
    np.testing.assert_allclose(interventional(scm, 0, BOTH), [[0.5, 0.0], [0.25, 0.25]])
    np.testing.assert_allclose(marginal(scm, 0, BOTH, 0), [0.5, 0.5])
    np.testing.assert_allclose(marginal(scm, 0, frozenset({1}), 1), [0.75, 0.25])
    np.testing.assert_allclose(conditional(scm, 0, BOTH, {0: 1}, 1), [0.5, 0.5])
    alone, other = frozenset({0}), frozenset({1})
    np.testing.assert_allclose(counterfactual(scm, 0, alone, {0: 1}, other, 1), [0.5, 0.5])
    np.testing.assert_allclose(counterfactual(scm, 0, other, {1: 1}, alone, 0), [0.0, 1.0])


def test_a_counterfactual_about_experts_who_talk_counted_by_hand() -> None:
    """With herding, what both would say when asked together is not what they say when alone."""
    scm = herding(by_hand(), 0.5)
    np.testing.assert_allclose(conditional(scm, 0, BOTH, {0: 1}, 1), [0.25, 0.75])
    alone, other = frozenset({0}), frozenset({1})
    np.testing.assert_allclose(counterfactual(scm, 0, alone, {0: 1}, other, 1), [0.5, 0.5])


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_sums_to_the_marginals(seed: int) -> None:
    scm = herding(set_invariant(with_seed(seed)), 0.3)
    for x, asked in product(range(scm.n_features), all_sets(scm.n_experts)):
        joint = interventional(scm, x, asked)
        assert joint.sum() == pytest.approx(1)
        for axis, expert in enumerate(sorted(asked)):
            others = tuple(a for a in range(joint.ndim) if a != axis)
            np.testing.assert_allclose(joint.sum(axis=others), marginal(scm, x, asked, expert))


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


@pytest.mark.parametrize("seed", SEEDS)
def test_experts_made_alike_are_stable_in_both_senses(seed: int) -> None:
    scm = stable(with_seed(seed), n_experts=4, n_classes=4)
    assert set_invariance(scm) is None
    assert pairwise_conditional_stability(scm, range(4)) is None
    assert pairwise_counterfactual_stability(scm, range(4)) is None
    lenient = monotone(with_seed(seed), n_experts=4, n_classes=4)
    assert set_invariance(lenient) is None
    assert pairwise_counterfactual_stability(lenient, range(4)) is None
    pair = same_group(*with_seed(seed).dirichlet(np.ones(4), size=2))
    assert counterfactual_stability(pair, 0, 1) is None
    assert conditional_stability(pair, 1, 0) is None


def test_stable_experts_are_not_all_the_same_one() -> None:
    differ = [
        np.ptp([marginal(scm, 0, frozenset({h}), h)[0] for h in range(3)]) > 0.05
        for make in (stable, monotone)
        for scm in (make(with_seed(seed)) for seed in SEEDS)
    ]
    assert np.mean(differ) > 0.5


def test_both_notions_of_stability_agree_without_talk() -> None:
    """Theorem 4: on models that are stable, and on many that are not."""
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
    for x, asked, instead in product(range(scm.n_features), sets, sets):
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


@pytest.mark.parametrize("seed", SEEDS)
def test_one_noise_is_enough_to_contradict_and_is_named(seed: int) -> None:
    scm = contradicted(monotone(with_seed(seed)), 0, 1)
    assert scm is not None
    assert counterfactual_stability(scm, 0, 1) is not None
    example = conditional_stability(scm, 0, 1)
    assert example is not None
    said = re.search(r"expert 0 says (\d), and expert 1, .* says (\d) with", str(example))
    assert said is not None
    c, d = (int(label) for label in said.groups())
    both = interventional(scm, example.x, frozenset(range(3))).sum(axis=2)
    p, q = both.sum(axis=1), both.sum(axis=0)
    assert both[c, d] > 0
    assert q[c] * p[d] >= q[d] * p[c]


def test_equal_habits_cannot_be_contradicted() -> None:
    """Who has the same odds may part now and then, and stays stable: the odds then differ."""
    twins = FiniteSCM.from_submechanisms(np.array([[[0, 0], [1, 1]]]), np.array([0.5, 0.5]), 2)
    assert contradicted(twins, 0, 1) is None


def test_noise_that_is_shared_but_not_gumbel_moves_the_habits() -> None:
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    few = shared_noise(np.stack([p, q]), with_seed(0).gumbel(size=(8, 3)))
    assert set_invariance(few) is None
    assert np.abs(marginal(few, 0, BOTH, 0) - p).max() > 0.01
    many = shared_noise(np.stack([p, q]), with_seed(0).gumbel(size=(400_000, 3)))
    np.testing.assert_allclose(
        interventional(many, 0, BOTH), gumbel.joint_probabilities(np.log(p), np.log(q)), atol=0.004
    )


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


def test_a_pair_of_one_group_has_the_exact_law() -> None:
    p, q = with_seed(3).dirichlet(np.ones(3), size=2)
    scm = same_group(p, q)
    for c in range(3):
        law = gumbel.counterfactual_probabilities(np.log(p), np.log(q), np.array(c))
        found = counterfactual(scm, 0, frozenset({0}), {0: c}, frozenset({1}), 1)
        np.testing.assert_allclose(found, law, atol=1e-12)


def test_conditioning_on_the_impossible_is_refused() -> None:
    scm = by_hand()
    with pytest.raises(ValueError, match=r"cannot say \{0: 0, 1: 1\}"):
        conditional(scm, 0, BOTH, {0: 0, 1: 1}, 1)


def test_a_broken_model_is_refused() -> None:
    scm = by_hand()
    with pytest.raises(ValueError, match="sum to 1"):
        FiniteSCM(np.array([0.5, 0.25, 0.5]), scm.answers, 2)
    with pytest.raises(ValueError, match="every non-empty set of 2"):
        FiniteSCM(scm.prior, {BOTH: scm.answers[BOTH]}, 2)
    with pytest.raises(ValueError, match=r"experts \[0\]"):
        FiniteSCM(scm.prior, {**scm.answers, frozenset({0}): scm.answers[BOTH]}, 2)
    with pytest.raises(ValueError, match="it is a probability"):
        herding(scm, 1.5)
    with pytest.raises(ValueError, match="same noise distribution"):
        equivalence(scm, herding(scm, 0.5))


# --- where a definition says "for all" ----------------------------------------------------------


def spoilt(asked: frozenset[int], expert: int, x: int) -> FiniteSCM:
    """Three experts who say the noise, but for one who says the contrary to one set on one x."""

    def mechanism(members: frozenset[int]) -> np.ndarray:
        said = np.tile(np.array([[0], [1]]), (2, 1, len(members)))
        if members == asked:
            said[x, :, sorted(members).index(expert)] = 1, 0
        return said

    return FiniteSCM.from_mechanism(mechanism, np.array([0.25, 0.75]), 3, 2)


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
    # Theorem 2's construction asks each alone, and knows nothing of what they say together.
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


# --- noises that are rare, or never occur -------------------------------------------------------


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


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_that_rounding_leaves_in_the_exact_law_is_no_counterexample(seed: int) -> None:
    p, q = np.append(with_seed(seed).dirichlet(np.ones(3)), 0), np.zeros(3)
    q[:2] = p[:2] * with_seed(seed).uniform(0.2, 1)  # the first two ratios tie
    q[2] = 1 - q.sum()
    pair = same_group(p[:3], q)
    assert counterfactual_stability(pair, 0, 1) is None
    assert conditional_stability(pair, 1, 0) is None


# --- ways to talk, by hand ----------------------------------------------------------------------


def test_whom_they_follow_by_hand() -> None:
    """Three experts, three labels; what all say to each set when they talk for certain."""
    own = FiniteSCM.from_submechanisms(np.array([[[2, 1, 1]]]), np.ones(1), 3)
    expected = {
        herding: {(0, 1): [2, 2], (0, 2): [2, 2], (1, 2): [1, 1], (0, 1, 2): [2, 2, 2]},
        senior: {(0, 1): [2, 2], (0, 2): [2, 2], (1, 2): [1, 1], (0, 1, 2): [2, 2, 2]},
        # Of two who differ, the lower label wins the tie.
        anchoring: {(0, 1): [1, 1], (0, 2): [1, 1], (1, 2): [1, 1], (0, 1, 2): [1, 1, 1]},
    }
    for talk, sets in expected.items():
        scm = talk(own, 1.0)
        np.testing.assert_array_equal(scm.prior, [0, 1])
        for asked, said in sets.items():
            assert scm.answers[frozenset(asked)][0, 1, list(asked)].tolist() == said
            assert scm.answers[frozenset(asked)][0, 0, list(asked)].tolist() == [
                (2, 1, 1)[h] for h in asked
            ]
    apart = FiniteSCM.from_submechanisms(np.array([[[2, 1, 0]]]), np.ones(1), 3)
    pair = frozenset({1, 2})
    for talk, said in ((herding, [1, 1]), (senior, [1, 0]), (anchoring, [0, 0])):
        assert talk(apart, 1.0).answers[pair][0, 1, [1, 2]].tolist() == said


# --- what makes no sense is refused, and named --------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said", "target", "words"),
    [
        ({0}, {0: 1}, 1, r"what expert 1 says .* only \[0\] are asked"),
        ({0}, {1: 1}, 0, r"expert 1 cannot have said 1, for only \[0\] were asked"),
        ({0}, {1: -1}, 0, r"expert 1 cannot have said -1, for only \[0\] were asked"),
        ({0, 1}, {-1: 1}, 0, r"expert -1 cannot have said"),
        ({0, 1}, {0: 2}, 1, "expert 0 cannot have said 2; labels are 0 to 1"),
        ({0, 1}, {0: -1}, 1, "expert 0 cannot have said -1; labels"),
        ({0, 1}, {0: 1}, -1, r"what expert -1 says .* only \[0, 1\]"),
        ({0, 1}, {0: 1}, 2, "what expert 2 says"),
        ({0, 5}, {0: 1}, 0, r"asked \[0, 5\]: .* experts 0 to 1"),
        (set(), {}, 0, r"asked \[\]: "),
    ],
)
def test_a_question_about_who_was_not_asked_is_refused(asked, said, target, words) -> None:
    asked = frozenset(asked)
    with pytest.raises(ValueError, match=words):
        conditional(by_hand(), 0, asked, said, target)
    with pytest.raises(ValueError, match=words):
        counterfactual(by_hand(), 0, asked, said, asked, target)


def test_a_counterfactual_is_about_who_is_asked_instead() -> None:
    scm, alone, other = by_hand(), frozenset({0}), frozenset({1})
    with pytest.raises(ValueError, match=r"what expert 0 says .* only \[1\] are asked"):
        counterfactual(scm, 0, alone, {0: 1}, other, 0)
    with pytest.raises(ValueError, match=r"asked \[7\]"):
        counterfactual(scm, 0, alone, {0: 1}, frozenset({7}), 7)
    with pytest.raises(ValueError, match=r"what expert 1 says .* only \[0\] are asked"):
        marginal(scm, 0, alone, 1)
    with pytest.raises(ValueError, match=r"asked \[7\]"):
        interventional(scm, 0, frozenset({7}))


@pytest.mark.parametrize("x", [-1, 1])
def test_features_that_the_model_lacks_are_refused(x) -> None:
    scm = by_hand()
    for ask in (
        lambda: interventional(scm, x, BOTH),
        lambda: marginal(scm, x, BOTH, 0),
        lambda: conditional(scm, x, BOTH, {0: 1}, 1),
        lambda: counterfactual(scm, x, BOTH, {0: 1}, BOTH, 1),
    ):
        with pytest.raises(ValueError, match=f"x is {x}; the features are 0 to 0"):
            ask()


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


@pytest.mark.parametrize(
    "prior",
    [[1.5, -0.25, -0.25], [0.5, 0.25, 0.25 + 1e-9], [np.nan, 0.5, 0.5], [[0.5], [0.25], [0.25]]],
)
def test_a_prior_that_is_no_distribution_is_refused(prior) -> None:
    with pytest.raises(ValueError, match="probabilities that sum to 1"):
        FiniteSCM(np.array(prior), by_hand().answers, 2)


@pytest.mark.parametrize(
    ("alone", "words"),
    [
        ([[[0, -1], [1, -1], [2, -1]]], r"experts \[0\] .* from 0 to 1"),
        ([[[0, -1], [1, -1], [-1, -1]]], r"experts \[0\] .* from 0 to 1"),
        ([[[0, -1], [1, -1], [0.5, -1]]], r"experts \[0\] .* integer labels"),
        ([[[0, -1], [1, -1]]], r"experts \[0\] .* of shape \(1, 3, 2\)"),
        ([[[0, -1], [1, -1], [1, -1]]] * 2, r"experts \[0\] .* of shape \(1, 3, 2\)"),
    ],
)
def test_answers_that_are_no_labels_of_the_right_shape_are_refused(alone, words) -> None:
    scm = by_hand()
    answers = {BOTH: scm.answers[BOTH], frozenset({1}): scm.answers[frozenset({1})]}
    with pytest.raises(ValueError, match=words):
        FiniteSCM(scm.prior, {**answers, frozenset({0}): np.array(alone)}, 2)


def test_mechanisms_that_are_none_are_refused() -> None:
    prior, said = np.array([0.5, 0.5]), np.array([[[0, 0], [1, 1]]])
    with pytest.raises(ValueError, match="not none"):
        FiniteSCM(prior, {}, 2)
    with pytest.raises(ValueError, match=r"none of them 0, not \(0, 2, 2\)"):
        FiniteSCM.from_submechanisms(said[:0], prior, 2)
    with pytest.raises(ValueError, match=r"not \(2, 2\)"):
        FiniteSCM.from_submechanisms(said[0], prior, 2)
    # One column must not stand for both experts, nor 1.9 for label 1.
    with pytest.raises(ValueError, match=r"experts \[0, 1\] say, .* not \(1, 2, 1\)"):
        FiniteSCM.from_mechanism(lambda asked: said[..., :1], prior, 2, 2)
    with pytest.raises(ValueError, match=r"experts \[0\] must be integer labels, not float64"):
        FiniteSCM.from_submechanisms(said * 1.9, prior, 2)


def test_models_of_other_features_or_experts_are_not_compared() -> None:
    scm = by_hand()
    both = np.concatenate([scm.answers[BOTH]] * 2)
    with pytest.raises(ValueError, match="not 1 and 2 here, 2 and 2 there"):
        equivalence(scm, FiniteSCM.from_submechanisms(both, scm.prior, 2))
    with pytest.raises(ValueError, match="not 1 and 2 here, 1 and 1 there"):
        equivalence(scm, FiniteSCM.from_submechanisms(both[:1, :, :1], scm.prior, 2))


def test_generators_refuse_what_they_cannot_keep() -> None:
    half, third = np.full(2, 1 / 2), np.full(3, 1 / 3)
    with pytest.raises(ValueError, match="same labels, not of 3 and 2"):
        different_groups(third, half)
    with pytest.raises(ValueError, match="distributions of the same labels"):
        different_groups(2 * half, half)
    for pushes in (np.zeros((4, 1)), np.full((4, 2), np.nan)):
        with pytest.raises(ValueError, match="finite, one for each of the 2 labels"):
            shared_noise(np.stack([half, half]), pushes)
    with pytest.raises(ValueError, match="must not talk; but x = 0"):
        contradicted(herding(by_hand(), 0.5), 0, 1)
    with pytest.raises(ValueError, match="strength is nan"):
        herding(by_hand(), np.nan)
