"""CSV files that people have: read cell by cell as text, every trouble in them named.

Cells stay text, so that the id ``007`` stays ``007``. A cell's content is never repeated in a
message about features, since it may be a text that offends; nor is a name, in any file, that may
be one.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

Outcome = Literal["fatal", "left out", "mended", "look"]
"""What came of a problem: nothing can be done; the rows or columns are left out; it is mended;
nothing was changed, but a person should look."""

NO_VALUE = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "nat"})
"""Cells that hold nothing, in small letters."""

DELIMITERS = ",;\t|"
"""What may part the cells of a line."""

_EXCEL_HINT = re.compile(rf"\A\"?sep=[{DELIMITERS}]\"?(?=\r?\n)", re.IGNORECASE)
"""A first line that tells Excel the separator; what is left of it is a blank line."""

_UNSEEN = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))

ROW = "row"
"""Name of the index of a table read: the line of the file where a row begins; the header is 1."""

LONGEST_NAME, MOST_WORDS = 40, 4
"""Characters and words beyond which a name may be a text, and is not repeated."""

_NAMED = 3
"""Places that a problem names before it says how many more there are."""


@dataclass(frozen=True)
class Problems:
    """Problems of a file found so far, each with its place, and what to do about it.

    Parameters
    ----------
    file
        Its name.
    found
        Those of other files, which the table shows too; this file's are added to them.
    """

    file: str
    found: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, outcome: Outcome, problem: str, advice: str, where: Iterable[object] | None = None
    ) -> None:
        """Note a problem of the file.

        A problem that is nowhere is none.

        Parameters
        ----------
        outcome
            What came of it.
        problem, advice
            What is wrong, and what the user can do.
        where
            The places, each named once; None for the whole file.
        """
        places = [""] if where is None else list(where)
        if places:
            self.found.append(
                {
                    "outcome": outcome,
                    "file": self.file,
                    "problem": problem,
                    "where": some_of(places),
                    "how many": len(places),
                    "what to do": advice,
                }
            )

    @property
    def fatal(self) -> bool:
        """Whether one of them leaves nothing to work with."""
        return any(row["outcome"] == "fatal" for row in self.found)

    def table(self) -> pd.DataFrame:
        """A row a problem, the worst first: outcome, file, problem, where, how many, advice."""
        columns = ["outcome", "file", "problem", "where", "how many", "what to do"]
        worst_first = sorted(self.found, key=lambda row: get_args(Outcome).index(row["outcome"]))
        return pd.DataFrame(worst_first, columns=columns)

    def refuse(self) -> None:
        """Raise if there is a fatal problem, naming all that are.

        Raises
        ------
        ValueError
            With file, trouble and what to do, of each fatal problem.
        """
        lines = [
            f"{r['file']}: {r['problem']}{f' ({w})' if (w := r['where']) else ''}. "
            f"{r['what to do']}"
            for r in self.found
            if r["outcome"] == "fatal"
        ]
        if lines:
            raise ValueError("\n".join(lines))


def some_of(places: Sequence[object]) -> str:
    """The first few places, and how many more there are."""
    rest = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    return ", ".join(str(place) for place in places[:_NAMED]) + rest


def told(name: object) -> str:
    """A name as messages tell it: only how long it is, if it may be a text."""
    text = str(name)
    short = len(text) <= LONGEST_NAME and len(text.split()) <= MOST_WORDS
    return text if short else f"a name of {len(text):,} characters"


def rows(lines: Iterable[int]) -> list[str]:
    """Places that are lines of a file."""
    return [f"{ROW} {line}" for line in lines]


def read_csv(path: Path, problems: Problems, wanted: Sequence[str]) -> pd.DataFrame | None:
    """A CSV file as a table of text, or None if it cannot be read.

    Encoding (UTF-8 with or without byte order mark, UTF-16, else Windows-1252) and separator
    (comma, semicolon, tab, bar) are found out. Cells lose spaces at their ends; those that hold
    nothing (:data:`NO_VALUE`) become missing.

    Parameters
    ----------
    path
        The file.
    problems
        Gets what is wrong with it.
    wanted
        Columns that it should have; they tell which separator is meant.

    Returns
    -------
    DataFrame or None
        Text; the index holds the line where each row begins.
    """
    try:
        text = _decode(path.read_bytes(), problems)
    except (OSError, ValueError) as error:  # a NUL in a path is no OSError
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if missing else getattr(error, "strerror", error)
        problems.add("fatal", f"cannot be read: {reason}", f"Check the path: {path}")
        return None
    if text is None:
        return None
    text = _EXCEL_HINT.sub("", text, count=1)
    if all(c.isspace() or c in DELIMITERS or c == '"' for c in text):
        problems.add("fatal", "the file is empty", "Export it again, with a header.")
        return None
    try:
        found = _split(text, _delimiter(text, wanted))
    except csv.Error as error:
        again = "Export it again, with quotes around texts and quotes inside them doubled."
        problems.add("fatal", f"is no CSV: {error}", again)
        return None
    return _as_table(found, problems)


def _decode(content: bytes, problems: Problems) -> str | None:
    """The text of a file; None, and a problem, if it is not text."""
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        look = "Look at names with accents; save the file as UTF-8 if they are wrong."
        problems.add("look", "is not UTF-8, and was read as Windows-1252", look)
    if "\0" in text:
        trouble = "is no CSV, but a spreadsheet perhaps, or an archive"
        as_csv = "Save it as CSV (UTF-8) in the program that it comes from."
        problems.add("fatal", trouble, as_csv)
        return None
    return text


def _delimiter(text: str, wanted: Sequence[str]) -> str:
    """The separator that splits the header into the columns wanted, or into most."""
    header = text.lstrip().splitlines()[0]
    names = {plain_name(name).casefold() for name in wanted}

    def fit(delimiter: str) -> tuple[int, int]:
        cells = [cell.strip('"') for cell in header.split(delimiter)]
        return len(names & {plain_name(cell).casefold() for cell in cells}), len(cells)

    return max(DELIMITERS, key=fit)


def _split(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """The line where each row begins, and its cells; rows that are blank are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found, begin = [], 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                found.append((begin, row))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"{error}, in the row that begins at line {begin}") from None
    return found


