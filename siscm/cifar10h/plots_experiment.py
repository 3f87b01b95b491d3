"""Figures of the paper's experiment: experts by accuracy, group sizes, confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patheffects import withStroke

from siscm.compendium.plots import BLUE, ORANGE, PALE

CELL = 0.05
"""Side of a cell of the two-dimensional histograms."""

WRITTEN = 0.05
"""Least share that a confusion matrix writes out."""

_DARKER = LinearSegmentedColormap.from_list("darker", colormaps["Blues"](np.linspace(0.25, 1, 256)))


def sides(x: pd.Series[float], y: pd.Series[float]) -> tuple[int, int, int]:
    """How many experts have the higher accuracy in ``y``, in neither, and in ``x``."""
    x, y = x.align(y)
    return int((y > x).sum()), int((y == x).sum()), int((y < x).sum())


def draw_per_expert(axes: Axes, x: pd.Series[float], y: pd.Series[float], most: int) -> QuadMesh:
    """Experts by two accuracies: a two-dimensional histogram, as in the paper.

    Parameters
    ----------
    x, y
        Accuracies in [0, 1], indexed by expert; who lacks one of the two is left out.
    most
        Number of experts drawn darkest: the same in panels that are to be compared.

    Returns
    -------
    QuadMesh
        The cells, for a colour bar.
    """
    cells = count_cells(x, y)
    edges = np.append(cells.index, 1.0)
    mesh = axes.pcolormesh(
        edges,
        edges,
        np.ma.masked_equal(cells.to_numpy().T, 0),
        cmap=_DARKER,
        vmin=1,
        vmax=max(most, 2),
    )
    axes.plot([0, 1], [0, 1], color=ORANGE, linewidth=1.5, linestyle="--")
    above, on, below = sides(x, y)
    style: dict[str, Any] = {
        "transform": axes.transAxes,
        "fontsize": 10,
        "fontweight": "bold",
        # Legible on a dark cell too.
        "path_effects": [withStroke(linewidth=3, foreground="white")],
    }
    axes.text(0.04, 0.96, f"{above} above", va="top", **style)
    rest = f"{below} below" + (f"\n{on} on it" if on else "")
    axes.text(0.96, 0.04, rest, ha="right", va="bottom", **style)
    ticks = [0, 0.5, 1]
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks, aspect="equal")
    return mesh


def count_cells(x: pd.Series[float], y: pd.Series[float]) -> pd.DataFrame:
    """Number of experts in each cell: rows are cells of ``x``, columns of ``y``, by lower edge."""
    both = pd.concat([x, y], axis=1, keys=["x", "y"]).dropna()
    # Rounded, so that an accuracy of 0.7 lies in the cell that begins with 0.7.
    edges = np.linspace(0, 1, round(1 / CELL) + 1).round(6)
    counts, _, _ = np.histogram2d(both["x"], both["y"], bins=(edges, edges))
    return pd.DataFrame(counts.astype(int), index=edges[:-1], columns=edges[:-1])


def draw_group_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    """One bar a group, the largest first, with its number of experts."""
    ordered = sorted(sizes, reverse=True)
    place = np.arange(1, len(ordered) + 1)
    bars = axes.bar(place, ordered, color=BLUE, edgecolor="black", linewidth=0.6)
    axes.bar_label(bars, padding=2, fontsize=10)
    axes.set(xlabel="group, the largest first", ylabel="experts", xticks=place)
    axes.margins(y=0.12)
    if len(ordered) > 20:
        axes.set_xticks([1, len(ordered)])


def draw_confusion(axes: Axes, shares: pd.DataFrame) -> None:
    """A confusion matrix: of what was really said, how much was inferred as what.

    Shares from :data:`WRITTEN` on are written into their cells, in percent.

    Parameters
    ----------
    shares
        From :func:`siscm.evaluation.confusion`: rows sum to 1.
    """
    draw_matrix(axes, shares, (100 * shares).map("{:.0f}".format).where(shares >= WRITTEN, ""), 1)
    axes.tick_params(labelsize=9)
    axes.set(xlabel="inferred", ylabel="said")


def draw_matrix(axes: Axes, shades: pd.DataFrame, words: pd.DataFrame, most: float) -> None:
    """A table as a square of blue shades, pale grey where there is none, with words in its cells.

    Parameters
    ----------
    shades
        From 0 to ``most``, or NaN.
    words
        Of the same shape.
    most
        Where the scale of shades ends.
    """
    values = shades.to_numpy(dtype=np.float64)
    axes.imshow(values, cmap=colormaps["Blues"].with_extremes(bad=PALE), vmin=0, vmax=most)
    for (row, column), word in np.ndenumerate(words.to_numpy()):
        colour = "white" if values[row, column] > 0.65 * most else "black"
        if word:
            axes.text(column, row, word, ha="center", va="center", fontsize=9, color=colour)
    axes.set_xticks(range(shades.shape[1]), shades.columns, rotation=90)
    axes.set_yticks(range(shades.shape[0]), shades.index)
    axes.grid(False)
