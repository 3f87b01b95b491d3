"""Means over ordered pairs of experts, with intervals that take the experts for a sample."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from siscm.checks import FloatArray, IntArray


def mean_over_experts(
    name: str,
    values: FloatArray,
    observed: IntArray,
    target: IntArray,
    rng: np.random.Generator,
    n_bootstrap: int = 1000,
    level: float = 0.95,
) -> dict[str, float]:
    r"""A mean over ordered pairs, and its 95 % percentile interval over experts drawn anew.

    Each expert is in many pairs, observed in some and the target in others, and all of them hang
    together. So a pair counts as often as one of its experts was drawn, times the other (the
    bootstrap of dyads; Davezies, D'Haultfœuille and Guyonvarch, 2021). It takes the two roles into
    account. With few experts it is too narrow: where experts differ it covers about 84 % with six
    and 90 % with twenty. Where it makes no difference who they are it is too wide, by up to
    :math:`\sqrt 3`.

    Parameters
    ----------
    name
        Of what the mean is of.
    values
        (n,), one a pair of opinions.
    observed, target
        (n,): numbers of the two experts, counted from 0.
    rng
        Draws the experts; from one state the same ones, whatever the values.
    n_bootstrap, level
        How often, and of which level the interval is, if of another.

    Returns
    -------
    dict
        As of :func:`siscm.intervals.mean_with_interval`. The ends are NaN with fewer than five
        experts: of three it would cover half.
    """
    value = float(values.mean()) if len(values) else np.nan
    low, high = np.nan, np.nan
    n = int(max(observed.max(initial=-1), target.max(initial=-1))) + 1
    if n > 4 and np.isfinite(value):
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_bootstrap).astype(np.float64)
        total, size = (
            np.asarray((drawn @ csr_array((of, (observed, target)), (n, n))) * drawn).sum(axis=1)
            for of in (values, np.ones_like(values))
        )
        low, high = np.quantile(
            total[size > 0] / size[size > 0], [(1 - level) / 2, (1 + level) / 2]
        )
    return {name: value, f"{name}_low": float(low), f"{name}_high": float(high)}
