r"""What one violation proves, and what it does not when marginals are estimated (Section 6).

A violation occurs whenever Eq. 4 holds but we observe :math:`Y_h = c` and :math:`Y_{h'} = c'` (the
footnote of Section 6); one is enough to part two experts. With true marginals that is proof, for
similar experts never violate. With estimates it is not; how often they seem to is computed here
without drawing an opinion. How alike habits are decides how sensitive the rule is:

- Similar experts with equal habits always agree: no estimate, however bad, raises an alarm.
- If habits differ much less than the estimates err, about half of the disagreements, which are
  few, are false alarms; if much more, only near-ties are. In between they are most frequent.
- With equal habits but noises of their own, experts violate whenever they disagree, if judged by
  the truth; half as often if judged by estimates, or once habits differ by however little. One
  estimate that serves for two experts makes each of their disagreements a violation.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from siscm.checks import FloatArray, IntArray
from siscm.gumbel import joint_probabilities, sample_noise
from siscm.marginals import all_log_marginals, fit_marginals
from siscm.opinions import NOT_ASKED, Opinions
from siscm.violations import violates

SIMILAR, NOT_SIMILAR = "similar", "not similar"
"""Pairs of experts who share one noise, and pairs who have one each."""

LOGIT = LogisticRegression(solver="newton-cholesky")  # fast where features are few
"""Learns habits that are multinomial logit in truth, with scikit-learn's penalty."""


def violation_rate(joint: npt.ArrayLike, log_p: npt.ArrayLike, log_q: npt.ArrayLike) -> FloatArray:
    r"""How likely two opinions on one case are to violate, judged with these marginals: (...).

    :math:`\sum_{c,d} J_{cd}\,[c, d \text{ violate}]` (Section 6's footnote). Zero under one shared
    noise and true marginals; where two ratios tie, rounding may leave 1e-16.

    Parameters
    ----------
    joint
        True law (..., k, k) of both opinions: :func:`siscm.gumbel.joint_probabilities`, say.
    log_p, log_q
        Log-marginals (..., k) to judge by, true or estimated. Leading axes broadcast.

    Raises
    ------
    ValueError
        If a marginal is not a distribution, or a label that can be said has an estimate of zero.
    """
    law = np.asarray(joint, dtype=np.float64)
    p, q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    # What cannot be said may have an estimate of zero, which `violates` refuses: judge another.
    says, other_says = np.indices(law.shape[-2:])
    c = np.where(law > 0, says, p.argmax(axis=-1)[..., None, None])
    d = np.where(law > 0, other_says, q.argmax(axis=-1)[..., None, None])
    alarm = violates(p[..., None, None, :], c, q[..., None, None, :], d)
    return np.asarray(np.minimum((law * alarm).sum(axis=(-2, -1)), 1))


def by_meetings(
    rng: np.random.Generator,
    errors: Sequence[float] = (0, 0.03, 0.1, 0.3, 1),
    meetings: Sequence[int] = (1, 3, 10, 30, 100, 300, 1000),
    *,
    n_pairs: int = 400,
    n_classes: int = 3,
    spread: float = 1.5,
    leaning: float = 0.5,
) -> pd.DataFrame:
    r"""How likely two experts are to violate at least once, by cases in common and by error.

    Similar experts raise false alarms. The same pairs with noises of their own show how likely a
    true violation is to be seen: that none was seen proves nothing either (Section 6).

    Parameters
    ----------
    rng
        Draws habits and errors.
    errors
        :math:`\log\hat p` is :math:`\log p` plus ``error`` times standard normals, normalised;
        drawn anew for every case and expert, the same draws for every error. 0 is the truth.
    meetings
        Numbers of cases seen by both; fewer are the first of more.
    n_pairs, n_classes
        How many random pairs, and how many labels.
    spread, leaning
        Habits: standard deviations of each label's log-probability, before it is normalised, in
        what both experts have in common (drawn anew for every case) and in what each leans to on
        every case; log-odds vary :math:`\sqrt 2` times as much. At a leaning of 0 they are equal.

    Returns
    -------
    DataFrame
        A row for each of ``experts`` (:data:`SIMILAR`, :data:`NOT_SIMILAR`), ``error`` and
        ``meetings``: ``chance``, the mean over pairs of the probability of at least one violation,
        and its ``standard_error``.
    """
    chances = np.empty((n_pairs, 2, len(errors), len(meetings)))
    for chance in chances:
        common = spread * rng.standard_normal((max(meetings), n_classes))
        true = log_softmax(common + leaning * rng.standard_normal((2, 1, n_classes)), axis=-1)
        off = np.multiply.outer(errors, rng.standard_normal(true.shape)).swapaxes(0, 1)
        known = log_softmax(true[:, None] + off, axis=-1)
        own = np.exp(true[0][:, :, None] + true[1][:, None, :])
        for i, joint in enumerate((joint_probabilities(*true), own)):
            chance[i] = _at_least_one(violation_rate(joint, *known), meetings)
    keys = {"experts": (SIMILAR, NOT_SIMILAR), "error": errors, "meetings": meetings}
    return _tidy(chances, keys)


