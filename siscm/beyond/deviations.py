"""What is an expert's own in :mod:`siscm.pooled`: how she deviates from the pooled classifier.

Offsets, slopes on the pooled classifier's log-probabilities f, and slopes on components z of the
features, and beside them the weights w on f of all: one logistic regression, whose penalty is a
normal prior around 0 on each.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from siscm.checks import FloatArray, IntArray

SCORE_SPREAD, OFFSET_SPREAD, SCORE_SLOPE_SPREAD = 3.0, 1.0, 0.25
"""Prior standard deviations of w, of an expert's own offsets, and of her own slopes on f."""

WIDTHS = (0.25, 0.5, 1.0)
"""Factors of these three, tried from the narrowest until one predicts worse out-of-fold: with many
labels and few opinions there is less to be learned of an expert."""

SLOPE_SPREADS = (0.03, 0.1, 0.3)
"""Prior standard deviations of an expert's own slopes on z: the best of them, or no such slopes."""

LEAST = 1e-6
"""Floor of probabilities before their logarithm is taken."""

Prior = tuple[float, float]
"""Factor of the first three spreads, and spread of slopes on z."""


def design(
    f: FloatArray, z: FloatArray, expert: IntArray, n_experts: int, prior: Prior
) -> csr_array:
    """Columns times prior standard deviations, so that one penalty of 1 stands for all priors.

    Parameters
    ----------
    f, z
        (n, k) log-probabilities and (n, d) components of the instances, d may be 0.
    expert
        (n,): positions of whose opinions are meant.
    n_experts
        How many there are: each has columns of her own.
    prior
        The spreads that the columns are multiplied by.
    """
    width, slope_spread = prior
    offset = np.full((len(f), 1), width * OFFSET_SPREAD)
    own = np.concatenate([offset, width * SCORE_SLOPE_SPREAD * f, slope_spread * z], axis=1)
    n_own = own.shape[1]
    column = expert[:, None] * n_own + np.arange(n_own)
    ends = np.arange(0, own.size + 1, n_own)
    blocks = csr_array((own.ravel(), column.ravel(), ends), shape=(len(f), n_experts * n_own))
    return csr_array(hstack([csr_array(width * SCORE_SPREAD * f), blocks]))


def fit(design: csr_array, label: IntArray) -> ClassifierMixin:
    """Learn the most probable deviations from a design and what was said, (n,) codes."""
    if (label == label[0]).all():
        return DummyClassifier(strategy="prior").fit(design, label)
    return LogisticRegression(solver="newton-cg", max_iter=2000, tol=1e-6).fit(design, label)


def log_proba(model: ClassifierMixin, design: csr_array, k: int) -> FloatArray:
    """Log-probabilities (n, k) from a design; :data:`LEAST` for labels not learned from."""
    log_p = np.full((design.shape[0], k), np.log(LEAST))
    if design.shape[0]:
        with np.errstate(divide="ignore"):  # a probability of 0 gets its floor later
            log_p[:, model.classes_] = model.predict_log_proba(design)
    return log_p
