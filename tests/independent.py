"""The law of two experts under one noise, computed in ways that share nothing with the package.

``quadrature_row`` integrates the density of the noise numerically. ``race_row`` conditions on the
first expert's opinion first: given that she said c at time T, label j enters the second expert's
race at time (p_j / q_j) T with rate q_j, and label c arrives at (p_c / q_c) T for certain; what
is left is an integral over T of exponentials, done exactly, in any arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def quadrature_row(log_p: FloatArray, log_q: FloatArray, c: int) -> FloatArray:
    r"""P(second says d | first says c) for every d, by numerical integration.

    With a = E_c / p_c and b = E_d / q_d the event is that E_j > max(p_j a, q_j b) for every other
    label j, that label d beats c for the second expert and c beats d for the first. Its density
    is integrated over x = log a and y = log(b / a): in x by the trapezoidal rule, whose error
    vanishes doubly exponentially here, in y by Gauss-Legendre between the kinks.
    """
    log_p, log_q = log_p - np.log(np.exp(log_p).sum()), log_q - np.log(np.exp(log_q).sum())
    q = np.exp(log_q)
    row = np.zeros(len(q))
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(log_p), -np.inf, log_p - log_q)
    x = np.arange(-45.0, 6.0, 0.25)

    def log_rate(y: FloatArray) -> FloatArray:
        """Log of the rate at which a makes all labels' noise exceed its bound."""
        return np.log(np.exp(np.maximum(log_p[:, None], y + log_q[:, None])).sum(axis=0))

    # Beyond e^±45 times, the density is too small to count in double precision.
    kinks = np.unique(np.clip(ratio, -45.0, 45.0))
    edges = np.unique(np.concatenate([kinks, np.arange(-45.0, 46.0)]))
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    y = middle[:, None] + half[:, None] * _NODES
    rate = log_rate(y.ravel()).reshape(y.shape)
    at = x - log_rate(middle)[:, None]
    density = np.exp(
        2 * at[:, None, :] + y[..., None] - np.exp(at[:, None, :] + rate[..., None])
    ).sum(axis=-1) * (x[1] - x[0])
    piece = (density * _WEIGHTS).sum(axis=1) * half
    for d in range(len(q)):
        inside = (middle > ratio[d]) & (middle < ratio[c])
        row[d] = q[d] * piece[inside].sum()
    row[c] = 0.0
    if ratio[c] < np.inf:
        # Both say c: every other noise exceeds max(p_j a, q_j a p_c / q_c); integrate over log a.
        rate_c = np.logaddexp.reduce(np.maximum(log_p, ratio[c] + log_q))
        at_c = x - rate_c
        row[c] = np.exp(at_c - np.exp(at_c + rate_c)).sum() * (x[1] - x[0])
    return row


def race_row(p: Sequence[Any], q: Sequence[Any], c: int) -> list[Any]:
    """P(second says d | first says c) for every d, exact in the numbers given.

    ``p`` and ``q`` are fractions or multiprecision numbers that sum to 1; their arithmetic is kept.
    """
    zero = p[0] * 0
    entry = [(p[j] / q[j], j) for j in range(len(p)) if j != c and q[j] > 0]
    last = p[c] / q[c] if q[c] > 0 else None
    entry = sorted(pair for pair in entry if last is None or pair[0] < last)
    row = [zero] * len(p)
    # Still running at x T with probability exp(-hazard T); averaged over T, 1 / (1 + hazard).
    hazard, rate, entered = zero, zero, []
    for place, (start, j) in enumerate(entry):
        rate += q[j]
        entered.append(j)
        stop = entry[place + 1][0] if place + 1 < len(entry) else last
        before = 1 / (1 + hazard)
        if stop is None:
            after = zero
        else:
            hazard += rate * (stop - start)
            after = 1 / (1 + hazard)
        share = (before - after) / rate
        for d in entered:
            row[d] += q[d] * share
    row[c] = zero if last is None else 1 / (1 + hazard)
    return row


def fraction_row(p: Sequence[Fraction], q: Sequence[Fraction], c: int) -> list[Fraction]:
    """The law in exact rational arithmetic."""
    return race_row(p, q, c)


def precise_row(log_p: FloatArray, log_q: FloatArray, c: int, digits: int = 800) -> list[Any]:
    """The law of the very log-probabilities given, with ``digits`` digits."""
    with mpmath.workdps(digits):
        p, q = (_normalised(values, mpmath.exp) for values in (log_p, log_q))
        return race_row(p, q, c)


def _normalised(log_values: FloatArray, exp: Callable[[Any], Any]) -> list[Any]:
    values = [exp(mpmath.mpf(float(v))) if v > -np.inf else mpmath.mpf(0) for v in log_values]
    total = sum(values)
    return [value / total for value in values]
