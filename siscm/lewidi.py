"""The files of the shared task Le-Wi-Di 2023: read item by item, every item checked.

A file is one JSON object: an item number for each key, and under it the text, who was asked
(``annotators``), what each said (``annotations``, in the same order) and what else is known.
Errors name file, item and expert, never the text, which can offend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from siscm.json_text import read_json

_LABELS = {"0": 0, "1": 1}
_GROUPS = {"target group": "target", "control group": "control"}


@dataclass(frozen=True, repr=False)
class Item:
    """One text and what was said about it.

    Parameters
    ----------
    instance
        Its id: split and item number, such as ``train-17``.
    where
        File and item, for error messages.
    split, text
        As in the file.
    said
        The label of each expert who was asked.
    n_merged
        How many opinions repeated an equal one of the same expert.
    domain
        What the text is about, if the panel has domains; otherwise empty.
    group
        The known group of each expert, if the panel tells.
    """

    instance: str
    where: str
    split: str
    text: str
    said: dict[str, int]
    n_merged: int
    domain: str = ""
    group: dict[str, str] = field(default_factory=dict)


def read_items(content: bytes, path: str, split: str, task: str, grouped: bool) -> list[Item]:
    """The items of one file, in its order, each checked.

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

    Raises
    ------
    ValueError
        If the file is not JSON of this form, or if an item contradicts itself.
    """
    items = read_json(content, path)
    if not isinstance(items, dict) or not items:
        raise ValueError(f"{path} should be one JSON object with an item a key; it is not.")
    return [_read_item(number, item, path, split, task, grouped) for number, item in items.items()]


def known_groups(items: Sequence[Item]) -> dict[str, str]:
    """The group of each expert, refused if two items disagree about it."""
    groups: dict[str, str] = {}
    for item in items:
        for expert, group in item.group.items():
            if groups.setdefault(expert, group) != group:
                _refuse(
                    item.where,
                    f"expert {expert!r} is in the {group} group, but in the "
                    f"{groups[expert]} group of an item before",
                )
    return groups


def _refuse(where: str, problem: str) -> NoReturn:
    raise ValueError(f"{where}: {problem}.")


def _read_item(number: str, item: Any, path: str, split: str, task: str, grouped: bool) -> Item:
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
    n_given = _get(item, "number of annotations", int, where)
    if not len(experts) == len(answers) == n_given:
        _refuse(
            where,
            f"it lists {len(experts)} experts, {len(answers)} annotations and the number {n_given}",
        )
    said = _pair_up(experts, answers, where)
    _check_sums(item, answers.count("1") / n_given, where)
    info = _get(item, "other_info", dict, where)
    return Item(
        instance=f"{split}-{number}",
        where=where,
        split=split,
        text=text,
        said=said,
        n_merged=n_given - len(said),
        domain="" if grouped else _get(info, "domain", str, where),
        group=_read_groups(info, experts, where) if grouped else {},
    )


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


def _pair_up(experts: list[str], answers: list[str], where: str) -> dict[str, int]:
    """What each expert said; an equal repeat counts once."""
    said: dict[str, int] = {}
    for expert, answer in zip(experts, answers, strict=True):
        if not expert:
            _refuse(where, "an expert has no id")
        if answer not in _LABELS:
            _refuse(where, f"expert {expert!r} said {answer!r}, which is neither '0' nor '1'")
        if said.setdefault(expert, _LABELS[answer]) != _LABELS[answer]:
            _refuse(where, f"expert {expert!r} contradicts herself: both 0 and 1")
    return said


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


def _read_groups(info: dict[str, Any], experts: list[str], where: str) -> dict[str, str]:
    """The known group of each expert of an item."""
    codes = _get(info, "annotators group", str, where).split(",")
    if len(codes) != len(experts):
        _refuse(where, f"it lists {len(experts)} experts, but {len(codes)} groups of experts")
    groups: dict[str, str] = {}
    for expert, code in zip(experts, codes, strict=True):
        group = _get(info, code, str, where)
        if group not in _GROUPS:
            _refuse(where, f"expert {expert!r} is in the unknown group {group!r}")
        if groups.setdefault(expert, _GROUPS[group]) != _GROUPS[group]:
            _refuse(where, f"expert {expert!r} is in both groups")
    return groups
