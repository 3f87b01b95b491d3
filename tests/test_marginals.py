"""Marginals: one classifier an expert, as if fitted by hand, and never an impossible label."""

from __future__ import annotations

import traceback
import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from siscm import GumbelMaxSISCM, Opinions
from siscm.marginals import (
    all_log_marginals,
    fit_marginals,
    floor,
    opinion_log_marginals,
    take_rows,
)

# The panel below has an expert who only ever said one label; one test is about the warning.
pytestmark = pytest.mark.filterwarnings("ignore:.*only ever said one label")

N, K = 60, 4


class Constant(ClassifierMixin, BaseEstimator):
    """Answers every row with the same numbers, right or wrong, as probabilities."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def fit(self, X: Any, y: npt.NDArray[np.int64]) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        return np.tile(np.asarray(self.answer), (len(X), 1))


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture(scope="module")
def panel() -> tuple[npt.NDArray[np.float64], Opinions]:
    """Four experts with gaps: "all" uses each label, "few" only 0 and 2, "one" only 3."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(N, 3))
    codes = np.stack(
        [
            np.digitize(X[:, 0] + draw.normal(size=N), [-1, 0, 1]),
            np.where(X[:, 1] + draw.normal(size=N) > 0, 2, 0),
            np.full(N, 3),
            np.digitize(X[:, 2] + draw.normal(size=N), [-1, 0, 1]),
        ],
        axis=1,
    )
    codes[draw.random((N, 4)) < 0.3] = -1
    opinions = Opinions.from_codes(
        codes, experts=["all", "few", "one", "other"], classes=["a", "b", "c", "d"]
    )
    return X, opinions


def marginals(
    expert_model: Any, X: Any, opinions: Opinions, min_proba: float = 1e-8, **options: Any
) -> npt.NDArray[np.float64]:
    models = fit_marginals(expert_model, X, opinions, rng(), **options)
    return all_log_marginals(models, X, opinions.experts, opinions.n_classes, min_proba)


CLASSIFIERS = [
    GaussianNB(),
    LogisticRegression(),
    RandomForestClassifier(n_estimators=5, random_state=3),
    make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    KNeighborsClassifier(),
]


@pytest.mark.parametrize("expert_model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["array", "table"])
def test_the_same_as_by_hand(panel: Any, expert_model: Any, kind: str) -> None:
    X, opinions = panel
    features = X if kind == "array" else pd.DataFrame(X, columns=list("uvw"))
    found = np.exp(marginals(expert_model, features, opinions, min_proba=0.0))
    for h in (0, 1, 3):
        rows = np.flatnonzero(opinions.labels[:, h] >= 0)
        said = opinions.labels[rows, h]
        by_hand = clone(expert_model).fit(
            features[rows] if kind == "array" else features.iloc[rows], said
        )
        expected = np.zeros((N, K))
        expected[:, np.unique(said)] = by_hand.predict_proba(features)
        np.testing.assert_allclose(found[:, h], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found[:, 2], np.tile([0.0, 0, 0, 1], (N, 1)))


def test_the_classifier_handed_in_stays_as_it_is(panel: Any) -> None:
    expert_model = make_pipeline(StandardScaler(), RandomForestClassifier(2))
    before = repr(expert_model.get_params())
    models = fit_marginals(expert_model, *panel, rng())
    assert repr(expert_model.get_params()) == before
    assert not hasattr(expert_model[0], "mean_")
    assert len({id(model) for model in models}) == 4


def test_labels_never_used_get_the_floor(panel: Any) -> None:
    X, opinions = panel
    found = np.exp(marginals(GaussianNB(), X, opinions, min_proba=1e-3))
    np.testing.assert_allclose(found[:, 1, [1, 3]], 1e-3, rtol=5e-3)
    np.testing.assert_allclose(found[:, 2], np.tile([1e-3, 1e-3, 1e-3, 1], (N, 1)) / 1.003)
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-14)


def test_one_label_is_a_constant(panel: Any) -> None:
    X, opinions = panel
    models = fit_marginals(LogisticRegression(), X, opinions, rng())
    assert [isinstance(model, DummyClassifier) for model in models] == [False, False, True, False]
    far = np.full((2, 3), 1e6)
    found = all_log_marginals(models, far, opinions.experts, K, 0.0)
    np.testing.assert_array_equal(np.exp(found[:, 2]), [[0, 0, 0, 1]] * 2)


