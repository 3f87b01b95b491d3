"""Files in the true schemas of CIFAR-10H, CIFAR-10 and the features, filled from a twin."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from raw_table import as_csv, as_zip, cifar_archive, python2_batch

from siscm.checks import IntArray
from siscm.cifar10h.counts import label_counts
from siscm.cifar10h.raw_file import check_raw
from siscm.cifar10h.twin import Twin
from siscm.data import registry
from siscm.data.sources import COUNTS, IMAGES, RAW

Images = npt.NDArray[np.uint8]
FEATURES = "features/vgg19-dcbb9e9dad569fff-v1.npy"


def pictures(rng: np.random.Generator, n: int = 10_000) -> Images:
    """Coarse coloured patches, no two images alike, which compress well."""
    coarse = rng.integers(0, 256, (n, 4, 4, 3), dtype=np.uint8)
    return coarse.repeat(8, axis=1).repeat(8, axis=2)


def take_for_real(
    folder: Path, twin: Twin, images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put a twin's raw file, counts and images into a data folder, and register them as real."""
    raw = check_raw(twin.raw)
    published = raw[~raw["annotator"].isin(twin.truth.left_out)]
    contents = {
        RAW: as_zip(("cifar10h-raw.csv", as_csv(twin.raw))),
        IMAGES: cifar_archive(python2_batch(images, twin.image_labels)),
        COUNTS: as_npy(label_counts(published).to_numpy()),
    }
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    entries = {
        path: replace(registry.ENTRIES[path], sha256=hashlib.sha256(content).hexdigest())
        for path, content in contents.items()
    }
    monkeypatch.setattr(registry, "ENTRIES", {**registry.ENTRIES, **entries})
    monkeypatch.setenv("SISCM_DATA_DIR", str(folder))


def write_features(file: Path, images: Images, features: npt.NDArray[np.float32]) -> None:
    """Put features of these images into a cache, written without the package."""
    rows: Any = [
        (hashlib.sha256(image.tobytes()).hexdigest().encode(), row)
        for image, row in zip(images, features, strict=True)
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    np.save(file, np.array(rows, dtype=[("image", "S64"), ("features", "<f4", (512,))]))


def as_npy(array: IntArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()
