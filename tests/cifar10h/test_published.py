"""How far people agree: against counting pairs one by one, and as published."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_counts import install

from siscm.checks import IntArray
from siscm.cifar10h import published
from siscm.cifar10h.cifar10_images import ImageArray
from siscm.cifar10h.counts import CLASSES, label_counts
from siscm.cifar10h.pipeline import Cifar10H
from siscm.compendium.pages import expected
from siscm.data import registry
from siscm.data.sources import IMAGES, JPEG_IMAGES


def _counts(*rows: dict[str, int]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=CLASSES).fillna(0).astype(int)


def test_agreement_is_that_of_pairs_taken_one_by_one(twin: Cifar10H) -> None:
    few = twin.raw[twin.raw["image"] < 30]
    found = published.agreement(label_counts(few))
    assert list(found.index) == list(range(30))
    for image, said in few.groupby("image")["chosen_label"]:
        pairs = list(permutations(said, 2))
        assert found.loc[image, "pairs"] == len(pairs)
        assert found.loc[image, "agree"] == sum(a == b for a, b in pairs)
        assert found.loc[image, "largest_share"] == (said == said.mode()[0]).mean()


def test_images_that_nobody_saw_are_left_out() -> None:
    found = published.agreement(_counts({"cat": 2}, {}, {"dog": 1, "cat": 1}))
    assert list(found.index) == [0, 2]
    assert published.pair_agreement(found) == 0.5


def test_shares_fall_into_the_range_that_begins_with_them() -> None:
    rows = [{"cat": n, "dog": 100 - n} for n in (100, 99, 95, 94, 90, 50)]
    rows.append({"cat": 40, "dog": 30, "frog": 30})
    found = published.images_by_share(published.agreement(_counts(*rows)))
    assert found[found > 0].to_dict() == {
        "everybody": 1,
        "95 to 100 %": 2,
        "90 to 95 %": 2,
        "50 to 60 %": 1,
        "below 50 %": 1,
    }


def test_each_range_ends_where_the_next_begins() -> None:
    """Of a hundred people; the rest are divided between two other labels."""
    lower_ends = [50, 60, 70, 80, 90, 95, 100]
    rows = [
        {"cat": n, "dog": (100 - n) // 2, "frog": (101 - n) // 2}
        for end in lower_ends
        for n in (end, end - 1)
    ]
    found = published.images_by_share(published.agreement(_counts(*rows)))
    assert found.tolist() == [1, 2, 2, 2, 2, 2, 2, 1]
    nearly = published.agreement(_counts({"cat": 999, "dog": 1}, {"cat": 1}))
    assert published.images_by_share(nearly)[["95 to 100 %", "everybody"]].tolist() == [1, 1]
    assert nearly[["opinions", "largest_share", "pairs", "agree"]].iloc[1].tolist() == [1, 1, 0, 0]


def test_confusions_add_up_opinions_by_what_most_people_said() -> None:
    table = published.confusions(_counts({"cat": 5, "dog": 2}, {"cat": 4}, {"dog": 3, "frog": 1}))
    assert table.loc["cat", "cat"] == 9
    assert table.loc["cat", "dog"] == 2
    assert table.loc["dog", "frog"] == 1
    assert table.to_numpy().sum() == 15
    assert list(table.index) == list(CLASSES)


def test_the_most_frequent_confusions_are_the_largest_outside_the_diagonal() -> None:
    counts = np.diag(np.full(10, 900)) + 1
    counts[3, 5], counts[9, 1] = 80, 40
    table = pd.DataFrame(counts, index=CLASSES, columns=CLASSES)
    found = published.most_frequent_confusions(table, n=2)
    assert found[["image of", "taken for"]].to_numpy().tolist() == [
        ["cat", "dog"],
        ["truck", "automobile"],
    ]
    np.testing.assert_allclose(found["in a thousand"], [80_000 / 989, 40_000 / 949])
    assert len(published.most_frequent_confusions(table)) == 8


def test_a_thousand_is_that_of_the_row() -> None:
    table = pd.DataFrame([[1, 3], [0, 2]], index=["cat", "dog"], columns=["cat", "dog"])
    assert published.per_mille(table).to_numpy().tolist() == [[250, 750], [0, 1000]]
    (one, *_) = published.most_frequent_confusions(table).to_dict("records")
    assert one == {"image of": "cat", "taken for": "dog", "in a thousand": 750}


def test_the_most_disputed_image_of_each_class(twin: Cifar10H) -> None:
    found = published.most_disputed(twin.counts)
    assert found.idxmax(axis=1).tolist() == list(CLASSES)
    images = published.agreement(twin.counts)
    share = images["agree"] / images["pairs"]
    of_class = twin.counts.idxmax(axis=1)
    for image, name in zip(found.index, CLASSES, strict=True):
        assert share[image] == share[of_class == name].min()
    assert share.idxmin() in found.index


def test_an_image_seen_once_is_not_disputed() -> None:
    counts = _counts({"cat": 1}, {"dog": 3, "cat": 1}, {"dog": 4})
    assert list(published.most_disputed(counts).index) == [1]


FEW = _counts({"cat": 3, "dog": 1}, {"bird": 2}, {"cat": 1, "dog": 1}, {})


def test_figures_by_hand() -> None:
    found = published.count_figures(FEW)
    by_share, confusions = found.pop("images_by_share"), found.pop("confusions")
    assert found == {
        "opinions": 8,
        "images": 3,
        "people": 0.04,
        "fewest_opinions": 2,
        "most_opinions": 4,
        "images_with_disagreement": 2,
        "full_agreement": pytest.approx(1 / 3),
        "pairs_agree": (6 + 2) / (12 + 2 + 2),
        "pairs_agree_where_disputed": 6 / (12 + 2),
    }
    once = {"50 to 60 %", "70 to 80 %", "everybody"}
    assert by_share == {name: int(name in once) for name in published.SHARES}
    # The third image is taken for a cat, the first of two labels.
    assert confusions["cat"] == dict.fromkeys(CLASSES, 0) | {"cat": 4, "dog": 2}
    assert confusions["dog"] == dict.fromkeys(CLASSES, 0)


def test_one_in_a_thousand_who_disagrees_is_a_disagreement() -> None:
    found = published.count_figures(_counts({"cat": 999, "dog": 1}))
    assert found["images_with_disagreement"] == 1
    assert found["images_by_share"]["everybody"] == 0


def test_figures_of_a_raw_table_by_hand() -> None:
    rows = [(3, 0, 1), (8, 0, 1), (3, 7, 2), (8, 7, 2), (9, 7, 3), (3, 9, 5), (8, 9, 4)]
    raw = pd.DataFrame(rows, columns=["annotator", "image", "chosen_label"])
    assert published.raw_figures(raw) == {
        "annotators": 3,
        "images": 3,
        "opinions": 7,
        "full_agreement": 0.333333,
    }


def test_figures_of_the_twins_counts_are_those_of_its_opinions(twin: Cifar10H) -> None:
    assert twin.truth is not None
    found = published.count_figures(twin.counts)
    raw = twin.raw[~twin.raw["annotator"].isin(twin.truth.left_out)]
    assert found["opinions"] == len(raw)
    assert found["people"] == raw["annotator"].nunique()
    unanimous = raw.groupby("image")["chosen_label"].nunique() == 1
    assert found["full_agreement"] == pytest.approx(unanimous.mean())
    assert found["images_with_disagreement"] == (~unanimous).sum()
    assert found["images_by_share"]["everybody"] == unanimous.sum()
    assert sum(found["images_by_share"].values()) == found["images"] == 10_000


def test_without_real_data_the_figures_are_the_recorded_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SISCM_DATA", "simulated")
    found, entry = published.load_published(), expected("cifar10h")["counts"]
    assert found.kind == "recorded"
    assert entry["date"] in found.note
    assert found.images_by_share.tolist() == [
        entry["figures"]["images_by_share"][name] for name in published.SHARES
    ]
    assert found.confusions.loc["cat", "dog"] == entry["figures"]["confusions"]["cat"]["dog"]
    assert found.confusions.to_numpy().sum() == found.figures["opinions"]


def test_recorded_figures_are_put_in_the_order_of_ranges_and_classes() -> None:
    order = CLASSES[::-1]
    figures = {
        "images_by_share": {name: n for n, name in enumerate(published.SHARES[::-1])},
        "confusions": {
            a: {b: 10 * i + j for j, b in enumerate(order)} for i, a in enumerate(order)
        },
    }
    found = published.Published(figures, "recorded", "")
    assert found.images_by_share.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert found.images_by_share.index.tolist() == list(published.SHARES)
    assert found.confusions.to_numpy().ravel().tolist() == [*range(99, -1, -1)]


def test_with_real_data_they_are_computed_from_the_file(
    twin: Cifar10H, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(twin.counts.to_numpy(), tmp_path, monkeypatch)
    monkeypatch.setattr(published, "ENTRIES", registry.ENTRIES)
    monkeypatch.setenv("SISCM_DATA", "real")
    found = published.load_published()
    assert found.kind == "real"
    assert found.figures == published.count_figures(twin.counts)
    assert "recorded" not in found.note


def test_a_gallery_without_an_image_file_has_no_pictures(
    twin: Cifar10H, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SISCM_DATA", "simulated")
    shown = published.load_gallery(twin)
    assert shown.pictures is None
    assert shown.kind == "twin"
    assert shown.counts.equals(published.most_disputed(twin.counts))
    install(twin.counts.to_numpy(), tmp_path, monkeypatch)
    monkeypatch.setenv("SISCM_DATA", "real")
    shown = published.load_gallery(twin)
    assert shown.pictures is None
    assert shown.kind == "real"
    assert "no image file" in shown.source


def test_a_gallery_shows_each_image_of_its_counts_rather_as_published(
    twin: Cifar10H, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(twin.counts.to_numpy()[::-1].copy(), tmp_path, monkeypatch)
    monkeypatch.setenv("SISCM_DATA", "real")
    numbered = np.zeros((10_000, 32, 32, 3), dtype=np.uint16)
    numbered += np.arange(10_000, dtype=np.uint16)[:, None, None, None]
    labels = np.zeros(10_000, dtype=np.int64)
    monkeypatch.setattr(published, "load_jpeg_images", lambda: (numbered, labels))
    monkeypatch.setattr(published, "load_cifar10_images", lambda: (numbered + 20_000, labels))
    for file, source, first in (
        (JPEG_IMAGES, "pictures re-encoded as JPEG", 0),
        (IMAGES, "pictures as published", 20_000),
    ):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
        shown = published.load_gallery(twin)
        assert (shown.kind, shown.source) == ("real", source)
        assert shown.pictures is not None
        assert shown.counts.index.tolist() == (shown.pictures[:, 0, 0, 0] - first).tolist()
    pd.testing.assert_frame_equal(
        shown.counts,
        published.most_disputed(twin.counts[::-1].reset_index(drop=True)),
        check_names=False,
    )


def test_the_words_hold_every_single_figure() -> None:
    figures = expected("cifar10h")["counts"]["figures"]
    words = published.in_words(figures)
    assert len(words) + 1 == sum(not isinstance(value, dict) for value in figures.values())
    assert words["opinions an image"] == "47 to 63"
    few = published.in_words(published.count_figures(FEW))
    assert few.tolist() == ["8", "0.04", "3", "2 to 4", "33.3%", "2", "50.0%", "42.9%"]


@pytest.mark.real_data
def test_the_real_gallery_shows_the_images_that_its_counts_are_about(
    twin: Cifar10H, real_images: tuple[ImageArray, IntArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SISCM_DATA", "real")
    shown = published.load_gallery(twin)
    assert shown.kind == "real"
    assert shown.pictures is not None
    images, labels = real_images
    # Close to the JPEG images even where the archive's own are shown.
    near = images[shown.counts.index].astype(float)
    assert np.abs(shown.pictures - near).mean() < 10
    # Even there most people, not all, see the class that CIFAR-10 names.
    favourite = shown.counts.to_numpy().argmax(axis=1)
    assert (favourite == labels[shown.counts.index]).mean() >= 0.5
