r"""What most of a panel say, and each of its members with them (beyond the paper).

Members of a group share a noise more or less, so what one says tells about the others, and
the chance that most say a label is not had from each one's law alone. In each cell of the noise
(:mod:`siscm.beyond.several`) they speak independently; across groups they always do. So votes can
be counted one member after the other: with F, how the votes before hers are distributed, and G, how
likely most say d in the end, given the votes up to hers,

.. math:: P(Y_h = c, \text{most say } d) = \sum_{v} F_h(v)\, P(Y_h = c)\, G_h(v + e_c, d)

in each cell, and over the cells in sum. Where too many votes are possible, they are drawn.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np

from siscm.beyond.followers import Heard
from siscm.beyond.noises import Noise
from siscm.beyond.several import Cells, Wanted, cells_of, on_a_line, refusal_of_followers
from siscm.checks import FloatArray, IntArray
from siscm.contradictions import Names
from siscm.opinions import NOT_ASKED

MOST_COUNTS = 1_000_000
"""Steps in counting a case's votes, up to which they are counted; of two labels they always are."""

_BLOCK = 2**22
"""Numbers to hold at once in counting, as far as that can be chosen."""


def with_most(
    log_p: FloatArray,
    codes: IntArray,
    number: IntArray,
    a: FloatArray,
    *,
    noise: Noise,
    n_samples: int,
    rng: np.random.Generator,
    names: Names,
) -> FloatArray:
    """How likely each silent member says c and most of the panel d, given what some said.

    Parameters
    ----------
    log_p, codes
        Log-marginals (n, k), and label codes (n,) of the opinions at hand, -1 where there is none.
    number, a
        (n,): the group of each member, and her sharing.
    noise, n_samples, rng
        As in :class:`siscm.graded.GradedSISCM`.
    names
        Of the case alone, of the members and of the labels, for error messages.

    Returns
    -------
    array (1 or 2, silent, k, k)
        Once if exact: always with two labels, and with more if the noise lies on a line and the
        votes can be counted (:data:`MOST_COUNTS`). Else two estimates, from ``n_samples`` draws of
        Gumbel noises each, or of votes, or of both: what is decided on one can be valued on the
        other.

    Raises
    ------
    ValueError
        If the opinions at hand are impossible together: those of experts whose sharing is 1.
    """
    k = log_p.shape[1]
    silent = codes == NOT_ASKED
    said = np.bincount(codes[~silent], minlength=k)
    groups = [np.flatnonzero(number == group) for group in np.unique(number)]

    def all_cells() -> list[Cells]:
        out = []
        for group in groups:
            spoke, rest = group[~silent[group]], group[silent[group]]
            heard = Heard(log_p[spoke], codes[spoke], a[spoke])
            found = cells_of(heard, Wanted(log_p[rest], a[rest]), noise, n_samples, rng)
            if found is None:
                raise refusal_of_followers(heard, noise, names, 0, spoke)
            out.append(found)
        return out

    cells = all_cells()
    if not silent.any():
        return np.empty((1, 0, k, k))
    order = np.concatenate([group[silent[group]] for group in groups])
    steps = max(len(x.weight) for x in cells) * comb(len(order) + k - 1, k) * k**2
    counted, exact = k == 2 or steps <= MOST_COUNTS, on_a_line(noise, k)
    once = counted and exact
    both = [cells] if once else [cells, cells if exact else all_cells()]
    found = [_counted(x, said) if counted else _drawn(x, said, n_samples, rng) for x in both]
    return np.array(found)[:, np.argsort(order)]


def most(votes: IntArray) -> FloatArray:
    """What most say: (..., k) from votes (..., k), 1 in sum; a tie is shared."""
    top = votes == votes.max(axis=-1, keepdims=True)
    return np.asarray(top / top.sum(axis=-1, keepdims=True))


@lru_cache(maxsize=32)
def _tallies(n: int, k: int) -> tuple[IntArray, list[IntArray]]:
    """All votes (m, k) that n members can cast, and the way there.

    For each member (before, k): where the votes before hers have their place after it, by what she
    says.
    """
    votes, places = np.zeros((1, k), dtype=np.int64), []
    for _ in range(n):
        more = (votes[:, None] + np.eye(k, dtype=np.int64)).reshape(-1, k)
        votes, place = np.unique(more, axis=0, return_inverse=True)
        places.append(place.reshape(-1, k))
    return votes, places