def test_everybody_agrees_on_one_label() -> None:
    opinions = Opinions.from_codes([[0, 0], [0, -1]])
    found = marginals(GaussianNB(), np.zeros((2, 1)), opinions)
    np.testing.assert_array_equal(found, np.zeros((2, 2, 1)))


def test_an_expert_without_opinions_is_named(panel: Any) -> None:
    X, opinions = panel
    more = Opinions.from_codes(
        np.c_[opinions.labels, np.full((N, 2), -1)], experts=["p", "q", "r", "s", "t", "u"]
    )
    with pytest.raises(ValueError, match=r"expert 't' has no opinion to learn from \(2 such"):
        fit_marginals(GaussianNB(), X, more, rng())
    nobody = Opinions.from_codes(np.empty((N, 0), dtype=int))
    with pytest.raises(ValueError, match="there are no experts"):
        fit_marginals(GaussianNB(), X, nobody, rng())


def test_an_expert_the_classifier_cannot_learn_is_named(panel: Any) -> None:
    X, _ = panel
    opinions = Opinions.from_codes([[0, 0], [1, 1], [-1, 0]], experts=["p", 2])
    with pytest.raises(ValueError, match=r"classifier of expert 'p' cannot learn from 2 opin"):
        fit_marginals(GaussianNB(priors=[0.2, 0.3, 0.5]), X[:3], opinions, rng())
    text = np.array([["a"], ["b"], ["c"]])
    with pytest.raises(ValueError, match="expert 2 cannot learn from 3 opinion"):
        fit_marginals(GaussianNB(), text, opinions.select(experts=[2]), rng())


@pytest.mark.parametrize(
    "expert_model",
    [LinearRegression(), LinearSVC(), SGDClassifier(), StandardScaler(), None, "nb", GaussianNB],
)
def test_a_classifier_without_probabilities_is_refused(panel: Any, expert_model: Any) -> None:
    with pytest.raises(
        TypeError, match=r"has no predict_proba; choose|must be a scikit-learn classifier"
    ):
        fit_marginals(expert_model, *panel, rng())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([np.nan, 1.0], "sum to nan, not to 1"),
        ([0.5, 0.6], "sum to 1.1, not to 1"),
        ([0.0, 0.0], "sum to 0.0, not to 1"),
        ([-0.5, 1.5], "sum to nan, not to 1"),
        ([np.inf, 0.0], "sum to inf, not to 1"),
        ([0.2, 0.3, 0.5], r"shape \(60, 3\) for 60 rows and 2 classes"),
    ],
)
def test_answers_that_are_no_distribution(panel: Any, answer: list[float], words: str) -> None:
    X, opinions = panel
    with pytest.raises(ValueError, match=rf"classifier of expert 'few' returns.*{words}"):
        marginals(Constant(answer), X, opinions.select(experts=["few"]))


def test_rounding_to_float32_is_accepted(panel: Any) -> None:
    X, _ = panel
    answer = np.full(3, 1 / 3, dtype=np.float32) * np.float32(1 + 3e-6)
    some = Opinions.from_codes(np.arange(N)[:, None] % 3)
    found = np.exp(marginals(Constant(answer), X, some))
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-14)


def test_zeros_of_a_classifier_without_logarithms_are_silent(panel: Any) -> None:
    X, opinions = panel
    few = opinions.select(experts=["few"])
    assert not hasattr(Constant(), "predict_log_proba")
    found = marginals(Constant([0.0, 1.0]), X, few, min_proba=0.0)
    np.testing.assert_array_equal(np.exp(found[0, 0]), [0, 0, 1, 0])
    forest = RandomForestClassifier(n_estimators=2, max_depth=None)
    assert np.isneginf(marginals(forest, X, opinions, min_proba=0.0)).any()


# The floor


