"""Features of a user's file: numbers, categories and texts told apart, gaps filled, marginals.

What a cell holds is never repeated in a message: it may be a text that offends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from siscm.beyond.own_files import Outcome, Problems, plain_name, read_csv, rows, told
from siscm.beyond.own_numbers import MOSTLY, to_number, without_grouping
from siscm.beyond.own_opinions import are_opinions, find_columns, same_spelling, without_repeats
from siscm.checks import BoolArray
from siscm.pooled import PooledMarginals, regressions

Kind = Literal["number", "category", "text"]
"""What a column holds."""

WORDS = 4
"""Words of an average cell from which a column that seldom repeats itself is one of texts."""

LARGEST = 1e100
"""Numbers beyond are taken for infinite: their squares are."""

RARE = 5
"""A category of fewer training opinions is pooled with the other rare ones; words in fewer texts
are too few to learn from."""

FEW_TEXTS = 200
"""With at least so many texts, a word has to stand in two of them to count."""

FEW_CELLS = 30_000
"""Opinions times labels up to which experts get slopes of their own on numbers."""


def read_features(
    path: Path,
    columns: Mapping[str, str],
    about: set[str] | None,
    kinds: Mapping[str, Kind],
    problems: Problems,
) -> tuple[pd.DataFrame, dict[Hashable, Kind]] | None:
    """Features by instance without gaps, and the kind of each column; None if there is no id.

    A column of numbers with gaps gets the median there, and a column of its own that says where
    they were.

    Parameters
    ----------
    path
        A CSV file with a row an instance.
    columns
        The name of the column of each role in the opinions; ``instance`` holds the ids here, too.
    about
        Instances with opinions, from which medians are taken; None if unknown.
    kinds
        Of columns that are not to be guessed.
    problems
        Collects what is wrong with the file, and what was done about it.
    """
    table = read_csv(path, problems, [columns["instance"]])
    if table is None:
        return None
    names = find_columns(table, {"instance": columns["instance"]}, problems)
    if names is None:
        return None
    name, given = names["instance"], _given_kinds(kinds, table, problems)
    roles = [columns["expert"], columns["label"]]
    if given is None or are_opinions(table, name, roles, problems):
        return None
    table = _one_row_each(table, name, problems)
    ids = table.pop(name)
    known = np.asarray(ids.isin(ids if about is None else about))
    if known.any():
        kept = _new_cases(table, known, problems)
        table, ids, known = table[kept], ids[kept], known[kept]
    learned = known if known.any() else ~known
    X, found = _columns(without_grouping(table, problems), learned, given, problems)
    return X.set_axis(pd.Index(ids, name="instance")).sort_index(), found


def _new_cases(table: pd.DataFrame, known: BoolArray, problems: Problems) -> BoolArray:
    """All but the instances of which nothing is known at all, which may be half a text."""
    void = ~known & table.isna().all(axis=1).to_numpy() & (table.shape[1] > 0)
    trouble = "rows without features about instances without opinions"
    advice = "Nothing; or put quotes around texts of several lines."
    problems.add("left out", trouble, advice, rows(table.index[void]))
    trouble = "instances with features but without opinions"
    new = rows(table.index[~known & ~void])
    problems.add("look", trouble, "Nothing: they are taken for new cases.", new)
    return np.asarray(~void)


def _given_kinds(
    kinds: Mapping[str, Kind], table: pd.DataFrame, problems: Problems
) -> dict[str, Kind] | None:
    """The kinds that the user gave, by column; None, and a problem, if they are none of this."""
    given = {plain_name(str(name)): kind for name, kind in kinds.items()}
    strange = [name for name in given if name not in table.columns]
    strange += [kind for kind in given.values() if kind not in get_args(Kind)]
    if not strange:
        return given
    has = ", ".join(repr(told(column)) for column in table.columns[:8])
    advice = f"Give {{column: kind}}, of {', '.join(get_args(Kind))}."
    problems.add("fatal", f"kinds= names {strange}; the columns are {has}", advice)
    return None


def _one_row_each(table: pd.DataFrame, name: str, problems: Problems) -> pd.DataFrame:
    """The rows of the table, each instance once."""
    gaps = table.index[table[name].isna()]
    problems.add("left out", "rows without an instance", "Give their ids.", rows(gaps))
    table = table.dropna(subset=[name]).copy()  # older pandas takes it for a part of the first
    table[name] = same_spelling(table[name], "instance", problems)
    table = without_repeats(table, "rows", problems)
    again = table.duplicated(name)
    trouble = "instances described again, and otherwise: the first row counts"
    problems.add("mended", trouble, "Keep the row that is right.", rows(table.index[again]))
    return table[~again]


def _columns(
    table: pd.DataFrame, learned: Any, kinds: Mapping[str, Kind], problems: Problems
) -> tuple[pd.DataFrame, dict[Hashable, Kind]]:
    """Every column filled, or left out, with the reason."""
    filled: dict[str, pd.Series[Any]] = {}
    found: dict[Hashable, Kind] = {}
    dropped: dict[str, list[str]] = defaultdict(list)
    kept: list[str] = []
    for name in table.columns:
        column = table[name]
        kind = kinds.get(name) or guess_kind(column)
        twin = next((other for other in kept if table[other].equals(column)), None)
        if column[learned].nunique(dropna=False) < 2:
            dropped["columns that hold one value, or none"].append(name)
        elif twin is not None:
            dropped["columns equal to one before"].append(f"{name} (= {twin})")
        elif kind is None:
            trouble = "columns whose values mostly differ, neither numbers nor texts: ids, dates"
            dropped[trouble].append(name)
        elif kind == "text" and not _has_words(column[learned]):
            trouble = f"columns with words to learn from in fewer than {RARE} texts"
            dropped[trouble].append(name)
        else:
            kept.append(name)
            new = _filled(table, name, kind, learned, problems)
            filled |= new
            found |= dict.fromkeys(new, kind)
    for trouble, names in dropped.items():
        advice = (
            "Nothing, unless it should matter: take units such as % off numbers, or say with "
            "kinds= what the column holds."
        )
        problems.add("left out", trouble, advice, [f"column {told(name)}" for name in names])
    if not filled:
        advice = "Marginals come from label frequencies."
        problems.add("look", "no column that can be used", advice)
    return pd.DataFrame(filled, index=table.index), found


def guess_kind(column: pd.Series[Any]) -> Kind | None:
    """Number, category or text; None for values that mostly differ and are neither."""
    values = column.dropna()
    if values.empty:
        return "category"
    if values.map(to_number).notna().mean() >= MOSTLY:
        return "number"
    if values.nunique() <= len(values) / 2:
        return "category"
    return "text" if np.mean([len(value.split()) for value in values]) >= WORDS else None


class _Words(TfidfVectorizer):  # type: ignore[misc] # scikit-learn has no types
    """Word weights of texts: one, always 0, if those to learn from hold no word.

    Texts may be so seldom that a fold has none.
    """

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        try:
            return super().fit_transform(raw_documents)
        except ValueError:  # no words, or none in enough texts
            return self.fit(["inallthesetextsthereisnoword"] * 2).transform(raw_documents)


def _has_words(column: pd.Series[Any]) -> bool:
    weights = _words(len(column)).fit_transform(column.fillna(""))
    return bool((weights.getnnz(axis=1) > 0).sum() >= RARE)


def _filled(
    table: pd.DataFrame, name: str, kind: Kind, learned: Any, problems: Problems
) -> dict[str, pd.Series[Any]]:
    """A column without gaps by its name; for numbers with gaps, also where they were."""
    column, gaps = table[name], table[name].isna()

    def add(outcome: Outcome, what: str, advice: str, where: pd.Series[bool]) -> None:
        problems.add(outcome, f"column {told(name)!r}: {what}", advice, rows(where.index[where]))

    restore = "Nothing; better, restore the values."
    if kind != "number":
        what = "gaps, taken for empty texts" if kind == "text" else "gaps, taken for a category"
        add("mended", what, restore, gaps)
        return {name: column.fillna("").map(plain_name).astype(object)}
    numbers = column.fillna("").map(to_number)
    infinite = numbers.abs() > LARGEST
    add("mended", "infinite values, or beyond 1e100, taken for gaps", restore, infinite)
    odd = numbers.isna() & ~gaps
    add("mended", "values that are no numbers, taken for gaps", restore, odd)
    add("mended", "gaps, filled with the median", restore, gaps)
    numbers = numbers.mask(infinite)
    lost = numbers.isna()
    known = numbers[learned].dropna()
    out = {name: numbers.fillna(known.median() if len(known) else 0.0)}
    taken = f"{name} is missing" in table.columns  # by a column of the user's
    if lost[learned].any() and not lost[learned].all() and not taken:
        out[f"{name} is missing"] = lost.astype(np.float64)
    return out


def _words(n: int) -> _Words:
    return _Words(sublinear_tf=True, min_df=2 if n >= FEW_TEXTS else 1)


def marginals_for(
    X: pd.DataFrame, kinds: Mapping[Hashable, Kind], n_cells: int = 0
) -> PooledMarginals:
    """Marginals from whatever features there are, each kind in its own way.

    Numbers standardised, categories one column a value with the rare ones pooled, texts as word
    weights: for all experts together, with a penalty chosen out-of-fold, and corrected for each.
    Without features: how often each label is said, by all and by each. Numbers alone also get
    slopes of each expert's own, unless there is too much to learn from for these.

    Parameters
    ----------
    X, kinds
        As of :class:`siscm.own_panel.OwnPanel`.
    n_cells
        Opinions to learn from, times labels.
    """
    by_kind = {kind: [c for c in X.columns if kinds[c] == kind] for kind in get_args(Kind)}
    if len(by_kind["number"]) == X.shape[1]:
        return PooledMarginals(own_slopes=n_cells <= FEW_CELLS)
    pool = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=RARE)
    parts: list[tuple[str, Any, Any]] = [
        ("numbers", StandardScaler(), by_kind["number"]),
        ("categories", pool, by_kind["category"]),
    ]
    parts += [(f"words of {column}", _words(len(X)), column) for column in by_kind["text"]]
    return PooledMarginals(regressions(ColumnTransformer(parts)), own_slopes=False)
