"""Rules that learn from pairs of opinions: the paper's baseline, and routes that it sets aside.

Each function learns from training opinions and returns a rule: from ordered pairs to the
probabilities of what the target says. Experts are meant by position, so the opinions scored must
name the same experts in the same order as those of training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OneHotEncoder

from siscm.baselines import Pairs, Rule, ordered_pairs
from siscm.checks import FloatArray, IntArray
from siscm.opinions import Opinions


def fit_most_frequent(opinions: Opinions) -> Rule:
    """Each target says what she says most often: label frequencies, one count added to each."""
    counts = opinions.tallies + 1
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    return lambda pairs: frequencies[pairs.target]


def fit_product_with_cnb(opinions: Opinions) -> Rule:
    r"""The paper's baseline "GNB + CNB": marginal times :math:`P(Y_{h'} \mid Y_h)` (Section 7).

    The second factor is a categorical naive Bayes a target, whose features are the opinions of all
    experts, all of them but the observed one marked as not observed. It is learned from the ordered
    pairs in which she is the target; where there are none, the marginal stands alone.
    """
    observed, target = ordered_pairs(opinions)
    h, y, k = opinions.expert_codes, opinions.label_codes, opinions.n_classes
    n_experts = len(opinions.experts)
    classifiers = {}
    for expert in np.unique(h[target]):
        mine = h[target] == expert
        given = _one_observed(h[observed[mine]], y[observed[mine]], n_experts, k)
        classifiers[expert] = CategoricalNB(min_categories=k + 1).fit(given, y[target[mine]])

    def rule(pairs: Pairs) -> FloatArray:
        log_p = pairs.log_p_target.copy()
        for expert, model in classifiers.items():
            rows = np.flatnonzero(pairs.target == expert)
            if len(rows):
                given = _one_observed(pairs.observed[rows], pairs.label[rows], n_experts, k)
                log_cnb = np.full((len(rows), k), -np.inf)
                log_cnb[:, model.classes_] = model.predict_log_proba(given)
                log_p[rows] += log_cnb
        return np.asarray(softmax(log_p, axis=-1))

    return rule


def _one_observed(expert: IntArray, label: IntArray, n_experts: int, n_classes: int) -> IntArray:
    """Feature rows (n, H) of the paper's CNB: one label, every other expert not observed."""
    given = np.full((len(expert), n_experts), n_classes, dtype=np.int64)
    given[np.arange(len(expert)), expert] = label
    return given


def fit_dawid_skene(opinions: Opinions, pseudo: float = 0.1) -> Rule:
    r"""Experts who err independently around one truth an instance (Dawid and Skene, 1979).

    The posterior predictive of a second opinion, features left aside:

    .. math:: P(Y_{h'} \mid Y_h = c) \propto \sum_z \rho_z\, \pi_h(z, c)\, \pi_{h'}(z, \cdot).

    Parameters
    ----------
    opinions, pseudo
        As for :func:`confusions`.
    """
    prior, confusion = confusions(opinions, pseudo=pseudo)

    def rule(pairs: Pairs) -> FloatArray:
        given = prior * confusion[pairs.observed, :, pairs.label]
        given /= given.sum(axis=1, keepdims=True)
        law: FloatArray = np.einsum("nz,nzd->nd", given, confusion[pairs.target])
        return law

    return rule


def confusions(
    opinions: Opinions, n_iterations: int = 50, pseudo: float = 0.1
) -> tuple[FloatArray, FloatArray]:
    r"""Dawid and Skene's model, by expectation maximisation from shares of votes.

    Parameters
    ----------
    opinions
        What the experts said.
    n_iterations
        How often both steps are taken.
    pseudo
        Added to every count.

    Returns
    -------
    prior
        (k,): how often each truth occurs, :math:`\rho`.
    confusion
        (H, k, k): what each expert says (last axis) about each truth, :math:`\pi`.
    """
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
    return prior, confusion


def fit_pooled_regression(
    X_train: FloatArray, opinions: Opinions, X: FloatArray, strength: float = 1.0
) -> Rule:
    """One logistic regression for all pairs: the supervised route that the paper sets aside.

    Features of the instance, who was observed, what she said, and whose opinion is wanted; learned
    from every ordered pair of training.

    Parameters
    ----------
    X_train, X
        Features of the instances of training, and of those to be scored; each in the order of their
        opinions' ``instances``.
    opinions
        Those of training.
    strength
        Inverse strength of the penalty, scikit-learn's ``C``.
    """
    observed, target = ordered_pairs(opinions)
    i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
    n_experts, k = len(opinions.experts), opinions.n_classes
    # The intercept is free, so that centring changes no solution; it is found sooner.
    X_train, X = X_train - X_train.mean(axis=0), X - X_train.mean(axis=0)
    codes = (h[observed], y[observed], h[target])
    rows = _pair_features(X_train[i[observed]], codes, n_experts, k)
    classifier = LogisticRegression(C=strength, max_iter=10_000, tol=1e-7).fit(rows, y[target])

    def inputs(pairs: Pairs) -> csr_matrix:
        codes = (pairs.observed, pairs.label, pairs.target)
        return _pair_features(X[pairs.instance], codes, n_experts, k)

    return rule_of(classifier, inputs)


def rule_of(classifier: ClassifierMixin, inputs: Callable[[Pairs], Any]) -> Rule:
    """What a classifier says of each pair's inputs; labels it has not learned from get 0.

    Parameters
    ----------
    classifier
        Fitted on such inputs; its classes are label codes.
    inputs
        From pairs to what the classifier sees, a row a pair.
    """

    def rule(pairs: Pairs) -> FloatArray:
        law = np.zeros_like(pairs.log_p_target)
        if len(law):
            law[:, classifier.classes_] = classifier.predict_proba(inputs(pairs))
        return law

    return rule


def _pair_features(X: FloatArray, codes: Sequence[IntArray], n_experts: int, k: int) -> csr_matrix:
    """Sparse rows: features, then who was observed, what she said, and the target, one-hot."""
    categories = [np.arange(n) for n in (n_experts, k, n_experts)]
    one_hot = OneHotEncoder(categories=categories).fit_transform(np.column_stack(codes))
    return csr_matrix(hstack([csr_matrix(X), one_hot]))
