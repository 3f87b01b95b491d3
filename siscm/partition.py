"""Partitioning the experts into groups of mutually similar ones (Section 6, Appendix B)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.graph import SimilarityGraph

Groups = list[list[int]]

ROUNDING = 1e-12
"""A sum of weights this far above zero is zero: weights are fractions, their sums get rounded."""


@dataclass(frozen=True)
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
        The candidate who joins, or None if nobody would lower the objective.
    """

    group: tuple[int, ...]
    candidates: tuple[int, ...]
    costs: tuple[float, ...]
    chosen: int | None


def grow(start: int, left: IntArray, edges: BoolArray, weights: FloatArray) -> Iterator[Step]:
    """Grow one clique from ``start`` among the vertices ``left``: the inner loop of Algorithm 1."""
    group = [start]
    candidates = left[edges[start, left]]
    costs = weights[start, candidates]
    while True:
        best = int(np.argmin(costs)) if len(costs) else -1
        joins = best >= 0 and costs[best] <= ROUNDING
        chosen = int(candidates[best]) if joins else None
        yield Step(tuple(group), tuple(candidates.tolist()), tuple(costs.tolist()), chosen)
        if chosen is None:
            return
        group.append(chosen)
        # The new candidates are among the old ones, so their costs only need one more weight.
        kept = edges[chosen, candidates]
        candidates, costs = candidates[kept], costs[kept]
        costs = costs + weights[chosen, candidates]


def greedy(graph: SimilarityGraph, n_restarts: int = 10, *, rng: np.random.Generator) -> Groups:
    """Partition the experts into cliques of similar ones: Algorithm 1, best of some restarts.

    Parameters
    ----------
    graph
        Edges and weights.
    n_restarts
        How many runs, each from other random vertices. The paper takes 10 on real and 5 on
        synthetic data.
    rng
        Picks the vertex from which each clique grows.

    Returns
    -------
    list of sorted lists of expert positions
        Sorted by their first expert. Of the runs, the first with the lowest
        :func:`objective`.

    Raises
    ------
    ValueError
        If ``n_restarts`` is not positive.
    """
    if n_restarts < 1:
        raise ValueError(f"n_restarts is {n_restarts}; at least one run is needed.")
    weights = graph.weights
    best: Groups = []
    best_value = np.inf
    for _ in range(n_restarts):
        closed = (step.group for step in trace(graph, rng) if step.chosen is None)
        groups = sorted(sorted(group) for group in closed)
        value = sum(_cost(weights, group) for group in groups)
        if not best or value < best_value - ROUNDING:
            best, best_value = groups, value
    return best


def trace(graph: SimilarityGraph, rng: np.random.Generator) -> Iterator[Step]:
    """One run of Algorithm 1, round by round: grow a clique, take it out, until nobody is left.

    A step that chooses nobody closes its group.
    """
    edges, weights = graph.edges, graph.weights
    left = np.arange(len(edges))
    while len(left):
        for step in grow(int(rng.choice(left)), left, edges, weights):
            yield step
        left = np.setdiff1d(left, step.group, assume_unique=True)


def objective(graph: SimilarityGraph, groups: Sequence[Sequence[int]]) -> float:
    """Sum of the weights inside groups, each pair counted once: Eq. 7 of the paper.

    Infinite if two experts of a group have no edge, for then the groups are no clique cover.

    Raises
    ------
    ValueError
        If the groups are not a partition of the graph's experts.
    """
    group_of(groups, range(len(graph.experts)))
    edges, weights = graph.edges, graph.weights
    for group in groups:
        if not edges[np.ix_(group, group)][~np.eye(len(group), dtype=bool)].all():
            return float("inf")
    return sum(_cost(weights, group) for group in groups)


def _cost(weights: FloatArray, group: Sequence[int]) -> float:
    inside = weights[np.ix_(group, group)]
    return float(inside[np.triu_indices(len(group), 1)].sum())


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
        If an expert is in no group, in two, or unknown; the error names her.
    """
    place = {expert: i for i, expert in enumerate(experts)}
    numbers = np.full(len(place), -1, dtype=np.int64)
    for number, group in enumerate(groups):
        for expert in group:
            if expert not in place:
                raise ValueError(f"the partition names expert {expert!r}, who is not in the data.")
            if numbers[place[expert]] >= 0:
                raise ValueError(f"expert {expert!r} stands twice in the partition.")
            numbers[place[expert]] = number
    for expert, i in place.items():
        if numbers[i] < 0:
            raise ValueError(
                f"expert {expert!r} is in no group of the partition; give her one, if only her own."
            )
    return numbers
