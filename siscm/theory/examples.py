"""Small models of two experts, Ann (0) and Bob (1), that several pages speak of."""

from __future__ import annotations

import numpy as np

from siscm.checks import FloatArray, IntArray
from siscm.theory.scm import FiniteSCM

ANN, BOB = 0, 1
ONLY_ANN, ONLY_BOB, BOTH = frozenset({ANN}), frozenset({BOB}), frozenset({ANN, BOB})


def ann_and_bob() -> FiniteSCM:
    """Two doctors who do not talk; under one of four noises each says 0, wait, or 1, operate."""
    says = np.array([[[0, 0], [0, 1], [1, 0], [1, 1]]])
    return FiniteSCM.from_submechanisms(says, np.array([0.4, 0.2, 0.1, 0.3]), n_classes=2)


def bob_repeats_ann() -> FiniteSCM:
    """The same two, only that Bob says what Ann says when both are asked."""
    silent = ann_and_bob()
    return _alone_and_together(silent.alone, silent.alone[..., [ANN, ANN]], silent.prior)


def contrary() -> FiniteSCM:
    """A coin that only they see: Bob alone names its lower side, beside Ann the upper, as she does.

    Every distribution of their answers is as if they always agreed, whoever is asked.
    """
    coin = np.array([[[0, 1], [1, 0]]])
    return _alone_and_together(coin, coin[..., [ANN, ANN]], np.array([0.5, 0.5]))


def _alone_and_together(alone: IntArray, together: IntArray, prior: FloatArray) -> FiniteSCM:
    return FiniteSCM.from_mechanism(
        lambda asked: together if asked == BOTH else alone[..., sorted(asked)],
        prior,
        n_experts=2,
        n_classes=2,
    )
