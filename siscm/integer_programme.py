r"""The best partition into cliques as an integer programme (Section 6, Eq. 7): clique partitioning.

Variable :math:`x_{ij}` is 1 if experts i and j, who have an edge, are in one group; without an
edge it is 0. Sets of pairs are groups if for all triples :math:`x_{vi} + x_{vj} - x_{ij} \le 1`:
who is in one group with v are in one group themselves (the triangle inequalities of Grötschel and
Wakabayashi, Mathematical Programming 45, 1989). These are T = {i, j} of their 2-partition
inequalities, which hold for every expert v and every set T of her neighbours:

.. math:: \sum_{i \in T} x_{vi} - \sum_{i < j \in T} x_{ij} \le 1,

because if a of T are with v, these pairs are too, and :math:`a - a(a-1)/2 \le 1`. Few of them bind,
so they are added as they are violated. Until x is integral and none is, the programme is a
relaxation: no partition can do better than its optimum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack

from siscm.checks import BoolArray, FloatArray, IntArray

_CUTS = 3000
"""Inequalities added at a time, of triples and of larger sets each; the most violated first."""

_VIOLATED, _WORTH = 1e-6, 1e-3
"""By how much a triple must fail to be added, and a larger set, which is only a help."""

_OPTIMAL, _LIMIT = 0, 1
"""What SciPy's solvers report: done, or stopped by a limit."""

_MOST_NODES = 2**31 - 1
"""HiGHS counts no further."""

Inequality = tuple[int, IntArray]
"""An expert v, and the set T of her neighbours."""


@dataclass(frozen=True)
class Limits:
    """When to stop without proof; all but the last are the same on every machine.

    Parameters
    ----------
    nodes
        Of the branch-and-bound tree, summed over rounds.
    rounds
        Of adding inequalities.
    deadline
        On the clock of ``time.monotonic()``; infinity for none.
    """

    nodes: int = 100
    rounds: int = 30
    deadline: float = float("inf")

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def options(self, **others: float) -> Any:  # a type private to SciPy's stubs
        """Options for HiGHS: those given, and how much time is left, if limited."""
        left = self.left
        return others if left == float("inf") else others | {"time_limit": max(left, 0.0)}


