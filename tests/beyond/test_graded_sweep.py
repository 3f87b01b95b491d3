"""Groups that are known, found by three rules: what each row means, and that it does not drift."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from siscm.beyond import graded_sweep as module
from siscm.beyond.graded_sweep import (
    ALONE,
    LIKELIHOOD,
    LOG_LOSS,
    MANY_RESTARTS,
    MARGINALS,
    N_FOLDS,
    PAPER,
    TOLERANT,
    UNMET,
    graded_sweep,
)
from siscm.graph import SimilarityGraph
from siscm.partition import greedy
from siscm.pooled import PooledMarginals
from siscm.synthetic.planted import sparsify
from siscm.synthetic.recovery import adjusted_rand
from siscm.synthetic.sweep import N_TEST, Run, draw_panel, grid, stream, sweep

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"runs": grid(1, (20, 60), (0.1, 0.5)), "group_sizes": (4, 5, 6)}


@pytest.fixture(scope="module")
def small() -> pd.DataFrame:
    return graded_sweep(**SMALL)


def test_every_rule_where_it_is_tried(small: pd.DataFrame) -> None:
    tried = {name: set(part["rule"]) for name, part in small.groupby("marginals")}
    assert list(small["marginals"].unique()) == list(MARGINALS)
    assert tried == {
        "true": {PAPER, UNMET, LOG_LOSS, LIKELIHOOD},
        "an expert alone": {PAPER, TOLERANT, LIKELIHOOD},
        "alone, out-of-fold": {PAPER, LIKELIHOOD},
        "pooled, in-sample": {PAPER, LIKELIHOOD},
        "pooled": {PAPER, LIKELIHOOD},
    }
    tolerant = small[small["rule"] == TOLERANT]
    assert set(tolerant["s"]) == {0.1}
    assert len(small) == 2 * 2 * 12 + 2


def test_the_papers_rule_with_true_marginals_is_the_papers_sweep(small: pd.DataFrame) -> None:
    runs = sweep(**SMALL, n_test=5)
    mine = small[(small["rule"] == PAPER) & (small["marginals"] == "true")]
    both = mine.merge(runs, on=["repeat", "m", "s"], suffixes=("", "_sweep"))
    assert len(both) == 4
    np.testing.assert_allclose(both["ari"], both["ari_sweep"])


def test_likelihood_finds_what_was_planted(small: pd.DataFrame) -> None:
    known = small[small["marginals"].isin(["true", "pooled"])]
    found = known[known["rule"] == LIKELIHOOD].set_index(["marginals", "m", "s"])
    assert (found["ari"].loc["true"] == 1).all()
    assert (found["ari"].loc["pooled"] > 0.9).all()
    assert (found["within"].loc["true"] > 0.8).all()
    assert (found["within"].loc["pooled"] > 0.4).all()
    assert (found["across"] == 0).all()
    assert not found["one_group"].any()
    others = small[small["rule"] != LIKELIHOOD]
    assert others[["within", "one_group"]].isna().all(axis=None)


def test_where_nearly_nobody_meets_one_group_predicts_better() -> None:
    """And the likeliest groups are still reported, and nearer to what was planted."""
    runs = graded_sweep(runs=grid(6, (100,), (0.95,)), marginals=["true"])
    assert list(runs["marginals"].unique()) == ["true"]
    found = runs[runs["rule"] == LIKELIHOOD]
    assert found["one_group"].mean() > 0.5
    assert (found.loc[found["one_group"].astype(bool), "across"] > 0).all()
    assert found["ari"].mean() > runs.loc[runs["rule"] == PAPER, "ari"].mean()


def test_the_likelihood_needs_habits_that_do_not_flatter() -> None:
    """Each expert's own classifier learns few opinions by heart; pooled or out-of-fold, it cannot.

    The paper's rule, which asks for one contradiction only, bears it better.
    """
    runs = graded_sweep(runs=[Run(0, 50, 0.6)], marginals=MARGINALS[1:])
    ari = runs.set_index(["rule", "marginals"])["ari"]
    assert ari[LIKELIHOOD, ALONE] < 0.2 < 0.7 < ari[PAPER, ALONE]
    assert (ari[LIKELIHOOD].drop(ALONE) > 0.9).all()
    assert (ari[PAPER].drop(ALONE) < ari[PAPER, ALONE]).all()


def test_unmet_pairs_and_log_loss_change_nothing_else() -> None:
    run, sizes = Run(0, 20, 0.8), (4, 5, 6)
    panel, rng = draw_panel(0, 0, 20, 1, sizes)[0], stream(0, run)
    kept = sparsify(panel.opinions, run.sparsity, rng)
    found = graded_sweep(runs=[run], group_sizes=sizes, marginals=["true"]).set_index("rule")
    for rule, loss in ((UNMET, "zero_one"), (LOG_LOSS, "log")):
        graph = SimilarityGraph.from_opinions(panel.log_marginals, kept, loss=loss)
        assert (graph.together == 0).sum() > len(kept.experts)
        groups = greedy(graph.with_unmet_pairs(), MANY_RESTARTS, rng=deepcopy(rng))
        assert found.loc[rule, "ari"] == adjusted_rand(groups, panel.groups)


def test_learned_habits_break_the_papers_rule_and_a_tolerance_mends_it(small: pd.DataFrame) -> None:
    ari = small[small["s"] == 0.1].set_index(["marginals", "rule", "m"])["ari"]
    assert ari["pooled", PAPER, 60] < 0.6
    alone = ari["an expert alone"]
    assert (alone[TOLERANT] >= alone[PAPER]).all()
    assert alone[TOLERANT, 60] == 1


def test_workers_and_other_runs_change_nothing(small: pd.DataFrame) -> None:
    fewer = [Run(0, 20, 0.5), Run(0, 60, 0.5)]
    again = graded_sweep(**(SMALL | {"runs": fewer}), n_jobs=2)
    expected = small[small["s"] == 0.5].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, expected)


@pytest.mark.parametrize("m", [100, 200])
def test_a_tolerance_keeps_together_whom_estimates_tear_apart(m: int) -> None:
    runs = graded_sweep(
        runs=grid(1, (m,), (0.1,)), group_sizes=(4, 5, 6), marginals=["an expert alone"]
    )
    ari = runs.set_index("rule")["ari"]
    assert ari[PAPER] < 0.9
    assert ari[TOLERANT] == 1


def test_halves_are_learned_from_their_own_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them half as many as there are, with the features that are theirs."""
    seen = []

    def learn(classifier, X, opinions, X_wanted, rng):
        seen.append(len(X))
        np.testing.assert_array_equal(X, X_wanted[opinions.instances - N_TEST])
        return np.full((len(X_wanted), len(opinions.experts), 5), np.log(0.2))

    monkeypatch.setattr(module, "learn", learn)
    monkeypatch.setattr(module, "N_REPLICATES", 2)
    graded_sweep(runs=grid(1, (20,), (0.1,)), group_sizes=(2, 2), marginals=["an expert alone"])
    assert seen == [20, 10, 10]


def test_out_of_fold_nobody_is_judged_by_who_has_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = draw_panel(0, 0, 23, 1, (2, 2))[0]
    kept = sparsify(panel.opinions, 0.3, np.random.default_rng(0))
    seen = []

    def learn(classifier, X, opinions, X_wanted, rng):
        seen.append(opinions.instances)
        known = np.isin(kept.instances, opinions.instances)
        return np.broadcast_to(known[:, None, None], (23, 4, 5)).astype(float)

    monkeypatch.setattr(module, "learn", learn)
    assert (module._alone_out_of_fold(panel, kept) == 0).all()
    assert len(seen) == N_FOLDS == PooledMarginals().n_folds
    assert {len(some) for some in seen} == {18, 19}


def test_sharing_is_a_mean_over_pairs_of_two() -> None:
    a, panel = np.array([0.9, 0.8, 0.5, 0.4]), SimpleNamespace(groups=[[0, 1], [2, 3]])
    found = module._sharing([[0, 1, 2], [3]], a, panel)
    assert found == pytest.approx({"within": 0.72 / 2, "across": (0.45 + 0.4) / 4})
