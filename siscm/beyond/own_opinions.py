"""The opinions of a user's file, made clean: one row an opinion, each name spelt one way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from siscm.beyond.own_files import Problems, plain_name, rows, told
from siscm.beyond.own_numbers import to_number

MOST_TWICE = 0.5
"""Share of instances in several rows from which a table is taken for one of opinions."""

MOST_LABELS = 50
"""More different labels than that are taken for texts or measurements."""


def clean_opinions(
    table: pd.DataFrame, columns: dict[str, str], problems: Problems
) -> pd.DataFrame | None:
    """The opinions with columns ``instance``, ``expert``, ``label``; None if a column is missing.

    Parameters
    ----------
    table
        As from :func:`siscm.beyond.own_files.read_csv`.
    columns
        The name of the column for each role.
    problems
        Collects what is wrong with the table, and what was done about it.
    """
    names = find_columns(table, columns, problems)
    if names is None:
        return None
    others = [f"column {told(name)}" for name in table.columns if name not in names.values()]
    advice = "Nothing; what is known of the instances goes into the file of features."
    problems.add("look", "columns that are not used", advice, others)
    said = table[list(names.values())].set_axis(list(names), axis=1)
    advice = "Nothing, if nobody was asked there; else restore the value."
    for role in said.columns:
        trouble = f"rows without {'a' if role == 'label' else 'an'} {role}"
        problems.add("left out", trouble, advice, rows(said.index[said[role].isna()]))
    said = said.dropna().copy()
    if said.empty:
        problems.add("fatal", "no row is complete", "Fill its columns.")
        return None
    for role in said.columns:
        said[role] = same_spelling(said[role], role, problems)
    said["label"] = _labels(said["label"], problems)
    n_labels = said["label"].nunique()
    if n_labels > MOST_LABELS:
        trouble = f"{n_labels:,} different labels: they look like texts or measurements"
        advice = "Name the right column with label=, or sort the values into a few labels."
        problems.add("fatal", trouble, advice)
        return None
    return _once(said, problems)


def find_columns(
    table: pd.DataFrame, columns: dict[str, str], problems: Problems
) -> dict[str, str] | None:
    """The table's column for each role; None, and a problem, if one is missing.

    Parameters
    ----------
    table
        As from :func:`siscm.beyond.own_files.read_csv`.
    columns
        The name that the user gave, by role; letter case does not matter.
    problems
        Collects what is wrong.
    """
    folded = {column.casefold(): column for column in reversed(table.columns)}
    found: dict[str, str] = {}
    missing: dict[str, str] = {}
    for role, wanted in columns.items():
        plain = plain_name(wanted)
        name = plain if plain in table.columns else folded.get(plain.casefold())
        if name is None:
            missing[role] = wanted
            continue
        found[role] = name
        if name != plain:
            trouble = f"no column {wanted!r}; {name!r} was taken for it"
            problems.add("mended", trouble, "Rename it, to be sure.", [f"column {name}"])
    if missing:
        trouble = f"no column {', '.join(map(repr, missing.values()))}{_others(table, columns)}"
        said = ", ".join(f"{role}=" for role in missing)
        advice = f"Rename columns, or say which are meant with {said}; see that there is a header."
        if len(columns) > 1:
            advice += " Make a table with a column an expert long: a row an opinion."
        problems.add("fatal", trouble, advice)
        return None
    if len(set(found.values())) < len(found):
        trouble = f"one column stands for two of {', '.join(found)}"
        problems.add("fatal", trouble, "Name three different columns.")
        return None
    return found


def are_opinions(table: pd.DataFrame, name: str, roles: list[str], problems: Problems) -> bool:
    """Whether it is a table of opinions, which is a problem: answers would know the answers.

    Parameters
    ----------
    table
        Meant to hold a row an instance.
    name
        Its column of instances.
    roles
        The columns of expert and label in the opinions.
    problems
        Collects what is wrong.
    """
    has = {column.casefold() for column in table.columns}
    trouble = "looks like opinions: "
    if all(plain_name(role).casefold() in has for role in roles):
        trouble += f"it has the columns {' and '.join(map(repr, roles))}"
    elif (table.drop_duplicates()[name].value_counts() > 1).mean() > MOST_TWICE:
        trouble += "most instances have several rows that differ"
    else:
        return False
    advice = "Give what is known before anybody speaks, a row an instance; or set FEATURES = None."
    problems.add("fatal", trouble, advice)
    return True


def _others(table: pd.DataFrame, columns: dict[str, str]) -> str:
    """The columns that there are, by name if these are none of features, nor cells."""
    names = [told(column) for column in table.columns[:8]]
    if len(columns) == 1 or any(map(_is_number, names)):  # features; or a file without a header
        return f" among its {len(table.columns)} column(s)"
    return f"; it has {', '.join(map(repr, names))}{' ...' if len(table.columns) > 8 else ''}"


def same_spelling(column: pd.Series[Any], role: str, problems: Problems) -> pd.Series[Any]:
    """Names spelt one way: inner spaces and Unicode forms never matter; for labels, nor does case.

    Instances and experts whose names differ only by upper and lower case stay apart, for ids can
    be like that; a person should look.
    """
    broken = column.index[column.str.contains("\n", regex=False)]
    trouble = f"{role}s that hold a line break"
    problems.add("look", trouble, "Look whether a quote was never closed.", rows(broken))
    spelt = {name: plain_name(name) for name in column.unique()}
    whole = [name for name in spelt.values() if name[-2:] in (".0", ",0") and len(name) > 2]
    if role != "label" and len(whole) == len(spelt) and all(_is_number(n) for n in whole):
        spelt = {name: new[:-2] for name, new in spelt.items()}
        look = f"Look whether the {role}s are whole numbers; they were made such."
        problems.add("mended", f"{role}s are written as 1.0, 2.0, ...", look, whole)
    kept, one_way = column.map(spelt), "Spell them one way in the file."
    trouble = f"{role}s that differ only by spaces or the coding of accents: merged"
    problems.add("mended", trouble, one_way, _alike(column, spelt, role))
    by_case = _alike(kept, {name: name.casefold() for name in kept.unique()}, role)
    trouble = f"{role}s that differ only by upper and lower case"
    if role != "label":
        problems.add(
            "look", f"{trouble}: kept apart", "Spell them one way if they are the same.", by_case
        )
        return kept
    problems.add("mended", f"{trouble}: merged", one_way, by_case)
    counts = kept.value_counts()
    usual = {n.casefold(): n for n in sorted(counts.index, key=lambda n: (counts[n], n))}
    return kept.map(lambda name: usual[name.casefold()])


def _alike(column: pd.Series[Any], spelt: dict[str, str], role: str) -> list[str]:
    """Names that are spelt one way, joined by a slash; of instances, a row of each."""
    once = column.drop_duplicates()
    places = rows(once.index) if role == "instance" else [repr(told(name)) for name in once]
    by_key: dict[str, list[str]] = {}
    for name, place in zip(once, places, strict=True):
        by_key.setdefault(spelt[name], []).append(place)
    alike = (some if role == "instance" else sorted(some) for some in by_key.values())
    return [" / ".join(some) for some in alike if len(some) > 1]


def _is_number(name: str) -> bool:
    return math.isfinite(to_number(name))


def _labels(column: pd.Series[Any], problems: Problems) -> pd.Series[Any]:
    """Labels that are numbers get one spelling each: 1 and 1.0 are one label."""
    found = column.unique()
    if not all(_is_number(name) for name in found):
        return column
    commas = [repr(name) for name in found if "," in name]
    look = "Spell the labels out if they are no numbers, or if a comma parts thousands."
    problems.add("look", "labels with a comma, read as a decimal one", look, commas)
    plain = {name: _one_spelling(name) for name in found}
    trouble = "labels that are one number written in two ways: merged"
    problems.add(
        "mended", trouble, "Write each label one way in the file.", _alike(column, plain, "label")
    )
    return column.map(plain)


def _one_spelling(number: str) -> str:
    """Whole numbers keep all digits, as codes may have many; of others the last may be rounding."""
    whole = number.lstrip("+-").isdecimal()
    return str(int(number)) if whole else f"{to_number(number) + 0.0:.15g}"


def numeric_order(column: pd.Series[Any]) -> list[str] | None:
    """The labels by value if all are numbers; otherwise None, and they are sorted as text."""
    found = column.unique().tolist()
    if not all(_is_number(name) for name in found):
        return None
    return sorted(found, key=lambda name: int(name) if name.isdecimal() else to_number(name))


def in_order(said: pd.DataFrame, order: Sequence[str], problems: Problems) -> list[str] | None:
    """The labels in the order that the user gave, spelt in another way or not.

    Parameters
    ----------
    said
        The opinions, with a column ``label``.
    order
        The labels in the order that the user gave.
    problems
        Collects what is wrong.
    """
    found = {name.casefold(): name for name in said["label"].unique()}
    given = [plain_name(str(name)) for name in order]
    if all(map(_is_number, [*found, *given])):
        given = [_one_spelling(name) for name in given]
    folded = [name.casefold() for name in given]
    missing = [name for key, name in found.items() if key not in folded]
    if missing or len(set(folded)) < len(folded):
        trouble = "labels that are not in order=" if missing else "order= names a label twice"
        advice = "Correct them, or give them their place." if missing else "Name each label once."
        problems.add("fatal", trouble, advice, map(told, missing or given))
        return None
    return [found.get(key, name) for key, name in zip(folded, given, strict=True)]


def _once(said: pd.DataFrame, problems: Problems) -> pd.DataFrame:
    """One opinion an expert and instance: repeats count once, contradictions not at all."""
    said = without_repeats(said, "opinions", problems)
    pair = ["instance", "expert"]
    contrary = said.duplicated(pair, keep=False)
    where = [
        f"expert {told(expert)!r} about {told(instance)!r}: "
        f"{' / '.join(map(told, sorted(some['label'])))} "
        f"({', '.join(rows(some.index))})"
        for (instance, expert), some in said[contrary].groupby(pair, sort=False)
    ]
    advice = "Keep the opinion that is meant."
    problems.add("left out", "experts who contradict themselves", advice, where)
    said = said[~contrary]
    if said.empty:
        problems.add("fatal", "no opinion is left", "See the other problems.")
    return said


def without_repeats(table: pd.DataFrame, what: str, problems: Problems) -> pd.DataFrame:
    """The rows of a table, each once.

    Parameters
    ----------
    table
        Rows as they were read.
    what
        What its rows are, in words.
    problems
        Collects what was mended.
    """
    repeated = table.duplicated()
    trouble = f"{what} that repeat an equal one: counted once"
    where = rows(table.index[repeated])
    problems.add("mended", trouble, "Nothing; or remove the repeats.", where)
    return table[~repeated]
