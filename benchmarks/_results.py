"""What all benchmarks do: take time and memory, and write figures into results.json.

An entry there names the machine and the versions that its figures were taken with.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")

RESULTS = Path(__file__).with_name("results.json")


def timed(task: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds, and what came out."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def fastest(task: Callable[[], object], repeats: int = 5, at_least: float = 0.0) -> float:
    """Seconds of the fastest of some runs: what the machine can do when nobody disturbs it.

    Of so many runs, or of as many as take so many seconds together, if these are more.
    """
    times: list[float] = []
    while len(times) < repeats or sum(times) < at_least:
        times.append(timed(task)[0])
    return min(times)


def peak_mb(task: Callable[[], object]) -> float:
    """Memory beyond the inputs, at its highest; what is returned counts."""
    tracemalloc.start()
    task()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


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
