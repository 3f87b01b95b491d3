"""The sweep's figures: the paper's claim by hand, and what was recorded comes out again."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from siscm.compendium.pages import expected
from siscm.synthetic import sweep_figures
from siscm.synthetic.sweep import MODELS, N_TRAIN, SPARSITIES, grid, sweep
from siscm.synthetic.sweep_figures import SHOWN, cells, claims, drift, figures, needed_ratio


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


def test_losses_below_the_true_models_are_alike_and_a_ratio_at_the_threshold_is_not_above(
    runs,
) -> None:
    lower = runs.assign(zero_one_fitted=0.4)
    assert claims(lower)["losses_alike"] == 1
    assert claims(runs, 0.35)["runs"] == 2


def test_cells_are_means_over_repeats(runs) -> None:
    assert cells(runs).loc[(0.1, 10), "ari"] == pytest.approx(0.98)


def test_drift_names_what_drifted() -> None:
    one = {"a": {"b": 1.0, "c": [1.0, np.nan]}, "d": 3}
    assert list(drift(one, one, 0)) == []
    other = {"a": {"b": 1.2, "c": [1.0, np.nan]}, "e": 3}
    assert list(drift(one, other, 0.1)) == [
        "a: b is 1.0, recorded as 1.2",
        "d is not recorded",
        "e is not found",
    ]
    assert len(list(drift({"a": 100.0}, {"a": 100.5}, 0.1))) == 1  # not relative to their size
    texts = {"a": "x", "b": None, "c": None}, {"a": "x", "b": None, "c": 0.0}
    assert list(drift(*texts, 0.1)) == ["c is None, recorded as 0.0"]


@pytest.mark.parametrize("recorded", [1.0, [1.0], [1.0, 1.0], {"b": 1.0}])
def test_another_shape_is_drift(recorded) -> None:
    """Even where NumPy would repeat the one number recorded."""
    found = {"a": [1.0, 1.0, 1.0]}
    words = [f"a is [1.0, 1.0, 1.0], recorded as {recorded}"]
    assert list(drift(found, {"a": recorded}, 0.1)) == words
    assert len(list(drift({"a": recorded}, found, 0.1))) == 1


def test_one_size_of_the_recorded_sweep_comes_out_again() -> None:
    """The chapter holds all of it to the record; here, the smallest training sets."""
    ours = expected("synthetic")["ours"]
    small = figures(sweep(ours["seed"], runs=grid(n_train=(10, 20)), n_jobs=2))["cells"]
    assert len(small) == 2 * len(SPARSITIES)
    recorded = {key: ours["figures"]["cells"][key] for key in small}
    assert list(drift(small, recorded, ours["tolerance"])) == []


def test_main_records_the_sweep_of_the_recorded_seed(monkeypatch, tmp_path, runs) -> None:
    content = expected("synthetic")
    (tmp_path / "expected").mkdir()
    asked = content["ours"]["seed"] + 7
    before = content | {"ours": content["ours"] | {"seed": asked}}
    (tmp_path / "expected" / "synthetic.json").write_text(json.dumps(before))
    monkeypatch.setattr("siscm.compendium.pages.ROOT", tmp_path)
    seeds = []
    monkeypatch.setattr(
        sweep_figures, "sweep", lambda seed, *, n_jobs: seeds.append((seed, n_jobs)) or runs
    )
    sweep_figures.main()
    assert seeds == [(asked, -1)]
    after = expected("synthetic")
    assert after["paper"] == content["paper"]
    assert after["ours"]["figures"]["cells"] == figures(runs)["cells"]
    thresholds = list(content["ours"]["figures"]["claims"])
    assert list(after["ours"]["figures"]["claims"]) == thresholds == ["0.3", "0.4", "0.5"]


def test_the_record_is_of_the_whole_grid_and_names_the_papers_claim() -> None:
    content = expected("synthetic")
    assert len(content["ours"]["figures"]["cells"]) == len(N_TRAIN) * len(SPARSITIES)
    assert content["paper"]["from_the_released_code"]["m"] == list(N_TRAIN)
    assert content["paper"]["from_the_released_code"]["s"] == list(SPARSITIES)
    assert "0.3" in content["ours"]["figures"]["claims"]
    assert {f"zero_one_{model}" for model in MODELS} <= set(SHOWN)


def test_what_equals_a_threshold_is_near_and_alike() -> None:
    runs = pd.DataFrame(
        {
            "ari": [0.95, 0.9, 0.8],
            "edge_ratio": [0.9, 0.6, 0.4],
            "zero_one_fitted": 0.005,
            "zero_one_true": 0.0,
        }
    )
    found = claims(runs)
    assert (found["ari_near_one"], found["losses_alike"]) == (0.3333, 1)
    assert needed_ratio(runs) == 0.6
    assert len(list(drift({"a": 1e6}, {"a": 1e6 + 1}, 0.1))) == 1  # not relative to their size


# pair_losses, in test_sweep
