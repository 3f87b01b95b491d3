"""Figures of graded sharing: who shares how much, whether marginals are calibrated, who leads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from siscm.checks import FloatArray
from siscm.contest import GRADED
from siscm.plots import GREY, GROUP_COLOURS, MARKERS, legend_above, log_axis

_LINES = ("-", "--", "-.", ":", (0, (5, 1)))


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
    place = pd.Series(range(len(ordered)), index=ordered.index)
    for i, (name, members) in enumerate(kinds.items()):
        some = ordered.loc[ordered.index.isin(members)]
        middle = some["sharing"]
        axes.errorbar(
            middle,
            place[some.index],
            xerr=np.array([middle - some["low"], some["high"] - middle]),
            fmt=MARKERS[i],
            color=GROUP_COLOURS[i],
            capsize=3,
            label=name,
        )
    few = len(ordered) <= 20
    axes.set_yticks(range(len(ordered)) if few else [], ordered.index if few else [])
    axes.set_xlim(0, 1)
    axes.set_xlabel("sharing of the noise of her group", fontsize=10)
    axes.set_ylim(-0.6, len(ordered) - 0.4)
    axes.grid(axis="y", visible=False)
    legend_above(axes, 3)


def draw_calibration(axes: Axes, tables: Mapping[str, pd.DataFrame], least: int = 20) -> None:
    """How often what was called likely was said, a line each table.

    Parameters
    ----------
    tables
        Names, and tables as from :func:`siscm.calibration.calibration`.
    least
        Bins with fewer probabilities are left out.
    """
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.5)
    for i, (name, table) in enumerate(tables.items()):
        some = table[table["n"] >= least]
        axes.plot(
            some["probability"],
            some["said"],
            marker=MARKERS[i],
            color=GROUP_COLOURS[i],
            label=name,
        )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_xlabel("probability given to a label", fontsize=10)
    axes.set_ylabel("how often it was said", fontsize=10)
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
        best = int(np.argmax(values))
        axes.plot(sharing, values, color=GROUP_COLOURS[i], linestyle=_LINES[i], label=name)
        axes.plot(sharing[best], values[best], MARKERS[i], color=GROUP_COLOURS[i])
    axes.set_xlim(0, 1)
    axes.set_xlabel(r"sharing $\lambda$", fontsize=10)
    axes.set_ylabel("log-likelihood", fontsize=10)
    legend_above(axes, 1)


def draw_found(axes: Axes, sweep: pd.DataFrame) -> None:
    """How well planted groups are found, a line each rule: mean and range over repeats.

    Parameters
    ----------
    sweep
        Rows of :func:`siscm.graded_sweep.graded_sweep` of one sparsity, with a column ``line`` that
        names the line.
    """
    for i, (name, part) in enumerate(sweep.groupby("line", sort=False)):
        ari = part.groupby("m")["ari"]
        mean = ari.mean()
        axes.errorbar(
            mean.index,
            mean,
            yerr=np.array([mean - ari.min(), ari.max() - mean]),
            marker=MARKERS[i],
            color=GROUP_COLOURS[i],
            linestyle=_LINES[i],
            capsize=2,
            label=name,
        )
    log_axis(axes, sweep["m"])
    axes.set(ylim=(-0.05, 1.05))
    axes.set_xlabel("training instances $m$", fontsize=10)
    axes.set_ylabel("adjusted Rand index", fontsize=10)


def draw_lead(axes: Axes, standings: pd.DataFrame, most: float = 0.1) -> None:
    """By how much every method's log-loss is above that of graded sharing, with 95 % intervals.

    Parameters
    ----------
    standings
        As from :func:`siscm.contest.standings`, of one weight.
    most
        Where the axis ends; methods beyond it get an arrow and their number.
    """
    others = standings[standings.index != GRADED].sort_values("log_loss_more")
    axes.axvline(0, color=GREY, linestyle=":", linewidth=1.5)
    for place, (_, row) in enumerate(others.iterrows()):
        more = row["log_loss_more"]
        if more > most:
            axes.annotate(
                f"{more:.2f}",
                (most, place),
                (most * 0.8, place),
                arrowprops={"arrowstyle": "->", "color": GROUP_COLOURS[0]},
                va="center",
                fontsize=9,
            )
            continue
        ends = [[more - row["log_loss_more_low"]], [row["log_loss_more_high"] - more]]
        axes.errorbar(more, place, xerr=ends, fmt="o", color=GROUP_COLOURS[0], capsize=3)
    axes.set_yticks(range(len(others)), others.index)
    axes.set_ylim(-0.6, len(others) - 0.4)
    axes.set_xlim(right=most)
    axes.set_xlabel(f"log-loss above that of {GRADED}", fontsize=10)
    axes.grid(axis="y", visible=False)
