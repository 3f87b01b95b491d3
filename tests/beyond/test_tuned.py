"""Rivals choose by what they do on instances left out of their training, and only by that."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from siscm import Opinions
from siscm.baselines import Pairs
from siscm.beyond import tuned as module
from siscm.beyond.contest_pairs import common_features, pairs_of
from siscm.beyond.tuned import PSEUDO_COUNTS, STRENGTHS, dawid_skene, regression, tuned
from siscm.cifar10h.rivals import fit_dawid_skene, fit_pooled_regression

N, H = 90, 5


def panel(seed: int = 0, n: int = N) -> tuple[np.ndarray, Opinions]:
    """Coins that hang on features a little: the stronger the penalty, the better."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-0.3 * rng.normal(size=n)))
    said = (rng.random((n, H)) < p[:, None]).astype(int)
    said = np.where(rng.random((n, H)) < 0.7, said, -1)
    log_p = np.log(np.stack([1 - p, p], axis=1))
    opinions = Opinions.from_codes(said, classes=["no", "yes"])
    return log_p[opinions.instance_codes], opinions


def test_the_best_of_known_rules_is_chosen_and_scored_on_what_was_left_out() -> None:
    """A value is how much a rule trusts the marginal: all of it is best, and fit sees no fold."""
    log_p, train = panel()
    seen = []

    def fit(value, learned, left_out):
        for rows, said in (learned, left_out):
            mine = np.isin(train.instances.take(train.instance_codes), said.instances)
            np.testing.assert_array_equal(rows, log_p[mine])
            np.testing.assert_array_equal(said.label_codes, train.label_codes[mine])
        seen.append((value, tuple(learned[1].instances), tuple(left_out[1].instances)))
        return lambda pairs: value * np.exp(pairs.log_p_target) + (1 - value) * 0.5

    pairs, _ = pairs_of(log_p, train)
    wanted = log_p[:0], train.select(instances=[])
    law = tuned(fit, (0.0, 1.0, 0.5), (log_p, train), wanted)(pairs)
    np.testing.assert_array_equal(law, np.exp(pairs.log_p_target))
    assert seen.pop() == (1.0, tuple(train.instances), ())
    for _, mine, others in seen:
        assert sorted(mine + others) == list(train.instances)
    folds = {others for _, _, others in seen}
    assert sorted(i for fold in folds for i in fold) == list(range(len(train.instances)))
    assert len(seen) == 3 * len(folds) == 3 * module.N_FOLDS


def test_of_equals_the_first_is_taken() -> None:
    log_p, train = panel()
    taken = []

    def fit(value, learned, left_out):
        taken.append(value)
        return lambda pairs: np.full_like(pairs.log_p_target, 0.5)

    tuned(fit, (3.0, 1.0, 2.0), (log_p, train), (log_p, train))
    assert taken == [3.0, 1.0, 2.0] * module.N_FOLDS + [3.0]


def by_hand(log_p: np.ndarray, train: Opinions, strength: float) -> float:
    """Log-loss of the regression on left-out instances, by loops over its rows."""
    order = np.random.RandomState(0).permutation(len(train.instances))
    total = 0.0
    for others in np.array_split(order, module.N_FOLDS):
        X = common_features(log_p, train)
        pairs, truth = pairs_of(log_p, train)
        whom, said = np.eye(H), np.eye(2)
        columns = whom[pairs.observed], said[pairs.label], whom[pairs.target]
        rows = np.column_stack([X[pairs.instance], *columns])
        left_out = np.isin(pairs.instance, others)
        model = LogisticRegression(C=strength, max_iter=10_000, tol=1e-7)
        model.fit(rows[~left_out], truth[~left_out])
        given = model.predict_proba(rows[left_out])[np.arange(left_out.sum()), truth[left_out]]
        total -= np.log(given).sum()
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_regression_takes_the_strength_that_loops_find(seed: int) -> None:
    log_p, train = panel(seed)
    X = common_features(log_p, train)
    best = min(STRENGTHS, key=lambda strength: by_hand(log_p, train, strength))
    pairs, _ = pairs_of(log_p, train)
    found = tuned(regression, STRENGTHS, (log_p, train), (log_p, train))(pairs)
    np.testing.assert_array_equal(found, fit_pooled_regression(X, train, X, best)(pairs))
    others = [s for s in STRENGTHS if s != best]
    for other in others:
        assert not np.allclose(found, fit_pooled_regression(X, train, X, other)(pairs), atol=1e-4)


def test_dawid_and_skene_of_coins_take_the_most_caution() -> None:
    log_p, train = panel()
    pairs, _ = pairs_of(log_p, train)
    found = tuned(dawid_skene, PSEUDO_COUNTS, (log_p, train), (log_p, train))(pairs)
    np.testing.assert_array_equal(found, fit_dawid_skene(train, PSEUDO_COUNTS[-1])(pairs))


@pytest.mark.parametrize("n", [2, 3])
def test_where_nothing_can_be_left_out_the_first_is_taken(n: int) -> None:
    """With three instances of two labels a fold can be left with one label only: it is skipped."""
    said = np.array([[0, 0], [0, 0], [0, 1]])[-n:]
    train = Opinions.from_codes(said, classes=["no", "yes"])
    log_p = np.full((len(train), 2), np.log(0.5))
    X = common_features(log_p, train)
    pairs, _ = pairs_of(log_p, train)
    part = (log_p, train)
    laws = (
        tuned(regression, STRENGTHS, part, part)(pairs),
        tuned(dawid_skene, PSEUDO_COUNTS, part, part)(pairs),
    )
    first = (
        fit_pooled_regression(X, train, X, STRENGTHS[0])(pairs),
        fit_dawid_skene(train, PSEUDO_COUNTS[0])(pairs),
    )
    for law, expected in zip(laws, first, strict=True):
        np.testing.assert_allclose(law.sum(axis=1), 1)
        if n < module.N_FOLDS:
            np.testing.assert_array_equal(law, expected)
    assert isinstance(pairs, Pairs)
