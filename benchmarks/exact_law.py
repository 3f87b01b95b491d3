"""The exact law against Monte Carlo with T = 1,000 samples, on the same rows in the same run.

One core: nothing here calls a multithreaded library. The Monte Carlo is written for this
comparison, not taken from the package: exponentials instead of Gumbels, so that it needs no
logarithm; one pass a label over arrays that stay in the cache; only comparisons, no sort. About
half of its time goes into drawing random numbers.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _results import fastest, peak_mb, record, timed

from siscm.checks import FloatArray, IntArray
from siscm.gumbel import counterfactual_probabilities

N_CLASSES = 10
N_SAMPLES = 1_000
N_ROWS = 20_000
N_ROWS_MEMORY = 1_000_000
CHUNK = 128
"""Rows at a time in the Monte Carlo: the fastest of 8, 16, ..., 256."""


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


def speed(rng: np.random.Generator) -> dict[str, float | int]:
    """Both on the same rows."""
    p, q, label = rows(N_ROWS, rng)
    exact = partial(counterfactual_probabilities, np.log(p), np.log(q), label)
    sampled = partial(monte_carlo, p, q, label, rng)
    error = np.abs(sampled() - exact())
    if not 0.001 < error.mean() < 0.01:  # what frequencies over 1,000 draws are off
        raise RuntimeError(f"the two do not estimate the same law: mean error {error.mean()}")
    exact_seconds, sampled_seconds = fastest(exact), fastest(sampled)
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
    exact = partial(counterfactual_probabilities, np.log(p), np.log(q), label)
    seconds, law = timed(exact)
    result_mb = law.nbytes / 1e6
    return {
        "many_rows": N_ROWS_MEMORY,
        "many_rows_seconds": seconds,
        "many_rows_result_mb": result_mb,
        "many_rows_extra_mb": peak_mb(exact) - result_mb,
    }


def main() -> None:
    """Measure, and record."""
    rng = np.random.default_rng(0)
    record("exact_law", speed(rng) | memory(rng))


if __name__ == "__main__":
    main()
