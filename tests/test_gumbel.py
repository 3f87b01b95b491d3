"""The exact law against independent computations, and the noise against what defines it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from independent import fraction_row, precise_row, quadrature_row
from scipy import stats
from strategies import KINDS, Pair, log, log_dirichlet, make_pair, pairs, rational_pairs, rngs

from siscm import gumbel, violates

SMALL = (2, 3, 4, 5, 6, 10, 20)
THIRDS = np.log([0.5, 0.3, 0.2])


def probabilities(log_p: np.ndarray) -> np.ndarray:
    p = np.exp(log_p)
    return p / p.sum(axis=-1, keepdims=True)


# --- the exact law ----------------------------------------------------------------------------


@given(pair=pairs())
def test_law_is_the_integral_of_the_noise_density(pair: Pair) -> None:
    law = gumbel.counterfactual_probabilities(*pair)
    np.testing.assert_allclose(law, quadrature_row(*pair), rtol=0, atol=1e-12)


def test_the_integral_finds_a_known_law() -> None:
    """The reference itself, on a case worked by hand: p = (1/2, 1/2), q = (4/5, 1/5)."""
    p, q = np.log([0.5, 0.5]), np.log([0.8, 0.2])
    np.testing.assert_allclose(quadrature_row(p, q, 0), [1, 0], atol=1e-14)
    np.testing.assert_allclose(quadrature_row(p, q, 1), [0.6, 0.4], atol=1e-14)
    halves = [Fraction(1, 2)] * 2
    assert fraction_row(halves, [Fraction(4, 5), Fraction(1, 5)], 1) == [
        Fraction(3, 5),
        Fraction(2, 5),
    ]


@given(pair=rational_pairs())
def test_law_agrees_with_rational_arithmetic(
    pair: tuple[list[Fraction], list[Fraction], int],
) -> None:
    p, q, c = pair
    exact = fraction_row(p, q, c)
    assert sum(exact) == 1
    law = gumbel.counterfactual_probabilities(
        log([float(n) for n in p]), log([float(n) for n in q]), c
    )
    np.testing.assert_allclose(law, [float(x) for x in exact], rtol=0, atol=8e-15)


@given(pair=pairs(sizes=SMALL))
def test_small_probabilities_are_right_in_every_digit_that_counts(pair: Pair) -> None:
    """Not only to 1e-12: a probability of 1e-200 is right to 1e-9 of itself."""
    law = gumbel.counterfactual_probabilities(*pair)
    exact = np.array([float(x) for x in precise_row(*pair)])
    with np.errstate(invalid="ignore"):
        gap = (pair.log_p - pair.log_q)[pair.label] - (pair.log_p - pair.log_q)
    # A ratio known to 1e-13 leaves a gap of 1e-3 with ten digits; below 1e-300 digits run out.
    clear = (np.abs(gap) > 1e-3) | (np.arange(len(law)) == pair.label)
    kept = clear & (exact > 1e-300)
    np.testing.assert_allclose(law[kept], exact[kept], rtol=1e-9)
    np.testing.assert_allclose(law, exact, rtol=0, atol=1e-14)


def test_a_law_of_very_unlikely_opinions() -> None:
    """Every number here is far below the smallest double's square."""
    log_p = np.array([0.0, -690.0, -680.0])
    log_q = np.array([-600.0, -650.0, 0.0])
    law = gumbel.counterfactual_probabilities(log_p, log_q, 2)
    exact = np.array([float(x) for x in precise_row(log_p, log_q, 2)])
    assert law[0] == exact[0] == 0
    # Label 1's ratio e^-40 lies above label 2's e^-680: nobody moves from 2 to 1.
    np.testing.assert_array_equal(law, [0, 0, 1])
    law = gumbel.counterfactual_probabilities(log_p, log_q, 1)
    exact = np.array([float(x) for x in precise_row(log_p, log_q, 1)])
    np.testing.assert_allclose(law, exact, rtol=1e-12, atol=0)
    law = gumbel.counterfactual_probabilities(log_p, log_q, 0)
    exact = np.array([float(x) for x in precise_row(log_p, log_q, 0)])
    np.testing.assert_allclose(law, exact, rtol=1e-12, atol=0)
    assert 0 < law[1] < 1e-280


