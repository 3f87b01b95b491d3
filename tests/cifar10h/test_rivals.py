"""Rules that learn from pairs, each against a slow or independent way to the same number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from one_by_one import loop_pairs
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

from siscm import Opinions, evaluation
from siscm.baselines import Pairs, ordered_pairs
from siscm.cifar10h.rivals import (
    confusions,
    fit_dawid_skene,
    fit_most_frequent,
    fit_pooled_regression,
    fit_product_with_cnb,
    fit_times_table,
)

K, H, N = 3, 4, 40


@pytest.fixture(scope="module")
def opinions() -> Opinions:
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=N)
    labels = np.where(rng.random((N, H)) < 0.7, truth[:, None], rng.integers(K, size=(N, H)))
    labels[rng.random((N, H)) < 0.3] = -1
    return Opinions.from_codes(labels, experts=list("abcd"), classes=range(K))


@pytest.fixture(scope="module")
def log_p() -> np.ndarray:
    return np.log(np.random.default_rng(1).dirichlet(np.ones(K), (N, H)))


def as_pairs(opinions: Opinions, log_p: np.ndarray) -> tuple[Pairs, np.ndarray]:
    i, g, c, h, d = np.array(loop_pairs(opinions)).T
    return Pairs(log_p[i, g], log_p[i, h], c, np.zeros(len(i), dtype=bool), i, g, h), d


def test_ordered_pairs_are_all_of_them(opinions: Opinions) -> None:
    observed, target = ordered_pairs(opinions)
    i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
    assert (i[observed] == i[target]).all()
    found = zip(i[observed], h[observed], y[observed], h[target], y[target], strict=True)
    assert Counter(found) == Counter(loop_pairs(opinions))


def test_nobody_met_gives_no_pairs() -> None:
    observed, target = ordered_pairs(Opinions.from_codes([[0, -1], [-1, 1]]))
    assert len(observed) == len(target) == 0


def rules(opinions: Opinions) -> dict[str, object]:
    X = np.random.default_rng(2).normal(size=(N, 2))
    return {
        "frequent": fit_most_frequent(opinions),
        "cnb": fit_product_with_cnb(opinions),
        "table": fit_times_table(opinions),
        "dawid-skene": fit_dawid_skene(opinions),
        "dawid-skene with features": fit_dawid_skene(opinions, 0.1, X, X),
        "regression": fit_pooled_regression(X, opinions, X),
    }


def test_every_rule_gives_distributions(opinions: Opinions, log_p: np.ndarray) -> None:
    pairs, _ = as_pairs(opinions, log_p)
    for rule in rules(opinions).values():
        law = rule(pairs)
        assert law.shape == (len(pairs.label), K)
        assert law.min() >= 0
        np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-12)
        assert rule(Pairs(*(array[:0] for array in pairs))).shape == (0, K)


def test_rules_go_through_evaluation(opinions: Opinions, log_p: np.ndarray) -> None:
    singletons = [[expert] for expert in opinions.experts]
    for rule in rules(opinions).values():
        table = evaluation.all_pairs(log_p, opinions, singletons, rule)
        assert len(table) == len(loop_pairs(opinions))


def test_most_frequent_counts(opinions: Opinions, log_p: np.ndarray) -> None:
    pairs, _ = as_pairs(opinions, log_p)
    law = fit_most_frequent(opinions)(pairs)
    said = opinions.labels[:, pairs.target[0]]
    counts = np.array([(said == c).sum() + 1 for c in range(K)])
    np.testing.assert_allclose(law[0], counts / counts.sum())


def test_cnb_is_the_papers_product_written_out(opinions: Opinions, log_p: np.ndarray) -> None:
    pairs, _ = as_pairs(opinions, log_p)
    law = fit_product_with_cnb(opinions)(pairs)
    all_rows = loop_pairs(opinions)
    for row in (0, 17, 40):
        h, g, c = pairs.target[row], pairs.observed[row], pairs.label[row]
        mine = [r for r in all_rows if r[3] == h]
        posterior = np.empty(K)
        for d in range(K):
            hers = [r for r in mine if r[4] == d]
            posterior[d] = len(hers) / len(mine)
            for other in range(H):
                value = c if other == g else None
                hits = sum((r[2] if r[1] == other else None) == value for r in hers)
                posterior[d] *= (hits + 1) / (len(hers) + K + 1)
        product = np.exp(pairs.log_p_target[row]) * posterior
        np.testing.assert_allclose(law[row], product / product.sum(), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 0.3, 0.001])
def test_cnb_is_scikit_learns_one_a_target(
    alpha: float, opinions: Opinions, log_p: np.ndarray
) -> None:
    pairs, said = as_pairs(opinions, log_p)
    given = np.full((len(said), H), K)
    given[np.arange(len(said)), pairs.observed] = pairs.label
    law = fit_product_with_cnb(opinions, alpha)(pairs)
    for h in range(H):
        mine = pairs.target == h
        model = CategoricalNB(alpha=alpha, min_categories=K + 1).fit(given[mine], said[mine])
        product = np.exp(pairs.log_p_target[mine]) * model.predict_proba(given[mine])
        np.testing.assert_allclose(law[mine], product / product.sum(axis=1, keepdims=True))


def test_a_label_that_she_never_gave_beside_another_gets_nothing() -> None:
    both = Opinions.from_codes([[0, 0], [0, 1], [0, 0]], classes=range(2))
    even, first, second = np.log([[0.5, 0.5]]), np.array([0]), np.array([1])
    pairs = Pairs(even, even, first, np.array([False]), first, second, first)
    np.testing.assert_array_equal(fit_product_with_cnb(both)(pairs), [[1, 0]])


def test_times_table_by_hand() -> None:
    """Ordered pairs: (0, 0) four times, (0, 1) and (1, 0) once, (1, 1) twice; one is added each."""
    said = Opinions.from_codes([[0, 0], [0, 0], [0, 1], [1, 1]], classes=range(2))
    first, second = np.array([0, 0]), np.array([1, 1])
    habit = np.log([[0.8, 0.2]] * 2)
    pairs = Pairs(habit, habit, np.array([0, 1]), first.astype(bool), first, first, second)
    # She says 0 in 7 of 12 pairs: in 5 of 7 after 0, in 2 of 5 after 1.
    after_0, after_1 = (
        np.array([0.8 * p0 / (7 / 12), 0.2 * (1 - p0) / (5 / 12)]) for p0 in (5 / 7, 2 / 5)
    )
    law = fit_times_table(said)(pairs)
    np.testing.assert_allclose(law, [after_0 / after_0.sum(), after_1 / after_1.sum()])


def test_times_table_of_strangers_is_the_marginal() -> None:
    said = Opinions.from_codes(np.random.default_rng(0).integers(2, size=(40_000, 2)))
    pairs, _ = as_pairs(said, np.tile(np.log([0.8, 0.2]), (40_000, 2, 1)))
    np.testing.assert_allclose(fit_times_table(said)(pairs), np.exp(pairs.log_p_target), atol=0.02)


def test_not_observed_is_a_category_even_of_who_was_always_observed() -> None:
    """Of two experts, three times together; three categories each: two labels, and neither."""
    both = Opinions.from_codes([[0, 0], [0, 1], [1, 1]], classes=range(2))
    even, first, second = np.log([[0.5, 0.5]]), np.array([0]), np.array([1])
    pairs = Pairs(even, even, first, np.array([False]), first, first, second)
    product = np.array([1 / 3 * 2 / 4 * 2 / 4, 2 / 3 * 2 / 5 * 3 / 5])
    np.testing.assert_allclose(fit_product_with_cnb(both)(pairs)[0], product / product.sum())


def test_an_instance_without_opinions_tells_nothing(opinions: Opinions) -> None:
    more = np.concatenate([opinions.labels, np.full((20, H), -1)])
    found, expected = (
        confusions(Opinions.from_codes(said, classes=range(K)), n_iterations=3)
        for said in (more, opinions.labels)
    )
    (one, confusion), (other, same) = found, expected
    np.testing.assert_allclose(one.class_prior_, other.class_prior_, atol=1e-12)
    np.testing.assert_allclose(confusion, same, atol=1e-12)


def test_a_target_who_met_nobody_keeps_her_marginal(log_p: np.ndarray) -> None:
    alone = Opinions.from_codes([[0, 1, -1], [1, 1, -1], [-1, -1, 0]], classes=range(2))
    rule = fit_product_with_cnb(alone)
    marginal = np.log([[0.3, 0.7]])
    here, there = np.array([0]), np.array([2])
    pairs = Pairs(marginal, marginal, here, np.array([False]), here, here, there)
    np.testing.assert_allclose(rule(pairs), [[0.3, 0.7]])


def test_dawid_skene_recovers_who_errs_how() -> None:
    rng = np.random.default_rng(3)
    confusion = np.array(
        [0.9 * np.eye(3) + 0.1 / 3, 0.6 * np.eye(3) + 0.4 / 3, np.eye(3)[[0, 2, 1]]]
    )
    confusion[2] = 0.8 * confusion[2] + 0.2 / 3
    confusion = np.concatenate([confusion, confusion[:1], confusion[:1]])
    truth = rng.choice(3, size=4000, p=[0.5, 0.3, 0.2])
    labels = np.array([[rng.choice(3, p=confusion[h, z]) for h in range(5)] for z in truth])
    truths, found = confusions(Opinions.from_codes(labels))
    prior = truths.predict_proba([[0]])[0]
    np.testing.assert_allclose(found, confusion, atol=0.05)
    np.testing.assert_allclose(prior, [0.5, 0.3, 0.2], atol=0.03)
    pair = Pairs(*np.zeros((2, 1, 3)), *(np.array([v]) for v in (1, False, 0, 0, 2)))
    joint = np.einsum("z,z,zd->d", prior, found[0, :, 1], found[2])
    law = fit_dawid_skene(Opinions.from_codes(labels))(pair)[0]
    np.testing.assert_allclose(law, joint / joint.sum(), atol=1e-12)
    simulated = labels[labels[:, 0] == 1, 2]
    frequency = np.bincount(simulated, minlength=3) / len(simulated)
    np.testing.assert_allclose(law, frequency, atol=0.05)


def expected_truths(X: np.ndarray, truth: np.ndarray, pseudo: float) -> np.ndarray:
    """Minimising what scikit-learn's regression does: soft labels, and half the squared slopes."""
    weights = truth + pseudo / len(truth)

    def log_p(flat: np.ndarray) -> np.ndarray:
        slopes = flat.reshape(K, -1)
        return log_softmax(X @ slopes[:, 1:].T + slopes[:, 0], axis=1)

    def loss(flat: np.ndarray) -> float:
        return (flat.reshape(K, -1)[:, 1:] ** 2).sum() / 2 - (weights * log_p(flat)).sum()

    return np.exp(log_p(minimize(loss, np.zeros(K * (1 + X.shape[1])), tol=1e-9).x))


