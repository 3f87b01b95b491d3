"""CIFAR-10H: how many people gave each label to each of CIFAR-10's 10,000 test images."""

from __future__ import annotations

import numpy as np
import pandas as pd

from siscm.checks import IntArray
from siscm.data import registry
from siscm.data.sources import COUNTS

CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
"""The ten labels, in the order of their codes."""

N_IMAGES = 10_000
"""How many test images CIFAR-10 has."""


def load_cifar10h_counts() -> pd.DataFrame:
    """How many people said what about each image, as published (nobody is identified).

    Returns
    -------
    DataFrame (10,000, 10)
        Whole numbers; a row an image, in the order of CIFAR-10's original test batch, a column a
        label, in the order of :data:`CLASSES`.

    Raises
    ------
    FileNotFoundError
        If the file is not in the data folder.
    ValueError
        If it is not the file expected.
    """
    counts = np.load(registry.locate(COUNTS), allow_pickle=False)
    return _framed(counts.astype(np.int64))


def label_counts(raw: pd.DataFrame) -> pd.DataFrame:
    """How many annotators of a raw file gave each label to each image: the form of the counts.

    Parameters
    ----------
    raw
        A row an opinion, with ``image`` and ``chosen_label``, as from
        :func:`siscm.cifar10h.raw_file.check_raw`.
    """
    counts = np.bincount(cells(raw), minlength=N_IMAGES * len(CLASSES)).reshape(N_IMAGES, -1)
    return _framed(counts)


def cells(raw: pd.DataFrame) -> IntArray:
    """Where each opinion of a raw file is counted: ten times its image, and its label."""
    found = []
    for name, n in (("image", N_IMAGES), ("chosen_label", len(CLASSES))):
        values = raw[name].to_numpy()
        whole = f"column {name!r} should hold whole numbers from 0 to {n - 1}"
        if values.dtype.kind not in "iu":
            raise ValueError(f"{whole}; its type is {values.dtype}.")
        # A label too large would be counted as another one of the next image.
        if (wrong := (values < 0) | (values >= n)).any():
            raise ValueError(f"{whole}; row {wrong.argmax() + 1} holds {values[wrong][0]}.")
        found.append(values.astype(np.int64))
    return np.asarray(found[0] * len(CLASSES) + found[1])


def _framed(counts: IntArray) -> pd.DataFrame:
    return pd.DataFrame(
        counts,
        index=pd.RangeIndex(N_IMAGES, name="image"),
        columns=pd.Index(CLASSES, name="label"),
    )
