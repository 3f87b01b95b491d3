"""Tables of a contest, live and recorded on the real panels, for the book's pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from siscm.beyond.contest import GRADED
from siscm.compendium.kinds import Data
from siscm.compendium.pages import Html, expected, interval, origin, table
from siscm.evaluation import UNIFORM_WEIGHT

RIVAL = "rival"
"""Shown in red: somebody else is better."""


def standings_of(scores: dict[str, Any], by: str = "instance") -> pd.DataFrame:
    """Standings at the usual weight of the uniform distribution, a row a method.

    Parameters
    ----------
    scores
        As from :func:`siscm.beyond.real_panels.score_figures`.
    by
        What the intervals are over: ``"instance"`` or ``"expert"``; or ``"instance_together"``, on
        recorded test parts.
    """
    rows = pd.DataFrame(scores[f"by_{by}"])
    return rows[rows["weight"] == UNIFORM_WEIGHT].drop(columns="weight").set_index("method")


def contest_table(scores: dict[str, Any], caption: str, kind: Data, note: str = "") -> Html:
    """Log-loss and accuracy of every method, and by how much graded sharing is better.

    Parameters
    ----------
    scores
        As from :func:`siscm.beyond.real_panels.score_figures`.
    caption, kind, note
        As in :func:`siscm.compendium.pages.table`.
    """
    here, experts = (standings_of(scores, by) for by in ("instance", "expert"))
    frame = pd.DataFrame(
        {
            "log-loss": here["log_loss"].map("{:.3f}".format),
            "above graded": here.apply(interval, axis=1, args=("log_loss_more",)),
            "(experts)": experts.apply(interval, axis=1, args=("log_loss_more", False)),
            "accuracy": here["accuracy"].map("{:.3f}".format),
            "below graded": here.apply(interval, axis=1, args=("accuracy_less",)),
        }
    )
    frame.iloc[0, [1, 2, 4]] = ""
    return table(frame.rename_axis(None), caption, kind, note)


def weights_table(scores: dict[str, Any], caption: str, kind: Data) -> Html:
    """Log-losses with more and less of the uniform distribution mixed in."""
    frame = pd.DataFrame(scores["by_instance"])
    frame = frame.pivot_table("log_loss", "method", "weight", sort=False).round(4)
    frame.index.name, frame.columns.name = None, None
    return table(frame.rename(columns="{:g}".format), caption, kind)


def recorded(panel: str, population: str) -> dict[str, Any]:
    """One population's figures in ``expected/graded.json``, and ``origin`` where from.

    Parameters
    ----------
    panel
        Its name in that file, one of :data:`siscm.data.panels.PanelName`.
    population
        One of :data:`siscm.beyond.real_panels.POPULATIONS`.
    """
    entry = expected("graded")[panel]
    return {**entry["populations"][population], "origin": origin(entry)}


def _of_all(column: Callable[[dict[str, Any]], Any], caption: str) -> Html:
    """A table of all populations of the real panels: from the figures of each, a column."""
    columns = {
        f"{panel}, {population}": column(figures)
        for panel, entry in expected("graded").items()
        for population, figures in entry["populations"].items()
    }
    frame = pd.DataFrame(columns).rename_axis(None)
    return table(frame, caption, "recorded", origins())


def recorded_contest(panel: str, population: str, part: str) -> Html:
    """The contest on a real panel's test part, or in cross-validation, as recorded.

    Parameters
    ----------
    panel, population
        As for :func:`recorded`.
    part
        ``"test"`` or ``"development"``.
    """
    entry = recorded(panel, population)
    scores = entry[part]
    where = {
        "test": "the test part",
        "development": "cross-validation in its training and development parts",
    }
    caption = (
        f"{panel}, {population}, {where[part]}: {scores['pairs']:,} ordered pairs. Above and below "
        "graded: how much worse than graded sharing, with 95 % intervals over instances; in "
        "brackets alone, over experts."
    )
    return contest_table(scores, caption, "recorded", entry["origin"])


def recorded_models() -> Html:
    """Sizes, noise, groups and sharing on the real panels, as recorded."""
    shares = {"least": "0", "median": "0.5", "most": "1"}

    def column(figures: dict[str, Any]) -> dict[str, str]:
        model = figures["model"]
        return {
            **{size: f"{model[size]:,}" for size in ("experts", "instances", "opinions")},
            "width of the priors": f"{model['prior_width']:g}",
            "likeliest noise": model["noise"],
            "groups": f"{len(model['group_sizes'])}",
            **{f"sharing, {name}": f"{model['sharing'][at]:.2f}" for name, at in shares.items()},
        }

    caption = (
        "What was learned from the training and development parts of the real panels. Experts who "
        "gave no opinion there are counted, with the sharing of the others. Of widths, 1 is the "
        "largest that was tried."
    )
    return _of_all(column, caption)


def recorded_sharing(panel: str, population: str) -> Html:
    """Each expert's sharing on a real panel of few experts, as recorded."""
    entry = recorded(panel, population)
    frame = pd.DataFrame(entry["model"]["experts_sharing"]).round(2)
    frame.index = pd.Index([f"expert {i}" for i in range(1, len(frame) + 1)])
    caption = f"{panel}: how much of the common noise each expert shares, with 95 % intervals."
    return table(frame, caption, "recorded", entry["origin"])


