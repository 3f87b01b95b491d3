"""The paper's filter: against loops that follow its sentences one by one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from raw_table import raw_table
from sklearn.model_selection import train_test_split

from siscm.cifar10h.preprocessing import (
    ALL,
    DISAGREEMENT,
    EXPERTS,
    IMAGES,
    SPLIT,
    STEPS,
    preprocess,
    with_disagreement,
)
from siscm.cifar10h.raw_file import check_raw
from siscm.opinions import Opinions

Said = dict[tuple[int, int], int]


def slowly(
    raw: pd.DataFrame, reading: str, joined: str, min_train: int, min_test: int, n_classes: int
) -> tuple[dict[str, Said], list[int], dict[tuple[str, str], tuple[int, int, int]]]:
    """What is left, as dictionaries from (image, annotator) to label, and every step's counts."""
    said = {(row.image, row.annotator): row.chosen_label for row in raw.itertuples()}
    counts = {}

    def count(step: str, part: str, left: Said) -> None:
        counts[step, part] = (len(left), len({i for i, _ in left}), len({h for _, h in left}))

    count(ALL, "all", said)
    labels_of = defaultdict(set)
    for (image, _), label in said.items():
        labels_of[image].add(label)
    said = {key: label for key, label in said.items() if len(labels_of[key[0]]) > 1}
    count(DISAGREEMENT, "all", said)

    images = sorted({image for image, _ in said})
    split = train_test_split(images, test_size=0.2, random_state=3993)
    parts = {
        part: {key: label for key, label in said.items() if key[0] in chosen}
        for part, chosen in zip(("train", "test"), map(set, split), strict=True)
    }
    count(SPLIT, "all", said)
    for part, left in parts.items():
        count(SPLIT, part, left)

    experts = []
    for h in sorted({annotator for _, annotator in said}):
        n_train = sum(1 for _, other in parts["train"] if other == h)
        n_test = sum(1 for _, other in parts["test"] if other == h)
        covers = {y for (_, o), y in parts["train"].items() if o == h} == set(range(n_classes))
        if reading == "released":
            keep = n_train > min_train and n_test > min_test and covers
        else:
            few = n_train < min_train or n_test < min_test
            keep = not (few and not covers) if joined == "and" else not few and covers
        if keep:
            experts.append(h)
    for step in (EXPERTS, IMAGES):
        if step == EXPERTS:
            parts = {
                part: {key: label for key, label in left.items() if key[1] in experts}
                for part, left in parts.items()
            }
        else:
            for part, left in parts.items():
                seen_by = defaultdict(int)
                for image, _ in left:
                    seen_by[image] += 1
                parts[part] = {k: label for k, label in left.items() if seen_by[k[0]] >= 2}
        count(step, "all", parts["train"] | parts["test"])
        for part, left in parts.items():
            count(step, part, left)
    return parts, experts, counts


def as_dictionary(opinions: Opinions) -> Said:
    long = opinions.to_long()
    return {(row.instance, row.expert): row.label for row in long.itertuples()}


def table(seed: int, **options: float) -> pd.DataFrame:
    options = {"n_annotators": 40, "images_each": 45, "n_images": 150, "error_rate": 0.2} | options
    return check_raw(raw_table(np.random.default_rng(seed), **options))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("reading", "joined"), [("released", "or"), ("paper", "or"), ("paper", "and")]
)
def test_against_loops(seed: int, reading: str, joined: str) -> None:
    raw = table(seed)
    result = preprocess(raw, reading=reading, joined=joined, min_train=30, min_test=6)
    parts, experts, counts = slowly(raw, reading, joined, 30, 6, 10)
    assert 2 < len(experts) < 40, "the filter has to do something"
    assert as_dictionary(result.train) == parts["train"]
    assert as_dictionary(result.test) == parts["test"]
    for opinions, part in ((result.train, "train"), (result.test, "test")):
        assert list(opinions.experts) == experts
        assert list(opinions.instances) == sorted({image for image, _ in parts[part]})
        assert list(opinions.classes) == list(range(10))
    assert {key: tuple(row) for key, row in result.kept.iterrows()} == counts
    assert list(result.kept.index) == list(counts)
    assert list(result.kept.columns) == ["opinions", "images", "experts"]
    assert result.kept.index.names == ["step", "part"]


def test_the_readings_differ_where_they_should() -> None:
    """On the thresholds themselves: the released code drops, the paper's text keeps."""
    raw = table(0)
    *_, counts = slowly(raw, "paper", "or", 0, 0, 10)
    train = preprocess(raw, reading="paper", min_train=0, min_test=0).train
    n_train = np.bincount(train.expert_codes)
    threshold = int(np.median(n_train))
    there = set(train.experts[n_train == threshold])
    assert there
    kept = {
        reading: set(
            preprocess(raw, reading=reading, min_train=threshold, min_test=0).train.experts
        )
        for reading in ("released", "paper")
    }
    assert kept["paper"] - kept["released"] == there
    assert not kept["released"] & there
    assert kept["released"] < kept["paper"]
    assert counts[ALL, "all"][2] == 40


