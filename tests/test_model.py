"""The estimator: scikit-learn's conventions, the caller's order, answers checked by hand."""

from __future__ import annotations

import pickle
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from joblib import Parallel
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from siscm import GumbelMaxSISCM, Opinions, gumbel, inference, marginals
from siscm.partition import objective

FloatArray = npt.NDArray[np.float64]

EXPERTS = ["Ann", "Bob", "Cy", "Dee"]
CLASSES = ["lo", "mid", "hi"]
PARTITION = [["Ann", "Cy"], ["Bob"], ["Dee"]]
N = 40


class KnownLaws(ClassifierMixin, BaseEstimator):
    """Knows the experts' true marginals; learns only whose opinions it was given.

    The features are all experts' true log-marginals, one after the other.
    """

    def __init__(self, n_classes: int = 3) -> None:
        self.n_classes = n_classes

    def _laws(self, X: FloatArray) -> FloatArray:
        return np.asarray(X).reshape(len(X), -1, self.n_classes)

    def fit(self, X: FloatArray, y: npt.NDArray[np.int64]) -> Self:
        self.classes_ = np.arange(self.n_classes)
        said = np.take_along_axis(self._laws(X), y[:, None, None], axis=2)
        self.expert_ = int(said.sum(axis=0).argmax())
        return self

    def predict_log_proba(self, X: FloatArray) -> FloatArray:
        return self._laws(X)[:, self.expert_]

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return np.exp(self.predict_log_proba(X))