@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 4), st.integers(1, 7)),
        elements=st.one_of(st.floats(-800, 0), st.just(-np.inf)),
    ),
    st.floats(0, 1, exclude_max=True),
)
def test_the_floor_sums_to_one_and_keeps_the_order(
    weights: npt.NDArray[np.float64], share: float
) -> None:
    weights[:, 0] = 0.0  # at least one possible label
    log_p = weights - np.log(np.exp(weights).sum(axis=1, keepdims=True))
    k = log_p.shape[1]
    min_proba = share / k * 0.999
    found = floor(log_p, min_proba)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-12)
    assert (np.exp(found) >= min_proba / (1 + k * min_proba) * (1 - 1e-9)).all()
    ordered = np.take_along_axis(found, np.argsort(log_p, axis=1), axis=1)
    assert (ordered[:, 1:] >= ordered[:, :-1]).all()
    if min_proba == 0:
        np.testing.assert_allclose(found, log_p, atol=1e-12)


@pytest.mark.parametrize("min_proba", [-1e-9, 0.25, 0.5, 1, np.nan, np.inf, None, "0.1"])
def test_a_floor_that_leaves_no_distribution(min_proba: Any) -> None:
    with pytest.raises(ValueError, match=r"min_proba is .*; it must be at least 0 and below 1 / 4"):
        floor(np.log(np.full((1, 4), 0.25)), min_proba)


def test_the_floor_leaves_its_input_alone() -> None:
    log_p = np.log([[0.999, 0.001]])
    before = log_p.copy()
    assert floor(log_p, 0.1)[0, 1] > np.log(0.05)
    np.testing.assert_array_equal(log_p, before)


# The same everywhere


@pytest.mark.parametrize("expert_model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("min_proba", [0.0, 1e-4])
def test_opinion_rows_are_those_of_the_full_array(
    panel: Any, expert_model: Any, min_proba: float
) -> None:
    X, opinions = panel
    models = fit_marginals(expert_model, X, opinions, rng())
    full = all_log_marginals(models, X, opinions.experts, K, min_proba)
    rows = opinion_log_marginals(models, X, opinions, min_proba)
    assert full.shape == (N, 4, K)
    expected = full[opinions.instance_codes, opinions.expert_codes]
    np.testing.assert_allclose(np.exp(rows), np.exp(expected), rtol=1e-12, atol=0)


def test_no_rows_no_marginals(panel: Any) -> None:
    X, opinions = panel
    models = fit_marginals(GaussianNB(), X, opinions, rng())
    assert all_log_marginals(models, X[:0], opinions.experts, K, 1e-8).shape == (0, 4, K)


@pytest.mark.parametrize("expert_model", [GaussianNB(), RandomForestClassifier(3)])
def test_any_number_of_jobs(panel: Any, expert_model: Any) -> None:
    one = marginals(expert_model, *panel, n_jobs=1)
    np.testing.assert_array_equal(marginals(expert_model, *panel, n_jobs=2), one)
    np.testing.assert_array_equal(marginals(expert_model, *panel, n_jobs=None), one)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: RandomForestClassifier(3, random_state=seed),
        lambda seed: make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=seed)),
    ],
)
def test_seeds(panel: Any, make: Any) -> None:
    X, opinions = panel

    def law(seed: int | None, generator: int) -> npt.NDArray[np.float64]:
        models = fit_marginals(make(seed), X, opinions, np.random.default_rng(generator))
        return all_log_marginals(models, X, opinions.experts, K, 1e-8)

    np.testing.assert_array_equal(law(None, 1), law(None, 1))
    assert not np.array_equal(law(None, 1), law(None, 2))
    np.testing.assert_array_equal(law(7, 1), law(7, 2))
    assert not np.array_equal(law(7, 1), law(8, 1))


def test_experts_get_seeds_of_their_own() -> None:
    codes = np.tile(np.arange(N)[:, None] % 2, (1, 2))
    X = np.random.default_rng(1).normal(size=(N, 3))
    first, second = fit_marginals(
        RandomForestClassifier(2), X, Opinions.from_codes(codes), np.random.default_rng(0)
    )
    assert first.random_state != second.random_state
    assert not np.array_equal(first.predict_proba(X), second.predict_proba(X))


