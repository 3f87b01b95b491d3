"""How alike the groups found are to others, such as those planted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from sklearn.metrics import adjusted_rand_score

Groups = Sequence[Sequence[Hashable]]
"""Groups of expert ids."""


def adjusted_rand(one: Groups, other: Groups) -> float:
    """How alike two partitions are, on the experts whom both know: 1 if equal, near 0 by chance.

    NaN if they have fewer than two experts in common.
    """
    number, other_number = (
        {expert: i for i, group in enumerate(groups) for expert in group} for groups in (one, other)
    )
    common = [expert for expert in number if expert in other_number]
    if len(common) < 2:
        return float("nan")
    return float(
        adjusted_rand_score([number[e] for e in common], [other_number[e] for e in common])
    )
