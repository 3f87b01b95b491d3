"""The book tells each of the thirteen statements once, and checks it there on many models."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import jupytext
import pytest

from siscm import statements
from siscm.statements import SECTIONS, STATEMENTS, statements_page

CHAPTERS = {
    path.stem: path.read_text("utf-8")
    for path in (Path(__file__).parents[1] / "notebooks").glob("*.md")
}
each = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.check.__name__)


def test_all_thirteen_in_the_papers_order() -> None:
    names = [s.check.__name__ for s in STATEMENTS]
    for kind, count in {"definition": 5, "theorem": 5, "corollary": 3}.items():
        numbers = [int(name.split("_")[1]) for name in names if name.startswith(kind)]
        assert numbers == list(range(1, count + 1))
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


@each
def test_the_page_says_how_many_models_the_chapter_draws(statement) -> None:
    call, named = _call(statement)
    models = ast.unparse(call.args[1].func)
    assert models == f"populations.{statement.models.__name__}"
    given = [ast.unparse(argument) for argument in call.args[1].args[1:]]
    default = inspect.signature(statement.models).parameters["n"].default
    n = int(named.get(given[0], given[0])) if given else default
    assert statement.n == n
    (row,) = (line for line in statements_page().splitlines() if f"`{statement.label}` |" in line)
    assert f"| `{statement.check.__name__}` | {n:,} |" in row


@pytest.mark.parametrize(
    ("cell", "n"), [("(rng)", 1000), ("(rng, 70)", 70), ("(rng, some))\nsome = 80", 80)]
)
def test_another_number_is_read(cell: str, n: int, monkeypatch) -> None:
    text = f"theorems.run(\n    theorems.theorem_1, populations.silent_or_talking{cell}"
    monkeypatch.setattr(statements, "_lines", lambda chapter: text.splitlines())
    first = {statement.check.__name__: statement for statement in STATEMENTS}
    assert first["theorem_1"].n == n
    with pytest.raises(ValueError, match="does not run theorem_2"):
        _ = first["theorem_2"].n


def _call(statement) -> tuple[ast.Call, dict[str, str]]:
    """The call that runs the check in its chapter, and what names in its cell stand for."""
    for cell in jupytext.reads(CHAPTERS[statement.chapter], fmt="md:myst").cells:
        nodes = list(ast.walk(ast.parse(cell.source))) if cell.cell_type == "code" else []
        for node in nodes:
            if isinstance(node, ast.Call) and ast.unparse(node).startswith(
                f"theorems.run(theorems.{statement.check.__name__}, "
            ):
                assigned = [one for one in nodes if isinstance(one, ast.Assign)]
                return node, {ast.unparse(a.targets[0]): ast.unparse(a.value) for a in assigned}
    raise AssertionError(statement)


def _runs(text: str, check: str, models: str) -> int:
    """How many cells run the check on its models, all of them, and confirm what comes out."""
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", text, re.DOTALL)
    count = 0
    for cell in cells:
        body = re.sub(r"\A---\n.*?\n---\n", "", cell, flags=re.DOTALL)
        calls = [ast.unparse(n) for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Call)]
        run = [call for call in calls if call.startswith(f"theorems.run(theorems.{check}, ")]
        confirmed = any(call.startswith("theorems.confirm(") for call in calls)
        count += bool(run and confirmed and f"{models}(" in "".join(run))
    return count
