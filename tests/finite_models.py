"""What the tests of finite models share: seeds, and a model small enough to count by hand."""

from __future__ import annotations

import numpy as np

from siscm.scm import FiniteSCM

SEEDS = range(40)
BOTH = frozenset({0, 1})


def with_seed(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_hand() -> FiniteSCM:
    """Two experts, three equally likely noises: the second says otherwise at the last."""
    answers = np.array([[[0, 0], [1, 1], [1, 0]]])
    return FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.25, 0.25]), 2)
