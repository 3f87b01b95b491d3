"""Text features: from training texts only, the same everywhere, clear about bad input."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siscm.data.text import text_features

SCRIPT = """
import sys
import numpy as np
from siscm.data.text import text_features
rng = np.random.default_rng(0)
weights = 1 / np.arange(1, 801)
words = rng.choice(800, size=(600, 15), p=weights / weights.sum())
texts = [" ".join(f"w{word:04d}" for word in row) for row in words]
order = rng.permutation(600) if sys.argv[1] == "shuffled" else np.arange(600)
features = np.empty((600, 20))
features[order] = text_features().fit_transform([texts[i] for i in order])
sys.stdout.buffer.write(features.tobytes())
"""


def random_texts(n: int, seed: int = 0, n_words: int = 60) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{word:02d}" for word in row) for row in rng.integers(n_words, size=(n, 12))]


def in_fresh_process(order: str, threads: str, hash_seed: str) -> npt.NDArray[np.float64]:
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": threads,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "PYTHONHASHSEED": hash_seed,
    }
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT, order], env=environment, capture_output=True, check=True
    ).stdout
    return np.frombuffer(out).reshape(600, 20)


@pytest.mark.slow
def test_same_numbers_for_any_threads_hash_seed_and_order() -> None:
    first = in_fresh_process("as given", "1", "1")
    assert np.abs(first).max() > 1
    for other in (in_fresh_process("as given", "4", "2"), in_fresh_process("shuffled", "2", "3")):
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-10)


def test_training_features_are_standardised() -> None:
    features = text_features(5).fit_transform(random_texts(200))
    assert features.shape == (200, 5)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1, atol=1e-12)


def test_projection_is_the_best_one() -> None:
    # Independent computation: a dense SVD of the same TF-IDF matrix.
    pipeline = text_features(5).fit(random_texts(100))
    tfidf = pipeline["tfidf"].transform(random_texts(100)).toarray()
    singular = np.linalg.svd(tfidf, compute_uv=False)[:5]
    np.testing.assert_allclose(pipeline["svd"].singular_values_, singular, rtol=1e-10)
    # The signs are fixed: the largest loading of each component is positive.
    loadings = pipeline["svd"].components_
    assert (loadings[np.arange(5), np.abs(loadings).argmax(axis=1)] > 0).all()


def test_vocabulary_and_projection_come_from_the_training_texts_only() -> None:
    train, test = random_texts(100), ["w00 w01 new new2", "new new2 new"]
    pipeline = text_features(5).fit(train)
    vocabulary = dict(pipeline["tfidf"].vocabulary_)
    components = pipeline["svd"].components_.copy()
    together = pipeline.transform(test)
    assert set(vocabulary) == {f"w{i:02d}" for i in range(60)}
    assert pipeline["tfidf"].vocabulary_ == vocabulary
    np.testing.assert_array_equal(pipeline["svd"].components_, components)
    # A test text's features depend on no other test text, and not on words unseen in training.
    np.testing.assert_allclose(pipeline.transform(test[:1])[0], together[0], atol=1e-14)
    np.testing.assert_allclose(pipeline.transform(["w00 w01"])[0], together[0], atol=1e-14)
    # Words in one training text only are not learnt either.
    rare = text_features(5).fit([*train, "rare w00"])
    assert "rare" not in rare["tfidf"].vocabulary_


def test_texts_without_a_known_word_are_like_an_empty_one() -> None:
    pipeline = text_features(5).fit(random_texts(100))
    features = pipeline.transform(["", "unknown words", "!?", "\n"])
    assert np.isfinite(features).all()
    assert (features == features[0]).all()


def test_a_series_gives_what_a_list_gives() -> None:
    texts = random_texts(50)
    as_series = text_features(3).fit_transform(pd.Series(texts, index=range(7, 57)))
    np.testing.assert_array_equal(as_series, text_features(3).fit_transform(texts))


def test_texts_too_alike_have_no_features_made_of_rounding() -> None:
    texts = ["aa bb", "aa bb", "cc dd", "cc dd"] * 5
    assert text_features(2).fit_transform(texts).shape == (20, 2)
    with pytest.raises(ValueError, match=r"too alike: they span 2 dimension\(s\)"):
        text_features(3).fit(texts)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=10))
def test_any_text_gets_finite_features(texts: list[str]) -> None:
    pipeline = text_features(3).fit(random_texts(40))
    features = pipeline.transform(texts)
    assert features.shape == (len(texts), 3)
    assert np.isfinite(features).all()


def test_a_word_counts_by_the_logarithm_of_how_often_it_stands() -> None:
    texts = ["w00 w01", "w00 w01 w02", "w00 w02 w03", "w01 w03"] * 5
    tfidf = text_features(2).fit(texts)["tfidf"]
    often, once = tfidf.transform(["w00 w00 w00 w01", "w00 w01"]).toarray()
    place = [tfidf.vocabulary_[word] for word in ("w00", "w01")]
    ratio = (often[place[0]] / often[place[1]]) / (once[place[0]] / once[place[1]])
    assert ratio == pytest.approx(1 + np.log(3))
