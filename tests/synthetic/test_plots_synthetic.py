"""The figures of the sweep, methods, sampling and learned marginals show what they are given."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from siscm.synthetic import plots_synthetic as plots
from siscm.synthetic.greedy_or_optimal import METHODS
from siscm.synthetic.learned_sweep import MARGINALS

mpl.use("agg")


def assert_legible(all_axes) -> None:
    """Words large enough, legends outside the data, lines told apart without their colour."""
    all_axes[0].figure.canvas.draw()
    for axes in all_axes:
        legend = axes.get_legend()
        assert legend.get_window_extent().y0 >= axes.get_window_extent().y1
        words = [*legend.get_texts(), *axes.get_xticklabels(), *axes.get_yticklabels()]
        words += [axes.xaxis.label, axes.yaxis.label]
        assert min(text.get_fontsize() for text in words) >= 9
        lines = [handle[0] if isinstance(handle, tuple) else handle for handle in drawn(axes)]
        looks = {(line.get_marker(), line.get_linestyle()) for line in lines}
        assert len(looks) == len(lines)


def drawn(axes) -> list:
    return axes.get_legend_handles_labels()[0]


def test_methods_show_every_run_and_what_the_best_changes() -> None:
    keys = itertools.product((0.3, 0.5, 0.9), METHODS)
    frame = pd.DataFrame(keys, columns=["edge_ratio", "method"]).assign(repeat=0, m=10, s=0.1)
    order = frame["method"].map(METHODS.index)
    frame["gap"] = (1 - frame["edge_ratio"]) * (10 - order)
    frame["ari"] = frame["edge_ratio"] + order / 100
    figure, all_axes = plt.subplots(2, 1, figsize=(6, 7), layout="constrained")
    plots.draw_methods(*all_axes, frame)
    assert_legible(all_axes)
    for axes, column, methods in (
        (all_axes[0], "gap", ["greedy", "ten times the restarts", "local search"]),
        (all_axes[1], "ari", ["greedy", "exact"]),
    ):
        handles, labels = axes.get_legend_handles_labels()
        assert labels == methods
        for handle, method in zip(handles, labels, strict=True):
            rows = frame[frame["method"] == method.removeprefix("ten times the ")]
            np.testing.assert_allclose(handle.get_xdata(), rows["edge_ratio"])
            np.testing.assert_allclose(handle.get_ydata(), rows[column])
    segments = all_axes[1].collections[0].get_segments()
    np.testing.assert_allclose([np.ptp(one[:, 1]) for one in segments], 0.03)
    plt.close(figure)


def test_cost_shows_every_size_beside_what_is_linear() -> None:
    families = ("sparse", "dense", "complete")
    figures = {
        f"{family}_of_{n}_{name}": (i + 1) * n * (1 if name == "edges" else n / 1e6)
        for i, family in enumerate(families)
        for n in (1000, 100)
        for name in ("edges", "search_seconds", "seconds")
    }
    figure, axes = plt.subplots(layout="constrained")
    plots.draw_cost(axes, figures | {"sparse_edges": 7, "experts": 1000})
    assert_legible([axes])
    for i, (measured, linear) in enumerate(
        zip(axes.lines[::2], axes.lines[1::2], strict=True), start=1
    ):
        np.testing.assert_allclose(measured.get_xdata(), [100 * i, 1000 * i])
        np.testing.assert_allclose(measured.get_ydata(), [0.01 * i, 1.0 * i])
        np.testing.assert_allclose(linear.get_ydata(), [0.1 * i, 1.0 * i])
    plt.close(figure)


def test_sampling_shows_means_and_spreads_by_draws() -> None:
    keys = itertools.product((20, 50), (10, 300, np.inf), (0, 1))
    frame = pd.DataFrame(keys, columns=["m", "n_samples", "draw"]).assign(s=0.5)
    finite = np.isfinite(frame["n_samples"])
    frame["signs"] = np.where(finite, 1 / frame["n_samples"] + frame["m"] / 1000, 0)
    frame["signs"] += np.where(finite & (frame["draw"] == 1), 0.02, 0)
    frame["predictions"] = np.where(finite, 2 / frame["n_samples"], 0)
    frame["ari_exact"] = np.where(finite, 0.5 + frame["draw"] / 5, 0.9) + frame["m"] / 1000
    figure, all_axes = plt.subplots(2, 1, figsize=(6, 7), layout="constrained")
    plots.draw_sampling(*all_axes, frame)
    assert_legible(all_axes)
    upper, lower = all_axes
    ys = {
        label: handle[0].get_ydata()
        for handle, label in zip(*upper.get_legend_handles_labels(), strict=True)
    }
    np.testing.assert_allclose(ys["predictions, all runs"], [0.2, 2 / 300])
    np.testing.assert_allclose(ys["signs, m = 20, s = 0.5"], [0.13, 1 / 300 + 0.03])
    np.testing.assert_allclose(ys["signs, m = 50, s = 0.5"], [0.16, 1 / 300 + 0.06])
    bars = [handle[2][0].get_segments() for handle in drawn(upper)[1:]]
    np.testing.assert_allclose(
        [np.ptp(segment[:, 1]) for segments in bars for segment in segments],
        2 * np.std([0, 0.02], ddof=1),
    )
    ticks = [label.get_text() for label in lower.get_xticklabels()]
    assert ticks == ["10", "300", "exact, other\nrestarts"]
    assert [label.get_text() for label in upper.get_xticklabels()] == ticks[:2]
    # Hollow, apart on the right: the exact law with other restarts.
    hollow = [c[0] for c in lower.containers if c[0].get_fillstyle() == "none"]
    np.testing.assert_allclose([line.get_ydata()[0] for line in hollow], [0.92, 0.95])
    assert all(round(line.get_xdata()[0]) == 2 for line in hollow)
    plt.close(figure)


def test_learned_shows_means_by_training_instances() -> None:
    rng = np.random.default_rng(0)
    keys = itertools.product((0, 1), (10, 400), MARGINALS)
    frame = pd.DataFrame(keys, columns=["repeat", "m", "marginals"])
    models = ("fitted", "planted", "singletons", "copy_planted")
    for column in ("ari", "lost", *(f"zero_one_{model}" for model in models)):
        frame[column] = rng.random(len(frame))
    figure, all_axes = plt.subplots(3, 1, figsize=(6, 10), layout="constrained")
    plots.draw_learned(*all_axes, frame.sample(frac=1, random_state=0))
    assert_legible(all_axes)
    mean = frame.groupby(["marginals", "m"]).mean()
    for axes, column in zip(all_axes, ("ari", "lost"), strict=False):
        assert [line.get_label() for line in axes.lines] == list(MARGINALS)
        assert len({to_hex(line.get_color()) for line in axes.lines}) == len(MARGINALS)
        for line in axes.lines:
            np.testing.assert_allclose(line.get_ydata(), mean.loc[line.get_label(), column])
            assert line.get_xdata().tolist() == [10, 400]
    lines = {line.get_label(): line for line in all_axes[2].lines}
    words = ("groups found", "true groups", "alone", "copying in true groups")
    assert list(lines) == [f"{model}, {name}" for model in words for name in ("logit", "true")]
    sizes = [line.get_markersize() for line in lines.values()][::2]
    assert sizes == sorted(set(sizes), reverse=True)  # else one would hide another
    for (label, line), (model, name) in zip(
        lines.items(), itertools.product(models, ("logit", "true")), strict=True
    ):
        np.testing.assert_allclose(line.get_ydata(), mean.loc[name, f"zero_one_{model}"])
        assert line.get_linestyle() == ("--" if label.endswith("true") else "-")
    for axes in all_axes:
        assert axes.get_xscale() == "log"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "400"]
    plt.close(figure)


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
