"""The law under one uniform noise: intervals that overlap, in the order of the labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import (
    Pair,
    log,
    log_dirichlet,
    log_normalised,
    pairs,
    rational_pairs,
    rngs,
)

from siscm import gumbel
from siscm.beyond import ordered
from siscm.beyond.followers import Heard
from siscm.beyond.several import Wanted, cells_on_a_line

PLAIN = ("ordinary", "sparse", "zeros in one", "zeros in both", "ties", "near-ties", "equal")


def law_table(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Row c: the law given that the first says c; zero where she cannot."""
    table = np.zeros((len(log_p), len(log_p)))
    said = np.flatnonzero(np.exp(log_p) > 0)
    table[said] = ordered.counterfactual_probabilities(log_p, log_q, said)
    return table


def overlap_row(p: list[Fraction], q: list[Fraction], c: int) -> list[Fraction]:
    """The law in fractions, by the definition: how much of c's interval each of hers covers."""
    low, high = sum(p[:c], Fraction(0)), sum(p[: c + 1], Fraction(0))
    row, at = [], Fraction(0)
    for share in q:
        row.append(max(Fraction(0), min(high, at + share) - max(low, at)) / p[c])
        at += share
    return row


@given(pair=pairs(sizes=(2,)))
def test_with_two_labels_it_is_the_law_of_a_gumbel_noise(pair: Pair) -> None:
    """Also where probabilities are 1e-300: an interval next to 0 or to 1 is never lost."""
    assume(pair.log_p[pair.label] > -700)
    np.testing.assert_allclose(
        ordered.counterfactual_probabilities(*pair),
        gumbel.counterfactual_probabilities(*pair),
        rtol=0,
        atol=1e-12,
    )


@given(pair=rational_pairs())
def test_law_agrees_with_rational_arithmetic(
    pair: tuple[list[Fraction], list[Fraction], int],
) -> None:
    p, q, c = pair
    law = ordered.counterfactual_probabilities(
        log([float(x) for x in p]), log([float(x) for x in q]), c
    )
    np.testing.assert_allclose(law, [float(x) for x in overlap_row(p, q, c)], atol=1e-13)


@given(pair=pairs(kinds=PLAIN))
def test_rows_sum_to_one_and_the_joint_has_both_marginals(pair: Pair) -> None:
    table = law_table(pair.log_p, pair.log_q)
    assert table.min() >= 0
    p, q = np.exp(pair.log_p), np.exp(pair.log_q)
    np.testing.assert_allclose(table.sum(axis=1)[p > 0], 1, atol=1e-12)
    np.testing.assert_allclose(p / p.sum() @ table, q / q.sum(), atol=1e-12)
    joint, back = p[:, None] * table, q[:, None] * law_table(pair.log_q, pair.log_p)
    np.testing.assert_allclose(joint, back.T, atol=1e-12)  # symmetric in the experts


@given(pair=pairs(kinds=PLAIN))
def test_who_says_a_later_label_makes_later_labels_likelier(pair: Pair) -> None:
    below = law_table(pair.log_p, pair.log_q)[np.exp(pair.log_p) > 1e-9].cumsum(axis=1)
    assert (np.diff(below, axis=0) <= 1e-6).all()


@given(pair=pairs(kinds=PLAIN))
def test_no_coupling_brings_the_two_closer(pair: Pair) -> None:
    """The mean distance between what they say is the least there is, Wasserstein's."""
    p, q = (np.exp(values) / np.exp(values).sum() for values in (pair.log_p, pair.log_q))
    label = np.arange(len(p))
    joint = p[:, None] * law_table(pair.log_p, pair.log_q)
    distance = (joint * np.abs(label[:, None] - label)).sum()
    assert distance == pytest.approx(np.abs(np.cumsum(p - q)).sum(), rel=1e-10, abs=1e-10)


@given(pair=pairs(kinds=PLAIN))
def test_labels_in_reverse_give_the_law_in_reverse(pair: Pair) -> None:
    assume(pair.log_p[pair.label] > -20)  # or the place of the interval is known to 1e-16 / 1e-9
    law = ordered.counterfactual_probabilities(*pair)
    back = ordered.counterfactual_probabilities(
        pair.log_p[::-1], pair.log_q[::-1], len(law) - 1 - pair.label
    )
    np.testing.assert_allclose(law, back[::-1], atol=1e-6)


@given(pair=pairs(kinds=("equal",)))
def test_equal_experts_always_agree(pair: Pair) -> None:
    assume(pair.log_p[pair.label] > -20)
    law = ordered.counterfactual_probabilities(*pair)
    np.testing.assert_array_equal(law, np.arange(len(law)) == pair.label)


@given(rng=rngs())
def test_simulated_with_one_uniform_number(rng: np.random.Generator) -> None:
    n = 100_000
    log_p, log_q = log_dirichlet(rng, (2, 5))
    u = rng.random(n)
    said, other = (
        np.searchsorted(np.exp(values).cumsum()[:-1], u, side="right") for values in (log_p, log_q)
    )
    seen = np.zeros((5, 5))
    np.add.at(seen, (said, other), 1 / n)
    joint = np.exp(log_p)[:, None] * law_table(log_p, log_q)
    # 5 standard errors: 1 in 60,000 of 1,500 cells a run, the seeds are fixed.
    assert (np.abs(seen - joint) <= 5 * np.sqrt(joint / n) + 5 / n).all()


