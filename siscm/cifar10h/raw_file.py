"""CIFAR-10H's raw file: which annotator gave which label to which image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_hashable, is_scalar

from siscm.checks import BoolArray, IntArray
from siscm.cifar10h.counts import CLASSES, N_IMAGES
from siscm.data import registry
from siscm.data.sources import RAW
from siscm.data.zipped import read_table

N_ANNOTATORS = 2_571
"""How many people the raw file knows."""

IMAGES_EACH = 200
"""How many images each of them saw, attention checks not counted."""

QUOTED_OPINIONS = 511_400
"""How many opinions several public descriptions of CIFAR-10H give; its files have other numbers."""

NO_IMAGE = -99999
"""What stands for the image in the row of an attention check."""

_INDEX_COLUMNS = ("cifar10_test_test_idx", "cifar10_test_set_idx")  # in the file; in its README
_ATTENTION = "is_attn_check"
_LABELS = {"true_label": "true_category", "chosen_label": "chosen_category"}


def load_cifar10h_raw(image_labels: npt.ArrayLike) -> pd.DataFrame:
    """The published raw file, complete, in the image order of the published image file.

    Parameters
    ----------
    image_labels
        Of that image file, :func:`siscm.cifar10h.cifar10_images.load_cifar10_images`.

    Returns
    -------
    DataFrame
        As from :func:`check_raw`: 514,200 opinions, by 2,571 annotators about 200 images each.

    Raises
    ------
    FileNotFoundError
        If it is not in the data folder.
    ValueError
        If it is not the file expected, or holds anything but such opinions.
    """
    file = registry.locate(RAW)
    table = read_table(file.read_bytes(), str(file))
    return check_raw(table, str(file), image_labels=image_labels, complete=True)


def check_raw(
    table: pd.DataFrame,
    source: str = "the table",
    *,
    image_labels: npt.ArrayLike | None = None,
    complete: bool = False,
) -> pd.DataFrame:
    """The opinions in a table with the columns of the raw file; attention checks are left out.

    Parameters
    ----------
    table
        A row an answer, as from :func:`siscm.data.zipped.read_table`.
    source
        What errors call it.
    image_labels
        The true label of every image (10,000), from the image file: whoever numbers the images
        in another order is found out.
    complete
        Whether all the annotators of the published file must be there, each with 200 images.

    Returns
    -------
    DataFrame
        A row an opinion, in the order of the table; whole numbers ``annotator`` (0 or more),
        ``image`` (0 to 9,999), ``true_label`` and ``chosen_label`` (positions in
        :data:`siscm.cifar10h.counts.CLASSES`).

    Raises
    ------
    ValueError
        If the table is not as documented; names its source, and of wrong cells the column and the
        first row (1 is the first below the header).
    """
    index_column = _index_column(table, source)
    everything = _Rows(table, source, np.arange(len(table)))
    attention = everything.whole(_ATTENTION, 0, 1) == 1
    image = everything.whole(index_column, NO_IMAGE, N_IMAGES - 1)
    everything.refuse(
        attention != (image == NO_IMAGE),
        index_column,
        f"attention checks ({_ATTENTION} 1), and only they, have {NO_IMAGE} here",
    )
    rows = _Rows(table, source, np.flatnonzero(~attention))
    opinions = pd.DataFrame(
        {
            "annotator": rows.whole("annotator_id", 0, np.iinfo(np.int32).max),
            "image": rows.whole(index_column, 0, N_IMAGES - 1),
            **{label: rows.whole(label, 0, len(CLASSES) - 1) for label in _LABELS},
        }
    )
    for label, category in _LABELS.items():
        named = pd.Index(CLASSES).take(opinions[label].to_numpy()).to_numpy(dtype=object)
        # One by one, for whatever else a cell may hold does not compare with a text.
        pairs = zip(rows.values(category), named, strict=True)
        rows.refuse(
            np.array([not isinstance(value, str) or value != name for value, name in pairs], bool),
            category,
            f"it should name the class of {label!r}, and the classes are {', '.join(CLASSES)}",
        )
    _check_true_labels(opinions, rows, image_labels)
    if complete:
        _check_complete(opinions, source)
    _check_repeats(opinions, rows)
    return opinions


@dataclass(frozen=True)
class _Rows:
    """Some rows of a table from ``source``; ``places`` are their positions in it, from 0."""

    table: pd.DataFrame
    source: str
    places: IntArray

    def values(self, column: str) -> pd.Series[Any]:
        return self.table[column].iloc[self.places]

    def refuse(self, wrong: BoolArray, column: str, rule: str) -> None:
        """Raise for the first row that is wrong."""
        if wrong.any():
            first = int(np.argmax(wrong))
            value = self.values(column).iloc[first]
            nothing = is_scalar(value) and (pd.isna(value) or value == "")
            said = "nothing" if nothing else repr(str(value))
            raise ValueError(
                f"{self.source}, row {self.places[first] + 1}, column {column!r} holds {said}: "
                f"{rule}. Rows like this: {int(wrong.sum())} of {len(wrong)}."
            )

    def whole(self, column: str, low: int, high: int) -> IntArray:
        """A column as whole numbers, all of them from ``low`` to ``high``."""
        values, rule = self.values(column), f"it should be a whole number from {low} to {high}"
        if values.dtype == object:  # a list, say, cannot be counted as a value
            self.refuse(~values.map(is_hashable).to_numpy(dtype=bool), column, rule)
        codes, unique = pd.factorize(values.to_numpy())
        numbers = np.array([*map(_number, unique), np.nan])  # the last for code -1, a gap
        right = (numbers >= low) & (numbers <= high) & (numbers == np.floor(numbers))
        self.refuse(~right[codes], column, rule)
        return np.where(right, numbers, 0).astype(np.int64)[codes]


def _number(value: Any) -> float:
    """The value as a number, NaN if it is none, or has so many digits that pandas would stumble."""
    try:
        return math.nan if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _index_column(table: pd.DataFrame, source: str) -> str:
    """Which spelling the image's number has, once every column needed is known to be there."""
    columns = list(table.columns)
    found = [column for column in _INDEX_COLUMNS if column in columns]
    needed: Sequence[str] = ["annotator_id", _ATTENTION, *_LABELS, *_LABELS.values()]
    lacking = [repr(column) for column in needed if column not in columns]
    if not found:
        lacking.append(" or ".join(map(repr, _INDEX_COLUMNS)))
    if lacking:
        raise ValueError(
            f"{source} has no column {', '.join(lacking)}; its columns are "
            f"{', '.join(map(repr, columns[:20]))}."
        )
    twice = [c for c in (*needed, *found) if columns.count(c) > 1 or f"{c}.1" in columns]
    if twice or len(found) > 1:
        raise ValueError(f"{source} has several columns {', '.join(map(repr, twice or found))}.")
    return found[0]


