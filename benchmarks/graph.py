"""Graph, weights and partition of a panel as large as the paper's CIFAR-10H, marginals given.

114 experts, 1,257 instances, 13 or 14 opinions an instance, 10 classes. One core. The reference
is the paper's way, in plain Python: for each ordered pair of opinions, T = 1,000 posterior noise
vectors; timed on some pairs and extrapolated to all.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from _results import fastest, peak_mb, record

from siscm import Opinions, SimilarityGraph, partition
from siscm.checks import FloatArray
from siscm.pairs import iter_pairs

N_EXPERTS, N_INSTANCES, N_CLASSES = 114, 1257, 10
N_GROUPS = 15
N_SAMPLES = 1_000
N_REFERENCE = 500


def panel(n_experts: int, rng: np.random.Generator) -> tuple[FloatArray, Opinions]:
    """Marginals (n_opinions, k), and opinions of experts in groups with a noise each."""
    asked = rng.random((N_INSTANCES, n_experts)).argsort(axis=1)
    n_asked = 13 + (rng.random(N_INSTANCES) < 0.67)
    codes = np.where(asked < n_asked[:, None], 0, -1)
    instance, expert = np.nonzero(codes == 0)
    log_p = np.log(rng.dirichlet(np.full(N_CLASSES, 0.3), size=len(instance)).clip(1e-8))
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    noise = rng.gumbel(size=(N_INSTANCES, N_GROUPS, N_CLASSES))
    codes[instance, expert] = (log_p + noise[instance, expert % N_GROUPS]).argmax(axis=1)
    return log_p, Opinions.from_codes(codes, classes=range(N_CLASSES))


def build(log_p: FloatArray, opinions: Opinions) -> partition.Groups:
    """What is measured."""
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    return partition.greedy(graph, 10, rng=np.random.default_rng(0))


def reference_pair(
    log_p: FloatArray, log_q: FloatArray, label: int, truth: int, rng: np.random.Generator
) -> float:
    """The zero-one loss of one ordered pair, by Monte Carlo as the paper has it (Eq. 5)."""
    first = rng.standard_exponential((N_SAMPLES, 1))
    waits = np.exp(log_p) * first + rng.standard_exponential((N_SAMPLES, N_CLASSES))
    waits[:, label] = np.exp(log_p[label]) * first[:, 0]
    said = (log_q - np.log(waits)).argmax(axis=1)
    return float(np.bincount(said, minlength=N_CLASSES).argmax() != truth)


def reference_seconds(log_p: FloatArray, opinions: Opinions, rng: np.random.Generator) -> float:
    """Seconds an ordered pair, over some pairs drawn at random."""
    first, second = (np.concatenate(side) for side in zip(*iter_pairs(opinions), strict=True))
    chosen = rng.choice(len(first), size=N_REFERENCE, replace=False)
    y = opinions.label_codes.tolist()
    start = time.perf_counter()
    for a, b in zip(first[chosen].tolist(), second[chosen].tolist(), strict=True):
        reference_pair(log_p[a], log_p[b], y[a], y[b], rng)
    return (time.perf_counter() - start) / N_REFERENCE


def main() -> None:
    """Time and weigh the panel, and one with twice the experts but as many opinions."""
    rng = np.random.default_rng(0)
    log_p, opinions = panel(N_EXPERTS, rng)
    n_pairs = 2 * sum(len(first) for first, _ in iter_pairs(opinions))
    task = partial(build, log_p, opinions)
    seconds = fastest(task)
    doubled, doubled_opinions = panel(2 * N_EXPERTS, rng)
    each = reference_seconds(log_p, opinions, rng)
    record(
        "graph",
        {
            "experts": N_EXPERTS,
            "instances": N_INSTANCES,
            "classes": N_CLASSES,
            "opinions": len(opinions),
            "ordered_pairs": n_pairs,
            "groups_found": len(task()),
            "seconds": seconds,
            "peak_mb": peak_mb(task),
            "twice_the_experts_opinions": len(doubled_opinions),
            "twice_the_experts_peak_mb": peak_mb(partial(build, doubled, doubled_opinions)),
            "reference_pairs_timed": N_REFERENCE,
            "reference_seconds_extrapolated": each * n_pairs,
            "times_faster": each * n_pairs / seconds,
        },
    )


if __name__ == "__main__":
    main()
