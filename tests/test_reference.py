"""Two synthetic runs of the paper's released code: the same graph, and groups found as well."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.metrics import adjusted_rand_score
from strategies import log

from siscm import Opinions, SimilarityGraph, partition
from siscm.data.registry import data_folder

RUNS = ("synthetic_m200_s0.8", "synthetic_m50_s0.6")

pytestmark = pytest.mark.real_data


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> dict[str, npt.NDArray[np.generic]]:
    path = data_folder() / "reference" / f"{request.param}.npz"
    assert path.is_file(), f"{path} is missing: SISCM_DATA_DIR must name the folder that holds it."
    with np.load(path) as stored:
        return dict(stored)


def graph_of(run: dict[str, npt.NDArray[np.generic]]) -> SimilarityGraph:
    n_classes = run["marginals"].shape[-1]
    opinions = Opinions.from_codes(run["labels"], classes=range(n_classes))
    return SimilarityGraph.from_opinions(log(run["marginals"]), opinions)


def test_edges_are_those_of_the_released_code(run: dict[str, npt.NDArray[np.generic]]) -> None:
    edges = graph_of(run).edges
    np.testing.assert_array_equal(edges, run["edges"])
    assert 0 < edges.mean() < 1


def test_planted_groups_are_found_at_least_as_well(
    run: dict[str, npt.NDArray[np.generic]],
) -> None:
    graph, planted = graph_of(run), run["true_group"]
    stored = adjusted_rand_score(planted, run["found_group"])
    for seed in range(10):
        groups = partition.greedy(graph, 5, rng=np.random.default_rng(seed))
        found = partition.group_of(groups, range(len(planted)))
        assert adjusted_rand_score(planted, found) >= stored, f"seed {seed}"
        assert np.isfinite(partition.objective(graph, groups))
