"""From what a network sees in an image to the few numbers that describe it to a model."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler


def image_features(n_components: int = 20) -> Pipeline:
    """An image's features, reduced as in the released code: standardise, PCA, scale to [0, 1].

    Fit it on the training images alone; the images of the test are then only transformed, and
    their values may leave [0, 1]. Nothing is drawn at random: the decomposition is the full one,
    in double precision, and scikit-learn fixes the sign of each component. (The paper states
    PCA on normalized features, but neither solver nor seed.)

    Parameters
    ----------
    n_components
        How many numbers describe an image: 20 in the paper. There must be at least as many
        training images.

    Returns
    -------
    Pipeline
        Unfitted. Takes (n, 512), gives (n, n_components), an array or DataFrame as its
        ``set_output`` says.
    """
    return Pipeline(
        [
            # Features come as float32, in which the components' last digits are the machine's.
            ("double", FunctionTransformer(_to_double, feature_names_out="one-to-one")),
            ("standardise", StandardScaler()),
            ("pca", PCA(n_components=n_components, svd_solver="full")),
            ("scale", MinMaxScaler()),
        ]
    )


def _to_double(features: Any) -> Any:
    return features.astype("float64")
