r"""What the code released with the paper does otherwise, each as one plain function.

The package follows the paper; nothing here is an option of an estimator. These readings were
written from a description in words, some checked later against a public copy of that code.
:mod:`siscm.cifar10h.differences` measures what each one changes in the experiment with real
opinions. Draws stand here too, which paper and code take where the package computes the law;
:mod:`siscm.synthetic.sampling_cost` measures what they cost.

Three readings live elsewhere: how features are scaled
(:func:`siscm.cifar10h.image_features.image_features`), how the synthetic experiment is scored
(:meth:`siscm.synthetic.pair_losses.PairLosses.own_group`), and the expert filter, in
:func:`siscm.cifar10h.preprocessing.preprocess`. There the released one is the default, as the
paper's numbers of experts and images should have come about under it; the paper's sentence is a
choice of that function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.stats import binom

from siscm.baselines import Pairs, Rule
from siscm.checks import BoolArray, FloatArray, IntArray, check_count
from siscm.graph import SimilarityGraph
from siscm.gumbel import counterfactual_probabilities
from siscm.inference import predict
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals
from siscm.synthetic.planted import check_before_thinning, keep

N_SAMPLES = 1000
"""Draws for each counterfactual distribution: T in the paper's real experiment."""

ZERO = 1e-8
"""What a marginal probability of exactly zero becomes."""


def without_zeros(p: npt.ArrayLike) -> FloatArray:
    """Marginals (..., k) whose exact zeros are 1e-8; the rows are not scaled to sum to 1 again.

    A probability of 1e-300 is no zero and stays, though it is far below 1e-8: a label that the
    classifier finds less likely than another can become the likelier of the two.
    """
    values = np.asarray(p, dtype=np.float64)
    return np.where(values == 0, ZERO, values)


def violates_by_products(
    p: FloatArray, label: IntArray, q: FloatArray, other_label: IntArray
) -> BoolArray:
    r"""Whether pairs of opinions violate: :math:`q_c\, p_{c'} \ge q_{c'}\, p_c`.

    As :func:`siscm.violations.violates`, but with products of the probabilities (n, k). They
    underflow: where both are zero, 0 ≥ 0 counts as a violation.

    Parameters
    ----------
    p, label, q, other_label
        As for :func:`siscm.violations.violates`, but probabilities themselves.
    """
    row = np.arange(len(label))
    differ = label != other_label
    products = q[row, label] * p[row, other_label] >= q[row, other_label] * p[row, label]
    return np.asarray(differ & products)


def recount_violations(
    graph: SimilarityGraph, p: FloatArray, opinions: Opinions
) -> SimilarityGraph:
    """The graph with its violations recounted by :func:`violates_by_products`.

    Parameters
    ----------
    graph
        Of these opinions.
    p
        Marginal probabilities (n_opinions, k), in the order of ``opinions.to_long()``; they need
        not sum to 1.
    opinions
        What the experts said.
    """
    h, y = opinions.expert_codes, opinions.label_codes
    counts = np.zeros_like(graph.violations)
    for a, b in iter_pairs(opinions):
        violating = violates_by_products(p[a], y[a], p[b], y[b])
        np.add.at(counts, (h[a][violating], h[b][violating]), 1)
    return replace(graph, violations=counts + counts.T)


def average_over_all_instances(
    graph: SimilarityGraph, log_marginals: npt.ArrayLike, opinions: Opinions
) -> SimilarityGraph:
    r"""The graph with other weights: the marginal's loss is averaged over all instances of h'.

    The paper compares two average losses of inferring :math:`Y_{h'}` from :math:`Y_h`, so both
    run over the instances that both experts saw. Here the loss under shared noise still does, but
    the loss of the marginal of h' runs over everything that h' saw. The two averages then differ
    also because the instances do: a pair that met on easy ones looks alike.

    Parameters
    ----------
    graph
        Of these marginals and opinions, with the zero-one loss.
    log_marginals, opinions
        As for :meth:`siscm.graph.SimilarityGraph.from_opinions`.
    """
    wrong = _wrong(np.exp(opinion_marginals(log_marginals, opinions)), opinions)
    h, n = opinions.expert_codes, len(opinions.experts)
    on_all = np.bincount(h, wrong, n) / np.maximum(np.bincount(h, minlength=n), 1)
    change = graph.loss_change + _on_both(wrong, opinions) - graph.together * on_all
    return replace(graph, loss_change=change)


