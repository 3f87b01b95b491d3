"""Where a user's panel is thin: labels, experts and instances of which little can be learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from siscm.checks import BoolArray
from siscm.names import plain
from siscm.opinions import Opinions
from siscm.own_files import Problems

FEW_OPINIONS = 5
"""With fewer, an expert is hardly known, and is described as the others are."""

FEW_MEETINGS = 50
"""With fewer pairs of opinions on one instance, little can be said about sharing."""

LEAST_TWICE = 4
"""Instances with two opinions that learning and judging out-of-fold take at least."""


def thin_places(opinions: Opinions, file: str, problems: Problems) -> None:
    """Name what leaves too little to learn from; fatal if there is nothing at all."""
    votes = opinions.n_by_instance
    meetings = int((votes * (votes - 1) // 2).sum())
    _refuse(opinions, meetings, file, problems)
    for trouble, who, advice in _thin_parts(opinions):
        if len(who):
            problems.add("look", file, trouble, who.tolist(), advice)
    if 0 < meetings < FEW_MEETINGS:
        trouble = f"only {meetings} pair(s) of opinions are about one instance"
        advice = "Expect wide intervals; have more instances judged twice."
        problems.add("look", file, trouble, [], advice)
    if len(opinions.experts) > len(opinions.instances):
        trouble = f"more experts ({len(opinions.experts):,}) than instances"
        advice = "Look whether the two columns are exchanged."
        problems.add("look", file, trouble, [], advice)


def _refuse(opinions: Opinions, meetings: int, file: str, problems: Problems) -> None:
    """The fatal problems: one label, one expert, nobody meets, or too seldom."""
    used = opinions.votes.sum(axis=0)
    if (used > 0).sum() < 2:
        only = plain(opinions.classes[int(used.argmax())])
        advice = "Add opinions that say something else; there is nothing to infer."
        problems.add("fatal", file, f"everybody says {only!r}", [], advice)
    if len(opinions.experts) < 2:
        only = plain(opinions.experts[0]) if len(opinions.experts) else "nobody"
        advice = "A second opinion takes a second expert; look whether expert= is right."
        problems.add("fatal", file, f"all opinions are by {only!r}", [], advice)
    if not meetings:
        trouble = "no two experts have an instance in common"
        advice = "Have some instances judged twice; look whether instance= is right."
        problems.add("fatal", file, trouble, [], advice)
    elif (opinions.n_by_instance > 1).sum() < LEAST_TWICE:
        trouble = f"fewer than {LEAST_TWICE} instances have two opinions or more"
        advice = "Have more instances judged twice: too little to learn from, or to judge by."
        problems.add("fatal", file, trouble, [], advice)


def _thin_parts(opinions: Opinions) -> list[tuple[str, pd.Index[Any], str]]:
    """What is thin, which labels, experts or instances are, and what to do."""
    used, given, votes = opinions.votes.sum(axis=0), opinions.n_by_expert, opinions.n_by_instance
    met = np.isin(np.arange(len(given)), opinions.expert_codes[votes[opinions.instance_codes] > 1])
    return [
        (
            "labels used only once",
            opinions.classes[used == 1],
            "Merge them with others, or leave them: they stay unlikely.",
        ),
        (
            "labels that nobody used",
            opinions.classes[used == 0],
            "Nothing: they stay unlikely.",
        ),
        (
            f"experts with fewer than {FEW_OPINIONS} opinions",
            opinions.experts[given < FEW_OPINIONS],
            "Nothing; they are described mostly as the others are.",
        ),
        (
            "experts who only ever say one label",
            opinions.experts[_one_label(opinions) & (given >= FEW_OPINIONS)],
            "Look whether they meant it.",
        ),
        (
            "experts who met nobody on an instance",
            opinions.experts[~met],
            "Nothing; their sharing is taken to be that of the others.",
        ),
        (
            "instances with one opinion",
            opinions.instances[votes == 1],
            "Nothing: they are taken for new cases.",
        ),
    ]


def _one_label(opinions: Opinions) -> BoolArray:
    """(H,): whether each expert says the same about everything."""
    pairs = np.unique(np.stack([opinions.expert_codes, opinions.label_codes]), axis=1)
    return np.asarray(np.bincount(pairs[0], minlength=len(opinions.experts)) == 1)
