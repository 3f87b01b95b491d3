"""Figures of the synthetic sweep: the paper's panels and claim, and what it does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from pandas.api.typing import SeriesGroupBy

from siscm.compendium.plots import GREY, LINE_COLOURS, draw_line, finish_lines, log_axis
from siscm.synthetic.learned_sweep import MARGINALS, TRUE
from siscm.synthetic.sweep_figures import THRESHOLD

_HOLLOW: dict[str, Any] = {"linestyle": "none", "fillstyle": "none", "markeredgewidth": 1.5}


def draw_sweep(axes: Axes, runs: pd.DataFrame, column: str) -> None:
    """One panel of the paper's figure: mean and standard deviation over m, a line each s.

    Parameters
    ----------
    runs
        As from :func:`siscm.synthetic.sweep.sweep`.
    column
        Which of its columns.
    """
    for i, (s, part) in enumerate(runs.groupby("s")):
        by_m = part.groupby("m")[column]
        _draw_spread(axes, by_m, i, f"s = {s:g}", markersize=5, linewidth=1.3)
    axes.set_xlabel("training instances $m$")
    log_axis(axes, runs["m"])
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
        As from :func:`siscm.synthetic.sweep.sweep`.
    """
    lost = runs["zero_one_fitted"] - runs["zero_one_true"]
    for axes, values, words in zip(
        all_axes, (runs["ari"], lost), ("ARI", "0/1 loss above true groups'"), strict=True
    ):
        axes.axvline(THRESHOLD, color=GREY, linestyle=":", linewidth=1.5)
        for i, (s, points) in enumerate(values.groupby(runs["s"])):
            points.index = runs.loc[points.index, "edge_ratio"]
            draw_line(axes, points, i, f"s = {s:g}", linestyle="none", markersize=5, alpha=0.7)
        axes.set(xlabel="edge ratio $r$", ylabel=words, xlim=(-0.02, 1.02))


def draw_methods(upper: Axes, lower: Axes, frame: pd.DataFrame) -> None:
    """What Algorithm 1 misses, every run a point by its edge ratio.

    Parameters
    ----------
    upper
        By how much the objective exceeds the bound, below which none is: of the algorithm, with
        ten times the restarts, and with a local search.
    lower
        How alike the groups are to those planted: of the algorithm, and of the best partition,
        joined by a line if they differ.
    frame
        As from :func:`siscm.synthetic.greedy_or_optimal.compare`.
    """
    runs = frame.pivot(index=["edge_ratio", "repeat", "m", "s"], columns="method")
    runs = runs.droplevel(["repeat", "m", "s"])
    methods = ("greedy", "greedy"), ("restarts", "ten times the restarts"), ("local search",) * 2
    for i, (method, name) in enumerate(methods):
        draw_line(upper, runs["gap", method], i, name, **_HOLLOW)
    lower.vlines(runs.index, runs["ari", "greedy"], runs["ari", "exact"], color=GREY, linewidth=1.5)
    for i, method in ((0, "greedy"), (3, "exact")):
        draw_line(lower, runs["ari", method], i, method, **_HOLLOW)
    for axes, what in ((upper, "objective above its bound"), (lower, "ARI with planted groups")):
        axes.set_xlim(0, 1.03)
        finish_lines(axes, "edge ratio $r$", what)
    upper.set_ylim(bottom=-1)
    lower.set_ylim(-0.06, 1.06)


def draw_cost(axes: Axes, figures: Mapping[str, float]) -> None:
    """Seconds of Algorithm 1's search by the number of edges; dashed, what is linear in them.

    Parameters
    ----------
    figures
        As recorded by ``benchmarks/algorithm1.py``.
    """
    for i, family in enumerate(("sparse", "dense", "complete")):
        points = {
            edges: figures[key.replace("_edges", "_search_seconds")]
            for key, edges in figures.items()
            if key.startswith(f"{family}_of_") and key.endswith("_edges")
        }
        seconds = pd.Series(points).sort_index()
        draw_line(axes, seconds, i, family)
        linear = seconds.index * (seconds.iloc[-1] / seconds.index[-1])
        axes.plot(seconds.index, linear, "--", color=LINE_COLOURS[i])
    axes.set(xscale="log", yscale="log")
    finish_lines(axes, "edges", "seconds of the search")


