"""Whom to ask: laws of total probability, decisions by hand, and a slow loop."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from siscm.asking import STRATEGIES, agreement_with_most, trial, value_of_asking
from siscm.graded import GradedSISCM
from siscm.opinions import NOT_ASKED, Opinions
from siscm.synthetic import SyntheticPanel, make_synthetic_panel

SIZES = (3, 2)
SHARING = {0: 0.9, 1: 0.7, 2: 0.5, 3: 0.8, 4: 0.6}


@pytest.fixture(scope="module")
def panel() -> SyntheticPanel:
    return make_synthetic_panel(
        80, np.random.default_rng(0), group_sizes=SIZES, n_classes=3, n_features=2
    )


@pytest.fixture(scope="module")
def model(panel: SyntheticPanel) -> GradedSISCM:
    """Of ordered labels, so that everything is exact."""
    model = GradedSISCM(noise="uniform", partition=panel.groups, sharing=SHARING)
    return model.fit(panel.X, panel.opinions)


@pytest.fixture(scope="module")
def at_hand(panel: SyntheticPanel) -> np.ndarray:
    """On every instance one opinion; on some two."""
    codes = np.full((80, 5), NOT_ASKED)
    rows = np.arange(80)
    codes[rows, rows % 5] = panel.opinions.labels[rows, rows % 5]
    codes[::7, 1] = panel.opinions.labels[::7, 1]
    return codes


def test_values_are_what_asking_and_deciding_again_would_show(panel, model, at_hand) -> None:
    """And before anybody is asked, shares are the mean of what they would be afterwards."""
    log_p = model.log_marginals(panel.X)
    table = value_of_asking(model, log_p, at_hand)
    assert len(table) == (at_hand == NOT_ASKED).sum()
    law = model.infer(log_p, at_hand, range(80))
    for one in table.sample(20, random_state=0).itertuples():
        share = law[one.row].mean(axis=0)
        chance = law[one.row, one.position]
        after = np.zeros((3, 3))
        for label in range(3):
            said = at_hand[[one.row]].copy()
            said[0, one.position] = label
            after[label] = model.infer(log_p[[one.row]], said, [0])[0].mean(axis=0)
        np.testing.assert_allclose(chance @ after, share, atol=1e-12)
        best = chance @ after.max(axis=1)
        np.testing.assert_allclose(one.gain, best - share.max(), atol=1e-12)
        changed = after.argmax(axis=1) != share.argmax()
        np.testing.assert_allclose(one.changes, chance @ changed, atol=1e-12)
        np.testing.assert_allclose(one.differs, 1 - chance[share.argmax()], atol=1e-12)


def test_more_opinions_never_promise_a_worse_decision(panel, model, at_hand) -> None:
    table = value_of_asking(model, model.log_marginals(panel.X), at_hand)
    assert (table["gain"] > -1e-12).all()
    assert (table["gain"] > 0.01).any()
    assert (table.loc[table["changes"] == 0, "gain"] < 1e-12).all()
    assert table["changes"].le(1 + 1e-12).all()


def test_only_candidates_are_valued_and_bear_their_names(panel, model, at_hand) -> None:
    candidates = np.zeros((80, 5), dtype=bool)
    candidates[:, [0, 3]] = True
    names = pd.Index([f"case {i}" for i in range(80)])
    log_p = model.log_marginals(panel.X)
    table = value_of_asking(model, log_p, at_hand, candidates, names)
    assert set(table["expert"]) == {0, 3}
    assert (at_hand[table["row"], table["position"]] == NOT_ASKED).all()
    assert table["instance"].tolist() == [f"case {i}" for i in table["row"]]
    everybody = value_of_asking(model, log_p, at_hand)
    kept = everybody[everybody["expert"].isin([0, 3])]
    np.testing.assert_allclose(table["gain"], kept["gain"])


def test_a_trial_is_what_a_slow_loop_finds(panel, model) -> None:
    gaps = np.random.default_rng(3).random((80, 5)) < 0.2
    labels = np.where(gaps, NOT_ASKED, panel.opinions.labels)
    test = Opinions.from_codes(labels, classes=range(3))
    accuracy = np.array([0.5, 0.9, 0.4, 0.8, 0.6])
    found = trial(model, panel.X, test, accuracy, rng=np.random.default_rng(1))
    log_p = model.log_marginals(panel.X)
    kept = []
    for i in range(80):
        votes = np.bincount(labels[i][labels[i] >= 0], minlength=3)
        if votes.sum() >= 3 and (votes == votes.max()).sum() == 1:
            kept.append((i, votes.argmax()))
    assert 20 < len(kept) < 80
    assert found["instance"].tolist() == [i for i, _ in kept]
    asked = labels[[i for i, _ in kept]] >= 0
    spoke = np.where(asked, np.random.default_rng(1).random(asked.shape), -1).argmax(axis=1)
    for (i, verdict), first, row in zip(kept, spoke, found.to_dict("records"), strict=True):
        said = np.full((1, 5), NOT_ASKED)
        said[0, first] = labels[i, first]
        law = model.infer(log_p[[i]], said, [i])[0]
        assert row["nobody"] == (law.mean(axis=0).argmax() == verdict)
        values = value_of_asking(model, log_p[[i]], said, labels[[i]] >= 0)
        right = {}
        for other in values["position"]:
            both = said.copy()
            both[0, other] = labels[i, other]
            decision = model.infer(log_p[[i]], both, [i])[0].mean(axis=0).argmax()
            right[other] = decision == verdict
        assert row["at random"] == pytest.approx(np.mean(list(right.values())))
        assert row["most accurate"] == right[max(right, key=lambda h: accuracy[h])]
        assert row["most gained"] == right[values.loc[values["gain"].idxmax(), "position"]]
        assert (
            row["likeliest to differ"] == right[values.loc[values["differs"].idxmax(), "position"]]
        )
        assert row["gain"] == pytest.approx(values["gain"].max())
    assert set(STRATEGIES) < set(found.columns)


def test_agreement_with_most_by_hand() -> None:
    labels = [[0, 0, 1], [1, 1, 1], [0, 1, -1], [2, -1, -1]]
    opinions = Opinions.from_codes(np.array(labels), classes=range(3))
    # First: others 0 and 1, a tie; all agree; others said 1; nobody else.
    right = [0.5 + 1 + 0 + 0.5, 0.5 + 1 + 0, 0 + 1]
    expected = [(r + 1) / (n + 2) for r, n in zip(right, (4, 3, 2), strict=True)]
    np.testing.assert_allclose(agreement_with_most(opinions), expected)
