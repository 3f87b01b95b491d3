"""Marginals: each expert's habits, learned by one classifier an expert."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from pandas.api.types import is_complex_dtype, is_numeric_dtype
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier

from siscm.checks import FloatArray, IntArray, not_summing_to_one
from siscm.names import plain
from siscm.opinions import Opinions

Features = pd.DataFrame | np.ndarray[Any, Any]
"""What is known of instances: a row an instance, a column a feature."""


def fit_marginals(
    expert_model: BaseEstimator,
    X: Features,
    opinions: Opinions,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> list[BaseEstimator]:
    r"""Learn :math:`P(Y_h \mid X)`: a clone of the classifier for each expert, on her opinions.

    An expert who only ever said one label gets a constant marginal, since most classifiers refuse
    a single class; a warning says how many, and names the first.

    Parameters
    ----------
    expert_model
        Any scikit-learn classifier with ``predict_proba``. It is given label codes as targets.
    X
        Features (n_instances, n_features), in the order of ``opinions.instances``.
    opinions
        What the experts said.
    rng
        Seeds the clones that have a ``random_state`` and no seed of their own.
    n_jobs
        How many experts to learn at the same time, as in joblib.

    Raises
    ------
    TypeError
        If ``expert_model`` is no classifier, or has no ``predict_proba`` once fitted.
    ValueError
        If there is no expert, or one without an opinion to learn from, or one from whose opinions
        the classifier cannot learn; the error names her.
    """
    if len(opinions.experts) == 0:
        raise ValueError("there are no experts, and so no opinions to learn from.")
    by_expert = np.argsort(opinions.expert_codes, kind="stable")
    counts = opinions.n_by_expert
    if (counts == 0).any():
        nobody = plain(opinions.experts[int(np.argmin(counts))])
        raise ValueError(
            f"expert {nobody!r} has no opinion to learn from ({int((counts == 0).sum())} such "
            "expert(s)); leave them out with opinions.select(experts=...)."
        )
    _warn_of_constants(opinions, counts)
    i, y = opinions.instance_codes, opinions.label_codes
    rows_of_each = np.split(by_expert, np.cumsum(counts)[:-1])
    models = [seeded(expert_model, y[rows], rng, "expert_model") for rows in rows_of_each]
    tasks = (
        delayed(fit_one)(model, take_rows(X, i[rows]), y[rows], _whose(expert))
        for model, rows, expert in zip(models, rows_of_each, opinions.experts, strict=True)
    )
    return list(Parallel(n_jobs=n_jobs)(tasks))


def _warn_of_constants(opinions: Opinions, counts: IntArray) -> None:
    """Name the experts who only ever said one label: hardly anything is learned from them."""
    said = opinions.tallies
    constant = np.flatnonzero((said > 0).sum(axis=1) == 1)
    if opinions.n_classes < 2 or len(constant) == 0:
        return
    first = constant[0]
    label = plain(opinions.classes[int(said[first].argmax())])
    warnings.warn(
        f"{len(constant)} expert(s) only ever said one label (the first: expert "
        f"{plain(opinions.experts[first])!r}, {counts[first]} time(s) {label!r}), so their "
        "marginals are certain of it. Leave out experts with few opinions by "
        "opinions.select(experts=...), or raise min_proba.",
        UserWarning,
        stacklevel=4,
    )


def _whose(expert: Any) -> str:
    return f"the classifier of expert {plain(expert)!r}"


def seeded(
    classifier: BaseEstimator, y: IntArray, rng: np.random.Generator, parameter: str
) -> BaseEstimator:
    """A fresh classifier for targets ``y``, its randomness fixed by ``rng``.

    Parameters
    ----------
    classifier
        As a caller gave it; it is not changed.
    y
        Label codes to learn. If all are equal, a constant takes the place of the classifier.
    rng
        Seeds each ``random_state`` that is not set.
    parameter
        What the caller calls the classifier, for errors.
    """
    if isinstance(classifier, type) or not hasattr(classifier, "fit"):
        raise TypeError(
            f"{parameter} is {classifier!r}; it must be a scikit-learn classifier, such as "
            "GaussianNB()."
        )
    if (y == y[0]).all():
        return DummyClassifier(strategy="prior")
    model = clone(classifier)
    for name, value in sorted(model.get_params(deep=True).items()):
        if name.split("__")[-1] == "random_state" and value is None:
            model.set_params(**{name: int(rng.integers(2**31 - 1))})
    return model


def fit_one(model: Any, X: Features, y: IntArray, whose: str) -> BaseEstimator:
    """Fit a classifier that must give probabilities; errors say whose it is, and hold no text.

    Parameters
    ----------
    model
        Not fitted yet.
    X, y
        Features (n, n_features) and label codes (n,).
    whose
        Whose classifier it is, for errors.
    """
    try:
        fitted = model.fit(X, y)
    except (TypeError, ValueError) as error:
        raise _worded(error, X, f"{whose} cannot learn from {len(y)} opinion(s)") from None
    if not hasattr(fitted, "predict_proba"):
        raise TypeError(
            f"{whose}, {model!r}, has no predict_proba; choose a classifier that gives "
            "probabilities, or wrap it in sklearn.calibration.CalibratedClassifierCV."
        )
    return fitted


def _worded(error: Exception, X: Features, problem: str) -> ValueError:
    """What went wrong with whose classifier; a text among the features is never repeated."""
    said = str(error)
    if not is_numeric(X):
        said = (
            "the features are not all numbers by their dtype; turn text and categories into "
            "numbers first, or by a pipeline"
        )
    elif not X.shape[1]:
        said = "there is no feature; DummyClassifier(strategy='prior') needs none"
    return ValueError(f"{problem}: {said}")


def is_numeric(X: Features) -> bool:
    """Whether every column is of real numbers by its dtype, and so holds no text."""
    kinds = pd.DataFrame(X).dtypes
    return all(is_numeric_dtype(kind) and not is_complex_dtype(kind) for kind in kinds)


def opinion_log_marginals(
    classifiers: list[BaseEstimator], X: Features, opinions: Opinions, min_proba: float
) -> FloatArray:
    """Log-marginals of the experts for the instances that they saw: (n_opinions, k).

    In the order of ``opinions.to_long()``. Memory grows with the opinions, not with experts times
    instances.

    Parameters
    ----------
    classifiers
        Fitted, in the order of ``opinions.experts``.
    X
        Features (n_instances, n_features), in the order of ``opinions.instances``.
    opinions
        What the experts said; only who and on what matters.
    min_proba
        As for :func:`floor`.
    """
    out = np.empty((len(opinions), opinions.n_classes))
    for h, classifier in enumerate(classifiers):
        rows = np.flatnonzero(opinions.expert_codes == h)
        seen, whose = take_rows(X, opinions.instance_codes[rows]), _whose(opinions.experts[h])
        out[rows] = predict_one(classifier, seen, opinions.n_classes, whose)
    return floor(out, min_proba)


def all_log_marginals(
    classifiers: list[BaseEstimator],
    X: Features,
    experts: npt.NDArray[Any] | pd.Index[Any],
    n_classes: int,
    min_proba: float,
) -> FloatArray:
    """Log-marginals of every expert for every row of ``X``: (n, H, k).

    Parameters
    ----------
    classifiers, experts
        In the same order; the classifiers are fitted.
    X
        Features (n, n_features).
    n_classes
        How many labels there are: k.
    min_proba
        As for :func:`floor`.
    """
    out = np.empty((len(X), len(classifiers), n_classes))
    for h, classifier in enumerate(classifiers):
        out[:, h] = predict_one(classifier, X, n_classes, _whose(experts[h]))
    return floor(out, min_proba)


def predict_one(classifier: Any, X: Features, n_classes: int, whose: str) -> FloatArray:
    """One classifier's log-probabilities, spread over all the classes: -inf where unknown to it.

    Parameters
    ----------
    classifier
        Fitted; its classes are label codes.
    X
        Features (n, n_features).
    n_classes
        How many labels there are: k.
    whose
        Whose classifier it is, for errors.
    """
    out = np.full((len(X), n_classes), -np.inf)
    if len(X) == 0:
        return out
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        try:
            if hasattr(classifier, "predict_log_proba"):
                log_p = np.asarray(classifier.predict_log_proba(X), dtype=np.float64)
            else:
                log_p = np.log(np.asarray(classifier.predict_proba(X), dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise _worded(error, X, f"{whose} cannot predict") from None
    if log_p.shape != (len(X), len(classifier.classes_)):
        raise ValueError(
            f"{whose} returns probabilities of shape "
            f"{log_p.shape} for {len(X)} rows and {len(classifier.classes_)} classes."
        )
    wrong, total = not_summing_to_one(log_p)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{whose} returns probabilities that sum to "
            f"{total[row]}, not to 1 (row {row} of those it was asked about); check its features "
            "or choose another."
        )
    out[:, classifier.classes_] = log_p
    return out


def floor(log_p: FloatArray, min_proba: float) -> FloatArray:
    """Raise probabilities below ``min_proba`` to it, so that no label is impossible; renormalise.

    Parameters
    ----------
    log_p
        Log-probabilities (..., k).
    min_proba
        The floor, before it is renormalised.

    Raises
    ------
    ValueError
        If ``min_proba`` is no number, or negative, or so large that it would leave no distribution.
    """
    if not isinstance(min_proba, Real) or not 0 <= min_proba < 1 / log_p.shape[-1]:
        raise ValueError(
            f"min_proba is {min_proba!r}; it must be at least 0 and below 1 / {log_p.shape[-1]} "
            "(one over the number of classes)."
        )
    with np.errstate(divide="ignore"):
        raised = np.maximum(log_p, np.log(min_proba))
    normalised: FloatArray = raised - logsumexp(raised, axis=-1, keepdims=True)
    return normalised


def take_rows(X: Features, rows: IntArray) -> Features:
    """Rows of a DataFrame or an array, by position."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
