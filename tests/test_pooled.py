"""Marginals by partial pooling: what each expert is lent, and what no one may see."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.special import log_softmax, logit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from siscm import Opinions
from siscm.marginals import all_log_marginals, fit_marginals
from siscm.pooled import STRENGTHS, PooledMarginals, _components, _Said, regressions

Array = npt.NDArray[Any]
BASE = LogisticRegression()


@pytest.fixture(autouse=True, scope="module")
def _quick() -> Iterator[None]:
    """Fewer spreads to choose from; and one thread, for those of small products mostly wait."""
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr("siscm.pooled.SLOPE_SPREADS", (0.3,))
        yield


def simulated(
    n: int,
    n_experts: int,
    k: int = 3,
    n_features: int = 3,
    asked: float = 0.5,
    own: float = 1.0,
    seed: int = 0,
) -> tuple[Array, Opinions, Array]:
    """Features, opinions, and true log-marginals (n, H, k): a common part and offsets of own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    common = X @ rng.normal(size=(n_features, k))
    log_p = log_softmax(common[:, None] + own * rng.normal(size=(n_experts, k)), axis=-1)
    said = (log_p + rng.gumbel(size=log_p.shape)).argmax(axis=-1)
    said[rng.random(said.shape) >= asked] = -1
    return X, Opinions.from_codes(said, classes=range(k)), log_p


def loss(log_p: Array, opinions: Opinions) -> float:
    return float(-log_p[np.arange(len(opinions)), opinions.label_codes].mean())


@pytest.fixture(scope="module")
def panel() -> tuple[Array, Opinions, Array]:
    return simulated(90, 6)


@pytest.fixture(scope="module")
def fitted(panel: Any) -> PooledMarginals:
    return PooledMarginals(BASE).fit(*panel[:2])


def test_without_slopes_of_their_own_experts_have_offsets_only(panel: Any) -> None:
    X, opinions, _ = panel
    model = PooledMarginals(BASE, own_slopes=False).fit(X, opinions)
    assert model.prior_[1] == 0
    as_text = pd.DataFrame(X, index=opinions.instances).astype(object)
    base = make_pipeline(ColumnTransformer([("all", "passthrough", [0, 1, 2])]), BASE)
    never = PooledMarginals(base).fit(as_text, opinions)
    np.testing.assert_allclose(model.out_of_fold_, never.out_of_fold_, atol=1e-6)


# Conventions


def test_conventions_of_scikit_learn(panel: Any) -> None:
    X, opinions, _ = panel
    base = LogisticRegression(C=0.5)
    model = PooledMarginals(base, n_folds=3, min_proba=1e-3, random_state=7)
    assert clone(model).get_params()["base__C"] == 0.5
    assert "n_folds=3" in repr(model)
    before = repr(model.get_params())
    assert model.fit(X, opinions) is model
    assert repr(model.get_params()) == before
    assert not hasattr(base, "coef_")
    assert model.experts_.tolist() == list(range(6))
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="not fitted yet"):
        PooledMarginals().log_marginals(X)


def test_every_row_is_a_distribution_above_the_floor(panel: Any) -> None:
    X, opinions, _ = panel
    model = PooledMarginals(BASE, min_proba=0.05).fit(X, opinions)
    log_p = model.log_marginals(10 * X)
    assert log_p.shape == (90, 6, 3)
    for found in (log_p, model.out_of_fold_):
        np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1, atol=1e-12)
        assert np.exp(found).min() >= 0.05 / 1.15


def test_opinions_are_answered_by_the_names_of_their_experts(panel: Any, fitted: Any) -> None:
    X, opinions, _ = panel
    log_p = fitted.log_marginals(X)
    some = opinions.select(instances=range(50), experts=[5, 0, 3])
    found = fitted.log_marginals(X[:50], some)
    rows = log_p[some.instance_codes, some.experts.to_numpy()[some.expert_codes]]
    np.testing.assert_allclose(found, rows, rtol=1e-12)
    with pytest.raises(ValueError, match="expert 'Zoe' was not seen in training"):
        fitted.log_marginals(X[:1], Opinions.from_codes([[0]], experts=["Zoe"], classes=range(3)))
    with pytest.raises(ValueError, match=r"Build them with classes=model\.classes_"):
        fitted.log_marginals(X[:1], Opinions.from_codes([[0]], classes=["a", "b", "c"]))


