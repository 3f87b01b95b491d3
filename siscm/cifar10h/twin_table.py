"""The raw file of a twin of CIFAR-10H, written from its opinions: the true file's columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.checks import IntArray
from siscm.cifar10h.counts import CLASSES, N_IMAGES
from siscm.cifar10h.raw_file import IMAGES_EACH, NO_IMAGE

_N_CHECKS = 10  # attention checks an annotator sees, one after every twenty images
_CHECK_PASSED = 0.98  # share of them that a careful annotator looks at properly
_N_NEGATIVE = 12  # reaction times below zero in the true file
_N_KINDS = 6  # invented subcategories a class


def raw_table(
    opinions: pd.DataFrame, is_careless: npt.NDArray[np.bool_], rng: np.random.Generator
) -> pd.DataFrame:
    """The annotator file of a twin: opinions and attention checks in the order of the trials.

    Parameters
    ----------
    opinions
        A row an opinion, 200 an annotator: ``annotator_id``, ``true_label``, ``chosen_label``,
        ``image``, and ``doubt`` in [0, 1], with which reactions get slower.
    is_careless
        Of each annotator, whether she fails attention checks.
    rng
        Orders the trials; draws checks, names and times.

    Returns
    -------
    DataFrame
        The true file's columns, by annotator, then by trial. File names, subcategories and times
        (milliseconds) are invented.
    """
    n_trials = IMAGES_EACH + _N_CHECKS
    block = n_trials // _N_CHECKS
    trial = np.arange(n_trials)
    is_check = np.tile(trial % block == block - 1, len(is_careless))
    annotator = np.repeat(np.arange(len(is_careless)), n_trials)
    order = np.lexsort((rng.random(len(opinions)), opinions["annotator_id"]))
    columns: dict[str, Any] = {}
    for name, checks in _checks(is_careless, rng).items():
        columns[name] = np.empty(len(annotator), dtype=checks.dtype)
        columns[name][is_check] = checks
        columns[name][~is_check] = opinions[name].to_numpy()[order]
    names, kinds = _image_names(columns["true_label"], columns["image"], rng)
    said = np.array(CLASSES, dtype=object)
    reaction = 500 + rng.lognormal(6.6 + 1.5 * columns["doubt"], 0.55)
    reaction = reaction.round().astype(np.int64)
    pause = rng.integers(300, 700, size=len(reaction))
    elapsed = (reaction + pause).reshape(-1, n_trials)
    elapsed[:, 0] += rng.integers(20_000, 90_000, size=len(elapsed))  # reading the instructions
    # The true file has some, as if a clock had been set back.
    back = rng.choice(np.flatnonzero(~is_check), _N_NEGATIVE, replace=False)
    reaction[back] *= -1
    return pd.DataFrame(
        {
            "annotator_id": annotator,
            "trial_index": np.tile(trial, len(is_careless)),
            "is_attn_check": is_check.astype(np.int64),
            "true_category": said[columns["true_label"]],
            "chosen_category": said[columns["chosen_label"]],
            "true_label": columns["true_label"],
            "chosen_label": columns["chosen_label"],
            "correct_guess": (columns["true_label"] == columns["chosen_label"]).astype(np.int64),
            "cifar10_test_test_idx": columns["image"],
            "image_filename": names,
            "subcategory": kinds,
            "reaction_time": reaction,
            "time_elapsed": elapsed.cumsum(axis=1).ravel(),
        }
    )


def _checks(
    is_careless: npt.NDArray[np.bool_], rng: np.random.Generator
) -> dict[str, npt.NDArray[Any]]:
    """Attention checks: easy images of no index, which only the careless fail."""
    annotator = np.repeat(np.arange(len(is_careless)), _N_CHECKS)
    true_label = rng.integers(len(CLASSES), size=len(annotator))
    looked = (rng.random(len(annotator)) < _CHECK_PASSED) & ~is_careless[annotator]
    guess = rng.integers(len(CLASSES), size=len(annotator))
    return {
        "true_label": true_label,
        "chosen_label": np.where(looked, true_label, guess),
        "image": np.full(len(annotator), NO_IMAGE),
        "doubt": np.zeros(len(annotator)),
    }


def _image_names(
    labels: IntArray, image: IntArray, rng: np.random.Generator
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """Invented file names and subcategories, the same wherever an image occurs."""
    place = np.where(image == NO_IMAGE, N_IMAGES + labels, image)
    label_of = np.zeros(N_IMAGES + len(CLASSES), dtype=np.int64)
    label_of[place] = labels
    numbers = rng.integers(1, _N_KINDS + 1, size=N_IMAGES)
    endings = [f"kind {number}" for number in numbers] + ["check"] * len(CLASSES)
    kinds = [f"{CLASSES[c]} {ending}" for c, ending in zip(label_of, endings, strict=True)]
    names = [f"{kind.replace(' ', '_')}_s_{i:06d}.png" for i, kind in enumerate(kinds)]
    return np.array(names, dtype=object)[place], np.array(kinds, dtype=object)[place]
