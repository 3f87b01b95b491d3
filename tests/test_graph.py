"""The similarity graph against a loop that follows the paper's definitions, pair by pair."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent import race_row
from strategies import log, log_dirichlet, rngs

from siscm import Opinions, SimilarityGraph, pairs
from siscm.inference import laws_of

LOSSES = ("zero_one", "log")


def panel(
    rng: np.random.Generator, n: int = 12, n_experts: int = 5, k: int = 3, asked: float = 0.7
) -> tuple[np.ndarray, Opinions]:
    """Marginals, and opinions of which about half come from one noise."""
    log_p = log_dirichlet(rng, (n, n_experts, k))
    noise = rng.gumbel(size=(n, n_experts, k))
    noise[:, : n_experts // 2 + 1] = noise[:, :1]
    codes = (log_p + noise).argmax(axis=-1)
    codes[rng.random(codes.shape) > asked] = -1
    names = [f"e{h}" for h in range(n_experts)]
    return log_p, Opinions.from_codes(codes, experts=names, classes=range(k))


def loss_of(probabilities: list[float], label: int, loss: str) -> float:
    if loss == "zero_one":
        return float(probabilities.index(max(probabilities)) != label)
    return -math.log(probabilities[label]) if probabilities[label] > 0 else math.inf


def slow_graph(log_p: np.ndarray, opinions: Opinions, loss: str) -> dict[str, dict]:
    """Counts, violations and losses in dictionaries, by the definitions and no package code."""
    together: dict = defaultdict(int)
    violations: dict = defaultdict(int)
    changes: dict = defaultdict(list)
    p = np.exp(log_p)
    for i, row in enumerate(opinions.labels):
        for g, c in enumerate(row):
            for h, d in enumerate(row):
                if g == h or c < 0 or d < 0:
                    continue
                together[g, h] += 1
                if c != d and p[i, h, c] / p[i, g, c] >= p[i, h, d] / p[i, g, d]:
                    violations[g, h] += 1
                law = race_row(p[i, g].tolist(), p[i, h].tolist(), int(c))
                changes[g, h].append(
                    loss_of(law, int(d), loss) - loss_of(p[i, h].tolist(), int(d), loss)
                )
    return {"together": together, "violations": violations, "changes": changes}


@pytest.mark.parametrize("loss", LOSSES)
@given(rng=rngs(), k=st.integers(2, 5), asked=st.sampled_from([0.3, 0.7, 1.0]))
def test_graph_is_what_the_slow_loop_finds(
    loss: str, rng: np.random.Generator, k: int, asked: float
) -> None:
    log_p, opinions = panel(rng, k=k, asked=asked)
    graph = SimilarityGraph.from_opinions(log_p, opinions, loss)
    slow = slow_graph(log_p, opinions, loss)
    assert list(graph.experts) == list(opinions.experts)
    assert graph.loss == loss
    for g in range(5):
        for h in range(5):
            together, violations = slow["together"][g, h], slow["violations"][g, h]
            assert graph.together[g, h] == together
            assert graph.violations[g, h] == violations
            assert graph.edges[g, h] == (together > 0 and violations == 0)
            change = sum(slow["changes"][g, h])
            np.testing.assert_allclose(graph.loss_change[g, h], change, rtol=1e-9, atol=1e-12)
            if together == 0:
                assert np.isnan(graph.weights[g, h])
                continue
            weight = np.mean(slow["changes"][g, h]) + np.mean(slow["changes"][h, g])
            np.testing.assert_allclose(graph.weights[g, h], weight, rtol=1e-9, atol=1e-12)


def test_a_graph_worked_by_hand() -> None:
    """Two instances, three experts; Cy is never asked together with Ann."""
    log_p = np.log(
        [
            [[0.5, 0.5], [0.8, 0.2], [0.5, 0.5]],
            [[0.6, 0.4], [0.4, 0.6], [0.3, 0.7]],
        ]
    )
    opinions = Opinions.from_codes([[0, 1, -1], [-1, 1, 1]], experts=["Ann", "Bob", "Cy"])
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    np.testing.assert_array_equal(graph.together, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    # Ann to Bob moves from 0 to 1 although 0 became likelier.
    np.testing.assert_array_equal(graph.violations, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(graph.edges, [[0, 0, 0], [0, 0, 1], [0, 1, 0]])
    # Ann says 0, so Bob must (wrong, as was his marginal: 0). Bob says 1, so Ann does for sure
    # (wrong; her marginal, by its first label, was right: 1). Bob and Cy both lean to 1: 0.
    np.testing.assert_array_equal(graph.loss_change, [[0, 0, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(
        graph.weights, [[np.nan, 1, np.nan], [1, np.nan, 0], [np.nan, 0, np.nan]]
    )
    logarithmic = SimilarityGraph.from_opinions(log_p, opinions, "log")
    assert logarithmic.weights[0, 1] == np.inf
    # P(Cy 1 | Bob 1) = 1 and P(Bob 1 | Cy 1) = 0.6 / 0.7: the marginals gave 0.7 and 0.6.
    expected = np.log(0.7) + np.log(0.6) - np.log(0.6 / 0.7)
    np.testing.assert_allclose(logarithmic.weights[1, 2], expected, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
@given(rng=rngs())
def test_both_shapes_of_marginals_give_the_same_graph(loss: str, rng: np.random.Generator) -> None:
    log_p, opinions = panel(rng)
    dense = SimilarityGraph.from_opinions(log_p, opinions, loss)
    rows = log_p[opinions.instance_codes, opinions.expert_codes]
    assert_same_graph(dense, SimilarityGraph.from_opinions(rows, opinions, loss))


def assert_same_graph(a: SimilarityGraph, b: SimilarityGraph, atol: float = 0.0) -> None:
    np.testing.assert_array_equal(a.experts, b.experts)
    np.testing.assert_array_equal(a.together, b.together)
    np.testing.assert_array_equal(a.violations, b.violations)
    np.testing.assert_allclose(a.loss_change, b.loss_change, rtol=0, atol=atol)
    assert a.loss == b.loss


@pytest.mark.parametrize("loss", LOSSES)
@given(rng=rngs(), n_parts=st.integers(1, 4))
def test_graphs_of_parts_add_up_to_the_graph_of_all(
    loss: str, rng: np.random.Generator, n_parts: int
) -> None:
    log_p, opinions = panel(rng)
    part = rng.integers(n_parts, size=12)
    parts = []
    for number in range(n_parts):
        chosen = np.flatnonzero(part == number)
        some = opinions.select(instances=opinions.instances[chosen])
        parts.append(SimilarityGraph.from_opinions(log_p[chosen], some, loss))
    total = parts[0]
    for graph in parts[1:]:
        total = total + graph
    whole = SimilarityGraph.from_opinions(log_p, opinions, loss)
    assert_same_graph(total, whole, atol=1e-12)
    np.testing.assert_array_equal(total.edges, whole.edges)
    np.testing.assert_allclose(total.weights, whole.weights, rtol=0, atol=1e-12)


@given(rng=rngs())
def test_order_of_instances_and_experts_does_not_matter(rng: np.random.Generator) -> None:
    log_p, opinions = panel(rng)
    rows, experts = rng.permutation(12), rng.permutation(5)
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    shuffled = SimilarityGraph.from_opinions(
        log_p[rows][:, experts],
        opinions.select(opinions.instances[rows], opinions.experts[experts]),
    )
    np.testing.assert_array_equal(shuffled.experts, graph.experts[experts])
    square = np.ix_(experts, experts)
    for name in ("together", "violations", "loss_change", "weights", "edges"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(graph, name)[square])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("block", [1, 5])
def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch, loss: str, block: int) -> None:
    log_p, opinions = panel(np.random.default_rng(0), n=30)
    whole = SimilarityGraph.from_opinions(log_p, opinions, loss)
    in_blocks = partial(pairs.iter_pairs, block=block)
    monkeypatch.setattr("siscm.graph.iter_pairs", in_blocks)
    assert len(list(in_blocks(opinions))) > 20
    assert_same_graph(SimilarityGraph.from_opinions(log_p, opinions, loss), whole, atol=1e-12)


@given(rng=rngs())
def test_arrays_are_symmetric_and_edges_never_join_an_expert_to_herself(
    rng: np.random.Generator,
) -> None:
    log_p, opinions = panel(rng)
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    for array in (graph.together, graph.violations, graph.edges, graph.weights):
        np.testing.assert_array_equal(array, array.T)
    assert not graph.edges.diagonal().any()
    assert not graph.together.diagonal().any()
    assert graph.together.dtype == graph.violations.dtype == np.int64
    assert np.isnan(graph.weights.diagonal()).all()


def test_matrices_are_computed_once_and_nobody_can_change_them() -> None:
    graph = SimilarityGraph.from_opinions(*panel(np.random.default_rng(0), asked=0.2))
    for name in ("edges", "weights"):
        assert getattr(graph, name) is getattr(graph, name)
        with pytest.raises(ValueError, match="read-only"):
            getattr(graph, name)[0, 1] = 0
    assert graph.edges.sum() < graph.with_unmet_pairs().edges.sum()  # which has its own


def test_experts_under_one_noise_never_violate_and_gain() -> None:
    rng = np.random.default_rng(0)
    log_p = log_dirichlet(rng, (400, 6, 4))
    noise = rng.gumbel(size=(400, 2, 4))[:, [0, 0, 0, 1, 1, 1]]
    opinions = Opinions.from_codes((log_p + noise).argmax(axis=-1))
    for loss in LOSSES:
        graph = SimilarityGraph.from_opinions(log_p, opinions, loss)
        same = np.equal.outer([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
        np.fill_diagonal(same, False)
        np.testing.assert_array_equal(graph.edges, same)
        assert graph.weights[same].max() < -0.1


def test_an_opinion_that_teaches_nothing_weighs_exactly_nothing() -> None:
    """Ann is certain, so Bob's law is his marginal; float32 rounding must not make it a loss."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=(50, 2)).astype(np.float32)
    p[:, 0] = [1, 0, 0]
    codes = np.zeros((50, 2), dtype=int)
    codes[:, 1] = rng.integers(0, 3, size=50)
    opinions = Opinions.from_codes(codes, experts=["Ann", "Bob"])
    graph = SimilarityGraph.from_opinions(log(p), opinions, "log")
    assert np.abs(graph.loss_change).max() < 1e-12


