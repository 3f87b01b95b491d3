r"""The Gumbel noise of a group, given any number of opinions that it produced.

Experts who said the same are one virtual expert, with the largest of their ratios
(:mod:`siscm.contradictions`). So one expert is left for each label :math:`c_1, \dots, c_m` that was
said, with ratios :math:`R_a`, and what was said is

.. math::
    E_{c_b} \ge R_{ab}\, E_{c_a}, \qquad E_j \ge s f_j \quad\text{with}\quad
    f_j = \max_a R_{aj}\, \rho_a, \quad \rho_a = E_{c_a} / s, \quad s = E_{c_1} .

The ratios :math:`\rho` have density proportional to :math:`S^{-m}`, :math:`S = \sum_j f_j`. Given
them, s is Gamma(m) with rate S, and what lies above the floors :math:`s f_j` is Exp(1) again. So
what one more expert says, given the ratios, has a closed form (:mod:`siscm.floors`); and where
there is one ratio, the integral over it has one too. More ratios are drawn one after the other,
each where the others can still follow, so that no draw is lost, however rare the opinions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from scipy.stats import qmc

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.contradictions import VirtualExperts, virtual_experts
from siscm.floors import Pieces, law_given_floors, pieces_between, slope_and_sum, turns_of

_FAR = 700.0
"""Log-ratios so far above S have no chance left."""

_BLOCK_VALUES = 2**20
"""Values of pieces handled at a time: 8 MiB an array."""

_BELOW_ONE = float(np.nextafter(1, 0))
"""The largest share of an integral to draw at: a range may have no end."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the ratios of a group's noise, given what some of its experts said.

    Parameters
    ----------
    said
        (k,): the labels observed.
    log_floor, weight
        Of each draw: the floors (n, k), and how much it counts (n,), 1 in sum.
    log_chance
        Of the opinions: the chance itself may be smaller than any number there is.
    """

    said: BoolArray
    log_floor: FloatArray
    weight: FloatArray
    log_chance: float

    def law(self, log_q: FloatArray) -> FloatArray:
        """What experts with log-marginals (t, k) say: their mean law over the draws."""
        laws = [self.weight @ law_given_floors(self.log_floor, self.said, row) for row in log_q]
        return np.array(laws).reshape(log_q.shape)

    def noise(self, rng: np.random.Generator) -> FloatArray:
        """One noise vector a draw, (n, k): each makes the experts say what they said."""
        return noise_above(self.log_floor, np.broadcast_to(self.said, self.log_floor.shape), rng)


def noise_above(log_floor: FloatArray, said: BoolArray, rng: np.random.Generator) -> FloatArray:
    """One noise vector for each row of floors (n, k), whose values are known where said (n, k).

    Parameters
    ----------
    log_floor
        Logarithms of the floors.
    said
        Where the floor is the value itself.
    rng
        Draws what lies above.
    """
    n_said = said.sum(axis=1)
    log_s = np.log(rng.gamma(np.maximum(n_said, 1)))
    with np.errstate(invalid="ignore"):  # nothing said, no floor
        floor = log_floor + (log_s - logsumexp(log_floor, axis=1))[:, None]
    floor[n_said == 0] = -np.inf
    above = np.log(rng.standard_exponential(floor.shape))
    return np.asarray(-np.where(said, floor, np.logaddexp(floor, above)))


def posterior(
    log_p: FloatArray, labels: IntArray, points: Callable[[int], FloatArray]
) -> Posterior | None:
    """The noise of a group, given what experts with log-marginals (n, k) said.

    Parameters
    ----------
    log_p, labels
        Log-marginals (n, k) and label codes (n,) of the experts observed.
    points
        From a dimension, m - 1 for m different labels, to points (n_draws, m - 1) of the unit
        cube: random, or :func:`evenly` spread.

    Returns
    -------
    Posterior, or None
        None if no noise makes them all say this. Up to two labels, all draws count the same.
    """
    experts = virtual_experts(log_p, labels)
    bound = experts.bounds()
    if bound is None:
        return None
    m, k = experts.log_ratio.shape
    u = points(m - 1)
    log_floor = np.broadcast_to(experts.log_ratio[0], (len(u), k))
    values, log_weight = np.zeros((len(u), 1)), np.zeros(len(u))
    for i, ratio in enumerate(experts.log_ratio[1:], start=1):
        low = (values + bound[:i, i]).max(axis=1)
        high = (values - bound[i, :i]).min(axis=1)
        pieces = pieces_between(log_floor, ratio, i, low, high)
        value, log_chance = draw_ratio(pieces, u[:, i - 1], i)
        values = np.concatenate([values, value[:, None]], axis=1)
        log_floor = np.maximum(log_floor, ratio + value[:, None])
        log_weight = log_weight + log_chance
    total = float(logsumexp(log_weight))
    if np.isneginf(total):
        return None
    log_chance = total - np.log(len(u)) - float(logsumexp(experts.log_ratio[0]))
    said = np.isin(np.arange(k), experts.said)
    return Posterior(said, log_floor, np.exp(log_weight - total), log_chance)


def draw_ratio(pieces: Pieces, u: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Where log t is, a share u (N,) of the integral into N ranges; and log of the integral."""
    # Beside the largest, for all may be smaller than any number; a range may have no piece at all.
    most = np.maximum(pieces.integral.max(axis=1, keepdims=True), np.finfo(float).min)
    pieces = pieces._replace(integral=np.exp(pieces.integral - most))
    up_to = np.cumsum(pieces.integral, axis=1)
    wanted = u * up_to[:, -1]
    piece = np.minimum((up_to < wanted[:, None]).sum(axis=1), up_to.shape[1] - 1)
    rows = np.arange(len(u))
    left, log_s, log_slope, growth, integral = (part[rows, piece] for part in pieces[1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num((wanted - up_to[rows, piece] + integral) / integral)
        grown = np.expm1(-np.log1p(np.clip(share, 0, _BELOW_ONE) * np.expm1(-n * growth)) / n)
        value = np.logaddexp(left, log_s + np.log(grown) - log_slope)
        return value, np.log(up_to[:, -1]) + most[:, 0]


def law_given_two(
    experts: VirtualExperts, bound: FloatArray, log_q: FloatArray
) -> tuple[FloatArray, float]:
    r"""What experts with log-marginals (t, k) say, if two different labels were said: exact.

    Given the one ratio :math:`\rho`, the chance that a target would say nothing that has its turn
    before :math:`\sigma` is :math:`S^2 / S'^2` with :math:`S' = \sum_j \max(f_j, \sigma r_j)`,
    and the density of :math:`\rho` is :math:`S^{-2}`. The product, :math:`S'^{-2}`, is taken where
    :math:`\sigma` is the turn of a label, :math:`f_j / r_j`. Between any two points where turns
    change places :math:`S'` is linear in :math:`\rho` there, and the integral is the length over
    the product of :math:`S'` at both ends.

    Parameters
    ----------
    experts
        The two virtual experts.
    bound
        As from their ``bounds``.
    log_q
        The log-marginals.

    Returns
    -------
    array (t, k), and the log-chance of the opinions observed
    """
    (t, k), (p, q) = log_q.shape, experts.log_ratio
    target, left, right = _between_turns(p, q, log_q, bound[0, 1], -bound[1, 0])
    r = log_q[target]
    middle = np.maximum(p, q + np.logaddexp(left, right)[:, None] - np.log(2))
    order = np.argsort(turns_of(middle, r), axis=1)
    log_silent = (right + np.log(-np.expm1(left - right)))[:, None]
    for end in (left, right):
        floor = np.maximum(p, q + end[:, None])
        in_order = (np.take_along_axis(x, order, axis=1) for x in (turns_of(floor, r), floor, r))
        log_slope, log_s = slope_and_sum(*in_order)
        log_silent = log_silent - log_s
    most = log_silent[:, 0].max()
    silent = np.exp(log_silent - most)
    stays = np.isin(order, experts.said).argmax(axis=1)[:, None]
    at_end = np.take_along_axis(silent, stays, axis=1)
    silent = np.where(np.arange(k) < stays, silent, at_end)
    turns = np.zeros_like(silent)
    turns[:, :-1] = np.maximum(silent[:, :-1] - silent[:, 1:], 0) * np.exp(-log_slope[:, :-1])
    law = np.cumsum(turns[:, ::-1], axis=1)[:, ::-1] * np.exp(np.take_along_axis(r, order, axis=1))
    np.put_along_axis(law, stays, at_end, axis=1)
    out = np.zeros((t, k))
    np.add.at(out, (target[:, None], order), law)
    total = out.sum(axis=1, keepdims=True)
    return out / total, float(np.log(total.mean()) + most)


def _between_turns(
    p: FloatArray, q: FloatArray, log_q: FloatArray, low: float, high: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The pieces of log-ratios in which no turns change places: whose, and both ends."""
    t, k = log_q.shape
    high = min(high, float(logsumexp(np.maximum(p, q + low))) + _FAR)
    # p_j / r_j passes rho q_l / r_l; where j = l, it is where S bends.
    with np.errstate(invalid="ignore"):
        ends = (p - log_q)[:, :, None] - (q - log_q)[:, None, :]
    ends = np.nan_to_num(ends, nan=np.inf, posinf=np.inf, neginf=-np.inf)
    ends[:, np.eye(k, dtype=bool)] = turns_of(p, q)
    ends = np.clip(ends.reshape(t, -1), low, high)
    ends = np.sort(np.concatenate([ends, np.full((t, 2), [low, high])], axis=1), axis=1)
    target, piece = np.nonzero(ends[:, 1:] > ends[:, :-1])
    return target, ends[target, piece], ends[target, piece + 1]


def shared_law(
    log_p: FloatArray, labels: IntArray, log_q: FloatArray, n_points: int
) -> tuple[FloatArray, float] | None:
    """What experts with log-marginals (t, k) say, given what others of their group said.

    Exact where the others named two different labels at most. For m of them it is an integral over
    m - 1 ratios, taken at evenly spread points.

    Parameters
    ----------
    log_p, labels
        Log-marginals (n, k) and label codes (n,) of those observed.
    log_q
        Log-marginals (t, k) of the targets.
    n_points
        As in :func:`evenly`.

    Returns
    -------
    array (t, k), and the log-chance of the opinions observed; or None
        None if no noise makes those observed say what they said.
    """
    experts = virtual_experts(log_p, labels)
    bound = experts.bounds()
    if bound is not None and len(bound) == 2:
        # A target's law has up to k**2 pieces with k values each: not of all targets at once.
        step = max(1, _BLOCK_VALUES // log_q.shape[1] ** 3)
        blocks = [log_q[start : start + step] for start in range(0, len(log_q), step)]
        laws, log_chances = zip(*(law_given_two(experts, bound, x) for x in blocks), strict=True)
        return np.concatenate(laws), log_chances[0]
    found = posterior(log_p, labels, lambda n_dimensions: evenly(n_dimensions, n_points))
    return None if found is None else (found.law(log_q), found.log_chance)


def evenly(n_dimensions: int, n_points: int) -> FloatArray:
    """Sobol's points (n, n_dimensions), n the next power of two; one point in no dimension."""
    if n_dimensions == 0:
        return np.zeros((1, 0))
    power = int(np.ceil(np.log2(n_points)))
    points = qmc.Sobol(n_dimensions, scramble=False).random_base2(power)
    return np.asarray(points + 0.5 / 2**power)


def monte_carlo_law(
    log_p: FloatArray, labels: IntArray, log_q: FloatArray, n_samples: int, rng: np.random.Generator
) -> tuple[FloatArray, float] | None:
    """As :func:`shared_law`, but as the paper would estimate it (Eq. 5): frequencies over draws.

    Draws are weighted where three or more different labels were observed.

    Parameters
    ----------
    log_p, labels, log_q
        As for :func:`shared_law`.
    n_samples
        How many draws: T.
    rng
        Draws the noise.
    """
    found = posterior(log_p, labels, lambda n_ratios: rng.random((n_samples, n_ratios)))
    if found is None:
        return None
    says = (log_q[:, None] + found.noise(rng)).argmax(axis=-1)
    k = log_q.shape[1]
    law = np.array([np.bincount(row, found.weight, minlength=k) for row in says])
    return law, found.log_chance
