"""Figures of whom to ask: one case, the share of cases asked about, promises, and net value."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from siscm.asking import STRATEGIES
from siscm.plots import GREY, GROUP_COLOURS, MARKERS, legend_above
from siscm.worth_asking import ANY, LARGEST


def draw_case(axes: Axes, values: pd.DataFrame) -> None:
    """The chance that the decision on a case is right: now, and after asking each expert.

    Parameters
    ----------
    values
        As from :func:`siscm.asking.value_of_asking`, of one case.
    """
    ordered = values.sort_values("gain")
    place = range(len(ordered))
    now = ordered["sure"].to_numpy()
    axes.hlines(place, now, now + ordered["gain"], color=GROUP_COLOURS[0], linewidth=2)
    axes.plot(now + ordered["gain"], place, "o", color=GROUP_COLOURS[0], label="after asking her")
    axes.axvline(now[0], color=GREY, linestyle=":", linewidth=1.5, label="now")
    axes.set_yticks(place, ordered["expert"].astype(str))
    axes.set_ylim(-0.6, len(ordered) - 0.4)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("chance that the decision is right", fontsize=10)
    axes.grid(axis="y", visible=False)
    legend_above(axes, 2)


def draw_shares(axes: Axes, curve: pd.DataFrame) -> None:
    """How often the decision is right by the share of cases asked about, a line an expert to ask.

    Parameters
    ----------
    curve
        As from :func:`siscm.worth_asking.curve`. Solid, the cases with the largest gain first;
        dotted, random cases and random experts.
    """
    for i, who in enumerate(reversed(STRATEGIES[1:])):
        axes.plot(
            curve.index,
            curve[LARGEST, who],
            marker=MARKERS[i],
            markevery=[-1],
            color=GROUP_COLOURS[i],
            label=who,
        )
    axes.plot(
        curve.index,
        curve[ANY, STRATEGIES[1]],
        color=GREY,
        linestyle=":",
        label="at random, random cases",
    )
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("share of cases asked about", fontsize=10)
    axes.set_ylabel("decision right", fontsize=10)


def draw_promises(axes: Axes, promises: pd.DataFrame) -> None:
    """Gains found by gains promised, with 95 % intervals; on the dotted line they are the same.

    Parameters
    ----------
    promises
        As from :func:`siscm.worth_asking.promises`.
    """
    most = 1.15 * promises["promised"].max()
    axes.plot([0, most], [0, most], color=GREY, linestyle=":", linewidth=1.5)
    found = promises["found"]
    ends = [found - promises["found_low"], promises["found_high"] - found]
    axes.errorbar(
        promises["promised"], found, yerr=ends, fmt="o", color=GROUP_COLOURS[0], capsize=3
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("rise promised", fontsize=10)
    axes.set_ylabel("rise found", fontsize=10)


def draw_net(axes: Axes, net: pd.DataFrame) -> None:
    """What asking brings less its cost, by the cost of an opinion; never asking is the zero line.

    Parameters
    ----------
    net
        As from :func:`siscm.worth_asking.net_value`.
    """
    axes.axhline(0, color=GREY, linestyle=":", linewidth=1.5)
    lines = {
        "net": ("ask where the gain is above the cost", "-"),
        "promised": ("the same, as promised", "--"),
        "always": ("always ask", "-."),
    }
    for i, (column, (name, style)) in enumerate(lines.items()):
        colour = GROUP_COLOURS[0 if i < 2 else 1]
        axes.plot(net.index, net[column], linestyle=style, color=colour, label=name)
    top = max(net["net"].max(), net["promised"].max())
    axes.set_ylim(-top, 1.2 * top)
    axes.set_xlabel("cost of an opinion (a wrong decision: 1)", fontsize=10)
    axes.set_ylabel("net value a case", fontsize=10)
