"""Algorithm 1 against examples followed by hand and against every partition there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_by_one import all_partitions
from strategies import rngs

from siscm import SimilarityGraph, partition
from siscm.integer_programme import Programme
from siscm.partition import TOLERANCE, ExactPartition
from siscm.synthetic.planted import make_synthetic_panel, sparsify


def graph_of(weights: np.ndarray, edges: np.ndarray | None = None) -> SimilarityGraph:
    """A graph with the weights given; where there is no edge, experts never met."""
    size = len(weights)
    edges = np.ones((size, size), dtype=bool) if edges is None else edges
    together = (edges & ~np.eye(size, dtype=bool)).astype(np.int64)
    return SimilarityGraph(
        pd.Index(range(size)), together, np.zeros_like(together), np.triu(weights, 1) * together
    )


def random_graph(rng: np.random.Generator, size: int, levels: int) -> SimilarityGraph:
    """Weights in thirds, so zeros and ties are common; edges with a random density."""
    weights = rng.integers(-levels, levels + 1, size=(size, size)) / 3
    edges = np.triu(rng.random((size, size)) < rng.uniform(0.2, 1), 1)
    return graph_of(weights, edges | edges.T)


def is_clique(graph: SimilarityGraph, group: list[int]) -> bool:
    return all(graph.edges[a, b] for a, b in combinations(group, 2))


def slow_objective(graph: SimilarityGraph, groups: list[list[int]]) -> float:
    if not all(is_clique(graph, group) for group in groups):
        return float("inf")
    return sum(graph.weights[a, b] for group in groups for a, b in combinations(group, 2))


@cache
def pairs_of_partitions(size: int) -> np.ndarray:
    """(partitions, pairs): whether each partition there is has a pair in one group."""
    rows = [
        [number[a] == number[b] for a, b in combinations(range(size), 2)]
        for groups in all_partitions(list(range(size)))
        for number in [partition.group_of(groups, range(size))]
    ]
    return np.array(rows, dtype=bool)


def optimum(graph: SimilarityGraph) -> float:
    """The lowest objective of all partitions, computed for all at once."""
    size = len(graph.experts)
    i, j = np.triu_indices(size, 1)
    inside, edge = pairs_of_partitions(size), graph.edges[i, j]
    cliques = ~inside[:, ~edge].any(axis=1)
    return float((inside[:, edge] @ graph.weights[i, j][edge])[cliques].min())


def test_the_brute_force_sees_all_partitions() -> None:
    """The reference itself: the Bell numbers."""
    assert [sum(1 for _ in all_partitions(list(range(n)))) for n in range(7)] == [
        *(1, 1, 2, 5, 15, 52, 203)
    ]


@given(rng=rngs(), size=st.integers(0, 9), levels=st.integers(0, 4))
def test_greedy_returns_sorted_cliques_that_cover_everybody(
    rng: np.random.Generator, size: int, levels: int
) -> None:
    graph = random_graph(rng, size, levels)
    groups = partition.greedy(graph, 3, rng=rng)
    assert sorted(h for group in groups for h in group) == list(range(size))
    assert all(is_clique(graph, group) for group in groups)
    assert groups == sorted(groups)
    assert all(group == sorted(group) for group in groups)
    assert all(type(h) is int for group in groups for h in group)


@given(rng=rngs(), size=st.integers(1, 6))
def test_objective_counts_each_pair_once(rng: np.random.Generator, size: int) -> None:
    graph = random_graph(rng, size, 3)
    every = list(all_partitions(list(range(size))))
    slow = [slow_objective(graph, groups) for groups in every]
    np.testing.assert_allclose(
        [partition.objective(graph, groups) for groups in every], slow, atol=1e-12
    )
    np.testing.assert_allclose(optimum(graph), min(slow), atol=1e-12)


@given(rng=rngs(), size=st.integers(1, 7), levels=st.integers(0, 4))
def test_greedy_never_beats_the_optimum_and_never_loses_to_singletons(
    rng: np.random.Generator, size: int, levels: int
) -> None:
    graph = random_graph(rng, size, levels)
    value = partition.objective(graph, partition.greedy(graph, 5, rng=rng))
    assert optimum(graph) - 1e-9 <= value <= 1e-9


@given(rng=rngs(), size=st.integers(1, 7))
def test_greedy_finds_clear_groups(rng: np.random.Generator, size: int) -> None:
    """All inside gain and nobody across does: every order of growing finds the optimum."""
    label = rng.integers(0, 3, size=size)
    same = np.equal.outer(label, label)
    weights = np.where(same, -1 - rng.random((size, size)), 0.1 + rng.random((size, size)))
    far_apart = rng.random((size, size)) < 0.5
    edges = same | far_apart & far_apart.T
    graph = graph_of(weights, edges)
    groups = partition.greedy(graph, 1, rng=rng)
    expected = sorted(np.flatnonzero(label == g).tolist() for g in np.unique(label))
    assert groups == expected
    np.testing.assert_allclose(partition.objective(graph, groups), optimum(graph))


@given(rng=rngs(), weight=st.sampled_from([-1.0, 0.0, 1.0]), edge=st.booleans())
def test_two_experts_share_a_group_unless_that_costs(
    rng: np.random.Generator, weight: float, edge: bool
) -> None:
    graph = graph_of(np.full((2, 2), weight), np.full((2, 2), edge))
    groups = partition.greedy(graph, 1, rng=rng)
    assert groups == ([[0, 1]] if edge and weight <= 0 else [[0], [1]])


def test_nobody_and_one_alone() -> None:
    rng = np.random.default_rng(0)
    assert partition.greedy(graph_of(np.empty((0, 0))), rng=rng) == []
    assert partition.objective(graph_of(np.empty((0, 0))), []) == 0
    assert partition.greedy(graph_of(np.zeros((1, 1))), rng=rng) == [[0]]


WORKED = np.array(
    [
        # 0   1   2   3   4
        [+0, -3, -1, +2, +0],
        [-3, +0, +2, +1, +0],
        [-1, +2, +0, -2, +0],
        [+2, +1, -2, +0, +0],
        [+0, +0, +0, +0, +0],
    ],
    dtype=float,
)
WORKED_EDGES = np.ones((5, 5), dtype=bool)
WORKED_EDGES[1, 4] = WORKED_EDGES[4, 1] = False


def told(steps: Iterable[partition.Step]) -> list[tuple[Any, ...]]:
    """All that the steps say: group, candidates, costs, who joins."""
    return [(s.group, s.candidates.tolist(), s.costs.tolist(), s.chosen) for s in steps]


def test_algorithm_1_step_by_step() -> None:
    """From 0: 1 gains most; then 2 would cost -1 + 2 > 0, 3 more, and 4 has no edge to 1: stop."""
    graph = graph_of(WORKED, WORKED_EDGES)
    assert told(partition.grow(graph, 0, np.arange(5))) == [
        ((0,), [1, 2, 3, 4], [-3, -1, 2, 0], 1),
        ((0, 1), [2, 3], [1, 3], None),
    ]
    # From what is left, starting at 4: 2 and 3 cost nothing, the first joins; then 3 gains.
    assert told(partition.grow(graph, 4, np.array([2, 3, 4]))) == [
        ((4,), [2, 3], [0, 0], 2),
        ((4, 2), [3], [-2], 3),
        ((4, 2, 3), [], [], None),
    ]


class Scripted(np.random.Generator):
    """Picks the starts it is told to."""

    def __init__(self, *starts: int) -> None:
        super().__init__(np.random.PCG64(0))
        self.starts = list(starts)

    def choice(self, left: np.ndarray) -> int:  # type: ignore[override]
        start = self.starts.pop(0)
        assert start in left
        return start


@pytest.mark.parametrize(
    ("starts", "groups"),
    [
        ((0, 4), [[0, 1], [2, 3, 4]]),
        ((0, 3), [[0, 1], [2, 3, 4]]),
        ((3, 0), [[0, 1], [2, 3, 4]]),  # 3 takes 2, then 4 for nothing
        ((4, 1), [[0, 2, 3, 4], [1]]),  # 4 takes 0 for nothing, then 2, then 3 for 2 - 2 = 0
    ],
)
def test_algorithm_1_from_given_starts(starts: tuple[int, ...], groups: list[list[int]]) -> None:
    rng = Scripted(*starts)
    graph = graph_of(WORKED, WORKED_EDGES)
    assert partition.greedy(graph, 1, rng=rng) == groups
    assert rng.starts == []


def test_a_sum_of_zero_joins_and_one_above_stops() -> None:
    weights = np.array([[0, -1, 0.5], [-1, 0, 0.5], [0.5, 0.5, 0]])
    assert partition.greedy(graph_of(weights), 1, rng=Scripted(0, 2)) == [[0, 1], [2]]
    weights[0, 2] = weights[2, 0] = -0.5
    assert partition.greedy(graph_of(weights), 1, rng=Scripted(0)) == [[0, 1, 2]]


def test_rounded_fractions_that_sum_to_zero_join() -> None:
    """0.1 + 0.2 - 0.3 is 5.6e-17 in doubles, and nothing in fact."""
    assert 0.1 + 0.2 - 0.3 > 0
    weights = np.full((4, 4), -1.0)
    weights[3] = weights[:, 3] = [0.1, 0.2, -0.3, 0]
    assert partition.greedy(graph_of(weights), 1, rng=Scripted(0)) == [[0, 1, 2, 3]]
    weights[3] = weights[:, 3] = [0.1, 0.2, -0.3 + 1e-6, 0]
    assert partition.greedy(graph_of(weights), 1, rng=Scripted(0, 3)) == [[0, 1, 2], [3]]
    for thirds in ([1 / 3, 2 / 3, -1], [-1, 2 / 3, 1 / 3], [2 / 3, -1, 1 / 3]):
        weights[3] = weights[:, 3] = [*thirds, 0]
        assert partition.greedy(graph_of(weights), 1, rng=Scripted(0)) == [[0, 1, 2, 3]]


def test_ties_go_to_the_first_expert() -> None:
    weights = np.full((4, 4), -1.0)
    steps = list(partition.grow(graph_of(weights), 2, np.arange(4)))
    assert [step.chosen for step in steps] == [0, 1, 3, None]


@given(rng=rngs(), size=st.integers(2, 12), search=st.booleans())
def test_rounding_never_decides_between_equals(
    rng: np.random.Generator, size: int, search: bool
) -> None:
    """Two machines differ in last digits, and equal weights are common."""
    graph = random_graph(rng, size, levels=2)
    rounded = graph_of(graph.weights + 1e-14 * rng.standard_normal((size, size)), graph.edges)
    here, there = (
        partition.greedy(g, rng=np.random.default_rng(0), local_search=search)
        for g in (graph, rounded)
    )
    assert here == there


def test_the_best_restart_is_kept() -> None:
    """On the worked example, a run that starts at 4 is worse."""
    graph = graph_of(WORKED, WORKED_EDGES)
    best, worse = [[0, 1], [2, 3, 4]], [[0, 2, 3, 4], [1]]
    assert partition.objective(graph, best) == -5
    assert partition.objective(graph, worse) == -1
    assert partition.greedy(graph, 2, rng=Scripted(4, 1, 0, 4)) == best
    assert partition.greedy(graph, 2, rng=Scripted(0, 4, 4, 1)) == best


def test_of_equally_good_restarts_the_first_is_kept() -> None:
    """A path 0 - 1 - 2 with equal weights: whoever 1 joins is as good."""
    edges = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    graph = graph_of(np.full((3, 3), -1.0), edges)
    assert partition.greedy(graph, 2, rng=Scripted(0, 2, 2, 0)) == [[0, 1], [2]]
    assert partition.greedy(graph, 2, rng=Scripted(2, 0, 0, 2)) == [[0], [1, 2]]


def test_of_restarts_that_differ_by_rounding_the_first_is_kept() -> None:
    """A path worth 0.1, 0.3 and 0.2: its ends are worth 0.1 + 0.2, in doubles more than 0.3."""
    edges = np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    weights = np.diag([-0.1, -0.3, -0.2], k=1)
    graph = graph_of(weights + weights.T, edges)
    ends, middle = [[0, 1], [2, 3]], [[0], [1, 2], [3]]
    assert partition.objective(graph, ends) < partition.objective(graph, middle)
    assert partition.greedy(graph, 2, rng=Scripted(1, 0, 3, 0, 2)) == middle


def test_ten_restarts_unless_told_otherwise() -> None:
    graph = random_graph(np.random.default_rng(0), 12, 3)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert partition.greedy(graph, rng=one) == partition.greedy(graph, 10, rng=other)
    assert one.random() == other.random()


def test_more_restarts_are_never_worse_and_seeds_repeat() -> None:
    for seed in range(20):
        graph = random_graph(np.random.default_rng(seed), 12, 3)
        values = []
        for n in (1, 3, 10):
            groups = partition.greedy(graph, n, rng=np.random.default_rng(seed))
            assert groups == partition.greedy(graph, n, rng=np.random.default_rng(seed))
            values.append(partition.objective(graph, groups))
        assert values[0] >= values[1] - 1e-9 >= values[2] - 2e-9


def test_starts_are_drawn_from_everybody_left() -> None:
    """On a path 0 - 1 - 2 whose second edge is better, the groups tell where a run started."""
    edges = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    graph = graph_of(np.array([[0, -1, 0], [-1, 0, -2], [0, -2, 0]], dtype=float), edges)
    results = [partition.greedy(graph, 1, rng=np.random.default_rng(s)) for s in range(600)]
    # Only a start at 0 gives 0 and 1 a group: a third of the runs.
    share = np.mean([groups == [[0, 1], [2]] for groups in results])
    assert abs(share - 1 / 3) < 4 * np.sqrt(2 / 9 / 600)


def test_refusals() -> None:
    graph = graph_of(np.full((3, 3), -1.0))
    for n in (0, -1, 1.5, None):
        with pytest.raises(ValueError, match=f"^n_restarts must be a .* at least 1; got {n}.$"):
            partition.greedy(graph, n, rng=np.random.default_rng(0))
    with pytest.raises(
        ValueError, match=r"^expert 2 is in no group .*; give her one, if only her own\.$"
    ):
        partition.objective(graph, [[0, 1]])
    with pytest.raises(ValueError, match=r"^expert 1 stands twice in the partition\.$"):
        partition.objective(graph, [[0, 1], [1, 2]])
    with pytest.raises(
        ValueError,
        match=r"^expert 3 of the partition is not in the data; .* Opinions with experts= of .*\.$",
    ):
        partition.objective(graph, [[0, 1, 2, 3]])


def test_groups_that_are_no_cliques_are_infinitely_bad() -> None:
    edges = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    graph = graph_of(np.full((3, 3), -1.0), edges)
    assert partition.objective(graph, [[0, 1, 2]]) == float("inf")
    assert partition.objective(graph, [[0, 1], [2]]) == -1


def test_group_of_numbers_experts_by_name() -> None:
    numbers = partition.group_of([["b", "c"], ["a"]], ["a", "b", "c"])
    np.testing.assert_array_equal(numbers, [1, 0, 0])
    with pytest.raises(ValueError, match="'c' is in no group"):
        partition.group_of([["b"], ["a"]], ["a", "b", "c"])
    with pytest.raises(ValueError, match="'b' stands twice"):
        partition.group_of([["b", "b"], ["a", "c"]], ["a", "b", "c"])
    with pytest.raises(ValueError, match="'z' of the partition is not in the data"):
        partition.group_of([["z"]], ["a"])


def test_group_of_takes_groups_that_can_be_read_once() -> None:
    groups = (iter(group) for group in (["b", "c"], ["a"]))
    with pytest.raises(ValueError, match="list of lists"):
        partition.group_of("bca", ["a", "b", "c"])  # type: ignore[arg-type]
    assert partition.group_of(groups, ["a", "b", "c"]).tolist() == [1, 0, 0]  # type: ignore[arg-type]


def test_group_of_tells_names_apart_as_all_else_does() -> None:
    assert partition.group_of([np.array([2, 1])], [1.0, 2.0]).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"expert '1' \(str, where 1 is int: make them one type"):
        partition.group_of([["1"]], [1])
    with pytest.raises(ValueError, match="expert True of the partition is not in the data"):
        partition.group_of([[True]], [1])


@pytest.mark.parametrize("groups", [None, 3, "a", ["a"], [["a"], None], {"a": 0}])
def test_group_of_says_what_a_partition_is(groups: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a list of lists of expert ids, .*; got"):
        partition.group_of(groups, ["a"])


def in_parts(rng: np.random.Generator, size: int) -> SimilarityGraph:
    """Experts in up to three parts without an edge between them."""
    whole, part = random_graph(rng, size, 3), rng.integers(0, 3, size=size)
    return graph_of(np.nan_to_num(whole.weights), whole.edges & np.equal.outer(part, part))


def assert_proven(graph: SimilarityGraph, best: ExactPartition, value: float) -> None:
    assert best.optimal
    assert all(is_clique(graph, group) for group in best.groups)
    assert best.groups == sorted(sorted(group) for group in best.groups)
    assert sorted(h for group in best.groups for h in group) == list(range(len(graph.experts)))
    assert best.objective == partition.objective(graph, best.groups)
    np.testing.assert_allclose([best.objective, best.bound], value, atol=TOLERANCE)
    assert best.bound <= best.objective


@pytest.mark.parametrize("kind", ["in thirds", "ties", "only gains", "only costs", "in parts"])
def test_exact_agrees_with_brute_force(kind: str) -> None:
    """Over 500 graphs of up to eight experts, with pairs that cannot be similar, zeros and ties."""
    n_better = 0
    for seed in range(110):
        rng = np.random.default_rng([seed, len(kind)])
        size = int(rng.integers(2, 9))
        if kind == "in parts":
            graph = in_parts(rng, size)
        else:
            graph = random_graph(rng, size, 1 if kind == "ties" else 4)
        if kind.startswith("only"):
            sign = -1 if kind == "only gains" else 1
            graph = graph_of(sign * np.abs(np.nan_to_num(graph.weights)), graph.edges)
        value = optimum(graph)
        best = partition.exact(graph)
        assert_proven(graph, best, value)
        once = partition.objective(graph, partition.greedy(graph, 1, rng=rng))
        n_better += best.objective < once - TOLERANCE
    assert (n_better > 5) == (kind != "only costs")


@given(rng=rngs(), size=st.integers(0, 8), rounds=st.integers(0, 3))
def test_limits_never_lead_to_a_wrong_claim(
    rng: np.random.Generator, size: int, rounds: int
) -> None:
    graph = random_graph(rng, size, 3)
    value = optimum(graph)
    best = partition.exact(graph, node_limit=0, round_limit=rounds)
    assert best.bound - 1e-9 <= value <= best.objective + 1e-9
    assert best.optimal == (best.objective - best.bound <= TOLERANCE)
    assert best.gap == best.objective - best.bound
    assert all(is_clique(graph, group) for group in best.groups)


def rings(*sizes: int) -> SimilarityGraph:
    """Experts around circles, each similar to the two beside her, if she gains by it."""
    start = np.cumsum([0, *sizes])
    edges = np.zeros((start[-1], start[-1]), dtype=bool)
    for first, size in zip(start[:-1], sizes, strict=True):
        around = np.arange(size)
        edges[first + around, first + (around + 1) % size] = True
    return graph_of(np.full(edges.shape, -1.0), edges | edges.T)


def test_what_a_limit_leaves_open_is_the_gap() -> None:
    """In an odd ring of n, (n - 1) / 2 pairs; without branching, n / 2 cannot be ruled out."""
    graph = rings(5, 7, 4, 1)
    limited = partition.exact(graph, node_limit=0)
    np.testing.assert_allclose([limited.objective, limited.bound, limited.gap], [-7, -8, 1])
    assert not limited.optimal
    best = partition.exact(graph)
    np.testing.assert_allclose([best.objective, best.bound], [-7, -7], atol=TOLERANCE)
    assert best.optimal
    hurried = partition.exact(graph, time_limit=0)
    assert (hurried.objective, hurried.bound) == (-7, -16)
    assert partition.exact(graph, time_limit=1e6).optimal


def test_better_groups_of_parts_that_lie_between_each_other_are_sorted() -> None:
    """Two copies of a graph, one on even and one on odd positions, where local search misses."""
    one = random_graph(np.random.default_rng(23), 9, 3)
    weights, edges = np.zeros((18, 18)), np.zeros((18, 18), dtype=bool)
    for first in range(2):
        weights[first::2, first::2] = np.nan_to_num(one.weights)
        edges[first::2, first::2] = one.edges
    graph = graph_of(weights, edges)
    best = partition.exact(graph)
    start = partition.greedy(graph, rng=np.random.default_rng(0), local_search=True)
    assert best.objective < partition.objective(graph, start) - TOLERANCE
    assert_proven(graph, best, 2 * optimum(one))


def test_the_parts_share_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or many gaps that are small enough, each by itself, could add up to one that is not."""
    given: list[float] = []

    class Recording(Programme):
        def __init__(self, *arguments: Any) -> None:
            given.append(arguments[-1])
            super().__init__(*arguments)

    monkeypatch.setattr(partition, "Programme", Recording)
    partition.exact(rings(5, 7, 4, 1))
    assert len(given) == 4
    np.testing.assert_allclose(sum(given), TOLERANCE)


