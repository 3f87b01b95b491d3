"""Figures of the audit: rivals, shared images, who met whom, who is alone, and stability."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from siscm.checks import IntArray
from siscm.cifar10h.agreement import ALONE, GROUPED
from siscm.compendium.plots import (
    ALIKE,
    APART,
    BLUE,
    GREY,
    ORANGE,
    draw_square,
    legend_above,
    name_rows,
)
from siscm.evaluation import SCENARIOS
from siscm.graph import SimilarityGraph
from siscm.partition import group_of

_MARKS = dict(zip(SCENARIOS, (("o", "black"), ("^", BLUE), ("v", ORANGE)), strict=True))
_MOST = (0, 4, 49)  # meetings in each shade but the last
_MEETINGS = {
    "never": "#ffffff",
    "1 to 4": "#cfe3f1",
    "5 to 49": "#6fb0d9",
    "50 and more": "#014e7f",
}
_STATES = {"neither": "#f2f2f2", "in one group": ALIKE, "in violation": APART}


def draw_rivals(axes: Axes, accuracy: pd.DataFrame) -> None:
    """Accuracy of every rule in the three scenarios, the most accurate on all pairs on top.

    Parameters
    ----------
    accuracy
        As from :meth:`siscm.cifar10h.experiment.Experiment.accuracy`.
    """
    ordered = accuracy.sort_values(SCENARIOS[0])
    places = np.arange(len(ordered))
    axes.hlines(places, ordered.min(axis=1), ordered.max(axis=1), color="#cccccc", zorder=1)
    for scenario, (marker, colour) in _MARKS.items():
        axes.scatter(
            ordered[scenario], places, marker=marker, color=colour, s=55, label=scenario, zorder=2
        )
    name_rows(axes, ordered.index)
    axes.set(xlim=(0, 1), xlabel="accuracy")
    axes.legend(loc="lower center", bbox_to_anchor=(0.3, 1), ncols=2, frameon=False)


def draw_shared(left: Axes, right: Axes, shared: pd.Series[int], chance: pd.Series[float]) -> None:
    """How many images two annotators share, beside what random images for each would give.

    Parameters
    ----------
    left, right
        For as many images as are shared by chance, and a few more; and for the others. They have
        one vertical axis.
    shared
        Pairs of annotators by images shared, as in :class:`siscm.cifar10h.image_sets.HiddenSets`.
    chance
        The same, expected if everybody saw images drawn for her alone.
    """
    images, pairs = shared.index.to_numpy(), shared.to_numpy()
    kept = chance[chance >= 1]
    border = 1.5 * kept.index.max() + 0.5
    most = 1.1 * max(border, images.max(), chance.index.max())
    for axes, limits in ((left, (-0.6, border)), (right, (border, most))):
        here = (images > limits[0]) & (images < limits[1])
        width = 0.9 if axes is left else (most - border) / 25  # else it could not be seen
        axes.bar(images[here], pairs[here], width, color=BLUE, label="in this file")
        axes.set(yscale="log", xlim=limits)
    left.plot(
        kept.index, kept, color=ORANGE, linewidth=2.5, linestyle="--", label="if drawn for each"
    )
    left.set(xlabel="images that two annotators share", ylabel="pairs of annotators")
    right.set_xlabel("and beyond")
    legend_above(left, 2, fontsize=None)


def draw_meetings(
    left: Axes,
    right: Axes,
    graph: SimilarityGraph,
    found: Sequence[Sequence[Hashable]],
    set_of: Mapping[Hashable, int],
) -> IntArray:
    """Every pair of experts, ordered by image set: how often they met, and what was made of it.

    Parameters
    ----------
    left, right
        For the meetings, and for groups and violations.
    graph, found
        Of training opinions, and the partition by expert ids.
    set_of
        The image set of each expert.

    Returns
    -------
    array
        The order: positions of experts by image set, then by group.
    """
    number = np.array([set_of[expert] for expert in graph.experts])
    group = group_of(found, graph.experts)
    order = np.lexsort((group, number))
    square = np.ix_(order, order)
    meetings = np.digitize(graph.together[square], _MOST, right=True)
    same = (group[:, None] == group)[square] & ~np.eye(len(order), dtype=bool)
    state = np.where(graph.violations[square] > 0, 2, np.where(same, 1, 0))
    draw_square(left, meetings, _MEETINGS, ncols=2, title="images judged by both")
    draw_square(right, state, _STATES, ncols=2, title="what came of it")
    borders = np.flatnonzero(np.diff(number[order])) + 0.5
    for axes in (left, right):
        axes.set_xlabel("experts; lines part image sets")
        for draw in (axes.axhline, axes.axvline):
            for border in borders:
                draw(border, color="black", linewidth=0.4)
    return order


def draw_profiles(axes: Axes, profiles: pd.DataFrame) -> None:
    """Experts by agreement with others and by violations; nobody is named.

    Parameters
    ----------
    profiles
        As from :func:`siscm.cifar10h.agreement.profiles`.
    """
    kinds = (
        (False, BLUE, "none", "in the published counts"),
        (True, "white", ORANGE, "missing from them"),
    )
    for group, marker, size in ((GROUPED, "o", 26), (ALONE, "s", 60)):
        for missing, edge, face, words in kinds:
            kept = profiles[(profiles["group"] == group) & (profiles["left out"] == missing)]
            axes.scatter(
                kept["agreement"],
                kept["in violation"],
                marker=marker,
                s=size,
                facecolor=face,
                edgecolor=edge,
                linewidth=1,
                label=f"{group}, {words}",
            )
    axes.set(
        xlim=(0, 1.02),
        xlabel="agreement with others on the same images",
        ylabel="experts in violation with her",
    )
    axes.margins(y=0.08)
    legend_above(axes, 2)


def draw_likeness(axes: Axes, likeness: Mapping[str, Any]) -> None:
    """How alike partitions are (adjusted Rand index), a row a kind of comparison.

    Parameters
    ----------
    likeness
        For each kind, the values; NaN is left out.
    """
    names = list(likeness)[::-1]
    for place, name in enumerate(names):
        values = pd.Series(likeness[name], dtype=np.float64).dropna()
        rows = np.full(len(values), place)
        axes.scatter(values, rows, s=55, facecolor="none", edgecolor=BLUE, zorder=2)
        axes.scatter(values.mean(), place, marker="|", s=420, color=ORANGE, linewidth=3)
    axes.axvline(0, color=GREY, linestyle=":")
    name_rows(axes, names)
    axes.set(xlim=(-0.15, 1.05), xlabel="adjusted Rand index (0, as by chance; 1, the same)")
