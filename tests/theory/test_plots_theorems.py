"""The theorems' figures show what they are given."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from siscm.theory import plots_theorems as plots
from siscm.theory.false_alarms import NOT_SIMILAR, SIMILAR

mpl.use("agg")


def test_the_three_steps_are_posterior_answers_and_law() -> None:
    figure, axes = plt.subplots(1, 3, layout="constrained")
    prior, posterior = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.6, 0.4])
    answers, law = np.array([0, 1, 0]), np.array([0.4, 0.6])
    plots.draw_three_steps(axes, prior, posterior, answers, law, "Bob")
    labels = [panel.get_ylabel() for panel in axes]
    assert labels == ["probability", "Bob says", "Bob would have said"]
    figure.canvas.draw()
    heights = [bar.get_height() for bar in axes[0].patches]
    assert heights == [*prior, *posterior]
    possible, ruled_out = (dots.get_offsets().tolist() for dots in axes[1].collections)
    assert possible == [[1, 1], [2, 0]]
    assert ruled_out == [[0, 0]]
    faces = [to_hex(dots.get_facecolor()[0]) for dots in axes[1].collections]
    assert faces[1] == "#ffffff" != faces[0]  # told apart without colours
    assert [bar.get_width() for bar in axes[2].patches] == [0.4, 0.6]
    assert [text.get_text() for text in axes[2].texts] == ["0.40", "0.60"]
    plt.close(figure)


def test_the_gap_is_a_line_each_way_to_talk() -> None:
    keys = itertools.product((2, 3), ("herding", "senior"), (0.0, 1.0), range(4))
    apart = pd.DataFrame(keys, columns=["asked", "talk", "strength", "model"])
    apart["distance"] = apart["strength"] * apart["asked"] / 10 + apart["model"] / 100
    figure, axes = plt.subplots(1, 2, layout="constrained")
    plots.draw_apart(axes, apart)
    figure.canvas.draw()
    for panel, asked in zip(axes, (2, 3), strict=True):
        assert [line.get_label() for line in panel.lines] == ["herding", "senior"]
        for line in panel.lines:
            np.testing.assert_allclose(line.get_ydata(), [0.015, asked / 10 + 0.015])
    plt.close(figure)


def test_false_alarms_are_a_line_an_error_and_a_line_a_number_of_cases() -> None:
    keys = list(itertools.product((SIMILAR, NOT_SIMILAR), (0, 0.25), (1, 40)))
    by_meetings = pd.DataFrame(keys, columns=["experts", "error", "meetings"])
    by_meetings["chance"] = [0, 0, 0.2, 0.5, 0.3, 0.9, 0.4, 0.8]
    by_training = pd.DataFrame(
        itertools.product((20, 300), (5, 60)), columns=["opinions", "meetings"]
    )
    by_training["chance"] = [0.6, 0.9, 0.1, 0.35]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    # Rows in any order are drawn alike, as long as each line's own are in order.
    plots.draw_false_alarms(left, right, by_meetings.iloc[[6, 7, *range(6)]], by_training)
    figure.canvas.draw()
    drawn = [
        {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
        for axes in (left, right)
    ]
    assert drawn == [
        {
            "not similar, truth": [[1, 0.3], [40, 0.9]],
            "similar, truth": [[1, 0], [40, 0]],
            "similar, error 0.25": [[1, 0.2], [40, 0.5]],
        },
        {"both judge 5": [[20, 0.6], [300, 0.1]], "both judge 60": [[20, 0.9], [300, 0.35]]},
    ]
    for axes, ticks in ((left, ["1", "40"]), (right, ["20", "300"])):
        assert axes.get_xscale() == "log"
        assert [label.get_text() for label in axes.get_xticklabels()] == ticks
        assert [label.get_text() for label in axes.get_yticklabels()][
            -1
        ] == "100\N{NO-BREAK SPACE}%"
        legend = axes.get_legend()
        names = [text.get_text() for text in legend.get_texts()]
        assert names == [line.get_label() for line in axes.lines]
        # Outside the data, and every line told apart without its colour.
        assert legend.get_window_extent().y0 >= axes.get_window_extent().y1
        assert len({line.get_marker() for line in axes.lines}) == len(axes.lines)
        assert len({to_hex(line.get_color()) for line in axes.lines}) == len(axes.lines)
        words = [*legend.get_texts(), *axes.get_xticklabels(), *axes.get_yticklabels()]
        assert min(text.get_fontsize() for text in words) >= 9
    assert [line.get_linestyle() for line in left.lines] == ["--", "-", "-"]
    plt.close(figure)


def test_of_experts_who_are_not_similar_only_the_truth_is_drawn(axes: mpl.axes.Axes) -> None:
    by_meetings = pd.DataFrame(
        {"experts": NOT_SIMILAR, "error": [0, 1.0], "meetings": 1, "chance": [0.3, 0.7]}
    )
    empty = pd.DataFrame({"opinions": [20], "meetings": [5], "chance": [0.1]})
    plots.draw_false_alarms(axes, axes.twiny(), by_meetings, empty)
    assert axes.lines[0].get_ydata().tolist() == [pytest.approx(0.3)]


def test_second_opinions_are_a_panel_a_label_said_and_a_bar_a_kind_of_expert() -> None:
    similar = np.array([[1.0, 0.0], [0.4, 0.6]])
    stranger = np.array([[0.7, 0.3], [0.7, 0.3]])
    figure, all_axes = plt.subplots(1, 2, sharey=True, layout="constrained")
    plots.draw_second_opinions(all_axes, similar, stranger, ["yes", "no"])
    figure.canvas.draw()
    for c, axes in enumerate(all_axes):
        alike, strange = axes.containers
        assert [bar.get_width() for bar in alike] == similar[c].tolist()
        assert [bar.get_width() for bar in strange] == stranger[c].tolist()
        assert axes.get_title() == f"h said {['yes', 'no'][c]}"
        # Told apart without colour, and a zero is said in words.
        assert {bar.get_hatch() for bar in strange} != {bar.get_hatch() for bar in alike}
        words = [text.get_text() for text in axes.texts]
        assert words.count("never") == (similar[c] == 0).sum()
        assert f"{100 * stranger[c, 0]:.0f}\N{NO-BREAK SPACE}%" in words
        # A bar lies where the axis names its label.
        named = dict(zip(axes.get_yticks(), ["yes", "no"], strict=True))
        for bar, name in zip(alike, ["yes", "no"], strict=True):
            inside = [place for place in named if abs(place - bar.get_center()[1]) < 0.5]
            assert [named[place] for place in inside] == [name]
    names = [text.get_text() for text in all_axes[0].get_legend().get_texts()]
    assert names == ["similar", "stranger"]
    assert [label.get_text() for label in all_axes[0].get_yticklabels()] == ["yes", "no"]
    plt.close(figure)


def test_said_is_a_grid_of_experts_and_noises(axes: mpl.axes.Axes) -> None:
    said = np.array([[1, 0, 0], [2, 1, 0]])
    plots.draw_said(axes, said, ["A", "B"])
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written == {(u, h): str(label) for (h, u), label in np.ndenumerate(said)}
    filled = {
        (round(cell.get_x() + 0.5), round(cell.get_y() + 0.5))
        for cell in axes.patches
        if to_hex(cell.get_facecolor()) != "#ffffff"
    }
    assert filled == {(u, h) for (h, u), label in np.ndenumerate(said) if label}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "B"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
