"""How far the two questions' answers part when experts talk."""

import numpy as np
import pytest

from siscm.theory.influence import by_strength, distance
from siscm.theory.random_scms import TALK, herding, set_invariant
from siscm.theory.scm import FiniteSCM

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


def test_without_a_label_said_alone_and_together_there_is_no_distance():
    """Alone, both say 0; as soon as the other is asked too, both say 1."""
    scm = FiniteSCM.from_mechanism(
        lambda asked: np.full((1, 2, len(asked)), len(asked) - 1), np.array([0.5, 0.5]), 2, 2
    )
    with pytest.raises(ValueError, match=r"no label .* experts \[0, 1\] both alone and together"):
        distance(scm, BOTH)


def test_the_gap_is_none_without_talk_and_grows_with_its_strength():
    found = by_strength(np.random.default_rng(0), (0.0, 0.2, 0.5, 1.0), n_models=8)
    assert len(found) == 2 * 3 * 4 * 8
    mean = found.groupby(["asked", "talk", "strength"])["distance"].mean().unstack()
    assert (mean[0.0] < 1e-12).all()
    assert (np.diff(mean.to_numpy(), axis=1) > 0.02).all()
    # A senior who is not asked influences nobody: a third of the pairs, so two thirds of the gap.
    pairs = mean.loc[2]
    assert (pairs.loc["senior"] <= pairs.loc["herding"]).all()


def test_what_is_likelier_said_weighs_more_by_hand():
    """Of two who always agree together: 0 and 1/2 after expert 0, 1/3 and 0 after expert 1.

    Expert 0 says either label half of the time, expert 1 alone says 0 three times in four.
    """
    answers = np.array([[[0, 0], [1, 1], [1, 0]]])
    scm = FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.25, 0.25]), 2)
    assert distance(herding(scm, 1.0), BOTH) == pytest.approx((1 / 2 * 1 / 2 + 3 / 4 * 1 / 3) / 2)


def test_distance_is_the_probability_that_has_to_move():
    """Alone she says 2 or 3, together 0 or 1, a coin each time: all of it has to move."""
    alone, together = np.array([[[0, 2], [0, 3]]]), np.array([[[0, 0], [0, 1]]])
    scm = FiniteSCM.from_mechanism(
        lambda asked: (alone if len(asked) == 1 else together)[..., sorted(asked)],
        np.array([0.5, 0.5]),
        n_experts=2,
        n_classes=4,
    )
    assert distance(scm, BOTH) == pytest.approx(1)


def test_all_features_count():
    """Nobody listens on the first, on the second one repeats the other's coin."""
    both = np.concatenate([np.zeros((1, 4, 2), dtype=int), coins().answers[BOTH]])
    scm = herding(FiniteSCM.from_submechanisms(both, np.full(4, 0.25), 2), 1.0)
    assert distance(scm, BOTH) == pytest.approx(1 / 4)


def test_every_two_of_three_are_asked():
    found = by_strength(np.random.default_rng(3), [0.7], n_models=2)
    rng = np.random.default_rng(3)
    bases = [set_invariant(rng, n_noise=24, n_x=1) for _ in range(2)]
    for talk in TALK:
        for model, base in enumerate(bases):
            scm = talk(base, 0.7)
            row = found[(found["talk"] == talk.__name__) & (found["model"] == model)]
            by_size = row.set_index("asked")["distance"]
            pairs = [distance(scm, frozenset(pair)) for pair in ((0, 1), (0, 2), (1, 2))]
            assert by_size[2] == pytest.approx(sum(pairs) / 3)
            assert by_size[3] == pytest.approx(distance(scm, frozenset(range(3))))


def test_either_of_two_may_be_the_one_who_spoke():
    """On the first x only expert 0's answer raises both questions; on the second both answers do.

    One of these three distances is 1, for the follower alone would have said 1 and says 0.
    """
    base = FiniteSCM.from_submechanisms(np.array([[[0, 1]], [[0, 0]]]), np.ones(1), 2)
    assert distance(herding(base, 1.0), BOTH) == pytest.approx(1 / 3)


def test_one_expert_alone_influences_nobody():
    with pytest.raises(ValueError, match=r"asked holds 1 expert"):
        distance(coins(), frozenset({0}))
