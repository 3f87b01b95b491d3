"""Which pairs of experts met, and what that lets Algorithm 1 find of the groups planted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from siscm.checks import BoolArray, IntArray
from siscm.cifar10h.twin import TwinTruth
from siscm.graph import SimilarityGraph
from siscm.opinions import Opinions
from siscm.partition import group_of
from siscm.synthetic.recovery import Groups, adjusted_rand

SAME_SET, OTHER_SETS = "same image set", "other image sets"
"""The two kinds of pairs of experts."""


def by_image_set(
    graph: SimilarityGraph,
    found: Groups,
    set_of: Mapping[Hashable, int],
    planted: Groups | None = None,
) -> pd.DataFrame:
    """How often two experts met, and what came of it, within an image set and across.

    Parameters
    ----------
    graph
        Of training opinions.
    found
        The partition found in it, by expert ids.
    set_of
        The image set of each expert, as in :attr:`siscm.cifar10h.image_sets.HiddenSets.set_of`.
    planted
        If known, the true groups of the experts, and perhaps of others.

    Returns
    -------
    DataFrame
        A row a kind of pair, :data:`SAME_SET` or :data:`OTHER_SETS`: how many ``pairs`` of
        experts; the median of ``images together``; how many pairs ``never met``, are ``in
        violation``, ``can be similar``, and are ``found together``; if known, how many are
        ``planted together``, and how many of these can be similar (``of these, can be similar``)
        and are found together (``of these, found``).
    """
    upper = np.triu_indices(len(graph.experts), 1)
    together, edges = graph.together[upper], graph.edges[upper]
    in_found = _paired(group_of(found, graph.experts))
    counted = {
        "pairs": np.ones_like(together),
        "never met": together == 0,
        "in violation": graph.violations[upper] > 0,
        "can be similar": edges,
        "found together": in_found,
    }
    if planted is not None:
        true = _paired(_numbers(planted, graph.experts))
        counted |= {
            "planted together": true,
            "of these, can be similar": true & edges,
            "of these, found": true & in_found,
        }
    same = _paired(np.array([set_of[expert] for expert in graph.experts], dtype=np.int64))
    kind = np.where(same, SAME_SET, OTHER_SETS)
    table = pd.DataFrame(counted).groupby(kind).sum().reindex([SAME_SET, OTHER_SETS], fill_value=0)
    table.insert(1, "images together", pd.Series(together).groupby(kind).median())
    return table


def against_planted(
    found: Groups, planted: Groups, set_of: Mapping[Hashable, int]
) -> dict[str, float]:
    """Adjusted Rand index of the groups found and planted, over all experts and in image sets.

    Parameters
    ----------
    found, planted
        Partitions by expert ids; those that only one of them knows are left aside.
    set_of
        The image set of each expert.

    Returns
    -------
    dict
        ``all experts``, and ``within image sets``, the mean over sets with two or more experts.
    """
    experts = [expert for group in found for expert in group]
    inside = []
    for number in sorted({set_of[expert] for expert in experts}):
        mine = [[e for e in group if set_of[e] == number] for group in found]
        index = adjusted_rand(mine, planted)
        if not np.isnan(index):
            inside.append(index)
    return {
        "all experts": adjusted_rand(found, planted),
        "within image sets": float(np.mean(inside)) if inside else float("nan"),
    }


def graph_of_truth(truth: TwinTruth, raw: pd.DataFrame, opinions: Opinions) -> SimilarityGraph:
    """The graph that the true marginals of a twin give, where a model has to learn them.

    Parameters
    ----------
    truth, raw
        Of the twin: all its opinions.
    opinions
        Some of them, by annotator and image.

    Raises
    ------
    ValueError
        If one of them is not among the twin's.
    """
    every = pd.MultiIndex.from_frame(raw[["image", "annotator"]]).sort_values()
    wanted = pd.MultiIndex.from_frame(opinions.to_long()[["instance", "expert"]])
    place = every.get_indexer(wanted)
    if (place < 0).any():
        image, annotator = wanted[place < 0][0]
        raise ValueError(f"annotator {annotator} of the twin has no opinion about {image}.")
    return SimilarityGraph.from_opinions(truth.log_marginals[place], opinions)


def _paired(number: IntArray) -> BoolArray:
    """Whether the experts of each pair have the same number."""
    upper = np.triu_indices(len(number), 1)
    return np.asarray((number[:, None] == number)[upper])


def _numbers(groups: Groups, experts: pd.Index[Any]) -> IntArray:
    """The number of each expert's group, where the groups may know others too."""
    known = set(experts)
    return group_of([[e for e in group if e in known] for group in groups], experts)
