"""The graded model: its limits, its answers, and what the paper states, by enumeration."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Self, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from graded_panels import ends_of, graded_panel, parts_of, standard_errors
from scipy.special import logit
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from siscm import GumbelMaxSISCM, Opinions, gumbel, inference
from siscm.beyond import ordered, sharing_fit
from siscm.beyond.noises import Noise
from siscm.beyond.sharing import MOST, SharingEvidence
from siscm.beyond.sharing_fit import CANDIDATES, N_PARTS
from siscm.graded import GradedSISCM
from siscm.pooled import PooledMarginals
from siscm.theory.populations import Drawn
from siscm.theory.properties import counterfactual_stability, set_invariance
from siscm.theory.random_scms import same_group
from siscm.theory.scm import FiniteSCM, conditional, counterfactual, marginal
from siscm.theory.theorems import corollary_1, corollary_2, theorem_4, theorem_7

FloatArray = npt.NDArray[np.float64]

pytestmark = pytest.mark.usefixtures("one_thread")

EXPERTS = ["Ann", "Bob", "Cy", "Dee"]
CLASSES = ["lo", "mid", "hi"]
PARTITION = [["Ann", "Cy", "Dee"], ["Bob"]]
NOISES: list[Noise] = ["gumbel", "uniform"]
N = 40


class PaperMarginals(BaseEstimator):
    """A classifier an expert, as in the paper's model."""

    def fit(self, X: Any, opinions: Opinions) -> Self:
        self.model_ = GumbelMaxSISCM(partition=PARTITION).fit(X, opinions)
        self.out_of_fold_ = self.model_.log_marginals(X, opinions)
        for name in ("experts_", "classes_", "n_features_in_", "feature_names_in_"):
            setattr(self, name, getattr(self.model_, name))
        return self

    def log_marginals(self, X: Any, opinions: Opinions | None = None) -> FloatArray:
        return self.model_.log_marginals(X, opinions)


