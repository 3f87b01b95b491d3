"""The integer programme: its inequalities hold for every partition, its bounds for every limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, linprog
from strategies import rngs

from siscm import integer_programme
from siscm.integer_programme import Limits, Programme, rounded, violated

NO_LIMIT = Limits(nodes=10**6, rounds=10**6)


def random_programme(rng: np.random.Generator, size: int, levels: int = 3) -> Programme:
    """Weights in thirds, edges with a random density; begins with everybody alone."""
    weights = rng.integers(-levels, levels + 1, size=(size, size)) / 3
    edges = np.triu(rng.random((size, size)) < rng.uniform(0.3, 1), 1)
    return programme(np.triu(weights, 1) + np.triu(weights, 1).T, edges | edges.T)


def programme(weights: np.ndarray, edges: np.ndarray) -> Programme:
    return Programme(edges, weights, np.arange(len(edges)), 1e-6)


def ring(size: int) -> Programme:
    """Everybody has two neighbours, each worth 1: the best are pairs, and it begins with them."""
    edges = np.zeros((size, size), dtype=bool)
    edges[np.arange(size), np.arange(size) - 1] = True
    return Programme(edges | edges.T, np.full((size, size), -1.0), np.arange(size) // 2, 1e-6)


def optimum(problem: Programme) -> float:
    """By dynamic programming over sets of experts: the best for a set, by its last one's group."""
    size = len(problem.edges)
    weights = np.zeros(problem.edges.shape)
    weights[problem.i, problem.j] = problem.cost
    apart = np.triu(~problem.edges, 1)
    sets = np.arange(2**size)
    member = (sets[:, None] >> np.arange(size) & 1).astype(float)
    alone = np.einsum("si,ij,sj->s", member, weights, member)
    alone[np.einsum("si,ij,sj->s", member, apart, member) > 0] = np.inf
    best = np.zeros(2**size)
    for one in sets[1:]:
        last = 1 << (int(one).bit_length() - 1)
        groups = sets[last : one + 1]
        groups = groups[(groups | one) == one]
        best[one] = (alone[groups] + best[one ^ groups]).min()
    return float(best[-1])


def together(number: np.ndarray) -> np.ndarray:
    """The square x of a partition."""
    return (np.equal.outer(number, number) & ~np.eye(len(number), dtype=bool)).astype(float)


@given(rng=rngs(), size=st.integers(1, 9))
def test_the_optimum_is_found_and_proven(rng: np.random.Generator, size: int) -> None:
    problem = random_programme(rng, size)
    problem.solve(NO_LIMIT)
    assert problem.proven
    np.testing.assert_allclose([problem.value, problem.bound], optimum(problem), atol=1e-6)


