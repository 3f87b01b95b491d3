"""Tables of the contest: what each column means, and that recorded ones show what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from siscm.beyond import contest_tables
from siscm.beyond.contest import GRADED
from siscm.beyond.real_panels import POPULATIONS, WEIGHTS
from siscm.compendium import pages


def row(method: str, weight: float, loss: float, more: float, **ends: float) -> dict[str, object]:
    around = {"log_loss_more_low": more - 0.01, "log_loss_more_high": more + 0.01}
    accuracy = {"accuracy": 0.8, "accuracy_less": 0.1}
    wide = {"accuracy_less_low": 0.05, "accuracy_less_high": 0.15}
    return {
        "method": method, "weight": weight, "log_loss": loss, "log_loss_more": more,
        **around, **accuracy, **wide, **ends,
    }  # fmt: skip


@pytest.fixture
def scores() -> dict[str, object]:
    rows = [
        row(method, weight, loss + weight, loss - 0.3)
        for method, loss in ((GRADED, 0.3), ("marginals", 0.5), ("copy", 0.305))
        for weight in WEIGHTS
    ]
    return {"pairs": 60, "by_instance": rows, "by_expert": rows}


def test_standings_are_those_of_the_usual_weight(scores: dict[str, object]) -> None:
    found = contest_tables.standings_of(scores)
    assert found.index.tolist() == [GRADED, "marginals", "copy"]
    assert found["log_loss"]["marginals"] == pytest.approx(0.501)
    assert "weight" not in found


def test_the_table_says_how_much_worse_everybody_is(scores: dict[str, object]) -> None:
    text = contest_tables.contest_table(scores, "Here.", "example").text
    assert text.startswith("[worked example] Here.")
    assert "0.501" in text
    assert "0.200 [0.190, 0.210]" in text
    first = next(line for line in text.splitlines() if line.startswith(GRADED))
    assert "[" not in first


def test_weights_are_columns(scores: dict[str, object]) -> None:
    text = contest_tables.weights_table(scores, "Here.", "example").text
    assert "0.0001" in text
    assert "0.51" in text


def recorded(part: str, panel: str, population: str) -> pd.DataFrame:
    entry = pages.expected("graded")[panel]["populations"][population]
    rows = pd.DataFrame(entry[part]["by_instance"])
    return rows[rows["weight"] == 1e-3].set_index("method")


@pytest.mark.parametrize(
    ("panel", "population"), [(name, some) for name, those in POPULATIONS.items() for some in those]
)
@pytest.mark.parametrize("part", ["development", "test"])
def test_recorded_contests_show_what_is_recorded(panel: str, population: str, part: str) -> None:
    text = contest_tables.recorded_contest(panel, population, part).text
    assert text.startswith("[recorded on the real files]")
    for method, figures in recorded(part, panel, population).iterrows():
        line = next(line for line in text.splitlines() if line.startswith(str(method) + " "))
        assert f"{figures['log_loss']:.3f}" in line


def test_verdicts_follow_the_intervals() -> None:
    text = contest_tables.recorded_verdict().text
    method = "marginal × table"
    line = next(line for line in text.splitlines() if line.startswith(method))
    expected = []
    for name, those in POPULATIONS.items():
        for some in those:
            entry = pages.expected("graded")[name]["populations"][some]["test"]
            wide = pd.DataFrame(entry["by_instance_together"]).set_index("method").loc[method]
            usual = recorded("test", name, some).loc[method]
            who, who_then = (
                "graded"
                if row["log_loss_more_low"] > 0
                else "rival"
                if row["log_loss_more_high"] < 0
                else "neither"
                for row in (usual, wide)
            )
            first = pages.expected("graded_first")[name]["populations"][some]["test"]
            behind = first[GRADED] > first[method] and who != "rival"
            expected.append(who + ", if alone" * (who != who_then) + ", second look" * bool(behind))
    assert line.removeprefix(method).split() == " ".join(expected).split()


def test_a_verdict_says_what_it_rests_on(
    scores: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals alone and together, and the first candidate's lead, by hand."""
    figures = {
        GRADED: ((0, 0), (0, 0), 0.5),
        "firm": ((0.1, 0.3), (0.05, 0.35), 0.6),
        "wide": ((0.1, 0.3), (-0.1, 0.5), 0.6),
        "turned": ((0.1, 0.3), (0.05, 0.35), 0.4),
        "both": ((0.1, 0.3), (-0.1, 0.5), 0.4),
        "level": ((-0.1, 0.1), (-0.2, 0.2), 0.4),
        "better": ((-3, -1), (-4, -0.5), 0.4),
        "newer": ((0.1, 0.3), (0.05, 0.35), None),
    }
    for by, which in (("by_instance", 0), ("by_instance_together", 1)):
        scores[by] = [
            row(name, 1e-3, 0.45, 0, log_loss_more_low=ends[0], log_loss_more_high=ends[1])
            for name, ends in ((name, of[which]) for name, of in figures.items())
        ]
    first = {name: loss for name, (*_, loss) in figures.items() if loss is not None}
    files = {
        "graded": {"Panel": {"date": "d", "files": {}, "populations": {"all": {"test": scores}}}},
        "graded_first": {"Panel": {"populations": {"all": {"test": first}}}},
    }
    monkeypatch.setattr(contest_tables, "expected", files.__getitem__)
    shown = contest_tables.recorded_verdict().text
    assert "where all 7 are to hold together" in shown
    found = {line.split()[0]: line.split(maxsplit=1)[-1] for line in shown.splitlines()}
    assert {name: found[name] for name in list(figures)[1:]} == {
        "firm": "graded",
        "wide": "graded, if alone",
        "turned": "graded, second look",
        "both": "graded, if alone, second look",
        "level": "neither, second look",
        "better": "rival",
        "newer": "graded, second look",
    }


