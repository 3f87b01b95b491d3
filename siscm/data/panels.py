"""Panels of identified experts who gave opinions on texts: the real ones, and the switch.

The real ones are two of the shared task Le-Wi-Di 2023. Their texts can offend, so nothing here
ever prints one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import log_expit

from siscm.data import registry
from siscm.data.lewidi import read_items, refuse_contradictions
from siscm.data.sources import lewidi_path
from siscm.names import find_all
from siscm.opinions import Opinions

PanelName = Literal["HS-Brexit", "MD-Agreement"]
"""The panels of texts."""

SPLITS = ("train", "dev", "test")
"""The parts of a panel, as the shared task splits it."""


@dataclass(frozen=True)
class Question:
    """What the experts of a panel were asked.

    Parameters
    ----------
    task
        What the files call it.
    text
        The question in words.
    label_names
        What the labels 0 and 1 mean.
    """

    task: str
    text: str
    label_names: tuple[str, str]


QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        "HS-Brexit": Question(
            "hate speech detection", "Is this hate speech?", ("no hate speech", "hate speech")
        ),
        "MD-Agreement": Question(
            "offensiveness detection", "Is this offensive?", ("not offensive", "offensive")
        ),
    }
)
"""The question of each panel."""


def question_of(name: str) -> Question:
    """The question of a panel, refused if there is no such panel."""
    if name not in QUESTIONS:
        raise ValueError(f"there is no panel {name!r}; there are {', '.join(QUESTIONS)}.")
    return QUESTIONS[name]


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What a simulated panel was drawn from; nobody knows it of a real one.

    Parameters
    ----------
    groups
        Who shares noise with whom: tuples of expert ids that cover all experts once.
    features, slopes, intercepts
        DataFrames (n, f) by instance and (H, f) by expert, Series (H,) by expert: expert h says
        1 about x with log-odds ``intercepts[h] + slopes[h] @ features[x]``.
    """

    groups: tuple[tuple[str, ...], ...]
    features: pd.DataFrame
    slopes: pd.DataFrame
    intercepts: pd.Series[float]

    def log_marginals(self, opinions: Opinions) -> npt.NDArray[np.float64]:
        """True log-marginals, one row an opinion: (n_opinions, 2), in the order of ``to_long()``.

        ``opinions`` may be any part of the panel's.
        """
        problem = "is not in the panel."
        i = find_all(opinions.instances, self.features.index, "instance", problem)
        h = find_all(opinions.experts, self.slopes.index, "expert", problem)
        i, h = i[opinions.instance_codes], h[opinions.expert_codes]
        log_odds = self.intercepts.to_numpy()[h] + np.einsum(
            "...f,...f->...", self.features.to_numpy()[i], self.slopes.to_numpy()[h]
        )
        return np.stack([log_expit(-log_odds), log_expit(log_odds)], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Texts, what experts said about each, and what is known about the experts.

    Parameters
    ----------
    name
        Which panel it is, or is shaped like.
    source
        ``"real"`` or ``"simulated"``.
    question
        What the experts were asked.
    instances
        One row an instance, indexed by ids such as ``train-17``: ``text``, ``split``, and
        ``domain`` where the panel has domains.
    opinions
        What the experts said: labels 0 and 1.
    experts
        One row an expert: ``group`` where the panel tells (HS-Brexit: ``target``, of those whom
        the hate is aimed at, or ``control``); no column otherwise.
    n_merged
        How many opinions repeated an equal one and were counted once.
    files
        Path and SHA-256 of each file read; empty if simulated.
    truth
        What a simulated panel was drawn from; None if real.
    """

    name: PanelName
    source: Literal["real", "simulated"]
    question: Question
    instances: pd.DataFrame
    opinions: Opinions
    experts: pd.DataFrame
    n_merged: int = 0
    files: dict[str, str] = field(default_factory=dict)
    truth: Truth | None = None

    def part(self, *splits: str) -> Opinions:
        """The opinions about the instances of some splits; all experts stay.

        The texts in the same order: ``panel.instances["text"].loc[part.instances]``.

        Raises
        ------
        ValueError
            If there is no such split.
        """
        for split in splits:
            if split not in SPLITS:
                raise ValueError(f"there is no split {split!r}; there are {', '.join(SPLITS)}.")
        wanted = self.instances["split"].isin(splits)
        return self.opinions.select(instances=self.instances.index[wanted])

    @property
    def known_groups(self) -> list[list[Hashable]]:
        """The groups that the panel tells of its experts; none if it tells none."""
        if "group" not in self.experts:
            return []
        return [list(members.index) for _, members in self.experts.groupby("group")]

    def __repr__(self) -> str:
        return (
            f"<Panel {self.name}, {self.source}: {len(self.opinions):,} opinions by "
            f"{len(self.experts):,} experts about {len(self.instances):,} texts>"
        )


def load_panel(name: PanelName, seed: int = 0) -> Panel:
    """The real panel, or a simulated one of its shape: what ``SISCM_DATA`` says.

    Parameters
    ----------
    name
        ``"HS-Brexit"`` or ``"MD-Agreement"``.
    seed
        Seed of the simulated panel; the real one has none.

    Raises
    ------
    ValueError
        If ``SISCM_DATA`` or the name is unknown.
    FileNotFoundError
        If the real panel is wanted and a file is missing; says how to get it.
    """
    from siscm.data import simulate  # it builds panels, so it imports this module

    if registry.setting() == "real":
        return load_lewidi(name)
    return simulate.simulate_panel(name, np.random.default_rng(seed))


def load_lewidi(name: PanelName) -> Panel:
    """A real panel, from the files of the shared task Le-Wi-Di 2023.

    HS-Brexit: 1,120 tweets, six experts on every one, three of them from the group that the hate
    is aimed at. MD-Agreement: 10,753 tweets of three domains, five of 819 experts on each.

    Parameters
    ----------
    name
        ``"HS-Brexit"`` or ``"MD-Agreement"``.

    Returns
    -------
    Panel
        Instances in the order of the files, train, dev, test; experts in the order of their
        numbers.

    Raises
    ------
    FileNotFoundError
        If a file is not in the data folder; says how to get it.
    ValueError
        If a file is not the one expected, or an item in it is not as documented or contradicts
        itself; names file and item.
    """
    question = question_of(name)
    files, read = {}, []
    grouped = name == "HS-Brexit"
    for split in SPLITS:
        path = lewidi_path(name, split)
        content = registry.locate(path).read_bytes()
        read.append(read_items(content, path, split, question.task, grouped))
        files[path] = registry.ENTRIES[path].sha256
    rows = pd.concat(read, ignore_index=True)
    given = rows.drop_duplicates(["instance", "expert"])
    known = ["text", "split"] if grouped else ["text", "split", "domain"]
    instances = rows.drop_duplicates("instance").set_index("instance")[known]
    refuse_contradictions(rows, ["expert"], "group")
    experts = rows.drop_duplicates("expert").set_index("expert")[["group"] if grouped else []]
    # Shorter ids first: Ann9 before Ann10.
    experts = experts.loc[sorted(experts.index, key=lambda expert: (len(expert), expert))]
    return Panel(
        name=name,
        source="real",
        question=question,
        instances=instances,
        opinions=Opinions.from_long(
            given, instances=instances.index, experts=experts.index, classes=(0, 1)
        ),
        experts=experts,
        n_merged=len(rows) - len(given),
        files=files,
    )
