"""JSON is read strictly, and every trouble names the file."""

from __future__ import annotations

import json

import pytest
from broken import ANY_FILE, assert_ours, broken, broken_json
from hypothesis import example, given

from siscm.data.json_text import read_json

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


def test_the_key_that_stands_twice_is_named() -> None:
    with pytest.raises(ValueError, match="the key 'a' stands twice"):
        read_json(b'{"b": 0, "a": 1, "a": 2}', "a.json")
