"""Which way to a second opinion is best on a panel: graded sharing and what it has to beat.

Every method gets the same marginals (:class:`siscm.pooled.PooledMarginals`), learns from the same
pairs of opinions with the marginals of instances that no classifier saw, and is judged on all
ordered pairs of opinions of other instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from siscm.baselines import Pairs, Rule, copy, marginals_only, one_noise
from siscm.beyond.contest_pairs import pairs_of
from siscm.beyond.expert_intervals import mean_over_experts
from siscm.beyond.noises import pair_law
from siscm.beyond.tuned import (
    PSEUDO_COUNTS,
    STRENGTHS,
    dawid_skene,
    featured_dawid_skene,
    regression,
    tuned,
)
from siscm.checks import FloatArray, IntArray
from siscm.cifar10h.rivals import TABLE, fit_times_table, rule_of
from siscm.evaluation import UNIFORM_WEIGHT, log_loss
from siscm.graded import GradedSISCM
from siscm.intervals import mean_with_interval
from siscm.names import plain
from siscm.opinions import Opinions

GRADED = "graded sharing"
"""The name of graded sharing among the methods."""


def graded(model: GradedSISCM) -> Rule:
    """Graded sharing as a rule: the law at the sharing of each pair.

    Parameters
    ----------
    model
        Fitted; pairs to be inferred have its experts and classes.
    """
    sharing, noise = model.pair_sharing(), model.noise_

    def rule(pairs: Pairs) -> FloatArray:
        share = sharing[pairs.observed, pairs.target]
        return pair_law(pairs.log_p_observed, pairs.log_p_target, pairs.label, share, noise)

    return rule


def fit_regression(pairs: Pairs, said: IntArray) -> Rule:
    """The supervised way: a logistic regression from both marginals and the label.

    Its inputs are both experts' log-marginals and the label observed, the latter also times the
    observed expert's log-marginals, so that a surprising label can count for more. It knows what
    :func:`siscm.cifar10h.rivals.fit_pooled_regression` has to learn: each expert's habits.

    Parameters
    ----------
    pairs
        The training pairs.
    said
        (n,): codes of what their targets said.
    """

    def inputs(pairs: Pairs) -> FloatArray:
        p, q = (log - log.mean(axis=1, keepdims=True) for log in (pairs[0], pairs[1]))
        label = np.eye(p.shape[1])[pairs.label]
        crossed = (label[:, :, None] * p[:, None, :]).reshape(len(p), -1)
        return np.concatenate([p, q, label, crossed], axis=1)

    return rule_of(LogisticRegression(max_iter=2000).fit(inputs(pairs), said), inputs)


def contest(model: GradedSISCM, X: pd.DataFrame, train: Opinions, test: Opinions) -> pd.DataFrame:
    """Learn from one part of a panel by every method, and infer the opinions of another.

    Parameters
    ----------
    model
        Graded sharing, as yet unfitted; its marginals serve all methods.
    X
        Features of all instances, by their ids.
    train, test
        Opinions about different instances by the same experts.

    Returns
    -------
    DataFrame
        A row an ordered pair of test opinions: ``instance``, ``observed``, ``target``; then for
        each method two columns, ``(method, "probability")`` that it gave to what the target said,
        and ``(method, "right")``, whether that was its likeliest label.

    Raises
    ------
    TypeError
        If the model is another one, or X no table.
    ValueError
        If both parts hold one instance, their experts or classes differ, no two opinions of a part
        are about one instance, all training opinions are alike, or an instance has no features.
    """
    if not isinstance(model, GradedSISCM):
        raise TypeError(
            f"model is a {type(model).__name__}; it must be a GradedSISCM, whose marginals serve "
            "all methods. siscm.evaluation scores the paper's."
        )
    if not isinstance(X, pd.DataFrame):
        raise TypeError(
            f"X is a {type(X).__name__}; it must be a DataFrame indexed by instance, for train and "
            "test each take their rows from it: pd.DataFrame(X, index=ids)."
        )
    _refuse_unlike(train, test)
    asked = train.instances.append(test.instances)
    if not (known := asked.isin(X.index)).all():
        raise ValueError(f"instance {plain(asked[~known][0])!r} has no row in X.")
    model = clone(model).fit(X.loc[train.instances], train)
    given = (model.marginals_.out_of_fold_, train)
    wanted = (model.log_marginals(X.loc[test.instances], test), test)
    learned, said = pairs_of(*given)
    rules: dict[str, Rule] = {
        GRADED: graded(model),
        "marginals": marginals_only,
        "copy": copy,
        "one noise for all": one_noise,
        TABLE: fit_times_table(train),
        "Dawid–Skene": tuned(dawid_skene, PSEUDO_COUNTS, given, wanted),
        "Dawid–Skene with features": tuned(featured_dawid_skene, PSEUDO_COUNTS, given, wanted),
        "pooled regression": tuned(regression, STRENGTHS, given, wanted),
        "regression on marginals": fit_regression(learned, said),
    }
    return judged(rules, *wanted)


def judged(rules: Mapping[str, Rule], log_marginals: FloatArray, test: Opinions) -> pd.DataFrame:
    """What each rule makes of every ordered pair of test opinions: a table of :func:`contest`.

    Parameters
    ----------
    rules
        By the name of the method.
    log_marginals
        (n_opinions, k), in the order of ``test.to_long()``.
    test
        What the experts said.
    """
    given, truth = pairs_of(log_marginals, test)
    rows = np.arange(len(truth))
    columns: dict[tuple[str, str], Any] = {
        ("instance", ""): test.instances.take(given.instance),
        ("observed", ""): test.experts.take(given.observed),
        ("target", ""): test.experts.take(given.target),
    }
    for name, rule in rules.items():
        law = rule(given)
        columns[name, "probability"] = law[rows, truth]
        columns[name, "right"] = law.argmax(axis=1) == truth
    return pd.DataFrame(columns)


def _refuse_unlike(train: Opinions, test: Opinions) -> None:
    for role, mine, other in (
        ("experts", train.experts, test.experts),
        ("classes", train.classes, test.classes),
    ):
        if not mine.equals(other):
            raise ValueError(
                f"train and test must have the same {role} in the same order; train has "
                f"{mine[:5].tolist()} ..., test {other[:5].tolist()} ..."
            )
    if len(both := train.instances.intersection(test.instances)):
        raise ValueError(f"instance {plain(both[0])!r} is in train and in test.")
    for part, said in (("training", train), ("test", test)):
        if said.n_by_instance.max(initial=0) < 2:
            raise ValueError(
                f"no two {part} opinions are about one instance: there is nothing to infer."
            )
    if len(used := np.unique(train.label_codes)) < 2:
        raise ValueError(
            f"all training opinions say {plain(train.classes[used[0]])!r}: there is nothing to "
            "learn."
        )


def methods(pairs: pd.DataFrame) -> list[str]:
    """The methods of a table of :func:`contest`, in its order."""
    return [str(column[0]) for column in pairs.columns if column[1] == "probability"]


def standings(
    pairs: pd.DataFrame,
    n_classes: int,
    *,
    rng: np.random.Generator,
    by: str = "instance",
    weights: Sequence[float] = (UNIFORM_WEIGHT,),
    n_bootstrap: int = 1000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Log-loss and accuracy of each method, and by how much the first, graded sharing, is better.

    Parameters
    ----------
    pairs
        As from :func:`contest`.
    n_classes
        How many labels there are.
    rng
        Seeds the bootstrap, from one state the same for every method.
    by
        What the bootstrap draws anew: ``"instance"``, or ``"expert"``, observed or asked.
    weights
        Of the uniform distribution mixed in before the log-loss.
    n_bootstrap, level
        How often it is drawn, and of which level the intervals are.

    Returns
    -------
    DataFrame
        A row a method and ``weight``: ``log_loss``, ``accuracy``; and ``log_loss_more``,
        ``accuracy_less``, how much worse than the first method, with the ends ``_low`` and
        ``_high`` of their intervals, as of :func:`siscm.intervals.mean_with_interval`, or
        :func:`siscm.beyond.expert_intervals.mean_over_experts`.

    Raises
    ------
    ValueError
        If ``by`` is something else.
    """
    if by not in ("instance", "expert"):
        raise ValueError(f"by is {by!r}; it must be 'instance' or 'expert'.")
    code, _ = pd.factorize(pairs["instance", ""])
    sizes = np.bincount(code).astype(np.float64)
    experts, _ = pd.factorize(pd.concat([pairs["observed", ""], pairs["target", ""]]))
    observed, target = np.split(experts, 2)
    seed = int(rng.integers(2**63))

    def lag(name: str, values: FloatArray) -> dict[str, float]:
        draws = np.random.default_rng(seed)
        if by == "expert":
            return mean_over_experts(name, values, observed, target, draws, n_bootstrap, level)
        totals = np.asarray(np.bincount(code, values), dtype=np.float64)
        return mean_with_interval(name, totals, sizes, draws, n_bootstrap, level)

    rows = {}
    for weight in weights:
        first = None
        for name in methods(pairs):
            loss = log_loss(pairs[name, "probability"].to_numpy(), n_classes, weight)
            right = pairs[name, "right"].to_numpy(dtype=np.float64)
            first = (loss, right) if first is None else first
            rows[name, weight] = {
                "log_loss": loss.mean(),
                "accuracy": right.mean(),
                **lag("log_loss_more", loss - first[0]),
                **lag("accuracy_less", first[1] - right),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["method", "weight"])