def recorded_calibration() -> Html:
    """How often labels were said on the real panels, by the probability given, as recorded."""

    def column(figures: dict[str, Any]) -> pd.Series[str]:
        bins = pd.DataFrame(figures["model"]["calibration"])
        return bins["probability"].map("{:.2f}".format) + ": " + bins["said"].map("{:.2f}".format)

    caption = (
        "Calibration of out-of-fold marginals on the real panels, training and development parts: "
        "mean probability of each tenth, and how often it was said."
    )
    return _of_all(column, caption)


def recorded_verdict() -> Html:
    """Who is better on the real panels: graded sharing, the rival, or neither, as recorded.

    Neither, if the 95 % interval over instances of the difference in log-loss holds zero.
    """
    columns = {
        f"{panel}, {population}": _verdicts(panel, population)
        for panel, entry in expected("graded").items()
        for population in entry["populations"]
    }
    frame = pd.DataFrame(columns).rename_axis(None)
    caption = (
        "Whose log-loss is lower: graded sharing's, the rival's, or neither, because the 95 % "
        "interval of the difference holds zero. If alone: so long as this comparison alone is "
        f"looked at; where all {frame.size} are to hold together (Bonferroni), neither. Second "
        "look: the first candidate's log-loss was above the rival's, that of this one is not by "
        "more than chance. Of a rival added since, today's figure is taken."
    )
    return table(frame, caption, "recorded", origins(), RIVAL)


def _verdicts(panel: str, population: str) -> pd.Series[str]:
    """Who leads, and what that rests on: see :func:`recorded_verdict`."""
    alone, together = (who_leads(panel, population, by) for by in ("instance", "instance_together"))
    first = pd.Series(expected("graded_first")[panel]["populations"][population]["test"])
    # A rival that was not there at the time is taken as it is now.
    now = standings_of(recorded(panel, population)["test"])["log_loss"]
    behind = first.reindex(now.index).fillna(now)[alone.index] < first[GRADED]
    marks = np.where(alone == together, "", ", if alone")
    return alone + marks + np.where(behind & (alone != RIVAL), ", second look", "")


def who_leads(panel: str, population: str, by: str = "instance") -> pd.Series[Any]:
    """Of each rival, whose log-loss is lower: ``"graded"``, :data:`RIVAL`, or ``"neither"``.

    Parameters
    ----------
    panel, population
        Where; on the test part.
    by
        As in :func:`standings_of`.
    """
    return _leaders(recorded(panel, population)["test"], by)


def _leaders(scores: dict[str, Any], by: str = "instance") -> pd.Series[Any]:
    rivals = standings_of(scores, by).drop(index=GRADED)
    lower = [rivals["log_loss_more_low"] > 0, rivals["log_loss_more_high"] < 0]
    return pd.Series(np.select(lower, ["graded", RIVAL], "neither"), rivals.index)


def origins(file: str = "graded") -> str:
    """When and from which files all figures of the real panels in one file were recorded."""
    return "; ".join(f"{name}: {origin(entry)}" for name, entry in expected(file).items())


SHIFT = {
    "experts": "experts",
    "opinions": "opinions",
    "behind": "training opinions behind an opinion, median",
    "label_1": "how often 'yes' was said",
    "label_1_promised": "how often marginals promise it",
    "agreement": "how often two agree",
    "agreement_promised": "how often graded sharing promises it",
}
"""The figures of :func:`siscm.beyond.real_panels.shift_figures`, in words."""


def recorded_shift(panel: str) -> Html:
    """How the test part of a real panel differs from training, as recorded."""
    entry = expected("graded")[panel]
    columns = {
        f"{population}, {part}": [f"{figures['shift'][part][key]:,.10g}" for key in SHIFT]
        for population, figures in entry["populations"].items()
        for part in ("training", "test")
    }
    frame = pd.DataFrame(columns, index=list(SHIFT.values()))
    caption = f"{panel}: training (out-of-fold) and test."
    return table(frame, caption, "recorded", origin(entry))


def recorded_candidates() -> Html:
    """Log-loss of graded sharing, by the candidate recorded first and by this one."""
    rows = {}
    for panel, entry in expected("graded_first").items():
        for population, first in entry["populations"].items():
            this_one = recorded(panel, population)
            losses = {}
            for part in ("development", "test"):
                losses[f"first, {part}"] = first[part][GRADED]
                losses[f"this one, {part}"] = standings_of(this_one[part])["log_loss"][GRADED]
            rows[f"{panel}, {population}"] = losses
    frame = pd.DataFrame.from_dict(rows, orient="index").map("{:.4f}".format)
    caption = "Log-loss of graded sharing, the first candidate and this one."
    note = f"This one: {origins()}. First: {origins('graded_first')}"
    return table(frame, caption, "recorded", note)
