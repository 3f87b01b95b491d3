"""Image sets are recovered where they were handed out, and claimed nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sets_of_images import dealt, handed_out, shuffled

from siscm.cifar10h.image_sets import NO_SET, HiddenSets, hidden_sets


@pytest.fixture(scope="module")
def found() -> HiddenSets:
    return hidden_sets(handed_out(np.random.default_rng(0)))


def test_a_planted_design_comes_back_exactly(found: HiddenSets) -> None:
    raw = handed_out(np.random.default_rng(0))
    planted = raw.groupby("annotator")[["planted_set", "planted_reshuffle"]].first()
    for name in ("set", "reshuffle"):
        table = pd.crosstab(found.annotators[name], planted[f"planted_{name}"])
        assert ((table > 0).sum(axis=0) == 1).all()
        assert ((table > 0).sum(axis=1) == 1).all()
    for number, images in found.images.groupby("set"):
        one = found.annotators.index[found.annotators["set"] == number][0]
        assert set(images["image"]) == set(raw.loc[raw["annotator"] == one, "image"])
    assert found.explained == 90
    assert found.verdict().startswith("Fixed sets explain this file")


def test_the_tables_count_what_they_say(found: HiddenSets) -> None:
    table = found.findings()
    assert table["annotators who share all their images with another"] == "90 of 90"
    assert table["sets of images"] == "30"
    assert table["annotators to a set"] == "3"
    assert table["images in a set"] == "20"
    assert table["sets with as many images of each class"] == "30 of 30"
    assert table["sets that hold a given image"] == "3"
    assert table["reshuffles that hold every image once"] == "3 of 3"
    assert found.shared.sum() == 90 * 89 // 2
    assert found.shared[20] == 30 * 3
    assert found.overlaps.sum() == 3 * 10 * 10
    assert (found.images.groupby("image").size() == 3).all()


def test_labels_and_the_order_of_rows_do_not_matter(found: HiddenSets) -> None:
    raw = handed_out(np.random.default_rng(0))
    other = shuffled(raw, np.random.default_rng(1)).assign(chosen_label=0)
    again = hidden_sets(other)
    pd.testing.assert_frame_equal(again.annotators, found.annotators)
    pd.testing.assert_frame_equal(again.images, found.images)


def test_random_images_are_not_taken_for_a_design() -> None:
    rng = np.random.default_rng(0)
    raw = handed_out(rng)
    drawn = [rng.choice(200, 20, replace=False) for _ in range(90)]
    random = raw.sort_values("annotator").assign(image=np.concatenate(drawn), true_label=0)
    found = hidden_sets(random)
    assert found.explained == 0
    assert (found.annotators == NO_SET)[["set", "reshuffle"]].all(axis=None)
    assert len(set(found.set_of.values())) == 90  # nobody is put together with another
    assert "do NOT explain this file: 0 of 90 annotators" in found.verdict()
    assert found.findings()["sets of images"] == "0"
    # Near what chance gives: the sum over all pairs is the same, 20 * 20 / 200 images a pair.
    for pairs in (found.shared, found.shared_by_chance()):
        assert np.average(pairs.index, weights=pairs) == pytest.approx(2, abs=0.05)
        assert pairs.sum() == pytest.approx(90 * 89 / 2)


def seen(*images: list[int]) -> pd.DataFrame:
    """The rows of annotators 0, 1, ..., each with her images; all are of class 0."""
    rows = [(a, i) for a, mine in enumerate(images) for i in mine]
    return pd.DataFrame(rows, columns=["annotator", "image"]).assign(true_label=0)


def test_the_first_annotator_too_can_be_without_a_set() -> None:
    found = hidden_sets(seen([0, 1], [2, 3], [2, 3], [3, 4]))
    assert found.set_of == {0: -1, 1: 0, 2: 0, 3: -4}
    assert found.left_aside() == " Left aside, for they have no set: 2 of 4 annotators."
    assert hidden_sets(seen([2, 3], [2, 3])).left_aside() == ""


def test_half_of_a_file_can_be_explained() -> None:
    half = [[0, 1], [0, 1], [2, 3], [2, 3]]
    found = hidden_sets(seen(*half, [0, 2], [1, 3], [0, 3], [1, 2]))
    assert found.explained == 4
    assert found.verdict().startswith("Fixed sets explain all but 4 of the 8 annotators")


def test_who_could_have_seen_either_of_two_sets_is_of_neither() -> None:
    found = hidden_sets(seen([0, 1, 2], [0, 1, 2], [0, 1, 3], [0, 1, 3], [0, 1, 1]))
    assert found.annotators["set"].tolist() == [0, 0, 1, 1, NO_SET]
    assert found.annotators["reshuffle"].tolist() == [0, 0, 1, 1, NO_SET]
    assert found.sets["annotators"].tolist() == [2, 2]


def test_images_keep_their_numbers_and_reshuffles_are_counted_through() -> None:
    found = hidden_sets(seen(*2 * [[5, 9], [30, 70], [5, 70], [9, 30]]))
    assert found.sets["reshuffle"].tolist() == [0, 0, 1, 1]
    assert found.images["image"].tolist() == [5, 9, 30, 70, 5, 70, 9, 30]
    assert found.n_images == 4
    assert found.reshuffles["complete"].tolist() == [True, True]


def test_chance_shares_as_if_all_saw_as_many_as_half_of_them_do() -> None:
    """Two of four images each, drawn for each of three: none, one or two in common."""
    found = hidden_sets(seen([0, 1], [0, 1], [0, 1, 2, 3])).shared_by_chance()
    assert found.to_dict() == pytest.approx({0: 3 / 6, 1: 3 * 4 / 6, 2: 3 / 6})


def test_an_odd_annotator_and_a_lost_set_are_counted() -> None:
    raw = handed_out(np.random.default_rng(0))
    swapped = (raw["annotator"] == 7) & (raw["image"] == raw[raw["annotator"] == 7]["image"].min())
    unseen = sorted(set(range(200)) - set(raw[raw["annotator"] == 7]["image"]))[0]
    odd = raw.assign(image=raw["image"].where(~swapped, unseen))
    found = hidden_sets(odd)
    assert found.explained == 89
    assert found.verdict() == (
        "Fixed sets explain all but 1 of the 90 annotators of this file: each of the others shares "
        "all her images with others, in 30 sets, which hold every image exactly 3 times."
    )
    assert found.annotators.loc[7, "set"] == NO_SET
    assert (found.annotators["set"] == NO_SET).sum() == 1
    of = found.set_of
    assert of[7] < 0 <= of[8]
    assert len(set(of.values())) == len(found.sets) + 1
    assert found.shared[19] == 2  # with the two who saw the set
    lost = raw["planted_set"] == 4
    without = hidden_sets(raw[~lost])
    assert without.explained == 60
    assert "all but 27 of the 87 annotators" in without.verdict()
    assert "in 20 sets, which hold every image exactly 2 times" in without.verdict()
    assert sorted(without.reshuffles["complete"]) == [False, True, True]
    assert without.reshuffles["images"].min() == 180


def test_who_saw_a_part_of_a_set_is_not_of_it() -> None:
    raw = handed_out(np.random.default_rng(0))
    first = raw["annotator"] == 7
    part = raw[~(first & (raw["image"] == raw.loc[first, "image"].min()))]
    found = hidden_sets(part)
    assert (found.annotators.index[found.annotators["set"] == NO_SET] == [7]).all()
    assert len(found.sets) == len(hidden_sets(raw).sets)


def test_who_saw_an_image_of_a_set_again_instead_of_another_is_of_it(found: HiddenSets) -> None:
    raw = handed_out(np.random.default_rng(0))
    who = found.annotators.index[found.annotators["set"] == 0][-1]
    mine = np.flatnonzero(raw["annotator"] == who)
    rows = np.arange(len(raw))
    rows[mine[3]] = mine[0]
    again = hidden_sets(raw.iloc[rows])
    assert again.set_of == found.set_of
    assert again.verdict() == found.verdict()
    assert again.sets["annotators"].equals(found.sets["annotators"])
    assert again.annotators.loc[who, "images"] == 19
    # An image from elsewhere makes her no part of it, again or not.
    other = raw[~raw["image"].isin(raw["image"].iloc[mine])].iloc[[0]].assign(annotator=who)
    odd = hidden_sets(pd.concat([raw.iloc[np.delete(rows, mine[4])], other]))
    assert odd.annotators.loc[who, "set"] == NO_SET


@pytest.mark.parametrize("seed", range(20))
def test_sets_without_a_common_image_by_chance_are_told_from_a_reshuffle(seed: int) -> None:
    """About one in nine pairs from two reshuffles is like that here."""
    raw = handed_out(np.random.default_rng(seed))
    found = hidden_sets(raw)
    planted = raw.groupby("annotator")["planted_reshuffle"].first()
    table = pd.crosstab(found.annotators["reshuffle"], planted) > 0
    assert found.overlaps[0] > 10
    assert table.shape == (3, 3)
    assert (table.sum() == 1).all()


def test_classes_that_are_not_dealt_evenly_are_seen() -> None:
    rng = np.random.default_rng(0)
    sets = dealt(rng, by_class=False)
    found = hidden_sets(handed_out(rng, sets=sets))
    assert found.explained == 90
    assert (found.sets["fewest_of_a_class"] < found.sets["most_of_a_class"]).any()
    assert found.findings()["sets with as many images of each class"] != "30 of 30"


def test_two_who_saw_the_same_image_again_are_of_the_set_and_found_none() -> None:
    image = np.arange(20)
    again = np.append(image[:-1], 0)
    raw = pd.DataFrame(
        {
            "annotator": np.repeat([3, 4, 0, 1], 20),
            "image": np.concatenate([image, image, again, again]),
            "true_label": 0,
        }
    )
    found = hidden_sets(raw)
    assert found.set_of == dict.fromkeys([0, 1, 3, 4], 0)
    assert len(found.sets) == 1
