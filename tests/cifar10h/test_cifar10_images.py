"""CIFAR-10's images: the published archive is read without running anything in it."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from raw_table import IMAGE_LABELS, cifar_archive, python2_batch

from siscm.checks import IntArray
from siscm.cifar10h.cifar10_images import (
    ImageArray,
    load_cifar10_images,
    load_jpeg_images,
    read_test_batch,
)
from siscm.cifar10h.counts import load_cifar10h_counts
from siscm.data import registry
from siscm.data.sources import IMAGES, JPEG_IMAGES


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


@pytest.mark.parametrize("by_columns", [False, True])
def test_the_batch_of_the_tests_is_a_true_pickle(by_columns: bool) -> None:
    """What the tests read is read the same by Python's own reader."""
    few = np.arange(2 * 3072, dtype=np.uint16).astype(np.uint8).reshape(2, 32, 32, 3)
    content = python2_batch(few, np.array([3, 8]), by_columns)
    content = content.replace(b"cnumpy.core.multiarray", b"cnumpy._core.multiarray")
    batch = pickle.loads(content, encoding="bytes")
    assert batch[b"labels"] == [3, 8]
    assert batch[b"data"].shape == (2, 3072)
    np.testing.assert_array_equal(batch[b"data"].reshape(2, 3, 32, 32).transpose(0, 2, 3, 1), few)


class Command:
    """Pickles as an order to make a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_in_the_batch_is_run(tmp_path: Path, protocol: int) -> None:
    place = tmp_path / "made"
    harmful = pickle.dumps([Command(place)], protocol=protocol)
    with pytest.raises(ValueError, match=r"test_batch names \w+\.mkdir"):
        read_test_batch(put(tmp_path, cifar_archive(harmful)))
    assert not place.exists()
    pickle.loads(harmful)  # it does harm to whoever runs it
    assert place.exists()


@pytest.mark.parametrize(
    "named", [b"cbuiltins\neval\n.", b"cnumpy\nload\n.", b"cnumpy.core.multiarray\nfrombuffer\n."]
)
def test_other_names_are_refused(tmp_path: Path, named: bytes) -> None:
    with pytest.raises(ValueError, match="which a test batch does not"):
        read_test_batch(put(tmp_path, cifar_archive(named)))


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


def test_other_images_than_the_reencoded_ones_are_refused(
    tmp_path: Path, pictures: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    jpeg(tmp_path, monkeypatch, images=pictures[:2], labels=IMAGE_LABELS[:2])
    monkeypatch.setattr(registry, "PLACED_BY_HAND", {JPEG_IMAGES: "0" * 64})
    with pytest.raises(ValueError, match=r"cifar10_test_jpeg\.npz"):
        load_jpeg_images()


def test_nothing_among_the_reencoded_images_is_run(
    tmp_path: Path, pictures: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmful = np.array([Command(tmp_path / "made")], dtype=object)
    jpeg(tmp_path, monkeypatch, images=pictures[:1], labels=harmful)
    with pytest.raises(ValueError, match="pickle"):
        load_jpeg_images()
    assert not (tmp_path / "made").exists()


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
