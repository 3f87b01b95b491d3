"""What changes in the paper's real experiment where its text and its released code part.

One reading is changed at a time, everything else stays as it is here; see ``book/differences.md``
for the two readings and the one taken. The functions for the other readings are in
:mod:`siscm.cifar10h.released`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.preprocessing import Normalizer

from siscm.baselines import gumbel_max, marginals_only
from siscm.checks import FloatArray
from siscm.cifar10h import released
from siscm.cifar10h.experiment import SMOOTHED, Experiment
from siscm.cifar10h.image_features import image_features
from siscm.cifar10h.pipeline import Cifar10H, Prepared, describe
from siscm.cifar10h.preprocessing import preprocess
from siscm.cifar10h.replay import CNB, GNB, MODEL, Effect, Replay, all_sizes, opinion_sizes
from siscm.cifar10h.rivals import fit_product_with_cnb
from siscm.cifar10h.stability import SEEDS
from siscm.evaluation import SCENARIOS
from siscm.graph import SimilarityGraph

SHORT = {MODEL: "SI-SCM", GNB: GNB, CNB: CNB}

MOST_EXPERTS = 300
"""With more experts than this a reading is counted, not fitted: that would take minutes."""

LOG_LEAST = np.log(np.finfo(np.float64).tiny)
"""Of the smallest normal number, to which zeros are raised: nothing can be conditioned on zero."""

_READING = ["difference", "taken otherwise"]

SYNTHETIC = ("sparsity", "edge ratio of 1", "synthetic scoring", "synthetic samples", "repeats")
"""Differences about the synthetic experiment alone."""


def measure(data: Cifar10H, prepared: Prepared, done: Experiment) -> list[Effect]:
    """What the other reading of each difference changes in the experiment.

    Takes some seconds. Random numbers have fixed seeds.

    Parameters
    ----------
    data
        Where ``prepared`` comes from. Another filter may ask it for features of more images; if
        they are missing, the effect says how many.
    prepared
        ``prepare(data)``, without other choices.
    done
        The experiment fitted on ``prepared``.

    Returns
    -------
    list of Effect
        One a reading (some differences have two or three), in the order of
        ``book/differences.md``. The last ones: what drawing changes (paper and code draw, we
        compute); and, after the list, all of the released code's readings together (its prior
        that divides taken to be the opinions'), and for scale, other seeds of Algorithm 1.
    """
    ours = Replay(prepared, done)
    graph = done.model.graph_
    one_noise = released.compare_with_one_noise(graph)
    all_images = released.average_over_all_instances(graph, ours.log_train, done.train)
    return [
        _filter(ours, data, "or"),
        _filter(ours, data, "and"),
        ours.regrouped("model without sharing", "one noise for all", one_noise),
        ours.regrouped("edge weight", "marginal's loss over all images of the target", all_images),
        *_violations_and_zeros(ours),
        *_product_with_cnb(ours),
        _smoothing(ours),
        _gnb_by_draws(ours),
        *(_none(name, "synthetic experiment only") for name in SYNTHETIC),
        *_scaling(ours, data),
        _none("adjusted Rand index", "compares with true groups, which nobody knows here"),
        _none("figure of groups", "the label of an axis"),
        _law_by_draws(ours),
        _all_at_once(ours),
        _seeds(ours),
    ]


def _none(difference: str, reason: str) -> Effect:
    return Effect(difference, "", note=reason)


def _filter(ours: Replay, data: Cifar10H, joined: Literal["or", "and"]) -> Effect:
    """The paper's sentence on who is dropped, in either way to take its "and"."""
    names = ("expert filter", f"dropped: too few opinions, {joined} a label missing")
    other = preprocess(data.raw, reading="paper", joined=joined)
    sizes = ours.beside(opinion_sizes(other.train, other.test))
    if len(other.train.experts) > MOST_EXPERTS:
        return Effect(*names, sizes, note="counted only: too many experts to fit here")
    images = np.concatenate([other.train.instances, other.test.instances])
    n_missing = len(data.missing(images))
    if n_missing:
        return Effect(*names, sizes, note=f"needs features of {n_missing:,} more images")
    fitted = describe(data, other)
    return ours.refitted(*names, fitted, fit_product_with_cnb(fitted.train))


