"""The synthetic sweep: its losses against a plain loop, its numbers for any number of processes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

from siscm import SimilarityGraph, gumbel, partition
from siscm.evaluation import UNIFORM_WEIGHT
from siscm.opinions import Opinions
from siscm.synthetic.pair_losses import pair_losses
from siscm.synthetic.planted import make_synthetic_panel, sparsify
from siscm.synthetic.sweep import (
    MODELS,
    N_RESTARTS,
    Run,
    draw_panel,
    edge_ratio,
    grid,
    run_each,
    score_run,
    stream,
    sweep,
)

SMALL = {"runs": grid(2, (10, 150), (0.1, 0.6)), "n_test": 60}
SIZES = (2, 3, 1)


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return sweep(3, **SMALL, group_sizes=SIZES)


@pytest.mark.parametrize("loss", ["zero_one", "log"])
def test_losses_of_partitions_are_those_of_a_plain_loop(loss) -> None:
    panel = make_synthetic_panel(25, np.random.default_rng(0), group_sizes=SIZES)
    log_p, said, groups = panel.log_marginals, panel.opinions.labels, panel.groups
    number = {h: i for i, group in enumerate(groups) for h in group}
    every, own = [], {h: [] for h in number}
    for (h, other), n in ((pair, n) for pair in permutations(number, 2) for n in range(25)):
        similar = number[h] == number[other]
        law = np.exp(log_p[n, other])
        if similar:
            law = gumbel.counterfactual_probabilities(log_p[n, h], log_p[n, other], said[n, h])
        truth = said[n, other]
        mixed = (1 - UNIFORM_WEIGHT) * law[truth] + UNIFORM_WEIGHT / 5
        value = float(law.argmax() != truth) if loss == "zero_one" else -np.log(mixed)
        every.append(value)
        if similar or len(groups[number[other]]) == 1:
            own[other].append(value)
    losses = pair_losses(panel)[loss]
    assert losses.all_pairs(groups) == pytest.approx(np.mean(every))
    assert losses.own_group(groups) == pytest.approx(np.mean([np.mean(v) for v in own.values()]))


def test_alone_both_rules_are_the_loss_of_the_marginals() -> None:
    losses = pair_losses(make_synthetic_panel(40, np.random.default_rng(1), group_sizes=SIZES))
    alone = [[h] for h in range(6)]
    for loss in losses.values():
        assert loss.all_pairs(alone) == pytest.approx(loss.alone.mean())
        assert loss.own_group(alone) == pytest.approx(loss.alone.mean())


def test_edge_ratio_by_hand() -> None:
    together = np.array([[0, 2, 1], [2, 0, 1], [1, 1, 0]])
    violations = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]])
    graph = SimilarityGraph(pd.Index(range(3)), together, violations, np.zeros((3, 3)))
    assert edge_ratio(graph, [[0, 1], [2]]) == 0.5
    assert edge_ratio(graph, [[0, 1, 2]]) == 1.0
    no_edge = replace(graph, violations=together)
    assert np.isnan(edge_ratio(no_edge, [[0, 1], [2]]))


def test_a_row_a_run_and_the_same_numbers_for_any_number_of_processes(runs) -> None:
    assert len(runs) == 8
    assert not runs.isna().any(axis=None)
    pd.testing.assert_frame_equal(sweep(3, **SMALL, group_sizes=SIZES, n_jobs=2), runs)


def test_a_run_does_not_hang_on_what_else_is_run(runs) -> None:
    fewer = sweep(3, runs=[Run(0, 10, 0.6)], n_test=60, group_sizes=SIZES)
    same = runs.query("s == 0.6 and m == 10 and repeat == 0").reset_index(drop=True)
    pd.testing.assert_frame_equal(fewer, same)


def test_another_seed_gives_other_runs(runs) -> None:
    assert not sweep(4, **SMALL, group_sizes=SIZES)["objective"].equals(runs["objective"])


def test_every_run_has_a_stream_of_its_own_and_every_repeat_its_experts() -> None:
    some = [Run(*of) for of in product(range(3), (10, 20), (0.1, 0.3, 0.95))]
    first = {stream(seed, run).random() for seed in (0, 1) for run in some}
    assert len(first) == 2 * len(some)
    panels = [draw_panel(0, repeat, 2, 3, SIZES)[0] for repeat in range(2)]
    assert not (panels[0].weights == panels[1].weights).any()
    assert not (panels[0].X == panels[1].X).any()


def test_no_two_sparsities_share_a_stream() -> None:
    """Those that would are refused; a rest of rounding is no other sparsity."""
    assert stream(0, Run(0, 9, 0.1)).random() == stream(0, Run(0, 9, 1 - 0.9)).random()
    assert stream(0, Run(0, 9, 0.1)).random() != stream(0, Run(0, 9, 0.101)).random()
    with pytest.raises(ValueError, match=r"sparsity is 0\.1004; round it to three decimals"):
        stream(0, Run(0, 9, 0.1004))


def test_what_sparsity_means_can_be_given(runs) -> None:
    """Here, nothing: all stay."""
    found = sweep(3, **SMALL, group_sizes=SIZES, thin=lambda opinions, sparsity, rng: opinions)
    assert (found["opinions"] == found["m"] * sum(SIZES)).all()
    assert (found["opinions"] > runs["opinions"]).any()


def test_a_run_starts_algorithm_1_from_its_own_stream(monkeypatch) -> None:
    run, states = Run(0, 10, 0.5), []
    greedy = partition.greedy

    def watched(graph, n_restarts, *, rng):
        states.append(rng.bit_generator.state)
        return greedy(graph, n_restarts, rng=rng)

    monkeypatch.setattr(partition, "greedy", watched)
    run_each(score_run, [run], 3, 5, SIZES)
    rng = stream(3, run)
    sparsify(draw_panel(3, 0, 10, 5, SIZES)[0].opinions, 0.5, rng)
    assert states == [rng.bit_generator.state]


def test_what_is_found_is_in_the_order_of_the_runs() -> None:
    """Each of the instances that are its own, and others as many, whatever runs first."""
    runs = [Run(1, 3, 0.0), Run(0, 5, 0.0), Run(0, 2, 0.0)]
    found = run_each(lambda given: [{"given": given}], runs, 3, 4, SIZES)["given"]
    assert [given.run for given in found] == runs
    for given in found:
        both, test = draw_panel(3, given.run.repeat, 10, 4, SIZES)
        m = given.run.n_train
        np.testing.assert_array_equal(given.train.X, both.X[:m])
        np.testing.assert_array_equal(given.apart.X, both.X[5 : 5 + m])
        np.testing.assert_array_equal(given.test.X, test.X)


def test_more_data_finds_the_planted_groups(runs) -> None:
    """Then losses with the groups found are those with the groups planted, and lower than alone."""
    rich = runs[(runs["m"] == 150) & (runs["s"] == 0.1)]
    assert (rich["ari"] == 1).all()
    assert (rich["edge_ratio"] > 0.9).all()
    for loss in ("zero_one", "log"):
        fitted, true, alone = (rich[f"{loss}_{model}"] for model in MODELS)
        np.testing.assert_allclose(fitted, true)
        assert (true < alone).all()


def test_fewer_test_instances_are_the_first_of_more() -> None:
    few, more = (draw_panel(3, 0, 5, n_test, SIZES) for n_test in (7, 20))
    for one, other in zip(few, (more[0], more[1].part(0, 7)), strict=True):
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.opinions.labels, other.opinions.labels)
    with pytest.raises(ValueError, match="n_test is 1001; the sweep has 1000"):
        sweep(0, n_test=1001)


def test_two_opinions_an_instance_are_enough_to_run() -> None:
    found = sweep(0, runs=[Run(0, 4, 1.0)], n_test=5, group_sizes=SIZES)
    assert found["opinions"].tolist() == [8]
    assert found["edges"].between(0, 4).all()


def test_one_expert_is_refused() -> None:
    with pytest.raises(ValueError, match="two experts"):
        sweep(0, group_sizes=(1,))


@pytest.mark.parametrize("sizes", [(2,), (1, 1)])
def test_two_experts_have_defined_answers(sizes) -> None:
    found = sweep(0, runs=[Run(0, 30, 0.0)], n_test=5, group_sizes=sizes)
    assert found["groups"].tolist() == [len(sizes)]
    assert found["ari"].tolist() == [1.0]


@pytest.mark.parametrize("number", [0, 5.0, 2.5, np.nan])
@pytest.mark.parametrize("name", ["n_train", "n_repeats", "n_test"])
def test_what_is_no_positive_whole_number_is_refused(name, number) -> None:
    wrong = {name: (10, number) if name == "n_train" else number}
    make = partial(draw_panel, 0, 0, 10) if name == "n_test" else grid
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
        make(**wrong)


@pytest.mark.parametrize("sparsity", [-0.1, 1.1, np.nan, np.inf])
def test_a_sparsity_outside_its_range_is_refused(sparsity) -> None:
    with pytest.raises(ValueError, match=f"sparsity is {sparsity}; it must lie between 0 and 1"):
        grid(sparsities=(0.1, sparsity))


def test_all_opinions_stay_opinions() -> None:
    """A part of a panel keeps names, so that graphs of parts can be added."""
    panel = make_synthetic_panel(20, np.random.default_rng(0), group_sizes=SIZES)
    graphs = [
        SimilarityGraph.from_opinions(part.log_marginals, part.opinions)
        for part in (panel.part(0, 8), panel.part(8, 20), panel)
    ]
    assert isinstance(panel.opinions, Opinions)
    np.testing.assert_array_equal((graphs[0] + graphs[1]).violations, graphs[2].violations)


def test_a_run_is_scored_as_it_says() -> None:
    """Where groups found are not those planted, in the second repeat."""
    some = [Run(0, 12, 0.6), Run(1, 12, 0.6)]
    row = run_each(
        lambda given: [score_run(given)[0] | {"given": given}], some, 3, 40, (2, 3, 1)
    ).iloc[1]
    given = row["given"]
    graph = SimilarityGraph.from_opinions(given.train.log_marginals, given.kept)
    found = partition.greedy(graph, N_RESTARTS, rng=deepcopy(given.rng))
    planted = given.train.groups
    assert sorted(map(sorted, found)) != planted
    groups = (found, planted, [[h] for h in range(6)])
    for (loss, by_pair), (model, some) in product(
        pair_losses(given.test).items(), zip(MODELS, groups, strict=True)
    ):
        assert row[f"{loss}_{model}"] == by_pair.all_pairs(some)
        assert row[f"{loss}_{model}_own_group"] == by_pair.own_group(some)


# test_planted


def test_losses_can_be_those_of_other_marginals() -> None:
    """Who takes all to be equally likely expects everybody to say the same, or knows nothing."""
    panel = make_synthetic_panel(30, np.random.default_rng(0), group_sizes=(2, 1))
    losses = pair_losses(panel, np.full((30, 3, 5), np.log(0.2)))
    said = panel.opinions.labels
    np.testing.assert_allclose(
        losses["zero_one"].shared, (said[:, :, None] != said[:, None]).mean(axis=0)
    )
    np.testing.assert_allclose(losses["log"].alone, np.log(5))


def test_no_run_is_refused() -> None:
    with pytest.raises(ValueError, match="runs is empty"):
        sweep(runs=[])
