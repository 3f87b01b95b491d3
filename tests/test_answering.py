"""What all models answer: rows and names in, tables out, whatever infers in between."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from siscm import GumbelMaxSISCM, Opinions
from siscm.answering import SecondOpinions
from siscm.graded import GradedSISCM
from siscm.marginals import Features
from siscm.pairs import check_opinions

FloatArray = npt.NDArray[np.float64]


class Recorder(SecondOpinions, BaseEstimator):
    """Answers the same always, and keeps what it was asked."""

    def fit(self) -> Self:
        self.experts_, self.classes_ = np.array(["Ann", "Bob"]), np.array(["no", "yes"])
        self.feature_names_in_, self.n_features_in_ = ["u", "v"], 2
        self.asked: list[tuple[Features, Any, list[Any]]] = []
        return self

    def _counterfactual(
        self, features: Features, codes: npt.NDArray[np.int64], instances: pd.Index[Any]
    ) -> FloatArray:
        self.asked.append((features, codes, list(instances)))
        return np.tile([[0.5, 0.5], [0.25, 0.75]], (len(codes), 1, 1))


X = pd.DataFrame([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], index=list("pqr"), columns=["u", "v"])


def test_a_model_says_how_it_infers() -> None:
    with pytest.raises(TypeError, match="_counterfactual"):
        SecondOpinions()  # type: ignore[abstract]
    assert issubclass(GumbelMaxSISCM, SecondOpinions)
    assert issubclass(GradedSISCM, SecondOpinions)


@pytest.mark.parametrize(
    "answer", ["counterfactual_proba", "counterfactual_predict", "second_opinions"]
)
def test_what_the_inference_is_handed(answer: str) -> None:
    """Columns as in training, codes and names in the order of the rows."""
    model = Recorder().fit()
    observed = Opinions.from_codes([[1], [-1], [0]], list("rqp"), ["Bob"], ["no", "yes"])
    getattr(model, answer)(X[["v", "u"]], observed)
    ((features, codes, instances),) = model.asked
    pd.testing.assert_frame_equal(pd.DataFrame(features), X)
    assert codes.tolist() == [[-1, 0], [-1, -1], [-1, 1]]
    assert instances == ["p", "q", "r"]


def test_one_law_three_readings() -> None:
    model = Recorder().fit()
    observed = {"Ann": "no"}
    assert model.counterfactual_predict(X, observed).tolist() == [["no", "yes"]] * 3  # a tie: first
    table = model.second_opinions(X, observed)
    assert table["probability"].tolist() == [0.5, 0.5, 0.25, 0.75] * 3
    ranked = model.rank_disagreement(X, observed)
    assert ranked.to_numpy().tolist() == [[i, "Ann", "Bob", 0.75] for i in "pqr"]


def test_ranking_refuses_before_it_infers() -> None:
    model = Recorder().fit()
    with pytest.raises(ValueError, match="instance 'p' has 0 observed opinions"):
        model.rank_disagreement(X, {})
    assert model.asked == []


def test_opinions_are_opinions() -> None:
    check_opinions(Opinions.from_codes([[0]]))
    with pytest.raises(TypeError, match=r"is a DataFrame; make it with Opinions.from_long\(table"):
        check_opinions(pd.DataFrame())


def test_an_array_has_a_row_for_each_instance_of_the_opinions() -> None:
    model = Recorder().fit()
    observed = Opinions.from_codes([[1], [0], [0]], list("pqr"), ["Bob"], ["no", "yes"])
    with pytest.raises(ValueError, match="X has 2 rows, but the opinions are about 3 instances"):
        model.counterfactual_proba(X.to_numpy()[:2], observed)
    assert model.asked == []
