r"""Opinions that no shared noise can have produced, however many they are.

With :math:`E_j = e^{-U_j}` of Gumbel noises U, expert i says :math:`\arg\min_j E_j / p_j^{(i)}`.
So that she said c means :math:`E_j \ge R_j E_c` with :math:`R_j = p_j^{(i)} / p_c^{(i)}`: in
logarithms, bounds on differences. They contradict each other if, and only if, they do so round a
cycle. For two experts that is a violation (:mod:`siscm.violations`); three can be possible two by
two, and impossible together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from siscm.checks import FloatArray, IntArray


class Names(NamedTuple):
    """What error messages call the instances, experts and labels."""

    instances: Sequence[Hashable]
    experts: Sequence[Hashable]
    classes: Sequence[Hashable]


class VirtualExperts(NamedTuple):
    r"""One expert a label: labels said (m,), ascending, and log-ratios :math:`\log R` (m, k)."""

    said: IntArray
    log_ratio: FloatArray

    def bounds(self) -> FloatArray | None:
        r"""How far the values of the labels said must lie apart, all opinions taken together.

        Returns
        -------
        array (m, m), or None
            Entry (i, j) is the largest :math:`\beta` such that
            :math:`\log E_{c_j} \ge \log E_{c_i} + \beta` follows; None if the bounds contradict
            each other round a cycle: no noise makes them all say this.
        """
        bound = self.log_ratio[:, self.said]
        np.fill_diagonal(bound, -np.inf)
        for via in range(len(bound)):
            bound = np.maximum(bound, bound[:, [via]] + bound[[via]])
        return None if (np.diag(bound) >= 0).any() else bound


def virtual_experts(log_p: FloatArray, labels: IntArray) -> VirtualExperts:
    """Merge experts with log-marginals (n, k) who said the same.

    Parameters
    ----------
    log_p, labels
        The log-marginals, and the label codes (n,) of what each said.
    """
    log_ratio = log_p - log_p[np.arange(len(labels)), labels][:, None]
    said = np.unique(labels)
    return VirtualExperts(said, np.stack([log_ratio[labels == c].max(axis=0) for c in said]))


def possible(log_p: FloatArray, labels: IntArray) -> bool:
    """Whether some noise makes experts with log-marginals (n, k) say all that they said.

    Parameters
    ----------
    log_p, labels
        As for :func:`virtual_experts`.
    """
    return virtual_experts(log_p, labels).bounds() is not None


def refusal(
    log_p: FloatArray,
    labels: IntArray,
    names: Names,
    instance: int,
    experts: IntArray,
    is_possible: Callable[[FloatArray, IntArray], bool] = possible,
) -> ValueError:
    """The error for experts with log-marginals (n, k) who cannot have said what they said.

    It names some who are impossible together and of whom none can be left out.

    Parameters
    ----------
    log_p, labels
        Log-marginals (n, k) and label codes (n,) of the experts observed.
    names
        All instances, experts and classes.
    instance, experts
        Position of the instance, and positions (n,) of the experts, among the names.
    is_possible
        Whether experts with such marginals can say such labels together.
    """
    kept = np.ones(len(labels), dtype=bool)
    for i in range(len(labels)):
        kept[i] = False
        if is_possible(log_p[kept], labels[kept]):
            kept[i] = True
    said = [
        f"expert {names.experts[h]!r} say {names.classes[y]!r}"
        for h, y in zip(experts[kept].tolist(), labels[kept].tolist(), strict=True)
    ]
    return ValueError(
        f"instance {names.instances[instance]!r}: no noise makes {' and '.join(said)}, and they "
        "share one; leave one of them out, or let them share less (siscm.graded.GradedSISCM with "
        "a sharing below 1)."
    )
