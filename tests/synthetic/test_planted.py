"""Synthetic panels are drawn as the paper says, and thinned out as it says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from siscm import Opinions
from siscm.opinions import NOT_ASKED
from siscm.synthetic.planted import GROUP_SIZES, make_synthetic_panel, sparsify
from siscm.violations import violates


def panel(n=50, seed=0, **sizes):
    return make_synthetic_panel(n, np.random.default_rng(seed), **sizes)


def test_the_papers_panel_has_48_experts_in_five_groups() -> None:
    drawn = panel()
    assert [len(group) for group in drawn.groups] == [6, 7, 11, 11, 13] == list(GROUP_SIZES)
    assert [h for group in drawn.groups for h in group] == list(range(48))
    assert drawn.X.shape == (50, 20)
    assert drawn.weights.shape == (48, 5, 20)
    assert drawn.opinions.labels.shape == (50, 48)
    for values in (drawn.X, drawn.weights):
        assert 0 <= values.min() < 0.02
        assert 0.98 < values.max() <= 1


def test_marginals_are_the_multinomial_logit_word_for_word() -> None:
    drawn = panel(3)
    for n, h in ((0, 0), (2, 47)):
        scores = np.array([np.exp(drawn.weights[h, c] @ drawn.X[n]) for c in range(5)])
        np.testing.assert_allclose(np.exp(drawn.log_marginals[n, h]), scores / scores.sum())


def test_similar_experts_never_violate_and_others_do() -> None:
    drawn = panel(200)
    log_p, said = drawn.log_marginals, drawn.opinions.labels
    shares = {
        (h, other): violates(log_p[:, h], said[:, h], log_p[:, other], said[:, other]).mean()
        for h, other in ((0, 5), (6, 12), (35, 47), (0, 6), (12, 13), (34, 35))
    }
    assert list(shares.values())[:3] == [0, 0, 0]
    assert min(list(shares.values())[3:]) > 0.1


def test_experts_say_labels_as_often_as_their_marginals() -> None:
    drawn = panel(4000, group_sizes=(2, 1), n_features=3)
    expected = np.exp(drawn.log_marginals).sum(axis=0)
    for h in range(3):
        seen = np.bincount(drawn.opinions.labels[:, h], minlength=5)
        assert chisquare(seen, expected[h]).pvalue > 1e-4


def test_a_part_is_the_same_panel_on_fewer_instances() -> None:
    whole = panel(30)
    part = whole.part(10, 25)
    np.testing.assert_array_equal(part.opinions.labels, whole.opinions.labels[10:25])
    np.testing.assert_array_equal(part.log_marginals, whole.log_marginals[10:25])


def test_a_longer_panel_begins_like_a_shorter_one() -> None:
    short, long = panel(10), panel(25).part(0, 10)
    np.testing.assert_array_equal(short.X, long.X)
    np.testing.assert_array_equal(short.weights, long.weights)
    np.testing.assert_array_equal(short.opinions.labels, long.opinions.labels)


@pytest.mark.parametrize(("sparsity", "mean"), [(0.1, 43.2), (0.8, 9.6), (0.95, 2.4), (0.5, 24)])
def test_sparsity_keeps_its_share_on_average_and_never_less_than_two(sparsity, mean) -> None:
    kept = sparsify(panel(3000, n_features=1).opinions, sparsity, np.random.default_rng(1))
    number = (kept.labels != NOT_ASKED).sum(axis=1)
    assert set(number) == {int(np.floor(mean)), int(np.ceil(mean))}
    assert number.mean() == pytest.approx(mean, abs=0.05)
    assert number.min() >= 2


@pytest.mark.parametrize(("sparsity", "number"), [(0.0, 48), (0.97, 2), (1.0, 2)])
def test_the_extremes_of_sparsity(sparsity, number) -> None:
    opinions = panel(20).opinions
    kept = sparsify(opinions, sparsity, np.random.default_rng(1))
    assert set((kept.labels != NOT_ASKED).sum(axis=1)) == {number}
    stays = kept.labels != NOT_ASKED
    np.testing.assert_array_equal(kept.labels[stays], opinions.labels[stays])


def test_every_expert_stays_equally_often() -> None:
    kept = sparsify(panel(4000, n_features=1).opinions, 0.9, np.random.default_rng(2))
    counts = (kept.labels != NOT_ASKED).sum(axis=0)
    assert chisquare(counts).pvalue > 1e-4


def test_labels_in_no_order_stay_in_none() -> None:
    table = panel(5).opinions.to_long()
    words = Opinions.from_long(table.assign(label=table["label"].map(dict(enumerate("cabed")))))
    kept = sparsify(words, 0.5, np.random.default_rng(0))
    assert kept.classes.tolist() == list("abcde")
    assert not kept.ordered


def test_bad_sizes_and_sparsities_are_refused() -> None:
    with pytest.raises(ValueError, match="group_sizes is empty"):
        make_synthetic_panel(10, np.random.default_rng(0), group_sizes=())
    rng = np.random.default_rng(0)
    for n, wrong in ((0, {}), (10.0, {}), (5, {"n_classes": 0}), (5, {"group_sizes": (3, 0)})):
        with pytest.raises(ValueError, match="each size must be a whole number of at least 1"):
            panel(n, **wrong)
    opinions = panel(5).opinions
    for sparsity in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            sparsify(opinions, sparsity, rng)
    gaps = Opinions.from_codes(np.array([[0, -1], [1, 0]]), classes=range(2))
    with pytest.raises(ValueError, match="gaps already"):
        sparsify(gaps, 0.5, rng)


def test_everybody_has_habits_of_her_own() -> None:
    weights = make_synthetic_panel(1, np.random.default_rng(0)).weights
    assert len(np.unique(weights.reshape(48, -1), axis=0)) == 48


# test_sweep_figures