def _wrong(probabilities: FloatArray, opinions: Opinions) -> FloatArray:
    """0/1 loss of each opinion, predicted by probabilities (n_opinions, k)."""
    return np.asarray(predict(probabilities) != opinions.label_codes, dtype=np.float64)


def _on_both(loss: FloatArray, opinions: Opinions) -> FloatArray:
    """(H, H): entry [h, h'] sums the loss (n_opinions,) of h' over the instances that h saw too."""
    place = opinions.instance_codes, opinions.expert_codes
    shape = len(opinions.instances), len(opinions.experts)
    seen = csr_matrix((np.ones(len(loss)), place), shape=shape)
    sums = (seen.T @ csr_matrix((loss, place), shape=shape)).toarray()
    np.fill_diagonal(sums, 0)
    return np.asarray(sums)


def compare_with_one_noise(graph: SimilarityGraph) -> SimilarityGraph:
    r"""The graph if :math:`\mathcal M(\mathcal H)` is the model with a single noise for all.

    So a sentence of the paper's Section 6 has it (not the released code). Two experts of one
    group share a noise in either model: the losses compared are equal and all weights are zero.
    Algorithm 1 then joins whoever never violated, without asking whether that helps.
    """
    return replace(graph, loss_change=np.zeros_like(graph.loss_change))


def frequencies(law: FloatArray, n_samples: int, rng: np.random.Generator) -> FloatArray:
    """How often each label occurs among T independent draws from each law (..., k).

    T posterior noises, each pushed through the target's mechanism (the paper's Eq. 5), are T
    independent draws of her label, so its counts are multinomial with the exact law: they can be
    drawn at once, without any noise.

    Label by label, of the draws that are left a binomial number is this one's: a quantile, at one
    random number. So no draw hangs on the last digit of another law, which differs by machine, nor
    on how NumPy draws counts, which differs by version.

    Parameters
    ----------
    law
        Probabilities; rows sum to 1.
    n_samples
        How many draws: T.
    rng
        Draws them.

    Raises
    ------
    ValueError
        If ``n_samples`` is no positive whole number.
    """
    left = np.full(law.shape[:-1], check_count(n_samples, "n_samples"))
    counts = np.zeros(law.shape, dtype=np.int64)
    to_come = law[..., ::-1].cumsum(axis=-1)[..., ::-1]
    for label in range(law.shape[-1]):
        level, p, rest = rng.random(left.shape), law[..., label], to_come[..., label]
        open_ = (left > 0) & (p > 0) & (p < rest)
        counts[..., label] = np.where(p < rest, 0, left)
        share = p[open_] / rest[open_]
        counts[open_, label] = np.maximum(binom.ppf(level[open_], left[open_], share), 0)
        left = left - counts[..., label]
    return counts / n_samples


def by_draws(rule: Rule, n_samples: int, rng: np.random.Generator) -> Rule:
    """A rule whose probabilities are estimated from T draws a pair.

    Of :func:`siscm.baselines.gumbel_max`: the paper's estimator. Of
    :func:`siscm.baselines.marginals_only`: the row "GNB" of Table 1 as the released code has it,
    the model with a noise of her own for each expert; the paper takes the likeliest label.

    Parameters
    ----------
    rule
        Whose probabilities are exact.
    n_samples, rng
        As for :func:`frequencies`.
    """

    def drawn(pairs: Pairs) -> FloatArray:
        return frequencies(rule(pairs), n_samples, rng)

    return drawn


