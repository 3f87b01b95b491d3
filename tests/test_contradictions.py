"""Opinions that no noise can have produced: against violations, linear programs, and names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import log, log_dirichlet, rngs

from siscm.beyond.several import possible_on_a_line
from siscm.contradictions import (
    Names,
    possible,
    refusal,
    virtual_experts,
)
from siscm.violations import violates

Array = np.ndarray


def slack(log_p: Array, labels: Array) -> float:
    """The largest margin by which some noise makes all say what they said: a linear program."""
    m, k = log_p.shape
    rows, right = [], []
    for i in range(m):
        for j in set(range(k)) - {labels[i]}:
            row = np.zeros(k + 1)
            row[j], row[labels[i]], row[k] = 1, -1, 1
            rows.append(row)
            right.append(log_p[i, labels[i]] - log_p[i, j])
    bounds = [(None, None)] * k + [(None, 1)]
    objective = np.append(np.zeros(k), -1)
    return float(-linprog(objective, np.array(rows), np.array(right), bounds=bounds).fun)


@given(rng=rngs(), k=st.integers(2, 5), m=st.integers(1, 5))
def test_possible_is_what_a_linear_program_finds(rng: np.random.Generator, k: int, m: int) -> None:
    log_p, labels = log_dirichlet(rng, (m, k)), rng.integers(k, size=m)
    margin = slack(log_p, labels)
    if abs(margin) > 1e-7:
        assert possible(log_p, labels) == (margin > 0)


@given(rng=rngs(), k=st.integers(2, 5))
def test_for_two_it_is_a_violation(rng: np.random.Generator, k: int) -> None:
    log_p, labels = log_dirichlet(rng, (2, k)), rng.integers(k, size=2)
    assert possible(log_p, labels) != violates(log_p[0], labels[0], log_p[1], labels[1])


def test_equal_experts_who_differ_are_impossible() -> None:
    log_p = log_dirichlet(np.random.default_rng(0), (1, 4)).repeat(2, axis=0)
    assert not possible(log_p, np.array([1, 3]))
    assert possible(log_p, np.array([3, 3]))


@given(rng=rngs(), k=st.integers(2, 5), m=st.integers(1, 4))
def test_what_a_noise_produced_is_possible(rng: np.random.Generator, k: int, m: int) -> None:
    log_p = log_dirichlet(rng, (m, k))
    assert possible(log_p, (log_p + rng.gumbel(size=k)).argmax(axis=1))
    said = (np.exp(log_p).cumsum(axis=1)[:, :-1] < rng.random()).sum(axis=1)
    assert possible_on_a_line(log_p, said)


def test_on_a_line_intervals_have_to_overlap() -> None:
    log_p = log([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])
    assert possible_on_a_line(log_p, np.array([1, 0]))
    assert not possible_on_a_line(log_p, np.array([0, 1]))
    assert not possible_on_a_line(log_p, np.array([2, 0]))  # they touch
    assert possible_on_a_line(log([[0.5, 0.5]] * 2), np.array([1, 1]))


def test_bounds_follow_from_several_opinions() -> None:
    """First to second and second to third bound the third by the first."""
    log_p = log([[0.5, 0.4, 0.1], [0.1, 0.5, 0.4], [0.3, 0.1, 0.6]])
    experts = virtual_experts(log_p, np.arange(3))
    bound = experts.bounds()
    assert bound is not None
    direct = experts.log_ratio[0, 2]
    assert direct == pytest.approx(np.log(0.2))
    assert bound[0, 2] == pytest.approx(max(direct, np.log(0.8) + np.log(0.8)))


def test_those_who_agree_are_one_with_the_larger_ratios() -> None:
    log_p = log([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6], [0.4, 0.6, 0.0]])
    experts = virtual_experts(log_p, np.array([2, 0, 0]).take([1, 0, 2]))
    assert experts.said.tolist() == [0, 2]
    np.testing.assert_allclose(np.exp(experts.log_ratio), [[1, 1.5, 0.5], [1 / 3, 1 / 3, 1]])


TRIPLE = log([[0.4, 0.35, 0.25], [0.25, 0.4, 0.35], [0.35, 0.25, 0.4]])
"""Each says her second best label: every two of them can, all three cannot."""


def test_three_can_be_impossible_where_every_two_are_possible() -> None:
    labels = np.array([1, 2, 0])
    for pair in ([0, 1], [0, 2], [1, 2]):
        assert possible(TRIPLE[pair], labels[pair])
    assert not possible(TRIPLE, labels)


def test_a_refusal_names_as_few_as_are_impossible_together() -> None:
    names = Names(["mon", "tue"], ["Ann", "Bob", "Cy", "Dee"], ["lo", "mid", "hi"])
    log_p = np.concatenate([TRIPLE, log([[0.4, 0.35, 0.25]])])
    labels = np.array([1, 2, 0, 1])
    words = str(refusal(log_p, labels, names, 1, np.array([0, 1, 2, 3])))
    assert "instance 'tue': no noise makes expert 'Bob' say 'hi' and expert 'Cy' say 'lo'" in words
    assert "'Dee' say 'mid'" in words
    assert "Ann" not in words  # Dee said the same
    pair = str(refusal(log_p[[3, 0]], np.array([0, 1]), names, 0, np.array([3, 0])))
    assert "'mon': no noise makes expert 'Dee' say 'lo' and expert 'Ann' say 'mid', and" in pair


def test_a_refusal_is_of_the_noise_that_is_meant() -> None:
    """Cy's 'hi' lies above 0.3 and 'lo' below 0.2 on a line; one Gumbel noise can make both."""
    names = Names(["mon"], ["Ann", "Bob", "Cy"], ["lo", "mid", "hi"])
    log_p = log([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.15, 0.15, 0.7]])
    labels = np.array([0, 0, 2])
    assert possible(log_p, labels)
    words = str(refusal(log_p, labels, names, 0, np.arange(3), possible_on_a_line))
    assert "no noise makes expert 'Bob' say 'lo' and expert 'Cy' say 'hi', and" in words
    assert "Ann" not in words
