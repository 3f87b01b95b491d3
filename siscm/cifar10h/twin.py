r"""A twin of CIFAR-10H: a raw annotator file made up in the true file's shape, with its truth.

The pipeline that reads the true file reads the twin, so that all of it runs without a download.
The twin is made so: the images are dealt out in fixed sets of 200 (20 a class), several times
over; each set goes to a dozen annotators; a few of them mostly click at random. Everybody else
belongs to one of a few planted groups, and opinions are drawn under the Gumbel-Max SI-SCM
:math:`\mathcal M(\Psi)` of these groups (:func:`siscm.data.simulate.simulate_opinions`).

That the images of CIFAR-10H were handed out like this is inferred, not documented. The constants
below were set by hand, by scanning, until the twin came near the figures that the paper gives:
experts, images and opinions that its filter keeps, full agreement, accuracy of GNB. Over seeds
0 to 19 each of them stays within 13 %. So agreement with those figures is no evidence for anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.checks import FloatArray, IntArray
from siscm.cifar10h.counts import CLASSES, N_IMAGES
from siscm.cifar10h.raw_file import IMAGES_EACH, N_ANNOTATORS
from siscm.cifar10h.twin_table import raw_table
from siscm.data.simulate import simulate_opinions

_N_SETS = N_IMAGES // IMAGES_EACH  # in a reshuffle
_N_RESHUFFLES = 4  # times that all images are dealt out
_N_CARELESS = 9
_N_LEFT_OUT = 16  # annotators of the raw file whom the published counts seem to lack
_CARELESS_LOOKS = 0.1  # share of opinions that a careless annotator gives after a proper look

# Shares of the careful annotators in the planted groups: two large ones and some small ones.
_GROUP_SHARES = (0.45, 0.25, 0.12, 0.08, 0.06, 0.04)

# What people say. Most images leave next to no doubt; the others stand between two classes.
_AMBIGUOUS_SHARE = 0.42
_DOUBT = (0.5, 3.0)  # Beta: probability of the rival class on an ambiguous image
_STRAY = 0.0002  # probability of any label, whatever the image
_SHARPNESS_SPREAD = 0.35  # of the logarithm of an annotator's exponent on the distributions
_SLIP_RATE = 0.013  # average share of opinions given without a proper look

# Label: what it is mistaken for, with weights.
_RIVALS = {
    "airplane": {"ship": 4, "bird": 4, "truck": 1},
    "automobile": {"truck": 8, "ship": 1},
    "bird": {"airplane": 2, "frog": 3, "deer": 2, "cat": 2, "dog": 1, "horse": 1},
    "cat": {"dog": 6, "bird": 2, "frog": 2, "deer": 1},
    "deer": {"horse": 6, "dog": 3, "cat": 1, "bird": 1},
    "dog": {"cat": 6, "bird": 1, "horse": 1},
    "frog": {"bird": 2, "deer": 2, "cat": 1, "dog": 1},
    "horse": {"deer": 5, "dog": 4},
    "ship": {"airplane": 4, "truck": 2},
    "truck": {"automobile": 8, "ship": 1},
}
_VEHICLES = ("airplane", "automobile", "ship", "truck")

# Features: prototypes of the classes in few dimensions, and noise there and everywhere.
_N_FEATURES = 512
_N_LATENT = 30
_KIN = 0.25  # cosine of the prototypes of two vehicles, or of two animals
_CLOSE = 0.30  # added for the likeliest confusion of each class
_LATENT_NOISE = 0.355
_WHITE_NOISE = 0.25


@dataclass(frozen=True, eq=False)
class TwinTruth:
    r"""What is known about a twin, and about no real file.

    Parameters
    ----------
    groups
        The planted groups: annotators of one group share their noise on every image. Each
        careless annotator is alone.
    careless
        Annotators who mostly click at random.
    left_out
        Annotators whom the twin of the published counts leaves out: the careless and some others.
    sets
        (reshuffles, 50, 200): the images of each set; each reshuffle holds every image once.
    annotator_sets
        (2571, 2): reshuffle and set of each annotator.
    label_distributions
        (10000, 10): what a typical annotator who looks properly tends to say about each image,
        stray labels left aside.
    log_marginals
        (514200, 10): :math:`\log P(Y_h \mid X)` of every opinion, by image, then by annotator,
        as :meth:`siscm.opinions.Opinions.to_long` orders them.
    """

    groups: tuple[tuple[int, ...], ...]
    careless: tuple[int, ...]
    left_out: tuple[int, ...]
    sets: IntArray
    annotator_sets: IntArray
    label_distributions: FloatArray
    log_marginals: FloatArray


@dataclass(frozen=True, eq=False)
class Twin:
    """A simulated CIFAR-10H.

    Parameters
    ----------
    raw
        The annotator file, one row a trial: 2,571 annotators, each with 200 images and 10
        attention checks; the true file's columns. File names and subcategories are invented.
    image_labels
        (10000,): true label of each image.
    features
        (10000, 512), float32: what stands for VGG19's features of each image.
    truth
        What the twin was made from.
    """

    raw: pd.DataFrame
    image_labels: IntArray
    features: npt.NDArray[np.float32]
    truth: TwinTruth


def simulate_cifar10h(
    rng: np.random.Generator,
    *,
    label_distributions: npt.ArrayLike | None = None,
) -> Twin:
    """A twin of CIFAR-10H's raw annotator file, of its images' features, and its truth.

    Parameters
    ----------
    rng
        Where all randomness comes from.
    label_distributions
        How often each label was given to each image, (10000, 10), for example the published
        counts; by default, confusions made up here. Rows are scaled to sum to 1, and marginals
        smoothed; an image's true label is its likeliest, save that each class has 1,000 images: the
        clearest choose first.
    """
    if label_distributions is None:
        image_labels = rng.permutation(np.repeat(np.arange(len(CLASSES)), N_IMAGES // len(CLASSES)))
        distributions = _confusions(image_labels, rng)
    else:
        given = np.asarray(label_distributions, dtype=np.float64)
        distributions = given / given.sum(axis=1, keepdims=True)
        image_labels = _balanced_labels(distributions)
    sets = _deal(image_labels, rng)
    annotator_sets, careless, groups = _people(rng)
    asked = np.zeros((N_IMAGES, N_ANNOTATORS), dtype=bool)
    asked[sets[annotator_sets[:, 0], annotator_sets[:, 1]], np.arange(N_ANNOTATORS)[:, None]] = True
    image, annotator = np.nonzero(asked)
    log_marginals = _log_marginals(distributions[image], annotator, careless, rng)
    labels = simulate_opinions(log_marginals, groups, asked, rng)
    is_careless = np.isin(np.arange(N_ANNOTATORS), careless)
    opinions = pd.DataFrame(
        {
            "annotator_id": annotator,
            "true_label": image_labels[image],
            "chosen_label": labels[image, annotator],
            "image": image,
            "doubt": 1 - distributions[image].max(axis=1),
        }
    )
    raw, features = raw_table(opinions, is_careless, rng), _features(distributions, rng)
    others = rng.choice(np.flatnonzero(~is_careless), _N_LEFT_OUT - len(careless), replace=False)
    return Twin(
        raw=raw,
        image_labels=image_labels,
        features=features,
        truth=TwinTruth(
            groups=tuple(tuple(group) for group in groups),
            careless=tuple(careless),
            left_out=tuple(sorted([*careless, *others.tolist()])),
            sets=sets,
            annotator_sets=annotator_sets,
            label_distributions=distributions,
            log_marginals=log_marginals,
        ),
    )


def _confusions(image_labels: IntArray, rng: np.random.Generator) -> FloatArray:
    """Label distributions (n, 10): most are certain, some divided between two classes."""
    weights = np.array([[_RIVALS[c].get(d, 0) for d in CLASSES] for c in CLASSES], dtype=float)
    weights /= weights.sum(axis=1, keepdims=True)
    ladder = np.cumsum(weights, axis=1)[image_labels]
    rival = (rng.random((len(image_labels), 1)) > ladder[:, :-1]).sum(axis=1)
    doubt = rng.beta(*_DOUBT, size=len(image_labels))
    doubt[rng.random(len(image_labels)) >= _AMBIGUOUS_SHARE] = 0.0
    everyone = np.eye(len(CLASSES))
    return np.asarray(
        (1 - doubt[:, None]) * everyone[image_labels] + doubt[:, None] * everyone[rival]
    )


def _balanced_labels(distributions: FloatArray) -> IntArray:
    """Each image's likeliest label that has room left, the clearest images first."""
    room = np.full(len(CLASSES), N_IMAGES // len(CLASSES))
    labels = np.empty(N_IMAGES, dtype=np.int64)
    for image in np.argsort(-distributions.max(axis=1), kind="stable"):
        labels[image] = np.argmax(np.where(room > 0, distributions[image], -1.0))
        room[labels[image]] -= 1
    return labels


def _deal(image_labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Sets of images (reshuffles, 50, 200): every image once a reshuffle, 20 a class in a set."""
    by_class = [np.flatnonzero(image_labels == c) for c in range(len(CLASSES))]
    return np.stack(
        [
            np.hstack([rng.permutation(images).reshape(_N_SETS, -1) for images in by_class])
            for _ in range(_N_RESHUFFLES)
        ]
    )


def _people(rng: np.random.Generator) -> tuple[IntArray, list[int], list[list[int]]]:
    """Who gets which set, who is careless (never two in a set), and who shares noise."""
    n_sets = _N_RESHUFFLES * _N_SETS
    number = rng.permutation(np.arange(N_ANNOTATORS) % n_sets)  # twelve or thirteen a set
    unlucky = rng.choice(n_sets, _N_CARELESS, replace=False)
    careless = sorted(int(rng.choice(np.flatnonzero(number == s))) for s in unlucky)
    careful = rng.permutation(np.setdiff1d(np.arange(N_ANNOTATORS), careless))
    ends = (np.cumsum(_GROUP_SHARES)[:-1] * len(careful)).round().astype(int)
    groups = [sorted(group.tolist()) for group in np.split(careful, ends)]
    annotator_sets = np.column_stack(np.divmod(number, _N_SETS))
    return annotator_sets, careless, groups + [[annotator] for annotator in careless]


def _log_marginals(
    p: FloatArray, annotator: IntArray, careless: list[int], rng: np.random.Generator
) -> FloatArray:
    """What each annotator tends to say, one row an opinion, from the images' distributions p.

    Annotators are more or less decided, and now and then one does not look properly: her
    marginal is then flat. The careless hardly ever look.
    """
    sharpness = np.exp(_SHARPNESS_SPREAD * rng.standard_normal(N_ANNOTATORS))
    slip_rate = rng.exponential(_SLIP_RATE, N_ANNOTATORS)
    slip_rate[careless] = 1 - _CARELESS_LOOKS
    slips = rng.random(len(annotator)) < slip_rate[annotator]
    p = p ** sharpness[annotator, None]
    p /= p.sum(axis=1, keepdims=True)
    p = (1 - _STRAY * p.shape[1]) * p + _STRAY
    p[slips] = 1 / p.shape[1]
    return np.asarray(np.log(p))


def _features(distributions: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Features (n, 512): the prototypes mixed as the labels are, and noise.

    Prototypes have unit length; like classes are near each other.
    """
    vehicle = np.isin(CLASSES, _VEHICLES)
    cosine = np.where(vehicle[:, None] == vehicle, _KIN, 0.0)
    for c, rivals in _RIVALS.items():
        rival = max(rivals, key=lambda d: rivals[d])
        cosine[CLASSES.index(c), CLASSES.index(rival)] += _CLOSE / 2
        cosine[CLASSES.index(rival), CLASSES.index(c)] += _CLOSE / 2
    np.fill_diagonal(cosine, 1.0)
    latent = _LATENT_NOISE * rng.standard_normal((len(distributions), _N_LATENT))
    latent[:, : len(CLASSES)] += distributions @ np.linalg.cholesky(cosine)
    # Orthonormal rows: all distances in the few dimensions are kept in the many.
    rotation = np.linalg.qr(rng.standard_normal((_N_FEATURES, _N_LATENT)))[0].T
    features: npt.NDArray[np.float32]
    features = (latent @ rotation * np.sqrt(_N_FEATURES)).astype(np.float32)
    features += _WHITE_NOISE * rng.standard_normal(features.shape, dtype=np.float32)
    return features
