"""Means with intervals: known answers, a slow bootstrap, and where there is no interval."""

from __future__ import annotations

import numpy as np
import pytest

from siscm.intervals import mean_with_interval


def test_two_parts_by_hand() -> None:
    """Of two parts, one is drawn twice in half of all draws: its mean is an end."""
    totals, sizes = np.array([1.0, 9.0]), np.array([2.0, 3.0])
    found = mean_with_interval("height", totals, sizes, np.random.default_rng(0))
    assert found == {"height": 2.0, "height_low": 0.5, "height_high": 3.0}


@pytest.mark.parametrize(("level", "deviations"), [(0.95, 1.96), (0.5, 0.6745)])
def test_of_single_values_it_is_as_wide_as_the_normal_law_says(
    level: float, deviations: float
) -> None:
    coin = (np.random.default_rng(0).random(400) < 0.3).astype(float)
    rng = np.random.default_rng(1)
    found = mean_with_interval("coin", coin, np.ones(400), rng, level=level)
    error = coin.std() / np.sqrt(400)
    assert found["coin"] == coin.mean()
    assert found["coin_high"] - found["coin_low"] == pytest.approx(2 * deviations * error, rel=0.1)


def test_a_slow_bootstrap_of_parts_with_their_sizes_finds_the_same() -> None:
    rng = np.random.default_rng(2)
    parts = [rng.normal(rng.normal(), size=n) for n in rng.integers(1, 9, size=40)]
    means = [
        np.concatenate([parts[j] for j in rng.integers(40, size=40)]).mean() for _ in range(4000)
    ]
    totals = np.array([part.sum() for part in parts])
    sizes = np.array([len(part) for part in parts], dtype=float)
    found = mean_with_interval("mean", totals, sizes, rng, 4000)
    slow = np.quantile(means, [0.025, 0.975])
    ends = np.array([found["mean_low"], found["mean_high"]])
    assert found["mean"] == pytest.approx(np.concatenate(parts).mean())
    assert np.abs(ends - slow).max() < 0.06 * (slow[1] - slow[0])


def test_the_same_state_draws_the_same_parts_whatever_the_values() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=30)
    one, other = (
        mean_with_interval("x", some, np.ones(30), np.random.default_rng(4))
        for some in (values, 1 - 2 * values)
    )
    assert other["x_low"] == pytest.approx(1 - 2 * one["x_high"])
    assert other["x_high"] == pytest.approx(1 - 2 * one["x_low"])


@pytest.mark.parametrize(("totals", "mean"), [([], np.nan), ([0.5], 0.5), ([1.0, np.inf], np.inf)])
def test_without_an_interval_the_ends_are_nan(totals: list[float], mean: float) -> None:
    """A single part drawn anew is always the same; that would be an interval of no width."""
    found = mean_with_interval(
        "x", np.array(totals), np.ones(len(totals)), np.random.default_rng(0)
    )
    np.testing.assert_equal(found, {"x": mean, "x_low": np.nan, "x_high": np.nan})


def test_no_resamples_are_refused() -> None:
    with pytest.raises(ValueError, match="n_bootstrap must be a whole number of at least 2; got 0"):
        mean_with_interval("x", np.ones(3), np.ones(3), np.random.default_rng(0), 0)


def test_parts_are_drawn_by_the_generator_as_often_as_said() -> None:
    values = np.random.default_rng(5).normal(size=30)

    def ends(seed: int, **options: int) -> list[float]:
        rng = np.random.default_rng(seed)
        found = mean_with_interval("x", values, np.ones(30), rng, **options)
        return [found["x_low"], found["x_high"]]

    assert ends(0) == ends(0, n_bootstrap=1000) != ends(0, n_bootstrap=999)
    assert ends(0) != ends(1)


@pytest.mark.parametrize(
    ("n", "share", "rare"), [(4, 0.80, False), (10, 0.90, False), (100, 0.64, True)]
)
def test_of_few_parts_or_rare_values_it_covers_as_little_as_is_said(
    n: int, share: float, rare: bool
) -> None:
    """Normal values, and an accuracy of 99 %."""
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(400):
        totals = rng.binomial(1, 0.99, n) - 0.99 if rare else rng.normal(size=n)
        found = mean_with_interval("x", totals, np.ones(n), rng, 300)
        inside += found["x_low"] < 1e-9 and found["x_high"] > -1e-9
    assert inside / 400 == pytest.approx(share, abs=0.05)
