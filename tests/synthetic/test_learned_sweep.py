"""The sweep with learned marginals: what it shares with the sweep, and what learning does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from siscm import GumbelMaxSISCM, SimilarityGraph
from siscm.opinions import Opinions
from siscm.synthetic import learned_sweep as module
from siscm.synthetic.learned_sweep import (
    LEARNERS,
    MARGINALS,
    MIN_PROBA,
    TRUE,
    _violations,
    copying,
    learn,
    learned_sweep,
)
from siscm.synthetic.planted import log_marginals, make_synthetic_panel, sparsify
from siscm.synthetic.sweep import Run, draw_panel, grid, sweep

SIZES = (2, 3, 1)
SMALL = {"runs": grid(2, (12, 150), (0.2,)), "n_test": 50}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return learned_sweep(3, **SMALL, group_sizes=SIZES)


def test_a_row_a_run_and_kind_and_the_same_numbers_for_any_number_of_processes(frame) -> None:
    assert len(frame) == 4 * len(MARGINALS)
    assert frame["marginals"].tolist() == [*MARGINALS] * 4
    assert not frame.drop(columns="edge_ratio").isna().any(axis=None)
    assert (frame["edge_ratio"].isna() == (frame["edges"] == 0)).all()
    pd.testing.assert_frame_equal(learned_sweep(3, **SMALL, group_sizes=SIZES, n_jobs=2), frame)


def test_with_true_marginals_it_is_the_sweep() -> None:
    small = SMALL | {"group_sizes": SIZES}
    theirs, ours = sweep(3, **small), learned_sweep(3, **small, marginals=[TRUE])
    shared = ["repeat", "m", "s", "opinions", "edges", "edge_ratio", "groups", "ari"]
    pd.testing.assert_frame_equal(ours[shared], theirs[shared])
    for loss in ("zero_one", "log"):
        for name, their_name in (("fitted", "fitted"), ("planted", "true"), ("singletons",) * 2):
            np.testing.assert_allclose(ours[f"{loss}_{name}"], theirs[f"{loss}_{their_name}"])


def test_a_run_does_not_hang_on_what_else_is_run(frame) -> None:
    fewer = SMALL | {"runs": [Run(0, 12, 0.2)]}
    found = learned_sweep(3, **fewer, marginals=["naive Bayes", "logit"], group_sizes=SIZES)
    assert found["marginals"].tolist() == ["naive Bayes", "logit"]
    same = frame.query("m == 12 and repeat == 0").set_index("marginals")
    pd.testing.assert_frame_equal(found.set_index("marginals"), same.loc[["naive Bayes", "logit"]])


def test_truth_raises_no_alarm_and_learning_comes_nearer_to_it(frame) -> None:
    true = frame[frame["marginals"] == TRUE]
    assert (true[["error", "lost", "alarms", "alarm_rate"]] == 0).all(axis=None)
    by = frame[frame["marginals"] != TRUE].groupby(["m", "marginals"])["error"].mean()
    assert (by[150] < by[12]).all()
    planted = frame.pivot_table(index="marginals", columns="m", values="log_planted")
    assert (planted.loc[TRUE] <= planted).all(axis=None)


def test_who_has_seen_the_opinions_raises_fewer_alarms(frame) -> None:
    alarms = frame.groupby("marginals")["alarms"].mean()
    assert alarms["logit, apart"] > alarms["logit"]


def test_only_the_marginals_differ_and_apart_means_other_instances(monkeypatch) -> None:
    """A learner that knows the truth finds what the truth finds, whatever it draws meanwhile."""
    m = 20  # so hard a run that other restarts find other groups
    panel = make_synthetic_panel(
        1000 + 2 * m, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,)))
    )
    used = []

    def all_knowing(classifier, X, opinions, X_wanted, rng):
        np.testing.assert_array_equal(X, panel.X[opinions.instances])
        asked = opinions.labels >= 0
        said = panel.opinions.labels[opinions.instances]
        np.testing.assert_array_equal(opinions.labels[asked], said[asked])
        used.append(opinions.instances[0])
        rng.random(1000)
        return log_marginals(X_wanted, panel.weights)

    monkeypatch.setattr("siscm.synthetic.learned_sweep.learn", all_knowing)
    run = Run(0, m, 0.6)
    found = learned_sweep(0, runs=[run], n_test=10).drop(columns="marginals")
    assert used == [1000 + m if LEARNERS[name].apart else 1000 for name in LEARNERS]
    used.clear()
    learned_sweep(0, runs=[Run(0, 4, 0.6), run], n_test=10, marginals=["logit, apart"])
    assert used == [1000 + m] * 2  # after the largest training set, for the smaller one too
    assert found["ari"].lt(1).all()
    for column in found:
        np.testing.assert_allclose(found[column], found[column].iloc[0], atol=1e-9)


def test_learned_marginals_are_those_of_the_estimator() -> None:
    panel = make_synthetic_panel(60, np.random.default_rng(0), group_sizes=SIZES)
    kept = sparsify(panel.opinions, 0.3, np.random.default_rng(1))
    for learner in LEARNERS.values():
        ours = learn(learner.classifier, panel.X, kept, panel.X[:7], np.random.default_rng(2))
        model = GumbelMaxSISCM(learner.classifier, min_proba=MIN_PROBA).fit(panel.X, kept)
        np.testing.assert_allclose(ours, model.log_marginals(panel.X[:7]), atol=1e-10)


def test_of_few_opinions_only_what_can_be_said_is_learned() -> None:
    """Ann said nothing, Bob one label twice; Cy is ordinary. No warning escapes."""
    opinions = Opinions.from_codes([[-1, 1, 0], [-1, 1, 2], [-1, -1, 2]], classes=[0, 1, 2])
    X = np.eye(3)
    model = DummyClassifier(strategy="prior")
    p = np.exp(learn(model, X, opinions, X[:2], np.random.default_rng(0)))
    np.testing.assert_allclose(p[:, 0], 1 / 3)
    np.testing.assert_allclose(p[:, 1], [[0, 1, 0]] * 2, atol=2 * MIN_PROBA)
    np.testing.assert_allclose(p[:, 2], [[1 / 3, 0, 2 / 3]] * 2, atol=2 * MIN_PROBA)
    assert (p > 0).all()


def test_blind_learners_see_five_features_only() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((80, 20)), rng.integers(3, size=80)
    blind = LEARNERS["logit, 5 features"].classifier.fit(X, y)
    other = X.copy()
    other[:, 5:] = rng.random((80, 15))
    np.testing.assert_array_equal(blind.predict_proba(other), blind.predict_proba(X))
    short = LogisticRegression(solver="newton-cholesky").fit(X[:, :5], y)
    np.testing.assert_allclose(blind.predict_proba(X), short.predict_proba(X[:, :5]))


def test_violations_by_hand() -> None:
    """Experts 0 and 1 are similar; 0 and 2 never met, 1 and 2 violate on half of four."""
    together = np.array([[0, 5, 0], [5, 0, 4], [0, 4, 0]])
    violations = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    graph = SimilarityGraph(pd.Index(range(3)), together, violations, np.zeros((3, 3)))
    assert _violations(graph, [[0, 1], [2]]) == {
        "lost": 1.0,
        "alarms": 1.0,
        "alarm_rate": 0.2,
        "caught": 1.0,
        "violation_rate": 0.5,
    }
    found = _violations(graph, [[0, 1, 2]])
    assert found["alarms"] == 1.5
    assert found["alarm_rate"] == 0.5  # the highest
    assert np.isnan([found["caught"], found["violation_rate"]]).all()
    assert _violations(graph, [[0], [1], [2]])["violation_rate"] == 0.2  # the lowest


def test_rows_are_in_the_order_of_the_runs() -> None:
    runs = grid(2, (5, 8), (0.5, 0.1))
    found = learned_sweep(0, runs=runs, n_test=5, marginals=[TRUE], group_sizes=SIZES)
    assert [Run(*of) for of in zip(found["repeat"], found["m"], found["s"], strict=True)] == runs


def test_copying_is_wrong_as_often_as_two_experts_differ() -> None:
    said = np.array([[0, 0, 1], [2, 2, 2]])
    copied = copying(Opinions.from_codes(said, classes=range(3)), np.array([0.1, 0.2, 0.3]))
    assert copied.all_pairs([[0, 1, 2]]) == pytest.approx((4 / 6 + 0) / 2)
    assert copied.all_pairs([[0], [1], [2]]) == pytest.approx(0.2)
    # 0 and 1 copy each other, and never differ; 2, and who is observed next to 2, go by marginals
    assert copied.all_pairs([[0, 1], [2]]) == pytest.approx((0.1 + 0.2 + 2 * 0.3) / 6)


def test_copying_in_planted_groups_is_told_as_much_as_the_model(frame: pd.DataFrame) -> None:
    """Across groups both go by the marginal: with these that are true, none does better inside."""
    true = frame[frame["marginals"] == TRUE]
    assert (true["zero_one_planted"] < true["zero_one_copy_planted"]).all()
    inside = frame["zero_one_copy_planted"] - frame["zero_one_singletons"]
    assert (inside < 0).all()
    one_group = learned_sweep(3, **SMALL, group_sizes=(6,), marginals=[TRUE])
    np.testing.assert_allclose(one_group["zero_one_copy_planted"], one_group["zero_one_copy"])


def test_who_infers_by_learned_marginals_is_scored_by_them(frame: pd.DataFrame) -> None:
    losses = frame.pivot_table(index="marginals", columns="m", values="log_singletons")
    assert (losses.loc[TRUE] < losses.drop(index=TRUE)).all(axis=None)


def test_as_many_opinions_are_learned_from_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    panel = draw_panel(0, 0, 40)[0]

    def counting(classifier, X, opinions, X_wanted, rng):
        numbers.append(len(opinions))
        return log_marginals(X_wanted, panel.weights)

    monkeypatch.setattr(module, "learn", counting)
    learned_sweep(0, runs=[Run(0, 20, 0.5)], n_test=2)
    assert numbers == [20 * 24] * len(LEARNERS)


def test_the_error_is_that_of_the_expert_in_the_middle_on_test_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def known(learned: np.ndarray, true: np.ndarray) -> np.ndarray:
        assert learned.shape == true.shape == (7, 6, 5)
        return np.tile(np.square([1.0, 2.0, 3.0, 4.0, 20.0, 20.0]), (7, 1))

    monkeypatch.setattr(module, "squared_error", known)
    found = learned_sweep(
        0, runs=[Run(0, 12, 0.2)], n_test=7, marginals=["logit"], group_sizes=SIZES
    )
    assert found["error"].tolist() == [3.5]


def test_learned_probabilities_have_the_estimators_floor() -> None:
    assert GumbelMaxSISCM().min_proba == MIN_PROBA


# test_greedy_or_optimal


@pytest.mark.parametrize("names", [["logti"], []])
def test_marginals_that_there_are_not_are_refused_before_anything_runs(names) -> None:
    with pytest.raises(ValueError, match="they must be some of"):
        learned_sweep(marginals=names)
