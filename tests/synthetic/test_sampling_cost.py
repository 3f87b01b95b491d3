"""Monte Carlo inside the fit: what it changes, and that nothing else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from siscm.graph import SimilarityGraph
from siscm.gumbel import monte_carlo_probabilities
from siscm.synthetic import sampling_cost as module
from siscm.synthetic.pair_losses import pair_losses, same_group
from siscm.synthetic.sampling_cost import sampling_cost
from siscm.synthetic.sweep import Run, draw_panel, sweep

SIZES = (3, 4, 2)
SMALL = {"n_samples": (20, 2000), "n_draws": 6, "n_test": 40, "group_sizes": SIZES}
RUN = Run(0, 30, 0.3)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return sampling_cost(3, runs=[RUN], **SMALL)


def test_more_draws_change_less(frame: pd.DataFrame) -> None:
    mean = frame.groupby("n_samples")[["signs", "sides", "predictions"]].mean()
    assert (mean.loc[20] > mean.loc[2000]).all()
    assert (mean.loc[2000, ["signs", "predictions"]] > 0).all()
    assert (frame["sides"] <= frame["signs"]).all()


def test_the_exact_law_changes_nothing_but_what_restarts_do(frame: pd.DataFrame) -> None:
    exact = frame[np.isinf(frame["n_samples"])]
    assert len(exact) == SMALL["n_draws"]
    assert (exact[["signs", "sides", "predictions"]] == 0).all(axis=None)
    assert exact["zero_one"].nunique() == 1


def test_the_loss_is_that_of_pairs_of_one_planted_group(frame: pd.DataFrame) -> None:
    _, test = draw_panel(3, RUN.repeat, RUN.n_train, SMALL["n_test"], SIZES)
    similar = same_group(test.groups, sum(SIZES)) & ~np.eye(sum(SIZES), dtype=bool)
    expected = pair_losses(test)["zero_one"].shared[similar].mean()
    exact = frame[np.isinf(frame["n_samples"])]
    np.testing.assert_allclose(exact["zero_one"], expected)


def test_both_losses_of_a_weight_are_drawn() -> None:
    """Signs change as often as with noises drawn for each, under shared noise and for one alone."""
    draws, n_times = 20, 100
    found = sampling_cost(
        3, runs=[Run(0, 10, 0.0)], n_samples=[draws], n_draws=n_times, n_test=1, group_sizes=SIZES
    )
    train, _ = draw_panel(3, 0, 10, 1, SIZES)
    log_p, said = train.log_marginals, train.opinions.labels
    graph = SimilarityGraph.from_opinions(log_p, train.opinions)
    rng, changed = np.random.default_rng(0), []
    for _ in range(n_times):
        shared = monte_carlo_probabilities(
            log_p[:, :, None], log_p[:, None], said[:, :, None], draws, rng
        )
        alone = (log_p + rng.gumbel(size=(draws, *log_p.shape))).argmax(axis=-1)
        alone = (alone[..., None] == np.arange(5)).sum(axis=0)
        wrong, wrong_alone = shared.argmax(-1) != said[:, None], alone.argmax(-1) != said
        change = (wrong.astype(int) - wrong_alone[:, None]).sum(axis=0)
        differs = np.sign(change + change.T) != np.sign(graph.weights)
        changed.append(differs[graph.edges].mean())
    signs = found.loc[found["n_samples"] == draws, "signs"].mean()
    assert signs == pytest.approx(np.mean(changed), rel=0.12)


@pytest.mark.parametrize("shift", [-1e-9, 1e-9])
def test_a_weight_of_zero_is_on_the_side_of_those_below(
    monkeypatch: pytest.MonkeyPatch, shift: float
) -> None:
    """Weights that sampling moves by next to nothing: only zeros change their sign."""
    zeros = []

    def moved(log_p: Any, kept: Any, *_: Any) -> SimilarityGraph:
        graph = SimilarityGraph.from_opinions(log_p, kept)
        zeros.append((graph.weights[graph.edges] == 0).mean())
        return replace(graph, loss_change=graph.loss_change + shift)

    monkeypatch.setattr(module, "graph_by_draws", moved)
    found = sampling_cost(3, runs=[RUN], n_samples=[10], n_draws=1, n_test=5, group_sizes=SIZES)
    (share,) = zeros
    assert share > 0
    assert found["signs"][0] == share
    assert found["sides"][0] == (share if shift > 0 else 0)


def test_runs_are_those_of_the_sweep(frame: pd.DataFrame) -> None:
    """With so many draws that nothing changes, the groups are those that the sweep finds."""
    theirs = sweep(3, runs=[RUN], group_sizes=SIZES).iloc[0]
    assert (frame[["edges", "edge_ratio"]] == theirs[["edges", "edge_ratio"]]).all(axis=None)
    ours = sampling_cost(
        3, runs=[RUN], n_samples=[10**9], n_draws=1, n_test=5, group_sizes=SIZES
    ).iloc[0]
    assert ours["ari_planted"] == theirs["ari"]


def test_only_sampling_differs_from_the_exact_fit() -> None:
    """In a run so hard that other restarts find other groups, draws without noise find the same."""
    found = sampling_cost(0, runs=[Run(0, 20, 0.6)], n_samples=[10**9], n_draws=3, n_test=5)
    finite = np.isfinite(found["n_samples"])
    assert (found.loc[finite, "ari_exact"] == 1).all()
    assert (found.loc[~finite, "ari_exact"] < 1).any()


def test_a_row_a_draw_and_the_same_numbers_again(frame: pd.DataFrame) -> None:
    assert len(frame) == 3 * SMALL["n_draws"]
    assert not frame.isna().any(axis=None)
    pd.testing.assert_frame_equal(sampling_cost(3, runs=[RUN], **SMALL), frame)
    more = sampling_cost(3, runs=[Run(1, 10, 0.6), RUN], **SMALL)
    again = more[more["m"] == 30].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, frame)


def test_without_an_edge_there_is_no_sign_to_change() -> None:
    """Two experts of two groups, who violate."""
    found = sampling_cost(
        0, runs=[Run(0, 60, 0.0)], n_samples=[10], n_draws=1, n_test=5, group_sizes=(1, 1)
    )
    assert (found["edges"] == 0).all()
    assert found[["signs", "sides", "predictions"]].isna().all(axis=None)
    assert (found["ari_exact"] == 1).all()


@pytest.mark.parametrize("wrong", [{"n_samples": [9, 2.9]}, {"n_samples": [0]}, {"n_draws": 0}])
def test_draws_are_counted(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="each number of draws must be a whole number of at least"):
        sampling_cost(0, runs=[RUN], **wrong)


def test_few_draws_infer_worse_than_the_law() -> None:
    found = sampling_cost(3, runs=[RUN], **SMALL).groupby("n_samples")["zero_one"]
    assert found.mean()[20] > found.mean()[np.inf]
    assert found.nunique()[20] > 1


# test_sweep
