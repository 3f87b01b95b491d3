"""The files of the shared task Le-Wi-Di 2023: read item by item, every item checked.

A file is one JSON object: an item number for each key, and under it the text, who was asked
(``annotators``), what each said (``annotations``, in the same order) and what else is known.
Errors name file, item and expert, never the text, which can offend.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NoReturn

import pandas as pd

from siscm.data.json_text import read_json

_LABELS = {"0": 0, "1": 1}
_GROUPS = {"target group": "target", "control group": "control"}


def read_items(content: bytes, path: str, split: str, task: str, grouped: bool) -> pd.DataFrame:
    """The annotations of one file, in its order, each checked.

    Parameters
    ----------
    content
        The file.
    path, split
        Its name, for errors, and the split that every item in it must belong to.
    task
        What the experts were asked, in the file's words.
    grouped
        Whether items tell the group of each expert; if not, they tell a domain.

    Returns
    -------
    DataFrame
        A row for each expert asked about an item, and as many as the file has if it repeats
        itself: ``where`` (file and item, for error messages), ``instance`` (split and number, such
        as ``train-17``), ``split``, ``text``, ``domain``, ``expert``, ``label``, ``group``. What
        the panel does not tell, domains or groups, is empty.

    Raises
    ------
    ValueError
        If the file is not JSON of this form, or if an item contradicts itself.
    """
    items = read_json(content, path)
    if not isinstance(items, dict) or not items:
        raise ValueError(f"{path} should be one JSON object with an item a key; it is not.")
    read = (_read_item(number, item, path, split, task, grouped) for number, item in items.items())
    rows = pd.DataFrame(chain.from_iterable(read))
    refuse_contradictions(rows, ["instance", "expert"], "label")
    refuse_contradictions(rows, ["expert"], "group")
    return rows


def refuse_contradictions(rows: pd.DataFrame, key: list[str], column: str) -> None:
    """Refuse annotations that differ in a column although they have the same key.

    Parameters
    ----------
    rows
        A row an annotation; ``where`` and ``expert`` name it in the error.
    key
        The columns that say which annotations belong together.
    column
        What must then be the same.
    """
    first = rows.groupby(key, sort=False)[column].transform("first")
    differs = rows[column] != first
    if differs.any():
        i = rows.index[differs][0]
        where, expert, value = rows.loc[i, ["where", "expert", column]]
        _refuse(where, f"expert {expert!r} has the {column} {value}, but {first[i]} before")


def _refuse(where: str, problem: str) -> NoReturn:
    raise ValueError(f"{where}: {problem}.")


def _read_item(
    number: str, item: Any, path: str, split: str, task: str, grouped: bool
) -> list[dict[str, Any]]:
    where = f"{path}, item {number!r}"
    text = _get(item, "text", str, where)
    if not text.strip():
        _refuse(where, "it has no text")
    for key, expected in (("split", split), ("annotation task", task)):
        found = _get(item, key, str, where)
        if found != expected:
            _refuse(where, f"its {key} is {found!r}, not {expected!r}")
    experts = [name.strip() for name in _get(item, "annotators", str, where).split(",")]
    answers = _get(item, "annotations", str, where).split(",")
    n = _get(item, "number of annotations", int, where)
    if not len(experts) == len(answers) == n:
        listed = f"{len(experts)} experts, {len(answers)} annotations and the number {n}"
        _refuse(where, f"it lists {listed}")
    for expert, answer in zip(experts, answers, strict=True):
        if not expert:
            _refuse(where, "an expert has no id")
        if answer not in _LABELS:
            _refuse(where, f"expert {expert!r} said {answer!r}, which is neither '0' nor '1'")
    _check_sums(item, answers.count("1") / n, where)
    info = _get(item, "other_info", dict, where)
    domain = "" if grouped else _get(info, "domain", str, where)
    groups = _read_groups(info, experts, where) if grouped else [""] * n
    about = {"where": where, "instance": f"{split}-{number}", "split": split, "text": text}
    return [
        {**about, "domain": domain, "expert": expert, "label": _LABELS[answer], "group": group}
        for expert, answer, group in zip(experts, answers, groups, strict=True)
    ]


def _get(content: Any, key: str, kind: type, where: str) -> Any:
    """``content[key]``, refused if it is missing or of another type (a bool is no int)."""
    if not isinstance(content, dict):
        _refuse(where, f"expected an object with the key {key!r}, found {type(content).__name__}")
    if key not in content:
        _refuse(where, f"the key {key!r} is missing")
    value = content[key]
    if type(value) is not kind:
        _refuse(where, f"{key!r} holds {type(value).__name__}, not {kind.__name__}")
    return value


def _check_sums(item: dict[str, Any], ones: float, where: str) -> None:
    """Refuse an item whose summaries, where it has them, are not those of its annotations."""
    if "hard_label" in item:
        hard = _get(item, "hard_label", str, where)
        if hard not in _LABELS or abs(_LABELS[hard] - ones) > 0.5:  # a tie goes either way
            _refuse(where, f"its hard_label is {hard!r}, but {ones:.0%} of its annotations are 1")
    if "soft_label" in item:
        soft = _get(item, "soft_label", dict, where)
        for label, share in (("0", 1 - ones), ("1", ones)):
            found = _get(soft, label, float, where)
            if not abs(found - share) < 0.0051:  # it has two decimal places
                _refuse(
                    where,
                    f"its soft_label for {label} is {found}, but {share:.2f} of its annotations "
                    "are that",
                )


def _read_groups(info: dict[str, Any], experts: list[str], where: str) -> list[str]:
    """The known group of each expert of an item."""
    codes = _get(info, "annotators group", str, where).split(",")
    if len(codes) != len(experts):
        _refuse(where, f"it lists {len(experts)} experts, but {len(codes)} groups of experts")
    groups = [_get(info, code, str, where) for code in codes]
    for expert, group in zip(experts, groups, strict=True):
        if group not in _GROUPS:
            _refuse(where, f"expert {expert!r} is in the unknown group {group!r}")
    return [_GROUPS[group] for group in groups]