def test_a_known_answer_that_a_gumbel_noise_does_not_give() -> None:
    """Only neighbours are exchanged: 0 never becomes 2."""
    p, q = np.log([0.4, 0.3, 0.3]), np.log([0.2, 0.3, 0.5])
    np.testing.assert_allclose(
        law_table(p, q), [[0.5, 0.5, 0], [0, 1 / 3, 2 / 3], [0, 0, 1]], atol=1e-14
    )
    assert gumbel.counterfactual_probabilities(p, q, 0)[2] > 0.2


@pytest.mark.parametrize(
    ("p", "expected"),
    [([0.4, 1e-20, 0.6], 1), ([0.6, 1e-20, 0.4], 2), ([1e-9, 1e-80, 1], 0)],
)
def test_a_tiny_label_in_the_middle_lies_where_it_lies(p: list[float], expected: int) -> None:
    law = ordered.counterfactual_probabilities(log(p), log([0.2, 0.3, 0.5]), 1)
    np.testing.assert_array_equal(law, np.eye(3)[expected])
    both = log([p, p])
    one, several = (
        cells_on_a_line(
            Heard(both[:n], np.ones(n, dtype=int), np.ones(n)), Wanted(both, np.ones(2))
        )
        for n in (1, 2)
    )
    for cells in (one, several):
        assert cells is not None
        np.testing.assert_array_equal(cells.law(), [[0, 1, 0]] * 2)


@given(rng=rngs(), k=st.integers(2, 6))
def test_no_possible_label_is_ever_lost(rng: np.random.Generator, k: int) -> None:
    """However small: its interval has a length, next to those of its neighbours."""
    log_p = log_normalised(-800 * rng.random(k) ** rng.choice([1, 5, 30]))
    gone = rng.random(k) < 0.2
    gone[rng.integers(k)] = False
    log_p = log_normalised(np.where(gone, -np.inf, log_p))
    first, last = ordered.intervals(log_p)
    assert (((last - first).sum(axis=-1) > 0) == ~np.isneginf(log_p)).all()
    np.testing.assert_array_equal(first[1:], last[:-1])
    np.testing.assert_array_equal([first[0], last[-1]], [[0, -0.5], [0.5, 0]])


@pytest.mark.parametrize("k", [3, 5, 20, 200])
def test_nor_in_the_very_middle(k: int) -> None:
    """Where a noise is kept another way on either side; a cut there may fall on either."""
    log_p = log([0.5, *[1e-20] * (k - 2), 0.5])
    law = ordered.counterfactual_probabilities(log_p, log_p, np.arange(k))
    np.testing.assert_array_equal(law, np.eye(k))
    law = ordered.counterfactual_probabilities(log_p, log([0.5, 0.5, *[0] * (k - 2)]), 1)
    assert law[:2].sum() == pytest.approx(1)


@given(pair=pairs(kinds=("tiny",)))
def test_any_possible_label_has_a_law(pair: Pair) -> None:
    law = ordered.counterfactual_probabilities(*pair)
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("tiny", [1e-20, 1e-200, 1e-300])
def test_tiny_first_and_last_labels(tiny: float) -> None:
    """Half of her interval says the same, half does not, however small it is."""
    p, q = np.log([tiny, 0.5, 0.5, 2 * tiny]), np.log([tiny / 2, 0.3, 0.7, tiny])
    first, last = ordered.counterfactual_probabilities(p, q, np.array([0, 3]))
    np.testing.assert_allclose(first, [0.5, 0.5, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(last, [0, 0, 0.5, 0.5], rtol=1e-12)


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (4, 1, 3)), log_dirichlet(rng, (5, 3))
    label = rng.integers(3, size=(4, 1))
    law = ordered.counterfactual_probabilities(log_p, log_q, label)
    assert law.shape == (4, 5, 3)
    for i, j in np.ndindex(4, 5):
        alone = ordered.counterfactual_probabilities(log_p[i, 0], log_q[j], label[i, 0])
        np.testing.assert_array_equal(law[i, j], alone)
    assert ordered.counterfactual_probabilities(log_p[:0], log_q, label[:0]).shape == (0, 5, 3)


def test_a_single_label_is_certain() -> None:
    assert ordered.counterfactual_probabilities([0.0], [0.0], 0).tolist() == [1.0]


@pytest.mark.parametrize(
    ("p", "q", "label", "words"),
    [
        ([0.5, 0.4], [0.5, 0.5], 0, "the observed expert's marginal sums to 0.9"),
        ([0.5, 0.5], [0.5, np.nan], 0, "the target expert's marginal sums to nan"),
        ([0.5, 0.5], [0.2, 0.3, 0.5], 0, "2 classes and the other's 3"),
        ([0.5, 0.5], [0.5, 0.5], -1, "label code -1"),
        ([0.5, 0.5], [0.5, 0.5], 2, "label code 2"),
        ([1.0, 0.0], [0.5, 0.5], 1, "probability zero.*A floor under the marginals"),
    ],
)
def test_refusals(p: list[float], q: list[float], label: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ordered.counterfactual_probabilities(log(p), log(q), label)