@given(pair=pairs())
def test_rows_sum_to_one(pair: Pair) -> None:
    law = gumbel.counterfactual_probabilities(*pair)
    assert law.min() >= 0
    assert abs(law.sum() - 1) < 1e-12


@given(pair=pairs(sizes=(*SMALL, 50)))
def test_joint_has_the_marginals_and_is_symmetric_in_the_experts(pair: Pair) -> None:
    joint = gumbel.joint_probabilities(pair.log_p, pair.log_q)
    np.testing.assert_allclose(joint.sum(axis=1), probabilities(pair.log_p), rtol=0, atol=1e-12)
    np.testing.assert_allclose(joint.sum(axis=0), probabilities(pair.log_q), rtol=0, atol=1e-12)
    swapped = gumbel.joint_probabilities(pair.log_q, pair.log_p)
    np.testing.assert_allclose(joint, swapped.T, rtol=0, atol=1e-14)


@given(pair=pairs(sizes=SMALL))
def test_joint_is_the_marginal_times_the_law(pair: Pair) -> None:
    joint = gumbel.joint_probabilities(pair.log_p, pair.log_q)
    said = np.flatnonzero(np.isfinite(pair.log_p))
    rows = gumbel.counterfactual_probabilities(pair.log_p, pair.log_q, said)
    expected = np.zeros_like(joint)
    expected[said] = rows * probabilities(pair.log_p)[said, None]
    np.testing.assert_allclose(joint, expected, rtol=1e-13, atol=0)


@given(pair=pairs(kinds=("equal", "zeros in one", "underflowing")))
def test_equal_experts_always_agree(pair: Pair) -> None:
    law = gumbel.counterfactual_probabilities(pair.log_p, pair.log_p, pair.label)
    others = np.delete(law, pair.label)
    np.testing.assert_array_equal(others, 0)
    np.testing.assert_allclose(law[pair.label], 1, atol=1e-12)


@given(pair=pairs(kinds=("ties",), sizes=(3, 4, 6, 20)))
def test_labels_tied_in_ratio_are_never_exchanged(pair: Pair) -> None:
    law = gumbel.counterfactual_probabilities(*pair)
    twins = (pair.log_p == pair.log_p[pair.label]) & (pair.log_q == pair.log_q[pair.label])
    twins[pair.label] = False
    np.testing.assert_array_equal(law[twins], 0)


@given(pair=pairs())
def test_zero_exactly_where_the_opinions_would_violate(pair: Pair) -> None:
    """Theorem 10 of the paper: stability, in both directions, outside the rounding of a tie."""
    k = len(pair.log_p)
    law = gumbel.counterfactual_probabilities(*pair)
    possible = np.flatnonzero(np.isfinite(pair.log_q))
    violating = np.zeros(k, dtype=bool)
    violating[possible] = violates(pair.log_p, pair.label, pair.log_q, possible)
    with np.errstate(invalid="ignore"):
        ratio = pair.log_p - pair.log_q
        clear = np.abs(ratio - ratio[pair.label]) > 1e-12 * 800
    # q_d [G(θ_c) - G(θ_d)] is about q_d min(θ_c, 1) / max(θ_d, 1): zero too where that underflows.
    size = pair.log_q + min(ratio[pair.label], 0.0) - np.maximum(ratio, 0.0)
    representable = size > -690
    assert not law[violating & clear].any()
    possible_moves = np.isfinite(pair.log_q) & ~violating & clear & representable
    assert (law[possible_moves] > 0).all()


@given(pair=pairs(sizes=SMALL), rng=rngs())
def test_names_of_the_labels_do_not_matter(pair: Pair, rng: np.random.Generator) -> None:
    shuffled = rng.permutation(len(pair.log_p))
    law = gumbel.counterfactual_probabilities(*pair)
    place = int(np.flatnonzero(shuffled == pair.label)[0])
    renamed = gumbel.counterfactual_probabilities(pair.log_p[shuffled], pair.log_q[shuffled], place)
    np.testing.assert_allclose(renamed, law[shuffled], rtol=0, atol=1e-13)


