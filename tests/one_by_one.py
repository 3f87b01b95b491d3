"""Pairs of opinions and partitions of experts, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from siscm import Opinions
from siscm.partition import Groups


def loop_pairs(opinions: Opinions) -> list[tuple[int, int, int, int, int]]:
    """Every ordered pair as instance, observed, her label, target, her label."""
    return [
        (i, g, row[g], h, row[h])
        for i, row in enumerate(opinions.labels)
        for g, h in permutations(range(len(row)), 2)
        if row[g] >= 0 and row[h] >= 0
    ]


def all_partitions(experts: Sequence[int]) -> Iterator[Groups]:
    """All of them: 203 of six experts."""
    if not experts:
        yield []
        return
    first, *rest = experts
    for groups in all_partitions(rest):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]
