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
    contradicted,
    herding,
    monotone,
    same_group,
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
