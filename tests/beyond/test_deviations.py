"""Deviations of experts: the fitted probabilities are the most probable under the priors said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from siscm.beyond import deviations
from siscm.beyond.deviations import LEAST, OFFSET_SPREAD, SCORE_SLOPE_SPREAD, SCORE_SPREAD


@pytest.mark.parametrize("prior", [(1.0, 0.0), (0.5, 0.3), (0.25, 0.03)])
def test_the_most_probable_deviations_are_found(prior: tuple[float, float]) -> None:
    """The posterior of the formula in siscm.pooled, term by term, climbed by another algorithm."""
    rng = np.random.default_rng(0)
    n, k, d, n_experts = 60, 3, 2, 4
    f, z = rng.normal(size=(n, k)), rng.normal(size=(n, d))
    expert, label = rng.integers(n_experts, size=n), rng.integers(k, size=n)
    width, slope_spread = prior
    shapes = {"w": (k, k), "b": (k,), "b_h": (n_experts, k), "v": (n_experts, k, k)}
    spreads = {"w": SCORE_SPREAD, "b": np.inf, "b_h": OFFSET_SPREAD, "v": SCORE_SLOPE_SPREAD}
    spreads = {name: width * spread for name, spread in spreads.items()}
    if slope_spread:
        shapes["u"], spreads["u"] = (n_experts, k, d), slope_spread
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])

    def log_p(x: np.ndarray) -> np.ndarray:
        parts = zip(np.split(x, ends[:-1]), shapes.items(), strict=True)
        at = {name: part.reshape(shape) for part, (name, shape) in parts}
        logit = f @ at["w"].T + at["b"] + at["b_h"][expert]
        logit += np.einsum("ncj,nj->nc", at["v"][expert], f)
        if slope_spread:
            logit += np.einsum("ncj,nj->nc", at["u"][expert], z)
        return log_softmax(logit, axis=1)

    def minus_log_posterior(x: np.ndarray) -> float:
        parts = zip(np.split(x, ends[:-1]), spreads.values(), strict=True)
        penalty = sum((part**2).sum() / (2 * spread**2) for part, spread in parts)
        return float(penalty - log_p(x)[np.arange(n), label].sum())

    options = {"maxiter": 2000, "maxfun": 10**6, "gtol": 1e-7, "ftol": 1e-14}
    best = minimize(minus_log_posterior, np.zeros(ends[-1]), method="L-BFGS-B", options=options)
    design = deviations.design(f, z, expert, n_experts, prior)
    found = deviations.log_proba(deviations.fit(design, label), design, k)
    np.testing.assert_allclose(np.exp(found), np.exp(log_p(best.x)), atol=2e-4)


def test_a_label_not_learned_from_is_unlikely() -> None:
    design = deviations.design(
        np.zeros((4, 3)), np.empty((4, 0)), np.zeros(4, dtype=int), 1, (1, 0)
    )
    for label, learned in ((np.array([0, 2, 0, 2]), [0, 2]), (np.full(4, 1), [1])):
        log_p = deviations.log_proba(deviations.fit(design, label), design, 3)
        np.testing.assert_allclose(np.exp(log_p[:, learned]), 1 / len(learned), atol=1e-6)
        np.testing.assert_allclose(np.exp(np.delete(log_p, learned, axis=1)), LEAST)
    assert deviations.log_proba(deviations.fit(design, label), design[:0], 3).shape == (0, 3)
