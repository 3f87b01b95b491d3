r"""Chunks of instances: how a panel too large for one process, or one machine, is learned from.

Everything that pairs of opinions say about experts is a sum over instances: how often two met, how
often they violated, what sharing a noise would change. So it can be computed a chunk of instances
at a time, anywhere, and the parts be added up. What is held at any time are sums, whose size
depends on who met whom and not on how often, and the chunks at work.

A chunk is a pair: log-marginals and opinions about some instances, as
:meth:`siscm.graph.SimilarityGraph.from_opinions` takes them, of the same experts and labels in
every chunk. Better than the pair is a function that returns it, such as
``functools.partial(joblib.load, path)``: the chunk is then loaded where it is worked on. Work is
handed out by joblib, and so goes to a Dask cluster inside
``with joblib.parallel_config(backend="dask")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs

from siscm.checks import FloatArray, check_count
from siscm.opinions import Opinions
from siscm.pairs import rows_of_opinions

Chunk = tuple[npt.ArrayLike, Opinions]
"""Log-marginals, and the opinions about some instances."""

Source = Chunk | Callable[[], Chunk]
"""A chunk, or a function that loads it."""

T = TypeVar("T")

AHEAD = 4
"""Chunks a worker may be ahead of the adding up: results that wait take memory."""


def split(
    log_marginals: npt.ArrayLike,
    opinions: Opinions,
    n_chunks: int,
    *,
    rng: np.random.Generator | None = None,
) -> list[tuple[FloatArray, Opinions]]:
    """A panel as chunks of about as many instances each.

    Parameters
    ----------
    log_marginals, opinions
        As for :meth:`siscm.graph.SimilarityGraph.from_opinions`.
    n_chunks
        How many.
    rng
        Deals the instances out at random; by default consecutive ones stay together.

    Raises
    ------
    ValueError
        If ``n_chunks`` is no positive whole number, or the marginals do not fit the opinions.
    """
    n_chunks = check_count(n_chunks, "n_chunks")
    rows, n = rows_of_opinions(log_marginals, opinions), len(opinions.instances)
    number = np.arange(n) * n_chunks // max(n, 1) if rng is None else rng.permutation(n) % n_chunks
    chunks = []
    for i in range(n_chunks):
        here, place = number == i, np.cumsum(number == i) - 1
        kept = here[opinions.instance_codes]
        part = replace(
            opinions,
            instances=opinions.instances[here],
            instance_codes=place[opinions.instance_codes[kept]],
            expert_codes=opinions.expert_codes[kept],
            label_codes=opinions.label_codes[kept],
        )
        chunks.append((rows[kept], part))
    return chunks


def each(function: Callable[[npt.ArrayLike, Opinions], T], chunks: Iterable[Source]) -> Iterator[T]:
    """What a function returns for each chunk, in their order whatever the workers' speed.

    As many are worked on at the same time as ``joblib.parallel_config`` says.

    Parameters
    ----------
    function
        Of log-marginals and opinions.
    chunks
        Chunks, or functions that load them; may be a generator.

    Raises
    ------
    ValueError
        If something is no chunk, or has other labels than the first, or in another order. What is
        raised inside one says which it was.
    """
    waiting = enumerate(chunks)
    window = AHEAD * effective_n_jobs(None)
    known: pd.Index[Any] | None = None
    with Parallel(return_as="generator", batch_size=1, prefer="threads") as parallel:
        for first in waiting:
            numbered = chain([first], islice(waiting, window - 1))
            work = (delayed(_apply)(function, source, i) for i, source in numbered)
            for classes, found in parallel(work):
                known = classes if known is None else known
                _refuse_other_labels(known, classes)
                yield found


def total(function: Callable[[npt.ArrayLike, Opinions], T], chunks: Iterable[Source]) -> T:
    """What a function returns for all chunks together, if that is a sum over instances.

    Added up in the order of the chunks. Counts are those of a single chunk of everything; sums of
    fractions may differ from them in the last digits, but not with the number of workers nor the
    backend. (On a cluster whose machines differ, NumPy may round a logarithm otherwise on some of
    them.)

    Parameters
    ----------
    function
        Such as ``SimilarityGraph.from_opinions``; options by ``functools.partial``.
    chunks
        As for :func:`each`.

    Raises
    ------
    ValueError
        If there are no chunks, or they are about different experts.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm import Opinions, SimilarityGraph
    >>> from siscm.beyond.chunks import split, total
    >>> opinions = Opinions.from_codes([[0, 0], [1, 0], [1, 1]])
    >>> parts = split(np.log(np.full((3, 2, 2), 0.5)), opinions, n_chunks=2)
    >>> total(SimilarityGraph.from_opinions, parts).together
    array([[0, 3],
           [3, 0]])
    """
    sums = each(function, chunks)
    for first in sums:
        return reduce(add, sums, first)
    raise ValueError("there are no chunks; give at least one.")


def _refuse_other_labels(known: pd.Index[Any], classes: pd.Index[Any]) -> None:
    if not known.equals(classes):
        raise ValueError(
            f"the chunks have different labels ({known[:5].tolist()} ... and "
            f"{classes[:5].tolist()} ...); build the opinions of all with the same classes=."
        )


def _apply(
    function: Callable[[npt.ArrayLike, Opinions], T], source: Source, number: int
) -> tuple[pd.Index[Any], T]:
    """The labels of a chunk, and what the function returns for it."""
    try:
        chunk = source() if callable(source) else source
        if not (isinstance(chunk, tuple) and len(chunk) == 2 and isinstance(chunk[1], Opinions)):
            raise ValueError(
                f"a chunk must be a pair (log_marginals, opinions), or a function that returns "
                f"one, not a {type(chunk).__name__}."
            )
        return chunk[1].classes, function(*chunk)
    except Exception as error:
        error.add_note(f"This was chunk {number}, the first being 0.")
        raise
