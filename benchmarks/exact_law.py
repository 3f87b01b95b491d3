"""The exact law against Monte Carlo with T = 1,000 samples, on the same rows in the same run.

One core: nothing here calls a multithreaded library. The Monte Carlo is written for this
comparison, not taken from the package: exponentials instead of Gumbels, so that it needs no
logarithm; one pass a label over arrays that stay in the cache; only comparisons, no sort. About
half of its time goes into drawing random numbers.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from _results import record

from siscm.gumbel import counterfactual_probabilities

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_CLASSES = 10
N_SAMPLES = 1_000
N_ROWS = 20_000
N_ROWS_MEMORY = 1_000_000
CHUNK = 128
"""Rows at a time in the Monte Carlo: the fastest of 8, 16, ..., 256."""
REPEATS = 5


def rows(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, IntArray]:
    """Marginals of two experts, and what the first one says."""
    p, q = rng.dirichlet(np.ones(N_CLASSES), size=(2, n))
    return p, q, (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)


def monte_carlo(
    p: FloatArray, q: FloatArray, label: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Frequencies (n, k) of what the second expert says, over posterior noise of each row.

    Given that the first says c at time T, E_c = p_c T and E_j = p_j T + Exp(1); the second says
    the label with the smallest E_j / q_j.
    """
    out = np.empty(p.shape)
    ratio, inverse = p / q, 1 / q
    shape = (CHUNK, N_SAMPLES)
    best, time_j, delay = np.empty(shape), np.empty(shape), np.empty(shape)
    earlier, said = np.empty(shape, dtype=bool), np.empty(shape, dtype=np.int8)
    for start in range(0, len(p), CHUNK):
        row = np.arange(start, min(start + CHUNK, len(p)))
        m = len(row)
        first = rng.standard_exponential((m, N_SAMPLES))
        np.multiply(first, ratio[row, label[row]][:, None], out=best[:m])
        said[:m] = 0
        for shift in range(1, N_CLASSES):
            j = (label[row] + shift) % N_CLASSES
            rng.standard_exponential(out=time_j[:m])
            time_j[:m] *= inverse[row, j][:, None]
            np.multiply(first, ratio[row, j][:, None], out=delay[:m])
            time_j[:m] += delay[:m]
            np.less(time_j[:m], best[:m], out=earlier[:m])
            np.minimum(time_j[:m], best[:m], out=best[:m])
            np.copyto(said[:m], shift, where=earlier[:m])
        for shift in range(N_CLASSES):
            j = (label[row] + shift) % N_CLASSES
            out[row, j] = np.count_nonzero(said[:m] == shift, axis=1)
    return out / N_SAMPLES


def seconds(task: Callable[[], object]) -> float:
    """The fastest of some runs: what the machine can do when nobody disturbs it."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def speed(rng: np.random.Generator) -> dict[str, float | int]:
    """Both on the same rows."""
    p, q, label = rows(N_ROWS, rng)
    log_p, log_q = np.log(p), np.log(q)
    exact = counterfactual_probabilities(log_p, log_q, label)
    error = np.abs(monte_carlo(p, q, label, rng) - exact)
    if not 0.001 < error.mean() < 0.01:  # what frequencies over 1,000 draws are off
        raise RuntimeError(f"the two do not estimate the same law: mean error {error.mean()}")
    exact_seconds = seconds(lambda: counterfactual_probabilities(log_p, log_q, label))
    sampled_seconds = seconds(lambda: monte_carlo(p, q, label, rng))
    return {
        "classes": N_CLASSES,
        "samples": N_SAMPLES,
        "rows": N_ROWS,
        "exact_microseconds_per_row": exact_seconds / N_ROWS * 1e6,
        "monte_carlo_microseconds_per_row": sampled_seconds / N_ROWS * 1e6,
        "times_faster": sampled_seconds / exact_seconds,
        "monte_carlo_mean_error": float(error.mean()),
        "monte_carlo_largest_error": float(error.max()),
    }


def memory(rng: np.random.Generator) -> dict[str, float | int]:
    """Seconds for many rows, and what they take at most beyond inputs and result."""
    p, q, label = rows(N_ROWS_MEMORY, rng)
    log_p, log_q = np.log(p), np.log(q)
    start = time.perf_counter()
    counterfactual_probabilities(log_p, log_q, label)
    elapsed = time.perf_counter() - start
    tracemalloc.start()
    result = counterfactual_probabilities(log_p, log_q, label)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "many_rows": N_ROWS_MEMORY,
        "many_rows_seconds": elapsed,
        "many_rows_result_mb": result.nbytes / 1e6,
        "many_rows_extra_mb": (peak - result.nbytes) / 1e6,
    }


def main() -> None:
    """Measure, and record."""
    rng = np.random.default_rng(0)
    record("exact_law", speed(rng) | memory(rng))


if __name__ == "__main__":
    main()
