"""Le-Wi-Di's files: every statement in them is checked, and errors name file, item and expert."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siscm.data.lewidi import read_items, refuse_contradictions

PATH = "lewidi/HS-Brexit_dataset/HS-Brexit_dev.json"
TASK = "hate speech detection"
SECRET = "a text that must not be shown"


def item(**changes: Any) -> dict[str, Any]:
    """An item as the files have it, with some keys changed; None leaves a key out."""
    content = {
        "text": SECRET,
        "annotation task": TASK,
        "number of annotations": 3,
        "annotations": "0,1,1",
        "annotators": "Ann1,Ann2,Ann10",
        "lang": "en",
        "hard_label": "1",
        "soft_label": {"0": 0.33, "1": 0.67},
        "split": "dev",
        "other_info": {
            "domain": "weather",
            "annotators group": "group1,group1,group2",
            "group1": "target group",
            "group2": "control group",
        },
    }
    content.update(changes)
    return {key: value for key, value in content.items() if value is not None}


def read(content: Any, grouped: bool = True) -> pd.DataFrame:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_items(raw, PATH, "dev", TASK, grouped)


def said(found: pd.DataFrame) -> list[tuple[str, int]]:
    return list(zip(found["expert"], found["label"], strict=True))


def test_an_item_is_read_as_it_stands() -> None:
    found = read({"7": item(), "3": item(text="other", annotations="1,1,0")})
    assert found["instance"].tolist() == ["dev-7"] * 3 + ["dev-3"] * 3
    assert found["text"].tolist() == [SECRET] * 3 + ["other"] * 3
    assert set(found["split"]) == {"dev"}
    assert said(found[:3]) == [("Ann1", 0), ("Ann2", 1), ("Ann10", 1)]
    assert said(found[3:]) == [("Ann1", 1), ("Ann2", 1), ("Ann10", 0)]
    assert found["group"].tolist() == ["target", "target", "control"] * 2
    assert set(found["domain"]) == {""}
    plain = read({"7": item()}, grouped=False)
    assert set(plain["domain"]) == {"weather"}
    assert set(plain["group"]) == {""}


def test_an_equal_repeat_is_no_contradiction() -> None:
    found = read({"1": item(annotators="Ann1,Ann2,Ann2")}, grouped=False)
    assert said(found) == [("Ann1", 0), ("Ann2", 1), ("Ann2", 1)]


def test_a_name_is_the_same_with_spaces_around_it() -> None:
    found = read({"1": item(annotators="Ann1, Ann2,Ann2 ")}, grouped=False)
    assert said(found) == [("Ann1", 0), ("Ann2", 1), ("Ann2", 1)]
    assert read({"1": item(annotators=" Ann1,Ann2 , Ann10")}).equals(read({"1": item()}))


@pytest.mark.parametrize("hard", ["0", "1"])
def test_a_tie_may_be_summed_up_either_way(hard: str) -> None:
    even = {"annotators": "A,B", "annotations": "0,1", "number of annotations": 2}
    even["soft_label"] = {"0": 0.5, "1": 0.5}
    found = read({"1": item(hard_label=hard, **even)}, grouped=False)
    assert said(found) == [("A", 0), ("B", 1)]
    without = read({"1": item(hard_label=None, **{**even, "soft_label": None})}, grouped=False)
    assert without.equals(found)


def info(**changes: Any) -> dict[str, Any]:
    """The ``other_info`` of an item, with some keys changed; None leaves a key out."""
    content = {**item()["other_info"], **changes}
    return {"other_info": {key: value for key, value in content.items() if value is not None}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"annotators": "Ann2,Ann2,Ann1"}, "expert 'Ann2' has the label 1, but 0 before"),
        ({"annotators": "Ann1,,Ann3"}, "an expert has no id"),
        ({"annotators": "Ann1, ,Ann3"}, "an expert has no id"),
        ({"annotators": "Ann1,Ann2"}, "lists 2 experts, 3 annotations and the number 3"),
        ({"annotations": "0,1"}, "lists 3 experts, 2 annotations and the number 3"),
        ({"number of annotations": 4}, "3 experts, 3 annotations and the number 4"),
        ({"number of annotations": "3"}, "'number of annotations' holds str, not int"),
        ({"number of annotations": True}, "'number of annotations' holds bool, not int"),
        ({"annotations": "0,2,1"}, "expert 'Ann2' said '2', which is neither '0' nor '1'"),
        ({"annotations": "0,-1,1"}, "expert 'Ann2' said '-1'"),
        ({"annotations": "0,,1"}, "expert 'Ann2' said ''"),
        ({"annotations": [0, 1, 1]}, "'annotations' holds list, not str"),
        ({"split": "train"}, "its split is 'train', not 'dev'"),
        ({"annotation task": "sarcasm"}, "its annotation task is 'sarcasm', not 'hate speech"),
        ({"text": " \n"}, "it has no text"),
        ({"text": 5}, "'text' holds int, not str"),
        ({"text": None}, "the key 'text' is missing"),
        ({"annotators": None}, "the key 'annotators' is missing"),
        ({"annotations": None}, "the key 'annotations' is missing"),
        ({"split": None}, "the key 'split' is missing"),
        ({"other_info": None}, "the key 'other_info' is missing"),
        ({"other_info": []}, "'other_info' holds list, not dict"),
        (info(group1=None), "the key 'group1' is missing"),
        (info(group2="friends"), "expert 'Ann10' is in the unknown group 'friends'"),
        ({"annotators": "Ann1, Ann2,Ann1 "}, "expert 'Ann1' has the label 1, but 0 before"),
        ({"annotators": "Ann9,Ann2,Ann2 "}, "'Ann2' has the group control, but target before"),
        ({"hard_label": "0"}, "its hard_label is '0', but 67% of its annotations are 1"),
        ({"hard_label": "yes"}, "its hard_label is 'yes'"),
        ({"hard_label": 1}, "'hard_label' holds int, not str"),
        ({"soft_label": {"0": 0.67, "1": 0.33}}, "soft_label for 0 is 0.67, but 0.33 of its"),
        ({"soft_label": {"0": 0.33}}, "the key '1' is missing"),
        ({**info(**{"annotators group": None})}, "the key 'annotators group' is missing"),
        ({**info(**{"annotators group": "group1"})}, "lists 3 experts, but 1 groups"),
    ],
)
def test_a_wrong_item_is_named(changes: dict[str, Any], words: str) -> None:
    wrong = item()
    wrong.update(changes)
    wrong = {key: value for key, value in wrong.items() if value is not None}
    with pytest.raises(ValueError, match=words) as caught:
        read({"1": item(), "2": wrong, "3": item()})
    assert str(caught.value).startswith(f"{PATH}, item '2': ")
    assert SECRET not in str(caught.value)


def test_a_panel_with_domains_needs_one_for_each_item() -> None:
    with pytest.raises(ValueError, match="item '1': the key 'domain' is missing"):
        read({"1": item(**info(domain=None))}, grouped=False)


@pytest.mark.parametrize("wrong", [None, 3, "text", ["list"]])
def test_an_item_that_is_no_object_is_named(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"HS-Brexit_dev.json, item '1': expected an object"):
        read({"1": wrong})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not readable as JSON"),
        (b'{"1": {"text": "a text that must not be shown', "is not readable as JSON"),
        (json.dumps({"1": item()}).encode()[:-1], "is not readable as JSON"),
        ('{"1": "\u00e9"}'.encode("latin-1"), "is not readable as JSON.*utf-8"),
        (b"[" * 100_000, "is not readable as JSON"),
        (b'{"1": {}, "1": {}}', "the key '1' stands twice in one object"),
        (b'{"1": {"text": "a", "text": "b"}}', "the key 'text' stands twice in one object"),
        (b"[]", "should be one JSON object"),
        (b"null", "should be one JSON object"),
        (b"{}", "should be one JSON object"),
    ],
)
def test_a_broken_file_is_named(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read(content)
    assert type(caught.value) is ValueError
    assert str(caught.value).startswith(PATH)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert SECRET not in str(caught.value)


def test_groups_that_change_are_refused() -> None:
    words = r"item '2': expert 'Ann10' has the group target, but control before"
    changed = item(**info(group2="target group"))
    with pytest.raises(ValueError, match=words):
        read({"1": item(), "2": changed})
    both = pd.concat([read({"1": item()}), read({"2": changed})], ignore_index=True)
    with pytest.raises(ValueError, match=words):
        refuse_contradictions(both, ["expert"], "group")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(key=st.sampled_from(sorted(item())), value=json_values)
def test_whatever_stands_in_an_item_it_is_read_or_refused_by_name(key: str, value: object) -> None:
    changed = {**item(), key: value}
    refusal = ""
    try:
        found = read({"1": changed})
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith(f"{PATH}, item '1': ")
    else:
        assert set(found["label"]) <= {0, 1}
        assert len(found) == 3


def test_shares_have_two_decimal_places_and_no_fewer() -> None:
    """1/8 is 0.12 or 0.13; a share that is off by 0.007 is another."""
    eight = {"annotators": "A,B,C,D,E,F,G,H", "number of annotations": 8, "hard_label": "0"}
    eight["annotations"] = "0,0,0,0,0,0,0,1"
    for soft in ({"0": 0.88, "1": 0.12}, {"0": 0.87, "1": 0.13}):
        assert len(read({"1": item(soft_label=soft, **eight)}, grouped=False)) == 8
    with pytest.raises(ValueError, match=r"soft_label for 0 is 0\.34, but 0\.33"):
        read({"1": item(soft_label={"0": 0.34, "1": 0.66})})