def test_exact_of_hardly_anything() -> None:
    """No expert, one, no edge, every edge a zero or a cost: nothing gains, and that is proven."""
    nobody = graph_of(np.empty((0, 0)))
    assert partition.exact(nobody) == ExactPartition([], 0.0, 0.0)
    assert partition.exact(graph_of(np.zeros((1, 1)))) == ExactPartition([[0]], 0.0, 0.0)
    never_met = graph_of(np.full((3, 3), -1.0), np.zeros((3, 3), dtype=bool))
    assert np.isnan(never_met.weights).all()
    assert partition.exact(never_met) == ExactPartition([[0], [1], [2]], 0.0, 0.0)
    costs = graph_of(np.full((3, 3), 0.5))
    assert partition.exact(costs) == ExactPartition([[0], [1], [2]], 0.0, 0.0)
    zeros = graph_of(np.zeros((3, 3)))
    assert partition.exact(zeros) == ExactPartition([[0, 1, 2]], 0.0, 0.0)
    assert partition.exact(zeros, round_limit=0, node_limit=0).optimal


def test_exact_where_every_pair_violates() -> None:
    together = 1 - np.eye(4, dtype=np.int64)
    graph = SimilarityGraph(pd.Index(range(4)), together, together, -1.0 * together)
    assert partition.exact(graph) == ExactPartition([[0], [1], [2], [3]], 0.0, 0.0)