def graph_by_draws(
    log_marginals: npt.ArrayLike, opinions: Opinions, n_samples: int, rng: np.random.Generator
) -> SimilarityGraph:
    """The graph with both losses of each weight from T draws, in place of the exact law.

    Draws are made anew for each ordered pair under shared noise, and once an opinion for the
    marginals. Violations need no draws.

    Parameters
    ----------
    log_marginals, opinions
        As for :meth:`siscm.graph.SimilarityGraph.from_opinions`.
    n_samples, rng
        As for :func:`frequencies`.
    """
    p = np.exp(opinion_marginals(log_marginals, opinions))
    drawn = frequencies(p, n_samples, rng)

    def law(log_p_observed: FloatArray, log_p_target: FloatArray, label: IntArray) -> FloatArray:
        exact = counterfactual_probabilities(log_p_observed, log_p_target, label)
        return frequencies(exact, n_samples, rng)

    graph = SimilarityGraph.from_opinions(log_marginals, opinions, law=law)
    too_low = _on_both(_wrong(p, opinions) - _wrong(drawn, opinions), opinions)
    return replace(graph, loss_change=graph.loss_change + too_low)


def label_shares(opinions: Opinions, counted: Literal["opinions", "pairs"]) -> FloatArray:
    """How often each expert gave each label: (H, k), rows sum to 1, or are zero without any.

    Parameters
    ----------
    opinions
        What the experts said.
    counted
        ``"opinions"``: each opinion once, the class prior of her GNB. ``"pairs"``: each opinion
        as often as others gave one on the same instance, the class prior of her CNB, whose rows
        are pairs.
    """
    i, h, y = opinions.instance_codes, opinions.expert_codes, opinions.label_codes
    weight = np.ones(len(y)) if counted == "opinions" else np.bincount(i)[i] - 1.0
    totals = np.zeros((len(opinions.experts), opinions.n_classes))
    np.add.at(totals, (h, y), weight)
    return np.asarray(totals / np.maximum(totals.sum(axis=1, keepdims=True), 1))


def divided_by_prior(rule: Rule, prior: FloatArray) -> Rule:
    r"""A rule whose probabilities are divided by the target's class prior, then scaled to 1.

    Of :func:`siscm.cifar10h.rivals.fit_product_with_cnb`: the released GNB + CNB. The paper
    multiplies :math:`P(Y_{h'} \mid X)` and :math:`P(Y_{h'} \mid Y_h)`, which counts the prior
    twice; divided by it, the product is Bayes' rule for features and opinion independent given the
    label. In both, and in ours, the CNB learns from pairs, so that its own prior is weighted by
    pairs. The last released version divides by her own GNB's prior; both priors are measured.

    Parameters
    ----------
    rule
        Whose probabilities they are.
    prior
        (H, k): of each expert, as from :func:`label_shares`. A label of prior zero gets none.
    """

    def divided(pairs: Pairs) -> FloatArray:
        mine = prior[pairs.target]
        law = rule(pairs)
        out: FloatArray = np.divide(law, mine, out=np.zeros_like(law), where=mine > 0)
        total = out.sum(axis=1, keepdims=True)
        # Without any prior (the target never met anybody) the rule stands.
        return np.where(total > 0, out / np.where(total > 0, total, 1), law)

    return divided


def thin_out(opinions: Opinions, sparsity: float, rng: np.random.Generator) -> Opinions:
    """Sparsity of the synthetic runs: drop the whole part of s·H opinions, then give two back.

    As :func:`siscm.synthetic.planted.sparsify`, but the two are drawn from all experts, and so may
    or may not have been dropped: of 48 opinions an s of 0.95 leaves three to five.

    Parameters
    ----------
    opinions
        Of everybody on every instance.
    sparsity
        s of the paper, from 0 to 1.
    rng
        Draws which opinions go, and which two come back.

    Raises
    ------
    ValueError
        If ``sparsity`` is not in [0, 1], or an opinion is missing already.
    """
    check_before_thinning(opinions, sparsity)
    n, n_experts = opinions.labels.shape
    ranks = rng.random((2, n, n_experts)).argsort(axis=2).argsort(axis=2)
    return keep(opinions, (ranks[0] >= int(sparsity * n_experts)) | (ranks[1] < 2))
