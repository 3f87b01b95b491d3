"""Alignment: features and opinions meet by id, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from siscm import Opinions
from siscm.alignment import (
    align_columns,
    align_experts,
    align_features,
    align_observed,
    align_partition,
)

IDS = pd.Index(["a", "b", "c", "d"])
EXPERTS = pd.Index(["Ann", "Bob", "Cy"])
CLASSES = pd.Index(["lo", "mid", "hi"])
X = pd.DataFrame(np.arange(8.0).reshape(4, 2), index=IDS, columns=["u", "v"])


def observe(observed: Any, instances: pd.Index[Any] = IDS) -> list[list[int]]:
    return align_observed(observed, instances, EXPERTS, CLASSES).tolist()


# Features


@given(st.permutations(list(IDS)))
def test_tables_are_aligned_by_id(order: list[str]) -> None:
    aligned = align_features(X.loc[order], IDS)
    pd.testing.assert_frame_equal(aligned, X)
    pd.testing.assert_frame_equal(align_features(X.loc[order], None), X.loc[order])


@pytest.mark.parametrize(
    "instances",
    [
        pd.Index([3, 1, 2, 0]),
        pd.Index([3.0, 1.0, 2.0, 0.5]),
        pd.Index([3, "x", 2.5, "b"]),
        pd.to_datetime(["2020-01-03", "2020-01-01", "2020-01-02", "2020-01-04"]),
        pd.Index([("a", 1), ("b", 2), ("a", 2), ("b", 1)], tupleize_cols=False),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("a", 2), ("b", 1)]),
    ],
)
def test_ids_of_every_kind(instances: pd.Index[Any]) -> None:
    shuffled = X.set_axis(instances).iloc[[2, 0, 3, 1]]
    assert align_features(shuffled, instances)["u"].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_whole_floats_and_integers_are_the_same_ids() -> None:
    floats = X.set_axis([3.0, 2.0, 1.0, 0.0])
    assert align_features(floats, pd.RangeIndex(4))["u"].tolist() == [6.0, 4.0, 2.0, 0.0]


@pytest.mark.parametrize("values", [X.to_numpy(), X.to_numpy().tolist(), X.to_numpy("float32")])
def test_arrays_stay_in_their_order(values: Any) -> None:
    for instances in (IDS, None):
        assert np.array_equal(align_features(values, instances), X.to_numpy())


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (X.drop(index=["b", "d"]), r"instance 'b' has opinions but no features: add"),
        (X.rename({"b": "z"}), r"instance 'b' has opinions but no features"),
        (X.reindex([*IDS, "z"], fill_value=0), r"instance 'z' has features but is not among"),
        (pd.concat([X, X.iloc[[1]]]), "instance 'b' stands twice in X"),
        (X.set_axis(["a", "b", "c", None]), "instance 'd' has opinions but no features"),
        (pd.concat([X, X[["v"]]], axis=1), "feature 'v' stands twice in X"),
    ],
)
def test_instances_that_do_not_fit_are_named(table: pd.DataFrame, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        align_features(table, IDS)


@pytest.mark.parametrize(
    ("index", "instances", "words"),
    [
        (list("0123"), range(4), r"instance 0 \(int, where '0' is str: make them one type\)"),
        (range(4), list("0123"), r"instance '0' \(str, where 0 is int"),
        (["2020-01-01"] * 4, pd.date_range("2020", periods=4), "stands twice"),
        (
            [f"2020-01-0{i}" for i in range(1, 5)],
            pd.date_range("2020", periods=4),
            r"instance Timestamp\('2020-01-01 00:00:00'\) has opinions but no features",
        ),
    ],
)
def test_ids_of_another_type_get_a_hint(index: Any, instances: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        align_features(X.set_axis(list(index)), pd.Index(list(instances)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_placed(value: float) -> None:
    table = X.copy()
    table.loc[["c", "d"], "v"] = value
    words = rf"X holds {value} for instance 'c', feature 'v' \(2 such row"
    shuffled = table.iloc[[3, 2, 1, 0]]
    for features in (
        table,
        shuffled,
        table.astype(object),
        table.astype("float32"),
        table.assign(text="q"),
    ):
        with pytest.raises(ValueError, match=words):
            align_features(features, IDS)
    for values in (table.to_numpy(), table.to_numpy(object), table.to_numpy().tolist()):
        with pytest.raises(ValueError, match=rf"X holds {value} for instance 'c', feature 1"):
            align_features(values, IDS)
    with pytest.raises(ValueError, match=r"for instance 2, feature 1"):
        align_features(table.to_numpy(), None)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([0.5, None, 1.5, 2.5], dtype="Float64"),
        pd.array([1, None, 2, 3], dtype="Int64"),
        pd.array([True, None, False, True], dtype="boolean"),
        pd.array(["q", None, "q", "r"], dtype="string"),
        pd.Categorical(["q", None, "q", "r"]),
        pd.to_datetime(["2020", None, "2021", "2022"]),
        np.array([1.0, None, 2.0, 3.0], dtype=object),
    ],
)
def test_gaps_in_columns_of_any_type_are_placed(column: Any) -> None:
    with pytest.raises(ValueError, match=r"X holds .* for instance 'b', feature 'w' \(1 such row"):
        align_features(X.assign(w=column), IDS)
    complete = X.assign(w=pd.Series(column, index=IDS)).drop(index="b")
    pd.testing.assert_frame_equal(align_features(complete, complete.index), complete)


def test_masked_features_are_gaps() -> None:
    mask = np.zeros((4, 2), dtype=bool)
    mask[2, 0] = True
    for dtype in (float, int):
        with pytest.raises(ValueError, match="X holds nan for instance 'c', feature 0"):
            align_features(np.ma.masked_array(X.to_numpy(dtype), mask=mask), IDS)
    unmasked = np.ma.masked_array(X.to_numpy(), mask=False)
    assert np.array_equal(align_features(unmasked, IDS), X.to_numpy())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (X["u"], r"a Series of shape \(4,\)"),
        (X["u"].to_numpy(), r"a ndarray of shape \(4,\)"),
        (sparse.csr_array(X.to_numpy()), r"a csr_array of shape \(4, 2\)"),
        (None, "a NoneType"),
        ("abcd", "a str"),
        (np.zeros((4, 2, 1)), r"shape \(4, 2, 1\)"),
        (X.to_numpy()[:3], "X has 3 rows, but the opinions are about 4 instances"),
        (np.zeros((5, 2)), "X has 5 rows, but the opinions are about 4 instances"),
    ],
)
def test_what_is_no_table(values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        align_features(values, IDS)


def test_columns_as_in_training() -> None:
    pd.testing.assert_frame_equal(align_columns(X[["v", "u"]], ["u", "v"], 2), X)
    assert np.array_equal(align_columns(X, None, 2), X.to_numpy())
    named = align_columns(X.to_numpy(), ["u", "v"], 2)
    pd.testing.assert_frame_equal(named, X.reset_index(drop=True))
    for table, problem in (
        (X[["u"]], "'v' is missing from X"),
        (X.assign(w=0), "'w' in X was not in training"),
        (X.rename(columns=str.upper), "'U' in X was not in training"),
    ):
        with pytest.raises(ValueError, match=f"feature {problem}"):
            align_columns(table, ["u", "v"], 2)
    for names in (None, ["u", "v"]):
        with pytest.raises(ValueError, match="X has 1 features; the model was fitted on 2"):
            align_columns(X.to_numpy()[:, :1], names, 2)


# Observed opinions


def test_opinions_in_other_orders() -> None:
    table = pd.DataFrame(
        [("d", "Cy", "mid"), ("a", "Ann", "hi"), ("a", "Cy", "lo"), ("c", "Cy", "hi")],
        columns=["instance", "expert", "label"],
    )
    expected = [[2, -1, 0], [-1] * 3, [-1, -1, 2], [-1, -1, 1]]
    for instances in (list("abcd"), list("dbac")):
        for experts in (["Cy", "Ann"], ["Zed", "Ann", "Bob", "Cy"]):
            for classes in (["mid", "hi", "lo"], ["new", "lo", "mid", "hi"]):
                observed = Opinions.from_long(
                    table, instances=instances, experts=experts, classes=classes
                )
                assert observe(observed) == expected
                assert observe(observed, IDS[::-1]) == expected[::-1]


def test_opinions_about_other_instances() -> None:
    observed = Opinions.from_codes([[0], [1], [-1]], ["a", "b", "c"], ["Ann"], ["lo", "mid"])
    with pytest.raises(ValueError, match="instance 'd' is in only one of X and the observed"):
        observe(observed)
    with pytest.raises(ValueError, match="instance 'c' is in only one of X and the observed"):
        observe(observed, IDS[:2])
    by_position = Opinions.from_codes([[0]] * 4, experts=["Ann"], classes=["lo"])
    with pytest.raises(ValueError, match="instance 0 is in only one"):
        observe(by_position)
    text = Opinions.from_codes([[0]] * 2, ["0", "1"], ["Ann"], ["lo"])
    with pytest.raises(ValueError, match=r"instance '0' \(str, where 0 is int"):
        observe(text, pd.RangeIndex(2))


def test_opinions_of_strangers() -> None:
    observed = Opinions.from_codes([[0, 1]], ["a"], ["Ann", "Zed"], ["lo", "mid"])
    with pytest.raises(ValueError, match=r"expert 'Zed' was not seen in training; .*\['Ann', 'Bo"):
        observe(observed, IDS[:1])
    label = Opinions.from_codes([[0, 1]], ["a"], ["Ann", "Bob"], ["lo", "new"])
    with pytest.raises(ValueError, match=r"label 'new' was not seen in training; .*\['lo', 'mid'"):
        observe(label, IDS[:1])


@pytest.mark.parametrize(
    "said",
    [
        ["hi", "lo", None, "mid"],
        ("hi", "lo", np.nan, "mid"),
        np.array(["hi", "lo", None, "mid"], dtype=object),
        pd.Series(["hi", "lo", pd.NA, "mid"], index=IDS),
        pd.Categorical(["hi", "lo", None, "mid"]),
        pd.array(["hi", "lo", None, "mid"], dtype="string"),
        pd.Index(["hi", "lo", None, "mid"]),
        (label for label in ["hi", "lo", pd.NaT, "mid"]),
    ],
)
def test_one_label_an_instance(said: Any) -> None:
    expected = [[-1, 2, -1], [-1, 0, -1], [-1, -1, -1], [-1, 1, -1]]
    assert observe({"Bob": said}) == expected


@pytest.mark.parametrize("label", ["mid", np.str_("mid")])
def test_one_label_for_all_is_not_taken_apart(label: str) -> None:
    assert observe({"Ann": label}) == [[1, -1, -1]] * 4
    letters = pd.Index(["m", "i", "d"])
    assert align_observed({"Ann": "m"}, IDS[:1], EXPERTS, letters).tolist() == [[0, -1, -1]]
    with pytest.raises(ValueError, match="label 'mid' was not seen in training"):
        align_observed({"Ann": label}, IDS[:3], EXPERTS, letters)


@pytest.mark.parametrize("label", [None, np.nan, pd.NA, pd.NaT])
def test_no_label_is_not_asked(label: Any) -> None:
    assert observe({"Ann": label, "Cy": "hi"}) == [[-1, -1, 2]] * 4
    assert observe({}) == [[-1] * 3] * 4


def test_a_series_must_be_in_the_order_of_the_rows() -> None:
    said = pd.Series(["hi", "lo", "mid", "hi"], index=IDS)
    with pytest.raises(ValueError, match=r"row 0 of the labels is about 'd', row 0 of X .* 'a'"):
        observe({"Bob": said[::-1]})
    with pytest.raises(ValueError, match=r"'Bob': row 0 .* about 0, .*\.loc\[X\.index\]"):
        observe({"Bob": said.reset_index(drop=True)})
    with pytest.raises(ValueError, match=r"row 1 of the labels is about 2, row 1 of X about 1"):
        observe({"Bob": said.set_axis([0, 2, 1, 3])}, pd.RangeIndex(4))
    assert observe({"Bob": said[::-1].loc[IDS]}) == [[-1, y, -1] for y in (2, 0, 1, 2)]
    assert observe({"Bob": said.set_axis([3.0, 1.0, 2.0, 0.0])}, pd.Index([3, 1, 2, 0]))


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        ({"Zed": "hi"}, r"expert 'Zed' was not seen in training"),
        ({"Zed": None}, r"expert 'Zed' was not seen in training"),
        ({0: "hi"}, r"expert 0 was not seen in training"),
        ({"Ann": "HI"}, r"label 'HI' was not seen in training"),
        ({"Ann": -1}, r"label -1 was not seen in training"),
        ({"Ann": 2}, r"label 2 was not seen in training"),
        ({"Ann": ["hi", "lo"]}, "expert 'Ann': 2 labels for 4 instances"),
        ({"Ann": ["hi"] * 5}, "expert 'Ann': 5 labels for 4 instances"),
        ({"Ann": {"a": "hi"}}, "expert 'Ann': pass a list of labels in the order of the rows"),
        ({"Ann": {"hi"}}, "label {'hi'} is a set"),
        ({"Ann": np.full((4, 1), "hi")}, "label array.* is a ndarray"),
        ({"Ann": b"hi"}, "label b'hi' was not seen"),
    ],
)
def test_wrong_labels_are_named(observed: dict[Any, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        observe(observed)


@pytest.mark.parametrize(
    "observed", ["Ann", ["Ann"], None, X, pd.Series({"Ann": "hi"}), np.zeros((4, 3), dtype=int)]
)
def test_observed_must_say_who_said_what(observed: Any) -> None:
    with pytest.raises(TypeError, match=rf"observed is a {type(observed).__name__}; pass opinions"):
        observe(observed)


def test_true_is_no_label_of_numbers() -> None:
    numbers, answers = pd.Index([0, 1]), pd.Index([False, True])
    for said, classes in ((True, numbers), ([True, False], numbers), (1, answers), ("1", numbers)):
        with pytest.raises(ValueError, match="was not seen in training"):
            align_observed({"Ann": said}, IDS[:2], EXPERTS, classes)
    for said, classes in (([1.0, np.int8(0)], numbers), ([np.True_, False], answers)):
        codes = align_observed({"Ann": said}, IDS[:2], EXPERTS, classes)
        assert codes[:, 0].tolist() == [1, 0]


def test_a_long_list_of_known_names_is_cut() -> None:
    many = pd.RangeIndex(100)
    with pytest.raises(ValueError, match=r"expert 100 was not.*\[0, 1, 2, .* 9\] \.\.\.\.$"):
        align_observed({100: "hi"}, IDS, many, CLASSES)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_up_to_1e100_are_features(sign: int) -> None:
    at_most = X.assign(v=sign * 1e100)
    pd.testing.assert_frame_equal(align_features(at_most, IDS), at_most)
    beyond = X.assign(v=[0.0, sign * np.nextafter(1e100, np.inf), 0.0, 0.0])
    with pytest.raises(ValueError, match=r"for instance 'b', feature 'v' \(1 such row"):
        align_features(beyond, IDS)


def test_columns_without_names_are_an_array_of_as_many() -> None:
    assert isinstance(align_columns(X, None, 2), np.ndarray)
    with pytest.raises(ValueError, match="X has 3 features; the model was fitted on 2"):
        align_columns(np.ones((4, 3)), None, 2)


def test_a_text_of_nothing_is_not_asked() -> None:
    assert observe({"Ann": ["lo", "", " ", "hi"]}) == [[0, -1, -1], *[[-1] * 3] * 2, [2, -1, -1]]


def test_experts_are_found_by_name_and_labels_must_be_in_the_order_of_training() -> None:
    opinions = Opinions.from_codes([[0, 1]], experts=["Cy", "Ann"], classes=CLASSES)
    assert align_experts(opinions, EXPERTS, CLASSES).tolist() == [2, 0]
    with pytest.raises(ValueError, match=r"Build them with classes=model\.classes_"):
        align_experts(opinions, EXPERTS, CLASSES[::-1])


def test_groups_that_are_given_are_positions_in_order() -> None:
    assert align_partition([["Cy", "Ann"], ["Bob"]], EXPERTS) == [[0, 2], [1]]
    assert align_partition([["Bob"], ["Cy", "Ann"]], EXPERTS.to_numpy()) == [[1], [0, 2]]


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ([["Ann", "Cy"], "Bob"], "partition must be a list of lists of expert ids"),
        ([["Ann", "Cy"]], "'Bob'"),
        ([["Ann", "Cy"], ["Bob", "Ann"]], "'Ann'"),
        ([["Ann", "Cy"], ["Bob", "Zed"]], "'Zed'"),
    ],
)
def test_groups_that_are_no_partition_name_whom(partition: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        align_partition(partition, EXPERTS)


def test_times_are_refused_by_the_classifier_and_not_before() -> None:
    X = pd.DataFrame({"u": pd.to_timedelta([1, 2], unit="h"), "v": [1.0, 2.0]})
    pd.testing.assert_frame_equal(align_features(X, X.index), X)


def test_numbers_of_no_dtype_are_bounded_too() -> None:
    X = pd.DataFrame({"u": [1.0, 1e200]}, dtype=object)
    with pytest.raises(ValueError, match=r"1e\+200 for instance 1, feature 'u'"):
        align_features(X, X.index)


def test_a_masked_label_was_not_asked() -> None:
    codes = align_observed(
        {"Ann": np.ma.array([0, 1], mask=[0, 1])}, *(pd.Index(x) for x in ([7, 8], ["Ann"], [0, 1]))
    )
    assert codes.tolist() == [[0], [-1]]
