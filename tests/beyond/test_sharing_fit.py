"""Groups and sharing: against brute force, finite differences, and what was planted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from graded_panels import GradedPanel, ends_of, graded_panel, parts_of, standard_errors
from one_by_one import all_partitions
from scipy.special import expit, logit

from siscm import Opinions
from siscm.beyond import sharing_errors, sharing_fit
from siscm.beyond.chunks import split
from siscm.beyond.gaussian import TwoOpinions
from siscm.beyond.noises import Noise, excess
from siscm.beyond.sharing import MOST, NODES, SharingEvidence
from siscm.beyond.sharing_fit import (
    choose_groups,
    experts_sharing,
    fit_sharing,
    likeliest_groups,
    likelihood_graph,
)
from siscm.partition import Groups, group_of

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

pytestmark = pytest.mark.usefixtures("one_thread")

NOISES: list[Noise] = ["gumbel", "uniform"]
ONE_GROUP: Groups = [list(range(6))]


def inside(evidence: SharingEvidence, groups: Groups, lam: float) -> float:
    """The log-likelihood of the pairs of one group."""
    return float(evidence.inside(groups).log_likelihood(lam)[0].sum())


def evidence_of(panel: GradedPanel, noise: Noise = "gumbel") -> SharingEvidence:
    return SharingEvidence.from_opinions(*panel, noise)


def likeliest(evidence: SharingEvidence, n_restarts: int, rng: np.random.Generator) -> Groups:
    known = evidence.experts, evidence.key, evidence.at_nodes()
    return likeliest_groups(*known, n_restarts, rng=rng)


def chosen(panel: GradedPanel, seed: int) -> tuple[Groups, FloatArray]:
    """Groups, and sharing of all experts, learned as the estimator learns them."""
    rng = np.random.default_rng(seed)
    parts = parts_of(panel, rng)
    _, groups, evidence = choose_groups(parts, 5, rng=rng)
    return groups, experts_sharing(evidence)


# The likeliest groups


def test_the_graph_of_log_likelihoods() -> None:
    panel = graded_panel(np.random.default_rng(0), 20, [[0, 1, 2, 3]], [0.7] * 4)
    seen = panel.opinions.labels.copy()
    seen[:10, 0] = seen[10:, 1] = -1  # experts 0 and 1 never meet
    evidence = SharingEvidence.from_opinions(panel.log_p, Opinions.from_codes(seen))
    graph = likelihood_graph(evidence.experts, evidence.key, evidence.log_likelihood(0.4)[0])
    expected = 1e-6 * np.triu(np.ones((4, 4)), 1)
    expected[evidence.first, evidence.second] -= 2 * evidence.log_likelihood(0.4)[0]
    assert (0, 1) not in set(zip(evidence.first.tolist(), evidence.second.tolist(), strict=True))
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(graph.weights[apart], (expected + expected.T)[apart])
    np.testing.assert_array_equal(graph.edges, apart)


@pytest.mark.parametrize("seed", range(12))
def test_the_likeliest_of_all_partitions_at_all_nodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    everybody = range(int(rng.integers(2, 7)))
    candidates = list(all_partitions(everybody))
    truth = candidates[rng.integers(len(candidates))]
    panel = graded_panel(rng, 12, truth, rng.random(len(everybody)), asked=0.7)
    evidence = evidence_of(panel)
    groups = likeliest(evidence, 20, rng)
    found = max(inside(evidence, groups, node) for node in NODES)
    best = max(inside(evidence, other, node) for other in candidates for node in NODES)
    assert found == pytest.approx(best, abs=1e-9)


def test_little_sharing_is_found_too() -> None:
    panel = graded_panel(np.random.default_rng(1), 600, ONE_GROUP, [0.35] * 6)
    evidence = evidence_of(panel)
    groups = likeliest(evidence, 3, np.random.default_rng(0))
    assert groups == ONE_GROUP
    lam = NODES[evidence.together_at_nodes().argmax()]
    assert lam == pytest.approx(0.35**2, abs=0.08)


def test_where_sharing_never_pays_everybody_is_alone() -> None:
    """Two who contradict each other each time."""
    log_p = np.log([[[0.5, 0.5], [0.8, 0.2]]]).repeat(3, axis=0)
    evidence = SharingEvidence.from_opinions(log_p, Opinions.from_codes([[0, 1]] * 3))
    rng = np.random.default_rng(0)
    assert likeliest(evidence, 3, rng) == [[0], [1]]


def test_groups_are_the_likeliest_pair_by_pair_not_of_all_that_was_said() -> None:
    """Of habits of a half: two who always agree, and one who agrees with them on three of four."""
    said = np.arange(1200).reshape(3, 400).T % 2
    said[::4, 2] = 1 - said[::4, 2]
    log_p = np.full((400, 3, 2), np.log(0.5))
    evidence = SharingEvidence.from_opinions(log_p, Opinions.from_codes(said))
    assert likeliest(evidence, 3, np.random.default_rng(0)) == [[0, 1, 2]]
    # The chance that all three say one thing is (1 + 3λ) / 8, and (1 - λ) / 8 of anything else.
    lam = np.linspace(0, 0.99, 100)
    of_three = 300 * np.log1p(3 * lam) + 100 * np.log1p(-lam)
    assert of_three.max() < 400 * np.log1p(lam.max())


def test_two_who_never_met_are_apart_unless_others_join_them() -> None:
    seen = np.zeros((6, 5), dtype=int)
    seen[:3, 2:] = seen[3:, :2] = -1  # experts 0 and 1 agree, as do 2 and 3; these four never meet
    seen[:, 4] = -1
    log_p = np.full((6, 5, 2), np.log(0.5))
    rng = np.random.default_rng(0)
    apart = SharingEvidence.from_opinions(log_p, Opinions.from_codes(seen, classes=[0, 1]))
    assert likeliest(apart, 3, rng) == [[0, 1], [2, 3], [4]]
    seen[:, 4] = 0  # and one agrees with them all
    joined = SharingEvidence.from_opinions(log_p, Opinions.from_codes(seen, classes=[0, 1]))
    assert likeliest(joined, 3, rng) == [list(range(5))]


# What was planted comes back


@pytest.mark.parametrize("seed", range(3))
def test_planted_groups_that_always_share_come_back(seed: int) -> None:
    truth = [[0, 1, 2, 3], [4, 5, 6], [7, 8]]
    panel = graded_panel(np.random.default_rng(seed), 120, truth, np.ones(9), asked=0.8)
    groups, a = chosen(panel, seed)
    assert groups == truth
    assert (a > 0.99).all()
    assert (a**2 <= MOST * (1 + 1e-9)).all()  # never certain


@pytest.mark.parametrize("seed", range(3))
def test_planted_groups_that_mostly_share_come_back(seed: int) -> None:
    truth = [[0, 1, 2, 3], [4, 5, 6, 7]]
    panel = graded_panel(np.random.default_rng(seed), 200, truth, np.full(8, 0.8), asked=0.8)
    groups, a = chosen(panel, seed)
    assert groups == truth
    assert a.mean() == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_one_group_that_shares_little_is_one_group(seed: int) -> None:
    """Pairs alone tell too little to part it rightly, so that no parting of it predicts better."""
    panel = graded_panel(np.random.default_rng(seed), 200, [list(range(8))], [0.55] * 8, asked=0.8)
    groups, a = chosen(panel, seed)
    assert groups == [list(range(8))]
    assert a.mean() == pytest.approx(0.55, abs=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_independent_experts_share_next_to_nothing(seed: int) -> None:
    """Whatever groups chance suggests; and no pair's log-likelihood is promised to rise much."""
    panel = graded_panel(np.random.default_rng(seed), 400, [[h] for h in range(8)], np.zeros(8))
    groups, a = chosen(panel, seed)
    number = group_of(groups, range(8))
    pairs = np.outer(a, a)[np.equal.outer(number, number) & ~np.eye(8, dtype=bool)]
    assert pairs.max(initial=0) < 0.25


