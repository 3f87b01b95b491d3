"""Figures of finite models: the three steps of a counterfactual, and what talk changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from siscm.checks import FloatArray, IntArray
from siscm.plots import BLUE, GREY, GROUP_COLOURS, ORANGE, PALE

_STYLES = ("-", "--", ":")
_MARKERS = "osD"


def draw_three_steps(
    all_axes: Sequence[Axes],
    prior: FloatArray,
    posterior: FloatArray,
    answers: IntArray,
    law: FloatArray,
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
    """
    first, second, third = all_axes
    noises, labels = np.arange(len(prior)), np.arange(len(law))
    first.bar(noises, prior, color="none", edgecolor=GREY, linewidth=1.5, label="before")
    first.bar(noises, posterior, width=0.5, color=ORANGE, label="after")
    first.set(title="1. Abduction", xlabel="noise $u$", ylabel="probability", xticks=noises)
    first.legend(frameon=False, fontsize=9)
    possible = posterior > 0
    for kept, colour in ((possible, ORANGE), (~possible, PALE)):
        second.scatter(noises[kept], answers[kept], color=colour, s=90, zorder=3)
    second.set(title="2. Action", xlabel="noise $u$", ylabel="other says", xticks=noises)
    second.set(yticks=labels, ylim=(-0.5, len(law) - 0.5), xlim=(-0.6, len(prior) - 0.4))
    third.barh(labels, law, height=0.5, color=BLUE)
    for label, chance in enumerate(law):
        third.text(chance + 0.03, label, f"{chance:.2f}", va="center", fontsize=10)
    third.set(title="3. Prediction", xlabel="probability", yticks=labels, xlim=(0, 1.25))
    third.set(ylabel="other would have said", ylim=(-0.5, len(law) - 0.5), xticks=[0, 0.5, 1])
    for axes in all_axes:
        axes.grid(visible=False)


def draw_apart(all_axes: Sequence[Axes], apart: pd.DataFrame) -> None:
    """How far the two answers are apart against the strength of talk: a line each way to talk.

    Parameters
    ----------
    all_axes
        One for each number of experts asked.
    apart
        As from :func:`siscm.influence.by_strength`. Lines are means, bands hold the middle 80 %
        of the models.
    """
    for axes, (asked, part) in zip(all_axes, apart.groupby("asked"), strict=True):
        for i, (talk, line) in enumerate(part.groupby("talk")):
            by = line.groupby("strength")["distance"]
            mean, low, high = by.mean(), by.quantile(0.1), by.quantile(0.9)
            colour = GROUP_COLOURS[i]
            axes.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
            (drawn,) = axes.plot(mean, color=colour, marker=_MARKERS[i], label=talk)
            drawn.set(linestyle=_STYLES[i], markersize=9 - 2 * i, markerfacecolor="none")
        axes.set(title=f"{asked} experts asked", xlabel="strength of talk", xlim=(-0.03, 1.03))
        axes.set(xticks=[0, 0.5, 1], ylim=(-0.03, 1))
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.legend(frameon=False, fontsize=9, loc="upper left")