def _violations_and_zeros(ours: Replay) -> list[Effect]:
    """Products of probabilities; zero marginals as released; and both."""
    done = ours.done
    p, with_zeros, least = _unfloored(ours)
    graph = SimilarityGraph.from_opinions(np.log(p), done.train)
    test_alone = released.recount_violations(done.model.graph_, np.exp(ours.log_train), done.train)
    both = released.recount_violations(graph, p, done.train)
    model = {MODEL: (gumbel_max, with_zeros)}
    every = {**model, GNB: (marginals_only, with_zeros), CNB: (done.rules[CNB], least)}
    return [
        ours.regrouped("violation test", "products of probabilities", test_alone),
        ours.regrouped("zero marginals", "only exact zeros are raised", graph, every),
        ours.regrouped("both of these", "products, zeros as released", both, model),
    ]


def _unfloored(ours: Replay) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Marginals without our floor: of training, zeros raised as released; logarithms of the test's.

    These with zeros raised as released, and with zeros that are the smallest normal number.
    """
    model = copy(ours.done.model).set_params(min_proba=0.0)
    p = released.without_zeros(np.exp(model.log_marginals(ours.prepared.X_train, ours.done.train)))
    log_test = model.log_marginals(ours.prepared.X_test, ours.done.test)
    with_zeros = np.log(released.without_zeros(np.exp(log_test)))
    return p, with_zeros, np.maximum(log_test, LOG_LEAST)


def _all_at_once(ours: Replay) -> Effect:
    """The readings of the released code together, draws included."""
    done, rng = ours.done, np.random.default_rng(0)
    p, with_zeros, least = _unfloored(ours)
    graph = released.graph_by_draws(np.log(p), done.train, released.N_SAMPLES, rng)
    graph = released.average_over_all_instances(graph, np.log(p), done.train)
    graph = released.recount_violations(graph, p, done.train)
    prior = released.label_shares(done.train, "opinions")
    divided = released.divided_by_prior(done.rules[CNB], prior)
    model, gnb = (
        released.by_draws(rule, released.N_SAMPLES, rng) for rule in (gumbel_max, marginals_only)
    )
    rules = {MODEL: (model, with_zeros), GNB: (gnb, with_zeros), CNB: (divided, least)}
    words = "all that the released code does otherwise, draws included"
    return ours.regrouped("all together", words, graph, rules)


def _product_with_cnb(ours: Replay) -> list[Effect]:
    """Division by a class prior, of which there are two; and CNB with the other of the two."""
    by_opinions = released.label_shares(ours.done.train, "opinions")
    by_pairs = released.label_shares(ours.done.train, "pairs")
    exchange = np.divide(by_pairs, by_opinions, out=np.ones_like(by_pairs), where=by_opinions > 0)
    priors = {
        "divided by the prior, each opinion counted once": by_opinions,
        "divided by the prior, each pair counted once": by_pairs,
        "not divided, CNB's prior counts each opinion once": exchange,
    }
    product = ours.done.rules[CNB]
    rules = {w: released.divided_by_prior(product, prior) for w, prior in priors.items()}
    return [
        Effect("GNB + CNB", words, accuracy=ours.scored({CNB: (rule, ours.log_test)}))
        for words, rule in rules.items()
    ]


def _smoothing(ours: Replay) -> Effect:
    """What is added to CNB's counts chosen on training images left out; the paper has no word."""
    rules = {CNB: (ours.done.rules[SMOOTHED], ours.log_test)}
    return Effect("smoothing of CNB", "chosen inside training", accuracy=ours.scored(rules))


def _gnb_by_draws(ours: Replay) -> Effect:
    rule = released.by_draws(marginals_only, released.N_SAMPLES, np.random.default_rng(0))
    words = f"likeliest of {released.N_SAMPLES:,} draws"
    return Effect("GNB in Table 1", words, accuracy=ours.scored({GNB: (rule, ours.log_test)}))


def _scaling(ours: Replay, data: Cifar10H) -> list[Effect]:
    """Other meanings of "normalized"."""
    pipelines = {
        "standardised, PCA, not scaled to [0, 1]": image_features().set_params(scale="passthrough"),
        "images scaled to length 1, PCA, not scaled": image_features().set_params(
            standardise=Normalizer(), scale="passthrough"
        ),
    }
    cnb = ours.done.rules[CNB]  # it sees no features
    return [
        ours.refitted("scaling", words, describe(data, ours.prepared, numbers), cnb)
        for words, numbers in pipelines.items()
    ]


