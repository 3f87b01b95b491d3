"""Is asking worth it: policies by hand, intervals, promises that are kept by construction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from siscm import Opinions
from siscm.asking import STRATEGIES, agreement_with_most
from siscm.beyond.real_panels import N_FOLDS
from siscm.beyond.worth_asking import (
    ANY,
    BEST,
    EVERYWHERE,
    LARGEST,
    MARGINALS_ONLY,
    UNSURE,
    curve,
    held_out_trials,
    merits,
    net_value,
    policies,
    policy_standings,
    promises,
    rise_interval,
)
from siscm.data.panels import Panel
from siscm.data.simulate import simulate_panel

pytestmark = pytest.mark.usefixtures("one_thread")


def by_hand() -> pd.DataFrame:
    """Four cases; the second promises most, then the third."""
    return pd.DataFrame(
        {
            "instance": list("pqrs"),
            "sure": [0.9, 0.6, 0.7, 1.0],
            "gain": [0.04, 0.3, 0.15, 0.0],
            "nobody": [1.0, 0.0, 0.0, 1.0],
            "at random": [1.0, 0.5, 0.25, 1.0],
            "most accurate": [0.0, 1.0, 0.0, 1.0],
            "likeliest to differ": [1.0, 0.0, 1.0, 1.0],
            "most uncertain": [1.0, 1.0, 0.0, 0.0],
            "most gained": [1.0, 1.0, 1.0, 1.0],
            "silent": [0.0, 1.0, 0.0, -1.0],
        }
    )


def honest(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Cases on which the decision is right just as often as promised."""
    sure, gain = 0.5 + 0.3 * rng.random(n), 0.2 * rng.random(n) * (rng.random(n) < 0.7)
    draw = rng.random(n)
    found = pd.DataFrame({"instance": range(n), "sure": sure, "gain": gain})
    for who in STRATEGIES[:-1]:
        found[who] = (draw < sure).astype(float)
    return found.assign(**{BEST: (draw < sure + gain).astype(float)})


def test_policies_by_hand() -> None:
    right = policies(by_hand(), 0.5)
    assert right["nowhere", "nobody"].tolist() == [1, 0, 0, 1]
    assert right[EVERYWHERE, "most accurate"].tolist() == [0, 1, 0, 1]
    # Asked about: the second and the third.
    assert right[LARGEST, "most accurate"].tolist() == [1, 1, 0, 1]
    assert right[LARGEST, "at random"].tolist() == [1, 0.5, 0.25, 1]
    assert right[ANY, "most accurate"].tolist() == [0.5, 0.5, 0, 1]
    assert right.shape == (4, 1 + 4 * 5)
    surest = by_hand().assign(sure=[0.5, 0.6, 0.7, 0.8])
    assert policies(surest, 0.5)[UNSURE, "most accurate"].tolist() == [0, 1, 0, 1]
    assert policies(surest, 0.25)[UNSURE, "at random"].tolist() == [1, 0, 0, 1]
    with pytest.raises(ValueError, match="share is 2; it must lie between 0 and 1"):
        policies(by_hand(), 2)


def test_a_curve_begins_with_nobody_and_ends_with_everybody() -> None:
    found = by_hand()
    line = curve(found, [0, 0.25, 0.5, 1])
    assert (line.loc[0] == 0.5).all()
    for who in STRATEGIES[1:]:
        for where in (LARGEST, ANY):
            assert line.loc[1, (where, who)] == pytest.approx(found[who].mean())
    assert line[LARGEST, BEST].tolist() == [0.5, 0.75, 1, 1]
    np.testing.assert_allclose(line[ANY, BEST], [0.5, 0.625, 0.75, 1])


def test_standings_compare_like_with_like() -> None:
    table = policy_standings(by_hand(), np.random.default_rng(0), share=0.5)
    assert table.loc[(EVERYWHERE, "most accurate"), "right"] == 0.5
    assert table.loc[(EVERYWHERE, "most accurate"), "behind"] == 0.5
    assert table.loc[(LARGEST, "most accurate"), "behind"] == 0.25
    assert table.loc[(ANY, BEST), "behind"] == 0.25
    assert table.loc[(UNSURE, "most accurate"), "behind"] == 0.25
    assert table.loc[("nowhere", "nobody"), "behind"] == 0.5
    table = policy_standings(by_hand(), np.random.default_rng(0), share=0.25)
    assert table.loc[("nowhere", "nobody"), "behind"] == 0.5  # asking her everywhere
    assert table.loc[(LARGEST, BEST), "right"] == 0.75
    assert table.loc[(ANY, BEST), "behind"] == 0.125
    for where in (EVERYWHERE, LARGEST):
        assert (table.loc[(where, BEST), ["behind", "behind_low", "behind_high"]] == 0).all()
    assert (table["behind_low"] <= table["behind"]).all()
    assert (table["behind"] <= table["behind_high"]).all()


