"""What the paper shows and says in numbers, item by item: what an item is, and how it is judged.

The items are listed in ``expected/paper.toml``; :mod:`siscm.compendium.provenance` makes a page of
them. The paper's numbers, ours and the tolerances lie beside it; no verdict on a number is
written down anywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

from siscm.cifar10h import verdicts

REPRODUCED = "reproduced within tolerance"
GIVEN = "set as in the paper"
DIFFERS = "differs"
NOT_RUN = "not run on the real file"
CHECKED = "checked"
REDRAWN = "redrawn"
QUOTED = "quoted by the paper"

MEANING = {
    REPRODUCED: "our number is as near to the paper's as the tolerance says",
    GIVEN: "a choice and no result; ours is the paper's",
    DIFFERS: "our number, or our choice, is another; the entry says why, or that nobody has yet",
    NOT_RUN: "it takes CIFAR-10H's raw file, which nobody here has run; what the twin gives "
    "is shown and not judged",
    CHECKED: "mathematics or a definition, held by assertions in the chapter and by tests",
    REDRAWN: "a picture whose values the paper does not print, so there is no number to compare",
    QUOTED: "a number that the paper takes from elsewhere",
}
"""What each verdict says, in the order in which the page counts them."""

TWIN = "twin: "
"""Before what the twin gives, so that nobody takes it for the real file's."""

Contents = Mapping[str, Mapping[str, Any]]
"""What ``expected/`` holds, by name of the file."""

Source = Literal["none", "models", "example", "synthetic", "counts", "raw", "benchmark"]


@dataclass(frozen=True)
class Number:
    """A number of the paper beside ours, in words, and a verdict.

    Parameters
    ----------
    name
        What it counts or measures.
    paper, here
        Both, as the page shows them.
    allowed
        How far they may be apart.
    verdict
        One of :data:`MEANING`.
    """

    name: str
    paper: str
    here: str
    allowed: str
    verdict: str


@dataclass(frozen=True)
class Seed:
    """Where an item's random numbers begin.

    Parameters
    ----------
    what
        What is drawn with it.
    where
        The full name, less ``siscm``, of a constant, or of a function with the argument whose
        default it is in brackets; ``expected/file:part.key``; or the number that the chapter gives
        to ``default_rng``.
    """

    what: str
    where: str | int

    def value(self, contents: Contents) -> int:
        """The seed itself, looked up where it is decided."""
        if isinstance(self.where, int):
            return self.where
        if self.where.startswith("expected/"):
            name, _, path = self.where[len("expected/") :].partition(":")
            found: Any = contents[name]
            for key in path.split("."):
                found = found[key]
            return int(found)
        name, _, argument = self.where.rstrip(")").partition("(")
        decided = resolve_name(f"siscm.{name}")
        return int(default(decided, argument) if argument else decided)


@dataclass(frozen=True)
class Item:
    """A table, figure, equation or passage with numbers of the paper, and where it is redone.

    Parameters
    ----------
    name
        What the paper calls it.
    section
        Where it stands in the paper.
    what
        What it shows or says.
    chapter, anchor
        The notebook that has it here, and the heading there, as a link names it.
    functions
        Behind it, by their full names, less ``siscm``.
    source
        Which data it rests on.
    seeds
        Of the random numbers in it.
    numbers
        From the contents of ``expected/`` to its numbers, judged.
    labels
        What the paper's source calls it.
    plain
        The verdict where there is no number; of items on the raw file, once that was run.
    why
        Why a number differs, or what else has to be known.
    twin
        What has to be known while the twin stands in for the raw file.
    real
        Why numbers of a run on the raw file differ, once there was one.
    """

    name: str
    section: str
    what: str
    chapter: str
    anchor: str
    functions: Sequence[str]
    source: Source
    seeds: Sequence[Seed]
    numbers: Callable[[Contents], Iterable[Number]]
    labels: Sequence[str] = ()
    plain: str = REDRAWN
    why: str = ""
    twin: str = ""
    real: str = ""

    def verdicts(self, contents: Contents) -> list[str]:
        """A verdict a number; a single one for an item without numbers."""
        found = [number.verdict for number in self.numbers(contents)]
        if found:
            return found
        unrun = self.source == "raw" and contents["cifar10h"]["real"] is None
        return [NOT_RUN if unrun else self.plain]


def default(function: Callable[..., Any], argument: str) -> Any:
    """What an argument is if nobody says anything."""
    return inspect.signature(function).parameters[argument].default


def setting(name: str, paper: Any, ours: Any) -> Number:
    """A choice of the paper's beside the one in our code: the same, or not."""
    verdict = GIVEN if paper == ours else DIFFERS
    return Number(name, _in_words(paper), _in_words(ours), "the same", verdict)


def _in_words(value: Any) -> str:
    """A choice: a number, a word, or a list of either."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else f"{value:,}"


def judged(criterion: verdicts.Criterion, cifar10h: Mapping[str, Any]) -> Number:
    """A figure of the experiment on CIFAR-10H: judged on the real file, or the twin's beside it."""
    real = cifar10h["real"]
    figures = cifar10h["twin"] if real is None else real["figures"]
    here = criterion.words(criterion.find(figures))
    if real is None:
        here, verdict = f"{TWIN}{here}", NOT_RUN
    else:
        verdict = REPRODUCED if criterion.verdict(figures) == verdicts.HOLDS else DIFFERS
    paper = criterion.words(criterion.paper)
    return Number(criterion.quantity, paper, here, criterion.rule, verdict)


def figures(*paths: Sequence[str]) -> Callable[[Contents], Iterable[Number]]:
    """The numbers that a run on the real file is judged by, those below these paths."""

    def numbers(contents: Contents) -> Iterable[Number]:
        content = contents["cifar10h"]
        every = (*verdicts.raw_criteria(content), *verdicts.criteria(content))
        for path in paths:
            for criterion in every:
                if criterion.path[: len(path)] == tuple(path):
                    yield judged(criterion, content)

    return numbers


def near(name: str, paper: float, ours: float, tolerance: float) -> Number:
    """A number that may be off by the tolerance, shown without decimals."""
    verdict = REPRODUCED if abs(paper - ours) <= tolerance + 1e-9 else DIFFERS
    allowed = f"±{tolerance:g}" if tolerance else "exactly"
    return Number(name, f"{paper:,.0f}", f"{ours:,.0f}", allowed, verdict)


def at_least(name: str, paper: str, share: float, least: float) -> Number:
    """A share that the paper puts in words, and that must not be lower than what these are read as.

    Parameters
    ----------
    name
        What it is a share of.
    paper
        The words.
    share, least
        Ours, and what the words are read as.
    """
    verdict = REPRODUCED if share >= least else DIFFERS
    return Number(name, paper, f"{share:.0%}", f"at least {least:.0%}", verdict)
