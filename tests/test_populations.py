"""The random models that theorems are checked on are as varied as the pages say."""

from __future__ import annotations

import numpy as np
import pytest

from siscm import populations
from siscm.properties import (
    pairwise_conditional_stability,
    pairwise_counterfactual_stability,
    set_invariance,
)
from siscm.statements import STATEMENTS

MODELS = sorted({s.models for s in STATEMENTS}, key=lambda models: models.__name__)


def drawn(models, n=150, seed=7):
    return list(models(np.random.default_rng(seed), n))


@pytest.mark.parametrize("models", MODELS, ids=lambda m: m.__name__)
def test_sizes_are_what_the_pages_promise(models) -> None:
    found = drawn(models)
    assert len(found) >= 150
    assert {m.scm.n_classes for m in found} == {2, 3, 4}
    assert max(len(m.scm.prior) for m in found) <= 64
    experts = {m.scm.n_experts for m in found}
    assert experts == ({2} if found[0].marginals.size else {2, 3, 4})


def test_the_same_seed_draws_the_same_models() -> None:
    first, second = (drawn(populations.silent_or_talking, 5) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.scm.prior, other.scm.prior)


def test_every_way_to_talk_occurs_and_changes_something() -> None:
    talking = [m for m in drawn(populations.silent_or_talking) if not m.holds]
    assert {m.family for m in talking} == {"herding", "senior", "anchoring"}
    assert all(set_invariance(m.scm) is not None for m in talking)


def test_one_noise_is_all_that_parts_the_contradicted_from_the_alike() -> None:
    for m in drawn(populations.alike_or_not, 40):
        group = range(m.scm.n_experts)
        assert (pairwise_counterfactual_stability(m.scm, group) is None) == m.holds
        assert (pairwise_conditional_stability(m.scm, group) is None) == m.holds
        assert set_invariance(m.scm) is None