@pytest.mark.parametrize("weight", [-1.0, 0.0, 1.0])
def test_exact_of_two(weight: float) -> None:
    best = partition.exact(graph_of(np.full((2, 2), weight)))
    groups = [[0, 1]] if weight <= 0 else [[0], [1]]
    assert best == ExactPartition(groups, min(weight, 0.0), min(weight, 0.0))


def test_what_algorithm_1_finds_is_kept_if_nothing_is_better() -> None:
    """A partition in which somebody joins for nothing is as good as one in which she is alone."""
    weights = np.full((3, 3), -1.0)
    weights[2] = weights[:, 2] = [0.5, -0.5, 0]
    assert partition.exact(graph_of(weights)).groups == [[0, 1, 2]]


def synthetic_graph(
    n: int, sparsity: float, *, sizes: tuple[int, ...] = (8,) * 9 + (7,) * 6
) -> SimilarityGraph:
    """Of 114 experts, as many as in the paper's CIFAR-10H."""
    rng = np.random.default_rng(0)
    panel = make_synthetic_panel(n, rng, group_sizes=sizes)
    kept = sparsify(panel.opinions, sparsity, rng)
    return SimilarityGraph.from_opinions(panel.log_marginals, kept)


def test_exact_on_114_experts() -> None:
    """Proven where most edges are within groups; else a bound that more rounds improve."""
    clear, unclear = synthetic_graph(20, 0.3), synthetic_graph(20, 0.5)
    assert partition.exact(clear).optimal
    some = [partition.exact(unclear, round_limit=n) for n in (0, 1, 2)]
    greedy = partition.greedy(unclear, rng=np.random.default_rng(0))
    for best in some:
        assert len(unclear.experts) == 114 == sum(len(group) for group in best.groups)
        assert all(is_clique(unclear, group) for group in best.groups)
        assert best.objective <= partition.objective(unclear, greedy)
        assert best.gap > 0
        assert not best.optimal
    assert some[0].bound < some[1].bound < some[2].bound


