"""How good are inferred second opinions? Every ordered pair, in the paper's three scenarios."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.baselines import RULES, Pairs, Rule, gumbel_max, ordered_pairs
from siscm.checks import FloatArray, check_count, check_rng
from siscm.inference import predict
from siscm.intervals import mean_with_interval
from siscm.names import encode
from siscm.opinions import Opinions
from siscm.pairs import opinion_marginals
from siscm.partition import group_of

SCENARIOS = ("all pairs", "same group", "different groups")
"""Of ordered pairs, as in the paper's Table 1."""

UNIFORM_WEIGHT = 1e-3
"""Weight of the uniform distribution mixed in before the log-loss: no method is ever certain."""


def all_pairs(
    log_marginals: npt.ArrayLike,
    opinions: Opinions,
    partition: Sequence[Sequence[Hashable]],
    rule: Rule = gumbel_max,
) -> pd.DataFrame:
    """Infer each opinion from each other opinion on the same instance.

    Parameters
    ----------
    log_marginals
        (n_opinions, k), as ``model.log_marginals(X, opinions)`` returns them, in the order of
        ``opinions.to_long()``; or (n_instances, n_experts, k), in that of instances and experts.
    opinions
        What the experts said: each opinion is once the one observed and once the one inferred.
    partition
        Groups of expert ids, as in ``GumbelMaxSISCM.partition_``.
    rule
        How the target's distribution follows; see :mod:`siscm.baselines`. The default takes
        a group's noise to be shared wholly; graded sharing has :func:`siscm.beyond.contest.graded`.

    Returns
    -------
    DataFrame
        One row an ordered pair: ``instance``, ``observed``, ``target``, ``observed_label``,
        ``truth``, ``prediction``, ``probability`` (given to the truth), ``same_group``.

    Raises
    ------
    ValueError
        If the marginals do not fit the opinions, or an expert is in no group or in two.
    """
    log_p = opinion_marginals(log_marginals, opinions)
    number = group_of(partition, opinions.experts)
    observed, target = ordered_pairs(opinions)
    pairs = Pairs.at(observed, target, log_p, opinions, number)
    law, truth = rule(pairs), opinions.label_codes[target]
    table = pd.DataFrame(
        {
            "instance": opinions.instances.take(pairs.instance),
            "observed": opinions.experts.take(pairs.observed),
            "target": opinions.experts.take(pairs.target),
            "observed_label": opinions.classes.take(pairs.label),
            "truth": opinions.classes.take(truth),
            "prediction": opinions.classes.take(predict(law)),
            "probability": law[np.arange(len(law)), truth],
            "same_group": pairs.same_group,
        }
    )
    return table.iloc[np.lexsort((target, observed))].reset_index(drop=True)


