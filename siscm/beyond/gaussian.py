r"""Experts whose noises resemble each other: for labels that have an order (not in the paper).

Expert :math:`h` hears the noise :math:`g` of her group through a noise :math:`e_h` of her own, all
standard normal,

.. math:: z_h = a_h\, g + \sqrt{1 - a_h^2}\; e_h ,

and says the label in whose interval :math:`\Phi(z_h)` falls, as with a uniform noise
(:mod:`siscm.beyond.ordered`). What she says depends on nothing but features and noises, so set
invariance (Definition 1) holds, and her marginal stays what it is. Two of one group have noises
with the correlation :math:`\lambda = a_h a_{h'}`. Nothing is switched on and off: who is near to
another label in the noise is near to it in what she says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from siscm.beyond.ordered import cumulated
from siscm.checks import FloatArray, IntArray, check_labels, check_log_distribution

MOST_CORRELATION = 0.999
"""Noises are never quite the same: every two opinions are then possible together."""

_FAR = 38.0
"""Beyond, a standard normal has no probability that could be told from 0."""

_LEAST = 1e-6
"""Least ratio of a joint probability to that of two strangers: one surprise is not to decide."""

_RARE = 1e-6
"""For rarer labels differences at corners are rounding: in a ratio they count as this likely."""

_NARROW = 1e-5
"""In so short an interval the density of a standard normal is that in its middle."""

_POINTS, _SHARES = np.polynomial.legendre.leggauss(8)

_TINY = 1e-300
"""Stands for 0 where there has to be a sign or a logarithm."""


class TwoOpinions(NamedTuple):
    """Opinions of two experts on each of n instances: log-marginals (n, k), and codes (n,)."""

    log_p: FloatArray
    log_q: FloatArray
    label: IntArray
    other: IntArray


def ends(log_p: FloatArray) -> FloatArray:
    """Where each label's interval ends, as quantiles of a standard normal: (..., k + 1)."""
    below, above = cumulated(log_p)
    # From the nearer side, so that little is lost next to 0 or next to 1.
    nearer = np.where(below < above, ndtri(np.minimum(below, 1)), -ndtri(np.minimum(above, 1)))
    return np.asarray(nearer.clip(-_FAR, _FAR))


def both_below(x: FloatArray, y: FloatArray, correlation: FloatArray | float) -> FloatArray:
    """P(Z <= x, Z' <= y) of two standard normals, by Owen's function T."""
    spread = np.sqrt(1 - np.square(correlation))
    x, y = (np.where(np.abs(z) < _TINY, _TINY, z) for z in (x, y))  # T wants a sign
    with np.errstate(over="ignore"):
        tail = owens_t(x, (y - correlation * x) / (x * spread))
        tail = tail + owens_t(y, (x - correlation * y) / (y * spread))
    apart = 0.5 * (np.sign(x) * np.sign(y) < 0)
    return np.asarray(0.5 * (ndtr(x) + ndtr(y)) - tail - apart)


def law(
    log_p: FloatArray, log_q: FloatArray, label: IntArray, correlation: FloatArray | float
) -> FloatArray:
    """P(target says d | observed said ``label``) if their noises are so correlated, for every d.

    Accurate to 1e-9, however rare the label observed: differences of Owen's function do for common
    ones, a sum over the noise of their group (:func:`cells`) for others. Only what is rarer than
    1e-290 says nothing: the marginal stays.

    Parameters
    ----------
    log_p, log_q
        Log-marginals (..., k) of observed and target, labels in their order; axes broadcast.
    label
        Codes (...) of what the observed expert said.
    correlation
        (...), from 0 to 1; taken as :data:`MOST_CORRELATION` at most.

    Returns
    -------
    array (..., k)
        Rows sum to 1. Without a correlation they are the target's marginals.

    Raises
    ------
    ValueError
        If a row is not a distribution, or a label is not a code.
    """
    log_p = check_log_distribution(log_p, "observed")
    log_q = check_log_distribution(log_q, "target")
    label = check_labels(label, log_p.shape[-1])
    r = np.minimum(correlation, MOST_CORRELATION)
    x, y = ends(log_p), ends(log_q)
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1], np.shape(label), np.shape(r))
    said, r = np.broadcast_to(label, shape), np.broadcast_to(r, shape)
    x, log_p, log_q = (np.broadcast_to(z, (*shape, z.shape[-1])) for z in (x, log_p, log_q))
    low, high = (np.take_along_axis(x, said[..., None] + side, axis=-1) for side in (0, 1))
    below = both_below(high, y, r[..., None]) - both_below(low, y, r[..., None])
    inside = np.diff(below, axis=-1).clip(0)
    total = inside.sum(axis=-1, keepdims=True)
    out = np.where(r[..., None] > 0, inside / np.where(total > 0, total, 1), np.exp(log_q))
    of_said = np.take_along_axis(log_p, said[..., None], axis=-1)[..., 0]
    for i in map(tuple, np.argwhere((of_said < np.log(_RARE)) & (r > 0))):
        a = np.sqrt(r[i])[None]
        weight, chance = cells(log_p[i][None], said[i][None], a, log_q[i][None], a)
        out[i] = weight @ chance[:, 0]
    return out


