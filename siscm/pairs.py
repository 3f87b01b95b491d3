"""Pairs of opinions on the same instance: what similarity is learned and judged from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from siscm.checks import FloatArray, IntArray, check_possible, not_summing_to_one, unmasked
from siscm.names import plain
from siscm.opinions import Opinions

BLOCK_PAIRS = 2**16
"""Pairs handled at a time: memory grows with the opinions, not with experts squared."""


def check_opinions(opinions: Any) -> None:
    """Refuse anything else, such as the table itself.

    Raises
    ------
    TypeError
        Saying how to make them.
    """
    if not isinstance(opinions, Opinions):
        raise TypeError(
            f"opinions is a {type(opinions).__name__}; make it with Opinions.from_long(table)."
        )


def iter_pairs(opinions: Opinions, block: int = BLOCK_PAIRS) -> Iterator[tuple[IntArray, IntArray]]:
    """Every pair of opinions on one instance, once, in blocks.

    Parameters
    ----------
    opinions
        What the experts said.
    block
        About how many pairs are yielded at a time.

    Yields
    ------
    first, second
        Positions in ``opinions.to_long()``; ``first < second``.
    """
    position = np.arange(len(opinions))
    end = np.searchsorted(opinions.instance_codes, opinions.instance_codes, side="right")
    n_later = end - position - 1
    done = np.concatenate([[0], np.cumsum(n_later)])
    start = 0
    while done[start] < done[-1]:
        stop = max(start + 1, int(np.searchsorted(done, done[start] + block, side="right")) - 1)
        first = np.repeat(position[start:stop], n_later[start:stop])
        nth = np.arange(len(first)) - np.repeat(done[start:stop] - done[start], n_later[start:stop])
        yield first, first + 1 + nth
        start = stop


def rows_of_opinions(log_marginals: npt.ArrayLike, opinions: Opinions) -> FloatArray:
    """One log-marginal an opinion as it was given, unchecked but for its shape.

    Parameters
    ----------
    log_marginals, opinions
        As for :func:`opinion_marginals`.
    """
    check_opinions(opinions)
    values = np.asarray(unmasked(log_marginals), dtype=np.float64)
    full = (len(opinions.instances), len(opinions.experts), opinions.n_classes)
    rows = (len(opinions), opinions.n_classes)
    if values.ndim == 3 and values.shape == full:
        values = values[opinions.instance_codes, opinions.expert_codes]
    elif values.shape != rows:
        raise ValueError(
            f"log_marginals has shape {values.shape}; these opinions need {full} "
            f"(instances, experts, classes) or {rows} (opinions, classes)."
        )
    return values


def opinion_marginals(log_marginals: npt.ArrayLike, opinions: Opinions) -> FloatArray:
    """One log-marginal an opinion, checked and normalised to the last digit: (n_opinions, k).

    Parameters
    ----------
    log_marginals
        Either (n_instances, n_experts, k), or already (n_opinions, k) in the order of
        ``opinions.to_long()``.
    opinions
        What the experts said.

    Raises
    ------
    ValueError
        If the shape does not fit the opinions, if a marginal is not a distribution, or if an
        expert said a label to which her marginal gives probability zero; the error names them.
    """
    values = rows_of_opinions(log_marginals, opinions)
    wrong, total = not_summing_to_one(values)
    if wrong.any():
        worst = int(np.argmax(np.abs(total - 1)))  # nan, if there is one
        raise ValueError(
            f"the marginal of {_name(opinions, worst)} sums to {total[worst]}, not to 1."
        )

    def told(n: int) -> str:
        label = plain(opinions.classes[opinions.label_codes[n]])
        return f"{_name(opinions, n)} said {label!r}"

    check_possible(values, opinions.label_codes, told)
    # As the exact law does, or float32 rounding would pass for a difference between the two.
    normalised: FloatArray = values - np.log(np.exp(values).sum(axis=-1, keepdims=True))
    return normalised


def _name(opinions: Opinions, position: int) -> str:
    expert = plain(opinions.experts[opinions.expert_codes[position]])
    instance = plain(opinions.instances[opinions.instance_codes[position]])
    return f"expert {expert!r} on instance {instance!r}"
