"""The simulator: the law it draws from, and panels shaped like the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from counting import opinions_per_split
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import coo_array

from siscm import gumbel
from siscm.data.panels import Panel, PanelName, load_lewidi
from siscm.data.simulate import simulate_opinions, simulate_panel
from siscm.data.text import text_features

N = 40_000
P = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.2, 0.7, 0.1]])
"""Marginals of three experts."""


def draw(groups: list[list[int]], seed: int = 0) -> npt.NDArray[np.int64]:
    log_p = np.broadcast_to(np.log(P), (N, 3, 3))
    asked = np.ones((N, 3), dtype=bool)
    return simulate_opinions(log_p, groups, asked, np.random.default_rng(seed))


def table(labels: npt.NDArray[np.int64], h: int, other: int) -> npt.NDArray[np.float64]:
    counts = np.zeros((3, 3))
    np.add.at(counts, (labels[:, h], labels[:, other]), 1)
    return counts


@pytest.mark.parametrize("groups", [[[0, 1, 2]], [[0], [1], [2]], [[0, 2], [1]]])
def test_marginals_are_reproduced(groups: list[list[int]]) -> None:
    labels = draw(groups)
    for h in range(3):
        counts = np.bincount(labels[:, h], minlength=3)
        assert stats.chisquare(counts, N * P[h]).pvalue > 1e-4


def test_experts_of_different_groups_are_independent_given_the_instance() -> None:
    labels = draw([[0, 2], [1]])
    for h, other in ((0, 1), (1, 2)):
        assert stats.chi2_contingency(table(labels, h, other)).pvalue > 1e-4
    # The same test sees the dependence within the group.
    assert stats.chi2_contingency(table(labels, 0, 2)).pvalue < 1e-12


def test_experts_of_one_group_follow_the_exact_joint_law() -> None:
    labels = draw([[0, 2], [1]])
    law = gumbel.joint_probabilities(np.log(P[0]), np.log(P[2]))
    counts = table(labels, 0, 2)
    possible = law > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], N * law[possible]).pvalue > 1e-4


@st.composite
def designs(draw: Any) -> tuple[npt.NDArray[np.float64], list[list[int]], npt.NDArray[np.bool_]]:
    """Log-marginals (n, H, k), groups and who is asked."""
    n, n_experts, k = draw(st.integers(1, 30)), draw(st.integers(1, 6)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([0.1, 1.0, 100.0]))
    log_p = spread * rng.standard_normal((n, n_experts, k))
    log_p -= np.logaddexp.reduce(log_p, axis=-1, keepdims=True)
    group_of = rng.integers(n_experts, size=n_experts)
    groups = [np.flatnonzero(group_of == g).tolist() for g in np.unique(group_of)]
    return log_p, groups, rng.random((n, n_experts)) < draw(st.sampled_from([0.3, 1.0]))


@settings(deadline=None)
@given(designs(), st.integers(0, 100))
def test_no_pair_of_a_group_ever_violates_stability(
    design: tuple[npt.NDArray[np.float64], list[list[int]], npt.NDArray[np.bool_]], seed: int
) -> None:
    log_p, groups, asked = design
    labels = simulate_opinions(log_p, groups, asked, np.random.default_rng(seed))
    assert ((labels >= 0) == asked).all()
    for group in groups:
        for h in group:
            for other in group:
                i = np.flatnonzero(
                    asked[:, h] & asked[:, other] & (labels[:, h] != labels[:, other])
                )
                c, d = labels[i, h], labels[i, other]
                # Under one noise U: log p_c + U_c > log p_d + U_d, log q_d + U_d > log q_c + U_c.
                gain_c = log_p[i, other, c] - log_p[i, h, c]
                gain_d = log_p[i, other, d] - log_p[i, h, d]
                assert (gain_d > gain_c).all()


@settings(deadline=None)
@given(designs(), st.integers(0, 100))
def test_marginals_may_come_one_an_opinion(
    design: tuple[npt.NDArray[np.float64], list[list[int]], npt.NDArray[np.bool_]], seed: int
) -> None:
    log_p, groups, asked = design
    dense = simulate_opinions(log_p, groups, asked, np.random.default_rng(seed))
    rows = simulate_opinions(log_p[asked], groups, asked, np.random.default_rng(seed))
    np.testing.assert_array_equal(dense, rows)


def test_impossible_labels_are_never_said_and_certain_ones_always() -> None:
    with np.errstate(divide="ignore"):
        log_p = np.log(np.broadcast_to([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], (1000, 2, 3)))
    labels = simulate_opinions(
        log_p, [[0, 1]], np.ones((1000, 2), dtype=bool), np.random.default_rng(0)
    )
    assert set(labels[:, 0]) == {1, 2}
    assert (labels[:, 1] == 2).all()


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([[0], [1]], "expert 2 is in no group"),
        ([[0, 1], [1, 2]], "expert 1 stands twice"),
        ([[0, 1, 2, 3]], "expert 3 of the partition is not in the data"),
        ([[0, 1, -1]], "expert -1 of the partition is not in the data"),
    ],
)
def test_groups_that_are_no_partition_are_refused(groups: list[list[int]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate_opinions(
            np.log(P)[None], groups, np.ones((1, 3), dtype=bool), np.random.default_rng(0)
        )


@pytest.mark.parametrize(
    ("log_p", "words"),
    [
        (np.log(P)[:2], r"has shape \(2, 3\); it should be \(1, 3, labels\), or \(3, labels\)"),
        (np.log(P)[:1], r"has shape \(1, 3\)"),
        (np.log(P)[None, :2], r"has shape \(1, 2, 3\)"),
        (np.log(P)[0], r"has shape \(3,\)"),
        (np.log(2 * P)[None], "sums to 2.0"),
        (np.full((1, 3, 3), np.nan), "sums to nan"),
    ],
)
def test_marginals_that_do_not_fit_are_refused(log_p: npt.ArrayLike, words: str) -> None:
    asked = np.ones((1, 3), dtype=bool)
    with pytest.raises(ValueError, match=words):
        simulate_opinions(log_p, [[0, 1, 2]], asked, np.random.default_rng(0))


@pytest.fixture(scope="module")
def hs() -> Panel:
    return simulate_panel("HS-Brexit", np.random.default_rng(0))


@pytest.fixture(scope="module")
def md() -> Panel:
    return simulate_panel("MD-Agreement", np.random.default_rng(0))


def test_hs_brexit_has_the_real_shape(hs: Panel) -> None:
    assert hs.source == "simulated"
    assert hs.instances["split"].value_counts().to_dict() == {"train": 784, "dev": 168, "test": 168}
    assert list(hs.instances.columns) == ["text", "split"]
    assert list(hs.instances.index[[0, 783, 784, 1119]]) == [
        "train-1",
        "train-784",
        "dev-1",
        "test-168",
    ]
    assert hs.opinions.labels.shape == (1120, 6)
    assert (hs.opinions.labels >= 0).all()
    assert hs.truth is not None
    assert hs.truth.groups == (("S1", "S2", "S3"), ("S4", "S5", "S6"))
    assert list(hs.experts["group"]) == ["target"] * 3 + ["control"] * 3


def agreement(labels: npt.NDArray[np.int64]) -> dict[str, float]:
    """Mean agreement of pairs within either group of three, and across."""
    agree = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    upper = np.triu_indices(3, 1)
    return {
        "target": float(agree[:3, :3][upper].mean()),
        "control": float(agree[3:, 3:][upper].mean()),
        "across": float(agree[:3, 3:].mean()),
    }


HS_RATES = [0.045, 0.054, 0.063, 0.204, 0.245, 0.165]
HS_AGREEMENT = {"target": 0.942, "control": 0.864, "across": 0.820}
MD_RATE, MD_AGREEMENT, MD_UNSEEN = 0.341, 0.712, 0.309
MD_DOMAIN_RATES = [0.270, 0.353, 0.406]
MD_PAIRS = 16_516


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_hs_brexit_comes_near_the_real_rates(seed: int) -> None:
    labels = simulate_panel("HS-Brexit", np.random.default_rng(seed)).opinions.labels
    np.testing.assert_allclose(labels.mean(axis=0), HS_RATES, atol=0.04)
    found = agreement(labels)
    assert found == pytest.approx(HS_AGREEMENT, abs=0.05)
    assert found["across"] < found["control"] < found["target"]


def domain_rates(panel: Panel) -> list[float]:
    opinions = panel.opinions
    domain = panel.instances["domain"].to_numpy()[opinions.instance_codes]
    return sorted(pd.Series(opinions.label_codes).groupby(domain).mean())


def pair_agreement(panel: Panel) -> float:
    """How often two experts agree about an instance, averaged over instances."""
    ones = pd.Series(panel.opinions.label_codes).groupby(panel.opinions.instance_codes)
    yes, n = ones.sum(), ones.size()
    return float(((yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))).mean())


def pairs_together(panel: Panel) -> int:
    """How many pairs of experts gave an opinion on a common instance."""
    asked = coo_array(
        (np.ones(len(panel.opinions)), (panel.opinions.instance_codes, panel.opinions.expert_codes))
    ).tocsr()
    return (int((asked.T @ asked).nnz) - len(panel.opinions.experts)) // 2


def test_md_agreement_has_the_real_shape(md: Panel) -> None:
    assert md.instances["split"].value_counts().to_dict() == {
        "train": 6592,
        "dev": 1104,
        "test": 3057,
    }
    assert md.instances["domain"].nunique() == 3
    assert list(md.experts.columns) == []
    assert (np.bincount(md.opinions.instance_codes) == 5).all()
    assert len(md.opinions.experts) == 819
    counts = opinions_per_split(md)
    asked = counts > 0
    assert asked.sum().to_dict() == {"train": 670, "dev": 534, "test": 246}
    assert (asked["test"] & ~asked["train"]).sum() == 148
    assert (asked["dev"] & ~asked["train"]).sum() == 12
    # Heavy tail: the busiest tenth gives more than half of all opinions.
    busiest = counts.sum(axis=1).sort_values(ascending=False)[:82]
    assert 0.5 < busiest.sum() / len(md.opinions) < 0.7
    assert counts.sum(axis=1).median() < 30


@pytest.mark.parametrize("seed", [0, 1])
def test_md_agreement_comes_near_the_real_rates(seed: int) -> None:
    panel = simulate_panel("MD-Agreement", np.random.default_rng(seed))
    assert panel.opinions.label_codes.mean() == pytest.approx(MD_RATE, abs=0.04)
    assert pair_agreement(panel) == pytest.approx(MD_AGREEMENT, abs=0.05)
    np.testing.assert_allclose(domain_rates(panel), MD_DOMAIN_RATES, atol=0.08)
    assert pairs_together(panel) == pytest.approx(MD_PAIRS, rel=0.25)
    counts = opinions_per_split(panel)
    unseen = counts.loc[counts["train"] == 0, "test"].sum() / counts["test"].sum()
    assert unseen == pytest.approx(MD_UNSEEN, abs=0.1)


@pytest.mark.parametrize("name", get_args(PanelName))
def test_the_truth_explains_the_opinions(name: PanelName, request: pytest.FixtureRequest) -> None:
    panel: Panel = request.getfixturevalue("hs" if name == "HS-Brexit" else "md")
    assert panel.truth is not None
    p = np.exp(panel.truth.log_marginals(panel.opinions)[:, 1])
    said = panel.opinions.label_codes
    # Calibrated in every fifth of the probabilities. Opinions about one text that share noise
    # are dependent, so the standard error counts texts, each with its summed deviation.
    for part in np.array_split(np.argsort(p, kind="stable"), 5):
        texts = pd.Series(said[part] - p[part]).groupby(panel.opinions.instance_codes[part]).sum()
        assert abs(texts.sum()) < 4 * np.sqrt((texts**2).sum())


def test_planted_groups_never_violate_and_others_do(hs: Panel) -> None:
    assert hs.truth is not None
    experts = list(hs.opinions.experts)
    log_p = hs.truth.log_marginals(hs.opinions).reshape(-1, len(experts), 2)
    log_odds, labels = log_p[..., 1] - log_p[..., 0], hs.opinions.labels
    # Of two experts under one noise, whoever is likelier to say 1 says 1 if the other does.
    wrong = (labels[:, :, None] > labels[:, None, :]) & (
        log_odds[:, :, None] <= log_odds[:, None, :]
    )
    violations = wrong.sum(axis=0)
    group = np.array([0, 0, 0, 1, 1, 1])
    same = group[:, None] == group[None, :]
    assert (violations[same] == 0).all()
    assert ((violations + violations.T)[~same] > 0).all()


def test_md_groups_cover_all_experts_and_never_violate(md: Panel) -> None:
    assert md.truth is not None
    members = [expert for group in md.truth.groups for expert in group]
    assert sorted(members) == sorted(md.experts.index)
    assert [len(group) for group in md.truth.groups] == [102, 120, 188, 187, 222]
    group_of = {expert: g for g, group in enumerate(md.truth.groups) for expert in group}
    log_p = md.truth.log_marginals(md.opinions)
    rows = md.opinions.to_long().assign(
        group=lambda t: t["expert"].map(group_of), log_odds=log_p[:, 1] - log_p[:, 0]
    )
    # All who said 1 on an instance have larger log-odds than all of their group who said 0.
    least = rows[rows["label"] == 1].groupby(["instance", "group"])["log_odds"].min()
    most = rows[rows["label"] == 0].groupby(["instance", "group"])["log_odds"].max()
    both = pd.concat({"least": least, "most": most}, axis=1).dropna()
    assert len(both) > 1000
    assert (both["least"] > both["most"]).all()


def test_texts_are_invented_words_that_tell_the_topics(hs: Panel) -> None:
    words = hs.instances["text"].str.split().explode()
    assert words.str.fullmatch(r"w\d{4}").all()
    assert words.groupby(level=0).size().mean() == pytest.approx(18, abs=1)
    assert hs.truth is not None
    # The usual features, fitted on training texts, predict what the experts' views depend on.
    is_train = (hs.instances["split"] == "train").to_numpy()
    pipeline = text_features().fit(hs.instances["text"][is_train])
    features = pipeline.transform(hs.instances["text"])
    topics = hs.truth.features.to_numpy()
    fit = np.linalg.lstsq(features[is_train], topics[is_train], rcond=None)[0]
    left = (topics - features @ fit)[~is_train]
    assert (left.var(axis=0) < 0.5 * topics[~is_train].var(axis=0)).all()


SCRIPT = """
import hashlib, sys
import numpy as np
from siscm.data.simulate import simulate_panel
for name in ("HS-Brexit", "MD-Agreement"):
    panel = simulate_panel(name, np.random.default_rng(7))
    seen = hashlib.sha256("\\n".join(panel.instances["text"]).encode())
    seen.update(panel.opinions.to_long().to_csv().encode())
    seen.update(panel.truth.intercepts.to_numpy().tobytes())
    print(seen.hexdigest())
