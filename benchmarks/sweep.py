"""The fit of one run of the synthetic sweep, m = 100 and s = 0.1, against Monte Carlo.

The fit: graph and weights from true marginals, then Algorithm 1 with five restarts. One core. The
reference is written for this comparison, the paper's way: T = 500 draws of posterior noise for
each opinion observed, all draws at once, in a loop over instances and experts; violations by
products of probabilities, in plain Python; Algorithm 1 is the package's on both sides. It comes in
two forms:

- *shared*: the draws serve all targets of an observed opinion (the released code shares them, too),
  and all targets are answered at once. The faster and so the fairer one: ``times_faster``.
- *pair by pair*: each ordered pair draws its own, as the paper's formula reads.

Both draw with exponentials instead of truncated Gumbels, which needs no logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from _results import record, timed

from siscm import Opinions, SimilarityGraph, partition
from siscm.checks import FloatArray, IntArray
from siscm.synthetic.planted import make_synthetic_panel, sparsify

Losses = Callable[[FloatArray, list[int], np.random.Generator], FloatArray]

N_TRAIN, SPARSITY = 100, 0.1
N_SAMPLES = 500
N_RESTARTS = 5
REPEATS = 3


def fit(log_p: FloatArray, opinions: Opinions) -> tuple[SimilarityGraph, partition.Groups]:
    """What is measured."""
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    return graph, partition.greedy(graph, N_RESTARTS, rng=np.random.default_rng(0))


def posterior(p: FloatArray, label: int, rng: np.random.Generator) -> FloatArray:
    """Draws (k, T) of exp(-noise), given that the expert with marginal ``p`` says ``label``."""
    first = rng.standard_exponential(N_SAMPLES)
    waits = p[:, None] * first + rng.standard_exponential((len(p), N_SAMPLES))
    waits[label] = p[label] * first
    return np.asarray(waits)


def likeliest(waits: FloatArray, inverse: FloatArray) -> IntArray:
    """What targets with marginals 1 / ``inverse`` (n, k) say most often, label by label.

    Faster than argmin and bincount, of the forms that were tried.
    """
    best = inverse[:, :1] * waits[0]
    said = np.zeros(best.shape, dtype=np.int8)
    for label in range(1, len(waits)):
        here = inverse[:, label, None] * waits[label]
        np.copyto(said, label, where=here < best)
        np.minimum(best, here, out=best)
    counts = [np.count_nonzero(said == label, axis=1) for label in range(len(waits))]
    return np.asarray(np.stack(counts).argmax(axis=0))


def losses_shared(p: FloatArray, said: list[int], rng: np.random.Generator) -> FloatArray:
    """0/1 losses [observed, target] on one instance: draws shared by the targets."""
    truth = np.array(said)
    rows = [likeliest(posterior(p[h], y, rng), 1 / p) != truth for h, y in enumerate(said)]
    return np.array(rows, dtype=np.float64)


def losses_pair_by_pair(p: FloatArray, said: list[int], rng: np.random.Generator) -> FloatArray:
    """The same with draws of its own for each ordered pair."""
    losses = np.zeros((len(said), len(said)))
    inverse, k = 1 / p, p.shape[1]
    for h, y in enumerate(said):
        for target, truth in enumerate(said):
            if target != h:
                waits = posterior(p[h], y, rng) * inverse[target][:, None]
                answer = np.bincount(waits.argmin(axis=0), minlength=k).argmax()
                losses[h, target] = answer != truth
    return losses


def violating(p: list[list[float]], said: list[int]) -> list[tuple[int, int]]:
    """Pairs on one instance that break conditional stability, by products of probabilities."""
    return [
        (h, other)
        for h, c in enumerate(said)
        for other, d in enumerate(said[:h])
        if c != d and p[other][c] * p[h][d] >= p[other][d] * p[h][c]
    ]


def reference(
    log_p: FloatArray, opinions: Opinions, losses: Losses, rng: np.random.Generator
) -> tuple[SimilarityGraph, partition.Groups]:
    """The same fit by Monte Carlo."""
    n_experts = len(opinions.experts)
    square = (n_experts, n_experts)
    together, violations = np.zeros(square, dtype=np.int64), np.zeros(square, dtype=np.int64)
    change = np.zeros(square)
    for log_p_here, labels in zip(log_p, opinions.labels, strict=True):
        asked = np.flatnonzero(labels >= 0)
        p, said = np.exp(log_p_here[asked]), labels[asked].tolist()
        cells = np.ix_(asked, asked)
        together[cells] += 1
        change[cells] += losses(p, said, rng) - (p.argmax(axis=1) != said)
        for h, other in violating(p.tolist(), said):
            violations[asked[h], asked[other]] += 1
    for counts in (together, change):
        np.fill_diagonal(counts, 0)
    graph = SimilarityGraph(opinions.experts, together, violations + violations.T, change)
    return graph, partition.greedy(graph, N_RESTARTS, rng=np.random.default_rng(0))


def main() -> None:
    """Time the three in turn, so that all meet the same machine; compare what they found."""
    rng = np.random.default_rng(0)
    panel = make_synthetic_panel(N_TRAIN, rng)
    log_p, opinions = panel.log_marginals, sparsify(panel.opinions, SPARSITY, rng)
    seconds: dict[str, list[float]] = {"exact": [], "shared": [], "pair_by_pair": []}
    objectives = {}
    for _ in range(REPEATS):
        for _ in range(REPEATS):
            elapsed, (graph, groups) = timed(partial(fit, log_p, opinions))
            seconds["exact"].append(elapsed)
        for name, losses in (("shared", losses_shared), ("pair_by_pair", losses_pair_by_pair)):
            elapsed, (sampled, found) = timed(partial(reference, log_p, opinions, losses, rng))
            seconds[name].append(elapsed)
            if not np.array_equal(sampled.edges, graph.edges):
                raise RuntimeError(f"the reference, {name}, finds other edges")
            objectives[name] = partition.objective(graph, found)
    fastest = {name: min(times) for name, times in seconds.items()}
    asked = (opinions.labels >= 0).sum(axis=1)
    record(
        "sweep",
        {
            "experts": len(opinions.experts),
            "instances": N_TRAIN,
            "sparsity": SPARSITY,
            "classes": opinions.n_classes,
            "samples": N_SAMPLES,
            "ordered_pairs": int((asked * (asked - 1)).sum()),
            "edges": int(graph.edges.sum()) // 2,
            "seconds": fastest["exact"],
            "reference_seconds": fastest["shared"],
            "reference_pair_by_pair_seconds": fastest["pair_by_pair"],
            "times_faster": fastest["shared"] / fastest["exact"],
            "times_faster_pair_by_pair": fastest["pair_by_pair"] / fastest["exact"],
            "objective": partition.objective(graph, groups),
            "reference_objective": objectives["shared"],
            "reference_pair_by_pair_objective": objectives["pair_by_pair"],
        },
    )


if __name__ == "__main__":
    main()