def simulate(
    n: int, groups: list[list[int]], k: int, seed: int
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """True log-marginals (n, H, k) and what a Gumbel-Max SI-SCM with these groups says."""
    rng = np.random.default_rng(seed)
    n_experts = sum(map(len, groups))
    score = 1.5 * rng.normal(size=(n, n_experts, k))
    log_p = score - np.log(np.exp(score).sum(axis=2, keepdims=True))
    noise = np.empty((n, n_experts, k))
    for group in groups:
        noise[:, group] = rng.gumbel(size=(n, 1, k))
    return log_p, (log_p + noise).argmax(axis=2)


def panel(names: bool = True) -> tuple[pd.DataFrame, Opinions]:
    """A small panel with gaps."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 2))
    score = X @ rng.normal(size=(2, 4 * 3))
    codes = (score.reshape(N, 4, 3) + rng.gumbel(size=(N, 1, 3))).argmax(axis=2)
    codes[rng.random((N, 4)) < 0.25] = -1
    ids = [f"case {i:02d}" for i in rng.permutation(N)]
    opinions = Opinions.from_codes(codes, ids, EXPERTS, CLASSES)
    return pd.DataFrame(X, index=ids, columns=["u", "v"]), opinions


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, Opinions]:
    return panel()


@pytest.fixture(scope="module")
def fitted(data: tuple[pd.DataFrame, Opinions]) -> GumbelMaxSISCM:
    return GumbelMaxSISCM(partition=PARTITION).fit(*data)


# scikit-learn's conventions


def test_parameters_come_back() -> None:
    model = GumbelMaxSISCM(n_restarts=3, min_proba=0.01)
    assert model.get_params(deep=False) == {
        "expert_model": model.expert_model,
        "partition": None,
        "min_proba": 0.01,
        "n_restarts": 3,
        "method": "exact",
        "n_samples": 1000,
        "random_state": 0,
        "n_jobs": None,
    }
    assert model.set_params(n_restarts=4, expert_model=GaussianNB(var_smoothing=0.5)) is model
    assert model.n_restarts == 4
    assert model.set_params(expert_model__var_smoothing=0.1).expert_model.var_smoothing == 0.1
    assert GumbelMaxSISCM().expert_model is None


def test_clone_and_repr(data: Any) -> None:
    model = GumbelMaxSISCM(LogisticRegression(C=3), n_samples=7).fit(*data)
    twin = clone(model)
    assert twin.expert_model is not model.expert_model
    assert repr(twin) == repr(model)
    assert repr(model) == "GumbelMaxSISCM(expert_model=LogisticRegression(C=3), n_samples=7)"
    assert repr(GumbelMaxSISCM()) == "GumbelMaxSISCM()"
    with pytest.raises(NotFittedError):
        twin.log_marginals(data[0])


def test_fit_returns_itself_and_leaves_the_parameters(data: Any) -> None:
    partition = [["Bob", "Ann"], ["Cy"], ["Dee"]]
    classifier = GaussianNB()
    model = GumbelMaxSISCM(classifier, partition=partition)
    before = repr(model.get_params())
    assert model.fit(*data) is model
    assert repr(model.get_params()) == before
    assert partition == [["Bob", "Ann"], ["Cy"], ["Dee"]]
    assert model.partition is partition
    assert model.expert_model is classifier
    assert not hasattr(classifier, "theta_")


@pytest.mark.parametrize(
    "call",
    [
        lambda model, X: model.log_marginals(X),
        lambda model, X: model.counterfactual_proba(X, {}),
        lambda model, X: model.counterfactual_predict(X, {}),
        lambda model, X: model.second_opinions(X, {}),
        lambda model, X: model.rank_disagreement(X, {"Ann": "lo"}),
    ],
)
def test_not_fitted(data: Any, call: Any) -> None:
    with pytest.raises(NotFittedError):
        call(GumbelMaxSISCM(), data[0])
    broken = GumbelMaxSISCM(min_proba=0.9)
    with pytest.raises(ValueError, match="min_proba"):
        broken.fit(*data)
    with pytest.raises(NotFittedError):
        call(broken, data[0])


def test_fitted_attributes(data: Any, fitted: GumbelMaxSISCM) -> None:
    assert fitted.experts_.tolist() == EXPERTS
    assert fitted.classes_.tolist() == CLASSES
    assert fitted.n_features_in_ == 2
    assert fitted.partition_ == PARTITION
    assert fitted.graph_.experts.tolist() == EXPERTS
    by_hand = GaussianNB()
    rows = data[1].labels[:, 3] >= 0
    by_hand.fit(data[0][rows], data[1].labels[rows, 3])
    np.testing.assert_allclose(fitted.expert_models_[3].theta_, by_hand.theta_)


def test_refitting_forgets(data: Any) -> None:
    X, opinions = data
    model = GumbelMaxSISCM().fit(X, opinions)
    few = opinions.select(experts=["Dee", "Bob"])
    model.fit(X.to_numpy()[:, :1], few)
    fresh = GumbelMaxSISCM().fit(X.to_numpy()[:, :1], few)
    assert model.experts_.tolist() == ["Dee", "Bob"]
    assert model.partition_ == fresh.partition_
    assert (model.n_features_in_, model.feature_names_in_) == (1, None)
    np.testing.assert_array_equal(
        model.log_marginals(X.to_numpy()[:, :1]), fresh.log_marginals(X.to_numpy()[:, :1])
    )


def test_a_fit_that_fails_changes_nothing(data: Any) -> None:
    X, opinions = data
    model = GumbelMaxSISCM().fit(X, opinions)
    before = model.log_marginals(X)
    silent = opinions.labels.copy()
    silent[:, 1] = -1
    with pytest.raises(ValueError, match="expert 'q' has no opinion"):
        model.fit(X, Opinions.from_codes(silent, X.index, list("pqrs"), CLASSES))
    assert model.experts_.tolist() == EXPERTS
    np.testing.assert_array_equal(model.log_marginals(X), before)


def test_pickling(data: Any, fitted: GumbelMaxSISCM) -> None:
    twin = pickle.loads(pickle.dumps(fitted))
    for answer in ("counterfactual_proba", "counterfactual_predict"):
        np.testing.assert_array_equal(
            getattr(twin, answer)(data[0], {"Ann": "lo"}),
            getattr(fitted, answer)(data[0], {"Ann": "lo"}),
        )


# Rows and columns


def test_tables_and_arrays_say_the_same(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    observed = opinions.select(experts=["Ann"])
    by_array = GumbelMaxSISCM(partition=PARTITION).fit(X.to_numpy(), opinions)
    expected = fitted.counterfactual_proba(X, observed)
    for model in (fitted, by_array):
        for features in (X, X.to_numpy(), X.astype(object), X.astype("Float64")):
            found = model.counterfactual_proba(features, observed)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_training_rows_in_any_order(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    shuffled = X.sample(frac=1, random_state=1)
    found = GumbelMaxSISCM(partition=PARTITION).fit(shuffled, opinions).log_marginals(X)
    np.testing.assert_array_equal(found, fitted.log_marginals(X))


@pytest.mark.parametrize("trained_on", ["table", "array"])
def test_answers_follow_the_rows_of_the_features(data: Any, trained_on: str) -> None:
    X, opinions = data
    model = GumbelMaxSISCM(partition=PARTITION)
    model.fit(X if trained_on == "table" else X.to_numpy(), opinions)
    observed = opinions.select(experts=["Ann"], instances=X.index[::-1])
    said = [None if y < 0 else CLASSES[y] for y in opinions.labels[:, 0]]
    order = np.random.default_rng(0).permutation(N)
    shuffled = X.iloc[order]
    expected = model.counterfactual_proba(X, observed)
    for found in (
        model.counterfactual_proba(shuffled, observed),
        model.counterfactual_proba(shuffled, {"Ann": [said[i] for i in order]}),
        model.counterfactual_proba(shuffled, {"Ann": pd.Series(said, X.index)[shuffled.index]}),
        model.counterfactual_proba(X.to_numpy()[order], {"Ann": [said[i] for i in order]}),
        model.counterfactual_proba(X.to_numpy()[order], observed.select(instances=shuffled.index)),
    ):
        np.testing.assert_allclose(found, expected[order], rtol=1e-12)
    for about in (observed, {"Ann": "lo"}):
        table = model.second_opinions(shuffled, about)
        assert table["instance"].tolist() == shuffled.index.repeat(12).tolist()
    np.testing.assert_allclose(
        model.second_opinions(shuffled, observed)["probability"], expected[order].ravel()
    )


def test_arrays_with_opinions_take_their_order(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    some = opinions.select(instances=X.index[[5, 2, 9]], experts=["Bob"])
    found = fitted.second_opinions(X.to_numpy()[[5, 2, 9]], some)
    assert found["instance"].unique().tolist() == X.index[[5, 2, 9]].tolist()
    positions = fitted.second_opinions(X.to_numpy()[[5, 2]], {"Bob": "lo"})
    assert positions["instance"].unique().tolist() == [0, 1]
    with pytest.raises(ValueError, match="X has 2 rows, but the opinions are about 3 instances"):
        fitted.counterfactual_proba(X.to_numpy()[:2], some)
    with pytest.raises(ValueError, match="is in only one of X and the observed opinions"):
        fitted.counterfactual_proba(X.iloc[:2], some)


def test_columns_by_name(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, _ = data
    expected = fitted.log_marginals(X)
    np.testing.assert_array_equal(fitted.log_marginals(X[["v", "u"]]), expected)
    for wrong, problem in (
        (X[["u"]], "'v' is missing from X"),
        (X.assign(w=1), "'w' in X was not in training"),
        (X.rename(columns={"u": "z"}), "'u' is missing from X"),
    ):
        with pytest.raises(ValueError, match=f"feature {problem}"):
            fitted.log_marginals(wrong)
    with pytest.raises(ValueError, match="X has 3 features; the model was fitted on 2"):
        fitted.log_marginals(np.zeros((4, 3)))
    asked = Opinions.from_codes(
        np.zeros((4, 1), dtype=int), experts=["Ann"], classes=fitted.classes_
    )
    with pytest.raises(ValueError, match="X has 3 features; the model was fitted on 2"):
        fitted.log_marginals(np.zeros((4, 3)), asked)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: X.iloc[1:], "has opinions but no features"),
        (lambda X: pd.concat([X, X.iloc[:1]]), "stands twice in X"),
        (lambda X: X.to_numpy()[1:], "X has 39 rows, but the opinions are about 40"),
        (lambda X: X["u"], r"of shape \(40,\)"),
        (lambda X: X.replace(X.iat[3, 1], np.nan), "X holds nan for instance 'case"),
        (lambda X: X.to_numpy()[:, :0], "expert 'Ann' cannot learn from .*: there is no feature"),
        (lambda X: X.assign(w="text"), "expert 'Ann' cannot learn from .* not all numbers"),
    ],
)
def test_features_that_do_not_fit(data: Any, spoil: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GumbelMaxSISCM().fit(spoil(data[0]), data[1])


def test_no_rows(data: Any, fitted: GumbelMaxSISCM) -> None:
    for X in (data[0].iloc[:0], data[0].to_numpy()[:0]):
        assert fitted.counterfactual_proba(X, {"Ann": "lo"}).shape == (0, 4, 3)
        assert len(fitted.second_opinions(X, {})) == 0
        assert len(fitted.rank_disagreement(X, {"Ann": "lo"})) == 0


def test_names_of_any_kind() -> None:
    X, plain = panel()
    experts = pd.to_datetime(["2020", "2021", "2022", "2023"])
    instances = pd.MultiIndex.from_product([range(10), list("abcd")])
    classes = [(0, 1), (0, 2), (1, 1)]
    opinions = Opinions.from_codes(plain.labels, instances, experts, classes)
    model = GumbelMaxSISCM(partition=[[experts[2], experts[0]], [experts[1]], [experts[3]]])
    model.fit(X.set_axis(instances), opinions)
    reference = GumbelMaxSISCM(partition=PARTITION).fit(X, plain)
    found = model.counterfactual_proba(X.set_axis(instances), {experts[0]: [(0, 2)] * N})
    np.testing.assert_array_equal(found, reference.counterfactual_proba(X, {"Ann": "mid"}))
    table = model.second_opinions(X.set_axis(instances), {experts[0]: [(0, 2)] * N})
    assert table["instance"].iloc[-1] == (9, "d")
    assert table["expert"].iloc[-1] == experts[3]
    assert model.counterfactual_predict(X, {}).ravel()[0] in classes


def test_ids_in_the_partition_are_plain_values() -> None:
    X, plain = panel()
    opinions = Opinions.from_codes(plain.labels, experts=np.array([7, 5, 9, 1]))
    for partition in (None, [[1, 5], [7.0, np.int8(9)]]):
        model = GumbelMaxSISCM(partition=partition).fit(X.to_numpy(), opinions)
        assert {type(expert) for group in model.partition_ for expert in group} == {int}
    assert model.partition_ == [[5, 1], [7, 9]]


# Partitions


def test_all_in_one_group_is_one_noise(data: Any) -> None:
    X, opinions = data
    model = GumbelMaxSISCM(partition=[EXPERTS]).fit(X, opinions)
    log_p = model.log_marginals(X)
    found = model.counterfactual_proba(X, {"Bob": "hi"})
    for h in (0, 2, 3):
        expected = gumbel.counterfactual_probabilities(log_p[:, 1], log_p[:, h], np.full(N, 2))
        np.testing.assert_allclose(found[:, h], expected, rtol=1e-12)
    np.testing.assert_array_equal(found[:, 1], np.tile([0.0, 0, 1], (N, 1)))


def test_everyone_alone_keeps_her_marginal(data: Any) -> None:
    X, opinions = data
    model = GumbelMaxSISCM(partition=[[expert] for expert in EXPERTS]).fit(X, opinions)
    expected = np.exp(model.log_marginals(X))
    found = model.counterfactual_proba(X, {"Bob": "hi", "Dee": "lo"})
    np.testing.assert_allclose(found[:, [0, 2]], expected[:, [0, 2]], rtol=1e-12)
    np.testing.assert_array_equal(found[:, [1, 3]], np.tile([[0.0, 0, 1], [1, 0, 0]], (N, 1, 1)))


def test_nobody_observed_gives_the_marginals(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, _ = data
    expected = np.exp(fitted.log_marginals(X))
    silent = Opinions.from_codes(np.full((N, 1), -1), X.index, ["Ann"], CLASSES)
    for observed in ({}, {"Ann": None}, {"Cy": [np.nan] * N}, silent):
        found = fitted.counterfactual_proba(X, observed)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    some = fitted.counterfactual_proba(X, {"Ann": ["hi", "", *[None] * (N - 2)]})
    np.testing.assert_allclose(some[1:], expected[1:], rtol=1e-12)
    assert not np.allclose(some[0, 2], expected[0, 2])


def test_the_model_is_its_inference_function(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    observed = opinions.select(experts=["Bob", "Cy"])
    codes = np.full((N, 4), -1)
    codes[:, [1, 2]] = observed.labels
    expected = inference.counterfactual_proba(fitted.log_marginals(X), codes, [[0, 2], [1], [3]])
    np.testing.assert_array_equal(fitted.counterfactual_proba(X, observed), expected)
    np.testing.assert_allclose(expected.sum(axis=2), 1, atol=1e-12)


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ([["Ann", "Bob", "Cy"]], "expert 'Dee' is in no group"),
        ([], "expert 'Ann' is in no group"),
        ([EXPERTS, ["Zed"]], "expert 'Zed' of the partition is not in the data"),
        ([EXPERTS, ["Ann"]], "expert 'Ann' stands twice"),
        ([["Ann", "Ann"], ["Bob"], ["Cy"], ["Dee"]], "expert 'Ann' stands twice in the partition"),
        ([[0, 1], [2, 3]], "expert 0 of the partition is not"),
        (EXPERTS, "must be a list of lists of expert ids"),
        ("Ann", "must be a list of lists of expert ids"),
        (3, "must be a list of lists of expert ids"),
        ({"Ann": 0}, "must be a list of lists of expert ids"),
        ([[EXPERTS]], r"expert \['Ann'.* is a list"),
    ],
)
def test_partitions_that_are_none(data: Any, partition: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GumbelMaxSISCM(partition=partition).fit(*data)


@pytest.mark.parametrize(
    "partition", [({"Cy", "Ann"}, {"Dee", "Bob"}), np.array([["Cy", "Ann"], ["Bob", "Dee"]])]
)
def test_groups_come_back_in_the_order_of_the_experts(data: Any, partition: Any) -> None:
    assert GumbelMaxSISCM(partition=partition).fit(*data).partition_ == [
        ["Ann", "Cy"],
        ["Bob", "Dee"],
    ]


def test_groups_are_recovered() -> None:
    """Six experts in groups of 3, 2 and 1, marginals known, 40 % of the opinions missing."""
    truth = [[0, 3, 5], [1, 4], [2]]
    log_p, said = simulate(150, truth, k=3, seed=1)
    said[np.random.default_rng(9).random(said.shape) < 0.4] = -1
    names = list("abcdef")
    opinions = Opinions.from_codes(said, experts=names)
    X = log_p.reshape(150, -1)
    model = GumbelMaxSISCM(KnownLaws()).fit(X, opinions)
    np.testing.assert_allclose(model.log_marginals(X), log_p, atol=1e-6)
    assert model.partition_ == [[names[h] for h in group] for group in truth]
    assert not model.graph_.violations[np.ix_(truth[0], truth[0])].any()


def test_more_restarts_find_better_groups() -> None:
    log_p, said = simulate(40, [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]], k=3, seed=2)
    said[np.random.default_rng(9).random(said.shape) < 0.6] = -1
    X, opinions = log_p.reshape(40, -1), Opinions.from_codes(said)
    one, ten = (GumbelMaxSISCM(KnownLaws(), n_restarts=n).fit(X, opinions) for n in (1, 10))
    assert objective(one.graph_, one.partition_) > objective(ten.graph_, ten.partition_) + 1


# Methods and seeds


def test_monte_carlo_is_near_the_exact_law(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    observed = opinions.select(experts=["Ann"])
    exact = fitted.counterfactual_proba(X, observed)
    draws = 20_000
    model = GumbelMaxSISCM(partition=PARTITION, method="monte_carlo", n_samples=draws)
    found = model.fit(X, opinions).counterfactual_proba(X, observed)
    error = np.sqrt(exact * (1 - exact) / draws)
    assert (np.abs(found - exact) <= 5 * error + 1e-12).all()
    assert (found[:, 2] != exact[:, 2]).any()
    np.testing.assert_array_equal(found, model.counterfactual_proba(X, observed))
    other = clone(model).set_params(random_state=1).fit(X, opinions)
    assert not np.array_equal(found, other.counterfactual_proba(X, observed))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "sampling"}, "method is 'sampling'"),
        ({"method": "monte_carlo", "n_samples": 0}, "n_samples must be .* at least 1; got 0"),
    ],
)
def test_unknown_methods(data: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GumbelMaxSISCM(partition=PARTITION, **options).fit(*data)


def test_seeds(data: Any) -> None:
    X, opinions = data

    def law(random_state: Any) -> FloatArray:
        forest = RandomForestClassifier(3)
        return GumbelMaxSISCM(forest, random_state=random_state).fit(X, opinions).log_marginals(X)

    np.testing.assert_array_equal(law(0), law(0))
    np.testing.assert_array_equal(law(3), law(np.random.default_rng(3)))
    assert not np.array_equal(law(0), law(1))
    assert not np.array_equal(law(None), law(None))
    seeded = GumbelMaxSISCM(RandomForestClassifier(3, random_state=0))
    first = seeded.fit(X, opinions).log_marginals(X)
    second = seeded.set_params(random_state=1).fit(X, opinions).log_marginals(X)
    np.testing.assert_array_equal(first, second)


def test_number_of_jobs(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, opinions = data
    asked = []

    def workers(n_jobs: int) -> Parallel:
        asked.append(n_jobs)
        return Parallel(n_jobs)

    monkeypatch.setattr(marginals, "Parallel", workers)
    one, two = (
        GumbelMaxSISCM(RandomForestClassifier(3), n_jobs=n_jobs).fit(X, opinions)
        for n_jobs in (1, 2)
    )
    assert asked == [1, 2]
    assert one.partition_ == two.partition_
    np.testing.assert_array_equal(one.log_marginals(X), two.log_marginals(X))


def test_the_floor_makes_every_label_possible() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    codes = np.stack([np.arange(30) % 3, np.arange(30) % 2], axis=1)
    opinions = Opinions.from_codes(codes, experts=["Ann", "Bob"], classes=CLASSES)
    model = GumbelMaxSISCM(partition=[["Ann", "Bob"]], min_proba=0.01).fit(X, opinions)
    marginal = np.exp(model.log_marginals(X))
    assert marginal[:, 1, 2] == pytest.approx(0.01, rel=0.02)
    found = model.counterfactual_proba(X, {"Bob": "hi"})
    np.testing.assert_array_equal(found[:, 1], np.tile([0.0, 0, 1], (30, 1)))
    # What she hardly ever says, she says under noise that makes the others say it too.
    assert (found[:, 0, 2] > 0.99).all()
    without = GumbelMaxSISCM(partition=[["Ann", "Bob"]], min_proba=0).fit(X, opinions)
    with pytest.raises(ValueError, match=r"expert 'Bob' .* probability zero.*min_proba"):
        without.counterfactual_proba(X, {"Bob": "hi"})


@pytest.mark.parametrize("k", [2, 3, 5])
def test_several_opinions_on_a_known_panel(k: int) -> None:
    """Of what the model itself produced: as likely as it is said to be, label by label."""
    n = 1_000
    log_p, said = simulate(n, [[0, 1, 2, 3]], k, seed=k)
    X, names = log_p.reshape(n, -1), list("abcd")
    opinions = Opinions.from_codes(said, experts=names, classes=range(k))
    model = GumbelMaxSISCM(KnownLaws(k), partition=[names], n_samples=32).fit(X, opinions)
    observed = opinions.select(experts=list("abc"))
    law = model.counterfactual_proba(X, observed)[:, 3]
    assert (said[:, :3].max(axis=1) > said[:, :3].min(axis=1)).mean() > 0.3
    for c in range(k):
        error = np.sqrt((law[:, c] * (1 - law[:, c])).sum())
        assert abs((said[:, 3] == c).sum() - law[:, c].sum()) < 4 * error
    # And they are known better than from one of the three.
    alone = model.counterfactual_proba(X, opinions.select(experts=["a"]))[:, 3]
    rows = np.arange(n)
    gain = np.log(law[rows, said[:, 3]]) - np.log(alone[rows, said[:, 3]] + 1e-12)
    assert gain.mean() > 3 * gain.std() / np.sqrt(n)


def test_the_order_of_the_observed_does_not_matter(data: Any, fitted: GumbelMaxSISCM) -> None:
    found = fitted.counterfactual_proba(data[0], {"Ann": "lo", "Cy": "lo", "Dee": "hi"})
    other = fitted.counterfactual_proba(data[0], {"Dee": "hi", "Cy": "lo", "Ann": "lo"})
    np.testing.assert_array_equal(found, other)
    marginal = np.exp(fitted.log_marginals(data[0]))
    np.testing.assert_allclose(found[:, 1], marginal[:, 1], rtol=1e-12)


def test_contradictions_are_refused_by_name() -> None:
    X = pd.DataFrame({"age": 0.0}, index=[f"case {i}" for i in range(6)])
    opinions = Opinions.from_codes(
        [[2, 2], [1, 1], [0, 0]] * 2,
        instances=X.index,
        experts=["Ann", "Cy"],
        classes=["lo", "mid", "hi"],
    )
    model = GumbelMaxSISCM(DummyClassifier(), partition=[["Ann", "Cy"]]).fit(X, opinions)
    words = "instance 'case 3': no noise makes expert 'Ann' say 'lo' and expert 'Cy' say 'hi', and"
    with pytest.raises(ValueError, match=words):
        model.counterfactual_proba(X[3:], {"Ann": "lo", "Cy": "hi"})


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        ({"Zed": "lo"}, "expert 'Zed' was not seen in training"),
        ({"Ann": "low"}, "label 'low' was not seen in training"),
        ({"Ann": -1}, "label -1 was not seen in training"),
        ({"Ann": ["lo", "hi"]}, "2 labels for 40 instances"),
    ],
)
def test_observed_that_do_not_fit(
    data: Any, fitted: GumbelMaxSISCM, observed: Any, words: str
) -> None:
    for answer in (
        fitted.counterfactual_proba,
        fitted.counterfactual_predict,
        fitted.second_opinions,
        fitted.rank_disagreement,
    ):
        with pytest.raises(ValueError, match=words):
            answer(data[0], observed)


def test_what_cannot_be_fitted(data: Any) -> None:
    X, opinions = data
    with pytest.raises(TypeError, match="opinions is a ndarray; make it with"):
        GumbelMaxSISCM().fit(X, opinions.labels)
    with pytest.raises(TypeError, match=r"LinearRegression\(\), has no predict_proba"):
        GumbelMaxSISCM(LinearRegression()).fit(X, opinions)
    with pytest.raises(ValueError, match="there are no experts"):
        GumbelMaxSISCM().fit(np.empty((0, 2)), Opinions.from_codes(np.empty((0, 0), dtype=int)))
    for n in (0, 1.5):
        with pytest.raises(ValueError, match=f"n_restarts must be a whole number .* got {n}"):
            GumbelMaxSISCM(n_restarts=n).fit(X, opinions)
    with pytest.raises(TypeError, match=r"expert_model is <class .*; .* such as GaussianNB\(\)"):
        GumbelMaxSISCM(LogisticRegression).fit(X, opinions)
    with pytest.raises(ValueError, match=r"min_proba is 0\.9"):  # before it looks at classifiers
        GumbelMaxSISCM(LogisticRegression, min_proba=0.9).fit(X, opinions)
    with pytest.raises(ValueError, match="min_proba is None; it must be"):
        GumbelMaxSISCM(min_proba=None).fit(X, opinions)


def test_one_expert_alone() -> None:
    X = np.random.default_rng(0).normal(size=(10, 1))
    model = GumbelMaxSISCM().fit(X, Opinions.from_codes(np.arange(10)[:, None] % 2))
    assert model.partition_ == [[0]]
    assert len(model.rank_disagreement(X, {0: 1})) == 0
    np.testing.assert_array_equal(model.counterfactual_predict(X, {0: 1}), np.ones((10, 1)))


def test_one_label_alone() -> None:
    X = np.random.default_rng(0).normal(size=(10, 1))
    opinions = Opinions.from_codes(np.zeros((10, 2), dtype=int))
    model = GumbelMaxSISCM(min_proba=0.9).fit(X, opinions)  # certain, whatever the floor
    np.testing.assert_array_equal(model.counterfactual_proba(X, {0: 0}), np.ones((10, 2, 1)))


def test_experts_never_seen_together_keep_their_marginals() -> None:
    X = np.random.default_rng(0).normal(size=(20, 1))
    codes = np.full((20, 2), -1)
    codes[:10, 0] = np.arange(10) % 2
    codes[10:, 1] = np.arange(10) % 2
    model = GumbelMaxSISCM().fit(X, Opinions.from_codes(codes))
    assert model.partition_ == [[0], [1]]
    found = model.counterfactual_proba(X, {0: 1})
    np.testing.assert_allclose(found[:, 1], np.exp(model.log_marginals(X))[:, 1])


# Tables


def test_second_opinions_are_the_array_as_a_table(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    observed = opinions.select(experts=["Ann"])
    law = fitted.counterfactual_proba(X, observed)
    table = fitted.second_opinions(X, observed)
    assert table.columns.tolist() == ["instance", "expert", "label", "probability"]
    assert len(table) == N * 4 * 3
    place = table.set_index(["instance", "expert", "label"])["probability"]
    for i, h, y in ((0, 0, 0), (3, 2, 1), (N - 1, 3, 2), (17, 1, 0)):
        assert place[X.index[i], EXPERTS[h], CLASSES[y]] == law[i, h, y]
    totals = table.groupby(["instance", "expert"])["probability"].sum()
    assert totals.to_numpy() == pytest.approx(1, abs=1e-12)
    said = observed.to_long()
    at_what_they_said = pd.MultiIndex.from_frame(said)
    assert (place[at_what_they_said] == 1).all()


def test_disagreement_is_ranked(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, _ = data
    said = np.random.default_rng(4).integers(3, size=N)
    who = np.random.default_rng(5).integers(4, size=N)
    observed = {
        expert: [CLASSES[y] if w == h else None for w, y in zip(who, said, strict=True)]
        for h, expert in enumerate(EXPERTS)
    }
    law = fitted.counterfactual_proba(X, observed)
    table = fitted.rank_disagreement(X, observed)
    assert table.columns.tolist() == ["instance", "observed", "expert", "probability"]
    assert table["instance"].tolist() == X.index.repeat(3).tolist()
    for i, rows in enumerate(np.split(np.arange(3 * N), N)):
        block = table.iloc[rows]
        assert (block["observed"] == EXPERTS[who[i]]).all()
        assert set(block["expert"]) == set(EXPERTS) - {EXPERTS[who[i]]}
        expected = [1 - law[i, EXPERTS.index(expert), said[i]] for expert in block["expert"]]
        np.testing.assert_allclose(block["probability"], expected, atol=1e-12)
        assert (np.diff(block["probability"]) <= 0).all()


def test_disagreement_with_a_certain_answer() -> None:
    """Equal marginals, one noise: she would have said the same."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    said = np.arange(300) % 3
    model = GumbelMaxSISCM().fit(X, Opinions.from_codes(np.stack([said] * 3, axis=1)))
    assert model.partition_ == [[0, 1, 2]]
    found = model.rank_disagreement(X, {0: said})
    assert found["expert"].tolist() == [1, 2] * 300
    assert found["probability"].tolist() == pytest.approx([0] * 600, abs=1e-12)
    assert (found["probability"] >= 0).all()


@pytest.mark.parametrize(
    ("observed", "count", "row"),
    [
        ({}, 0, 0),
        ({"Ann": "lo", "Bob": "lo"}, 2, 0),
        ({"Ann": ["lo"] * (N - 1) + [None]}, 0, N - 1),
        ({"Ann": ["lo"] * 7 + [None] * 2 + ["lo"] * (N - 9)}, 0, 7),
    ],
)
def test_ranking_needs_one_opinion_an_instance(
    data: Any, fitted: GumbelMaxSISCM, observed: Any, count: int, row: int
) -> None:
    """The error names the first instance that has not."""
    name = data[0].index[row]
    words = rf"instance '{name}' has {count} observed opinions; ranking who disagrees needs ex"
    with pytest.raises(ValueError, match=words):
        fitted.rank_disagreement(data[0], observed)


def test_ties_go_to_the_first_class() -> None:
    X = np.zeros((6, 1))
    opinions = Opinions.from_codes([[2, 0], [1, 0], [0, 1]] * 2, classes=["z", "a", "m"])
    model = GumbelMaxSISCM(DummyClassifier(), partition=[[0], [1]]).fit(X, opinions)
    law = model.counterfactual_proba(X, {})
    assert np.ptp(law[:, 0]) == 0
    assert (model.counterfactual_predict(X, {}) == "z").all()
    labels = model.counterfactual_predict(X, {0: "m"})
    assert labels.shape == (6, 2)
    assert (labels[:, 0] == "m").all()


def test_predictions_are_the_likeliest_labels(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    observed = opinions.select(experts=["Cy"])
    law = fitted.counterfactual_proba(X, observed)
    expected = np.array(CLASSES)[law.argmax(axis=2)]
    found = fitted.counterfactual_predict(X, observed)
    assert (found == expected).all()
    asked = observed.labels[:, 0] >= 0
    assert (found[asked, 2] == np.array(CLASSES)[observed.labels[asked, 0]]).all()


def test_log_marginals_of_opinions_are_aligned_by_id(data: Any, fitted: GumbelMaxSISCM) -> None:
    X, opinions = data
    full = fitted.log_marginals(X)
    expected = full[opinions.instance_codes, opinions.expert_codes]
    np.testing.assert_array_equal(fitted.log_marginals(X, opinions), expected)
    np.testing.assert_array_equal(fitted.log_marginals(X[::-1], opinions), expected)
    some = opinions.select(instances=opinions.instances[5:9], experts=["Dee", "Ann"])
    part = fitted.log_marginals(X.loc[some.instances][::-1], some)
    table = some.to_long()
    row = opinions.instances.get_indexer(table["instance"])
    column = opinions.experts.get_indexer(table["expert"])
    np.testing.assert_array_equal(part, full[row, column])
    with pytest.raises(ValueError, match=r"classes=model\.classes_"):
        fitted.log_marginals(X, Opinions.from_codes(opinions.labels, X.index, opinions.experts))
    stranger = Opinions.from_codes(opinions.labels[:, :1], X.index, ["Eve"], opinions.classes)
    with pytest.raises(ValueError, match=r"'Eve' was not seen.*opinions\.select"):
        fitted.log_marginals(X, stranger)


def test_settings_are_checked_when_fitting(data: Any) -> None:
    with pytest.raises(ValueError, match=r"n_samples must be .* got 2\.5"):
        GumbelMaxSISCM(method="monte_carlo", n_samples=2.5).fit(*data)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^random_state is a RandomState; pass .*Generator\.$"):
        GumbelMaxSISCM(random_state=np.random.RandomState(0)).fit(*data)  # type: ignore[arg-type]


def test_no_model_changes_another() -> None:
    first = GumbelMaxSISCM()
    first.set_params(expert_model=GaussianNB(var_smoothing=0.5))
    assert GumbelMaxSISCM().expert_model is None
