"""A panel of one's own: two CSV files, checked until every problem in them has a name.

What can be mended is mended, what cannot is left out, and both are told. Only what leaves
nothing to work with is an error, and it names the file.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from siscm.beyond.own_features import Kind, read_features
from siscm.beyond.own_files import Problems, read_csv, told
from siscm.beyond.own_opinions import clean_opinions, in_order, numeric_order
from siscm.names import plain, refuse_no_list
from siscm.opinions import Opinions

FEW_OPINIONS = 5
"""With fewer, an expert is hardly known, and is described as the others are."""

FEW_MEETINGS = 50
"""With fewer pairs of opinions on one instance, little can be said about sharing."""

LEAST_TWICE = 4
"""Instances with two opinions that learning and judging out-of-fold take at least."""


@dataclass(frozen=True, eq=False, repr=False)
class OwnPanel:
    """What a user's files hold, after everything that could be mended was.

    Parameters
    ----------
    opinions
        Of all instances that either file knows, so some may have none.
    X
        Features of all instances, gaps filled; no column if there are none.
    kinds
        What each column of ``X`` holds: ``"number"``, ``"category"`` or ``"text"``.
    """

    opinions: Opinions
    X: pd.DataFrame
    kinds: dict[Hashable, Kind]

    def cases(self, few: int = 1) -> pd.Index[Any]:
        """New cases: the instances with at most so many opinions, the fewest first.

        Without any, a tenth of the instances, twenty at most, with the fewest opinions, so that
        there is something to look at; but none that every expert has spoken about, for there
        nobody is left to ask.
        """
        counts = self.opinions.n_by_instance
        order = np.argsort(counts, kind="stable")
        n, n_open = int((counts <= few).sum()), int((counts < len(self.opinions.experts)).sum())
        return self.opinions.instances[order[: n or min(20, -(-len(counts) // 10), n_open)]]


@dataclass(frozen=True, eq=False, repr=False)
class Checked:
    """What was found in the files: problems, and a panel unless one of them is fatal."""

    _found: Problems
    _panel: OwnPanel | None

    @cached_property
    def problems(self) -> pd.DataFrame:
        """A row a problem: see :func:`check_files`."""
        return self._found.table()

    @property
    def panel(self) -> OwnPanel:
        """The panel.

        Raises
        ------
        ValueError
            If there is a fatal problem; names all that are, with file and what to do.
        """
        self._found.refuse()
        assert self._panel is not None
        return self._panel


def check_files(
    opinions: str | Path,
    features: str | Path | None = None,
    *,
    instance: str = "instance",
    expert: str = "expert",
    label: str = "label",
    order: Sequence[str] | None = None,
    kinds: dict[str, Kind] | None = None,
) -> Checked:
    """Read a CSV of opinions, and one of features if there is one; name every problem.

    Parameters
    ----------
    opinions
        One row an opinion.
    features
        One row an instance: numbers, categories, texts, with or without gaps.
    instance, expert, label
        Names of the columns of the opinions; ``instance`` also of the features.
    order
        The labels from the lowest to the highest, if they have an order. Labels that are numbers
        are put in theirs anyway.
    kinds
        What columns of features hold, where it is not to be guessed: ``"number"``,
        ``"category"`` or ``"text"``.

    Returns
    -------
    Checked
        ``problems``, a table with a row a problem: ``outcome`` (fatal, left out, mended, or look),
        ``file``, ``problem``, ``where``, ``how many``, ``what to do``. And ``panel``, an error
        if a problem is fatal.

    Raises
    ------
    TypeError
        If ``order`` is no list: a set has no order.
    """
    if order is not None:
        refuse_no_list(order, "order", "label")
    problems = Problems(Path(opinions).name)
    columns = {"instance": str(instance), "expert": str(expert), "label": str(label)}
    table = read_csv(Path(opinions), problems, list(columns.values()))
    said = None if table is None else clean_opinions(table, columns, problems)
    described = None
    if features is not None:
        about = None if said is None else set(said["instance"])
        others = Problems(Path(features).name, problems.found)
        given = {} if kinds is None else kinds
        described = read_features(Path(features), columns, about, given, others)
    if said is None or said.empty:
        return Checked(problems, None)
    if described is None:
        names = pd.Index(sorted(said["instance"].unique()), name="instance")
        X, found = pd.DataFrame(index=names), dict[Hashable, Kind]()
    else:
        X, found = described
        said = _with_features(said, X, problems)
    labels = None if order is None else in_order(said, order, problems)
    numbers = numeric_order(said["label"]) if labels is None else None
    instances = None if problems.fatal else X.index
    cleaned = Opinions.from_long(said, instances=instances, classes=labels or numbers)
    _thin_places(cleaned, problems)
    if problems.fatal:
        return Checked(problems, None)
    return Checked(problems, OwnPanel(cleaned, X, found))


def _with_features(said: pd.DataFrame, X: pd.DataFrame, problems: Problems) -> pd.DataFrame:
    """The opinions about instances that have features."""
    known = said["instance"].isin(X.index)
    lacking = said.loc[~known, "instance"].unique()
    there = "".join(f" (there, the first is {told(name)!r})" for name in X.index[:1])
    advice = (
        f"Write ids alike in both files{there}; add rows to the features; or set FEATURES = None."
    )
    if not known.any():
        trouble = "no instance with opinions is in the file of features"
        problems.add("fatal", trouble, advice, map(told, lacking))
        return said
    problems.add("left out", "instances without features", advice, map(told, lacking))
    return said[known]


def _thin_places(opinions: Opinions, problems: Problems) -> None:
    """Name what leaves too little to learn from; fatal if there is nothing at all."""
    votes = opinions.n_by_instance
    meetings = int((votes * (votes - 1) // 2).sum())
    _too_thin(opinions, meetings, problems)
    for trouble, (who, advice) in _thin_parts(opinions).items():
        problems.add("look", trouble, advice, map(told, who))
    if 0 < meetings < FEW_MEETINGS:
        trouble = f"only {meetings} pair(s) of opinions are about one instance"
        advice = "Do not trust intervals: they are too narrow. Have more instances judged twice."
        problems.add("look", trouble, advice)
    if len(opinions.experts) > len(opinions.instances):
        trouble = f"more experts ({len(opinions.experts):,}) than instances"
        problems.add("look", trouble, "Look whether the two columns are exchanged.")


def _too_thin(opinions: Opinions, meetings: int, problems: Problems) -> None:
    """The fatal problems: one label, one expert, nobody meets, or too seldom."""
    used = opinions.votes.sum(axis=0)
    if (used > 0).sum() < 2:
        only = told(plain(opinions.classes[int(used.argmax())]))
        advice = "Add opinions that say something else; there is nothing to infer."
        problems.add("fatal", f"everybody says {only!r}", advice)
    if len(opinions.experts) < 2:
        only = told(plain(opinions.experts[0])) if len(opinions.experts) else "nobody"
        advice = "A second opinion takes a second expert; look whether expert= is right."
        problems.add("fatal", f"all opinions are by {only!r}", advice)
    if not meetings:
        advice = "Have some instances judged twice; look whether instance= is right."
        problems.add("fatal", "no two experts have an instance in common", advice)
    elif (opinions.n_by_instance > 1).sum() < LEAST_TWICE:
        trouble = f"fewer than {LEAST_TWICE} instances have two opinions or more"
        advice = "Have more instances judged twice: too little to learn from, or to judge by."
        problems.add("fatal", trouble, advice)


def _thin_parts(opinions: Opinions) -> dict[str, tuple[pd.Index[Any], str]]:
    """What is thin: which labels, experts or instances are, and what to do."""
    said, given, votes = opinions.tallies, opinions.n_by_expert, opinions.n_by_instance
    used, one_label = said.sum(axis=0), (said > 0).sum(axis=1) == 1
    met = np.isin(np.arange(len(given)), opinions.expert_codes[votes[opinions.instance_codes] > 1])
    experts = opinions.experts
    return {
        "labels used only once": (
            opinions.classes[used == 1],
            "Merge them with others, or leave them: they stay unlikely.",
        ),
        "labels that nobody used": (opinions.classes[used == 0], "Nothing: they stay unlikely."),
        f"experts with fewer than {FEW_OPINIONS} opinions": (
            experts[given < FEW_OPINIONS],
            "Nothing; they are described mostly as the others are.",
        ),
        "experts who only ever say one label": (
            experts[one_label & (given >= FEW_OPINIONS)],
            "Look whether they meant it.",
        ),
        "experts who met nobody on an instance": (
            experts[~met],
            "Nothing; their sharing is taken to be that of the others.",
        ),
        "instances with one opinion": (
            opinions.instances[votes == 1],
            "Nothing: they are learned from, and taken for new cases.",
        ),
    }
