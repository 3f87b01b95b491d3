"""Rules that learn from pairs of opinions: the paper's baseline, and routes that it sets aside.

Each is fitted on training opinions and then is a rule: from ordered pairs to the probabilities of
what the target says. Experts are meant by position, so the opinions scored must name the same
experts in the same order as those of training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

from siscm.baselines import Pairs, ordered_pairs
from siscm.checks import FloatArray, IntArray
from siscm.opinions import Opinions


@dataclass(frozen=True)
class MostFrequent:
    """Each target says what she says most often: label frequencies, nothing else.

    Parameters
    ----------
    frequencies
        (H, k): how often each expert says each label, one count added to each.
    """

    frequencies: FloatArray

    @classmethod
    def fit(cls, opinions: Opinions) -> MostFrequent:
        """Count what each expert said in training."""
        counts = opinions.tallies + 1
        return cls(counts / counts.sum(axis=1, keepdims=True))

    def __call__(self, pairs: Pairs) -> FloatArray:
        """Probabilities (n, k) of what the targets say."""
        return self.frequencies[pairs.target]


@dataclass(frozen=True)
class ProductWithCNB:
    r"""The paper's baseline "GNB + CNB": marginal times :math:`P(Y_{h'} \mid Y_h)` (Section 7).

    The second factor is a categorical naive Bayes a target, whose features are the opinions of all
    experts, all of them but the observed one marked as not observed.

    Parameters
    ----------
    classifiers
        One a target, None where she never met anybody in training: then the marginal stands alone.
    """

    classifiers: list[CategoricalNB | None]

    @classmethod
    def fit(cls, opinions: Opinions) -> ProductWithCNB:
        """Learn each target's classifier from the ordered pairs in which she is the target."""
        observed, target = ordered_pairs(opinions)
        h, y, k = opinions.expert_codes, opinions.label_codes, opinions.n_classes
        classifiers: list[CategoricalNB | None] = []
        for expert in range(len(opinions.experts)):
            mine = h[target] == expert
            given = _one_observed(h[observed[mine]], y[observed[mine]], len(opinions.experts), k)
            model = CategoricalNB(min_categories=k + 1)
            classifiers.append(model.fit(given, y[target[mine]]) if mine.any() else None)
        return cls(classifiers)

    def __call__(self, pairs: Pairs) -> FloatArray:
        """Probabilities (n, k) of what the targets say."""
        log_p = pairs.log_p_target.copy()
        k = log_p.shape[-1]
        for expert in np.unique(pairs.target):
            model = self.classifiers[expert]
            if model is None:
                continue
            rows = np.flatnonzero(pairs.target == expert)
            given = _one_observed(pairs.observed[rows], pairs.label[rows], len(self.classifiers), k)
            log_cnb = np.full((len(rows), k), -np.inf)
            log_cnb[:, model.classes_] = model.predict_log_proba(given)
            log_p[rows] += log_cnb
        return np.asarray(softmax(log_p, axis=-1))


def _one_observed(expert: IntArray, label: IntArray, n_experts: int, n_classes: int) -> IntArray:
    """Feature rows (n, H) of the paper's CNB: one label, every other expert not observed."""
    given = np.full((len(expert), n_experts), n_classes, dtype=np.int64)
    given[np.arange(len(expert)), expert] = label
    return given


@dataclass(frozen=True)
class DawidSkene:
    r"""Experts who err independently around one truth an instance (Dawid and Skene, 1979).

    The posterior predictive of a second opinion: :math:`P(Y_{h'} \mid Y_h = c) \propto
    \sum_z \rho_z\, \pi_h(z, c)\, \pi_{h'}(z, \cdot)`, features left aside.

    Parameters
    ----------
    prior
        (k,): how often each truth occurs, :math:`\rho`.
    confusion
        (H, k, k): what each expert says (last axis) about each truth, :math:`\pi`.
    """

    prior: FloatArray
    confusion: FloatArray

    @classmethod
    def fit(cls, opinions: Opinions, n_iterations: int = 50, pseudo: float = 0.1) -> DawidSkene:
        """Expectation maximisation from majority votes; ``pseudo`` is added to every count."""
        i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
        votes = opinions.votes
        voted = votes.sum(axis=1) > 0
        truth = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
        prior = np.full(opinions.n_classes, 1 / opinions.n_classes)
        confusion = np.empty((len(opinions.experts), opinions.n_classes, opinions.n_classes))
        for _ in range(n_iterations):
            counts = np.full_like(confusion, pseudo)
            np.add.at(counts.transpose(0, 2, 1), (h, y), truth[i])
            confusion = counts / counts.sum(axis=2, keepdims=True)
            prior = truth[voted].sum(axis=0) + pseudo
            prior /= prior.sum()
            log_truth = np.tile(np.log(prior), (len(votes), 1))
            np.add.at(log_truth, i, np.log(confusion)[h, :, y])
            truth = softmax(log_truth, axis=-1)
        return cls(prior, confusion)

    def __call__(self, pairs: Pairs) -> FloatArray:
        """Probabilities (n, k) of what the targets say."""
        given = self.prior * self.confusion[pairs.observed, :, pairs.label]
        given /= given.sum(axis=1, keepdims=True)
        law: FloatArray = np.einsum("nz,nzd->nd", given, self.confusion[pairs.target])
        return law


@dataclass(frozen=True)
class PooledRegression:
    """One logistic regression for all pairs: the supervised route that the paper sets aside.

    Features of the instance, who was observed, what she said, and whose opinion is wanted.

    Parameters
    ----------
    classifier
        Fitted on the ordered pairs of training.
    X
        Features of the instances to be scored, in the order of their opinions' ``instances``, less
        the means of training.
    """

    classifier: LogisticRegression
    X: FloatArray
    n_experts: int

    @classmethod
    def fit(
        cls, X_train: FloatArray, opinions: Opinions, X: FloatArray, C: float = 1.0
    ) -> PooledRegression:
        """Learn from every ordered pair of training; score pairs about the rows of ``X``."""
        observed, target = ordered_pairs(opinions)
        i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
        n_experts = len(opinions.experts)
        codes = (h[observed], y[observed], h[target])
        # The intercept is free, so that centring changes no solution; it is found sooner.
        centre = X_train.mean(axis=0)
        rows = _pair_features((X_train - centre)[i[observed]], codes, n_experts, opinions.n_classes)
        classifier = LogisticRegression(C=C, max_iter=10_000, tol=1e-7)
        return cls(classifier.fit(rows, y[target]), X - centre, n_experts)

    def __call__(self, pairs: Pairs) -> FloatArray:
        """Probabilities (n, k) of what the targets say."""
        law = np.zeros_like(pairs.log_p_target)
        if len(law):
            codes = (pairs.observed, pairs.label, pairs.target)
            rows = _pair_features(self.X[pairs.instance], codes, self.n_experts, law.shape[1])
            law[:, self.classifier.classes_] = self.classifier.predict_proba(rows)
        return law


def _pair_features(X: FloatArray, codes: Sequence[IntArray], n_experts: int, k: int) -> csr_matrix:
    """Sparse rows: features, then who was observed, what she said, and the target, one-hot."""
    starts = np.cumsum([0, n_experts, k, n_experts])
    ones = np.column_stack(codes) + starts[:-1]
    one_hot = csr_matrix(
        (np.ones(ones.size), ones.ravel(), np.arange(0, ones.size + 1, len(codes))),
        shape=(len(ones), starts[-1]),
    )
    return csr_matrix(hstack([csr_matrix(X), one_hot]))
