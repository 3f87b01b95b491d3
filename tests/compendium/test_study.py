"""From a panel to the figures that a page quotes."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from siscm.baselines import gumbel_max, marginals_only
from siscm.compendium.study import (
    figures,
    other_starts,
    scores,
    study,
    violation_counts,
    violations_by_meetings,
)
from siscm.data.simulate import simulate_panel
from siscm.evaluation import all_pairs, hits, log_loss
from siscm.partition import greedy, group_of


@pytest.fixture(scope="module")
def done():
    return study(simulate_panel("HS-Brexit", np.random.default_rng(0)))


def test_parts_are_the_tasks_own(done):
    split = done.panel.instances["split"]
    assert set(split[done.train.instances]) == {"train", "dev"}
    assert set(split[done.test.instances]) == {"test"}
    assert done.X_train.index.equals(done.train.instances)
    assert done.X_test.index.equals(done.test.instances)


def test_features_come_from_training_texts_only(done):
    changed = simulate_panel("HS-Brexit", np.random.default_rng(0))
    test_rows = changed.instances["split"] == "test"
    changed.instances.loc[test_rows, "text"] = "entirely other words"
    again = study(changed)
    np.testing.assert_array_equal(again.X_train, done.X_train)
    assert not np.allclose(again.X_test, done.X_test)


def test_violations_are_counted_by_pair(done):
    counts = violation_counts(done.model)
    graph = done.model.graph_
    pairs = [(h, j) for h in range(6) for j in range(h)]
    assert counts["pairs_together"] == sum(graph.together[p] > 0 for p in pairs)
    assert counts["pairs_in_violation"] == sum(graph.violations[p] > 0 for p in pairs)
    assert counts["violations"] == sum(graph.violations[p] for p in pairs)


def test_planted_groups_beat_marginals_inside_and_equal_them_across(done):
    planted = scores(done, done.panel.truth.groups, rng=np.random.default_rng(0))
    model, marginals = planted["Gumbel-Max SI-SCM"], planted["marginals only"]
    assert model["same group"]["log_loss"] < marginals["same group"]["log_loss"]
    assert model["different groups"] == marginals["different groups"]
    assert model["all pairs"]["n_pairs"] == 168 * 6 * 5


def test_other_starts_score_the_pairs_inside_the_groups_they_find():
    large = study(simulate_panel("MD-Agreement", np.random.default_rng(0)), 150)
    graph, said = large.model.graph_, large.test.labels
    starts = other_starts(large, 2)
    assert starts[0] != starts[1]
    for seed, start in enumerate(starts):
        found = greedy(graph, rng=np.random.default_rng(seed))
        groups = [[graph.experts[h] for h in group] for group in found]
        inside = group_of(groups, large.test.experts)
        agreed = {True: [], False: []}
        for row in said:
            for one, other in permutations(np.flatnonzero(row >= 0), 2):
                agreed[inside[one] == inside[other]].append(row[one] == row[other])
        assert start["pairs"] == len(agreed[True])
        assert start["agree"] == pytest.approx(np.mean(agreed[True]), abs=1e-6)
        assert start["agree_across"] == pytest.approx(np.mean(agreed[False]), abs=1e-6)
        for name, rule in (("model", gumbel_max), ("marginals", marginals_only)):
            log_p = large.model.log_marginals(large.X_test, large.test)
            pairs = all_pairs(log_p, large.test, groups, rule)
            right = hits(pairs)["same group"].mean()
            assert start[f"{name}_accuracy"] == pytest.approx(right, abs=1e-6)
            loss = log_loss(pairs["probability"], 2)[pairs["same_group"]].mean()
            assert start[f"{name}_log_loss"] == pytest.approx(loss, abs=1e-6)


def test_other_starts_without_a_group_have_nothing_to_score(done):
    assert other_starts(done, 1) == []


def test_equal_scores_have_equal_intervals(done):
    singletons = [[expert] for expert in done.train.experts]
    compared = scores(done, singletons, rng=np.random.default_rng(0))
    assert compared["Gumbel-Max SI-SCM"] == compared["marginals only"]
    assert compared["copy"]["all pairs"] == compared["copy"]["different groups"]


def test_figures_are_numbers_only(done):
    def leaves(content):
        for value in content.values():
            yield from leaves(value) if isinstance(value, dict) else [value]

    values = list(leaves(figures(done, rng=np.random.default_rng(0))))
    assert all(type(value) in (int, float) and value == value for value in values)


def test_min_opinions_leaves_out_whoever_said_less():
    panel = simulate_panel("MD-Agreement", np.random.default_rng(0))
    said = panel.part("train", "dev")
    counts = np.bincount(said.expert_codes, minlength=len(said.experts))
    least = int(counts[counts >= 300].min())
    few = study(panel, min_opinions=least)
    assert list(few.train.experts) == list(said.experts[counts >= least])
    assert list(few.test.experts) == list(few.train.experts)


def test_violations_by_meetings_are_counted_pair_by_pair():
    model = study(simulate_panel("MD-Agreement", np.random.default_rng(0)), min_opinions=200).model
    graph, n = model.graph_, len(model.experts_)
    rows = [
        (graph.together[h, j], graph.violations[h, j] > 0)
        for h in range(n)
        for j in range(h)
        if graph.together[h, j]
    ]
    table = violations_by_meetings(model)
    assert table["pairs"].sum() == len(rows) == violation_counts(model)["pairs_together"]
    between = [torn for met, torn in rows if 3 <= met <= 5]
    assert table.loc["3-5", "pairs"] == len(between)
    assert table.loc["3-5", "in violation"] == pytest.approx(np.mean(between))
    median = np.median([met for met, torn in rows if torn])
    assert violation_counts(model)["median_meetings_of_violating_pairs"] == median


@pytest.mark.slow
def test_same_figures_for_any_threads_and_hash_seed():
    script = (
        "import json, numpy as np; from siscm.compendium.study import *; "
        "from siscm.data.simulate import simulate_panel; "
        "done = study(simulate_panel('HS-Brexit', np.random.default_rng(3))); "
        "log_p = done.model.log_marginals(done.X_test, done.test); "
        "print(json.dumps([log_p.ravel()[::97].tolist(), "
        "figures(done, rng=np.random.default_rng(0))]))"
    )
    settings = [("1", "0"), ("2", "1")]
    marginals, rest = zip(
        *(
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", script],
                    env=os.environ
                    | {"OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": n, "PYTHONHASHSEED": seed},
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for n, seed in settings
        ),
        strict=True,
    )
    np.testing.assert_allclose(marginals[0], marginals[1], rtol=0, atol=1e-10)
    assert rest[0] == rest[1]


def met_by_hand() -> SimpleNamespace:
    """Four experts: how often every two met, and on how many instances they violate."""
    together, violations = np.diag([9, 9, 9, 9]), np.zeros((4, 4), dtype=int)
    for h, j, met, torn in ((0, 1, 1, 1), (0, 2, 2, 0), (0, 3, 3, 2), (1, 2, 5, 0), (2, 3, 6, 3)):
        together[[h, j], [j, h]], violations[[h, j], [j, h]] = met, torn
    graph = SimpleNamespace(together=together, violations=violations)
    return SimpleNamespace(
        experts_=list("abcd"), graph_=graph, partition_=[["a"], ["b", "c"], ["d"]]
    )


def test_pairs_that_met_are_counted_by_hand():
    assert violation_counts(met_by_hand()) == {
        "pairs_together": 5,
        "pairs_in_violation": 3,
        "violations": 6,
        "median_meetings_of_violating_pairs": 3,
        "median_meetings_of_other_pairs": 3.5,
    }
    assert violations_by_meetings(met_by_hand()).to_dict("index") == {
        "1": {"pairs": 1, "in violation": 1},
        "2": {"pairs": 1, "in violation": 0},
        "3-5": {"pairs": 2, "in violation": 0.5},
        "6-10": {"pairs": 1, "in violation": 1},
    }


def test_figures_tell_sizes_and_groups(done, monkeypatch):
    monkeypatch.setattr("siscm.compendium.study.scores", lambda *_, **__: {})
    panel = replace(done.panel, n_merged=4)
    found = figures(replace(done, panel=panel, model=met_by_hand()), rng=np.random.default_rng(0))
    assert found["opinions_merged"] == 4
    assert (found["groups"], found["singleton_groups"], found["largest_group"]) == (3, 2, 2)
    for part, said in (("training", done.train), ("test", done.test)):
        assert found[f"{part}_instances"] == len(said.instances)
        assert found[f"{part}_opinions"] == len(said)
    assert found["training_opinions"] != found["test_opinions"]
