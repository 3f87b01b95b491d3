"""What the tests of finite models share: seeds, and a model small enough to count by hand."""

from __future__ import annotations

import numpy as np

from siscm.theory.scm import FiniteSCM

SEEDS = range(40)
BOTH = frozenset({0, 1})


def with_seed(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_hand() -> FiniteSCM:
    """Two experts, three equally likely noises: the second says otherwise at the last."""
    answers = np.array([[[0, 0], [1, 1], [1, 0]]])
    return FiniteSCM.from_submechanisms(answers, np.array([0.5, 0.25, 0.25]), 2)


def spoilt(asked: frozenset[int], expert: int, x: int) -> FiniteSCM:
    """Three experts who say the noise, but for one who says the contrary to one set on one x."""

    def mechanism(members: frozenset[int]) -> np.ndarray:
        said = np.tile(np.array([[0], [1]]), (2, 1, len(members)))
        if members == asked:
            said[x, :, sorted(members).index(expert)] = 1, 0
        return said

    return FiniteSCM.from_mechanism(mechanism, np.array([0.25, 0.75]), 3, 2)