def test_models_sharing_and_calibration_are_shown() -> None:
    models = contest_tables.recorded_models().text
    assert "likeliest noise" in models
    entry = pages.expected("graded")["HS-Brexit"]["populations"]["everyone"]["model"]
    assert f"{entry['sharing']['0.5']:.2f}" in models
    sharing = contest_tables.recorded_sharing("HS-Brexit", "everyone").text
    assert f"{entry['experts_sharing'][0]['sharing']:.2f}" in sharing
    calibration = contest_tables.recorded_calibration().text
    assert f"{entry['calibration'][0]['said']:.2f}" in calibration


def test_candidates_and_shift_are_shown() -> None:
    text = contest_tables.recorded_candidates().text
    first = pages.expected("graded_first")["HS-Brexit"]["populations"]["everyone"]
    for part in ("development", "test"):
        assert f"{first[part][GRADED]:.4f}" in text
        assert f"{recorded(part, 'HS-Brexit', 'everyone')['log_loss'][GRADED]:.4f}" in text
    shift = contest_tables.recorded_shift("MD-Agreement").text
    figures = pages.expected("graded")["MD-Agreement"]["populations"]["everyone"]["shift"]
    assert f"{figures['test']['agreement']:.10g}" in shift


def test_nobody_is_better_where_the_interval_holds_zero(
    scores: dict[str, list[dict[str, object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    likely = {"worse": (0.1, 0.3), "unsure": (-0.1, 0.3), "level": (-0.3, 0.1), "better": (-3, -1)}
    scores["by_instance"] = [
        row(name, weight, 0.5, (low + high) / 2, log_loss_more_low=low, log_loss_more_high=high)
        for name, (low, high) in {GRADED: (0, 0), **likely}.items()
        for weight in WEIGHTS
    ]
    monkeypatch.setattr(contest_tables, "recorded", lambda *_: {"test": scores})
    assert contest_tables.who_leads("a panel", "everyone").to_dict() == {
        "worse": "graded",
        "unsure": "neither",
        "level": "neither",
        "better": contest_tables.RIVAL,
    }


def test_every_column_of_a_contest_shows_its_own_figure(
    scores: dict[str, Any],
) -> None:
    scores["by_expert"] = [
        {**one, "log_loss_more_low": -0.4, "log_loss_more_high": 0.9}
        for one in scores["by_instance"]
    ]
    text = contest_tables.contest_table(scores, "Here.", "example").text
    line = next(line for line in text.splitlines() if line.startswith("marginals"))
    shown = "0.501  0.200 [0.190, 0.210]  [-0.400, 0.900]  0.800  0.100 [0.050, 0.150]"
    assert line.removeprefix("marginals").split() == shown.split()


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        ("width of the priors", lambda model: f"{model['prior_width']:g}"),
        ("likeliest noise", lambda model: model["noise"]),
        ("groups", lambda model: f"{len(model['group_sizes'])}"),
        ("sharing, least", lambda model: f"{model['sharing']['0']:.2f}"),
        ("sharing, median", lambda model: f"{model['sharing']['0.5']:.2f}"),
        ("sharing, most", lambda model: f"{model['sharing']['1']:.2f}"),
    ],
)
def test_every_row_of_recorded_models_shows_its_own_figure(
    words: str, figure: Callable[[dict[str, Any]], str]
) -> None:
    lines = contest_tables.recorded_models().text.splitlines()
    shown = next(line for line in lines if line.startswith(f"{words} ")).removeprefix(words)
    models = [
        contest_tables.recorded(name, some)["model"]
        for name, those in POPULATIONS.items()
        for some in those
    ]
    assert shown.split() == [figure(model) for model in models]


def test_calibration_shows_the_probability_before_what_was_said() -> None:
    one = contest_tables.recorded("HS-Brexit", "everyone")["model"]["calibration"][0]
    shown = f"{one['probability']:.2f}: {one['said']:.2f}"
    assert one["probability"] != one["said"]
    assert shown in contest_tables.recorded_calibration().text
