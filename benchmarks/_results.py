"""Write the figures of one benchmark into results.json, with the machine they were taken on."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_name("results.json")


def record(key: str, figures: dict[str, float | int]) -> None:
    """Replace the entry ``key`` of results.json, and print it."""
    entry = {
        "figures": {name: _short(value) for name, value in figures.items()},
        "machine": {"cpu": _cpu(), "cores": os.cpu_count()},
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[key] = entry
    RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n")
    sys.stdout.write(json.dumps({key: entry}, indent=2) + "\n")


def _short(value: float | int) -> float | int:
    """Three digits: what a timing is worth."""
    return value if isinstance(value, int) else float(f"{value:.3g}")


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
