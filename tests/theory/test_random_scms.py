"""Random models: experts made alike are stable, and those who talk do it as said."""

from __future__ import annotations

import re

import numpy as np
import pytest
from finite_models import BOTH, SEEDS, by_hand, with_seed
from scipy.stats import norm

from siscm import gumbel
from siscm.theory.properties import (
    conditional_stability,
    counterfactual_stability,
    pairwise_conditional_stability,
    pairwise_counterfactual_stability,
    set_invariance,
)
from siscm.theory.random_scms import (
    anchoring,
    contradicted,
    different_groups,
    herding,
    monotone,
    normal_noise,
    same_group,
    senior,
    shared_noise,
    stable,
)
from siscm.theory.scm import FiniteSCM, counterfactual, interventional, marginal


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


def test_normal_noise_is_that_of_many_normal_draws() -> None:
    """Two labels, three experts: each by the normal distribution, and all of them together."""
    habits = np.array([[0.7, 0.3], [0.5, 0.5], [0.02, 0.98]])
    exact = normal_noise(habits)
    assert set_invariance(exact) is None
    alone = [marginal(exact, 0, frozenset({h}), h)[1] for h in range(3)]
    np.testing.assert_allclose(
        alone, norm.cdf(np.log(habits[:, 1] / habits[:, 0]) / np.sqrt(2)), atol=1e-12
    )
    assert alone[1] == pytest.approx(0.5)
    assert np.abs(alone - habits[:, 1])[[0, 2]].min() > 0.01
    many = shared_noise(habits, with_seed(0).normal(size=(400_000, 2)))
    everybody = frozenset(range(3))
    np.testing.assert_allclose(
        interventional(many, 0, everybody), interventional(exact, 0, everybody), atol=0.004
    )


def test_a_pair_of_one_group_has_the_exact_law() -> None:
    p, q = with_seed(3).dirichlet(np.ones(3), size=2)
    scm = same_group(p, q)
    for c in range(3):
        law = gumbel.counterfactual_probabilities(np.log(p), np.log(q), np.array(c))
        found = counterfactual(scm, 0, frozenset({0}), {0: c}, frozenset({1}), 1)
        np.testing.assert_allclose(found, law, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_that_rounding_leaves_in_the_exact_law_is_no_counterexample(seed: int) -> None:
    p, q = np.append(with_seed(seed).dirichlet(np.ones(3)), 0), np.zeros(3)
    q[:2] = p[:2] * with_seed(seed).uniform(0.2, 1)  # the first two ratios tie
    q[2] = 1 - q.sum()
    pair = same_group(p[:3], q)
    assert counterfactual_stability(pair, 0, 1) is None
    assert conditional_stability(pair, 1, 0) is None


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


def test_generators_refuse_what_they_cannot_keep() -> None:
    with pytest.raises(ValueError, match="must not talk; but x = 0"):
        contradicted(herding(by_hand(), 0.5), 0, 1)
    with pytest.raises(ValueError, match="strength is nan"):
        herding(by_hand(), np.nan)


def test_a_contradiction_is_rare_enough_to_leave_the_odds_by_hand() -> None:
    """0.95 of 0.1 is 0.05 more than 0.05 of 0.9: the last noise has an eighth of that."""
    base = same_group(np.array([0.9, 0.1]), np.array([0.95, 0.05]))
    scm = contradicted(base, 0, 1)
    assert scm is not None
    assert scm.prior[-1] == pytest.approx(0.05 / 8)
    np.testing.assert_allclose(scm.prior[:-1], (1 - 0.05 / 8) * base.prior)
    assert scm.answers[BOTH][0, -1].tolist() == [0, 1]
    p, q = (marginal(scm, 0, BOTH, h) for h in (0, 1))
    assert q[0] * p[1] > q[1] * p[0]


def test_a_threshold_of_doubt_may_be_none_or_above_all_doubt() -> None:
    """Some always say the cautious label, some only what they see."""
    always, never = 0, 0
    for seed in range(30):
        said = stable(with_seed(seed), n_steps=2).alone.reshape(-1, 3, 2, 3)
        steady = (said[:, :, 0] == said[:, :, 1]).all(axis=1)
        n_labels = np.array([[len(set(x[:, 0, h])) for h in range(3)] for x in said])
        always += (steady & (n_labels == 1)).sum()
        never += (steady & (n_labels == 3)).sum()
    # Of 180 experts and features a third each.
    assert 40 < always < 80
    assert 40 < never < 80


def test_experts_of_different_groups_keep_their_own_habits() -> None:
    p, q = np.array([0.7, 0.3]), np.array([0.2, 0.8])
    np.testing.assert_allclose(interventional(different_groups(p, q), 0, BOTH), np.outer(p, q))


def test_who_talks_already_goes_on_to_do_so() -> None:
    base = herding(by_hand(), 1.0)
    n = len(base.prior)
    np.testing.assert_array_equal(senior(base, 0.5).answers[BOTH][:, :n], base.answers[BOTH])