def _law_by_draws(ours: Replay) -> Effect:
    """The paper and its code alike estimate what the package computes."""
    rng, n_samples = np.random.default_rng(0), released.N_SAMPLES
    graph = released.graph_by_draws(ours.log_train, ours.done.train, n_samples, rng)
    rule = released.by_draws(gumbel_max, n_samples, rng)
    words = f"{n_samples:,} draws, as paper and code"
    return ours.regrouped("exact law", words, graph, {MODEL: (rule, ours.log_test)})


def _seeds(ours: Replay) -> Effect:
    """What chance in Algorithm 1 does alone."""
    graph, sizes, scores = ours.done.model.graph_, pd.DataFrame({"ours": ours.sizes}), []
    for seed in SEEDS:
        groups = ours.groups(graph, np.random.default_rng(seed))
        sizes[f"seed {seed}"] = pd.Series(all_sizes(ours.done.train, ours.done.test, graph, groups))
        scores.append(ours.scored({MODEL: (gumbel_max, ours.log_test)}, groups))
    words = f"{len(SEEDS)} other seeds of Algorithm 1"
    return Effect("for scale", words, sizes, pd.concat(scores))


def sizes_table(measured: Sequence[Effect]) -> pd.DataFrame:
    """What each reading changes in sizes, ours → other, where it can touch them.

    Returns
    -------
    DataFrame
        Text, a row a reading: index ``difference`` and ``taken otherwise``, column ``sizes``,
        with the reason where a reading is counted but not fitted.
    """
    rows = [
        {
            "difference": effect.difference,
            "taken otherwise": effect.otherwise,
            "sizes": "; ".join(filter(None, [_sizes_in_words(effect.sizes), effect.note])),
        }
        for effect in measured
        if not effect.sizes.empty
    ]
    return pd.DataFrame(rows, columns=[*_READING, "sizes"]).set_index(_READING)


def accuracy_table(measured: Sequence[Effect]) -> pd.DataFrame:
    """What each reading changes in accuracy: other minus ours, in percentage points.

    Where groups change, the last two scenarios hold other pairs than ours.

    Returns
    -------
    DataFrame
        Text, a row a reading and model of Table 1 that it is about: index ``difference``,
        ``taken otherwise``, ``model``; a column a scenario.
    """
    rows = [
        (effect.difference, effect.otherwise, SHORT[str(rule)], *map(_points, part.T.to_numpy()))
        for effect in measured
        if not effect.accuracy.empty
        for rule, part in effect.accuracy[list(SCENARIOS)].groupby(level=0, sort=False)
    ]
    keys = [*_READING, "model"]
    return pd.DataFrame(rows, columns=[*keys, *SCENARIOS]).set_index(keys)


def untouched(measured: Sequence[Effect]) -> dict[str, list[str]]:
    """The differences without an effect on this experiment, by the reason."""
    found: dict[str, list[str]] = {}
    for effect in measured:
        if effect.sizes.empty and effect.accuracy.empty:
            found.setdefault(effect.note, []).append(effect.difference)
    return found


def _sizes_in_words(sizes: pd.DataFrame) -> str:
    """Ours → other, or the lowest and highest of several, for sizes that change."""
    changed = sizes[(sizes["ours"] != sizes.drop(columns="ours").T).any()]
    parts = []
    for name, row in changed.iterrows():
        low, high = row.drop("ours").min(), row.drop("ours").max()
        other = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        parts.append(f"{name} {row['ours']:,} → {other}")
    return "; ".join(parts) or "unchanged"


def _points(values: FloatArray) -> str:
    """A difference, or the lowest and highest of several; a dash where a scenario has no pair."""
    values = values[~np.isnan(values)]
    if not len(values):
        return "–"
    if not values.any():
        return "unchanged"
    low, high = (f"{100 * end:+.1f}" for end in (values.min(), values.max()))
    words = low if low == high else f"{low} to {high}"
    return words.replace("+0.0", "0.0").replace("-0.0", "0.0").replace("-", "−")
