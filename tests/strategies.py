"""Hypothesis strategies: marginals of two experts, from ordinary to hostile."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

FloatArray = npt.NDArray[np.float64]

KINDS = (
    "ordinary",
    "sparse",
    "tiny",
    "underflowing",
    "zeros in one",
    "zeros in both",
    "ties",
    "near-ties",
    "equal",
    "float32",
)
SIZES = (2, 3, 4, 5, 6, 10, 20, 50, 200)


class Pair(NamedTuple):
    """Log-marginals (k,) of two experts, and what the first one said."""

    log_p: FloatArray
    log_q: FloatArray
    label: int


def log_normalised(values: FloatArray) -> FloatArray:
    """Log-probabilities from any log-weights (..., k)."""
    top = values.max(axis=-1, keepdims=True)
    return values - top - np.log(np.exp(values - top).sum(axis=-1, keepdims=True))


def log(p: npt.ArrayLike) -> FloatArray:
    """Logarithm, with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, dtype=np.float64))


def log_dirichlet(
    rng: np.random.Generator, size: tuple[int, ...], alpha: float = 1.0
) -> FloatArray:
    """Random log-marginals (size), never zero."""
    return log_normalised(log(np.maximum(rng.gamma(alpha, size=size), 1e-300)))


def make_pair(kind: str, k: int, rng: np.random.Generator) -> Pair:
    """One pair of the given kind; every kind is seen for every k."""
    log_p, log_q = log_dirichlet(rng, (2, k), alpha=0.05 if kind == "sparse" else 1.0)
    if kind == "tiny":
        log_p, log_q = log_normalised(-690.0 * rng.random((2, k)) ** 2)
    elif kind == "underflowing":
        log_p, log_q = log_normalised(-800.0 * rng.random((2, k)))
    elif kind in ("zeros in one", "zeros in both"):
        gone = rng.random((2, k)) < 0.4
        if kind == "zeros in both":
            gone[1] |= gone[0]
        gone[:, rng.integers(k)] = False
        log_p, log_q = log_normalised(np.where(gone, -np.inf, [log_p, log_q]))
    elif kind == "ties":
        # Twins with the same bits, so that their ratios are the same to the last one.
        twin = rng.integers(max(1, k // 2), size=k)
        log_p, log_q = log_normalised(np.array([log_p[twin], log_q[twin]]))
    elif kind == "near-ties":
        # Some ratios near 1/2, some near 1, some near 2, never quite.
        shift = rng.choice(np.log([0.5, 1.0, 2.0]), size=k)
        noise = 10.0 ** rng.uniform(-15, -6) * rng.standard_normal(k)
        log_q = log_normalised(log_p + shift + noise)
    elif kind == "equal":
        log_q = log_p.copy()
    elif kind == "float32":
        log_p, log_q = log(np.exp([log_p, log_q]).astype(np.float32))
    label = int(rng.choice(np.flatnonzero(np.isfinite(log_p))))
    return Pair(log_p, log_q, label)


@st.composite
def pairs(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, sizes: tuple[int, ...] = SIZES) -> Pair:
    """Pairs of any kind and size; shrinks towards an ordinary one with two labels."""
    kind = draw(st.sampled_from(kinds))
    k = draw(st.sampled_from(sizes))
    return make_pair(kind, k, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))


def rngs() -> st.SearchStrategy[np.random.Generator]:
    """A generator with a drawn seed."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def rational_pairs(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction], int]:
    """Two marginals, zeros and ties everywhere, and what the first expert said."""
    k = draw(st.integers(2, 6))
    row = st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any)
    p, q = ([Fraction(n, sum(counts)) for n in counts] for counts in (draw(row), draw(row)))
    said = [label for label, share in enumerate(p) if share > 0]
    return p, q, said[draw(st.integers(0, 5)) % len(said)]