def compare(
    log_marginals: npt.ArrayLike,
    opinions: Opinions,
    partition: Sequence[Sequence[Hashable]],
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Every rule of :data:`siscm.baselines.RULES` on all ordered pairs: as :func:`summaries`.

    Parameters
    ----------
    log_marginals, opinions, partition, rng
        As for :func:`all_pairs` and :func:`summaries`.
    """
    pairs = {
        name: all_pairs(log_marginals, opinions, partition, rule) for name, rule in RULES.items()
    }
    return summaries(pairs, opinions.n_classes, rng=rng)


def summaries(
    pairs: Mapping[str, pd.DataFrame], n_classes: int, *, rng: np.random.Generator
) -> pd.DataFrame:
    """Rules side by side: the :func:`summary` of each.

    Parameters
    ----------
    pairs
        For each rule, by name, what :func:`all_pairs` gave.
    n_classes
        How many labels there are.
    rng
        Draws the bootstrap samples, the same ones for every rule.

    Returns
    -------
    DataFrame
        A row a ``rule`` and ``scenario``, columns as in :func:`summary`.
    """
    seed = int(check_rng(rng).integers(2**63))
    tables = {
        name: summary(table, n_classes, rng=np.random.default_rng(seed))
        for name, table in pairs.items()
    }
    return pd.concat(tables, names=["rule", "scenario"])


def hits(pairs: pd.DataFrame) -> pd.DataFrame:
    """Whether each pair was inferred right, 1 or 0: a column a scenario, NaN outside it."""
    right = (pairs["prediction"] == pairs["truth"]).astype(float)
    kept = (right, right.where(pairs["same_group"]), right.where(~pairs["same_group"]))
    return pd.DataFrame(dict(zip(SCENARIOS, kept, strict=True)))


def accuracy(
    log_marginals: npt.ArrayLike,
    opinions: Opinions,
    partition: Sequence[Sequence[Hashable]],
    rules: Mapping[str, Rule],
) -> pd.DataFrame:
    """Accuracy by rule (rows) and scenario (columns), on all ordered pairs.

    Parameters
    ----------
    log_marginals, opinions, partition
        As for :func:`all_pairs`.
    rules
        By name, such as :data:`siscm.baselines.RULES`.
    """
    tables = (all_pairs(log_marginals, opinions, partition, rule) for rule in rules.values())
    return pd.DataFrame([hits(table).mean() for table in tables], index=list(rules))


def per_expert(pairs: pd.DataFrame, experts: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """Accuracy of inferring each expert, in the paper's three scenarios.

    Parameters
    ----------
    pairs
        From :func:`all_pairs`.
    experts
        Their order; default sorted.

    Returns
    -------
    DataFrame
        A row a target, a column a scenario; NaN for a target without such a pair.

    Raises
    ------
    ValueError
        If a target is not among the experts, or these cannot be sorted.
    """
    codes, names = encode(pairs["target"], experts, "expert")
    means = hits(pairs).groupby(codes).mean().reindex(range(len(names)))
    return means.set_axis(names.rename("target"))


def confusion(pairs: pd.DataFrame, classes: Sequence[Hashable]) -> pd.DataFrame:
    """What was inferred of each label that was said: the appendix's confusion matrices.

    Parameters
    ----------
    pairs
        From :func:`all_pairs`.
    classes
        All labels, in the order of rows and columns; any other is refused.

    Returns
    -------
    DataFrame
        A row a label said, a column a label inferred; shares of the row. NaN where nobody said it.
    """
    said, names = encode(pairs["truth"], classes, "label")
    inferred, _ = encode(pairs["prediction"], classes, "label")
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (said, inferred), 1)
    table = pd.DataFrame(counts, names.rename("said"), names.rename("inferred"))
    return table.div(table.sum(axis=1), axis=0)


def summary(
    pairs: pd.DataFrame, n_classes: int, *, rng: np.random.Generator, n_bootstrap: int = 1000
) -> pd.DataFrame:
    """Accuracy and log-loss in the paper's three scenarios, with 95 % bootstrap intervals.

    Parameters
    ----------
    pairs
        From :func:`all_pairs`.
    n_classes
        How many labels there are.
    rng
        Draws the bootstrap samples: whole instances, since opinions on one are dependent.
    n_bootstrap
        How many of them.

    Returns
    -------
    DataFrame
        A row a scenario, :data:`SCENARIOS`: ``n_pairs``, and ``accuracy``, ``log_loss`` with their
        bounds ``_low`` and ``_high``. NaN without a pair, and bounds where all are of one instance.
    """
    right = (pairs["prediction"] == pairs["truth"]).astype(float)
    loss = log_loss(pairs["probability"].to_numpy(), check_count(n_classes, "n_classes"))
    scores = pd.DataFrame({"accuracy": right, "log_loss": loss})
    table = _with_intervals(pairs, scores, rng, n_bootstrap)
    table.insert(0, "n_pairs", hits(pairs).count())
    return table


def difference(
    pairs: pd.DataFrame, other: pd.DataFrame, *, rng: np.random.Generator
) -> pd.DataFrame:
    """By how much one rule is more accurate than another on the same pairs, and by what chance.

    Two intervals of :func:`summary` that overlap do not tell: a hard instance is hard for both.

    Parameters
    ----------
    pairs, other
        What :func:`all_pairs` gave for the two rules: the same pairs in the same order.
    rng
        Draws the bootstrap samples: whole instances.

    Returns
    -------
    DataFrame
        A row a scenario: ``difference`` in accuracy, and the ends of its 95 % interval,
        ``difference_low`` and ``difference_high``.

    Raises
    ------
    ValueError
        If the two tables are of other pairs, or in another order.
    """
    which = ["instance", "observed", "target"]
    if not np.array_equal(pairs[which], other[which]):
        raise ValueError("the two tables are not of the same pairs in the same order.")
    other = other.set_index(pairs.index)
    right, other_right = (each["prediction"] == each["truth"] for each in (pairs, other))
    gains = pd.DataFrame({"difference": right.astype(float) - other_right.astype(float)})
    return _with_intervals(pairs, gains, rng)


def _with_intervals(
    pairs: pd.DataFrame, scores: pd.DataFrame, rng: np.random.Generator, n_bootstrap: int = 1000
) -> pd.DataFrame:
    """Means of the pairs' scores by scenario, with bounds by bootstrap over instances."""
    instance, _ = encode(pairs["instance"], None, "instance")
    same = pairs["same_group"].to_numpy(dtype=bool)
    rows = {}
    # The same resampled instances everywhere, so that rows with equal scores have equal intervals.
    seed = int(check_rng(rng).integers(2**63))
    for scenario, kept in zip(SCENARIOS, (np.ones_like(same), same, ~same), strict=True):
        by_instance = scores[kept].groupby(instance[kept])
        sizes, totals = np.asarray(by_instance.size(), dtype=np.float64), by_instance.sum()
        row: dict[str, float] = {}
        for score in map(str, scores):
            draws = np.random.default_rng(seed)
            total = np.asarray(totals[score], dtype=np.float64)
            row |= mean_with_interval(score, total, sizes, draws, n_bootstrap)
        rows[scenario] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def log_loss(
    probability: FloatArray, n_classes: int, uniform_weight: float = UNIFORM_WEIGHT
) -> FloatArray:
    """Minus the logarithm of what the truth was given, a little of the uniform law mixed in.

    Parameters
    ----------
    probability
        (n,): what each pair's rule gave to the truth.
    n_classes
        How many labels there are.
    uniform_weight
        Share of the uniform law in what is judged, from 0 to 1; at 0 a loss can be infinite.
    """
    with np.errstate(divide="ignore"):
        return -np.log((1 - uniform_weight) * probability + uniform_weight / n_classes)