def log_ratio(two: TwoOpinions, correlation: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    r"""Log-likelihood of two opinions (n,), beside that of strangers, and its derivative.

    Parameters
    ----------
    two
        The opinions, and the marginals of who gave them.
    correlation
        :math:`\lambda`, one or (n,).
    """
    strangers, corners = _rectangle(two)
    joint, slope = np.zeros_like(strangers), np.zeros_like(strangers)
    for sign, x, y in corners:
        joint += sign * both_below(x, y, correlation)
        slope += sign * _density(x, y, correlation)
    return _logarithm(joint, slope, strangers)


def log_ratios(two: TwoOpinions, correlations: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""As :func:`log_ratio`, at several correlations: values and derivatives (n, m).

    The derivative of a joint probability by the correlation is a density (Plackett, 1954), so the
    probability is an integral, taken over the angle :math:`\arcsin\lambda` by Gauss-Legendre's
    rule between neighbouring correlations. Much faster than Owen's function.

    Parameters
    ----------
    two
        As for :func:`log_ratio`.
    correlations
        (m,): ascending from 0.
    """
    strangers, corners = _rectangle(two)
    angle = np.arcsin(correlations)
    half = np.diff(angle) / 2
    rise, slope = np.zeros((2, len(angle), len(strangers)))
    for sign, x, y in corners:
        near = np.flatnonzero((np.abs(x) < _FAR) & (np.abs(y) < _FAR))
        corner = x[near], y[near]
        for n, r in enumerate(correlations):
            slope[n, near] += sign * _density(*corner, r)
        for n, width in enumerate(half, start=1):
            for point, share in zip(_POINTS, _SHARES, strict=True):
                here = angle[n - 1] + width * (1 + point)
                weight = sign * width * share * np.cos(here)
                rise[n, near] += weight * _density(*corner, np.sin(here))
    value, slope = _logarithm(strangers + rise.cumsum(axis=0), slope, strangers)
    return value.T, slope.T


def _rectangle(
    two: TwoOpinions,
) -> tuple[FloatArray, list[tuple[int, FloatArray, FloatArray]]]:
    """Where two noises lie that make both say what they said (n,).

    How likely that is for strangers; and the corners, each with the sign by which what is below it
    counts.
    """
    log_p, log_q = _with_rare(two.log_p), _with_rare(two.log_q)
    label, other, rows = two.label, two.other, np.arange(len(two.label))
    x, y = ends(log_p), ends(log_q)
    signs = ((1, 1, 1), (0, 1, -1), (1, 0, -1), (0, 0, 1))
    corners = [(sign, x[rows, label + i], y[rows, other + j]) for i, j, sign in signs]
    return np.exp(log_p[rows, label] + log_q[rows, other]), corners


def _logarithm(
    joint: FloatArray, slope: FloatArray, strangers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Of a joint probability beside that of strangers, and its derivative; never below a floor."""
    ratio = np.maximum(joint / strangers, _LEAST)
    return np.log(ratio), np.where(ratio > _LEAST, slope / strangers / ratio, 0)


def _with_rare(log_p: FloatArray) -> FloatArray:
    """Log-marginals (n, k) in which no label is rarer than about :data:`_RARE`."""
    p = np.maximum(np.exp(log_p), _RARE)
    return np.asarray(np.log(p / p.sum(axis=-1, keepdims=True)))


def _density(x: FloatArray, y: FloatArray, correlation: FloatArray | float) -> FloatArray:
    """Of two standard normals, and so the derivative of :func:`both_below` by the correlation."""
    rest = 1 - np.square(correlation)
    square = correlation * x * y - (x * x + y * y) / 2
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(square / rest) / (2 * np.pi * np.sqrt(rest)))


def cells(
    log_p: FloatArray, labels: IntArray, a: FloatArray, log_q: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A grid of the group's noise: how likely each point is, and what targets say there.

    Given that noise, all say what they say independently of each other; so a sum over a grid of
    its values, finer the more they share and the more of them spoke, is all but exact.

    Parameters
    ----------
    log_p, labels, a
        Log-marginals (m, k), label codes and sharing (m,) of the experts observed.
    log_q, b
        Log-marginals (t, k) and sharing (t,) of the targets.

    Returns
    -------
    arrays (c,), (c, t, k)
        Probabilities of the points given what was said, and of each label there.
    """
    a, b = (np.minimum(x, np.sqrt(MOST_CORRELATION)) for x in (a, b))
    most = max(a.max(initial=0), b.max(initial=0))
    # What many opinions leave of the noise is narrower, by the root of their number at most.
    step = np.sqrt((1 - most**2) / max(len(labels) / 2, 4))
    rows, x = np.arange(len(labels)), ends(log_p)
    # There is no probability left beyond 8, or 3 beyond the furthest interval observed.
    furthest = np.maximum(x[rows, labels], -x[rows, labels + 1]).max(initial=0)
    far = np.clip(furthest + 3, 8, _FAR - 1)
    g = np.arange(-far, far + step, step)
    said = _says(x, a, g)[:, rows, labels]
    log_density = np.log(np.maximum(said, _TINY)).sum(axis=1) - g**2 / 2
    density = np.exp(log_density - log_density.max())
    chance = _says(ends(log_q), b, g)
    return density / density.sum(), chance / chance.sum(axis=-1, keepdims=True)


def _says(x: FloatArray, a: FloatArray, g: FloatArray) -> FloatArray:
    """Probabilities (len(g), n, k) of labels with ends (n, k + 1), given the noise of the group."""
    spread = np.sqrt(1 - np.square(a))[:, None]
    z = (x - a[:, None] * g[:, None, None]) / spread
    low, high = z[..., :-1], z[..., 1:]
    # From the nearer side: differences next to 1 are rounding.
    upper = low + high > 0
    says = np.asarray(ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low)))
    # Those of narrow intervals are rounding everywhere.
    width = np.diff(x, axis=-1) / spread
    narrow = width < _NARROW
    middle = (low + high)[:, narrow] / 2
    says[:, narrow] = width[narrow] * np.exp(-np.square(middle) / 2) / np.sqrt(2 * np.pi)
    return says
