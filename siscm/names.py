"""Names of instances, experts and labels: which there are, and in what order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, time, timedelta
from itertools import pairwise
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_list_like

from siscm.checks import BoolArray, IntArray

ORDERED = (Number, np.bool_, date, time, timedelta, pd.Period, pd.Interval)
"""Names whose order says something: numbers, truths and times, not texts, bytes or codes."""


def plain(name: Any) -> Any:
    """A name as a plain Python value: 1 for ``np.int64(1)``, and for 1.0 too.

    A gap in a column of whole numbers makes pandas store floats; the names stay what they were.
    """
    if isinstance(name, np.datetime64):
        return pd.Timestamp(name)
    if isinstance(name, np.timedelta64):
        return pd.Timedelta(name)
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, float) and name.is_integer() and abs(name) < 2**53:
        return int(name)
    return name


def gaps(values: npt.NDArray[Any]) -> BoolArray:
    """Where an array holds nothing: a missing value, or a text of nothing but spaces."""
    missing: BoolArray = pd.isna(values)
    if values.dtype == object:
        blank = [isinstance(value, str) and not value.strip() for value in values.flat]
        missing |= np.array(blank, dtype=bool).reshape(values.shape)
    return missing


def as_index(names: Sequence[Any] | npt.NDArray[Any]) -> pd.Index[Any]:
    """An index of the names as they are; tuples stay names."""
    index: pd.Index[Any] = pd.Index(names, tupleize_cols=False)
    return index


def refuse_other_experts(mine: pd.Index[Any], theirs: pd.Index[Any], what: str) -> None:
    """Raise if two things that are to be added up are about other experts, or in another order."""
    if not mine.equals(theirs):
        raise ValueError(
            f"the {what} about different experts ({list(mine)[:5]} ... and "
            f"{list(theirs)[:5]} ...); build both with the same experts=."
        )


def sorted_names(names: Iterable[Any], role: str) -> list[Any]:
    """Unique names in an order of their own: numbers by value, then the rest by type and text."""

    def key(name: Any) -> tuple[int, Any, str, Any]:
        if isinstance(name, int | float):
            return (0, name, "", "")
        return (1, 0, type(name).__name__, name)

    unique = _distinct(names, role)
    try:
        ordered = sorted(unique, key=key)
        for a, b in pairwise(ordered):
            if not key(a) < key(b):  # sets, for one, can be compared and yet have no order
                raise TypeError(f"neither of {a!r} and {b!r} comes first")
    except TypeError as error:
        raise ValueError(
            f"the {role}s cannot be put in order ({error}); give their order with "
            f"{_parameter(role)}=."
        ) from error
    return ordered


def refuse_no_list(names: Any, parameter: str, role: str) -> None:
    """Raise if names that the caller gave are in no order: a set, say, or no list at all."""
    if not is_list_like(names, allow_sets=False):
        raise TypeError(f"{parameter}= must be a list of {role}s in their order; got {names!r}.")


def given_names(names: Iterable[Any], role: str) -> pd.Index[Any]:
    """Names that the caller gave, in that order; refused if one stands twice or is missing."""
    refuse_no_list(names, _parameter(role), role)
    listed = [plain(name) for name in names]
    unique = _distinct(listed, role)
    index = as_index(listed)
    if (missing := gaps(index.to_numpy())).any():
        raise ValueError(f"the {role}s given hold a missing value at {int(missing.argmax())}.")
    if len(unique) < len(listed):
        raise ValueError(f"{role} {plain(index[index.duplicated()][0])!r} is given twice.")
    return index


def encode(
    column: pd.Series[Any], given: Iterable[Any] | None, role: str
) -> tuple[IntArray, pd.Index[Any]]:
    """Codes of a column's values in the given names, or in those found: sorted, or as ordered."""
    ordered = getattr(column.dtype, "ordered", False)
    if column.dtype == object:  # pandas would take True for 1
        row, values = np.arange(len(column)), column.tolist()
    else:
        row, found = pd.factorize(column, sort=ordered)
        values = found.tolist()
    if given is not None:
        index = given_names(given, role)
    else:
        index = as_index(_distinct(values, role) if ordered else sorted_names(values, role))
    problem = f"stands in the table but not among the {len(index)} {role}s given."
    return find_all(values, index, role, problem)[row], index


def has_order(column: pd.Series[Any], given: Iterable[Any] | None, names: pd.Index[Any]) -> bool:
    """Whether the order of names says something: it was given, there are two, or they have one."""
    told = given is not None or getattr(column.dtype, "ordered", False)
    return len(names) < 3 or told or all(isinstance(name, ORDERED) for name in names)


def find(names: Iterable[Any], index: Iterable[Any], role: str) -> IntArray:
    """Positions of the names in an index, -1 where it lacks them.

    Compared as Python compares values: 1 is 1.0, but not ``"1"``, and here not ``True`` either.
    """
    place = {_key(name, role): i for i, name in enumerate(index)}
    return np.fromiter((place.get(_key(name, role), -1) for name in names), dtype=np.int64)


def find_all(
    names: Sequence[Any] | pd.Index[Any], index: Collection[Any], role: str, problem: str
) -> IntArray:
    """As :func:`find`; the first name that the index lacks is refused, in the words given."""
    codes = find(names, index, role)
    if (codes < 0).any():
        raise ValueError(f"{role} {first_unknown(names, codes, index)} {problem}")
    return codes


def first_unknown(names: Sequence[Any] | pd.Index[Any], codes: IntArray, index: Any) -> str:
    """The first name without a code, for an error; with its look-alike in the index, if any."""
    unknown = plain(names[int(np.argmin(codes))])
    for name in map(plain, index):
        if str(name) == str(unknown):
            return (
                f"{unknown!r} ({type(unknown).__name__}, where {name!r} is "
                f"{type(name).__name__}: make them one type)"
            )
    return repr(unknown)


def positions(old: pd.Index[Any], new: pd.Index[Any], role: str) -> IntArray:
    """Where each old name stands among the new ones, -1 where it does not."""
    out = np.full(len(old), -1, dtype=np.int64)
    codes = find_all(new, old, role, f"is not among the {len(old)} {role}s.")
    out[codes] = np.arange(len(new))
    return out


def _distinct(names: Iterable[Any], role: str) -> list[Any]:
    """Names, each once; refused if two differ only in type."""
    unique = [name for _, name in dict.fromkeys(_key(name, role) for name in names)]
    known: dict[Any, Any] = {}
    for name in unique:
        for look in (name, str(name)):
            other = known.setdefault(look, name)
            if other is not name:
                raise ValueError(
                    f"{role}s {other!r} ({type(other).__name__}) and {name!r} "
                    f"({type(name).__name__}) differ only in type; make them one type, "
                    "for example with .astype(str)."
                )
    return unique


def _key(name: Any, role: str) -> tuple[bool, Any]:
    """What tells names apart: the value, and whether it is a bool (for Python, True equals 1)."""
    name = plain(name)
    try:
        hash(name)
    except TypeError:
        raise ValueError(
            f"{role} {name!r} is a {type(name).__name__}, which cannot be a name; "
            "use text or numbers."
        ) from None
    return isinstance(name, bool), name


def _parameter(role: str) -> str:
    return "classes" if role == "label" else f"{role}s"
