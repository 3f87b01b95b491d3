"""Who followed the noise of a group: against every set of followers, weighed one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import softmax
from strategies import log_dirichlet

from siscm.beyond import followers as module
from siscm.beyond.followers import Followers, Heard, draw_followed
from siscm.posterior import shared_law


def drawn(log_p: np.ndarray, labels: np.ndarray, a: np.ndarray, n: int, seed: int) -> Followers:
    """All in doubt: nothing is known at first."""
    start = np.zeros((n, log_p.shape[1])), np.zeros(n)
    followers = Followers(Heard(log_p, labels, a), start, np.random.default_rng(seed))
    followers.anneal()
    return followers


def by_sets(log_p: np.ndarray, labels: np.ndarray, a: np.ndarray) -> np.ndarray:
    """How likely each set of followers is, in the order of ``product``."""
    own = log_p[np.arange(len(labels)), labels]
    log_weight = []
    for follows in map(np.array, product((False, True), repeat=len(labels))):
        found = shared_law(log_p[follows], labels[follows], log_p[:1], 512) if follows.any() else 0
        together = -np.inf if found is None else found[1] if found else 0.0
        log_weight.append(together + np.where(follows, np.log(a), np.log1p(-a) + own).sum())
    return softmax(log_weight)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 2]])
def test_every_set_of_followers_has_its_share(labels: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    log_p, a, said = log_dirichlet(rng, (4, 4)), rng.uniform(0.3, 0.99, 4), np.array(labels)
    found = drawn(log_p, said, a, 4000, seed)
    number = found.follows @ (2 ** np.arange(4)[::-1])
    shares = np.bincount(number, softmax(found.log_weight), minlength=16)
    np.testing.assert_allclose(shares, by_sets(log_p, said, a), atol=0.05)


@pytest.mark.parametrize(
    ("labels", "seed"), [([0, 1, 2, 2], 2), ([0, 1, 1, 1], 2), ([0, 1, 2, 0], 3)]
)
def test_weights_are_right_however_few_the_steps(
    labels: list[int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a single step draws are bad, and only their weights make up for it."""
    monkeypatch.setattr(module, "_LEAST_STEPS", 1)
    monkeypatch.setattr(module, "_MOST_STEPS", 1)
    rng = np.random.default_rng(seed)
    log_p, a, said = log_dirichlet(rng, (4, 4)), rng.uniform(0.3, 0.99, 4), np.array(labels)
    found = drawn(log_p, said, a, 40_000, 0)
    number = found.follows @ (2 ** np.arange(4)[::-1])
    truth = by_sets(log_p, said, a)
    shares = np.bincount(number, softmax(found.log_weight), minlength=16)
    np.testing.assert_allclose(shares, truth, atol=0.012)
    unweighted = np.bincount(number, minlength=16) / len(number)
    assert np.abs(unweighted - truth).max() > 0.03


def test_beside_those_who_surely_followed_others_may_have() -> None:
    """The noise of a group: what an expert of it says, against the sum over sets of followers."""
    rng = np.random.default_rng(1)
    log_p, log_q = log_dirichlet(rng, (5, 4)), log_dirichlet(rng, (1, 4))
    said, a = np.array([0, 1, 2, 0, 3]), np.array([1.0, 1.0, 1.0, 0.6, 0.7])
    truth = np.zeros(4)
    with np.errstate(divide="ignore"):
        shares = by_sets(log_p, said, a)
    for share, follows in zip(shares, product((False, True), repeat=5), strict=True):
        if share > 0:
            kept = np.array(follows)
            truth += share * shared_law(log_p[kept], said[kept], log_q, 512)[0][0]
    noise, weight = draw_followed(Heard(log_p, said, a), 40_000, rng)
    says = (log_q + noise).argmax(axis=1)
    np.testing.assert_allclose(np.bincount(says, weight, minlength=4), truth, atol=0.01)


def test_camps_that_exclude_each_other_are_weighed_against_each_other() -> None:
    """Equal habits: who said 0 followed, or who said 1 did; three of them against two."""
    log_p, labels, a = np.log(np.full((5, 2), 0.5)), np.array([0, 0, 0, 1, 1]), np.full(5, 0.95)
    found = drawn(log_p, labels, a, 4000, 0)
    weight = softmax(found.log_weight)
    zero, one = found.follows[:, :3].any(axis=1), found.follows[:, 3:].any(axis=1)
    assert not (zero & one).any()
    # A label's sayers have the weight of whichever of them followed, less that of none.
    own = 0.05 * 0.5
    sides = [0.5 * ((0.95 + own) ** n - own**n) * own ** (5 - n) for n in (3, 2)]
    shares = np.array([*sides, own**5]) / (sum(sides) + own**5)
    np.testing.assert_allclose([weight @ zero, weight @ one], shares[:2], atol=0.03)


@pytest.mark.parametrize("least", [3, 6, 9])
def test_camps_of_opinions_that_are_rare_in_unlike_measure(least: int) -> None:
    """Equal habits but for how rare what each said is: which camp is ahead changes on the way."""
    rng = np.random.default_rng(least)
    labels = np.array([0, 1, 0, 1, 0, 0, 1])
    p = np.tile([0.3, 0.3, 0.4], (7, 1))
    p[np.arange(7), labels] *= 10.0 ** -rng.integers(0, least + 1, size=7)
    log_p, a = np.log(p / p.sum(axis=1, keepdims=True)), np.full(7, 0.9)
    found = [drawn(log_p, labels, a, 2000, seed) for seed in range(3)]
    by_set = [f.follows @ (2 ** np.arange(7)[::-1]) for f in found]
    shares = [
        np.bincount(number, softmax(f.log_weight), minlength=128)
        for number, f in zip(by_set, found, strict=True)
    ]
    np.testing.assert_allclose(np.mean(shares, axis=0), by_sets(log_p, labels, a), atol=0.05)


@pytest.mark.parametrize("n_experts", [0, 3, 40])
def test_every_draw_makes_followers_say_what_they_said(n_experts: int) -> None:
    rng = np.random.default_rng(n_experts)
    log_p, a = log_dirichlet(rng, (n_experts, 5)), np.full(n_experts, 1.0)
    noise = rng.gumbel(size=5)
    labels = (log_p + noise).argmax(axis=1).astype(np.int64)
    found = draw_followed(Heard(log_p, labels, a), 200, rng)
    assert found is not None
    noise, weight = found
    assert len(noise) == len(weight) == (200 if n_experts <= 20 else 100)
    assert weight.sum() == pytest.approx(1)
    np.testing.assert_array_equal(
        (log_p[:, None] + noise).argmax(axis=-1), np.tile(labels[:, None], len(noise))
    )


def test_those_who_surely_follow_and_cannot_have_leave_no_draw() -> None:
    log_p, rng = np.log(np.full((2, 3), 1 / 3)), np.random.default_rng(0)
    assert draw_followed(Heard(log_p, np.array([0, 1]), np.ones(2)), 100, rng) is None
