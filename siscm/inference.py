"""Counterfactual inference in the Gumbel-Max SI-SCM, from marginals, opinions and groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from siscm.checks import FloatArray, IntArray, check_labels, check_log_distribution
from siscm.gumbel import counterfactual_probabilities, monte_carlo_probabilities
from siscm.opinions import NOT_ASKED
from siscm.partition import group_of

Method = Literal["exact", "monte_carlo"]


def counterfactual_proba(
    log_marginals: npt.ArrayLike,
    labels: npt.ArrayLike,
    groups: Sequence[Sequence[int]],
    *,
    experts: Sequence[Hashable] | None = None,
    instances: Sequence[Hashable] | None = None,
    method: Method = "exact",
    n_samples: int = 1000,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    r"""What every expert would have said, given what some said (Section 6 of the paper).

    An expert who shares a group with an observed one follows the counterfactual distribution under
    their common noise; every other expert keeps her marginal, for noises of different groups are
    independent. The row of an observed expert is a point mass.

    Parameters
    ----------
    log_marginals
        (n, H, k): :math:`\log P(Y_h = c \mid X = x)`.
    labels
        (n, H): codes of the opinions observed, -1 (or masked) where nobody was asked.
    groups
        The partition :math:`\Psi`, as lists of expert positions.
    experts, instances
        Names for error messages; default the positions.
    method
        ``"exact"``: the closed form. ``"monte_carlo"``: the paper's estimator, Eq. 5.
    n_samples, rng
        For ``"monte_carlo"``: how many draws (T), and where they come from.

    Returns
    -------
    array (n, H, k)

    Raises
    ------
    ValueError
        If two experts of one group are observed on one instance, if an observed label has
        probability zero or is no label, if a marginal is no distribution, or if the shapes,
        groups or method are unknown.
    """
    law = law_of(method, n_samples, rng)
    log_p = check_log_distribution(log_marginals, "observed or target")
    codes = np.asarray(np.ma.filled(labels, NOT_ASKED))
    if log_p.ndim != 3 or codes.shape != log_p.shape[:2]:
        raise ValueError(
            f"log_marginals must be (instances, experts, classes) and labels (instances, experts); "
            f"got {log_p.shape} and {codes.shape}."
        )
    number = group_of(groups, range(log_p.shape[1]))
    check_labels(codes[codes != NOT_ASKED], log_p.shape[2])
    _check_observed(log_p, codes, number, *_names(instances, experts, codes.shape))
    out = np.exp(log_p)
    out /= out.sum(axis=-1, keepdims=True)
    for group in groups:
        members = np.asarray(group, dtype=np.int64)
        row, place = np.nonzero(codes[:, members] != NOT_ASKED)
        if len(members) > 1 and len(row):
            h = members[place]
            targets = row[:, None], members
            out[targets] = law(log_p[row, h][:, None], log_p[targets], codes[row, h][:, None])
    row, h = np.nonzero(codes != NOT_ASKED)
    out[row, h] = np.arange(log_p.shape[2]) == codes[row, h][:, None]
    return out


def law_of(
    method: Method, n_samples: int, rng: np.random.Generator | None
) -> Callable[[FloatArray, FloatArray, IntArray], FloatArray]:
    """The counterfactual distribution of a pair, as a function of two marginals and a label."""
    if method == "exact":
        return counterfactual_probabilities
    if method != "monte_carlo":
        raise ValueError(f"method is {method!r}; it must be 'exact' or 'monte_carlo'.")
    if rng is None or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(
            "method='monte_carlo' needs a generator rng and a whole number n_samples of "
            f"at least 1; got {rng} and {n_samples!r}."
        )
    return partial(monte_carlo_probabilities, n_samples=n_samples, rng=rng)


def _names(
    instances: Sequence[Hashable] | None, experts: Sequence[Hashable] | None, shape: tuple[int, ...]
) -> list[list[Hashable]]:
    """The names for error messages; positions where none are given."""
    names: list[list[Hashable]] = [
        list(range(size) if given is None else given)
        for given, size in zip((instances, experts), shape, strict=True)
    ]
    if [len(part) for part in names] != list(shape):
        raise ValueError(
            f"{len(names[0])} instances and {len(names[1])} experts are named; labels has shape "
            f"{shape}."
        )
    return names


def predict(probabilities: FloatArray) -> IntArray:
    """The likeliest label of each row (..., k); ties go to the first class."""
    return np.asarray(probabilities.argmax(axis=-1), dtype=np.int64)


def _check_observed(
    log_p: FloatArray,
    codes: npt.NDArray[Any],
    number: IntArray,
    instances: list[Hashable],
    experts: list[Hashable],
) -> None:
    """Refuse what cannot be conditioned on; the errors name instance and experts."""
    row, expert = np.nonzero(codes != NOT_ASKED)
    impossible = np.isneginf(log_p[row, expert, codes[row, expert]])
    if impossible.any():
        first = int(np.argmax(impossible))
        who, what = expert[first], codes[row[first], expert[first]]
        raise ValueError(
            f"instance {instances[row[first]]!r}: expert {experts[who]!r} is said to have chosen "
            f"label code {what}, to which her marginal gives probability zero; raise the "
            "marginal's floor (min_proba)."
        )
    order = np.lexsort((number[expert], row))
    row, expert = row[order], expert[order]
    group = number[expert]
    twice = (row[1:] == row[:-1]) & (group[1:] == group[:-1])
    if twice.any():
        first = int(np.argmax(twice))
        raise ValueError(
            f"instance {instances[row[first]]!r}: experts {experts[expert[first]]!r} and "
            f"{experts[expert[first + 1]]!r} are observed and share a group; several opinions from "
            "one group are not supported yet: pass one of them."
        )
