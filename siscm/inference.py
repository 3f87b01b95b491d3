"""Counterfactual inference in the Gumbel-Max SI-SCM, from marginals, opinions and groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from siscm.checks import (
    FloatArray,
    IntArray,
    check_count,
    check_labels,
    check_log_distribution,
    check_possible,
    check_rng,
)
from siscm.contradictions import Names, refusal
from siscm.gumbel import counterfactual_probabilities, monte_carlo_probabilities
from siscm.names import plain
from siscm.opinions import NOT_ASKED, Opinions
from siscm.partition import group_of
from siscm.posterior import monte_carlo_law, shared_law

Method = Literal["exact", "monte_carlo"]
"""The closed form, or frequencies over draws of the noise (Eq. 5)."""


def counterfactual_proba(
    log_marginals: npt.ArrayLike,
    labels: npt.ArrayLike,
    groups: Sequence[Sequence[int]],
    *,
    experts: Iterable[Hashable] | None = None,
    instances: Iterable[Hashable] | None = None,
    classes: Iterable[Hashable] | None = None,
    method: Method = "exact",
    n_samples: int = 1000,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    r"""What every expert would have said, given what some said (Section 6 of the paper).

    An expert who shares a group with an observed one follows the counterfactual distribution under
    their common noise; every other expert keeps her marginal, for noises of different groups are
    independent. The row of an observed expert is a point mass. Any number of experts of a group may
    be observed on an instance: their noise is the one that made all of them say what they said.

    Parameters
    ----------
    log_marginals
        (n, H, k): :math:`\log P(Y_h = c \mid X = x)`.
    labels
        (n, H): codes of the opinions observed, -1 (or masked) where nobody was asked.
    groups
        The partition :math:`\Psi`, as lists of expert positions.
    experts, instances, classes
        Names for error messages; default the positions.
    method
        ``"exact"``: the closed form; where three or more different labels were observed in one
        group, an integral at ``n_samples`` evenly spread points. ``"monte_carlo"``: the paper's
        estimator, Eq. 5.
    n_samples, rng
        How many points or draws (T); for ``"monte_carlo"``, where they come from.

    Returns
    -------
    array (n, H, k)

    Raises
    ------
    ValueError
        If no noise makes the observed experts of a group say what they said, if an observed label
        has probability zero or is no label, if a marginal is no distribution, if shapes or groups
        do not fit, or if there is no such method.
    """
    law, law_of_several = laws_of(method, n_samples, rng)
    log_p, codes, names = check_observed(log_marginals, labels, instances, experts, classes)
    group_of(groups, range(log_p.shape[1]))  # refuses what is no partition

    def of_one(rows: IntArray, who: IntArray, members: IntArray) -> FloatArray:
        targets = log_p[np.ix_(rows, members)]
        return law(log_p[rows, who][:, None], targets, codes[rows, who][:, None])

    def of_several(row: int, seen: IntArray, members: IntArray) -> FloatArray:
        found = law_of_several(log_p[row, seen], codes[row, seen], log_p[row, members])
        if found is None:
            raise refusal(log_p[row, seen], codes[row, seen], names, row, seen)
        return found[0]

    return in_each_group(log_p, codes, groups, of_one, of_several)


def check_observed(
    log_marginals: npt.ArrayLike,
    labels: npt.ArrayLike,
    instances: Iterable[Hashable] | None,
    experts: Iterable[Hashable] | None,
    classes: Iterable[Hashable] | None,
) -> tuple[FloatArray, IntArray, Names]:
    """Log-marginals (n, H, k), label codes (n, H) and names, refused where they do not fit.

    Parameters and errors as for :func:`counterfactual_proba`; names of labels in their place are a
    TypeError.
    """
    if isinstance(labels, Mapping | Opinions):
        raise TypeError(
            f"labels must be codes (instances, experts), {NOT_ASKED} where nobody was asked, in "
            f"the order of the log-marginals, such as opinions.labels; got {type(labels).__name__}."
        )
    log_p = check_log_distribution(log_marginals, "observed or target")
    codes = np.asarray(np.ma.filled(labels, NOT_ASKED))
    if log_p.ndim != 3 or codes.shape != log_p.shape[:2]:
        raise ValueError(
            f"log_marginals must be (instances, experts, classes) and labels (instances, experts); "
            f"got {log_p.shape} and {codes.shape}."
        )
    check_labels(codes[codes != NOT_ASKED], log_p.shape[2])
    names = _names(instances, experts, classes, log_p.shape)
    _check_possible(log_p, codes, names)
    return log_p, codes, names


def in_each_group(
    log_p: FloatArray,
    codes: IntArray,
    groups: Sequence[Sequence[int]],
    of_one: Callable[[IntArray, IntArray, IntArray], FloatArray],
    of_several: Callable[[int, IntArray, IntArray], FloatArray],
) -> FloatArray:
    """Put together what every expert would have said from what each group says.

    Parameters
    ----------
    log_p, codes, groups
        As for :func:`counterfactual_proba`.
    of_one
        From rows (r,) on which one expert of a group was observed, who it was (r,), and all
        members (t,) of the group, to what these say (r, t, k).
    of_several
        From a row, the positions of several observed experts of a group, and those of its other
        members (t,), to what these say (t, k).

    Returns
    -------
    array (n, H, k)
        Observed experts are point masses, groups of which nobody was observed keep marginals.
    """
    out = np.exp(log_p)
    out /= out.sum(axis=-1, keepdims=True)
    asked = codes != NOT_ASKED
    for group in groups:
        members = np.asarray(group, dtype=np.int64)
        n_observed = asked[:, members].sum(axis=1)
        rows = np.flatnonzero(n_observed == 1)
        if len(members) > 1 and len(rows):
            who = members[asked[np.ix_(rows, members)].argmax(axis=1)]
            out[np.ix_(rows, members)] = of_one(rows, who, members)
        for row in np.flatnonzero(n_observed > 1).tolist():
            seen = asked[row, members]
            rest = members[~seen | seen.all()]  # nobody to ask: what is impossible is still refused
            out[row, rest] = of_several(row, members[seen], rest)
    i, h = np.nonzero(asked)
    out[i, h] = np.arange(log_p.shape[2]) == codes[i, h][:, None]
    return out


def laws_of(
    method: Method, n_samples: int, rng: np.random.Generator | None
) -> tuple[
    Callable[[FloatArray, FloatArray, IntArray], FloatArray],
    Callable[[FloatArray, IntArray, FloatArray], tuple[FloatArray, float] | None],
]:
    """What a method makes of one opinion of a group, and of several; None if they are impossible.

    Parameters
    ----------
    method
        Which one.
    n_samples
        Points of an integral (``"exact"``), or draws (``"monte_carlo"``).
    rng
        Draws the noise for ``"monte_carlo"``; the closed form needs none.

    Returns
    -------
    of_one
        From log-marginals of observed and target, and a label code, to what the target says: as
        :func:`siscm.gumbel.counterfactual_probabilities`.
    of_several
        From log-marginals and label codes of all observed, and log-marginals of the targets, to
        what these say and the log-chance of what was observed: as
        :func:`siscm.posterior.shared_law`.

    Raises
    ------
    ValueError
        If there is no such method, if ``n_samples`` is no positive whole number, or if
        ``"monte_carlo"`` has no generator.
    """
    if method not in ("exact", "monte_carlo"):
        raise ValueError(f"method is {method!r}; it must be 'exact' or 'monte_carlo'.")
    check_count(n_samples, "n_samples")
    if method == "exact":
        return counterfactual_probabilities, partial(shared_law, n_points=n_samples)
    rng = check_rng(rng, "method='monte_carlo'")
    return (
        partial(monte_carlo_probabilities, n_samples=n_samples, rng=rng),
        partial(monte_carlo_law, n_samples=n_samples, rng=rng),
    )


def _names(
    instances: Iterable[Hashable] | None,
    experts: Iterable[Hashable] | None,
    classes: Iterable[Hashable] | None,
    shape: tuple[int, ...],
) -> Names:
    """The names for error messages; positions where none are given."""
    names = Names(
        *(
            range(size) if given is None else [plain(name) for name in given]
            for given, size in zip((instances, experts, classes), shape, strict=True)
        )
    )
    if [len(part) for part in names] != list(shape):
        raise ValueError(
            f"{len(names.instances)} instances, {len(names.experts)} experts and "
            f"{len(names.classes)} classes are named; log_marginals has shape {shape}."
        )
    return names


def predict(probabilities: FloatArray) -> IntArray:
    """The likeliest label of each row (..., k); ties go to the first class."""
    return np.asarray(probabilities.argmax(axis=-1), dtype=np.int64)


def _check_possible(log_p: FloatArray, codes: npt.NDArray[Any], names: Names) -> None:
    """Refuse an opinion of probability zero; the error names instance, expert and label."""
    i, h = np.nonzero(codes != NOT_ASKED)
    y = codes[i, h]

    def told(n: int) -> str:
        expert, instance = names.experts[h[n]], names.instances[i[n]]
        return f"expert {expert!r} on instance {instance!r} said {names.classes[y[n]]!r}"

    check_possible(log_p[i, h], y, told)
