"""Names: one order whatever the order they come in, and no two that look the same."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siscm import names

some_names = st.lists(
    st.one_of(
        st.integers(-(2**70), 2**70),
        st.floats(-1e9, 1e9).filter(lambda x: not x.is_integer()),
        st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=3),
    ),
    unique=True,
    max_size=12,
)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        (np.int32(3), 3, int),
        (np.uint64(2**63), 2**63, int),
        (np.float32(0.5), 0.5, float),
        (2.0, 2, int),
        (np.float64(-0.0), 0, int),
        (1e300, 1e300, float),
        (np.bool_(True), True, bool),
        (np.str_("a"), "a", str),
        (np.datetime64("2020-01-02", "ns"), pd.Timestamp("2020-01-02"), pd.Timestamp),
        (np.datetime64("2020-01-02"), pd.Timestamp("2020-01-02"), pd.Timestamp),
        (np.timedelta64(5, "ns"), pd.Timedelta(5), pd.Timedelta),
        (("a", 1), ("a", 1), tuple),
    ],
)
def test_plain_values(name: Any, value: Any, kind: type) -> None:
    assert names.plain(name) == value
    assert type(names.plain(name)) is kind


def test_numbers_by_value_before_text() -> None:
    found = names.sorted_names([10, "b", 9, 2.5, "a10", -1, "a9", "B"], "instance")
    assert found == [-1, 2.5, 9, 10, "B", "a10", "a9", "b"]


def test_ids_too_large_for_a_float_keep_their_order() -> None:
    ids = [2**53 + 1, 2**53, 2**53 + 2]
    assert names.sorted_names(ids, "instance") == names.sorted_names(ids[::-1], "instance")
    assert names.sorted_names(ids, "instance") == sorted(ids)


@given(some_names, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_in(listed: list[Any], random: Any) -> None:
    shuffled = listed * 2
    random.shuffle(shuffled)
    found = names.sorted_names(shuffled, "instance")
    assert found == names.sorted_names(listed, "instance")
    assert len(found) == len(listed)
    assert set(found) == set(listed)
    assert found == names.sorted_names(found, "instance")


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ([1, "1"], r"instances 1 \(int\) and '1' \(str\) differ only in type"),
        ([1.0, "1"], r"1 \(int\) and '1' \(str\)"),
        ([0.5, "0.5"], r"0.5 \(float\) and '0.5' \(str\)"),
        ([True, 1], r"True \(bool\) and 1 \(int\)"),
        ([True, 1.0], r"True \(bool\) and 1 \(int\)"),
        ([False, np.int8(0)], r"False \(bool\) and 0 \(int\)"),
        ([True, "True"], r"True \(bool\) and 'True' \(str\)"),
        ([Decimal("0.5"), "0.5"], "differ only in type"),
    ],
)
@pytest.mark.parametrize("order", [list, lambda pair: pair[::-1]])
def test_look_alikes_are_refused(pair: list[Any], words: str, order: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="differ only in type"):
        names.sorted_names(order(pair), "instance")
    with pytest.raises(ValueError, match="differ only in type"):
        names.given_names(order(pair), "instance")
    with pytest.raises(ValueError, match=words):
        names.sorted_names(pair, "instance")


def test_one_and_one_point_zero_are_one_name() -> None:
    for listed in ([1, 1.0, 2], [1.0, 1, 2.0], [np.float32(1), 2]):
        found = names.sorted_names(listed, "instance")
        assert found == [1, 2]
        assert all(type(name) is int for name in found)


@pytest.mark.parametrize(
    "unordered",
    [[1j, 2j], [(1, "a"), ("a", 1)], [frozenset("a"), frozenset("b")], [object(), object()]],
)
def test_names_without_an_order_ask_for_one(unordered: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"cannot be put in order.*classes="):
        names.sorted_names(unordered, "label")
    assert list(names.given_names(unordered, "label")) == unordered


@pytest.mark.parametrize("name", [[1], {"a": 1}, {1}, np.array([1])])
def test_what_cannot_be_a_name(name: Any) -> None:
    for function in (names.sorted_names, names.given_names):
        with pytest.raises(ValueError, match=rf"expert .* is a {type(name).__name__}"):
            function(["a", name], "expert")
    with pytest.raises(ValueError, match=rf"expert .* is a {type(name).__name__}"):
        names.find([name], pd.Index(["a"]), "expert")


@pytest.mark.parametrize("value", ["ab", b"ab", 3, {"a", "b"}, frozenset("ab")])
def test_given_names_need_a_list_with_an_order(value: Any) -> None:
    with pytest.raises(TypeError, match="experts= must be a list of experts in their order"):
        names.given_names(value, "expert")


def test_given_names_keep_their_order() -> None:
    assert list(names.given_names((x for x in ["b", "a", 3]), "expert")) == ["b", "a", 3]
    assert list(names.given_names([(2, 1), (1, 2)], "instance")) == [(2, 1), (1, 2)]
    assert list(names.given_names(pd.Categorical(["b", "a"]), "label")) == ["b", "a"]
    assert names.given_names([], "label").tolist() == []


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "ns")])
def test_given_names_without_gaps(missing: Any) -> None:
    with pytest.raises(ValueError, match="labels given hold a missing value at 1"):
        names.given_names(["a", missing, "b"], "label")


@pytest.mark.parametrize("twice", [["a", "b", "a"], [1, 2, 1.0]])
def test_given_names_once(twice: list[Any]) -> None:
    with pytest.raises(ValueError, match=rf"label {twice[0]!r} is given twice"):
        names.given_names(twice, "label")


def test_find_takes_true_for_one_never() -> None:
    index = pd.Index([1, 0, 2])
    assert names.find([0, 1.0, np.int8(2), 7], index, "label").tolist() == [1, 0, 2, -1]
    assert names.find([True, False, "1", None], index, "label").tolist() == [-1] * 4
    assert names.find([1, True, np.False_], pd.Index([False, True]), "label").tolist() == [-1, 1, 0]
    assert names.find([], index, "label").dtype == np.int64


def test_find_parses_no_dates() -> None:
    dates = pd.to_datetime(["2020-01-01", "2020-01-02"])
    assert names.find(["2020-01-02", dates[1]], dates, "instance").tolist() == [-1, 1]
    assert names.find([dates[0].to_pydatetime()], dates, "instance").tolist() == [0]
    assert names.find([datetime.date(2020, 1, 1)], dates, "instance").tolist() == [-1]


def test_the_unknown_name_comes_with_its_look_alike() -> None:
    codes = np.array([0, -1])
    assert names.first_unknown(["a", "z"], codes, pd.Index(["a"])) == "'z'"
    assert "'7' (str, where 7 is int" in names.first_unknown([1, "7"], codes, pd.Index([1, 7]))


def test_positions() -> None:
    old, new = pd.Index(["a", "b", "c"]), pd.Index(["c", "a"])
    assert names.positions(old, new, "expert").tolist() == [1, -1, 0]
    with pytest.raises(ValueError, match="expert 'd' is not among the 3 experts"):
        names.positions(old, pd.Index(["a", "d"]), "expert")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="string"),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series([2, 1, 2]),
        pd.Series([2, 1, 2], dtype="Int64"),
        pd.Series([2.0, 1.0, 2.0]),
        pd.Series([2, 1.0, 2.0], dtype=object),
        pd.Series([2.5, 1.0, 2.5]),
        pd.Series([True, False, True]),
        pd.Series([True, False, True], dtype="boolean"),
        pd.Series([True, False, True], dtype=object),
        pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"])),
        pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"]), dtype=object),
        pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"]).tz_localize("UTC")),
        pd.Series(pd.PeriodIndex(["2020-02", "2020-01", "2020-02"], freq="M")),
        pd.Series([(2, 1), (1, 2), (2, 1)]),
    ],
)
def test_encode_every_kind_of_column(column: pd.Series[Any]) -> None:
    codes, index = names.encode(column, None, "label")
    assert codes.tolist() == [1, 0, 1]
    assert [index[code] for code in codes] == column.tolist()
    codes, index = names.encode(column, [*column.unique(), "more"], "label")
    assert codes.tolist() == [0, 1, 0]
    assert len(index) == 3


def test_categories_without_rows_are_no_names() -> None:
    column = pd.Series(pd.Categorical(["hi", "lo"], categories=["lo", "hi", "mid"], ordered=True))
    codes, index = names.encode(column, None, "label")
    assert index.tolist() == ["lo", "hi"]
    codes, index = names.encode(column, column.cat.categories, "label")
    assert (codes.tolist(), index.tolist()) == ([1, 0], ["lo", "hi", "mid"])


def test_encode_names_what_is_unknown() -> None:
    with pytest.raises(ValueError, match=r"label 'c' stands in the table but not among the 2"):
        names.encode(pd.Series(["a", "c"]), ["a", "b"], "label")
    with pytest.raises(ValueError, match=r"instance 1 \(int, where '1' is str: make them one"):
        names.encode(pd.Series([1, 2]), ["1", "2"], "instance")
    with pytest.raises(ValueError, match=r"labels True \(bool\) and 1 \(int\)"):
        names.encode(pd.Series([True, 1], dtype=object), None, "label")


def test_whole_floats_are_integers_only_where_no_other_float_is_meant() -> None:
    assert type(names.plain(2.0**53 - 1)) is int
    assert type(names.plain(2.0**53)) is float


def test_texts_of_nothing_but_spaces_are_gaps() -> None:
    cells = np.array([["", " \t"], ["a", None]], dtype=object)
    assert names.gaps(cells).tolist() == [[True, True], [False, True]]
    with pytest.raises(ValueError, match="labels given hold a missing value at 1"):
        names.given_names(["a", " "], "label")


def test_given_names_are_plain() -> None:
    index = names.given_names(np.array([2.0, 1.0], dtype=object), "expert")
    assert [type(name) for name in index] == [int, int]


def test_names_that_cannot_be_compared_are_in_order_by_type() -> None:
    assert names.sorted_names([("b",), "b", ("a",), 3], "label") == [3, "b", ("a",), ("b",)]


def test_experts_in_another_order_are_other_experts() -> None:
    names.refuse_other_experts(pd.Index(["a", "b"]), pd.Index(["a", "b"]), "parts are")
    with pytest.raises(ValueError, match="the parts are about different experts"):
        names.refuse_other_experts(pd.Index(["a", "b"]), pd.Index(["b", "a"]), "parts are")


@pytest.mark.parametrize(
    ("labels", "given", "ordered"),
    [
        (["a", "b"], None, True),
        (["a", "b", "c"], None, False),
        (["a", "b", "c"], ["c", "b", "a"], True),
        ([1, 2, 3], None, True),
        ([1, 2, "c"], None, False),
        ([b"low", b"mid", b"high"], None, False),
        ([pd.Timestamp(day, unit="D") for day in range(3)], None, True),
    ],
)
def test_words_have_an_order_if_it_is_given_or_there_are_two(
    labels: list[Any], given: list[Any] | None, ordered: bool
) -> None:
    column = pd.Series(labels, dtype=object)
    assert names.has_order(column, given, pd.Index(labels, dtype=object)) is ordered
