"""JSON is read strictly, and every trouble names the file; recorded figures are read like that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from broken import ANY_FILE, assert_ours, broken, broken_json
from hypothesis import example, given

from siscm import measured, pages
from siscm.json_text import read_json, read_object

VALID = {"seed": 3, "figures": {"experts": 114, "ARI": 0.9, "é": [1, 2.5, None, True]}}

BROKEN = {
    "nothing": b"",
    "cut off": b'{"a": 1',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": '{"é": 1}'.encode("latin-1"),
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "NaN": b'{"a": NaN}',
    "an infinite number": b'{"a": -Infinity}',
    "a key twice": b'{"a": 1, "a": 2}',
    "too deep": b"[" * 100_000,
    "too many digits": b"9" * 5000,
    "a NUL": b'{"a": "\0"}',
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_json_is_refused_by_name(what: str) -> None:
    with pytest.raises(ValueError, match=r"^a\.json is not readable as JSON") as caught:
        read_json(BROKEN[what], "a.json")
    assert_ours(caught.value, "a.json")


@given(content=broken_json(VALID) | broken(json.dumps(VALID, indent=0).encode(), ANY_FILE))
@example(content=b'{"a": 1e400}')
def test_json_is_refused_by_name_or_read_as_python_reads_it(content: bytes) -> None:
    try:
        found = read_json(content, "a.json")
    except Exception as error:
        assert_ours(error, "a.json")
    else:
        assert found == json.loads(content.decode("utf-8"))


@pytest.mark.parametrize("content", [b"[1]", b"3", b"null", *BROKEN.values()])
def test_recorded_figures_that_are_broken_name_their_file(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    asked: list[tuple[str, Any]] = [
        ("expected/some.json", lambda: pages.expected("some")),
        ("benchmarks/results.json", lambda: measured.results("graph")),
    ]
    for name, ask in asked:
        with pytest.raises(FileNotFoundError, match=f"{name}; `make") as missing:
            ask()
        assert_ours(missing.value, name)
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"^{name} ") as caught:
            ask()
        assert_ours(caught.value, name)


def test_a_folder_in_place_of_recorded_figures_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_object(tmp_path, "`make record` writes it")
