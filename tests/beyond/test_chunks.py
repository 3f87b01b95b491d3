"""Chunks of instances: cut, worked on anywhere, added up; always the same to the last digit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from graded_panels import GradedPanel, graded_panel, standard_errors
from hypothesis import given
from hypothesis import strategies as st

from siscm import Opinions, SimilarityGraph
from siscm.beyond.chunks import AHEAD, Chunk, Source, each, split, total
from siscm.beyond.sharing import SharingEvidence
from siscm.beyond.sharing_fit import fit_sharing
from siscm.graded import GradedSISCM

pytestmark = pytest.mark.usefixtures("one_thread")

GROUPS = [[0, 1, 2, 3], [4, 5, 6]]
LOG_GRAPH = partial(SimilarityGraph.from_opinions, loss="log")


@pytest.fixture(scope="module")
def panel() -> GradedPanel:
    """Two groups, seven experts."""
    return graded_panel(np.random.default_rng(0), 120, GROUPS, [0.9] * 7, asked=0.7)


@pytest.fixture(scope="module")
def chunks(panel: GradedPanel) -> list[Chunk]:
    """Of unequal size."""
    return list(split(*panel.chunk, 9))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """A Dask cluster of this machine: two workers, in threads of this process."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            worker_dashboard_address=None,
        ) as local,
        Client(local) as client,
    ):
        yield client


def fitted(chunks: list[Source]) -> tuple[Any, ...]:
    """All that is learned from chunks, as plain lists that are equal or not."""
    graph = total(LOG_GRAPH, chunks)
    _, groups, _, table = fit_sharing(chunks, rng=np.random.default_rng(0))
    arrays = graph.together, graph.violations, graph.loss_change, table.to_numpy()
    return groups, [array.tobytes() for array in arrays]


# Cutting


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)])
def test_every_opinion_is_in_one_chunk(panel: GradedPanel, rng: np.random.Generator | None) -> None:
    parts = split(*panel.chunk, 7, rng=rng)
    sizes = [len(opinions.instances) for _, opinions in parts]
    assert max(sizes) - min(sizes) <= 1
    for rows, opinions in parts:
        expected = panel.opinions.select(instances=opinions.instances)
        pd.testing.assert_frame_equal(opinions.to_long(), expected.to_long())
        np.testing.assert_array_equal(
            rows, panel.log_p[opinions.instances[opinions.instance_codes], opinions.expert_codes]
        )
        assert opinions.classes.equals(panel.opinions.classes)
    order = [name for _, opinions in parts for name in opinions.instances]
    assert sorted(order) == panel.opinions.instances.tolist()
    assert (order == sorted(order)) == (rng is None)


def test_marginals_of_all_experts_are_cut_too(panel: GradedPanel) -> None:
    for one, other in zip(split(*panel.chunk, 3), split(*panel, 3), strict=True):
        np.testing.assert_array_equal(one[0], other[0])


def test_more_chunks_than_instances() -> None:
    opinions = Opinions.from_codes([[0, 1]])
    sizes = [len(part) for _, part in split(np.log(np.full((1, 2, 2), 0.5)), opinions, 3)]
    assert sorted(sizes) == [0, 0, 2]


def test_what_cannot_be_cut(panel: GradedPanel) -> None:
    with pytest.raises(ValueError, match="n_chunks must be a whole number of at least 1; got 0"):
        split(*panel.chunk, 0)
    with pytest.raises(ValueError, match="log_marginals has shape"):
        split(panel.log_p[1:], panel.opinions, 2)


# The sums of the parts


