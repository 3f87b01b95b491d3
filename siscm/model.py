"""The Gumbel-Max SI-SCM (Section 6) as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted

from siscm import inference
from siscm.alignment import align_experts, align_features, align_partition
from siscm.answering import SecondOpinions
from siscm.checks import FloatArray, IntArray, check_count
from siscm.graph import SimilarityGraph
from siscm.marginals import Features, all_log_marginals, fit_marginals, floor, opinion_log_marginals
from siscm.names import plain
from siscm.opinions import Opinions
from siscm.pairs import check_opinions
from siscm.partition import greedy


class GumbelMaxSISCM(SecondOpinions, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    r"""The set invariant Gumbel-Max structural causal model :math:`\mathcal M(\Psi)`.

    Each expert's habits are a classifier; experts of one group share one Gumbel noise an
    instance. ``fit`` learns the classifiers, finds the pairs whose opinions violate conditional
    stability, and partitions the rest with Algorithm 1 (Section 6 and Appendix B of the paper).
    Any number of opinions on an instance can be observed, unless no noise makes experts of one
    group say them together.

    Parameters
    ----------
    expert_model
        Any scikit-learn classifier with ``predict_proba``; each expert gets a clone. Default,
        as in the paper: ``GaussianNB()``.
    partition
        Groups of expert ids to use instead of learning them: one group of all experts is one noise
        for all, one group each is marginals only.
    min_proba
        Floor of every marginal probability, renormalised: a label never used stays possible.
    n_restarts
        Runs of Algorithm 1, of which the best is kept.
    method
        ``"exact"`` for the closed form, ``"monte_carlo"`` for the paper's estimator (Eq. 5). The
        graph is always exact.
    n_samples
        Draws for ``"monte_carlo"``: T in the paper. For ``"exact"``, the points of an integral,
        where three or more different labels were observed in one group; all else is exact.
    random_state
        Seed, or ``numpy.random.Generator``, of the partition, of classifiers without a seed of
        their own, and of Monte Carlo; with a generator every call draws anew.
    n_jobs
        Experts learned at the same time, as in joblib; the result does not depend on it.

    Attributes
    ----------
    experts_, classes_
        Ids of experts and labels, in the order of every array returned.
    expert_models_
        The fitted classifiers, in the order of ``experts_``. Their classes are label codes.
    graph_
        The :class:`~siscm.graph.SimilarityGraph` of the training opinions.
    partition_
        Groups of expert ids.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm import GumbelMaxSISCM, Opinions
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> said = (X[:, :1] + rng.gumbel(size=(40, 1)) > 0).astype(int).repeat(2, axis=1)
    >>> opinions = Opinions.from_codes(said, experts=["Ann", "Bob"])
    >>> model = GumbelMaxSISCM().fit(X, opinions)
    >>> model.partition_
    [['Ann', 'Bob']]
    >>> model.counterfactual_predict(X[:2], {"Ann": 1}).tolist()
    [[1, 1], [1, 1]]
    """

    def __init__(
        self,
        expert_model: Any = None,
        partition: Sequence[Sequence[Hashable]] | None = None,
        min_proba: float = 1e-8,
        n_restarts: int = 10,
        method: inference.Method = "exact",
        n_samples: int = 1000,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.expert_model = expert_model
        self.partition = partition
        self.min_proba = min_proba
        self.n_restarts = n_restarts
        self.method = method
        self.n_samples = n_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, opinions: Opinions) -> Self:
        """Learn each expert's marginal, the graph of experts that can be similar, and the groups.

        Parameters
        ----------
        X
            A DataFrame indexed by instance, or an array (n_instances, n_features) in the order of
            ``opinions.instances``. A transformer in front of the model loses the instances' names
            unless it is told ``set_output(transform="pandas")``; better put it into
            ``expert_model``: ``make_pipeline(StandardScaler(), GaussianNB())``.
        opinions
            What the experts said about these instances.

        Raises
        ------
        ValueError
            If features and opinions do not align, a feature is not finite, an expert has no
            opinion, or ``partition`` is no partition of the experts. The error names which.
        """
        check_opinions(opinions)
        marginal_rng, partition_rng, sampling_rng = generators(self.random_state)
        inference.laws_of(self.method, self.n_samples, sampling_rng)  # refuses now, not later
        check_count(self.n_restarts, "n_restarts")
        features = align_features(X, opinions.instances)
        floor(np.zeros((0, max(1, opinions.n_classes))), self.min_proba)  # refuses now, not later
        given = (
            None if self.partition is None else align_partition(self.partition, opinions.experts)
        )
        expert_model = GaussianNB() if self.expert_model is None else self.expert_model
        models = fit_marginals(expert_model, features, opinions, marginal_rng, self.n_jobs)
        log_p = opinion_log_marginals(models, features, opinions, self.min_proba)
        graph = SimilarityGraph.from_opinions(log_p, opinions)
        if given is None:
            given = greedy(graph, self.n_restarts, rng=partition_rng)
        # All at once, so that a fit that fails leaves no mixture of two.
        self.n_features_in_ = features.shape[1]
        self.feature_names_in_ = list(X.columns) if isinstance(X, pd.DataFrame) else None
        self.experts_ = opinions.experts.to_numpy()
        self.classes_ = opinions.classes.to_numpy()
        self.expert_models_ = models
        self.graph_ = graph
        self.partition_ = [[plain(opinions.experts[h]) for h in group] for group in given]
        return self

    def log_marginals(self, X: Any, opinions: Opinions | None = None) -> FloatArray:
        r""":math:`\log P(Y_h = c \mid X = x)`, for every expert or for those who gave an opinion.

        Parameters
        ----------
        X
            A DataFrame indexed by instance, or an array (n, n_features); beside opinions in the
            order of ``opinions.instances``, which :meth:`siscm.opinions.Opinions.from_long` sorts.
        opinions
            If given, one marginal an opinion: what
            :func:`siscm.evaluation.all_pairs` and
            :meth:`siscm.graph.SimilarityGraph.from_opinions` take.

        Returns
        -------
        array (n, H, k), or (n_opinions, k)
            In the order of the rows of ``X`` and of ``experts_``; or of ``opinions.to_long()``.

        Raises
        ------
        ValueError
            If X and opinions do not align, or an expert is unknown, or the classes are not those
            of training.
        """
        check_is_fitted(self)
        if opinions is None:
            return self._log_marginals(self._features(X, None))
        h = align_experts(opinions, self.experts_, self.classes_)
        features = self._features(X, opinions.instances)
        models = [self.expert_models_[i] for i in h]
        return opinion_log_marginals(models, features, opinions, self.min_proba)

    def _counterfactual(
        self, features: Features, codes: IntArray, instances: pd.Index[Any]
    ) -> FloatArray:
        return inference.counterfactual_proba(
            self._log_marginals(features),
            codes,
            align_partition(self.partition_, self.experts_),
            experts=self.experts_,
            instances=instances,
            classes=self.classes_,
            method=self.method,
            n_samples=self.n_samples,
            rng=generators(self.random_state)[2],
        )

    def _log_marginals(self, features: Features) -> FloatArray:
        n_classes = len(self.classes_)
        return all_log_marginals(
            self.expert_models_, features, self.experts_, n_classes, self.min_proba
        )


def generators(random_state: int | np.random.Generator | None) -> list[np.random.Generator]:
    """A model's three independent generators: for classifiers, partition, and Monte Carlo."""
    if isinstance(random_state, np.random.RandomState):
        raise TypeError("random_state is a RandomState; pass a seed or a numpy.random.Generator.")
    return np.random.default_rng(random_state).spawn(3)
