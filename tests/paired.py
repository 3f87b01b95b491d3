"""Pairs of opinions, by a loop."""

from __future__ import annotations

from itertools import permutations

from siscm import Opinions


def loop_pairs(opinions: Opinions) -> list[tuple[int, int, int, int, int]]:
    """Every ordered pair as instance, observed, her label, target, her label."""
    return [
        (i, g, row[g], h, row[h])
        for i, row in enumerate(opinions.labels)
        for g, h in permutations(range(len(row)), 2)
        if row[g] >= 0 and row[h] >= 0
    ]
