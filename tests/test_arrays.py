"""Arrays in files that are damaged, or no arrays at all: refused by name, never opened as a pickle.

Never a traceback from inside NumPy, zipfile or zlib, never an array that the archive's checksums
contradict.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from broken import ANY_FILE, assert_ours, broken
from hypothesis import given

from siscm import cifar10h, features, registry
from siscm.arrays import read_array, read_arrays

IMAGES, LABELS = np.arange(48, dtype=np.uint8).reshape(2, 2, 12), np.array([3, 4])


def npy(array: npt.NDArray[np.generic], *, objects: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=objects)
    return buffer.getvalue()


def npz(**arrays: npt.NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def holding(**members: bytes) -> bytes:
    """An archive whose members are anything."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def relabelled(archive: bytes, offset: int, value: int) -> bytes:
    """With another number in what an archive says about each member (from a local header's start).

    The same number stands two bytes further on in its table of contents.
    """
    changed = bytearray(archive)
    for mark, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        start = archive.find(mark)
        while start >= 0:
            changed[start + offset + further] = value
            start = archive.find(mark, start + 1)
    return bytes(changed)


def unreadable_stream(archive: bytes) -> bytes:
    start = archive.find(b"images.npy") + 60
    return archive[:start] + bytes(40) + archive[start + 40 :]


GOOD = npz(images=IMAGES, labels=LABELS)
HEADER = npy(IMAGES)[:128]

DAMAGED: dict[str, bytes] = {
    "nothing": b"",
    "cut off": GOOD[:-30],
    "a stream that is none": unreadable_stream(npz(images=np.arange(999), labels=LABELS)),
    "packed in an unknown way": relabelled(GOOD, 8, 99),
    "packed as bzip2, it says": relabelled(GOOD, 8, 12),
    "packed as LZMA, it says": relabelled(GOOD, 8, 14),
    "encrypted, it says": relabelled(GOOD, 6, 1),
    "an array lacking": npz(images=IMAGES),
    "objects": holding(images=npy(np.array([{}]), objects=True), labels=npy(LABELS)),
    "a member that is no array": holding(images=b"no array", labels=npy(LABELS)),
    "larger than any memory": holding(
        images=HEADER.replace(b"(2, 2, 12), }      ", b"(999999999999999),}"), labels=npy(LABELS)
    ),
    "one array": npy(IMAGES),
    "a pickle": pickle.dumps({"images": 1, "labels": 2}),
    "the start of an archive": b"PK\x03\x04" + bytes(60),
}


def test_arrays_come_back_under_their_names() -> None:
    for expected, found in zip(
        (LABELS, IMAGES), read_arrays(GOOD, "a.npz", ["labels", "images"]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(read_array(npy(IMAGES), "a.npy"), IMAGES)


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_archive_is_refused_by_name(what: str) -> None:
    with pytest.raises(ValueError, match=r"^a\.npz does not hold images and labels") as caught:
        read_arrays(DAMAGED[what], "a.npz", ["images", "labels"])
    assert_ours(caught.value, "a.npz")


@given(content=broken(GOOD, ANY_FILE))
def test_a_broken_archive_is_refused_by_name_or_read_right(content: bytes) -> None:
    try:
        images, labels = read_arrays(content, "a.npz", ["images", "labels"])
    except Exception as error:
        assert_ours(error, "a.npz")
    else:
        np.testing.assert_array_equal(images, IMAGES)
        np.testing.assert_array_equal(labels, LABELS)


@given(content=broken(npy(IMAGES), ANY_FILE))
def test_a_broken_array_is_refused_by_name_or_is_an_array(content: bytes) -> None:
    """It has no checksum: whose file it is must look at what it holds."""
    try:
        found = read_array(content, "a.npy")
    except Exception as error:
        assert_ours(error, "a.npy")
    else:
        assert not found.dtype.hasobject


@pytest.mark.parametrize("content", [GOOD, b"PK\x03\x04" + bytes(60), npy(IMAGES)[:90]])
def test_what_is_no_single_array_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^a\.npy is not a NumPy array file") as caught:
        read_array(content, "a.npy")
    assert_ours(caught.value, "a.npy")


# --- whose files they are


def kept_features() -> npt.NDArray[np.void]:
    rows = np.zeros(3, dtype=features._ROW)
    rows["image"] = [letter * 64 for letter in "abc"]
    rows["features"] = np.arange(512)
    return rows


def without_a_number(rows: npt.NDArray[np.void]) -> None:
    rows["features"][1, 7] = np.nan


def endless(rows: npt.NDArray[np.void]) -> None:
    rows["features"][2, 0] = np.inf


def twice(rows: npt.NDArray[np.void]) -> None:
    rows["image"][1] = rows["image"][0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_a_number, "a feature in it is no number"),
        (endless, "a feature in it is no number"),
        (twice, "an image stands in it twice"),
    ],
)
def test_features_that_are_none_are_not_used(
    change: Callable[[npt.NDArray[np.void]], None], reason: str, tmp_path: Path
) -> None:
    rows = kept_features()
    file = tmp_path / "kept.npy"
    file.write_bytes(npy(rows))
    assert len(features._read(file)) == 3
    change(rows)
    file.write_bytes(npy(rows))
    with pytest.raises(ValueError, match=rf"kept\.npy is not .*{reason}.*Move it away"):
        features._read(file)


@given(content=broken(npy(kept_features()), ANY_FILE))
def test_broken_features_are_refused_by_name_or_are_numbers(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "kept.npy"
    file.write_bytes(content)
    try:
        found = features._read(file)
    except Exception as error:
        assert_ours(error, "kept.npy")
    else:
        assert all(len(row) == 512 and np.isfinite(row).all() for row in found.values())


def test_a_folder_in_place_of_features_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"it is a folder.*Move it away") as caught:
        features._read(tmp_path)
    assert_ours(caught.value, str(tmp_path))


@pytest.mark.parametrize(
    "counts",
    [
        np.full((10_000, 10), 2**63 + 5, dtype=np.uint64),  # negative, if it were cast
        np.full((10_000, 10), 2**61),  # its sum would be
        np.ones((10_000, 10), dtype="m8[s]"),
    ],
)
def test_counts_that_would_become_others_are_refused(
    counts: npt.NDArray[np.generic], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "counts.npy"
    file.write_bytes(npy(counts))
    monkeypatch.setattr(registry, "locate", lambda path: file)
    with pytest.raises(ValueError, match=cifar10h.COUNTS):
        cifar10h.load_cifar10h_counts()
