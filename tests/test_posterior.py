"""A noise given several opinions: against closed forms, rejection from the prior, quadrature."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import kstest
from strategies import log, log_dirichlet, rngs
from test_contradictions import TRIPLE

from siscm import gumbel
from siscm.beyond.followers import Heard
from siscm.beyond.several import Wanted, cells_on_a_line
from siscm.contradictions import possible
from siscm.floors import pieces_between
from siscm.posterior import (
    draw_ratio,
    evenly,
    monte_carlo_law,
    noise_above,
    posterior,
    shared_law,
)

Array = np.ndarray


def produced(
    rng: np.random.Generator, m: int, k: int, n_labels: int, alpha: float = 1.0
) -> tuple[Array, Array]:
    """Log-marginals (m, k) and what one noise made of them: just so many different labels."""
    while True:
        log_p = log_dirichlet(rng, (m, k), alpha)
        labels = (log_p + rng.gumbel(size=k)).argmax(axis=1)
        if len(set(labels.tolist())) == n_labels:
            return log_p, labels


def by_rejection(
    log_p: Array, labels: Array, log_q: Array, n: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """What targets say where noises from the prior make all observed say what they said."""
    noise = rng.gumbel(size=(n, log_p.shape[1]))
    for row, label in zip(log_p, labels, strict=True):
        noise = noise[(row + noise).argmax(axis=1) == label]
    counts = [np.bincount((row + noise).argmax(axis=1), minlength=len(row)) for row in log_q]
    return np.array(counts) / len(noise), len(noise)


@given(rng=rngs(), k=st.integers(2, 8), m=st.integers(1, 4))
def test_those_who_agree_are_one_virtual_expert(rng: np.random.Generator, k: int, m: int) -> None:
    """Design section 3: p* proportional to the largest p_j / p_c among them."""
    log_p, log_q, c = log_dirichlet(rng, (m, k)), log_dirichlet(rng, (3, k)), int(rng.integers(k))
    ratio = (np.exp(log_p) / np.exp(log_p[:, [c]])).max(axis=0)
    found = shared_law(log_p, np.full(m, c), log_q, 1)
    assert found is not None
    law = gumbel.counterfactual_probabilities(np.log(ratio / ratio.sum()), log_q, c)
    np.testing.assert_allclose(found[0], law, atol=1e-12)
    assert found[1] == pytest.approx(-np.log(ratio.sum()))


@given(rng=rngs(), k=st.integers(2, 8))
def test_the_chance_of_two_is_their_joint_law(rng: np.random.Generator, k: int) -> None:
    log_p = log_dirichlet(rng, (2, k))
    joint = gumbel.joint_probabilities(log_p[0], log_p[1])
    for labels in np.ndindex(k, k):
        found = shared_law(log_p, np.array(labels), log_p, 1)
        chance = 0.0 if found is None else np.exp(found[1])
        assert chance == pytest.approx(joint[labels], abs=1e-12)
        if found is not None:  # and everybody observed says what she said
            np.testing.assert_allclose(found[0], np.eye(k)[list(labels)], atol=1e-9)


@given(rng=rngs(), m=st.integers(2, 5))
def test_two_labels_are_a_noise_on_a_line(rng: np.random.Generator, m: int) -> None:
    log_p, labels = produced(rng, m, 2, 2)
    log_q = log_dirichlet(rng, (4, 2))
    found = shared_law(log_p, labels, log_q, 1)
    everybody = Wanted(log_q, np.ones(len(log_q)))
    cells = cells_on_a_line(Heard(log_p, labels, np.ones(m)), everybody)
    assert found is not None
    assert cells is not None
    np.testing.assert_allclose(found[0], cells.law(), atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("m", "n_labels"), [(2, 2), (4, 2), (3, 3), (5, 4)])
def test_noises_from_the_prior_that_fit(seed: int, m: int, n_labels: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(n_labels, 7))
    n_fit = 0
    while n_fit < 1_500:
        log_p, labels = produced(rng, m, k, n_labels)
        log_q = log_dirichlet(rng, (3, k))
        shares, n_fit = by_rejection(log_p, labels, log_q, 60_000, rng)
    found = shared_law(log_p, labels, log_q, 1024)
    assert found is not None
    law, chance = found[0], np.exp(found[1])
    np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-12)
    inexact = 0.005 if n_labels > 2 else 1e-12
    error = 4.5 * np.sqrt((law * (1 - law)).clip(0) / n_fit) + inexact
    np.testing.assert_array_less(np.abs(shares - law), error)
    assert abs(chance - n_fit / 60_000) < 4.5 * np.sqrt(chance / 60_000) + inexact * chance


@pytest.mark.parametrize("alpha", [0.05, 1.0])
@pytest.mark.parametrize("k", [3, 5, 9])
def test_two_labels_by_quadrature(k: int, alpha: float) -> None:
    """The law given the ratio, as the density of the ratio has it: to many digits."""
    rng = np.random.default_rng(k)
    log_p, labels = produced(rng, 3, k, 2, alpha)
    log_p = np.log((np.exp(log_p) + 1e-8) / (np.exp(log_p) + 1e-8).sum(axis=1, keepdims=True))
    log_q = log_dirichlet(rng, (4, k))
    (c, d), p = np.unique(labels), np.exp(log_p)
    R, Q = ((p / p[:, [y]])[labels == y].max(axis=0) for y in (c, d))
    found = shared_law(log_p, labels, log_q, 1)
    assert found is not None

    def joint(rho: float, r: Array | None, e: int = 0) -> float:
        """Density of the ratio, and that the target says e, by the integral over her value."""
        f = np.maximum(R, rho * Q)
        if r is None:
            return float(f.sum() ** -2)
        end = min(f[c] / r[c], f[d] / r[d])
        if e in (c, d):
            return float(np.maximum(f, r * end).sum() ** -2 * (f[e] / r[e] == end))
        knots = [t for t in np.sort(f / r) if f[e] / r[e] < t < end]
        ends = [min(f[e] / r[e], end), *knots, end]
        s = [np.maximum(f, r * t).sum() for t in ends]
        # The integral of 2 r_e / S^3 over a piece on which S is linear.
        return float(
            sum(
                r[e] * (t2 - t1) * (s1 + s2) / (s1 * s2) ** 2
                for t1, t2, s1, s2 in zip(ends[:-1], ends[1:], s[:-1], s[1:], strict=True)
            )
        )

    low, high = Q[c] and R[d], 1 / Q[c]
    r = np.exp(log_q[0])
    turns = np.unique([x for x in np.outer(R / r, r / Q).ravel() if low < x < high])
    ends = [low, *turns.tolist(), high]
    pieces = list(pairwise(ends))
    total = sum(quad(joint, a, b, args=(None,), epsabs=0)[0] for a, b in pieces)
    for e in range(k):
        expected = sum(quad(joint, a, b, args=(r, e), epsabs=1e-12)[0] for a, b in pieces) / total
        assert found[0][0, e] == pytest.approx(expected, abs=1e-6)


def test_probabilities_of_zero() -> None:
    """One never says 0, the other never 1: what each says then bounds nothing of the other's."""
    log_p = log([[0.0, 0.6, 0.4], [0.7, 0.0, 0.3]])
    labels = np.array([1, 0])
    log_q = log([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
    found = shared_law(log_p, labels, log_q, 1)
    assert found is not None
    rng = np.random.default_rng(0)
    shares, n = by_rejection(log_p, labels, log_q, 200_000, rng)
    np.testing.assert_array_less(np.abs(found[0] - shares), 4.5 * np.sqrt(0.25 / n))
    assert found[0][1, 0] == found[0][2, 2] == 0
    assert np.exp(found[1]) == pytest.approx(n / 200_000, abs=0.005)


def test_labels_all_but_impossible() -> None:
    """Chances of 1e-100 and less: the draws that fit are not waited for."""
    log_p = np.log([[1e-60, 1e-60, 1.0], [0.5, 1e-80, 0.5], [0.3, 0.3, 0.4]])
    log_q = log_dirichlet(np.random.default_rng(0), (2, 3))
    for labels in ([0, 1, 2], [1, 0, 2], [1, 1, 0], [0, 0, 1], [1, 1, 1]):
        found = shared_law(log_p, np.array(labels), log_q, 256)
        if found is not None:
            assert -np.inf < found[1] < np.log(1e-50)
            np.testing.assert_allclose(found[0].sum(axis=1), 1, atol=1e-9)
            mine = shared_law(log_p, np.array(labels), log_p, 256)
            assert mine is not None
            np.testing.assert_allclose(mine[0], np.eye(3)[labels], atol=1e-6)
    found = shared_law(log_p, np.array([1, 1, 1]), log_q, 1)
    assert found is not None
    assert found[1] == pytest.approx(np.log(1e-80))


@pytest.mark.parametrize("log_rare", [-100.0, -460.0, -690.0])
def test_chances_below_the_smallest_number(log_rare: float) -> None:
    """Each says a label of her own, all but impossible; which is the likeliest nobody knows."""
    for m in (2, 3):
        log_p = np.full((m, m + 1), 1.5 * log_rare)
        log_p[:, m] = 0
        np.fill_diagonal(log_p, log_rare)
        even = np.full((1, m + 1), -np.log(m + 1))
        found = shared_law(log_p, np.arange(m), even, 4096)
        assert found is not None
        np.testing.assert_allclose(found[0], [[1 / m] * m + [0]], atol=0.01 if m > 2 else 1e-12)
        # Each value is below a share of the common label's: m! is that one's moment.
        tolerance = 0.01 if m > 2 else 1e-9
        assert found[1] == pytest.approx(
            m * log_rare + np.log(np.arange(1, m + 1)).sum(), abs=tolerance
        )


def test_an_opinion_all_but_impossible_given_the_others() -> None:
    """The third needs a noise that the first two all but exclude."""
    log_p = np.array(
        [
            [-639.8, -450.3, 0.0, -593.1, -347.2],
            [-259.2, -107.8, 0.0, -390.3, -319.8],
            [-477.5, -246.7, 0.0, -393.9, -39.9],
        ]
    )
    found = shared_law(log_p, np.array([3, 1, 4]), log_p, 64)
    assert found is not None
    np.testing.assert_allclose(found[0], np.eye(5)[[3, 1, 4]], atol=1e-9)


def test_impossible_together() -> None:
    labels = np.array([1, 2, 0])
    log_q = np.log(np.full((1, 3), 1 / 3))
    assert shared_law(TRIPLE, labels, log_q, 64) is None
    rng = np.random.default_rng(0)
    assert monte_carlo_law(TRIPLE, labels, log_q, 64, rng) is None
    assert shared_law(TRIPLE[:2], labels[:2], log_q, 64) is not None
    assert shared_law(TRIPLE[[0, 0]], np.array([0, 1]), log_q, 64) is None


@given(rng=rngs(), n_labels=st.integers(1, 3))
def test_the_order_of_experts_and_the_names_of_labels_do_not_matter(
    rng: np.random.Generator, n_labels: int
) -> None:
    m, k = n_labels + 1, 4
    log_p, labels = produced(rng, m, k, n_labels)
    log_q = log_dirichlet(rng, (2, k))
    found = shared_law(log_p, labels, log_q, 64)
    order, renamed = rng.permutation(m), rng.permutation(k)
    other = shared_law(log_p[order], labels[order], log_q, 64)
    new = shared_law(log_p[:, renamed], np.argsort(renamed)[labels], log_q[:, renamed], 4096)
    assert found is not None
    assert other is not None
    assert new is not None
    np.testing.assert_array_equal(found[0], other[0])
    exact = n_labels < 3
    np.testing.assert_allclose(found[0][:, renamed], new[0], atol=1e-8 if exact else 0.1)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_drawn_noises_make_all_say_what_they_said(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    log_p, labels = produced(rng, 4, 5, n_labels)
    log_q = log_dirichlet(rng, (3, 5))
    found = posterior(log_p, labels, lambda d: rng.random((40_000, d)))
    assert found is not None
    noise = found.noise(rng)
    assert noise.shape == (40_000, 5)
    assert ((log_p[:, None] + noise).argmax(axis=-1) == labels[:, None]).all()
    law = shared_law(log_p, labels, log_q, 4096)
    assert law is not None
    drawn = monte_carlo_law(log_p, labels, log_q, 40_000, rng)
    assert drawn is not None
    n_effective = 1 / (found.weight**2).sum()
    assert n_effective > 10_000
    np.testing.assert_array_less(np.abs(drawn[0] - law[0]), 4.5 * np.sqrt(0.25 / n_effective))
    assert drawn[1] == pytest.approx(law[1], abs=0.05)


def test_more_points_come_nearer() -> None:
    """Three labels: off by under 0.5 % with 1,000 points, far less with more."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(10):
        log_p, labels = produced(rng, 4, 5, 3)
        log_q = log_dirichlet(rng, (3, 5))
        few, many, most = (shared_law(log_p, labels, log_q, n) for n in (64, 1000, 2**15))
        assert few is not None
        assert many is not None
        assert most is not None
        errors.append([np.abs(found[0] - most[0]).max() for found in (few, many)])
    mean = np.mean(errors, axis=0)
    assert mean[1] < 0.005 < 0.01 < mean[0] + 0.01
    assert mean[1] < mean[0] / 3


def test_many_targets_need_no_more_memory_than_a_few() -> None:
    """Two labels cut every target's law into k² pieces of k values."""
    rng = np.random.default_rng(0)
    log_p, labels = produced(rng, 2, 50, 2)
    log_q = log_dirichlet(rng, (32, 50))
    peaks, found = [], []
    for targets in (log_q[:8], log_q):
        tracemalloc.start()
        law = shared_law(log_p, labels, targets, 1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert law is not None
        found.append(law)
    assert peaks[1] < 1.5 * peaks[0]
    np.testing.assert_allclose(found[1][0][:8], found[0][0], rtol=0, atol=1e-12)
    assert found[1][1] == pytest.approx(found[0][1])


def test_points_are_spread_evenly() -> None:
    assert evenly(0, 5).shape == (1, 0)
    points = evenly(2, 100)
    assert points.shape == (128, 2)
    np.testing.assert_allclose(np.sort(points[:, 0]), (np.arange(128) + 0.5) / 128)
    counts = np.histogram2d(*points.T, bins=8, range=[[0, 1]] * 2)[0]
    assert (counts == 2).all()


def test_noise_that_nothing_is_known_of_is_drawn_from_the_prior() -> None:
    floors = np.full((4000, 3), -np.inf)
    noise = noise_above(floors, np.zeros((4000, 3), dtype=bool), np.random.default_rng(0))
    assert kstest(noise.ravel(), "gumbel_r").pvalue > 0.01


def test_draws_count_by_their_weight_in_a_frequency_too() -> None:
    """Three labels, all but impossible together: a fifth of the draws makes up for the others."""
    log_p = log([[0.13, 0.45, 0.06, 0.36], [0.01, 0.01, 0.46, 0.52], [0.46, 0.01, 0.52, 0.01]])
    labels, even = np.array([1, 3, 2]), log([[0.25] * 4])
    exact = shared_law(log_p, labels, even, 4096)
    drawn = monte_carlo_law(log_p, labels, even, 20_000, np.random.default_rng(0))
    assert exact is not None
    assert drawn is not None
    np.testing.assert_allclose(drawn[0], exact[0], atol=0.02)


def test_who_can_say_one_thing_only_tells_nothing() -> None:
    log_p = np.array([[-800.0, np.log(0.2), np.log(0.8)], [-np.inf, 0.0, -np.inf]])
    log_q = log([[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]])
    found = shared_law(log_p, np.array([0, 1]), log_q, 1)
    alone = shared_law(log_p[:1], np.array([0]), log_q, 1)
    assert found is not None
    assert alone is not None
    np.testing.assert_allclose(found[0], alone[0], atol=1e-12)
    assert found[1] == pytest.approx(alone[1]) == -800


def test_a_target_whose_label_is_less_likely_than_any_number() -> None:
    log_p = np.array([[-2000.0, -np.inf, 0.0], [-2000.0, 0.0, -300.0]])
    found = shared_law(log_p, np.array([2, 1]), np.array([[-1000.0, 0.0, -600.0]]), 1)
    assert found is not None
    np.testing.assert_allclose(found[0], [[0, 1, 0]], atol=1e-12)


def test_three_who_contradict_each_other_but_for_rounding_are_no_law_of_nan() -> None:
    """Each is undecided between her label and the next one's: all that fits is a single noise."""
    passed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        value = rng.normal(scale=5, size=3)
        log_p = rng.normal(loc=-40, size=(3, 3))
        for i in range(3):
            log_p[i, [i, (i + 1) % 3]] = value[[i, (i + 1) % 3]]
        log_p -= logsumexp(log_p, axis=1, keepdims=True)
        passed += possible(log_p, np.arange(3))
        found = shared_law(log_p, np.arange(3), log_p, 4)
        assert found is None or np.isfinite(found[0]).all()
    assert passed > 10


def test_of_a_range_of_no_length_the_integral_is_nothing() -> None:
    end = np.array([1.0])
    value, log_integral = draw_ratio(
        pieces_between(np.zeros((1, 2)), np.zeros(2), 1, end, end), np.array([0.5]), 1
    )
    assert value.tolist() == [1.0]
    assert log_integral.tolist() == [-np.inf]


def test_a_range_without_an_end_is_drawn_from_at_a_share_of_one_too() -> None:
    """S is 2 t from 1 onwards, so half of the integral lies below t = 2."""
    pieces = pieces_between(np.zeros((2, 2)), np.zeros(2), 1, np.zeros(2), np.full(2, np.inf))
    (half, whole), _ = draw_ratio(pieces, np.array([0.5, 1.0]), 1)
    assert half == pytest.approx(np.log(2))
    assert np.log(2) < whole < np.inf
