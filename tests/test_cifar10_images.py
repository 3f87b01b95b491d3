"""CIFAR-10's images: the published archive is read without running anything in it."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import tarfile
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

MEMBER = "cifar-10-batches-py/test_batch"


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


def test_the_batch_of_the_tests_is_a_true_pickle() -> None:
    """What the tests read is read the same by Python's own reader."""
    few = np.arange(2 * 3072, dtype=np.uint16).astype(np.uint8).reshape(2, 32, 32, 3)
    content = python2_batch(few, np.array([3, 8]))
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
    with pytest.raises(ValueError, match=r"test_batch cannot be read safely: it names \w+\.mkdir"):
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


def test_a_huge_array_is_never_made(tmp_path: Path, batch: bytes) -> None:
    """The pickle's own size is only compared, whatever it claims."""
    claim = batch.replace(b"J" + (10_000).to_bytes(4, "little"), b"J\xff\xff\xff\x7f", 1)
    assert claim != batch
    with pytest.raises(ValueError, match="should be 10000 rows of 3072 bytes, and are not"):
        read_test_batch(put(tmp_path, cifar_archive(claim)))


def few(pictures: np.ndarray) -> bytes:
    return python2_batch(pictures[:9_999], IMAGE_LABELS)


def other_numbers(pictures: np.ndarray) -> bytes:
    return python2_batch(pictures, IMAGE_LABELS, dtype=b"i1")


def few_labels(pictures: np.ndarray) -> bytes:
    return python2_batch(pictures, IMAGE_LABELS[:-1])


def eleven_labels(pictures: np.ndarray) -> bytes:
    return python2_batch(pictures, np.where(IMAGE_LABELS == 9, 10, IMAGE_LABELS))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (few, "10000 rows of 3072 bytes"),
        (other_numbers, "10000 rows of 3072 bytes"),
        (few_labels, "should hold 10000 labels from 0 to 9"),
        (eleven_labels, "should hold 10000 labels from 0 to 9"),
        (lambda _: pickle.dumps({b"data": b"", b"labels": []}), "10000 rows of 3072 bytes"),
        (lambda _: pickle.dumps({b"data": b""}), "does not hold data and labels"),
        (lambda _: pickle.dumps([1, 2]), "does not hold data and labels"),
        (lambda _: b"", "cannot be read safely"),
        (lambda _: b"nonsense", "cannot be read safely"),
    ],
)
def test_other_content_is_refused(
    tmp_path: Path, pictures: np.ndarray, make: object, words: str
) -> None:
    file = put(tmp_path, cifar_archive(make(pictures)))
    with pytest.raises(ValueError, match=words) as caught:
        read_test_batch(file)
    assert str(file) in str(caught.value)


def test_labels_that_are_no_list_of_numbers_are_refused(tmp_path: Path, batch: bytes) -> None:
    text = batch.replace(b"](J\x00\x00\x00\x00" + b"", b"](U\x04\x00\x00\x00\x00", 1)
    if text == batch:
        first = int(IMAGE_LABELS[0]).to_bytes(4, "little")
        text = batch.replace(b"](J" + first, b"](U\x04abcd", 1)
    assert text != batch
    with pytest.raises(ValueError, match="should be a list of whole numbers"):
        read_test_batch(put(tmp_path, cifar_archive(text)))


@pytest.mark.parametrize(
    ("cut", "words"),
    [(0, "not an archive that can be read"), (60, "not an archive that can be read")],
)
def test_a_cut_off_archive_is_refused(tmp_path: Path, batch: bytes, cut: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_test_batch(put(tmp_path, cifar_archive(batch)[:cut]))


def test_an_archive_without_the_batch_is_refused(tmp_path: Path) -> None:
    for name in ("test_batch", f"../{MEMBER}", f"/{MEMBER}", "cifar-10-batches-py/data_batch_1"):
        with pytest.raises(ValueError, match=f"has no member {MEMBER}"):
            read_test_batch(put(tmp_path, cifar_archive(b"", name)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_a_link_in_place_of_the_batch_is_refused(tmp_path: Path, kind: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo(MEMBER)
        info.type, info.linkname = kind, "/etc/hostname"
        archive.addfile(info)
    with pytest.raises(ValueError, match="should be a file of at most 64,000,000 bytes"):
        read_test_batch(put(tmp_path, buffer.getvalue()))


def test_a_batch_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="should be a file of at most 64,000,000 bytes"):
        read_test_batch(put(tmp_path, cifar_archive(bytes(64_000_001))))


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


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"images": np.zeros(3)}, "does not hold images and labels"),
        ({"images": np.zeros(3), "labels": IMAGE_LABELS}, r"images float64 of shape \(3,\)"),
        (
            {"images": np.zeros((10_000, 32, 32, 3), np.uint8), "labels": IMAGE_LABELS[1:]},
            "should hold 10000 labels from 0 to 9",
        ),
        (
            {"images": np.zeros((10_000, 32, 32, 3), np.uint8), "labels": IMAGE_LABELS / 2},
            "should hold 10000 labels from 0 to 9",
        ),
        (
            {"images": np.array([{}]), "labels": IMAGE_LABELS},
            "does not hold images and labels: .*allow_pickle",
        ),
    ],
)
def test_other_arrays_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrays: dict[str, np.ndarray], words: str
) -> None:
    jpeg(tmp_path, monkeypatch, **arrays)
    with pytest.raises(ValueError, match=words):
        load_jpeg_images()


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
