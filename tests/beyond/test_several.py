"""Several opinions at once: against sums over who followed, and against the model simulated."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import log, log_dirichlet, rngs

from siscm import gumbel
from siscm.beyond.followers import Heard
from siscm.beyond.noises import LAWS, Noise
from siscm.beyond.several import (
    Wanted,
    by_followers,
    cells_drawn,
    cells_on_a_line,
    graded_proba,
)
from siscm.contradictions import Names

NOISES: tuple[Noise, ...] = ("gumbel", "uniform")
Array = np.ndarray


def answer(
    log_p: Array,
    labels: Array,
    a: Array,
    *,
    groups: Array | None = None,
    noise: Noise = "gumbel",
    n_samples: int = 20_000,
) -> Array:
    """``graded_proba`` on one instance: log-marginals (H, k), labels (H,), sharing (H,)."""
    return graded_proba(
        log_p[None],
        np.asarray(labels)[None],
        np.zeros(len(log_p), dtype=np.int64) if groups is None else groups,
        np.broadcast_to(np.asarray(a, dtype=float), len(log_p)),
        noise=noise,
        n_samples=n_samples,
        rng=np.random.default_rng(0),
        names=Names(["the case"], "ABCDEFGHIJKL"[: len(log_p)], range(log_p.shape[1])),
    )[0]


def exact_on_a_line(log_p: Array, labels: Array, a: Array, log_q: Array, b: Array) -> Array | None:
    cells = cells_on_a_line(Heard(log_p, labels, a), Wanted(log_q, b))
    return None if cells is None else cells.law()


def sampled(
    log_p: Array,
    labels: Array,
    a: Array,
    log_q: Array,
    b: Array,
    n: int,
    rng: np.random.Generator,
) -> Array | None:
    cells = cells_drawn(Heard(log_p, labels, a), Wanted(log_q, b), n, rng)
    return None if cells is None else cells.law()


def interval(p: Array, label: int) -> tuple[float, float]:
    return float(p[:label].sum()), float(p[: label + 1].sum())


def by_follower_sets(p: Array, labels: Array, a: Array, q: Array, b: float) -> Array:
    """Design section 3, by loops: a sum over sets A of followers, each weighted by w_A.

    w_A is the chance that exactly A follow, that the others say what they say on their own, and
    that one noise makes all of A say what they say.
    """
    total, law = 0.0, np.zeros(len(q))
    for follows in product((False, True), repeat=len(labels)):
        weight, low, high = 1.0, 0.0, 1.0
        for i, follow in enumerate(follows):
            if follow:
                weight *= a[i]
                left, right = interval(p[i], labels[i])
                low, high = max(low, left), min(high, right)
            else:
                weight *= (1 - a[i]) * p[i, labels[i]]
        weight *= max(0.0, high - low)
        total += weight
        for d in range(len(q)):
            left, right = interval(q, d)
            said = max(0.0, min(high, right) - max(low, left)) / (high - low) if weight else 0.0
            law[d] += weight * (b * said + (1 - b) * q[d])
    return law / total


def simulated(
    log_p: Array, labels: Array, a: Array, noise: Noise, n: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """The model itself: switches, noises, what all say; what unobserved ones say where it fits."""
    H, k = log_p.shape
    if noise == "gumbel":
        shared, own = rng.gumbel(size=(n, 1, k)), rng.gumbel(size=(n, H, k))
        follow = rng.random((n, H, 1)) < a[:, None]
        said = (log_p + np.where(follow, shared, own)).argmax(axis=-1)
    else:
        follow = rng.random((n, H)) < a
        u = np.where(follow, rng.random((n, 1)), rng.random((n, H)))
        said = (u[..., None] > np.exp(log_p).cumsum(axis=-1)[:, :-1]).sum(axis=-1)
    fits = (said == labels)[:, labels >= 0].all(axis=1)
    shares = np.stack([np.bincount(column, minlength=k) for column in said[fits].T])
    return shares / fits.sum(), int(fits.sum())


@pytest.mark.parametrize("noise", NOISES)
@given(rng=rngs(), k=st.integers(2, 6))
def test_one_opinion_is_the_exact_law_and_the_marginal_mixed(
    noise: Noise, rng: np.random.Generator, k: int
) -> None:
    log_p, a, c = log_dirichlet(rng, (3, k)), rng.random(3), int(rng.integers(k))
    found = answer(log_p, [-1, c, -1], a, noise=noise)
    for h in (0, 2):
        law = LAWS[noise](log_p[1], log_p[h], np.array(c))
        expected = a[1] * a[h] * law + (1 - a[1] * a[h]) * np.exp(log_p[h])
        np.testing.assert_allclose(found[h], expected, atol=1e-12)
    np.testing.assert_array_equal(found[1], np.eye(k)[c])


@given(rng=rngs(), k=st.integers(2, 5), m=st.integers(1, 4))
def test_on_a_line_it_is_the_sum_over_sets_of_followers(
    rng: np.random.Generator, k: int, m: int
) -> None:
    log_p, log_q = log_dirichlet(rng, (m, k)), log_dirichlet(rng, (2, k))
    labels, a, b = rng.integers(k, size=m), 0.99 * rng.random(m), rng.random(2)
    found = exact_on_a_line(log_p, labels, a, log_q, b)
    assert found is not None
    for t in range(2):
        expected = by_follower_sets(np.exp(log_p), labels, a, np.exp(log_q[t]), b[t])
        np.testing.assert_allclose(found[t], expected, atol=1e-11)


@given(rng=rngs(), k=st.integers(2, 5))
def test_on_a_line_one_opinion_is_the_law_of_a_pair(rng: np.random.Generator, k: int) -> None:
    log_p, log_q, c = *log_dirichlet(rng, (2, k)), rng.integers(k, size=1)
    found = exact_on_a_line(log_p[None], c, np.array([0.6]), log_q[None], np.array([0.5]))
    assert found is not None
    law = LAWS["uniform"](log_p, log_q, c[0])
    np.testing.assert_allclose(found[0], 0.3 * law + 0.7 * np.exp(log_q), atol=1e-10)


@given(rng=rngs(), m=st.integers(1, 10))
@settings(max_examples=20)
def test_draws_of_gumbel_noises_agree_with_the_exact_law_of_two_labels(
    rng: np.random.Generator, m: int
) -> None:
    log_p, log_q = log_dirichlet(rng, (m, 2), 3.0), log_dirichlet(rng, (3, 2))
    labels, a, b = rng.integers(2, size=m), 0.95 * rng.random(m), rng.random(3)
    exact = exact_on_a_line(log_p, labels, a, log_q, b)
    drawn = sampled(log_p, labels, a, log_q, b, 2_000, rng)
    assert exact is not None
    assert drawn is not None
    # A share of 2,000 draws, not quite independent: standard error about 0.015, times b.
    np.testing.assert_allclose(drawn, exact, atol=0.08)
    np.testing.assert_allclose(drawn.sum(axis=1), 1, atol=1e-12)


def test_a_tiny_probability_at_either_end_is_not_lost() -> None:
    """Two who surely follow said what is nearly impossible; so would a third of their kind."""
    for label, row in ((0, [1e-30, 1 - 1e-30]), (1, [1 - 1e-30, 1e-30])):
        found = exact_on_a_line(
            log([row, row]),
            np.array([label, label]),
            np.ones(2),
            log([row, [0.5, 0.5]]),
            np.ones(2),
        )
        np.testing.assert_array_equal(found, np.eye(2)[[label, label]])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 4])
def test_without_sharing_the_marginals_stay(noise: Noise, k: int) -> None:
    log_p = log_dirichlet(np.random.default_rng(1), (5, k))
    found = answer(log_p, [0, 1, 1, -1, -1], 0.0, noise=noise)
    np.testing.assert_allclose(found[3:], np.exp(log_p[3:]), atol=1e-12)
    np.testing.assert_array_equal(found[:3], np.eye(k)[[0, 1, 1]])


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("n_observed", [2, 3])
def test_with_full_sharing_those_who_agree_are_one_virtual_expert(k: int, n_observed: int) -> None:
    """Design section 3: p* proportional to the largest p_j / p_c among them."""
    rng = np.random.default_rng(k)
    log_p = log_dirichlet(rng, (n_observed + 3, k), 2.0)
    c = k - 1
    labels = np.array([c] * n_observed + [-1] * 3)
    found = answer(log_p, labels, 1.0)
    seen = log_p[:n_observed]
    virtual = (seen - seen[:, [c]]).max(axis=0)
    virtual -= np.log(np.exp(virtual).sum())
    law = gumbel.counterfactual_probabilities(virtual, log_p[n_observed:], c)
    np.testing.assert_allclose(found[n_observed:], law, atol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_model_simulated_with_its_switches(noise: Noise, k: int, seed: int) -> None:
    """Three observed, two not: the share of draws that fit what was observed."""
    rng = np.random.default_rng(seed)
    log_p = log_dirichlet(rng, (5, k), 3.0)
    labels = np.array([0, 0, 1, -1, -1])
    a = np.array([0.9, 0.7, 0.5, 0.8, 1.0])
    found = answer(log_p, labels, a, noise=noise, n_samples=100_000)
    shares, n_fits = simulated(log_p, labels, a, noise, 200_000, rng)
    assert n_fits > 2_000
    error = np.sqrt(found * (1 - found) / n_fits)
    extra = 1e-12
    np.testing.assert_array_less(np.abs(shares - found), 4 * error + extra)


@pytest.mark.parametrize("k", [2, 4])
def test_a_second_who_agrees_makes_the_label_likelier(k: int) -> None:
    p = np.log(np.full((4, k), 1 / k))
    p[3] = log([0.3] + [0.7 / (k - 1)] * (k - 1))
    one, two, three = (
        answer(p, labels, 0.6)[3, 0] for labels in ([0, -1, -1, -1], [0, 0, -1, -1], [0, 0, 0, -1])
    )
    assert one < two - 0.01 < three - 0.015
    # Her noise is now known better than from any pair, yet never better than she follows it.
    assert three < 0.6 + 0.4 * 0.3 + 0.01


@pytest.mark.parametrize("noise", NOISES)
def test_a_contradiction_means_that_not_both_followed(noise: Noise) -> None:
    """Equal marginals and different labels: who surely follows counts alone."""
    log_p = log([[0.5, 0.5], [0.5, 0.5], [0.3, 0.7]])
    found = answer(log_p, [0, 1, -1], [1.0, 0.7, 0.9], noise=noise)
    alone = answer(log_p, [0, -1, -1], [1.0, 0.7, 0.9], noise=noise)
    np.testing.assert_allclose(found[2], alone[2], atol=1e-12)
    # Equally sure, they cancel as far as symmetry goes: both labels of an even target.
    even = answer(np.log(np.full((3, 2), 0.5)), [0, 1, -1], 0.8, noise=noise)
    np.testing.assert_allclose(even[2], 0.5, atol=1e-12)


def test_the_same_with_more_labels() -> None:
    log_p = log([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.2, 0.3, 0.5]])
    found = answer(log_p, [0, 1, -1], [1.0, 0.7, 0.9])
    alone = answer(log_p, [0, -1, -1], [1.0, 0.7, 0.9])
    np.testing.assert_allclose(found[2], alone[2], atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_draws_and_the_sum_over_followers_agree(k: int, seed: int) -> None:
    """And with two labels both are what the line says."""
    rng = np.random.default_rng(seed)
    log_p, log_q, b = log_dirichlet(rng, (3, k)), log_dirichlet(rng, (4, k)), rng.random(4)
    labels, a = rng.integers(k, size=3), np.array([0.9, 0.6, 0.8])
    found = by_followers(Heard(log_p, labels, a), Wanted(log_q, b), 1024)
    drawn = sampled(log_p, labels, a, log_q, b, 20_000, rng)
    np.testing.assert_allclose(found, drawn, atol=0.02)
    if k == 2:
        line = exact_on_a_line(log_p, labels, a, log_q, b)
        np.testing.assert_allclose(found, line, atol=1e-12)


@pytest.mark.parametrize("n_sure", [1, 2, 3, 5])
def test_draws_begin_with_what_the_sure_said(n_sure: int) -> None:
    """However rare it is, no draw contradicts them; three of them said different labels at most."""
    rng = np.random.default_rng(n_sure)
    log_p, log_q, b = log_dirichlet(rng, (5, 4)), log_dirichlet(rng, (4, 4)), rng.random(4)
    labels = np.array([0, 1, 2, 0, 3])
    log_p[np.arange(5), labels] -= 40  # so do they agree best
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    a = np.where(np.arange(5) < n_sure, 1, 0.5)
    found = by_followers(Heard(log_p, labels, a), Wanted(log_q, b), 2**14)
    drawn = sampled(log_p, labels, a, log_q, b, 20_000, rng)
    if found is None:
        assert drawn is None
    else:
        np.testing.assert_allclose(drawn, found, atol=0.02)


def test_of_nobody_there_is_nothing_to_learn() -> None:
    rng = np.random.default_rng(0)
    log_q, nobody = log_dirichlet(rng, (3, 4)), np.empty(0, dtype=np.int64)
    given = (np.empty((0, 4)), nobody, np.empty(0), log_q, np.ones(3))
    drawn = sampled(*given, 20_000, rng)
    np.testing.assert_allclose(drawn, np.exp(log_q), atol=0.02)


def test_many_in_doubt_are_drawn_and_the_sure_are_not() -> None:
    """Nine who follow for certain leave one way; nine who may or may not, 512."""
    rng = np.random.default_rng(0)
    log_p = log_dirichlet(rng, (10, 3))
    labels = np.append((log_p[:9] + rng.gumbel(size=3)).argmax(axis=1), -1)
    assert len(set(labels.tolist())) == 3
    sure, again = (answer(log_p, labels, 1.0, n_samples=n)[9] for n in (500, 512))
    np.testing.assert_array_equal(sure, again)  # both 512 points; no draw
    doubt, again = (answer(log_p, labels, 0.99, n_samples=n)[9] for n in (500, 512))
    assert not np.array_equal(doubt, again)
    rest = np.array([0.6, 0.7, 0.8, 0.9, 0.5, 0.8, 0.7, 0.6, 0.5])
    heard, wanted = Heard(log_p[:9], labels[:9], rest), Wanted(log_p[9:], np.ones(1))
    drawn = answer(log_p, labels, np.append(rest, 1.0), n_samples=5000)[9]
    expected = by_followers(heard, wanted, 128)
    assert expected is not None
    np.testing.assert_allclose(drawn, expected[0], atol=0.02)


def test_who_is_silent_among_eight_needs_no_draw() -> None:
    """Two camps, each with opinions all but impossible alone: draws miss the one or the other."""
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=8)
    labels = np.array([1, 2, 1, 0, 0, 2, 2, -1])
    p[np.arange(7), labels[:7]] = [1e-5, 0.6, 1e-6, 2e-3, 3e-5, 4e-5, 3e-7]
    log_p, a = np.log(p / p.sum(axis=1, keepdims=True)), np.full(8, 0.9)
    heard, wanted = Heard(log_p[:7], labels[:7], a[:7]), Wanted(log_p[7:], a[7:])
    expected = by_followers(heard, wanted, 2**12)
    assert expected is not None
    found = answer(log_p, labels, 0.9, n_samples=2000)[7]
    np.testing.assert_allclose(found, expected[0], atol=2e-3)


def test_where_all_have_spoken_nothing_is_drawn_and_the_sure_are_still_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("siscm.beyond.several.cells_of", None)
    labels = np.arange(12) % 3
    log_p = np.log(np.full((12, 3), 1 / 3))
    np.testing.assert_array_equal(answer(log_p, labels, 0.5), np.eye(3)[labels])
    with pytest.raises(ValueError, match="'A' say 0 and expert 'B' say 1"):
        answer(log_p[:2], labels[:2], 1)


@pytest.mark.parametrize(
    ("k", "said"),
    [
        (10, [7, 6, 7, 6, 7, 6, 2]),  # camps that contradict each other
        (10, [8, 8, 7, 7, 7, 7, 7]),
        (6, [2, 5, 4, 5, 0, 5, 1]),
        (4, [0, 0, 1, 2, 2, 2, 3]),
    ],
)
@pytest.mark.parametrize("rare", [1.0, 1e-10, 1e-60])
def test_as_many_draws_as_by_default_are_enough(k: int, said: list[int], rare: float) -> None:
    """Against the sum over all 128 sets of followers, who nearly always follow."""
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.ones(k), size=9)
    p[np.arange(7), said] *= rare
    log_p, labels = np.log(p / p.sum(axis=1, keepdims=True)), np.array(said)
    given = (log_p[:7], labels, np.full(7, 0.9), log_p[7:], np.array([0.9, 1.0]))
    expected = by_followers(Heard(*given[:3]), Wanted(*given[3:]), 128)
    drawn = [sampled(*given, 2000, np.random.default_rng(seed)) for seed in range(3)]
    np.testing.assert_allclose(drawn, np.broadcast_to(expected, (3, 2, k)), atol=0.06)
    np.testing.assert_allclose(np.mean(drawn, axis=0), expected, atol=0.03)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 3])
def test_impossible_opinions_are_refused_by_name(noise: Noise, k: int) -> None:
    log_p = np.log(np.full((3, k), 1 / k))
    words = (
        "instance 'the case': no noise makes expert 'A' say 0 and expert 'B' say 1, and they share"
    )
    with pytest.raises(ValueError, match=words):
        answer(log_p, [0, 1, -1], 1.0, noise=noise)
    assert np.isfinite(answer(log_p, [0, 1, -1], 0.99, noise=noise)).all()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rare", [1e-6, 1e-12, 1e-100, 1e-160, 1e-200, 1e-300])
def test_opinions_less_likely_than_the_smallest_number(noise: Noise, rare: float) -> None:
    """Two that exclude each other: the first followed, or the second, or neither; all as likely."""
    log_p = log([[rare, 0.5, 0.5 - rare], [0.5, rare, 0.5 - rare], [0.3, 0.3, 0.4]])
    found = answer(log_p, [0, 1, -1], 0.5, noise=noise)
    np.testing.assert_allclose(found[2], [11 / 30, 11 / 30, 8 / 30], rtol=1e-4)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_at_full_sharing_they_are_what_the_model_of_the_paper_says(n_labels: int) -> None:
    """Each says a rare label of her own; all of these are possible, and none likelier."""
    log_p = np.log(np.full((n_labels + 1, n_labels + 1), 1e-300))
    np.fill_diagonal(log_p, np.log(1e-200))
    log_p[:n_labels, n_labels] = 0
    log_p[n_labels] = -np.log(n_labels + 1)
    found = answer(log_p, [*range(n_labels), -1], 1.0)[-1]
    atol = 1e-12 if n_labels == 2 else 1e-3
    np.testing.assert_allclose(found, [1 / n_labels] * n_labels + [0], atol=atol)


@pytest.mark.parametrize("noise", NOISES)
def test_hundreds_of_opinions_have_an_answer(noise: Noise) -> None:
    """Their chance is below the smallest number; even marginals favour what is said most."""
    rng = np.random.default_rng(0)
    said = np.append(rng.choice(12, size=299, p=[0.05] * 11 + [0.45]), -1)
    log_p = np.full((300, 12), -np.log(12))
    found = answer(log_p, said, 0.5, noise=noise, n_samples=2000)[-1]
    expected = np.append(np.full(11, 0.5 / 12), 0.5 + 0.5 / 12)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("noise", NOISES)
def test_groups_do_not_talk(noise: Noise) -> None:
    rng = np.random.default_rng(3)
    log_p, groups = log_dirichlet(rng, (6, 2)), np.array([0, 1, 0, 1, 0, 2])
    found = answer(log_p, [0, 1, 1, 0, -1, -1], 0.8, groups=groups, noise=noise)
    other = answer(log_p, [0, 0, 1, -1, -1, -1], 0.8, groups=groups, noise=noise)
    np.testing.assert_array_equal(found[4], other[4])
    np.testing.assert_allclose(found[5], np.exp(log_p[5]), rtol=1e-15)
    alone = answer(log_p[[0, 2, 4]], [0, 1, -1], 0.8, noise=noise)
    np.testing.assert_allclose(found[4], alone[2], rtol=1e-12)


@pytest.mark.parametrize(("noise", "k"), [("gumbel", 2), ("gumbel", 4), ("uniform", 4)])
def test_the_order_of_experts_does_not_matter(noise: Noise, k: int) -> None:
    rng = np.random.default_rng(4)
    log_p, labels, a = log_dirichlet(rng, (5, k), 3.0), np.array([0, 1, 0, -1, -1]), rng.random(5)
    order = np.array([2, 4, 1, 0, 3])
    found = answer(log_p, labels, a, noise=noise)
    other = answer(log_p[order], labels[order], a[order], noise=noise)
    np.testing.assert_allclose(found[order], other, atol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 4])
def test_many_instances_are_each_answered_alone(noise: Noise, k: int) -> None:
    """Nobody, one, several, all observed: side by side as one at a time."""
    rng = np.random.default_rng(5)
    n, H = 12, 4
    log_p = log_dirichlet(rng, (n, H, k), 2.0)
    labels = np.where(rng.random((n, H)) < 0.5, rng.integers(k, size=(n, H)), -1)
    labels[0], labels[1], labels[2] = -1, [-1, 1, -1, -1], [0, 1, 1, 0]
    a, number = np.array([0.9, 0.4, 0.7, 0.2]), np.array([0, 0, 1, 0])
    found = graded_proba(
        log_p,
        labels,
        number,
        a,
        noise=noise,
        n_samples=20_000,
        rng=rng,
        names=Names(range(n), range(H), range(k)),
    )
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-12)
    np.testing.assert_allclose(found[0], np.exp(log_p[0]), rtol=1e-12)
    np.testing.assert_array_equal(found[labels >= 0], np.eye(k)[labels[labels >= 0]])
    for i in range(n):
        alone = answer(log_p[i], labels[i], a, groups=number, noise=noise)
        np.testing.assert_allclose(found[i], alone, atol=1e-12)


def test_draws_repeat_with_the_seed() -> None:
    log_p = log_dirichlet(np.random.default_rng(6), (6, 5))
    first, again = (answer(log_p, [0, 1, 0, 0, 1, -1], 0.5, n_samples=500) for _ in range(2))
    np.testing.assert_array_equal(first, again)
