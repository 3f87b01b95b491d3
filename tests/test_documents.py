"""What README and notation say runs and exists."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import siscm

ROOT = Path(__file__).parents[1]


def test_the_readmes_example_runs_and_answers(capsys):
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    code = [line for line in block[1].splitlines() if line and "import" not in line]
    assert len(code) <= 10
    scope = {}
    exec(block[1], scope)
    assert "['Ann', 'Bob']" in capsys.readouterr().out
    answer = scope["model"].second_opinions(scope["features"][:1], {"Ann": True})
    severe = answer[answer["label"]].set_index("expert")["probability"]
    before = dict(
        zip("ABC", scope["model"].log_marginals(scope["features"][:1])[0, :, 1], strict=True)
    )
    assert severe["Ann"] == 1
    assert severe["Bob"] > np.exp(before["B"])
    assert severe["Cleo"] == pytest.approx(np.exp(before["C"]))


NAMES = sorted(
    set(
        re.findall(
            r"`((?:Opinions|GumbelMaxSISCM|SimilarityGraph|[a-z_]+)\.[\w.]+)`",
            (ROOT / "book" / "notation.md").read_text("utf-8"),
        )
    )
)


def test_notation_names_enough_to_be_checked():
    assert len(NAMES) >= 28


@pytest.mark.parametrize("name", NAMES)
def test_what_notation_names_exists(name):
    first, *rest = name.split(".")
    found = getattr(siscm, first, None) or importlib.import_module(f"siscm.{first}")
    for part in rest:
        fields = getattr(found, "__dataclass_fields__", {})
        documented = f"{part}" in (found.__doc__ or "") and part.endswith("_")
        assert hasattr(found, part) or part in fields or documented, name
        found = getattr(found, part, None)
