"""One panel, from texts and opinions to the figures that a page and ``expected/`` quote."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from siscm import evaluation
from siscm.baselines import RULES
from siscm.checks import FloatArray
from siscm.model import GumbelMaxSISCM
from siscm.opinions import Opinions
from siscm.panels import Panel
from siscm.text import text_features

N_COMPONENTS = 20
"""Features of a text: as many as the paper keeps of an image."""


def text_classifier() -> LogisticRegression:
    """The classifier of each expert on text features.

    Newton's method converges to machine precision, so printed numbers do not depend on threads.
    """
    return LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=200)


@dataclass(frozen=True)
class Study:
    """A panel split, its texts turned into features, and the model fitted.

    Parameters
    ----------
    panel
        Where everything comes from.
    X_train, X_test
        Features of the texts, indexed by instance, learned on training texts only.
    train, test
        Opinions of the experts studied: the task's train and dev parts, and its test part.
    model
        Fitted on the training part, with the partition learned by Algorithm 1.
    """

    panel: Panel
    X_train: pd.DataFrame
    X_test: pd.DataFrame
    train: Opinions
    test: Opinions
    model: GumbelMaxSISCM

    @property
    def test_log_marginals(self) -> FloatArray:
        """Log-marginals on the test part: (n, H, k)."""
        return self.model.log_marginals(self.X_test)

    def compare(
        self,
        partition: Sequence[Sequence[Hashable]],
        *,
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        """Every rule of :data:`siscm.baselines.RULES` on all ordered pairs of the test part.

        Returns
        -------
        DataFrame
            A row a rule and scenario, columns as in :func:`siscm.evaluation.summary`.
        """
        log_p = self.test_log_marginals
        # One seed for all rules: their intervals come from the same resampled instances.
        seed = int(rng.integers(2**63))
        tables = {
            name: evaluation.summary(
                evaluation.all_pairs(log_p, self.test, partition, rule),
                self.test.n_classes,
                rng=np.random.default_rng(seed),
            )
            for name, rule in RULES.items()
        }
        return pd.concat(tables, names=["rule", "scenario"])


def study(panel: Panel, min_opinions: int = 1, n_components: int = N_COMPONENTS) -> Study:
    """Fit the paper's model to a panel's train and dev parts.

    Parameters
    ----------
    panel
        A real or simulated panel.
    min_opinions
        Experts with fewer opinions in train and dev together are left out.
    n_components
        How many features each text becomes.
    """
    train = panel.part("train", "dev")
    counts = np.bincount(train.expert_codes, minlength=len(train.experts))
    experts = train.experts[counts >= min_opinions]
    train = train.select(experts=experts)
    test = panel.part("test").select(experts=experts)
    texts = panel.instances["text"]
    features = text_features(n_components).fit(texts.loc[train.instances])
    X_train, X_test = (
        pd.DataFrame(features.transform(texts.loc[part.instances]), index=part.instances)
        for part in (train, test)
    )
    model = GumbelMaxSISCM(text_classifier()).fit(X_train, train)
    return Study(panel, X_train, X_test, train, test, model)


def violation_counts(model: GumbelMaxSISCM) -> dict[str, int]:
    """How many pairs of experts were seen together, and how many of these ever violate."""
    upper = np.triu_indices(len(model.experts_), 1)
    together = model.graph_.together[upper]
    violations = model.graph_.violations[upper]
    return {
        "pairs_together": int((together > 0).sum()),
        "pairs_in_violation": int((violations > 0).sum()),
        "violations": int(violations.sum()),
    }


def figures(done: Study, *, rng: np.random.Generator) -> dict[str, Any]:
    """The figures of a study: sizes, violations, groups found, and scores with these groups.

    Returns
    -------
    dict
        Numbers only, ready for JSON.
    """
    sizes = sorted((len(group) for group in done.model.partition_), reverse=True)
    return {
        "experts": len(done.train.experts),
        "training_instances": len(done.train.instances),
        "training_opinions": len(done.train),
        "test_instances": len(done.test.instances),
        "test_opinions": len(done.test),
        **violation_counts(done.model),
        "groups": len(sizes),
        "singleton_groups": sizes.count(1),
        "largest_group": sizes[0],
        "scores": scores(done, done.model.partition_, rng=rng),
    }


def scores(
    done: Study, partition: Sequence[Sequence[Hashable]], *, rng: np.random.Generator
) -> dict[str, Any]:
    """Every rule's scores by scenario, ready for JSON: rounded to six digits, no NaN."""
    compared = done.compare(partition, rng=rng)
    return {
        rule: {
            scenario: {
                column: (int(value) if column == "n_pairs" else round(float(value), 6))
                for column, value in row.dropna().items()
            }
            for scenario, row in compared.loc[rule].iterrows()
        }
        for rule in RULES
    }


def known_groups(panel: Panel) -> list[list[Hashable]] | None:
    """The groups that the panel tells of its experts; None if it tells none."""
    if "group" not in panel.experts:
        return None
    return [list(members.index) for _, members in panel.experts.groupby("group")]
