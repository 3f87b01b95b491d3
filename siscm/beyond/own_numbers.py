"""Numbers as people write them: decimal points or commas, and marks that part thousands."""

from __future__ import annotations

import math
import re

import pandas as pd

from siscm.beyond.own_files import Outcome, Problems, rows, told

MOSTLY = 0.9
"""Share of numbers among a column's values from which the others are taken for gaps."""

_DIGITS = r"[+-]?\d[\d.,]*"
_GROUPED = {
    mark: rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+(?:{re.escape(other)}\d+)?"
    for mark, other in (",.", ".,")
}
"""Numbers with a mark that may part thousands, by the mark."""


def without_grouping(table: pd.DataFrame, problems: Problems) -> pd.DataFrame:
    """Numbers of a table without what parts thousands, where that is certain; else to be looked at.

    It is certain if a number holds it twice, or if the column holds the other mark, too, where that
    can only be a decimal one.
    """
    out = table.copy()
    for name in table.columns:
        cells = table[name]
        numbers = cells.str.fullmatch(_DIGITS, na=False)
        if numbers.sum() < MOSTLY * cells.notna().sum():
            continue
        counts = {mark: cells.where(numbers, "").str.count(re.escape(mark)) for mark in _GROUPED}
        may_part = {
            mark: cells[count > 0].str.fullmatch(_GROUPED[mark]).all()
            for mark, count in counts.items()
        }
        for mark, count in counts.items():
            where = count > 0
            if not where.any() or not may_part[mark]:
                continue
            trouble = f"column {told(name)!r}: numbers with a {mark!r}, read as a decimal one"
            outcome: Outcome = "look"
            advice = "Take it out if it parts thousands."
            if (count > 1).any() or not all(may_part.values()):
                out[name] = cells.mask(where, cells.str.replace(mark, "", regex=False))
                trouble = f"column {told(name)!r}: thousands parted by a {mark!r}"
                outcome, advice = "mended", "Nothing."
            problems.add(outcome, trouble, advice, rows(table.index[where]))
            break
    return out


def to_number(cell: str) -> float:
    """The number that a cell holds, with a decimal point or comma; NaN if it holds none.

    The minus may be the typographic one.
    """
    try:
        plain = cell.replace(",", ".").replace("\N{MINUS SIGN}", "-")
        return math.nan if "_" in cell else float(plain)  # for Python, 1_0 is ten
    except ValueError:
        return math.nan
