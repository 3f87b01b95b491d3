r"""Marginals that experts lend each other: partial pooling, and out-of-fold where it matters.

Beyond the paper, which learns each expert's classifier from her opinions alone. Here one classifier
learns from the opinions of all, and each expert's deviation from it is learned with a penalty:

.. math::
    \log P(Y_h = c \mid x) = w_c \cdot f(x) + b_c + b_{hc} + v_{hc} \cdot f(x) + u_{hc} \cdot z(x)
    - \log Z_h(x),

with f the log-probabilities of the pooled classifier, z the leading components of the features,
and normal priors around 0, as wide as is found to predict best. Whoever said little stays near the
pool; whoever was never seen is the pool; a label never used gets a small probability, not zero.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from siscm.alignment import align_columns, align_experts, align_features
from siscm.beyond import deviations
from siscm.beyond.deviations import LEAST, SLOPE_SPREADS, WIDTHS, Prior
from siscm.checks import FloatArray, IntArray, check_count
from siscm.marginals import Features, fit_one, floor, is_numeric, predict_one, seeded, take_rows
from siscm.opinions import Opinions
from siscm.pairs import check_opinions

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
"""Values of C from which the default pooled classifier takes the best."""

N_COMPONENTS = 20
"""Most components of the features that experts have slopes of their own on."""

_POOL = "the pooled classifier"


class PooledMarginals(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Every expert's marginal, learned from the opinions of all and corrected by her own.

    Parameters
    ----------
    base
        The classifier that learns from the opinions of all: anything of scikit-learn with
        ``predict_proba``, or a list of such, of which the best out-of-fold is taken. Default: a
        logistic regression on standardised features, its penalty the best of :data:`STRENGTHS`;
        frequencies if there is no feature.
    n_folds
        Parts of the instances for everything out-of-fold.
    min_proba
        Floor of every marginal probability, renormalised.
    random_state
        Seed of the folds, and of a base that is random and has no seed of its own.
    own_slopes
        Whether experts get slopes of their own on features that are numbers by their dtype. With
        many features these can take more than half of a fit's time.

    Attributes
    ----------
    experts_, classes_
        In the order of every array returned.
    base_
        The pooled classifier, fitted on all opinions. Its classes are positions among the labels
        that somebody used.
    prior_
        The priors taken: which of :data:`siscm.beyond.deviations.WIDTHS`, and which spread of an
        expert's own slopes on z, of :data:`siscm.beyond.deviations.SLOPE_SPREADS` or 0 for none.
    out_of_fold_
        Log-marginals (n_opinions, k) of the training opinions, each by a classifier and deviations
        fitted to no opinion on its instance: what sharing, violations and calibration are to be
        judged by. A trace of these opinions is left where all take part: in the scores f of other
        instances, and in the choice of C and of the priors' spreads.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm import Opinions
    >>> from siscm.pooled import PooledMarginals
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> said = (X[:, :1] + rng.gumbel(size=(60, 3)) > 0).astype(int)
    >>> said[:, 2] = -1  # Cat was never asked
    >>> opinions = Opinions.from_codes(said, experts=["Ann", "Bob", "Cat"])
    >>> model = PooledMarginals().fit(X, opinions)
    >>> model.log_marginals(X).shape
    (60, 3, 2)
    """

    def __init__(
        self,
        base: Any = None,
        n_folds: int = 5,
        min_proba: float = 1e-4,
        random_state: int | np.random.Generator | None = 0,
        own_slopes: bool = True,
    ) -> None:
        self.base = base
        self.n_folds = n_folds
        self.min_proba = min_proba
        self.random_state = random_state
        self.own_slopes = own_slopes

    def fit(self, X: Any, opinions: Opinions) -> Self:
        """Learn the pooled classifier and every expert's deviation from it.

        Parameters
        ----------
        X
            As for :meth:`siscm.model.GumbelMaxSISCM.fit`; may have no column.
        opinions
            What the experts said. An expert may have no opinion.

        Raises
        ------
        TypeError
            If ``opinions`` is no ``Opinions``, or ``base`` no classifier with ``predict_proba``.
        ValueError
            If features and opinions do not align, the base cannot learn from them, ``min_proba``
            is no floor, or there are fewer than two instances with opinions, or folds.
        """
        check_opinions(opinions)
        seen = np.unique(opinions.instance_codes)
        n_folds = min(check_count(self.n_folds, "n_folds"), len(seen))
        if n_folds < 2:
            raise ValueError(
                f"{len(seen)} instance(s) have opinions and n_folds is {self.n_folds}; learning "
                "out-of-fold takes two of each."
            )
        features = align_features(X, opinions.instances)
        floor(np.zeros((0, opinions.n_classes)), self.min_proba)  # refuses now, not later
        rng = np.random.default_rng(self.random_state)
        fold = np.zeros(len(opinions.instances), dtype=np.int64)
        fold[seen[rng.permutation(len(seen))]] = np.arange(len(seen)) % n_folds
        learned = copy(self)  # so that a fit that fails leaves no mixture of two
        out_of_fold = learned._learn(features, _Said(opinions, fold, rng))
        self.__dict__.update(vars(learned))
        self.n_features_in_ = features.shape[1]
        self.feature_names_in_ = list(X.columns) if isinstance(X, pd.DataFrame) else None
        self.experts_ = opinions.experts.to_numpy()
        self.classes_ = opinions.classes.to_numpy()
        self.out_of_fold_ = self._floored(out_of_fold)
        return self

    def _learn(self, features: Features, said: _Said) -> FloatArray:
        """Fit everything; return log-probabilities (n_opinions, labels used) out-of-fold."""
        bases = self._bases(features)
        scores = [said.out_of_fold_scores(base, features) for base in bases]
        best = int(np.argmin([said.loss(f[said.instance]) for f in scores]))
        self.used_ = said.used
        self.components_ = _components(features) if self.own_slopes else None
        self.base_ = said.fit_base(bases[best], features, said.everything)
        f, z = scores[best], self._z(features)
        found: dict[Prior, FloatArray] = {}
        width = WIDTHS[0]
        for wider in WIDTHS:  # the widest takes longest; after one that is worse, none is tried
            found[wider, 0.0] = said.out_of_fold(f, z, (wider, 0.0))
            if said.loss(found[wider, 0.0]) > said.loss(found[width, 0.0]):
                break
            width = wider
        if z.shape[1]:
            found |= {(width, s): said.out_of_fold(f, z, (width, s)) for s in SLOPE_SPREADS}
        self.prior_ = min(found, key=lambda prior: said.loss(found[prior]))
        self.deviations_ = deviations.fit(said.design(f, z, self.prior_), said.label)
        return found[self.prior_]

    def _bases(self, features: Features) -> list[Any]:
        if self.base is not None:
            return self.base if isinstance(self.base, list) else [self.base]
        if features.shape[1] == 0:
            return [DummyClassifier(strategy="prior")]
        return regressions(StandardScaler())

    def _z(self, features: Features) -> FloatArray:
        if self.components_ is None:
            return np.empty((len(features), 0))
        if len(features) == 0:
            return np.empty((0, self.components_[-1].n_components_))
        try:
            return np.asarray(self.components_.transform(features))
        except (TypeError, ValueError):  # which may repeat a text
            raise ValueError("the features are not all numbers, as they were in training") from None

    def _floored(self, log_p: FloatArray) -> FloatArray:
        """Log-probabilities of the labels used, spread over all of them and floored."""
        out = np.full((*log_p.shape[:-1], len(self.classes_)), np.log(LEAST))
        out[..., self.used_] = log_p
        return floor(out, self.min_proba)

    def log_marginals(self, X: Any, opinions: Opinions | None = None) -> FloatArray:
        r""":math:`\log P(Y_h = c \mid X = x)`, as :meth:`siscm.model.GumbelMaxSISCM.log_marginals`.

        Of instances in training these are not out-of-fold: see ``out_of_fold_``.

        Parameters
        ----------
        X, opinions
            As there.
        """
        check_is_fitted(self)
        if opinions is not None:
            check_opinions(opinions)
        aligned = align_features(X, None if opinions is None else opinions.instances)
        features = align_columns(aligned, self.feature_names_in_, self.n_features_in_)
        f, z = _scores(self.base_, features, len(self.used_)), self._z(features)
        if opinions is not None:
            expert = align_experts(opinions, self.experts_, self.classes_)
            row = opinions.instance_codes
            return self._corrected(f[row], z[row], expert[opinions.expert_codes])
        # One expert at a time: a design for all would take much more memory than the result.
        every = [self._corrected(f, z, np.full(len(f), h)) for h in range(len(self.experts_))]
        return np.stack(every, axis=1)

    def _corrected(self, f: FloatArray, z: FloatArray, expert: IntArray) -> FloatArray:
        """Log-marginals (n, k) of one expert a row."""
        design = deviations.design(f, z, expert, len(self.experts_), self.prior_)
        return self._floored(deviations.log_proba(self.deviations_, design, f.shape[1]))


