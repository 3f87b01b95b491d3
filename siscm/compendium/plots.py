"""Figures that show the method's parts: noise, law, graph, algorithm, second opinions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.markers import CARETDOWN, CARETUP, MarkerStyle
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, StrMethodFormatter

from siscm.checks import FloatArray, IntArray
from siscm.graph import SimilarityGraph
from siscm.partition import Step

BLUE, ORANGE, GREY, PALE = "#0173b2", "#de8f05", "#8c8c8c", "#d9d9d9"
"""Colours that survive colour blindness; lines and marks also differ in shape or place."""

ALIKE, APART = "#9fd0ee", "#9a4a00"
"""Of cells that fill an area: pale and dark, so that grey print keeps them apart, too."""

GROUP_COLOURS = (BLUE, ORANGE, "#029e73", "#cc78bc", "#ca9161", "#56b4e9")
LINE_COLOURS, MARKERS = (*GROUP_COLOURS, "black"), "osD^vPx"
"""The looks of lines; the last, in black, is for what the others are held against."""


def log_axis(axes: Axes, values: Iterable[float]) -> None:
    """A logarithmic horizontal axis, marked at these values and nowhere else."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sorted(set(values))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def legend_above(axes: Axes, ncols: int, fontsize: float | None = 9, **more: Any) -> None:
    """What each mark is, above the panel; by default in small print."""
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=ncols,
        frameon=False,
        fontsize=fontsize,
        **more,
    )


def draw_line(
    axes: Axes,
    y: pd.Series[Any],
    i: int,
    name: object = None,
    ends: Sequence[pd.Series[Any]] | None = None,
    across: bool = False,
    **look: Any,
) -> None:
    """Values over their index in the i-th look, -1 for the last; bars between lower and upper ends.

    Parameters
    ----------
    y
        Values; their index says where they stand.
    i, name
        Which look the line has, and what the legend calls it.
    ends
        The lower and upper ends of intervals, drawn as bars.
    across
        Whether the index goes up, as that of rows, and the values to the right.
    **look
        What Matplotlib's ``Axes.plot`` takes besides.
    """
    usual: dict[str, Any] = {"color": LINE_COLOURS[i], "marker": MARKERS[i], "markersize": 6}
    usual |= {"label": name} | look
    x, up = (y.to_numpy(), y.index) if across else (y.index, y.to_numpy())
    if ends is None:
        axes.plot(x, up, **usual)
    else:  # the mean of equal values may differ from them by rounding
        bars = np.clip([y - ends[0], ends[1] - y], 0, None)
        usual |= {"xerr" if across else "yerr": bars, "capsize": 3}
        axes.errorbar(x, up, **usual)


def finish_lines(axes: Axes, x: str, y: str, percent: str = "", ncols: int = 3) -> None:
    """:func:`name_axes`; horizontal grid lines only, and above the panel what each line is."""
    name_axes(axes, x, y, percent)
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", color="#e5e5e5")
    axes.grid(axis="x", visible=False)
    legend_above(axes, ncols)


def name_axes(axes: Axes, x: str, y: str = "", percent: str = "") -> None:
    """What the axes show, in small print; ``"x"``, ``"y"`` or both of them in percent."""
    axes.set_xlabel(x, fontsize=10)
    axes.set_ylabel(y, fontsize=10)
    for which in percent:
        words = FuncFormatter(lambda x, _: f"{100 * x:.6g} %".replace("-", "\N{MINUS SIGN}"))
        getattr(axes, f"{which}axis").set_major_formatter(words)


def name_rows(axes: Axes, names: Iterable[Hashable]) -> None:
    """A row each name, from below, and lines from row to row only."""
    words = [str(name) for name in names]
    axes.set_yticks(range(len(words)), words, parse_math=False)  # a name may hold "$"
    axes.set_ylim(-0.6, len(words) - 0.4)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")