def test_a_certain_opinion_teaches_nothing() -> None:
    """An expert who always says 0 leaves the other's marginal as it was."""
    q = np.array([0.1, 0.6, 0.3])
    law = gumbel.counterfactual_probabilities(log([1, 0, 0]), np.log(q), 0)
    np.testing.assert_allclose(law, q, atol=1e-15)


def test_a_label_impossible_for_both_changes_nothing() -> None:
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    for c in range(3):
        law = gumbel.counterfactual_probabilities(log([*p, 0]), log([*q, 0]), c)
        without = gumbel.counterfactual_probabilities(np.log(p), np.log(q), c)
        np.testing.assert_allclose(law, [*without, 0], rtol=0, atol=1e-15)


def test_one_class_has_one_answer() -> None:
    np.testing.assert_array_equal(gumbel.counterfactual_probabilities([0.0], [0.0], 0), [1.0])
    np.testing.assert_array_equal(gumbel.joint_probabilities([0.0], [0.0]), [[1.0]])


@pytest.mark.parametrize("seed", range(3))
def test_leading_axes_broadcast_like_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    log_p, log_q = log_dirichlet(rng, (4, 1, 5)), log_dirichlet(rng, (3, 5))
    label = rng.integers(0, 5, size=(2, 1, 1))
    law = gumbel.counterfactual_probabilities(log_p, log_q, label)
    joint = gumbel.joint_probabilities(log_p, log_q)
    assert law.shape == (2, 4, 3, 5)
    assert joint.shape == (4, 3, 5, 5)
    for a, b, c in np.ndindex(2, 4, 3):
        one = gumbel.counterfactual_probabilities(log_p[b, 0], log_q[c], label[a, 0, 0])
        np.testing.assert_array_equal(law[a, b, c], one)
        table = gumbel.joint_probabilities(log_p[b, 0], log_q[c])
        np.testing.assert_array_equal(joint[b, c], table)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    rng = np.random.default_rng(1)
    log_p, log_q = log_dirichlet(rng, (2, 101, 6), alpha=0.2)
    label = rng.integers(0, 6, size=101)
    whole = gumbel.counterfactual_probabilities(log_p, log_q, label)
    monkeypatch.setattr(gumbel, "_BLOCK_VALUES", block)
    np.testing.assert_array_equal(gumbel.counterfactual_probabilities(log_p, log_q, label), whole)


def test_no_rows_is_no_problem() -> None:
    nothing = np.empty((0, 3))
    labels = np.empty(0, dtype=int)
    assert gumbel.counterfactual_probabilities(nothing, nothing, labels).shape == (0, 3)
    assert gumbel.joint_probabilities(nothing, THIRDS).shape == (0, 3, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_stay_as_they_are(kind: str) -> None:
    pair = make_pair(kind, 6, np.random.default_rng(2))
    arrays = [np.stack([values] * 3) for values in pair[:2]] + [np.full(3, pair.label)]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    gumbel.counterfactual_probabilities(*arrays)
    gumbel.joint_probabilities(*arrays[:2])
    gumbel.monte_carlo_probabilities(*arrays, 5, np.random.default_rng(0))
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_float32_marginals_are_taken_and_normalised() -> None:
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(200), size=(2, 500)).astype(np.float32)
    assert np.abs(p.sum(axis=1, dtype=float) - 1).max() > 1e-9
    law = gumbel.counterfactual_probabilities(np.log(p), np.log(q), p.argmax(axis=1))
    assert law.dtype == np.float64
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    joint = gumbel.joint_probabilities(np.log(p[:5]), np.log(q[:5]))
    np.testing.assert_allclose(joint.sum(axis=(1, 2)), 1, rtol=0, atol=1e-12)


# --- refusals ---------------------------------------------------------------------------------

