"""Figures of the theorems' pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from siscm.checks import FloatArray, IntArray
from siscm.compendium.plots import (
    BLUE,
    GREY,
    LINE_COLOURS,
    ORANGE,
    draw_line,
    finish_lines,
    log_axis,
    name_axes,
)
from siscm.theory.false_alarms import NOT_SIMILAR, SIMILAR

_STYLES = ("-", "--", ":")


def draw_three_steps(
    all_axes: Sequence[Axes],
    prior: FloatArray,
    posterior: FloatArray,
    answers: IntArray,
    law: FloatArray,
    other: str,
) -> None:
    """A counterfactual as abduction, action and prediction, side by side.

    Parameters
    ----------
    all_axes
        Three.
    prior, posterior
        Of the noise, (n_noise,).
    answers
        What the other expert says under each noise when she is asked, (n_noise,).
    law
        What the other would have said: probabilities of the labels, (k,).
    other
        The other expert's name.
    """
    first, second, third = all_axes
    noises, labels = np.arange(len(prior)), np.arange(len(law))
    first.bar(noises, prior, color="none", edgecolor=GREY, linewidth=1.5, label="before")
    first.bar(noises, posterior, width=0.5, color=ORANGE, label="after")
    first.set(title="1. Abduction", xlabel="noise $u$", ylabel="probability", xticks=noises)
    first.legend(frameon=False, fontsize=9)
    possible = posterior > 0
    for kept, face, edge in ((possible, ORANGE, ORANGE), (~possible, "white", GREY)):
        second.scatter(noises[kept], answers[kept], s=90, facecolor=face, edgecolor=edge, zorder=3)
    second.set(title="2. Action", xlabel="noise $u$", ylabel=f"{other} says", xticks=noises)
    second.set(yticks=labels, ylim=(-0.5, len(law) - 0.5), xlim=(-0.6, len(prior) - 0.4))
    third.barh(labels, law, height=0.5, color=BLUE)
    for label, chance in enumerate(law):
        third.text(chance + 0.03, label, f"{chance:.2f}", va="center", fontsize=10)
    third.set(title="3. Prediction", xlabel="probability", yticks=labels, xlim=(0, 1.25))
    third.set(ylabel=f"{other} would have said", ylim=(-0.5, len(law) - 0.5), xticks=[0, 0.5, 1])
    for axes in all_axes:
        axes.grid(visible=False)


BAND = (0.1, 0.9)
"""The quantiles between which :func:`draw_apart` shades its bands."""


def draw_apart(all_axes: Sequence[Axes], apart: pd.DataFrame) -> None:
    """How far the two answers are apart against the strength of talk: a line each way to talk.

    Parameters
    ----------
    all_axes
        One for each number of experts asked.
    apart
        As from :func:`siscm.theory.influence.by_strength`. Lines are means, bands hold the models
        between two quantiles, :data:`BAND`.
    """
    for axes, (asked, part) in zip(all_axes, apart.groupby("asked"), strict=True):
        for i, (talk, line) in enumerate(part.groupby("talk")):
            by = line.groupby("strength")["distance"]
            mean, (low, high) = by.mean(), (by.quantile(end) for end in BAND)
            axes.fill_between(mean.index, low, high, color=LINE_COLOURS[i], alpha=0.15, linewidth=0)
            size = 9 - 2 * i  # so that one shows around another
            draw_line(axes, mean, i, talk, linestyle=_STYLES[i], markersize=size, fillstyle="none")
        axes.set(title=f"{asked} experts asked", xlim=(-0.03, 1.03), ylim=(-0.03, 1))
        axes.set_xticks([0, 0.5, 1])
        name_axes(axes, "strength of talk", percent="xy")
        axes.legend(frameon=False, fontsize=9, loc="upper left")


def draw_false_alarms(
    upper: Axes, lower: Axes, by_meetings: pd.DataFrame, by_training: pd.DataFrame
) -> None:
    """How likely one violation or more is: by cases in common, and by training opinions.

    Parameters
    ----------
    upper
        Similar experts, a line an error of their marginals; and, dashed, experts who are not
        similar, judged by the truth. By cases that both judge.
    lower
        Similar experts with learned marginals, a line a number of such cases. By opinions that
        each was learned from.
    by_meetings
        As from :func:`siscm.theory.false_alarms.by_meetings`.
    by_training
        As from :func:`siscm.theory.false_alarms.by_training_size`.
    """
    alike = by_meetings[by_meetings["experts"] == SIMILAR]
    others = by_meetings[(by_meetings["experts"] == NOT_SIMILAR) & (by_meetings["error"] == 0)]
    chances = others.set_index("meetings")["chance"]
    draw_line(upper, chances, -1, "not similar, truth", linestyle="--")
    by_error = alike.pivot(index="meetings", columns="error", values="chance")
    for i, error in enumerate(by_error):
        name = f"similar, error {error:g}" if error else "similar, truth"
        draw_line(upper, by_error[error], i, name)
    by_common = by_training.pivot(index="opinions", columns="meetings", values="chance")
    for i, meetings in enumerate(by_common):
        draw_line(lower, by_common[meetings], i, f"both judge {meetings}")
    for axes, values, words in (
        (upper, alike["meetings"], "cases that both judge"),
        (lower, by_training["opinions"], "training opinions of each"),
    ):
        axes.set(ylim=(-0.03, 1.03), yticks=[0, 0.25, 0.5, 0.75, 1])
        log_axis(axes, values)
        finish_lines(axes, words, "chance of a violation", percent="y")


def draw_second_opinions(
    all_axes: Sequence[Axes], similar: FloatArray, stranger: FloatArray, names: Sequence[str]
) -> None:
    """What another expert would have said, a panel for each label that the first one said.

    Parameters
    ----------
    all_axes
        One for each label, with a common vertical axis.
    similar, stranger
        Counterfactual distributions (k, k) of an expert who is similar to the first and of one
        who is not: a row for each label that the first said.
    names
        Of the labels.
    """
    places = np.arange(len(names))
    looks = (
        (similar, -0.2, BLUE, "", "similar"),
        (stranger, 0.2, "white", "//", "stranger"),
    )
    for c, axes in enumerate(all_axes):
        for law, shift, colour, hatch, label in looks:
            bars = axes.barh(places + shift, law[c], height=0.38, color=colour, label=label)
            for bar in bars:
                bar.set(edgecolor="black", hatch=hatch)
            words = [
                f"{100 * chance:.0f}\N{NO-BREAK SPACE}%" if chance > 0 else "never"
                for chance in law[c]
            ]
            axes.bar_label(bars, words, padding=3)
        axes.set_title(f"h said {names[c]}", fontsize=10)
        axes.set(xlim=(0, 1.2), xticks=[0, 0.5, 1])
        name_axes(axes, "probability", percent="x")
        axes.grid(axis="y", visible=False)
    all_axes[0].set_yticks(places, names)
    all_axes[0].set_ylabel("h′ would have said", fontsize=10)
    all_axes[0].set_ylim(len(names) - 0.5, -0.5)  # the first label at the top
    all_axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.1), ncols=2, frameon=False)


def draw_said(axes: Axes, said: IntArray, experts: Sequence[str]) -> None:
    """Who says what under which noise, as a grid; what is not label 0 stands out.

    Parameters
    ----------
    said
        Labels, (n_experts, n_noise).
    experts
        Their names.
    """
    n_experts, n_noise = said.shape
    for (expert, noise), label in np.ndenumerate(said):
        colour = "white" if label == 0 else ORANGE
        axes.bar(noise, 1, 1, expert - 0.5, color=colour, edgecolor=GREY)
        weight = "normal" if label == 0 else "bold"
        axes.text(noise, expert, str(label), ha="center", va="center", weight=weight)
    axes.set_yticks(range(n_experts), experts)
    axes.set_xticks(range(n_noise), [f"noise {u + 1}" for u in range(n_noise)])
    axes.set(xlim=(-0.5, n_noise - 0.5), ylim=(n_experts - 0.5, -0.5))
    axes.tick_params(length=0)
    axes.grid(visible=False)