def _check_true_labels(
    opinions: pd.DataFrame, rows: _Rows, image_labels: npt.ArrayLike | None
) -> None:
    """The true label of each image is that of the image file, if it is there to compare."""
    if image_labels is None:
        return
    image, true = (opinions[column].to_numpy() for column in ("image", "true_label"))
    labels = np.asarray(image_labels)
    if labels.shape != (N_IMAGES,):
        raise ValueError(f"image_labels has the shape {labels.shape}; it should be ({N_IMAGES},).")
    expected = labels[image]
    wrong = expected != true
    if wrong.any():
        first = int(np.argmax(wrong))
        rows.refuse(
            wrong,
            "true_label",
            f"image {image[first]} has the true label {true[first]} here, but {expected[first]} in "
            "the image file; its images may be in another order",
        )


def _check_complete(opinions: pd.DataFrame, source: str) -> None:
    per_annotator = opinions["annotator"].value_counts()
    if len(per_annotator) != N_ANNOTATORS:
        raise ValueError(
            f"{source} should know {N_ANNOTATORS:,} annotators, but knows {len(per_annotator):,}; "
            "is the file cut short, or another version?"
        )
    wrong = per_annotator[per_annotator != IMAGES_EACH].sort_index()
    if len(wrong):
        raise ValueError(
            f"{source}: annotator {wrong.index[0]} has {wrong.iloc[0]} opinions; all "
            f"{N_ANNOTATORS:,} should have {IMAGES_EACH}."
        )
    unseen = np.setdiff1d(np.arange(N_IMAGES), opinions["image"])
    if len(unseen):
        raise ValueError(
            f"{source} has no opinion about {len(unseen):,} of the {N_IMAGES:,} images; the first "
            f"is {unseen[0]}."
        )


def _check_repeats(opinions: pd.DataFrame, rows: _Rows) -> None:
    """Refuse whoever contradicts herself about an image."""
    again = opinions.duplicated(["annotator", "image"]) & ~opinions.duplicated()
    if again.any():
        annotator, image = opinions.loc[again, ["annotator", "image"]].iloc[0]
        both = (opinions["annotator"] == annotator) & (opinions["image"] == image)
        said = [
            f"{CLASSES[label]} in row {row + 1}"
            for row, label in zip(
                rows.places[both], opinions.loc[both, "chosen_label"], strict=True
            )
        ]
        raise ValueError(
            f"{rows.source}: annotator {annotator} contradicts herself about image {image}, "
            f"{', '.join(said)}; leave out one of these rows, or all of them."
        )
