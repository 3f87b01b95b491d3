"""From CIFAR-10H's raw opinions to the paper's training and test set (its Section 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from siscm.checks import BoolArray, check_count
from siscm.opinions import Opinions

Reading = Literal["released", "paper"]
"""Whose rules of filtering: those of the released code, or those of the paper's words."""

STEPS = ALL, DISAGREEMENT, SPLIT, EXPERTS, IMAGES = (
    "raw file",
    "images with disagreement",
    "split",
    "experts with enough opinions",
    "images with two experts",
)
"""The steps of :func:`preprocess`, as the table of what each kept names them."""

LEAST_EXPERTS = 2
"""Whose opinions an image needs to be kept: one to observe, and one to infer."""


@dataclass(frozen=True, eq=False)
class Preprocessed:
    """The paper's training and test set, and how they came about.

    Parameters
    ----------
    train, test
        What the same experts said about different images; classes 0, ..., k - 1.
    kept
        What was left after each step: index ``step`` (of :data:`STEPS`) and ``part`` (``all``,
        ``train``, ``test``); how many ``opinions``, ``images`` and ``experts``, counting those
        with an opinion.
    """

    train: Opinions
    test: Opinions
    kept: pd.DataFrame


def preprocess(
    raw: pd.DataFrame,
    *,
    reading: Reading = "released",
    joined: Literal["or", "and"] = "or",
    min_train: int = 130,
    min_test: int = 20,
    n_classes: int = 10,
    test_size: float = 0.2,
    seed: int = 3993,
) -> Preprocessed:
    """The images on which people disagree, split, and the experts who labelled enough of them.

    1. Keep images to which not all annotators gave the same label.
    2. Split them into training and test images.
    3. Keep experts with enough opinions in both, and with every label among those in training.
    4. Keep images about which two or more of these experts have an opinion, and experts with an
       opinion about such a training image: of others nothing can be learned.

    Parameters
    ----------
    raw
        A row an opinion, with columns ``annotator``, ``image`` and ``chosen_label``, as from
        :func:`siscm.cifar10h.raw_file.check_raw`. The order of its rows never matters.
    reading
        What "enough" means. ``"released"``, as the code of the paper's authors has it: *more*
        than ``min_train`` and *more* than ``min_test``. ``"paper"``, as its text has it: who has
        *fewer* than these is dropped.
    joined
        For the reading ``"paper"``, whose sentence can be taken in two ways: drop experts who
        have too few opinions *or* lack a label (default), or only those to whom both applies.
    min_train, min_test
        Opinions about training and test images.
    n_classes
        How many labels there are: :math:`k`.
    test_size, seed
        Share of the images that goes to the test set, and ``random_state`` of scikit-learn's
        ``train_test_split``, which gets the images in the order of their numbers.

    Raises
    ------
    ValueError
        If a step leaves nothing, which the error names; if an annotator contradicts herself; if
        a label is not one of the classes; or if a choice is none of those above.
    """
    if reading not in ("released", "paper") or joined not in ("or", "and"):
        raise ValueError(
            f"reading is {reading!r} and joined {joined!r}; they must be 'released' or 'paper', "
            "and 'or' or 'and'."
        )
    if reading == "released" and joined == "and":
        raise ValueError("joined='and' is a reading of the paper's text: say reading='paper'.")
    check_count(min_train, "min_train", least=0)
    check_count(min_test, "min_test", least=0)
    everything = Opinions.from_long(
        raw, "image", "annotator", "chosen_label", classes=range(n_classes)
    )
    kept = _left(ALL, all=everything)

    disagreed = everything.instances[(everything.votes > 0).sum(axis=1) > 1]
    disputed = everything.select(instances=disagreed)
    kept |= _left(DISAGREEMENT, all=disputed)

    if len(disagreed) < 2:
        raise ValueError(f"step {SPLIT!r}: one image cannot be split into training and test.")
    train_images, test_images = train_test_split(
        disagreed.to_numpy(), test_size=test_size, random_state=seed
    )
    train, test = (disputed.select(np.sort(images)) for images in (train_images, test_images))
    kept |= _left(SPLIT, train=train, test=test)

    few = _few(train, min_train, reading) | _few(test, min_test, reading)
    lacking = (train.tallies > 0).sum(axis=1) < n_classes
    dropped = few & lacking if joined == "and" else few | lacking
    experts = disputed.experts[~dropped]
    train, test = (part.select(experts=experts) for part in (train, test))
    kept |= _left(EXPERTS, train=train, test=test)

    train, test = _in_company(train, test)
    kept |= _left(IMAGES, train=train, test=test)
    table = pd.DataFrame(kept, index=["opinions", "images", "experts"]).T
    return Preprocessed(train, test, table.rename_axis(["step", "part"]))


def _in_company(train: Opinions, test: Opinions) -> tuple[Opinions, Opinions]:
    """Images of two or more experts, and experts with a training image among them."""
    while True:
        train, test = (
            part.select(part.instances[part.n_by_instance >= LEAST_EXPERTS])
            for part in (train, test)
        )
        seen = train.experts[train.n_by_expert > 0]
        if len(seen) == len(train.experts):
            return train, test
        # Without her, an image may have a single expert left.
        train, test = (part.select(experts=seen) for part in (train, test))


def with_disagreement(raw: pd.DataFrame) -> pd.DataFrame:
    """The opinions about images to which not everybody gave the same label."""
    labels = raw.groupby("image")["chosen_label"]
    return raw[labels.transform("min") != labels.transform("max")]


def _left(step: str, **parts: Opinions) -> dict[tuple[str, str], list[int]]:
    """What a step left of all, and of each part; refuses a step that leaves nothing."""
    for part, opinions in parts.items():
        if not len(opinions):
            where = "" if part == "all" else f" for the {part} set"
            raise ValueError(f"step {step!r} leaves no opinion{where}.")
    each = {part: [opinions] for part, opinions in parts.items()}
    return {
        (step, part): [
            sum(map(len, left)),
            # The parts share their experts, not their images.
            sum(len(np.unique(opinions.instance_codes)) for opinions in left),
            len(np.unique(np.concatenate([opinions.expert_codes for opinions in left]))),
        ]
        for part, left in ({"all": list(parts.values())} | each).items()
    }


def _few(opinions: Opinions, threshold: int, reading: Reading) -> BoolArray:
    counts = opinions.n_by_expert
    return counts <= threshold if reading == "released" else counts < threshold
