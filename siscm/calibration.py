"""Calibration: whether what marginals call likely is said as often as they promise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from siscm.checks import FloatArray, IntArray, check_count, check_labels, check_log_distribution


def calibration(log_p: FloatArray, said: IntArray, n_bins: int = 10) -> pd.DataFrame:
    """Probabilities in equal bins, and how often labels of each bin were said.

    Parameters
    ----------
    log_p
        Log-marginals (n_opinions, k); the probability of each label counts once.
    said
        (n_opinions,): codes of what was said.

    Returns
    -------
    DataFrame
        A row a bin that is not empty: mean ``probability``, ``said``, the share that was, and
        ``n``, how many there are.

    Raises
    ------
    ValueError
        If a marginal is not a distribution, a code not a label, their numbers differ, or
        ``n_bins`` is no positive whole number.
    """
    if len(log_p) != len(said):
        raise ValueError(f"there are {len(log_p)} log-marginals, but {len(said)} opinions.")
    n_bins = check_count(n_bins, "n_bins")
    log_p = check_log_distribution(log_p, "observed")
    said = check_labels(said, log_p.shape[1])
    p = np.exp(log_p).ravel()
    true = (np.arange(log_p.shape[1]) == said[:, None]).ravel()
    table = pd.DataFrame({"probability": p, "said": true, "n": 1})
    bins = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    return table.groupby(bins).agg({"probability": "mean", "said": "mean", "n": "sum"})


def calibration_error(table: pd.DataFrame) -> float:
    """Mean distance of what was promised from what was said, weighted by how often."""
    away = (table["probability"] - table["said"]).abs()
    return float((away * table["n"]).sum() / table["n"].sum())