def test_exact_repeats_and_does_not_hang_on_where_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = synthetic_graph(10, 0.6, sizes=(5, 6, 7))
    best = partition.exact(graph)
    assert partition.exact(graph) == best
    apart = [[h] for h in range(len(graph.experts))]
    monkeypatch.setattr(partition, "greedy", lambda *_, **__: apart)
    other = partition.exact(graph)
    np.testing.assert_allclose(other.objective, best.objective, atol=TOLERANCE)


def test_a_gap_is_never_negative() -> None:
    assert ExactPartition([[0]], -1.0, -1.0 + 1e-12).gap == 0
    assert ExactPartition([[0]], -1.0, -1.5).gap == 0.5
    assert not ExactPartition([[0]], -1.0, -1.0 - 1.5 * TOLERANCE).optimal
    assert ExactPartition([[0]], -1.0, -1.0 - 0.5 * TOLERANCE).optimal


def test_exact_refuses_limits_and_weights_it_cannot_use() -> None:
    graph = graph_of(np.full((3, 3), -1.0))
    for limit in ("node_limit", "round_limit", "time_limit"):
        for wrong in (-1, np.nan):
            with pytest.raises(ValueError, match=f"limits must be 0 or more: .*{limit}={wrong}"):
                partition.exact(graph, **{limit: wrong})
    for value in (np.nan, np.inf, -np.inf):
        weights = np.full((3, 3), -1.0)
        weights[1, 2] = value
        broken = graph_of(weights)
        whole = f"the edge of experts 1 and 2 has the weight {value}; only finite weights can be"
        with pytest.raises(ValueError, match=rf"^{whole} added up\.$"):
            partition.exact(broken)


