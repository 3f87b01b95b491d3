"""Pairs are counted within image sets and across, also those that never met."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from siscm import partition
from siscm.cifar10h import meetings
from siscm.cifar10h.image_sets import hidden_sets
from siscm.cifar10h.pipeline import Cifar10H, prepare
from siscm.graph import SimilarityGraph
from siscm.model import GumbelMaxSISCM
from siscm.opinions import Opinions
from siscm.synthetic.recovery import adjusted_rand


def graph() -> SimilarityGraph:
    """Four experts: a and b met and agree, a and c met and violate, d met nobody."""
    flat = np.log(np.full((3, 4, 2), 0.5))
    said = np.array([[0, 0, 1, -1], [1, 1, 0, -1], [-1, -1, -1, 1]])
    return SimilarityGraph.from_opinions(flat, Opinions.from_codes(said, experts=list("abcd")))


def test_pairs_are_counted_by_image_set() -> None:
    set_of = {"a": 0, "b": 0, "c": 0, "d": -1}
    table = meetings.by_image_set(
        graph(), [["a", "b"], ["c", "d"]], set_of, planted=[["a", "c", "d"], ["b", "someone"]]
    )
    same, other = table.loc[meetings.SAME_SET], table.loc[meetings.OTHER_SETS]
    assert same.tolist() == [3, 2, 0, 2, 1, 1, 1, 0, 0]
    assert other.tolist() == [3, 0, 3, 0, 0, 1, 2, 0, 1]
    assert list(table.columns)[6:] == [
        "planted together",
        "of these, can be similar",
        "of these, found",
    ]


def test_experts_with_sets_of_their_own_are_in_no_same_one() -> None:
    table = meetings.by_image_set(
        graph(), [list("abcd")], dict(zip("abcd", (-1, -2, -3, -4), strict=True))
    )
    assert table["pairs"].tolist() == [0, 6]
    assert "planted together" not in table


def test_within_image_sets_only_pairs_of_one_set_count() -> None:
    set_of = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2}
    planted = [["a", "c"], ["b", "d"], ["e"]]
    index = meetings.against_planted([["a"], ["b"], ["c"], ["d", "e"]], planted, set_of)
    assert index["within image sets"] == 1
    assert index["all experts"] < 0.5


def test_on_the_twin_meetings_and_marginals_hide_the_planted_groups(twin: Cifar10H) -> None:
    """What the audit says of its twin."""
    truth, ready, sets = twin.truth, prepare(twin), hidden_sets(twin.raw)
    assert truth is not None
    set_of = sets.set_of
    known = meetings.graph_of_truth(truth, twin.raw, ready.train)
    groups = partition.greedy(known, rng=np.random.default_rng(0))
    found = [[known.experts[h] for h in group] for group in groups]
    with_truth = meetings.against_planted(found, truth.groups, set_of)
    model = GumbelMaxSISCM().fit(ready.X_train, ready.train)
    learned = meetings.against_planted(model.partition_, truth.groups, set_of)
    assert with_truth["within image sets"] > 0.9
    assert with_truth["all experts"] < 0.4
    assert learned["within image sets"] < 0.4
    assert learned["all experts"] < 0.2
    table = meetings.by_image_set(known, found, set_of, truth.groups)
    # Who shares a noise never violates, given the true marginals.
    assert (
        table.loc[meetings.SAME_SET, "of these, can be similar"]
        == (table.loc[meetings.SAME_SET, "planted together"])
    )
    assert table.loc[meetings.SAME_SET, "images together"] > 100
    assert table.loc[meetings.OTHER_SETS, "images together"] < 10
    # Recovered from the file, the sets are those planted, and so are the reshuffles.
    planted = truth.annotator_sets[sets.annotators.index]
    for name, number in (("set", planted @ [50, 1]), ("reshuffle", planted[:, 0])):
        met = pd.crosstab(sets.annotators[name], number).to_numpy() > 0
        assert (met.sum(axis=0) == 1).all()
        assert (met.sum(axis=1) == 1).all()


def test_pairs_are_counted_whatever_the_number_of_their_meetings() -> None:
    together, violations = np.zeros((2, 4, 4), dtype=np.int64)
    upper = np.triu_indices(4, 1)
    together[upper] = [1, 2, 9, 0, 1, 2]
    violations[upper] = [1, 0, 2, 0, 0, 0]
    graph = SimilarityGraph(
        pd.Index(range(4)), together + together.T, violations + violations.T, np.zeros((4, 4))
    )
    table = meetings.by_image_set(graph, [[0, 1, 2, 3]], dict.fromkeys(range(4), 0))
    assert table.loc[meetings.SAME_SET].tolist() == [6, 1.5, 1, 2, 3, 6]


def test_image_sets_count_alike_in_the_mean() -> None:
    set_of = {f"{name}{number}": number for number in range(3) for name in "abc"}
    planted = [[f"a{n}", f"b{n}"] for n in range(3)] + [[f"c{n}"] for n in range(3)]
    found = [["a0", "b0", "a1", "b1"], ["c0"], ["c1"], ["a2"], ["b2", "c2"]]
    one = adjusted_rand([["a2"], ["b2", "c2"]], planted)
    index = meetings.against_planted(found, planted, set_of)
    assert index["within image sets"] == pytest.approx((1 + 1 + one) / 3)
    assert one < 0.5


# test_sampling_cost


def test_opinions_of_nobody_in_the_twin_are_refused(twin: Cifar10H) -> None:
    assert twin.truth is not None
    stranger = Opinions.from_long(
        pd.DataFrame({"i": [7], "h": [9999], "y": [0]}), "i", "h", "y", classes=range(10)
    )
    with pytest.raises(ValueError, match="annotator 9999 of the twin has no opinion about 7"):
        meetings.graph_of_truth(twin.truth, twin.raw, stranger)
