"""Calibration: known tables, and what it means to promise right."""

import numpy as np
import pytest

from siscm.beyond.calibration import calibration, calibration_error


def test_a_small_table_by_hand():
    p = np.array([[0.85, 0.15], [0.95, 0.05], [0.12, 0.88]])
    table = calibration(np.log(p), np.array([0, 1, 1]))
    assert table.index.tolist() == [0, 1, 8, 9]
    np.testing.assert_allclose(table["probability"], [0.05, 0.135, 0.865, 0.95])
    np.testing.assert_allclose(table["said"], [1.0, 0.0, 1.0, 0.0])
    assert table["n"].tolist() == [1, 2, 2, 1]
    assert calibration_error(table) == pytest.approx((0.95 + 0.27 + 0.27 + 0.95) / 6)


def test_names_of_labels_are_no_codes():
    with pytest.raises(ValueError, match="labels must be integer codes"):
        calibration(np.log([[0.5, 0.5]]), np.array(["mild"]))
    with pytest.raises(ValueError, match="label code 2 is not one of the 2 classes"):
        calibration(np.log([[0.5, 0.5]]), np.array([2]))


def test_certainty_has_a_bin():
    table = calibration(np.log([[1.0, 1e-300]]), np.array([0]))
    assert table.index.tolist() == [0, 9]
    assert calibration_error(table) == pytest.approx(0)


def test_labels_drawn_from_their_probabilities_are_calibrated_and_doubled_odds_are_not():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 20_000)
    said = (p.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    table = calibration(np.log(p), said)
    assert table["n"].sum() == 60_000
    assert calibration_error(table) < 0.01
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    assert calibration_error(calibration(np.log(sharp), said)) > 0.05


def test_the_probability_of_a_bin_is_their_mean():
    table = calibration(np.log([[0.11, 0.89], [0.12, 0.88], [0.19, 0.81]]), np.array([0, 1, 1]))
    assert table["probability"].tolist() == pytest.approx([0.14, 0.86])
