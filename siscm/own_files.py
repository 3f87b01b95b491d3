"""CSV files that people have: read cell by cell as text, every trouble in them named.

Cells stay text, so that the id ``007`` stays ``007``. A cell's content is never repeated in a
message about features, since it may be a text that offends.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

Outcome = Literal["fatal", "left out", "mended", "look"]
"""What came of a problem: nothing can be done; the rows or columns are left out; it is mended;
nothing was changed, but a person should look."""

OUTCOMES: tuple[Outcome, ...] = ("fatal", "left out", "mended", "look")

NO_VALUE = frozenset({"", "NA", "N/A", "<NA>", "NaN", "nan", "NULL", "null", "NaT"})
"""Cells that hold nothing."""

DELIMITERS = ",;\t|"

_EXCEL_HINT = re.compile(rf"\A\"?sep=[{DELIMITERS}]\"?(?=\r?\n)", re.IGNORECASE)
"""A first line that tells Excel the separator; what is left of it is a blank line."""

ROW = "row"
"""Name of the index of a table read: the line of the file where a row begins; the header is 1."""

_NAMED = 3
"""Places that a problem names before it says how many more there are."""


@dataclass(frozen=True)
class Problems:
    """Problems found so far, each with its place, and what to do about it."""

    found: list[dict[str, object]] = field(default_factory=list)

    def add(
        self, outcome: Outcome, file: str, problem: str, where: Sequence[object], advice: str
    ) -> None:
        """Note a problem; ``where`` names each place once, or nothing if it is the whole file.

        A problem that is nowhere is one of the file, and counts once.
        """
        self.found.append(
            {
                "outcome": outcome,
                "file": file,
                "problem": problem,
                "where": some_of(where),
                "how many": max(len(where), 1),
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
        table = pd.DataFrame(self.found, columns=columns)
        worst = table["outcome"].map(OUTCOMES.index)
        return table.iloc[np.argsort(worst.to_numpy(dtype=np.int64), kind="stable")].reset_index(
            drop=True
        )

    def refuse(self) -> None:
        """Raise if there is a fatal problem, naming all that are.

        Raises
        ------
        ValueError
            With file, trouble and what to do, of each fatal problem.
        """
        fatal = [row for row in self.found if row["outcome"] == "fatal"]
        if fatal:
            lines = (
                f"{r['file']}: {r['problem']}{f' ({w})' if (w := r['where']) else ''}. "
                f"{r['what to do']}"
                for r in fatal
            )
            raise ValueError("\n".join(lines))


def some_of(where: Iterable[object]) -> str:
    """The first few places, and how many more there are."""
    places = list(where)
    rest = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    return ", ".join(str(place) for place in places[:_NAMED]) + rest


def rows(lines: Iterable[int]) -> list[str]:
    """Places that are lines of a file."""
    return [f"{ROW} {line}" for line in lines]


def read_csv(path: str | Path, problems: Problems, wanted: Sequence[str]) -> pd.DataFrame | None:
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
    name = Path(path).name
    try:
        text = _decode(Path(path).read_bytes(), name, problems)
    except (OSError, ValueError) as error:  # a NUL in a path is no OSError
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if missing else getattr(error, "strerror", error)
        problems.add("fatal", name, f"cannot be read: {reason}", [], f"Check the path: {path}")
        return None
    if text is None:
        return None
    text = _EXCEL_HINT.sub("", text, count=1)
    if all(c.isspace() or c in DELIMITERS or c == '"' for c in text):
        problems.add("fatal", name, "the file is empty", [], "Export it again, with a header.")
        return None
    try:
        lines, cells = _split(text, _delimiter(text, wanted))
    except csv.Error as error:
        again = "Export it again, with quotes around texts and quotes inside them doubled."
        problems.add("fatal", name, f"is no CSV: {error}", [], again)
        return None
    return _as_table(lines, cells, name, problems)


def _decode(content: bytes, name: str, problems: Problems) -> str | None:
    """The text of a file; None, and a problem, if it is not text."""
    as_csv = "Save it as CSV (UTF-8) in the program that it comes from."
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1", b"%PDF")):
        problems.add("fatal", name, "is a spreadsheet or archive, not a CSV", [], as_csv)
        return None
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        look = "Look at names with accents; save the file as UTF-8 if they are wrong."
        problems.add("look", name, "is not UTF-8, and was read as Windows-1252", [], look)
    if "\0" in text:
        problems.add("fatal", name, "is no text file, and so no CSV", [], as_csv)
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


def _split(text: str, delimiter: str) -> tuple[list[int], list[list[str]]]:
    """Rows that are not blank, and the line where each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines, cells, begin = [], [], 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                lines.append(begin)
                cells.append(row)
            begin = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"{error}, in the row that begins at line {begin}") from None
    return lines, cells


def _as_table(
    lines: list[int], cells: list[list[str]], name: str, problems: Problems
) -> pd.DataFrame | None:
    header = [plain_name(cell) for cell in cells[0]]
    while header and not header[-1]:
        header.pop()
    width = len(header)
    unequal = [line for line, row in zip(lines, cells, strict=True) if _too_long(row, width)]
    if unequal:
        problems.add(
            "left out",
            name,
            f"rows with more cells than the header's {width}",
            rows(unequal),
            "Put quotes around cells that hold the separator.",
        )
    short = [line for line, row in zip(lines, cells, strict=True) if len(row) < width]
    if short:
        problems.add(
            "look",
            name,
            f"rows with fewer cells than the header's {width}: the rest is taken to be missing",
            rows(short),
            "Look whether a separator is missing there.",
        )
    kept = [i for i, row in enumerate(cells) if i and not _too_long(row, width)]
    if not kept:
        problems.add("fatal", name, "has a header, but no rows", [], "Export it again.")
        return None
    padded = [
        [None if (c := cell.strip()) in NO_VALUE else c for cell in cells[i][:width]]
        + [None] * (width - len(cells[i]))
        for i in kept
    ]
    index = pd.Index([lines[i] for i in kept], name=ROW)
    table = pd.DataFrame(padded, index=index, columns=header, dtype="object")
    return _named_once(table, name, problems)


def _too_long(row: list[str], width: int) -> bool:
    return any(cell.strip() for cell in row[width:])


def _named_once(table: pd.DataFrame, name: str, problems: Problems) -> pd.DataFrame:
    """The table without columns that have no name, or the name of one before."""
    nameless = table.columns == ""
    if nameless.any():
        if table.loc[:, nameless].notna().any(axis=None):
            where = [f"column {i + 1}" for i in np.flatnonzero(nameless)]
            problems.add("left out", name, "columns without a name", where, "Name them.")
        table = table.loc[:, ~nameless]
    twice = table.columns.duplicated()
    if twice.any():
        where = [f"column {column}" for column in table.columns[twice].unique()]
        problems.add("left out", name, "columns with the name of one before", where, "Rename them.")
    return table.loc[:, ~twice]


def plain_name(name: str) -> str:
    """A name without spaces at its ends, or more than one inside."""
    return " ".join(name.split())
