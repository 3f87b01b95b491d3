"""CIFAR-10H's counts: read as they are, refused when they are anything else."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from siscm.cifar10h import counts as module
from siscm.data import registry


def install(
    content: bytes | npt.NDArray[np.generic], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make the registry expect ``content`` as the counts, and put it there."""
    if isinstance(content, np.ndarray):
        buffer = BytesIO()
        np.save(buffer, content)
        content = buffer.getvalue()
    entry = replace(registry.ENTRIES[module.COUNTS], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(registry, "ENTRIES", {entry.path: entry})
    monkeypatch.setenv("SISCM_DATA_DIR", str(folder))
    (folder / entry.path).parent.mkdir(parents=True)
    (folder / entry.path).write_bytes(content)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_counts_come_back_under_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: type[np.integer]
) -> None:
    counts: npt.NDArray[np.integer] = np.zeros((10_000, 10), dtype=dtype)
    counts[:, 3] = 50
    counts[7, 8] = 2
    install(counts, tmp_path, monkeypatch)
    table = module.load_cifar10h_counts()
    assert table.shape == (10_000, 10)
    assert table.loc[7, "ship"] == 2
    assert table["cat"].eq(50).all()
    assert table.to_numpy().dtype == np.int64
    assert table.to_numpy().sum() == 500_002
    assert list(table.columns[[0, 1, 9]]) == ["airplane", "automobile", "truck"]
    assert (table.index.name, table.columns.name) == ("image", "label")


def test_counts_that_would_have_to_be_unpickled_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(np.zeros((10_000, 10), dtype=object), tmp_path, monkeypatch)
    with pytest.raises(ValueError, match="pickle"):
        module.load_cifar10h_counts()


def test_images_in_short_integers_are_counted_where_they_are() -> None:
    raw = pd.DataFrame({"image": [6554, 9999, 9999], "chosen_label": [3, 9, 9]})
    for kind in (np.int16, np.uint16):
        counts = module.label_counts(raw.astype(kind))
        assert counts.to_numpy().sum() == 3
        assert counts.iloc[6554, 3] == 1
        assert counts.iloc[9999, 9] == 2


@pytest.mark.parametrize("wrong", [{"image": -1}, {"image": 10_000}, {"chosen_label": 12}])
def test_what_is_no_image_or_label_is_not_counted_elsewhere(wrong: dict[str, int]) -> None:
    raw = pd.DataFrame({"image": [7], "chosen_label": [2]})
    (name,) = wrong
    for table in (raw.assign(**wrong), raw.astype({name: float}), raw.astype({name: bool})):
        with pytest.raises(ValueError, match=f"column '{name}' should hold whole numbers from 0"):
            module.label_counts(table)


def test_a_missing_file_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="make data"):
        module.load_cifar10h_counts()


@pytest.mark.real_data
def test_the_published_counts() -> None:
    counts = module.load_cifar10h_counts()
    assert counts.to_numpy().sum() == 511_000 == 2_555 * 200
    assert counts.sum(axis=1).between(47, 63).all()
    assert (counts.max(axis=1) == counts.sum(axis=1)).mean() == pytest.approx(0.439, abs=5e-4)
    # CIFAR-10 has 1,000 test images a class, and people mostly see what is there.
    favourite = counts.idxmax(axis=1).value_counts()
    assert favourite.between(950, 1050).all()