BAD_ROW = np.log([[0.5, 0.3, 0.2], [0.5, 0.3, 0.3]])
NAN_ROW = np.array([[0.0, -np.inf, -np.inf], [np.nan, -1.0, -1.0]])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (THIRDS, BAD_ROW, r"second.* row 1 sums to 1\.1\d*, not to 1"),
        (BAD_ROW, THIRDS, r"first.* row 1 sums to 1\.1"),
        (NAN_ROW, THIRDS, "first.* row 1 sums to nan"),
        (np.exp(THIRDS), THIRDS, "first expert's marginal sums to 4.2.*log-probabilities"),
        (np.stack([BAD_ROW, BAD_ROW]), THIRDS, r"row \(0, 1\)"),
        (np.array([np.inf, -np.inf]), THIRDS, "sums to inf"),
        (np.full(3, -np.inf), THIRDS, "sums to 0"),
        (np.array(0.0), THIRDS, "axis of labels"),
        (np.array([0.0]), THIRDS, "1 classes and the other's 3"),
        (THIRDS, np.log([0.5, 0.5]), "3 classes and the other's 2"),
    ],
)
def test_what_is_no_distribution_is_refused(
    first: np.ndarray, second: np.ndarray, words: str
) -> None:
    with pytest.raises(ValueError, match=rf"\b{words}"):
        gumbel.joint_probabilities(first, second)
    words = words.replace("first", "observed").replace("second", "target")
    with pytest.raises(ValueError, match=rf"\b{words}"):
        gumbel.counterfactual_probabilities(first, second, 0)
    with pytest.raises(ValueError, match=rf"\b{words}"):
        gumbel.monte_carlo_probabilities(first, second, 0, 5, np.random.default_rng(0))
    if words.startswith("observed"):
        with pytest.raises(ValueError, match=rf"\b{words}"):
            gumbel.sample_posterior_noise(first, 0, 5, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (-1, "label code -1 .* 0 to 2"),
        ([0, 3, 1], "label code 3 "),
        (1.0, "integer codes, not float64"),
        (True, "integer codes, not bool"),
        ("0", "integer codes"),
        (None, "integer codes"),
    ],
)
def test_what_is_no_label_is_refused(label: object, words: str) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=words):
        gumbel.counterfactual_probabilities(THIRDS, THIRDS, label)
    with pytest.raises(ValueError, match=words):
        gumbel.monte_carlo_probabilities(THIRDS, THIRDS, label, 5, rng)
    with pytest.raises(ValueError, match=words):
        gumbel.sample_posterior_noise(THIRDS, label, 5, rng)


def test_nobody_can_have_said_the_impossible() -> None:
    certain = log([[0.5, 0.5], [1.0, 0.0]])
    half = np.log([0.5, 0.5])
    rng = np.random.default_rng(0)
    words = "row 1: the observed label 1 has probability zero .* A floor under the marginals"
    with pytest.raises(ValueError, match=words):
        gumbel.counterfactual_probabilities(certain, half, 1)
    with pytest.raises(ValueError, match=words):
        gumbel.monte_carlo_probabilities(certain, half, 1, 5, rng)
    with pytest.raises(ValueError, match=words):
        gumbel.sample_posterior_noise(certain, 1, 5, rng)


def test_rows_that_do_not_fit_together_are_refused() -> None:
    three, two = np.log(np.full((3, 2), 0.5)), np.log(np.full((2, 2), 0.5))
    words = r"leading axes \[\(3,\), \(2,\).*do not fit together; give each the same rows"
    with pytest.raises(ValueError, match=words):
        gumbel.counterfactual_probabilities(three, two, 0)
    with pytest.raises(ValueError, match=words):
        gumbel.joint_probabilities(three, two)
    with pytest.raises(ValueError, match=r"leading axes \[\(3,\), \(3,\), \(2,\)\]"):
        gumbel.sample_posterior_noise(three, [0, 0], 1, np.random.default_rng(0))


def test_no_samples_is_no_estimate() -> None:
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1; got 0"):
        gumbel.monte_carlo_probabilities(THIRDS, THIRDS, 0, 0, np.random.default_rng(0))
    one = gumbel.monte_carlo_probabilities(THIRDS, THIRDS, 1, 1, np.random.default_rng(0))
    assert one.tolist() == [0, 1, 0]


# --- Monte Carlo ------------------------------------------------------------------------------

N_DRAWS = 200_000
CASES = [
    (np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])),
    (np.array([0.25, 0.25, 0.5]), np.array([0.5, 0.25, 0.25])),
    (np.array([0.4, 0.4, 0.1, 0.1]), np.array([0.1, 0.1, 0.4, 0.4])),
    (np.array([0.0, 0.5, 0.5, 0.0]), np.array([0.3, 0.0, 0.7, 0.0])),
    (np.array([0.97, 0.01, 0.01, 0.01]), np.array([0.25, 0.25, 0.25, 0.25])),
    (np.arange(1, 21) / 210, np.arange(20, 0, -1) / 210),
]


