"""Memory grows with the opinions, not with the pairs of opinions: they are handled in blocks."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from strategies import log_dirichlet

from siscm import Opinions, SimilarityGraph, pairs
from siscm.cifar10h import released

N_OPINIONS, N_EXPERTS, K = 4000, 100, 3


def peak(n_each: int) -> int:
    """Bytes that graph and weights take at most, with so many opinions on each instance."""
    rng = np.random.default_rng(0)
    n = N_OPINIONS // n_each
    codes = np.full((n, N_EXPERTS), -1)
    asked = rng.random(codes.shape).argsort(axis=1) < n_each
    codes[asked] = rng.integers(K, size=N_OPINIONS)
    opinions = Opinions.from_codes(codes, classes=range(K))
    log_p = log_dirichlet(rng, (N_OPINIONS, K))
    tracemalloc.start()
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    released.average_over_all_instances(graph, log_p, opinions)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_ten_times_the_pairs_take_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs.iter_pairs, "__defaults__", (2000,))
    few, many = peak(n_each=10), peak(n_each=100)  # 18,000 and 198,000 pairs
    assert many < 1.3 * few
    # All in one block, and the measurement sees it.
    monkeypatch.setattr(pairs.iter_pairs, "__defaults__", (10**9,))
    assert peak(n_each=100) > 5 * many
