"""Rivals of graded sharing at their best: what each has to choose, it chooses in its training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import KFold

from siscm.baselines import Rule
from siscm.beyond.contest_pairs import pairs_of
from siscm.checks import FloatArray, IntArray
from siscm.cifar10h.rivals import fit_dawid_skene, fit_pooled_regression
from siscm.evaluation import log_loss
from siscm.opinions import Opinions

N_FOLDS = 3

STRENGTHS = (1.0, 0.3, 0.1)
"""Inverse strengths of the regression's penalty, scikit-learn's ``C``."""

PSEUDO_COUNTS = (0.1, 1.0, 10.0)
"""What Dawid and Skene's model adds to every count."""

Fit = Callable[[float, Opinions, IntArray, IntArray], Rule]
"""From a value, opinions, and the positions of instances to learn from and to score, to a rule."""


def tuned_dawid_skene(log_p: FloatArray, train: Opinions) -> Rule:
    """:func:`siscm.cifar10h.rivals.fit_dawid_skene`; chooses among :data:`PSEUDO_COUNTS`."""

    def fit(pseudo: float, said: Opinions, mine: IntArray, others: IntArray) -> Rule:
        return fit_dawid_skene(said, pseudo)

    return fit_dawid_skene(train, chosen(fit, PSEUDO_COUNTS, log_p, train))


def tuned_regression(
    X_train: FloatArray, log_p: FloatArray, train: Opinions, X: FloatArray
) -> Rule:
    """:func:`siscm.cifar10h.rivals.fit_pooled_regression`; chooses among :data:`STRENGTHS`."""

    def fit(strength: float, said: Opinions, mine: IntArray, others: IntArray) -> Rule:
        return fit_pooled_regression(X_train[mine], said, X_train[others], strength)

    return fit_pooled_regression(X_train, train, X, chosen(fit, STRENGTHS, log_p, train))


def chosen(fit: Fit, values: Sequence[float], log_p: FloatArray, train: Opinions) -> float:
    """The value with the lowest log-loss on pairs of left-out instances; the first, if none can be.

    Parameters
    ----------
    fit
        Learns from the opinions given, about the first instances, to infer those about the others.
    log_p
        Log-marginals of the opinions, as for :func:`siscm.beyond.contest_pairs.pairs_of`.
    train
        Opinions, whose instances are dealt out to :data:`N_FOLDS` folds.
    """
    losses, everything = np.zeros(len(values)), np.arange(len(train.instances))
    if len(everything) < N_FOLDS:
        return values[0]
    for mine, others in KFold(N_FOLDS, shuffle=True, random_state=0).split(everything):
        said, left_out = (train.select(instances=train.instances[part]) for part in (mine, others))
        learned = pairs_of(log_p[np.isin(train.instance_codes, mine)], said)[1]
        pairs, truth = pairs_of(log_p[np.isin(train.instance_codes, others)], left_out)
        if len(np.unique(learned)) < 2:
            continue  # no pair, or all alike: nothing to be learned
        for i, value in enumerate(values):
            given = fit(value, said, mine, others)(pairs)[np.arange(len(truth)), truth]
            losses[i] += log_loss(given, train.n_classes).sum()
    return values[int(losses.argmin())]