def by_training_size(
    rng: np.random.Generator,
    sizes: Sequence[int] = (20, 50, 100, 200, 500, 1000, 3000),
    meetings: Sequence[int] = (10, 50, 200),
    *,
    n_pairs: int = 80,
    n_classes: int = 3,
    n_features: int = 5,
    spread: float = 1.5,
    leaning: float = 0.5,
) -> pd.DataFrame:
    """How likely a false alarm is between similar experts whose marginals were learned.

    An error honestly made: habits are multinomial logit in standard normal features, so
    scikit-learn's LogisticRegression (default penalty) is of the right form; it learns each
    expert's from cases and opinions of her own. Errors on different cases go together. Cases that
    both see are fresh: nobody was learned from them.

    Parameters
    ----------
    rng
        Draws habits, cases and opinions.
    sizes
        Numbers of training opinions an expert; fewer are the first of more.
    n_features
        How many features a case has.
    meetings, n_pairs, n_classes, spread, leaning
        As in :func:`by_meetings`, but what an expert leans to depends on the case.

    Returns
    -------
    DataFrame
        A row for each of ``opinions`` and ``meetings``: ``chance`` and ``standard_error`` as in
        :func:`by_meetings`, and ``error``, the estimates' root mean square one on the scale of the
        errors there (median over pairs).
    """
    chances, error = np.empty((n_pairs, len(sizes), len(meetings))), np.empty((n_pairs, len(sizes)))
    for pair in range(n_pairs):
        own, common = (rng.standard_normal((n, n_features + 1, n_classes)) for n in (2, 1))
        slopes = (spread * common + leaning * own) / np.sqrt(n_features + 1)
        X = rng.standard_normal((2, max(sizes), n_features))
        said = (_log_marginals(X, slopes) + sample_noise(n_classes, X.shape[:2], rng)).argmax(-1)
        fresh = rng.standard_normal((max(meetings), n_features))
        true = _log_marginals(fresh, slopes)
        for i, n in enumerate(sizes):
            learned = _learn(X[:, :n], said[:, :n], fresh, n_classes, rng)
            rates = violation_rate(joint_probabilities(*true), *learned)
            chances[pair, i] = _at_least_one(rates, meetings)
            error[pair, i] = np.sqrt(squared_error(learned, true).mean())
    table = _tidy(chances, {"opinions": sizes, "meetings": meetings})
    return table.assign(error=np.repeat(np.median(error, axis=0), len(meetings)))


def _log_marginals(X: FloatArray, slopes: FloatArray) -> FloatArray:
    return np.asarray(log_softmax(slopes[:, :1] + X @ slopes[:, 1:], axis=-1))


def _learn(
    X: FloatArray, said: IntArray, fresh: FloatArray, n_classes: int, rng: np.random.Generator
) -> FloatArray:
    """Log-marginals (2, m, k) on fresh cases, learned from two experts' cases and opinions."""
    n = said.shape[1]
    labels = np.full((2 * n, 2), NOT_ASKED)
    labels[:n, 0], labels[n:, 1] = said
    opinions = Opinions.from_codes(labels, classes=range(n_classes))
    models = fit_marginals(LOGIT, X.reshape(2 * n, -1), opinions, rng)
    return all_log_marginals(models, fresh, opinions.experts, n_classes, 1e-8).swapaxes(0, 1)


def squared_error(learned: FloatArray, true: FloatArray) -> FloatArray:
    """Of log-marginals (..., k), the mean over labels: (...); errors as in :func:`by_meetings`."""
    # Normalising shifts the labels of a case alike, which the variance does not see.
    return np.asarray((learned - true).var(axis=-1, ddof=1))


def _at_least_one(rates: FloatArray, meetings: Sequence[int]) -> FloatArray:
    """Chance of a violation among the first so many cases, whose noises are independent."""
    if min(meetings) < 0:
        raise ValueError(f"meetings has {min(meetings)}; it takes numbers of cases, 0 or more.")
    none = np.cumprod(np.insert(1 - rates, 0, 1, axis=-1), axis=-1)  # among none, for sure
    return np.asarray(1 - none[..., np.asarray(meetings)])


def _tidy(chances: FloatArray, keys: Mapping[str, Sequence[Hashable]]) -> pd.DataFrame:
    """A row a cell of ``chances`` (pairs, one axis a key): mean over pairs, and standard error."""
    index = pd.MultiIndex.from_product(list(keys.values()), names=list(keys))
    cells = pd.DataFrame(chances.reshape(len(chances), -1), columns=index)
    return pd.DataFrame({"chance": cells.mean(), "standard_error": cells.sem()}).reset_index()
