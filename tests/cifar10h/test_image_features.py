"""The reduction of features: what its steps do, learnt from the training images alone."""

from __future__ import annotations

import pickle

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from siscm.cifar10h.image_features import image_features

FloatArray = npt.NDArray[np.float64]


@pytest.fixture
def features() -> npt.NDArray[np.float32]:
    """300 images in 64 numbers, most of which a few directions explain, on different scales."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(300, 30)) * np.geomspace(5, 0.5, 30)
    mixed = hidden @ rng.normal(size=(30, 64)) + rng.normal(size=(300, 64))
    return (mixed * rng.uniform(0.1, 10, size=64)).astype(np.float32)


def by_hand(train: FloatArray, rows: FloatArray, n_components: int) -> FloatArray:
    """The same steps from their definitions, through the covariance's eigenvectors."""
    mean, std = train.mean(axis=0), train.std(axis=0)
    standard = (train - mean) / std
    _, vectors = np.linalg.eigh(standard.T @ standard)
    axes = vectors[:, ::-1][:, :n_components]
    low, high = (standard @ axes).min(axis=0), (standard @ axes).max(axis=0)
    return (((rows - mean) / std) @ axes - low) / (high - low)


def test_it_is_standardising_then_components_then_the_unit_interval(
    features: npt.NDArray[np.float32],
) -> None:
    train, test = features[:200], features[200:]
    pipeline = image_features(7).fit(train)
    found = pipeline.transform(test)
    expected = by_hand(train.astype(np.float64), test.astype(np.float64), 7)
    # An eigenvector has no sign; the other one mirrors the unit interval.
    mirrored = np.abs(found - expected).max(axis=0) > 1e-6
    np.testing.assert_allclose(np.where(mirrored, 1 - expected, expected), found, rtol=0, atol=1e-9)
    assert found.dtype == np.float64


def test_the_paper_has_twenty_components(features: npt.NDArray[np.float32]) -> None:
    assert image_features().fit_transform(features).shape == (300, 20)


def test_only_training_images_shape_it(features: npt.NDArray[np.float32]) -> None:
    train, test = features[:200], features[200:]
    pipeline = image_features().fit(train)
    seen, before = pipeline.transform(train), pipeline.transform(test)
    assert np.isclose(seen.min(axis=0), 0).all()
    assert np.isclose(seen.max(axis=0), 1).all()

    pipeline.transform(test * 100 - 7)
    np.testing.assert_array_equal(pipeline.transform(test), before)
    np.testing.assert_array_equal(pipeline.transform(train), seen)
    np.testing.assert_allclose(pipeline.transform(test[3:4])[0], before[3], rtol=0, atol=1e-12)


def test_other_images_may_leave_the_unit_interval(features: npt.NDArray[np.float32]) -> None:
    """The training images pushed from their mean, to twice as far: ranges double about it."""
    train = features[:200].astype(np.float64)
    pipeline = image_features().fit(train)
    centre, found = (
        pipeline.transform(train).mean(axis=0),
        pipeline.transform(2 * train - train.mean(axis=0)),
    )
    np.testing.assert_allclose(found.min(axis=0), -centre, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.max(axis=0), 2 - centre, rtol=0, atol=1e-9)


def test_fitting_again_gives_the_same_signs_included(features: npt.NDArray[np.float32]) -> None:
    fitted = image_features().fit(features)
    first = fitted.transform(features)
    np.testing.assert_array_equal(image_features().fit(features).transform(features), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(features), first)


def test_a_feature_that_never_varies_does_no_harm(features: npt.NDArray[np.float32]) -> None:
    features[:, 5] = 3.0
    assert np.isfinite(image_features().fit_transform(features)).all()


def test_a_table_keeps_its_index(features: npt.NDArray[np.float32]) -> None:
    table = pd.DataFrame(features, index=pd.RangeIndex(1000, 1300, name="image"))
    table.columns = [f"vgg{column}" for column in table.columns]
    reduced = image_features().set_output(transform="pandas").fit(table).transform(table)
    assert isinstance(reduced, pd.DataFrame)
    pd.testing.assert_index_equal(reduced.index, table.index)
    np.testing.assert_allclose(
        reduced.to_numpy(), image_features().fit_transform(features), rtol=0, atol=1e-9
    )


def test_too_few_images_are_refused(features: npt.NDArray[np.float32]) -> None:
    with pytest.raises(ValueError, match="n_components=20"):
        image_features().fit(features[:19])