def test_no_row_is_an_answer_too(fitted: Any) -> None:
    assert fitted.log_marginals(np.empty((0, 3))).shape == (0, 6, 3)


def test_a_table_is_aligned_by_its_index_and_its_columns(panel: Any, fitted: Any) -> None:
    X, opinions, _ = panel
    table = pd.DataFrame(X, columns=list("uvw"))
    shuffled = table.sample(frac=1, random_state=0)
    model = PooledMarginals(BASE).fit(shuffled, opinions)
    np.testing.assert_allclose(model.out_of_fold_, fitted.out_of_fold_, atol=1e-3)
    np.testing.assert_array_equal(
        model.log_marginals(table[["w", "u", "v"]]), model.log_marginals(X)
    )


# Out of fold


def test_the_pooled_classifier_never_saw_the_instance(panel: Any) -> None:
    """A base that answers a certainty for each row it has seen could not hide it."""
    X, opinions, _ = panel

    class Memory(LogisticRegression):
        def fit(self, X: Array, y: Array) -> Memory:
            self.seen_ = {row.tobytes() for row in X}
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X: Array) -> Array:
            assert self.seen_.isdisjoint(row.tobytes() for row in X)
            return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

        def predict_log_proba(self, X: Array) -> Array:
            return np.log(self.predict_proba(X))

    PooledMarginals(Memory()).fit(X, opinions)


def test_labels_of_an_instance_leave_only_a_trace_in_its_own_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All labels of one instance changed: its own scores move much less than those in sample.

    Not at all would be too much to ask: other instances' scores f, on which the deviations are
    learned, are by classifiers that saw this one. Ten features make that a matter: the classifier
    in sample bends to each instance, the one out of fold cannot.
    """
    # What is asked is not a matter of choosing other priors.
    monkeypatch.setattr("siscm.pooled.WIDTHS", (1.0,))
    monkeypatch.setattr("siscm.pooled.SLOPE_SPREADS", ())
    X, opinions, _ = simulated(40, 6, n_features=10, asked=0.8)
    base = LogisticRegression(C=10.0)
    before = PooledMarginals(base).fit(X, opinions)
    out, inside = [], []
    for i in range(4):
        codes = opinions.labels.copy()
        codes[i] = np.where(codes[i] >= 0, (codes[i] + 1) % 3, -1)
        changed = Opinions.from_codes(codes, classes=range(3))
        after = PooledMarginals(base).fit(X, changed)
        mine = opinions.instance_codes == i
        rows, said = np.flatnonzero(mine), changed.label_codes[mine]
        for moved, (later, earlier) in (
            (out, (after.out_of_fold_, before.out_of_fold_)),
            (inside, (after.log_marginals(X, changed), before.log_marginals(X, opinions))),
        ):
            moved.append((np.exp(later) - np.exp(earlier))[rows, said].mean())
    assert np.mean(inside) > 0.2
    assert abs(np.mean(out)) < 0.15 * np.mean(inside), (out, inside)


def test_noise_cannot_be_learned_out_of_fold() -> None:
    """Thirty features that mean nothing: in sample they seem to, out of fold they do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    opinions = Opinions.from_codes(rng.integers(2, size=(60, 4)))
    model = PooledMarginals(LogisticRegression(C=10.0)).fit(X, opinions)
    assert loss(model.log_marginals(X, opinions), opinions) < np.log(2) - 0.03
    assert loss(model.out_of_fold_, opinions) > np.log(2) - 0.02


def test_out_of_fold_losses_are_those_of_new_instances() -> None:
    X, opinions, _ = simulated(600, 8, asked=0.4)
    first, second = range(300), range(300, 600)
    model = PooledMarginals(BASE).fit(X[:300], opinions.select(instances=first))
    new = opinions.select(instances=second)
    expected = loss(model.log_marginals(X[300:], new), new)
    # Two means of about 950 losses with a standard deviation near 0.7: error 0.03.
    assert loss(model.out_of_fold_, opinions.select(instances=first)) == pytest.approx(
        expected, abs=0.07
    )


