"""The score of `make mutation`: what nobody noticed counts, what nobody tried does not pass."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mutation_score import DEMANDED, report

ROOT = Path(__file__).parents[1]


def tried(folder: Path, **codes: int | None) -> Path:
    """A folder in which mutmut left these exit codes."""
    path = folder / "siscm" / "graph.py.meta"
    path.parent.mkdir()
    path.write_text(json.dumps({"exit_code_by_key": codes}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("codes", "share"),
    [
        ({}, 0.0),
        ({"a": None, "b": 34}, 0.0),  # not asked for, skipped
        ({"a": 0, "b": 0}, 0.0),
        ({"a": 1, "b": 5, "c": 33, "d": 0}, 0.25),  # no test reaches b and c
        ({"a": 1, "b": 3, "c": 36, "d": None}, 1.0),
        ({"a": 1, "b": -11}, 0.5),
    ],
)
def test_the_share_is_of_what_was_tried(
    codes: dict[str, int | None], share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(tried(tmp_path, **codes)) == share
    assert f"{share:.1%}" in capsys.readouterr().out
    assert (share >= DEMANDED) == (share == 1.0)


def test_a_run_that_left_nothing_fails(tmp_path: Path) -> None:
    assert report(tmp_path) < DEMANDED
    assert report(tmp_path / "nothing") < DEMANDED


def test_contributing_says_what_the_list_of_survivors_says() -> None:
    table = (ROOT / "tests" / "mutation.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `(\w+)\.py` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", table, re.MULTILINE
    )
    assert len(rows) > 5
    found = [[int(cell.replace(",", "")) for cell in row[1:]] for row in rows]
    mutants, tries, noticed = (sum(column) for column in zip(*found, strict=True))
    share = f"{noticed / tries:.0%}".replace("%", " %")
    assert f"| all | {mutants:,} | {tries:,} | {noticed:,} ({share}) |" in table
    (survivors,) = re.findall(r"```text\n(.*?)```", table, re.DOTALL)
    assert len(re.findall(r"^  \w", survivors, re.MULTILINE)) == tries - noticed
    words = " ".join((ROOT / "CONTRIBUTING.md").read_text("utf-8").split())
    assert re.search(
        rf"Of {tries:,} small changes to \w+ core modules they noticed {noticed:,} ", words
    )
    assert f"noticed {noticed:,} ({share})" in words
