"""Algorithm 1 against the number of edges: the paper's O(|E|), on graphs of up to 4,000 experts.

One run of ``partition.greedy``, one core. What the algorithm does is counted: how many candidates
it looks at, which is at most the number of edges, for an edge is looked at only while one end joins
a group and the other is a candidate, and whoever joined is gone afterwards. Seconds are measured
twice: of the run, and of the search alone, with the matrices of edges and weights at hand.

Three families of graphs, with cliques planted in them (weights around -1; around 0 elsewhere):

- *sparse*: cliques of 10, and eleven random edges an expert; edges grow like experts;
- *dense*: ten cliques, and half of all other pairs; edges grow like experts squared;
- *complete*: one clique of all, where every edge is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from _results import fastest, peak_mb, record

from siscm import SimilarityGraph, partition

SIZES = (100, 200, 500, 1000, 2000, 4000)
FAMILIES: dict[str, Callable[[int], tuple[int, float]]] = {
    "sparse": lambda n: (10, 11 / n),
    "dense": lambda n: (n // 10, 0.5),
    "complete": lambda n: (n, 0.0),
}
"""Experts in a planted clique, and the probability of an edge elsewhere, by number of experts."""
RESTARTS = 10
seconds = partial(fastest, at_least=1.0)
"""A task is run so long, short ones more often."""


def random_graph(n: int, clique: int, density: float, rng: np.random.Generator) -> SimilarityGraph:
    """Planted cliques and random edges; every edge seen together once."""
    group = np.arange(n) // clique
    planted = group[:, None] == group
    edges = np.triu(planted | (rng.random((n, n)) < density), 1)
    weights = np.triu(rng.normal(0, 0.1, (n, n)) - planted, 1)
    return SimilarityGraph(
        pd.RangeIndex(n),
        (edges | edges.T).astype(np.int64),
        np.zeros((n, n), dtype=np.int64),
        (weights + weights.T) / 2,  # both directions of a pair add up to its weight
    )


def search(graph: SimilarityGraph, n_restarts: int = 1) -> partition.Groups:
    """What is measured; a graph that has been searched before has its matrices at hand."""
    return partition.greedy(graph, n_restarts, rng=np.random.default_rng(0))


def run(graph: SimilarityGraph, n_restarts: int = 1) -> partition.Groups:
    """The same with matrices yet to be computed."""
    return search(replace(graph), n_restarts)


def looked_at(graph: SimilarityGraph) -> int:
    """Candidates looked at in one run, over all of its rounds."""
    return sum(len(step.candidates) for step in partition.trace(graph, np.random.default_rng(0)))


def measure(graph: SimilarityGraph) -> dict[str, float | int]:
    """One graph."""
    n_edges = int(graph.edges.sum()) // 2
    looked = looked_at(graph)  # and the matrices are at hand from here
    if looked > n_edges:
        raise RuntimeError(f"{looked} candidates looked at, but only {n_edges} edges")
    return {
        "edges": n_edges,
        "looked": looked,
        "groups": len(search(graph)),
        "seconds": seconds(partial(run, graph)),
        "search_seconds": seconds(partial(search, graph)),
    }


def slope(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The exponent b of y = a x^b, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def summary(table: pd.DataFrame) -> dict[str, float | int]:
    """Exponents over all sizes and over the last doubling, and the largest graph."""
    largest = table.iloc[-1]
    figures: dict[str, float | int] = {
        name: int(largest[name]) for name in ("edges", "looked", "groups")
    }
    figures["looked_per_edge"] = float(largest["looked"] / largest["edges"])
    figures["looked_exponent"] = slope(table["edges"], table["looked"])
    for name in ("seconds", "search_seconds"):
        figures[name] = float(largest[name])
        figures[f"{name}_exponent"] = slope(table["edges"], table[name])
        figures[f"{name}_exponent_last"] = slope(table["edges"][-2:], table[name][-2:])
    figures["seconds_exponent_experts"] = slope(SIZES, table["seconds"])
    return figures


def main() -> None:
    """Measure every graph; restarts and memory on the largest sparse one."""
    rng = np.random.default_rng(0)
    figures: dict[str, float | int] = {"experts": max(SIZES)}
    fewest, most = [], []
    for family, shape in FAMILIES.items():
        rows = []
        for n in SIZES:
            graph = random_graph(n, *shape(n), rng)
            rows.append(measure(graph))
        table = pd.DataFrame(rows)
        fewest.append(int(table["edges"].min()))
        most.append(int(table["edges"].max()))
        figures |= {f"{family}_{name}": value for name, value in summary(table).items()}
        for n, row in zip(SIZES, rows, strict=True):
            names = ("edges", "seconds", "search_seconds")
            figures |= {f"{family}_of_{n}_{name}": row[name] for name in names}
        if family == "sparse":
            arrays = (graph.together, graph.violations, graph.loss_change)
            figures |= {
                "graph_mb": sum(array.nbytes for array in arrays) / 1e6,
                "peak_mb": peak_mb(partial(run, graph)),
                "restarts": RESTARTS,
                "restarts_seconds": seconds(partial(run, graph, RESTARTS)),
                "restarts_search_seconds": seconds(partial(search, graph, RESTARTS)),
            }
    record("algorithm1", figures | {"fewest_edges": min(fewest), "most_edges": max(most)})


if __name__ == "__main__":
    main()