def simulated_joint(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Frequencies of what two experts say under one prior noise: Definition 9, nothing else."""
    noise = gumbel.sample_noise(len(p), N_DRAWS, rng)
    both = (log(p) + noise).argmax(axis=-1) * len(p) + (log(q) + noise).argmax(axis=-1)
    return np.bincount(both, minlength=len(p) ** 2).reshape(len(p), len(p)) / N_DRAWS


def standard_errors_off(frequency: np.ndarray, law: np.ndarray, n: int) -> np.ndarray:
    """How many standard errors, with one draw's allowance where hardly any is expected."""
    return (np.abs(frequency - law) - 1 / n).clip(0) / np.sqrt(law * (1 - law).clip(0) / n + 1e-300)


def bound(n_numbers: int) -> float:
    """Standard errors that the worst of so many numbers exceeds by chance once in 1,000 times.

    3.9 for nine numbers, 4.7 for 400. The seeds are fixed, but a change in the order of the draws
    is a new throw: this is how often it may fail for no reason.
    """
    return float(stats.norm.isf(5e-4 / n_numbers))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_joint_is_what_simulation_finds(case: int) -> None:
    p, q = CASES[case]
    frequency = simulated_joint(p, q, np.random.default_rng(case))
    law = gumbel.joint_probabilities(log(p), log(q))
    assert standard_errors_off(frequency, law, N_DRAWS).max() < bound(law.size)
    assert not frequency[law == 0].any()


def test_simulation_would_notice_another_law() -> None:
    """The check above can fail: independent experts, or a slightly wrong marginal, do not pass."""
    p, q = CASES[0]
    frequency = simulated_joint(p, q, np.random.default_rng(0))
    assert standard_errors_off(frequency, np.outer(p, q), N_DRAWS).max() > 100
    close = gumbel.joint_probabilities(np.log([0.51, 0.29, 0.2]), np.log(q))
    assert standard_errors_off(frequency, close, N_DRAWS).max() > 2 * bound(close.size)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_papers_estimator_converges_to_the_exact_law(case: int) -> None:
    p, q = CASES[case]
    said = np.flatnonzero(p)
    n = 40_000
    rng = np.random.default_rng(100 + case)
    estimate = gumbel.monte_carlo_probabilities(log(p), log(q), said, n, rng)
    law = gumbel.counterfactual_probabilities(log(p), log(q), said)
    assert standard_errors_off(estimate, law, n).max() < bound(law.size)
    np.testing.assert_allclose(estimate.sum(axis=-1), 1)
    np.testing.assert_allclose(estimate * n, np.round(estimate * n), atol=1e-6)


@given(pair=pairs(), rng=rngs())
def test_monte_carlo_agrees_on_any_pair(pair: Pair, rng: np.random.Generator) -> None:
    """One number an example, so that a standard error means one: the mean of a random score.

    By chance one run in 1,000 fails; the examples of the profile ``ci`` are always the same.
    """
    n = 4_000
    law = gumbel.counterfactual_probabilities(*pair)
    estimate = gumbel.monte_carlo_probabilities(*pair, n, rng)
    score = rng.random(len(law))
    mean, off = law @ score, abs(estimate @ score - law @ score)
    se = np.sqrt(max(0.0, law @ score**2 - mean**2) / n)
    assert off <= bound(settings.default.max_examples) * se + 1 / n
    assert not estimate[law < 1e-15].any()


def test_monte_carlo_uses_every_sample_whatever_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gumbel, "_BLOCK_VALUES", 8)
    estimate = gumbel.monte_carlo_probabilities(
        THIRDS, np.log([0.2, 0.2, 0.6]), [0, 1], 101, np.random.default_rng(0)
    )
    np.testing.assert_allclose(estimate.sum(axis=-1), 1)
    np.testing.assert_allclose(estimate * 101, np.round(estimate * 101), atol=1e-9)


