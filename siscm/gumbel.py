r"""Two experts, one Gumbel noise: the exact law, and how to draw the noise.

Expert :math:`h` with marginal :math:`p` says :math:`\arg\max_j \log p_j + U_j`, expert
:math:`h'` with marginal :math:`q` says :math:`\arg\max_j \log q_j + U_j`, with the same
:math:`U_j \sim \mathrm{Gumbel}(0, 1)` (the paper's Gumbel-Max SI-SCM, Section 6). With
:math:`\theta_j = p_j / q_j`, :math:`S(\theta) = \sum_j \max(p_j, \theta q_j)` and
:math:`G(\theta) = \int_0^\theta \mathrm dt / S(t)^2`, the counterfactual distribution is

.. math::
    P(Y_{h'} = c \mid Y_h = c) = 1 / S(\theta_c), \qquad
    P(Y_{h'} = d \mid Y_h = c) = q_d\, [G(\theta_c) - G(\theta_d)]_+ .
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from siscm.checks import FloatArray, IntArray, check_count, check_possible, check_together

_BLOCK_VALUES = 2**13
"""Probabilities handled at a time: 64 KiB an array stay in the cache, and are small enough for
the C library to reuse, where it would ask the operating system for larger ones each time."""


def counterfactual_probabilities(
    log_p_observed: npt.ArrayLike, log_p_target: npt.ArrayLike, label: npt.ArrayLike
) -> FloatArray:
    r"""P(target says d | observed said ``label``) under one shared Gumbel noise, for every d.

    Exact: a closed form, no sampling. With the symbols of this module, :math:`1/S(\theta_c)` for
    the label observed and :math:`q_d [G(\theta_c) - G(\theta_d)]_+` for every other. It replaces
    the estimator of the paper's Eq. 5.

    Parameters
    ----------
    log_p_observed, log_p_target
        Log-marginals (..., k) of the two experts; their exponentials sum to 1. Leading axes
        broadcast.
    label
        Codes (...) of what the observed expert said; its probability must be positive.

    Returns
    -------
    array (..., k)
        Rows sum to 1. Zero where counterfactual stability (Section 5) demands it; ratios
        that differ by rounding only may fall on either side.

    Raises
    ------
    ValueError
        If a row is not a distribution, the two have different numbers of classes, a label is not
        a code, or an observed label has probability zero.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm.gumbel import counterfactual_probabilities
    >>> p, q = np.log([0.5, 0.3, 0.2]), np.log([0.6, 0.2, 0.2])
    >>> counterfactual_probabilities(p, q, 0).round(3)
    array([1., 0., 0.])
    """
    laws = {"observed": log_p_observed, "target": log_p_target}
    (log_p, log_q), (code,) = check_together(laws, label)
    check_possible(log_p, code)
    k = log_p.shape[-1]
    rows = (log_p.reshape(-1, k), log_q.reshape(-1, k), code.reshape(-1))
    return _in_blocks(_counterfactual_rows, rows, (k,)).reshape(log_p.shape)


def _in_blocks(
    law: Callable[..., FloatArray], rows: tuple[npt.NDArray[Any], ...], shape: tuple[int, ...]
) -> FloatArray:
    """A law (n, *shape) from the rows (n, ...) of marginals and labels, some rows at a time."""
    out = np.empty((len(rows[0]), *shape))
    step = max(1, _BLOCK_VALUES // math.prod(shape))
    for start in range(0, len(out), step):
        block = slice(start, start + step)
        out[block] = law(*(part[block] for part in rows))
    return out


def _counterfactual_rows(log_p: FloatArray, log_q: FloatArray, label: IntArray) -> FloatArray:
    """The closed form for rows (n, k) and one observed label a row."""
    order, q, segments, stay = _knots(log_p, log_q)
    rows = np.arange(len(order))
    position = np.argmax(order == label[:, None], axis=-1)
    below = np.where(np.arange(order.shape[-1] - 1) < position[:, None], segments, 0.0)
    # Summed downwards from the observed label: only positive terms, so nothing cancels.
    law = np.zeros_like(q)
    law[:, :-1] = np.cumsum(below[:, ::-1], axis=-1)[:, ::-1]
    law *= q
    law[rows, position] = stay[rows, position]
    np.minimum(law, 1.0, out=law)  # rounding may leave a certain label just above 1
    out = np.empty_like(law)
    out.reshape(-1)[order + order.shape[1] * rows[:, None]] = law
    return out


def _knots(
    log_p: FloatArray, log_q: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    r"""The piecewise linear :math:`S` of rows (n, k), cut at its knots :math:`\theta_j`.

    Every factor below is written with :math:`\theta\wedge1` and :math:`1/\theta\wedge1`, and
    :math:`S` divided by :math:`\theta\vee1`, so all of them lie in [0, 2] whatever the ratios.

    Returns
    -------
    order (n, k), q (n, k), segments (n, k - 1), stay (n, k)
        The labels by ascending :math:`\theta`; then, in that order, the target's probabilities,
        :math:`\int \mathrm dt/S^2` between neighbouring knots, and :math:`1/S(\theta_j)`.
    """
    p, q = np.exp(log_p), np.exp(log_q)
    total_p, total_q = p.sum(-1, keepdims=True), q.sum(-1, keepdims=True)
    p /= total_p
    q /= total_q
    with np.errstate(invalid="ignore"):
        log_theta = log_p - log_q - np.log(total_p / total_q)
    # Impossible for both: neither knot nor mass. At zero it changes nothing.
    log_theta[np.isnan(log_theta)] = -np.inf
    order = np.argsort(log_theta, axis=-1)
    # One index into the flattened rows is three times as fast as two.
    flat = order + order.shape[1] * np.arange(len(order))[:, None]
    log_theta, p, q = log_theta.reshape(-1)[flat], p.reshape(-1)[flat], q.reshape(-1)[flat]
    theta_or_1 = np.exp(np.minimum(log_theta, 0.0))
    inverse_or_1 = np.exp(np.minimum(-log_theta, 0.0))
    tail = np.zeros_like(p)
    tail[:, :-1] = np.cumsum(p[:, :0:-1], axis=-1)[:, ::-1]
    scaled_s = tail * inverse_or_1 + np.cumsum(q, axis=-1) * theta_or_1
    with np.errstate(invalid="ignore"):
        step = log_theta[:, :-1] - log_theta[:, 1:]
    step[np.isnan(step)] = 0.0
    segments = theta_or_1[:, 1:] * inverse_or_1[:, :-1] * np.abs(np.expm1(step))
    segments /= scaled_s[:, :-1] * scaled_s[:, 1:]
    return order, q, segments, inverse_or_1 / scaled_s


def joint_probabilities(log_p: npt.ArrayLike, log_q: npt.ArrayLike) -> FloatArray:
    r"""P(one says c, the other says d) under one shared Gumbel noise, for every c and d.

    The rows of :func:`counterfactual_probabilities`, each times :math:`p_c`.

    Parameters
    ----------
    log_p, log_q
        Log-marginals (..., k) of the two experts. Leading axes broadcast.

    Returns
    -------
    array (..., k, k)
        First what the expert with ``log_p`` says, then the other. Sums to 1, with marginals
        p and q.

    Raises
    ------
    ValueError
        If a row is not a distribution, or the two have different numbers of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm.gumbel import joint_probabilities
    >>> joint_probabilities(np.log([0.5, 0.5]), np.log([0.8, 0.2])).round(3)
    array([[0.5, 0. ],
           [0.3, 0.2]])
    """
    laws, _ = check_together({"first": log_p, "second": log_q})
    *leading, k = laws[0].shape
    rows = tuple(law.reshape(-1, k) for law in laws)
    return _in_blocks(_joint_rows, rows, (k, k)).reshape(*leading, k, k)


def _joint_rows(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    """The closed form for rows (n, k) and every label observed: one sort a row."""
    order, q, segments, stay = _knots(log_p, log_q)
    n, k = order.shape
    below = np.tril(np.ones((k, k - 1)), -1) * segments[:, None, :]
    law = np.zeros((n, k, k))
    law[..., :-1] = np.cumsum(below[..., ::-1], axis=-1)[..., ::-1]
    law *= q[:, None, :]
    law[:, np.arange(k), np.arange(k)] = stay
    joint = np.empty_like(law)
    joint[np.arange(n)[:, None, None], order[:, :, None], order[:, None, :]] = law
    p = np.exp(log_p)
    joint *= (p / p.sum(-1, keepdims=True))[:, :, None]
    return joint


def sample_noise(
    n_classes: int, size: int | tuple[int, ...], rng: np.random.Generator
) -> FloatArray:
    """Draw Gumbel(0, 1) noise vectors from the prior: array ``(*size, n_classes)``.

    Parameters
    ----------
    n_classes
        How many labels there are: k.
    size
        How many vectors, or the shape of an array of them.
    rng
        Draws them.
    """
    shape = (size,) if isinstance(size, int | np.integer) else size
    return rng.gumbel(size=(*shape, n_classes))


def sample_posterior_noise(
    log_p: npt.ArrayLike,
    label: npt.ArrayLike,
    size: int | tuple[int, ...],
    rng: np.random.Generator,
) -> FloatArray:
    r"""Draw Gumbel noise given what the expert said: the posterior under the paper's Eq. 5.

    With :math:`\tau \sim \mathrm{Exp}(1)`: :math:`E_c = p_c \tau`, and
    :math:`E_j = p_j \tau + \mathrm{Exp}(1)` for every other label; then :math:`U = -\log E`. Exact;
    no truncated Gumbel is needed.

    Parameters
    ----------
    log_p
        Log-marginals (..., k) of the expert.
    label
        Codes (...) of what the expert said.
    size
        How many draws of each row.
    rng
        Draws the noise.

    Returns
    -------
    array ``(*size, ..., k)``
        Each draw makes the expert say ``label``.

    Raises
    ------
    ValueError
        If a row is not a distribution, or the label is not a code or has probability zero.
    """
    (log_p,), (code,) = check_together({"observed": log_p}, label)
    check_possible(log_p, code)
    *leading, k = log_p.shape
    said = np.arange(k) == code[..., None]
    shape = (size,) if isinstance(size, int | np.integer) else size
    log_t = np.log(rng.standard_exponential((*shape, *leading, 1)))
    others = np.log(rng.standard_exponential((*shape, *leading, k)))
    at_t = log_p + log_t
    return -np.where(said, at_t, np.logaddexp(at_t, others))


def monte_carlo_probabilities(
    log_p_observed: npt.ArrayLike,
    log_p_target: npt.ArrayLike,
    label: npt.ArrayLike,
    n_samples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Estimate the counterfactual distribution as the paper does (Eq. 5), with T samples.

    Targets that broadcast against one observed expert share her draws. Kept as the paper's
    estimator and as a check of the exact value, :func:`counterfactual_probabilities`.

    Parameters
    ----------
    log_p_observed, log_p_target, label
        As for :func:`counterfactual_probabilities`.
    n_samples
        How many posterior noise vectors: T in the paper.
    rng
        Draws them.

    Returns
    -------
    array (..., k)
        Frequencies, multiples of ``1 / n_samples``.

    Raises
    ------
    ValueError
        As the exact law, and if ``n_samples`` is no positive whole number.
    """
    laws = {"observed": log_p_observed, "target": log_p_target}
    (_, log_q), _ = check_together(laws, label)
    n_samples = check_count(n_samples, "n_samples")
    counts = np.zeros_like(log_q)
    # The observed expert's axes are the last of the leading ones, the draws come before them all.
    code = np.reshape(label, (1,) * (log_q.ndim - 1 - np.ndim(label)) + np.shape(label))
    step = max(1, _BLOCK_VALUES // max(1, counts.size))
    for start in range(0, n_samples, step):
        draws = min(step, n_samples - start)
        noise = sample_posterior_noise(log_p_observed, code, draws, rng)
        said = np.argmax(log_q + noise, axis=-1)
        counts += (said[..., None] == np.arange(log_q.shape[-1])).sum(axis=0)
    return counts / n_samples