def draw_pull(axes: Axes, cases: pd.DataFrame, observed: str, target: str) -> None:
    """How one opinion moves what is expected of another expert, case by case.

    Parameters
    ----------
    cases
        A row a case: ``before`` and ``after`` (probability that the target says yes, without and
        with the opinion observed), ``said`` and ``truth`` (True for yes).
    observed, target
        Names of the two experts.
    """
    ordered = cases.sort_values(["before", "after"], ignore_index=True)
    for said, colour, word in ((True, ORANGE, "yes"), (False, BLUE, "no")):
        part = ordered[ordered["said"] == said]
        axes.hlines(part.index, part["before"], part["after"], color=colour, linewidth=2)
        for truth, marker, face in ((True, "s", colour), (False, "o", "white")):
            kept = part[part["truth"] == truth]
            axes.scatter(
                kept["after"],
                kept.index,
                marker=marker,
                s=46,
                facecolor=face,
                edgecolor=colour,
                zorder=3,
                label=f"{observed} said {word}, {target} {'yes' if truth else 'no'}",
            )
    axes.scatter(
        ordered["before"], ordered.index, marker="|", s=70, color="black", label="before asking"
    )
    axes.set(
        xlim=(-0.02, 1.02),
        yticks=[],
        xlabel=f"probability that {target} says yes",
        ylabel="cases, by what was expected before",
    )
    legend_above(axes, 3, fontsize=10)


def draw_shared_noise(
    all_axes: Sequence[Axes], marginals: FloatArray, noise: FloatArray, titles: Sequence[str]
) -> None:
    """Each expert's log-marginals, lifted by noise; the highest label is what she says."""
    labels = np.arange(marginals.shape[1])
    for axes, p, u, title in zip(all_axes, marginals, noise, titles, strict=True):
        start, end = np.log(p), np.log(p) + u
        says = int(end.argmax())
        axes.scatter(labels, start, marker="o", facecolor="white", edgecolor="black", zorder=3)
        colours = np.where(labels == says, ORANGE, GREY)
        axes.vlines(labels, start, end, color=colours, linewidth=np.where(labels == says, 4.0, 1.8))
        for kept, tip in ((u > 0, CARETUP), (u <= 0, CARETDOWN)):  # placed by their tips
            look = MarkerStyle(tip)
            axes.scatter(labels[kept], end[kept], marker=look, s=70, c=colours[kept])
        axes.annotate(
            f"says {says}", (says, end[says]), (0, 10), textcoords="offset points", ha="center"
        )
        axes.set(title=title, xticks=labels, xlim=(-0.6, labels[-1] + 0.6), xlabel="label")
        axes.margins(y=0.25)


def draw_law(left: Axes, right: Axes, p: FloatArray, q: FloatArray, label: int) -> None:
    r"""The exact law as areas: :math:`S` with its knots, and what lies under :math:`1/S^2`.

    Parameters
    ----------
    left, right
        For :math:`S(t)` and for :math:`1/S(t)^2`.
    p, q
        Marginals of the observed and the target expert.
    label
        What the observed expert said.
    """
    theta = p / q
    t = np.linspace(0, 1.15 * theta.max(), 800)
    s = np.maximum(p, t[:, None] * q).sum(axis=1)
    left.plot(t, s, color="black")
    right.plot(t, 1 / s**2, color="black")
    for j, knot in enumerate(theta):
        height = np.maximum(p, knot * q).sum()
        marker, colour = ("D", ORANGE) if j == label else ("o", GREY)
        left.plot(knot, height, marker, color=colour)
        left.annotate(
            rf"$\theta_{j}$", (knot, height), (-4, 7), textcoords="offset points", ha="right"
        )
        right.axvline(knot, color=GREY, linestyle=":", linewidth=1)
    possible = [d for d in np.argsort(theta) if theta[d] < theta[label]]
    for depth, d in enumerate(possible, start=1):
        inside = (t >= theta[d]) & (t <= theta[label])
        right.fill_between(t[inside], 1 / s[inside] ** 2, color=PALE, linewidth=0)
        words = rf"says {d}: $q_{d} \times$ area over this span"
        span = pd.Series(-0.07 * depth / s[0] ** 2, theta[[d, label]])
        draw_line(right, span, d, words, marker="|", markersize=12, linewidth=2.5)
    left.set(xlabel=r"$t$", ylabel=r"$S(t)$", title=r"$S$ is linear between its knots")
    right.set(xlabel="knots", ylabel=r"$1/S(t)^2$", title=f"areas, when {label} was observed")
    right.set_xticks(theta, [rf"$\theta_{j}$" for j in range(len(theta))])
    right.axhline(0, color="black", linewidth=0.8)
    right.legend(fontsize=9, loc="upper right")


