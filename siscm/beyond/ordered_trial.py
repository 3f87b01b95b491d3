"""Which noise suits labels that have an order: a trial on made-up experts who grade severity.

Beyond the paper. A case has a severity of which the features show a part; every expert sees it
with an error of her own, and grades it in five steps. No method is told so.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from siscm.beyond.contest import GRADED, contest, graded, judged, methods
from siscm.beyond.noises import Noise
from siscm.checks import FloatArray
from siscm.evaluation import log_loss
from siscm.graded import GradedSISCM
from siscm.opinions import Opinions
from siscm.pooled import PooledMarginals

N_LABELS = 5
"""How many grades there are."""

QUANTILES = (0.45, 0.7, 0.85, 0.95)
"""Where severity is cut: the mildest grade is given most often."""


def graders(
    rng: np.random.Generator,
    n_instances: int = 450,
    n_experts: int = 5,
    hidden: float = 1.0,
    error: float = 0.5,
) -> tuple[FloatArray, Opinions]:
    """Draw cases and grades: features, and what everybody said.

    Parameters
    ----------
    rng
        Draws everything.
    n_instances, n_experts
        How many cases, and how many experts; each grades every case.
    hidden
        Standard deviation of the severity that features do not show, beside 1 of that they do.
    error
        Standard deviation of an expert's error on a case; her leaning and her scale differ too.
    """
    X = rng.normal(size=(n_instances, 5))
    weights = rng.normal(size=5)
    severity = X @ (weights / np.linalg.norm(weights)) + hidden * rng.normal(size=n_instances)
    scale, leaning = 1 + 0.2 * rng.normal(size=n_experts), 0.4 * rng.normal(size=n_experts)
    seen = severity[:, None] * scale + leaning + error * rng.normal(size=(n_instances, n_experts))
    grades = np.searchsorted(np.quantile(seen, QUANTILES), seen)
    return X, Opinions.from_codes(grades, classes=range(N_LABELS))


def ordered_trial(
    seed: int = 0,
    n_panels: int = 2,
    n_instances: int = 450,
    marginals: PooledMarginals | None = None,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Log-loss of second opinions on held-out cases, by graded sharing of each noise and by rivals.

    Parameters
    ----------
    seed
        Of all panels.
    n_panels, n_instances
        How many, and cases of each.
    marginals
        As in :class:`siscm.graded.GradedSISCM`.
    n_jobs
        Processes, as in joblib. The numbers do not depend on it.

    Returns
    -------
    DataFrame
        A row a method, a column a panel: the mean log-loss on the last third of its cases. Graded
        sharing has a row for each noise, and one for ``"likeliest"``, the noise that it takes by
        itself.
    """
    rngs = np.random.default_rng(seed).spawn(n_panels)
    found = Parallel(n_jobs)(delayed(_losses)(rng, n_instances, marginals) for rng in rngs)
    return pd.DataFrame(dict(enumerate(found)))


def _losses(
    rng: np.random.Generator, n_instances: int, marginals: PooledMarginals | None
) -> dict[str, float]:
    features, opinions = graders(rng, n_instances)
    X, end = pd.DataFrame(features), 2 * n_instances // 3
    train, test = (opinions.select(instances=part) for part in np.split(np.arange(len(X)), [end]))
    by_noise: dict[str, float] = {}
    for noise in get_args(Noise):
        model = GradedSISCM(marginals, noise).fit(X.loc[train.instances], train)
        scored = model.log_marginals(X.loc[test.instances], test)
        by_noise |= _mean_losses(judged({f"{GRADED}, {noise}": graded(model)}, scored, test))
    found = _mean_losses(contest(GradedSISCM(marginals), X, train, test))
    return {f"{GRADED}, likeliest": found.pop(GRADED), **by_noise, **found}


def _mean_losses(pairs: pd.DataFrame) -> dict[str, float]:
    """Of each method, from a table of :func:`siscm.beyond.contest.contest`."""
    given = {name: pairs[name, "probability"].to_numpy() for name in methods(pairs)}
    return {name: float(log_loss(p, N_LABELS).mean()) for name, p in given.items()}