def one_move(groups: list[list[int]]) -> Iterator[list[list[int]]]:
    """All partitions that are one move away."""
    for group in groups:
        for expert in group:
            rest = [[h for h in other if h != expert] for other in groups]
            for i, other in enumerate([*rest, []]):
                moved = [*rest, []]
                moved[i] = [*other, expert]
                yield [one for one in moved if one]


@given(rng=rngs(), size=st.integers(0, 8), levels=st.integers(0, 4))
def test_refining_ends_where_no_move_helps(
    rng: np.random.Generator, size: int, levels: int
) -> None:
    graph = random_graph(rng, size, levels)
    start = partition.greedy(graph, 1, rng=rng)
    groups = partition.refine(graph, start)
    value = partition.objective(graph, groups)
    assert value <= partition.objective(graph, start) + 1e-12
    assert groups == sorted(sorted(group) for group in groups)
    assert all(partition.objective(graph, other) >= value - 1e-9 for other in one_move(groups))
    if all(
        partition.objective(graph, other) >= partition.objective(graph, start) - 1e-12
        for other in one_move(start)
    ):
        assert groups == start


def test_refining_step_by_step() -> None:
    """From everybody in pairs: 1 leaves 2 for 0 (-3 for +2), then 2, left alone, joins 3 (-2)."""
    graph = graph_of(WORKED, WORKED_EDGES)
    assert partition.refine(graph, [[0], [1, 2], [3], [4]]) == [[0, 1], [2, 3], [4]]
    # Out to be alone, where nobody else is worth joining.
    costs = graph_of(np.full((3, 3), 1.0))
    assert partition.refine(costs, [[0, 1, 2]]) == [[0], [1], [2]]


