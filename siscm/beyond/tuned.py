"""Rivals of graded sharing that have something to choose: each chooses it in its training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import KFold

from siscm.baselines import Rule
from siscm.beyond.contest_pairs import Part, common_features, pairs_of
from siscm.cifar10h.rivals import fit_dawid_skene, fit_pooled_regression
from siscm.evaluation import log_loss

N_FOLDS = 3
"""Parts of the training instances, each of which is inferred once."""

STRENGTHS = (1.0, 0.3, 0.1)
"""Inverse strengths of the regression's penalty, scikit-learn's ``C``."""

PSEUDO_COUNTS = (0.1, 1.0, 10.0)
"""How much of all experts Dawid and Skene's model sees in each of them."""

Fit = Callable[[float, Part, Part], Rule]
"""From a value, a part to learn from and one whose opinions are to be inferred, to a rule."""


def dawid_skene(pseudo: float, train: Part, test: Part) -> Rule:
    """:func:`siscm.cifar10h.rivals.fit_dawid_skene`; ``pseudo`` is one of :data:`PSEUDO_COUNTS`.

    Parameters
    ----------
    pseudo
        As for :func:`siscm.cifar10h.rivals.confusions`.
    train, test
        The part to learn from, and the one to be inferred.
    """
    return fit_dawid_skene(train[1], pseudo)


def featured_dawid_skene(pseudo: float, train: Part, test: Part) -> Rule:
    """:func:`dawid_skene`, with features: what all know of an instance.

    Parameters
    ----------
    pseudo, train, test
        As for :func:`dawid_skene`.
    """
    X_train, X = common_features(*train), common_features(*test)
    return fit_dawid_skene(train[1], pseudo, X_train, X)


def regression(strength: float, train: Part, test: Part) -> Rule:
    """:func:`siscm.cifar10h.rivals.fit_pooled_regression`, from what all know of an instance.

    ``strength`` is one of :data:`STRENGTHS`.

    Parameters
    ----------
    strength
        As for :func:`siscm.cifar10h.rivals.fit_pooled_regression`.
    train, test
        The part to learn from, and the one to be inferred.
    """
    X_train, X = common_features(*train), common_features(*test)
    return fit_pooled_regression(X_train, train[1], X, strength)


def tuned(fit: Fit, values: Sequence[float], train: Part, test: Part) -> Rule:
    """What is learned with the value that does best on pairs of left-out training instances.

    Best is the lowest log-loss; the first value is taken if no instances can be left out.

    Parameters
    ----------
    fit
        Learns with a value.
    values
        To choose from.
    train
        Its instances are dealt out to :data:`N_FOLDS` folds.
    test
        Whose opinions are to be inferred. They are not looked at here.
    """
    log_p, said = train
    losses, instances = np.zeros(len(values)), said.instances
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    for fold in folds.split(instances) if len(instances) >= N_FOLDS else ():
        learned, left_out = (
            (log_p[np.isin(said.instance_codes, part)], said.select(instances=instances[part]))
            for part in fold
        )
        if len(np.unique(pairs_of(*learned)[1])) < 2:
            continue  # no pair, or all alike: nothing to be learned
        pairs, truth = pairs_of(*left_out)
        for i, value in enumerate(values):
            given = fit(value, learned, left_out)(pairs)[np.arange(len(truth)), truth]
            losses[i] += log_loss(given, said.n_classes).sum()
    return fit(values[int(losses.argmin())], train, test)
