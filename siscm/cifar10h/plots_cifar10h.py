"""Figures about the data of CIFAR-10H: agreement, disputed images, filter, features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.cifar10h.cifar10_images import ImageArray
from siscm.cifar10h.counts import CLASSES
from siscm.cifar10h.plots_experiment import draw_matrix
from siscm.cifar10h.published import per_mille
from siscm.compendium.plots import BLUE, GREY, ORANGE, PALE, legend_above

ANIMALS = ("bird", "cat", "deer", "dog", "frog", "horse")
"""The classes that are animals; the others are vehicles."""


def draw_shares(axes: Axes, images: pd.Series[int]) -> None:
    """How many images have how large a share of people who gave the most frequent label.

    Parameters
    ----------
    images
        By range, the largest share last, as from :func:`siscm.cifar10h.published.images_by_share`.
    """
    colours = [ORANGE] * (len(images) - 1) + [BLUE]
    bars = axes.barh(images.index, images, color=colours, edgecolor="black", linewidth=0.6)
    axes.bar_label(bars, [f"{n:,}" for n in images], padding=3, fontsize=10)
    axes.set(xlabel="images", ylabel="share that gave\nthe most frequent label")
    axes.margins(x=0.17, y=0.02)


def draw_histogram(
    axes: Axes,
    values: pd.Series[float],
    edges: npt.ArrayLike,
    *,
    marked: pd.Series[bool] | None = None,
    names: tuple[str, str] = ("", ""),
) -> None:
    """How many people have a value in each range, on a logarithmic scale: one is seen as well.

    Parameters
    ----------
    values
        One a person.
    edges
        Of the ranges.
    marked
        Whether a person is one of those to be drawn in a bar of their own, on top of the others.
    names
        Of the others, and of those marked.
    """
    bins: list[float] = np.asarray(edges, dtype=np.float64).tolist()
    style: dict[str, Any] = {"rwidth": 1, "edgecolor": "black", "linewidth": 0.6}
    if marked is None:
        axes.hist(values, bins, color=BLUE, **style)
    else:
        parts, colours = [values[~marked], values[marked]], [BLUE, ORANGE]
        axes.hist(parts, bins, color=colours, label=names, stacked=True, **style)
        for bar in axes.containers[-1]:
            bar.set_hatch("//")
        legend_above(axes, 2, fontsize=None)
    axes.set_yscale("log")
    axes.set(xlim=(bins[0], bins[-1]), ylim=(0.6, None), ylabel="annotators (log scale)")


def draw_gallery(figure: Figure, counts: pd.DataFrame, pictures: ImageArray | None) -> None:
    """Images that people disagree about: the labels given, and the image where there is one.

    Parameters
    ----------
    counts
        (n, 10), a row an image: how many people gave each label. The four most frequent are drawn.
    pictures
        (n, 32, 32, 3) in the same order, or None.
    """
    wide = 1 if pictures is None else 2
    grid = figure.subplots(
        -(-len(counts) // 2),
        2 * wide,
        squeeze=False,
        gridspec_kw={"width_ratios": [1, 1.25] * 2 if wide == 2 else [1, 1]},
    )
    cells = grid.reshape(-1, wide)
    for axes in cells[len(counts) :].flat:
        axes.set_axis_off()
    for place, ((_, row), cell) in enumerate(zip(counts.iterrows(), cells, strict=False)):
        if pictures is not None:
            cell[0].imshow(pictures[place], interpolation="nearest")
            cell[0].set_axis_off()
        _draw_labels(cell[-1], row)


def _draw_labels(axes: Axes, row: pd.Series[int]) -> None:
    """The most frequent labels of an image as bars, each with its name and number inside."""
    shown = row[row > 0].sort_values(ascending=False, kind="stable").head(4)
    places = np.arange(len(shown))
    colours = [BLUE, *[ORANGE] * 3][: len(shown)]
    axes.barh(places, shown, color=colours, alpha=0.45, height=0.86)
    for place, label, count in zip(places, shown.index.tolist(), shown, strict=True):
        axes.annotate(
            f"{label} {count}", (0, place), (4, 0), textcoords="offset points", va="center"
        )
    axes.set(xlim=(0, row.sum()), ylim=(3.6, -0.6), xticks=[], yticks=[])
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def draw_confusions(axes: Axes, table: pd.DataFrame) -> None:
    """Which labels images of a class are given, per thousand of its row; the class itself grey.

    Parameters
    ----------
    table
        (10, 10) opinions: a row a class, a column the label given.
    """
    share = per_mille(table)
    off = share.mask(np.eye(len(share), dtype=bool))
    draw_matrix(axes, off, share.map("{:.0f}".format), np.nanmax(off))
    axes.set(xlabel="label given, of a thousand", ylabel=str(table.index.name))


def draw_classes(all_axes: Sequence[Axes], points: FloatArray, labels: IntArray) -> None:
    """One small scatter a class: its images in colour, all others grey behind them.

    Parameters
    ----------
    points
        (n, 2).
    labels
        (n,) positions in :data:`siscm.cifar10h.counts.CLASSES`.
    """
    for label, (axes, name) in enumerate(zip(all_axes, CLASSES, strict=True)):
        own: BoolArray = labels == label
        colour, marker = (ORANGE, "^") if name in ANIMALS else (BLUE, "o")
        axes.scatter(points[~own, 0], points[~own, 1], s=3, color=PALE, linewidth=0)
        axes.scatter(points[own, 0], points[own, 1], s=9, color=colour, marker=marker, linewidth=0)
        axes.set(xticks=[], yticks=[])
        axes.set_title(name, fontsize=12)
        axes.spines[:].set_edgecolor(GREY)


def draw_referrals(axes: Axes, factor: FloatArray, learned: FloatArray, truth: float) -> None:
    """What is learned of an expert's habits when hard cases find their way to her.

    Parameters
    ----------
    factor
        How many times likelier a hard case is to reach her.
    learned
        How often she says yes among the cases that reach her.
    truth
        How often she would, were she asked about every case.
    """
    axes.plot(factor, learned, color=ORANGE, linewidth=2.5, label="learned from her cases")
    axes.axhline(truth, color=BLUE, linestyle="--", linewidth=2.5, label="if asked about all")
    axes.set(
        xlabel="how many times likelier a severe case is to reach her",
        ylabel="how often she says yes",
        ylim=(0, 1),
    )
    axes.legend(loc="lower right", frameon=False)