def regressions(columns: Any) -> list[Pipeline]:
    """Logistic regressions on what a transformer makes of features, one at each strength.

    Parameters
    ----------
    columns
        A transformer of scikit-learn; each of :data:`STRENGTHS` gets it.
    """
    return [make_pipeline(columns, LogisticRegression(C=C, max_iter=1000)) for C in STRENGTHS]


class _Said:
    """Training opinions, and the fold of each: what is learned from which.

    Labels are positions among the labels used: one that nobody used has nothing to learn from, and
    as a feature it would repeat the intercept.
    """

    def __init__(self, opinions: Opinions, fold: IntArray, rng: np.random.Generator) -> None:
        self.instance, self.expert = opinions.instance_codes, opinions.expert_codes
        self.used, self.label = np.unique(opinions.label_codes, return_inverse=True)
        self.n_experts, self.k, self.rng = len(opinions.experts), len(self.used), rng
        self.fold_of_instance, self.fold = fold, fold[opinions.instance_codes]
        self.everything = np.arange(len(opinions))
        self.folds = np.unique(self.fold)

    def loss(self, log_p: FloatArray) -> float:
        """Mean log-loss of log-probabilities (n_opinions, k)."""
        return float(-floor(log_p, LEAST)[self.everything, self.label].mean())

    def fit_base(self, base: Any, features: Features, rows: IntArray) -> Any:
        X, y = take_rows(features, self.instance[rows]), self.label[rows]
        return fit_one(seeded(base, y, self.rng, "base"), X, y, _POOL)

    def out_of_fold_scores(self, base: Any, features: Features) -> FloatArray:
        """(n_instances, k): f of each instance, by a classifier that saw no opinion on it."""
        scores = np.zeros((len(features), self.k))
        for part in self.folds:
            fitted = self.fit_base(base, features, np.flatnonzero(self.fold != part))
            here = np.flatnonzero(self.fold_of_instance == part)
            scores[here] = _scores(fitted, take_rows(features, here), self.k)
        return scores

    def design(self, scores: FloatArray, z: FloatArray, prior: Prior) -> csr_array:
        f, z = scores[self.instance], z[self.instance]
        return deviations.design(f, z, self.expert, self.n_experts, prior)

    def out_of_fold(self, scores: FloatArray, z: FloatArray, prior: Prior) -> FloatArray:
        """Log-marginals (n_opinions, k), each by deviations that saw no opinion on its instance."""
        design = self.design(scores, z, prior)
        log_p = np.empty((len(self.label), self.k))
        for part in self.folds:
            others = np.flatnonzero(self.fold != part)
            fitted = deviations.fit(design[others], self.label[others])
            here = np.flatnonzero(self.fold == part)
            log_p[here] = deviations.log_proba(fitted, design[here], self.k)
        return log_p


def _scores(base: Any, features: Features, k: int) -> FloatArray:
    """Centred log-probabilities (n, k) of the pooled classifier: f."""
    f = np.maximum(predict_one(base, features, k, _POOL), np.log(LEAST))
    return np.asarray(f - f.mean(axis=1, keepdims=True))


def _components(features: Features) -> Pipeline | None:
    """Leading components of standardised features; None unless all are numbers, and one varies."""
    table = pd.DataFrame(features)
    if not is_numeric(table) or not (table.astype(np.float64).std()[table.nunique() > 1] > 0).any():
        return None
    n_components = min(N_COMPONENTS, *table.shape)
    return make_pipeline(StandardScaler(), PCA(n_components, svd_solver="full")).fit(features)
