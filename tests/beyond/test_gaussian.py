"""Correlated normal noises: against SciPy's integrals, draws, and the limits 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from graded_panels import graded_panel, standard_errors
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import multivariate_normal
from strategies import log_dirichlet, rngs

from siscm.beyond import gaussian, ordered
from siscm.beyond.gaussian import TwoOpinions
from siscm.beyond.noises import pull
from siscm.beyond.sharing import NODES, SharingEvidence
from siscm.beyond.sharing_fit import experts_sharing

Array = npt.NDArray[np.float64]


def law_given(log_p: Array, labels: Array, a: Array, log_q: Array, b: Array) -> Array:
    """What targets say, (t, k)."""
    weight, chance = gaussian.cells(log_p, labels, a, log_q, b)
    return np.tensordot(weight, chance, axes=1)


@given(
    x=st.floats(-6, 6),
    y=st.floats(-6, 6),
    r=st.floats(0, 0.995),
)
def test_both_below_is_the_integral_of_the_density(x: float, y: float, r: float) -> None:
    expected = multivariate_normal.cdf([x, y], cov=[[1, r], [r, 1]], abseps=1e-12, releps=1e-12)
    found = gaussian.both_below(np.array(x), np.array(y), r)
    assert float(found) == pytest.approx(float(expected), abs=2e-8)


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (0.0, 1.3), (-0.7, 0.0), (12.0, 0.4), (-12.0, 2)])
def test_both_below_at_its_corners(x: float, y: float) -> None:
    """At 0 the arc sine law holds; far out one of the two decides alone."""
    for r in (0.0, 0.3, 0.9):
        found = float(gaussian.both_below(np.array(x), np.array(y), r))
        if x == y == 0:
            assert found == pytest.approx(0.25 + np.arcsin(r) / (2 * np.pi), abs=1e-14)
        elif abs(x) == 12:
            assert found == pytest.approx(float(ndtr(y)) if x > 0 else 0.0, abs=1e-14)
        else:
            expected = multivariate_normal.cdf([x, y], cov=[[1, r], [r, 1]])
            assert found == pytest.approx(float(expected), abs=1e-7)


@given(rng=rngs(), k=st.integers(2, 7), r=st.floats(0, 1))
def test_the_law_keeps_the_marginal_and_is_symmetric_in_the_joint(
    rng: np.random.Generator, k: int, r: float
) -> None:
    log_p, log_q = log_dirichlet(rng, (2, k))
    p, q = np.exp(log_p), np.exp(log_q)
    table = gaussian.law(np.tile(log_p, (k, 1)), np.tile(log_q, (k, 1)), np.arange(k), r)
    back = gaussian.law(np.tile(log_q, (k, 1)), np.tile(log_p, (k, 1)), np.arange(k), r)
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(p @ table, q, atol=1e-9)
    np.testing.assert_allclose(p[:, None] * table, (q[:, None] * back).T, atol=1e-9)


@given(rng=rngs(), k=st.integers(2, 6))
def test_the_law_at_no_and_at_full_correlation(rng: np.random.Generator, k: int) -> None:
    """Strangers, and all but the law of one uniform noise."""
    log_p, log_q = log_dirichlet(rng, (2, 20, k))
    c = rng.integers(k, size=20)
    np.testing.assert_allclose(gaussian.law(log_p, log_q, c, 0.0), np.exp(log_q), atol=1e-8)
    shared = ordered.counterfactual_probabilities(log_p, log_q, c)
    joint = np.exp(log_p[np.arange(20), c])[:, None]
    np.testing.assert_allclose(
        joint * gaussian.law(log_p, log_q, c, 1.0), joint * shared, atol=0.02
    )


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (4, 3)), log_dirichlet(rng, (4, 5, 3))
    c, r = rng.integers(3, size=4), rng.random((4, 5))
    found = gaussian.law(log_p[:, None], log_q, c[:, None], r)
    for i, t in np.ndindex(4, 5):
        one = gaussian.law(log_p[i], log_q[i, t], c[i], r[i, t])
        np.testing.assert_allclose(found[i, t], one, atol=1e-14)


def test_single_precision_gives_the_same_law() -> None:
    halves, others = np.log(np.float32([[0.5, 0.5], [0.2, 0.8]]))
    found = gaussian.law(halves, others, np.array(0), 0.5)
    np.testing.assert_allclose(found, gaussian.law(*np.log([[0.5] * 2, [0.2, 0.8]]), 0, 0.5), 1e-6)


def test_what_is_no_code_or_no_distribution_is_refused() -> None:
    log_p = np.log([0.5, 0.5])
    for label in (-1, 2):
        with pytest.raises(ValueError, match=f"label code {label} is not one of the 2 classes"):
            gaussian.law(log_p, log_p, np.array(label), 0.5)
    for p, q, whose in ((log_p * 2, log_p, "observed"), (log_p, log_p * np.nan, "target")):
        with pytest.raises(ValueError, match=f"the {whose} expert's marginal sums to"):
            gaussian.law(p, q, np.array(0), 0.5)


def tail_law(z: float, y: Array, r: float) -> Array:
    """P(Z' <= y | Z <= z), for z far out: the density falls from there as the exponent says."""
    points = np.unique(np.append(z - y / r if r else [], [0.1, 0.3, 1.0]).clip(0, 4))

    def integral(chance: Callable[[float], float]) -> float:
        def density(t: float) -> float:
            return float(np.exp(z * t - t * t / 2) * chance(z - t))

        ends = [0.0, *points[points > 0], 8.0]
        return sum(quad(density, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(ends))

    whole = integral(lambda at: 1.0)
    below = [integral(lambda at, v=v: ndtr((v - r * at) / np.sqrt(1 - r**2))) / whole for v in y]
    return np.diff([0, *below, 1])


@pytest.mark.parametrize("rare", [1e-4, 2e-6, 1e-7, 1e-12, 1e-16, 1e-20, 1e-30, 1e-100, 1e-250])
@pytest.mark.parametrize("r", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_given_a_rare_label_at_either_end(rare: float, r: float) -> None:
    p, q = np.array([rare, 0.4, 0.6 - rare]), np.array([0.2, 0.3, 0.5])
    expected = tail_law(float(ndtri(rare)), ndtri([0.2, 0.5]), r)
    found = gaussian.law(np.log(p), np.log(q), np.array(0), r)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    other = gaussian.law(np.log(p[::-1]), np.log(q[::-1]), np.array(2), r)
    np.testing.assert_allclose(other[::-1], expected, atol=1e-9)


@pytest.mark.parametrize("rare", [1e-7, 1e-12, 1e-16, 1e-20, 1e-300])
@pytest.mark.parametrize("r", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_given_a_rare_label_in_the_middle(rare: float, r: float) -> None:
    """It says all but exactly what her noise is."""
    y = (ndtri([0.2, 0.5]) - r * ndtri(0.4 + rare / 2)) / np.sqrt(1 - r**2)
    found = gaussian.law(np.log([0.4, rare, 0.6 - rare]), np.log([0.2, 0.3, 0.5]), np.array(1), r)
    np.testing.assert_allclose(found, np.diff([0, *ndtr(y), 1]), atol=1e-11)


@given(rng=rngs(), k=st.integers(2, 6))
def test_without_a_correlation_the_marginal_stays_exactly(rng: np.random.Generator, k: int) -> None:
    log_p, log_q = log_dirichlet(rng, (2, 20, k), 0.05)
    found = gaussian.law(log_p, log_q, rng.integers(k, size=20), 0.0)
    np.testing.assert_array_equal(found, np.exp(log_q))


@pytest.mark.parametrize("log_p", [-40.0, -300.0, -660.0, -800.0])
def test_contradictions_all_but_impossible_give_an_answer(log_p: float) -> None:
    both = np.array([[log_p, 0.0], [0.0, log_p], [log_p, 0.0]])
    for labels in ([0], [0, 1], [0, 1, 0]):
        n = len(labels)
        for a in (0.0, 0.5, 1.0):
            found = law_given(both[:n], np.array(labels), np.full(n, a), both, np.full(3, a))
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def test_a_label_all_but_impossible_still_has_a_law() -> None:
    """Down to 1e-290 the side that it is on; below the marginal stands in, never a NaN."""
    log_p, log_q = np.array([[-500.0, 0.0], [-2000.0, 0.0]]), np.log([[0.3, 0.7]])
    found = gaussian.law(log_p, log_q, np.array([0, 0]), 0.5)
    np.testing.assert_allclose(found, [[1, 0], [0.3, 0.7]], atol=1e-9)


@given(rng=rngs(), k=st.integers(2, 6))
def test_the_log_ratio_is_that_of_the_law_and_its_slope_its_derivative(
    rng: np.random.Generator, k: int
) -> None:
    log_p, log_q = log_dirichlet(rng, (2, 30, k))
    c, d = rng.integers(k, size=(2, 30))
    rows, step = np.arange(30), 1e-6
    for r in (0.1, 0.5, 0.8):
        value, slope = gaussian.log_ratio(TwoOpinions(log_p, log_q, c, d), r)
        law = gaussian.law(log_p, log_q, c, r)[rows, d]
        clear = law * np.exp(log_p[rows, c]) > 1e-7
        expected = np.log(law, where=law > 0, out=np.zeros(30)) - log_q[rows, d]
        # In a ratio a rarer label counts as one in a million, which takes from all the others.
        np.testing.assert_allclose(value[clear], expected[clear], atol=1e-5)
        higher = gaussian.log_ratio(TwoOpinions(log_p, log_q, c, d), r + step)[0]
        lower = gaussian.log_ratio(TwoOpinions(log_p, log_q, c, d), r - step)[0]
        found = (higher - lower)[clear] / (2 * step)
        np.testing.assert_allclose(slope[clear], found, rtol=1e-3, atol=1e-3)


@given(rng=rngs(), k=st.integers(2, 6))
def test_many_log_ratios_are_those_of_one_correlation_at_a_time(
    rng: np.random.Generator, k: int
) -> None:
    """Integrals of a density, against Owen's function; but for opinions all but impossible."""
    log_p, log_q = log_dirichlet(rng, (2, 40, k))
    c, d = rng.integers(k, size=(2, 40))
    values, slopes = gaussian.log_ratios(TwoOpinions(log_p, log_q, c, d), NODES)
    likely = np.exp(log_p[np.arange(40), c] + log_q[np.arange(40), d]) > 1e-6
    for n, node in enumerate(NODES[:-1]):
        value, slope = gaussian.log_ratio(TwoOpinions(log_p, log_q, c, d), float(node))
        usual = likely & (value > -8)
        np.testing.assert_allclose(values[usual, n], value[usual], atol=2e-3)
        np.testing.assert_allclose(slopes[usual, n], slope[usual], rtol=5e-3, atol=5e-3)


def test_the_log_ratio_is_finite_at_every_node() -> None:
    """Also for opinions that contradict each other, and for labels at the marginals' floor."""
    p = np.log([[1e-4, 1 - 1e-4], [1 - 1e-4, 1e-4]])
    for c, d in np.ndindex(2, 2):
        codes = np.array([c]), np.array([d])
        assert np.isfinite(gaussian.log_ratios(TwoOpinions(p[:1], p[1:], *codes), NODES)).all()
        for node in NODES:
            assert np.isfinite(
                gaussian.log_ratio(TwoOpinions(p[:1], p[1:], *codes), float(node))
            ).all()
    strangers = gaussian.log_ratio(TwoOpinions(p, p[::-1], np.array([0, 1]), np.array([1, 1])), 0.0)
    np.testing.assert_allclose(strangers[0], 0, atol=1e-6)


@given(rng=rngs(), k=st.integers(2, 5), a=st.floats(0, 0.99), b=st.floats(0, 0.99))
def test_one_opinion_given_is_the_law_at_the_product(
    rng: np.random.Generator, k: int, a: float, b: float
) -> None:
    """By a sum over the group's noise, against differences of Owen's function."""
    log_p, log_q = log_dirichlet(rng, (2, k))
    c = rng.integers(k, size=1)
    found = law_given(log_p[None], c, np.array([a]), log_q[None], np.array([b]))
    expected = gaussian.law(log_p, log_q, c[0], a * b)
    joint = float(np.exp(log_p[c[0]]))
    np.testing.assert_allclose(joint * found[0], joint * expected, atol=1e-7)


def test_several_opinions_agree_with_draws() -> None:
    rng = np.random.default_rng(1)
    log_p = log_dirichlet(rng, (4, 3))
    a, labels = np.array([0.9, 0.6, 0.8, 0.7]), np.array([1, 0, 1])
    n = 400_000
    z = a * rng.normal(size=(n, 1)) + np.sqrt(1 - a**2) * rng.normal(size=(n, 4))
    said = (ndtr(z)[..., None] > np.exp(log_p).cumsum(axis=-1)[:, :-1]).sum(axis=-1)
    fits = (said[:, :3] == labels).all(axis=1)
    expected = np.bincount(said[fits, 3], minlength=3) / fits.sum()
    found = law_given(log_p[:3], labels, a[:3], log_p[3:], a[3:])
    np.testing.assert_allclose(found[0], expected, atol=4 * 0.5 / np.sqrt(fits.sum()))


def test_the_order_of_opinions_and_a_stranger_change_nothing() -> None:
    rng = np.random.default_rng(2)
    log_p, log_q = log_dirichlet(rng, (3, 4)), log_dirichlet(rng, (2, 4))
    labels, a, b = rng.integers(4, size=3), np.array([0.5, 0.9, 0.0]), np.array([0.7, 0.3])
    found = law_given(log_p, labels, a, log_q, b)
    order = [2, 0, 1]
    again = law_given(log_p[order], labels[order], a[order], log_q, b)
    np.testing.assert_allclose(again, found, atol=1e-12)
    np.testing.assert_allclose(law_given(log_p[:2], labels[:2], a[:2], log_q, b), found, atol=1e-12)


def test_contradictions_of_experts_who_share_all_give_an_answer() -> None:
    """Sharing of 1 is taken as just below, so nothing is impossible."""
    log_p = np.log([[0.999, 0.001], [0.001, 0.999]])
    found = law_given(log_p, np.array([1, 0]), np.ones(2), log_p, np.ones(2))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_between_nodes_the_evidence_is_nearly_exact() -> None:
    """Where it matters: up to a correlation that these opinions have all but ruled out."""
    panel = graded_panel(np.random.default_rng(3), 300, [[0, 1]], [0.8, 0.8], k=4, noise="gaussian")
    evidence = SharingEvidence.from_opinions(*panel, "gaussian")
    p, q = panel.log_p[:, 0], panel.log_p[:, 1]
    c, d = panel.opinions.labels.T
    for r in np.linspace(0.02, 0.85, 23):
        exact = gaussian.log_ratio(TwoOpinions(p, q, c, d), r)
        value, slope = evidence.log_likelihood(r)
        assert value[0] == pytest.approx(exact[0].sum(), abs=0.3)
        assert slope[0] == pytest.approx(exact[1].sum(), rel=0.05, abs=8)
        np.testing.assert_allclose(
            pull(TwoOpinions(p, q, c, d), np.full(300, r), "gaussian"), r * exact[1]
        )


def test_sharing_that_was_planted_comes_back_within_its_errors() -> None:
    a = np.array([0.9, 0.8, 0.6, 0.9, 0.7, 0.5])
    away = []
    for seed in range(6):
        panel = graded_panel(
            np.random.default_rng(seed), 400, [list(range(6))], a, k=4, noise="gaussian"
        )
        evidence = SharingEvidence.from_opinions(*panel, "gaussian")
        found = experts_sharing(evidence)
        errors = standard_errors([tuple(panel)], [list(range(6))], found, "gaussian")
        np.testing.assert_allclose(found, a, atol=0.15)
        away.append((logit(found) - logit(a)) / errors)
        assert (expit(logit(found) + 1.96 * errors) - found < 0.15).all()
    spread = np.sqrt(np.mean(np.square(away)))
    assert 0.6 < spread < 1.5


def test_ends_near_certainty_are_taken_from_the_nearer_side() -> None:
    rare = np.log([[1, 1e-20], [1e-20, 1]])
    assert gaussian.ends(rare)[:, 1] == pytest.approx([9.262340089798408, -9.262340089798408])


def test_a_rare_label_keeps_its_chance_on_either_side() -> None:
    rare, nobody = np.log([[1, 1e-20], [1e-20, 1]]), np.zeros(0)
    weight, chance = gaussian.cells(
        np.zeros((0, 2)), nobody.astype(np.int64), nobody, rare, np.zeros(2)
    )
    found = np.tensordot(weight, chance, axes=1)
    assert found[[0, 1], [1, 0]] == pytest.approx([1e-20, 1e-20], rel=1e-6, abs=0)


@pytest.mark.parametrize("a", [0.6, 0.97])
@pytest.mark.parametrize("m", [8, 50, 200])
def test_many_opinions_leave_little_of_the_noise_and_the_grid_is_fine_enough(
    m: int, a: float
) -> None:
    """Against a grid of a step that none of them need, and intervals from their definition."""
    rng = np.random.default_rng(m)
    log_p, spread = log_dirichlet(rng, (m + 2, 5)), np.sqrt(1 - a**2)
    cuts = np.exp(log_p).cumsum(axis=1)[:, :-1]
    z = a * rng.normal() + spread * rng.normal(size=(m, 1))
    labels = (ndtr(z) > cuts[:m]).sum(axis=1)
    g = np.linspace(-8, 8, 16_001)
    says = np.diff(ndtr((ndtri(cuts)[..., None] - a * g) / spread), axis=1, prepend=0, append=1)
    log_density = np.log(says[np.arange(m), labels].clip(1e-300)).sum(axis=0) - g**2 / 2
    density = np.exp(log_density - log_density.max())
    same = np.full(m, a)
    found = law_given(log_p[:m], labels, same, log_p[m:], np.full(2, a))
    np.testing.assert_allclose(found, says[m:] @ density / density.sum(), atol=1e-5)


@pytest.mark.parametrize("rare", [1e-6, 1e-8, 1e-10, 1e-13, 1e-200])
@pytest.mark.parametrize("r", [NODES[3], NODES[5]])
def test_two_rare_labels_have_the_ratio_of_the_densities(rare: float, r: float) -> None:
    p = np.log([[0.3 - rare, rare, 0.7]])
    q = np.log([[0.35 - rare, rare, 0.65]])
    x, y = ndtri(0.3), ndtri(0.35)
    truth = (2 * r * x * y - r**2 * (x**2 + y**2)) / (2 * (1 - r**2)) - np.log(1 - r**2) / 2
    one = np.array([1])
    many = gaussian.log_ratios(TwoOpinions(p, q, one, one), NODES)[0][0]
    assert many[r == NODES] == pytest.approx(truth, abs=1e-3)
    assert gaussian.log_ratio(TwoOpinions(p, q, one, one), r)[0] == pytest.approx(truth, abs=1e-3)


@pytest.mark.parametrize("r", [0.96, 0.98, 0.99])
def test_those_who_are_all_but_copies_are_told_apart(r: float) -> None:
    """The likeliest correlation by the cubic between nodes is that of Owen's function."""
    rng = np.random.default_rng(0)
    log_p, opinions = graded_panel(rng, 4000, [[0, 1]], np.sqrt([r, r]), k=5, noise="gaussian")
    evidence = SharingEvidence.from_opinions(log_p, opinions, "gaussian")
    grid = np.linspace(0.9, 0.998, 99)
    one, two = opinions.labels.T
    exact = [
        gaussian.log_ratio(TwoOpinions(log_p[:, 0], log_p[:, 1], one, two), g)[0].sum()
        for g in grid
    ]
    found = [evidence.log_likelihood(g)[0][0] for g in grid]
    assert abs(grid[np.argmax(found)] - grid[np.argmax(exact)]) < 0.0025
    assert abs(grid[np.argmax(found)] - r) < 0.01


def test_without_an_opinion_the_cells_give_back_rare_labels_as_well() -> None:
    """Their intervals are so narrow that differences of the distribution would be rounding."""
    log_q = np.log([[0.4, 1e-9, 0.6 - 1e-9], [0.3, 1e-12, 0.7 - 1e-12]])
    nobody = np.empty((0, 3)), np.empty(0, dtype=int), np.empty(0)
    found = law_given(*nobody, log_q, np.array([0.7, 0.95]))
    np.testing.assert_allclose(found, np.exp(log_q), rtol=1e-4)


def test_the_grid_is_fine_enough_for_whoever_shares_most() -> None:
    """Observed somebody who hardly shares, asked somebody who is all but the group's noise."""
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (1, 3)), log_dirichlet(rng, (1, 3))
    for a, b in ((0.2, 0.998), (0.998, 0.2)):
        found = law_given(log_p, np.array([1]), np.array([a]), log_q, np.array([b]))
        expected = gaussian.law(log_p[0], log_q[0], np.array(1), a * b)
        np.testing.assert_allclose(found[0], expected, atol=1e-6)
