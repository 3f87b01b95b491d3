"""False alarms: by hand, against simulated experts, and what the module says of habits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Pair, log, log_dirichlet, log_normalised, pairs, rngs

from siscm import gumbel, violates
from siscm.theory import false_alarms
from siscm.theory.false_alarms import NOT_SIMILAR, SIMILAR, squared_error, violation_rate

P, Q = np.log([0.5, 0.3, 0.2]), np.log([0.3, 0.3, 0.4])
MEETINGS = (1, 4, 30, 200)


def outer(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """The law of two experts with noises of their own."""
    return np.exp(log_p[..., :, None] + log_q[..., None, :])


def chances(table: pd.DataFrame, experts: str) -> np.ndarray:
    """(errors, meetings)."""
    kept = table[table["experts"] == experts]
    return kept.pivot(index="error", columns="meetings", values="chance").to_numpy()


# --- one case ---------------------------------------------------------------------------------


def test_a_rate_worked_by_hand() -> None:
    """p = (1/2, 1/2) and q = (4/5, 1/5) move opinions from 1 to 0 only, 3/10 of the time."""
    p, q = np.log([0.5, 0.5]), np.log([0.8, 0.2])
    joint = gumbel.joint_probabilities(p, q)
    assert violation_rate(joint, p, q) == 0
    # Mistaken for each other, they seem to move from 0 to 1: what they do is the violation.
    assert violation_rate(joint, q, p) == pytest.approx(0.3)
    # On their own, one says 0 and the other 1 with probability 1/2 times 1/5.
    assert violation_rate(outer(p, q), p, q) == pytest.approx(0.1)
    assert violation_rate(outer(p, q), q, p) == pytest.approx(0.4)


def test_agreement_never_violates_whatever_is_believed() -> None:
    rng = np.random.default_rng(0)
    always = np.diag([0.5, 0.3, 0.2])
    rates = violation_rate(always, log_dirichlet(rng, (200, 3)), log_dirichlet(rng, (200, 3)))
    np.testing.assert_array_equal(rates, np.zeros(200))


@given(pair=pairs(sizes=(2, 3, 5, 10)))
def test_similar_experts_never_violate_by_the_truth(pair: Pair) -> None:
    """Zeros and ties included, where rounding may leave a trace."""
    p, q = pair.log_p, pair.log_q
    assert violation_rate(gumbel.joint_probabilities(p, q), p, q) < 1e-14


@given(
    k=st.integers(2, 5),
    error=st.sampled_from([0.1, 1.0]),
    rng=rngs(),
)
def test_rate_is_the_sum_over_pairs_of_opinions(
    k: int, error: float, rng: np.random.Generator
) -> None:
    log_p, log_q = log_dirichlet(rng, (2, k))
    p, q = log_normalised(np.stack([log_p, log_q]) + error * rng.standard_normal((2, k)))
    joint = gumbel.joint_probabilities(log_p, log_q)
    by_ratio = sum(
        joint[c, d]
        for c in range(k)
        for d in range(k)
        if c != d and np.exp(q[c] - p[c]) >= np.exp(q[d] - p[d])
    )
    assert violation_rate(joint, p, q) == pytest.approx(by_ratio, abs=1e-14)


@pytest.mark.parametrize("shared", [True, False])
def test_rate_is_how_often_simulated_experts_violate(shared: bool) -> None:
    n, rng = 200_000, np.random.default_rng(11)
    noise = gumbel.sample_noise(3, (2, n), rng)
    said = (P + noise[0]).argmax(-1), (Q + noise[0 if shared else 1]).argmax(-1)
    joint = gumbel.joint_probabilities(P, Q) if shared else outer(P, Q)
    believed = np.log([0.35, 0.35, 0.3]), np.log([0.4, 0.3, 0.3])
    rate = violation_rate(joint, *believed)
    frequency = violates(believed[0], said[0], believed[1], said[1]).mean()
    standard_error = np.sqrt(rate * (1 - rate) / n)
    assert rate > 0.02
    assert abs(frequency - rate) < 4 * standard_error
    # Sharp enough to tell the other law.
    other = violation_rate(outer(P, Q) if shared else gumbel.joint_probabilities(P, Q), *believed)
    assert abs(frequency - other) > 20 * standard_error


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(1)
    p, q = log_dirichlet(rng, (4, 1, 3)), log_dirichlet(rng, (5, 3))
    joint = gumbel.joint_probabilities(P, Q)
    rates = violation_rate(joint, p, q)
    assert rates.shape == (4, 5)
    assert rates[2, 3] == violation_rate(joint, p[2, 0], q[3])
    many = gumbel.joint_probabilities(p, q)
    assert violation_rate(many, P, Q).shape == (4, 5)
    assert violation_rate(many, P, Q)[1, 2] == violation_rate(many[1, 2], P, Q)
    assert violation_rate(joint, P, Q).shape == ()


def test_a_label_never_said_may_have_an_estimate_of_zero() -> None:
    p, q = log([0.6, 0.4, 0.0]), log([0.3, 0.7, 0.0])
    assert violation_rate(gumbel.joint_probabilities(p, q), p, q) == 0
    assert violation_rate(outer(p, q), p, q) == pytest.approx(0.4 * 0.3)
    with pytest.raises(ValueError, match="zero"):
        violation_rate(outer(P, q), p, q)


def test_what_is_no_law_is_refused() -> None:
    joint = gumbel.joint_probabilities(P, Q)
    with pytest.raises(ValueError, match="first expert's marginal"):
        violation_rate(joint, np.exp(P), Q)
    with pytest.raises(ValueError, match="same classes"):
        violation_rate(joint, P, np.log([0.5, 0.5]))


# --- equal habits -----------------------------------------------------------------------------


@given(p=st.integers(2, 6), rng=rngs())
def test_equal_habits(p: int, rng: np.random.Generator) -> None:
    """Exactly: nothing if similar; every disagreement, by the truth, or half, by estimates."""
    habit = log_dirichlet(rng, (p,))
    guess, other = log_dirichlet(rng, (2, p))
    disagree = 1 - np.exp(2 * habit).sum()
    assert violation_rate(gumbel.joint_probabilities(habit, habit), guess, other) == 0
    own = outer(habit, habit)
    assert violation_rate(own, habit, habit) == pytest.approx(disagree)
    assert violation_rate(own, guess, other) == pytest.approx(disagree / 2)
    # One estimate for both condemns the innocent too: every disagreement counts.
    joint = gumbel.joint_probabilities(habit, other)
    assert violation_rate(joint, guess, guess) == pytest.approx(1 - np.trace(joint))


# --- many cases -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    return false_alarms.by_meetings(np.random.default_rng(0), (0, 0.1, 0.5), MEETINGS, n_pairs=40)


def test_chance_after_some_cases_worked_by_hand() -> None:
    """No habits at all: three labels equally likely, and every disagreement violates."""
    table = false_alarms.by_meetings(
        np.random.default_rng(0), [0], MEETINGS, n_pairs=2, spread=0, leaning=0
    )
    expected = [1 - (1 / 3) ** m for m in MEETINGS]
    np.testing.assert_allclose(chances(table, NOT_SIMILAR)[0], expected)
    four = false_alarms.by_meetings(
        np.random.default_rng(0), [0], [2], n_pairs=2, n_classes=4, spread=0, leaning=0
    )
    assert chances(four, NOT_SIMILAR)[0, 0] == pytest.approx(1 - 1 / 16)


def test_on_no_case_nobody_violates() -> None:
    """With one case in common alarms are raised; with none, none can be."""
    drawn = false_alarms.by_meetings(np.random.default_rng(0), [0.3], (0, 1, 10), n_pairs=5)
    learned = false_alarms.by_training_size(np.random.default_rng(0), [20], (0, 10), n_pairs=5)
    for table in (drawn, learned):
        nothing = table["meetings"] == 0
        assert (table.loc[nothing, "chance"] == 0).all()
        assert (table.loc[~nothing, "chance"] > 0).all()
    with pytest.raises(ValueError, match="meetings has -1; it takes numbers of cases, 0 or more"):
        false_alarms.by_meetings(np.random.default_rng(0), [0.3], (-1, 5), n_pairs=2)
    one = false_alarms.by_meetings(np.random.default_rng(0), [0.3], [0], n_pairs=2)
    assert one["chance"].tolist() == [0, 0]


def test_the_standard_error_is_how_much_seeds_differ() -> None:
    tables = [
        false_alarms.by_meetings(np.random.default_rng(seed), [0.3], [10], n_pairs=30)
        for seed in range(40)
    ]
    columns = [[table[name] for table in tables] for name in ("chance", "standard_error")]
    seen, claimed = np.std(columns[0], axis=0, ddof=1), np.mean(columns[1], axis=0)
    np.testing.assert_allclose(claimed, seen, rtol=0.3)  # of 40 seeds: off by 11 % at one sigma
    one = false_alarms.by_meetings(np.random.default_rng(0), [0.3], [10], n_pairs=1)
    assert one["standard_error"].isna().all()


def test_experts_with_noises_of_their_own_keep_their_own_habits() -> None:
    """The one pair that this seed draws, on one case, computed apart."""
    table = false_alarms.by_meetings(np.random.default_rng(4), [0], [1], n_pairs=1)
    rng = np.random.default_rng(4)
    common, leaning = 1.5 * rng.standard_normal((1, 3)), 0.5 * rng.standard_normal((2, 1, 3))
    p, q = log_normalised(common + leaning)[:, 0]
    assert np.abs(p - q).max() > 0.1
    assert chances(table, NOT_SIMILAR)[0, 0] == pytest.approx(violation_rate(outer(p, q), p, q))


def test_by_the_truth_there_is_exactly_no_false_alarm(panel: pd.DataFrame) -> None:
    assert (chances(panel, SIMILAR)[0] == 0).all()
    assert (chances(panel, SIMILAR)[1:] > 0).all()
    assert chances(panel, NOT_SIMILAR)[0, -1] > 0.99


def test_more_cases_and_more_error_raise_more_alarms(panel: pd.DataFrame) -> None:
    assert (np.diff(chances(panel, SIMILAR)[1:], axis=1) > 0).all()
    assert (np.diff(chances(panel, NOT_SIMILAR), axis=1) >= 0).all()
    assert (np.diff(chances(panel, SIMILAR), axis=0) > 0).all()
    assert panel["chance"].between(0, 1).all()


def test_fewer_cases_are_the_first_of_more_and_seeds_repeat() -> None:
    tables = [
        false_alarms.by_meetings(np.random.default_rng(3), [0.3], m, n_pairs=1)
        for m in ((20,), (20,), (5, 20))
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    alarms = [chances(table, SIMILAR)[0, -1] for table in tables]
    assert alarms[2] == alarms[0]
    table = false_alarms.by_meetings(np.random.default_rng(3), [0.1, 0.3], [20], n_pairs=1)
    assert chances(table, SIMILAR)[1, 0] == alarms[0]


def test_habits_as_different_as_the_error_raise_the_most_alarms() -> None:
    """Much more alike, and they hardly disagree; much less, and nobody mistakes who is who."""
    rates, true = [], []
    for leaning in (0, 0.001, 0.1, 3):
        table = false_alarms.by_meetings(
            np.random.default_rng(5), [0, 0.1], [1, 50], n_pairs=100, leaning=leaning
        )
        rates.append(chances(table, SIMILAR)[1, 1])
        true.append(chances(table, NOT_SIMILAR)[0, 0])
    assert rates[0] == 0
    assert rates[1] < rates[2] / 5
    assert rates[3] < rates[2] / 5
    # Of experts with noises of their own, the least difference hides half of the violations.
    assert true[1] == pytest.approx(true[0] / 2, rel=0.1)


# --- learned marginals ------------------------------------------------------------------------


def test_more_training_means_less_error_and_fewer_alarms() -> None:
    table = false_alarms.by_training_size(
        np.random.default_rng(0), (30, 300, 3000), (5, 100), n_pairs=8
    )
    assert table.columns.tolist() == ["opinions", "meetings", "chance", "standard_error", "error"]
    alarms = table.pivot(index="opinions", columns="meetings", values="chance").to_numpy()
    assert (np.diff(alarms, axis=0) < 0).all()
    assert (np.diff(alarms, axis=1) > 0).all()
    error = table.loc[table["meetings"] == 5, "error"].to_numpy()
    # The model is of the right form, so that a hundred times the opinions leave about a tenth.
    assert 0.05 < error[2] / error[0] < 0.2
    assert error[2] < 0.2


def test_learned_errors_are_on_the_scale_of_the_errors_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the truth is three labels equally likely, learn it with the error of by_meetings."""

    def learn(*args: object) -> np.ndarray:
        off = np.random.default_rng(0).standard_normal((2, 20_000, 3))
        return log_normalised(np.log(1 / 3) + 0.4 * off)

    monkeypatch.setattr(false_alarms, "_learn", learn)
    table = false_alarms.by_training_size(
        np.random.default_rng(1), [50], [20_000], n_pairs=1, leaning=0, spread=0
    )
    assert table["error"].item() == pytest.approx(0.4, rel=0.01)


