"""Outside files broken in any way: refused by name, or read as a simple reader reads them.

Never a traceback from inside pandas, NumPy, json or zipfile, never a wrong table.
``HYPOTHESIS_PROFILE=deep`` tries thousands of files.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import json
import math
import re
import tempfile
import unicodedata
import warnings
import zipfile
from collections.abc import Hashable
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from broken import ANY_FILE, TABLES, assert_ours, broken, broken_json
from hypothesis import example, given, settings
from hypothesis import strategies as st
from raw_table import IMAGE_LABELS, as_csv, raw_table
from test_lewidi import TASK, item

from siscm.cifar10h.raw_file import check_raw
from siscm.data.lewidi import read_items
from siscm.data.zipped import read_table
from siscm.opinions import Opinions
from siscm.own_panel import check_files

FEWER = settings(max_examples=settings.default.max_examples // 2)
"""For readers that take longer."""

# --- CIFAR-10H's raw file

RAW = raw_table(np.random.default_rng(3), n_annotators=3, images_each=5, checks_each=1, n_images=9)
CHOSEN = {"annotator_id": 0, "cifar10_test_test_idx": 0, "true_label": 0, "chosen_label": 0}


NAMED = "raw-file.csv"


def simply_raw(content: bytes) -> list[tuple[int, ...]]:
    """The opinions of a raw file that is right, as they stand; attention checks left out."""
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(archive.namelist()[0])
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    rows = list(csv.DictReader(text))
    for row in rows:
        cells = [*row, *row.values()]
        assert None not in cells, "every row is as long as the header"
        assert not any(end in cell for cell in cells for end in "\r\n"), "a row is a line"
    real = [row for row in rows if float(row["is_attn_check"]) == 0]
    return [tuple(int(float(row[column])) for column in CHOSEN) for row in real]


def quietly(read: Any, *arguments: Any, **options: Any) -> Any:
    """What a reader makes of its input, without its own warning of repeats."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*repeated opinion", UserWarning)
        return read(*arguments, **options)


def quoted(content: bytes, *lines: int) -> bytes:
    """With a stray quote before the name of the image in some lines."""
    rows = content.split(b"\n")
    for line in lines:
        rows[line] = rows[line].replace(b",thing_s", b',"thing_s')
    return b"\n".join(rows)


def repeated(content: bytes, line: int) -> bytes:
    """With a line that stands twice."""
    rows = content.split(b"\n")
    return b"\n".join([*rows[: line + 1], *rows[line:]])


@given(content=broken(as_csv(RAW), TABLES), compared=st.booleans())
@example(content=quoted(as_csv(RAW), 1, 6), compared=True)
@example(content=repeated(as_csv(RAW), 1), compared=True)
@example(content=b"\n" + as_csv(RAW), compared=False)
@example(content=as_csv(RAW).rsplit(b",", 5)[0], compared=True)
def test_a_broken_raw_file_is_refused_by_name_or_read_right(content: bytes, compared: bool) -> None:
    try:
        table = read_table(content, NAMED)
        found = check_raw(table, NAMED, image_labels=IMAGE_LABELS if compared else None)
    except Exception as error:
        assert_ours(error, NAMED)
    else:
        assert list(found.itertuples(index=False, name=None)) == simply_raw(content)


ODD: list[Any] = [
    *(None, math.nan, pd.NA, pd.NaT, math.inf, -math.inf, 10**400, -1, 0, 1, 1.0, 0.5, True, False),
    *("1", "", " ", "é", "e\u0301", "\ud800", "x" * 999, b"1", (1, 2), [1], {}, frozenset("a")),
    *(1j, Decimal(1), Decimal("nan"), datetime.date(2020, 1, 1), pd.Timestamp("2020-01-01")),
    *(np.float32(0.1), np.int8(3), np.str_("a"), np.datetime64("NaT", "ns"), object),
]


@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(RAW) - 1), st.sampled_from(list(RAW)), st.sampled_from(ODD)),
        min_size=1,
        max_size=3,
    )
)
def test_odd_values_in_a_raw_table_are_refused_by_name_or_read_right(
    changes: list[tuple[int, str, Any]],
) -> None:
    table = RAW.astype(object)
    for row, column, value in changes:
        values = [value if i == row else old for i, old in enumerate(table[column])]
        table[column] = pd.Series(values, table.index, dtype=object)
    try:
        found = check_raw(table, "odd table")
    except Exception as error:
        assert_ours(error, "odd table")
    else:
        real = [row for row in table.to_dict("records") if row["is_attn_check"] == 0]
        expected = [tuple(int(row[column]) for column in CHOSEN) for row in real]
        assert list(found.itertuples(index=False, name=None)) == expected


