"""Assignment tests reject what was arranged, and chance no more often than they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sets_of_images import N_IMAGES, dealt, handed_out

from siscm.cifar10h.audit import assignment_tests
from siscm.cifar10h.image_sets import hidden_sets

CLASSES, HARDER, BY_SET, BY_RESHUFFLE, NEIGHBOURS = (
    "classes fall into sets at random",
    "no set is harder or easier than by chance",
    "the order of ids does not tell the set",
    "the order of ids does not tell the reshuffle",
    "neighbours by id share a set as often as others",
)


def outcome(raw: pd.DataFrame, seed: int = 0, n: int = 999) -> pd.DataFrame:
    return assignment_tests(raw, hidden_sets(raw), rng=np.random.default_rng(seed), n_resamples=n)


def test_chance_is_rejected_as_often_as_the_level_says() -> None:
    p_values = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sets = dealt(rng, by_class=False)
        error = rng.beta(1, 3, N_IMAGES)
        raw = handed_out(rng, sets=sets, error=error)
        p_values.append(outcome(raw, seed, n=199)["p_value"])
    table = pd.DataFrame(p_values)
    assert list(table) == [CLASSES, HARDER, BY_SET, BY_RESHUFFLE, NEIGHBOURS]
    # 100 draws: a share of 5 % within three and a half standard errors; halves in the middle.
    # Neighbours are few whole numbers, so that test may be more cautious than its level.
    rejected = (table < 0.05).mean()
    assert (rejected < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 100)).all()
    others = table.drop(columns=NEIGHBOURS)
    assert ((others < 0.5).mean() - 0.5).abs().max() < 3.5 * 0.5 / np.sqrt(100)


SETS = ([0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 4, 5], [2, 3, 6, 7])
"""Of two reshuffles of eight images."""

SET_OF = [0, 0, 1, 1, 0, 2, 2, 3, 3, 2]
"""Of ten annotators, by id."""


def small(chosen_label: np.ndarray | int) -> pd.DataFrame:
    """Ten annotators' rows, in which a set has three images of one class, or two of each."""
    annotator = np.repeat(np.arange(10), 4)
    image = np.concatenate([SETS[number] for number in SET_OF])
    true_label = np.array([0, 0, 0, 1, 1, 1, 1, 0])[image]
    table = {"annotator": annotator, "image": image, "true_label": true_label}
    return pd.DataFrame({**table, "chosen_label": chosen_label})


def spread(values: list[float], group: list[int]) -> float:
    """How far the mean of each value's group is from the mean of all: squared, on average."""
    means = {g: np.mean([v for v, h in zip(values, group, strict=True) if h == g]) for g in group}
    return float(np.mean([(means[g] - np.mean(values)) ** 2 for g in group]))


