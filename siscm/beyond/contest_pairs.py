"""The ordered pairs of opinions that a contest learns from and judges, and what all know."""

from __future__ import annotations

import numpy as np

from siscm.baselines import Pairs, ordered_pairs
from siscm.checks import FloatArray, IntArray
from siscm.opinions import Opinions
from siscm.pairs import opinion_marginals

Part = tuple[FloatArray, Opinions]
"""Opinions about some instances, with the log-marginals (n_opinions, k) of who gave them."""


def pairs_of(log_marginals: FloatArray, opinions: Opinions) -> tuple[Pairs, IntArray]:
    """Every ordered pair of opinions on one instance, and what the targets said (n,).

    Parameters
    ----------
    log_marginals, opinions
        As for :func:`siscm.pairs.opinion_marginals`; every expert is in a group of her own.
    """
    log_p = opinion_marginals(log_marginals, opinions)
    observed, target = ordered_pairs(opinions)
    alone = np.arange(len(opinions.experts))
    pairs = Pairs.at(observed, target, log_p, opinions, alone)
    return pairs, opinions.label_codes[target]


def common_features(log_p: FloatArray, opinions: Opinions) -> FloatArray:
    """(n_instances, k): log-marginals averaged over who was asked: what all know of an instance."""
    sums = np.zeros((len(opinions.instances), log_p.shape[1]))
    np.add.at(sums, opinions.instance_codes, log_p)
    return np.asarray(sums / np.maximum(opinions.n_by_instance, 1)[:, None])
