"""Figures of whom to ask: one case, the share of cases asked about, promises, and net value."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from siscm.asking import STRATEGIES
from siscm.beyond.worth_asking import ANY, LARGEST
from siscm.compendium.plots import BLUE, GREY, ORANGE, draw_line, legend_above, name_axes, name_rows


def draw_case(axes: Axes, values: pd.DataFrame) -> None:
    """The chance that the decision on a case is right: now, and after asking each expert.

    Parameters
    ----------
    values
        As from :func:`siscm.asking.value_of_asking`, of one case.
    """
    ordered = values.sort_values("gain")
    place, now = range(len(ordered)), ordered["sure"].to_numpy()
    axes.hlines(place, now, now + ordered["gain"], color=BLUE, linewidth=2)
    axes.plot(now + ordered["gain"], place, "o", color=BLUE, label="after asking her")
    axes.axvline(now[0], color=GREY, linestyle=":", linewidth=1.5, label="now")
    name_rows(axes, ordered["expert"])
    name_axes(axes, "chance that the decision is right", percent="x")
    legend_above(axes, 2)


def draw_shares(axes: Axes, curve: pd.DataFrame) -> None:
    """How often the decision is right by the share of cases asked about, a line an expert to ask.

    Parameters
    ----------
    curve
        As from :func:`siscm.beyond.worth_asking.curve`. Solid, the cases with the largest gain
        first; dotted, random cases and random experts.
    """
    for i, who in enumerate(reversed(STRATEGIES[1:])):
        draw_line(axes, curve[LARGEST, who], i, who, markevery=(i, 4))
    axes.plot(curve[ANY, STRATEGIES[1]], ":", color=GREY, label="at random, random cases")
    name_axes(axes, "share of cases asked about", "decision right", percent="xy")


def draw_promises(axes: Axes, promises: pd.DataFrame) -> None:
    """Gains found by gains promised, with 95 % intervals; on the dotted line they are the same.

    Parameters
    ----------
    promises
        As from :func:`siscm.beyond.worth_asking.promises`.
    """
    most = 1.15 * promises["promised"].max()
    axes.plot([0, most], [0, most], color=GREY, linestyle=":", linewidth=1.5)
    by = promises.set_index("promised")
    draw_line(axes, by["found"], 0, ends=(by["found_low"], by["found_high"]), linestyle="none")
    name_axes(axes, "rise promised", "rise found", percent="xy")


def draw_net(axes: Axes, net: pd.DataFrame) -> None:
    """What asking brings less its cost, by the cost of an opinion; never asking is the zero line.

    Parameters
    ----------
    net
        As from :func:`siscm.beyond.worth_asking.net_value`.
    """
    net = net.round(6)  # beyond that a fit's digits move with the processor, and so would pixels
    axes.axhline(0, color=GREY, linestyle=":", linewidth=1.5)
    axes.plot(net["net"], "-", color=BLUE, label="ask where the gain is above the cost")
    axes.plot(net["promised"], "--", color=BLUE, label="the same, as promised")
    axes.plot(net["always"], "-.", color=ORANGE, label="always ask")
    top = max(net["net"].max(), net["promised"].max())
    axes.set_ylim(-top, 1.2 * top)
    name_axes(axes, "cost of an opinion (a wrong decision: 1)", "net value a case")