def _counted(cells: list[Cells], said: IntArray) -> FloatArray:
    """:func:`with_most` from votes that are counted; members (u,) in the order of the groups."""
    k, sizes = len(said), [x.chance.shape[1] for x in cells]
    votes, places = _tallies(sum(sizes), k)
    ways = [places[end - size : end] for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    before = [np.ones(1)]
    for x, way in zip(cells, ways, strict=True):
        parts = [_forward(part, before[-1], way)[-1] for part in _blocks(x, way)]
        before.append(np.sum([part.sum(axis=0) for part in parts], axis=0))
    found = []
    end = most(said + votes).T
    for x, way, start in reversed(list(zip(cells, ways, before[:-1], strict=True))):
        backward = (_backward(part, start, end, way) for part in _blocks(x, way))
        afters, ends = zip(*backward, strict=True)
        found.append(np.sum(afters, axis=0))
        end = np.sum(ends, axis=0)
    return np.concatenate(found[::-1])


def _blocks(cells: Cells, way: list[IntArray]) -> list[Cells]:
    """A group's cells, so many at a time as can be held for all members."""
    numbers = len(cells.weight) * sum(place.size for place in way)
    n = min(len(cells.weight), -(-numbers // _BLOCK) or 1)
    split = (np.array_split(x, n) for x in cells)
    return [Cells(weight, chance) for weight, chance in zip(*split, strict=True)]


def _forward(cells: Cells, before: FloatArray, way: list[IntArray]) -> list[FloatArray]:
    """How votes are distributed before each member of a group, and after them all: (c, m) each."""
    out = [cells.weight[:, None] * before]
    for h, place in enumerate(way):
        after = np.zeros((len(cells.weight), place.max() + 1))
        for label, to in enumerate(place.T):
            after[:, to] += out[-1] * cells.chance[:, h, label, None]
        out.append(after)
    return out


def _backward(
    cells: Cells, before: FloatArray, end: FloatArray, way: list[IntArray]
) -> tuple[FloatArray, FloatArray]:
    """From what most say given the votes after a group (k, m): of each member, and before it."""
    k = len(end)
    found = np.empty((len(way), k, k))
    distributed = _forward(cells, before, way)
    end = end[:, None]
    for h, place in reversed(list(enumerate(way))):
        by_label = [
            cells.chance[:, h, label, None] * end.take(to, axis=2)
            for label, to in enumerate(place.T)
        ]
        found[h] = [np.tensordot(x, distributed[h]) for x in by_label]
        end = sum(by_label)
    return found, np.asarray((end * cells.weight[:, None]).sum(axis=1))


def _drawn(
    cells: list[Cells], said: IntArray, n_samples: int, rng: np.random.Generator
) -> FloatArray:
    """:func:`with_most` from draws of the others' votes; of her own, all are weighed."""
    chance = np.concatenate([x.chance[_spread(x.weight, n_samples, rng)] for x in cells], axis=1)
    up_to = chance.cumsum(axis=-1)[..., :-1]
    label = (up_to < rng.random((*chance.shape[:2], 1))).sum(axis=-1)
    hers = label[..., None] == np.arange(len(said))
    others = said + hers.sum(axis=1, keepdims=True) - hers
    highest = others.max(axis=-1, keepdims=True)
    top = others == highest
    n_top = top.sum(axis=-1, keepdims=True)
    # Her label wins, ties with those at the top, or leaves them there.
    wins, ties = others == highest, others == highest - 1
    alone = chance * (wins + ties / (n_top + 1))
    beside = chance * (~wins * ~ties / n_top + ties / (n_top + 1))
    after = np.matmul(beside.transpose(1, 2, 0), top.transpose(1, 0, 2).astype(np.float64))
    each = np.arange(len(said))
    after[:, each, each] += alone.sum(axis=0)
    return np.asarray(after / n_samples)


def _spread(weight: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Cells (n,) drawn by weight, in any order; each as often as its weight says, or once more."""
    at = (rng.permutation(n) + rng.random()) / n
    return np.searchsorted(weight.cumsum(), at).clip(max=len(weight) - 1)
