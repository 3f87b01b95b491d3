"""What README and notation say runs and exists."""

import importlib
import re
from pathlib import Path

import pytest

import siscm

ROOT = Path(__file__).parents[1]


def test_the_readmes_example_runs_and_answers(capsys):
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(block[1].strip().splitlines()) == 10
    exec(block[1], {})
    printed = capsys.readouterr().out
    assert "probability" in printed
    rows = [line.split() for line in printed.splitlines()[1:]]
    chance = {(expert, label): float(p) for _, _, expert, label, p in rows}
    assert chance["Ann", "severe"] == 1
    assert chance["Bob", "severe"] > chance["Cleo", "severe"]
    for expert in ("Ann", "Bob", "Cleo"):
        assert chance[expert, "mild"] + chance[expert, "severe"] == pytest.approx(1, abs=1e-5)


NAMES = sorted(
    set(
        re.findall(
            r"`((?:Opinions|GumbelMaxSISCM|SimilarityGraph|gumbel|partition|baselines)\.[\w.]+)`",
            (ROOT / "book" / "notation.md").read_text("utf-8"),
        )
    )
)


def test_notation_names_enough_to_be_checked():
    assert len(NAMES) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_what_notation_names_exists(name):
    first, *rest = name.split(".")
    found = getattr(siscm, first, None) or importlib.import_module(f"siscm.{first}")
    for part in rest:
        fields = getattr(found, "__dataclass_fields__", {})
        documented = f"{part}" in (found.__doc__ or "") and part.endswith("_")
        assert hasattr(found, part) or part in fields or documented, name
        found = getattr(found, part, None)