@pytest.mark.parametrize("featured", [False, True])
def test_dawid_skene_is_expectation_maximisation_by_loops(
    opinions: Opinions, featured: bool
) -> None:
    """Expert d said nothing: she is taken for all others together."""
    said, pseudo = opinions.labels.copy(), 0.3
    said[:, 3] = -1
    said = said[(said >= 0).any(axis=1)]
    X = np.random.default_rng(5).normal(size=(len(said), 2)) if featured else None
    truth = np.array([[(row == z).mean(where=row >= 0) for z in range(K)] for row in said])
    for _ in range(3):
        counts = np.zeros((H, K, K))
        for i, h in zip(*np.nonzero(said >= 0), strict=True):
            counts[h, :, said[i, h]] += truth[i]
        pooled = counts.sum(axis=0) + pseudo
        pooled /= pooled.sum(axis=1, keepdims=True)
        confusion = counts + K * pseudo * pooled
        confusion /= confusion.sum(axis=2, keepdims=True)
        prior = np.tile((truth.sum(axis=0) + pseudo) / (len(said) + K * pseudo), (len(said), 1))
        if X is not None:
            prior = expected_truths(X, truth, pseudo)
        for i, row in enumerate(said):
            weight = prior[i] * np.prod(
                [confusion[h, :, c] for h, c in enumerate(row) if c >= 0], 0
            )
            truth[i] = weight / weight.sum()
    learned = Opinions.from_codes(said, classes=range(K))
    truths, found = confusions(learned, n_iterations=3, pseudo=pseudo, X=X)
    near = 1e-4 if featured else 1e-12
    np.testing.assert_allclose(found, confusion, atol=near)
    np.testing.assert_allclose(found[3], pooled, atol=near)
    at = np.zeros((len(said), 1)) if X is None else X
    np.testing.assert_allclose(truths.predict_proba(at), prior, atol=near)


