"""How a panel goes on, all members together, given what some of them said (beyond the paper).

Members of a group share a noise more or less, so what one says tells about the others, and
the chance that most say a label is not had from each one's law alone. In each cell of the noise
(:mod:`siscm.several`) they speak independently; across groups they always do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siscm.checks import FloatArray, IntArray
from siscm.contradictions import Names
from siscm.noises import Noise
from siscm.opinions import NOT_ASKED
from siscm.several import cells_of, impossible

MOST_WAYS = 4096
"""Ways in which a panel can go on, up to which all are listed."""


class Ways(NamedTuple):
    """Ways in which a panel goes on: what its members say (S, n), and how likely it is (S,)."""

    labels: IntArray
    weight: FloatArray


def ways_to_go_on(
    log_p: FloatArray,
    codes: IntArray,
    number: IntArray,
    a: FloatArray,
    *,
    noise: Noise,
    n_samples: int,
    rng: np.random.Generator,
    names: Names,
) -> Ways:
    """How a panel goes on, all members together, given what some of them said.

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
    Ways
        All of them if there are at most :data:`MOST_WAYS`, else ``n_samples`` drawn ones.

    Raises
    ------
    ValueError
        If the opinions at hand are impossible together: only where all their sharing is 1.
    """
    k, silent = log_p.shape[1], codes == NOT_ASKED
    listed = k ** int(silent.sum()) <= MOST_WAYS
    size = k ** int(silent.sum()) if listed else n_samples
    labels = np.tile(codes, (size, 1))
    if listed:
        labels[:, silent] = np.indices((k,) * int(silent.sum())).reshape(-1, size).T
    weight = np.full(size, 1.0 if listed else 1 / size)
    for group in np.unique(number):
        spoke, rest = (np.flatnonzero((number == group) & part) for part in (~silent, silent))
        given = (log_p[spoke], codes[spoke], a[spoke])
        cells = cells_of(*given, log_p[rest], a[rest], noise, n_samples, rng)
        if cells is None:
            raise impossible(*given, noise, names, 0, spoke)
        if listed:
            together = np.ones((len(cells.weight), size))
            for j, h in enumerate(rest):
                together *= cells.chance[:, j, labels[:, h]]
            weight *= cells.weight @ together
        else:
            cell = rng.choice(len(cells.weight), size=size, p=cells.weight)
            up_to = cells.chance[cell].cumsum(axis=-1)[..., :-1]
            labels[:, rest] = (up_to < rng.random((size, len(rest), 1))).sum(axis=-1)
    return Ways(labels, weight)


def majorities(labels: IntArray, k: int) -> FloatArray:
    """What most of a panel say: (S, k) from labels (S, n), 1 in sum; a tie is shared."""
    votes = (labels[:, :, None] == np.arange(k)).sum(axis=1)
    top = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))