def test_an_opinion_too_unlikely_for_a_double_has_a_finite_loss() -> None:
    log_p = np.array([[[0.0, -800.0], [0.0, -800.0]]])
    opinions = Opinions.from_codes([[1, 1]])
    graph = SimilarityGraph.from_opinions(log_p, opinions, "log")
    np.testing.assert_allclose(graph.loss_change, [[0, -800], [-800, 0]], atol=1e-12)


def test_nobody_seen_together() -> None:
    opinions = Opinions.from_codes([[0, -1], [-1, 1]])
    graph = SimilarityGraph.from_opinions(np.full((2, 2, 2), np.log(0.5)), opinions)
    assert not graph.edges.any()
    assert np.isnan(graph.weights).all()
    for shape in ((0, 2), (2, 0), (0, 0)):
        nothing = Opinions.from_codes(np.empty(shape, dtype=int), classes=[0, 1])
        empty = SimilarityGraph.from_opinions(np.empty((*shape, 2)), nothing)
        assert empty.edges.shape == (shape[1], shape[1])


def test_unmet_pairs_can_be_let_in() -> None:
    """Edges of weight zero where two never met; all else as it was."""
    log_p, opinions = panel(np.random.default_rng(1), n=15, asked=0.25)
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    let_in = graph.with_unmet_pairs()
    unmet = (graph.together == 0) & ~np.eye(len(graph.experts), dtype=bool)
    assert unmet.any()
    assert (graph.violations > 0).any()
    np.testing.assert_array_equal(let_in.edges, graph.edges | unmet)
    np.testing.assert_array_equal(let_in.weights, np.where(unmet, 0.0, graph.weights))
    assert_same_graph(let_in.with_unmet_pairs(), let_in)
    logarithmic = SimilarityGraph.from_opinions(log_p, opinions, "log").with_unmet_pairs()
    assert logarithmic.loss == "log"


