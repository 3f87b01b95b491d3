"""Checks: what is trusted is returned as it is meant, what is not is refused."""

from __future__ import annotations

import numpy as np
import pytest

from siscm.checks import check_count, check_labels, check_log_distribution, check_rng


def test_a_masked_array_of_which_nothing_is_masked_is_an_array() -> None:
    assert check_labels(np.ma.array([0, 1], dtype=np.int8), 2).tolist() == [0, 1]
    law = np.log([0.25, 0.75])
    found = check_log_distribution(np.ma.array(law, mask=[False, False]), "first")
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, law)


def test_a_count_may_be_of_any_kind_of_integer() -> None:
    assert check_count(np.int64(3), "n_draws") == 3
    assert check_count(0, "n_draws", least=0) == 0
    with pytest.raises(ValueError, match="n_draws must be a whole number of at least 1; got 0"):
        check_count(0, "n_draws")


@pytest.mark.parametrize("rng", [0, None, np.random])
def test_what_is_no_generator_is_refused(rng: object) -> None:
    with pytest.raises(
        ValueError, match=r"this needs a generator rng; pass a numpy\.random\.Generator"
    ):
        check_rng(rng)
