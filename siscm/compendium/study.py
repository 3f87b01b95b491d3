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
from siscm.checks import IntArray
from siscm.data.panels import Panel
from siscm.data.text import text_features
from siscm.model import GumbelMaxSISCM
from siscm.opinions import Opinions
from siscm.partition import greedy

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


def study(panel: Panel, min_opinions: int = 1) -> Study:
    """Fit the paper's model to a panel's train and dev parts.

    Parameters
    ----------
    panel
        A real or simulated panel.
    min_opinions
        Experts with fewer opinions in train and dev together are left out.
    """
    train = panel.part("train", "dev")
    experts = train.experts[train.n_by_expert >= min_opinions]
    train = train.select(experts=experts)
    test = panel.part("test").select(experts=experts)
    texts = panel.instances["text"]
    features = text_features(N_COMPONENTS).fit(texts.loc[train.instances])
    X_train, X_test = (
        pd.DataFrame(features.transform(texts.loc[part.instances]), index=part.instances)
        for part in (train, test)
    )
    model = GumbelMaxSISCM(text_classifier()).fit(X_train, train)
    return Study(panel, X_train, X_test, train, test, model)


def violation_counts(model: GumbelMaxSISCM) -> dict[str, int | float]:
    """How many pairs of experts met, how many of these ever violate, and how often each met."""
    met, violations = _pairs_that_met(model)
    torn = violations > 0
    counts: dict[str, int | float] = {
        "pairs_together": len(met),
        "pairs_in_violation": int(torn.sum()),
        "violations": int(violations.sum()),
    }
    for name, kept in (("violating", torn), ("other", ~torn)):
        if kept.any():
            counts[f"median_meetings_of_{name}_pairs"] = float(np.median(met[kept]))
    return counts


def violations_by_meetings(model: GumbelMaxSISCM) -> pd.DataFrame:
    """Pairs of experts by the number of instances that both judged.

    Returns
    -------
    DataFrame
        A row a range of ``instances together``: how many ``pairs``, and the share ``in violation``.
    """
    met, violations = _pairs_that_met(model)
    ranges = pd.cut(
        met, [0, 1, 2, 5, 10, 20, np.inf], labels=["1", "2", "3-5", "6-10", "11-20", "more"]
    )
    table = pd.DataFrame({"together": ranges, "pairs": 1, "in violation": violations > 0})
    grouped = table.groupby("together", observed=True)
    return grouped.agg({"pairs": "sum", "in violation": "mean"}).rename_axis("instances together")


def _pairs_that_met(model: GumbelMaxSISCM) -> tuple[IntArray, IntArray]:
    """Of each pair seen together: on how many instances, and on how many of these it violates."""
    upper = np.triu_indices(len(model.experts_), 1)
    met, violations = model.graph_.together[upper], model.graph_.violations[upper]
    return met[met > 0], violations[met > 0]


def figures(done: Study, *, rng: np.random.Generator) -> dict[str, Any]:
    """The figures of a study: sizes, violations, groups found, and scores with these groups.

    Parameters
    ----------
    done
        The study.
    rng
        Draws the bootstrap samples of the scores.

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
        "opinions_merged": done.panel.n_merged,
        **violation_counts(done.model),
        "groups": len(sizes),
        "singleton_groups": sizes.count(1),
        "largest_group": sizes[0],
        "violations_by_meetings": violations_by_meetings(done.model).round(6).to_dict("index"),
        "scores": scores(done, done.model.partition_, rng=rng),
    }


def scores(
    done: Study, partition: Sequence[Sequence[Hashable]], *, rng: np.random.Generator
) -> dict[str, Any]:
    """Every rule's scores by scenario, ready for JSON: rounded to six digits, no NaN.

    Parameters
    ----------
    done, rng
        As for :func:`figures`.
    partition
        Groups of expert ids.
    """
    log_p = done.model.log_marginals(done.X_test, done.test)
    compared = evaluation.compare(log_p, done.test, partition, rng=rng)
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


def other_starts(done: Study, n_starts: int = 20) -> list[dict[str, float]]:
    """What hangs on the seed of Algorithm 1: scores inside the groups found with others.

    Parameters
    ----------
    done
        The study.
    n_starts
        How many other seeds.

    Returns
    -------
    list of dict
        One a seed: the number of test ``pairs`` inside a group; how often their two experts
        ``agree``, and how often those of the other pairs do, ``agree_across``; and inside, accuracy
        and log-loss of the model and of the marginals. Left out where no test pair is in a group.
    """
    graph, starts = done.model.graph_, []
    for seed in range(n_starts):
        found = greedy(graph, rng=np.random.default_rng(seed))
        groups = [[graph.experts[h] for h in group] for group in found]
        scored = scores(done, groups, rng=np.random.default_rng(0))
        copy, model, alone = (
            scored[rule]["same group"] for rule in ("copy", "Gumbel-Max SI-SCM", "marginals only")
        )
        if copy["n_pairs"]:
            start = {
                "pairs": copy["n_pairs"],
                "agree": copy["accuracy"],
                "agree_across": scored["copy"]["different groups"]["accuracy"],
                "model_accuracy": model["accuracy"],
                "model_log_loss": model["log_loss"],
                "marginals_accuracy": alone["accuracy"],
                "marginals_log_loss": alone["log_loss"],
            }
            starts.append(start)
    return starts
