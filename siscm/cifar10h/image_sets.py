"""The sets of images that were handed out, recovered from which annotators share images.

Nothing is assumed of the raw file: where it has no such sets, that is what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array
from scipy.stats import hypergeom

from siscm.checks import BoolArray, IntArray

NO_SET = -1
"""Stands for the set of an annotator who shares her images, all of them, with nobody."""


@dataclass(frozen=True, eq=False)
class HiddenSets:
    """Sets of images that were each handed out to several annotators, as far as a file shows them.

    Parameters
    ----------
    annotators
        A row an annotator: ``set``, or -1 if nobody else saw exactly that; ``reshuffle``
        of that set, or -1; how many ``images`` she saw.
    sets
        A row a set: how many ``annotators`` and ``images``; ``reshuffle``; how many images it has
        of its rarest and of its commonest true class, ``fewest_of_a_class``, ``most_of_a_class``.
    images
        A row an image of a set: ``set``, ``reshuffle``, ``image``, ``true_label``.
    shared
        How many pairs of annotators share how many images: index ``images shared``.
    overlaps
        The same for pairs of sets of different reshuffles.
    n_images
        Images in the file.
    """

    annotators: pd.DataFrame
    sets: pd.DataFrame
    images: pd.DataFrame
    shared: pd.Series[int]
    overlaps: pd.Series[int]
    n_images: int

    @property
    def reshuffles(self) -> pd.DataFrame:
        """A row a reshuffle: how many ``sets`` and ``images``; ``complete`` if it holds them all.

        A reshuffle is a family of sets without a common image.
        """
        table = self.images.groupby("reshuffle").agg(
            sets=("set", "nunique"), images=("image", "size")
        )
        return table.assign(complete=table["images"] == self.n_images)

    @property
    def explained(self) -> int:
        """How many annotators fixed sets explain: theirs make up a full reshuffle with others."""
        table = self.reshuffles
        return int(self.annotators["reshuffle"].isin(table.index[table["complete"]]).sum())

    @property
    def set_of(self) -> dict[int, int]:
        """Each annotator's set; who has none in common with another gets a negative number."""
        number = self.annotators["set"].to_numpy()
        own = np.where(number == NO_SET, -1 - np.arange(len(number)), number)
        return dict(zip(self.annotators.index.tolist(), own.tolist(), strict=True))

    def shared_by_chance(self) -> pd.Series[float]:
        """What ``shared`` would be on average if everybody saw images drawn for her alone.

        As if all saw as many as half of them do (in the file, all saw 200).
        """
        each = int(self.annotators["images"].median())
        images = np.arange(each + 1)
        pairs = int(self.shared.sum()) * hypergeom.pmf(images, self.n_images, each, each)
        return pd.Series(pairs, index=pd.Index(images, name="images shared"), name="by chance")

    def findings(self) -> pd.Series[str]:
        """What was found, in numbers."""
        table, per_image = self.sets, self.images["image"].value_counts()
        even = table["fewest_of_a_class"] == table["most_of_a_class"]
        in_a_set = int((self.annotators["set"] != NO_SET).sum())
        return pd.Series(
            {
                "annotators who share all their images with another": f"{in_a_set:,} of "
                f"{len(self.annotators):,}",
                "sets of images": f"{len(table):,}",
                "annotators to a set": _range(table["annotators"]),
                "images in a set": _range(table["images"]),
                "sets with as many images of each class": f"{int(even.sum()):,} of {len(table):,}",
                "images in some set": f"{len(per_image):,} of {self.n_images:,}",
                "sets that hold a given image": _range(per_image),
                "reshuffles": f"{len(self.reshuffles):,}",
                "reshuffles that hold every image once": f"{int(self.reshuffles['complete'].sum())}"
                f" of {len(self.reshuffles):,}",
                "images shared by sets of different reshuffles": _range(
                    pd.Series(self.overlaps.index)
                ),
            },
            name="found",
        )

    def left_aside(self) -> str:
        """A sentence for tables of those who have a set: how many have none; empty if all do."""
        n = int((self.annotators["set"] == NO_SET).sum())
        of = f"{n:,} of {len(self.annotators):,}"
        return f" Left aside, for they have no set: {of} annotators." if n else ""

    def verdict(self) -> str:
        """How many of the annotators fixed sets explain, as a sentence."""
        n, odd = len(self.annotators), len(self.annotators) - self.explained
        complete = int(self.reshuffles["complete"].sum())
        if odd == n:
            in_a_set = int((self.annotators["set"] != NO_SET).sum())
            return (
                f"Fixed sets do NOT explain this file: {in_a_set:,} of {n:,} annotators share all "
                f"their images with another, and no reshuffle of {len(self.reshuffles):,} holds "
                "every image exactly once."
            )
        sets = int(self.reshuffles.loc[self.reshuffles["complete"], "sets"].sum())
        explain, who = (
            (f"all but {odd:,} of the {n:,} annotators of this file", "each of the others")
            if odd
            else ("this file", f"each of the {n:,} annotators")
        )
        return (
            f"Fixed sets explain {explain}: {who} shares all her images with others, in {sets:,} "
            f"sets, which hold every image exactly {complete:,} times."
        )