# Pooling


@pytest.fixture(scope="module")
def three_kinds() -> tuple[Array, PooledMarginals]:
    """Without features: 20 experts at 30 % of 1; "many", "few" and "none" gave 200, 4, 0 opinions.

    Those two always said 1.
    """
    rng = np.random.default_rng(0)
    codes = np.full((200, 23), -1)
    codes[:, :20] = rng.random((200, 20)) < 0.3
    codes[:, 20], codes[:4, 21] = 1, 1
    names = [*map(str, range(20)), "many", "few", "none"]
    opinions = Opinions.from_codes(codes, experts=names)
    model = PooledMarginals().fit(np.empty((200, 0)), opinions)
    return np.exp(model.log_marginals(np.empty((1, 0))))[0], model


def test_without_features_frequencies_are_learned(three_kinds: Any) -> None:
    p, model = three_kinds
    said = np.array([0.3] * 20)
    np.testing.assert_allclose(p[:20, 1], said, atol=0.1)  # standard error 0.03
    table = model.log_marginals(pd.DataFrame(index=["a", "b"]))
    np.testing.assert_array_equal(np.exp(table), [p, p])


def test_few_opinions_are_drawn_to_the_pool_and_many_are_not(three_kinds: Any) -> None:
    p, _ = three_kinds
    pool, many, few, none = p[:20, 1].mean(), *p[20:, 1]
    assert many > 0.95
    assert pool + 0.1 < few < many - 0.1
    # Offsets sum to zero at the optimum, and hers is zero: she is the mean of all in log-odds.
    assert logit(none) == pytest.approx(logit(p[:22, 1]).mean(), abs=1e-3)


def test_who_was_never_asked_is_the_pool_with_features_too() -> None:
    X, opinions, _ = simulated(200, 8, own=0.3)
    codes = np.c_[opinions.labels, np.full(200, -1)]
    model = PooledMarginals(BASE).fit(X, Opinions.from_codes(codes, classes=range(3)))
    log_p = model.log_marginals(X)
    pooled = np.exp(model.base_.predict_log_proba(X))
    assert np.abs(np.exp(log_p[:, 8]) - pooled).mean() < 0.05


def test_of_several_bases_the_best_out_of_fold_is_taken(panel: Any) -> None:
    X, opinions, _ = panel
    blind = DummyClassifier(strategy="prior")
    model = clone(PooledMarginals([blind, BASE, blind])).fit(X, opinions)
    alone = PooledMarginals(BASE).fit(X, opinions)
    np.testing.assert_allclose(model.out_of_fold_, alone.out_of_fold_, atol=1e-9)


def test_a_label_she_never_used_stays_possible() -> None:
    X, opinions, _ = simulated(150, 6)
    codes = opinions.labels.copy()
    codes[:, 0] = np.where(codes[:, 0] == 2, 1, codes[:, 0])
    model = PooledMarginals(BASE, min_proba=1e-4).fit(X, Opinions.from_codes(codes))
    p = np.exp(model.log_marginals(X))
    assert p[..., 2].min() >= 1e-4 / (1 + 3e-4)
    assert p[:, 0, 2].mean() < 0.2 * p[:, 1:, 2].mean()