def test_refining_takes_the_move_that_helps_most() -> None:
    """Edges 0-3 (-1), 3-2 (-3), 2-1 (-1), everybody alone: 2 joins 3, and nothing helps any more.

    Had 0 moved first because her move helps too, she would have joined 3, then 1 joined 2: -2 in
    all, from where no single move leads to -3, for 2 has no edge to 0, nor 3 to 1.
    """
    weights = np.zeros((4, 4))
    weights[0, 3] = weights[1, 2] = -1
    weights[2, 3] = -3
    graph = graph_of(weights + weights.T, weights + weights.T < 0)
    assert partition.refine(graph, [[0], [1], [2], [3]]) == [[0], [1], [2, 3]]
    assert partition.refine(graph, [[0, 3], [1, 2]]) == [[0, 3], [1, 2]]


@pytest.mark.parametrize("scale", [1, 2**30])
def test_refining_knows_rounding_from_gain(scale: int) -> None:
    """2 is worth 0.3 to 0, and 0.1 + 0.2 to the others, which is above 0.3 in doubles only."""
    weights, edges = np.full((4, 4), -1.0), np.ones((4, 4), dtype=bool)
    weights[2] = weights[:, 2] = [-0.3, -0.1, 0, -0.2]
    edges[0, [1, 3]] = edges[[1, 3], 0] = False
    graph = graph_of(weights * scale, edges)
    assert partition.refine(graph, [[0, 2], [1, 3]]) == [[0, 2], [1, 3]]


