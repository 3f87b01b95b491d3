"""How far people agree about CIFAR-10H's images: the published counts, real or as recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from siscm.checks import IntArray
from siscm.cifar10h.cifar10_images import ImageArray, load_cifar10_images, load_jpeg_images
from siscm.cifar10h.counts import CLASSES, label_counts, load_cifar10h_counts
from siscm.cifar10h.pipeline import Cifar10H
from siscm.cifar10h.raw_file import IMAGES_EACH
from siscm.compendium import pages
from siscm.compendium.kinds import Data
from siscm.data import registry
from siscm.data.sources import COUNTS, ENTRIES, IMAGES, JPEG_IMAGES

_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, np.inf)
SHARES = (
    "below 50 %",
    "50 to 60 %",
    "60 to 70 %",
    "70 to 80 %",
    "80 to 90 %",
    "90 to 95 %",
    "95 to 100 %",
    "everybody",
)
"""Ranges of the share of people who gave an image its most frequent label; each begins with its
lower end and stops short of its upper one."""


def agreement(counts: pd.DataFrame) -> pd.DataFrame:
    """How far people agree about each image.

    Parameters
    ----------
    counts
        (n, 10): how many gave each label, as from :func:`siscm.cifar10h.counts.label_counts`;
        images without an opinion are left out.

    Returns
    -------
    DataFrame
        A row an image: how many ``opinions``; the ``largest_share``, of those who gave the most
        frequent label; ``pairs`` of people (ordered), and in how many of them the two ``agree``.
    """
    seen = counts[counts.sum(axis=1) > 0]
    given = seen.to_numpy()
    opinions = given.sum(axis=1)
    return pd.DataFrame(
        {
            "opinions": opinions,
            "largest_share": given.max(axis=1) / opinions,
            "pairs": opinions * (opinions - 1),
            "agree": (given * (given - 1)).sum(axis=1),
        },
        index=seen.index,
    )


def images_by_share(images: pd.DataFrame) -> pd.Series[int]:
    """How many images of :func:`agreement` have a largest share in each range of SHARES."""
    ranges = pd.cut(images["largest_share"], _EDGES, right=False, labels=SHARES)
    return ranges.value_counts(sort=False).rename_axis("gave the most frequent label")


def confusions(counts: pd.DataFrame) -> pd.DataFrame:
    """What is mistaken for what (10, 10): opinions by the image's most frequent label (rows).

    The most frequent label stands for the true one, which the counts do not hold; of equally
    frequent ones the first.
    """
    favourite = counts.to_numpy().argmax(axis=1)
    table = counts.groupby(favourite).sum().reindex(range(len(CLASSES)), fill_value=0)
    return table.set_axis(pd.Index(CLASSES, name="most people said"))


def count_figures(counts: pd.DataFrame) -> dict[str, Any]:
    """The figures of published counts that the book shows and ``expected/`` records."""
    images = agreement(counts)
    disputed = images[images["largest_share"] < 1]
    return {
        "opinions": int(images["opinions"].sum()),
        "images": len(images),
        "people": images["opinions"].sum() / IMAGES_EACH,
        "fewest_opinions": int(images["opinions"].min()),
        "most_opinions": int(images["opinions"].max()),
        "images_with_disagreement": len(disputed),
        "full_agreement": 1 - len(disputed) / len(images),
        "pairs_agree": pair_agreement(images),
        "pairs_agree_where_disputed": pair_agreement(disputed),
        "images_by_share": images_by_share(images).to_dict(),
        "confusions": confusions(counts).to_dict(orient="index"),
    }


def raw_figures(raw: pd.DataFrame) -> dict[str, Any]:
    """What the paper says of the raw table before any filter, as figures for ``expected/``.

    Parameters
    ----------
    raw
        A row an opinion, as from :func:`siscm.cifar10h.raw_file.check_raw`.
    """
    share = agreement(label_counts(raw))["largest_share"]
    return {
        "annotators": int(raw["annotator"].nunique()),
        "images": len(share),
        "opinions": len(raw),
        "full_agreement": round(float((share == 1).mean()), 6),
    }


def pair_agreement(images: pd.DataFrame) -> float:
    """Of all pairs of people who saw the same image: the share that gave the same label."""
    return float(images["agree"].sum() / images["pairs"].sum())


@dataclass(frozen=True)
class Published:
    """The figures of the published counts, and where they come from.

    Parameters
    ----------
    figures
        As from :func:`count_figures`.
    kind
        ``"real"`` if computed from the file now, else ``"recorded"``.
    note
        File, hash, and date if recorded.
    """

    figures: dict[str, Any]
    kind: Data
    note: str

    @property
    def images_by_share(self) -> pd.Series[int]:
        """How many images have a largest share in each range, as from :func:`images_by_share`."""
        found = pd.Series(self.figures["images_by_share"]).reindex(SHARES)
        return found.rename_axis("gave the most frequent label")

    @property
    def confusions(self) -> pd.DataFrame:
        """What is mistaken for what, as from :func:`confusions`."""
        table = pd.DataFrame.from_dict(self.figures["confusions"], orient="index")
        return table.loc[list(CLASSES), list(CLASSES)].rename_axis(
            index="most people said", columns="label"
        )


def load_published() -> Published:
    """The figures of the published counts: computed if ``SISCM_DATA`` is ``real``, else recorded.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is wanted, and not there or not as it should be.
    """
    if registry.setting() == "real":
        name, sha256 = COUNTS.rpartition("/")[2], ENTRIES[COUNTS].sha256
        note = f"computed from {name} {sha256[:8]} (SHA-256, first 8 digits)"
        return Published(count_figures(load_cifar10h_counts()), "real", note)
    entry = pages.expected("cifar10h")["counts"]
    return Published(entry["figures"], "recorded", pages.origin(entry))


@dataclass(frozen=True, eq=False)
class Gallery:
    """The images that people disagree about most, one a class.

    Parameters
    ----------
    counts
        How many gave each label; indexed by image, in the order of the classes.
    pictures
        The images, uint8 (10, 32, 32, 3); None where there are none to show.
    kind
        Which data the counts are.
    source
        Where the pictures come from, in words.
    """

    counts: pd.DataFrame
    pictures: ImageArray | None
    kind: Data
    source: str


def load_gallery(data: Cifar10H) -> Gallery:
    """The most disputed image of each class, by the published counts, with its picture.

    With ``SISCM_DATA=real`` counts are the published ones; pictures are CIFAR-10's own, or
    after a JPEG compression, or none: whichever is in the data folder. Otherwise the twin's.
    """
    if registry.setting() != "real":
        source = "no pictures: the twin has features, no images"
        return Gallery(most_disputed(data.counts), None, data.kind, source)
    counts, folder = most_disputed(load_cifar10h_counts()), registry.data_folder()
    images, source = None, "no pictures: no image file is in the data folder"
    if (folder / IMAGES).is_file():
        (images, _), source = load_cifar10_images(), "pictures as published"
    elif (folder / JPEG_IMAGES).is_file():
        (images, _), source = load_jpeg_images(), "pictures re-encoded as JPEG"
    pictures = None if images is None else images[counts.index.to_numpy()]
    return Gallery(counts, pictures, "real", source)


def most_disputed(counts: pd.DataFrame) -> pd.DataFrame:
    """Of each class, by most frequent label, the counts of the image with the least agreement."""
    images = agreement(counts)
    share = (images["agree"] / images["pairs"]).dropna()  # a single opinion agrees with nobody
    favourite: IntArray = counts.loc[share.index].to_numpy().argmax(axis=1)
    return counts.loc[share.groupby(favourite).idxmin()]


def per_mille(table: pd.DataFrame) -> pd.DataFrame:
    """Each row of a table of counts, per thousand."""
    return 1000 * table.div(table.sum(axis=1), axis=0)


def most_frequent_confusions(table: pd.DataFrame, n: int = 8) -> pd.DataFrame:
    """The ``n`` largest cells off the diagonal of :func:`confusions`, per thousand of their row."""
    cells = pd.MultiIndex.from_product(
        [table.index, table.columns], names=["image of", "taken for"]
    )
    share = per_mille(table).mask(np.eye(len(table), dtype=bool)).to_numpy().ravel()
    return pd.Series(share, cells, name="in a thousand").nlargest(n).reset_index()


def in_words(figures: dict[str, Any]) -> pd.Series[Any]:
    """The figures of :func:`count_figures` that are single numbers, in words."""
    return pd.Series(
        {
            "opinions": f"{figures['opinions']:,}",
            f"people, at {IMAGES_EACH} images each": f"{figures['people']:,.10g}",
            "images": f"{figures['images']:,}",
            "opinions an image": f"{figures['fewest_opinions']} to {figures['most_opinions']}",
            "images with full agreement": f"{figures['full_agreement']:.1%}",
            "images with disagreement": f"{figures['images_with_disagreement']:,}",
            "pairs of people who agree": f"{figures['pairs_agree']:.1%}",
            "the same, on images with disagreement": f"{figures['pairs_agree_where_disputed']:.1%}",
        },
        name="",
    )
