"""CIFAR-10's 10,000 test images and their labels, by image number."""

from __future__ import annotations

import pickle
import tarfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from siscm import registry
from siscm.arrays import read_arrays
from siscm.checks import IntArray
from siscm.cifar10h import CLASSES, N_IMAGES
from siscm.sources import IMAGES, JPEG_IMAGES

ImageArray = npt.NDArray[np.uint8]

_SHAPE = (32, 32, 3)
_BYTES = 32 * 32 * 3
_MEMBER = "cifar-10-batches-py/test_batch"
_LARGEST = 64_000_000
"""Bytes of the test batch that are still read; the real one has half of them."""


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
        If it is not the file expected, or does not hold such images.
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
    content = registry.locate(JPEG_IMAGES).read_bytes()
    images, labels = read_arrays(content, JPEG_IMAGES, ["images", "labels"])
    if images.shape != (N_IMAGES, *_SHAPE) or images.dtype != np.uint8:
        raise ValueError(f"{JPEG_IMAGES} holds images {images.dtype} of shape {images.shape}.")
    return images, _checked_labels(labels, JPEG_IMAGES)


def read_test_batch(archive: Path) -> tuple[ImageArray, IntArray]:
    """The images and labels of the test batch in CIFAR-10's archive (its Python version).

    The batch is a pickle, which could run any code; it is read by a reader that knows nothing to
    run. Nothing is written to the disk.

    Raises
    ------
    ValueError
        If the archive cannot be read, has no test batch, or that is not as documented.
    """
    content = _member(archive)
    try:
        batch = _Reader(BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle raises nearly anything
        raise ValueError(f"{archive}: {_MEMBER} cannot be read safely: {error}") from None
    if not isinstance(batch, dict) or not {b"data", b"labels"} <= batch.keys():
        raise ValueError(f"{archive}: {_MEMBER} does not hold data and labels.")
    pixels = _pixels(batch[b"data"])
    if pixels is None:
        raise ValueError(
            f"{archive}: the data of {_MEMBER} should be {N_IMAGES} rows of "
            f"{_BYTES} bytes, and are not."
        )
    labels = batch[b"labels"]
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise ValueError(f"{archive}: the labels of {_MEMBER} should be a list of whole numbers.")
    # Stored colour by colour, shown pixel by pixel.
    planes = np.frombuffer(pixels, dtype=np.uint8).reshape(N_IMAGES, 3, 32, 32)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return images, _checked_labels(np.array(labels, dtype=object), str(archive))


def _member(archive: Path) -> bytes:
    try:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                if member.name != _MEMBER:
                    continue
                if not member.isreg() or member.size > _LARGEST:
                    raise ValueError(
                        f"{archive}: {_MEMBER} should be a file of at most {_LARGEST:,} bytes."
                    )
                opened_member = opened.extractfile(member)
                assert opened_member is not None  # it is a regular file
                return opened_member.read()
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise ValueError(f"{archive} is not an archive that can be read: {error}") from None
    raise ValueError(f"{archive} has no member {_MEMBER}.")


class _Inert:
    """Stands for a NumPy object in the pickle: remembers what it should be made of, makes none."""

    args: tuple[Any, ...] = ()
    state: Any = None

    def __init__(self, *args: Any) -> None:
        self.args = args

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
        raise pickle.UnpicklingError(f"it names {module}.{name}, which a test batch does not")


def _pixels(array: object) -> bytes | None:
    """The bytes of a pickled array (10,000, 3,072) of uint8 in rows, or None if it is another."""
    match array:
        case _Inert(
            state=(int(), shape, _Inert(args=(b"u1", *_)), False | 0, bytes() as pixels)
        ) if shape == (N_IMAGES, _BYTES) and len(pixels) == N_IMAGES * _BYTES:
            return pixels
    return None


def _checked_labels(labels: npt.NDArray[Any], name: str) -> IntArray:
    right = labels.shape == (N_IMAGES,) and labels.dtype.kind in "iuO"
    if not right or not all(0 <= label < len(CLASSES) for label in labels):
        raise ValueError(
            f"{name} should hold {N_IMAGES} labels from 0 to {len(CLASSES) - 1}, and does not."
        )
    return labels.astype(np.int64)