def test_labels_that_nobody_used_get_the_floor_and_change_nothing() -> None:
    """Ten labels of which six occur: as with six, but for the floor. It converges, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    used = np.array([0, 2, 3, 5, 8, 9])
    codes = np.where(rng.random((60, 4)) < 0.7, rng.integers(6, size=(60, 4)), -1)
    ten = Opinions.from_codes(np.where(codes < 0, -1, used[codes]), classes=range(10))
    six = Opinions.from_codes(codes, classes=used)
    models = [PooledMarginals(BASE, min_proba=1e-5).fit(X, said) for said in (ten, six)]
    p = np.exp(models[0].log_marginals(X))
    np.testing.assert_allclose(np.delete(p, used, axis=2), 1e-5, rtol=1e-4)
    np.testing.assert_allclose(p[..., used], np.exp(models[1].log_marginals(X)), rtol=1e-4)


@pytest.mark.parametrize("classes", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_one_label_everywhere(classes: list[str]) -> None:
    opinions = Opinions.from_codes(np.zeros((10, 2), dtype=int), classes=classes)
    X = np.arange(20.0).reshape(10, 2)
    model = PooledMarginals(min_proba=1e-3).fit(X, opinions)
    expected = np.array([1.0, 1e-3, 1e-3])[: len(classes)]
    expected /= expected.sum()
    np.testing.assert_allclose(
        np.exp(model.log_marginals(X)), np.tile(expected, (10, 2, 1)), rtol=2e-3
    )


# Worth


def test_thirty_opinions_an_expert_are_enough() -> None:
    """Better than one classifier an expert by far, and not much worse than the truth."""
    X, opinions, truth = simulated(400, 20, n_features=5, asked=30 / 300, seed=1)
    train, test = opinions.select(instances=range(300)), opinions.select(instances=range(300, 400))
    model = PooledMarginals().fit(X[:300], train)
    pooled = loss(model.log_marginals(X[300:], test), test)
    best = loss(truth[test.instance_codes + 300, test.expert_codes], test)
    for one in (GaussianNB(), LogisticRegression(C=0.1)):
        models = fit_marginals(one, X[:300], train, np.random.default_rng(0))
        log_p = all_log_marginals(models, X[300:], opinions.experts, 3, 1e-4)
        alone = loss(log_p[test.instance_codes, test.expert_codes], test)
        assert pooled < alone - 0.05
    assert pooled < best + 0.15


def test_probabilities_are_calibrated() -> None:
    """Of opinions with probability about p, a share of about p is said, out of fold and anew."""
    X, opinions, truth = simulated(500, 10, asked=0.4)
    model = PooledMarginals(BASE).fit(X, opinions)
    p = np.exp(model.out_of_fold_)
    said = np.eye(3)[opinions.label_codes]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        bin_ = (p >= low) & (p < low + 0.2)
        assert bin_.sum() > 300
        error = np.sqrt((p[bin_] * (1 - p[bin_])).sum()) / bin_.sum()
        assert p[bin_].mean() == pytest.approx(said[bin_].mean(), abs=4 * error)
    mean_error = np.abs(np.exp(model.log_marginals(X)) - np.exp(truth)).mean()
    assert mean_error < 0.03


def test_slopes_of_her_own_are_learned_if_there_are_any() -> None:
    """Half of the experts read the feature the other way round."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    sign = np.repeat([1, -1], 3)
    codes = (2 * X[:, :1] * sign + rng.logistic(size=(300, 6)) > 0).astype(int)
    model = PooledMarginals(BASE).fit(X, Opinions.from_codes(codes))
    assert model.prior_[1] == 0.3
    right = (model.log_marginals(X).argmax(axis=-1) == (X[:, :1] * sign > 0)).mean()
    assert right > 0.85


