"""Rules for a second opinion: each says what it says it does."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import log_dirichlet

from siscm import baselines, gumbel


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (2, 40, 4))
    return log_p, log_q, rng.integers(0, 4, size=40), rng.random(40) < 0.5


@pytest.mark.parametrize("name", baselines.RULES)
def test_every_rule_gives_distributions_and_leaves_its_input(name: str, rows: tuple) -> None:
    copies = [array.copy() for array in rows]
    for array in rows:
        array.flags.writeable = False
    law = baselines.RULES[name](*rows)
    assert law.shape == (40, 4)
    assert law.min() >= 0
    np.testing.assert_allclose(law.sum(axis=-1), 1, rtol=0, atol=1e-12)
    for array, copy in zip(rows, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert baselines.RULES[name](*(array[:0] for array in rows)).shape == (0, 4)


def test_gumbel_max_shares_noise_inside_groups_only(rows: tuple) -> None:
    log_p, log_q, label, same = rows
    law = baselines.gumbel_max(*rows)
    for i in range(40):
        expected = (
            gumbel.counterfactual_probabilities(log_p[i], log_q[i], label[i])
            if same[i]
            else np.exp(log_q[i])
        )
        np.testing.assert_allclose(law[i], expected, rtol=0, atol=1e-14)
    assert 0 < same.sum() < 40


def test_one_noise_ignores_the_groups(rows: tuple) -> None:
    log_p, log_q, label, same = rows
    law = baselines.one_noise(*rows)
    np.testing.assert_array_equal(law, gumbel.counterfactual_probabilities(log_p, log_q, label))
    np.testing.assert_array_equal(law, baselines.one_noise(log_p, log_q, label, ~same))
    everybody = np.ones(40, dtype=bool)
    np.testing.assert_array_equal(law, baselines.gumbel_max(log_p, log_q, label, everybody))


def test_marginals_only_ignores_the_opinion(rows: tuple) -> None:
    log_p, log_q, label, same = rows
    law = baselines.marginals_only(*rows)
    np.testing.assert_allclose(law, np.exp(log_q), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(law, baselines.marginals_only(log_p, log_q, 3 - label, same))
    nobody = np.zeros(40, dtype=bool)
    np.testing.assert_array_equal(law, baselines.gumbel_max(log_p, log_q, label, nobody))


def test_copy_says_what_was_said(rows: tuple) -> None:
    law = baselines.copy(*rows)
    np.testing.assert_array_equal(law.argmax(axis=-1), rows[2])
    np.testing.assert_array_equal(np.sort(law, axis=-1), np.tile([0, 0, 0, 1], (40, 1)))
