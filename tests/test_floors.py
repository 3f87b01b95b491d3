"""What is said under known floors: against the law of a pair, and against noises drawn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from strategies import KINDS, SIZES, log, log_dirichlet, make_pair, rngs

from siscm import gumbel
from siscm.floors import law_given_floors, pieces_between, turns_of


@pytest.mark.parametrize("kind", KINDS)
@given(rng=rngs(), k=st.sampled_from(SIZES[:7]))
def test_with_one_known_value_it_is_the_law_of_a_pair(
    kind: str, rng: np.random.Generator, k: int
) -> None:
    """What one opinion leaves are floors p_j / p_c; however hostile the marginals."""
    pair = make_pair(kind, k, rng)
    said = np.arange(k) == pair.label
    found = law_given_floors(pair.log_p - pair.log_p[pair.label], said, pair.log_q)
    expected = gumbel.counterfactual_probabilities(pair.log_p, pair.log_q, pair.label)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if kind == "float32" else 1e-12)


@pytest.mark.parametrize(("k", "n"), [(2, 2), (4, 2), (5, 3)])
def test_noises_drawn_above_the_floors(k: int, n: int) -> None:
    rng = np.random.default_rng(k)
    log_f, log_q = rng.normal(size=k), log_dirichlet(rng, (6, k))
    said = np.arange(k) < n
    found = law_given_floors(log_f, said, log_q)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    size = 100_000
    s = rng.gamma(n, size=(size, 1)) / np.exp(log_f).sum()
    e = s * np.exp(log_f) + np.where(said, 0, rng.standard_exponential((size, k)))
    for row, law in zip(log_q, found, strict=True):
        shares = np.bincount((e / np.exp(row)).argmin(axis=1), minlength=k) / size
        np.testing.assert_array_less(
            np.abs(shares - law), 4.5 * np.sqrt(law * (1 - law) / size) + 1e-12
        )


def test_of_the_known_values_only_the_first_can_be_said() -> None:
    found = law_given_floors(
        log([2.0, 1.0, 1.0]), np.array([True, True, False]), log([0.5, 0.4, 0.1])
    )
    assert found[0] == 0  # her turn is at 4, that of the other at 2.5
    assert found[1] == 1  # and the third's, at 10, never comes


def test_zeros() -> None:
    """A floor of zero bounds nothing; what the target never says she does not say here."""
    said = np.array([True, False, False])
    law = law_given_floors(log([1.0, 0.0, 1.0]), said, log([0.5, 0.5, 0.0]))
    pair = gumbel.counterfactual_probabilities(log([0.5, 0, 0.5]), log([0.5, 0.5, 0]), 0)
    np.testing.assert_allclose(law, pair, atol=1e-15)
    sure = law_given_floors(log([1.0, 0.0, 1.0]), said, log([0.0, 1.0, 0.0]))
    np.testing.assert_array_equal(sure, [0, 1, 0])


@given(rng=rngs(), k=st.integers(1, 6), n=st.integers(1, 4))
def test_pieces_add_up_to_the_integral(rng: np.random.Generator, k: int, n: int) -> None:
    f, q = rng.gamma(1, size=(2, k)) + 1e-3
    low, high = (f / q).min() + np.sort(rng.gamma(1, size=2))
    pieces = pieces_between(np.log(f), np.log(q), n, np.log(low), np.log(high))

    def density(t: float) -> float:
        return float(n * f.sum() ** n / np.maximum(f, t * q).sum() ** (n + 1))

    bends = np.sort(np.clip(f / q, low, high))
    ends = [low, *bends, high]
    expected = sum(quad(density, a, b)[0] for a, b in pairwise(ends))
    assert np.exp(pieces.integral).sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert not np.isnan(pieces.integral).any()


def test_of_two_known_values_the_first_turn_by_hand() -> None:
    """S is 2 at first and 3 at 2.5, the first one's turn: nothing comes before with (2/3)²."""
    said = np.array([True, True, False])
    found = law_given_floors(log([1.0, 1.0, 0.0]), said, log([0.4, 0.2, 0.4]))
    np.testing.assert_allclose(found, [4 / 9, 0, 5 / 9], atol=1e-15)


def test_a_label_that_nobody_ever_says_changes_nothing() -> None:
    said = np.array([True, False, False, False])
    found = law_given_floors(log([1.0, 0.5, 0.0, 2.0]), said, log([0.3, 0.4, 0.0, 0.3]))
    without = law_given_floors(log([1.0, 0.5, 2.0]), said[:3], log([0.3, 0.4, 0.3]))
    np.testing.assert_allclose(found, np.insert(without, 2, 0), atol=1e-15)
    assert turns_of(log([0.0]), log([0.0])).tolist() == [np.inf]
