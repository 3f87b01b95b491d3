r"""Noises of a group, given opinions of experts who may or may not have followed them.

Whoever follows the noise of her group says what it makes her say, and followers together are what
:mod:`siscm.posterior` is about: given who they are, the ratios :math:`\rho` of the values of the
labels that they said are all that has to be known. Who followed is not known. With sharing a, the
followers F and the ratios have, beside the density of the ratios given F, the weight

.. math:: \prod_{i \in F} o_i, \qquad o_i = \frac{a_i}{(1 - a_i)\, p_i(y_i)} .

There are too many F to add up, and those that contradict each other can both be likely. So both
are drawn by annealing (Neal, *Annealed importance sampling*, 2001; with resampling, Del Moral et
al., *Sequential Monte Carlo samplers*, 2006): many draws begin where hardly any opinion says that
its expert followed, the weights are raised to their true power in steps so small that draws stay
alike in weight, and after each step every draw decides anew, expert by expert, who followed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.floors import pieces_between
from siscm.posterior import draw_ratio, noise_above, posterior

_LEAST_SHARE = 0.5
"""Of the draws that count, after a step: the effective sample size beside their number."""

_LEAST_STEP = 1e-3
"""So much the power grows at least: a step that costs too many draws is better than none."""

_IN_FULL = 20
"""Opinions up to which as many draws are taken as were asked for; more narrow the answer anyway."""

_LEAST_DRAWS = 100


class Followers:
    """Draws of who followed, and of the values of the labels that followers said.

    Parameters
    ----------
    log_p, labels, a
        Log-marginals (m, k), label codes and sharing (m,) of the experts observed. Those whose
        sharing is 1 follow in every draw; that they can have, has been seen to.
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
        self,
        log_p: FloatArray,
        labels: IntArray,
        a: FloatArray,
        sure: tuple[FloatArray, FloatArray],
        rng: np.random.Generator,
    ) -> None:
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
        # Where annealing begins, a label is as likely to have a follower as none, however rare.
        self.log_first = np.zeros(len(places))
        for c in set(self.place[a < 1]) - set(self.place[a == 1]):
            self.log_first[c] = -own[self.place == c].max()

    def _virtual(self, kept: BoolArray) -> FloatArray:
        """The largest log-ratios (n, k) of those followers who are kept (m,)."""
        ratios = np.where(self.follows[:, kept, None], self.log_ratio[kept], -np.inf)
        return np.asarray(ratios.max(axis=1, initial=-np.inf))

    @property
    def followed(self) -> BoolArray:
        """(d, n): whether a follower said the label."""
        return np.asarray(np.isfinite(self.log_virtual).any(axis=2))

    @property
    def said(self) -> BoolArray:
        """(n, k): the labels that some of the followers said."""
        said = np.zeros(self.log_virtual.shape[1:], dtype=bool)
        said[:, self.observed] = self.followed.T
        return said

    @property
    def log_floor(self) -> FloatArray:
        """(n, k): what each E must exceed, that all followers say what they said."""
        reached = self.log_virtual + self.log_value[..., None]
        return np.asarray(reached.max(axis=0, initial=-np.inf))

    def decide(self, i: int, power: float) -> FloatArray:
        """Draw anew whether expert i followed, and the value of her label, all else as it is.

        Returns
        -------
        array (n,)
            The logarithm of how much likelier all else is made by her opinion.
        """
        c = self.place[i]
        without = self._virtual((self.place == c) & (np.arange(len(self.place)) != i))
        both = without, np.maximum(without, self.log_ratio[i])
        self.log_virtual[c] = -np.inf
        floor, said, u = self.log_floor, self.said, self.rng.random(len(without))
        (value, log_chance), (value_if, log_chance_if) = (
            _value(floor, said, log_ratio, self.observed[c], u) for log_ratio in both
        )
        agree = np.isfinite(without).any(axis=1)
        with np.errstate(invalid="ignore"):
            more = np.nan_to_num(log_chance_if - log_chance, nan=-np.inf)
        first = np.where(agree, 0.0, self.log_first[c])
        log_odds = power * self.log_odds[i] + (1 - power) * first + more
        total = np.logaddexp(0, log_odds)
        follow = np.log(self.rng.random(len(u))) < log_odds - total
        self.follows[:, i] = follow
        self.log_virtual[c] = np.where(follow[:, None], both[1], without)
        self.log_value[c] = np.where(follow, value_if, value)
        return np.asarray(total)

    def anneal(self) -> None:
        """From a beginning that hardly trusts an opinion to the true weights."""
        in_doubt = np.flatnonzero(np.isfinite(self.log_odds)).tolist()
        for i in in_doubt:
            self.log_weight = self.log_weight + self.decide(i, 0.0)
        power = 0.0
        while power < 1:
            follows = self.follows[:, in_doubt]
            gained = follows @ self.log_odds[in_doubt] - self.log_first @ self.followed
            step = self._step(gained, 1 - power)
            power += step
            self.log_weight = self.log_weight + step * gained
            self._resample()
            for i in in_doubt:
                self.decide(i, power)

    def _step(self, gained: FloatArray, most: float) -> float:
        """The longest step after which enough draws count."""

        def enough(step: float) -> float:
            weight = softmax(self.log_weight + step * gained)
            return float(1 / (weight**2).sum() / len(weight) - _LEAST_SHARE)

        least = min(_LEAST_STEP, most)
        if enough(most) >= 0:
            return most
        if enough(least) <= 0:
            return least
        return float(brentq(enough, least, most, xtol=_LEAST_STEP / 10))

    def _resample(self) -> None:
        """Draws that all count the same, by systematic resampling."""
        n = len(self.log_weight)
        up_to = np.cumsum(softmax(self.log_weight))
        kept = np.searchsorted(up_to / up_to[-1], (np.arange(n) + self.rng.random()) / n)
        self.follows, self.log_value = self.follows[kept], self.log_value[:, kept]
        self.log_virtual = self.log_virtual[:, kept]
        self.log_weight = np.zeros(n)


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
    log_p: FloatArray, labels: IntArray, a: FloatArray, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray] | None:
    """Noises of a group, given opinions of experts who may have followed them.

    Parameters
    ----------
    log_p, labels, a
        Log-marginals (m, k), label codes and sharing (m,) of the experts observed.
    n
        How many draws; of more than twenty opinions it takes fewer.

    Returns
    -------
    noise (n, k) and its weight (n,), 1 in sum; or None
        None if those whose sharing is 1 cannot have said what they said.
    """
    sure = a == 1
    n = min(n, max(_LEAST_DRAWS, n * _IN_FULL // max(len(labels), _IN_FULL)))
    log_value, log_weight = np.zeros((n, log_p.shape[1])), np.zeros(n)
    if sure.any():
        found = posterior(log_p[sure], labels[sure], lambda n_ratios: rng.random((n, n_ratios)))
        if found is None:
            return None
        with np.errstate(divide="ignore"):
            log_value, log_weight = found.log_floor, np.log(found.weight)
    drawn = Followers(log_p, labels, a, (log_value, log_weight), rng)
    drawn.anneal()
    return noise_above(drawn.log_floor, drawn.said, rng), softmax(drawn.log_weight)