@given(st.integers(0, 2**32 - 1))
def test_chunks_add_up_to_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    panel = graded_panel(rng, 14, [[0, 1, 2], [3]], [0.7] * 4, asked=0.6)
    parts = split(*panel.chunk, int(rng.integers(1, 16)), rng=rng)
    graph, whole = (
        total(SimilarityGraph.from_opinions, parts),
        SimilarityGraph.from_opinions(*panel),
    )
    for name in ("together", "violations", "loss_change"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(whole, name))
    evidence, all_of_it = (
        total(SharingEvidence.from_opinions, parts),
        SharingEvidence.from_opinions(*panel),
    )
    np.testing.assert_array_equal(evidence.key, all_of_it.key)
    np.testing.assert_allclose(evidence.sums, all_of_it.sums, atol=1e-10)


def test_errors_add_up_to_the_whole(panel: GradedPanel, chunks: list[Source]) -> None:
    a = np.linspace(0.5, 0.9, 7)
    for n_jobs in (1, 2):
        with joblib.parallel_config(n_jobs=n_jobs):
            found = standard_errors(chunks, GROUPS, a, "gumbel")
        whole = standard_errors([panel.chunk], GROUPS, a, "gumbel")
        np.testing.assert_allclose(found, whole, rtol=1e-10)


def test_what_the_estimator_learns_is_learned_from_chunks(panel: GradedPanel) -> None:
    """Dealt out as it deals them, chunks of the same marginals give the same groups and sharing."""
    X = np.random.default_rng(1).normal(size=(120, 2))
    model = GradedSISCM(random_state=3).fit(X, panel.opinions)
    parts_rng, rng, _ = np.random.default_rng(3).spawn(3)
    parts = split(model.marginals_.out_of_fold_, panel.opinions, 4, rng=parts_rng)
    _, groups, _, table = fit_sharing(parts, rng=rng)
    assert [panel.opinions.experts[group].tolist() for group in groups] == model.partition_
    pd.testing.assert_frame_equal(table, model.sharing_)


# Anywhere


def on_disk(chunks: list[Source], folder: Path) -> list[Source]:
    """Functions that load the chunks."""
    for i, chunk in enumerate(chunks):
        joblib.dump(chunk, folder / f"{i}.joblib")
    return [partial(joblib.load, folder / f"{i}.joblib") for i in range(len(chunks))]


def test_any_number_of_workers_anywhere(chunks: list[Source], tmp_path: Path) -> None:
    expected = fitted(chunks)
    loaded = on_disk(chunks, tmp_path)
    assert fitted(loaded) == expected
    for setting in ({"n_jobs": 2}, {"n_jobs": 3}, {"backend": "loky", "n_jobs": 2}):
        with joblib.parallel_config(**setting):
            assert fitted(loaded) == expected
            assert fitted(chunks) == expected


def test_a_dask_cluster_is_a_context_manager_away(
    chunks: list[Source], cluster: Client, tmp_path: Path
) -> None:
    expected = fitted(chunks)
    loaded = on_disk(chunks, tmp_path)
    before = cluster.run_on_scheduler(done)
    with joblib.parallel_config(backend="dask"):
        assert fitted(loaded) == expected
        assert fitted(chunks) == expected
    assert cluster.run_on_scheduler(done) > before  # and it did the work
    with (
        joblib.parallel_config(backend="dask"),
        pytest.raises(FileNotFoundError) as refusal,
    ):
        total(LOG_GRAPH, [*loaded, partial(joblib.load, tmp_path / "nowhere")])
    assert "This was chunk 9, the first being 0." in refusal.value.__notes__


def done(dask_scheduler: Any) -> int:
    """How many tasks the cluster has seen to, or knows of."""
    return int(dask_scheduler.transition_counter)


def test_results_come_in_the_order_of_the_chunks(chunks: list[Chunk]) -> None:
    """However long each takes."""

    def slow_first(rows: Any, opinions: Opinions) -> int:
        time.sleep(0.05 if opinions.instances[0] == 0 else 0)
        return int(opinions.instances[0])

    first = [int(opinions.instances[0]) for _, opinions in chunks]
    for n_jobs in (1, 2, 4):
        with joblib.parallel_config(n_jobs=n_jobs):
            assert list(each(slow_first, chunks)) == first


