"""How far people agree, what copying can gain from it, and how those who are alone fare."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from siscm.cifar10h.experiment import Experiment
from siscm.cifar10h.image_sets import HiddenSets
from siscm.cifar10h.preprocessing import with_disagreement
from siscm.evaluation import SCENARIOS
from siscm.partition import group_of

ALONE, GROUPED = "alone", "in a group"
"""What :func:`profiles` calls experts by their group."""


def pair_agreement(opinions: pd.DataFrame, groups: Mapping[Hashable, Hashable]) -> pd.DataFrame:
    """The share of pairs of opinions about one image that agree: the accuracy of copying.

    Counted, not enumerated, so that 26 million pairs cost no more than their opinions.

    Parameters
    ----------
    opinions
        A row an opinion: ``annotator``, ``image``, ``chosen_label``.
    groups
        The group of each annotator, such as a group of a partition, or a set of images.

    Returns
    -------
    DataFrame
        A row a scenario (all pairs, same group, different groups): ordered ``pairs``, and the
        share that ``agree``; NaN where there is none.
    """
    table = opinions[["image", "chosen_label"]].assign(
        group=opinions["annotator"].map(groups).to_numpy()
    )
    if table["group"].isna().any():
        who = opinions["annotator"][table["group"].isna()].iloc[0]
        raise ValueError(f"annotator {who} is in no group; give her one, if only her own.")

    def ordered_pairs(*same: str) -> int:
        size = table.groupby(list(same), observed=True).size().to_numpy()
        return int((size * (size - 1)).sum())

    every = np.array([ordered_pairs("image"), ordered_pairs("image", "chosen_label")])
    same = [ordered_pairs("image", "group"), ordered_pairs("image", "group", "chosen_label")]
    found = pd.DataFrame([every, same, every - same], list(SCENARIOS), ["pairs", "agree"])
    return found.assign(agree=found["agree"] / found["pairs"])


def full_agreement(raw: pd.DataFrame, without: Mapping[str, Collection[Hashable]]) -> pd.DataFrame:
    """On how many images all opinions agree, when some annotators are left aside.

    Parameters
    ----------
    raw
        A row an opinion.
    without
        By name, which annotators to leave aside.

    Returns
    -------
    DataFrame
        A row a name: how many ``annotators`` are left, and the ``share`` of images, of those with
        an opinion left, on which they all agree.
    """
    rows = {}
    for name, aside in without.items():
        kept = raw[~raw["annotator"].isin(list(aside))]
        images = kept["image"].nunique()
        disputed = with_disagreement(kept)["image"].nunique()
        rows[name] = [kept["annotator"].nunique(), 1 - disputed / images if images else np.nan]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["annotators", "share"]).astype(
        {"annotators": int}
    )


def annotator_scores(raw: pd.DataFrame) -> pd.DataFrame:
    """How each annotator compares with the others who saw her images, and with the true labels.

    Returns
    -------
    DataFrame
        A row an annotator: ``agreement``, the share of her pairs with others that agree (NaN if
        nobody else saw her images); ``accuracy``, the share of her opinions that are the true
        label.
    """
    table = raw.assign(
        others=raw.groupby("image")["image"].transform("size") - 1,
        alike=raw.groupby(["image", "chosen_label"])["image"].transform("size") - 1,
        right=raw["chosen_label"] == raw["true_label"],
    ).groupby("annotator")
    sums = table[["alike", "others"]].sum()
    return pd.DataFrame(
        {
            "agreement": sums["alike"] / sums["others"].where(sums["others"] > 0),
            "accuracy": table["right"].mean(),
        }
    )


def profiles(raw: pd.DataFrame, done: Experiment, left_out: Collection[Hashable]) -> pd.DataFrame:
    """Each expert of the experiment: alone or in a group, and what else is known of her.

    Parameters
    ----------
    raw
        The raw table, from which the experiment's opinions come.
    done
        The experiment, its model fitted.
    left_out
        Annotators missing from the published counts.

    Returns
    -------
    DataFrame
        A row an expert: ``group size``; ``group``, "alone" or "in a group"; ``opinions`` in
        training and test; ``agreement`` and ``accuracy`` on all her images
        (:func:`annotator_scores`); how many experts she ``met`` on a training image, and with how
        many of them she is ``in violation``; ``left out``, whether the counts lack her.
    """
    experts, graph = done.train.experts, done.model.graph_
    sizes = np.array([len(group) for group in done.model.partition_])
    size = sizes[group_of(done.model.partition_, experts)]
    codes = np.concatenate([done.train.expert_codes, done.test.expert_codes])
    scores = annotator_scores(raw).loc[experts]
    return pd.DataFrame(
        {
            "group size": size,
            "group": np.where(size == 1, ALONE, GROUPED),
            "opinions": np.bincount(codes, minlength=len(experts)),
            "agreement": scores["agreement"].to_numpy(),
            "accuracy": scores["accuracy"].to_numpy(),
            "met": (graph.together > 0).sum(axis=1),
            "in violation": (graph.violations > 0).sum(axis=1),
            "left out": experts.isin(list(left_out)),
        },
        index=experts.rename("annotator"),
    )


def filter_by_set(
    raw: pd.DataFrame, sets: HiddenSets, experts: pd.Index[Any], left_out: Collection[Hashable]
) -> pd.DataFrame:
    """Whom the paper's filter keeps, by whether someone missing from the counts saw her images.

    Parameters
    ----------
    raw, sets
        A raw table, and the image sets found in it; annotators without a set are left aside.
    experts
        Those whom the filter keeps.
    left_out
        Annotators missing from the published counts.

    Returns
    -------
    DataFrame
        A row a kind of image set, ``with`` and ``without`` a missing annotator: how many
        ``sets``; the share of their images that show ``disagreement``, on average; how many
        ``annotators`` they have, and how many of these the filter ``kept``.
    """
    disputed = with_disagreement(raw)["image"].unique()
    images = sets.images.assign(disputed=sets.images["image"].isin(disputed)).groupby("set")
    people = sets.annotators[sets.annotators["set"] >= 0]
    people = people.assign(
        kept=people.index.isin(experts), missing=people.index.isin(list(left_out))
    )
    by_set = people.groupby("set").agg(
        annotators=("kept", "size"), kept=("kept", "sum"), missing=("missing", "any")
    )
    by_set["disagreement"] = images["disputed"].mean()
    kinds = by_set.groupby(by_set["missing"].map({True: "with", False: "without"}))
    return kinds.agg(
        sets=("kept", "size"),
        disagreement=("disagreement", "mean"),
        annotators=("annotators", "sum"),
        kept=("kept", "sum"),
    ).rename_axis("a missing annotator")
