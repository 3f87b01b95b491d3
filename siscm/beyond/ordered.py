r"""Two experts, one uniform noise: the law for labels that have an order (not in the paper).

With one noise :math:`u` uniform on [0, 1], expert :math:`h` says the first label whose cumulated
probability reaches it: her inverse distribution function. What she says depends on nothing but
the features and the noise, so set invariance (Definition 1) holds as with Gumbel noises. Each label
is an interval of :math:`u`, and

.. math::
    P(Y_{h'} = d \mid Y_h = c) = \frac{|I_h(c) \cap I_{h'}(d)|}{|I_h(c)|} .

With two labels this is the law under a shared Gumbel noise; with more, it knows their order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from siscm.checks import FloatArray, check_possible, check_together

_LEAST = 1e-12
"""Of an interval beside its distance to 0 or 1: shorter ones would be rounding, or nothing."""

_SMALLEST = float(np.nextafter(0, 1))
"""Of all numbers above 0."""


def counterfactual_probabilities(
    log_p_observed: npt.ArrayLike, log_p_target: npt.ArrayLike, label: npt.ArrayLike
) -> FloatArray:
    """P(target says d | observed said ``label``) under one shared uniform noise, for every d.

    Parameters
    ----------
    log_p_observed, log_p_target
        Log-marginals (..., k) of the two experts, labels in their order; leading axes broadcast.
    label
        Codes (...) of what the observed expert said; its probability must be positive.

    Returns
    -------
    array (..., k)
        Rows sum to 1.

    Raises
    ------
    ValueError
        As :func:`siscm.gumbel.counterfactual_probabilities`.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm.beyond.ordered import counterfactual_probabilities
    >>> counterfactual_probabilities(np.log([0.2, 0.8]), np.log([0.5, 0.5]), 1).round(3)
    array([0.375, 0.625])
    """
    laws = {"observed": log_p_observed, "target": log_p_target}
    (log_p, log_q), (code,) = check_together(laws, label)
    check_possible(log_p, code)
    said = code[..., None, None]
    low, high = (np.take_along_axis(end, said, axis=-2) for end in intervals(log_p))
    first, last = intervals(log_q)
    overlap = np.maximum(np.minimum(high, last) - np.maximum(low, first), 0).sum(axis=-1)
    total = overlap.sum(axis=-1, keepdims=True)
    return np.asarray(overlap / total)


def intervals(log_p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the noises lie that make an expert say each label: first and last ends, from 0 to 1.

    Returns
    -------
    arrays (..., k, 2)
        A point u is kept as min(u, 1/2) and max(u, 1/2) - 1: both ascend with u, distances are
        sums of both differences, and none is lost next to 0 or next to 1. Each label that is
        possible has an interval of some length.
    """
    below, above = cumulated(log_p)
    lower = below < above
    below, above = np.where(lower, below, 0.5), np.where(lower, 0.5, above)
    ends = np.stack([np.minimum(below, 0.5), -np.minimum(above, 0.5)], axis=-1)
    return ends[..., :-1, :], ends[..., 1:, :]


def cumulated(log_p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How likely labels are below each end of their intervals, and above it: (..., k + 1) both.

    Each is added up from its own side, so that little is lost next to 0 or next to 1. Elsewhere a
    tiny label would have no interval left: it gets one that is longer than its ends' rounding.
    """
    p = np.exp(log_p)
    below, above = _sums(p / p.sum(axis=-1, keepdims=True))
    nearer = np.minimum(below[..., 1:], above[..., :-1])
    least = np.maximum(_LEAST * nearer, _SMALLEST)
    p = np.where(np.isneginf(log_p), 0, np.maximum(p, least))
    return _sums(p / p.sum(axis=-1, keepdims=True))


def _sums(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    nothing = np.zeros_like(p[..., :1])
    below = np.concatenate([nothing, p.cumsum(axis=-1)], axis=-1)
    above = np.concatenate([p[..., ::-1].cumsum(axis=-1)[..., ::-1], nothing], axis=-1)
    return below, above
