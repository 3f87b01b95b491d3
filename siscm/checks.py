"""What every function asks of distributions and labels before it trusts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
"""An array of numbers: probabilities, their natural logarithms, features."""

IntArray = npt.NDArray[np.int64]
"""An array of integers: codes, positions, counts."""

BoolArray = npt.NDArray[np.bool_]
"""An array of truths."""

SUM_TOLERANCE = 1e-5
"""How far a distribution's sum may be from 1: float32 rounding passes, a mistake does not."""


def check_log_distribution(log_p: npt.ArrayLike, whose: str) -> FloatArray:
    """Log-probabilities as float64, refused where a row is not a distribution.

    Raises
    ------
    ValueError
        Naming the first row that holds a NaN or does not sum to 1.
    """
    values = np.asarray(unmasked(log_p), dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(f"the {whose} expert's log-marginal needs an axis of labels.")
    wrong, total = not_summing_to_one(values)
    if wrong.any():
        row, name = _first_row(wrong)
        where = f" in {name}" if name else ""
        raise ValueError(
            f"the {whose} expert's marginal{where} sums to {total[row]}, not to 1; "
            "pass log-probabilities of a normalised distribution."
        )
    return values


def not_summing_to_one(log_p: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Which log-probabilities (..., k) are no distribution, and what each sums to: both (...)."""
    with np.errstate(over="ignore"):
        total = np.exp(log_p).sum(axis=-1)
    return ~(np.abs(total - 1.0) <= SUM_TOLERANCE), total


def check_together(
    laws: Mapping[str, npt.ArrayLike], *labels: npt.ArrayLike
) -> tuple[list[FloatArray], list[IntArray]]:
    """Log-marginals (..., k) by whose they are, and label codes (...), all with the same rows.

    Raises
    ------
    ValueError
        As :func:`check_log_distribution` and :func:`check_labels`; if two marginals have different
        numbers of classes, for a single one must not stand for all; or if the leading axes do not
        fit together.
    """
    log_p = [check_log_distribution(law, whose) for whose, law in laws.items()]
    k, other = log_p[0].shape[-1], log_p[-1].shape[-1]
    codes = [check_labels(label, k) for label in labels]
    if k != other:
        raise ValueError(
            f"one expert's marginal has {k} classes and the other's {other}; both need the same "
            "classes."
        )
    shapes = [log_p[0].shape[:-1], log_p[-1].shape[:-1], *(code.shape for code in codes)]
    try:
        leading = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"marginals (..., k) and labels (...) have leading axes {shapes}, which do not fit "
            "together; give each the same rows, or a single one for all."
        ) from None
    return (
        [np.broadcast_to(law, (*leading, k)) for law in log_p],
        [np.broadcast_to(code, leading) for code in codes],
    )


def check_possible(
    log_p: FloatArray, label: IntArray, told: Callable[[int], str] | None = None
) -> None:
    """Refuse labels (...) to which the marginals (..., k) of who said them give no probability.

    Parameters
    ----------
    log_p, label
        Log-marginals (..., k) and label codes (...).
    told
        From the number of a row to who said what on it, for the error.

    Raises
    ------
    ValueError
        Naming the first row and label.
    """
    chance = np.take_along_axis(log_p, label[..., None], axis=-1)[..., 0]
    impossible = np.isneginf(chance)
    if impossible.any():
        row, name = _first_row(impossible)
        where = f"{name}: " if name else ""
        what = f"{told(row[0])}, which" if told else f"{where}the observed label {label[row]}"
        raise ValueError(
            f"{what} has probability zero by the marginal of who said it; nothing can be "
            "conditioned on the impossible. A floor under the marginals (min_proba of the "
            "models) makes it possible."
        )


def check_labels(labels: npt.ArrayLike, n_classes: int) -> IntArray:
    """Label codes as int64, refused where one is not a position among the classes.

    Raises
    ------
    ValueError
        Naming the first code that is not in 0, ..., k - 1: a -1 must never mean the last class.
    """
    label = unmasked(labels)
    if not np.issubdtype(label.dtype, np.integer):
        raise ValueError(f"labels must be integer codes, not {label.dtype}.")
    wrong = (label < 0) | (label >= n_classes)
    if wrong.any():
        raise ValueError(
            f"label code {label[wrong].ravel()[0]} is not one of the {n_classes} classes "
            f"0 to {n_classes - 1}."
        )
    return label.astype(np.int64)


def check_share(value: float, what: str) -> None:
    """Refuse a share that does not lie between 0 and 1, or is NaN, with a ValueError."""
    if not 0 <= value <= 1:
        raise ValueError(f"{what} is {value}; it must lie between 0 and 1.")


def check_count(value: Any, what: str, least: int = 1) -> int:
    """A number of draws, runs or parts; what is none is refused with a ValueError."""
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{what} must be a whole number of at least {least}; got {value!r}.")
    return int(value)


def check_rng(rng: Any, what: str = "this") -> np.random.Generator:
    """A generator of random numbers; a seed, or none, is refused with a ValueError."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"{what} needs a generator rng; pass a numpy.random.Generator.")
    return rng


def _first_row(wrong: BoolArray) -> tuple[tuple[int, ...], str]:
    """Where something is wrong first, and what errors call it: nothing, if there is one row."""
    row = tuple(int(i) for i in np.argwhere(wrong)[0])
    return row, f"row {row[0] if len(row) == 1 else row}" if row else ""


def unmasked(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """As an array; a masked value is refused, for NumPy would go on with what lies under it."""
    if np.ma.is_masked(values):
        raise ValueError("a value is masked; fill masked arrays before passing them.")
    return np.asarray(values)