def test_merits_by_hand() -> None:
    alone = by_hand().assign(**{"nobody": 0.0, BEST: [1.0, 0, 0, 1], "silent": 0.25})
    table = merits(by_hand(), alone, np.random.default_rng(0))
    assert table["merit"].to_dict() == {
        ("asking, graded sharing", "all"): 0.5,
        ("asking, graded sharing", "the silent"): 0,
        ("asking, marginals only", "all"): 0.5,
        ("asking, marginals only", "the silent"): 0.25,
        ("sharing, before asking", "all"): 0.5,
        ("sharing, after asking", "all"): 0.5,
    }
    assert (table["merit_low"] <= table["merit"]).all()
    assert (table["merit"] <= table["merit_high"]).all()
    # A rise that is the same on every case is known without doubt.
    assert (table.loc[("asking, marginals only", "the silent")] == 0.25).all()


def test_promises_by_hand() -> None:
    table = promises(by_hand())
    assert table.index.tolist() == ["0 to 0.01", "0.01 to 0.05", "0.1 to 0.2", "0.2 to 1"]
    assert table["cases"].tolist() == [1, 1, 1, 1]
    assert table["promised"].tolist() == [0, 0.04, 0.15, 0.3]
    assert table["found"].tolist() == [0, 0, 1, 1]
    # A single case says next to nothing.
    assert (table["found_low"] < 0).all()
    assert (table["found_high"] > table["found"]).sum() == 2
    assert (table["found_high"] == 1).sum() == 2


def test_promises_that_are_kept_are_seen_to_be() -> None:
    rng = np.random.default_rng(1)
    table = promises(honest(20_000, rng))
    assert len(table) == 4
    np.testing.assert_allclose(table["found"], table["promised"], atol=0.01)
    assert (table["found_low"] <= table["promised"]).sum() >= 3
    assert (table["promised"] <= table["found_high"]).sum() >= 3


def test_the_interval_of_a_rise_by_hand() -> None:
    """Of 8 cases 4 turned right and one wrong; with half a case each way, 3 of 10 is the middle."""
    rise = pd.Series([1.0] * 4 + [-1] + [0] * 3)
    half = 1.96 * np.sqrt((6 / 10 - 0.3**2) / 10)
    assert rise_interval(rise) == pytest.approx((0.3 - half, 0.3 + half), abs=1e-4)
    assert rise_interval(pd.Series([1.0])) == (pytest.approx(-0.51, abs=0.01), 1)


