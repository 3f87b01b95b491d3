"""What every fitted model of second opinions answers, however it infers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from siscm import inference
from siscm.alignment import align_columns, align_features, align_observed
from siscm.answers import disagreement_table, refuse_other_than_one, second_opinions_table
from siscm.checks import FloatArray, IntArray
from siscm.marginals import Features
from siscm.opinions import Opinions

Observed = Opinions | Mapping[Any, Any]
"""What was said: opinions, or ``{expert: label}``, or ``{expert: [label, ...]}`` by row."""


class SecondOpinions(ABC):
    """Answers of a fitted model, from its counterfactual distributions.

    Attributes
    ----------
    experts_, classes_
        Ids of experts and labels, in the order of every array returned.
    partition_
        Groups of expert ids.
    feature_names_in_, n_features_in_
        The columns of training; no names if they had none.
    """

    experts_: npt.NDArray[Any]
    classes_: npt.NDArray[Any]
    partition_: list[list[Any]]
    feature_names_in_: list[Any] | None
    n_features_in_: int

    @abstractmethod
    def _counterfactual(
        self, features: Features, codes: IntArray, instances: pd.Index[Any]
    ) -> FloatArray:
        """What every expert would have said (n, H, k), given label codes (n, H)."""

    def counterfactual_proba(self, X: Any, observed: Observed) -> FloatArray:
        """What every expert would have said, given what some said (Eq. 5).

        Parameters
        ----------
        X
            A DataFrame indexed by instance, aligned by id; or an array (n, n_features), whose rows
            are taken to be in the order of ``observed.instances``, if ``observed`` has them.
        observed
            Opinions on the same instances, or ``{expert: label}``; for a label may stand a list,
            one for each row of ``X``, with None where she was not asked.

        Returns
        -------
        array (n, H, k)
            In the order of the rows of ``X``. The row of an observed expert is a point mass;
            outside her group experts keep their marginals; where nobody was observed all do.

        Raises
        ------
        ValueError
            If an expert or a label is unknown, or the model has no answer to all the opinions
            observed on one instance; the error names them.
        """
        return self._counterfactual(*self._aligned(X, observed))

    def counterfactual_predict(self, X: Any, observed: Observed) -> npt.NDArray[Any]:
        """The likeliest label of every expert, given what some said; ties go to the first class.

        Parameters
        ----------
        X, observed
            As for :meth:`counterfactual_proba`.

        Returns
        -------
        array (n, H)
            Labels, not codes; an observed expert keeps what she said.

        Raises
        ------
        ValueError
            As :meth:`counterfactual_proba`.
        """
        likeliest = inference.predict(self.counterfactual_proba(X, observed))
        labels: npt.NDArray[Any] = self.classes_[likeliest]
        return labels

    def second_opinions(self, X: Any, observed: Observed) -> pd.DataFrame:
        """Counterfactual distributions as a table: a row an instance, expert and label.

        Parameters
        ----------
        X, observed
            As for :meth:`counterfactual_proba`.

        Returns
        -------
        DataFrame
            ``instance``, ``expert``, ``label``, ``probability``; the experts observed have
            probability 1 on what they said.

        Raises
        ------
        ValueError
            As :meth:`counterfactual_proba`.
        """
        features, codes, instances = self._aligned(X, observed)
        law = self._counterfactual(features, codes, instances)
        return second_opinions_table(law, instances, self.experts_, self.classes_)

    def rank_disagreement(self, X: Any, observed: Observed) -> pd.DataFrame:
        """Whom to ask for another view: experts by how likely they are to say something else.

        Parameters
        ----------
        X
            As for :meth:`counterfactual_proba`.
        observed
            As for :meth:`counterfactual_proba`, but exactly one opinion on each instance.

        Returns
        -------
        DataFrame
            ``instance``, ``observed``, ``expert``, ``probability`` that she differs from the
            observed expert; for each instance the likeliest first, the observed one left out.

        Raises
        ------
        ValueError
            If an instance has not exactly one observed opinion, or as :meth:`counterfactual_proba`.
        """
        features, codes, instances = self._aligned(X, observed)
        refuse_other_than_one(codes, instances)
        law = self._counterfactual(features, codes, instances)
        return disagreement_table(law, codes, instances, self.experts_)

    def _aligned(self, X: Any, observed: Observed) -> tuple[Features, IntArray, pd.Index[Any]]:
        """Features and observed codes in the order of the rows of ``X``, and the rows' ids."""
        about = observed.instances if isinstance(observed, Opinions) else None
        if isinstance(X, pd.DataFrame):
            features, instances = self._features(X, None), X.index
        else:
            features = self._features(X, about)
            instances = pd.RangeIndex(len(features)) if about is None else about
        codes = align_observed(observed, instances, self.experts_, self.classes_)
        return features, codes, instances

    def _features(self, X: Any, instances: pd.Index[Any] | None) -> Features:
        """Features of these instances, with the columns of training; None for the rows as given."""
        check_is_fitted(self)
        aligned = align_features(X, instances)
        return align_columns(aligned, self.feature_names_in_, self.n_features_in_)
