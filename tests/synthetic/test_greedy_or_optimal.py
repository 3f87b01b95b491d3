"""Algorithm 1 beside the optimum: the sweep's own runs, and an order that cannot be otherwise."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from siscm import SimilarityGraph, partition
from siscm.compendium.pages import ROOT, expected
from siscm.partition import TOLERANCE, ExactPartition
from siscm.synthetic import greedy_or_optimal
from siscm.synthetic.greedy_or_optimal import (
    METHODS,
    OTHER_SEEDS,
    RUNS,
    compare,
    record,
    summary,
)
from siscm.synthetic.sweep import N_REPEATS, N_TRAIN, SPARSITIES, Run, grid, sweep

SIZES = (5, 6, 7)
SOME = (Run(0, 10, 0.6), Run(1, 10, 0.6), Run(0, 60, 0.9), Run(0, 60, 0.1))
SMALL = {"runs": SOME, "n_test": 50, "group_sizes": SIZES}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return compare(4, **SMALL)


def by_method(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row a run, a column a method."""
    return frame.pivot(index=["repeat", "m", "s"], columns="method", values=column)


def test_a_row_a_run_and_method(frame: pd.DataFrame) -> None:
    assert len(frame) == len(SOME) * len(METHODS)
    assert list(frame["method"]) == list(METHODS) * len(SOME)
    assert not frame.isna().any(axis=None)
    same = frame.groupby(["repeat", "m", "s"])[["edges", "edge_ratio", "bound"]].nunique()
    assert (same == 1).all(axis=None)


def test_the_better_the_search_the_lower_the_objective(frame: pd.DataFrame) -> None:
    value = by_method(frame, "objective")
    for method in ("restarts", "local search"):
        assert (value[method] <= value["greedy"] + 1e-9).all()
    for method in METHODS:
        assert (value["exact"] <= value[method] + TOLERANCE).all()
    assert (value["exact"] < value["greedy"] - 0.01).any()


def test_optimal_is_what_reaches_the_bound(frame: pd.DataFrame) -> None:
    assert (frame["optimal"] == (frame["objective"] - frame["bound"] <= TOLERANCE)).all()
    assert by_method(frame, "optimal")["exact"].all()
    np.testing.assert_allclose(
        frame["gap"], (frame["objective"] - frame["bound"]).clip(0), rtol=0, atol=1e-12
    )
    assert (by_method(frame, "ari")["planted"] == 1).all()
    clear = frame[(frame["m"] == 60) & (frame["s"] == 0.1)]
    assert (clear["edge_ratio"] > 0.9).all()
    assert clear["optimal"].all()


