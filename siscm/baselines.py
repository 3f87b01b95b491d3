"""Rules for a second opinion: the paper's model, and what it has to beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.gumbel import counterfactual_probabilities
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs


class Pairs(NamedTuple):
    """Ordered pairs of opinions on one instance: what a rule may know when it infers the second.

    Parameters
    ----------
    log_p_observed, log_p_target
        Log-marginals (n, k) of the two experts.
    label
        Codes (n,) of what the observed expert said.
    same_group
        Whether both are in one group.
    instance, observed, target
        Positions (n,) in the opinions' ``instances`` and ``experts``.
    """

    log_p_observed: FloatArray
    log_p_target: FloatArray
    label: IntArray
    same_group: BoolArray
    instance: IntArray
    observed: IntArray
    target: IntArray

    @classmethod
    def at(
        cls,
        observed: IntArray,
        target: IntArray,
        log_p: FloatArray,
        opinions: Opinions,
        number: IntArray,
    ) -> Pairs:
        """The pairs of some opinions with others on the same instances.

        Parameters
        ----------
        observed, target
            (n,): positions of both opinions of each pair, in the order of ``opinions.to_long()``.
        log_p
            (n_opinions, k): the log-marginal of each opinion.
        opinions
            What the experts said.
        number
            (H,): the group of each expert.
        """
        i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
        a, b = h[observed], h[target]
        same = number[a] == number[b]
        return cls(log_p[observed], log_p[target], y[observed], same, i[observed], a, b)


def ordered_pairs(opinions: Opinions) -> tuple[IntArray, IntArray]:
    """Positions of both opinions of every ordered pair on one instance: observed, target."""
    blocks = [np.empty((2, 0), dtype=np.int64), *(np.stack(pair) for pair in iter_pairs(opinions))]
    first, second = np.concatenate(blocks, axis=1)
    return np.concatenate([first, second]), np.concatenate([second, first])


Rule = Callable[[Pairs], FloatArray]
"""From n ordered pairs to the probabilities (n, k) of what the target says."""


def gumbel_max(pairs: Pairs) -> FloatArray:
    """The Gumbel-Max SI-SCM: shared noise inside a group, the target's marginal across groups."""
    out, same = np.exp(pairs.log_p_target), pairs.same_group
    out[same] = counterfactual_probabilities(
        pairs.log_p_observed[same], pairs.log_p_target[same], pairs.label[same]
    )
    return out


def marginals_only(pairs: Pairs) -> FloatArray:
    """Ignore the opinion observed: the paper's baseline "GNB", a noise of her own for each."""
    return np.exp(pairs.log_p_target)


def one_noise(pairs: Pairs) -> FloatArray:
    """One noise for all experts: the original Gumbel-Max SCM, Eq. 1 of the paper."""
    return counterfactual_probabilities(pairs.log_p_observed, pairs.log_p_target, pairs.label)


def copy(pairs: Pairs) -> FloatArray:
    """She says what the observed expert said: a baseline that the paper does not have."""
    return np.asarray(
        np.arange(pairs.log_p_target.shape[-1]) == pairs.label[:, None], dtype=np.float64
    )


RULES: dict[str, Rule] = {
    "Gumbel-Max SI-SCM": gumbel_max,
    "marginals only": marginals_only,
    "copy": copy,
    "one noise for all": one_noise,
}
"""The rules by the names used in tables and figures."""
