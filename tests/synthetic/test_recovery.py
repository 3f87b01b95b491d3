"""Groups are compared on common experts."""

from __future__ import annotations

import numpy as np

from siscm.synthetic import recovery


def test_likeness_knows_names_not_numbers() -> None:
    one = [["a", "b"], ["c", "d"]]
    assert recovery.adjusted_rand(one, [["d", "c"], ["b", "a"]]) == 1
    assert recovery.adjusted_rand(one, [["a", "c"], ["b", "d"]]) < 0
    assert recovery.adjusted_rand([*one, ["x"]], [["a", "b", "y"], ["c", "d"]]) == 1
    assert np.isnan(recovery.adjusted_rand(one, [["a", "z"]]))
