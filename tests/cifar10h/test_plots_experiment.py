"""The experiment's figures show what they are given."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from siscm.cifar10h import plots_experiment as plots
from siscm.cifar10h.experiment import SMOOTHED
from siscm.cifar10h.rivals import TABLE

mpl.use("agg")

ROOT = Path(__file__).parents[2]


X = pd.Series({"a": 0.12, "b": 0.5, "c": 1.0, "d": 0.0, "e": np.nan, "f": 0.13, "g": 0.7})
Y = pd.Series({"g": 0.3, "f": 0.84, "e": 0.4, "d": 0.0, "c": 1.0, "b": np.nan, "a": 0.81})


def test_every_expert_with_both_accuracies_is_in_one_cell(axes: Axes) -> None:
    cells = plots.count_cells(X, Y)
    assert cells.to_numpy().sum() == 5
    assert cells.loc[0.1, 0.8] == 2
    assert cells.loc[0.95, 0.95] == cells.loc[0.0, 0.0] == cells.loc[0.7, 0.3] == 1
    mesh = plots.draw_per_expert(axes, X, Y, most=4)
    drawn = np.ma.getdata(mesh.get_array()).T
    np.testing.assert_array_equal(drawn, cells)
    assert mesh.get_clim() == (1, 4)  # empty cells are white, not pale
    assert np.ma.getmaskarray(mesh.get_array()).sum() == drawn.size - 4


def test_a_cell_is_drawn_where_its_accuracies_are(axes: Axes) -> None:
    mesh = plots.draw_per_expert(axes, X[["g"]], Y[["g"]], most=1)
    row, column = np.argwhere(~np.ma.getmaskarray(mesh.get_array()))[0]
    corner = np.asarray(mesh.get_coordinates())[row, column]
    assert corner == pytest.approx([0.7, 0.3])
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0, 0], [1, 1]]]


def test_counts_printed_are_those_of_the_sides(axes: Axes) -> None:
    counted = plots.sides(X, Y)
    assert counted == (2, 2, 1)
    plots.draw_per_expert(axes, X, Y, most=4)
    assert [text.get_text() for text in axes.texts] == ["2 above", "1 below\n2 on it"]


def test_nobody_on_the_line_is_not_mentioned(axes: Axes) -> None:
    plots.draw_per_expert(axes, X[["g"]], Y[["g"]], most=1)
    assert [text.get_text() for text in axes.texts] == ["0 above", "1 below"]


def test_group_sizes_are_bars_from_the_largest(axes: Axes) -> None:
    plots.draw_group_sizes(axes, [1, 7, 3, 1])
    assert [bar.get_height() for bar in axes.patches] == [7, 3, 1, 1]
    assert [text.get_text() for text in axes.texts] == ["7", "3", "1", "1"]


def test_confusion_is_drawn_and_large_shares_are_written(axes: Axes) -> None:
    shares = pd.DataFrame(
        [[0.9, 0.06, 0.04], [0.5, 0.5, 0.0], [np.nan] * 3], index=[*"abc"], columns=[*"abc"]
    )
    plots.draw_confusion(axes, shares)
    np.testing.assert_array_equal(np.ma.filled(axes.images[0].get_array(), np.nan), shares)
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written == {(0, 0): "90", (1, 0): "6", (0, 1): "50", (1, 1): "50"}
    assert [label.get_text() for label in axes.get_yticklabels()] == [*"abc"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("inferred", "said")


def test_the_diagram_names_every_model_of_the_experiment() -> None:
    drawn = (ROOT / "book" / "figures" / "models.svg").read_text(encoding="utf-8").lower()
    names = re.findall(r'font-weight="600">([^<]*)<', drawn)
    source = (ROOT / "siscm" / "cifar10h" / "experiment.py").read_text(encoding="utf-8")
    rules = re.search(r"rules: dict\[str, Rule\] = \{(.*?)\n    \}", source, re.DOTALL)
    assert rules
    compared = [name.lower() for name in re.findall(r'^ {8}"([^"]+)":', rules[1], re.MULTILINE)]
    compared += [SMOOTHED.lower(), TABLE]
    assert len(compared) == 10, "a rule more or less: count it here"
    missing = set(compared) - set(names)
    assert sorted(compared) == sorted(set(names) & set(compared)), f"not in models.svg: {missing}"
