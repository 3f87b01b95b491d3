"""Moves between labels: the exact law's zeros are stability's, and a simulation agrees."""

import numpy as np
import pytest

from siscm.data.simulate import simulate_opinions
from siscm.theory.moves import moves, simulated_pairs


def test_moves_of_two_labels_by_hand():
    """She is likelier to say 0: from 1 she may move to 0, from 0 never to 1."""
    found = moves(np.log([0.5, 0.5]), np.log([0.8, 0.2])).set_index(["said", "other_says"])
    assert found["violates"].to_dict() == {(0, 1): True, (1, 0): False}
    assert found.loc[(0, 1), "probability"] == 0
    assert found.loc[(1, 0), "probability"] == pytest.approx(0.3)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_law_is_zero_where_stability_says_so_and_nowhere_else(k):
    rng = np.random.default_rng(k)
    for _ in range(50):
        found = moves(*np.log(rng.dirichlet(np.ones(k), size=2)))
        assert len(found) == k * (k - 1)
        assert found["violates"].sum() == k * (k - 1) / 2
        assert (found["violates"] == (found["probability"] == 0)).all()


def simulated(groups, n=100_000):
    p = [[0.4, 0.3, 0.2, 0.1], [0.3, 0.15, 0.45, 0.1], [0.35, 0.25, 0.15, 0.25]]
    return simulated_pairs(np.log(p), groups, n, np.random.default_rng(0))


def test_a_simulation_agrees_inside_groups_and_across():
    found = simulated([[0, 1], [2]])
    same = found["same_group"]
    assert found.loc[same, ["expert", "other"]].to_numpy().tolist() == [[0, 1], [1, 0]]
    assert (found.loc[same, "violations"] == 0).all()
    assert (found.loc[~same, "violations"] > 1000).all()
    assert (found["standard_errors"] < 4.5).all()
    assert (found.loc[~same, "from_marginal"] < 1e-12).all()
    assert (found.loc[same, "from_marginal"] > 0.1).all()


def test_a_simulation_in_other_groups_than_the_law_is_noticed(monkeypatch):
    """By the law all three are one group; in truth the third feels pushes of her own."""

    def in_other_groups(log_p, groups, asked, rng):
        return simulate_opinions(log_p, [[0, 1], [2]], asked, rng)

    monkeypatch.setattr("siscm.theory.moves.simulate_opinions", in_other_groups)
    found = simulated([[0, 1, 2]], n=50_000)
    assert (found["standard_errors"] > 50).sum() == 4


@pytest.mark.parametrize("n", [0, 50])
def test_a_label_that_is_never_said_is_no_agreement(n):
    """Nothing was seen of what the other says then; no number may stand for it."""
    log_p = np.log([[1e-9, 0.5, 0.5 - 1e-9], [0.2, 0.3, 0.5]])
    with pytest.raises(ValueError, match=f"in {n} cases expert 0 never says label 0"):
        simulated_pairs(log_p, [[0], [1]], n, np.random.default_rng(0))


def test_how_far_frequencies_lie_from_the_law_by_hand(monkeypatch):
    """After 0, in four cases, the other says 0 three times: a standard error of 1/4 from 1/2.

    The other way round 2/3 of three cases lies farthest, by 1/6.
    """
    said = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 0, 1, 1]])
    monkeypatch.setattr("siscm.theory.moves.simulate_opinions", lambda *_: said.T)
    found = simulated_pairs(np.log(np.full((2, 2), 0.5)), [[0], [1]], 8, np.random.default_rng(0))
    np.testing.assert_allclose(found["standard_errors"], [1, (1 / 6) / np.sqrt(1 / 4 / 3)])
    assert found["violations"].tolist() == [3, 3]
