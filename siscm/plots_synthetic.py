"""Figures of the synthetic sweep: the paper's panels and claim, and what the paper leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from siscm.learned_sweep import MARGINALS, TRUE
from siscm.plots import GREY, GROUP_COLOURS, MARKERS, finish_lines, log_axis
from siscm.sweep_figures import THRESHOLD, cells

_COLOURS, _MARKERS = ("black", *GROUP_COLOURS), "x" + MARKERS

_HOLLOW = {"linestyle": "none", "markersize": 7, "fillstyle": "none", "markeredgewidth": 1.5}


def _draw(axes: Axes, x: Any, y: Any, i: int, name: str, **look: Any) -> None:
    """A line, or points, in the i-th colour and with the i-th marker."""
    axes.plot(x, y, color=_COLOURS[i], marker=_MARKERS[i], label=name, **look)


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
    for i, s in enumerate(mean.columns, start=1):
        axes.errorbar(
            mean.index,
            mean[s],
            spread[s],
            color=_COLOURS[i],
            marker=_MARKERS[i],
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
        for i, (s, part) in enumerate(runs.groupby("s"), start=1):
            points = part["edge_ratio"], values[part.index]
            _draw(axes, *points, i, f"s = {s:g}", linestyle="none", markersize=5, alpha=0.7)
        axes.set(xlabel="edge ratio $r$", ylabel=words, xlim=(-0.02, 1.02))


def draw_methods(upper: Axes, lower: Axes, frame: pd.DataFrame) -> None:
    """What Algorithm 1 misses, every run a point by its edge ratio.

    Parameters
    ----------
    upper
        By how much the objective exceeds the best there is: of the algorithm, with ten times the
        restarts, and with a local search.
    lower
        How alike the groups are to those planted: of the algorithm, and of the best partition,
        joined by a line if they differ.
    frame
        As from :func:`siscm.greedy_or_optimal.compare`.
    """
    runs = frame.pivot(index=["edge_ratio", "repeat", "m", "s"], columns="method")
    ratio = runs.index.get_level_values("edge_ratio")
    for i, method in enumerate(("greedy", "restarts", "local search"), start=1):
        _draw(upper, ratio, runs["gap"][method], i, method, **_HOLLOW)
    greedy, exact = runs["ari"]["greedy"], runs["ari"]["exact"]
    lower.vlines(ratio, greedy, exact, color=GREY, linewidth=1.5)
    _draw(lower, ratio, greedy, 1, "greedy", **_HOLLOW)
    _draw(lower, ratio, exact, 4, "exact", **_HOLLOW)
    for axes, words in ((upper, "objective above the best"), (lower, "ARI with planted groups")):
        axes.set_ylabel(words, fontsize=10)
        axes.set_xlabel("edge ratio $r$", fontsize=10)
        axes.set_xlim(0, 1.03)
        finish_lines(axes)
    upper.set_ylim(bottom=-1)
    lower.set_ylim(-0.06, 1.06)


def draw_cost(axes: Axes, figures: Mapping[str, float]) -> None:
    """Seconds of Algorithm 1's search by the number of edges; dashed, what is linear in them.

    Parameters
    ----------
    figures
        As recorded by ``benchmarks/algorithm1.py``.
    """
    for i, family in enumerate(("sparse", "dense", "complete"), start=1):
        points = sorted(
            (edges, figures[key.replace("_edges", "_search_seconds")])
            for key, edges in figures.items()
            if key.startswith(f"{family}_of_") and key.endswith("_edges")
        )
        edges, seconds = np.array(points).T
        _draw(axes, edges, seconds, i, family)
        axes.plot(edges, seconds[-1] * edges / edges[-1], color=_COLOURS[i], linestyle="--")
    axes.set(xscale="log", yscale="log", xlabel="edges", ylabel="seconds, search")
    finish_lines(axes)


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
        As from :func:`siscm.sampling_cost.sampling_cost`.
    """
    draws = sorted(set(frame["n_samples"]))
    sampled = frame[np.isfinite(frame["n_samples"])]
    _draw_spread(upper, sampled, "predictions", draws, 0)
    for i, ((m, s), run) in enumerate(frame.groupby(["m", "s"], sort=False), start=1):
        name = f"m = {m:g}, s = {s:g}"
        finite = np.isfinite(run["n_samples"])
        _draw_spread(upper, run[finite], "signs", draws, i, name)
        _draw_spread(lower, run[finite], "ari_exact", draws, i, name)
        _draw_spread(lower, run[~finite], "ari_exact", draws, i)
    words = [f"{n:,.0f}" if np.isfinite(n) else "exact, other\nrestarts" for n in draws]
    for axes, kept in ((upper, sampled["n_samples"].nunique()), (lower, len(draws))):
        axes.set_xticks(range(kept), words[:kept])
        axes.set_xlim(-0.4, len(draws) - 0.6)
        axes.set_xlabel("draws T", fontsize=10)
        finish_lines(axes)
    upper.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    upper.set_ylim(bottom=0)
    upper.set_ylabel("changed by chance", fontsize=10)
    lower.set_ylim(-0.03, 1.06)
    lower.set_ylabel("ARI with the exact groups", fontsize=10)


