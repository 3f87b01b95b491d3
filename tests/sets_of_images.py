"""A small raw file with image sets: 200 images of 4 classes in sets of 20, dealt out three times.

Annotator ids are random, so that they tell nothing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from siscm.checks import FloatArray, IntArray

N_IMAGES, N_CLASSES, N_SETS, N_RESHUFFLES = 200, 4, 10, 3
TRUE_LABEL = np.arange(N_IMAGES) % N_CLASSES


def dealt(
    rng: np.random.Generator, *, by_class: bool = True, difficulty: FloatArray | None = None
) -> IntArray:
    """Sets (reshuffles, sets, 20): at random, or the harder images rather in the first ones."""
    out = []
    for _ in range(N_RESHUFFLES):
        key = rng.normal(0, 0.1, N_IMAGES) - (0 if difficulty is None else difficulty)
        parts = [np.flatnonzero(c == TRUE_LABEL) for c in range(N_CLASSES)]
        if not by_class:
            parts = [np.arange(N_IMAGES)]
        out.append(np.hstack([part[np.argsort(key[part])].reshape(N_SETS, -1) for part in parts]))
    return np.array(out)


def handed_out(
    rng: np.random.Generator,
    *,
    sets: IntArray | None = None,
    number: IntArray | None = None,
    error: FloatArray | float = 0.2,
    each: int = 3,
) -> pd.DataFrame:
    """A raw table: each set goes to so many annotators, by ``number`` or at random.

    ``error`` is the probability of each image to be mistaken.
    """
    sets = dealt(rng) if sets is None else sets
    if number is None:
        number = rng.permutation(np.repeat(np.arange(N_RESHUFFLES * N_SETS), each))
    image = sets.reshape(N_RESHUFFLES * N_SETS, -1)[number].ravel()
    annotator = np.repeat(np.arange(len(number)), N_IMAGES // N_SETS)
    wrong = rng.random(len(image)) < np.broadcast_to(error, N_IMAGES)[image]
    shift = rng.integers(1, N_CLASSES, len(image))
    return pd.DataFrame(
        {
            "annotator": annotator,
            "image": image,
            "true_label": TRUE_LABEL[image],
            "chosen_label": (TRUE_LABEL[image] + wrong * shift) % N_CLASSES,
            "planted_set": number[annotator],
            "planted_reshuffle": number[annotator] // N_SETS,
        }
    )


def shuffled(raw: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The same rows in another order."""
    return raw.iloc[rng.permutation(len(raw))].reset_index(drop=True)