def test_the_papers_thresholds_are_the_defaults() -> None:
    """An expert at 131 and 21 stays; one at 130, or at 20, goes under the released reading."""
    images = np.arange(400)
    train, test = train_test_split(images, test_size=0.2, random_state=3993)
    rows = []
    # Two who saw everything and never agree make every image one with disagreement.
    for annotator, shift in ((0, 0), (1, 1)):
        rows += [(annotator, i, (i + shift) % 10) for i in images]
    sizes = {2: (131, 21), 3: (130, 21), 4: (131, 20), 5: (130, 20), 6: (129, 40), 7: (200, 19)}
    for annotator, (n, m) in sizes.items():
        seen = [*train[:n], *test[:m]]
        rows += [(annotator, i, i % 10) for i in seen]
    # Somebody who never says 9 in training, though in the test.
    rows += [(8, i, min(i % 10, 8)) for i in train] + [(8, i, 9) for i in test]
    raw = pd.DataFrame(rows, columns=["annotator", "image", "chosen_label"])
    assert list(preprocess(raw).train.experts) == [0, 1, 2]
    assert list(preprocess(raw, reading="paper").train.experts) == [0, 1, 2, 3, 4, 5]
    both = preprocess(raw, reading="paper", joined="and").train.experts
    assert list(both) == [0, 1, 2, 3, 4, 5, 6, 7, 8], "nobody both has few and lacks a label"


def test_full_agreement_is_judged_over_everybody() -> None:
    """One dissenter who is dropped later still makes an image one with disagreement."""
    rows = [(h, i, i % 2) for h in (0, 1) for i in range(40)]
    rows += [(2, 7, 0), (2, 11, 0), (2, 12, 1)] + [(3, i, 1 - i % 2) for i in range(20, 30)]
    raw = pd.DataFrame(rows, columns=["annotator", "image", "chosen_label"])
    result = preprocess(raw, reading="paper", min_train=8, min_test=2, n_classes=2)
    left = sorted([*result.train.instances, *result.test.instances])
    assert left == [7, 11, 12, *range(20, 30)]
    assert {0, 1} <= set(result.train.experts)
    assert 2 not in result.train.experts


def test_images_of_a_single_expert_go_last() -> None:
    """They count towards their expert's number of opinions, and are dropped afterwards."""
    raw = table(1)
    result = preprocess(raw, min_train=31, min_test=6)
    kept = result.kept["images"]
    assert kept[IMAGES, "all"] < kept[EXPERTS, "all"]
    assert (result.kept["experts"].loc[[EXPERTS, IMAGES]] == len(result.train.experts)).all()
    for part in (result.train, result.test):
        assert np.bincount(part.instance_codes).min() >= 2
    short = np.bincount(result.train.expert_codes)
    assert short.min() <= 31, "no second look at the threshold"


def test_who_shares_no_training_image_with_another_is_no_expert() -> None:
    """Nothing can be learned of her; without her, others' images may be of a single expert."""
    rows = [(h, i, (h + i) % 2) for h in (1, 2) for i in range(60)]
    rows += [(9, i, i % 2) for i in range(60, 120)]  # with strangers alone
    rows += [(100 + i, i, 1 - i % 2) for i in range(60, 120)]
    raw = tiny(*rows)
    alone = preprocess(raw, min_train=10, min_test=3, n_classes=2)
    assert list(alone.train.experts) == list(alone.test.experts) == [1, 2]
    assert alone.kept["experts"][IMAGES, "all"] == 2 < alone.kept["experts"][EXPERTS, "all"]
    # A test image that another expert saw is not enough, a single training image is.
    split = train_test_split(np.arange(120), test_size=0.2, random_state=3993)
    met_in_training, met_in_test = (min(part[part >= 60]) for part in split)
    for met, experts in ((met_in_test, [1, 2]), (met_in_training, [1, 2, 9])):
        also = pd.concat([raw, tiny((1, met, 0))], ignore_index=True)
        again = preprocess(also, min_train=10, min_test=3, n_classes=2)
        assert list(again.train.experts) == experts
        assert met_in_test not in again.test.instances
        assert (met_in_training in again.train.instances) == (9 in experts)


def test_the_order_of_the_rows_does_not_matter() -> None:
    raw = table(2)
    one = preprocess(raw, min_train=30, min_test=4)
    other = preprocess(raw.sample(frac=1, random_state=1), min_train=30, min_test=4)
    pd.testing.assert_frame_equal(one.kept, other.kept)
    assert as_dictionary(one.train) == as_dictionary(other.train)
    assert as_dictionary(one.test) == as_dictionary(other.test)


