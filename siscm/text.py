"""Features of an instance that is a text: which words it uses, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

_RANK_TOLERANCE = 1e-10
"""A singular value below this share of the largest is rounding, not a direction of the texts."""


def text_features(n_components: int = 20, min_df: int = 2, random_state: int = 0) -> Pipeline:
    """Pipeline from texts to features: TF-IDF, truncated SVD, standardised.

    Fit it on training texts only: vocabulary, word weights, projection and scale all come from
    the texts that it is fitted on. Standardised features suit both a Gaussian naive Bayes
    classifier, which ignores scale, and a penalised logistic regression, which does not.

    Parameters
    ----------
    n_components
        How many features; fewer than there are texts and words.
    min_df
        Words in fewer training texts than this are left out.
    random_state
        Where the iterations of the SVD start. The result does not depend on it beyond rounding.

    Returns
    -------
    Pipeline
        Unfitted; ``fit_transform(texts)`` gives an array (n_texts, n_components). Every text
        without a known word gets the same vector, that of an empty text. Fitting raises a
        ValueError if a text is not a string, or if the texts are too few or too alike for
        ``n_components``.

    Examples
    --------
    >>> texts = ["red green", "green blue", "blue red", "red red blue"]
    >>> text_features(n_components=2).fit_transform(texts).shape
    (4, 2)
    """
    return Pipeline(
        [
            ("tfidf", WordWeights(sublinear_tf=True, min_df=min_df)),
            # ARPACK converges to machine precision, so that the numbers agree for any number of
            # threads and any order of the texts; the randomised solver stops short of that.
            ("svd", TextSVD(n_components, algorithm="arpack", random_state=random_state)),
            ("scale", StandardScaler()),
        ]
    )


def _strings(texts: Iterable[Any]) -> list[str]:
    """The texts as a list, refused if one is not a string."""
    if isinstance(texts, str):
        raise ValueError("one string was given; give a list of texts.")
    strings = list(texts)
    for position, text in enumerate(strings):
        if not isinstance(text, str):
            raise ValueError(
                f"text {position} is a {type(text).__name__}, not a string; give every instance "
                'a text ("" if it has none).'
            )
    return strings


class WordWeights(TfidfVectorizer):  # type: ignore[misc]  # scikit-learn is not typed
    """TF-IDF that says which text is not a string."""

    def fit_transform(self, raw_documents: Iterable[Any], y: None = None) -> csr_matrix:
        """Learn vocabulary and weights; return the matrix (n_texts, n_words)."""
        weights: csr_matrix = super().fit_transform(_strings(raw_documents), y)
        return weights

    def transform(self, raw_documents: Iterable[Any]) -> csr_matrix:
        """The matrix (n_texts, n_words) of other texts; unknown words are left out."""
        weights: csr_matrix = super().transform(_strings(raw_documents))
        return weights


class TextSVD(TruncatedSVD):  # type: ignore[misc]  # scikit-learn is not typed
    """Truncated SVD that refuses more components than the texts support.

    Beyond the rank of the matrix a component is made of rounding errors, which standardising
    would blow up to the size of the others.
    """

    def fit_transform(self, X: csr_matrix, y: None = None) -> npt.NDArray[np.float64]:
        """Fit on a matrix (n_texts, n_words) and project it.

        Raises
        ------
        ValueError
            If ``n_components`` is not below its shape, or above its rank.
        """
        n_texts, n_words = X.shape
        remedy = "Lower n_components or min_df, or give more texts."
        if self.n_components >= min(n_texts, n_words):
            raise ValueError(
                f"{self.n_components} components need more than that many texts and words, but "
                f"there are {n_texts} texts and {n_words} words in enough of them. {remedy}"
            )
        projected: npt.NDArray[np.float64] = super().fit_transform(X)
        rank = int((self.singular_values_ > _RANK_TOLERANCE * self.singular_values_.max()).sum())
        if rank < self.n_components:
            raise ValueError(
                f"the texts are too alike: they span {rank} dimension(s), fewer than the "
                f"{self.n_components} components asked for. {remedy}"
            )
        return projected
