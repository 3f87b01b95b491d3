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


def test_without_sets_nothing_is_tested() -> None:
    raw = handed_out(np.random.default_rng(0))
    alone = raw[raw.groupby("planted_set")["annotator"].transform("min") == raw["annotator"]]
    assert outcome(alone).isna().all(axis=None)


def test_the_same_seed_gives_the_same_table() -> None:
    raw = handed_out(np.random.default_rng(0))
    pd.testing.assert_frame_equal(outcome(raw, 5), outcome(raw, 5))
