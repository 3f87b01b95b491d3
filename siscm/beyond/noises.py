r"""What two opinions on one instance say about a noise that their experts share, by its kind.

Gumbel noises treat all labels alike; uniform and Gaussian ones know their order. The first two are
followed or not: :math:`\lambda J + (1 - \lambda)\, p\, q^\top`, with J the law under one noise.
Gaussian ones are correlated, :math:`\lambda` being the correlation (:mod:`siscm.beyond.gaussian`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from siscm import gumbel
from siscm.beyond import gaussian, ordered
from siscm.beyond.gaussian import TwoOpinions
from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.violations import violates

Noise = Literal["gumbel", "uniform", "gaussian"]
"""The noises that a group can share; all but Gumbel's are for labels in an order."""

LAWS: dict[str, Callable[[FloatArray, FloatArray, IntArray], FloatArray]] = {
    "gumbel": gumbel.counterfactual_probabilities,
    "uniform": ordered.counterfactual_probabilities,
}
"""What a target says given what another said, by the noise that both follow or do not."""

_CUT_ROUNDING = 1e-12
"""A joint probability below this share of p q is zero: two cuts that are equal but for rounding."""

_JUST_POSSIBLE = float(np.nextafter(-1, 0))

_MOST_LOG_EXCESS = 600.0
"""Beyond it, excesses would overflow when they are added up."""


def check_noise(noise: str) -> None:
    """Refuse a noise that there is not."""
    if noise not in (known := get_args(Noise)):
        raise ValueError(
            f"noise is {noise!r}; it must be one of {', '.join(known)}; or likeliest, for a "
            "GradedSISCM to choose."
        )


def pair_law(
    log_p: FloatArray,
    log_q: FloatArray,
    label: IntArray,
    sharing: FloatArray,
    noise: Noise,
) -> FloatArray:
    r"""P(target says d | observed said ``label``) at a sharing :math:`\lambda` (...), for every d.

    Parameters
    ----------
    log_p, log_q, label
        As in :func:`siscm.gumbel.counterfactual_probabilities`.
    sharing
        :math:`\lambda`, from 0 (marginals) to 1 (the noise is one); broadcasts against the labels.
    noise
        Which noise is shared.
    """
    if noise == "gaussian":
        return gaussian.law(log_p, log_q, label, sharing)
    return followed_or_not(LAWS[noise](log_p, log_q, label), log_q, sharing)


def followed_or_not(
    says: FloatArray | BoolArray, log_q: FloatArray, share: FloatArray
) -> FloatArray:
    """What targets say who follow a noise with chance ``share`` (...), else one of their own.

    Parameters
    ----------
    says, log_q
        What they say as followers (..., k), and their log-marginals; leading axes broadcast.
    share
        From 0 to 1.
    """
    follow = share[..., None]
    return np.asarray(follow * says + (1 - follow) * np.exp(log_q))


def terms(two: TwoOpinions, noise: Noise, nodes: FloatArray) -> FloatArray:
    r"""What each pair of opinions (n,) says at each sharing of ``nodes``: (n, 2 m + 1).

    Log-likelihoods beside that of strangers and their derivatives, as if a shared noise could have
    produced both; and whether it cannot, where the logarithm is :math:`\log(1 - \lambda)`.

    Parameters
    ----------
    two
        The opinions, and the marginals of who gave them.
    noise
        Which noise may be shared.
    nodes
        (m,): values of :math:`\lambda`, ascending from 0.
    """
    if noise == "gaussian":
        values, slopes = gaussian.log_ratios(two, nodes)
        return np.concatenate([values, slopes, np.zeros((len(values), 1))], axis=1)
    rho = excess(two, noise)
    possible = rho > -1
    known = np.where(possible, rho, 0.0)[:, None]
    inner = 1 + nodes * known
    return np.concatenate([np.log(inner), known / inner, ~possible[:, None]], axis=1)


def pull(two: TwoOpinions, sharing: FloatArray, noise: Noise) -> FloatArray:
    r""":math:`\lambda\, \partial / \partial\lambda` of the log-likelihood of two opinions (n,).

    Parameters
    ----------
    two, noise
        As for :func:`terms`.
    sharing
        (n,): :math:`\lambda` of each pair.
    """
    if noise == "gaussian":
        return sharing * gaussian.log_ratio(two, sharing)[1]
    rho = excess(two, noise)
    return np.asarray(sharing * rho / (1 + sharing * rho))


def excess(two: TwoOpinions, noise: Noise) -> FloatArray:
    r""":math:`\varrho = J / (p\, q) - 1` at two opinions (n,).

    Above 0 where a shared noise makes them likelier than two noises do, -1 where it cannot
    produce them, and only there: under Gumbel noise where they violate conditional stability.

    Parameters
    ----------
    two, noise
        As for :func:`terms`.
    """
    log_p, log_q, label, other = two
    rows = np.arange(len(label))
    law = LAWS[noise](log_p, log_q, label)[rows, other]
    with np.errstate(divide="ignore"):
        log_ratio = np.log(law) - log_q[rows, other]
    rho = np.expm1(np.minimum(log_ratio, _MOST_LOG_EXCESS))
    if noise == "gumbel":
        impossible = violates(log_p, label, log_q, other)
    else:
        impossible = rho + 1 < _CUT_ROUNDING
    return np.where(impossible, -1.0, np.maximum(rho, _JUST_POSSIBLE))