def test_statistics_by_hand() -> None:
    raw = small(np.random.default_rng(4).integers(2, size=40))
    table = outcome(raw)
    difficulty = []
    for number, images in enumerate(SETS):
        outside = raw[[SET_OF[annotator] != number for annotator in raw["annotator"]]]
        for image in images:
            seen = outside[outside["image"] == image]
            difficulty.append((seen["chosen_label"] != seen["true_label"]).mean())
    place, reshuffle = [*range(10)], [number // 2 for number in SET_OF]
    expected = {
        CLASSES: 2.0,  # one table of 3, 1, 1, 3, another of 2, 2, 2, 2
        HARDER: spread(difficulty, np.repeat(range(4), 4).tolist()),
        BY_SET: spread(place, SET_OF),
        BY_RESHUFFLE: spread(place, reshuffle),
        NEIGHBOURS: 4 / 9,
    }
    assert table["statistic"].to_dict() == pytest.approx(expected)
    assert table.loc[CLASSES, ["usual", "p_value"]].tolist() == pytest.approx([2, 2 / np.e])


def test_what_is_usual_by_hand() -> None:
    """Means over all orders: of g groups (g - 1) / 10 of the variance; pairs of one set in ten."""
    table = outcome(small(0), n=4999)
    assert table.loc[BY_SET, "usual"] == pytest.approx(3 / 10 * 110 / 12, rel=0.05)
    assert table.loc[BY_RESHUFFLE, "usual"] == pytest.approx(1 / 10 * 110 / 12, rel=0.1)
    together = (3 * 2 + 2 * 1 + 3 * 2 + 2 * 1) / (10 * 9)
    assert table.loc[NEIGHBOURS, "usual"] == pytest.approx(together, rel=0.05)


def test_so_many_draws_as_were_asked_for_decide() -> None:
    """The smallest p-value is two, for either tail one, of the draws and what was found."""
    raw = handed_out(np.random.default_rng(0), number=np.repeat(np.arange(30), 3))
    for n in (19, 49):
        assert outcome(raw, n=n).loc[BY_SET, "p_value"] == pytest.approx(2 / (n + 1))
    found = assignment_tests(raw, hidden_sets(raw), rng=np.random.default_rng(0))
    assert found.loc[BY_SET, "p_value"] == pytest.approx(2 / 1000)


def test_a_hard_class_makes_no_set_hard() -> None:
    """All say 0: whatever is dealt out class by class, a set is missed as often."""
    assert outcome(small(0)).loc[HARDER].isna().all()


def test_who_has_no_set_takes_no_place_in_the_order() -> None:
    raw, rows = small(0), [BY_SET, BY_RESHUFFLE, NEIGHBOURS]
    of_image = raw.drop_duplicates("image").set_index("image", drop=False)
    lone = [of_image.loc[[i, 7 - i]].assign(annotator=i + 0.5) for i in range(1, 4)]
    table = outcome(pd.concat([raw, *lone], ignore_index=True))
    pd.testing.assert_frame_equal(table.loc[rows], outcome(raw).loc[rows])


def test_even_classes_are_no_chance() -> None:
    table = outcome(handed_out(np.random.default_rng(0)))
    assert table.loc[CLASSES, "statistic"] == 0
    assert table.loc[CLASSES, "usual"] == 3 * 9 * 3
    assert table.loc[CLASSES, "p_value"] < 1e-6


def test_hard_images_put_together_are_found() -> None:
    rng = np.random.default_rng(0)
    error = rng.beta(1, 3, N_IMAGES)
    table = outcome(handed_out(rng, sets=dealt(rng, difficulty=error), error=error))
    assert table.loc[HARDER, "statistic"] > 2 * table.loc[HARDER, "usual"]
    assert table.loc[HARDER, "p_value"] < 0.01


def test_a_careless_annotator_does_not_make_her_set_hard() -> None:
    raw = handed_out(np.random.default_rng(3), error=0.05)
    careless = raw["annotator"] % 9 == 0
    raw.loc[careless, "chosen_label"] = (raw.loc[careless, "true_label"] + 1) % 4
    assert outcome(raw).loc[HARDER, "p_value"] > 0.05


@pytest.mark.parametrize(
    ("number", "rejected", "high"),
    [
        (np.repeat(np.arange(30), 3), [BY_SET, BY_RESHUFFLE, NEIGHBOURS], True),  # set by set
        (np.tile(np.arange(30), 3), [BY_SET], False),  # in turn
    ],
)
def test_sets_given_in_order_of_ids_are_found(
    number: np.ndarray, rejected: list[str], high: bool
) -> None:
    table = outcome(handed_out(np.random.default_rng(0), number=number))
    assert (table.loc[rejected, "p_value"] < 0.01).all()
    assert ((table["statistic"] > table["usual"])[rejected] == high).all()


def test_one_reshuffle_leaves_nobody_to_tell_difficulty() -> None:
    raw = handed_out(np.random.default_rng(0))
    table = outcome(raw[raw["planted_reshuffle"] == 0])
    assert table.loc[HARDER].isna().all()
    assert table.loc[[CLASSES, BY_SET], "p_value"].notna().all()


def test_of_a_single_set_nothing_is_compared() -> None:
    raw = handed_out(np.random.default_rng(0))
    found = outcome(raw[raw["planted_set"] == 0], n=19)
    assert found.isna().all(axis=None)


def test_of_a_single_set_that_others_saw_too_nothing_is_compared_but_rounding() -> None:
    """Three annotators without a set, each with an image of her own, missed some of its images."""
    missed = [(a, i) for a in range(5) for i in range(11) if a > 1 and (a + 1) * (i + 2) % 3 == 1]
    rows = [
        {"annotator": a, "image": i, "true_label": 0, "chosen_label": int((a, i) in missed)}
        for a in range(5)
        for i in [*range(11), *([10 + a] if a > 1 else [])]
    ]
    found = outcome(pd.DataFrame(rows), n=99)
    assert found.loc[HARDER].isna().all()


def test_without_sets_nothing_is_tested() -> None:
    raw = handed_out(np.random.default_rng(0))
    alone = raw[raw.groupby("planted_set")["annotator"].transform("min") == raw["annotator"]]
    assert outcome(alone).isna().all(axis=None)


def test_the_same_seed_gives_the_same_table() -> None:
    raw = handed_out(np.random.default_rng(0))
    pd.testing.assert_frame_equal(outcome(raw, 5), outcome(raw, 5))