@pytest.mark.parametrize(("n", "up", "down"), [(30, 0.01, 0.0), (30, 0.2, 0.1), (800, 1e-3, 1e-3)])
def test_a_rise_is_in_its_interval_as_often_as_said(n: int, up: float, down: float) -> None:
    """Where hardly a case changes as well: there a bootstrap's would be a point, and miss."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(1000):
        rise = rng.choice([1.0, -1, 0], p=[up, down, 1 - up - down], size=n)
        low, high = rise_interval(pd.Series(rise))
        inside += low <= up - down <= high
    assert inside / 1000 > 0.93


def test_net_value_by_hand() -> None:
    table = net_value(by_hand(), [0.0, 0.1, 0.4])
    assert table["asked"].tolist() == [0.75, 0.5, 0]
    np.testing.assert_allclose(table["net"], [0.5, (0.9 + 0.9) / 4, 0])
    np.testing.assert_allclose(table["promised"], [0.49 / 4, (0.2 + 0.05) / 4, 0])
    np.testing.assert_allclose(table["always"], [0.5, 0.4, 0.1])


def test_who_keeps_promises_earns_most_by_asking_above_the_cost() -> None:
    """Any other threshold, and always or never asking, earns less."""
    rng = np.random.default_rng(2)
    found = honest(50_000, rng)
    cost = 0.08
    rise = found[BEST] - found["nobody"]
    at = [((rise - cost) * (found["gain"] > limit)).mean() for limit in (0, 0.04, 0.12, 0.16)]
    best = net_value(found, [cost]).loc[cost]
    assert best["net"] > max(*at, best["always"], 0)
    assert best["net"] == pytest.approx(best["promised"], abs=0.005)


@pytest.fixture(scope="module")
def panel() -> Panel:
    return simulate_panel("HS-Brexit", np.random.default_rng(0))


def test_trials_are_held_out(panel: Panel) -> None:
    found, model = held_out_trials(panel, n_folds=1)
    assert (found["fold"] == 0).all()
    assert 100 < len(found) < 952 / 5 + 1
    assert panel.instances.loc[found["instance"], "split"].isin(["train", "dev"]).all()
    assert set(found["spoke"]) <= set(model.experts_)
    assert found["gain"].between(-1e-9, 1).all()
    # What it is sure of comes out, ties among it.
    assert abs(found["sure"].mean() - found["nobody"].mean()) < 0.06
    assert set(found["nobody"]) == {0, 0.5, 1}


def test_the_same_first_speakers_are_tried_with_the_sharing_that_is_given(panel: Panel) -> None:
    found, _ = held_out_trials(panel, n_folds=1)
    alone, model = held_out_trials(panel, n_folds=1, sharing=MARGINALS_ONLY)
    assert (alone[["instance", "spoke"]] == found[["instance", "spoke"]]).all(axis=None)
    assert (model.sharing_["sharing"] == 0).all()


def test_a_draw_deals_out_folds_and_first_speakers_anew(panel: Panel) -> None:
    cases = [
        held_out_trials(panel, n_folds=1, draw=draw)[0].set_index("instance") for draw in (0, 0, 1)
    ]
    pd.testing.assert_frame_equal(cases[0], cases[1])
    both = cases[0].index.intersection(cases[2].index)
    assert 5 < len(both) < len(cases[0]) / 2
    assert not cases[0].loc[both, "spoke"].equals(cases[2].loc[both, "spoke"])


def test_the_share_asked_about_is_rounded_and_of_equal_gains_the_first_are_taken() -> None:
    found = by_hand().assign(gain=0.1, nobody=0.0)
    for share, asked in ((0.4, [1, 1, 0, 0]), (0.6, [1, 1, 0, 0]), (0.7, [1, 1, 1, 0])):
        assert policies(found, share)[LARGEST, BEST].tolist() == asked


def test_standings_are_drawn_by_the_generator() -> None:
    found = honest(60, np.random.default_rng(0))
    one, again, other = (policy_standings(found, np.random.default_rng(seed)) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, again)
    assert (one["right"] == other["right"]).all()
    assert not one["right_low"].equals(other["right_low"])


def test_a_gain_at_an_edge_is_with_the_larger_ones_and_one_below_none_with_the_least() -> None:
    table = promises(by_hand().assign(gain=[-0.001, 0.01, 0.2, 1.0]))
    assert table["cases"].to_dict() == {"0 to 0.01": 1, "0.01 to 0.05": 1, "0.2 to 1": 2}


def test_gains_of_rounding_are_not_worth_asking_for_though_it_costs_nothing() -> None:
    table = net_value(by_hand().assign(gain=[1e-10, 0.1, 0.05, -1e-10]), [0.0, 0.05])
    assert table["asked"].tolist() == [0.5, 0.25]


def test_each_fold_has_a_model_a_record_and_a_generator_of_its_own(
    monkeypatch: pytest.MonkeyPatch, panel: Panel
) -> None:
    class Learned:
        def __init__(self, marginals: object, sharing: float | None) -> None:
            self.said: Opinions

        def fit(self, X: pd.DataFrame, said: Opinions) -> Learned:
            self.said = said
            return self

    seen = []

    def tried(model, X, test, accuracy, *, rng) -> pd.DataFrame:
        seen.append((model, rng.random()))
        np.testing.assert_array_equal(accuracy, agreement_with_most(model.said))
        assert set(test.instances).isdisjoint(model.said.instances)
        return pd.DataFrame({"instance": test.instances[:1]})

    monkeypatch.setattr("siscm.beyond.worth_asking.GradedSISCM", Learned)
    monkeypatch.setattr("siscm.beyond.worth_asking.trial", tried)
    found, first = held_out_trials(panel, n_folds=2, draw=3)
    assert found["fold"].tolist() == [0, 1]
    (one, r), (other, s) = seen
    assert first is one is not other
    assert [r, s] == [np.random.default_rng(3 * N_FOLDS + k).random() for k in (0, 1)]
