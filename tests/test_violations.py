"""Violations: the ratios of Definition 6, decided without rounding where rounding could matter."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Pair, log, log_dirichlet, pairs, rngs

from siscm import gumbel, violates

HALF, TILTED = np.log([0.5, 0.5]), np.log([0.8, 0.2])


def test_known_answers() -> None:
    """The second expert is likelier to say 0: from 1 to 0 she may go, from 0 to 1 not."""
    assert violates(HALF, 0, TILTED, 1)
    assert not violates(HALF, 1, TILTED, 0)
    # Equal marginals leave no room for any difference: the ratios tie, and a tie violates.
    assert violates(HALF, 0, HALF, 1)
    assert violates(HALF, 1, HALF, 0)


@given(pair=pairs(), rng=rngs())
def test_equal_opinions_never_violate(pair: Pair, rng: np.random.Generator) -> None:
    both = np.flatnonzero(np.isfinite(pair.log_p) & np.isfinite(pair.log_q))
    assert not violates(pair.log_p, both, pair.log_q, both).any()


@given(pair=pairs())
def test_it_does_not_matter_who_spoke_first(pair: Pair) -> None:
    c, d = np.meshgrid(
        np.flatnonzero(np.isfinite(pair.log_p)), np.flatnonzero(np.isfinite(pair.log_q))
    )
    np.testing.assert_array_equal(
        violates(pair.log_p, c, pair.log_q, d), violates(pair.log_q, d, pair.log_p, c)
    )


@given(
    counts=st.integers(2, 6).flatmap(
        lambda k: st.tuples(
            *[st.lists(st.integers(0, 40), min_size=k, max_size=k).filter(any) for _ in range(2)]
        )
    )
)
def test_agrees_with_ratios_of_whole_numbers(counts: tuple[list[int], list[int]]) -> None:
    """q_c / p_c >= q_d / p_d, in fractions, with the convention that x / 0 is above everything."""
    p, q = counts
    log_p, log_q = log(np.array(p) / sum(p)), log(np.array(q) / sum(q))
    for c in np.flatnonzero(p):
        for d in np.flatnonzero(q):
            ratio_c = Fraction(q[c], p[c])
            ratio_d = Fraction(q[d], p[d]) if p[d] else None
            if c != d and ratio_c == ratio_d:
                continue  # a tie of logarithms of other numbers is decided by their rounding
            expected = c != d and ratio_d is not None and ratio_c > ratio_d
            assert violates(log_p, c, log_q, d) == expected


@given(pair=pairs(kinds=("ties", "equal")))
def test_a_tie_is_a_violation(pair: Pair) -> None:
    """Twin labels with the same probabilities have the same ratio to the last bit."""
    c = pair.label
    twins = (pair.log_p == pair.log_p[c]) & (pair.log_q == pair.log_q[c])
    if np.array_equal(pair.log_p, pair.log_q):
        twins[:] = True
    twins[c] = False
    assert violates(pair.log_p, c, pair.log_q, np.flatnonzero(twins)).all()


def test_zero_never_beats_zero() -> None:
    """Both sides of 0 >= 0 come from labels impossible for the other: nothing was violated.

    The released code multiplies probabilities, and counts these.
    """
    p, q = log([0.5, 0.5, 0.0]), log([0.0, 0.5, 0.5])
    assert not violates(p, 0, q, 2)
    assert not violates(p, 0, q, 1)
    assert not violates(p, 1, q, 2)
    # Products of these underflow to 0 >= 0 although the ratio 1e-20 is below 1e+20.
    p, q = np.log([1e-300, 1e-280, 1.0]), np.log([1e-310, 1e-250, 1.0])
    assert np.exp(q[0]) * np.exp(p[1]) == 0 == np.exp(q[1]) * np.exp(p[0])
    assert not violates(p, 0, q, 1)
    assert violates(p, 1, q, 0)


def test_what_violates_cannot_happen_under_one_noise() -> None:
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (2, 5), alpha=0.5)
    noise = gumbel.sample_noise(5, 100_000, rng)
    said, other = (log_p + noise).argmax(axis=-1), (log_q + noise).argmax(axis=-1)
    assert not violates(log_p, said, log_q, other).any()
    # With noises of their own they violate often.
    other = (log_q + gumbel.sample_noise(5, 100_000, rng)).argmax(axis=-1)
    assert violates(log_p, said, log_q, other).mean() > 0.1


def test_leading_axes_broadcast_like_a_loop() -> None:
    rng = np.random.default_rng(1)
    log_p, log_q = log_dirichlet(rng, (3, 1, 4)), log_dirichlet(rng, (5, 4))
    c, d = rng.integers(0, 4, size=(3, 1)), rng.integers(0, 4, size=(2, 1, 1))
    result = violates(log_p, c, log_q, d)
    assert result.shape == (2, 3, 5)
    assert result.dtype == np.bool_
    for a, b, e in np.ndindex(2, 3, 5):
        assert result[a, b, e] == violates(log_p[b, 0], c[b, 0], log_q[e], d[a, 0, 0])
    assert 0 < result.sum() < result.size
    # Labels alone may bring an axis, on either side.
    row = log_p[0, 0], log_q[0]
    every = np.arange(4)
    first, second = violates(row[0], every, row[1], 2), violates(row[0], 2, row[1], every)
    assert first.tolist() == [bool(violates(row[0], label, row[1], 2)) for label in every]
    assert second.tolist() == [bool(violates(row[0], 2, row[1], label)) for label in every]


@pytest.mark.parametrize(
    ("log_p", "label", "log_q", "other", "words"),
    [
        (HALF, -1, HALF, 0, "label code -1 "),
        (HALF, 0, HALF, 2, "label code 2 "),
        (HALF, 0.0, HALF, 1, "not float64"),
        (
            log([1, 0]),
            1,
            HALF,
            0,
            r"^the observed label 1 has probability zero .*models\) makes it possible\.$",
        ),
        (log([[0.5, 0.5], [1, 0]]), [0, 1], HALF, 0, "^row 1: the observed label 1 has .* zero"),
        (HALF, 0, log([1, 0]), 1, "the observed label 1 has probability zero"),
        (log(np.full((3, 2), 0.5)), 0, log(np.full((2, 2), 0.5)), 1, "do not fit together"),
        (HALF, 0, [np.nan, 0.0], 1, "second expert's marginal sums to nan"),
        (np.exp(HALF), 0, HALF, 1, "first expert's marginal sums to 3.29.*log-probabilities"),
        ([0.0], 0, HALF, 0, "1 classes and the other's 2"),
    ],
)
def test_refusals(log_p: object, label: object, log_q: object, other: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        violates(log_p, label, log_q, other)
