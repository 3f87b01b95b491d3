"""Finite models: distributions by enumeration, counted by hand, and questions without an answer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from finite_models import BOTH, SEEDS, by_hand, with_seed

from siscm.theory.properties import equivalence
from siscm.theory.random_scms import herding, set_invariant
from siscm.theory.scm import (
    FiniteSCM,
    all_sets,
    conditional,
    counterfactual,
    interventional,
    marginal,
)


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
    for x, asked in product(range(scm.n_x), all_sets(scm.n_experts)):
        joint = interventional(scm, x, asked)
        assert joint.sum() == pytest.approx(1)
        for axis, expert in enumerate(sorted(asked)):
            others = tuple(a for a in range(joint.ndim) if a != axis)
            np.testing.assert_allclose(joint.sum(axis=others), marginal(scm, x, asked, expert))


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
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        herding(scm, 1.5)
    with pytest.raises(ValueError, match="same noise distribution"):
        equivalence(scm, herding(scm, 0.5))


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
        ([[[0, -1], [1, -1], [-2, -1]]], r"experts \[0\] .* from 0 to 1"),
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


def test_a_counterfactual_is_about_the_features_that_are_meant() -> None:
    """On the first x both say 0 whatever happens, on the second expert 1 is the reverse of 0."""
    answers = np.array([[[0, 0], [0, 0]], [[0, 1], [1, 0]]])
    scm = FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.5]), 2)
    alone, other = frozenset({0}), frozenset({1})
    for x, law in ((0, [1, 0]), (1, [0, 1])):
        found = counterfactual(scm, x, alone, {0: 0}, other, 1)
        np.testing.assert_array_equal(found, law)


def test_alone_is_what_each_says_when_nobody_else_is_asked() -> None:
    np.testing.assert_array_equal(herding(by_hand(), 1.0).alone[:, 3:], by_hand().answers[BOTH])
