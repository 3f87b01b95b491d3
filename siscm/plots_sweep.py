"""Figures of the synthetic sweep: the paper's three panels, and its claim, every run a point."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from siscm.plots import GREY, GROUP_COLOURS, MARKERS, log_axis
from siscm.sweep_figures import THRESHOLD, cells


def draw_sweep(axes: Axes, runs: pd.DataFrame, column: str) -> None:
    """One panel of the paper's figure: mean and standard deviation over m, a line each s.

    Parameters
    ----------
    runs
        As from :func:`siscm.sweep.sweep`.
    column
        Which of its columns.
    """
    mean, spread = cells(runs)[column].unstack("s"), cells(runs, "std")[column].unstack("s")
    for i, s in enumerate(mean.columns):
        axes.errorbar(
            mean.index,
            mean[s],
            spread[s],
            color=GROUP_COLOURS[i],
            marker=MARKERS[i],
            markersize=5,
            capsize=2,
            linewidth=1.3,
            label=f"s = {s:g}",
        )
    axes.set_xlabel("training instances $m$")
    log_axis(axes, mean.index)
    axes.tick_params(axis="x", labelsize=9)


def draw_baselines(axes: Axes, runs: pd.DataFrame) -> list[Line2D]:
    """The 0/1 losses that do not hang on m: of the true groups, and of everybody alone."""
    return [
        axes.axhline(runs[column].mean(), color="black", linestyle=style, linewidth=1, label=words)
        for column, style, words in (
            ("zero_one_singletons", "--", "everybody alone"),
            ("zero_one_true", "-", "true groups"),
        )
    ]


def draw_claim(all_axes: Sequence[Axes], runs: pd.DataFrame) -> None:
    """The claim, every run a point: ARI, and what is lost by the groups found, by edge ratio.

    Parameters
    ----------
    all_axes
        Two: for the ARI and for the 0/1 loss above that with the true groups.
    runs
        As from :func:`siscm.sweep.sweep`.
    """
    lost = runs["zero_one_fitted"] - runs["zero_one_true"]
    for axes, values, words in zip(
        all_axes, (runs["ari"], lost), ("ARI", "0/1 loss above true groups'"), strict=True
    ):
        axes.axvline(THRESHOLD, color=GREY, linestyle=":", linewidth=1.5)
        for i, (s, part) in enumerate(runs.groupby("s")):
            axes.plot(
                part["edge_ratio"],
                values[part.index],
                MARKERS[i],
                color=GROUP_COLOURS[i],
                markersize=5,
                alpha=0.7,
                label=f"s = {s:g}",
            )
        axes.set(xlabel="edge ratio $r$", ylabel=words, xlim=(-0.02, 1.02))
