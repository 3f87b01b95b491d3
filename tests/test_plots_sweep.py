"""The sweep's figures show what they are given."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from siscm import plots_sweep as plots

mpl.use("agg")


def runs():
    keys = pd.MultiIndex.from_product([(0.1, 0.8), (10, 100), range(3)], names=["s", "m", "repeat"])
    frame = keys.to_frame(index=False)
    frame["ari"] = frame["m"] / 100 - 0.1 * frame["repeat"]
    frame["edge_ratio"] = 0.2 + frame["ari"] / 2
    frame["zero_one_fitted"] = 0.6 - frame["ari"] / 10
    return frame.assign(zero_one_true=0.5, zero_one_singletons=0.6)


def test_a_line_each_sparsity_with_means_and_deviations():
    figure, axes = plt.subplots()
    plots.draw_sweep(axes, runs(), "ari")
    handles, labels = axes.get_legend_handles_labels()
    assert labels == ["s = 0.1", "s = 0.8"]
    for handle in handles:
        np.testing.assert_allclose(handle.lines[0].get_xydata(), [[10, 0.0], [100, 0.9]], atol=1e-9)
        low, high = handle.lines[2][0].get_segments()[1][:, 1]
        np.testing.assert_allclose((low, high), (0.8, 1.0))
    plt.close(figure)


def test_baselines_are_the_means_of_their_losses():
    figure, axes = plt.subplots()
    drawn = {line.get_label(): line.get_ydata()[0] for line in plots.draw_baselines(axes, runs())}
    np.testing.assert_allclose(list(drawn.values()), [0.6, 0.5])
    assert list(drawn) == ["everybody alone", "true groups"]
    plt.close(figure)


def test_the_claim_has_every_run_as_a_point():
    figure, all_axes = plt.subplots(2)
    plots.draw_claim(all_axes, runs())
    for axes, column in zip(all_axes, ("ari", "zero_one_fitted"), strict=True):
        points = np.concatenate([line.get_xydata() for line in axes.lines[1:]])
        assert len(points) == len(runs())
        base = 0.5 if column == "zero_one_fitted" else 0
        np.testing.assert_allclose(points[:, 1], runs()[column] - base)
    plt.close(figure)