class Programme:
    r"""The programme of one graph: best partition so far, proven bound, inequalities in use.

    Parameters
    ----------
    edges, weights
        (n, n), symmetric; only weights of edges are looked at.
    number
        (n,): the group of each expert in a partition into cliques, to begin with.
    tolerance
        A bound that comes so near to the best partition is proof enough.

    Attributes
    ----------
    number, value
        The best partition so far, and the sum of its weights.
    bound
        Proven: no partition into cliques has a smaller sum of weights.
    """

    def __init__(
        self, edges: BoolArray, weights: FloatArray, number: IntArray, tolerance: float
    ) -> None:
        self.edges, self.tolerance = edges, tolerance
        self.i, self.j = np.nonzero(np.triu(edges, 1))
        self.cost = weights[self.i, self.j]
        self.place = np.zeros(edges.shape, dtype=np.int64)
        self.place[self.i, self.j] = self.place[self.j, self.i] = np.arange(len(self.cost))
        self.number, self.value = number, self._value(number)
        self.bound = float(np.minimum(self.cost, 0).sum())
        self.inequalities = csr_array((0, len(self.cost)))
        self.slack_for = np.zeros(0, dtype=np.int64)  # relaxations in a row, of each inequality
        self.relaxed, self.reduced = self.bound, self.cost  # of the best relaxation

    @property
    def proven(self) -> bool:
        """Whether nothing better than the best partition so far can be found."""
        return self.value - self.bound <= self.tolerance

    def solve(self, limits: Limits) -> None:
        """Relax until x is integral or no inequality is violated, then branch; or until a limit."""
        x: FloatArray | None = np.asarray(self.cost < 0, dtype=np.float64)
        rounds = nodes = 0

        def go_on() -> bool:
            return not self.proven and rounds < limits.rounds and limits.left > 0

        while x is not None and go_on() and self._add(violated(self._matrix(x), sets=True)):
            x, rounds = self._relax(limits), rounds + 1
        while x is not None and go_on() and nodes < limits.nodes:
            x, used = self._branch(limits, limits.nodes - nodes)
            rounds, nodes = rounds + 1, nodes + used
            if x is not None and not self._add(violated(self._matrix(x), sets=False)):
                break

    def _value(self, number: IntArray) -> float:
        return float(self.cost[number[self.i] == number[self.j]].sum())

    def _matrix(self, x: FloatArray) -> FloatArray:
        square = np.zeros(self.edges.shape)
        square[self.i, self.j] = square[self.j, self.i] = x
        return square

    def _offer(self, x: FloatArray) -> None:
        """Keep the partition that x suggests, if it is the best so far."""
        number = rounded(self._matrix(x))
        value = self._value(number)
        if value < self.value - 1e-9:
            self.number, self.value = number, value

    def _relax(self, limits: Limits) -> FloatArray | None:
        r"""Optimum x of the linear relaxation; None if HiGHS stopped short, which proves nothing.

        Its bound comes from the multipliers :math:`y \ge 0` of the inequalities
        :math:`Ax \le 1`: for every such y, however far from optimal, every x in [0, 1] has
        :math:`c x \ge c x + y(Ax - 1) \ge -\sum y + \sum \min(0, c + A^\top y)`. So the bound
        does not hang on the solver's tolerances.
        """
        A: Any = self.inequalities  # sparse, which SciPy's stubs do not know of
        found = linprog(
            self.cost,
            A_ub=A,
            b_ub=np.ones(A.shape[0]),
            bounds=(0, 1),
            method="highs-ipm",
            options=limits.options(),
        )
        if found.status != _OPTIMAL:
            return None
        x = np.asarray(found.x)
        y = np.maximum(-found.ineqlin.marginals, 0)
        reduced = self.cost + A.T @ y
        bound = float(np.minimum(reduced, 0).sum() - y.sum())
        slack = A @ x < 1 - 1e-3
        self.slack_for = np.where(slack, self.slack_for + 1, 0)
        if bound > self.bound:
            # Only then, so that what is dropped and added again cannot go round in circles.
            kept = np.flatnonzero(self.slack_for < 2)
            self.inequalities, self.slack_for = A[kept], self.slack_for[kept]
            self.bound = self.relaxed = bound
            self.reduced = reduced
        self._offer(x)
        return x

    def _branch(self, limits: Limits, nodes: int) -> tuple[FloatArray | None, int]:
        """Integral optimum x with the inequalities so far, None if HiGHS stopped short; nodes used.

        Variables stay as the relaxation has them where turning one over would cost more than is
        left between bound and best partition, which itself is not excluded. HiGHS is content with
        a gap of 1e-6 and with reduced costs that are wrong by 1e-7 each. So costs are multiplied
        by their number and more, and both come to some 1e-7 of the objective at most.
        """
        scale = 2.0 ** max(10, np.ceil(np.log2(len(self.cost))))
        costly = self.relaxed + np.abs(self.reduced) > self.value + self.tolerance
        found = milp(
            self.cost * scale,
            integrality=np.ones(len(self.cost), dtype=np.int64),
            bounds=Bounds(costly & (self.reduced < 0), ~(costly & (self.reduced > 0))),
            constraints=LinearConstraint(self.inequalities, ub=1),
            options=limits.options(node_limit=min(nodes, _MOST_NODES), mip_rel_gap=0),
        )
        # Where a limit struck, the bound of the tree so far is a bound; after an error, none is.
        if found.status in (_OPTIMAL, _LIMIT) and found.mip_dual_bound is not None:
            self.bound = max(self.bound, float(found.mip_dual_bound / scale))
        nodes = int(found.mip_node_count or 0)
        if found.x is None:
            return None, nodes
        x = np.asarray(found.x, dtype=np.float64).round()
        self._offer(x)
        return (x if found.status == _OPTIMAL else None), nodes

    def _add(self, new: Sequence[Inequality]) -> bool:
        """Add inequalities; whether there was any."""
        if not new:
            return False
        rows = [self._row(centre, members) for centre, members in new]
        columns = np.concatenate([column for column, _ in rows])
        values = np.concatenate([value for _, value in rows])
        ends = np.cumsum([0] + [len(column) for column, _ in rows])
        added = csr_array((values, columns, ends), shape=(len(rows), len(self.cost)))
        self.inequalities = vstack([self.inequalities, added], format="csr")
        self.slack_for = np.append(self.slack_for, np.zeros(len(rows), dtype=np.int64))
        return True

    def _row(self, centre: int, members: IntArray) -> tuple[IntArray, FloatArray]:
        """Columns and coefficients of one inequality."""
        i, j = (members[side] for side in np.triu_indices(len(members), 1))
        among = self.place[i, j][self.edges[i, j]]
        columns = np.concatenate([self.place[centre, members], among])
        return columns, np.repeat([1.0, -1.0], [len(members), len(among)])


