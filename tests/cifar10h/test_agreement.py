"""Agreement is counted as if pair by pair; experts are described, not judged."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sets_of_images import handed_out

from siscm import Opinions
from siscm.cifar10h import agreement
from siscm.cifar10h.experiment import Experiment, run
from siscm.cifar10h.image_sets import hidden_sets
from siscm.evaluation import SCENARIOS, hits

RAW = handed_out(np.random.default_rng(0), error=0.3)


def opinions(raw: pd.DataFrame) -> Opinions:
    return Opinions.from_long(raw, "image", "annotator", "chosen_label", classes=range(4))


@pytest.fixture(scope="module")
def done() -> Experiment:
    raw = RAW[RAW["planted_set"].isin([0, 10, 20])]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)))
    every = opinions(raw)
    train, test = (every.select(instances=every.instances[part::2]) for part in (0, 1))
    return run(X.loc[train.instances], train, X.loc[test.instances], test)


def test_agreement_is_counted_pair_by_pair() -> None:
    group = {a: a % 4 for a in RAW["annotator"].unique()}
    counts = dict.fromkeys(SCENARIOS, (0, 0))
    for _, seen in RAW.groupby("image"):
        rows = seen[["annotator", "chosen_label"]].to_numpy()
        for (a, c), (b, d) in itertools.permutations(rows, 2):
            scenario = SCENARIOS[1] if group[a] == group[b] else SCENARIOS[2]
            for name in (SCENARIOS[0], scenario):
                pairs, agree = counts[name]
                counts[name] = pairs + 1, agree + (c == d)
    table = agreement.pair_agreement(RAW, group)
    for name, (pairs, agree) in counts.items():
        assert table.loc[name, "pairs"] == pairs
        assert table.loc[name, "agree"] == pytest.approx(agree / pairs)


def test_agreement_by_group_is_the_accuracy_of_copying(done: Experiment) -> None:
    test = done.test.to_long().rename(
        columns={"instance": "image", "expert": "annotator", "label": "chosen_label"}
    )
    group = {e: i for i, g in enumerate(done.model.partition_) for e in g}
    table = agreement.pair_agreement(test, group)["agree"]
    pd.testing.assert_series_equal(table, hits(done.pairs["copy"]).mean(), check_names=False)


def test_no_pair_has_no_agreement_and_everybody_needs_a_group() -> None:
    table = agreement.pair_agreement(RAW, dict.fromkeys(RAW["annotator"], 0))
    assert table.loc["different groups", "pairs"] == 0
    assert np.isnan(table.loc["different groups", "agree"])
    with pytest.raises(ValueError, match="annotator 0 is in no group"):
        agreement.pair_agreement(RAW.sort_values("annotator"), {})


def test_full_agreement_grows_without_those_who_disagree() -> None:
    raw = RAW.assign(chosen_label=RAW["true_label"])
    odd = raw["annotator"].isin([0, 1])
    raw.loc[odd, "chosen_label"] = (raw.loc[odd, "true_label"] + 1) % 4
    table = agreement.full_agreement(raw, {"all": [], "fewer": {0}, "right": [0, 1]})
    touched = [raw[raw["annotator"].isin(who)]["image"].nunique() for who in ([0, 1], [1], [])]
    assert table["share"].tolist() == pytest.approx([1 - n / 200 for n in touched])
    assert table["annotators"].tolist() == [90, 89, 88]
    assert agreement.with_disagreement(raw)["image"].nunique() == touched[0]


def test_annotators_are_compared_with_those_who_saw_the_same() -> None:
    scores = agreement.annotator_scores(RAW)
    mine = RAW[RAW["annotator"] == 17]
    said = dict(zip(mine["image"], mine["chosen_label"], strict=True))
    others = RAW[(RAW["annotator"] != 17) & RAW["image"].isin(mine["image"])]
    agree = others["chosen_label"] == others["image"].map(said)
    assert scores.loc[17, "agreement"] == pytest.approx(agree.mean())
    assert scores.loc[17, "accuracy"] == (mine["chosen_label"] == mine["true_label"]).mean()
    assert agreement.annotator_scores(mine)["agreement"].isna().all()


def said(*rows: tuple[str, int, int, int]) -> pd.DataFrame:
    """Opinions by hand: annotator, image, true label, chosen label."""
    return pd.DataFrame(rows, columns=["annotator", "image", "true_label", "chosen_label"])


FEW = said(
    *(("Ann", 0, 0, 0), ("Ann", 1, 1, 1), ("Ann", 2, 0, 1)),
    *(("Bob", 0, 0, 0), ("Bob", 1, 1, 0)),
    *(("Cem", 2, 0, 0), ("Cem", 3, 1, 1)),
    ("Dee", 0, 0, 1),
)


def test_full_agreement_is_a_share_of_the_images_that_somebody_left_has_seen() -> None:
    everybody = ["Ann", "Bob", "Cem", "Dee"]
    table = agreement.full_agreement(FEW, {"no Cem": ["Cem"], "nobody": everybody})
    assert table.loc["no Cem"].tolist() == [3, pytest.approx(1 / 3)]
    assert table.loc["nobody", "annotators"] == 0
    assert np.isnan(table.loc["nobody", "share"])


def test_scores_are_shares_of_what_each_annotator_said() -> None:
    scores = agreement.annotator_scores(FEW)
    assert scores["accuracy"].to_dict() == {
        "Ann": pytest.approx(2 / 3),
        "Bob": 0.5,
        "Cem": 1.0,
        "Dee": 0.0,
    }
    # With one other only, Cem has a single pair: it counts.
    assert scores["agreement"].to_dict() == {
        "Ann": pytest.approx(1 / 4),
        "Bob": pytest.approx(1 / 3),
        "Cem": 0.0,
        "Dee": 0.0,
    }


def test_profiles_by_hand() -> None:
    """Of Bob and Dee, who are a group, and Cem; Ann is no expert, but was asked as they were."""
    codes = [[0, -1, 1], [0, -1, -1], [-1, 0, -1], [-1, 1, -1]]
    train = Opinions.from_codes(codes, experts=["Bob", "Cem", "Dee"])
    test = train.select(instances=[1])
    together, violations = np.array([[0, 0, 3], [0, 0, 1], [3, 1, 0]]), np.zeros((3, 3), dtype=int)
    violations[0, 2] = violations[2, 0] = 3
    graph = SimpleNamespace(together=together, violations=violations)
    model: Any = SimpleNamespace(graph_=graph, partition_=[["Bob", "Dee"], ["Cem"]])
    done = Experiment(model, train, test, np.zeros((1, 2)), {})
    table = agreement.profiles(FEW, done, ["Ann", "Dee"])
    assert table.index.tolist() == ["Bob", "Cem", "Dee"]
    assert table["group size"].tolist() == [2, 1, 2]
    assert table["group"].tolist() == ["in a group", "alone", "in a group"]
    assert table["opinions"].tolist() == [3, 2, 1]
    assert table["agreement"].tolist() == [pytest.approx(1 / 3), 0.0, 0.0]
    assert table["accuracy"].tolist() == [0.5, 1.0, 0.0]
    assert table["met"].tolist() == [1, 1, 2]
    assert table["in violation"].tolist() == [1, 0, 1]
    assert table["left out"].tolist() == [False, False, True]


def test_profiles_tell_who_is_alone_and_what_she_did(done: Experiment) -> None:
    someone = int(done.train.experts[0])
    table = agreement.profiles(RAW, done, [someone, 10**6])
    sizes = {e: len(g) for g in done.model.partition_ for e in g}
    assert table["group size"].to_dict() == sizes
    assert set(table.index[table["group"] == "alone"]) == {e for e, n in sizes.items() if n == 1}
    assert table["left out"].to_dict() == {e: e == someone for e in sizes}
    every = np.concatenate([part.to_long()["expert"] for part in (done.train, done.test)])
    assert table["opinions"].to_dict() == pd.Series(every).value_counts().to_dict()
    violations = pd.DataFrame(done.model.graph_.violations, sizes and table.index, table.index)
    assert table.loc[someone, "in violation"] == (violations.loc[someone] > 0).sum()
    assert (table["in violation"] <= table["met"]).all()
    asked = (done.train.labels >= 0)[:, list(table.index).index(someone)]
    with_her = (done.train.labels >= 0)[asked].any(axis=0)
    assert table.loc[someone, "met"] == with_her.sum() - 1


def test_the_filter_is_counted_by_image_set() -> None:
    sets = hidden_sets(RAW)
    number = sets.annotators["set"]
    first, second = number.index[number == 0], number.index[number == 1]
    kept = pd.Index([*first, second[0]])
    table = agreement.filter_by_set(RAW, sets, kept, [first[0], first[1]])
    assert table.loc["with", ["sets", "annotators", "kept"]].tolist() == [1, 3, 3]
    assert table.loc["without", ["sets", "annotators", "kept"]].tolist() == [29, 87, 1]
    disputed = set(agreement.with_disagreement(RAW)["image"])
    seen = sets.images.loc[sets.images["set"] == 0, "image"]
    assert table.loc["with", "disagreement"] == np.mean([image in disputed for image in seen])


def test_who_has_no_set_counts_for_no_set() -> None:
    lone = said(*((f"lone {n}", 2 * n, 0, 0) for n in range(2)))
    sets = hidden_sets(
        pd.concat(
            [FEW[FEW["annotator"] == "Ann"].assign(annotator=name) for name in ("Eve", "Fay")]
            + [lone]
        )
    )
    raw = said(("Eve", 0, 0, 0))
    table = agreement.filter_by_set(raw, sets, pd.Index(["Eve", "lone 0"]), [])
    assert table.loc["without", ["sets", "annotators", "kept"]].tolist() == [1, 2, 1]