def draw_sampling(upper: Axes, lower: Axes, frame: pd.DataFrame) -> None:
    """What Monte Carlo changes by chance, by its number of draws; mean and standard deviation.

    Parameters
    ----------
    upper
        The share of edges whose weight changes sign, a line a run; dashed, the share of
        predictions that change, over all runs.
    lower
        How alike the groups are to those found by the exact law. On the right, by the exact law
        with other restarts.
    frame
        As from :func:`siscm.synthetic.sampling_cost.sampling_cost`.
    """
    draws = sorted(set(frame["n_samples"]))
    frame = frame.assign(place=frame["n_samples"].map(draws.index))
    sampled = frame[np.isfinite(frame["n_samples"])]
    by_draws = sampled.groupby("place")["predictions"]
    _draw_spread(upper, by_draws, -1, "predictions, all runs", linestyle="--")
    for i, ((m, s), run) in enumerate(frame.groupby(["m", "s"], sort=False)):
        run = run.assign(place=run["place"] + 0.08 * (i - 1))  # bars side by side
        name, finite = f"m = {m:g}, s = {s:g}", np.isfinite(run["n_samples"])
        by_draws, exact = (run[those].groupby("place") for those in (finite, ~finite))
        _draw_spread(upper, by_draws["signs"], i, f"signs, {name}")
        _draw_spread(lower, by_draws["ari_exact"], i, name)
        _draw_spread(lower, exact["ari_exact"], i, fillstyle="none")
    words = [f"{n:,.0f}" if np.isfinite(n) else "exact, other\nrestarts" for n in draws]
    for axes, kept in ((upper, sampled["n_samples"].nunique()), (lower, len(draws))):
        axes.set_xticks(range(kept), words[:kept])
        axes.set_xlim(-0.4, len(draws) - 0.6)
    finish_lines(upper, "draws T", "share changed by draws", percent="y", ncols=2)
    upper.set_ylim(bottom=0)
    finish_lines(lower, "draws T", "ARI with the exact groups")
    lower.set_ylim(-0.03, 1.06)


def _draw_spread(
    axes: Axes, grouped: SeriesGroupBy[Any, Any], i: int, name: str | None = None, **look: Any
) -> None:
    """Mean and standard deviation of each group, over the groups' names."""
    mean, spread = grouped.mean(), grouped.std()
    draw_line(axes, mean, i, name, (mean - spread, mean + spread), **look)


def draw_learned(upper: Axes, middle: Axes, lower: Axes, frame: pd.DataFrame) -> None:
    """What learned marginals do to the groups and to predictions; means over the repeats.

    Parameters
    ----------
    upper
        Adjusted Rand index of the groups found with those planted, a line a kind of marginals.
    middle
        The share of similar pairs that seem to violate.
    lower
        0/1 loss: solid, with marginals learned by logit, for the groups found, those planted,
        everybody alone, and copying inside those planted; dashed, the same with true marginals.
    frame
        As from :func:`siscm.synthetic.learned_sweep.learned_sweep`, of one sparsity.
    """
    mean = frame.groupby(["marginals", "m"]).mean(numeric_only=True)
    dashed: dict[str, Any] = {TRUE: {"linestyle": "--", "fillstyle": "none"}}
    for axes, column in ((upper, "ari"), (middle, "lost")):
        for i, name in enumerate(MARGINALS, start=-1):
            draw_line(axes, mean[column][name], i, name, **dashed.get(name, {}))
    models = {
        "fitted": "groups found",
        "planted": "true groups",
        "singletons": "alone",
        "copy_planted": "copying in true groups",
    }
    for i, (model, words) in enumerate(models.items()):
        for name in ("logit", TRUE):
            look = {"markersize": 10 - 2 * i} | dashed.get(name, {})  # one shows around another
            draw_line(lower, mean[f"zero_one_{model}"][name], i, f"{words}, {name}", **look)
    for axes, words, percent in (
        (upper, "ARI with the planted groups", ""),
        (middle, "similar pairs lost", "y"),
        (lower, "0/1 loss", ""),
    ):
        log_axis(axes, frame["m"])
        finish_lines(axes, "training instances m", words, percent)
    upper.set_ylim(-0.06, 1.06)
    middle.set_ylim(-0.03, 1.03)