class KnownMarginals(BaseEstimator):
    """The features are all experts' true log-marginals, one after the other."""

    def fit(self, X: FloatArray, opinions: Opinions) -> Self:
        self.experts_, self.classes_ = opinions.experts.to_numpy(), opinions.classes.to_numpy()
        self.n_features_in_, self.feature_names_in_ = X.shape[1], None
        full = self.log_marginals(X)
        self.out_of_fold_ = full[opinions.instance_codes, opinions.expert_codes]
        return self

    def log_marginals(self, X: FloatArray) -> FloatArray:
        return X.reshape(len(X), -1, len(self.classes_))


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, Opinions]:
    """A small panel with gaps."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 2))
    score = (X @ rng.normal(size=(2, 4 * 3))).reshape(N, 4, 3)
    codes = (score + rng.gumbel(size=(N, 1, 3))).argmax(axis=2)
    codes[rng.random((N, 4)) < 0.25] = -1
    ids = [f"case {i:02d}" for i in rng.permutation(N)]
    return pd.DataFrame(X, ids, ["u", "v"]), Opinions.from_codes(codes, ids, EXPERTS, CLASSES)


@pytest.fixture(scope="module")
def fitted(data: Any, one_thread: None) -> GradedSISCM:
    """Everything learned, but for one expert who never gave an opinion."""
    return GradedSISCM().fit(data[0], silenced(data[1]))


def silenced(opinions: Opinions) -> Opinions:
    """Without what Dee said."""
    codes = opinions.labels.copy()
    codes[:, 3] = -1
    return Opinions.from_codes(codes, opinions.instances, EXPERTS, CLASSES)


def given(sharing: Any, noise: Noise = "gumbel", partition: Any = PARTITION) -> GradedSISCM:
    return GradedSISCM(PaperMarginals(), noise, partition=partition, sharing=sharing)


# scikit-learn's conventions


def test_parameters_clone_and_repr(data: Any) -> None:
    model = GradedSISCM(PaperMarginals(), sharing={"Ann": 0.5})
    assert model.get_params(deep=False) == {
        "marginals": model.marginals,
        "noise": "likeliest",
        "partition": None,
        "sharing": {"Ann": 0.5},
        "n_restarts": 3,
        "n_samples": 2000,
        "random_state": 0,
    }
    assert repr(GradedSISCM()) == "GradedSISCM()"
    assert GradedSISCM().set_params(noise="uniform").noise == "uniform"
    nested = GradedSISCM(PooledMarginals()).set_params(marginals__n_folds=3)
    assert nested.marginals.n_folds == 3
    other = given(0.5).fit(*data)
    twin = clone(other)
    assert repr(twin) == repr(other)
    assert twin.marginals is not other.marginals
    assert not hasattr(twin, "sharing_")


def test_fit_returns_itself_and_leaves_the_parameters(data: Any) -> None:
    marginals, sharing = PaperMarginals(), dict.fromkeys(EXPERTS, 0.5)
    model = GradedSISCM(marginals, partition=PARTITION, sharing=sharing)
    before = repr(model.get_params())
    assert model.fit(*data) is model
    assert repr(model.get_params()) == before
    assert not hasattr(marginals, "model_")
    assert model.marginals_ is not marginals


@pytest.mark.parametrize(
    "call",
    [
        lambda model, X: model.log_marginals(X),
        lambda model, X: model.pair_sharing(),
        lambda model, X: model.infer(np.zeros((1, 1, 1)), np.zeros((1, 1), dtype=int), [0]),
        lambda model, X: model.counterfactual_proba(X, {}),
        lambda model, X: model.second_opinions(X, {}),
        lambda model, X: model.rank_disagreement(X, {"Ann": "lo"}),
    ],
)
def test_not_fitted(data: Any, call: Any) -> None:
    with pytest.raises(NotFittedError):
        call(GradedSISCM(), data[0])


def test_fitted_attributes(data: Any, fitted: GradedSISCM) -> None:
    assert fitted.experts_.tolist() == EXPERTS
    assert fitted.classes_.tolist() == CLASSES
    assert (fitted.n_features_in_, fitted.feature_names_in_) == (2, ["u", "v"])
    assert isinstance(fitted.marginals_, PooledMarginals)
    assert sorted(expert for group in fitted.partition_ for expert in group) == EXPERTS
    table = fitted.sharing_
    assert table.index.tolist() == EXPERTS
    assert table.columns.tolist() == ["sharing", "low", "high"]
    assert ((table["low"] < table["sharing"]) & (table["sharing"] < table["high"])).all()
    assert (table["low"] > 0).all()
    assert (table["high"] < 1).all()
    assert given(0.5).fit(*data).sharing_.columns.tolist() == ["sharing"]


def test_reproducible(data: Any, fitted: GradedSISCM) -> None:
    X, _ = data
    again = clone(fitted).fit(X, silenced(data[1]))
    pd.testing.assert_frame_equal(again.sharing_, fitted.sharing_)
    assert again.partition_ == fitted.partition_
    observed = {"Ann": "lo", "Cy": "hi"}
    law = fitted.counterfactual_proba(X, observed)
    kept = pickle.loads(pickle.dumps(fitted))
    for model in (fitted, again, kept):
        np.testing.assert_array_equal(model.counterfactual_proba(X, observed), law)


def test_tables_in_any_order_and_arrays(data: Any) -> None:
    X, opinions = data
    model = given(0.7).fit(X, opinions)
    observed = opinions.select(experts=["Ann"])
    expected = model.counterfactual_proba(X, observed)
    shuffled = X.sample(frac=1, random_state=1)
    other = given(0.7).fit(shuffled, opinions)
    for found in (
        other.counterfactual_proba(X, observed),
        model.counterfactual_proba(shuffled[["v", "u"]], observed)[
            shuffled.index.get_indexer(X.index)
        ],
        given(0.7).fit(X.to_numpy(), opinions).counterfactual_proba(X.to_numpy(), observed),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


# Limits


def test_sharing_of_one_is_the_papers_model(data: Any) -> None:
    X, opinions = data
    paper = GumbelMaxSISCM(partition=PARTITION).fit(X, opinions)
    model = given(1.0).fit(X, opinions)
    assert model.partition_ == paper.partition_
    np.testing.assert_array_equal(model.log_marginals(X), paper.log_marginals(X))
    for observed in ({}, {"Ann": "hi"}, {"Bob": "lo"}, {"Cy": "mid", "Bob": "hi"}):
        np.testing.assert_allclose(
            model.counterfactual_proba(X, observed),
            paper.counterfactual_proba(X, observed),
            atol=1e-12,
        )


@pytest.mark.parametrize("noise", NOISES)
def test_no_sharing_leaves_the_marginals(data: Any, noise: Noise) -> None:
    X, opinions = data
    model = given(0, noise).fit(X, opinions)
    expected = np.exp(model.log_marginals(X))
    found = model.counterfactual_proba(X, {"Ann": "hi"})
    np.testing.assert_allclose(found[:, 1:], expected[:, 1:], atol=1e-12)
    np.testing.assert_array_equal(found[:, 0], np.tile([0.0, 0, 1], (N, 1)))
    several = model.counterfactual_proba(X, {"Ann": "hi", "Cy": "lo"})
    tolerance = 1e-12 if noise == "uniform" else 0.05  # drawn
    np.testing.assert_allclose(several[:, [1, 3]], expected[:, [1, 3]], atol=tolerance)


@pytest.mark.parametrize("noise", NOISES)
def test_one_opinion_mixes_the_law_and_the_marginal(data: Any, noise: Noise) -> None:
    X, opinions = data
    a = {"Ann": 0.9, "Bob": 0.8, "Cy": 0.5, "Dee": 0.25}
    model = given(a, noise).fit(X, opinions)
    law = {"gumbel": gumbel, "uniform": ordered}[noise].counterfactual_probabilities
    log_p = model.log_marginals(X)
    found = model.counterfactual_proba(X, {"Cy": "mid"})
    for h, expert in enumerate(EXPERTS):
        if expert != "Cy":
            share = a["Cy"] * a[expert] if expert != "Bob" else 0.0
            shared = law(log_p[:, 2], log_p[:, h], np.ones(N, dtype=int))
            expected = share * shared + (1 - share) * np.exp(log_p[:, h])
            np.testing.assert_allclose(found[:, h], expected, atol=1e-12)
    sharing = model.pair_sharing()
    expected = np.array([[1, 0, 0.45, 0.225], [0, 1, 0, 0], [0.45, 0, 1, 0.125]])
    np.testing.assert_allclose(sharing[:3], expected)
    np.testing.assert_array_equal(sharing, sharing.T)


def test_who_is_in_another_group_hears_nothing(data: Any) -> None:
    X, opinions = data
    model = given(0.9).fit(X, opinions)
    before = np.exp(model.log_marginals(X))
    found = model.counterfactual_proba(X, {"Ann": "hi", "Cy": "lo"})
    np.testing.assert_allclose(found[:, 1], before[:, 1], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-12)


# Answers


def test_tables_hold_the_counterfactual_distributions(data: Any, fitted: GradedSISCM) -> None:
    X, _ = data
    law = fitted.counterfactual_proba(X, {"Ann": "hi"})
    table = fitted.second_opinions(X, {"Ann": "hi"})
    assert table["instance"].tolist() == X.index.repeat(12).tolist()
    np.testing.assert_array_equal(table["probability"].to_numpy().reshape(law.shape), law)
    ranked = fitted.rank_disagreement(X, {"Ann": "hi"})
    for instance, rows in ranked.groupby("instance"):
        i = X.index.get_loc(instance)
        position = [EXPERTS.index(expert) for expert in rows["expert"]]
        assert sorted(position) == [1, 2, 3]
        np.testing.assert_allclose(rows["probability"], 1 - law[i, position, 2])
        assert (np.diff(rows["probability"]) <= 0).all()
    likeliest = np.array(CLASSES)[law.argmax(axis=2)]
    assert (fitted.counterfactual_predict(X, {"Ann": "hi"}) == likeliest).all()
    with pytest.raises(ValueError, match="has 2 observed opinions; ranking"):
        fitted.rank_disagreement(X, {"Ann": "hi", "Cy": "hi"})


def test_agreement_convinces_more_than_one_opinion(data: Any) -> None:
    """The chance that all follow rises with it; a contradiction leaves less than one opinion."""
    X, opinions = data
    model = given(0.8, "uniform").fit(X, opinions)
    one, agreed, parted = (
        model.counterfactual_proba(X, {"Ann": "hi", **more})[:, 3, 2]
        for more in ({}, {"Cy": "hi"}, {"Cy": "lo"})
    )
    assert (agreed >= one - 1e-12).mean() > 0.9
    assert (parted <= one + 1e-12).mean() > 0.9
    assert agreed.mean() > one.mean() + 0.02 > parted.mean() + 0.04


def test_an_expert_without_opinions(data: Any, fitted: GradedSISCM) -> None:
    """She has marginals, some sharing near that of the others, and answers."""
    X, _ = data
    a = fitted.sharing_["sharing"]
    assert a["Ann":"Cy"].min() - 0.05 < a["Dee"] < a["Ann":"Cy"].max() + 0.05
    width = fitted.sharing_["high"] - fitted.sharing_["low"]
    assert width.idxmax() == "Dee"
    law = fitted.counterfactual_proba(X, {"Dee": "hi"})
    np.testing.assert_allclose(law.sum(axis=2), 1, atol=1e-12)
    assert fitted.counterfactual_proba(X, {"Ann": "hi"})[:, 3].min() > 0


def test_log_marginals_of_opinions_are_aligned_by_id(data: Any, fitted: GradedSISCM) -> None:
    X, opinions = data
    full = fitted.log_marginals(X)
    expected = full[opinions.instance_codes, opinions.expert_codes]
    np.testing.assert_allclose(fitted.log_marginals(X, opinions), expected, atol=1e-12)
    some = opinions.select(instances=opinions.instances[5:9], experts=["Dee", "Ann"])
    table = some.to_long()
    row = opinions.instances.get_indexer(table["instance"])
    column = opinions.experts.get_indexer(table["expert"])
    part = fitted.log_marginals(X.loc[some.instances], some)
    np.testing.assert_allclose(part, full[row, column], atol=1e-12)
    stranger = Opinions.from_codes(opinions.labels[:, :1], X.index, ["Eve"], CLASSES)
    with pytest.raises(ValueError, match="'Eve' was not seen"):
        fitted.log_marginals(X, stranger)
    with pytest.raises(ValueError, match=r"classes=model\.classes_"):
        fitted.log_marginals(X, Opinions.from_codes(opinions.labels, X.index, EXPERTS))


# Refusals


@pytest.mark.parametrize(
    ("sharing", "words"),
    [
        (1.5, "the sharing of expert 'Ann' is 1.5; it must be a number from 0 to 1"),
        (-0.1, "the sharing of expert 'Ann' is -0.1"),
        (np.nan, "the sharing of expert 'Ann' is nan"),
        ({"Ann": 0.5, "Bob": 0.5, "Dee": 1}, "the sharing of expert 'Cy' is nan"),
        ({**dict.fromkeys(EXPERTS, 0.5), "Bob": 2}, "the sharing of expert 'Bob' is 2"),
        ({**dict.fromkeys(EXPERTS, 0.5), "Zed": 0.5}, "expert 'Zed' is in sharing, but not in"),
        ({**dict.fromkeys(EXPERTS, 0.5), "Bob": "half"}, "the sharing of expert 'Bob' is 'half'"),
        ({**dict.fromkeys(EXPERTS, 0.5), "Bob": None}, "the sharing of expert 'Bob' is None"),
        ({}, "the sharing of expert 'Ann' is nan; it must be a number .* one for each"),
        (pd.Series([0.5] * 4), "expert 0 is in sharing, but not in the data"),
        (pd.Series([0.5] * 3, EXPERTS[:3]), "the sharing of expert 'Dee' is nan"),
        (pd.Series([0.5] * 5, [*EXPERTS, "Bob"]), "expert 'Bob' is given twice"),
    ],
)
def test_sharing_that_does_not_fit(data: Any, sharing: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        given(sharing).fit(*data)


@pytest.mark.parametrize(
    "sharing", ["half", [0.5] * 4, [0.5] * 3, np.full(4, 0.5), pd.DataFrame({"sharing": [0.5]})]
)
def test_sharing_in_an_order_of_its_own_is_refused(data: Any, sharing: Any) -> None:
    with pytest.raises(ValueError, match="the sharing of expert 'Ann' is "):
        given(sharing).fit(*data)


def test_sharing_is_read_by_expert(data: Any) -> None:
    a = {"Dee": 0.25, "Cy": 0.5, "Bob": 0.8, "Ann": 0.9}
    for sharing in (a, MappingProxyType(a), pd.Series(a)):
        found = given(sharing).fit(*data).sharing_["sharing"]
        assert found.to_dict() == a
        again = given(found.iloc[::-1]).fit(*data)
        pd.testing.assert_series_equal(again.sharing_["sharing"], found)
        assert repr(clone(again)) == repr(again)
    assert (given(np.float32(0.5)).fit(*data).sharing_["sharing"] == 0.5).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partition": [["Ann", "Bob", "Cy"]]}, "expert 'Dee' is in no group"),
        ({"partition": [[*EXPERTS, "Zed"]]}, "expert 'Zed' of the partition is not in the data"),
        ({"partition": "Ann"}, "must be a list of lists of expert ids"),
        (
            {"noise": "normal"},
            "noise is 'normal'; .* one of gumbel, uniform, gaussian; or likeliest",
        ),
        ({"n_samples": 0}, "n_samples must be .* at least 1; got 0"),
        ({"n_samples": 2.5}, r"n_samples must be .* got 2\.5"),
        ({"n_restarts": 0}, "n_restarts must be .* at least 1; got 0"),
        ({"n_restarts": 1.5}, r"n_restarts must be .* got 1\.5"),
    ],
)
def test_settings_that_do_not_fit(data: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GradedSISCM(PaperMarginals(), **options).fit(*data)


def test_what_cannot_be_fitted(data: Any) -> None:
    X, opinions = data
    with pytest.raises(TypeError, match="opinions is a ndarray; make it with"):
        GradedSISCM().fit(X, opinions.labels)
    with pytest.raises(ValueError, match="has opinions but no features"):
        GradedSISCM().fit(X.iloc[1:], opinions)
    with pytest.raises(TypeError, match="RandomState"):
        GradedSISCM(random_state=np.random.RandomState(0)).fit(*data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        ({"Zed": "lo"}, "expert 'Zed' was not seen in training"),
        ({"Ann": "low"}, "label 'low' was not seen in training"),
    ],
)
def test_observed_that_do_not_fit(data: Any, fitted: Any, observed: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fitted.counterfactual_proba(data[0], observed)


def test_a_contradiction_under_certain_sharing_is_refused() -> None:
    same = np.log(np.full((N, 4, 3), 1 / 3)).reshape(N, -1)
    panel = Opinions.from_codes(np.zeros((N, 4), dtype=int), experts=EXPERTS, classes=CLASSES)
    model = GradedSISCM(KnownMarginals(), partition=[EXPERTS], sharing=1.0).fit(same, panel)
    with pytest.raises(
        ValueError,
        match="instance 0: no noise makes expert 'Ann' say 'lo' and expert 'Bob' say 'hi'",
    ):
        model.counterfactual_proba(same, {"Ann": "lo", "Bob": "hi"})


# Learning


def test_what_is_learned_with_a_given_partition() -> None:
    panel = graded_panel(np.random.default_rng(0), 300, [[0, 1, 2], [3, 4]], [0.8] * 5)
    X = panel.log_p.reshape(300, -1)
    names = panel.opinions.experts.tolist()
    groups = [names[:3], names[3:]]
    model = GradedSISCM(KnownMarginals(), partition=groups).fit(X, panel.opinions)
    assert model.partition_ == groups
    assert model.sharing_["sharing"].mean() == pytest.approx(0.8, abs=0.06)
    a = model.sharing_["sharing"].to_numpy()
    evidence = SharingEvidence.from_opinions(*panel.chunk).inside([[0, 1, 2], [3, 4]])
    low, high = ends_of([panel.chunk], [[0, 1, 2], [3, 4]], a, evidence, "gumbel")
    np.testing.assert_allclose(model.sharing_["low"], low)
    np.testing.assert_allclose(model.sharing_["high"], high)
    # Far from 0 and 1 they are those of a normal distribution, or nearly.
    size = standard_errors([panel.chunk], [[0, 1, 2], [3, 4]], a, "gumbel")
    np.testing.assert_allclose((logit(a) - logit(low)) / (1.96 * size), 1, atol=0.15)
    np.testing.assert_allclose((logit(high) - logit(a)) / (1.96 * size), 1, atol=0.15)
    learned = GradedSISCM(KnownMarginals()).fit(X, panel.opinions)
    assert learned.partition_ == learned.likeliest_partition_ == groups


def test_who_is_alike_where_one_group_predicts_better(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = graded_panel(np.random.default_rng(0), 60, [[0, 1, 2, 3]], [0.8] * 4)
    monkeypatch.setattr(sharing_fit, "likeliest_groups", lambda *_, **__: [[0, 2], [1, 3]])
    model = GradedSISCM(KnownMarginals()).fit(panel.log_p.reshape(60, -1), panel.opinions)
    names = panel.opinions.experts.tolist()
    assert model.partition_ == [names]
    assert model.likeliest_partition_ == [names[0::2], names[1::2]]


def test_everyone_alone_shares_nothing() -> None:
    panel = graded_panel(np.random.default_rng(0), 30, [[0, 1, 2]], [0.8] * 3)
    X = panel.log_p.reshape(30, -1)
    alone = [[name] for name in panel.opinions.experts]
    model = GradedSISCM(KnownMarginals(), partition=alone).fit(X, panel.opinions)
    assert model.sharing_.columns.tolist() == ["sharing"]
    np.testing.assert_array_equal(model.pair_sharing(), np.eye(3))
    found = model.counterfactual_proba(X, {"e0": 1})
    np.testing.assert_allclose(found[:, 1:], np.exp(panel.log_p[:, 1:]), atol=1e-12)


def test_parts_are_of_instances_and_add_up() -> None:
    panel = graded_panel(np.random.default_rng(0), 23, [[0, 1, 2]], [0.8] * 3, asked=0.7)
    rng = np.random.default_rng(0)
    parts = parts_of(panel, rng)
    assert len(parts) == N_PARTS
    total = sum(parts[1:], parts[0])
    whole = SharingEvidence.from_opinions(*panel)
    np.testing.assert_allclose(total.values, whole.values, atol=1e-9)
    np.testing.assert_array_equal(total.contradictions, whole.contradictions)


def held_out(model: GradedSISCM, X: FloatArray, opinions: Opinions) -> float:
    """Mean log-probability of what experts said, given what one other said."""
    codes, total = opinions.labels, []
    names = opinions.experts.tolist()
    for h, name in enumerate(names):
        law = model.counterfactual_proba(X, {name: codes[:, h]})
        others = [g for g in range(len(names)) if g != h]
        said = np.take_along_axis(law[:, others], codes[:, others, None], axis=2)
        total.append(np.log(said).mean())
    return float(np.mean(total))


@pytest.mark.parametrize("planted", get_args(Noise))
def test_the_noise_that_was_planted_predicts_better(planted: Noise) -> None:
    """Held out, with five labels; it predicts better than marginals, and is found likeliest."""
    panel = graded_panel(
        np.random.default_rng(1), 600, [[0, 1, 2, 3]], [0.85] * 4, k=5, noise=planted
    )
    X = panel.log_p.reshape(600, -1)
    train, test = (
        panel.opinions.select(instances=rows) for rows in np.split(np.arange(600), [400])
    )
    score = {
        noise: held_out(GradedSISCM(KnownMarginals(), noise).fit(X[:400], train), X[400:], test)
        for noise in get_args(Noise)
    }
    nothing = GradedSISCM(
        KnownMarginals(), sharing=0.0, partition=[panel.opinions.experts.tolist()]
    )
    for other in score.keys() - {planted}:
        assert score[planted] > score[other] + 0.02
    if planted in CANDIDATES:
        assert GradedSISCM(KnownMarginals()).fit(X[:400], train).noise_ == planted
    assert score[planted] > held_out(nothing.fit(X[:400], train), X[400:], test) + 0.1


def test_labels_in_no_order_may_have_any_names() -> None:
    """Not so if the order of their names were taken to mean something."""
    rng = np.random.default_rng(0)
    panel = graded_panel(rng, 100, [[0, 1, 2]], [0.9] * 3, k=4, noise="gaussian")
    X, told = rng.normal(size=(100, 0)), []
    for names in ("abcd", "cadb"):
        table = panel.opinions.to_long()
        table["label"] = table["label"].map(lambda code, names=names: names[code])
        model = GradedSISCM().fit(X, Opinions.from_long(table))
        assert model.noise_ == "gumbel"
        assert model.classes_.tolist() == sorted(names)
        answers = model.counterfactual_proba(X, {"e0": names[1]})
        told.append(answers[..., np.argsort(np.argsort(list(names)))])
        ordered = Opinions.from_long(table, classes=list(names))
        assert GradedSISCM().fit(X, ordered).noise_ == "gaussian"
    np.testing.assert_allclose(*told, atol=1e-6)


# As a structural causal model


def graded_scm(base: FiniteSCM, a: Sequence[float]) -> FiniteSCM:
    """Experts who follow the base's noise, or say what a noise of their own makes them say.

    The noise is that of the base, a switch an expert, and the label that an expert says alone.
    """
    everybody, k = range(base.n_experts), base.n_classes
    habits = [marginal(base, 0, frozenset({h}), h) for h in everybody]
    answers, prior = [], []
    for shared, weight in zip(base.alone[0], base.prior, strict=True):
        for follows in product((False, True), repeat=len(a)):
            for own in product(range(k), repeat=len(a)):
                answers.append(np.where(follows, shared, own))
                switches = np.prod(np.where(follows, a, np.subtract(1, a)))
                prior.append(weight * switches * np.prod([habits[h][own[h]] for h in everybody]))
    return FiniteSCM.from_submechanisms(np.array(answers)[None], np.array(prior), k)


def on_a_line(p: FloatArray) -> FiniteSCM:
    """Experts with marginals (H, k) under one uniform noise, cut where anybody changes."""
    ends = np.unique(np.concatenate([[0.0, 1.0], p.cumsum(axis=1)[:, :-1].ravel()]))
    middle = (ends[1:] + ends[:-1]) / 2
    answers = (middle[:, None, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=2)
    return FiniteSCM.from_submechanisms(answers[None], np.diff(ends), p.shape[1])


def as_estimator(p: FloatArray, a: Sequence[float], noise: Noise) -> tuple[GradedSISCM, FloatArray]:
    """The same model as the estimator has it, on one instance."""
    X = np.log(p).reshape(1, -1)
    opinions = Opinions.from_codes(np.zeros((1, len(p)), dtype=int), classes=range(p.shape[1]))
    everybody = [list(range(len(p)))]
    model = GradedSISCM(KnownMarginals(), noise, everybody, dict(enumerate(a)))
    return model.fit(X, opinions), X


MODELS = [(seed, noise) for seed in range(6) for noise in NOISES]


def drawn(seed: int, noise: Noise) -> tuple[FloatArray, FloatArray, FiniteSCM, FiniteSCM]:
    """Marginals of two experts, their sharing, the model where both always follow, and theirs."""
    rng = np.random.default_rng(seed)
    p, a = rng.dirichlet(np.ones(3), size=2), rng.uniform(0.2, 0.95, size=2)
    base = same_group(*p) if noise == "gumbel" else on_a_line(p)
    return p, a, base, graded_scm(base, a)


@pytest.mark.parametrize(("seed", "noise"), MODELS)
def test_it_is_set_invariant_and_its_corollaries_hold(seed: int, noise: Noise) -> None:
    p, _, _, scm = drawn(seed, noise)
    assert set_invariance(scm) is None
    for check in (theorem_4, corollary_1, corollary_2):
        case = check(Drawn(scm, "graded", True))
        assert case.premise
        assert case.right
        assert case.gap < 1e-12
    equivalent = theorem_7(Drawn(scm, "graded", True))
    assert equivalent.left == equivalent.right
    for h in range(2):
        alone = marginal(scm, 0, frozenset({h}), h)
        np.testing.assert_allclose(alone, p[h], atol=1e-12)


@pytest.mark.parametrize(("seed", "noise"), MODELS)
def test_its_counterfactual_is_the_mixture(seed: int, noise: Noise) -> None:
    """And what is observed when both are asked, and what the estimator answers."""
    p, a, base, scm = drawn(seed, noise)
    model, X = as_estimator(p, a.tolist(), noise)
    both = frozenset({0, 1})
    for h, other in ((0, 1), (1, 0)):
        for c in range(3):
            one, instead = frozenset({h}), frozenset({other})
            found = counterfactual(scm, 0, one, {h: c}, instead, other)
            law = counterfactual(base, 0, one, {h: c}, instead, other)
            expected = a.prod() * law + (1 - a.prod()) * p[other]
            np.testing.assert_allclose(found, expected, atol=1e-12)
            np.testing.assert_allclose(
                conditional(scm, 0, both, {h: c}, other), expected, atol=1e-12
            )
            answer = model.counterfactual_proba(X, {h: c})[0, other]
            np.testing.assert_allclose(answer, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_stable_only_where_sharing_is_certain(seed: int) -> None:
    _, _, base, scm = drawn(seed, "gumbel")
    assert counterfactual_stability(scm, 0, 1) is not None
    assert counterfactual_stability(graded_scm(base, (1.0, 0.99)), 0, 1) is not None
    certain = graded_scm(base, (1.0, 1.0))
    assert counterfactual_stability(certain, 0, 1) is None
    assert set_invariance(certain) is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("noise", "k"), [("uniform", 3), ("gumbel", 2)])
def test_several_opinions_by_enumeration(seed: int, noise: Noise, k: int) -> None:
    """Given two of three experts, what the third would have said: no formula, a sum over noises."""
    rng = np.random.default_rng(seed)
    p, a = rng.dirichlet(np.ones(k), size=3), rng.uniform(0.2, 0.95, size=3)
    scm = graded_scm(on_a_line(p), a.tolist())
    model, X = as_estimator(p, a.tolist(), noise)
    assert set_invariance(scm) is None
    for c, d in product(range(k), repeat=2):
        expected = counterfactual(scm, 0, frozenset({0, 1}), {0: c, 1: d}, frozenset({2}), target=2)
        answer = model.counterfactual_proba(X, {0: c, 1: d})[0, 2]
        np.testing.assert_allclose(answer, expected, atol=1e-10)


def test_sharing_that_is_learned_is_never_certain() -> None:
    """So that no two opinions are impossible together, whatever the training opinions were."""
    panel = graded_panel(np.random.default_rng(0), 100, [[0, 1, 2]], [1.0] * 3)
    X = panel.log_p.reshape(100, -1)
    model = GradedSISCM(KnownMarginals()).fit(X, panel.opinions)
    assert (model.sharing_["sharing"] <= np.sqrt(MOST) * (1 + 1e-9)).all()
    found = model.counterfactual_proba(X, {"e0": panel.log_p[:, 0].argmin(axis=1), "e1": 0})
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_full_sharing_is_the_model_of_the_paper(k: int) -> None:
    """Given any number of opinions: the same marginals, the same groups, the same answers."""
    groups = [[0, 1, 2, 3], [4, 5]]
    panel = graded_panel(np.random.default_rng(k), 60, groups, [1.0] * 6, k=k, asked=0.6)
    names = [[f"e{h}" for h in group] for group in groups]
    X = panel.log_p.reshape(60, -1)
    graded = GradedSISCM(KnownMarginals(), partition=names, sharing=1.0, n_samples=64)
    expected = graded.fit(X, panel.opinions).counterfactual_proba(X, panel.opinions)
    found = inference.counterfactual_proba(panel.log_p, panel.opinions.labels, groups, n_samples=64)
    n_labels = [len(set(row[:4].tolist()) - {-1}) for row in panel.opinions.labels]
    assert {1, 2} < set(n_labels) if k == 2 else {1, 2, 3} <= set(n_labels)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_classifier_is_no_marginals() -> None:
    opinions = Opinions.from_codes([[0, 1], [1, 1]])
    with pytest.raises(TypeError, match=r"marginals is DummyClassifier\(\); give PooledMarg"):
        GradedSISCM(DummyClassifier()).fit(np.zeros((2, 1)), opinions)
    with pytest.raises(TypeError, match=r"marginals is <class .*; give PooledMarginals\(\)"):
        GradedSISCM(PooledMarginals).fit(np.zeros((2, 1)), opinions)
    with pytest.raises(TypeError, match=r"marginals is GumbelMaxSISCM\(\); give PooledMarginals"):
        GradedSISCM(GumbelMaxSISCM()).fit(np.zeros((2, 1)), opinions)


def test_draws_are_from_the_models_seed_and_only_they() -> None:
    panel = graded_panel(np.random.default_rng(0), 12, [list(range(16))], [0.7] * 16)
    X = panel.log_p.reshape(12, -1)
    model = GradedSISCM(KnownMarginals(), "gumbel", [panel.opinions.experts], 0.7, n_samples=16)
    model.fit(X, panel.opinions)
    codes = np.full((1, 16), -1)
    codes[0, :-1] = panel.opinions.labels[0, :-1]
    first, again, other = (
        model.set_params(random_state=seed).infer(panel.log_p[:1], codes, [0]) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert 0 < np.abs(first - other).max() < 0.5


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_a_noise_that_is_asked_for_is_taken_though_labels_have_no_order(noise: Noise) -> None:
    rows = [(i, h, "abc"[(i + h // 2) % 3]) for i in range(6) for h in range(3)]
    opinions = Opinions.from_long(pd.DataFrame(rows, columns=["instance", "expert", "label"]))
    assert not opinions.ordered
    model = GradedSISCM(KnownMarginals(), noise, [[0, 1, 2]], 0.5)
    assert model.fit(np.full((6, 9), -np.log(3)), opinions).noise_ == noise
