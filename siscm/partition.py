"""Partitioning the experts into groups of mutually similar ones (Section 6, Appendix B)."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pandas.api.types import is_list_like
from scipy.sparse.csgraph import connected_components

from siscm.checks import FloatArray, IntArray, check_count, check_rng
from siscm.graph import SimilarityGraph
from siscm.integer_programme import Limits, Programme
from siscm.names import find_all, plain

Groups = list[list[int]]
"""Lists of expert positions."""

ROUNDING = 1e-12
"""Sums of weights that differ by no more are equal: weights are fractions, sums get rounded."""

TOLERANCE = 1e-6
"""A partition is called optimal if none is better by more than this."""


@dataclass(frozen=True, eq=False)
class Step:
    r"""One round of Algorithm 1: a group, whom it could take in, and whom it takes.

    Parameters
    ----------
    group
        Positions of its experts so far, in the order in which they joined.
    candidates
        Positions of the experts with edges to all of the group: :math:`N(\psi)`.
    costs
        For each candidate, the sum of her weights to the group.
    chosen
        The candidate who joins, or None if each would raise the objective.
    """

    group: tuple[int, ...]
    candidates: IntArray
    costs: FloatArray
    chosen: int | None


def grow(graph: SimilarityGraph, start: int, left: IntArray) -> Iterator[Step]:
    """Grow one clique from ``start`` among the vertices ``left``: the inner loop of Algorithm 1."""
    edges, weights = graph.edges, graph.weights
    group = [start]
    candidates = left[edges[start, left]]
    costs = weights[start, candidates]
    while True:
        least = costs.min(initial=np.inf)
        equals = candidates[costs <= least + ROUNDING]  # but for rounding, which differs by machine
        chosen = int(equals[0]) if least <= ROUNDING else None
        yield Step(tuple(group), candidates, costs, chosen)
        if chosen is None:
            return
        group.append(chosen)
        # The new candidates are among the old ones, so their costs only need one more weight.
        kept = edges[chosen, candidates]
        candidates, costs = candidates[kept], costs[kept]
        costs = costs + weights[chosen, candidates]


def greedy(
    graph: SimilarityGraph,
    n_restarts: int = 10,
    *,
    rng: np.random.Generator,
    local_search: bool = False,
) -> Groups:
    """Partition the experts into cliques of similar ones: Algorithm 1, best of some restarts.

    Parameters
    ----------
    graph
        Edges and weights.
    n_restarts
        Runs, each from other random vertices: in the paper 10 on real, 5 on synthetic data.
    rng
        Picks the vertex from which each clique grows.
    local_search
        Whether :func:`refine` goes on where a run ends. Not in the paper: on its synthetic data
        better than many more restarts, by :func:`objective`, though not nearer to the truth.

    Returns
    -------
    list of sorted lists of expert positions
        Sorted by their first expert. Of the runs, the first with the lowest :func:`objective`.

    Raises
    ------
    ValueError
        If ``n_restarts`` is no positive whole number, or with ``local_search`` a weight not finite.
    """
    check_count(n_restarts, "n_restarts")
    best: Groups = []
    best_value = np.inf
    for _ in range(n_restarts):
        closed = (step.group for step in trace(graph, rng) if step.chosen is None)
        groups = sorted(sorted(group) for group in closed)
        groups = refine(graph, groups) if local_search else groups
        value = sum(_cost(graph.weights, group) for group in groups)
        if not best or value < best_value - ROUNDING:
            best, best_value = groups, value
    return best


def refine(graph: SimilarityGraph, groups: Sequence[Sequence[int]]) -> Groups:
    """Move experts to other groups, or out to be alone, one by one, while the objective falls.

    Each time the move that lowers it most; the groups, lists of positions, stay cliques.

    Raises
    ------
    ValueError
        If the groups are no partition into cliques, or the weight of an edge is not finite.
    """
    edges, weights = graph.edges, graph.checked_weights()
    number = group_of(groups, range(len(edges)))
    for a, b in np.argwhere(np.triu(np.equal.outer(number, number) & ~edges, 1)):
        raise ValueError(
            f"experts {graph.experts[a]!r} and {graph.experts[b]!r} are in one group but have no "
            "edge; only cliques can be refined."
        )
    n = len(edges)
    weights, apart = np.where(edges, weights, 0.0), ~edges & ~np.eye(n, dtype=bool)
    # Sums are rounded by less, however large the weights: else experts could move in circles.
    rounding = ROUNDING * max(1.0, np.abs(weights).sum(axis=1).max(initial=0))
    while n:
        # The last column is an empty group.
        number = np.unique(number, return_inverse=True)[1]
        member = np.equal.outer(number, np.arange(number.max() + 2)).astype(np.float64)
        cost = np.where(apart @ member > 0, np.inf, weights @ member)
        change = cost - cost[np.arange(n), number][:, None]
        expert, group = np.argwhere(change <= change.min() + rounding)[0]
        if not change[expert, group] < -rounding:
            break
        number[expert] = group
    return sorted(np.flatnonzero(number == group).tolist() for group in np.unique(number))


def trace(graph: SimilarityGraph, rng: np.random.Generator) -> Iterator[Step]:
    """One run of Algorithm 1, round by round: grow a clique, take it out, until nobody is left.

    A step that chooses nobody closes its group; ``rng`` picks where each clique begins.
    """
    rng, left = check_rng(rng), np.arange(len(graph.experts))
    while len(left):
        for step in grow(graph, int(rng.choice(left)), left):
            yield step
        left = np.setdiff1d(left, step.group, assume_unique=True)


@dataclass(frozen=True)
class ExactPartition:
    """The best partition found, and how good any other can be at most.

    Parameters
    ----------
    groups
        Sorted lists of expert positions, sorted by their first expert.
    objective
        The sum of weights inside groups.
    bound
        Proven: no partition into cliques has a smaller sum.
    """

    groups: Groups
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """By how much another partition can be better at most; never negative."""
        return max(self.objective - self.bound, 0.0)

    @property
    def optimal(self) -> bool:
        """Whether it is proven that none is better by more than :data:`TOLERANCE`."""
        return self.gap <= TOLERANCE


def exact(
    graph: SimilarityGraph,
    *,
    node_limit: int = Limits.nodes,
    round_limit: int = Limits.rounds,
    time_limit: float | None = None,
) -> ExactPartition:
    """Find the best partition into cliques, with proof: Eq. 7 as an integer programme.

    Begins with what Algorithm 1 and :func:`refine` find, and keeps that unless something is
    better: whenever a limit strikes, there is a partition, and a bound proven by then.

    Parameters
    ----------
    graph
        Edges and weights.
    node_limit, round_limit
        Nodes of branch and bound, and rounds of adding inequalities, for each part of a graph
        that falls into parts. Work, not time: the result is the same on a slow machine.
    time_limit
        Seconds, if the result may depend on the machine. Without, nothing bounds them: a hard
        graph of a hundred experts can take minutes and more.

    Returns
    -------
    ExactPartition
        For a graph without edges, everybody alone, which is optimal.

    Raises
    ------
    ValueError
        If a limit is negative or NaN, or the weight of an edge is not finite.
    """
    if not all(limit >= 0 for limit in (node_limit, round_limit, time_limit or 0)):
        raise ValueError(f"limits must be 0 or more: {node_limit=}, {round_limit=}, {time_limit=}.")
    edges, weights = graph.edges, graph.checked_weights()
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    start = greedy(graph, rng=np.random.default_rng(0), local_search=True)
    number = group_of(start, range(len(edges)))
    # A group that edges of negative weight do not hold together is no better than its parts.
    n_parts, part = connected_components(edges & (weights < 0), directed=False)
    groups, bound = [], 0.0
    for members in (np.flatnonzero(part == p) for p in range(n_parts)):
        inside = np.ix_(members, members)
        programme = Programme(edges[inside], weights[inside], number[members], TOLERANCE / n_parts)
        programme.solve(Limits(node_limit, round_limit, deadline))
        bound += programme.bound
        groups += [members[programme.number == g].tolist() for g in np.unique(programme.number)]
    if objective(graph, groups) >= objective(graph, start) - ROUNDING:
        groups = start
    value = objective(graph, groups)
    return ExactPartition(sorted(groups), value, min(bound, value))


def objective(graph: SimilarityGraph, groups: Sequence[Sequence[int]]) -> float:
    """Sum of the weights inside groups, each pair counted once: Eq. 7 of the paper.

    Groups are lists of positions. Infinite if two experts of one have no edge: it is no clique.

    Raises
    ------
    ValueError
        If the groups are not a partition of the graph's experts.
    """
    group_of(groups, range(len(graph.experts)))
    for group in groups:
        if not graph.edges[np.ix_(group, group)][~np.eye(len(group), dtype=bool)].all():
            return float("inf")
    return sum(_cost(graph.weights, group) for group in groups)


def _cost(weights: FloatArray, group: Sequence[int]) -> float:
    inside = weights[np.ix_(group, group)]
    return float(inside[~np.tri(len(group), dtype=bool)].sum())


def group_of(groups: Sequence[Sequence[Hashable]], experts: Iterable[Hashable]) -> IntArray:
    r"""The number of each expert's group: :math:`\psi(h)`.

    Parameters
    ----------
    groups
        The partition, as lists of experts.
    experts
        All of them, in the order of the result: their ids, or ``range(n)`` for positions.

    Raises
    ------
    ValueError
        If they are no lists, or an expert is in no group, in two, or unknown; the error names her.
    """
    if not is_list_like(groups) or not all(map(is_list_like, groups := list(groups))):
        raise ValueError(
            f"partition must be a list of lists of expert ids, [[...], [...]]; got {groups!r}."
        )
    everybody, numbered = list(experts), [(h, i) for i, group in enumerate(groups) for h in group]
    problem = (
        "of the partition is not in the data; if she gave no opinion there, build the Opinions "
        "with experts= of all experts."
    )
    found = find_all([h for h, _ in numbered], everybody, "expert", problem)
    times = np.bincount(found, minlength=len(everybody))
    for expert, n in zip(map(plain, everybody), times, strict=True):
        if n > 1:
            raise ValueError(f"expert {expert!r} stands twice in the partition.")
        if n == 0:
            raise ValueError(
                f"expert {expert!r} is in no group of the partition; give her one, if only her own."
            )
    numbers = np.empty(len(everybody), dtype=np.int64)
    numbers[found] = [i for _, i in numbered]
    return numbers