@pytest.mark.parametrize(
    ("worker", "values_each"), [("_counterfactual_rows", 3), ("_joint_rows", 9)]
)
@pytest.mark.parametrize("block", [1, 2, 4, 100])
def test_every_row_is_worked_out_once_in_blocks_of_the_size_asked(
    monkeypatch: pytest.MonkeyPatch, worker: str, values_each: int, block: int
) -> None:
    """Memory stays within the block; one row is the least."""
    work, sizes = getattr(gumbel, worker), []

    def counted(*rows: np.ndarray) -> np.ndarray:
        sizes.append(len(rows[0]))
        return work(*rows)

    monkeypatch.setattr(gumbel, worker, counted)
    monkeypatch.setattr(gumbel, "_BLOCK_VALUES", values_each * block - (block == 1))
    log_p = np.tile(THIRDS, (10, 1))
    if worker == "_joint_rows":
        gumbel.joint_probabilities(log_p, THIRDS)
    else:
        gumbel.counterfactual_probabilities(log_p, THIRDS, 0)
    assert sum(sizes) == 10
    assert max(sizes) == min(block, 10)


@pytest.mark.parametrize("block", [1, 2, 4, 100])
def test_every_draw_is_made_once_in_blocks_of_the_size_asked(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    draw, sizes = gumbel.sample_posterior_noise, []

    def counted(*arguments: Any) -> np.ndarray:
        sizes.append(arguments[2])
        return draw(*arguments)

    monkeypatch.setattr(gumbel, "sample_posterior_noise", counted)
    monkeypatch.setattr(gumbel, "_BLOCK_VALUES", 6 * block - (block == 1))
    gumbel.monte_carlo_probabilities(THIRDS, THIRDS, [0, 1], 10, np.random.default_rng(0))
    assert sum(sizes) == 10
    assert max(sizes) == min(block, 10)


# --- the noise --------------------------------------------------------------------------------


def test_prior_noise_is_standard_gumbel() -> None:
    noise = gumbel.sample_noise(3, (100, 200), np.random.default_rng(0))
    assert noise.shape == (100, 200, 3)
    assert stats.kstest(noise.ravel(), "gumbel_r").pvalue > 1e-3
    assert gumbel.sample_noise(4, 7, np.random.default_rng(0)).shape == (7, 4)


@given(pair=pairs(), rng=rngs())
def test_posterior_noise_reproduces_the_opinion(pair: Pair, rng: np.random.Generator) -> None:
    noise = gumbel.sample_posterior_noise(pair.log_p, pair.label, 50, rng)
    assert noise.shape == (50, len(pair.log_p))
    assert np.isfinite(noise).all()
    np.testing.assert_array_equal((pair.log_p + noise).argmax(axis=-1), pair.label)


def test_posterior_noise_of_many_experts_at_once() -> None:
    rng = np.random.default_rng(0)
    log_p = log_dirichlet(rng, (6, 4))
    label = rng.integers(0, 4, size=(5, 6))
    noise = gumbel.sample_posterior_noise(log_p, label, (3, 2), rng)
    assert noise.shape == (3, 2, 5, 6, 4)
    np.testing.assert_array_equal(
        (log_p + noise).argmax(axis=-1), np.broadcast_to(label, (3, 2, 5, 6))
    )


def test_posterior_noise_of_two_rows_with_one_label_is_not_the_same() -> None:
    noise = gumbel.sample_posterior_noise(np.stack([THIRDS] * 2), 1, 5, np.random.default_rng(0))
    assert (noise[:, 0] != noise[:, 1]).all()


@pytest.mark.parametrize("label", [0, 1, 2, 3])
def test_posterior_noise_is_the_prior_noise_that_explains_the_opinion(label: int) -> None:
    """Against rejection: draw from the prior, keep what makes the expert say the label."""
    p = np.array([0.55, 0.3, 0.1, 0.05])
    rng = np.random.default_rng(label)
    prior = rng.gumbel(size=(300_000, 4))
    kept = prior[(np.log(p) + prior).argmax(axis=-1) == label][:12_000]
    drawn = gumbel.sample_posterior_noise(np.log(p), label, len(kept), rng)
    for j in range(4):
        assert stats.ks_2samp(kept[:, j], drawn[:, j]).pvalue > 1e-3
    # Two-dimensional: the same correlations, which the marginal checks cannot see.
    se = 1 / np.sqrt(len(kept))
    np.testing.assert_allclose(np.corrcoef(kept.T), np.corrcoef(drawn.T), atol=4 * np.sqrt(2) * se)
    for j in range(4):
        gap = [draws[:, label] - draws[:, j] for draws in (kept, drawn)]
        if j != label:
            assert stats.ks_2samp(*gap).pvalue > 1e-3


def test_posterior_noise_averaged_over_opinions_is_the_prior() -> None:
    p = np.array([0.6, 0.25, 0.1, 0.05, 0.0])
    rng = np.random.default_rng(5)
    n = 40_000
    label = rng.choice(5, size=n, p=p)
    noise = gumbel.sample_posterior_noise(log(p), label, (), rng)
    assert noise.shape == (n, 5)
    for j in range(5):
        assert stats.kstest(noise[:, j], "gumbel_r").pvalue > 1e-3
    uniform = stats.gumbel_r.cdf(noise)
    correlation = np.corrcoef(uniform.T)[np.triu_indices(5, 1)]
    assert np.abs(correlation).max() < 4 / np.sqrt(n)
    # And the averaging does something: one label's posterior alone is far from the prior.
    assert stats.kstest(noise[label == 2, 2], "gumbel_r").pvalue < 1e-10


def test_monte_carlo_broadcasts_one_observed_expert_against_many_targets() -> None:
    log_p = np.log([0.5, 0.3, 0.2])
    log_q = np.log([[0.9, 0.05, 0.05], [0.01, 0.01, 0.98]])
    law = gumbel.counterfactual_probabilities(log_p, log_q, 0)
    for n_samples in (2, 5000):
        rng = np.random.default_rng(0)
        estimate = gumbel.monte_carlo_probabilities(log_p, log_q, 0, n_samples, rng)
        np.testing.assert_allclose(estimate.sum(axis=-1), 1)
    assert standard_errors_off(estimate, law, 5000).max() < 4
    many = np.log(np.random.default_rng(1).dirichlet(np.ones(3), size=3000))
    estimate = gumbel.monte_carlo_probabilities(log_p, many, 0, 3, np.random.default_rng(0))
    np.testing.assert_allclose(estimate.sum(axis=-1), 1)
    pairs = gumbel.monte_carlo_probabilities(
        np.stack([log_p, log_p])[:, None], log_q, [[0], [1]], 5000, np.random.default_rng(0)
    )
    exact = gumbel.counterfactual_probabilities(
        np.stack([log_p, log_p])[:, None], log_q, [[0], [1]]
    )
    assert standard_errors_off(pairs, exact, 5000).max() < 4


def test_no_negative_zero_and_nothing_above_one() -> None:
    law = gumbel.counterfactual_probabilities(np.log([0.5, 0.5]), np.log([0.5, 0.5]), 1)
    assert not np.signbit(law).any()
    p = np.log(np.random.default_rng(0).dirichlet(np.full(6, 0.1), size=20_000) + 1e-300)
    q = np.log(np.random.default_rng(1).dirichlet(np.full(6, 0.1), size=20_000) + 1e-300)
    assert gumbel.counterfactual_probabilities(p, q, p.argmax(axis=-1)).max() <= 1


def test_masked_input_is_refused() -> None:
    p = np.log([0.5, 0.5])
    with pytest.raises(ValueError, match="masked"):
        gumbel.counterfactual_probabilities(p, p, np.ma.masked_array([1, 0], [False, True]))
    with pytest.raises(ValueError, match="masked"):
        gumbel.counterfactual_probabilities(np.ma.masked_array(p, [True, False]), p, 0)


def test_a_sum_off_by_a_thousandth_is_refused() -> None:
    with pytest.raises(ValueError, match="sums to"):
        gumbel.counterfactual_probabilities(np.log([0.5, 0.501]), np.log([0.5, 0.5]), 0)


def test_a_number_of_draws_may_be_of_any_type_of_whole_numbers() -> None:
    n, rng = np.int64(2), np.random.default_rng(0)
    assert gumbel.sample_noise(3, n, rng).shape == (2, 3)
    assert gumbel.sample_posterior_noise(np.log([0.5, 0.5]), 0, n, rng).shape == (2, 2)
