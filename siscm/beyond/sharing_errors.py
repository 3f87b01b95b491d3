r"""How far the sharing that was learned may be off: standard errors, summed up over instances.

Pairs on one instance depend on each other, so the curvature of the log-likelihood alone would
promise too much. The scores are added up by instance, and their spread over instances, with that of
the prior, stands between two inverse curvatures (the "sandwich" of Huber). Marginals are taken as
they are. Intervals cover 95 % of experts who differ as :data:`SPREAD` supposes. Of those who differ
more they cover fewer, and the farther somebody is from all others, the likelier she is drawn out of
hers: far below, she is said to share more than she does; far above, less.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from siscm.beyond.chunks import Source, total
from siscm.beyond.gaussian import TwoOpinions
from siscm.beyond.noises import Noise, pull
from siscm.beyond.sharing import MOST
from siscm.checks import FloatArray, IntArray
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals
from siscm.partition import Groups, group_of

SPREAD = 0.5
"""Prior standard deviation, in log-odds, of the experts' sharing around their mean. Left-out parts
of both real panels' training parts are predicted better than with twice as much, by little."""


def standard_errors(
    chunks: Iterable[Source], groups: Groups, a: FloatArray, noise: Noise
) -> FloatArray:
    r"""Standard errors (H,) of the log-odds of each expert's sharing.

    Parameters
    ----------
    chunks
        What the sharing was learned from: see :mod:`siscm.beyond.chunks`.
    groups, a, noise
        Positions of experts, their sharing (H,), and the noise.
    """
    n = len(a)
    task = partial(_curvature_and_spread, number=group_of(groups, range(n)), a=a, noise=noise)
    curvature, spread = total(task, chunks)
    # A trace of the identity, for the prior says nothing of the mean.
    prior = (np.eye(n) - (1 - 1e-6) / n) / SPREAD**2
    inverse = np.linalg.inv(curvature + prior)
    return np.asarray(np.sqrt(np.diag(inverse @ (spread + prior) @ inverse).clip(0)))


def _curvature_and_spread(
    log_marginals: npt.ArrayLike,
    opinions: Opinions,
    number: IntArray,
    a: FloatArray,
    noise: Noise,
) -> FloatArray:
    """What one chunk adds to both matrices of the sandwich: (2, H, H)."""
    log_p = opinion_marginals(log_marginals, opinions)
    n, h, y = len(a), opinions.expert_codes, opinions.label_codes
    curvature, score = np.zeros(n * n), np.zeros(len(opinions))
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
    by_instance = csr_array((score, (opinions.instance_codes, h)), (len(opinions.instances), n))
    return np.stack([curvature.reshape(n, n), (by_instance.T @ by_instance).toarray()])
