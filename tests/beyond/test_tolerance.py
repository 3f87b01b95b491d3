"""How many violations chance explains: against slow loops, simulation, and planted groups."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from math import exp

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log, log_dirichlet, log_normalised, pairs, rngs

from siscm import Opinions, SimilarityGraph, gumbel, partition
from siscm.beyond.tolerance import (
    LEVEL,
    expected_violations,
    explained_by_chance,
    forgive,
    half_samples,
)
from siscm.data.simulate import simulate_opinions
from siscm.synthetic.learned_sweep import learn
from siscm.synthetic.planted import SyntheticPanel, make_synthetic_panel
from siscm.synthetic.recovery import adjusted_rand
from siscm.theory.false_alarms import LOGIT, violation_rate

Array = np.ndarray


def with_gaps(rng: np.random.Generator, n: int, n_experts: int, k: int) -> Opinions:
    labels = rng.integers(k, size=(n, n_experts))
    labels[rng.random(labels.shape) < 0.3] = -1
    return Opinions.from_codes(labels, classes=range(k))


def graph_of(violations: Array) -> SimilarityGraph:
    """Experts who met ten times each, and violated so often."""
    n = len(violations)
    rng = np.random.default_rng(n)
    together = 10 * (1 - np.eye(n, dtype=np.int64))
    return SimilarityGraph(
        pd.Index(list("abcdefgh")[:n]), together, violations, rng.normal(size=(n, n))
    )


# --- expected violations ----------------------------------------------------------------------


@given(k=st.integers(2, 5), rng=rngs())
def test_expected_violations_are_the_sum_written_out(k: int, rng: np.random.Generator) -> None:
    n, n_experts = 6, 4
    opinions = with_gaps(rng, n, n_experts, k)
    known, *truths = log_dirichlet(rng, (3, n, n_experts, k))
    asked = opinions.labels >= 0
    found = expected_violations(known, (truth[asked] for truth in truths), opinions)
    p = np.exp(known)
    for truth, sums in zip(truths, found, strict=True):
        slow = np.zeros((n_experts, n_experts))
        for i in range(n):
            for g, h in combinations(np.flatnonzero(asked[i]), 2):
                joint = gumbel.joint_probabilities(truth[i, g], truth[i, h])
                for c in range(k):
                    for d in range(k):
                        if c != d and p[i, h, c] / p[i, g, c] >= p[i, h, d] / p[i, g, d]:
                            slow[g, h] += joint[c, d]
                            slow[h, g] += joint[c, d]
        np.testing.assert_allclose(sums, slow, atol=1e-12)


def test_one_marginal_an_opinion_does_as_well_and_labels_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    opinions = with_gaps(rng, 30, 5, 3)
    known, truth = log_dirichlet(rng, (2, 30, 5, 3))
    asked = opinions.labels >= 0
    whole = expected_violations(known, [truth[asked]], opinions)
    np.testing.assert_array_equal(
        expected_violations(known[asked], [truth[asked]], opinions), whole
    )
    others = Opinions.from_codes(np.where(asked, 2 - opinions.labels, -1), classes=range(3))
    np.testing.assert_array_equal(expected_violations(known, [truth[asked]], others), whole)
    assert (whole == whole.swapaxes(1, 2)).all()
    assert (np.diagonal(whole, axis1=1, axis2=2) == 0).all()


@given(pair=pairs(sizes=(2, 3, 5, 10)))
def test_by_the_truth_nothing_is_expected(pair) -> None:
    """Zeros and ties included, where rounding may leave a trace."""
    log_p = np.stack([pair.log_p, pair.log_q])
    said = [[pair.label, int(pair.log_q.argmax())]]
    opinions = Opinions.from_codes(said, classes=range(len(pair.log_p)))
    assert expected_violations(log_p[None], [log_p], opinions).max() < 1e-14


@given(pair=pairs(sizes=(2, 3, 5)), rng=rngs())
def test_of_one_instance_it_is_the_rate_of_false_alarms(pair, rng: np.random.Generator) -> None:
    k = len(pair.log_p)
    truth = log_dirichlet(rng, (2, k))
    finite = log_normalised(np.maximum([pair.log_p, pair.log_q], -600))
    opinions = Opinions.from_codes([[0, 0]], classes=range(k))
    rate = violation_rate(gumbel.joint_probabilities(*truth), *finite)
    assert expected_violations(finite, [truth], opinions)[0, 0, 1] == pytest.approx(rate, abs=1e-14)


def test_an_estimate_of_zero_violates_as_it_does_in_the_graph() -> None:
    """Two who are both held never to say 2, though the replicate lets them."""
    known = log([[0.5, 0.5, 0.0], [0.6, 0.4, 0.0]])
    truth = np.log([[0.4, 0.4, 0.2], [0.4, 0.3, 0.3]])
    opinions = Opinions.from_codes([[0, 0]], classes=range(3))
    joint = gumbel.joint_probabilities(*truth)
    ruled_out = joint[0, 1] + joint[0, 2] + joint[1, 2] + joint[2, 0] + joint[2, 1]
    found = expected_violations(known, [truth], opinions)[0, 0, 1]
    assert found == pytest.approx(ruled_out)


def test_expected_is_what_simulated_panels_show_on_average() -> None:
    n, n_experts, k, n_panels = 25, 3, 4, 2000
    rng = np.random.default_rng(1)
    truth = log_normalised(rng.normal(size=(n, 1, k)) + 0.5 * rng.normal(size=(n, n_experts, k)))
    known = log_normalised(truth + 0.4 * rng.normal(size=truth.shape))
    once = Opinions.from_codes(np.zeros((n, n_experts), dtype=int), classes=range(k))
    (expected,) = expected_violations(known, [truth.reshape(-1, k)], once)
    often = np.tile(truth, (n_panels, 1, 1))
    said = simulate_opinions(
        often, [[0, 1, 2]], np.ones(often.shape[:2], dtype=bool), np.random.default_rng(2)
    )
    opinions = Opinions.from_codes(said, classes=range(k))
    graph = SimilarityGraph.from_opinions(np.tile(known, (n_panels, 1, 1)), opinions)
    seen = graph.violations / n_panels
    error = np.sqrt(expected / n_panels)  # of a sum of rare events, at most
    off = ~np.eye(n_experts, dtype=bool)
    assert (expected[off] > 0.5).all()
    assert (np.abs(seen - expected)[off] < 4 * error[off]).all()
    # Sharp enough to tell estimates that err more.
    (worse,) = expected_violations(
        log_normalised(truth + 0.8 * rng.normal(size=truth.shape)), [truth.reshape(-1, k)], once
    )
    assert (np.abs(seen - worse)[off] > 10 * error[off]).all()


def test_many_opinions_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    opinions = with_gaps(rng, 40, 5, 3)
    known, truth = log_dirichlet(rng, (2, len(opinions), 3))
    at_once = expected_violations(known, [truth], opinions)
    monkeypatch.setattr("siscm.beyond.tolerance._BLOCK_PAIRS", 7)
    np.testing.assert_allclose(expected_violations(known, [truth], opinions), at_once)


# --- p-values ---------------------------------------------------------------------------------


def test_p_values_are_poisson_by_hand() -> None:
    violations = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    expected = np.zeros((2, 3, 3))
    expected[:, 0, 1] = expected[:, 1, 0] = 0.5, 1.5
    expected[:, 1, 2] = expected[:, 2, 1] = 0.0, 0.3
    found = explained_by_chance(graph_of(violations), expected)
    two = ((1 - exp(-0.5) * 1.5) + (1 - exp(-1.5) * 2.5)) / 2
    one = (0 + 1 - exp(-0.3)) / 2
    np.testing.assert_allclose(found, [[1, two, 1], [two, 1, one], [1, one, 1]], rtol=1e-12)


def test_p_values_fall_with_the_count_and_rise_with_what_is_expected() -> None:
    counts = np.array([[v] for v in range(8)])
    by_count = np.zeros((8, 8), dtype=np.int64) + counts
    expected = np.zeros((3, 8, 8)) + np.linspace(0.2, 3, 8) * np.array([0.5, 1, 1.5])[:, None, None]
    found = explained_by_chance(graph_of(by_count), expected)
    assert (found[0] == 1).all()
    assert (np.diff(found, axis=0) < 0).all()
    assert (np.diff(found[1:], axis=1) > 0).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_what_is_expected_of_others_is_refused() -> None:
    graph = graph_of(np.zeros((3, 3), dtype=np.int64))
    for wrong in (np.zeros((3, 3)), np.zeros((2, 4, 4)), np.zeros((0, 3, 3)), np.array([])):
        with pytest.raises(ValueError, match=r"expected has shape \(.*\(3, 3\)"):
            explained_by_chance(graph, wrong)
    nobody = expected_violations(
        np.zeros((0, 2)), [], Opinions.from_codes(np.full((1, 3), -1), classes=range(2))
    )
    with pytest.raises(ValueError, match="one or more replicates"):
        forgive(graph, nobody)


# --- forgiving --------------------------------------------------------------------------------


@pytest.fixture
def graph() -> SimilarityGraph:
    rng = np.random.default_rng(4)
    upper = np.triu(rng.poisson(1.0, (6, 6)), 1)
    return graph_of(upper + upper.T)


@pytest.fixture
def expected() -> Array:
    upper = np.triu(np.random.default_rng(5).gamma(1.0, 0.5, (4, 6, 6)), 1)
    return upper + upper.swapaxes(1, 2)


def test_forgiving_takes_away_what_chance_explains_and_nothing_else(graph, expected) -> None:
    before = graph.violations.copy()
    found = forgive(graph, expected, 0.2)
    p = explained_by_chance(graph, expected)
    forgiven = (p >= 0.2) & (before > 0)
    kept = (p < 0.2) & (before > 0)
    assert forgiven.any()
    assert kept.any()
    assert (found.violations[forgiven] == 0).all()
    assert (found.violations[kept] == before[kept]).all()
    assert (found.violations[before == 0] == 0).all()
    assert found.violations.dtype == np.int64
    np.testing.assert_array_equal(found.violations, found.violations.T)
    np.testing.assert_array_equal(found.edges, (graph.together > 0) & ~kept)
    np.testing.assert_array_equal(graph.violations, before)
    for name in ("experts", "together", "loss_change", "loss"):
        assert getattr(found, name) is getattr(graph, name)


def test_levels_from_all_forgiven_to_the_papers_rule(graph, expected) -> None:
    violations = [forgive(graph, expected, level).violations for level in (0, 0.01, 0.1, 0.5, 1)]
    assert (violations[0] == 0).all()
    impossible = np.zeros_like(expected)
    assert (forgive(graph, impossible, 0).violations == 0).all()
    np.testing.assert_array_equal(forgive(graph, impossible).violations, graph.violations)
    assert all((a <= b).all() for a, b in pairwise(violations))
    np.testing.assert_array_equal(violations[-1], graph.violations)
    np.testing.assert_array_equal(
        forgive(graph, expected).violations, forgive(graph, expected, LEVEL).violations
    )


def test_who_never_met_gets_no_edge_by_being_forgiven() -> None:
    nothing = np.zeros((3, 3), dtype=np.int64)
    strangers = SimilarityGraph(pd.Index(list("abc")), nothing, nothing, np.zeros((3, 3)))
    assert not forgive(strangers, np.ones((1, 3, 3)), 0).edges.any()


@pytest.mark.parametrize("level", [-0.01, 1.01, np.nan])
def test_a_level_is_a_probability(graph, expected, level: float) -> None:
    with pytest.raises(ValueError, match=f"level is {level}"):
        forgive(graph, expected, level)


def test_under_log_loss_a_violation_forgiven_costs_as_much_as_ever() -> None:
    log_p = np.log([[[0.5, 0.5], [0.8, 0.2]]])
    said = Opinions.from_codes([[0, 1]])
    one_apart = SimilarityGraph.from_opinions(log_p, said, loss="log")
    found = forgive(one_apart, np.ones((1, 2, 2)), 0)
    assert found.edges[0, 1]
    assert found.weights[0, 1] == np.inf
    assert partition.greedy(found, 2, rng=np.random.default_rng(0)) == [[0], [1]]


# --- half samples -----------------------------------------------------------------------------


def frequencies(opinions: Opinions, about: Opinions) -> Array:
    """How often each expert says each label, as log-marginals of other opinions."""
    counts = np.ones((len(opinions.experts), opinions.n_classes))
    np.add.at(counts, (opinions.expert_codes, opinions.label_codes), 1)
    return np.log(counts / counts.sum(axis=1, keepdims=True))[about.expert_codes]


@pytest.mark.parametrize("n", [2, 11, 12])
def test_halves_are_halves(n: int) -> None:
    names = [f"case {i}" for i in range(n)]
    opinions = Opinions.from_codes(
        np.random.default_rng(6).integers(-1, 3, (n, 4)), names, list("abcd"), range(3)
    )
    given: list[Opinions] = []

    def remember(part: Opinions) -> Array:
        given.append(part)
        return frequencies(part, opinions)

    for _ in half_samples(remember, opinions, 100, np.random.default_rng(7)):
        part = given[-1]
        assert len(part.instances) == len(set(part.instances)) == (n + 1) // 2
        assert part.experts.equals(opinions.experts)
        assert part.classes.equals(opinions.classes)
        whole = opinions.select(instances=part.instances)
        np.testing.assert_array_equal(part.labels, whole.labels)
        assert list(part.instances) == [name for name in names if name in set(part.instances)]
    assert len(given) == 100
    taken = pd.Series(np.concatenate([part.instances for part in given])).value_counts()
    assert len(taken) == n
    assert taken.between(30, 80).all()


def test_halves_hang_on_the_seed_and_are_learned_one_by_one() -> None:
    opinions = with_gaps(np.random.default_rng(8), 20, 3, 3)
    calls = []

    def count(part: Opinions) -> Array:
        calls.append(tuple(part.instances))
        return frequencies(part, opinions)

    first = iter(half_samples(count, opinions, 3, np.random.default_rng(9)))
    assert not calls
    one = next(first)
    assert len(calls) == 1
    rest = list(first)
    again = list(half_samples(count, opinions, 3, np.random.default_rng(9)))
    assert calls[:3] == calls[3:]
    assert len(set(calls)) == 3
    np.testing.assert_array_equal(again, [one, *rest])
    other = list(half_samples(count, opinions, 3, np.random.default_rng(10)))
    assert not np.array_equal(other, again)


def test_a_half_knows_nothing_of_the_other() -> None:
    opinions = with_gaps(np.random.default_rng(11), 20, 3, 3)
    parts = []

    def learner(about: Opinions) -> Callable[[Opinions], Array]:
        def from_part(part: Opinions) -> Array:
            parts.append(part.instances)
            return frequencies(part, about)

        return from_part

    (before,) = half_samples(learner(opinions), opinions, 1, np.random.default_rng(12))
    labels = opinions.labels.copy()
    other = ~np.isin(np.arange(20), parts[0])
    labels[other] = np.where(labels[other] >= 0, 2 - labels[other], -1)
    altered = Opinions.from_codes(labels, classes=range(3))
    (after,) = half_samples(learner(altered), altered, 1, np.random.default_rng(12))
    np.testing.assert_array_equal(after, before)
    labels[~other] = np.where(labels[~other] >= 0, 2 - labels[~other], -1)
    all_new = Opinions.from_codes(labels, classes=range(3))
    (changed,) = half_samples(learner(all_new), all_new, 1, np.random.default_rng(12))
    assert not np.array_equal(changed, before)


def test_half_and_whole_differ_as_whole_and_truth_do() -> None:
    """What the module rests on, on an estimate whose error is known: a frequency."""
    n, p, rng = 400, 0.3, np.random.default_rng(13)
    spread = []
    for _ in range(8):
        opinions = Opinions.from_codes((rng.random((n, 1)) < p).astype(int), classes=range(2))
        whole = np.exp(frequencies(opinions, opinions))[0, 1]
        halves = half_samples(lambda part: frequencies(part, part), opinions, 60, rng)
        spread.append(np.mean([(np.exp(half)[0, 1] - whole) ** 2 for half in halves]))
    assert np.mean(spread) == pytest.approx(p * (1 - p) / n, rel=0.15)


# --- does it work -----------------------------------------------------------------------------


def p_values_of_pairs(
    shared: bool, error: float, n_replicates: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """P-values and violations of pairs of experts whose estimates err alike on all instances.

    So do those of learned habits. Replicates err around the estimate as it does around the truth.
    """
    n_pairs, n, k = 60, 60, 3
    common = 1.5 * rng.normal(size=(n_pairs, n, 1, k))
    truth = log_normalised(common + rng.normal(size=(n_pairs, 1, 2, k)))

    def off(log_p: Array) -> Array:
        return log_normalised(log_p + error * rng.normal(size=(n_pairs, 1, 2, k)))

    known = off(truth)
    noise = gumbel.sample_noise(k, (n_pairs, n, 1 if shared else 2), rng)
    opinions = Opinions(
        pd.RangeIndex(n_pairs * n),
        pd.RangeIndex(2 * n_pairs),
        pd.RangeIndex(k),
        np.arange(n_pairs * n).repeat(2),
        2 * np.arange(n_pairs).repeat(2 * n) + np.tile([0, 1], n_pairs * n),
        (truth + noise).argmax(axis=-1).ravel(),
    )
    graph = SimilarityGraph.from_opinions(known.reshape(-1, k), opinions)
    replicates = (off(known).reshape(-1, k) for _ in range(n_replicates))
    expected = expected_violations(known.reshape(-1, k), replicates, opinions)
    pair = 2 * np.arange(n_pairs), 2 * np.arange(n_pairs) + 1
    return explained_by_chance(graph, expected)[pair], graph.violations[pair]


def test_similar_pairs_are_cut_about_as_rarely_as_the_level_says() -> None:
    rng = np.random.default_rng(14)
    p, violations = np.concatenate(
        [p_values_of_pairs(True, 0.5, 50, rng) for _ in range(5)], axis=1
    )
    assert (violations > 0).mean() > 0.2  # cut by the paper's rule
    for level in (LEVEL, 0.05, 0.1):
        assert (p < level).mean() < level + 3 * np.sqrt(level * (1 - level) / len(p))
    assert (p < 0.1).mean() > 0.03  # counts are few and whole, so no level is reached exactly


def test_with_few_replicates_more_similar_pairs_are_cut_than_the_level_says() -> None:
    rng = np.random.default_rng(14)
    few = np.concatenate([p_values_of_pairs(True, 0.5, 5, rng)[0] for _ in range(10)])
    assert (few < LEVEL).mean() > 3 * LEVEL


def test_pairs_with_noises_of_their_own_are_cut_if_the_estimates_can_tell() -> None:
    p, _ = p_values_of_pairs(False, 0.15, 10, np.random.default_rng(15))
    assert (p < LEVEL).mean() > 0.9
    unsure, _ = p_values_of_pairs(False, 1.0, 10, np.random.default_rng(15))
    assert (unsure < LEVEL).mean() < (p < LEVEL).mean() - 0.2


def forgiven_and_not(panel: SyntheticPanel, rng: np.random.Generator) -> list[SimilarityGraph]:
    """The graphs by the paper's rule and with tolerance, habits learned from the same opinions."""
    opinions, k = panel.opinions, panel.opinions.n_classes

    def learned(part: Opinions) -> Array:
        return learn(LOGIT, panel.X[part.instances], part, panel.X, rng).reshape(-1, k)

    log_p = learned(opinions)
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    halves = half_samples(learned, opinions, 10, rng)
    return [graph, forgive(graph, expected_violations(log_p, halves, opinions))]


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_groups_are_found_that_the_papers_rule_tears_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    panel = make_synthetic_panel(300, rng, group_sizes=(3, 4, 5), n_classes=5, n_features=5)
    graphs = forgiven_and_not(panel, rng)
    number = partition.group_of(panel.groups, range(12))
    similar = (number[:, None] == number) & ~np.eye(12, dtype=bool)
    found = [
        adjusted_rand(panel.groups, partition.greedy(graph, 5, rng=np.random.default_rng(0)))
        for graph in graphs
    ]
    assert found[0] < 0.75
    assert found[1] > found[0] + 0.2
    assert found[1] > 0.95
    assert graphs[1].edges[similar].mean() > graphs[0].edges[similar].mean()
    assert not graphs[1].edges[~similar].any()  # nobody is forgiven who should not be


def test_a_replicate_about_fewer_opinions_is_refused() -> None:
    opinions = Opinions.from_codes([[0, 1], [1, 1]])
    log_p = np.log(np.full((4, 2), 0.5))
    with pytest.raises(ValueError, match=r"shape \(3, 2\), but .* have \(4, 2\)"):
        expected_violations(log_p, [log_p, log_p[:3]], opinions)
