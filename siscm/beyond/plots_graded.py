"""Figures of graded sharing: who shares how much, whether marginals are calibrated, who leads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from siscm.beyond.contest import GRADED
from siscm.checks import FloatArray
from siscm.compendium.plots import (
    BLUE,
    GREY,
    draw_line,
    legend_above,
    log_axis,
    name_axes,
    name_rows,
)

_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))


def draw_sharing(axes: Axes, sharing: pd.DataFrame, kinds: Mapping[str, list[str]]) -> None:
    """Each expert's sharing and its interval, the most sharing at the top.

    Parameters
    ----------
    sharing
        As ``GradedSISCM.sharing_``.
    kinds
        Names of kinds of experts, and who is of each; one look a kind.
    """
    ordered = sharing.sort_values("sharing", na_position="first")
    rows = ordered.reset_index(drop=True)
    for i, (name, members) in enumerate(kinds.items()):
        some = rows[ordered.index.isin(members)]
        ends = some["low"], some["high"]
        draw_line(axes, some["sharing"], i, name, ends, across=True, linestyle="none")
    name_rows(axes, ordered.index)
    if len(ordered) > 20:
        axes.set_yticks([])
    axes.set_xlim(0, 1)
    name_axes(axes, "sharing of the noise of her group")
    legend_above(axes, 3)


def draw_calibration(axes: Axes, tables: Mapping[str, pd.DataFrame], least: int = 20) -> None:
    """How often what was called likely was said, a line each table.

    Parameters
    ----------
    tables
        Names, and tables as from :func:`siscm.beyond.calibration.calibration`.
    least
        Bins with fewer probabilities are left out.
    """
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.5)
    for i, (name, table) in enumerate(tables.items()):
        some = table[table["n"] >= least].set_index("probability")
        draw_line(axes, some["said"], i, name)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    name_axes(axes, "probability given to a label", "how often it was said", percent="xy")
    legend_above(axes, 2)


def draw_evidence(axes: Axes, sharing: FloatArray, pairs: Mapping[str, FloatArray]) -> None:
    r"""What pairs of experts say about their sharing: log-likelihoods over :math:`\lambda`.

    Parameters
    ----------
    sharing
        Values of :math:`\lambda` (n,).
    pairs
        Names of pairs, and the log-likelihoods (n,) of each, beside that of strangers.
    """
    axes.axhline(0, color=GREY, linestyle=":", linewidth=1.5)
    for i, (name, values) in enumerate(pairs.items()):
        best = [int(np.argmax(values))]
        line = pd.Series(values, sharing)
        draw_line(axes, line, i, name, linestyle=_LINES[i], markevery=best)
    axes.set_xlim(0, 1)
    name_axes(axes, r"sharing $\lambda$", "log-likelihood above that of strangers")
    legend_above(axes, 1)


def draw_found(axes: Axes, sweep: pd.DataFrame) -> None:
    """How well planted groups are found, a line each rule: mean and range over repeats.

    Parameters
    ----------
    sweep
        Rows of :func:`siscm.beyond.graded_sweep.graded_sweep` of one sparsity, with a column
        ``line`` that names the line.
    """
    for i, (name, part) in enumerate(sweep.groupby("line", sort=False)):
        ari = part.groupby("m")["ari"]
        look: dict[str, Any] = {"linestyle": _LINES[i], "markersize": 12 - 2 * i}
        draw_line(axes, ari.mean(), i, name, (ari.min(), ari.max()), fillstyle="none", **look)
    log_axis(axes, sweep["m"])
    axes.set(ylim=(-0.05, 1.05))
    name_axes(axes, "training instances $m$", "adjusted Rand index")


def draw_lead(axes: Axes, standings: pd.DataFrame, most: float = 0.1) -> None:
    """By how much every method's log-loss is above that of graded sharing, the best on top.

    Parameters
    ----------
    standings
        As from :func:`siscm.beyond.contest.standings`, of one weight; intervals are of 95 %.
    most
        Methods beyond it get an arrow and their number; the axis ends there, or where the last
        interval of the others does.
    """
    others = standings[standings.index != GRADED].sort_values("log_loss_more", ascending=False)
    axes.axvline(0, color=GREY, linestyle=":", linewidth=1.5)
    rows = others.reset_index(drop=True)
    beyond = rows["log_loss_more"] > most
    near, far = rows[~beyond], rows[beyond]
    ends = near["log_loss_more_low"], near["log_loss_more_high"]
    draw_line(axes, near["log_loss_more"], 0, ends=ends, across=True, linestyle="none")
    right = np.nanmax([most, *1.03 * ends[1]])
    arrow = {"arrowstyle": "->", "color": BLUE}
    for place, more in far["log_loss_more"].items():
        tip, text = (right, place), (right * 0.8, place)
        axes.annotate(f"{more:.2f}", tip, text, arrowprops=arrow, va="center", fontsize=9)
    name_rows(axes, others.index)
    axes.set_xlim(right=right)
    name_axes(axes, f"log-loss above that of {GRADED}")
