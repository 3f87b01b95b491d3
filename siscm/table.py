"""A table with one row an opinion: no column or value missing, no opinion twice; or of codes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_hashable

from siscm.checks import IntArray
from siscm.names import gaps, given_names, plain, sorted_names

LARGEST_CODE = np.iinfo(np.int32).max
"""A label code beyond cannot be a position among classes."""


def as_long(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Any], list[Any]]:
    """A row an opinion, of a table with a row an instance and a column an expert; gaps left out.

    Returns
    -------
    table, instances, experts
        The table with columns ``instance``, ``expert`` and ``label``; and all names, sorted.

    Raises
    ------
    TypeError
        If the table is no DataFrame.
    ValueError
        If a name of a row or of a column is missing or stands twice.
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"the table must be a pandas DataFrame, not a {type(table).__name__}.")
    instances, experts = (
        sorted_names(given_names(names, role), role)
        for names, role in ((table.index, "instance"), (table.columns, "expert"))
    )
    cells = table.to_numpy(dtype=object)
    i, h = np.nonzero(~gaps(cells))
    said = pd.Series(cells[i, h], dtype=object)
    if table.dtypes.nunique() == 1 and getattr(table.dtypes.iloc[0], "ordered", False):
        said = said.astype(table.dtypes.iloc[0])
    long = pd.DataFrame(
        {
            "instance": table.index.to_numpy(dtype=object)[i],
            "expert": table.columns.to_numpy(dtype=object)[h],
            "label": said,
        }
    )
    return long, instances, experts


def check_columns(table: pd.DataFrame, columns: dict[str, str]) -> None:
    """Refuse a table that lacks a column, or does not say which one is meant.

    Parameters
    ----------
    table
        A row an opinion.
    columns
        The name of the column for each role: instance, expert and label.
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"the table must be a pandas DataFrame, not a {type(table).__name__}.")
    for name in columns.values():
        if not is_hashable(name) or name not in table.columns:
            raise ValueError(
                f"the table has no column {name!r}; its columns are {list(table.columns)}. "
                "Name the columns with instance=, expert= and label=."
            )
        if isinstance(table[name], pd.DataFrame):
            raise ValueError(f"the table has several columns {name!r}; keep one, or rename them.")
    if len(set(columns.values())) < len(columns):
        raise ValueError(
            f"instance=, expert= and label= must be three columns; got {list(columns.values())}."
        )


def refuse_missing(table: pd.DataFrame, columns: dict[str, str]) -> None:
    """Refuse gaps: an opinion needs an instance, an expert and a label."""
    for role, column in columns.items():
        missing = gaps(table[column].to_numpy())
        if not missing.any():
            continue
        row = int(np.argmax(missing))
        empty_text = isinstance(table[column].iloc[row], str)
        made_missing = ".replace(r'^\\s*$', pd.NA, regex=True)" if empty_text else ""
        others = ", ".join(
            f"{r} {plain(table[c].iloc[row])!r}" for r, c in columns.items() if r != role
        )
        raise ValueError(
            f"{int(missing.sum())} of {len(table)} rows have no {role} (column {column!r}); the "
            f"first at position {row}: {others}. If the expert was not asked, drop the row with "
            f"table{made_missing}.dropna(subset=[{column!r}]); if the value was lost, restore it."
        )


def merge_repeats(
    rows: pd.DataFrame, instances: pd.Index[Any], experts: pd.Index[Any], classes: pd.Index[Any]
) -> pd.DataFrame:
    """Sort coded opinions by instance and expert; count repeats once, refuse contradictions.

    Parameters
    ----------
    rows
        Codes of instance, expert and label: columns ``i``, ``h``, ``y``.
    instances, experts, classes
        The names behind the codes, for errors.
    """
    rows = rows.sort_values(["i", "h", "y"], ignore_index=True)
    unique = rows.drop_duplicates(ignore_index=True)
    contradicted = unique.duplicated(["i", "h"]).to_numpy()
    if contradicted.any():
        i, h, _ = unique.iloc[int(np.argmax(contradicted))]
        said = unique.loc[(unique["i"] == i) & (unique["h"] == h), "y"]
        raise ValueError(
            f"expert {plain(experts[h])!r} contradicts herself about instance "
            f"{plain(instances[i])!r}: {[plain(classes[y]) for y in said]}. Keep one opinion for "
            "each expert and instance."
        )
    n_repeats = len(rows) - len(unique)
    if n_repeats:
        i, h, _ = rows[rows.duplicated()].iloc[0]
        warnings.warn(
            f"{n_repeats} repeated opinion(s) counted once (the first: instance "
            f"{plain(instances[i])!r}, expert {plain(experts[h])!r}); table.drop_duplicates() "
            "makes this explicit.",
            UserWarning,
            stacklevel=3,
        )
    return unique


def as_codes(labels: Any, not_asked: int, *, bounded: bool) -> IntArray:
    """A table of label codes, a row an instance and a column an expert.

    Parameters
    ----------
    labels
        An array, nested lists or a DataFrame.
    not_asked
        What takes the place of masked values.
    bounded
        Whether codes are to be refused that are too large: where nobody says what classes there
        are, the largest code does.

    Raises
    ------
    ValueError
        If it has not two dimensions, or holds anything but whole numbers that could be codes.
    """
    try:
        codes = np.asarray(np.ma.filled(labels, not_asked))
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"labels must be a two-dimensional array: {error}") from None
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError(
            "labels must be a two-dimensional array of integer codes (n_instances, n_experts); "
            f"got shape {codes.shape} and type {codes.dtype}."
        )
    if bounded and codes.dtype.kind == "u" and (codes == np.iinfo(codes.dtype).max).any():
        raise ValueError(
            f"labels hold the code {codes.max()}, the largest {codes.dtype}: it is what a -1, not "
            "asked, becomes there. Pass a signed type such as int64, or classes=."
        )
    if bounded and (codes > LARGEST_CODE).any():
        raise ValueError(f"labels hold the code {codes.max()}, more than there can be classes.")
    return codes
