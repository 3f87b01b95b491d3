"""What the released code does otherwise: against loops, and how far it parts from ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent import race_row
from scipy.stats import chi2
from sklearn.naive_bayes import CategoricalNB
from strategies import log, log_dirichlet, rngs

from siscm import Opinions, SimilarityGraph, partition
from siscm.baselines import Pairs, marginals_only
from siscm.cifar10h import released
from siscm.cifar10h.rivals import fit_product_with_cnb
from siscm.compendium import pages
from siscm.gumbel import counterfactual_probabilities, monte_carlo_probabilities
from siscm.violations import violates

K, H, N = 3, 5, 14


def panel(rng: np.random.Generator, asked: float = 0.6) -> tuple[np.ndarray, Opinions]:
    """One marginal an opinion, and opinions of which about half come from one noise."""
    log_p = log_dirichlet(rng, (N, H, K))
    noise = rng.gumbel(size=(N, H, K))
    noise[:, :3] = noise[:, :1]
    codes = (log_p + noise).argmax(axis=-1)
    codes[rng.random(codes.shape) > asked] = -1
    opinions = Opinions.from_codes(codes, classes=range(K))
    return log_p[opinions.instance_codes, opinions.expert_codes], opinions


def cells(log_p: np.ndarray, opinions: Opinions) -> list[dict[int, tuple[int, np.ndarray]]]:
    """For each instance a dictionary from expert to what she said and her marginal."""
    table: list[dict[int, tuple[int, np.ndarray]]] = [{} for _ in opinions.instances]
    for i, h, y, row in zip(
        opinions.instance_codes, opinions.expert_codes, opinions.label_codes, log_p, strict=True
    ):
        table[i][int(h)] = (int(y), np.exp(row))
    return table


def test_exact_zeros_alone_are_raised_and_nothing_is_scaled() -> None:
    p = np.array([[0.0, 1e-300, 1.0], [5e-324, 0.0, 1.0]])
    found = released.without_zeros(p)
    np.testing.assert_array_equal(found, [[1e-8, 1e-300, 1.0], [5e-324, 1e-8, 1.0]])
    assert found.sum(axis=1)[0] > 1
    # What was impossible is now likelier than what was merely very unlikely.
    assert found[0, 0] > found[0, 1]
    np.testing.assert_array_equal(p[0], [0.0, 1e-300, 1.0])


@given(rng=rngs(), k=st.integers(2, 6))
def test_products_agree_with_logarithms_away_from_ties_and_underflow(
    rng: np.random.Generator, k: int
) -> None:
    log_p, log_q = log_dirichlet(rng, (2, 40, k))
    c, d = rng.integers(k, size=(2, 40))
    by_products = released.violates_by_products(np.exp(log_p), c, np.exp(log_q), d)
    np.testing.assert_array_equal(by_products, violates(log_p, c, log_q, d))
    assert not by_products[c == d].any()


def test_zero_is_at_least_zero() -> None:
    """Two products that underflow: a violation for the released code, none by logarithms."""
    c, d = np.array([0]), np.array([1])
    q = np.array([[1e-250, 1e-150, 1.0]])
    # q_c p_d = 1e-350 underflows, q_d p_c = 1e-300 does not.
    p = np.array([[1e-150, 1e-100, 1.0]])
    assert not released.violates_by_products(p, c, q, d)[0]
    # Now q_d p_c = 1e-340 underflows too.
    p = np.array([[1e-190, 1e-100, 1.0]])
    assert released.violates_by_products(p, c, q, d)[0]
    assert not violates(log(p), c, log(q), d)[0]


@given(rng=rngs())
def test_violations_are_recounted_pair_by_pair(rng: np.random.Generator) -> None:
    log_p, opinions = panel(rng)
    p = np.exp(log_p) * rng.choice([1.0, 1e-170], size=log_p.shape)
    graph = released.recount_violations(SimilarityGraph.from_opinions(log_p, opinions), p, opinions)
    counts = np.zeros((H, H), dtype=int)
    for row in cells(log(p), opinions):
        for g, (c, p_g) in row.items():
            for h, (d, p_h) in row.items():
                counts[g, h] += g != h and c != d and p_h[c] * p_g[d] >= p_h[d] * p_g[c]
    np.testing.assert_array_equal(graph.violations, counts)


@given(rng=rngs())
def test_marginal_loss_over_all_instances_by_loops(rng: np.random.Generator) -> None:
    log_p, opinions = panel(rng)
    ours = SimilarityGraph.from_opinions(log_p, opinions)
    graph = released.average_over_all_instances(ours, log_p, opinions)
    table = cells(log_p, opinions)
    alone = {
        h: np.mean([row[h][1].argmax() != row[h][0] for row in table if h in row])
        for h in range(H)
        if any(h in row for row in table)
    }
    for g in range(H):
        for h in range(H):
            both = [row for row in table if g in row and h in row]
            if g == h or not both:
                assert np.isnan(graph.weights[g, h])
                continue
            weight = 0.0
            for a, b in ((g, h), (h, g)):
                laws = [
                    np.argmax(race_row(list(row[a][1]), list(row[b][1]), row[a][0])) for row in both
                ]
                shared = np.mean([law != row[b][0] for law, row in zip(laws, both, strict=True)])
                change = shared - alone[b]
                np.testing.assert_allclose(graph.loss_change[a, b] / len(both), change, atol=1e-12)
                weight += change
            np.testing.assert_allclose(graph.weights[g, h], weight, atol=1e-12)
    np.testing.assert_array_equal(graph.violations, ours.violations)


def test_where_all_saw_everything_the_weights_are_ours() -> None:
    log_p, opinions = panel(np.random.default_rng(0), asked=1.0)
    ours = SimilarityGraph.from_opinions(log_p, opinions)
    graph = released.average_over_all_instances(ours, log_p, opinions)
    np.testing.assert_allclose(graph.weights, ours.weights, atol=1e-12)


def test_an_instance_seen_alone_moves_the_released_weight() -> None:
    """Ann and Bob met once, rightly guessed; Bob, alone, was guessed wrong three times."""
    sure = np.log([0.9, 0.1])
    opinions = Opinions.from_codes([[0, 0], [-1, 1], [-1, 1], [-1, 1]], experts=["Ann", "Bob"])
    log_p = np.tile(sure, (len(opinions), 1))
    ours = SimilarityGraph.from_opinions(log_p, opinions)
    assert ours.weights[0, 1] == 0
    graph = released.average_over_all_instances(ours, log_p, opinions)
    np.testing.assert_allclose(graph.weights[0, 1], -3 / 4)


def test_a_model_compared_with_itself_weighs_nothing() -> None:
    """Both losses are those of one shared noise, whatever was said; edges stay as they are."""
    log_p, opinions = panel(np.random.default_rng(1))
    ours = SimilarityGraph.from_opinions(log_p, opinions)
    graph = released.compare_with_one_noise(ours)
    together = ours.together > 0
    assert (graph.weights[together] == 0).all()
    assert np.isnan(graph.weights[~together]).all()
    assert np.abs(ours.weights[together]).max() > 0.1
    np.testing.assert_array_equal(graph.edges, ours.edges)
    groups = partition.greedy(graph, rng=np.random.default_rng(0))
    assert np.isfinite(partition.objective(ours, groups))
    for a in range(len(groups)):  # nobody is left out whom her group could have taken
        for b in range(a):
            assert not graph.edges[np.ix_(groups[a], groups[b])].all()


def one_pair(log_p: np.ndarray, log_q: np.ndarray, label: int, n: int) -> Pairs:
    ones = np.ones(n, dtype=np.int64)
    return Pairs(
        np.tile(log_p, (n, 1)), np.tile(log_q, (n, 1)), label * ones, ones == 1, ones, ones, ones
    )


def test_draws_are_distributed_as_those_of_the_papers_estimator() -> None:
    """Many estimates of one pair: counts of every outcome of four draws, by both, agree."""
    rng = np.random.default_rng(0)
    log_p, log_q = log_dirichlet(rng, (2, 3))
    many = 4000
    rows = np.tile(log_p, (many, 1)), np.tile(log_q, (many, 1)), np.zeros(many, dtype=int)
    quick = released.frequencies(counterfactual_probabilities(*rows), 4, rng)
    slow = monte_carlo_probabilities(*rows, 4, rng)
    exact = counterfactual_probabilities(log_p, log_q, 0)
    assert (exact > 0.02).sum() > 1
    codes = [(estimate * 4).round().astype(int) @ [25, 5, 1] for estimate in (quick, slow)]
    table = np.array([np.bincount(code, minlength=101) for code in codes])
    table = table[:, table.sum(axis=0) > 20]
    assert table.shape[1] > 3
    expected = table.sum(axis=0) / 2
    statistic = ((table - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(0.999, table.shape[1] - 1)


def test_the_impossible_is_never_drawn() -> None:
    rng = np.random.default_rng(1)
    log_p, log_q = log_dirichlet(rng, (2, 500, 4))
    label = rng.integers(4, size=500)
    exact = counterfactual_probabilities(log_p, log_q, label)
    drawn = released.frequencies(exact, 300, rng)
    assert (exact == 0).any()
    assert (drawn[exact == 0] == 0).all()
    np.testing.assert_allclose(drawn.sum(axis=-1), 1)
    np.testing.assert_allclose(drawn, exact, atol=5 * 0.5 / np.sqrt(300))


def test_rests_of_rounding_leave_the_draws_alone() -> None:
    """Machines differ in the last digits: zero here may be 1e-17 there."""
    law = np.tile([[0.7, 0.0, 0.3], [0.0, 0.2, 0.8]], (50, 1))
    elsewhere = (law + 1e-17 * (law == 0)) * (1 + 3e-16)
    drawn = [released.frequencies(p, 1000, np.random.default_rng(0)) for p in (law, elsewhere)]
    np.testing.assert_array_equal(*drawn)
    assert drawn[0].std(axis=0).max() > 0
    another = np.array([[0.1, 0.2, 0.7], *law[1:]])
    apart = released.frequencies(another, 1000, np.random.default_rng(0))
    np.testing.assert_array_equal(apart[1:], drawn[0][1:])  # nor do other draws hang on a law
    assert (apart[0] != drawn[0][0]).all()
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1; got 0"):
        released.frequencies(law, 0, np.random.default_rng(0))


def test_gnb_by_draws_errs_where_two_labels_are_near() -> None:
    log_q = np.log([0.51, 0.49])
    pairs = one_pair(log_q, log_q, 0, 5000)
    rule = released.by_draws(marginals_only, 1000, np.random.default_rng(0))
    share = (rule(pairs).argmax(axis=1) == 1).mean()
    # 1,000 draws put the second label ahead with the probability of a binomial above one half.
    counts = np.random.default_rng(5).binomial(1000, 0.49, size=100_000)
    assert abs(share - (counts > 500).mean()) < 0.025
    assert (marginals_only(pairs).argmax(axis=1) == 0).all()
    sure = one_pair(np.log([0.9, 0.1]), np.log([0.9, 0.1]), 0, 100)
    assert (rule(sure).argmax(axis=1) == 0).all()


def test_a_graph_by_many_draws_is_the_exact_one() -> None:
    log_p, opinions = panel(np.random.default_rng(6))
    exact = SimilarityGraph.from_opinions(log_p, opinions)
    many = released.graph_by_draws(log_p, opinions, 2_000_000, np.random.default_rng(0))
    np.testing.assert_array_equal(many.violations, exact.violations)
    np.testing.assert_array_equal(many.together, exact.together)
    np.testing.assert_allclose(many.loss_change, exact.loss_change)
    few = released.graph_by_draws(log_p, opinions, 1, np.random.default_rng(0))
    assert np.abs(few.loss_change - exact.loss_change).max() >= 1


@pytest.mark.parametrize("seed", range(10))
def test_both_losses_of_a_weight_are_those_of_what_is_drawn(seed: int) -> None:
    """Draws that turn each law round, against loops."""
    rng = np.random.default_rng(seed)
    log_p, opinions = panel(rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(released, "frequencies", lambda law, n_samples, rng: law[..., ::-1])
        graph = released.graph_by_draws(log_p, opinions, 5, rng)
    expected = np.zeros((H, H))
    for row in cells(log_p, opinions):
        for g, (c, p_g) in row.items():
            for h, (d, p_h) in row.items():
                if g != h:
                    shared = np.argmax(race_row(list(p_g), list(p_h), c)[::-1])
                    expected[g, h] += float(shared != d) - float(np.argmax(p_h[::-1]) != d)
    np.testing.assert_allclose(graph.loss_change, expected, atol=1e-12)


def test_who_was_never_asked_has_no_loss() -> None:
    """Nor does anybody have one with herself."""
    opinions = Opinions.from_codes([[0, 1, -1], [1, 1, -1]], experts=["Ann", "Bob", "Cem"])
    log_p = np.tile(np.log([0.9, 0.1]), (len(opinions), 1))
    ours = SimilarityGraph.from_opinions(log_p, opinions)
    graph = released.average_over_all_instances(ours, log_p, opinions)
    np.testing.assert_array_equal(graph.loss_change, ours.loss_change)
    assert (np.diag(graph.loss_change) == 0).all()
    assert (graph.loss_change[2] == 0).all()


def test_the_lowest_random_number_draws_nothing_less_than_nothing() -> None:
    lowest: Any = SimpleNamespace(random=np.zeros)
    law = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    found = released.frequencies(law, 10, lowest)
    assert found.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_draws_go_on_where_the_last_ones_ended() -> None:
    log_q = np.log([0.5, 0.5])
    rule = released.by_draws(marginals_only, released.N_SAMPLES, np.random.default_rng(0))
    pairs = one_pair(log_q, log_q, 0, 20)
    assert (rule(pairs) != rule(pairs)).any()
    assert pages.expected("cifar10h")["paper"]["setup"]["samples"] == released.N_SAMPLES


def everybody(opinions: Opinions, log_p: np.ndarray) -> Pairs:
    """All ordered pairs, by loops."""
    rows = [
        (np.log(p_g), np.log(p_h), c, False, i, g, h)
        for i, row in enumerate(cells(log_p, opinions))
        for g, (c, p_g) in row.items()
        for h, (_, p_h) in row.items()
        if g != h
    ]
    return Pairs(*(np.array(column) for column in zip(*rows, strict=True)))


def test_label_shares_are_the_class_priors_of_gnb_and_cnb() -> None:
    log_p, opinions = panel(np.random.default_rng(3))
    by_opinions = released.label_shares(opinions, "opinions")
    by_pairs = released.label_shares(opinions, "pairs")
    for h in range(H):
        said = [row[h][0] for row in cells(log_p, opinions) if h in row]
        paired = [row[h][0] for row in cells(log_p, opinions) if h in row for g in row if g != h]
        np.testing.assert_allclose(by_opinions[h], np.bincount(said, minlength=K) / len(said))
        np.testing.assert_allclose(by_pairs[h], np.bincount(paired, minlength=K) / len(paired))
        model = CategoricalNB().fit(np.zeros((len(paired), 1), dtype=int), paired)
        np.testing.assert_allclose(by_pairs[h][model.classes_], np.exp(model.class_log_prior_))
    assert np.abs(by_opinions - by_pairs).max() > 0.01


def test_the_released_product_is_ours_over_the_prior() -> None:
    log_p, opinions = panel(np.random.default_rng(4))
    pairs, ours = everybody(opinions, log_p), fit_product_with_cnb(opinions)
    prior = released.label_shares(opinions, "opinions")
    law, plain = released.divided_by_prior(ours, prior)(pairs), ours(pairs)
    for row in range(len(pairs.label)):
        share = prior[pairs.target[row]]
        quotient = [p / s if s > 0 else 0.0 for p, s in zip(plain[row], share, strict=True)]
        np.testing.assert_allclose(law[row], np.array(quotient) / sum(quotient))
    even = released.divided_by_prior(ours, np.full((H, K), 1 / K))
    np.testing.assert_allclose(even(pairs), plain)


def test_a_rare_label_gains_by_the_division() -> None:
    log_q = np.log([[0.5, 0.5]])
    pairs = Pairs(log_q, log_q, *(np.array([value]) for value in (0, False, 0, 0, 1)))
    prior = np.array([[0.5, 0.5], [0.9, 0.1]])
    law = released.divided_by_prior(marginals_only, prior)(pairs)
    np.testing.assert_allclose(law, [[0.1, 0.9]])
    never = released.divided_by_prior(marginals_only, np.array([[0.5, 0.5], [1.0, 0.0]]))(pairs)
    np.testing.assert_array_equal(never, [[1, 0]])  # she has never said the second label
    # Nothing is known of a target without a pair: the rule's own law stays.
    nobody = released.divided_by_prior(marginals_only, np.zeros((2, 2)))(pairs)
    np.testing.assert_allclose(nobody, [[0.5, 0.5]])


@pytest.mark.parametrize(("sparsity", "least", "most"), [(0.95, 3, 5), (0.1, 44, 46), (1.0, 2, 2)])
def test_thinning_out_gives_two_back_who_may_never_have_gone(sparsity, least, most) -> None:
    everybody = Opinions.from_codes(np.zeros((3000, 48), dtype=int), classes=range(2))
    kept = released.thin_out(everybody, sparsity, np.random.default_rng(0))
    number = (kept.labels == 0).sum(axis=1)
    assert (number.min(), number.max()) == (least, most)


def test_thinning_out_refuses_what_sparsifying_refuses() -> None:
    rng = np.random.default_rng(0)
    everybody = Opinions.from_codes(np.zeros((3, 4), dtype=int), classes=range(2))
    for sparsity in (-0.5, 1.5, np.nan):
        with pytest.raises(ValueError, match=f"sparsity is {sparsity}"):
            released.thin_out(everybody, sparsity, rng)
    with pytest.raises(ValueError, match="gaps already"):
        released.thin_out(released.thin_out(everybody, 1.0, rng), 0.5, rng)
