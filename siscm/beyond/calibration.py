"""Calibration: whether what marginals call likely is said as often as they promise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from siscm.checks import FloatArray, IntArray, check_labels

N_BINS = 10
"""Equal bins of probabilities from 0 to 1."""


def calibration(log_p: FloatArray, said: IntArray) -> pd.DataFrame:
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
        If something said is no code, such as a label's name: it would count as never said.
    """
    said = check_labels(said, log_p.shape[1])
    p = np.exp(log_p).ravel()
    true = (np.arange(log_p.shape[1]) == said[:, None]).ravel()
    table = pd.DataFrame({"probability": p, "said": true, "n": 1})
    bins = np.minimum((p * N_BINS).astype(np.int64), N_BINS - 1)
    return table.groupby(bins).agg({"probability": "mean", "said": "mean", "n": "sum"})


def calibration_error(table: pd.DataFrame) -> float:
    """Mean distance of what was promised from what was said, weighted by how often."""
    away = (table["probability"] - table["said"]).abs()
    return float((away * table["n"]).sum() / table["n"].sum())
