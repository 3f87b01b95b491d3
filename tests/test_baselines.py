"""Rules for a second opinion: each says what it says it does."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import log_dirichlet

from siscm import baselines, gumbel
from siscm.baselines import Pairs


@pytest.fixture
def pairs() -> Pairs:
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (2, 40, 4))
    label, same = rng.integers(0, 4, size=40), rng.random(40) < 0.5
    return Pairs(log_p, log_q, label, same, *rng.integers(0, 9, size=(3, 40)))


@pytest.mark.parametrize("name", baselines.RULES)
def test_every_rule_gives_distributions_and_leaves_its_input(name: str, pairs: Pairs) -> None:
    copies = [array.copy() for array in pairs]
    for array in pairs:
        array.flags.writeable = False
    law = baselines.RULES[name](pairs)
    assert law.shape == (40, 4)
    assert law.min() >= 0
    np.testing.assert_allclose(law.sum(axis=-1), 1, rtol=0, atol=1e-12)
    for array, copy in zip(pairs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert baselines.RULES[name](Pairs(*(array[:0] for array in pairs))).shape == (0, 4)


def test_gumbel_max_shares_noise_inside_groups_only(pairs: Pairs) -> None:
    law = baselines.gumbel_max(pairs)
    for i, (log_p, log_q, label, same, *_) in enumerate(zip(*pairs, strict=True)):
        expected = (
            gumbel.counterfactual_probabilities(log_p, log_q, label) if same else np.exp(log_q)
        )
        np.testing.assert_allclose(law[i], expected, rtol=0, atol=1e-14)
    assert 0 < pairs.same_group.sum() < 40


def test_one_noise_ignores_the_groups(pairs: Pairs) -> None:
    law = baselines.one_noise(pairs)
    direct = gumbel.counterfactual_probabilities(
        pairs.log_p_observed, pairs.log_p_target, pairs.label
    )
    np.testing.assert_array_equal(law, direct)
    other = pairs._replace(same_group=~pairs.same_group)
    np.testing.assert_array_equal(law, baselines.one_noise(other))
    everybody = pairs._replace(same_group=np.ones(40, dtype=bool))
    np.testing.assert_array_equal(law, baselines.gumbel_max(everybody))


def test_marginals_only_ignores_the_opinion(pairs: Pairs) -> None:
    law = baselines.marginals_only(pairs)
    np.testing.assert_allclose(law, np.exp(pairs.log_p_target), rtol=0, atol=1e-15)
    other = pairs._replace(label=3 - pairs.label)
    np.testing.assert_array_equal(law, baselines.marginals_only(other))
    nobody = pairs._replace(same_group=np.zeros(40, dtype=bool))
    np.testing.assert_array_equal(law, baselines.gumbel_max(nobody))


def test_copy_says_what_was_said(pairs: Pairs) -> None:
    law = baselines.copy(pairs)
    np.testing.assert_array_equal(law.argmax(axis=-1), pairs.label)
    np.testing.assert_array_equal(np.sort(law, axis=-1), np.tile([0, 0, 0, 1], (40, 1)))
