"""The protocol on panels of texts: what is learned from which part, and what is recorded."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from siscm.beyond import real_panels
from siscm.beyond.contest import GRADED, contest, methods, standings
from siscm.beyond.real_panels import (
    N_FOLDS,
    WEIGHTS,
    behind,
    development,
    final,
    final_figures,
    fitted,
    held_out,
    model_figures,
    score_figures,
    text_marginals,
    texts,
    training,
)
from siscm.data.panels import Panel
from siscm.data.simulate import simulate_panel
from siscm.evaluation import UNIFORM_WEIGHT
from siscm.graded import GradedSISCM
from siscm.opinions import Opinions

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def panel() -> Panel:
    return simulate_panel("HS-Brexit", np.random.default_rng(0))


@pytest.fixture(scope="module")
def developed(panel: Panel) -> pd.DataFrame:
    return development(panel)


def test_training_leaves_the_test_part_closed(panel: Panel) -> None:
    split = panel.instances["split"]
    assert set(split[training(panel).instances]) == {"train", "dev"}
    many = simulate_panel("MD-Agreement", np.random.default_rng(0))
    everyone, some = training(many), training(many, 60)
    assert everyone.experts.equals(many.opinions.experts)
    counts = np.bincount(everyone.expert_codes, minlength=len(everyone.experts))
    assert some.experts.tolist() == everyone.experts[counts >= 60].tolist()
    assert 0 < len(some.experts) < len(everyone.experts)


def test_development_judges_every_pair_of_training_once(
    panel: Panel, developed: pd.DataFrame
) -> None:
    said = training(panel)
    assert set(developed["instance", ""]) == set(said.instances)
    met = np.bincount(said.instance_codes)
    assert len(developed) == (met * (met - 1)).sum()


def test_a_fold_is_a_contest_without_it(panel: Panel, developed: pd.DataFrame) -> None:
    said = training(panel)
    parts = list(held_out(said))
    sizes = [len(left_out.instances) for _, left_out in parts]
    assert len(sizes) == N_FOLDS
    assert np.ptp(sizes) <= 1
    assert set().union(*(left_out.instances for _, left_out in parts)) == set(said.instances)
    for learned, left_out in parts:
        assert set(learned.instances) == set(said.instances) - set(left_out.instances)
    one = contest(GradedSISCM(text_marginals()), texts(panel), *parts[0])
    pd.testing.assert_frame_equal(developed[: len(one)], one)


def test_words_of_the_test_part_change_nothing_in_development(
    panel: Panel, developed: pd.DataFrame
) -> None:
    changed = simulate_panel("HS-Brexit", np.random.default_rng(0))
    test_rows = changed.instances["split"] == "test"
    changed.instances.loc[test_rows, "text"] = "entirely other words"
    found = development(changed, n_folds=1)
    pd.testing.assert_frame_equal(found, developed[: len(found)])


def test_final_learns_from_training_and_judges_the_test_part(panel: Panel) -> None:
    found = final(panel)
    split = panel.instances["split"]
    assert set(split[found["instance", ""]]) == {"test"}
    changed = simulate_panel("HS-Brexit", np.random.default_rng(0))
    row = changed.instances.index[changed.instances["split"] == "test"][0]
    changed.instances.loc[row, "text"] = "entirely other words"
    again = final(changed)
    same = (found["instance", ""] != row).to_numpy()
    pd.testing.assert_frame_equal(again[same], found[same])
    assert not again.equals(found)


def test_known_groups_change_graded_sharing_only(panel: Panel, developed: pd.DataFrame) -> None:
    alone = [[expert] for expert in panel.opinions.experts]
    found = development(panel, partition=alone, n_folds=1)
    developed = developed[: len(found)]
    np.testing.assert_allclose(found[GRADED, "probability"], found["marginals", "probability"])
    others = [name for name in methods(developed) if name != GRADED]
    pd.testing.assert_frame_equal(found[others], developed[others])


def test_behind_is_the_lag_of_one_graded_sharing_after_another(
    panel: Panel, developed: pd.DataFrame
) -> None:
    alone = development(panel, partition=[[expert] for expert in panel.opinions.experts], n_folds=1)
    developed = developed[: len(alone)]
    found = behind(developed, alone, 2)
    rival = standings(developed, 2, rng=np.random.default_rng(0)).loc["marginals"].iloc[0]
    for name in ("log_loss_more", "log_loss_more_low", "accuracy_less_high"):
        assert found[name] == pytest.approx(rival[name], abs=2e-6)
    assert json.loads(json.dumps(found)) == found


def test_intervals_that_are_to_hold_together_are_as_wide_as_bonferroni_says(
    panel: Panel, developed: pd.DataFrame
) -> None:
    """Eight rivals in three tables: each interval may miss its figure in one of 480 tries."""
    found = final_figures(developed, 2)
    assert json.loads(json.dumps(found)) == found
    together = pd.DataFrame(found.pop("by_instance_together")).set_index("method")
    assert found == score_figures(developed, 2)
    alone = pd.DataFrame(found["by_instance"])
    alone = alone[alone["weight"] == UNIFORM_WEIGHT].set_index("method")
    assert together.index.tolist() == alone.index.tolist() == methods(developed)
    assert len(together) == 9
    ratio = norm.ppf(1 - 0.05 / 24 / 2) / norm.ppf(0.975)
    for name in ("marginals", "regression on marginals"):
        widths = [
            rows["log_loss_more_high"][name] - rows["log_loss_more_low"][name]
            for rows in (together, alone)
        ]
        assert widths[0] / widths[1] == pytest.approx(ratio, rel=0.1)


def test_figures_are_ready_for_json_and_say_what_was_learned(
    panel: Panel, developed: pd.DataFrame
) -> None:
    model, scores = model_figures(panel, fitted(panel)), score_figures(developed, 2)
    assert json.loads(json.dumps(model)) == model
    assert json.loads(json.dumps(scores)) == scores
    rows = model["experts_sharing"]
    assert sum(model["group_sizes"]) == model["experts"] == len(rows) == 6
    assert {row["group"] for row in rows} == {"target", "control"}
    shares = [row["sharing"] for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert [model["sharing"]["1"], model["sharing"]["0"]] == [shares[0], shares[-1]]
    assert sum(row["n"] for row in model["calibration"]) == 2 * model["opinions"]
    assert scores["pairs"] == len(developed)
    for by in ("by_instance", "by_expert"):
        rows = pd.DataFrame(scores[by])
        assert set(rows["weight"]) == set(WEIGHTS)
        assert rows["method"].unique().tolist() == methods(developed)


def test_an_expert_without_training_opinions_has_a_row_too(panel: Panel) -> None:
    last = panel.opinions.experts[-1]
    said = panel.opinions.to_long()
    in_test = said["instance"].map(panel.instances["split"]) == "test"
    kept = Opinions.from_long(
        said[(said["expert"] != last) | in_test],
        instances=panel.opinions.instances,
        experts=panel.opinions.experts,
    )
    thin = replace(panel, opinions=kept)
    rows = model_figures(thin, fitted(thin))["experts_sharing"]
    assert sorted(row["opinions"] for row in rows)[:2] == [0, len(training(panel)) // 6]


def test_the_shift_of_a_simulated_panel_is_none(panel: Panel) -> None:
    """Its parts are drawn alike: promises of training are kept in the test part."""
    found = real_panels.shift_figures(panel, fitted(panel))
    assert list(found) == ["training", "test"]
    for part in found.values():
        assert part["experts"] == 6
        assert part["behind"] == len(training(panel)) / 6
        assert part["label_1"] == pytest.approx(part["label_1_promised"], abs=0.03)
        assert part["agreement"] == pytest.approx(part["agreement_promised"], abs=0.03)
    assert found["test"]["opinions"] == len(panel.part("test"))


def test_populations_are_those_of_the_issue() -> None:
    assert real_panels.POPULATIONS["MD-Agreement"] == {"60 opinions or more": 60, "everyone": 1}
    assert real_panels.POPULATIONS["HS-Brexit"] == {"everyone": 1}
