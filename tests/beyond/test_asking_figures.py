"""Recorded figures of whom to ask: all folds, other draws of them, and ready for JSON."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from test_worth_asking import by_hand

from siscm.asking import STRATEGIES
from siscm.beyond.asking_figures import asking_figures, over_draws
from siscm.beyond.worth_asking import BEST, EVERYWHERE
from siscm.data.panels import Panel
from siscm.data.simulate import simulate_panel

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def panel() -> Panel:
    return simulate_panel("HS-Brexit", np.random.default_rng(0))


def test_over_draws_by_hand(monkeypatch: pytest.MonkeyPatch, panel: Panel) -> None:
    """Whoever promises most is right on half of the cases, on all, on none; nobody else ever."""
    drawn = {1: ([0, 1, 0, 1], 0.5), 2: ([1, 1, 1, 1], 0.15), 3: ([0, 0, 0, 0], 0.5)}

    def tried(panel, least, folds, draw, sharing=None) -> tuple[pd.DataFrame, None]:
        right, gain = drawn[draw]
        if sharing is not None:
            right = [0, 0, 0, 0]
        cases = by_hand().assign(gain=gain, **dict.fromkeys(STRATEGIES, 0.0) | {BEST: right})
        return pd.concat([cases] * 100, ignore_index=True), None

    monkeypatch.setattr("siscm.beyond.asking_figures.held_out_trials", tried)
    tables = over_draws(panel, n_draws=3)
    standings, kept = tables["standings"], tables["promises"]
    after = tables["merits"].loc[("sharing, after asking", "all")]
    assert after.to_dict() == {"least": 0, "most": 1, "clear": 2}
    row = standings.loc[(EVERYWHERE, "most accurate")]
    assert row.to_dict() == {"least": 0, "most": 1, "clear": 2}
    assert standings.loc[(EVERYWHERE, BEST)].to_dict() == {"least": 0, "most": 0, "clear": 0}
    assert kept.to_dict("index") == {
        "0.1 to 0.2": {"draws": 1, "kept": 0},
        "0.2 to 1": {"draws": 2, "kept": 1},
    }


def test_figures_are_ready_for_json(panel: Panel) -> None:
    figures = asking_figures(panel, n_folds=1, n_draws=2)
    again = json.loads(json.dumps(figures))
    assert again == figures
    assert set(figures) == {
        "files",
        "min_opinions",
        "folds",
        "cases",
        "draws",
        "standings",
        "merits",
        "promises",
        "promises_marginals_only",
        "net_value",
        "standings_over_draws",
        "merits_over_draws",
        "promises_over_draws",
    }
    frame = pd.DataFrame(again["standings"]).set_index(["where", "who"])
    assert frame.loc[(EVERYWHERE, BEST), "behind"] == 0
    assert sum(row["cases"] for row in again["promises"]) == again["cases"]
    # Without sharing less is told by who has spoken, and so less is promised.
    promised = [
        sum(row["cases"] * row["promised"] for row in again[name])
        for name in ("promises", "promises_marginals_only")
    ]
    assert promised[0] > promised[1]


def test_what_its_interval_explains_is_not_clear(
    monkeypatch: pytest.MonkeyPatch, panel: Panel
) -> None:
    cases = by_hand().assign(**dict.fromkeys(STRATEGIES, 0.0) | {BEST: [1, 0, 0, 0]})
    monkeypatch.setattr("siscm.beyond.asking_figures.held_out_trials", lambda *_: (cases, None))
    standings = over_draws(panel, n_draws=2)["standings"]
    assert standings.loc[("nowhere", "nobody")].to_dict() == {
        "least": 0.25,
        "most": 0.25,
        "clear": 0,
    }


def test_figures_are_of_the_experts_that_are_meant_in_every_draw(
    monkeypatch: pytest.MonkeyPatch, panel: Panel
) -> None:
    asked = []

    def tried(panel, least, folds, draw, sharing=None) -> tuple[pd.DataFrame, None]:
        asked.append((least, folds, draw, sharing))
        return by_hand(), None

    monkeypatch.setattr("siscm.beyond.asking_figures.held_out_trials", tried)
    figures = asking_figures(panel, 7, n_folds=2, n_draws=2)
    assert asked == [(7, 2, draw, sharing) for draw in range(3) for sharing in (None, 0)]
    assert (figures["min_opinions"], figures["folds"], figures["draws"]) == (7, 2, 2)