def test_parts_of_the_table_add_up() -> None:
    kept = preprocess(table(3), min_train=30, min_test=4).kept
    assert list(dict.fromkeys(kept.index.get_level_values("step"))) == list(STEPS)
    for step in (SPLIT, EXPERTS, IMAGES):
        rows = kept.loc[step]
        for column in ("opinions", "images"):
            assert rows.loc["all", column] == rows.loc["train", column] + rows.loc["test", column]
    everything = kept.xs("all", level="part")
    assert (everything.diff().dropna() <= 0).all(axis=None)


@pytest.mark.parametrize("seed", [0, 7])
def test_split_and_seed_are_those_asked_for(seed: int) -> None:
    raw = table(4)
    images = np.sort(
        raw.groupby("image")["chosen_label"].nunique().loc[lambda n: n > 1].index.to_numpy()
    )
    result = preprocess(
        raw, reading="paper", min_train=0, min_test=0, n_classes=10, test_size=0.4, seed=seed
    )
    train, test = train_test_split(images, test_size=0.4, random_state=seed)
    assert set(result.train.instances) <= set(train)
    assert set(result.test.instances) <= set(test)
    assert result.kept.loc[(SPLIT, "test"), "images"] == len(test)


def tiny(*rows: tuple[int, int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["annotator", "image", "chosen_label"])


@pytest.mark.parametrize(
    ("raw", "options", "words"),
    [
        (tiny(), {}, rf"step '{ALL}' leaves no opinion\."),
        (tiny((0, 0, 1), (1, 0, 1), (0, 1, 2)), {}, rf"step '{DISAGREEMENT}' leaves no opinion\.$"),
        (tiny((0, 0, 1), (1, 0, 2)), {}, rf"step '{SPLIT}': one image cannot be split"),
        (tiny((0, 0, 1), (1, 0, 2), (0, 1, 1), (1, 1, 2)), {}, rf"step '{EXPERTS}' leaves no"),
        (table(0), {"min_train": 60}, rf"step '{EXPERTS}' leaves no opinion for the train set"),
        (table(0), {"min_train": 0, "min_test": 60}, f"step '{EXPERTS}' leaves no opinion"),
        (table(0), {"n_classes": 11, "min_train": 0, "min_test": 0}, f"step '{EXPERTS}' leaves"),
    ],
)
def test_a_step_that_leaves_nothing_is_named(
    raw: pd.DataFrame, options: dict[str, int], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        preprocess(raw, **options)


def test_opinions_about_disputed_images_stay_as_they_are() -> None:
    raw = tiny((0, 5, 1), (0, 7, 2), (1, 5, 1), (1, 7, 3), (2, 7, 2), (2, 9, 0), (2, 5, 4))
    disputed = with_disagreement(raw)
    pd.testing.assert_frame_equal(disputed, raw[raw["image"] != 9])


def test_nobody_with_a_second_expert_is_named() -> None:
    """One expert is left: no image has two."""
    rows = [(0, i, i % 2) for i in range(20)] + [(1 + i, i, 1 - i % 2) for i in range(20)]
    with pytest.raises(ValueError, match=rf"step '{IMAGES}' leaves no opinion for the train set"):
        preprocess(tiny(*rows), min_train=5, min_test=1, n_classes=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test_size": 1.0}, "'test_size' parameter .* must be a float in the range"),
        ({"test_size": 0.0}, "'test_size' parameter .* Got 0.0"),
        ({"test_size": float("nan")}, "'test_size' parameter .* Got nan"),
        ({"seed": -1}, "'random_state' parameter .* Got -1"),
        ({"reading": "code"}, "reading is 'code' .* 'released' or 'paper', and 'or' or 'and'.$"),
        ({"reading": "paper", "joined": "xor"}, "joined 'xor'; they must be 'released'"),
        ({"min_train": float("nan")}, "min_train must be a whole number of at least 0; got nan"),
        ({"min_test": -1}, "min_test must be a whole number of at least 0; got -1"),
        ({"joined": "and"}, "^joined='and' is a reading of the paper's text: .*='paper'.$"),
    ],
)
def test_unknown_choices_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        preprocess(table(0), **options)


def test_what_opinions_refuse_is_refused_here() -> None:
    with pytest.raises(ValueError, match="contradicts herself about instance 0"):
        preprocess(tiny((0, 0, 1), (0, 0, 2), (1, 0, 1)))
    with pytest.raises(ValueError, match="no column 'chosen_label'"):
        preprocess(tiny((0, 0, 1)).rename(columns={"chosen_label": "said"}))
    with pytest.raises(ValueError, match="10"):
        preprocess(tiny((0, 0, 10), (1, 0, 2)))
