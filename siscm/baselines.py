"""Rules for a second opinion: the paper's model, and what it has to beat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.gumbel import counterfactual_probabilities

Rule = Callable[[FloatArray, FloatArray, IntArray, BoolArray], FloatArray]
"""From log-marginals (n, k) of the observed and the target expert, the label observed (n,) and
whether both are in one group (n,): the probabilities (n, k) of what the target says."""


def gumbel_max(
    log_p_observed: FloatArray, log_p_target: FloatArray, label: IntArray, same_group: BoolArray
) -> FloatArray:
    """The Gumbel-Max SI-SCM: shared noise inside a group, the target's marginal across groups."""
    out = np.exp(log_p_target)
    out[same_group] = counterfactual_probabilities(
        log_p_observed[same_group], log_p_target[same_group], label[same_group]
    )
    return out


def marginals_only(
    log_p_observed: FloatArray, log_p_target: FloatArray, label: IntArray, same_group: BoolArray
) -> FloatArray:
    """Ignore the opinion observed: the paper's baseline "GNB", a noise of her own for each."""
    return np.exp(log_p_target)


def one_noise(
    log_p_observed: FloatArray, log_p_target: FloatArray, label: IntArray, same_group: BoolArray
) -> FloatArray:
    """One noise for all experts: the original Gumbel-Max SCM, Eq. 1 of the paper."""
    return counterfactual_probabilities(log_p_observed, log_p_target, label)


def copy(
    log_p_observed: FloatArray, log_p_target: FloatArray, label: IntArray, same_group: BoolArray
) -> FloatArray:
    """She says what the observed expert said: a baseline that the paper leaves out."""
    return np.asarray(np.arange(log_p_target.shape[-1]) == label[:, None], dtype=np.float64)


RULES: dict[str, Rule] = {
    "Gumbel-Max SI-SCM": gumbel_max,
    "marginals only": marginals_only,
    "copy": copy,
    "one noise for all": one_noise,
}
"""The rules by the names used in tables and figures."""