def test_choosing_by_what_was_left_out() -> None:
    """Evidence of learned groups is that of pairs grouped without it, part by part."""
    panel = graded_panel(
        np.random.default_rng(0), 150, [[0, 1, 2], [3, 4, 5]], np.full(6, 0.95), asked=0.8
    )
    rng = np.random.default_rng(0)
    parts = parts_of(panel, rng)
    _, groups, evidence = choose_groups(parts, 5, rng=rng)
    assert groups == [[0, 1, 2], [3, 4, 5]]
    whole = evidence_of(panel).inside(groups)
    np.testing.assert_allclose(evidence.values, whole.values, atol=1e-9)


def test_evidence_takes_the_bytes_for_a_pair_that_the_docstring_says() -> None:
    text = " ".join(str(fit_sharing.__doc__).split())
    (promised,) = re.findall(r"at most ([\d,]+) bytes for every pair of experts who met", text)
    evidence = evidence_of(graded_panel(np.random.default_rng(0), 9, ONE_GROUP, [0.5] * 6))
    arrays = [value for value in vars(evidence).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 2
    n_bytes = sum(array.nbytes for array in arrays)
    assert n_bytes == int(promised.replace(",", "")) * len(evidence.key)


def test_chunks_judge_in_parts_by_their_number() -> None:
    """Chunk 0 with chunks 4 and 8, chunk 1 with chunk 5, and so on."""
    panel = graded_panel(
        np.random.default_rng(3), 90, [[0, 1, 2], [3, 4, 5]], np.full(6, 0.8), asked=0.8
    )
    chunks = split(*panel.chunk, 9)
    said = [SharingEvidence.from_opinions(*chunk) for chunk in chunks]
    parts = [reduce(add, said[i::4]) for i in range(4)]
    _, groups, evidence = choose_groups(parts, 3, rng=np.random.default_rng(0))
    a = experts_sharing(evidence)
    low, high = ends_of(chunks, groups, a, evidence, "gumbel")
    _, found, _, table = fit_sharing(chunks, "gumbel", rng=np.random.default_rng(0))
    assert found == groups
    assert table.index.tolist() == panel.opinions.experts.tolist()
    np.testing.assert_array_equal(table["sharing"], a)
    np.testing.assert_array_equal(table["low"], low)
    np.testing.assert_array_equal(table["high"], high)
    # What is given is taken.
    apart = [[0, 1, 3], [2, 4], [5]]
    _, found, _, table = fit_sharing(chunks, "gumbel", rng=np.random.default_rng(0), groups=apart)
    assert found == apart
    np.testing.assert_allclose(table["sharing"], experts_sharing(reduce(add, said).inside(apart)))
    _, found, _, table = fit_sharing(chunks, "gumbel", rng=np.random.default_rng(0), sharing=a)
    assert (found, table.columns.tolist()) == (groups, ["sharing"])
    np.testing.assert_array_equal(table["sharing"], a)


# Sharing of experts


def slow_minus_penalised(log_odds: FloatArray, panel: GradedPanel, spread: float) -> float:
    """From the excess of every pair, with nothing interpolated."""
    a, y = expit(log_odds), panel.opinions.labels
    value = 0.0
    for h in range(len(a)):
        for g in range(h + 1, len(a)):
            rho = excess(
                TwoOpinions(panel.log_p[:, h], panel.log_p[:, g], y[:, h], y[:, g]), "gumbel"
            )
            value += np.log1p(a[h] * a[g] * rho).sum()
    return float(((log_odds - log_odds.mean()) ** 2).sum() / (2 * spread**2) - value)


def test_the_penalised_likelihood_and_its_gradient() -> None:
    rng = np.random.default_rng(1)
    panel = graded_panel(rng, 60, [[0, 1, 2, 3]], [0.8] * 4)
    evidence = evidence_of(panel)
    for _ in range(10):
        at = rng.normal(size=4)
        value, gradient = sharing_fit._minus_penalised(at, evidence)
        expected = slow_minus_penalised(at, panel, sharing_fit.SPREAD)
        assert value == pytest.approx(expected, abs=0.02)
        step = 1e-6 * np.eye(4)
        found = [
            (
                sharing_fit._minus_penalised(at + d, evidence)[0]
                - sharing_fit._minus_penalised(at - d, evidence)[0]
            )
            / 2e-6
            for d in step
        ]
        np.testing.assert_allclose(gradient, found, rtol=1e-4, atol=1e-4)


def test_nothing_is_likelier_with_that_penalty() -> None:
    rng = np.random.default_rng(2)
    evidence = evidence_of(graded_panel(rng, 150, ONE_GROUP, np.linspace(0.4, 0.9, 6)))
    found = logit(experts_sharing(evidence))
    best = sharing_fit._minus_penalised(found, evidence)[0]
    for _ in range(200):
        other = found + rng.normal(scale=rng.choice([0.01, 0.1, 1]), size=6)
        assert sharing_fit._minus_penalised(other, evidence)[0] >= best - 1e-3


def estimates(
    n_panels: int, n: int, truths: FloatArray | None, noise: Noise = "gumbel"
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Errors of the log-odds, how large they are said to be, and whether intervals hold the truth.

    (panels, experts) each. If truths are None, they are drawn as the estimator supposes: log-odds
    of six around a mean.
    """
    n_experts = 6 if truths is None else len(truths)
    group = [list(range(n_experts))]
    off, size, held = np.empty((3, n_panels, n_experts))
    for i in range(n_panels):
        rng = np.random.default_rng(i)
        spread = sharing_fit.SPREAD
        a = expit(0.6 + spread * rng.normal(size=6)) if truths is None else truths
        panel = graded_panel(rng, n, group, a, noise=noise)
        evidence = evidence_of(panel, noise)
        found = experts_sharing(evidence)
        off[i] = logit(found) - logit(a)
        size[i] = standard_errors([panel.chunk], group, found, noise)
        low, high = ends_of([panel.chunk], group, found, evidence, noise)
        held[i] = (low <= a) & (a <= high)
    return off, size, held


def test_intervals_of_experts_who_differ_as_supposed() -> None:
    """Unbiased on average, and 600 intervals cover about 95 % of the truths."""
    off, _, held = estimates(100, 120, None)
    assert abs(off.mean()) < 3 * off.mean(axis=1).std() / 10
    assert 0.9 < held.mean() < 0.99


@pytest.mark.parametrize("noise", NOISES)
def test_intervals_of_any_sharing_with_a_weak_prior(
    noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each expert's estimate is right on average where the prior does not pull at it."""
    for module in (sharing_fit, sharing_errors):
        monkeypatch.setattr(module, "SPREAD", 4.0)
    off, size, held = estimates(100, 300, np.array([0.3, 0.45, 0.6, 0.7, 0.8, 0.9]), noise)
    assert (np.abs(np.median(off, axis=0)) < 0.5 * size.mean(axis=0)).all()
    assert (held.mean(axis=0) >= 0.88).all()
    assert 0.9 < held.mean() < 0.99


@pytest.mark.parametrize(
    ("n", "sharing", "n_experts"),
    [(10, 0.8, 2), (30, 0.95, 2), (60, 0.95, 3), (60, 0.95, 6), (60, 0.99, 6), (30, 0.1, 6)],
)
@pytest.mark.parametrize("noise", ["gumbel", "gaussian"])
def test_intervals_cover_near_the_ends_and_with_few_instances(
    n: int, sharing: float, n_experts: int, noise: Noise
) -> None:
    """Where the sharing that is found is often at its bound, and curvature tells nothing."""
    held = estimates(60, n, np.full(n_experts, np.sqrt(sharing)), noise)[2]
    assert held.mean() >= 0.9


def test_intervals_are_not_so_wide_as_to_say_nothing() -> None:
    panel = graded_panel(np.random.default_rng(0), 60, ONE_GROUP, np.full(6, np.sqrt(0.95)))
    evidence = evidence_of(panel)
    found = experts_sharing(evidence)
    low, high = ends_of([panel.chunk], ONE_GROUP, found, evidence, "gumbel")
    assert (high - low < 0.15).all()


def test_a_fall_that_goes_back_counts_as_deep_as_it_was() -> None:
    """Between two shifts the likelihood may rise again; the interval has ended by then."""
    off = sharing_errors.Errors(np.full((1, 1), 0.04), 1.0)
    deep = np.minimum(sharing_errors.SHIFTS, 1) * 4
    back = np.where(sharing_errors.SHIFTS > 2, 1.0, deep)
    ends = [
        sharing_errors.interval_ends(np.array([0.5]), off, np.array([fall, fall]))
        for fall in (deep, back)
    ]
    np.testing.assert_array_equal(*ends)
    assert 0.2 < ends[0][0][0] < 0.5


@pytest.mark.parametrize(
    ("scale", "worth"), [(0, 3), (0.5, 2), (1 - 1e-6, 1), (1 + 1e-6, 1), (2, 2)]
)
def test_what_an_instance_is_worth_goes_over_smoothly(
    monkeypatch: pytest.MonkeyPatch, scale: float, worth: float
) -> None:
    """From the sandwich's word to that of as many opinions as there are on an instance."""
    identity = np.eye(6).ravel()
    found = np.concatenate([identity, scale * identity, [60 * 5, 60]])
    monkeypatch.setattr(sharing_errors, "total", lambda *_: found)
    off = sharing_errors.errors([], ONE_GROUP, np.full(6, 0.7), "gumbel")
    assert off.worth == pytest.approx(worth, abs=1e-4)


@pytest.mark.parametrize("n", [5, 20, 80])
def test_two_who_always_agreed_may_have_shared_less(n: int) -> None:
    """Interval against the likelihood: each further case counts, none makes certain."""
    p = np.full((n, 2, 2), 0.5)
    opinions = Opinions.from_codes(np.arange(n)[:, None].repeat(2, axis=1) % 2)
    evidence = SharingEvidence.from_opinions(np.log(p), opinions)
    found = experts_sharing(evidence)
    rows = np.log(np.full((2 * n, 2), 0.5))
    low, high = ends_of([(rows, opinions)], [[0, 1]], found, evidence, "gumbel")
    assert (found > 0.999).all()
    assert (high == 1).all()
    # Alike in all but their distance from the mean, of which the prior alone knows.
    pair = np.linspace(0, MOST, 100_000)
    fallen = n * (np.log1p(MOST) - np.log1p(pair))  # two labels, each with a half: 1 + λ
    least = pair[fallen < 1.96**2 / 2].min()
    of_mean = logit(found[0]) - logit(np.sqrt(least))
    of_distance = 1.96 * sharing_fit.SPREAD / np.sqrt(2)
    expected = expit(logit(found) - np.hypot(of_mean, of_distance)) if least > 0 else [0, 0]
    np.testing.assert_allclose(low, expected, rtol=0.1)


def test_intervals_where_no_two_of_the_final_groups_met() -> None:
    """Sharing is learned from groups that were found without each part, and these may differ."""
    panel = graded_panel(np.random.default_rng(0), 60, ONE_GROUP, np.full(6, 0.7))
    evidence = evidence_of(panel)
    a = experts_sharing(evidence)
    alone = [[h] for h in range(6)]
    off = sharing_errors.errors([panel.chunk], alone, a, "gumbel")
    assert off.worth == 1
    low, high = ends_of([panel.chunk], alone, a, evidence, "gumbel")
    assert (low < a).all()
    assert (a < high).all()


def test_an_interval_holds_no_sharing_where_nothing_speaks_against_it() -> None:
    panel = graded_panel(np.random.default_rng(0), 100, ONE_GROUP, np.zeros(6))
    evidence = evidence_of(panel)
    found = experts_sharing(evidence)
    low, high = ends_of([panel.chunk], ONE_GROUP, found, evidence, "gumbel")
    assert (low == 0).all()
    assert (high > 0).all()
    assert (high < 0.7).all()


def test_with_more_data_the_prior_matters_less() -> None:
    """Experts who differ by more than it supposes are drawn to each other, with few opinions."""
    truth = np.array([0.3, 0.45, 0.6, 0.7, 0.8, 0.9])
    few, many = (np.mean(np.abs(estimates(8, n, truth)[0])) for n in (60, 3000))
    assert many < 0.4 * few


@pytest.mark.parametrize(("hers", "others"), [(0.1, 0.8), (0.95, 0.4)])
def test_somebody_far_from_all_others_is_drawn_out_of_her_interval(hers, others) -> None:
    """Far below them she is said to share more than she does, far above less."""
    off, _, held = estimates(20, 120, np.array([hers, *[others] * 5]))
    towards = np.sign(logit(others) - logit(hers)) * off[:, 0]
    assert (towards > 0).mean() > 0.9
    missed = 1 - held.mean(axis=0)
    assert missed[0] > 0.5 > 0.2 > missed[1:].mean()


def test_whoever_met_nobody_gets_the_mean() -> None:
    panel = graded_panel(np.random.default_rng(3), 200, ONE_GROUP, np.linspace(0.4, 0.9, 6))
    codes = np.insert(panel.opinions.labels, 2, -1, axis=1)
    codes = np.vstack([codes, np.eye(7, dtype=int)[2] - 1])  # expert 2, alone on one instance
    log_p = np.full((201, 7, 3), np.log(1 / 3))
    log_p[:200, [0, 1, 3, 4, 5, 6]] = panel.log_p
    opinions = Opinions.from_codes(codes, classes=range(3))
    a = experts_sharing(SharingEvidence.from_opinions(log_p, opinions))
    others = np.delete(a, 2)
    assert logit(a[2]) == pytest.approx(logit(others).mean(), abs=1e-3)
    np.testing.assert_allclose(others, experts_sharing(evidence_of(panel)), atol=1e-3)
    groups = [list(range(7))]
    rows = log_p[opinions.instance_codes, opinions.expert_codes]
    errors = standard_errors([(rows, opinions)], groups, a, "gumbel")
    # Her sharing is known as well as that of an expert drawn at random.
    assert errors[2] > sharing_fit.SPREAD
    assert errors.argmax() == 2


def test_nobody_met_anybody() -> None:
    opinions = Opinions.from_codes(np.eye(3, dtype=int) - 1)
    evidence = SharingEvidence.from_opinions(np.zeros((3, 3, 1)), opinions)
    assert experts_sharing(evidence).tolist() == [0, 0, 0]
    parts = [evidence, evidence]
    _, groups, found = choose_groups(parts, 2, rng=np.random.default_rng(0))
    assert sorted(h for group in groups for h in group) == [0, 1, 2]
    assert len(found.first) == 0


# Their errors


def test_errors_are_the_sandwich() -> None:
    """Curvature and scores by finite differences, of a log-likelihood that nothing shares with."""
    rng = np.random.default_rng(4)
    panel = graded_panel(rng, 50, [[0, 1, 2, 3]], [0.5, 0.6, 0.7, 0.8])
    at, spread = logit(np.array([0.45, 0.65, 0.7, 0.75])), sharing_fit.SPREAD
    step = 1e-4 * np.eye(4)

    def change(f: Callable[[FloatArray], float], d: FloatArray) -> float:
        return (f(at + d) - f(at - d)) / 2e-4

    def slope(x: FloatArray, d: FloatArray) -> float:
        up, down = (slow_minus_penalised(x + side * d, panel, spread) for side in (1, -1))
        return (up - down) / 2e-4

    curvature = np.array([[change(partial(slope, d=e), d) for d in step] for e in step])
    scores = np.empty((50, 4))
    for i in range(50):
        alone = GradedPanel(panel.log_p[[i]], panel.opinions.select(instances=[i]))
        scores[i] = [
            change(partial(slow_minus_penalised, panel=alone, spread=np.inf), d) for d in step
        ]
    prior = (np.eye(4) - 1 / 4) / spread**2
    inverse = np.linalg.inv(curvature)
    expected = np.sqrt(np.diag(inverse @ (prior + scores.T @ scores) @ inverse))
    found = standard_errors([panel.chunk], [[0, 1, 2, 3]], expit(at), "gumbel")
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_pairs_across_groups_say_nothing_about_errors() -> None:
    panel = graded_panel(np.random.default_rng(5), 80, [[0, 1], [2, 3]], [0.8] * 4)
    a = np.array([0.7, 0.75, 0.8, 0.85])
    groups = [[0, 1], [2, 3]]
    both = standard_errors([panel.chunk], groups, a, "gumbel")
    # The same opinions, but the two groups never on one instance.
    codes = np.full((160, 4), -1)
    codes[:80, :2], codes[80:, 2:] = (panel.opinions.labels[:, group] for group in groups)
    apart = Opinions.from_codes(codes)
    rows = np.concatenate([panel.log_p] * 2)[apart.instance_codes, apart.expert_codes]
    # Scores of one instance are then added up apart: the same up to their chance correlation.
    np.testing.assert_allclose(
        standard_errors([(rows, apart)], groups, a, "gumbel"), both, rtol=0.1
    )


def test_more_opinions_smaller_errors() -> None:
    sizes = []
    for n in (200, 800):
        panel = graded_panel(np.random.default_rng(6), n, ONE_GROUP, [0.7] * 6)
        sizes.append(standard_errors([panel.chunk], ONE_GROUP, np.full(6, 0.7), "gumbel"))
    assert 1.5 < (sizes[0] / sizes[1]).mean() < 2.1


def scripted(monkeypatch: pytest.MonkeyPatch, groups: Sequence[Groups]) -> None:
    """Groups that Algorithm 1 finds, one call after the other."""
    answers = iter(groups)
    monkeypatch.setattr(sharing_fit, "likeliest_groups", lambda *_, **__: next(answers))


def rising(key: Sequence[int], values: Sequence[float], n: int = 3) -> SharingEvidence:
    """Log-likelihoods that rise in proportion to their node."""
    sums = np.concatenate([np.outer(values, NODES), np.zeros((len(key), len(NODES) + 1))], axis=1)
    return SharingEvidence(pd.RangeIndex(n), np.array(key), sums)


def test_what_counts_is_inside_groups_that_were_learned_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Pairs 01, 02, 12; on both parts 01 agrees and the others do not.
    parts = [rising([1, 2, 5], [3, -9, -9]), rising([1, 2, 5], [4, -9, -9])]
    scripted(monkeypatch, [[[0, 1], [2]], [[0], [1, 2]], [[0, 1], [2]]])
    _, groups, evidence = choose_groups(parts, 1, rng=np.random.default_rng(0))
    assert groups == [[0, 1], [2]]
    assert evidence.key.tolist() == [1, 5]
    assert evidence.values[:, -1] == pytest.approx(MOST * np.array([3, -9]))


@pytest.mark.parametrize(("one_more", "together"), [(-0.1, False), (0.1, True)])
def test_one_group_of_all_is_taken_as_soon_as_it_predicts_better(
    monkeypatch: pytest.MonkeyPatch, one_more: float, together: bool
) -> None:
    parts = [rising([1, 2, 5], [3, one_more / 2, 0])] * 2
    scripted(monkeypatch, [[[0, 1], [2]]] * 3)
    likeliest, groups, evidence = choose_groups(parts, 1, rng=np.random.default_rng(0))
    assert likeliest == [[0, 1], [2]]
    assert groups == ([[0, 1, 2]] if together else [[0, 1], [2]])
    assert len(evidence.key) == (3 if together else 1)


@pytest.mark.parametrize("likelier", ["gumbel", "gaussian"])
def test_the_likelier_noise_is_taken_and_each_has_the_same_seed(
    monkeypatch: pytest.MonkeyPatch, likelier: Noise
) -> None:
    seeds = []

    def of(_: object, noise: Noise, *__: object, **___: object) -> list[SharingEvidence]:
        return [rising([1, 2, 5], [1 + (noise == likelier)] * 3)]

    def one_group(
        parts: list[SharingEvidence], _: int, *, rng: np.random.Generator
    ) -> tuple[Groups, Groups, SharingEvidence]:
        seeds.append(rng.random())
        return [[0], [1, 2]], [[0, 1, 2]], parts[0]

    monkeypatch.setattr(sharing_fit, "_evidence_by_part", of)
    monkeypatch.setattr(sharing_fit, "choose_groups", one_group)
    off = sharing_errors.Errors(np.eye(3), 1.0)
    monkeypatch.setattr(sharing_fit, "errors", lambda *_: off)
    found = fit_sharing([], rng=np.random.default_rng(0))
    assert (found.noise, found.groups, found.likeliest) == (likelier, [[0, 1, 2]], [[0], [1, 2]])
    assert seeds == [np.random.default_rng(0).random()] * 2


def test_sharing_given_for_too_few_is_refused() -> None:
    opinions = Opinions.from_codes([[0, 1, 1], [1, 1, 0]])
    chunks = split(np.log(np.full((6, 2), 0.5)), opinions, 2)
    with pytest.raises(ValueError, match="sharing is of 2 experts, but 3 spoke"):
        fit_sharing(chunks, rng=np.random.default_rng(0), sharing=np.ones(2))