def test_features_that_tell_nothing_leave_dawid_and_skene_as_they_were(
    opinions: Opinions, log_p: np.ndarray
) -> None:
    pairs, _ = as_pairs(opinions, log_p)
    alike = np.ones((N, 2))
    found = fit_dawid_skene(opinions, 0.1, alike, alike)(pairs)
    np.testing.assert_allclose(found, fit_dawid_skene(opinions)(pairs), atol=1e-4)


def test_features_tell_dawid_and_skene_the_truth_of_an_instance() -> None:
    """Two labels, three experts who are right at one rate each: the law is that enumerated."""
    rng = np.random.default_rng(6)
    x, rates = rng.normal(size=6000), np.array([0.9, 0.7, 0.8])
    truth = rng.random(6000) < 1 / (1 + np.exp(-2 * x))
    said = np.where(rng.random((6000, 3)) < rates, truth[:, None], ~truth[:, None]).astype(int)
    X = np.array([[-1.0], [0.0], [2.0]])
    rule = fit_dawid_skene(Opinions.from_codes(said), 0.1, x[:, None], X)
    at, first, second = np.arange(3), np.zeros(3, dtype=int), np.ones(3, dtype=int)
    law = rule(Pairs(*np.zeros((2, 3, 2)), first, first.astype(bool), at, first, second))
    for value, (row,) in zip(law[:, 1], X, strict=True):
        joint = np.zeros(2)  # over what the second expert says, the first having said 0
        for z, p_z in enumerate([1 / (1 + np.exp(2 * row)), 1 / (1 + np.exp(-2 * row))]):
            p_first = rates[0] if z == 0 else 1 - rates[0]
            joint += p_z * p_first * np.where(np.arange(2) == z, rates[1], 1 - rates[1])
        assert value == pytest.approx(joint[1] / joint.sum(), abs=0.03)


