"""Valid files, broken: by cuts, foreign bytes, odd cells, other encodings, and nested nonsense."""

from __future__ import annotations

import gzip
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from raw_table import as_zip

import siscm

PACKAGE = Path(siscm.__file__).parent

ODD_CELLS = (
    *("", " ", "NaN", "nan", "NA", "None", "null", "inf", "-inf", "1e400", "-1", "10", "2.5"),
    *("1.0", "cat", "Cat", "\ufeff", "\x1a", "1,5"),
    *("1e3", "0x10", "1_0", "007", " 3 ", "+3", "٣", "③", "true", "-99999", "9" * 400, "1e-320"),
    *('"', '""', "'", ",", ";", "a,b", '"a\nb"', "\N{NO-BREAK SPACE}7", "\u2028", "é", "e\u0301"),
    *("=1+1", "#N/A", "a" * 5000),
)

Draw = st.DrawFn


def _cut(draw: Draw, content: bytes) -> bytes:
    return content[: draw(st.integers(0, len(content)))]


def _lose_a_piece(draw: Draw, content: bytes) -> bytes:
    start = draw(st.integers(0, len(content)))
    return content[:start] + content[start + draw(st.integers(1, 60)) :]


def _insert(draw: Draw, content: bytes) -> bytes:
    start = draw(st.integers(0, len(content)))
    foreign = draw(st.binary(min_size=1, max_size=4) | st.sampled_from([b'"', b"\0", b"\n", b","]))
    return content[:start] + foreign + content[start + draw(st.integers(0, 1)) :]


def _repeat_a_line(draw: Draw, content: bytes) -> bytes:
    lines = content.split(b"\n")
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
    return b"\n".join(lines)


def _swap_lines(draw: Draw, content: bytes) -> bytes:
    lines = content.split(b"\n")
    i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _odd_cell(draw: Draw, content: bytes) -> bytes:
    lines = content.split(b"\n")
    row = draw(st.integers(0, len(lines) - 1))
    cells = lines[row].split(b",")
    odd = draw(st.sampled_from(ODD_CELLS)).encode()
    cells[draw(st.integers(0, len(cells) - 1))] = odd
    lines[row] = b",".join(cells)
    return b"\n".join(lines)


def _change_columns(draw: Draw, content: bytes) -> bytes:
    """Swap two columns' names, name two alike, or have a whole column twice."""
    lines = [line.split(b",") for line in content.split(b"\n")]
    header = lines[0]
    i, j = (draw(st.integers(0, len(header) - 1)) for _ in range(2))
    how = draw(st.sampled_from(["swap", "alike", "twice"]))
    if how == "swap":
        header[i], header[j] = header[j], header[i]
    elif how == "alike":
        header[i] = header[j]
    else:
        for cells in lines:
            cells.extend(cells[i : i + 1])
    return b"\n".join(b",".join(cells) for cells in lines)


def _recode(draw: Draw, content: bytes) -> bytes:
    encoding = draw(st.sampled_from(["utf-16", "utf-8-sig", "latin-1", "utf-32", "utf-16-be"]))
    return content.decode("utf-8", errors="replace").encode(encoding, errors="replace")


def _other_line_ends(draw: Draw, content: bytes) -> bytes:
    return content.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b"\n\n", b""])))


def _pack(draw: Draw, content: bytes) -> bytes:
    """Into an archive, whole or damaged."""
    name = draw(st.sampled_from(["table.csv", "folder/table.csv", "table.txt", "../table.csv"]))
    how = draw(st.sampled_from(["zip", "two", "damaged", "gzip"]))
    if how == "gzip":
        return gzip.compress(content, mtime=0)
    packed = as_zip((name, content), *([("more.csv", b"")] if how == "two" else []))
    return _insert(draw, packed) if how == "damaged" else packed


ANY_FILE = (_cut, _lose_a_piece, _insert, _repeat_a_line, _swap_lines, _recode)
TABLES = (*ANY_FILE, _odd_cell, _odd_cell, _change_columns, _other_line_ends, _pack)


@st.composite
def broken(draw: Draw, valid: bytes, ways: tuple[Callable[[Draw, bytes], bytes], ...]) -> bytes:
    """A valid file, broken once or a few times."""
    for way in draw(st.lists(st.sampled_from(ways), min_size=1, max_size=3)):
        valid = way(draw, valid)
    return valid


json_values: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, 1, -1, 3, 2.5, 10**400, float("nan"), float("inf")])
    | st.sampled_from(["", " ", "0", "0,1", "0,1,1", "Ann1,Ann1,Ann2", "group1", "\ud800", ",,"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def broken_json(draw: Draw, valid: Any) -> bytes:
    """A valid object with odd values, keys lost and keys renamed at any depth, as a file."""
    content = json.loads(json.dumps(valid))
    for _ in range(draw(st.integers(1, 3))):
        inside = content
        while True:
            key = draw(st.sampled_from(sorted(inside)))
            if not (isinstance(inside[key], dict) and inside[key] and draw(st.booleans())):
                break
            inside = inside[key]
        how = draw(st.sampled_from(["odd", "odd", "lost", "renamed"]))
        if how == "odd":
            inside[key] = draw(json_values)
        elif len(inside) > 1:
            value = inside.pop(key)
            if how == "renamed":
                inside[draw(st.sampled_from([key.upper(), key + " ", "text"]))] = value
    return json.dumps(content).encode()


def assert_ours(error: BaseException, *named: str) -> None:
    """An error that the package raises itself, which names the trouble, and shows nothing else."""
    assert type(error) in (ValueError, TypeError, FileNotFoundError), repr(error)
    shown: BaseException | None = error
    while shown is not None:
        last = traceback.extract_tb(shown.__traceback__)[-1]
        assert Path(last.filename).is_relative_to(PACKAGE), (
            f"from inside {last.filename}: {shown!r}"
        )
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    assert any(name in str(error) for name in named), str(error)
