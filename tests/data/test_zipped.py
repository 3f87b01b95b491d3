"""Tables in files from outside: their header is what it says, and no row."""

from __future__ import annotations

import pytest

from siscm.data.zipped import read_table


def test_a_header_that_cannot_be_read_is_no_row() -> None:
    with pytest.raises(ValueError, match=r"^t\.csv is not a table"):
        read_table(b'a,"b"c\n1,2\n', "t.csv")


def test_a_byte_order_mark_is_no_part_of_the_header() -> None:
    table = read_table(b'\xef\xbb\xbf"a,b",c\n1,2\n', "t.csv")
    assert table.columns.tolist() == ["a,b", "c"]
