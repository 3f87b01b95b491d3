r"""Several opinions at once: what an expert would have said, given what any number of others said.

Given the noise of a group, its experts say what they say independently of each other: one who
follows it with probability a says what it makes her say, and otherwise what a noise of her own
does. So with observed opinions :math:`y_i` of experts with marginals :math:`p_i`, the noise u has
the posterior density, beside its prior,

.. math::
    \prod_i \bigl( a_i\, 1[i \text{ says } y_i \text{ under } u] + (1 - a_i)\, p_i(y_i) \bigr) .

Agreement makes it likelier that all followed, a contradiction makes it impossible; the sharing
of a pair must not be used as if each opinion stood alone. With a noise on a line (two labels, or
the uniform noise) the density is a step function, and everything is exact. With Gumbel noises
and more labels it is a sum over who followed, as long as that is short; beyond, who followed is
drawn, and the noise with it (:mod:`siscm.beyond.followers`). Gaussian noises are not followed or
not; they are summed over a grid (:mod:`siscm.beyond.gaussian`).
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from siscm.beyond import gaussian
from siscm.beyond.followers import Heard, draw_followed
from siscm.beyond.noises import Noise, followed_or_not, pair_law
from siscm.beyond.ordered import intervals
from siscm.checks import FloatArray, IntArray
from siscm.contradictions import Names, possible, refusal
from siscm.inference import in_each_group
from siscm.posterior import shared_law

MOST_IN_DOUBT = 4
"""Opinions of experts who may or may not have followed, up to which every way is added up."""

MOST_WAYS = 256
"""Ways times targets, up to which every way is added up too."""


class Wanted(NamedTuple):
    """Experts of a group whose opinions are wanted: log-marginals (t, k) and sharing (t,)."""

    log_q: FloatArray
    b: FloatArray


class Cells(NamedTuple):
    """Cells of a group's noise: how likely each is (c,), 1 in sum, and what targets say there.

    ``chance`` is (c, t, k). In a cell, everybody speaks independently of the others.
    """

    weight: FloatArray
    chance: FloatArray

    def law(self) -> FloatArray:
        """What targets say: (t, k)."""
        return np.asarray(np.tensordot(self.weight, self.chance, axes=1))


def on_a_line(noise: Noise, k: int) -> bool:
    """Whether one number is all that the noise of a group has to say to its members."""
    return noise != "gumbel" or k == 2


def _log_chances(a: FloatArray, log_own: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of opinions (m,): that their experts follow; that they do not, and say it on their own."""
    with np.errstate(divide="ignore"):
        return np.log(a), np.log1p(-a) + log_own


def cells_on_a_line(heard: Heard, wanted: Wanted) -> Cells | None:
    """A noise on a line, cut wherever somebody begins to say something else; exact.

    Parameters
    ----------
    heard, wanted
        The opinions observed in a group, and the experts whose opinions are wanted.

    Returns
    -------
    Cells, or None
        None if no noise makes the observed experts say what they said, which only those whose
        sharing is 1 can make impossible.
    """
    (log_p, labels, a), (log_q, b) = heard, wanted
    rows, m, t = np.arange(len(labels)), len(labels), log_q.size
    low, high = (end[rows, labels] for end in intervals(log_p))
    first, last = (end.reshape(t, 2) for end in intervals(log_q))
    every = np.concatenate([low, high, first, last])
    ends, place = np.unique(every, axis=0, return_inverse=True)
    low_at, high_at, first_at, last_at = np.split(place.ravel(), np.cumsum([m, m, t]))
    width, length = np.diff(ends, axis=0).sum(axis=1), (high - low).sum(axis=1)
    cell = np.arange(len(width))
    follows = (low_at[:, None] <= cell) & (cell < high_at[:, None])
    # The length of her interval, not her marginal: the two may differ where that is tiny.
    followed, own = _log_chances(a, np.log(length))
    # In logarithms, for a product of hundreds of chances may be smaller than any number there is.
    of_each = np.logaddexp(np.where(follows, followed[:, None], -np.inf), own[:, None])
    log_density = of_each.sum(axis=0) + np.log(width)
    if np.isneginf(log_density).all():
        return None
    says = (first_at <= cell[:, None]) & (cell[:, None] < last_at)
    says = says.reshape(len(cell), *log_q.shape)
    return Cells(softmax(log_density), followed_or_not(says, log_q, b))


def cells_drawn(
    heard: Heard, wanted: Wanted, n_samples: int, rng: np.random.Generator
) -> Cells | None:
    """As :func:`cells_on_a_line`, of Gumbel noises with any number of labels: weighted draws.

    Parameters
    ----------
    heard, wanted
        As for :func:`cells_on_a_line`.
    n_samples, rng
        As n and rng of :func:`siscm.beyond.followers.draw_followed`.
    """
    found = draw_followed(heard, n_samples, rng)
    if found is None:
        return None
    (noise, weight), log_q = found, wanted.log_q
    says = (log_q + noise[:, None]).argmax(axis=-1)[..., None] == np.arange(log_q.shape[1])
    return Cells(weight, followed_or_not(says, *wanted))


