"""What every expert would have said: groups, gaps, and the two methods against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log, log_dirichlet, rngs

from siscm import gumbel
from siscm.inference import counterfactual_proba, predict
from siscm.posterior import shared_law

GROUPS = [[0, 2], [1, 3, 4]]


def observe(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """At most one opinion a group and instance."""
    labels = np.full((n, 5), -1)
    for i in range(n):
        for group in GROUPS:
            if rng.random() < 0.6:
                labels[i, rng.choice(group)] = rng.integers(k)
    return labels


@given(rng=rngs(), n=st.integers(0, 6), k=st.integers(1, 5))
def test_every_row_is_what_its_group_says(rng: np.random.Generator, n: int, k: int) -> None:
    log_p = log_dirichlet(rng, (n, 5, k))
    labels = observe(rng, n, k)
    result = counterfactual_proba(log_p, labels, GROUPS)
    assert result.shape == (n, 5, k)
    np.testing.assert_allclose(result.sum(axis=-1), 1, rtol=0, atol=1e-12)
    for i in range(n):
        for group in GROUPS:
            speakers = [g for g in group if labels[i, g] >= 0]
            for h in group:
                if h in speakers:
                    expected = np.eye(k)[labels[i, h]]
                elif speakers:
                    (g,) = speakers
                    expected = gumbel.counterfactual_probabilities(
                        log_p[i, g], log_p[i, h], labels[i, g]
                    )
                else:
                    expected = np.exp(log_p[i, h])
                np.testing.assert_allclose(result[i, h], expected, rtol=0, atol=1e-14)


def test_nobody_observed_gives_the_marginals() -> None:
    log_p = log_dirichlet(np.random.default_rng(0), (4, 5, 3))
    result = counterfactual_proba(log_p, np.full((4, 5), -1), GROUPS)
    np.testing.assert_allclose(result, np.exp(log_p), rtol=0, atol=1e-15)


def test_groups_of_one_learn_nothing() -> None:
    log_p = log_dirichlet(np.random.default_rng(0), (1, 3, 2))
    result = counterfactual_proba(log_p, [[1, -1, -1]], [[0], [1], [2]])
    np.testing.assert_array_equal(result[0, 0], [0, 1])
    np.testing.assert_allclose(result[0, 1:], np.exp(log_p[0, 1:]), rtol=0, atol=1e-15)


def test_rows_sum_to_one_for_float32_marginals_too() -> None:
    rng = np.random.default_rng(0)
    log_p = np.log(rng.dirichlet(np.ones(50), size=(20, 5)).astype(np.float32))
    for method in ("exact", "monte_carlo"):
        result = counterfactual_proba(
            log_p, observe(rng, 20, 50), GROUPS, method=method, n_samples=20, rng=rng
        )
        np.testing.assert_allclose(result.sum(axis=-1), 1, rtol=0, atol=1e-12)


def test_monte_carlo_agrees_with_the_exact_law() -> None:
    """120 probabilities within 4 standard errors: not one seed in a hundred fails by chance."""
    rng = np.random.default_rng(1)
    log_p = log_dirichlet(rng, (6, 5, 4))
    labels = observe(rng, 6, 4)
    assert (labels >= 0).sum() > 4
    exact = counterfactual_proba(log_p, labels, GROUPS)
    n = 20_000
    estimate = counterfactual_proba(
        log_p, labels, GROUPS, method="monte_carlo", n_samples=n, rng=rng
    )
    off = (np.abs(estimate - exact) - 1 / n).clip(0) / np.sqrt(
        (exact * (1 - exact)).clip(0) / n + 1e-300
    )
    assert off.max() < 4
    # Only experts who share a group with an observed one are sampled at all.
    sampled = np.abs(estimate - exact).max(axis=-1) > 1e-12
    assert sampled.any()
    for i, h in np.argwhere(sampled):
        group = next(group for group in GROUPS if h in group)
        assert labels[i, h] < 0 < 1 + labels[i, group].max()
    again = counterfactual_proba(
        log_p, labels, GROUPS, method="monte_carlo", n_samples=5, rng=np.random.default_rng(7)
    )
    repeat = counterfactual_proba(
        log_p, labels, GROUPS, method="monte_carlo", n_samples=5, rng=np.random.default_rng(7)
    )
    np.testing.assert_array_equal(again, repeat)


def test_monte_carlo_of_one_opinion_is_the_papers_estimator() -> None:
    log_p = log_dirichlet(np.random.default_rng(0), (1, 2, 4))
    found = counterfactual_proba(
        log_p,
        [[1, -1]],
        [[0, 1]],
        method="monte_carlo",
        n_samples=50,
        rng=np.random.default_rng(7),
    )
    expected = gumbel.monte_carlo_probabilities(*log_p[0], 1, 50, np.random.default_rng(7))
    np.testing.assert_array_equal(found[0, 1], expected)


def produced(
    rng: np.random.Generator, n: int, k: int, groups: list[list[int]] = GROUPS
) -> tuple[np.ndarray, np.ndarray]:
    """Log-marginals, and what the model made of them, some of it observed: several in a group."""
    log_p = log_dirichlet(rng, (n, 5, k))
    noise = np.empty((n, 5, k))
    for group in groups:
        noise[:, group] = rng.gumbel(size=(n, 1, k))
    said = (log_p + noise).argmax(axis=-1)
    return log_p, np.where(rng.random((n, 5)) < 0.7, said, -1)


@given(rng=rngs(), n=st.integers(1, 6), k=st.integers(2, 5))
def test_several_of_a_group_say_what_their_noise_says(
    rng: np.random.Generator, n: int, k: int
) -> None:
    log_p, labels = produced(rng, n, k)
    result = counterfactual_proba(log_p, labels, GROUPS, n_samples=64)
    np.testing.assert_allclose(result.sum(axis=-1), 1, rtol=0, atol=1e-9)
    for i in range(n):
        for group in GROUPS:
            seen = [g for g in group if labels[i, g] >= 0]
            for h in set(group) - set(seen):
                expected = np.exp(log_p[i, h])
                if seen:
                    found = shared_law(log_p[i, seen], labels[i, seen], log_p[i, [h]], 64)
                    assert found is not None
                    expected = found[0][0]
                np.testing.assert_allclose(result[i, h], expected, rtol=0, atol=1e-12)
            np.testing.assert_array_equal(result[i, seen], np.eye(k)[labels[i, seen]])


def test_who_is_outside_the_group_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    log_p, labels = produced(rng, 30, 4)
    without = np.where(np.isin(np.arange(5), GROUPS[0]), -1, labels)
    result, other = (counterfactual_proba(log_p, y, GROUPS) for y in (labels, without))
    np.testing.assert_array_equal(result[:, GROUPS[1]], other[:, GROUPS[1]])
    assert ((labels[:, GROUPS[1]] >= 0).sum(axis=1) > 1).any()


def test_monte_carlo_agrees_where_several_were_observed() -> None:
    """Weighted draws count for a quarter of their number at least in what is checked here."""
    rng = np.random.default_rng(4)
    everybody = [[0, 1, 2, 3, 4]]
    log_p, labels = produced(rng, 40, 4, everybody)
    n_labels = [len(set(y.tolist()) - {-1}) for y in labels]
    assert n_labels.count(3) > 1 < n_labels.count(2)
    n = 10_000
    exact = counterfactual_proba(log_p, labels, everybody, n_samples=4096)
    estimate = counterfactual_proba(
        log_p, labels, everybody, method="monte_carlo", n_samples=n, rng=rng
    )
    error = np.sqrt((exact * (1 - exact)).clip(0) / (n / 4))
    np.testing.assert_array_less(np.abs(estimate - exact), 4.5 * error + 4 / n)


def test_inputs_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    log_p, labels = produced(rng, 6, 4)
    log_p.flags.writeable = labels.flags.writeable = False
    counterfactual_proba(log_p, labels, GROUPS)


def test_likeliest_label_with_ties_to_the_first() -> None:
    np.testing.assert_array_equal(
        predict(np.array([[0.2, 0.4, 0.4], [0.5, 0, 0.5], [0, 0, 1]])), [1, 0, 2]
    )


NAMES = ["Ann", "Bob", "Cy", "Dee", "Eve"]


def refused(labels: object, words: str, groups: object = GROUPS, **options: object) -> None:
    log_p = options.pop("log_p", np.full((2, 5, 2), np.log(0.5)))
    with pytest.raises(ValueError, match=words):
        counterfactual_proba(log_p, labels, groups, experts=NAMES, **options)


def test_impossible_opinions_are_refused_by_name() -> None:
    """Equal marginals, different labels."""
    refused(
        [[-1] * 5, [0, -1, 1, -1, -1]],
        "instance 1: no noise makes expert 'Ann' say 0 and expert 'Cy' say 1, and they share one",
    )
    refused([[1, 1, -1, 0, -1], [-1] * 5], "instance 0: no noise .*'Bob' say 1 and expert 'Dee'")
    refused([[1, 1, -1, 0, 1], [-1] * 5], "'Dee' say 'lo' and expert 'Eve'", classes=["lo", "hi"])
    # One each from two groups is fine.
    log_p = np.full((1, 5, 2), np.log(0.5))
    result = counterfactual_proba(log_p, [[0, 1, -1, -1, -1]], GROUPS)
    np.testing.assert_allclose(result[0], [[1, 0], [0, 1], [1, 0], [0, 1], [0, 1]])


def test_refusals_name_the_instance_if_told() -> None:
    refused([[0, -1, 1, -1, -1], [-1] * 5], "instance 'monday'", instances=["monday", "tuesday"])
    refused([[-1] * 5] * 2, "1 instances, 5 experts and 2 classes are n", instances=["monday"])


def test_refusals() -> None:
    nobody = np.full((2, 5), -1)
    refused(nobody[:, :4], r"got \(2, 5, 2\) and \(2, 4\)")
    refused(nobody[0], r"got \(2, 5, 2\) and \(5,\)")
    refused(nobody, r"got \(5, 2\)", log_p=np.full((5, 2), np.log(0.5)))
    refused([[-2] + [-1] * 4] * 2, "label code -2 ")
    refused([[2] + [-1] * 4] * 2, "label code 2 ")
    refused(nobody.astype(float), "integer codes, not float64")
    refused(np.where(nobody < 0, np.nan, 0), "integer codes, not float64")
    refused(nobody, "expert 4 is in no group", groups=[[0, 2], [1, 3]])
    refused(nobody, "expert 0 stands twice", groups=[[0, 2], [0, 1, 3, 4]])
    refused(nobody, "is 'magic'; it must be 'exact' or 'monte_carlo'.$", method="magic")
    certain = np.full((2, 5, 2), np.log(0.5))
    certain[1, 3] = [0, -np.inf]
    words = "^expert 'Dee' on instance 1 said 1, .* zero by the marginal of who said it; .* A floor"
    refused([[0] + [-1] * 4, [-1, 0, -1, 1, -1]], words, log_p=certain)
    no_law = np.full((2, 5, 2), np.log(0.6))
    refused(nobody, r"^the observed or target expert.* row \(0, 0\) sums to 1\.2", log_p=no_law)
    words = "^method='monte_carlo' needs a generator rng; pass a numpy.random.Generator.$"
    refused(nobody, words, method="monte_carlo")
    rng = np.random.default_rng(0)
    refused(nobody, "n_samples", method="monte_carlo", n_samples=0, rng=rng)
    log_p = np.full((2, 5, 2), np.log(0.5))
    log_p[1, 3] = log([1, 0])
    words = (
        r"expert 'Dee' on instance 1 said 1, .*zero .*A floor under the marginals "
        r"\(min_proba of the models\) makes it possible\.$"
    )
    refused([[-1] * 5, [-1, -1, -1, 1, -1]], words, log_p=log_p)
    log_p[1, 3] = np.log([0.5, 0.6])
    refused(nobody, r"row \(1, 3\) sums to 1\.1", log_p=log_p)


def test_a_masked_label_is_not_asked() -> None:
    log_p = np.full((2, 2, 2), np.log(0.5))
    labels = np.ma.masked_array([[1, 0], [0, 1]], mask=[[0, 1], [1, 1]])
    result = counterfactual_proba(log_p, labels, [[0], [1]])
    np.testing.assert_allclose(result, [[[0, 1], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
