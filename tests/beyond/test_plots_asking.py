"""Figures of whom to ask show what their tables say."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from test_worth_asking import by_hand

from siscm.asking import STRATEGIES
from siscm.beyond import plots_asking
from siscm.beyond.worth_asking import ANY, LARGEST, curve, net_value, promises


def test_a_case(axes: Axes) -> None:
    values = pd.DataFrame({"expert": ["Ann", "Bob"], "sure": [0.6, 0.6], "gain": [0.2, 0.05]})
    plots_asking.draw_case(axes, values)
    dots, now = axes.lines
    np.testing.assert_allclose(dots.get_xdata(), [0.65, 0.8])
    assert now.get_xdata()[0] == 0.6
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["Bob", "Ann"]


def test_shares(axes: Axes) -> None:
    table = curve(by_hand(), [0, 0.5, 1])
    plots_asking.draw_shares(axes, table)
    lines = {line.get_label(): line for line in axes.lines}
    assert len(lines) == 6
    for who in STRATEGIES[1:]:
        np.testing.assert_allclose(lines[who].get_ydata(), table[LARGEST, who])
    dotted = lines["at random, random cases"]
    assert dotted.get_linestyle() == ":"
    np.testing.assert_allclose(dotted.get_ydata(), table[ANY, "at random"])


def test_promises(axes: Axes) -> None:
    table = promises(by_hand())
    plots_asking.draw_promises(axes, table)
    diagonal = axes.lines[0]
    np.testing.assert_allclose(diagonal.get_xdata(), diagonal.get_ydata())
    (dots,) = (line for line in axes.lines if line.get_marker() == "o")
    np.testing.assert_allclose(dots.get_ydata().astype(float), table["found"])


def test_net_value(axes: Axes) -> None:
    table = net_value(by_hand())
    plots_asking.draw_net(axes, table)
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["always ask"].get_ydata(), table["always"])
    np.testing.assert_allclose(
        lines["ask where the gain is above the cost"].get_ydata(), table["net"]
    )
    low, high = axes.get_ylim()
    assert low < 0 < table["net"].max() < high