def test_larger_graphs_that_take_inequalities_and_branching(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Close to rings, where inequalities alone leave halves; beside dynamic programming."""
    calls = count_calls(monkeypatch, "milp")
    for seed in range(25):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(9, 13))
        edges = np.triu(rng.random((size, size)) < 0.15, 1) | ring(size).edges
        edges = np.triu(edges, 1) | np.triu(edges, 1).T
        weights = -1 + 0.2 * np.triu(rng.random((size, size)), 1)
        problem = programme(np.minimum(weights, weights.T), edges)
        problem.solve(NO_LIMIT)
        assert problem.proven
        np.testing.assert_allclose([problem.value, problem.bound], optimum(problem), atol=1e-6)
    assert len(calls) > 5


def test_near_ties_are_told_apart_beyond_the_tolerance_of_highs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rings of weights that differ by 1e-8 or so: no bound above the optimum, no wrong proof."""
    calls = count_calls(monkeypatch, "milp")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        size = int(rng.choice([5, 7, 9]))
        weights = np.triu(-1 + rng.normal(size=(size, size)) * 10.0 ** -rng.integers(6, 9), 1)
        problem = Programme(ring(size).edges, weights + weights.T, np.arange(size), 1e-9)
        problem.solve(NO_LIMIT)
        best = optimum(problem)
        assert problem.bound <= best + 1e-9
        assert not problem.proven or problem.value <= best + 2e-9
    assert len(calls) >= 60


def count_calls(monkeypatch: pytest.MonkeyPatch, name: str) -> list[OptimizeResult]:
    """What a solver of SciPy's has answered so far."""
    answers: list[OptimizeResult] = []
    solver = getattr(integer_programme, name)

    def counted(*args: object, **options: object) -> OptimizeResult:
        answers.append(solver(*args, **options))
        return answers[-1]

    monkeypatch.setattr(integer_programme, name, counted)
    return answers


@given(rng=rngs(), size=st.integers(2, 8), rounds=st.integers(0, 4), nodes=st.integers(0, 1))
def test_limits_leave_a_partition_and_a_bound(
    rng: np.random.Generator, size: int, rounds: int, nodes: int
) -> None:
    problem = random_programme(rng, size)
    problem.solve(Limits(nodes, rounds))
    best = optimum(problem)
    assert problem.bound - 1e-9 <= best <= problem.value + 1e-9
    for a, b in combinations(range(size), 2):
        assert problem.edges[a, b] or problem.number[a] != problem.number[b]
    assert problem.proven == (problem.value - problem.bound <= 1e-6)


def test_a_ring_of_five_needs_branching() -> None:
    """Two pairs of five are worth 2; halves all around, which no inequality forbids, are 2.5."""
    problem = ring(5)
    problem.solve(Limits(nodes=0, rounds=100))
    np.testing.assert_allclose([problem.value, problem.bound], [-2, -2.5])
    assert not problem.proven
    problem.solve(NO_LIMIT)
    np.testing.assert_allclose([problem.value, problem.bound], [-2, -2], atol=1e-6)
    assert problem.proven


def test_a_partition_as_good_as_the_best_does_not_replace_it() -> None:
    """Five are equal: each leaves out another expert of a ring of five."""
    for out in range(5):
        number = np.roll([4, 0, 0, 1, 1], out)
        problem = Programme(ring(5).edges, np.full((5, 5), -1.0), number, 1e-6)
        problem.solve(NO_LIMIT)
        assert problem.proven
        np.testing.assert_array_equal(problem.number, number)


def test_without_limits_nothing_is_asked_of_the_clock() -> None:
    assert Limits(1, 1).options(mip_rel_gap=0) == {"mip_rel_gap": 0}
    left = Limits(1, 1, time.monotonic() + 100).options()["time_limit"]
    assert 99 < left <= 100
    assert Limits(1, 1, time.monotonic() - 1).options()["time_limit"] == 0


def test_time_that_is_up_proves_nothing() -> None:
    """Only what is plain at the start: no group can be worth more than all its good edges."""
    for problem in (ring(5), ring(51), random_programme(np.random.default_rng(0), 40)):
        start = float(np.minimum(problem.cost, 0).sum())
        problem.solve(Limits(100, 100, time.monotonic() - 1))
        assert problem.bound == start
        assert not problem.proven


@pytest.mark.parametrize("status", [1, 2, 3, 4])
def test_a_relaxation_that_stopped_short_gives_no_bound(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    def stopped(cost: np.ndarray, **_: object) -> OptimizeResult:
        marginals = OptimizeResult(marginals=np.zeros(1))
        return OptimizeResult(status=status, x=0 * cost, fun=0.0, ineqlin=marginals)

    monkeypatch.setattr(integer_programme, "linprog", stopped)
    problem = ring(5)
    problem.solve(NO_LIMIT)
    assert (problem.value, problem.bound) == (-2, -5)


@pytest.mark.parametrize(
    ("status", "dual", "bound"),
    [
        (1, -2.25, -2.25),  # stopped by a limit: what the tree has proven by then
        (1, -np.inf, -2.5),
        (1, None, -2.5),
        (1, np.nan, -2.5),
        (1, -3, -2.5),  # worse than what the relaxation has proven
        (2, -2, -2.5),
        (3, -2, -2.5),
        (4, -2, -2.5),
    ],
)
def test_branching_that_stopped_short(
    monkeypatch: pytest.MonkeyPatch, status: int, dual: float | None, bound: float
) -> None:
    def stopped(cost: np.ndarray, **_: object) -> OptimizeResult:
        scaled = None if dual is None else dual * -cost.min()  # every weight is -1
        return OptimizeResult(status=status, x=None, mip_dual_bound=scaled, mip_node_count=3)

    monkeypatch.setattr(integer_programme, "milp", stopped)
    problem = ring(5)
    problem.solve(Limits(nodes=3, rounds=100))
    np.testing.assert_allclose([problem.value, problem.bound], [-2, bound])
    assert not problem.proven


def test_a_worse_relaxation_takes_no_bound_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers far too large prove less than what is plain at the start."""

    def bad(cost: np.ndarray, *, b_ub: np.ndarray, **_: object) -> OptimizeResult:
        marginals = OptimizeResult(marginals=-1e3 * b_ub)
        return OptimizeResult(status=0, x=0 * cost, fun=0.0, ineqlin=marginals)

    monkeypatch.setattr(integer_programme, "linprog", bad)
    problem = ring(5)
    problem.solve(Limits(nodes=0, rounds=3))
    assert (problem.value, problem.bound) == (-2, -5)


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_no_more_rounds_than_allowed(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    calls = [count_calls(monkeypatch, name) for name in ("linprog", "milp")]
    random_programme(np.random.default_rng(0), 30).solve(Limits(100, rounds))
    assert sum(map(len, calls)) == rounds


@pytest.mark.parametrize(
    ("status", "used", "limits"),
    [
        (0, 2, [5, 3, 1]),
        (0, 0, [5] * 10),
        (0, None, [5] * 10),
        (0, 5, [5]),
        (1, 2, [5]),  # stopped short, with a partition: it is not asked again
    ],
)
def test_nodes_are_counted_over_rounds_and_no_gap_is_good_enough(
    monkeypatch: pytest.MonkeyPatch, status: int, used: int | None, limits: list[int]
) -> None:
    """Each time HiGHS puts everybody with 0 only, which violates triples, after some nodes."""
    asked = []

    def branched(cost: np.ndarray, *, options: dict[str, float], **_: object) -> OptimizeResult:
        asked.append((options["node_limit"], options["mip_rel_gap"]))
        return OptimizeResult(
            status=status, x=(problem.i == 0) * 1.0, mip_dual_bound=-np.inf, mip_node_count=used
        )

    monkeypatch.setattr(integer_programme, "milp", branched)
    monkeypatch.setattr(integer_programme, "violated", lambda x, *, sets: [] if sets else [triple])
    problem = ring(5)
    triple = (0, np.array([1, 4]))
    problem.solve(Limits(nodes=5, rounds=10))
    assert asked == [(limit, 0) for limit in limits]


def test_small_gains_are_found() -> None:
    for gain in (0.05, 1e-4, 2e-6):
        problem = programme(np.full((2, 2), -gain), ~np.eye(2, dtype=bool))
        problem.solve(NO_LIMIT)
        assert (problem.value, problem.bound, problem.proven) == (-gain, -gain, True)


def every_set(problem: Programme) -> Iterator[tuple[int, np.ndarray]]:
    """All inequalities: everybody, and each set of two or more neighbours."""
    for v, row in enumerate(problem.edges):
        near = np.flatnonzero(row)
        for count in range(2, len(near) + 1):
            yield from ((v, np.array(T)) for T in combinations(near, count))


def test_inequalities_hold_for_every_partition_and_only_for_partitions() -> None:
    """All x of 0 and 1 on a graph of five: those that satisfy every triple are the partitions."""
    edges = ~np.eye(5, dtype=bool)
    edges[0, 4] = edges[4, 0] = edges[1, 3] = edges[3, 1] = False
    problem = programme(np.full((5, 5), -1.0), edges)
    sets = list(every_set(problem))
    problem._add(sets)
    A, pairs = problem.inequalities.toarray(), np.array([len(T) == 2 for _, T in sets])
    n_partitions = 0
    for code in range(2 ** len(problem.cost)):
        x = (code >> np.arange(len(problem.cost)) & 1).astype(float)
        square = problem._matrix(x)
        linked = {(a, b) for a, b in permutations(range(5), 2) if square[a, b]}
        transitive = all(
            (a, c) in linked for a, b in linked for b2, c in linked if b == b2 and a != c
        )
        n_partitions += transitive
        assert (A[pairs] @ x <= 1).all() == transitive == (A @ x <= 1).all()
        assert (violated(square, sets=False) == []) == transitive
        if transitive:
            np.testing.assert_array_equal(together(rounded(square)), square)
    assert n_partitions > 10


@given(rng=rngs(), size=st.integers(1, 9))
def test_every_violated_triple_is_found_the_worst_first(
    rng: np.random.Generator, size: int
) -> None:
    x = np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.7), 1)
    x += x.T
    excess = {
        (v, a, b): x[v, a] + x[v, b] - x[a, b] - 1
        for v, a, b in permutations(range(size), 3)
        if a < b and x[v, a] + x[v, b] - x[a, b] > 1 + 1e-6
    }
    found = [(v, *T.tolist()) for v, T in violated(x, sets=False)]
    assert set(found) == set(excess)
    assert len(found) == len(excess)
    np.testing.assert_allclose([excess[one] for one in found], sorted(excess.values())[::-1])


def test_of_too_many_the_worst_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_programme, "_CUTS", 1)
    x = np.zeros((4, 4))
    x[0, 1:] = x[1:, 0] = [0.6, 0.8, 0.7]
    ((centre, members),) = violated(x, sets=False)
    assert (centre, members.tolist()) == (0, [2, 3])


@given(rng=rngs(), size=st.integers(4, 9), most=st.sampled_from([0.5, 1]))
def test_larger_sets_are_violated(rng: np.random.Generator, size: int, most: float) -> None:
    x = np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.7) * most, 1)
    x += x.T
    n_triples = len(violated(x, sets=False))
    for v, T in violated(x, sets=True)[n_triples:]:
        assert len(T) > 2
        assert len(set(T)) == len(T)
        assert v not in T
        assert x[v, T].sum() - np.triu(x[np.ix_(T, T)], 1).sum() > 1


@pytest.mark.parametrize("ends", [3, 5])
def test_a_star_violates_with_all_its_ends(ends: int) -> None:
    """Half with each of its ends, of whom no two are together: triples hold, all at once do not."""
    x = np.zeros((ends + 1, ends + 1))
    x[0, 1:] = x[1:, 0] = 0.5
    assert violated(x, sets=False) == []
    ((centre, members),) = violated(x, sets=True)
    assert (centre, members.tolist()) == (0, list(range(1, ends + 1)))


@given(rng=rngs(), size=st.integers(0, 9))
def test_any_x_rounds_to_groups_of_which_all_are_more_than_half_together(
    rng: np.random.Generator, size: int
) -> None:
    x = np.triu(rng.random((size, size)), 1)
    x += x.T
    number = rounded(x)
    assert (number >= 0).all()
    assert (x[together(number) > 0] > 0.5).all()


def test_rounding_begins_with_those_who_are_most_together() -> None:
    """1 and 2 are less than half together, so 0 can be with one of them only."""
    x = np.array([[0, 0.6, 0.9], [0.6, 0, 0.4], [0.9, 0.4, 0]])
    assert rounded(x).tolist() == [0, 1, 0]
    assert rounded(np.array([[0, 0.5], [0.5, 0]])).tolist() == [0, 1]  # half is not more than half
    half = np.array([[0, 0.9, 0.9], [0.9, 0, 0.5], [0.9, 0.5, 0]])
    assert rounded(half).tolist() == [0, 0, 2]


def test_a_relaxation_without_fractions_is_kept_and_heeds_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a path of three, the better pair; nobody branches."""
    asked = []

    def timed(*args: object, **given: Any) -> OptimizeResult:
        asked.append(given["options"])
        return linprog(*args, **given)

    monkeypatch.setattr(integer_programme, "linprog", timed)
    edges = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    weights = np.array([[0, -1, 0], [-1, 0, -0.5], [0, -0.5, 0]])
    path = programme(weights, edges)
    path.solve(Limits(nodes=0, rounds=9, deadline=time.monotonic() + 1e3))
    assert path.proven
    assert path.number[0] == path.number[1] != path.number[2]
    assert [0 < options["time_limit"] <= 1e3 for options in asked] == [True]


@pytest.mark.parametrize(
    ("multipliers", "left", "rounds_slack"),
    [
        ([0.3, 0.6], [2, 1], [[0, 1], [0]]),
        ([0.3, 0.3, 0.6], [2, 2, 1], [[0, 1], [0, 2], [0]]),  # the second time, nothing is gained
    ],
)
def test_an_inequality_is_dropped_after_two_rounds_slack_when_the_bound_is_raised(
    monkeypatch: pytest.MonkeyPatch,
    multipliers: list[float],
    left: list[int],
    rounds_slack: list[list[int]],
) -> None:
    """Of two inequalities of a triangle one binds, with these multipliers; the other is slack."""
    binding = iter(multipliers)

    def relaxed(*_: object, **__: object) -> OptimizeResult:
        marginals = OptimizeResult(marginals=np.array([-next(binding), 0]))
        return OptimizeResult(status=0, x=np.array([0.6, 0.6, 0.2]), ineqlin=marginals)

    monkeypatch.setattr(integer_programme, "linprog", relaxed)
    weights = np.array([[0, -1, -1], [-1, 0, 1], [-1, 1, 0]], dtype=float)
    problem = programme(weights, ~np.eye(3, dtype=bool))
    problem._add([(0, np.array([1, 2])), (1, np.array([0, 2]))])
    kept, slack = [], []
    for _ in multipliers:
        problem._relax(NO_LIMIT)
        kept.append(problem.inequalities.shape[0])
        slack.append(problem.slack_for.tolist())
    assert (kept, slack) == (left, rounds_slack)
    np.testing.assert_allclose(problem.bound, -0.8 - 0.6)


def test_an_inequality_that_stays_slack_is_dropped_but_not_the_proof() -> None:
    rng = np.random.default_rng(5)
    problem = random_programme(rng, 20)
    added: list[int] = []
    add: Callable[..., bool] = problem._add
    problem._add = lambda new: added.append(len(new)) or add(new)  # type: ignore[method-assign, assignment]
    problem.solve(NO_LIMIT)
    assert problem.proven
    assert problem.inequalities.shape[0] < sum(added)
    assert problem.inequalities.shape[0] == len(problem.slack_for)
