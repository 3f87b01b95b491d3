"""Intervals over experts: a slow bootstrap, both roles, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from siscm.beyond.expert_intervals import mean_over_experts

N = 12


def everybody_with_everybody(n: int) -> tuple[np.ndarray, np.ndarray]:
    observed, target = np.divmod(np.arange(n * n), n)
    return observed[observed != target], target[observed != target]


def test_a_slow_bootstrap_of_experts_finds_the_same() -> None:
    """Experts are drawn with repetition; any two of the drawn ones bring their pairs."""
    rng = np.random.default_rng(0)
    observed, target = (each.repeat(2)[20:] for each in everybody_with_everybody(N))
    values = rng.normal(size=len(observed)) + rng.normal(size=N)[target]
    means = []
    for _ in range(4000):
        drawn = rng.integers(N, size=N)
        pairs = [(a, b) for a in drawn for b in drawn]
        means.append(
            np.concatenate([values[(observed == a) & (target == b)] for a, b in pairs]).mean()
        )
    for level, tail in ((0.95, 0.025), (0.8, 0.1)):
        found = mean_over_experts("mean", values, observed, target, rng, 4000, level)
        slow = np.quantile(means, [tail, 1 - tail])
        assert found["mean"] == pytest.approx(values.mean())
        ends = np.array([found["mean_low"], found["mean_high"]])
        assert np.abs(ends - slow).max() < 0.06 * (slow[1] - slow[0])


@pytest.mark.parametrize("role", ["observed", "target", "both"])
def test_it_covers_what_hangs_on_either_role(role: str) -> None:
    """What an expert brings, observed or asked, is drawn anew, many times: about 95 % hold zero."""
    rng = np.random.default_rng(1)
    observed, target = everybody_with_everybody(40)
    inside = 0
    for _ in range(200):
        brings = rng.normal(size=40)
        values = 0.2 * rng.normal(size=len(observed))
        values += brings[observed] * (role != "target") + brings[target] * (role != "observed")
        found = mean_over_experts("mean", values, observed, target, rng, 400)
        inside += found["mean_low"] < 0 < found["mean_high"]
    assert 0.88 <= inside / 200 <= 0.99


@pytest.mark.parametrize(("n", "share"), [(6, 0.84), (20, 0.90)])
def test_of_few_experts_it_covers_as_little_as_is_said(n: int, share: float) -> None:
    rng = np.random.default_rng(2)
    observed, target = everybody_with_everybody(n)
    inside = 0
    for _ in range(500):
        brings = rng.normal(size=(2, n))
        values = brings[0, observed] + brings[1, target]
        found = mean_over_experts("mean", values, observed, target, rng, 300)
        inside += found["mean_low"] < 0 < found["mean_high"]
    assert inside / 500 == pytest.approx(share, abs=0.05)


def test_where_experts_make_no_difference_it_is_too_wide() -> None:
    rng = np.random.default_rng(3)
    observed, target = everybody_with_everybody(100)
    found = mean_over_experts("x", rng.normal(size=len(observed)), observed, target, rng)
    right = 2 * 1.96 / np.sqrt(len(observed))
    assert (found["x_high"] - found["x_low"]) / right == pytest.approx(np.sqrt(3), rel=0.1)


def test_without_an_interval_the_ends_are_nan() -> None:
    few = range(4 * 3)  # four experts
    for n, values in ((0, []), (2, [0.0, 1.0]), (4, few), (5, [*range(19), np.inf])):
        observed, target = everybody_with_everybody(n)
        found = mean_over_experts(
            "x", np.array(values, dtype=float), observed, target, np.random.default_rng(0)
        )
        assert np.isnan([found["x_low"], found["x_high"]]).all()
        assert found["x"] == pytest.approx(np.mean(values) if values else np.nan, nan_ok=True)


def test_values_that_are_all_alike_are_certain() -> None:
    observed, target = everybody_with_everybody(5)
    found = mean_over_experts("x", np.full(20, 0.5), observed, target, np.random.default_rng(0))
    assert found == {"x": 0.5, "x_low": 0.5, "x_high": 0.5}
