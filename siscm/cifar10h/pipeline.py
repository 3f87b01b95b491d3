"""CIFAR-10H as the chapters use it: the real files or the twin, through one pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from siscm.checks import IntArray
from siscm.cifar10h.cifar10_images import load_cifar10_images
from siscm.cifar10h.counts import label_counts, load_cifar10h_counts
from siscm.cifar10h.features import cache_file, extract_features, missing_features
from siscm.cifar10h.image_features import image_features
from siscm.cifar10h.preprocessing import Preprocessed, preprocess
from siscm.cifar10h.raw_file import check_raw, load_cifar10h_raw
from siscm.cifar10h.twin import TwinTruth, simulate_cifar10h
from siscm.cifar10h.vgg19 import Features
from siscm.data import registry
from siscm.data.sources import RAW

Kind = Literal["twin", "real"]
"""Which raw file: the simulated twin, or the real one."""

TWIN_SEED = 0
"""Of the twin that the book shows."""


@dataclass(frozen=True, eq=False)
class Cifar10H:
    """Opinions, counts and features of CIFAR-10H, or of its twin.

    Parameters
    ----------
    kind
        Which of the two.
    raw
        A row an opinion: ``annotator``, ``image``, ``true_label``, ``chosen_label``.
    rows
        The same with a row for each time that an opinion is given; such rows were counted.
    counts
        (10,000, 10): how many annotators gave each label, as published; the twin's leave out a
        few annotators too.
    features
        From image numbers to VGG19's features of these images, (n, 512).
    missing
        From image numbers to those whose features are not there yet.
    truth
        What the twin was made from; None for the real files.
    """

    kind: Kind
    raw: pd.DataFrame
    rows: pd.DataFrame
    counts: pd.DataFrame
    features: Callable[[IntArray], Features]
    missing: Callable[[IntArray], IntArray]
    truth: TwinTruth | None


def experiment_kind() -> Kind:
    """Which data the chapters on CIFAR-10H show.

    The real files if ``SISCM_DATA`` asks for real data, and the raw file and features of images
    are in the data folder, where ``make reproduce`` puts them; else the twin. The files that
    ``make book-real`` asks for, or ``make data`` fetches, do not make the experiment.
    """
    there = (registry.data_folder() / RAW).is_file() and cache_file().is_file()
    return "real" if registry.setting() == "real" and there else "twin"


def load_cifar10h(kind: Kind | None = None, twin_seed: int = TWIN_SEED) -> Cifar10H:
    """The real files, or a twin of them.

    Parameters
    ----------
    kind
        Which; by default what :func:`experiment_kind` says.
    twin_seed
        Of the twin; another seed makes other people, opinions and images.

    Raises
    ------
    FileNotFoundError, ValueError
        If a real file is not there, or not as it should be; or there is no such kind.
    """
    chosen = kind or experiment_kind()
    if chosen not in get_args(Kind):
        raise ValueError(f"there is no kind {kind!r} of CIFAR-10H; there are twin and real.")
    if chosen == "real":
        images, image_labels = load_cifar10_images()
        rows = load_cifar10h_raw(image_labels)
        return Cifar10H(
            "real",
            rows.drop_duplicates(ignore_index=True),
            rows,
            load_cifar10h_counts(),
            lambda wanted: extract_features(images, wanted),
            lambda wanted: missing_features(images, wanted),
            None,
        )
    twin = simulate_cifar10h(np.random.default_rng(twin_seed))
    raw = check_raw(twin.raw, image_labels=twin.image_labels, complete=True)
    published = raw[~raw["annotator"].isin(twin.truth.left_out)]
    return Cifar10H(
        "twin",
        raw,
        raw,
        label_counts(published),
        lambda wanted: twin.features[wanted],
        lambda wanted: np.empty(0, dtype=np.int64),
        twin.truth,
    )


@dataclass(frozen=True, eq=False)
class Prepared(Preprocessed):
    """The paper's training and test set, ready to be fitted.

    Parameters
    ----------
    train, test, kept
        As preprocessed.
    X_train, X_test
        Twenty numbers an image, indexed by image; learned on training images only.
    """

    X_train: pd.DataFrame
    X_test: pd.DataFrame


def prepare(data: Cifar10H, **choices: Any) -> Prepared:
    """Filter and split the opinions, and describe each image by twenty numbers.

    Parameters
    ----------
    data
        The real files or the twin, as from :func:`load_cifar10h`.
    choices
        Arguments of :func:`siscm.cifar10h.preprocessing.preprocess`, such as ``reading`` or
        ``seed``.
    """
    return describe(data, preprocess(data.raw, **choices))


def describe(data: Cifar10H, done: Preprocessed, numbers: Pipeline | None = None) -> Prepared:
    """What preprocessing left, each image described by twenty numbers.

    Parameters
    ----------
    data
        Whose features they are.
    done
        As from :func:`siscm.cifar10h.preprocessing.preprocess`.
    numbers
        Another pipeline than :func:`siscm.cifar10h.image_features.image_features`, not fitted yet.
    """
    numbers = image_features() if numbers is None else numbers
    seen, unseen = (data.features(part.instances.to_numpy()) for part in (done.train, done.test))
    numbers.fit(seen)
    return Prepared(
        done.train,
        done.test,
        done.kept,
        pd.DataFrame(numbers.transform(seen), index=done.train.instances),
        pd.DataFrame(numbers.transform(unseen), index=done.test.instances),
    )
