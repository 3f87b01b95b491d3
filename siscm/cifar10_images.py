"""CIFAR-10's 10,000 test images and their labels, by image number."""

from __future__ import annotations

import pickle
import tarfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from siscm import registry
from siscm.checks import IntArray
from siscm.cifar10h import N_IMAGES
from siscm.sources import IMAGES, JPEG_IMAGES

ImageArray = npt.NDArray[np.uint8]

_MEMBER = "cifar-10-batches-py/test_batch"


def load_cifar10_images() -> tuple[ImageArray, IntArray]:
    """The test images as published.

    Returns
    -------
    images : uint8 array (10,000, 32, 32, 3)
        Red, green and blue, in the order of the original test batch.
    labels : int array (10,000)
        Positions in :data:`siscm.cifar10h.CLASSES`.

    Raises
    ------
    FileNotFoundError
        If the file is not in the data folder.
    ValueError
        If it is not the file expected.
    """
    return read_test_batch(registry.locate(IMAGES))


def load_jpeg_images() -> tuple[ImageArray, IntArray]:
    """The test images after a JPEG compression: nearly the published ones, in the same order.

    For tests and for showing; never for a number that is compared with the paper's.

    Returns
    -------
    images, labels
        As from :func:`load_cifar10_images`.
    """
    with np.load(registry.locate(JPEG_IMAGES), allow_pickle=False) as archive:
        return archive["images"], archive["labels"].astype(np.int64)


def read_test_batch(archive: Path) -> tuple[ImageArray, IntArray]:
    """The images and labels of the test batch in CIFAR-10's archive (its Python version).

    The batch is a pickle, which could run any code: give no archive whose hash was not checked.
    Nothing is written to the disk.
    """
    with tarfile.open(archive, "r:gz") as opened:
        member = opened.extractfile(_MEMBER)
        assert member is not None  # it is a file, no folder
        batch = pickle.load(member, encoding="bytes")
    # Stored colour by colour, shown pixel by pixel.
    images = batch[b"data"].reshape(N_IMAGES, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(batch[b"labels"], dtype=np.int64)
