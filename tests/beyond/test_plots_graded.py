"""The figures of graded sharing show what they are given."""

import matplotlib as mpl
import numpy as np
import pandas as pd

from siscm.beyond import plots_graded as plots
from siscm.beyond.contest import GRADED

mpl.use("agg")


def labels_of(axes):
    return axes.get_legend_handles_labels()[1]


def test_sharing_has_a_mark_an_expert_and_most_at_the_top(axes):
    sharing = pd.DataFrame(
        {"sharing": [0.5, 0.9, 0.7], "low": [0.4, 0.8, 0.5], "high": [0.7, 0.95, 0.8]},
        index=["Ann", "Bob", "Cy"],
    )
    plots.draw_sharing(axes, sharing, {"first": ["Ann", "Bob"], "second": ["Cy"]})
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["Ann", "Cy", "Bob"]
    assert labels_of(axes) == ["first", "second"]
    first = axes.get_legend_handles_labels()[0][0]
    np.testing.assert_allclose(first.lines[0].get_xydata(), [[0.5, 0], [0.9, 2]])
    ends = [segment[:, 0] for segment in first.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, [[0.4, 0.7], [0.8, 0.95]])


def test_many_experts_have_no_names(axes):
    values = np.linspace(0.2, 0.8, 30)
    sharing = pd.DataFrame({"sharing": values, "low": values - 0.1, "high": values + 0.1})
    plots.draw_sharing(axes, sharing, {"all": list(sharing.index)})
    assert not axes.get_yticklabels()


def test_calibration_leaves_out_bins_of_few(axes):
    table = pd.DataFrame(
        {"probability": [0.1, 0.5, 0.9], "said": [0.2, 0.4, 0.8], "n": [30, 3, 20]}
    )
    plots.draw_calibration(axes, {"pooled": table})
    np.testing.assert_allclose(axes.lines[1].get_xydata(), [[0.1, 0.2], [0.9, 0.8]])
    assert labels_of(axes) == ["pooled"]


def test_evidence_is_marked_where_it_is_highest(axes):
    sharing = np.linspace(0, 1, 5)
    plots.draw_evidence(axes, sharing, {"a": np.array([0, 1, 3, 2, -1.0]), "b": -sharing})
    marks = [line.get_xydata()[line.get_markevery()] for line in axes.lines[1:]]
    np.testing.assert_allclose(marks, [[[0.5, 3]], [[0, 0]]])
    assert labels_of(axes) == ["a", "b"]


def test_found_shows_mean_and_range(axes):
    sweep = pd.DataFrame(
        {"m": [20, 20, 50, 50], "ari": [0.2, 0.4, 0.9, 1.0], "line": ["one rule"] * 4}
    )
    plots.draw_found(axes, sweep)
    (bars,), labels = axes.get_legend_handles_labels()
    assert labels == ["one rule"]
    np.testing.assert_allclose(bars.lines[0].get_xydata(), [[20, 0.3], [50, 0.95]])
    low, high = bars.lines[2][0].get_segments()[0][:, 1]
    np.testing.assert_allclose((low, high), (0.2, 0.4))


def test_the_lead_is_told_in_numbers_where_it_leaves_the_figure(axes):
    standings = pd.DataFrame(
        {
            "log_loss_more": [0.0, 0.02, 0.7],
            "log_loss_more_low": [0.0, 0.01, 0.6],
            "log_loss_more_high": [0.0, 0.13, 0.8],
        },
        index=[GRADED, "marginals", "copy"],
    )
    plots.draw_lead(axes, standings)
    assert 0.13 < axes.get_xlim()[1] < 0.14  # the end of the interval is seen
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["copy", "marginals"]
    assert [text.get_text() for text in axes.texts] == ["0.70"]


def test_a_name_is_no_formula(axes):
    names = [r"$\frac{$ Bob", "R$ & US$"]
    table = pd.DataFrame({"sharing": 0.5, "low": 0.4, "high": 0.6}, index=names)
    plots.draw_sharing(axes, table, {"both": names})
    axes.figure.canvas.draw()
    assert set(names) <= {text.get_text() for text in axes.get_yticklabels()}