def rounded(x: FloatArray) -> IntArray:
    """(n,): the number of each expert's group in a partition that x (n, n) suggests.

    Those are together who are more than half together with all of their group. If x is integral
    and violates no triple, that is the partition that it stands for.
    """
    number = np.full(len(x), -1)
    for v in range(len(x)):
        if number[v] < 0:
            group = [v]
            left = np.flatnonzero((number < 0) & (x[v] > 0.5))
            for other in left[np.argsort(-x[v, left], kind="stable")]:
                if (x[other, group] > 0.5).all():
                    group.append(int(other))
            number[group] = v
    return number


def violated(x: FloatArray, *, sets: bool) -> list[Inequality]:
    """What x (n, n) violates: every triple, and some larger sets if wanted; the worst first."""
    triples: list[tuple[float, int, IntArray]] = []
    larger: list[tuple[float, int, IntArray]] = []
    for v in range(len(x)):
        near = np.flatnonzero(x[v] > _VIOLATED)
        own, among = x[v, near], x[np.ix_(near, near)]
        triples += [(excess, v, near[T]) for excess, T in _pairs(own, among)]
        if sets:
            larger += [(excess, v, near[T]) for excess, T in _grown(own, among)]
    for found in (triples, larger):
        found.sort(key=lambda one: -one[0])
    return [(v, T) for _, v, T in triples[:_CUTS] + larger[:_CUTS]]


def _pairs(own: FloatArray, among: FloatArray) -> list[tuple[float, IntArray]]:
    """Two who are with an expert (``own``) more than together (``among``); by how much too much."""
    excess = own[:, None] + own - among - 1
    i, j = np.nonzero(np.triu(excess > _VIOLATED, 1))
    worst = np.argsort(-excess[i, j], kind="stable")[:_CUTS]
    i, j = i[worst], j[worst]
    return list(zip(excess[i, j].tolist(), np.stack([i, j], axis=1), strict=True))


def _grown(own: FloatArray, among: FloatArray) -> list[tuple[float, IntArray]]:
    """Sets of three or more, like pairs; grown from each neighbour by whoever adds most.

    To find the worst set is as hard as the whole problem, so some are missed.
    """
    rows = np.arange(len(own))
    chosen = np.eye(len(own), dtype=bool)
    excess, gain = own - 1, np.where(chosen, -np.inf, own - among)
    while len(own):
        best = gain.argmax(axis=1)
        grows = rows[gain[rows, best] > _WORTH]
        if not len(grows):
            break
        best = best[grows]
        chosen[grows, best] = True
        excess[grows] += gain[grows, best]
        gain[grows] -= among[best]
        gain[grows, best] = -np.inf
    wanted = (excess > _WORTH) & (chosen.sum(axis=1) > 2)
    sets, first = np.unique(chosen[wanted], axis=0, return_index=True)
    return [(float(e), np.flatnonzero(T)) for e, T in zip(excess[wanted][first], sets, strict=True)]