def cells_of(
    heard: Heard, wanted: Wanted, noise: Noise, n_samples: int, rng: np.random.Generator
) -> Cells | None:
    """The noise of a group in cells, exact wherever it lies on a line; else drawn.

    Parameters
    ----------
    heard, wanted
        As for :func:`cells_on_a_line`.
    noise
        Which noise the group has.
    n_samples, rng
        As for :func:`cells_drawn`.
    """
    if noise == "gaussian":
        return Cells(*gaussian.cells(*heard, *wanted))
    if on_a_line(noise, wanted.log_q.shape[1]):
        return cells_on_a_line(heard, wanted)
    return cells_drawn(heard, wanted, n_samples, rng)


def refusal_of_followers(
    heard: Heard, noise: Noise, names: Names, instance: int, experts: IntArray
) -> ValueError:
    """The error for opinions of one group that :func:`cells_of` finds impossible together.

    Only those who follow for certain are to blame. Names and positions as for
    :func:`siscm.contradictions.refusal`.
    """
    sure = heard.a == 1
    law = possible_on_a_line if on_a_line(noise, heard.log_p.shape[1]) else possible
    return refusal(heard.log_p[sure], heard.labels[sure], names, instance, experts[sure], law)


def possible_on_a_line(log_p: FloatArray, labels: IntArray) -> bool:
    """Whether some noise on a line (:mod:`siscm.beyond.ordered`) makes experts say what they said.

    That is, whether intervals overlap. Parameters as of :func:`siscm.contradictions.possible`.
    """
    rows = np.arange(len(labels))
    low, high = (end[rows, labels] for end in intervals(log_p))
    return bool((low.max(axis=0) < high.min(axis=0)).any())


def by_followers(heard: Heard, wanted: Wanted, n_points: int) -> FloatArray | None:
    """What targets say, as a sum over who followed; exact up to two different labels.

    Followers share a noise (:func:`siscm.posterior.shared_law`), the others say what they say on
    their own. Experts whose sharing is 0 or 1 leave no choice; each other expert doubles the sum.

    Parameters
    ----------
    heard, wanted
        As for :func:`cells_on_a_line`.
    n_points
        As for :func:`siscm.posterior.shared_law`.

    Returns
    -------
    array (t, k), or None
        None as for :func:`cells_on_a_line`.
    """
    (log_p, labels, a), log_q = heard, wanted.log_q
    followed, own = _log_chances(a, log_p[np.arange(len(labels)), labels])
    choices = [[x for x, sure in ((False, 1), (True, 0)) if share != sure] for share in a]
    laws, log_weights = [], []
    for follows in map(np.array, product(*choices)):
        if follows.any():
            found = shared_law(log_p[follows], labels[follows], log_q, n_points)
        else:
            found = np.exp(log_q), 0.0
        if found is not None:
            laws.append(found[0])
            log_weights.append(np.where(follows, followed, own).sum() + found[1])
    if not laws:
        return None
    return followed_or_not(np.tensordot(softmax(log_weights), laws, axes=1), *wanted)


def graded_proba(
    log_marginals: FloatArray,
    labels: IntArray,
    number: IntArray,
    a: FloatArray,
    *,
    noise: Noise,
    n_samples: int,
    rng: np.random.Generator,
    names: Names,
) -> FloatArray:
    """What every expert would have said, given what some said, under graded sharing.

    Parameters
    ----------
    log_marginals
        (n, H, k).
    labels
        (n, H): codes of the opinions observed, -1 where nobody was asked.
    number, a
        (H,): the group of each expert, and her sharing.
    noise, n_samples, rng
        As in :class:`siscm.graded.GradedSISCM`.
    names
        For error messages.

    Returns
    -------
    array (n, H, k)
        The row of an observed expert is a point mass; a group of which nobody was observed keeps
        its marginals.

    Raises
    ------
    ValueError
        If the opinions observed are impossible together: those of experts whose sharing is 1.
    """
    k = log_marginals.shape[-1]

    def of_one(rows: IntArray, who: IntArray, members: IntArray) -> FloatArray:
        return pair_law(
            log_marginals[rows, who][:, None],
            log_marginals[np.ix_(rows, members)],
            labels[rows, who, None],
            a[who][:, None] * a[members],
            noise,
        )

    def of_several(row: int, seen: IntArray, members: IntArray) -> FloatArray:
        if set(members) <= set(seen) and (a[seen] < 1).all():  # all spoke, nothing is impossible
            return np.asarray(np.exp(log_marginals[row, members]))  # replaced by what they said
        heard = Heard(log_marginals[row, seen], labels[row, seen], a[seen])
        wanted = Wanted(log_marginals[row, members], a[members])
        in_doubt = int(((a[seen] > 0) & (a[seen] < 1)).sum())
        few = in_doubt <= MOST_IN_DOUBT or 2**in_doubt * len(members) <= MOST_WAYS
        if on_a_line(noise, k) or not few:
            cells = cells_of(heard, wanted, noise, n_samples, rng)
            found = None if cells is None else cells.law()
        else:
            found = by_followers(heard, wanted, n_samples)
        if found is None:
            raise refusal_of_followers(heard, noise, names, row, seen)
        return found

    groups = [np.flatnonzero(number == group).tolist() for group in np.unique(number)]
    return in_each_group(log_marginals, labels, groups, of_one, of_several)
