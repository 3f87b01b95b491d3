"""How many mutants the tests notice, by module: what `make mutation` ends with.

Read from what mutmut stores of its last run; a mutant on which the tests never end is noticed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

NOTICED_BY = {1: "a failure", 3: "an error"} | dict.fromkeys((24, 36, 152, 255, -24), "no end")
"""Exit codes of mutmut's runs; 0 is a mutant that survived, 5 and 33 one that no test reaches."""

NOT_TRIED = (None, 2, 34)
"""Nor what was not asked for, or broken off."""

DEMANDED = 0.9


def score(codes: Mapping[str, int | None]) -> tuple[int, int]:
    """How many mutants were noticed, and how many were tried."""
    tried = [code for code in codes.values() if code not in NOT_TRIED]
    return sum(code in NOTICED_BY for code in tried), len(tried)


def report(folder: Path) -> float:
    """Print a line a module, and each survivor's name; the share noticed of all."""
    noticed = tried = 0
    for path in sorted(folder.rglob("*.py.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        here, of = score(codes)
        if of:
            print(f"{path.name.removesuffix('.py.meta')}: {here} of {of} noticed, {here / of:.1%}")
            for name in sorted(name for name, code in codes.items() if survives(code)):
                print(f"    {name}")
        noticed, tried = noticed + here, tried + of
    print(f"all: {noticed} of {tried} noticed, {noticed / max(tried, 1):.1%}")
    return noticed / max(tried, 1)


def survives(code: int | None) -> bool:
    """Whether a mutant was tried and not noticed."""
    return code not in NOT_TRIED and code not in NOTICED_BY


if __name__ == "__main__":
    sys.exit(report(Path("mutants")) < DEMANDED)
