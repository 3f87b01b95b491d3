"""Violations: pairs of opinions that contradict conditional stability."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from siscm.checks import BoolArray, FloatArray, IntArray, check_possible, check_together


def violates(
    log_p: npt.ArrayLike, label: npt.ArrayLike, log_q: npt.ArrayLike, other_label: npt.ArrayLike
) -> BoolArray:
    r"""Whether two opinions on one instance rule out that their experts are similar.

    One expert (marginal p) said c, the other (marginal q) said c'. Conditional stability
    (Section 5, Eq. 4) says that this cannot happen when :math:`q_c / p_c \ge q_{c'} / p_{c'}`.
    Tested as :math:`\log q_c + \log p_{c'} \ge \log q_{c'} + \log p_c`, which needs no division,
    stays right at probabilities too small for a product, and is symmetric in the pair. Equal
    opinions never violate. Of two different ratios that tie exactly, rounding decides.

    Parameters
    ----------
    log_p, log_q
        Log-marginals (..., k) of the two experts.
    label, other_label
        Codes (...) of what they said.

    Returns
    -------
    bool array (...)

    Raises
    ------
    ValueError
        If a marginal is not a distribution, the two have different numbers of classes, a label is
        not a code, or an expert said what her marginal gives probability zero.

    Examples
    --------
    The second expert is likelier to say 0 and less likely to say 1, yet went from 0 to 1:

    >>> import numpy as np
    >>> from siscm import violates
    >>> bool(violates(np.log([0.5, 0.5]), 0, np.log([0.8, 0.2]), 1))
    True
    """
    laws = {"first": log_p, "second": log_q}
    (log_p, log_q), (c, d) = check_together(laws, label, other_label)
    check_possible(log_p, c)
    check_possible(log_q, d)
    p_c, p_d = _take(log_p, c), _take(log_p, d)
    q_c, q_d = _take(log_q, c), _take(log_q, d)
    # A label impossible for the other expert makes its side -inf: never a violation.
    return np.asarray((c != d) & (q_c + p_d >= q_d + p_c))


def _take(values: FloatArray, code: IntArray) -> FloatArray:
    return np.take_along_axis(values, code[..., None], axis=-1)[..., 0]