def test_refining_ends_however_large_the_weights() -> None:
    """Here sums are rounded by more than 1e-7, which once led experts in a circle."""
    weights = np.triu(np.random.default_rng(23).integers(-4, 5, size=(16, 16)), 1) / 3 * 1e9
    graph = graph_of(weights + weights.T)
    groups = partition.refine(graph, [[h] for h in range(16)])
    value = partition.objective(graph, groups)
    assert all(partition.objective(graph, other) >= value - 1e-3 for other in one_move(groups))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_refining_refuses_weights_that_cannot_be_added_up(value: float) -> None:
    weights = np.full((3, 3), -1.0)
    weights[1, 2] = value
    graph = graph_of(weights)
    with pytest.raises(ValueError, match=f"experts 1 and 2 has the weight {value}"):
        partition.refine(graph, [[0], [1], [2]])
    with pytest.raises(ValueError, match=f"experts 1 and 2 has the weight {value}"):
        partition.greedy(graph, rng=np.random.default_rng(0), local_search=True)


def test_refining_refuses_what_is_no_partition_into_cliques() -> None:
    edges = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    graph = graph_of(np.full((3, 3), -1.0), edges)
    with pytest.raises(
        ValueError, match=r"0 and 2 are in one group .* no edge; only cliques can be refined\.$"
    ):
        partition.refine(graph, [[0, 1, 2]])
    with pytest.raises(ValueError, match="1 and 2 are in one group"):
        partition.refine(
            graph_of(np.full((3, 3), -1.0), edges[[1, 0, 2]][:, [1, 0, 2]]), [[0], [1, 2]]
        )
    with pytest.raises(ValueError, match="expert 2 is in no group"):
        partition.refine(graph, [[0, 1]])


