"""CIFAR-10's 10,000 test images and their labels, by image number."""

from __future__ import annotations

import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from siscm.checks import IntArray
from siscm.cifar10h.counts import N_IMAGES
from siscm.data import registry
from siscm.data.sources import IMAGES, JPEG_IMAGES

ImageArray = npt.NDArray[np.uint8]

_MEMBER = "cifar-10-batches-py/test_batch"


def load_cifar10_images() -> tuple[ImageArray, IntArray]:
    """The test images as published.

    Returns
    -------
    images : uint8 array (10,000, 32, 32, 3)
        Red, green and blue, in the order of the original test batch.
    labels : int array (10,000)
        Positions in :data:`siscm.cifar10h.counts.CLASSES`.

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

    The batch is a pickle, which could run any code; it is read by a reader that knows nothing to
    run. Nothing is written to the disk.
    """
    with tarfile.open(archive, "r:gz") as opened:
        content = opened.extractfile(_MEMBER)
        assert content is not None  # it is a file, no folder
        batch = _Reader(content, encoding="bytes").load()
    _, shape, _, by_columns, content = batch[b"data"].state
    rows = np.frombuffer(content, dtype=np.uint8).reshape(shape, order="F" if by_columns else "C")
    # Stored colour by colour, shown pixel by pixel.
    images = rows.reshape(N_IMAGES, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(batch[b"labels"], dtype=np.int64)


class _Inert:
    """Stands for a NumPy object in the pickle: remembers what it should be made of, makes none."""

    def __init__(self, *args: Any) -> None:
        """What it should be made of first."""

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    """Reads plain values and the parts of NumPy arrays; refuses every other name."""

    def find_class(self, module: str, name: str) -> type[_Inert]:
        if (module, name) in (
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
        ):
            return _Inert
        raise ValueError(f"{_MEMBER} names {module}.{name}, which a test batch does not.")
