"""The paper's figures bear out its conclusions; others need not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from siscm.cifar10h.conclusions import conclusions, in_words
from siscm.compendium.pages import expected

PAPER = expected("cifar10h")["paper"]
MODEL = "Gumbel-Max SI-SCM"


def test_the_papers_figures_bear_out_every_conclusion() -> None:
    concluded = conclusions(PAPER)
    assert concluded["agrees"].all()
    assert concluded["here"].iloc[0] == "66.8% against 48.9%, 62.0%"
    assert concluded["here"].iloc[-1] == "87 of 103"


@pytest.mark.parametrize(
    ("path", "value", "lost"),
    [
        (("accuracy", MODEL, "all pairs"), 0.62, [0]),
        (("accuracy", MODEL, "same group"), 0.66, [1]),
        (("accuracy", MODEL, "same group"), None, [1]),
        (("accuracy", "GNB + CNB", "different groups"), 0.451, [2]),
        (("accuracy", MODEL, "different groups"), 0.56, [2]),
        (("accuracy", "GNB", "different groups"), 0.56, []),
        (("accuracy", "GNB + CNB", "different groups"), 0.66, [3]),
        (("experts_better_off", "SI-SCM above GNB, all pairs", 0), 57, [4]),
        (("experts_better_off", "SI-SCM above GNB + CNB, all pairs", 0), 57, [4]),
        (("experts_better_off", "SI-SCM above GNB + CNB, all pairs", 0), 58, []),
        (("experts_better_off", "SI-SCM above GNB, same group", 0), 92, [5]),
        (("experts_better_off", "SI-SCM above GNB, same group", 0), 93, []),
        (("experts_better_off", "SI-SCM above GNB + CNB, same group", 0), 92, [5]),
        (("experts_better_off", "GNB + CNB, same group above different", 0), 51, [6]),
        (("experts_better_off", "GNB + CNB, same group above different", 0), 52, []),
    ],
)
def test_each_conclusion_can_fail_alone(
    path: tuple[str | int, ...], value: float | None, lost: list[int]
) -> None:
    changed: Any = copy.deepcopy(PAPER)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    agrees = conclusions(changed)["agrees"].tolist()
    assert [i for i, yes in enumerate(agrees) if not yes] == lost


def test_without_any_pair_nothing_is_concluded() -> None:
    none = copy.deepcopy(PAPER)
    none["accuracy"] = {rule: dict.fromkeys(row) for rule, row in none["accuracy"].items()}
    none["experts_better_off"] = {name: [0, 0] for name in none["experts_better_off"]}
    concluded = conclusions(none)
    assert not concluded["agrees"].any()
    assert concluded["here"].iloc[0] == "no pair against no pair, no pair"


def test_words_hold_for_either_outcome() -> None:
    agreeing = conclusions(PAPER)
    said = in_words(agreeing, "real")
    assert said == "On the real file, all 7 conclusions of the paper come out as it reports them."
    assert "no evidence about people" in in_words(agreeing, "twin")
    mixed = agreeing.assign(agrees=[False, *[True] * 6])
    said = in_words(mixed, "real")
    assert "6 of the 7" in said
    assert f"Not so: {mixed.index[0]}." in said
    assert "none of the 7" in in_words(agreeing.assign(agrees=False), "real")