# --- Le-Wi-Di

ITEMS = {"7": item(), "12": item(text="é, other", annotations="1,1,0", annotators="B,Ann1,C")}


@given(
    content=broken_json(ITEMS) | broken(json.dumps(ITEMS, indent=0).encode(), ANY_FILE),
    grouped=st.booleans(),
)
@example(content=json.dumps({"1": item(annotators="Ann1, Ann2,Ann10")}).encode(), grouped=True)
@example(content=json.dumps({"1": item(annotators="Ann1,Ann10,Ann10 ")}).encode(), grouped=True)
@example(content=json.dumps({"1": item(hard_label="0")}).encode(), grouped=True)
@example(content=b"9" * 5000, grouped=True)
@example(content=b'{"1": ' + b"9" * 5000 + b"}", grouped=True)
def test_a_broken_file_of_texts_is_refused_by_name_or_read_right(
    content: bytes, grouped: bool
) -> None:
    try:
        found = read_items(content, "dev.json", "dev", TASK, grouped)
    except Exception as error:
        assert_ours(error, "dev.json")
        return
    expected = json.loads(content.decode("utf-8"))
    assert found["instance"].unique().tolist() == [f"dev-{number}" for number in expected]
    for number, given_item in expected.items():
        one = found[found["instance"] == f"dev-{number}"]
        answers = [int(answer) for answer in given_item["annotations"].split(",")]
        experts = [name.strip() for name in given_item["annotators"].split(",")]
        assert set(one["text"]) == {given_item["text"]}
        assert (one["expert"].tolist(), one["label"].tolist()) == (experts, answers)
        said = set(zip(experts, answers, strict=True))
        assert len(said) == len(set(experts)), "nobody contradicts herself"
        assert given_item["number of annotations"] == len(answers)
        share = sum(answers) / len(answers)
        assert given_item.get("hard_label", "1" if share > 0.5 else "0") == str(round(share))
        for label, part in {"0": 1 - share, "1": share}.items():
            assert given_item.get("soft_label", {label: part})[label] == pytest.approx(
                part, abs=0.01
            )
        info = given_item["other_info"]
        codes = info["annotators group"].split(",") if grouped else []
        assert set(one["domain"]) == {"" if grouped else info["domain"]}
        assert one["group"].tolist() == [info[c].split()[0] for c in codes] or not grouped
    known = found[["expert", "group"]].drop_duplicates()
    assert known["expert"].is_unique, "nobody is in two groups"


# --- a user's own files

SAID = "instance,expert,label\n" + "".join(
    f"{i:03d},{expert},{(i * j) % 3 % 2}\n"
    for i in range(8)
    for j, expert in enumerate(["Ann", "José", '"Lee, C."'], start=2)
)
KNOWN = "instance,age,ward,notes\n" + "".join(
    f'{i:03d},{20 + 7 * i % 11},{"north" if i % 3 else "south"},"day {i}, then word{i % 4}"\n'
    for i in range(8)
)


def simply(content: bytes, wanted: str) -> list[dict[str, str]]:
    """The rows of a file, cells without spaces at their ends; the separator splits the header."""
    utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    # Wherever they are: accents coded one way or the other, marks that nobody sees.
    text = re.sub("[\u200b\u2060\ufeff]", "", unicodedata.normalize("NFC", text))
    for separator in ",;\t|":
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        cells = [[cell.strip() for cell in row] for row in rows if any(map(str.strip, row))]
        header = [" ".join(cell.split()) for cell in cells[0]]
        if wanted.casefold() in map(str.casefold, header):
            # The first of each name; in lower case too, unless another column has that name.
            place = {name.casefold(): i for i, name in reversed(list(enumerate(header)))}
            place |= {name: header.index(name) for name in header}
            return [
                {name: row[i] if i < len(row) else "" for name, i in place.items()}
                for row in cells[1:]
            ]
    raise AssertionError(f"no separator finds a column {wanted}")


WIDE = Context(prec=6000)


def spelling(name: Any) -> str:
    """What every spelling of a name has in common."""
    plain = " ".join(unicodedata.normalize("NFC", str(name)).split()).casefold()
    try:
        exact = Decimal(plain)
        whole = exact.is_finite() and "_" not in plain and exact == exact.to_integral_value()
        return str(exact.normalize(WIDE)) if whole else f"{float(plain):.12g}"
    except (ArithmeticError, ValueError):
        return plain


