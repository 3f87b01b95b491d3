r"""Noises of a group, given opinions of experts who may or may not have followed them.

Whoever follows the noise of her group says what it makes her say, and followers together are what
:mod:`siscm.posterior` is about: given who they are, the ratios :math:`\rho` of the values of the
labels that they said are all that has to be known. Who followed is not known. With sharing a, the
followers F and the ratios have, beside the density of the ratios given F, the weight

.. math:: \prod_{i \in F} o_i, \qquad o_i = \frac{a_i}{(1 - a_i)\, p_i(y_i)} .

There are too many F to add up, and those that contradict each other can both be likely. So both
are drawn by annealed importance sampling (Neal, *Statistics and Computing* 11, 2001): many draws
begin where hardly any opinion says that its expert followed, and the weights are raised to their
true power in steps. At each step every draw decides anew, expert by expert, who followed, and is
weighed by how much likelier the step made all else. Camps that exclude each other are kept to the
end, whichever is ahead on the way. One that is next to never met on the way hangs on a handful of
draws: where opinions are, on their own, rarer than about 1e-5, shares of camps can be far off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.floors import pieces_between
from siscm.posterior import draw_ratio, noise_above, posterior

_LEAST_STEPS, _MOST_STEPS, _STEP = 10, 50, 4.0
"""Steps from the beginning to the true weights, and how much the log-odds may rise in one."""

_IN_FULL = 20
"""Opinions up to which as many draws are taken as were asked for; more narrow the answer anyway."""

_LEAST_DRAWS = 100


class Heard(NamedTuple):
    """Opinions observed in a group: log-marginals (m, k), label codes (m,) and sharing (m,)."""

    log_p: FloatArray
    labels: IntArray
    a: FloatArray


class Followers:
    """Draws of who followed, and of the values of the labels that followers said.

    Parameters
    ----------
    heard
        Those whose sharing is 1 follow in every draw; that they can have, has been seen to.
    sure
        Draws of the noise given what they said: their floors (n, k) and log-weights (n,).
    rng
        Draws the rest.

    Attributes
    ----------
    follows
        (n, m).
    log_virtual
        (d, n, k): for each of the d labels observed, the largest log-ratios of the followers who
        said it; -inf for none.
    log_value
        (d, n): of each label observed, if followers said it, the logarithm of its E, up to a
        constant a draw.
    log_weight
        (n,): how much each draw counts, up to a constant.
    """

    def __init__(
        self, heard: Heard, sure: tuple[FloatArray, FloatArray], rng: np.random.Generator
    ) -> None:
        log_p, labels, a = heard
        own = log_p[np.arange(len(labels)), labels]
        self.observed, self.place = np.unique(labels, return_inverse=True)
        self.rng = rng
        self.log_ratio = log_p - own[:, None]
        log_value, self.log_weight = sure
        self.log_value = log_value[:, self.observed].T
        self.follows = np.tile(a == 1, (len(self.log_weight), 1))
        places = range(len(self.observed))
        self.log_virtual = np.empty((len(places), *log_value.shape))
        for c in places:
            self.log_virtual[c] = self._virtual(self.place == c)
        with np.errstate(divide="ignore"):
            self.log_odds = np.log(a) - np.log1p(-a) - own
        self.in_doubt, self.power = np.isfinite(self.log_odds), np.zeros(len(labels))
        # Where annealing begins, a label is as likely to have a follower as none, however rare.
        self.log_first = np.zeros(len(places))
        for c in set(self.place[a < 1]) - set(self.place[a == 1]):
            self.log_first[c] = -own[self.place == c].max()

    def _virtual(self, kept: BoolArray) -> FloatArray:
        """The largest log-ratios (n, k) of those followers who are kept (m,)."""
        ratios = np.where(self.follows[:, kept, None], self.log_ratio[kept], -np.inf)
        return np.asarray(ratios.max(axis=1, initial=-np.inf))

    @property
    def said(self) -> BoolArray:
        """(n, k): the labels that some of the followers said."""
        said = np.zeros(self.log_virtual.shape[1:], dtype=bool)
        said[:, self.observed] = np.isfinite(self.log_virtual).any(axis=2).T
        return said

    @property
    def log_floor(self) -> FloatArray:
        """(n, k): what each E must exceed, that all followers say what they said."""
        reached = self.log_virtual + self.log_value[..., None]
        return np.asarray(reached.max(axis=0, initial=-np.inf))

    def decide(self, i: int, power: float) -> None:
        """Raise the power of expert i's odds, and draw anew whether she followed.

        With it goes the value of her label. The weights rise by how much likelier all else is with
        that power than before, whether she followed or not.
        """
        c = self.place[i]
        alike = self.place == c
        without = self._virtual(alike & (np.arange(len(self.place)) != i))
        both = without, np.maximum(without, self.log_ratio[i])
        agree = np.isfinite(without).any(axis=1)
        self.log_virtual[c] = -np.inf
        floor, said, u = self.log_floor, self.said, self.rng.random(len(without))
        (value, log_chance), (value_if, log_chance_if) = (
            _value(floor, said, log_ratio, self.observed[c], u) for log_ratio in both
        )
        with np.errstate(invalid="ignore"):
            more = np.nan_to_num(log_chance_if - log_chance, nan=-np.inf)

        def sides() -> tuple[FloatArray, FloatArray]:
            first = (1 - self.power[alike & self.in_doubt].mean()) * self.log_first[c]
            return np.where(agree, first, 0.0), first + self.power[i] * self.log_odds[i] + more

        not_she, she = sides()
        before = np.logaddexp(not_she, she) if power else not_she  # at first, she is new
        self.power[i] = power
        not_she, she = sides()
        total = np.logaddexp(not_she, she)
        self.log_weight = self.log_weight + total - before
        follow = np.log(self.rng.random(len(u))) < she - total
        self.follows[:, i] = follow
        self.log_virtual[c] = np.where(follow[:, None], both[1], without)
        self.log_value[c] = np.where(follow, value_if, value)

    def anneal(self) -> None:
        """From a beginning that hardly trusts an opinion to the true weights."""
        most = self.log_odds[self.in_doubt].max(initial=0) / _STEP
        n_steps = int(np.clip(most, _LEAST_STEPS, _MOST_STEPS))
        for power in np.linspace(0, 1, n_steps + 1).tolist():
            for i in np.flatnonzero(self.in_doubt).tolist():
                self.decide(i, power)


def _value(
    floor: FloatArray, said: BoolArray, log_ratio: FloatArray, label: int, u: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw the value of a label, given that experts of these ratios (n, k) said it, if any.

    Floors and labels ``said`` (n, k) are those of all other labels' followers.

    Returns
    -------
    array (n,), and the log-chance (n,) that the experts say it
    """
    value, log_chance, n_said = np.zeros(len(u)), np.zeros(len(u)), said.sum(axis=1)
    somebody = np.isfinite(log_ratio[:, label])
    first = somebody & (n_said == 0)
    log_chance[first] = -logsumexp(log_ratio[first], axis=1)
    for n in np.unique(n_said[somebody & ~first]):
        rows = somebody & (n_said == n)
        f, r = floor[rows], log_ratio[rows]
        with np.errstate(invalid="ignore"):
            high = np.where(said[rows], f - r, np.inf).min(axis=1)
        low = np.minimum(f[:, label], high)
        pieces = pieces_between(f, r, int(n), low, high)
        value[rows], log_chance[rows] = draw_ratio(pieces, u[rows], int(n))
    return value, log_chance


def draw_followed(
    heard: Heard, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray] | None:
    """Noises of a group, given opinions of experts who may have followed them.

    Parameters
    ----------
    heard
        What was said, and how much each shares.
    n
        How many draws; of more than twenty opinions it takes fewer.
    rng
        Draws who followed, and the noises.

    Returns
    -------
    noise (n, k) and its weight (n,), 1 in sum; or None
        None if those whose sharing is 1 cannot have said what they said.
    """
    log_p, labels, a = heard
    sure = a == 1
    n = min(n, max(_LEAST_DRAWS, n * _IN_FULL // max(len(labels), _IN_FULL)))
    log_value, log_weight = np.zeros((n, log_p.shape[1])), np.zeros(n)
    if sure.any():
        found = posterior(log_p[sure], labels[sure], lambda n_ratios: rng.random((n, n_ratios)))
        if found is None:
            return None
        with np.errstate(divide="ignore"):
            log_value, log_weight = found.log_floor, np.log(found.weight)
    drawn = Followers(heard, (log_value, log_weight), rng)
    drawn.anneal()
    return noise_above(drawn.log_floor, drawn.said, rng), softmax(drawn.log_weight)
