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
and more labels the noise is drawn: from its prior, and from its posterior given each opinion.
Gaussian noises are summed over a grid (:func:`siscm.gaussian.given`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from siscm import gaussian
from siscm.checks import FloatArray, IntArray
from siscm.gumbel import sample_noise, sample_posterior_noise
from siscm.opinions import NOT_ASKED
from siscm.ordered import intervals
from siscm.sharing import Noise, pair_law


def exact_on_a_line(
    log_p: FloatArray, labels: IntArray, a: FloatArray, log_q: FloatArray, b: FloatArray
) -> FloatArray | None:
    """What targets say, given opinions that share a noise on a line with them.

    Parameters
    ----------
    log_p, labels, a
        Log-marginals (m, k), label codes and sharing (m,) of the experts observed.
    log_q, b
        Log-marginals (t, k) and sharing (t,) of the targets.

    Returns
    -------
    array (t, k), or None
        None if no noise makes the observed experts say what they said; all their sharing is 1
        then.
    """
    rows, m, t = np.arange(len(labels)), len(labels), log_q.size
    low, high = (end[rows, labels] for end in intervals(log_p))
    first, last = (end.reshape(t, 2) for end in intervals(log_q))
    every = np.concatenate([low, high, first, last])
    ends, place = np.unique(every, axis=0, return_inverse=True)
    low_at, high_at, first_at, last_at = np.split(place.ravel(), np.cumsum([m, m, t]))
    width = np.maximum(np.diff(ends, axis=0).sum(axis=1), 0)
    cell = np.arange(len(width))
    follows = (low_at[:, None] <= cell) & (cell < high_at[:, None])
    own = (1 - a) * np.exp(log_p[rows, labels])
    density = np.prod(a[:, None] * follows + own[:, None], axis=0) * width
    total = density.sum()
    if total <= 0:
        return None
    says = (first_at[:, None] <= cell) & (cell < last_at[:, None])
    shared = (says @ (density / total)).reshape(log_q.shape)
    return np.asarray(b[:, None] * shared + (1 - b[:, None]) * np.exp(log_q))


def sampled(
    log_p: FloatArray,
    labels: IntArray,
    a: FloatArray,
    log_q: FloatArray,
    b: FloatArray,
    n_samples: int,
    rng: np.random.Generator,
) -> FloatArray | None:
    """The same under Gumbel noises with any number of labels, from weighted draws.

    Draws come in equal parts from the prior and from the posterior given each opinion, and are
    weighted by the true density over that of the mixture, so that no weight is large.
    """
    m, k = log_p.shape
    each = -(-n_samples // (m + 1))
    noise = np.concatenate(
        [sample_noise(k, each, rng)]
        + [sample_posterior_noise(log_p[i], labels[i], each, rng) for i in range(m)]
    )
    follows = np.stack([(log_p[i] + noise).argmax(axis=-1) == labels[i] for i in range(m)])
    p = np.exp(log_p[np.arange(m), labels])[:, None]
    density = np.prod(a[:, None] * follows + (1 - a[:, None]) * p, axis=0)
    weights = density / (1 + (follows / p).sum(axis=0))
    total = weights.sum()
    if total <= 0:
        return None
    law = np.empty_like(log_q)
    for t, row in enumerate(log_q):
        says = (row + noise).argmax(axis=-1)
        law[t] = np.bincount(says, weights / total, minlength=k)
    return np.asarray(b[:, None] * law + (1 - b[:, None]) * np.exp(log_q))


def graded_proba(
    log_marginals: FloatArray,
    labels: IntArray,
    number: IntArray,
    a: FloatArray,
    *,
    noise: Noise,
    n_samples: int,
    rng: np.random.Generator,
    instances: Sequence[Hashable],
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
    instances
        Names for error messages.

    Returns
    -------
    array (n, H, k)
        The row of an observed expert is a point mass; a group of which nobody was observed keeps
        its marginals.

    Raises
    ------
    ValueError
        If the opinions observed are impossible together: only where all their sharing is 1.
    """
    k = log_marginals.shape[-1]
    on_a_line = noise == "uniform" or k == 2
    out = np.exp(log_marginals)
    out /= out.sum(axis=-1, keepdims=True)
    asked = labels != NOT_ASKED
    for group in np.unique(number[asked.any(axis=0)]):
        members = np.flatnonzero(number == group)
        n_observed = asked[:, members].sum(axis=1)
        one = np.flatnonzero(n_observed == 1)
        who = members[asked[np.ix_(one, members)].argmax(axis=1)]
        out[np.ix_(one, members)] = pair_law(
            log_marginals[one, who][:, None],
            log_marginals[one][:, members],
            labels[one, who, None],
            a[who][:, None] * a[members],
            noise,
        )
        for i in np.flatnonzero(n_observed > 1):
            seen = members[asked[i, members]]
            given = (log_marginals[i, seen], labels[i, seen], a[seen])
            targets = (log_marginals[i, members], a[members])
            found: FloatArray | None
            if noise == "gaussian":
                found = gaussian.given(*given, *targets)
            elif on_a_line:
                found = exact_on_a_line(*given, *targets)
            else:
                found = sampled(*given, *targets, n_samples, rng)
            if found is None:
                raise ValueError(
                    f"instance {instances[int(i)]!r}: no noise makes the experts observed say what "
                    "they said, or so few do that none was drawn; with a sharing below 1 it "
                    "would not matter."
                )
            out[i, members] = found
    row, expert = np.nonzero(asked)
    out[row, expert] = np.eye(k)[labels[row, expert]]
    return out