"""


@pytest.mark.slow
def test_same_panels_in_fresh_processes() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env=os.environ
            | {
                "OPENBLAS_NUM_THREADS": threads,
                "OMP_NUM_THREADS": threads,
                "PYTHONHASHSEED": hash_seed,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for threads, hash_seed in (("1", "1"), ("4", "2"))
    ]
    printed = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert printed[0] == printed[1]
    first, second = printed[0].split()
    assert first != second


def test_an_unknown_panel_is_refused() -> None:
    with pytest.raises(ValueError, match="no panel 'Brexit'"):
        simulate_panel("Brexit", np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.real_data
def test_the_targets_are_those_of_the_real_files() -> None:
    hs, md = load_lewidi("HS-Brexit"), load_lewidi("MD-Agreement")
    np.testing.assert_allclose(hs.opinions.labels.mean(axis=0), HS_RATES, atol=5e-4)
    assert agreement(hs.opinions.labels) == pytest.approx(HS_AGREEMENT, abs=1e-3)
    assert md.opinions.label_codes.mean() == pytest.approx(MD_RATE, abs=1e-3)
    assert pair_agreement(md) == pytest.approx(MD_AGREEMENT, abs=1e-3)
    np.testing.assert_allclose(domain_rates(md), MD_DOMAIN_RATES, atol=1e-3)
    assert pairs_together(md) == MD_PAIRS
    counts = opinions_per_split(md)
    unseen = counts.loc[counts["train"] == 0, "test"].sum() / counts["test"].sum()
    assert unseen == pytest.approx(MD_UNSEEN, abs=1e-3)


def test_eleven_new_experts_are_both_in_dev_and_in_test(md: Panel) -> None:
    asked = opinions_per_split(md) > 0
    assert (asked["dev"] & asked["test"] & ~asked["train"]).sum() == 11
    assert asked.any(axis=1).all()


def test_domains_are_offensive_in_the_order_of_their_names(md: Panel) -> None:
    domain = md.instances["domain"].to_numpy()[md.opinions.instance_codes]
    rates = pd.Series(md.opinions.label_codes).groupby(domain).mean()
    assert rates.index.tolist() == ["A", "B", "C"]
    assert rates.is_monotonic_increasing


def test_ids_do_not_tell_the_planted_groups(md: Panel) -> None:
    assert md.truth is not None
    number = {expert: place for place, expert in enumerate(md.opinions.experts)}
    for group in md.truth.groups:
        places = [number[expert] for expert in group]
        assert abs(np.mean(places) - len(number) / 2) < 100
