"""Opinions: nothing dropped silently, nothing made a label by accident, any row order the same."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from siscm import Opinions

ROLES = ("instance", "expert", "label")

codes_with_gaps = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(-1, 3)
)
ids = st.one_of(
    st.lists(st.integers(-50, 50), unique=True, min_size=6, max_size=6),
    st.lists(st.text("abcd", min_size=1, max_size=3), unique=True, min_size=6, max_size=6),
    st.just([3, "x", 1, "b", 2.5, "a"]),
    st.just([1.5, 0.5, 2.0, 7.25, -1.0, 3.0]),
)


def table_of(
    instance: Any = ("a", "a", "b"), expert: Any = ("p", "q", "p"), label: Any = ("y", "x", "x")
) -> pd.DataFrame:
    columns = zip(ROLES, (instance, expert, label), strict=True)
    return pd.DataFrame(
        {role: list(values) if isinstance(values, tuple) else values for role, values in columns}
    )


def everything(opinions: Opinions) -> tuple[Any, ...]:
    """All that two equal sets of opinions share."""
    return (
        opinions.instances.tolist(),
        opinions.experts.tolist(),
        opinions.classes.tolist(),
        opinions.instances.dtype,
        opinions.experts.dtype,
        opinions.classes.dtype,
        opinions.labels.tolist(),
    )


# Round trips


@given(codes_with_gaps, ids, ids, st.randoms(use_true_random=False))
def test_any_row_order_gives_the_same_opinions(
    codes: npt.NDArray[np.int64], instances: list[Any], experts: list[Any], random: Any
) -> None:
    n, n_experts = codes.shape
    order = {"instances": instances[:n], "experts": experts[:n_experts], "classes": list("dacb")}
    built = Opinions.from_codes(codes, **order)
    long = built.to_long()
    rows = list(range(len(long)))
    random.shuffle(rows)
    shuffled = long.iloc[rows].set_index(pd.Index(rows[::-1]))
    assert everything(Opinions.from_long(shuffled, **order)) == everything(built)
    found = Opinions.from_long(shuffled.astype(object))
    assert everything(found) == everything(Opinions.from_long(long.astype(object)))
    said = {(i, h): y for i, h, y in long.itertuples(index=False)}
    assert {(i, h): y for i, h, y in found.to_long().itertuples(index=False)} == said


@given(codes_with_gaps)
def test_codes_come_back(codes: npt.NDArray[np.int64]) -> None:
    opinions = Opinions.from_codes(codes, classes=["a", "b", "c", "d"])
    assert np.array_equal(opinions.labels, codes)
    assert len(opinions) == (codes >= 0).sum() == len(opinions.to_long())
    assert opinions.n_classes == 4
    n, n_experts = codes.shape
    again = Opinions.from_long(
        opinions.to_long(), instances=range(n), experts=range(n_experts), classes=list("abcd")
    )
    assert everything(again) == everything(opinions)


@given(codes_with_gaps)
def test_a_wide_table_keeps_its_gaps(codes: npt.NDArray[np.int64]) -> None:
    names = np.array(["a", "b", "c", "d", None], dtype=object)
    wide = pd.DataFrame(names[codes])
    opinions = Opinions.from_wide(wide, classes=["a", "b", "c", "d"])
    assert np.array_equal(opinions.labels, codes)
    assert len(opinions.experts) == codes.shape[1]


@given(codes_with_gaps, st.data())
def test_select_is_a_choice_of_rows_and_columns(
    codes: npt.NDArray[np.int64], data: st.DataObject
) -> None:
    n, n_experts = codes.shape
    opinions = Opinions.from_codes(codes, classes=range(4))
    rows = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    columns = data.draw(st.lists(st.integers(0, n_experts - 1), unique=True))
    chosen = opinions.select(instances=rows, experts=columns)
    assert np.array_equal(chosen.labels, codes[np.ix_(rows, columns)])
    assert chosen.instances.tolist() == rows
    assert chosen.experts.tolist() == columns
    assert chosen.classes.equals(opinions.classes)
    assert np.array_equal(opinions.select(experts=columns).labels, codes[:, columns])
    assert np.array_equal(opinions.select().labels, codes)


def test_labels_of_an_ordered_categorical_keep_its_order() -> None:
    scores = pd.Series([1.0, 9.0, 4.0, 8.0])
    grade = pd.cut(scores, [0, 3, 6, 10, 99], labels=["low", "medium", "high", "never"])
    long = pd.DataFrame({"instance": list("aabb"), "expert": list("pqpq"), "label": grade})
    wide = long.pivot(index="instance", columns="expert", values="label")
    for opinions in (Opinions.from_long(long[::-1]), Opinions.from_wide(wide)):
        assert opinions.classes.tolist() == ["low", "medium", "high"]
        assert opinions.labels.tolist() == [[0, 2], [1, 2]]
    unordered = long.assign(label=grade.cat.as_unordered())
    assert Opinions.from_long(unordered).classes.tolist() == ["high", "low", "medium"]
    assert opinions.ordered
    assert not Opinions.from_long(unordered).ordered


@pytest.mark.parametrize(
    ("labels", "options", "ordered"),
    [
        ("yxz", {}, False),
        ("yxz", {"classes": list("zxy")}, True),
        ("yxy", {}, True),  # two are in order, whichever comes first
        ([2, 0, 1], {}, True),
        ([0.5, "x", "y"], {}, False),
    ],
)
def test_names_alone_give_labels_no_order(labels, options, ordered) -> None:
    table = table_of(label=tuple(labels))
    wide = table.pivot(index="instance", columns="expert", values="label")
    for opinions in (Opinions.from_long(table, **options), Opinions.from_wide(wide, **options)):
        assert opinions.ordered == ordered
        assert opinions.select(experts=["p"]).ordered == ordered


def test_codes_are_taken_to_be_in_order() -> None:
    assert Opinions.from_codes([[0, 1, 2]]).ordered
    assert Opinions.from_codes([[0, 1, 2]], classes=list("bca")).ordered


def test_the_order_given_is_kept() -> None:
    opinions = Opinions.from_long(
        table_of(), instances=["b", "c", "a"], experts=["q", "p"], classes=["y", "z", "x"]
    )
    assert opinions.labels.tolist() == [[-1, 2], [-1, -1], [2, 0]]
    assert opinions.to_long().to_numpy().tolist() == [
        ["b", "p", "x"],
        ["a", "q", "x"],
        ["a", "p", "y"],
    ]


def test_columns_under_other_names() -> None:
    table = table_of().set_axis([7, "doctor", "severity"], axis=1).assign(label="unused")
    opinions = Opinions.from_long(table, instance=7, expert="doctor", label="severity")
    assert everything(opinions) == everything(Opinions.from_long(table_of()))


# Names


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([True, False, True], [False, True]),
        (pd.array([True, False, True], dtype="boolean"), [False, True]),
        (pd.Categorical(["lo", "hi", "lo"], categories=["lo", "hi"]), ["hi", "lo"]),
        (pd.array([3, 1, 3], dtype="Int64"), [1, 3]),
        ([3.0, 1.0, 3.0], [1, 3]),
        ([2, 0.5, 2], [0.5, 2.0]),
        (np.array(["b", "a", "b"]), ["a", "b"]),
        (pd.array(["b", "a", "b"], dtype="string"), ["a", "b"]),
        (pd.Series([np.int64(2), np.int8(1), np.float32(2)], dtype=object), [1, 2]),
        (pd.Series(["10", 9, "10"], dtype=object), [9, "10"]),
        (pd.to_datetime(["2021", "2020", "2021"]), list(pd.to_datetime(["2020", "2021"]))),
    ],
)
def test_labels_of_every_kind(labels: Any, classes: list[Any]) -> None:
    opinions = Opinions.from_long(table_of(label=labels))
    assert opinions.classes.tolist() == classes
    assert opinions.labels.tolist() == [[1, 0], [1, -1]]
    assert opinions.to_long()["label"].tolist() == [classes[1], classes[0], classes[1]]


@pytest.mark.parametrize("role", ROLES)
def test_one_and_its_text_are_refused_together(role: str) -> None:
    table = table_of(**{role: pd.Series([1, "1", 2], dtype=object)})
    with pytest.raises(ValueError, match=rf"{role}s 1 \(int\) and '1' \(str\) differ only in type"):
        Opinions.from_long(table)
    with pytest.raises(ValueError, match=r"labels True .* and 1 .* differ only in type"):
        Opinions.from_long(table_of(label=pd.Series([True, 1, 0], dtype=object)))


@pytest.mark.parametrize(
    ("role", "parameter"),
    [("instance", "instances"), ("expert", "experts"), ("label", "classes")],
)
def test_names_outside_those_given_are_refused(role: str, parameter: str) -> None:
    last = table_of()[role].max()
    with pytest.raises(ValueError, match=rf"{role} '{last}' stands in the table but not among"):
        Opinions.from_long(table_of(), **{parameter: [table_of()[role].min()]})
    with pytest.raises(ValueError, match=rf"{role} '{last}' is given twice"):
        Opinions.from_long(table_of(), **{parameter: [last, "more", last]})
    with pytest.raises(TypeError, match=f"{parameter}= must be a list"):
        Opinions.from_long(table_of(), **{parameter: "pqxyab"})
    if role != "label":
        with pytest.raises(TypeError, match=f"{parameter}= must be a list"):
            Opinions.from_long(table_of()).select(**{parameter: last})


# Gaps


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["u", None, "v", None], object),
        (["u", float("nan"), "v", np.nan], object),
        (["u", pd.NA, "v", pd.NaT], object),
        ([Decimal(1), Decimal("nan"), Decimal(2), None], object),
        (["u", "", "v", " \t"], object),
        (["u", "", "v", None], "string"),
        (["u", None, "v", None], "string"),
        (["u", None, "v", None], "str"),
        (["u", None, "v", None], "category"),
        (["u", "", "v", None], "category"),
        ([1, None, 2, pd.NA], "Int64"),
        ([True, None, False, pd.NA], "boolean"),
        ([1.0, np.nan, 2.0, np.nan], float),
        (["2020-01-01", None, "2020-01-02", pd.NaT], "datetime64[ns]"),
    ],
)
def test_gaps_are_counted_and_placed(role: str, values: list[Any], dtype: Any) -> None:
    table = table_of(("a", "b", "c", "d"), ("p", "q", "r", "s"), ("w", "x", "y", "z"))
    table[role] = pd.Series(values, dtype=dtype)
    others = ", ".join(f"{r} {table[r][1]!r}" for r in ROLES if r != role)
    words = rf"2 of 4 rows have no {role} \(column '{role}'\).*position 1: {others}.*dropna"
    with pytest.raises(ValueError, match=words):
        Opinions.from_long(table)


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_the_advice_on_empty_texts_can_be_followed(dtype: Any) -> None:
    table = table_of(("a", "b", "c"), ("p", "q", "q"), ("w", " ", "x")).astype(dtype)
    with pytest.raises(ValueError, match="1 of 3 rows have no label") as caught:
        Opinions.from_long(table)
    [advice] = re.findall(r"table\S*replace.*?dropna\(.*?\)", str(caught.value))
    kept = eval(advice, {"table": table, "pd": pd})
    assert Opinions.from_long(kept).to_long().to_numpy().tolist() == [
        ["a", "p", "w"],
        ["c", "q", "x"],
    ]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_not_asked_cast_to_unsigned_is_no_label(dtype: str) -> None:
    codes = np.array([[0, -1], [1, 0]]).astype(dtype)
    with pytest.raises(ValueError, match=f"the largest {dtype}: it is what a -1, not asked"):
        Opinions.from_codes(codes)
    with pytest.raises(ValueError, match="code"):
        Opinions.from_codes(codes, classes=["a", "b"])


@pytest.mark.parametrize(
    "wide",
    [
        {"q": ["x", None], "p": [np.nan, "y"]},
        {"q": pd.Categorical(["x", None]), "p": pd.array([pd.NA, "y"], dtype="string")},
        {"q": ["x", ""], "p": pd.array([" ", "y"], dtype="string")},
        {"q": pd.Series(["x", pd.NaT], dtype=object), "p": pd.Series([pd.NA, "y"], dtype=object)},
    ],
)
def test_gaps_of_a_wide_table_are_not_asked(wide: dict[str, Any]) -> None:
    opinions = Opinions.from_wide(pd.DataFrame(wide).set_axis([20, 10]))
    assert opinions.instances.tolist() == [10, 20]
    assert opinions.experts.tolist() == ["p", "q"]
    assert opinions.labels.tolist() == [[1, -1], [-1, 0]]


def test_gaps_do_not_turn_whole_numbers_into_others() -> None:
    wide = pd.DataFrame({"p": [1, None], "q": [0, 1]})
    opinions = Opinions.from_wide(wide)
    assert opinions.labels.tolist() == [[1, 0], [-1, 1]]
    assert opinions.classes.tolist() == [0, 1]
    assert opinions.classes.dtype == np.int64
    mixed = pd.DataFrame({"p": [True, None], "q": [1, 0]})
    with pytest.raises(ValueError, match="differ only in type"):
        Opinions.from_wide(mixed)


def test_a_wide_table_names_its_rows_and_columns_once() -> None:
    wide = pd.DataFrame([["x", "y"], ["y", "x"]])
    for index, columns, words in (
        ([1, 1], ["p", "q"], "instance 1 is given twice"),
        ([1, 2], ["p", "p"], "expert 'p' is given twice"),
        ([1, None], ["p", "q"], "instances given hold a missing value at 1"),
        ([1, 2], [None, "q"], "experts given hold a missing value at 0"),
        ([1, 2], ["p", " "], "experts given hold a missing value at 1"),
        ([1, "1"], ["p", "q"], "differ only in type"),
    ):
        with pytest.raises(ValueError, match=words):
            Opinions.from_wide(wide.set_axis(index).set_axis(columns, axis=1))


def test_names_of_several_levels_stay_whole() -> None:
    rows = pd.MultiIndex.from_tuples([("b", 1), ("a", 2)])
    opinions = Opinions.from_wide(pd.DataFrame({("p", "x"): [0, 1]}, index=rows))
    assert opinions.instances.tolist() == [("a", 2), ("b", 1)]
    assert opinions.experts.tolist() == [("p", "x")]
    again = Opinions.from_long(opinions.to_long())
    assert everything(again) == everything(opinions)
    assert opinions.select(instances=[("b", 1)]).labels.tolist() == [[0]]


# Repeats


def test_equal_repeats_are_merged_and_counted() -> None:
    table = pd.concat([table_of(), table_of().iloc[[2, 2, 0]]])
    with pytest.warns(
        UserWarning, match=r"^3 repeated opinion.*instance 'a', expert 'p'"
    ) as caught:
        opinions = Opinions.from_long(table)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert everything(opinions) == everything(Opinions.from_long(table_of()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Opinions.from_long(table.drop_duplicates())) == 3


def test_contradictions_are_refused() -> None:
    table = pd.concat([table_of(), table_of(label=("y", "z", "x"))])
    with pytest.raises(ValueError, match=r"expert 'q' contradicts.* instance 'a': \['x', 'z'\]"):
        Opinions.from_long(table)
    numbers = pd.DataFrame([(5, 1, 0), (5, 1, 2)], columns=list(ROLES))
    with pytest.raises(ValueError, match=r"expert 1 contradicts.* instance 5: \[0, 2\]"):
        Opinions.from_long(numbers)


# Tables that are none


def test_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"no column 'expert'; its columns are \['instance', 'la"):
        Opinions.from_long(table_of().drop(columns="expert"))
    with pytest.raises(ValueError, match="no column 'who'"):
        Opinions.from_long(table_of(), expert="who")
    with pytest.raises(ValueError, match=r"no column \['expert'\]"):
        Opinions.from_long(table_of(), expert=["expert"])  # type: ignore[arg-type]


def test_ambiguous_columns_are_refused() -> None:
    twice = pd.concat([table_of(), table_of()[["label"]]], axis=1)
    with pytest.raises(ValueError, match="several columns 'label'"):
        Opinions.from_long(twice)
    levels = table_of().set_axis(pd.MultiIndex.from_product([ROLES, ["x"]]), axis=1)
    with pytest.raises(ValueError, match="several columns 'instance'"):
        Opinions.from_long(levels)
    with pytest.raises(ValueError, match=r"must be three columns; got .*'expert', 'expert'"):
        Opinions.from_long(table_of(), label="expert")


@pytest.mark.parametrize("table", [[("a", "p", "x")], {"instance": ["a"]}, np.eye(3), None])
def test_only_tables(table: Any) -> None:
    for build in (Opinions.from_long, Opinions.from_wide):
        with pytest.raises(TypeError, match=rf"pandas DataFrame, not a {type(table).__name__}"):
            build(table)


def test_nobody_said_anything() -> None:
    empty = table_of().iloc[:0]
    opinions = Opinions.from_long(empty)
    assert len(opinions) == 0
    assert opinions.labels.shape == (0, 0)
    given_names = Opinions.from_long(empty, instances=[1, 2], experts=["p"], classes=["x"])
    assert given_names.labels.tolist() == [[-1], [-1]]
    assert given_names.to_long().columns.tolist() == list(ROLES)
    assert Opinions.from_wide(pd.DataFrame()).labels.shape == (0, 0)
    assert Opinions.from_wide(pd.DataFrame({"p": [None, None]})).labels.tolist() == [[-1], [-1]]
    assert Opinions.from_codes([[-1, -1]]).n_classes == 0
    assert Opinions.from_codes(np.empty((0, 3), dtype=int)).labels.shape == (0, 3)


# Codes


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[0, -2]], "instance 0, expert 1: code -2 is neither -1 .* nor one of the 2 classes"),
        ([[0, 1], [2, 1]], "instance 1, expert 0: code 2 is neither"),
        ([[0.0, 1.0]], "integer codes.*float64"),
        ([[True, False]], "integer codes.*bool"),
        ([["0", "1"]], "integer codes"),
        ([0, 1], r"two-dimensional.*shape \(2,\)"),
        (np.array([[0, 255]], dtype=np.uint8), "code 255 is neither"),
        (np.array([[0, 2**64 - 1]], dtype=np.uint64), "code 18446744073709551615 is neither"),
    ],
)
def test_codes_that_are_none(codes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Opinions.from_codes(codes, classes=["a", "b"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int32])
def test_codes_of_any_integer_type(dtype: type) -> None:
    opinions = Opinions.from_codes(np.array([[0, 2], [1, 0]], dtype=dtype))
    assert opinions.labels.tolist() == [[0, 2], [1, 0]]
    assert opinions.classes.tolist() == [0, 1, 2]


def test_masked_codes_are_not_asked() -> None:
    codes = np.ma.masked_array([[0, 1], [1, 1]], mask=[[False, True], [False, False]])
    assert Opinions.from_codes(codes).labels.tolist() == [[0, -1], [1, 1]]


def test_a_table_of_codes_brings_its_names() -> None:
    table = pd.DataFrame([[0, -1], [1, 0]], index=[7, 3], columns=["q", "p"])
    opinions = Opinions.from_codes(table, classes=["x", "y"])
    assert opinions.instances.tolist() == [7, 3]
    assert opinions.experts.tolist() == ["q", "p"]
    assert opinions.to_long().to_numpy().tolist() == [[7, "q", "x"], [3, "q", "y"], [3, "p", "x"]]
    assert Opinions.from_codes(table, experts=["a", "b"]).experts.tolist() == ["a", "b"]
    assert Opinions.from_codes(table, instances=["c", "d"]).instances.tolist() == ["c", "d"]


def test_without_names_there_are_labels_up_to_the_largest_code() -> None:
    assert Opinions.from_codes([[3, -1], [0, 3]]).classes.tolist() == [0, 1, 2, 3]
    largest = Opinions.from_codes([[2**31 - 1]])
    assert largest.n_classes == 2**31
    with pytest.raises(ValueError, match="the code 2147483648, more than there can be classes"):
        Opinions.from_codes([[2**31]])


def test_the_first_code_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="instance 0, expert 1: code 7 is neither"):
        Opinions.from_codes([[0, 7], [9, 1]], classes=["a", "b"])


@pytest.mark.parametrize(
    "names", [{"experts": ["p"]}, {"instances": ["a", "b", "c"]}, {"experts": list("pqr")}]
)
def test_as_many_names_as_rows_and_columns(names: dict[str, list[str]]) -> None:
    (role, given_names), size = next(iter(names.items())), 2
    with pytest.raises(ValueError, match=f"{len(given_names)} {role} are named, but .* {size}"):
        Opinions.from_codes([[0, 1], [1, 0]], **names)
    with pytest.raises(TypeError, match="classes= must be a list of labels"):
        Opinions.from_codes([[0, 1]], classes=2)


# An object that cannot be spoilt


def test_labels_cannot_be_changed() -> None:
    source = np.array([[0, 1], [1, -1]])
    opinions = Opinions.from_codes(source)
    source[:] = 0
    assert opinions.labels.tolist() == [[0, 1], [1, -1]]
    for array in (
        opinions.labels,
        opinions.instance_codes,
        opinions.expert_codes,
        opinions.label_codes,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = -1
    with pytest.raises(AttributeError):
        opinions.label_codes = np.array([-1, -1, -1])  # type: ignore[misc]
    table = opinions.to_long()
    table["label"] = 7
    assert opinions.to_long()["label"].tolist() == [0, 1, 1]


def test_minus_one_never_is_the_last_class() -> None:
    opinions = Opinions.from_codes([[0, -1], [-1, -1]], classes=["x", "y", "last"])
    assert opinions.to_long()["label"].tolist() == ["x"]
    assert len(opinions) == 1
    names = opinions.instances, opinions.experts, opinions.classes
    with pytest.raises(ValueError, match="label_codes holds -1, which is no position among the 3"):
        Opinions(*names, np.array([0]), np.array([0]), np.array([-1]))


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (([2], [0], [0]), "instance_codes holds 2, which is no position among the 2 instances"),
        (([0], [-1], [0]), "expert_codes holds -1"),
        (([0], [0], [2]), "label_codes holds 2"),
        (([0], [0], [0.0]), "label_codes must be integers"),
        (([0, 1], [0], [0]), "one for each opinion"),
        (([1, 0], [0, 0], [0, 0]), "sorted by instance, then by expert"),
        (([0, 0], [0, 0], [0, 1]), "each once"),
    ],
)
def test_codes_handed_over_directly_are_checked(codes: Any, words: str) -> None:
    names = (pd.Index(["a", "b"]), pd.Index(["p", "q"]), pd.Index(["x", "y"]))
    for dtype in (np.int64, np.uint8):
        if dtype == np.int64 or min(map(min, codes)) >= 0:
            arrays = [np.array(c, dtype=float if isinstance(c[0], float) else dtype) for c in codes]
            with pytest.raises(ValueError, match=words):
                Opinions(*names, *arrays)


def test_small_integers_do_not_overflow() -> None:
    names = (pd.RangeIndex(2), pd.RangeIndex(200), pd.RangeIndex(2))
    codes = ([0, 1, 1], [199, 100, 150], [0, 1, 0])
    opinions = Opinions(*names, *(np.array(c, dtype=np.uint8) for c in codes))
    assert opinions.label_codes.dtype == np.int64
    assert opinions.to_long()["expert"].tolist() == [199, 100, 150]


def test_codes_handed_over_directly_are_copied() -> None:
    codes = [np.array([0, 1]), np.array([1, 0]), np.array([0, 0])]
    opinions = Opinions(pd.Index(["a", "b"]), pd.Index(["p", "q"]), pd.Index(["x"]), *codes)
    for array in codes:
        array[:] = 7
    assert opinions.labels.tolist() == [[-1, 0], [0, -1]]


def test_select_refuses_unknown_names_and_masks() -> None:
    opinions = Opinions.from_codes([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="expert 7 is not among the 2 experts"):
        opinions.select(experts=[0, 7])
    with pytest.raises(ValueError, match=r"instance '0' \(str, where 0 is int"):
        opinions.select(instances=["0"])
    with pytest.raises(ValueError, match="expert True is not among"):
        opinions.select(experts=[True, False])
    with pytest.raises(ValueError, match="expert 1 is given twice"):
        opinions.select(experts=[1, 1.0])


def test_copies_and_sizes() -> None:
    opinions = Opinions.from_long(table_of())
    for twin in (pickle.loads(pickle.dumps(opinions)), copy.deepcopy(opinions)):
        assert everything(twin) == everything(opinions)
    assert repr(opinions) == "<Opinions: 3 by 2 experts about 2 instances, 2 classes>"


def test_votes_count_what_was_said_about_each_instance() -> None:
    opinions = Opinions.from_codes([[0, 2, 2], [-1, 1, -1], [-1, -1, -1]], classes=range(3))
    assert opinions.votes.tolist() == [[1, 0, 2], [0, 1, 0], [0, 0, 0]]
    assert opinions.n_by_instance.tolist() == [3, 1, 0]
    assert opinions.n_by_expert.tolist() == (opinions.labels >= 0).sum(axis=0).tolist()


def test_tallies_count_what_each_expert_said_and_nothing_for_who_was_never_asked() -> None:
    opinions = Opinions.from_codes([[0, 2, -1], [0, 1, -1], [2, -1, -1]], classes=range(3))
    assert opinions.tallies.tolist() == [[2, 0, 1], [0, 1, 1], [0, 0, 0]]
    assert opinions.n_by_expert.tolist() == [3, 2, 0]
