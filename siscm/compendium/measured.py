"""What the scripts in ``benchmarks/`` measured, as pages show it: never measured by a page."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from siscm.compendium import pages


def results(name: str) -> dict[str, Any]:
    """What a script recorded in ``benchmarks/results.json``: ``figures``, machine and versions."""
    path = pages.ROOT / "benchmarks" / "results.json"
    entry: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))[name]
    return entry


def note(name: str, cores: str = "one core") -> str:
    """Which script measured something, when, and on how much of which machine."""
    entry = results(name)
    machine = entry["machine"]
    return (
        f"benchmarks/{name}.py, {entry['date']}, {cores} of {machine['cores']}, {machine['cpu']}, "
        f"Python {entry['python']}, NumPy {entry['numpy']}"
    )


def table(name: str, words: dict[str, str]) -> pages.Html:
    """Figures that a script measured.

    Parameters
    ----------
    name
        Which script.
    words
        The figures to show, and what to call each.
    """
    figures = results(name)["figures"]
    shown = pd.Series({word: f"{figures[key]:,}" for key, word in words.items()}, name="measured")
    return pages.table(shown, "Measured by a script.", "benchmark", note(name))
