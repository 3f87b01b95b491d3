"""Features and opinions about the same instances, brought into one order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_list_like

from siscm.checks import IntArray
from siscm.marginals import Features
from siscm.names import as_index, find, find_all, gaps, plain
from siscm.opinions import NOT_ASKED, Opinions
from siscm.pairs import check_opinions
from siscm.partition import group_of

_LARGEST = np.float64(1e100)
"""Numbers beyond overflow when a classifier sums up their squares."""


def align_features(X: Any, instances: pd.Index[Any] | None) -> Features:
    """Features with a row an instance, in the order of ``instances``.

    Parameters
    ----------
    X
        A DataFrame indexed by instance, aligned by id; or an array already in that order.
    instances
        The instances in question; None if only the features know them.

    Raises
    ------
    ValueError
        If an instance is missing, extra or stands twice, if the number of rows is wrong, if ``X``
        is not a table, if a value is missing, infinite or beyond 1e100, or if a feature stands
        twice; the error names the row or the feature.
    """
    if isinstance(X, pd.DataFrame):
        return _align_table(X, instances)
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(
            f"X is a {type(X).__name__} of shape {np.shape(X)}; it must be a DataFrame or a "
            "two-dimensional array (instances, features); of a sparse one pass X.toarray()."
        )
    if instances is not None and len(values) != len(instances):
        raise ValueError(
            f"X has {len(values)} rows, but the opinions are about {len(instances)} instances; "
            "pass one row for each, in the order of opinions.instances, or a DataFrame indexed "
            "by instance."
        )
    table = pd.DataFrame(values, index=instances)
    _refuse_unusable(table.mask(np.ma.getmaskarray(X)) if np.ma.is_masked(X) else table)
    return values


def _align_table(X: pd.DataFrame, instances: pd.Index[Any] | None) -> pd.DataFrame:
    for names, what in ((X.index, "instance"), (X.columns, "feature")):
        if not names.is_unique:
            raise ValueError(
                f"{what} {plain(names[names.duplicated()][0])!r} stands twice in X; keep one, or "
                "rename the other."
            )
    if instances is not None:
        remedy = (
            ". X is aligned by its index: if a column holds the ids, use X.set_index(that column); "
            "ids must be of one type."
        )
        lacking = f"has opinions but no features: add its row to X{remedy}"
        extra = (
            "has features but is not among opinions.instances: use X.loc[opinions.instances]"
            f"{remedy}"
        )
        rows = find_all(instances, X.index, "instance", lacking)
        find_all(X.index, instances, "instance", extra)
        X = X.iloc[rows]
    _refuse_unusable(X)
    return X


def _refuse_unusable(X: pd.DataFrame) -> None:
    far = X.infer_objects().select_dtypes("number", exclude="timedelta").abs() > _LARGEST
    far = far.reindex(columns=X.columns, fill_value=False)
    wrong = (X.isna() | X.isin([np.inf, -np.inf]) | far).to_numpy(dtype=bool)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"X holds {plain(X.iat[row, column])!r} for instance {plain(X.index[row])!r}, feature "
            f"{plain(X.columns[column])!r} ({int(wrong.any(axis=1).sum())} such row(s)); impute or "
            f"drop them, and rescale numbers beyond {_LARGEST:g}, whose squares overflow."
        )


def align_columns(X: Features, names: list[Any] | None, n_features: int) -> Features:
    """Checked features with the columns of training.

    Parameters
    ----------
    X
        As from :func:`align_features`.
    names
        The columns of training in their order; None if those features had no names. Features
        without names are taken to be in that order.
    n_features
        How many there were.

    Raises
    ------
    ValueError
        If a feature is missing or extra; the error names it.
    """
    if isinstance(X, pd.DataFrame) and names is not None:
        if odd := set(X.columns) ^ set(names):
            first = min(odd, key=str)
            where = "is missing from X" if first in names else "in X was not in training"
            raise ValueError(
                f"feature {plain(first)!r} {where}; pass the columns that the model was fitted on."
            )
        return X[names]
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features; the model was fitted on {n_features}.")
    if isinstance(X, pd.DataFrame):
        return X.to_numpy()
    return X if names is None else pd.DataFrame(X, columns=names)


def align_observed(
    observed: Opinions | Mapping[Any, Any],
    instances: pd.Index[Any],
    experts: npt.NDArray[Any],
    classes: npt.NDArray[Any],
) -> IntArray:
    """Observed opinions as label codes (n, H), -1 where nobody was asked.

    Parameters
    ----------
    observed
        Opinions on exactly these instances, in any order; or, for each expert asked, one label
        for all instances or one for each: ``{expert: label(s)}``. Labels are taken in the order
        of ``instances``; a Series must have them as its index, in that order. A missing label
        means that she was not asked.
    instances, experts, classes
        The order of the result, and the labels behind its codes.

    Raises
    ------
    TypeError
        If ``observed`` is neither.
    ValueError
        If an expert or a label was not seen in training, if the instances differ, or if there is
        not one label for each instance.
    """
    codes = np.full((len(instances), len(experts)), NOT_ASKED, dtype=np.int64)
    if isinstance(observed, Opinions):
        problem = (
            "is in only one of X and the observed opinions; both must be about the same instances."
        )
        rows = find_all(observed.instances, instances, "instance", problem)
        find_all(instances, observed.instances, "instance", problem)
        table = observed.to_long()
        columns = _known(table["expert"].tolist(), experts, "expert")
        labels = _known(table["label"].tolist(), classes, "label")
        codes[rows[observed.instance_codes], columns] = labels
    elif isinstance(observed, Mapping):
        columns = _known(list(observed), experts, "expert")
        for column, (expert, said) in zip(columns, observed.items(), strict=True):
            given = pd.Series(_label_list(said, instances, expert), dtype=object)
            asked = ~gaps(given.to_numpy())
            codes[asked, column] = _known(given[asked].tolist(), classes, "label")
    else:
        raise TypeError(
            f"observed is a {type(observed).__name__}; pass opinions (Opinions.from_long(table) or "
            "Opinions.from_wide(table)) or {expert: label(s)}."
        )
    return codes


def _label_list(said: Any, instances: pd.Index[Any], expert: Hashable) -> list[Any]:
    """What one expert said about each instance."""
    if isinstance(said, Mapping):
        raise ValueError(f"expert {expert!r}: pass a list of labels in the order of the rows of X.")
    if not is_list_like(said, allow_sets=False):
        return [said] * len(instances)
    labels = [None if label is np.ma.masked else label for label in said]
    if len(labels) != len(instances):
        raise ValueError(
            f"expert {expert!r}: {len(labels)} labels for {len(instances)} instances; pass one "
            "label, or one for each row of X."
        )
    if isinstance(said, pd.Series):
        moved = find(said.index, instances, "instance") != np.arange(len(instances))
        if moved.any():
            row = int(moved.argmax())
            raise ValueError(
                f"expert {expert!r}: row {row} of the labels is about {plain(said.index[row])!r}, "
                f"row {row} of X about {plain(instances[row])!r}; reorder the labels with "
                ".loc[X.index], or drop their index with .to_numpy() if the order is right."
            )
    return labels


def _known(names: list[Any], known: npt.NDArray[Any], role: str, remedy: str = "") -> IntArray:
    """Codes of names that must have been seen in training."""
    some = f"{[plain(name) for name in known[:10]]}{' ...' if len(known) > 10 else ''}"
    problem = f"was not seen in training; the {role}s known are {some}.{remedy}"
    return find_all(names, known, role, problem)


def align_experts(
    opinions: Opinions, experts: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> IntArray:
    """Where each expert of some opinions stands among those of training.

    Parameters
    ----------
    opinions
        Whose experts and classes are looked up.
    experts, classes
        Those of training.

    Raises
    ------
    ValueError
        If an expert is unknown, or the classes are not those of training.
    """
    check_opinions(opinions)
    if not opinions.classes.equals(as_index(classes)):
        raise ValueError(
            f"the opinions have the classes {list(opinions.classes)}; the model was fitted "
            f"with {list(as_index(classes))}. Build them with classes=model.classes_."
        )
    known = " Keep those of training only: opinions.select(experts=...)."
    return _known(opinions.experts.tolist(), experts, "expert", known)


def align_partition(
    partition: Sequence[Sequence[Hashable]], experts: Iterable[Hashable]
) -> list[list[int]]:
    """Groups of expert ids that a caller gave, as sorted positions in ``experts``.

    Parameters
    ----------
    partition
        Lists of expert ids.
    experts
        All of them, in the order of the positions.

    Raises
    ------
    ValueError
        If it is not a list of lists, or not a partition of the experts; the error names whom.
    """
    number = group_of(partition, experts)
    return [np.flatnonzero(number == group).tolist() for group in range(len(partition))]
