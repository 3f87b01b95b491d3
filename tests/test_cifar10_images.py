"""CIFAR-10's images: every pixel and label of the archive, in its place."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from raw_table import IMAGE_LABELS, cifar_archive, python2_batch

from siscm import registry
from siscm.checks import IntArray
from siscm.cifar10_images import (
    ImageArray,
    load_cifar10_images,
    load_jpeg_images,
    read_test_batch,
)
from siscm.cifar10h import load_cifar10h_counts
from siscm.sources import IMAGES, JPEG_IMAGES


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    """Images that compress well, no two alike, no symmetry between axes or colours."""
    i, row, column, colour = np.ogrid[:10_000, :32, :32, :3]
    return ((i % 251) + (i // 251) * (row == 0) + 2 * row + 5 * column + 70 * colour).astype(
        np.uint8
    )


@pytest.fixture(scope="module")
def batch(pictures: np.ndarray) -> bytes:
    return python2_batch(pictures, IMAGE_LABELS)


def put(folder: Path, content: bytes) -> Path:
    file = folder / "cifar.tar.gz"
    file.write_bytes(content)
    return file


def test_images_and_labels_come_back(
    tmp_path: Path, pictures: np.ndarray, batch: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = cifar_archive(batch)
    entry = replace(registry.ENTRIES[IMAGES], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(registry, "ENTRIES", {IMAGES: entry})
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="make data"):
        load_cifar10_images()
    (tmp_path / IMAGES).parent.mkdir()
    (tmp_path / IMAGES).write_bytes(content)
    images, labels = load_cifar10_images()
    assert images.dtype == np.uint8
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(images, pictures)
    np.testing.assert_array_equal(labels, IMAGE_LABELS)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == ["cifar10", IMAGES]


def test_pixels_that_lie_column_by_column_come_back(tmp_path: Path, pictures: np.ndarray) -> None:
    archive = cifar_archive(python2_batch(pictures, IMAGE_LABELS, by_columns=True))
    np.testing.assert_array_equal(read_test_batch(put(tmp_path, archive))[0], pictures)


def jpeg(folder: Path, monkeypatch: pytest.MonkeyPatch, **arrays: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    sha256 = hashlib.sha256(buffer.getvalue()).hexdigest()
    monkeypatch.setattr(registry, "PLACED_BY_HAND", {JPEG_IMAGES: sha256})
    monkeypatch.setenv("SISCM_DATA_DIR", str(folder))
    (folder / JPEG_IMAGES).parent.mkdir()
    (folder / JPEG_IMAGES).write_bytes(buffer.getvalue())


def test_reencoded_images_come_back(
    tmp_path: Path, pictures: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    jpeg(tmp_path, monkeypatch, images=pictures, labels=IMAGE_LABELS.astype(np.int8))
    images, labels = load_jpeg_images()
    np.testing.assert_array_equal(images, pictures)
    np.testing.assert_array_equal(labels, IMAGE_LABELS)
    assert labels.dtype == np.int64


@pytest.mark.real_data
def test_images_and_counts_are_in_the_same_order(
    real_images: tuple[ImageArray, IntArray],
) -> None:
    images, labels = real_images
    favourite = load_cifar10h_counts().to_numpy().argmax(axis=1)
    agree = (favourite == labels).mean()
    assert agree > 0.99
    assert (favourite == np.roll(labels, 1)).mean() < 0.2, "any order would do"
    np.testing.assert_array_equal(np.bincount(labels), np.full(10, 1000))
    assert images.std() > 50
    # Blue skies and water: colours are red, green, blue, and images belong to their labels.
    blue, red = (images[labels == 0, ..., c].mean() for c in (2, 0))
    assert blue > red + 10