def _draw_spread(
    axes: Axes, rows: pd.DataFrame, column: str, draws: list[float], i: int, name: str | None = None
) -> None:
    """Mean and standard deviation by number of draws, in the i-th look; nothing without rows."""
    if rows.empty:
        return
    by_draws = rows.groupby("n_samples")[column].agg(["mean", "std"])
    axes.errorbar(
        [draws.index(n) + 0.08 * (i - 2) * (i > 0) for n in by_draws.index],  # bars side by side
        by_draws["mean"].to_numpy(),
        by_draws["std"].to_numpy(),
        color=_COLOURS[i],
        marker=_MARKERS[i],
        linestyle="-" if i else "--",
        fillstyle="none" if np.isinf(by_draws.index).any() else "full",
        capsize=3,
        label=name or (None if i else column),
    )


def draw_learned(
    upper: Axes, middle: Axes, lower: Axes, frame: pd.DataFrame, learned: str = "logit"
) -> None:
    """What learned marginals do to the groups and to predictions; means over the repeats.

    Parameters
    ----------
    upper
        Adjusted Rand index of the groups found with those planted, a line a kind of marginals.
    middle
        The share of similar pairs that seem to violate.
    lower
        0/1 loss: solid, with learned marginals, for the groups found, those planted, and
        everybody alone; dashed, the same groups with true marginals.
    frame
        As from :func:`siscm.learned_sweep.learned_sweep`, of one sparsity.
    learned
        Which marginals the lower panel shows beside the true ones.
    """
    mean = frame.groupby(["marginals", "m"])[
        ["ari", "lost", "zero_one_fitted", "zero_one_planted", "zero_one_singletons"]
    ].mean()
    for i, name in enumerate(MARGINALS):
        for axes, column in ((upper, "ari"), (middle, "lost")):
            if name in mean.index:
                _draw_mean(axes, mean.loc[name][column], i, name, dashed=name == TRUE)
    for i, model in enumerate(("fitted", "planted", "singletons"), start=1):
        for name in (learned, TRUE):
            losses = mean.loc[name][f"zero_one_{model}"]
            _draw_mean(lower, losses, i, f"{model}, {name}", dashed=name == TRUE)
    for axes in (upper, middle, lower):
        log_axis(axes, frame["m"])
        axes.set_xlabel("training instances m", fontsize=10)
        finish_lines(axes)
    upper.set_ylim(-0.06, 1.06)
    upper.set_ylabel("ARI with the planted groups", fontsize=10)
    middle.set_ylim(-0.03, 1.03)
    middle.yaxis.set_major_formatter(PercentFormatter(1))
    middle.set_ylabel("similar pairs lost", fontsize=10)
    lower.set_ylabel("0/1 loss", fontsize=10)


def _draw_mean(axes: Axes, line: pd.Series[float], i: int, name: str, *, dashed: bool) -> None:
    style, fill = ("--", "none") if dashed else ("-", "full")
    _draw(axes, line.index, line, i, name, markersize=6, linestyle=style, fillstyle=fill)
