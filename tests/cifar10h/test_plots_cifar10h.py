"""Figures of CIFAR-10H's data show the numbers they are given."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from siscm.cifar10h import plots_cifar10h as plots
from siscm.cifar10h.counts import CLASSES
from siscm.compendium.plots import BLUE, ORANGE

mpl.use("agg")


def _bars(axes: Axes) -> list[tuple[float, float, float]]:
    return [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in axes.patches]


def test_shares_are_bars_as_long_as_the_counts_with_full_agreement_apart(axes: Axes) -> None:
    plots.draw_shares(axes, pd.Series({"few": 30, "most": 1200, "everybody": 4393}))
    assert [bar.get_width() for bar in axes.patches] == [30, 1200, 4393]
    assert [text.get_text() for text in axes.texts] == ["30", "1,200", "4,393"]
    colours = [to_hex(bar.get_facecolor()) for bar in axes.patches]
    assert colours == [ORANGE, ORANGE, BLUE]


def test_a_histogram_counts_everybody_once(axes: Axes) -> None:
    values = pd.Series([1, 5, 5, 15, 15, 15, 25])
    plots.draw_histogram(axes, values, [0, 10, 20, 30])
    assert _bars(axes) == [(0, 10, 3), (10, 10, 3), (20, 10, 1)]
    assert axes.get_yscale() == "log"


def test_those_marked_stand_on_top_of_the_others_in_the_same_range(axes: Axes) -> None:
    values = pd.Series([5, 5, 15, 15, 15])
    marked = pd.Series([False, True, False, True, True])
    plots.draw_histogram(axes, values, [0, 10, 20], marked=marked, names=("out", "in"))
    assert _bars(axes) == [(0, 10, 1), (10, 10, 1), (0, 10, 1), (10, 10, 2)]
    assert [bar.get_y() for bar in axes.patches] == [0, 0, 1, 1]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["out", "in"]


COUNTS = pd.DataFrame(
    [[0, 0, 4, 20, 0, 16, 3, 2, 1, 0], [51, 0, 0, 0, 0, 0, 0, 0, 0, 0], [9] * 10],
    columns=CLASSES,
    index=[7, 8, 9],
)


def test_a_gallery_shows_each_image_beside_its_most_frequent_labels() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    figure = plt.figure()
    plots.draw_gallery(figure, COUNTS, pictures)
    cells = np.array(figure.axes).reshape(-1, 2)
    for place, (picture, bars) in enumerate(cells[:3]):
        np.testing.assert_array_equal(picture.images[0].get_array(), pictures[place])
        row = COUNTS.iloc[place]
        shown = [text.get_text() for text in bars.texts]
        widths = [bar.get_width() for bar in bars.patches]
        assert widths == sorted(row[row > 0], reverse=True)[:4]
        assert shown == [
            f"{text.split()[0]} {n:.0f}" for text, n in zip(shown, widths, strict=True)
        ]
        assert all(row[text.split()[0]] == int(text.split()[1]) for text in shown)
        assert bars.get_xlim() == (0, row.sum())
    assert not cells[3, 0].axison
    plt.close(figure)


def test_a_gallery_without_pictures_shows_the_same_labels() -> None:
    with_pictures, without = plt.figure(), plt.figure()
    plots.draw_gallery(with_pictures, COUNTS, np.zeros((3, 32, 32, 3), dtype=np.uint8))
    plots.draw_gallery(without, COUNTS, None)
    said = [
        [text.get_text() for axes in figure.axes for text in axes.texts]
        for figure in (with_pictures, without)
    ]
    assert said[0] == said[1]
    assert "cat 20" in said[1]
    assert not any(axes.images for axes in without.axes)
    plt.close("all")


def test_confusions_are_written_per_thousand_and_shaded_off_the_diagonal(axes: Axes) -> None:
    table = pd.DataFrame(np.diag(np.full(10, 180)) + 2, index=CLASSES, columns=CLASSES)
    table.loc["cat", "dog"] = 102
    plots.draw_confusions(axes, table.rename_axis("most people said"))
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written[5, 3] == "340"
    assert written[3, 3] == "607"
    assert written[3, 5] == "10"
    shade = np.ma.masked_invalid(axes.images[0].get_array())
    assert shade.mask.diagonal().all()
    assert shade[3, 5] == shade.max() == 340
    assert axes.get_ylabel() == "most people said"
    assert [label.get_text() for label in axes.get_xticklabels()] == list(CLASSES)


def test_each_class_is_coloured_once_over_all_the_others() -> None:
    figure, grid = plt.subplots(2, 5)
    labels = np.repeat(np.arange(10), 3)
    points = np.random.default_rng(0).random((30, 2))
    plots.draw_classes(list(grid.flat), points, labels)
    for c, axes in enumerate(grid.flat):
        others, own = (np.asarray(part.get_offsets()) for part in axes.collections)
        np.testing.assert_array_equal(own, points[labels == c])
        assert len(others) == 27
        assert axes.get_title() == CLASSES[c]
        colour = ORANGE if CLASSES[c] in plots.ANIMALS else BLUE
        assert tuple(axes.collections[1].get_facecolor()[0][:3]) == to_rgb(colour)
    plt.close(figure)


def test_referrals_draw_what_is_learned_and_what_is_true(axes: Axes) -> None:
    plots.draw_referrals(axes, np.array([1.0, 2.0]), np.array([0.3, 0.4]), 0.3)
    learned, truth = axes.lines
    np.testing.assert_array_equal(learned.get_ydata(), [0.3, 0.4])
    assert set(np.asarray(truth.get_ydata()).tolist()) == {0.3}
