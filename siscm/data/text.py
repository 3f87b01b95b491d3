"""Features of an instance that is a text: which words it uses, in a few numbers."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

_RANK_TOLERANCE = 1e-10
"""A singular value below this share of the largest is rounding, not a direction of the texts."""


class _SVD(TruncatedSVD):  # type: ignore[misc] # scikit-learn has no types
    """Truncated SVD that refuses directions made of rounding, which scaling would blow up."""

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        projected, values = super().fit_transform(X), self.singular_values_
        rank = int((values > _RANK_TOLERANCE * values.max()).sum())
        if rank < self.n_components:
            raise ValueError(
                f"the texts are too alike: they span {rank} dimension(s), fewer than the "
                f"{self.n_components} components asked for. Lower n_components."
            )
        return projected


def text_features(n_components: int = 20) -> Pipeline:
    """Pipeline from texts to features: TF-IDF, truncated SVD, standardised.

    Fit it on training texts only: vocabulary, word weights, projection and scale all come from
    the texts that it is fitted on. Standardised features suit both a Gaussian naive Bayes
    classifier, which ignores scale, and a penalised logistic regression, which does not.

    Parameters
    ----------
    n_components
        How many features; fewer than there are texts and words.

    Returns
    -------
    Pipeline
        Unfitted; ``fit_transform(texts)`` gives an array (n_texts, n_components). Words in
        one training text only are left out. Every text without a known word gets the same
        vector, that of an empty text. Fitting raises a ValueError if the texts are too alike for
        ``n_components``.

    Examples
    --------
    >>> from siscm.data.text import text_features
    >>> texts = ["red green", "green blue", "blue red", "red red blue"]
    >>> text_features(n_components=2).fit_transform(texts).shape
    (4, 2)
    """
    return Pipeline(
        [
            ("tfidf", TfidfVectorizer(sublinear_tf=True, min_df=2)),
            # ARPACK converges to machine precision, so that the numbers agree for any number of
            # threads and any order of the texts; the randomised solver stops short of that.
            ("svd", _SVD(n_components, algorithm="arpack", random_state=0)),
            ("scale", StandardScaler()),
        ]
    )
