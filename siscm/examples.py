"""Small models of two experts, Ann (0) and Bob (1), that several pages speak of."""

from __future__ import annotations

import numpy as np

from siscm.checks import FloatArray, IntArray
from siscm.scm import FiniteSCM

ANN, BOB = 0, 1

PRIOR = np.array([0.4, 0.2, 0.1, 0.3])
"""Of the four noises that Ann and Bob share."""

SAYS = np.array([[[0, 0], [0, 1], [1, 0], [1, 1]]])
"""What Ann and Bob say under each, 0 for wait and 1 for operate: (one feature, noise, expert)."""


def ann_and_bob() -> FiniteSCM:
    """Two doctors who do not talk."""
    return FiniteSCM.from_submechanisms(SAYS, PRIOR, n_classes=2)


def bob_repeats_ann() -> FiniteSCM:
    """The same two, only that Bob says what Ann says when both are asked."""
    return _alone_and_together(SAYS, SAYS[..., [ANN, ANN]], PRIOR)


def contrary() -> FiniteSCM:
    """A coin that only they see: Bob alone names its lower side, beside Ann the upper, as she does.

    Every distribution of their answers is as if they always agreed, whoever is asked.
    """
    coin = np.array([[[0, 1], [1, 0]]])
    return _alone_and_together(coin, coin[..., [ANN, ANN]], np.array([0.5, 0.5]))


def _alone_and_together(alone: IntArray, together: IntArray, prior: FloatArray) -> FiniteSCM:
    return FiniteSCM.from_mechanism(
        lambda asked: together if len(asked) == 2 else alone[..., sorted(asked)],
        prior,
        n_experts=2,
        n_classes=2,
    )