def test_equal_habits_badly_learned_raise_no_alarm_and_seeds_repeat() -> None:
    tables = [
        false_alarms.by_training_size(
            np.random.default_rng(1), [50], [20], n_pairs=3, leaning=0, n_classes=5
        )
        for _ in range(2)
    ]
    pd.testing.assert_frame_equal(*tables)
    assert tables[0]["chance"].tolist() == [0]
    assert tables[0]["error"].item() > 0.3


def test_the_error_of_marginals_by_hand() -> None:
    """Three experts, of whom a label's logit is off by 0, 3, and on one of two instances 6."""
    true = np.log(np.full((2, 3, 2), 0.5))
    learned = true.copy()
    learned[:, 1, 0] += 3
    learned[0, 2, 0] += 6
    np.testing.assert_allclose(squared_error(learned, true), [[0, 4.5, 18], [0, 4.5, 0]])
    shifted = learned + np.arange(6).reshape(2, 3, 1)  # what normalising would take away
    np.testing.assert_allclose(squared_error(shifted, true), squared_error(learned, true))


def test_what_an_expert_leans_to_is_the_same_on_every_case() -> None:
    table = false_alarms.by_meetings(
        np.random.default_rng(0), [0], [1, 4], n_pairs=1, spread=0, leaning=1
    )
    one, four = chances(table, NOT_SIMILAR)[0]
    assert 0.05 < one < 0.95
    assert four == pytest.approx(1 - (1 - one) ** 4)


