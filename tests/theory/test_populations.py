"""The random models that theorems are checked on are as varied as the pages say."""

from __future__ import annotations

import numpy as np
import pytest

from siscm.theory import populations
from siscm.theory.properties import (
    pairwise_conditional_stability,
    pairwise_counterfactual_stability,
    set_invariance,
)
from siscm.theory.scm import FiniteSCM, marginal
from siscm.theory.statements import STATEMENTS

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


def test_talk_changes_something_among_experts_who_are_alike_too() -> None:
    talking = [m for m in drawn(populations.alike_or_not_or_talking) if "alike" not in m.family]
    assert {m.family for m in talking} == {"herding", "senior", "anchoring"}
    assert all(set_invariance(m.scm) is not None for m in talking)
    # Half of the noises are those under which they talk, as likely as talk is strong.
    strengths = [m.scm.prior[len(m.scm.prior) // 2 :].sum() for m in talking]
    assert min(strengths) < 0.3
    assert max(strengths) > 0.8


def test_talk_that_changes_nothing_is_drawn_anew() -> None:
    """Experts who always agree have nothing to learn from each other."""
    agree = FiniteSCM.from_submechanisms(np.zeros((1, 1, 2), dtype=int), np.ones(1), 2)
    differ = FiniteSCM.from_submechanisms(np.array([[[1, 0]]]), np.ones(1), 2)
    bases = iter([agree, agree, differ])
    m = populations._talking(np.random.default_rng(0), 0, lambda _: next(bases))
    assert next(bases, None) is None
    assert set_invariance(m.scm) is not None


def test_alike_is_meant_in_both_ways_and_stability_is_not_empty() -> None:
    """Thresholds of one noise, or of doubt; and a pair has labels that it must not exchange."""
    alike = [m.scm for m in drawn(populations.alike_or_not) if m.holds]
    noises = [(len(scm.prior), 5 * scm.n_classes) for scm in alike]  # doubt has five steps
    assert 0.4 < np.mean([found == doubt for found, doubt in noises]) < 0.6
    bound, parted = 0, 0
    for scm in alike:
        p, q = (marginal(scm, 0, frozenset({h}), h) for h in (0, 1))
        margin = np.outer(q, p) - np.outer(p, q)
        # She says c, and the other says d now and then, but must not where c was said.
        bound += bool((margin > 1e-3)[np.ix_(p > 0, q > 0)].any())
        both = scm.answers[frozenset({0, 1})][0]
        parted += bool((both[:, 0] != both[:, 1]).any())
    assert bound > 0.7 * len(alike)
    assert parted > 0.8 * len(alike)


def test_noise_that_is_not_gumbel_is_of_both_kinds() -> None:
    families = {m.family for m in drawn(populations.gumbel_or_other_noise) if not m.holds}
    assert families == {"64 normal values, equally likely", "normal noise"}


@pytest.mark.parametrize("models", MODELS, ids=lambda m: m.__name__)
def test_noises_are_not_equally_likely(models) -> None:
    for m in drawn(models, 10):
        assert np.ptp(m.scm.prior) > 0 or "equally likely" in m.family


@pytest.mark.parametrize(
    ("models", "holding", "others"),
    [
        (populations.silent_or_talking, 12, 6),
        (populations.alike_or_not, 12, 12),
        (populations.alike_or_not_or_talking, 6, 6 + 6),
        (populations.gumbel_or_other_noise, 12, 6),
    ],
)
def test_of_each_kind_there_are_as_many_as_said(models, holding, others) -> None:
    holds = [m.holds for m in drawn(models, 12)]
    assert (holds.count(True), holds.count(False)) == (holding, others)


def test_half_of_the_noises_that_are_not_gumbel_are_of_either_kind() -> None:
    families = [m.family for m in drawn(populations.gumbel_or_other_noise, 12) if not m.holds]
    assert families.count("normal noise") == 3


def test_four_experts_in_two_groups_are_six_pairs_with_habits_of_their_own() -> None:
    found = drawn(populations.pairs_of_gumbel_max_si_scms, 30)
    assert len(found) == 6 * 30
    n_same = np.reshape([m.holds for m in found], (30, 6)).sum(axis=1)
    assert set(n_same.tolist()) == {2, 3, 6}  # two and two, three and one, or all
    for m in found:
        for h in (0, 1):
            law = marginal(m.scm, 0, frozenset({0, 1}), h)
            np.testing.assert_allclose(law, m.marginals[h], atol=1e-12)


@pytest.mark.parametrize("models", [populations.alike_or_not, populations.silent_or_talking])
def test_experts_are_asked_about_one_case_or_two(models) -> None:
    assert {m.scm.n_x for m in drawn(models, 20) if m.holds} == {1, 2}


def test_who_is_alike_is_contradicted_whichever_way_she_is() -> None:
    found = [m.scm for m in drawn(populations.alike_or_not, 40) if not m.holds]
    doubt = [len(scm.prior) == 5 * scm.n_classes + 1 for scm in found]
    assert len(doubt) / 2 <= doubt.count(True) < 0.75 * len(doubt)