def _as_table(found: list[tuple[int, list[str]]], problems: Problems) -> pd.DataFrame | None:
    (_, first), *below = found
    header = [plain_name(cell) for cell in first]
    while header and not header[-1]:
        header.pop()
    width = len(header)
    again = [line for line, row in below if row == first]
    problems.add("left out", "rows that repeat the header", "Take them out.", rows(again))
    below = [(line, row) for line, row in below if row != first]
    kept = {line: row for line, row in below if not any(cell.strip() for cell in row[width:])}
    long = [line for line, _ in below if line not in kept]
    trouble = f"rows with more cells than the header's {width}"
    problems.add("left out", trouble, "Quote cells that hold the separator.", rows(long))
    short = [line for line, row in below if len(row) < width]
    trouble = f"rows with fewer cells than the header's {width}: the rest is taken to be missing"
    problems.add("look", trouble, "Look whether a separator is missing there.", rows(short))
    if not kept:
        problems.add("fatal", "has a header, but no rows", "Export it again.")
        return None
    padded = [
        [None if plain_name(cell).lower() in NO_VALUE else cell.strip() for cell in row[:width]]
        + [None] * (width - len(row))
        for row in kept.values()
    ]
    table = pd.DataFrame(padded, pd.Index(kept, name=ROW), header, dtype="object")
    return _named_once(table, problems)


def _named_once(table: pd.DataFrame, problems: Problems) -> pd.DataFrame:
    """The table without columns that have no name, or the name of one before."""
    nameless = table.columns == ""
    if table.loc[:, nameless].notna().any(axis=None):
        where = [f"column {i + 1}" for i in np.flatnonzero(nameless)]
        problems.add("left out", "columns without a name", "Name them.", where)
    twice = table.columns.duplicated() & ~nameless
    where = [f"column {i + 1}" for i in np.flatnonzero(twice)]
    problems.add("left out", "columns with the name of one before", "Rename them.", where)
    return table.loc[:, ~(nameless | twice)]


def plain_name(name: str) -> str:
    """A name with accents coded one way, and no space that is not seen or between two words."""
    return " ".join(unicodedata.normalize("NFC", name).translate(_UNSEEN).split())