def test_dawid_skene_agrees_with_majority_among_equals() -> None:
    labels = np.array([[0, 0, 0]] * 5 + [[1, 1, 1]] * 5 + [[0, 0, 1]])
    found = fit_dawid_skene(Opinions.from_codes(labels))
    pair = Pairs(*np.zeros((2, 1, 2)), *(np.array([v]) for v in (0, False, 0, 0, 1)))
    assert found(pair)[0].argmax() == 0


def test_regression_ends_where_nothing_can_be_learned() -> None:
    """On large features it takes more than a hundred steps; a warning would stop the book."""
    rng = np.random.default_rng(0)
    said = Opinions.from_codes(rng.integers(10, size=(120, 6)), classes=range(10))
    X = 30 * rng.normal(size=(120, 20))
    fit_pooled_regression(X, said, X)  # pytest makes an error of a warning


@pytest.mark.parametrize("strength", [1.0, 0.05])
def test_regression_is_scikit_learns_on_the_rows_written_out(
    strength: float, opinions: Opinions, log_p: np.ndarray
) -> None:
    rng = np.random.default_rng(4)
    X, X_new = rng.normal([5, -3], size=(2, N, 2))

    def written_out(features: np.ndarray) -> list[list[float]]:
        return [
            [*features[i], *np.eye(H)[g], *np.eye(K)[c], *np.eye(H)[h]]
            for i, g, c, h, _ in loop_pairs(opinions)
        ]

    said = [d for *_, d in loop_pairs(opinions)]
    by_hand = LogisticRegression(C=strength, max_iter=10_000, tol=1e-8).fit(written_out(X), said)
    pairs, _ = as_pairs(opinions, log_p)
    law = fit_pooled_regression(X, opinions, X_new, strength)(pairs)
    np.testing.assert_allclose(law, by_hand.predict_proba(written_out(X_new)), atol=1e-3)
