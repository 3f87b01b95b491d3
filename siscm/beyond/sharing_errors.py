r"""How far the sharing that was learned may be off: standard errors, summed up over instances.

Pairs on one instance depend on each other, so the curvature of the log-likelihood alone would
promise too much. The scores are added up by instance, and their spread over instances, with that of
the prior, stands between two inverse curvatures (the "sandwich" of Huber). Near 0 and 1 neither
says anything: two agreed on each of five cases, say, and no score varies. So how far all may share
more, or less, than was found is told by the likelihood itself: an interval ends where it has fallen
too far. Marginals and groups are taken as they are. Intervals cover 95 % of experts who differ as
:data:`SPREAD` supposes. Of those who differ more they cover fewer, and the farther somebody is from
all others, the likelier she is drawn out of hers: far below, she is said to share more than she
does; far above, less. They also cover fewer where groups were learned from few instances, for then
sharing is learned from pairs some of whom are of two groups, and comes out too low.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit, logit

from siscm.beyond.chunks import Source, total
from siscm.beyond.gaussian import TwoOpinions
from siscm.beyond.noises import Noise, pull
from siscm.beyond.sharing import MOST, SharingEvidence, total_log_likelihood
from siscm.checks import FloatArray, IntArray
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals
from siscm.partition import Groups, group_of

SPREAD = 0.5
"""Prior standard deviation, in log-odds, of the experts' sharing around their mean. Left-out parts
of both real panels' training parts are predicted better than with twice as much, by little."""

QUANTILE = 1.96
"""Of a standard normal: 95 % lie within it on either side of zero."""

SHIFTS = np.array([0.1, 0.2, 0.4, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11, 15])
"""How far the log-odds of all experts are shifted together, up and down."""

_FAR = 1e6
"""A shift after which sharing is 0 or 1, to the last digit."""


def fall_if_shifted(evidence: SharingEvidence, a: FloatArray) -> FloatArray:
    """By how much the log-likelihood falls if all log-odds are shifted: (2, len(SHIFTS)).

    First down, then up.
    """
    shifts = np.concatenate([-SHIFTS, SHIFTS])
    shifted = [total_log_likelihood(evidence, expit(logit(a) + shift)) for shift in shifts]
    return total_log_likelihood(evidence, a) - np.reshape(shifted, (2, -1))


class Errors(NamedTuple):
    """How far the log-odds of the experts' sharing may be off."""

    covariance: FloatArray
    """(H, H), by the sandwich."""
    worth: float
    """By how much the common log-odds vary more than if all pairs of opinions were independent."""


def errors(chunks: Iterable[Source], groups: Groups, a: FloatArray, noise: Noise) -> Errors:
    """How far each expert's sharing may be off.

    Parameters
    ----------
    chunks
        What the sharing was learned from: see :mod:`siscm.beyond.chunks`.
    groups, a, noise
        Positions of experts, their sharing (H,), and the noise.
    """
    n = len(a)
    task = partial(_curvature_and_spread, number=group_of(groups, range(n)), a=a, noise=noise)
    found = total(task, chunks)
    curvature, spread = found[: 2 * n**2].reshape(2, n, n)
    meetings, opinions = found[2 * n**2 :]
    # A trace of the identity, for the prior says nothing of the mean.
    prior = (np.eye(n) - (1 - 1e-6) / n) / SPREAD**2
    inverse = np.linalg.inv(curvature + prior)
    covariance = inverse @ (spread + prior) @ inverse
    worth = covariance.mean() * curvature.sum()
    if worth < 1:  # as little varies as near certain sharing, or none, where scores all but vanish
        most = (1 + meetings / max(1, opinions)) / 2  # as if all opinions on an instance were one
        worth += (1 - worth) * max(1, most)
    return Errors(covariance, float(worth))


def interval_ends(a: FloatArray, off: Errors, fall: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends (H,) of the 95 % interval of each expert's sharing.

    Her log-odds are the mean of all and her distance from it. How far the distance may be off is
    told by the sandwich. The mean ends where the likelihood has fallen as far as a normal one has
    at the end of its interval. So an interval ends at 1 where too little that was said speaks
    against certain sharing, and at 0 where too little speaks against none.

    Parameters
    ----------
    a
        Sharing of the experts (H,).
    off
        As from :func:`errors`.
    fall
        As from :func:`fall_if_shifted`.
    """
    of_mean = off.covariance.mean()
    with_mean = off.covariance.mean(axis=0) - of_mean
    distance = np.diag(off.covariance) - of_mean - 2 * with_mean
    reach = np.array([[_shift_where(some, off.worth)] for some in fall]) / QUANTILE
    # Of the sum of mean and distance, were the mean's error stretched so far.
    variance = reach**2 + 2 * reach / np.sqrt(of_mean) * with_mean + distance
    down, up = QUANTILE * np.sqrt(variance.clip(0))
    return expit(logit(a) - down), expit(logit(a) + up)


def _shift_where(fall: FloatArray, worth: float) -> float:
    """The shift at which the log-likelihood has fallen enough, or one that leads to 0 and to 1."""
    normal = np.sqrt(2 * np.maximum.accumulate(fall.clip(0)) / worth)
    if normal[-1] < QUANTILE:
        return _FAR
    return float(np.interp(QUANTILE, np.append(0, normal), np.append(0, SHIFTS)))


def _curvature_and_spread(
    log_marginals: npt.ArrayLike,
    opinions: Opinions,
    number: IntArray,
    a: FloatArray,
    noise: Noise,
) -> FloatArray:
    """What one chunk adds to both matrices of the sandwich, (2, H, H) in a row, and two counts.

    How often an opinion met another inside a group, and how many opinions met one. The curvature
    is exact for noises that are followed or not; for Gaussian ones it is so on average only.
    """
    log_p = opinion_marginals(log_marginals, opinions)
    n, h, y = len(a), opinions.expert_codes, opinions.label_codes
    curvature, score, met = np.zeros(n * n), np.zeros(len(opinions)), np.zeros(len(opinions))
    for one, two in iter_pairs(opinions):
        same = number[h[one]] == number[h[two]]
        one, two = one[same], two[same]
        pair = np.minimum(a[h[one]] * a[h[two]], MOST)
        said = TwoOpinions(log_p[one], log_p[two], y[one], y[two])
        g = pull(said, pair, noise)
        for first, second in ((one, two), (two, one)):
            mine, other = h[first], h[second]
            own, her = 1 - a[mine], 1 - a[other]
            np.add.at(curvature, mine * (n + 1), (g * own) ** 2 - g * own * (own - a[mine]))
            np.add.at(curvature, mine * n + other, (g**2 - g) * own * her)
            np.add.at(score, first, g * own)
            np.add.at(met, first, 1)
    by_instance = csr_array((score, (opinions.instance_codes, h)), (len(opinions.instances), n))
    spread = (by_instance.T @ by_instance).toarray()
    return np.concatenate([curvature, spread.ravel(), [met.sum(), (met > 0).sum()]])
