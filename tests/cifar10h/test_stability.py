"""Stability tables hold what a run of their row gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from siscm import Opinions, evaluation, partition
from siscm.cifar10h import stability
from siscm.cifar10h.experiment import Experiment, run
from siscm.cifar10h.pipeline import Cifar10H, prepare
from siscm.data.simulate import simulate_opinions
from siscm.model import GumbelMaxSISCM

GROUPS = [[0, 1, 2], [3, 4, 5], [6]]


@pytest.fixture(scope="module")
def panel() -> tuple[pd.DataFrame, Experiment, pd.DataFrame]:
    rng = np.random.default_rng(0)
    n, k = 300, 3
    X = rng.normal(size=(n, 2))
    log_odds = np.einsum("nf,hfk->nhk", X, 2 * rng.normal(size=(7, 2, k)))
    log_p = log_odds - np.log(np.exp(log_odds).sum(axis=-1, keepdims=True))
    said = simulate_opinions(log_p, GROUPS, rng.random((n, 7)) < 0.7, rng)
    opinions = Opinions.from_codes(said, experts=list("abcdefg"), classes=range(k))
    features = pd.DataFrame(X, index=opinions.instances)
    train, test = (opinions.select(instances=part) for part in (range(200), range(200, n)))
    return features[:200], run(features[:200], train, features[200:], test), features[200:]


def test_restarts_lower_the_objective(panel: tuple[pd.DataFrame, Experiment, pd.DataFrame]) -> None:
    _, done, _ = panel
    table = stability.over_restarts(done, (1, 20), range(4))
    assert table.index.names == ["restarts", "seed"]
    best = table["objective"].groupby("restarts").max()
    assert best[20] <= best[1]
    assert (table.loc[20, "objective"] <= table.loc[1, "objective"]).all()
    for (number, seed), row in table.iterrows():
        rng = np.random.default_rng(seed)
        groups = partition.greedy(done.model.graph_, number, rng=rng)
        assert row["groups"] == len(groups)
        assert row["alone"] == [len(group) for group in groups].count(1)
        named = [[done.train.experts[h] for h in group] for group in groups]
        pairs = evaluation.all_pairs(done.log_marginals, done.test, named)
        hits = evaluation.hits(pairs).mean()
        for scenario in evaluation.SCENARIOS:
            np.testing.assert_equal(row[f"SI-SCM, {scenario}"], hits[scenario])
    assert table["likeness"].between(-1, 1).all()


def test_one_seed_has_nothing_to_be_like(
    panel: tuple[pd.DataFrame, Experiment, pd.DataFrame],
) -> None:
    table = stability.over_restarts(panel[1], (1,), [0])
    assert table["likeness"].isna().all()


def test_equal_partitions_are_wholly_alike(
    panel: tuple[pd.DataFrame, Experiment, pd.DataFrame],
) -> None:
    repeated = stability.over_restarts(panel[1], (3,), [2, 2, 2])
    assert repeated.index.tolist() == [(3, 2)]
    assert repeated["likeness"].isna().all()  # a seed is not compared with itself
    alike = stability._likeness([[["a", "b"], ["c"]], [["c"], ["b", "a"]], [["a", "b", "c"]]])
    assert alike == [0.5, 0.5, 0.0]


def test_halves_are_fitted_apart(panel: tuple[pd.DataFrame, Experiment, pd.DataFrame]) -> None:
    X_train, done, X_test = panel
    table = stability.over_halves(X_train, done, X_test, [7])
    assert table.index.tolist() == [(7, 0), (7, 1)]
    assert table["likeness"].nunique() == 1
    images = np.random.default_rng(7).permutation(done.train.instances.to_numpy())
    half = done.train.select(instances=np.sort(images[1::2]))
    assert len(half.instances) == 100
    model = GumbelMaxSISCM().fit(X_train.loc[half.instances], half)
    assert table.loc[(7, 1), "groups"] == len(model.partition_)
    pairs = evaluation.all_pairs(
        model.log_marginals(X_test, done.test), done.test, model.partition_
    )
    assert table.loc[(7, 1), "SI-SCM, all pairs"] == evaluation.hits(pairs).mean()["all pairs"]


def test_seeds_are_tried_in_their_order_and_are_not_the_models(
    panel: tuple[pd.DataFrame, Experiment, pd.DataFrame],
) -> None:
    table = stability.over_restarts(panel[1], (2, 1), [3, 1])
    assert table.index.tolist() == [(2, 3), (2, 1), (1, 3), (1, 1)]
    assert len(set(stability.SEEDS)) == 20
    assert GumbelMaxSISCM().random_state not in stability.SEEDS


def test_splits_redo_the_experiment_from_the_raw_file(
    twin: Cifar10H, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, likeness = [], stability._likeness
    monkeypatch.setattr(
        stability, "_likeness", lambda found: [compared.extend(found), likeness(found)][1]
    )
    table = stability.over_splits(twin, [3, 4])
    in_groups = [sum(len(group) for group in groups) for groups in compared]
    assert in_groups == table["experts"].tolist()
    ready = prepare(twin, seed=4)
    model = GumbelMaxSISCM().fit(ready.X_train, ready.train)
    assert table.loc[4, "experts"] == len(model.experts_)
    assert table.loc[4, "groups"] == len(model.partition_)
    pairs = evaluation.all_pairs(
        model.log_marginals(ready.X_test, ready.test), ready.test, model.partition_
    )
    assert table.loc[4, "SI-SCM, same group"] == evaluation.hits(pairs).mean()["same group"]
    agree = (pairs["observed_label"] == pairs["truth"]).mean()
    assert table.loc[4, "copy, all pairs"] == pytest.approx(agree)
    assert table["likeness"].nunique() == 1
    assert (table["images without features"] == 0).all()


def test_a_split_without_features_is_left_out_and_says_so(twin: Cifar10H) -> None:
    asked = []

    def missing(images: np.ndarray) -> np.ndarray:
        asked.append(len(images))
        return images[:5]

    def never(images: np.ndarray) -> np.ndarray:
        raise AssertionError("features are not to be asked for")

    table = stability.over_splits(replace(twin, missing=missing, features=never), [3])
    assert table.loc[3, "images without features"] == 5
    assert table["likeness"].isna().all()
    assert table[["experts", "groups", "alone", "objective"]].isna().all(axis=None)
    accuracies = [f"{rule}, {s}" for rule in stability.RULES for s in evaluation.SCENARIOS]
    assert table[accuracies].isna().all(axis=None)
    ready = prepare(twin, seed=3)
    assert asked == [len(ready.train.instances) + len(ready.test.instances)]
