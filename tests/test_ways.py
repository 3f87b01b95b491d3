"""How a panel goes on: against sums over who followed, the laws of each, and simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log, log_dirichlet, rngs
from test_several import by_follower_sets

from siscm import ways
from siscm.contradictions import Names
from siscm.noises import Noise
from siscm.several import graded_proba
from siscm.ways import Ways, majorities, ways_to_go_on

Array = np.ndarray


def go_on(
    log_p: Array,
    codes: Array,
    number: Array,
    a: Array,
    *,
    noise: Noise = "uniform",
    n_samples: int = 20_000,
) -> Ways:
    names = Names(["the case"], "ABCDEFGHIJKLMN"[: len(log_p)], range(log_p.shape[1]))
    return ways_to_go_on(
        log_p,
        np.asarray(codes),
        np.asarray(number),
        np.asarray(a, dtype=float),
        noise=noise,
        n_samples=n_samples,
        rng=np.random.default_rng(0),
        names=names,
    )


@given(rng=rngs(), k=st.integers(2, 3))
def test_one_after_the_other_is_all_together(rng: np.random.Generator, k: int) -> None:
    """The chance of three answers: that of the first, of the second given her, and so on."""
    log_p, a = log_dirichlet(rng, (4, k)), rng.uniform(0.1, 0.95, size=4)
    first = int(rng.integers(k))
    found = go_on(log_p, [first, -1, -1, -1], [0] * 4, a)
    assert len(found.weight) == k**3
    assert found.weight.sum() == pytest.approx(1)
    p = np.exp(log_p)
    chances = {}
    for said in product(range(k), repeat=3):
        chance, labels = 1.0, [first, *said]
        for h in range(1, 4):
            law = by_follower_sets(p[:h], np.array(labels[:h]), a[:h], p[h], a[h])
            chance *= law[labels[h]]
        chances[tuple(labels)] = chance
    for labels, weight in zip(found.labels.tolist(), found.weight, strict=True):
        assert weight == pytest.approx(chances[tuple(labels)], abs=1e-10)


@pytest.mark.parametrize(
    ("noise", "k"), [("uniform", 3), ("gumbel", 2), ("gumbel", 3), ("gaussian", 3)]
)
def test_each_member_goes_on_as_the_model_says(noise: Noise, k: int) -> None:
    """Two groups; in one two have spoken."""
    rng = np.random.default_rng(0)
    log_p, a = log_dirichlet(rng, (6, k)), rng.uniform(0.3, 0.9, size=6)
    codes, number = np.array([0, 1, -1, -1, 1, -1]), np.array([0, 0, 0, 1, 1, 1])
    found = go_on(log_p, codes, number, a, noise=noise)
    law = graded_proba(
        log_p[None],
        codes[None],
        number,
        a,
        noise=noise,
        n_samples=2000,
        rng=rng,
        names=Names(["x"], range(6), range(k)),
    )[0]
    shares = np.einsum("s,shk->hk", found.weight, found.labels[:, :, None] == np.arange(k))
    np.testing.assert_allclose(shares, law, atol=0.01 if (noise, k) == ("gumbel", 3) else 1e-10)


def test_groups_go_on_independently() -> None:
    log_p = np.log([[0.5, 0.5], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8]])
    found = go_on(log_p, [-1] * 4, [0, 1, 0, 1], [0.9] * 4)
    table = found.weight.reshape((2,) * 4)
    np.testing.assert_allclose(
        table, np.einsum("ac,bd->abcd", table.sum(axis=(1, 3)), table.sum(axis=(0, 2)))
    )
    together = table.sum(axis=(1, 3))
    apart = np.multiply.outer(together.sum(axis=1), together.sum(axis=0))
    assert np.abs(together - apart).max() > 0.05


def test_large_panels_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    log_p, a = log_dirichlet(rng, (5, 3)), rng.uniform(0.3, 0.9, size=5)
    codes, number = [2, -1, -1, -1, -1], [0, 0, 0, 1, 1]
    listed = go_on(log_p, codes, number, a)
    monkeypatch.setattr(ways, "MOST_WAYS", 80)
    drawn = go_on(log_p, codes, number, a, n_samples=40_000)
    assert drawn.labels.shape == (40_000, 5)
    assert (drawn.labels[:, 0] == 2).all()
    assert drawn.weight.sum() == pytest.approx(1)
    place = drawn.labels[:, 1:] @ 3 ** np.arange(3, -1, -1)
    shares = np.bincount(place, drawn.weight, minlength=81)
    np.testing.assert_allclose(shares, listed.weight, atol=0.01)


def test_everybody_has_spoken() -> None:
    found = go_on(np.log(np.full((3, 2), 0.5)), [0, 1, 1], [0, 1, 1], [0.5] * 3)
    assert found.labels.tolist() == [[0, 1, 1]]
    np.testing.assert_allclose(found.weight, [1])


def test_rare_opinions_of_experts_who_surely_follow() -> None:
    """Possible together, though no draw from what one of them said would find the other."""
    log_p = np.log([[1e-200, 1e-300, 1], [1e-300, 1e-200, 1], [0.3, 0.3, 0.4]])
    found = go_on(log_p, [0, 1, -1], [0] * 3, [1.0] * 3, noise="gumbel")
    np.testing.assert_allclose(found.weight, [0.5, 0.5, 0], atol=0.02)


def test_impossible_opinions_are_refused_by_name() -> None:
    log_p = np.log(np.full((4, 2), 0.5))
    words = "instance 'the case': no noise makes expert 'B' say 0 and expert 'D' say 1"
    with pytest.raises(ValueError, match=words):
        go_on(log_p, [1, 0, -1, 1], [0, 1, 1, 1], [1.0] * 4)
    assert np.isfinite(go_on(log_p, [1, 0, -1, 1], [0, 1, 1, 1], [0.99] * 4).weight).all()


def test_most_say_and_ties_are_shared() -> None:
    labels = np.array([[0, 0, 1], [2, 1, 1], [0, 1, 2]])
    np.testing.assert_allclose(majorities(labels, 3), [[1, 0, 0], [0, 1, 0], [1 / 3] * 3])
    np.testing.assert_allclose(majorities(np.array([[0, 1, 1, 0]]), 2), [[0.5, 0.5]])


def test_a_majority_is_likelier_the_more_is_shared() -> None:
    """Six even experts: apart, five or six rarely agree; together they nearly always do."""
    log_p = log(np.full((6, 2), 0.5))
    shares = []
    for a in (0.0, 0.7, 0.99):
        found = go_on(log_p, [0] + [-1] * 5, [0] * 6, [a] * 6)
        shares.append((found.weight * ((found.labels == 0).sum(axis=1) >= 5)).sum())
    assert shares[0] == pytest.approx(6 / 32)
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.9