@pytest.mark.parametrize(
    ("k", "own", "asked", "width"), [(8, 0.1, 0.2, 0.25), (3, 1.0, 0.5, 0.5), (3, 3.0, 0.5, 1.0)]
)
def test_priors_are_as_wide_as_experts_differ(
    k: int, own: float, asked: float, width: float
) -> None:
    X, opinions, _ = simulated(200, 10, k=k, own=own, asked=asked)
    assert PooledMarginals(BASE, own_slopes=False).fit(X, opinions).prior_ == (width, 0.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_many_labels_and_few_opinions_are_no_worse_than_the_pool(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With priors as wide as suits two labels they were: too much was learned from too little."""
    X, opinions, _ = simulated(300, 15, k=10, n_features=6, asked=0.2, own=0.3, seed=seed)
    train, test = opinions.select(instances=range(200)), opinions.select(instances=range(200, 300))
    model = PooledMarginals(BASE, own_slopes=False).fit(X[:200], train)
    found = loss(model.log_marginals(X[200:], test), test)
    pool = model.base_.predict_log_proba(X[200:])[test.instance_codes]
    assert found < loss(pool, test) + 0.03
    monkeypatch.setattr("siscm.pooled.WIDTHS", (1.0,))
    wide = PooledMarginals(BASE, own_slopes=False).fit(X[:200], train)
    assert loss(wide.log_marginals(X[200:], test), test) > found + 0.05


# Kinds of features


def test_texts_through_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    good = rng.random(80) < 0.5
    texts = np.where(good, "fine day", "dull day")
    codes = np.where(rng.random((80, 3)) < 0.1, ~good[:, None], good[:, None]).astype(int)
    opinions = Opinions.from_codes(codes, instances=[f"t{i}" for i in range(80)])
    X = pd.DataFrame({"text": texts}, index=opinions.instances)
    base = make_pipeline(
        ColumnTransformer([("words", CountVectorizer(), "text")]), LogisticRegression()
    )
    model = PooledMarginals(base).fit(X, opinions)
    np.testing.assert_array_equal(
        model.log_marginals(X).argmax(axis=-1), np.tile(good[:, None], (1, 3))
    )


def test_texts_are_never_repeated_in_an_error() -> None:
    opinions = Opinions.from_codes([[0, 1], [1, 0]] * 5)
    X = pd.DataFrame({"text": ["rude words", "ruder words"] * 5})
    for table in (X, X.astype("category"), X.to_numpy(dtype=object)):
        with pytest.raises(
            ValueError, match=r"pooled classifier cannot learn .* not all numbers"
        ) as caught:
            PooledMarginals().fit(table, opinions)
        assert "rude" not in "".join(traceback.format_exception(caught.value))


def test_texts_where_training_had_numbers_are_never_repeated_in_an_error() -> None:
    """Also where the base does not look at them."""
    opinions = Opinions.from_codes([[0, 1], [1, 0]] * 5)
    X = pd.DataFrame({"u": np.arange(10.0), "v": np.arange(10.0) ** 2})
    text = X.assign(v="rude words")
    base = make_pipeline(ColumnTransformer([("u", "passthrough", ["u"])]), BASE)
    for model in (PooledMarginals(), PooledMarginals(base), PooledMarginals(DummyClassifier())):
        model.fit(X, opinions)
        as_objects = model.log_marginals(X.astype(object))
        np.testing.assert_array_equal(as_objects, model.log_marginals(X))
        with pytest.raises(ValueError, match=r"the features are not all numbers") as caught:
            model.log_marginals(text)
        assert "rude" not in "".join(traceback.format_exception(caught.value))


def test_a_constant_column_changes_nothing_and_only_such_mean_frequencies(panel: Any) -> None:
    X, opinions, _ = panel
    more = np.c_[X, np.full(len(X), 3.0)]
    found = PooledMarginals(BASE).fit(more, opinions).log_marginals(more)
    without = PooledMarginals(BASE).fit(X, opinions).log_marginals(X)
    np.testing.assert_allclose(np.exp(found), np.exp(without), atol=2e-3)
    constant = PooledMarginals().fit(np.ones((len(X), 2)), opinions)
    nothing = PooledMarginals().fit(X[:, :0], opinions)
    np.testing.assert_allclose(
        constant.log_marginals(np.ones((1, 2))), nothing.log_marginals(X[:1, :0]), atol=1e-3
    )


def test_more_folds_than_instances_leave_one_out() -> None:
    X, opinions, _ = simulated(12, 3, k=2)
    model = PooledMarginals(BASE, n_folds=50).fit(X, opinions)
    assert model.out_of_fold_.shape == (len(opinions), 2)


def test_instances_without_opinions_do_not_matter() -> None:
    X, opinions, _ = simulated(60, 4)
    codes = np.vstack([opinions.labels, np.full((3, 4), -1)])
    seen = np.flatnonzero((codes >= 0).any(axis=1))
    more = PooledMarginals(BASE).fit(
        np.vstack([X, X[:3]]), Opinions.from_codes(codes, classes=range(3))
    )
    less = PooledMarginals(BASE).fit(
        X[seen], Opinions.from_codes(codes[seen], instances=seen, classes=range(3))
    )
    # The components of the features are those of all instances.
    np.testing.assert_allclose(more.out_of_fold_, less.out_of_fold_, atol=0.05)


# Repeating


def test_the_same_twice_and_other_folds_with_another_seed(panel: Any, fitted: Any) -> None:
    X, opinions, _ = panel
    again = PooledMarginals(BASE).fit(X, opinions)
    np.testing.assert_array_equal(again.out_of_fold_, fitted.out_of_fold_)
    np.testing.assert_array_equal(again.log_marginals(X), fitted.log_marginals(X))
    other = PooledMarginals(BASE, random_state=1).fit(X, opinions)
    assert not np.array_equal(other.out_of_fold_, fitted.out_of_fold_)
    moved = np.exp(other.log_marginals(X)) - np.exp(fitted.log_marginals(X))
    assert np.abs(moved).mean() < 0.03


def test_a_random_base_repeats_with_the_seed(panel: Any) -> None:
    X, opinions, _ = panel
    base = DecisionTreeClassifier(splitter="random", max_depth=2)
    first, again = (PooledMarginals(base).fit(X, opinions).log_marginals(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = PooledMarginals(base, random_state=1).fit(X, opinions).log_marginals(X)
    assert not np.array_equal(first, other)


def test_the_order_of_experts_does_not_matter(panel: Any, fitted: Any) -> None:
    """But for the tolerance of the fit. That of instances does: the folds follow it."""
    X, opinions, _ = panel
    order = [3, 0, 5, 1, 4, 2]
    other = PooledMarginals(BASE).fit(X, opinions.select(experts=order))
    np.testing.assert_allclose(
        np.exp(other.log_marginals(X)), np.exp(fitted.log_marginals(X)[:, order]), atol=1e-3
    )


def test_the_names_of_labels_do_not_matter(panel: Any, fitted: Any) -> None:
    X, opinions, _ = panel
    turned = np.where(opinions.labels < 0, -1, 2 - opinions.labels)
    other = PooledMarginals(BASE).fit(X, Opinions.from_codes(turned, classes=["c", "b", "a"]))
    np.testing.assert_allclose(
        np.exp(other.log_marginals(X))[..., ::-1], np.exp(fitted.log_marginals(X)), atol=1e-3
    )


# Refusals


@pytest.mark.parametrize(
    ("options", "n", "error", "words"),
    [
        ({}, 1, ValueError, r"1 instance\(s\) have opinions and n_folds is 5"),
        ({"n_folds": 1}, 10, ValueError, r"10 instance\(s\) have opinions and n_folds is 1"),
        ({"min_proba": 0.5}, 10, ValueError, r"min_proba is 0\.5"),
        ({"min_proba": -1e-9}, 10, ValueError, "min_proba is -1e-09"),
        ({"base": LinearSVC()}, 10, TypeError, "the pooled classifier, .* has no predict_proba"),
        ({"base": GaussianNB}, 10, TypeError, r"base is <class .* such as GaussianNB\(\)"),
        ({"base": "nb"}, 10, TypeError, "base is 'nb'; it must be a scikit-learn classifier"),
        ({"n_folds": float("nan")}, 10, ValueError, "n_folds must be .* at least 1; got nan"),
        ({"n_folds": 2.5}, 10, ValueError, r"n_folds must be .* at least 1; got 2\.5"),
        ({"n_folds": None}, 10, ValueError, "n_folds must be .* at least 1; got None"),
        ({"min_proba": None}, 10, ValueError, "min_proba is None"),
    ],
)
def test_refusals(options: Any, n: int, error: type[Exception], words: str) -> None:
    codes = np.arange(2 * n).reshape(n, 2) // 2 % 2
    opinions = Opinions.from_codes(codes, classes=[0, 1])
    with pytest.raises(error, match=words):
        PooledMarginals(**options).fit(np.zeros((n, 1)), opinions)


def test_features_and_opinions_that_do_not_align_are_refused(panel: Any) -> None:
    X, opinions, _ = panel
    with pytest.raises(ValueError, match="X has 89 rows, but the opinions are about 90"):
        PooledMarginals().fit(X[:-1], opinions)
    with pytest.raises(ValueError, match="instance 0 has opinions but no features"):
        PooledMarginals().fit(pd.DataFrame(X).iloc[1:], opinions)
    with pytest.raises(ValueError, match="X holds nan for instance 3"):
        PooledMarginals().fit(np.where(np.arange(90)[:, None] == 3, np.nan, X), opinions)
    with pytest.raises(TypeError, match=r"make it with Opinions\.from_long"):
        PooledMarginals().fit(X, opinions.labels)
    with pytest.raises(TypeError, match=r"make it with Opinions\.from_long"):
        PooledMarginals(BASE).fit(X, opinions).log_marginals(X, opinions.to_long())
    nobody = Opinions.from_codes(np.full((5, 2), -1), classes=[0, 1])
    with pytest.raises(ValueError, match=r"0 instance\(s\) have opinions"):
        PooledMarginals().fit(X[:5], nobody)


def test_a_model_refuses_other_features_than_it_learned_from(panel: Any, fitted: Any) -> None:
    X, opinions, _ = panel
    with pytest.raises(ValueError, match="X has 2 features; the model was fitted on 3"):
        fitted.log_marginals(X[:, :2])
    with pytest.raises(ValueError, match="X has 5 rows, but the opinions are about 90"):
        fitted.log_marginals(X[:5], opinions)


def test_a_feature_far_from_all_others_leaves_the_least_probability(panel: Any) -> None:
    X, opinions, _ = panel
    model = PooledMarginals().fit(X, opinions)
    p = np.exp(model.log_marginals(np.full((1, X.shape[1]), 1e90)))
    assert p.sum(axis=-1) == pytest.approx(1)
    assert p.min() == pytest.approx(model.min_proba, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e-320])
def test_a_feature_too_small_to_be_squared_is_as_good_as_constant(panel: Any, scale: float) -> None:
    X, opinions, _ = panel
    tiny = PooledMarginals().fit(X * scale, opinions)
    constant = PooledMarginals().fit(np.zeros_like(X), opinions)
    assert tiny.log_marginals(X[:2] * scale) == pytest.approx(constant.log_marginals(X[:2] * 0))


def test_a_feature_that_cannot_be_squared_is_named(panel: Any) -> None:
    X, opinions, _ = panel
    huge = X.copy()
    huge[4, 1] = -1e101
    with pytest.raises(ValueError, match=r"X holds -1e\+101 for instance 4, feature 1 "):
        PooledMarginals().fit(huge, opinions)
    fitted = PooledMarginals().fit(X, opinions)
    with pytest.raises(ValueError, match=r"X holds -1e\+101 for instance 4, feature 1 "):
        fitted.log_marginals(huge)


class Sized(DummyClassifier):
    """Keeps how many opinions each of its fits has seen."""

    sizes: ClassVar[list[int]] = []

    def fit(self, X: Any, y: Any) -> Any:
        Sized.sizes.append(len(y))
        return super().fit(X, y)


def test_everything_is_left_out_once_and_nothing_at_the_end() -> None:
    _, opinions, _ = simulated(12, 3, k=2)
    Sized.sizes.clear()
    PooledMarginals(Sized(strategy="prior"), n_folds=50).fit(np.empty((12, 0)), opinions)
    *parts, whole = Sized.sizes
    seen = opinions.n_by_instance[opinions.n_by_instance > 0]
    assert sorted(parts) == sorted(len(opinions) - seen)
    assert whole == len(opinions)


class Sure(LogisticRegression):
    """Says what its parent says, far too loudly."""

    def predict_log_proba(self, X: Any) -> Array:
        return log_softmax(5 * super().predict_log_proba(X), axis=1)


def test_a_base_that_is_too_sure_of_itself_is_not_the_best(panel: Any) -> None:
    X, opinions, _ = panel
    model = PooledMarginals([Sure(), BASE], own_slopes=False).fit(X, opinions)
    assert type(model.base_) is LogisticRegression


def test_the_width_is_the_best_without_slopes_and_stays_so_with_them() -> None:
    """Experts differ in nothing but how they read the second feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    sign = np.repeat([1, -1], 3)
    pull = 2 * X[:, :1] + 2 * X[:, 1:] * sign
    codes = (pull + rng.logistic(size=(150, 6)) > 0).astype(int)
    opinions = Opinions.from_codes(codes)
    model, without = (
        PooledMarginals(BASE, own_slopes=own).fit(X, opinions) for own in (True, False)
    )
    assert without.prior_ == (0.25, 0)
    assert model.prior_ == (0.25, 0.3)
    assert loss(model.out_of_fold_, opinions) < loss(without.out_of_fold_, opinions) - 0.1


def test_the_default_learns_from_standardised_features_at_every_strength(panel: Any) -> None:
    assert [one[-1].C for one in regressions(StandardScaler())] == list(STRENGTHS)
    X, opinions, _ = panel
    some = opinions.select(experts=[0, 1])
    found, other = (
        PooledMarginals(n_folds=2, own_slopes=False).fit(scale * X, some).log_marginals(scale * X)
        for scale in (1, 1000)
    )
    np.testing.assert_allclose(found, other, atol=1e-3)
    assert np.ptp(found[:, 0, 0]) > 1


def test_a_constant_has_no_component_though_rounding_may_make_it_vary() -> None:
    assert _components(np.full((90, 1), 0.1)) is None


def test_components_are_twenty_at_most_and_know_no_unit() -> None:
    X = np.random.default_rng(0).normal(size=(40, 25))
    many, few = _components(X), _components(X[:, :3])
    assert many is not None
    assert few is not None
    assert many.transform(X).shape == (40, 20)
    scaled = X[:, :3] * [1, 1000, 0.001]
    np.testing.assert_allclose(_components(scaled).transform(scaled), few.transform(X[:, :3]))


class Fails(LogisticRegression):
    """A classifier that cannot learn from more than so many opinions."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if len(X) > 100:
            raise ValueError("too many")
        return super().fit(X, y)


def test_a_refit_that_fails_leaves_what_was_learned_before(panel: Any) -> None:
    X, opinions, _ = panel
    few = opinions.select(instances=opinions.instances[:20])
    model = PooledMarginals(Fails()).fit(X[:20], few)
    before = model.log_marginals(X[:5])
    with pytest.raises(ValueError, match="too many"):
        model.fit(X, Opinions.from_codes(np.where(opinions.labels > 0, opinions.labels, -1)))
    np.testing.assert_array_equal(model.log_marginals(X[:5]), before)


def test_a_refit_that_fails_half_way_leaves_what_was_learned_before(panel: Any) -> None:
    """Every fold is small enough, all of it is not: labels and components are new by then."""
    X, opinions, _ = panel
    few = opinions.select(instances=opinions.instances[:20])
    model = PooledMarginals(Fails()).fit(X[:20], few)
    learned, before = dict(vars(model)), model.log_marginals(X[:5])
    n = int(np.searchsorted(opinions.n_by_instance.cumsum(), 110))
    two_labels = np.where(opinions.labels > 0, opinions.labels, 2)[:n]
    again = Opinions.from_codes(np.where(opinions.labels[:n] < 0, -1, two_labels))
    assert 100 < len(again) < 120  # a fifth is left out of each fold
    with pytest.raises(ValueError, match="too many"):
        model.fit(1000 * X[:n], again)
    assert vars(model).keys() == learned.keys()
    assert all(vars(model)[name] is value for name, value in learned.items())
    np.testing.assert_array_equal(model.log_marginals(X[:5]), before)


def test_widths_are_tried_from_the_narrowest_until_one_predicts_worse(monkeypatch):
    tried = []
    plain = _Said.out_of_fold

    def out_of_fold(self, scores, z, prior):
        tried.append(prior[0])
        return plain(self, scores, z, prior)

    monkeypatch.setattr(_Said, "out_of_fold", out_of_fold)
    rng = np.random.default_rng(0)
    alike = Opinions.from_codes(rng.integers(0, 5, (60, 20)))
    assert PooledMarginals().fit(np.empty((60, 0)), alike).prior_ == (0.25, 0.0)
    assert tried == [0.25, 0.5]
    tried.clear()
    apart = Opinions.from_codes((np.arange(5) + (rng.random((60, 5)) < 0.1)) % 3)
    assert PooledMarginals().fit(np.empty((60, 0)), apart).prior_ == (1.0, 0.0)
    assert tried == [0.25, 0.5, 1.0]
