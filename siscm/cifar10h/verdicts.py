"""What a run on the real CIFAR-10H is judged by: its figures, the paper's, and a verdict on each.

Figures and tolerances lie in ``expected/cifar10h.json``; ``judged_by`` was fixed before anybody
here had run the real file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from siscm import evaluation
from siscm.cifar10h.experiment import PAPERS_RULES, Experiment
from siscm.cifar10h.replay import all_sizes
from siscm.compendium import pages
from siscm.compendium.kinds import Data

NOT_RUN, HOLDS, FAILS = "not run", "holds", "FAILS"
"""The words of the column ``verdict``; the first also stands for a real figure not there yet."""


def figures(done: Experiment) -> dict[str, Any]:
    """The figures by which a run is judged, ready for JSON.

    Returns
    -------
    dict
        ``sizes``; ``accuracy`` by rule and scenario, to six digits, None where no pair is; and
        ``experts_better_off``, by comparison how many and of how many.
    """
    graph = done.model.graph_
    sizes = all_sizes(done.train, done.test, graph, done.model.partition_)
    lacking = without_same_group_pair(done)
    accuracy = done.accuracy().T.round(6).astype(object)
    return {
        "sizes": {
            **{name.replace(" ", "_"): size for name, size in sizes.items()},
            "violating_pairs_of_opinions": int(np.triu(graph.violations).sum()),
            "experts_without_same_group_pair": len(lacking),
            "of_these_alone": int(lacking["alone"].sum()),
        },
        "accuracy": accuracy.where(accuracy.notna(), None).to_dict(),
        "experts_better_off": done.experts_better_off().T.to_dict("list"),
    }


def without_same_group_pair(done: Experiment) -> pd.DataFrame:
    """The experts who are on no test image together with another of their group.

    Returns
    -------
    DataFrame
        A row an expert; ``alone``, whether her group is hers alone.
    """
    scores = evaluation.per_expert(done.pairs[PAPERS_RULES[0]], list(done.train.experts))
    lacking = scores.index[scores["same group"].isna()]
    alone = [group[0] for group in done.model.partition_ if len(group) == 1]
    return pd.DataFrame({"alone": lacking.isin(alone)}, index=lacking)


@dataclass(frozen=True)
class Criterion:
    """One figure of the paper, and how near a run on the real file has to come to it.

    Parameters
    ----------
    quantity
        In words.
    path
        Where :func:`figures` holds it.
    paper
        The paper's number, or numbers (how many, of how many).
    rule
        The tolerance in words.
    tolerance
        Largest difference that still holds.
    or_half
        Whether half of the paper's number is as good, the tolerance halved too: it may have
        counted every pair in both orders.
    """

    quantity: str
    path: tuple[str, ...]
    paper: tuple[float, ...]
    rule: str
    tolerance: float = 0
    or_half: bool = False

    def verdict(self, figures: Mapping[str, Any]) -> str:
        """Whether the figure of a run is near enough: :data:`HOLDS` or :data:`FAILS`."""
        found = self.find(figures)
        if None in found:
            return FAILS
        near = [
            # A difference that equals the tolerance passes, whatever the last binary digit is.
            np.all(abs(orders * np.array(found) - self.paper) <= self.tolerance + 1e-9)
            for orders in ((1, 2) if self.or_half else (1,))
        ]
        return HOLDS if any(near) else FAILS

    def find(self, figures: Mapping[str, Any]) -> tuple[Any, ...]:
        """The figure of a run, as many numbers as the paper gives."""
        value: Any = figures
        for key in self.path:
            value = value[key]
        return tuple(value) if isinstance(value, list) else (value,)

    def words(self, value: tuple[Any, ...]) -> str:
        """A figure as the tables show it."""
        if None in value:
            return "no pair"
        if self.path[0] == "accuracy" or self.path[-1] == "full_agreement":
            return f"{value[0]:.1%}"
        return " of ".join(f"{number:,}" for number in value)


def criteria(content: Mapping[str, Any]) -> Iterator[Criterion]:
    """Every figure that a run on real data is judged by, in the order of the table.

    Parameters
    ----------
    content
        Of ``expected/cifar10h.json``: its parts ``paper`` and ``judged_by``.
    """
    paper, judged = content["paper"], content["judged_by"]
    within, sizes = judged["within"], paper["sizes"]
    for name in judged["exactly"]:
        yield Criterion(name.replace("_", " "), ("sizes", name), (sizes[name],), "exactly")
    share, or_half = within["violations"]["relative"], within["violations"]["or_half_of_the_paper"]
    yield Criterion(
        "pairs of experts in violation",
        ("sizes", "pairs_in_violation"),
        (sizes["violations"],),
        f"±{share:.0%}" + (", also of half" if or_half else ""),
        share * sizes["violations"],
        or_half,
    )
    words = {
        "groups": "groups",
        "singleton_groups": "groups of one expert",
        "experts_without_same_group_pair": "experts without a same-group pair",
        "of_these_alone": "of these, alone in their group",
    }
    for name, said in words.items():
        near = within[name]["absolute"]
        yield Criterion(said, ("sizes", name), (sizes[name],), f"±{near}", near)
    near = within["accuracy"]["absolute"]
    allowed = f"±{100 * near:g} points"
    for rule, row in paper["accuracy"].items():
        for scenario, value in row.items():
            path = ("accuracy", rule, scenario)
            yield Criterion(f"accuracy of {rule}, {scenario}", path, (value,), allowed, near)
    near = within["experts_better_off"]["absolute"]
    for name, counts in paper["experts_better_off"].items():
        better_off, allowed = ("experts_better_off", name), f"both ±{near}"
        yield Criterion(f"experts: {name}", better_off, tuple(counts), allowed, near)


def raw_criteria(content: Mapping[str, Any]) -> Iterator[Criterion]:
    """What the paper says of the raw table before any filter; figures of ``raw``.

    Parameters
    ----------
    content
        Of ``expected/cifar10h.json``: its parts ``paper`` and ``judged_by``.
    """
    sizes, near = content["paper"]["sizes"], content["judged_by"]["raw"]
    for name in ("images", "annotators"):
        words = f"{name} in the raw table"
        yield Criterion(words, ("raw", name), (sizes[name],), "exactly", near[name])
    share, allowed = sizes["share_of_images_with_full_agreement"], near["full_agreement"]
    words, rule = "images with full agreement", f"±{100 * allowed:g} points"
    yield Criterion(words, ("raw", "full_agreement"), (share,), rule, allowed)


def verdicts(content: Mapping[str, Any], real: Mapping[str, Any] | None) -> pd.DataFrame:
    """Every figure of the paper, the twin's, that of a run on real data, and a verdict.

    Parameters
    ----------
    content
        Of ``expected/cifar10h.json``.
    real
        What :func:`figures` gave on the real files; None if nobody ran them.

    Returns
    -------
    DataFrame
        Of words: a row a figure, columns ``paper``, ``twin``, ``real``, ``allowed`` and
        ``verdict``. The twin is not judged.
    """
    rows = {
        one.quantity: {
            "paper": one.words(one.paper),
            "twin": one.words(one.find(content["twin"])),
            "real": NOT_RUN if real is None else one.words(one.find(real)),
            "allowed": one.rule,
            "verdict": NOT_RUN if real is None else one.verdict(real),
        }
        for one in criteria(content)
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def countings(sizes: Mapping[str, Any]) -> pd.DataFrame:
    """What a number of violations can mean: pairs of experts or of opinions, ordered or not.

    Parameters
    ----------
    sizes
        Of :func:`figures`.
    """
    counted = {
        "pairs of experts that ever violate": sizes["pairs_in_violation"],
        "pairs of opinions that violate": sizes["violating_pairs_of_opinions"],
    }
    rows = {name: {"each pair once": n, "both orders": 2 * n} for name, n in counted.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def verdict_table(content: Mapping[str, Any], live: Mapping[str, Any], kind: str) -> pages.Html:
    """The verdicts as a page shows them: live on the real files, else as recorded, if ever.

    Parameters
    ----------
    content
        Of ``expected/cifar10h.json``.
    live
        What :func:`figures` gave on the data of the page.
    kind
        ``"twin"`` or ``"real"``: which data that is.
    """
    recorded = content["real"]
    if kind == "real":
        return _table(verdicts(content, live), "real")
    if recorded is None:
        return _table(verdicts(content, None), "twin", "Nobody here has run the real file yet.")
    return _table(verdicts(content, recorded["figures"]), "recorded", pages.origin(recorded))


def _table(judged: pd.DataFrame, data: Data, note: str = "") -> pages.Html:
    caption = "What a run on the real file is judged by: figures and verdicts."
    return pages.table(judged, caption, data, note, alarm=FAILS)