def test_exact_begins_with_algorithm_1_and_a_local_search() -> None:
    """What it returns if there is no time for anything better."""
    n_worse = np.zeros(2, dtype=int)
    for seed in range(40):
        graph = random_graph(np.random.default_rng(seed), 14, 3)
        found = partition.exact(graph, time_limit=0)
        rngs = (np.random.default_rng(0) for _ in range(3))
        assert found.groups == partition.greedy(graph, rng=next(rngs), local_search=True)
        once = partition.greedy(graph, 1, rng=next(rngs), local_search=True)
        plain = partition.greedy(graph, rng=next(rngs))
        n_worse += [partition.objective(graph, g) > found.objective + 1e-9 for g in (once, plain)]
    assert (n_worse > 2).all()


@pytest.mark.parametrize("limit", [2**31, 10**12, np.inf])
def test_exact_without_any_limit_of_nodes(limit: float) -> None:
    """More than HiGHS can count."""
    assert partition.exact(rings(5, 7), node_limit=limit).optimal


def test_greedy_with_local_search_is_never_worse_and_often_better() -> None:
    n_better = 0
    for seed in range(30):
        graph = random_graph(np.random.default_rng(seed), 15, 3)
        plain, searched = (
            partition.objective(
                graph,
                partition.greedy(graph, 3, rng=np.random.default_rng(seed), local_search=on),
            )
            for on in (False, True)
        )
        assert searched <= plain + 1e-12
        n_better += searched < plain - 1e-6
    assert n_better > 5
