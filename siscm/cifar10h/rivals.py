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
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from siscm.baselines import Pairs, Rule, ordered_pairs
from siscm.checks import FloatArray, IntArray
from siscm.opinions import Opinions

TABLE = "marginal × table"
"""The name of :func:`fit_times_table` among the rules."""


def fit_most_frequent(opinions: Opinions) -> Rule:
    """Each target says what she says most often: label frequencies, one count added to each."""
    counts = opinions.tallies + 1
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    return lambda pairs: frequencies[pairs.target]


def fit_product_with_cnb(opinions: Opinions, alpha: float = 1.0) -> Rule:
    r"""The paper's baseline "GNB + CNB": marginal times :math:`P(Y_{h'} \mid Y_h)` (Section 7).

    The second factor is a categorical naive Bayes a target, whose features are the opinions of all
    experts, all of them but the observed one marked as not observed. It is learned from the ordered
    pairs in which she is the target; where there are none, the marginal stands alone.

    Parameters
    ----------
    opinions
        Those of training.
    alpha
        Added to every count of a label, or of none, by an expert. The paper does not state it; 1 is
        scikit-learn's default.
    """
    observed, target = ordered_pairs(opinions)
    h, y, k = opinions.expert_codes, opinions.label_codes, opinions.n_classes
    told = np.zeros((len(opinions.experts), k, len(opinions.experts), k))
    np.add.at(told, (h[target], y[target], h[observed], y[observed]), 1)
    hers = told.sum(axis=(2, 3))
    met = hers.any(axis=1)
    # A label that she never gave as a target gets nothing, as by scikit-learn's classes.
    prior = np.log(hers, out=np.full_like(hers, -np.inf), where=hers > 0)
    totals = hers[:, :, None] + (k + 1) * alpha
    silent = np.log((hers[:, :, None] - told.sum(axis=3) + alpha) / totals)
    all_silent = prior + silent.sum(axis=2)

    def rule(pairs: Pairs) -> FloatArray:
        by, of = pairs.observed, pairs.target
        heard = np.log((told[of, :, by, pairs.label] + alpha) / totals[of, :, 0])
        log_cnb = all_silent[of] - silent[of, :, by] + heard
        return np.asarray(
            softmax(pairs.log_p_target + np.where(met[of, None], log_cnb, 0), axis=-1)
        )

    return rule


def fit_times_table(opinions: Opinions) -> Rule:
    r"""Marginal times :math:`P(Y_{h'} = d \mid Y_h = c) / P(Y_{h'} = d)`, one table for all pairs.

    Ordered pairs of training opinions are counted, one added to each cell.
    """
    observed, target = ordered_pairs(opinions)
    y = opinions.label_codes
    counts = np.ones((opinions.n_classes, opinions.n_classes))
    np.add.at(counts, (y[observed], y[target]), 1)
    joint = counts / counts.sum()
    # How much more often a target says a label after one observed, whose axis is the first.
    lift = joint / np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0))

    def rule(pairs: Pairs) -> FloatArray:
        law = np.exp(pairs.log_p_target) * lift[pairs.label]
        return np.asarray(law / law.sum(axis=1, keepdims=True))

    return rule


def fit_dawid_skene(
    opinions: Opinions,
    pseudo: float = 0.1,
    X_train: FloatArray | None = None,
    X: FloatArray | None = None,
) -> Rule:
    r"""Experts who err independently around one truth an instance (Dawid and Skene, 1979).

    The posterior predictive of a second opinion:

    .. math:: P(Y_{h'} \mid Y_h = c) \propto \sum_z \rho_z\, \pi_h(z, c)\, \pi_{h'}(z, \cdot).

    Features, if given, say for each instance how likely each truth :math:`z` is.

    Parameters
    ----------
    opinions, pseudo, X_train
        As for :func:`confusions`.
    X
        Features of the instances to be scored, as for :func:`fit_pooled_regression`.
    """
    truths, confusion = confusions(opinions, pseudo=pseudo, X=X_train)
    prior = truths.predict_proba(np.zeros((1, 1)) if X is None else X)

    def rule(pairs: Pairs) -> FloatArray:
        given = prior[0 if X is None else pairs.instance]
        given = given * confusion[pairs.observed, :, pairs.label]
        given /= given.sum(axis=1, keepdims=True)
        law: FloatArray = np.einsum("nz,nzd->nd", given, confusion[pairs.target])
        return law

    return rule


def confusions(
    opinions: Opinions,
    n_iterations: int = 50,
    pseudo: float = 0.1,
    X: FloatArray | None = None,
) -> tuple[ClassifierMixin, FloatArray]:
    r"""Dawid and Skene's model, by expectation maximisation from shares of votes.

    Parameters
    ----------
    opinions
        What the experts said.
    n_iterations
        How often both steps are taken.
    pseudo
        How many opinions, times the number of labels, each expert gave about each truth in advance:
        as all experts together did, so that one without opinions is taken for one of them.
    X
        Features (n, p) of the instances, to expect their truths from by a logistic regression
        (Raykar et al., 2010); default none.

    Returns
    -------
    truths
        From features to how likely each truth is; without any to how often it occurs, :math:`\rho`.
    confusion
        (H, k, k): what each expert says (last axis) about each truth, :math:`\pi`.
    """
    i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
    n_experts, k, votes = len(opinions.experts), opinions.n_classes, opinions.votes
    voted = votes.sum(axis=1) > 0
    truth = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    features = np.zeros((len(votes), 1)) if X is None else X
    # Each instance stands once for each truth, weighted by how likely that is.
    rows, codes = np.repeat(features[voted], k, axis=0), np.tile(np.arange(k), voted.sum())
    regression = LogisticRegression(max_iter=10_000, tol=1e-6, warm_start=True)
    truths = DummyClassifier() if X is None else regression
    for _ in range(n_iterations):
        counts = np.zeros((n_experts, k, k))
        np.add.at(counts.transpose(0, 2, 1), (h, y), truth[i])
        together = counts.sum(axis=0) + pseudo
        counts += k * pseudo * together / together.sum(axis=1, keepdims=True)
        confusion = counts / counts.sum(axis=2, keepdims=True)
        weights = truth[voted] + pseudo / voted.sum()
        log_truth = truths.fit(rows, codes, weights.ravel()).predict_log_proba(features)
        np.add.at(log_truth, i, np.log(confusion)[h, :, y])
        truth = softmax(log_truth, axis=-1)
    return truths, confusion


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
