"""The audit's figures show what they are given, and name nobody."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from siscm.cifar10h import plots_audit as plots
from siscm.compendium.plots import BLUE, ORANGE
from siscm.evaluation import SCENARIOS
from siscm.graph import SimilarityGraph
from siscm.opinions import Opinions

mpl.use("agg")


def test_rivals_stand_by_accuracy_on_all_pairs(axes: Axes) -> None:
    accuracy = pd.DataFrame(
        [[0.3, 0.5, 0.2], [0.6, 0.6, np.nan]], index=["worse", "better"], columns=SCENARIOS
    )
    plots.draw_rivals(axes, accuracy)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["worse", "better"]
    marks = {part.get_label(): np.asarray(part.get_offsets()) for part in axes.collections[1:]}
    assert marks["all pairs"].tolist() == [[0.3, 0], [0.6, 1]]
    assert marks["same group"][:, 0].tolist() == [0.5, 0.6]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(SCENARIOS)


def test_shared_images_are_bars_beside_chance_and_beyond() -> None:
    shared = pd.Series([50, 40, 7], index=[0, 1, 20])
    chance = pd.Series([60.0, 30.0, 7.0, 0.2], index=[0, 1, 2, 3])
    figure, (left, right) = plt.subplots(1, 2, sharey=True)
    plots.draw_shared(left, right, shared, chance)
    plt.close(figure)
    bars = [
        {round(bar.get_x() + bar.get_width() / 2, 9): bar.get_height() for bar in axes.patches}
        for axes in (left, right)
    ]
    assert bars == [{0: 50, 1: 40}, {20: 7}]
    assert left.lines[0].get_xdata().tolist() == [0, 1, 2]  # less than one pair is not drawn
    assert left.get_yscale() == right.get_yscale() == "log"
    assert left.get_xlim()[1] == right.get_xlim()[0]  # no place lies in neither, or in both
    assert 2 < left.get_xlim()[1] < 20 < right.get_xlim()[1]


def test_meetings_are_ordered_by_image_set() -> None:
    said = np.full((60, 4), -1)
    said[:52, [0, 2]] = 0  # a and c meet on 52 images
    said[52:55, [1, 3]] = 1  # b and d on three,
    said[55, [0, 1]] = [0, 1]  # a and b on one, in violation
    opinions = Opinions.from_codes(said, experts=list("abcd"))
    graph = SimilarityGraph.from_opinions(np.log(np.full((60, 4, 2), 0.5)), opinions)
    figure, (left, right) = plt.subplots(1, 2)
    order = plots.draw_meetings(
        left, right, graph, [["a", "c"], ["b"], ["d"]], {"a": 5, "b": 1, "c": 5, "d": 1}
    )
    plt.close(figure)
    for axes in (left, right):  # a line between the two sets, across and upwards
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines] == [
            (0, 1.5),
            (1.5, 0),
        ]
    assert order.tolist() == [1, 3, 0, 2]  # b, d, a, c
    meetings, state = (np.asarray(axes.images[0].get_array()) for axes in (left, right))
    assert meetings.tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 3], [0, 0, 3, 0]]
    assert state.tolist() == [[0, 0, 2, 0], [0, 0, 0, 0], [2, 0, 0, 1], [0, 0, 1, 0]]
    assert [text.get_text() for text in left.get_legend().get_texts()][1] == "1 to 4"


def test_profiles_show_every_expert_once_and_name_nobody(axes: Axes) -> None:
    table = pd.DataFrame(
        {
            "group": ["alone", "in a group", "in a group"],
            "left out": [True, False, True],
            "agreement": [0.2, 0.9, 0.3],
            "in violation": [12, 0, 4],
        },
        index=[91234, 95678, 97777],
    )
    plots.draw_profiles(axes, table)
    drawn = {part.get_label(): np.asarray(part.get_offsets()).tolist() for part in axes.collections}
    assert drawn == {
        "in a group, in the published counts": [[0.9, 0]],
        "in a group, missing from them": [[0.3, 4]],
        "alone, in the published counts": [],
        "alone, missing from them": [[0.2, 12]],
    }
    counted, *missing = [part for part in axes.collections if len(part.get_offsets())]
    assert to_rgb(counted.get_edgecolor()[0]) == to_rgb(BLUE)
    assert [to_rgb(part.get_facecolor()[0]) for part in missing] == [to_rgb(ORANGE)] * 2
    filled = {part.get_label(): len(part.get_facecolor()) for part in axes.collections}
    assert [name for name, n in filled.items() if n] == [  # without colours, told by this
        "in a group, missing from them",
        "alone, missing from them",
    ]
    words = " ".join(text.get_text() for text in axes.figure.findobj(mpl.text.Text))
    assert not any(str(name) in words for name in table.index)


def test_likeness_is_a_row_a_kind(axes: Axes) -> None:
    plots.draw_likeness(axes, {"seeds": [0.9, 0.7, np.nan], "splits": [np.nan], "halves": [0.1]})
    assert [label.get_text() for label in axes.get_yticklabels()] == ["halves", "splits", "seeds"]
    rows = [np.asarray(part.get_offsets()).tolist() for part in axes.collections]
    assert [[0.9, 2], [0.7, 2]] in rows
    assert [[pytest.approx(0.8), 2]] in rows  # the mean
    assert [] in rows
