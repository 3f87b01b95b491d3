"""What the three noises have in common: their likelihoods and how these are to be raised."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from strategies import log_dirichlet

from siscm.beyond.gaussian import TwoOpinions
from siscm.beyond.noises import Noise, excess, pull, terms

NOISES = get_args(Noise)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("sharing", [0.2, 0.7])
def test_the_pull_is_the_slope_of_the_log_likelihood_by_the_log_of_sharing(
    noise: Noise, sharing: float
) -> None:
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (200, 3)), log_dirichlet(rng, (200, 3))
    label, other = rng.integers(3, size=(2, 200))
    step = 1e-4
    nodes = np.append(np.linspace(0, sharing - step, 9), sharing + step)
    values = terms(TwoOpinions(log_p, log_q, label, other), noise, nodes)
    slope = sharing * (values[:, 9] - values[:, 8]) / (2 * step)
    impossible = values[:, -1] == 1
    slope[impossible] = -sharing / (1 - sharing)  # of log(1 - sharing)
    assert impossible.any() == (noise != "gaussian")
    found = pull(TwoOpinions(log_p, log_q, label, other), np.full(200, sharing), noise)
    np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-5)


def test_nothing_in_excess_where_one_of_two_can_say_one_label_only() -> None:
    log_p, log_q = np.log([[1.0, 1e-300]]), np.log([[0.3, 0.7]])
    said = np.array([0]), np.array([1])
    assert excess(TwoOpinions(log_p, log_q, *said), "uniform") == pytest.approx(0, abs=1e-9)