def hidden_sets(raw: pd.DataFrame) -> HiddenSets:
    """The sets of images that were handed out, from which annotators share images.

    Annotators with exactly the same images saw one set; who saw images of it only, one of them
    again instead of another, saw that set too. Sets without a common image make up a
    reshuffle; sets of different reshuffles may have no common image by chance, so each set is
    tried first with those that are apart from the same others.

    Parameters
    ----------
    raw
        A row each time that an annotator saw an image: ``annotator``, ``image``, ``true_label``;
        labels given are not looked at.
    """
    annotators, a = np.unique(raw["annotator"].to_numpy(), return_inverse=True)
    image_ids, i = np.unique(raw["image"].to_numpy(), return_inverse=True)
    true_label = np.zeros(len(image_ids), dtype=np.int64)
    true_label[i] = raw["true_label"].to_numpy()
    saw = csr_array((np.ones(len(raw), dtype=np.int32), (a, i)))
    rows = np.bincount(a)
    saw.data[:] = 1  # also for an image that she saw twice
    shared = np.asarray((saw @ saw.T).todense())
    size = shared.diagonal()
    firsts, number = _numbered(shared, rows)
    between = shared[np.ix_(firsts, firsts)]
    reshuffle = _reshuffles(between == 0)
    of_set, image = (part.astype(np.int64) for part in saw[firsts].nonzero())
    order = np.lexsort((image, of_set))
    of_set, image = of_set[order], image[order]
    per_class = np.zeros((len(firsts), int(true_label.max()) + 1), dtype=np.int64)
    np.add.at(per_class, (of_set, true_label[image]), 1)
    apart = np.triu(reshuffle[:, None] != reshuffle)
    return HiddenSets(
        annotators=pd.DataFrame(
            {"set": number, "reshuffle": np.append(reshuffle, NO_SET)[number], "images": size},
            index=pd.Index(annotators, name="annotator"),
        ),
        sets=pd.DataFrame(
            {
                "annotators": np.bincount(number[number != NO_SET]),
                "images": size[firsts],
                "reshuffle": reshuffle,
                "fewest_of_a_class": per_class.min(axis=1),
                "most_of_a_class": per_class.max(axis=1),
            }
        ).rename_axis("set"),
        images=pd.DataFrame(
            {
                "set": of_set,
                "reshuffle": reshuffle[of_set],
                "image": image_ids[image],
                "true_label": true_label[image],
            }
        ),
        shared=_distribution(shared[np.triu_indices(len(annotators), 1)], "annotators"),
        overlaps=_distribution(between[apart], "sets"),
        n_images=len(image_ids),
    )


def _numbered(shared: npt.NDArray[np.int32], rows: IntArray) -> tuple[IntArray, IntArray]:
    """The first annotator of each set, and each annotator's set, or -1.

    Whoever saw an image twice lacks another one, so what she saw is not a set.
    """
    size = shared.diagonal()
    whole = size == rows
    same = (shared == size) & (shared == size[:, None]) & whole & whole[:, None]
    first = same.argmax(axis=1)  # the first annotator with the same images
    firsts = np.unique(first[same.sum(axis=1) > 1])
    number = np.full(len(rows), NO_SET)
    number[firsts] = np.arange(len(firsts))
    number = np.where(whole, number[first], NO_SET)
    within = (shared[:, firsts] == size[:, None]) & (size[firsts] == rows[:, None])
    within &= (within.sum(axis=1) == 1)[:, None] & (number == NO_SET)[:, None]
    again, of_which = np.nonzero(within)
    number[again] = of_which
    return firsts, number


def _reshuffles(apart: BoolArray) -> IntArray:
    """Number the families of sets of which every two are apart."""
    alike = apart.astype(np.float32) @ apart.astype(np.float32)  # apart from how many same others
    number = np.full(len(apart), -1)
    for start in range(len(apart)):
        if number[start] >= 0:
            continue
        left = number < 0
        number[start] = number.max() + 1
        open_to = apart[start] & left
        for other in np.argsort(-alike[start], kind="stable"):
            if open_to[other]:
                number[other] = number[start]
                open_to &= apart[other]
    return number


def _distribution(values: npt.NDArray[Any], of: str) -> pd.Series[int]:
    images, pairs = np.unique(values, return_counts=True)
    return pd.Series(pairs, index=pd.Index(images, name="images shared"), name=f"pairs of {of}")


def _range(values: pd.Series[Any]) -> str:
    if not len(values):
        return "none"
    low, high = values.min(), values.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