def test_training_opinions_are_each_experts_own_and_fewer_the_first_of_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all labels are equally likely; and of three pairs the error in the middle is told."""
    given, errors = [], iter([1.0, 4.0, 100.0] * 2)

    def learn(X: np.ndarray, said: np.ndarray, fresh: np.ndarray, *_: object) -> np.ndarray:
        given.append((X, said))
        return np.full((2, len(fresh), 3), np.log(1 / 3))

    monkeypatch.setattr(false_alarms, "_learn", learn)
    monkeypatch.setattr(false_alarms, "squared_error", lambda *_: np.full((2, 4), next(errors)))
    table = false_alarms.by_training_size(
        np.random.default_rng(0), (500,), (4,), n_pairs=3, spread=0, leaning=0
    )
    assert table["error"].tolist() == [2]
    assert (given[0][1][0] == given[0][1][1]).mean() == pytest.approx(1 / 3, abs=0.1)
    given.clear()
    false_alarms.by_training_size(np.random.default_rng(0), (5, 8), (4,), n_pairs=1)
    for few, more in zip(*given, strict=True):
        np.testing.assert_array_equal(few, more[:, :5])


def test_habits_are_a_logit_with_an_intercept() -> None:
    slopes = np.random.default_rng(0).normal(size=(2, 3, 4))
    p = np.exp(false_alarms._log_marginals(np.array([[0.5, -1.0]]), slopes))
    score = np.exp(slopes[:, 0] + 0.5 * slopes[:, 1] - slopes[:, 2])
    np.testing.assert_allclose(p[:, 0], score / score.sum(axis=1, keepdims=True))


def test_a_rate_is_a_probability_though_the_law_sums_to_one_but_for_rounding() -> None:
    half, joint = np.log([0.5, 0.5]), np.array([[0.0, 0.5], [0.5 + 2**-52, 0.0]])
    assert joint.sum() > 1
    assert violation_rate(joint, half, half) == 1


def test_log_odds_vary_as_much_as_said_however_many_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An intercept and three slopes on standard normal features."""
    habits, seen = false_alarms._log_marginals, []

    def kept(X: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        seen.append(slopes)
        return habits(X, slopes)

    monkeypatch.setattr(false_alarms, "_log_marginals", kept)
    monkeypatch.setattr(false_alarms, "_learn", lambda X, said, fresh, *_: habits(fresh, seen[-1]))
    false_alarms.by_training_size(
        np.random.default_rng(0), (1,), (1,), n_pairs=200, n_features=3, spread=1.5, leaning=0.5
    )
    assert 4 * np.square(seen).mean() == pytest.approx(1.5**2 + 0.5**2, rel=0.1)
