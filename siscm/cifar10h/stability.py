"""How far groups and accuracies hang on what is drawn: restarts, seeds, splits, training images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from siscm import evaluation, partition
from siscm.baselines import copy, gumbel_max, marginals_only
from siscm.cifar10h.experiment import Experiment
from siscm.cifar10h.pipeline import Cifar10H, describe
from siscm.cifar10h.preprocessing import preprocess
from siscm.graph import SimilarityGraph
from siscm.model import GumbelMaxSISCM
from siscm.names import find
from siscm.opinions import Opinions
from siscm.synthetic.recovery import Groups, adjusted_rand

MODEL, RULES = "SI-SCM", {"SI-SCM": gumbel_max, "GNB": marginals_only, "copy": copy}
"""The rules whose accuracies are followed: columns such as ``"SI-SCM, same group"``."""

SEEDS = tuple(range(1, 21))
"""Other seeds of Algorithm 1 than the model's."""


def over_restarts(
    done: Experiment, n_restarts: Sequence[int] = (1, 10, 50), seeds: Iterable[int] = SEEDS
) -> pd.DataFrame:
    """Algorithm 1 on the same graph, from other random experts, with more and fewer restarts.

    Parameters
    ----------
    done
        Whose graph is partitioned anew; the accuracies are those of its test opinions.
    n_restarts, seeds
        Each number of restarts is tried with each seed.

    Returns
    -------
    DataFrame
        A row a run, indexed by ``restarts`` and ``seed``: ``groups``, ``alone``, ``objective``,
        the accuracy of SI-SCM by scenario, and ``likeness``, the mean adjusted Rand index with
        the other seeds of as many restarts (NaN if there is no other).
    """
    graph, seeds = done.model.graph_, tuple(dict.fromkeys(seeds))  # a repeat tells nothing
    log_p, names = done.log_marginals, done.train.experts
    tables = {}
    for number in n_restarts:
        rows, found = {}, []
        for seed in seeds:
            groups = partition.greedy(graph, number, rng=np.random.default_rng(seed))
            named: Groups = [[names[h] for h in group] for group in groups]
            found.append(named)
            rows[seed] = _size(graph, named) | _accuracy(log_p, done.test, named, (MODEL,))
        table = pd.DataFrame.from_dict(rows, orient="index")
        tables[number] = table.assign(likeness=_likeness(found))
    return pd.concat(tables, names=["restarts", "seed"])


def over_splits(data: Cifar10H, seeds: Iterable[int] = range(5)) -> pd.DataFrame:
    """The experiment from the raw file on, with other splits into training and test images.

    Whom the filter keeps depends on the split too.

    Parameters
    ----------
    data
        The real files or the twin.
    seeds
        Of the split; the paper's code has 3993.

    Returns
    -------
    DataFrame
        A row a split, indexed by ``split``: ``images without features``; unless there are any,
        which leaves the split out and the rest NaN, ``experts``, ``groups``, ``alone``,
        ``objective``, the accuracy of each of :data:`RULES` by scenario, and ``likeness``, the
        mean adjusted Rand index with the other splits, each on the experts of both.
    """
    rows: dict[int, dict[str, float]] = {}
    found: dict[int, Groups] = {}
    for seed in seeds:
        kept = preprocess(data.raw, seed=seed)
        images = np.union1d(kept.train.instances, kept.test.instances)
        rows[seed] = {"images without features": len(data.missing(images))}
        if rows[seed]["images without features"]:
            continue
        ready = describe(data, kept)
        model = GumbelMaxSISCM().fit(ready.X_train, ready.train)
        found[seed] = model.partition_
        rows[seed] |= {"experts": len(model.experts_)}
        rows[seed] |= _figures(model, ready.X_test, ready.test, RULES)
    columns = ["images without features", "experts", "groups", "alone", "objective"]
    columns += [f"{rule}, {scenario}" for rule in RULES for scenario in evaluation.SCENARIOS]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("split")
    likeness = pd.Series(_likeness(list(found.values())), index=list(found), dtype=float)
    return table.assign(likeness=likeness.reindex(table.index))


def over_halves(
    X_train: pd.DataFrame, done: Experiment, X_test: pd.DataFrame, seeds: Iterable[int] = range(3)
) -> pd.DataFrame:
    """The model fitted on either half of the training images: two panels of the same experts.

    Parameters
    ----------
    X_train, X_test
        Features of the experiment's images.
    done
        The experiment; its test opinions score both halves.
    seeds
        Of the halvings.

    Returns
    -------
    DataFrame
        A row a half, indexed by ``halving`` and ``half``: ``groups``, ``alone``, ``objective``,
        the accuracy of SI-SCM by scenario, and ``likeness``, the adjusted Rand index of the two
        halves' groups.
    """
    tables = {}
    for seed in seeds:
        images = np.random.default_rng(seed).permutation(done.train.instances.to_numpy())
        rows, found = {}, []
        for half in (0, 1):
            part = done.train.select(instances=np.sort(images[half::2]))
            model = GumbelMaxSISCM().fit(X_train.loc[part.instances], part)
            found.append(model.partition_)
            rows[half] = _figures(model, X_test, done.test, (MODEL,))
        table = pd.DataFrame.from_dict(rows, orient="index")
        tables[seed] = table.assign(likeness=_likeness(found))
    return pd.concat(tables, names=["halving", "half"])


def _figures(
    model: GumbelMaxSISCM, X_test: pd.DataFrame, test: Opinions, rules: Iterable[str]
) -> dict[str, float]:
    """What a fitted model found, and how accurate rules are with it."""
    log_p, groups = model.log_marginals(X_test, test), model.partition_
    return _size(model.graph_, groups) | _accuracy(log_p, test, groups, rules)


def _size(graph: SimilarityGraph, groups: Groups) -> dict[str, float]:
    positions = [find(group, graph.experts, "expert").tolist() for group in groups]
    return {
        "groups": len(groups),
        "alone": sum(len(group) == 1 for group in groups),
        "objective": partition.objective(graph, positions),
    }


def _accuracy(log_p: Any, test: Opinions, groups: Groups, rules: Iterable[str]) -> dict[str, float]:
    """Accuracy by rule and scenario."""
    table = evaluation.accuracy(log_p, test, groups, {rule: RULES[rule] for rule in rules})
    return {f"{rule}, {s}": float(x) for rule, row in table.iterrows() for s, x in row.items()}


def _likeness(found: Sequence[Groups]) -> list[float]:
    """Of each partition, the mean adjusted Rand index with the others."""
    if len(found) < 2:
        return [np.nan] * len(found)
    table = np.array([[adjusted_rand(one, other) for other in found] for one in found])
    return list((table.sum(axis=1) - table.diagonal()) / (len(found) - 1))
