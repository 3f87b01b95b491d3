"""The thirteen numbered statements of the paper: where each is told, and what checks it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from siscm.compendium.pages import ROOT
from siscm.theory import theorems
from siscm.theory.populations import (
    Drawn,
    alike_or_not,
    alike_or_not_or_talking,
    gumbel_or_other_noise,
    pairs_of_gumbel_max_si_scms,
    silent_or_talking,
)

Models = Callable[[np.random.Generator, int], Iterator[Drawn]]

SILENT, WOULD = "02_experts_who_dont_talk", "03_would_have_said"
SIMILAR, GUMBEL = "04_similar_experts", "05_gumbel_max_si_scm"

SECTIONS = {SILENT: 4, WOULD: 4, SIMILAR: 5, GUMBEL: 6}
"""The paper's section that each chapter follows."""

BROKEN: dict[Models, str] = {
    silent_or_talking: "experts talk",
    alike_or_not: "one rare noise contradicts",
    alike_or_not_or_talking: "experts talk",
    gumbel_or_other_noise: "the noise is normal",
    pairs_of_gumbel_max_si_scms: "the two are of different groups",
}
"""Which models a test calls what they are not, to see the check fail."""


@dataclass(frozen=True)
class Statement:
    """A definition, theorem or corollary, numbered as in the paper.

    Parameters
    ----------
    check
        Function of :mod:`siscm.theory.theorems` that checks it on one model; gives it its number.
    label
        Of its numbered environment in the book, to link to.
    chapter
        Notebook that tells it.
    models
        Function of :mod:`siscm.theory.populations` that draws what it is checked on.
    """

    check: theorems.Check
    label: str
    chapter: str
    models: Models

    @property
    def name(self) -> str:
        """What it says, in a few words: the title of its environment."""
        lines = _lines(self.chapter)
        return lines[lines.index(f":label: {self.label}") - 1].partition("} ")[2]


STATEMENTS = (
    Statement(theorems.definition_1, "def-set-invariance", SILENT, silent_or_talking),
    Statement(theorems.theorem_2, "thm-own-mechanisms", SILENT, silent_or_talking),
    Statement(theorems.theorem_3, "thm-decoupled", SILENT, silent_or_talking),
    Statement(theorems.theorem_4, "thm-more-experts", WOULD, silent_or_talking),
    Statement(theorems.corollary_1, "cor-one-expert", WOULD, silent_or_talking),
    Statement(theorems.corollary_2, "cor-would-is-says", WOULD, silent_or_talking),
    Statement(theorems.definition_5, "def-counterfactual-stability", SIMILAR, alike_or_not),
    Statement(theorems.definition_6, "def-conditional-stability", SIMILAR, alike_or_not),
    Statement(theorems.theorem_7, "thm-stability", SIMILAR, alike_or_not_or_talking),
    Statement(theorems.definition_8, "def-pairwise-stability", SIMILAR, alike_or_not),
    Statement(theorems.corollary_3, "cor-pairwise-stability", SIMILAR, alike_or_not_or_talking),
    Statement(theorems.definition_9, "def-gumbel-max-si-scm", GUMBEL, gumbel_or_other_noise),
    Statement(theorems.theorem_10, "thm-gumbel", GUMBEL, pairs_of_gumbel_max_si_scms),
)


def title_of(chapter: str) -> str:
    """What a chapter is called: its first heading."""
    return next(line for line in _lines(chapter) if line.startswith("# ")).removeprefix("# ")


def _lines(chapter: str) -> list[str]:
    """A chapter's text."""
    return (ROOT / "notebooks" / f"{chapter}.md").read_text(encoding="utf-8").splitlines()


def statements_page() -> str:
    """A page of the book, as Markdown: a row a statement, with its page, check and tests."""
    rows = "\n".join(
        f"| {{prf:ref}}`{s.label}` | {s.name} | {SECTIONS[s.chapter]} | "
        f"[{title_of(s.chapter)}](../notebooks/{s.chapter}.ipynb) | `{s.check.__name__}` | "
        f"{inspect.signature(s.models).parameters['n'].default:,} | {BROKEN[s.models]} |"
        for s in STATEMENTS
    )
    drawn = "\n".join(
        f"`{models.__name__}`, for {', '.join(f'{{prf:ref}}`{label}`' for label in labels)}\n"
        f": {(models.__doc__ or '').splitlines()[0]}\n"
        for models, labels in (
            (models, [s.label for s in STATEMENTS if s.models is models]) for models in BROKEN
        )
    )
    return f"""# All statements and their checks

Generated when the book is built, from `siscm/theory/statements.py`: the definitions, theorems and
corollaries of the paper's Sections 4 to 6, in its order and with its numbers: definitions and
theorems are counted as one, corollaries by themselves.

Each check is a function of `siscm/theory/theorems.py` that takes one model. Its chapter runs it on
many random ones and stops if a single one refutes the statement, or if fewer than
{theorems.SHARE:.0%} of them lie on either side of its premise, or of what a definition defines,
or if its right side holds in all of them.
In `tests/theory/test_theorems.py`, `test_confirmed` runs it again on other models, and
`test_refuted_when_broken` lets in models without the premise, as the last column says, and sees
the check fail. To run both for one statement:
`pytest tests/theory/test_theorems.py -k definition_1`.

:::{{container}} siscm-statements
| statement | what it says | paper's section | chapter | check and tests | n | broken when |
|---|---|---|---|---|---|---|
{rows}
:::

The random models, of few experts, labels and noises each, are drawn by functions of
`siscm/theory/populations.py`, n as in the table:

{drawn}"""
