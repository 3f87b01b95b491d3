"""The twin and the real files, through one pipeline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from siscm import Opinions
from siscm.cifar10h import pipeline
from siscm.cifar10h.counts import label_counts
from siscm.cifar10h.features import cache_file
from siscm.cifar10h.image_features import image_features
from siscm.cifar10h.image_sets import hidden_sets
from siscm.cifar10h.left_out import find_left_out
from siscm.cifar10h.pipeline import (
    TWIN_SEED,
    Cifar10H,
    describe,
    experiment_kind,
    load_cifar10h,
    prepare,
)
from siscm.cifar10h.preprocessing import Preprocessed
from siscm.cifar10h.raw_file import check_raw
from siscm.cifar10h.twin import simulate_cifar10h
from siscm.compendium.pages import expected
from siscm.data.sources import RAW


def test_real_files_are_used_where_asked_for_and_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SISCM_DATA", "real")
    assert experiment_kind() == "twin"
    (tmp_path / RAW).parent.mkdir()
    (tmp_path / RAW).touch()
    assert experiment_kind() == "twin"  # `make data` alone: no features yet
    cache_file().parent.mkdir()
    cache_file().touch()
    assert experiment_kind() == "real"
    (tmp_path / RAW).unlink()
    assert experiment_kind() == "twin"  # features alone: no opinions
    (tmp_path / RAW).touch()
    monkeypatch.setenv("SISCM_DATA", "simulated")
    assert experiment_kind() == "twin"


def test_the_twin_of_the_book_is_the_recorded_one() -> None:
    assert expected("cifar10h")["twin"]["seed"] == TWIN_SEED


def test_a_wrong_raw_file_is_an_error_not_a_twin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SISCM_DATA", "real")
    (tmp_path / RAW).parent.mkdir()
    (tmp_path / RAW).touch()
    cache_file().parent.mkdir()
    cache_file().touch()
    with pytest.raises(FileNotFoundError, match="cifar-10-python"):
        load_cifar10h()


def test_what_the_published_file_repeats_is_there_once_and_as_a_row_each_time(
    twin: Cifar10H, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that writes to stderr stops the build; pytest turns any warning into an error."""
    table = simulate_cifar10h(np.random.default_rng(TWIN_SEED))
    repeating, again = repeat(table.raw, annotator=2000)
    opened = []

    def images() -> tuple[np.ndarray, np.ndarray]:
        opened.append("images")
        return np.empty(0), table.image_labels

    def opinions(image_labels: np.ndarray) -> pd.DataFrame:
        assert image_labels is table.image_labels, "of the image file, so that its order is checked"
        return check_raw(repeating, image_labels=image_labels, complete=True)

    monkeypatch.setattr(pipeline, "load_cifar10_images", images)
    monkeypatch.setattr(pipeline, "load_cifar10h_counts", lambda: twin.counts)
    monkeypatch.setattr(pipeline, "load_cifar10h_raw", opinions)
    real = load_cifar10h("real")
    assert opened == ["images"], "once"
    assert (len(real.rows), len(real.raw)) == (514_200, 514_199)
    assert real.rows.duplicated().sum() == 1
    assert not real.raw.duplicated().any()
    assert real.raw.index.equals(pd.RangeIndex(514_199))
    hers = real.rows[real.rows["annotator"] == 2000]
    assert (hers["image"] == again).sum() == 2
    # She is no counterexample to sets, and what the counts lack is found as without her repeat.
    assert twin.truth is not None
    left_out = twin.truth.left_out
    assert 2000 not in left_out
    counts = label_counts(real.rows[~real.rows["annotator"].isin(left_out)])
    found = find_left_out(real.rows, counts)
    assert found.explained
    assert found.certain == left_out
    sets = hidden_sets(real.rows)
    assert sets.verdict() == hidden_sets(twin.rows).verdict()
    assert sets.set_of == hidden_sets(twin.rows).set_of


def test_real_features_are_those_of_the_real_images(
    twin: Cifar10H, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = np.arange(10_000)
    monkeypatch.setattr(pipeline, "load_cifar10_images", lambda: (images, np.empty(0)))
    monkeypatch.setattr(pipeline, "load_cifar10h_counts", lambda: twin.counts)
    monkeypatch.setattr(pipeline, "load_cifar10h_raw", lambda labels: twin.rows)
    monkeypatch.setattr(pipeline, "extract_features", lambda images, wanted: 2 * images[wanted])
    monkeypatch.setattr(pipeline, "missing_features", lambda images, wanted: images[wanted][1:])
    real = load_cifar10h("real")
    assert real.features(np.array([7, 3])).tolist() == [14, 6]
    assert real.missing(np.array([7, 3])).tolist() == [3]
    assert real.truth is None


def repeat(raw: pd.DataFrame, annotator: int) -> tuple[pd.DataFrame, int]:
    """A raw table in which she saw her first image again instead of her second; and which it is."""
    mine = np.flatnonzero((raw["annotator_id"] == annotator) & (raw["is_attn_check"] == 0))
    rows = np.arange(len(raw))
    rows[mine[1]] = mine[0]
    return raw.iloc[rows].reset_index(drop=True), int(raw["cifar10_test_test_idx"].iloc[mine[0]])


def test_the_twins_counts_leave_out_whole_annotators(twin: Cifar10H) -> None:
    assert twin.truth is not None
    left_out = twin.raw[twin.raw["annotator"].isin(twin.truth.left_out)]
    assert len(left_out) == 16 * 200
    assert twin.counts.to_numpy().sum() == 511_000
    assert (label_counts(twin.raw) - twin.counts).equals(label_counts(left_out))
    assert set(twin.truth.careless) < set(twin.truth.left_out)


def test_label_counts_count_one_by_one(twin: Cifar10H) -> None:
    few = twin.raw.head(3000)
    counts = label_counts(few)
    one_by_one = np.zeros((10_000, 10), dtype=int)
    for image, label in zip(few["image"], few["chosen_label"], strict=True):
        one_by_one[image, label] += 1
    np.testing.assert_array_equal(counts, one_by_one)


def test_features_are_scaled_on_training_images(twin: Cifar10H) -> None:
    done = prepare(replace(twin, rows=twin.rows.head(0)))  # each opinion counts once
    assert done.X_train.shape == (len(done.train.instances), 20)
    assert done.X_test.index.equals(done.test.instances)
    np.testing.assert_allclose(
        [done.X_train.min(), done.X_train.max()], [[0] * 20, [1] * 20], atol=1e-12
    )
    assert done.X_test.to_numpy().max() > 1 or done.X_test.to_numpy().min() < 0
    assert len(twin.missing(done.train.instances.to_numpy())) == 0


def test_images_are_described_by_another_pipeline_if_there_is_one(twin: Cifar10H) -> None:
    said = Opinions.from_codes(np.zeros((30, 2), dtype=int))
    done = Preprocessed(said.select(range(20)), said.select(range(20, 30)), pd.DataFrame())
    found = describe(twin, done, image_features(3).set_params(scale="passthrough"))
    assert (found.X_train.shape, found.X_test.shape) == ((20, 3), (10, 3))
    np.testing.assert_allclose(found.X_train.mean(), 0, atol=1e-9)
    assert found.X_train.index.equals(done.train.instances)


def test_prepare_passes_choices_on(twin: Cifar10H) -> None:
    other = prepare(twin, seed=1)
    assert not other.train.instances.equals(prepare(twin).train.instances)