@FEWER
@given(
    said=st.just(SAID.encode()) | broken(SAID.encode(), TABLES),
    known=st.none() | st.just(KNOWN.encode()) | broken(KNOWN.encode(), TABLES),
)
def test_broken_files_of_a_user_have_named_problems_or_are_read_right(
    said: bytes, known: bytes | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("said.csv", "known.csv")]
        for path, content in zip(paths, (said, known), strict=True):
            if content is not None:
                path.write_bytes(content)
        checked = check_files(paths[0], None if known is None else paths[1])
    assert set(checked.problems["file"]) <= {"said.csv", "known.csv"}
    assert checked.problems["what to do"].astype(bool).all()
    try:
        panel = checked.panel
    except Exception as error:
        assert_ours(error, "said.csv: ", "known.csv: ")
        return
    roles = ("instance", "expert", "label")
    rows = [tuple(row.get(role, "") for role in roles) for row in simply(said, "instance")]
    read = [tuple(row) for row in panel.opinions.to_long().itertuples(index=False)]
    spelt = {tuple(map(spelling, row)) for row in rows}
    assert {tuple(map(spelling, row)) for row in read} <= spelt
    if "said.csv" not in set(checked.problems["file"]):
        assert sorted(read) == sorted(rows)
    assert panel.X.index.is_unique
    assert not panel.X.isna().any(axis=None)
    if known is not None:
        assert_described(panel, simply(known, "instance"))


def assert_described(panel: Any, rows: list[dict[str, str]]) -> None:
    """Every number and category of the panel stands in the row of its instance."""
    for name in panel.X.columns:
        for row in rows:
            instance, cell = row["instance"], row.get(str(name), "")
            if instance not in panel.X.index or [r["instance"] for r in rows].count(instance) > 1:
                continue
            found = panel.X.loc[instance, name]
            if panel.kinds[name] != "number":
                assert found == " ".join(cell.split()) or not found, (instance, name)
            elif not str(name).endswith(" is missing"):
                assert math.isfinite(found)
                value = number(cell)
                assert value is None or found == value, (instance, name)


def number(cell: str) -> float | None:
    """The number in a cell, unless it is none, or so large that it is taken for a gap."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if abs(value) <= 1e100 else None


# --- a table of opinions


def kept(name: Any) -> tuple[bool, Hashable]:
    """What tells names apart: True is not 1, but 1.0 is."""
    return isinstance(name, bool | np.bool_), name


def tables() -> st.SearchStrategy[pd.DataFrame]:
    """Small tables of names of any kind, ordinary ones among them, in columns of any type."""
    plain = st.sampled_from(["a", "b", "c"]) | st.integers(0, 3)
    row = st.tuples(*[plain | st.sampled_from(ODD)] * 3) | st.tuples(plain, plain, plain)
    rows = st.lists(row, max_size=6) | st.lists(st.tuples(*[st.integers(0, 9)] * 3), max_size=6)
    columns = st.permutations(["instance", "expert", "label"]) | st.sampled_from(
        [["instance", "expert", "expert"], ["instance", "expert", "Label"], [0, 1, 2]]
    )
    return st.builds(typed, rows, columns, st.sampled_from([object, "infer", "category", "string"]))


def typed(rows: list[tuple[Any, ...]], columns: list[Any], dtype: str) -> pd.DataFrame:
    """A table of one type, or of objects where the type does not take the values."""
    table = pd.DataFrame(index=range(len(rows)))
    parts = [np.empty(len(rows), dtype=object) for _ in columns]
    for i, row in enumerate(rows):
        for part, value in zip(parts, row, strict=True):
            part[i] = value
    for j, part in enumerate(parts):
        column = pd.Series(part, dtype=object)
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            column = column.infer_objects() if dtype == "infer" else column.astype(dtype)
        table.insert(j, columns[j], column, allow_duplicates=True)
    return table


@given(table=tables())
def test_an_odd_table_of_opinions_is_refused_by_name_or_read_right(table: pd.DataFrame) -> None:
    try:
        found = quietly(Opinions.from_long, table)
    except Exception as error:
        assert_ours(error, "instance", "expert", "label", "column")
        return
    columns = [table[role].tolist() for role in ("instance", "expert", "label")]
    expected = {tuple(map(kept, row)) for row in zip(*columns, strict=True)}
    read = found.to_long().astype(object).itertuples(index=False)
    assert {tuple(map(kept, row)) for row in read} == expected
    assert len(found) == len(expected)
