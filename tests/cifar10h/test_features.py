"""What features do without torch: kept ones are read, missing ones say what to install.

Extraction itself is tested in tests/features (`make test-features`).
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rehearsal import FEATURES, write_features

from siscm.cifar10h import features as module
from siscm.cifar10h import vgg19
from siscm.cifar10h.features import cache_file, extract_features, missing_features
from siscm.data import registry

Images = npt.NDArray[np.uint8]


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))


@pytest.fixture(autouse=True)
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torchvision", "torchvision.models"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def images() -> Images:
    return np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)


def keep(images: Images) -> npt.NDArray[np.float32]:
    """Put made-up features of these images into the cache."""
    features = np.random.default_rng(1).random((len(images), 512), dtype=np.float32)
    write_features(registry.data_folder() / FEATURES, images, features)
    return features


def test_kept_features_are_read_without_torch_in_the_order_asked_for(
    images: Images, tmp_path: Path
) -> None:
    features = keep(images[:5])
    found = extract_features(images, [4, 0, 4])
    np.testing.assert_array_equal(found, features[[4, 0, 4]])
    assert found.dtype == np.float32
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / FEATURES]


def test_a_mask_or_a_place_from_the_end_says_which_images(images: Images) -> None:
    features = keep(images)
    for indices, places in ((np.arange(6) > 3, [4, 5]), ([-1, 0], [5, 0])):
        found = extract_features(images, indices)
        np.testing.assert_array_equal(found, features[places])


def test_another_preparation_of_images_has_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_file() == tmp_path / "features/vgg19-dcbb9e9dad569fff-v1.npy"
    monkeypatch.setattr(module, "TRANSFORM_VERSION", 2)
    assert cache_file() == tmp_path / "features/vgg19-dcbb9e9dad569fff-v2.npy"


class Command:
    """Pickles as an order to make a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.place),)


def test_nothing_in_a_cache_is_run(images: Images, tmp_path: Path) -> None:
    file, place = tmp_path / FEATURES, tmp_path / "made"
    file.parent.mkdir()
    np.save(file, np.array([Command(place)], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="is not a file of features"):
        extract_features(images, [0])
    assert not place.exists()


def test_they_go_with_the_image_not_with_its_number(images: Images) -> None:
    features = keep(images)
    found = extract_features(images[::-1], [0, 1])
    np.testing.assert_array_equal(found, features[[5, 4]])
    changed = images.copy()
    changed[2, 31, 31, 2] ^= 1
    with pytest.raises(ImportError):
        extract_features(changed, [2])


def test_they_go_with_the_weights(images: Images, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights' file is not needed any more; its hash is the registry's."""
    features = keep(images)
    np.testing.assert_array_equal(extract_features(images, range(6)), features)
    assert missing_features(images, range(6)).tolist() == []
    entry = registry.ENTRIES[vgg19.WEIGHTS]
    other = replace(entry, sha256="0" * 64)
    monkeypatch.setattr(registry, "ENTRIES", {entry.path: other})
    with pytest.raises(ImportError):
        extract_features(images, [0])
    assert missing_features(images, range(6)).tolist() == list(range(6))


def test_without_torch_a_missing_image_says_what_to_install(images: Images, tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"needs torch.*`make reproduce`.*siscm\[features\]"):
        extract_features(images, [0])
    assert list(tmp_path.iterdir()) == []


def test_missing_are_those_asked_for_that_are_not_kept(images: Images, tmp_path: Path) -> None:
    def missing(indices: Any, images: Images = images) -> list[int]:
        found = missing_features(images, indices)
        assert found.dtype == np.int64
        return found.tolist()

    assert missing([5, 0, 5]) == [0, 5]
    assert list(tmp_path.iterdir()) == [], "looking writes nothing"
    keep(images[1:4])
    assert missing([5, 1, 0, 3]) == [0, 5]
    assert missing([3, 1, 1]) == []
    assert missing([]) == []
    assert missing(range(6), images[::-1]) == [0, 1, 5], "by the image, not by its number"
    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        missing([6])
    assert missing(np.arange(6) > 4) == [5], "a mask says which, not 0 and 1"
    with pytest.raises(ValueError, match=r"float64 of shape"):
        missing([0], images.astype(float))


def test_no_image_is_no_work(images: Images) -> None:
    assert extract_features(images, []).shape == (0, 512)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.zeros((2, 32, 32, 3)), r"float64 of shape \(2, 32, 32, 3\)"),
        (np.zeros((2, 3, 32, 32), dtype=np.uint8), r"\(2, 3, 32, 32\)"),
        (np.zeros((32, 32, 3), dtype=np.uint8), r"\(32, 32, 3\)"),
    ],
)
def test_other_images_are_refused(wrong: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        extract_features(wrong, [0])


def test_other_weights_are_refused() -> None:
    wrong: Any = "vgg19.pth"
    with pytest.raises(ValueError, match=r"'vgg19\.pth'; it must be 'imagenet' or 'random'"):
        vgg19.load_network(wrong)


def test_older_torch_has_one_switch_for_tf32() -> None:
    """What torch 2.5 to 2.8 offer; the newer ones run in tests/features."""
    cudnn = SimpleNamespace(benchmark=True, deterministic=False, allow_tf32=True)
    old = SimpleNamespace(backends=SimpleNamespace(cudnn=cudnn, mkldnn=SimpleNamespace()))
    before = dict(vars(cudnn))
    with vgg19._full_precision(old):
        assert vars(cudnn) == {"benchmark": False, "deterministic": True, "allow_tf32": False}
    assert vars(cudnn) == before


@pytest.mark.parametrize("content", ["", "text", "truncated", "array", "pickle", "npz"])
def test_a_cache_that_is_something_else_is_refused_and_left(
    content: str, images: Images, tmp_path: Path
) -> None:
    file = tmp_path / FEATURES
    keep(images)
    whole = file.read_bytes()
    if content == "array":
        np.save(file, np.zeros((6, 512), dtype=np.float32))
    elif content == "pickle":
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    elif content == "npz":
        with file.open("wb") as stream:
            np.savez(stream, a=np.zeros(3))
    else:
        file.write_bytes({"": b"", "text": b"a,b\n", "truncated": whole[:-5]}[content])
    before = file.read_bytes()
    with pytest.raises(ValueError, match=r"vgg19-\w{16}-v1\.npy is not a file of features"):
        extract_features(images, [0])
    assert file.read_bytes() == before
