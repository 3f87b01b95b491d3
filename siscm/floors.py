r"""What an expert says under a Gumbel noise of which floors are known, and some values.

With :math:`E_j = e^{-U_j}` and floors :math:`s f_j`: n labels of which the value is the floor, and
the others Exp(1) above it, where s is Gamma(n) with rate :math:`S = \sum_j f_j`. An expert with
marginal r says the label with the smallest :math:`E_j / r_j`. That all of these exceed
:math:`s \sigma` has probability :math:`(S / S(\sigma))^n` with
:math:`S(\sigma) = \sum_j \max(f_j, \sigma r_j)`, up to the first :math:`f_j / r_j` of a known
value, which she says if nothing came before it. S is piecewise linear, so everything is a sum over
the pieces, as in :mod:`siscm.gumbel`. Everything is computed in logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from siscm.checks import BoolArray, FloatArray, IntArray

_LEAST_LOG_SLOPE = -700.0
"""Below it a label is so unlikely that the inverse of its probability overflows."""


class Pieces(NamedTuple):
    """A range of t, cut where S(t) = sum of max(f, t q) bends; arrays (..., k) of logarithms."""

    order: IntArray
    left: FloatArray
    sum: FloatArray
    slope: FloatArray
    growth: FloatArray
    """Of log S over the piece; 0 if it has no length."""
    integral: FloatArray
    """Of n S_0^n / S(t)^(n + 1) over the piece, with S_0 the sum of f."""


def pieces_between(
    log_f: FloatArray, log_q: FloatArray, n: int, log_low: FloatArray, log_high: FloatArray
) -> Pieces:
    """Cut the range from low to high (...) where t q overtakes f (..., k).

    What lies before the first of these belongs to no piece.

    Parameters
    ----------
    log_f, log_q
        Logarithms of f and q, (..., k); leading axes broadcast.
    n
        Of how many labels the value is known.
    log_low, log_high
        Logarithms (...) of the ends of the range.
    """
    log_f, log_q = np.broadcast_arrays(log_f, log_q)
    knots = np.clip(turns_of(log_f, log_q), log_low[..., None], log_high[..., None])
    order = np.argsort(knots, axis=-1)
    knots, f, q = (np.take_along_axis(part, order, axis=-1) for part in (knots, log_f, log_q))
    high = np.broadcast_to(log_high[..., None], (*knots.shape[:-1], 1))
    right = np.concatenate([knots[..., 1:], high], axis=-1)
    log_slope, log_s = slope_and_sum(knots, f, q)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        log_length = right + np.log(-np.expm1(knots - right))
        growth = np.where(knots < right, np.logaddexp(0, log_slope + log_length - log_s), 0)
        log_first = n * (logsumexp(log_f, axis=-1, keepdims=True) - log_s)
        integral = log_first - log_slope + np.log(-np.expm1(-n * growth))
    return Pieces(order, knots, log_s, log_slope, growth, np.where(growth > 0, integral, -np.inf))


def turns_of(log_f: FloatArray, log_q: FloatArray) -> FloatArray:
    """Where t q overtakes f; nowhere if both are zero.

    Parameters
    ----------
    log_f, log_q
        As for :func:`pieces_between`; the result is the logarithm of t.
    """
    with np.errstate(invalid="ignore"):
        at = log_f - log_q
    return np.where(np.isnan(at), np.inf, at)


def slope_and_sum(
    log_knots: FloatArray, log_f: FloatArray, log_q: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of S and, just above, of its slope at knots (..., k) in ascending order.

    Parameters
    ----------
    log_knots
        Logarithms of the knots.
    log_f, log_q
        Logarithms of f and q, in the order of the knots.
    """
    log_slope = np.logaddexp.accumulate(log_q, axis=-1)
    above = np.full_like(log_f, -np.inf)
    above[..., :-1] = np.logaddexp.accumulate(log_f[..., ::-1], axis=-1)[..., -2::-1]
    with np.errstate(invalid="ignore"):
        log_s = np.logaddexp(log_slope + log_knots, above)
    return np.maximum(log_slope, _LEAST_LOG_SLOPE), log_s


def law_given_floors(log_floor: FloatArray, said: BoolArray, log_q: FloatArray) -> FloatArray:
    """What an expert with log-marginals (..., k) says, given the floors f (..., k) of the noise.

    Parameters
    ----------
    log_floor
        Logarithms of f.
    said
        (k,): the labels observed, whose floors are their values.
    log_q
        The log-marginals; leading axes broadcast against those of the floors.
    """
    log_floor, log_q = np.broadcast_arrays(log_floor, log_q)
    n = int(said.sum())
    of_said = turns_of(log_floor[..., said], log_q[..., said])
    stays, end = np.flatnonzero(said)[of_said.argmin(axis=-1)][..., None], of_said.min(axis=-1)
    pieces = pieces_between(log_floor, log_q, n, np.full_like(end, -np.inf), end)
    onwards = np.cumsum(np.exp(pieces.integral[..., ::-1]), axis=-1)[..., ::-1]
    q = np.exp(np.take_along_axis(log_q, pieces.order, axis=-1))
    law = np.empty_like(q)
    np.put_along_axis(law, pieces.order, q * onwards, axis=-1)
    with np.errstate(invalid="ignore"):
        at_end = np.where(np.isneginf(log_q), -np.inf, log_q + end[..., None])
    log_silent = logsumexp(log_floor, axis=-1) - logsumexp(np.maximum(log_floor, at_end), axis=-1)
    np.put_along_axis(law, stays, np.exp(n * log_silent)[..., None], axis=-1)
    return law
