"""The sweep's figures: the paper's claim by hand, and what was recorded comes out again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from siscm.pages import expected
from siscm.sweep import MODELS, N_TRAIN, SPARSITIES, sweep
from siscm.sweep_figures import SHOWN, cells, claims, drift, figures, needed_ratio


@pytest.fixture
def runs() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "s": [0.1, 0.1, 0.6, 0.6],
            "m": [10, 10, 20, 20],
            "ari": [1.0, 0.96, 0.8, 0.1],
            "edge_ratio": [0.9, 0.5, 0.35, np.nan],
            "zero_one_fitted": [0.5, 0.503, 0.52, 0.6],
        }
    )
    return frame.assign(zero_one_true=0.5, zero_one_singletons=0.6)


def test_the_claim_by_hand(runs) -> None:
    found = claims(runs)
    assert found == {
        "runs": 3,
        "ari_mean": 0.92,
        "ari_lowest": 0.8,
        "ari_near_one": 0.6667,
        "losses_alike": 0.6667,
    }
    assert claims(runs, 0.4)["losses_alike"] == 1
    assert claims(runs, 0.95) == {"runs": 0}
    assert needed_ratio(runs) == 0.35


def test_cells_are_means_and_deviations_over_repeats(runs) -> None:
    assert cells(runs).loc[(0.1, 10), "ari"] == pytest.approx(0.98)
    assert cells(runs, "std").loc[(0.1, 10), "ari"] == pytest.approx(np.std([1, 0.96], ddof=1))


def test_drift_names_what_drifted() -> None:
    one = {"a": {"b": 1.0, "c": [1.0, np.nan]}, "d": 3}
    assert list(drift(one, one, 0)) == []
    other = {"a": {"b": 1.2, "c": [1.0, np.nan]}, "e": 3}
    assert list(drift(one, other, 0.1)) == [
        "a: b is 1.0, recorded as 1.2",
        "d is not recorded",
        "e is not found",
    ]


def test_one_size_of_the_recorded_sweep_comes_out_again() -> None:
    """The chapter holds all of it to the record; here, the smallest training sets."""
    ours = expected("synthetic")["ours"]
    small = figures(sweep(ours["seed"], n_train=(10, 20), n_jobs=2))["cells"]
    assert len(small) == 2 * len(SPARSITIES)
    recorded = {key: ours["figures"]["cells"][key] for key in small}
    assert list(drift(small, recorded, ours["tolerance"])) == []


def test_the_record_is_of_the_whole_grid_and_names_the_papers_claim() -> None:
    content = expected("synthetic")
    assert len(content["ours"]["figures"]["cells"]) == len(N_TRAIN) * len(SPARSITIES)
    assert content["paper"]["from_the_released_code"]["m"] == list(N_TRAIN)
    assert content["paper"]["from_the_released_code"]["s"] == list(SPARSITIES)
    assert "0.3" in content["ours"]["figures"]["claims"]
    assert {f"zero_one_{model}" for model in MODELS} <= set(SHOWN)
