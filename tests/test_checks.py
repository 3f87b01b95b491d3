"""Checks: what is trusted is returned as it is meant, what is not is refused."""

from __future__ import annotations

import numpy as np

from siscm.checks import check_labels, check_log_distribution


def test_a_masked_array_of_which_nothing_is_masked_is_an_array() -> None:
    assert check_labels(np.ma.array([0, 1], dtype=np.int8), 2).tolist() == [0, 1]
    law = np.log([0.25, 0.75])
    found = check_log_distribution(np.ma.array(law, mask=[False, False]), "first")
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, law)