def test_who_only_ever_said_one_label_is_named() -> None:
    opinions = Opinions.from_codes([[0, 1], [1, 1], [-1, 1]], experts=["Ann", "Bob"])
    X = np.arange(6.0).reshape(3, 2)
    with pytest.warns(UserWarning, match=r"expert 'Bob', 3 time\(s\) 1"):
        fit_marginals(GaussianNB(), X, opinions, np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_marginals(GaussianNB(), X, opinions.select(experts=["Ann"]), np.random.default_rng(0))


def test_where_there_is_one_label_only_nobody_is_named_for_saying_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_marginals(GaussianNB(), np.ones((2, 1)), Opinions.from_codes([[0], [0]]), rng())


RUDE = pd.DataFrame({"text": ["rude words", "ruder words"]})


@pytest.mark.parametrize(
    "X",
    [
        RUDE,
        RUDE.astype(object),
        RUDE.astype("category"),
        RUDE.assign(more=[0.0, 1.0]).astype({"text": "category"}),
        RUDE.to_numpy(dtype=object),
        RUDE.to_numpy(dtype=str),
        np.array([["rude words", 1.0], [0.0, 1.0]], dtype=object),
    ],
    ids=["text", "object", "category", "one of two", "array", "array of text", "one cell"],
)
def test_texts_among_the_features_are_never_repeated(X: Any) -> None:
    opinions = Opinions.from_codes([[0], [1]], experts=["Ann"])
    with pytest.raises(ValueError, match=r"learn from .* not all numbers .*; turn text") as caught:
        fit_marginals(GaussianNB(), X, opinions, rng())
    assert "rude" not in "".join(traceback.format_exception(caught.value))
    numbers = np.eye(2)[:, : X.shape[1]]
    if isinstance(X, pd.DataFrame):
        numbers = pd.DataFrame(numbers, columns=X.columns)
    fitted = fit_marginals(GaussianNB(), numbers, opinions, rng())
    with pytest.raises(ValueError, match="cannot predict: the features are not all num") as caught:
        opinion_log_marginals(fitted, X, opinions, 1e-8)
    assert "rude" not in "".join(traceback.format_exception(caught.value))


def test_complex_features_are_refused_and_not_shown() -> None:
    opinions = Opinions.from_codes([[0], [1]], experts=["Ann"])
    for X in (np.array([[1.5j], [2.0]]), pd.DataFrame([[1.5j], [2.0]])):
        with pytest.raises(ValueError, match="the features are not all numbers") as caught:
            fit_marginals(GaussianNB(), X, opinions, rng())
        assert "1.5" not in "".join(traceback.format_exception(caught.value))


def test_what_a_classifier_says_of_numbers_is_passed_on() -> None:
    opinions = Opinions.from_codes([[0], [1]], experts=["Ann"])
    for X in (np.array([[-1], [1]]), np.array([[-1.0], [1.0]]), pd.DataFrame({"u": [-1, 1]})):
        with pytest.raises(ValueError, match="Negative values in data"):
            fit_marginals(MultinomialNB(), X, opinions, rng())


def test_a_classifier_that_shows_its_probabilities_late_is_accepted() -> None:
    stack = StackingClassifier([("nb", GaussianNB())], final_estimator=GaussianNB(), cv=2)
    opinions = Opinions.from_codes(np.arange(8)[:, None] % 2)
    X = np.random.default_rng(0).normal(size=(8, 2))
    fitted = fit_marginals(stack, X, opinions, np.random.default_rng(0))
    assert opinion_log_marginals(fitted, X, opinions, 1e-8).shape == (8, 2)


def test_rows_are_taken_by_their_place_whatever_they_are_called() -> None:
    table = pd.DataFrame({"u": [1.0, 2.0, 3.0]}, index=[2, 0, 1])
    rows = np.array([0, 2])
    assert take_rows(table, rows)["u"].tolist() == [1, 3]
    assert take_rows(table.to_numpy(), rows).tolist() == [[1], [3]]


def test_a_classifier_that_is_frozen_stays_as_it_was_trained(panel: Any) -> None:
    X, opinions = panel
    rows = X[opinions.instance_codes]
    known = LogisticRegression().fit(rows, opinions.label_codes)
    model = GumbelMaxSISCM(FrozenEstimator(known), min_proba=0).fit(X, opinions)
    for h in (0, 3):  # who used every label
        np.testing.assert_allclose(np.exp(model.log_marginals(X))[:, h], known.predict_proba(X))
