"""What README and cheat sheet say runs; the reference leaves nothing out."""

import re
from pathlib import Path

import numpy as np
import pytest

import siscm

ROOT = Path(__file__).parents[1]


def blocks(document):
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text("utf-8"), re.DOTALL)


BLOCKS = blocks("README.md")


def test_the_readmes_example_runs_and_answers(capsys):
    code = [line for line in BLOCKS[0].splitlines() if line and "import" not in line]
    assert len(code) <= 10
    scope = {}
    exec(BLOCKS[0], scope)
    assert "['Ann', 'Bob']" in capsys.readouterr().out
    answer = scope["model"].second_opinions(scope["features"][:1], {"Ann": True})
    severe = answer[answer["label"]].set_index("expert")["probability"]
    before = dict(
        zip("ABC", scope["model"].log_marginals(scope["features"][:1])[0, :, 1], strict=True)
    )
    assert severe["Ann"] == 1
    assert severe["Bob"] > np.exp(before["B"])
    assert severe["Cleo"] == pytest.approx(np.exp(before["C"]))


def test_the_readmes_second_example_goes_on_from_the_first(capsys):
    scope = {}
    for block in BLOCKS:
        exec(block, scope)
    assert capsys.readouterr().out.count("[['Ann', 'Bob'], ['Cleo']]") == 2
    graded, case = scope["graded"], scope["features"][:1]
    assert graded.experts_.tolist() == ["Ann", "Bob", "Cleo"]
    severe = graded.counterfactual_proba(case, {"Ann": True})[0, :, 1]
    before = np.exp(graded.log_marginals(case))[0, :, 1]
    assert severe[0] == 1
    assert severe[1] > before[1] + 0.2
    assert severe[2] == pytest.approx(before[2])


def test_every_line_of_the_cheat_sheet_runs():
    scope = {}
    for block in blocks("book/cheatsheet.md"):
        exec(block, scope)
        assert max(len(line) for line in block.splitlines()) <= 76  # else cut off on a laptop
    assert scope["best"].objective <= siscm.partition.objective(scope["graph"], scope["groups"])
    assert scope["opinions"].experts.tolist() == ["Ann", "Bob", "Cleo"]
    np.testing.assert_array_equal(scope["X"].index, scope["opinions"].instances)


def test_the_reference_has_every_module_once():
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "book" / "api").glob("*.md"))
    named = re.findall(r"^\.\. automodule:: siscm\.(\w+)$", pages, re.MULTILINE)
    assert sorted(named) == sorted(path.stem for path in (ROOT / "siscm").glob("[!_]*.py"))