@pytest.mark.filterwarnings("ignore:.*tasks:UserWarning")  # joblib's, about what is left unread
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_do_not_run_ahead(chunks: list[Chunk], n_jobs: int) -> None:
    """A generator of chunks is not read to its end while what is known waits to be added up."""
    read = count()

    def endless() -> Iterator[Chunk]:
        while True:
            next(read)
            yield chunks[0]

    results = each(lambda *chunk: threading.get_ident(), endless())
    with joblib.parallel_config(n_jobs=n_jobs):
        for _ in range(3):
            next(results)
    time.sleep(0.1)
    assert next(read) <= AHEAD * n_jobs
    results.close()  # type: ignore[attr-defined]


# What is refused


def test_no_chunks() -> None:
    with pytest.raises(ValueError, match="there are no chunks"):
        total(SimilarityGraph.from_opinions, [])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_chunk_of_this_kind(chunks: list[Any], panel: GradedPanel, n_jobs: int) -> None:
    for wrong, kind in (
        (panel.opinions, "Opinions"),
        (lambda: (1, 2, 3), "tuple"),
        ((panel.opinions, panel.log_p), "tuple"),
    ):
        with (
            joblib.parallel_config(n_jobs=n_jobs),
            pytest.raises(ValueError, match=f"must be a pair .* not a {kind}") as refusal,
        ):
            total(SimilarityGraph.from_opinions, [*chunks[:2], wrong, *chunks[2:]])
        assert refusal.value.__notes__ == ["This was chunk 2, the first being 0."]


def test_chunks_about_other_experts(chunks: list[Any]) -> None:
    rows, opinions = chunks[1]
    turned = opinions.select(experts=opinions.experts[::-1])
    for function in (SimilarityGraph.from_opinions, SharingEvidence.from_opinions):
        with pytest.raises(ValueError, match="about different experts"):
            total(function, [chunks[0], (rows, turned)])


def test_chunks_that_cannot_be_judged(chunks: list[Any]) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="chunks are read twice, but a generator"):
        fit_sharing(iter(chunks), rng=rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 chunks are too few"):
        fit_sharing(chunks[:1], rng=rng)
    with pytest.raises(ValueError, match=r"sharing is 2\.0; it must lie between 0 and 1"):
        fit_sharing(chunks, rng=rng, sharing=np.full(4, 2.0))
    with pytest.raises(ValueError, match="sharing is nan; it must lie between 0 and 1"):
        fit_sharing(chunks, rng=rng, sharing=np.array([0.5, np.nan]))
    with pytest.raises(ValueError, match="this needs a generator rng"):
        fit_sharing(chunks, rng=0)  # type: ignore[arg-type]
    assert fit_sharing(chunks[:1], rng=rng, groups=GROUPS).groups == GROUPS
    with pytest.raises(ValueError, match="0 chunks are too few"):
        fit_sharing([], rng=rng, groups=GROUPS)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("labels", ["ab", "cba"])
def test_chunks_with_other_labels(labels: str, n_jobs: int) -> None:
    known, other = (
        Opinions.from_codes([[0, 0], [1, 0]], classes=list(some)) for some in ("abc", labels)
    )
    parts = [(np.log(np.full((4, o.n_classes), 1 / o.n_classes)), o) for o in (known, other)]
    with (
        joblib.parallel_config(n_jobs=n_jobs),
        pytest.raises(ValueError, match=r"different labels \(\['a', 'b', 'c'\] .*classes="),
    ):
        total(SimilarityGraph.from_opinions, parts)


def test_instances_are_dealt_out_by_the_seed(panel: GradedPanel) -> None:
    first, again, other = (
        [part.instances.tolist() for _, part in split(*panel.chunk, 3, rng=rng)]
        for rng in map(np.random.default_rng, (0, 0, 1))
    )
    assert first == again != other