def test_refusals() -> None:
    log_p, opinions = panel(np.random.default_rng(0))
    with pytest.raises(ValueError, match="loss is 'hinge'; it must be 'zero_one' or 'log'"):
        SimilarityGraph.from_opinions(log_p, opinions, "hinge")
    graph = SimilarityGraph.from_opinions(log_p, opinions)
    fewer = SimilarityGraph.from_opinions(
        log_p[:, :4], opinions.select(experts=opinions.experts[:4])
    )
    with pytest.raises(ValueError, match=r"^the graphs are about different experts .*experts="):
        graph + fewer
    swapped = opinions.experts[[1, 0, 2, 3, 4]]
    other = SimilarityGraph.from_opinions(
        log_p[:, [1, 0, 2, 3, 4]], opinions.select(experts=swapped)
    )
    with pytest.raises(ValueError, match="different experts"):
        graph + other
    words = r"'zero_one' loss, the other 'log'.* with the same loss=\.$"
    with pytest.raises(ValueError, match=words):
        graph + SimilarityGraph.from_opinions(log_p, opinions, "log")
    with pytest.raises(TypeError):
        graph + 1


def test_a_law_given_decides_the_weights_but_not_the_edges() -> None:
    """A law that predicts whatever was observed: copying."""
    log_p, opinions = panel(np.random.default_rng(0), n=40)
    k = opinions.n_classes
    exact = SimilarityGraph.from_opinions(log_p, opinions)
    asked: list[tuple[int, ...]] = []

    def copying(log_p_observed, log_p_target, label):
        asked.append((*log_p_observed.shape, *log_p_target.shape, *label.shape))
        return np.eye(k)[label]

    copied = SimilarityGraph.from_opinions(log_p, opinions, law=copying)
    assert all(shape == (shape[0], k, shape[0], k, shape[0]) for shape in asked)
    np.testing.assert_array_equal(copied.edges, exact.edges)
    np.testing.assert_array_equal(copied.violations, exact.violations)
    y, best = opinions.labels, log_p.argmax(axis=-1)
    for g, h in ((g, h) for g in range(5) for h in range(5) if g != h):
        both = (y[:, g] >= 0) & (y[:, h] >= 0)
        change = (y[:, g] != y[:, h])[both].sum() - (best[:, h] != y[:, h])[both].sum()
        assert copied.loss_change[g, h] == change


def test_monte_carlo_weights_scatter_around_the_exact_ones() -> None:
    """In log-loss, where a frequency's error changes every weight a little, seldom by much."""
    log_p, opinions = panel(np.random.default_rng(1), n=40, asked=1.0)
    exact = SimilarityGraph.from_opinions(log_p, opinions, "log")
    rng = np.random.default_rng(2)
    estimated = SimilarityGraph.from_opinions(
        log_p, opinions, "log", laws_of("monte_carlo", 4_000, rng)[0]
    )
    np.testing.assert_array_equal(estimated.edges, exact.edges)
    assert exact.edges.any()
    error = np.abs(estimated.weights[exact.edges] - exact.weights[exact.edges])
    assert 0 < error.max() < 0.05
