"""Who is missing from the published counts? Found by subtracting them from the raw file's."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.cifar10h.counts import cells, label_counts

_SECONDS = 20.0
"""After which a search is given up: with many near-twins among the annotators it need not end."""

_OPTIMAL, _INFEASIBLE = 0, 2  # of SciPy's milp: what a search that came to its end says


@dataclass(frozen=True)
class LeftOut:
    """Annotators whose opinions the counts lack.

    Parameters
    ----------
    remainder
        Opinions that the raw file has and the counts have not.
    negative
        Opinions that the counts have and the raw file has not.
    candidates
        Annotators of whom every opinion may be missing.
    fit_together
        Whether all candidates may be missing at once.
    explained
        Whether some of them, left out with all their opinions, are exactly the remainder.
    certain
        Candidates who are left out in every such explanation.
    open
        Candidates who are left out in some of them and not in others.
    n_open
        How many of the open ones are left out, in one explanation.
    settled
        Whether the search came to its end. If not, an explanation may have been overlooked, or
        some of the open are certain.
    """

    remainder: int
    negative: int
    candidates: tuple[Hashable, ...]
    fit_together: bool
    explained: bool
    certain: tuple[Hashable, ...]
    open: tuple[Hashable, ...]
    n_open: int
    settled: bool

    @property
    def suspects(self) -> frozenset[Hashable]:
        """Who is certain or open; without an explanation the candidates, if they fit together."""
        if self.explained:
            return frozenset(self.certain + self.open)
        return frozenset(self.candidates if self.fit_together else ())

    def verdict(self) -> str:
        """What was found, as a sentence."""
        if not self.remainder and not self.negative:
            return "The counts hold every opinion of the raw file: nobody is left out."
        if not self.explained:
            found = "NOT explained" if self.settled else "Not settled whether explained"
            who = (
                f"{len(self.candidates):,} annotators could each be missing with all their "
                f"opinions, {'and' if self.fit_together else 'but not'} all of them at once"
                if self.candidates
                else "no annotator could be missing with all her opinions"
            )
            return (
                f"{found} by annotators left out: the raw file has {self.remainder:,} "
                f"opinions that the counts lack, and lacks {self.negative:,} that they have; {who}."
            )
        certain = "no other annotators would do"
        if self.open:
            apart = "cannot be" if self.settled else "were not"
            certain = (
                f"{len(self.certain)} are certain, and {self.n_open} more of {len(self.open)} who "
                f"{apart} told apart"
            )
        return (
            f"The counts lack {self.remainder:,} opinions of the raw file, and these are exactly "
            f"all those of {len(self.certain) + self.n_open} annotators: {certain}."
        )


def find_left_out(raw: pd.DataFrame, counts: pd.DataFrame) -> LeftOut:
    """Subtract the published counts from the raw file's, and see who makes up the remainder.

    An annotator can be left out only if the remainder holds each of her (image, label). Integer
    programming settles which of those candidates are.

    Parameters
    ----------
    raw
        A row each time that an opinion was counted: ``annotator``, ``image``, ``chosen_label``.
    counts
        (10,000, 10): how many annotators gave each label to each image.
    """
    difference = (label_counts(raw) - counts).to_numpy().ravel()
    left = np.maximum(difference, 0)
    annotators, column = np.unique(raw["annotator"].to_numpy(), return_inverse=True)
    gave = csc_array(
        (np.ones(len(raw)), (cells(raw), column)), shape=(len(difference), len(annotators))
    )
    # A column of which the remainder lacks no opinion.
    candidates = np.flatnonzero(gave.T @ (left == 0).astype(np.float64) == 0)
    mine = gave[:, candidates]
    chosen, settled = None, True
    if not (difference < 0).any():
        chosen, settled = _one_cover(mine, left)
    always = sometimes = np.zeros(len(candidates), dtype=bool)
    n_open = 0
    if chosen is not None:
        always, sometimes, settled = _vary(mine, left, chosen)
        n_open = int(chosen[sometimes].sum())

    def names(positions: IntArray) -> tuple[Hashable, ...]:
        return tuple(annotators[positions].tolist())

    return LeftOut(
        remainder=int(left.sum()),
        negative=int(-difference[difference < 0].sum()),
        candidates=names(candidates),
        fit_together=bool((mine.sum(axis=1) <= left).all()),
        explained=chosen is not None,
        certain=names(candidates[always]),
        open=names(candidates[sometimes]),
        n_open=n_open,
        settled=settled,
    )


def _one_cover(
    gave: csc_array, left: IntArray, prefer: FloatArray | None = None
) -> tuple[BoolArray | None, bool]:
    """Columns that add up to exactly what is left, of the largest ``prefer``; None if none do.

    And whether that is proven: a search that takes too long is given up with what it has.
    """
    n = gave.shape[1]
    used = np.flatnonzero((left != 0) | (gave.sum(axis=1) > 0))
    if not n or not len(used):
        return None if len(used) else np.zeros(n, dtype=bool), True
    found = milp(
        np.zeros(n) if prefer is None else -prefer,
        integrality=np.ones(n, dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(gave[used], left[used], left[used]),
        options={"time_limit": _SECONDS},
    )
    proven = found.status in (_OPTIMAL, _INFEASIBLE)
    return None if found.x is None else np.asarray(found.x > 0.5), proven


def _vary(gave: csc_array, left: IntArray, chosen: BoolArray) -> tuple[BoolArray, BoolArray, bool]:
    """Columns in every sum that gives what is left, those in some of them only, and if proven.

    A column of which that could not be proven counts as one of the second kind.
    """
    other = np.zeros(len(chosen), dtype=bool)  # whether some sum treats the column otherwise
    while not other.all():
        # As many of the rest as can be treated otherwise at once: few programmes settle all.
        prefer = np.where(other, 0.0, np.where(chosen, -1.0, 1.0))
        found, proven = _one_cover(gave, left, prefer)
        if not proven:
            return np.zeros_like(other), np.ones_like(other), False
        new = np.zeros_like(other) if found is None else (found != chosen) & ~other
        if not new.any():
            break
        other |= new
    return chosen & ~other, other, True
