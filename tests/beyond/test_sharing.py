"""Evidence about sharing: against slow loops, exact arithmetic, and the test for violations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from graded_panels import graded_panel
from hypothesis import given
from hypothesis import strategies as st
from independent import fraction_row, precise_row
from strategies import Pair, log_dirichlet, pairs

from siscm import Opinions, gumbel
from siscm.beyond import noises, sharing
from siscm.beyond.gaussian import TwoOpinions
from siscm.beyond.noises import Noise, excess
from siscm.beyond.sharing import MOST, NODES, SharingEvidence, merged
from siscm.violations import violates

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NOISES: list[Noise] = ["gumbel", "uniform"]


def evidence_of(log_p: FloatArray, codes: Any, noise: Noise = "gumbel") -> SharingEvidence:
    """From log-marginals (n, H, k) and label codes (n, H)."""
    names = [f"e{h}" for h in range(log_p.shape[1])]
    opinions = Opinions.from_codes(codes, experts=names, classes=range(log_p.shape[2]))
    return SharingEvidence.from_opinions(log_p, opinions, noise)


def overlap(p: Any, q: Any, c: int, d: int) -> Any:
    """Length of the noises u that make one say c and the other d, by their ends."""
    low, high = max(sum(p[:c]), sum(q[:d])), min(sum(p[: c + 1]), sum(q[: d + 1]))
    return max(high - low, 0)


def joint(log_p: FloatArray, log_q: FloatArray, c: int, d: int, noise: Noise) -> float:
    if noise == "gumbel":
        return float(gumbel.joint_probabilities(log_p, log_q)[c, d])
    return float(overlap(np.exp(log_p), np.exp(log_q), c, d))


def slow_log_likelihood(
    log_p: FloatArray, codes: IntArray, lam: float, noise: Noise
) -> dict[tuple[int, int], float]:
    r"""Sums of log(λ J + (1 - λ) p q) - log(p q), pair by pair, instance by instance."""
    total: dict[tuple[int, int], float] = {}
    n, n_experts = codes.shape
    for i in range(n):
        for h in range(n_experts):
            for g in range(h + 1, n_experts):
                c, d = codes[i, h], codes[i, g]
                if c >= 0 and d >= 0:
                    apart = np.exp(log_p[i, h, c] + log_p[i, g, d])
                    both = joint(log_p[i, h], log_p[i, g], c, d, noise)
                    value = np.log(lam * both + (1 - lam) * apart) - np.log(apart)
                    total[h, g] = total.get((h, g), 0.0) + value
    return total


def single_pairs(rho: FloatArray) -> SharingEvidence:
    """Evidence of one pair of opinions each, with these excesses."""
    n = len(rho)
    inner = 1 + NODES * rho[:, None]
    sums = np.concatenate([np.log(inner), rho[:, None] / inner, np.zeros((n, 1))], axis=1)
    return SharingEvidence(pd.RangeIndex(n + 1), np.arange(1, n + 1), sums)


# The excess of one pair of opinions


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_the_excess_in_exact_arithmetic(k: int, noise: Noise) -> None:
    rng = np.random.default_rng(k)
    for _ in range(12):
        weights = rng.integers(1, 30, size=(2, k)).tolist()
        p, q = ([Fraction(w, sum(row)) for w in row] for row in weights)
        log_p, log_q = (np.log(np.array(row, dtype=float)) for row in (p, q))
        c, d = np.divmod(np.arange(k * k), k)
        found = excess(
            TwoOpinions(np.tile(log_p, (k * k, 1)), np.tile(log_q, (k * k, 1)), c, d), noise
        )
        for c_, d_, rho in zip(c.tolist(), d.tolist(), found, strict=True):
            if noise == "gumbel":
                ratio = fraction_row(p, q, c_)[d_] / q[d_]
            else:
                ratio = overlap(p, q, c_, d_) / (p[c_] * q[d_])
            assert rho + 1 == pytest.approx(float(ratio), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 4])
def test_the_excess_is_that_of_the_joint_law(k: int, noise: Noise) -> None:
    """So its mean under independence is 0, whatever one of the two said."""
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (2, k))
    c, d = np.divmod(np.arange(k * k), k)
    rho = excess(TwoOpinions(np.tile(log_p, (k * k, 1)), np.tile(log_q, (k * k, 1)), c, d), noise)
    table = (1 + rho.reshape(k, k)) * np.exp(log_p[:, None] + log_q)
    expected = [[joint(log_p, log_q, c, d, noise) for d in range(k)] for c in range(k)]
    np.testing.assert_allclose(table, expected, atol=1e-13)
    np.testing.assert_allclose(rho.reshape(k, k) @ np.exp(log_q), 0, atol=1e-12)


@given(pairs(), st.integers(0, 2**32 - 1))
def test_gumbel_contradictions_are_violations(pair: Pair, seed: int) -> None:
    """To the last bit, also where probabilities underflow or ratios tie; and nothing overflows."""
    log_p, log_q, c = pair
    rng = np.random.default_rng(seed)
    d = int(rng.choice(np.flatnonzero(np.isfinite(log_q))))
    rho = excess(TwoOpinions(log_p[None], log_q[None], np.array([c]), np.array([d])), "gumbel")
    assert np.isfinite(rho).all()
    assert (rho[0] == -1) == bool(violates(log_p, c, log_q, d))
    evidence = evidence_of(np.stack([log_p, log_q])[None], [[c, d]])
    assert evidence.contradictions.tolist() == [int(rho[0] == -1)]
    assert np.isfinite(evidence.values).all()
    assert np.isfinite(evidence.slopes).all()


@given(pairs(kinds=("ordinary", "sparse", "tiny", "equal", "float32"), sizes=(2, 3, 5, 10)))
def test_the_excess_with_many_digits(pair: Pair) -> None:
    """And the same from either side."""
    log_p, log_q, c = pair
    exact = precise_row(log_p, log_q, c, digits=700)
    for d in np.flatnonzero(log_q > -690):
        codes = np.array([c]), np.array([d])
        rho = excess(TwoOpinions(log_p[None], log_q[None], *codes), "gumbel")
        ratio = float(exact[d]) / np.exp(log_q[d]) * np.exp(log_q).sum()
        most = np.exp(noises._MOST_LOG_EXCESS)
        assert rho[0] + 1 == pytest.approx(min(ratio, most), rel=1e-6, abs=1e-9)
        back = excess(TwoOpinions(log_q[None], log_p[None], *codes[::-1]), "gumbel")
        if log_p[c] > -690:
            assert back[0] + 1 == pytest.approx(rho[0] + 1, rel=1e-6, abs=1e-9)


@given(pairs(kinds=("ordinary", "equal"), sizes=(2, 3, 5, 10)))
def test_uniform_contradictions_are_empty_overlaps(pair: Pair) -> None:
    log_p, log_q, c = pair
    p, q = (np.exp(row) / np.exp(row).sum() for row in (log_p, log_q))
    for d in range(len(q)):
        rho = excess(
            TwoOpinions(log_p[None], log_q[None], np.array([c]), np.array([d])), "uniform"
        )[0]
        assert (rho == -1) == (overlap(p, q, c, d) < 1e-14)


def test_uniform_cuts_that_are_equal_but_for_rounding_contradict() -> None:
    """0.1 + 0.2 is not 0.3 in floating point, yet nothing lies between."""
    p, q = np.log([0.1, 0.2, 0.7]), np.log([0.3, 0.3, 0.4])
    for (log_p, log_q), said in (((p, q), (1, 1)), ((q, p), (0, 2)), ((p, q), (2, 0))):
        codes = (np.array([label]) for label in said)
        assert excess(TwoOpinions(log_p[None], log_q[None], *codes), "uniform") == -1
    p, q = np.log([0.5, 0.5]), np.log([0.5 + 1e-9, 0.5 - 1e-9])
    little = excess(TwoOpinions(p[None], q[None], np.array([1]), np.array([0])), "uniform")
    assert little + 1 == pytest.approx(4e-9, rel=1e-5)


def test_two_labels_have_one_law() -> None:
    """On two labels both noises are one noise on a line."""
    log_p, codes = log_dirichlet(np.random.default_rng(1), (50, 3, 2)), np.arange(150) % 2
    one, other = (evidence_of(log_p, codes.reshape(50, 3), noise) for noise in NOISES)
    np.testing.assert_allclose(one.values, other.values, atol=1e-10)
    np.testing.assert_array_equal(one.contradictions, other.contradictions)


# Sums over instances


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [2, 5, 10])
def test_at_the_nodes_it_is_the_log_likelihood(k: int, noise: Noise) -> None:
    rng = np.random.default_rng(k)
    # A small concentration makes extreme marginals: 1e-30 and less, and its opposite.
    for concentration in (1.0, 0.1):
        log_p = log_dirichlet(rng, (30, 4, k), concentration)
        codes = np.array([[rng.choice(k, p=np.exp(row)) for row in rows] for rows in log_p])
        codes[rng.random(codes.shape) < 0.3] = -1
        evidence = evidence_of(log_p, codes, noise)
        for node in NODES:
            slow = slow_log_likelihood(log_p, codes, float(node), noise)
            assert list(zip(evidence.first, evidence.second, strict=True)) == sorted(slow)
            expected = [slow[pair] for pair in sorted(slow)]
            found, _ = evidence.log_likelihood(node)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_between_nodes_it_is_near(noise: Noise) -> None:
    """A sum of 40 log-likelihoods, of opinions as they come about: off by less than 0.1."""
    panel = graded_panel(np.random.default_rng(3), 40, [[0, 1, 2]], [0.8] * 3, noise=noise)
    evidence = SharingEvidence.from_opinions(*panel, noise)
    for lam in np.linspace(0, 0.95, 39):
        slow = slow_log_likelihood(panel.log_p, panel.opinions.labels, lam, noise)
        expected = [slow[pair] for pair in sorted(slow)]
        np.testing.assert_allclose(evidence.log_likelihood(lam)[0], expected, atol=0.1)


def test_how_far_it_is_off_between_nodes() -> None:
    """For one pair of opinions, at any excess: the bounds that the docstring gives."""
    rho = np.concatenate([-1 + np.geomspace(1e-12, 1, 60), np.geomspace(1e-3, 1e12, 80)])
    evidence = single_pairs(rho)
    lam = MOST * np.sin(np.linspace(0, np.pi / 2, 1001)) ** 2
    off = np.array([evidence.log_likelihood(v)[0] - np.log1p(v * rho) for v in lam])
    middle = (lam > 0.05) & (lam < 0.9)
    assert np.abs(off[middle]).max() < 0.01
    assert np.abs(off[:, (rho > -0.95) & (rho < 100)]).max() < 0.07
    at_nodes = np.array([evidence.log_likelihood(v)[0] - np.log1p(v * rho) for v in NODES])
    assert np.abs(at_nodes).max() < 1e-9


def test_agreement_on_what_is_next_to_impossible_is_finite() -> None:
    """Its excess overflows: then it counts as much as numbers can hold."""
    log_p = np.tile([-720.0, 0.0], (2, 2, 1))
    evidence = evidence_of(log_p, [[0, 0], [0, 0]])
    value, slope = evidence.log_likelihood(0.5)
    assert value == pytest.approx(2 * (600 + np.log(0.5)), abs=0.02)
    assert slope == pytest.approx(2 / 0.5, rel=0.02)


def test_contradictions_are_exact_everywhere() -> None:
    evidence = evidence_of(np.log([[[0.5, 0.5], [0.8, 0.2]]]).repeat(3, axis=0), [[0, 1]] * 3)
    assert evidence.contradictions.tolist() == [3]
    for lam in (0.0, 0.1234, 0.98, MOST):
        value, slope = evidence.log_likelihood(lam)
        assert value == pytest.approx(3 * np.log1p(-lam))
        assert slope == pytest.approx(-3 / (1 - lam))


@pytest.mark.parametrize("noise", NOISES)
def test_the_slope_is_that_of_the_value(noise: Noise) -> None:
    panel = graded_panel(np.random.default_rng(4), 25, [[0, 1], [2, 3]], [0.9] * 4, noise=noise)
    evidence = SharingEvidence.from_opinions(*panel, noise)
    rng = np.random.default_rng(0)
    step = 1e-6
    for _ in range(30):
        lam = rng.uniform(2 * step, MOST - 2 * step, size=len(evidence.first))
        up, down = (evidence.log_likelihood(lam + side * step)[0] for side in (1, -1))
        slope = evidence.log_likelihood(lam)[1]
        np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=1e-3, atol=1e-3)
    for node, exact in zip(NODES, evidence.slopes.T, strict=True):
        exact = exact - evidence.contradictions / (1 - node)
        np.testing.assert_allclose(evidence.log_likelihood(node)[1], exact, rtol=1e-6)


def test_each_pair_can_have_a_sharing_of_its_own() -> None:
    panel = graded_panel(np.random.default_rng(4), 10, [[0, 1, 2]], [0.9] * 3)
    evidence = SharingEvidence.from_opinions(*panel)
    lam = np.array([0.1, 0.5, 0.97])
    together = evidence.log_likelihood(lam)
    for i, v in enumerate(lam):
        value, slope = evidence.log_likelihood(v)
        assert (together[0][i], together[1][i]) == (value[i], slope[i])


# What evidence is made of


def same_evidence(one: SharingEvidence, other: SharingEvidence) -> None:
    for name in ("first", "second", "contradictions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("values", "slopes"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_parts_add_up_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    log_p, opinions = graded_panel(rng, 12, [[0, 1, 2], [3]], [0.7] * 4, asked=0.6)
    whole = SharingEvidence.from_opinions(log_p, opinions)
    part = rng.integers(4, size=12)
    order = rng.permutation(4)
    parts = [
        SharingEvidence.from_opinions(
            log_p[part == i], opinions.select(instances=np.flatnonzero(part == i))
        )
        for i in order
    ]
    total = reduce(add, parts)
    same_evidence(total, whole)
    np.testing.assert_array_equal(merged(parts).sums, total.sums)
    shuffled = rng.permutation(12)
    again = SharingEvidence.from_opinions(log_p[shuffled], opinions.select(instances=shuffled))
    same_evidence(again, whole)


@pytest.mark.parametrize("noise", NOISES)
def test_experts_in_another_order(noise: Noise) -> None:
    log_p, opinions = graded_panel(np.random.default_rng(6), 20, [[0, 1, 2, 3]], [0.7] * 4)
    one = SharingEvidence.from_opinions(log_p, opinions, noise)
    order = [2, 0, 3, 1]
    turned = opinions.select(experts=opinions.experts[order])
    other = SharingEvidence.from_opinions(log_p[:, order], turned, noise)
    place = {pair: i for i, pair in enumerate(zip(one.first, one.second, strict=True))}
    for i, (a, b) in enumerate(zip(other.first, other.second, strict=True)):
        j = place[tuple(sorted((order[a], order[b])))]  # type: ignore[index]
        np.testing.assert_allclose(other.values[i], one.values[j], rtol=1e-9)
        assert other.contradictions[i] == one.contradictions[j]


def test_any_size_of_block(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = graded_panel(np.random.default_rng(7), 15, [[0, 1, 2]], [0.7] * 3)
    whole = SharingEvidence.from_opinions(*panel)
    value, slope = whole.log_likelihood(np.linspace(0, MOST, 3))
    at_nodes, doubled = whole.at_nodes(), whole + whole
    monkeypatch.setattr(sharing, "_BLOCK_PAIRS", 2)
    same_evidence(SharingEvidence.from_opinions(*panel), whole)
    monkeypatch.setattr(sharing, "_BLOCK_ROWS", 2)
    found = whole.log_likelihood(np.linspace(0, MOST, 3))
    np.testing.assert_array_equal(found, (value, slope))
    np.testing.assert_array_equal(whole.at_nodes(), at_nodes)
    np.testing.assert_array_equal((whole + whole).sums, doubled.sums)


def test_all_pairs_at_all_nodes() -> None:
    """Short cuts for what is asked most: the same numbers, but for rounding."""
    panel = graded_panel(np.random.default_rng(9), 40, [[0, 1, 2, 3]], [0.5] * 4)
    evidence = SharingEvidence.from_opinions(*panel)
    assert evidence.contradictions.any()
    expected = np.array([evidence.log_likelihood(node)[0] for node in NODES])
    np.testing.assert_allclose(evidence.at_nodes(), expected[1:], atol=1e-9)
    np.testing.assert_allclose(evidence.together_at_nodes(), expected.sum(axis=1), atol=1e-9)


def test_marginals_an_opinion_or_for_all() -> None:
    panel = graded_panel(np.random.default_rng(8), 15, [[0, 1, 2]], [0.7] * 3, asked=0.5)
    one = SharingEvidence.from_opinions(panel.of_opinions, panel.opinions)
    same_evidence(one, SharingEvidence.from_opinions(*panel))


def test_inside_groups() -> None:
    panel = graded_panel(np.random.default_rng(9), 8, [[0, 1, 2, 3]], [0.7] * 4)
    evidence = SharingEvidence.from_opinions(*panel)
    inside = evidence.inside([[3, 0], [1, 2]])
    assert list(zip(inside.first, inside.second, strict=True)) == [(0, 3), (1, 2)]
    np.testing.assert_array_equal(inside.values, evidence.values[[2, 3]])
    same_evidence(evidence.inside([[0, 1, 2, 3]]), evidence)
    assert len(evidence.inside([[0], [1], [2], [3]]).first) == 0
    with pytest.raises(ValueError, match="expert 3 is in no group"):
        evidence.inside([[0, 1, 2]])


@pytest.mark.parametrize(
    "codes",
    [np.empty((0, 3), dtype=int), np.full((4, 3), -1), np.eye(3, dtype=int) - 1, [[0], [1]]],
    ids=["no instance", "nobody asked", "nobody meets", "one expert"],
)
@pytest.mark.parametrize("noise", NOISES)
def test_no_pairs(codes: Any, noise: Noise) -> None:
    codes = np.asarray(codes)
    log_p = np.full((*codes.shape, 2), np.log(0.5))
    evidence = evidence_of(log_p, codes, noise)
    value, slope = evidence.log_likelihood(0.5)
    assert value.shape == slope.shape == (0,)
    same_evidence(evidence + evidence, evidence)
    some = evidence_of(np.full((1, codes.shape[1], 2), np.log(0.5)), [[0] * codes.shape[1]], noise)
    same_evidence(evidence + some, some)
    same_evidence(some + evidence, some)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p, o: (p, o, "normal"), "noise is 'normal'; it must be one of gumbel, uniform"),
        (lambda p, o: (p[:, :2], o), r"log_marginals has shape .*; these opinions need"),
        (lambda p, o: (p + 0.1, o), r"marginal of expert 'e\d' on instance \d sums to 1.1"),
        (lambda p, o: (np.where(p == p[0, 1, 0], np.nan, p), o), "expert 'e1' on instance 0 sums"),
    ],
)
def test_what_is_refused(spoil: Callable[..., tuple[Any, ...]], words: str) -> None:
    log_p, opinions = graded_panel(np.random.default_rng(8), 3, [[0, 1, 2]], [0.7] * 3)
    with pytest.raises(ValueError, match=words):
        SharingEvidence.from_opinions(*spoil(log_p, opinions))


@pytest.mark.parametrize("noise", NOISES)
def test_what_cannot_be_said_is_refused_by_name(noise: Noise) -> None:
    log_p = np.log([[[0.5, 0.5, 1e-300]] * 2])
    log_p[0, 1, 2] = -np.inf
    with pytest.raises(ValueError, match="'e1' on instance 0 said 2, which has probability zero"):
        evidence_of(log_p, [[0, 2]], noise)


def test_evidence_about_others_cannot_be_added() -> None:
    panel = graded_panel(np.random.default_rng(8), 3, [[0, 1, 2]], [0.7] * 3)
    one = SharingEvidence.from_opinions(*panel)
    others = panel.opinions.select(experts=["e1", "e0", "e2"])
    with pytest.raises(ValueError, match="the evidence is about different experts"):
        one + SharingEvidence.from_opinions(panel.log_p[:, [1, 0, 2]], others)
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]
