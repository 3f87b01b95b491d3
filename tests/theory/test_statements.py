"""The book tells each of the thirteen statements once, and checks it there on many models."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from siscm.theory.statements import SECTIONS, STATEMENTS, statements_page

CHAPTERS = {
    path.stem: path.read_text("utf-8")
    for path in (Path(__file__).parents[2] / "notebooks").glob("*.md")
}
each = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.check.__name__)


def test_all_thirteen_in_the_papers_order() -> None:
    names = [s.check.__name__.split("_") for s in STATEMENTS]
    corollaries = [int(number) for kind, number in names if kind == "corollary"]
    others = [int(number) for kind, number in names if kind != "corollary"]
    assert (corollaries, others) == ([1, 2, 3], list(range(1, 11)))
    assert len({s.label for s in STATEMENTS}) == len(STATEMENTS) == 13
    page = statements_page()
    for s in STATEMENTS:
        assert f"{{prf:ref}}`{s.label}`" in page
        assert f"`{s.check.__name__}`" in page


@each
def test_each_stands_once_in_its_chapter_and_is_checked_there(statement) -> None:
    found = [name for name, text in CHAPTERS.items() if f":label: {statement.label}\n" in text]
    assert found == [statement.chapter]
    kind = statement.check.__name__.split("_")[0]
    text = CHAPTERS[statement.chapter]
    environment = re.search(
        rf":::\{{prf:{kind}\}} {statement.name}\n:label: {statement.label}\n(.*?):::",
        text,
        re.DOTALL,
    )
    assert environment
    assert f"Section {SECTIONS[statement.chapter]} of the paper" in environment[1]
    assert _runs(text, statement.check.__name__, statement.models.__name__) == 1


def _runs(text: str, check: str, models: str) -> int:
    """How many cells run the check on its models, all of them, and confirm what comes out."""
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", text, re.DOTALL)
    count = 0
    for cell in cells:
        body = re.sub(r"\A---\n.*?\n---\n", "", cell, flags=re.DOTALL)
        calls = [ast.unparse(n) for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Call)]
        run = [call for call in calls if call.startswith(f"theorems.run(theorems.{check}, ")]
        confirmed = any(call.startswith("theorems.confirm(") for call in calls)
        count += bool(run and confirmed and f"{models}(rng)" in "".join(run))
    return count
