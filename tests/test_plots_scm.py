"""The figures of finite models show what they are given."""

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from siscm import plots_scm as plots

mpl.use("agg")


def test_the_three_steps_are_posterior_answers_and_law():
    figure, axes = plt.subplots(1, 3, layout="constrained")
    prior, posterior = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.6, 0.4])
    plots.draw_three_steps(axes, prior, posterior, np.array([0, 1, 0]), np.array([0.4, 0.6]))
    figure.canvas.draw()
    heights = [bar.get_height() for bar in axes[0].patches]
    assert heights == [*prior, *posterior]
    possible, ruled_out = (dots.get_offsets().tolist() for dots in axes[1].collections)
    assert possible == [[1, 1], [2, 0]]
    assert ruled_out == [[0, 0]]
    assert [bar.get_width() for bar in axes[2].patches] == [0.4, 0.6]
    assert [text.get_text() for text in axes[2].texts] == ["0.40", "0.60"]
    plt.close(figure)


def test_the_gap_is_a_line_each_way_to_talk():
    keys = itertools.product((2, 3), ("herding", "senior"), (0.0, 1.0), range(4))
    apart = pd.DataFrame(keys, columns=["asked", "talk", "strength", "model"])
    apart["distance"] = apart["strength"] * apart["asked"] / 10 + apart["model"] / 100
    figure, axes = plt.subplots(1, 2, layout="constrained")
    plots.draw_apart(axes, apart)
    figure.canvas.draw()
    for panel, asked in zip(axes, (2, 3), strict=True):
        assert [line.get_label() for line in panel.lines] == ["herding", "senior"]
        for line in panel.lines:
            np.testing.assert_allclose(line.get_ydata(), [0.015, asked / 10 + 0.015])
    plt.close(figure)