def test_what_is_not_proven_is_measured_from_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that stopped early: even the best found may miss what lies down to the bound."""
    exact = partition.exact

    def stopped(graph: SimilarityGraph, *, node_limit: int) -> ExactPartition:
        best = exact(graph, node_limit=node_limit)
        return replace(best, bound=best.objective - 0.5)

    proven = compare(4, **SMALL).set_index("method")
    monkeypatch.setattr(partition, "exact", stopped)
    frame = compare(4, **SMALL).set_index("method")
    np.testing.assert_allclose(frame["gap"], proven["gap"] + 0.5, atol=1e-9)
    assert not frame["optimal"].any()
    assert not summary(frame.reset_index())["optimal"].any()


def test_graphs_and_greedy_are_those_of_the_sweep(frame: pd.DataFrame) -> None:
    theirs = sweep(
        4, runs=grid(2, (10, 60), (0.1, 0.6, 0.9)), n_test=50, group_sizes=SIZES
    ).set_index(["repeat", "m", "s"])
    ours = frame[frame["method"] == "greedy"].set_index(["repeat", "m", "s"])
    theirs = theirs.loc[ours.index]
    same = ["edges", "edge_ratio", "objective", "groups", "ari"]
    pd.testing.assert_frame_equal(ours[same], theirs[same])
    losses = by_method(frame, "zero_one").loc[ours.index, ["greedy", "planted"]]
    np.testing.assert_allclose(losses, theirs[["zero_one_fitted", "zero_one_true"]])


def test_every_method_begins_with_the_same_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    greedy = partition.greedy

    def watched(graph: SimilarityGraph, *args: Any, rng: np.random.Generator, **options: Any):
        states.append(rng.bit_generator.state["state"]["state"])
        return greedy(graph, *args, rng=rng, **options)

    monkeypatch.setattr(partition, "greedy", watched)
    compare(4, runs=SOME[:1], n_test=5, group_sizes=SIZES)
    assert len(states) == 4  # the first is of the exact search, which seeds its own
    assert states[0] != states[1] == states[2] == states[3]


def test_the_node_limit_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []
    exact = partition.exact

    def watched(graph: SimilarityGraph, *, node_limit: int) -> ExactPartition:
        limits.append(node_limit)
        return exact(graph, node_limit=node_limit)

    monkeypatch.setattr(partition, "exact", watched)
    for limit in (3, 0):
        compare(4, runs=SOME[:1], n_test=5, group_sizes=SIZES, node_limit=limit)
    assert limits == [3, 0]


def test_the_same_numbers_for_any_number_of_processes(frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(compare(4, **SMALL, n_jobs=2), frame)


def test_if_unmet_pairs_can_share_the_truth_is_among_the_partitions(frame: pd.DataFrame) -> None:
    """In as hard runs, and for no other reason: where all of a group met, as before."""
    unmet = compare(4, unmet=True, **SMALL)
    same = ["edges", "edge_ratio"]
    pd.testing.assert_frame_equal(unmet[same], frame[same])
    before, after = by_method(frame, "objective"), by_method(unmet, "objective")
    kept = np.isfinite(before["planted"])
    assert not kept.all()
    assert np.isfinite(after["planted"]).all()
    np.testing.assert_allclose(after["planted"][kept], before["planted"][kept])
    assert (after["exact"] <= before["exact"] + TOLERANCE).all()
    assert (after["exact"] < before["exact"] - 1).any()


def test_summaries_count_and_average(frame: pd.DataFrame) -> None:
    bands = summary(frame)
    assert bands["runs"].sum() == len(frame)
    for band, method in bands.index:
        inside = frame["edge_ratio"].between(band.left, band.right, inclusive="right")
        rows = frame[inside & (frame["method"] == method)]
        one = bands.loc[(band, method)]
        assert one["runs"] == len(rows)
        assert one["optimal"] == rows["optimal"].sum()
        assert one["cliques"] == np.isfinite(rows["objective"]).sum()
        assert one["worst_gap"] == rows["gap"].max()
        means = rows[["gap", "ari", "zero_one"]].mean()
        np.testing.assert_allclose(one[means.index].astype(float), means)


def test_what_is_written_down_can_be_read_again(frame: pd.DataFrame) -> None:
    """Infinite gaps, of planted groups that are no cliques, are left out: JSON has no infinity."""
    hard = summary(frame).xs("planted", level="method")["gap"]
    assert np.isinf(hard).any()
    assert np.isfinite(hard).any()
    written = record(frame)
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    kept = ["gap" in methods["planted"] for methods in written.values()]
    assert kept == list(np.isfinite(hard))
    aris = [one["ari"] for methods in written.values() for one in methods.values()]
    np.testing.assert_allclose(aris, summary(frame)["ari"], rtol=0, atol=5e-5)


def test_main_writes_the_whole_grid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, frame: pd.DataFrame
) -> None:
    asked, seeds = [], []

    def pretend(seed: int, *, runs: list[Run], n_jobs: int, unmet: bool = False) -> pd.DataFrame:
        asked.extend(runs)
        seeds.append(seed)
        return frame.assign(ari=0.5) if unmet else frame

    (tmp_path / "expected").mkdir()
    shutil.copy(ROOT / "expected" / "synthetic.json", tmp_path / "expected")
    monkeypatch.setattr("siscm.compendium.pages.ROOT", tmp_path)
    monkeypatch.setattr(greedy_or_optimal, "compare", pretend)
    greedy_or_optimal.main()
    own = expected("synthetic")["ours"]["seed"]
    assert own not in OTHER_SEEDS
    assert seeds == [own, own, *OTHER_SEEDS]
    written = json.loads((tmp_path / "expected" / "synthetic_exact.json").read_text())
    assert (
        len(asked) / len(seeds)
        == len(set(asked))
        == written["runs"]
        == N_REPEATS * len(RUNS)
        == 225
    )
    assert set(RUNS) < set(asked)
    assert {"date", "versions", "node_limit", "round_limit"} < set(written)
    first = record(frame[frame["repeat"] == 0])
    assert written["one_run_a_cell"] == first != written["edge_ratios"]
    aris = {one["ari"] for methods in written["unmet"].values() for one in methods.values()}
    assert aris == {0.5}
    assert written["with_other_seeds"] == record(pd.concat([frame] * len(OTHER_SEEDS)))
    assert written["other_seeds"] == list(OTHER_SEEDS)


def test_the_record_is_of_the_whole_grid() -> None:
    """What ``make sweep-exact`` wrote; to recompute it takes minutes, so its claims are held."""
    recorded = json.loads((ROOT / "expected" / "synthetic_exact.json").read_text())
    n_runs = N_REPEATS * len(N_TRAIN) * len(SPARSITIES)
    bands = [methods["exact"] for methods in recorded["edge_ratios"].values()]
    assert sum(band["runs"] for band in bands) == n_runs
    for band in bands:
        assert band["optimal"] == band["runs"]
        assert band["worst_gap"] <= TOLERANCE
    others = pd.DataFrame([methods["exact"] for methods in recorded["with_other_seeds"].values()])
    # One run has no edge inside a planted group, another's optimum is not proven.
    assert others["runs"].sum() == len(OTHER_SEEDS) * n_runs - 1
    assert others["optimal"].sum() == others["runs"].sum() - 1


def test_methods_differ_in_restarts_and_local_search(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, greedy = [], partition.greedy

    def watched(graph: SimilarityGraph, *args: Any, rng: np.random.Generator, **options: Any):
        asked.append((args, options))
        return greedy(graph, *args, rng=rng, **options)

    monkeypatch.setattr(partition, "greedy", watched)
    compare(4, runs=SOME[:1], n_test=5, group_sizes=SIZES)
    assert asked[1:] == [((5,), {}), ((50,), {}), ((5,), {"local_search": True})]
