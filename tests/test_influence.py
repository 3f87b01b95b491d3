"""How far the two questions' answers part when experts talk."""

import numpy as np
import pytest

from siscm.influence import by_strength, distance
from siscm.random_scms import herding, set_invariant
from siscm.scm import FiniteSCM

BOTH = frozenset({0, 1})


def coins() -> FiniteSCM:
    """Two experts, each with a fair coin of her own."""
    answers = np.array([[[0, 0], [0, 1], [1, 0], [1, 1]]])
    return FiniteSCM.from_submechanisms(answers, np.full(4, 0.25), 2)


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_herding_with_coins_by_hand(strength):
    """Alone, each is a coin to the other; with herding they agree more often by half the strength.

    Who follows says in either case each label half of the time, so all four terms are alike.
    """
    assert distance(herding(coins(), strength), BOTH) == pytest.approx(strength / 2)


@pytest.mark.parametrize("seed", range(10))
def test_without_talk_the_answers_are_one(seed):
    scm = set_invariant(np.random.default_rng(seed), n_experts=4)
    assert distance(scm, frozenset(range(4))) == pytest.approx(0, abs=1e-12)


def test_a_label_that_cannot_be_said_together_is_left_out():
    """The follower alone says 1 always, together always 0: no question about her arises."""
    answers = np.array([[[0, 1], [0, 1]]])
    scm = herding(FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.5]), 2), 1.0)
    assert distance(scm, BOTH) == pytest.approx(1.0)  # expert 1 would have said 1, and says 0


def test_one_expert_alone_is_refused():
    with pytest.raises(ValueError, match="two experts or more"):
        distance(coins(), frozenset({1}))


def test_the_gap_is_none_without_talk_and_grows_with_its_strength():
    found = by_strength(np.random.default_rng(0), (0.0, 0.2, 0.5, 1.0), n_models=8)
    assert len(found) == 2 * 3 * 4 * 8
    mean = found.groupby(["asked", "talk", "strength"])["distance"].mean().unstack()
    assert (mean[0.0] < 1e-12).all()
    assert (np.diff(mean.to_numpy(), axis=1) > 0.02).all()
    # A senior who is not asked influences nobody: a third of the pairs, so two thirds of the gap.
    pairs = mean.loc[2]
    assert (pairs.loc["senior"] <= pairs.loc["herding"]).all()
