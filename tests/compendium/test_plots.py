"""Figures show what they are given."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from siscm import Opinions, SimilarityGraph, partition
from siscm.compendium import plots
from siscm.data.simulate import simulate_opinions

mpl.use("agg")


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(7)
    log_p = np.log(rng.dirichlet([1.0, 1.0, 1.0], (30, 6)))
    asked = np.ones((30, 6), dtype=bool)
    said = simulate_opinions(log_p, [[0, 1, 2], [3, 4, 5]], asked, rng)
    return SimilarityGraph.from_opinions(log_p, Opinions.from_codes(said, experts=list("ABCDEF")))


def test_pull_marks_every_case_once(axes):
    cases = pd.DataFrame(
        {
            "before": [0.2, 0.4, 0.6],
            "after": [0.1, 0.9, 0.8],
            "said": [False, True, True],
            "truth": [False, False, True],
        }
    )
    plots.draw_pull(axes, cases, "Ann", "Bob")
    drawn = {c.get_label(): np.asarray(c.get_offsets()) for c in axes.collections}
    assert drawn["Ann said no, Bob no"][:, 0].tolist() == [0.1]
    assert drawn["Ann said yes, Bob no"][:, 0].tolist() == [0.9]
    assert drawn["Ann said yes, Bob yes"][:, 0].tolist() == [0.8]
    assert drawn["before asking"][:, 0].tolist() == [0.2, 0.4, 0.6]


def test_shared_noise_names_what_each_expert_says():
    figure, all_axes = plt.subplots(1, 2)
    p = np.array([[0.5, 0.5], [0.9, 0.1]])
    plots.draw_shared_noise(all_axes, p, np.array([[0.0, 1.0], [0.0, 1.0]]), ["a", "b"])
    said = [[t.get_text() for t in a.texts if t.get_text()] for a in all_axes]
    assert said == [["says 1"], ["says 0"]]
    for axes, end in zip(all_axes, np.log(p) + np.array([0.0, 1.0]), strict=True):
        low, high = axes.get_ylim()
        assert low < end.min()
        assert end.max() < high
    plt.close(figure)


def test_law_shades_the_labels_that_can_be_said():
    figure, (left, right) = plt.subplots(1, 2)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    plots.draw_law(left, right, p, q, label=1)
    theta = p / q
    spans = {
        line.get_label(): line.get_xdata() for line in right.lines if "says" in line.get_label()
    }
    ((words, span),) = spans.items()
    assert words.startswith("says 2")
    np.testing.assert_array_equal(span, theta[[2, 1]])
    (area,) = right.collections
    inside = area.get_paths()[0].vertices[:, 0]
    np.testing.assert_allclose((inside.min(), inside.max()), theta[[2, 1]], atol=0.01)
    observed = [line for line in left.lines if line.get_marker() == "D"]
    assert [line.get_xdata()[0] for line in observed] == [theta[1]]
    plt.close(figure)


def test_graph_draws_a_line_for_every_edge_and_violation(axes, graph):
    plots.draw_graph(axes, graph)
    upper = np.triu_indices(6, 1)
    styles = [line.get_linestyle() for line in axes.lines]
    assert styles.count(":") == (graph.violations[upper] > 0).sum()
    assert len(styles) - styles.count(":") == graph.edges[upper].sum()
    assert [text.get_text() for text in axes.texts] == list("ABCDEF")


def test_step_labels_every_candidate_with_its_cost(axes, graph):
    step = next(partition.grow(graph, 0, np.arange(6)))
    plots.draw_step(axes, graph, step, done=[])
    costs = [t.get_text() for t in axes.texts if t.get_text()[0] in "+-"]
    assert len(costs) == len(step.candidates) == len(axes.lines)
    assert sum("joins" in cost for cost in costs) == (step.chosen is not None)


def test_pairs_cells_show_edges_and_violations(axes, graph):
    order = np.array([5, 4, 3, 2, 1, 0])
    plots.draw_pairs(axes, graph, order)
    shown = np.asarray(axes.images[0].get_array())[::-1, ::-1]
    np.testing.assert_array_equal(shown == 1, graph.edges)
    np.testing.assert_array_equal(shown == 2, graph.violations > 0)


def test_a_line_has_bars_to_both_ends_upwards_or_across(axes):
    """Also where rounding puts an end a little on the wrong side."""
    y = pd.Series([0.1, 0.5], index=[3, 7])
    ends = pd.Series([0.0, 0.5], index=y.index), pd.Series([0.3, 0.5 - 1e-16], index=y.index)
    plots.draw_line(axes, y, 0, "up", ends)
    plots.draw_line(axes, y, -1, "across", ends, across=True, linestyle="none")
    up, across = axes.get_legend_handles_labels()[0]
    np.testing.assert_allclose(up.lines[0].get_xydata().astype(float), [[3, 0.1], [7, 0.5]])
    np.testing.assert_allclose(across.lines[0].get_xydata().astype(float), [[0.1, 3], [0.5, 7]])
    (low, high), (bottom, top) = (bar[:, 1] for bar in up.lines[2][0].get_segments())
    np.testing.assert_allclose((low, high, bottom, top), (0, 0.3, 0.5, 0.5))
    np.testing.assert_allclose(across.lines[2][0].get_segments()[0], [[0, 3], [0.3, 3]])
    assert across.lines[0].get_color() == "black"


def test_percents_have_the_digits_that_they_need(axes):
    plots.name_axes(axes, "share", "rise", percent="xy")
    words = [axes.xaxis.get_major_formatter()(x, 0) for x in (0.05, 0.975, 0.1 + 0.2, -0.2, 0)]
    assert words == [
        f"{x}\N{NO-BREAK SPACE}%" for x in ("5", "97.5", "30", "\N{MINUS SIGN}20", "0")
    ]