def circle(n: int) -> FloatArray:
    """Places (n, 2) on the unit circle, clockwise from the top."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.sin(angle), np.cos(angle)])


def draw_graph(axes: Axes, graph: SimilarityGraph) -> None:
    """Experts on a circle; who can be similar is joined, who violates is joined by dots."""
    n = len(graph.experts)
    place, edges, weights = circle(n), graph.edges, graph.weights
    for h, other in zip(*np.triu_indices(n, 1), strict=True):
        ends = place[[h, other]]
        if edges[h, other]:
            good = weights[h, other] <= 0
            colour, style = (BLUE, "-") if good else (GREY, "--")
            axes.plot(*ends.T, color=colour, linestyle=style, linewidth=1.2, zorder=1)
        elif graph.violations[h, other]:
            axes.plot(*ends.T, color=ORANGE, linestyle=":", linewidth=1.2, zorder=0)
    _draw_experts(axes, graph.experts.tolist(), [BLUE] * n)


def draw_step(axes: Axes, graph: SimilarityGraph, step: Step, done: Sequence[int]) -> None:
    """One round of Algorithm 1: the group in orange, candidates with what each would cost.

    Parameters
    ----------
    graph, step
        Whose experts and edges are drawn, and the round that is shown.
    done
        Experts already in earlier groups, out of the graph: drawn pale.
    """
    place = circle(len(graph.experts))
    for h in step.group:
        for candidate in step.candidates:
            axes.plot(*place[[h, candidate]].T, color=BLUE, linewidth=1.5, zorder=1)
    colour = dict.fromkeys(done, "#dddddd") | dict.fromkeys(step.group, ORANGE)
    colours = [colour.get(h, "#ffffff") for h in range(len(place))]
    _draw_experts(axes, graph.experts.tolist(), colours)
    for candidate, cost in zip(step.candidates, step.costs, strict=True):
        joins = candidate == step.chosen
        axes.annotate(
            f"{cost:+.2f}{' joins' if joins else ''}",
            place[candidate] * 1.35,
            ha=("right", "center", "left")[int(np.sign(place[candidate, 0].round(6))) + 1],
            va="center",
            fontsize=9,
            fontweight="bold" if joins else "normal",
        )


def _draw_experts(axes: Axes, experts: Sequence[Hashable], colours: Sequence[str]) -> None:
    place = circle(len(experts))
    axes.scatter(place[:, 0], place[:, 1], s=620, c=list(colours), edgecolor="black", zorder=2)
    for name, at, colour in zip(experts, place, colours, strict=True):
        ink = "white" if colour == BLUE else "black"
        axes.annotate(str(name), at, ha="center", va="center", color=ink, fontsize=9)
    axes.set(xlim=(-2.1, 2.1), ylim=(-1.6, 1.6), aspect="equal")
    axes.set_axis_off()


def draw_pairs(axes: Axes, graph: SimilarityGraph, order: IntArray) -> None:
    """Every pair of a large panel as one cell: an edge, a violation, or never together."""
    state = np.where(graph.edges, 1, np.where(graph.violations > 0, 2, 0))[np.ix_(order, order)]
    colours = {"never together": "#f2f2f2", "joined by an edge": ALIKE, "in violation": APART}
    draw_square(axes, state, colours, ncols=3)
    axes.set(xlabel="experts, in a common order", ylabel="the same experts")


def draw_square(
    axes: Axes, code: IntArray, colours: Mapping[str, str], *, ncols: int, title: str | None = None
) -> None:
    """A cell a pair of experts, coloured by its code; a legend on top, the diagonal in grey.

    Parameters
    ----------
    code
        (H, H), positions in ``colours``.
    colours
        By meaning.
    ncols, title
        Of the legend.
    """
    colour_map = ListedColormap(list(colours.values())).with_extremes(bad=GREY)
    code = np.ma.masked_array(code, np.eye(len(code), dtype=bool))
    axes.imshow(code, cmap=colour_map, vmin=0, vmax=len(colours) - 1, interpolation="nearest")
    patches = [Patch(facecolor=c, edgecolor=GREY, label=name) for name, c in colours.items()]
    legend_above(axes, ncols, 9 if title else None, handles=patches, title=title)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
