"""The paper's experiment on real data (Section 7): models, Table 1, and who gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from siscm import evaluation
from siscm.baselines import Rule, copy, gumbel_max, marginals_only, one_noise
from siscm.checks import FloatArray
from siscm.cifar10h import rivals
from siscm.model import GumbelMaxSISCM
from siscm.opinions import Opinions

PAPERS_RULES = ("Gumbel-Max SI-SCM", "GNB", "GNB + CNB")
"""The three rows of the paper's Table 1."""

SMOOTHED = "GNB + CNB, smoothing chosen"
"""The paper's baseline with its smoothing chosen inside training."""

SMOOTHINGS = (1.0, 0.1, 0.01, 0.001)
"""Those it is chosen from."""


@dataclass(frozen=True)
class Experiment:
    """A model fitted on training opinions, and rules that it is compared with on test opinions.

    Parameters
    ----------
    model
        Gumbel-Max SI-SCM with one Gaussian naive Bayes an expert.
    train, test
        Opinions of the same experts, in the same order.
    log_marginals
        Of the test opinions, (n_opinions, k).
    rules
        By name; the first three are the paper's.
    """

    model: GumbelMaxSISCM
    train: Opinions
    test: Opinions
    log_marginals: FloatArray
    rules: Mapping[str, Rule]

    @cached_property
    def pairs(self) -> dict[str, pd.DataFrame]:
        """For each rule all ordered pairs of the test opinions, inferred."""
        return {
            name: evaluation.all_pairs(self.log_marginals, self.test, self.model.partition_, rule)
            for name, rule in self.rules.items()
        }

    def accuracy(self) -> pd.DataFrame:
        """Table 1 of the paper, with the other rules below: accuracy by rule and scenario."""
        return pd.DataFrame(
            {name: evaluation.hits(pairs).mean() for name, pairs in self.pairs.items()}
        ).T

    def smoothed(self) -> Experiment:
        """The paper's three models alone, GNB + CNB with its smoothing chosen inside training."""
        rules = (*PAPERS_RULES[:2], SMOOTHED)
        named = zip(PAPERS_RULES, rules, strict=True)
        return replace(self, rules={name: self.rules[rule] for name, rule in named})

    def experts_better_off(self) -> pd.DataFrame:
        """How many experts are inferred better by one rule than by another: the paper's figures.

        Returns
        -------
        DataFrame
            A row a comparison: ``better`` of ``experts`` for whom both accuracies exist.
        """
        model, gnb, cnb = (evaluation.per_expert(self.pairs[name]) for name in PAPERS_RULES)
        comparisons = {
            "SI-SCM above GNB, all pairs": (model["all pairs"], gnb["all pairs"]),
            "SI-SCM above GNB + CNB, all pairs": (model["all pairs"], cnb["all pairs"]),
            "SI-SCM above GNB, same group": (model["same group"], gnb["same group"]),
            "SI-SCM above GNB + CNB, same group": (model["same group"], cnb["same group"]),
            "GNB + CNB, same group above different": (cnb["same group"], cnb["different groups"]),
        }
        rows = {
            name: [int((one > other).sum()), int((one.notna() & other.notna()).sum())]
            for name, (one, other) in comparisons.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["better", "experts"])


def run(X_train: pd.DataFrame, train: Opinions, X_test: pd.DataFrame, test: Opinions) -> Experiment:
    """Fit the paper's models, with ten restarts of Algorithm 1, and their rivals.

    Parameters
    ----------
    X_train, X_test
        Twenty features an image, indexed by image.
    train, test
        Opinions after preprocessing: the same experts, the same classes.

    Raises
    ------
    ValueError
        If the two sets of opinions name different experts or classes.
    """
    if not (train.experts.equals(test.experts) and train.classes.equals(test.classes)):
        raise ValueError("training and test opinions must name the same experts and classes.")
    model = GumbelMaxSISCM(n_restarts=10).fit(X_train, train)
    X = X_test.loc[test.instances].to_numpy()
    rules: dict[str, Rule] = {
        "Gumbel-Max SI-SCM": gumbel_max,
        "GNB": marginals_only,
        "GNB + CNB": rivals.fit_product_with_cnb(train),
        SMOOTHED: rivals.fit_product_with_cnb(train, choose_smoothing(X_train, train)),
        rivals.TABLE: rivals.fit_times_table(train),
        "copy": copy,
        "one noise for all": one_noise,
        "most frequent label": rivals.fit_most_frequent(train),
        "Dawid–Skene": rivals.fit_dawid_skene(train),
        "pooled regression": rivals.fit_pooled_regression(
            X_train.loc[train.instances].to_numpy(), train, X
        ),
    }
    return Experiment(model, train, test, model.log_marginals(X_test, test), rules)


def choose_smoothing(X: pd.DataFrame, opinions: Opinions) -> float:
    """The smoothing with which GNB + CNB is most often right on training images left out.

    Every fifth image is left out, GNB and CNB learn from the others, and no test image is seen. Of
    equals the largest is taken.

    Parameters
    ----------
    X, opinions
        Those of training, as for :func:`run`.
    """
    left_out = np.arange(len(opinions.instances)) % 5 == 4
    learned, judged = (
        opinions.select(instances=opinions.instances[part]) for part in (~left_out, left_out)
    )
    alone = [[expert] for expert in opinions.experts]
    gnb = GumbelMaxSISCM(partition=alone).fit(X.loc[learned.instances], learned)
    log_p = gnb.log_marginals(X.loc[judged.instances], judged)
    rules = [rivals.fit_product_with_cnb(learned, alpha) for alpha in SMOOTHINGS]
    inferred = [evaluation.all_pairs(log_p, judged, alone, rule) for rule in rules]
    right = [evaluation.hits(pairs)["all pairs"].mean() for pairs in inferred]
    return SMOOTHINGS[int(np.argmax(right))]
