"""What the synthetic sweep shows, as figures beside the paper's claims: expected/synthetic.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from siscm.compendium.pages import expected, today, write_expected
from siscm.synthetic.sweep import sweep

SHOWN = ("ari", "edge_ratio", "zero_one_fitted", "zero_one_true", "zero_one_singletons")
"""The columns of a run that the paper's figure shows."""

NEAR_ONE, ALIKE = 0.95, 0.005
"""What "very close to 1" and "very similar losses" are read as; the paper gives no number."""

THRESHOLD = 0.3
"""The edge ratio above which the paper claims both."""


def cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the repeats: a row for each s and m.

    Parameters
    ----------
    runs
        As from :func:`siscm.synthetic.sweep.sweep`.
    """
    return runs.groupby(["s", "m"])[list(SHOWN)].mean()


def claims(runs: pd.DataFrame, threshold: float = THRESHOLD) -> dict[str, float]:
    """The paper's claim as numbers, over the runs with an edge ratio above a threshold.

    Parameters
    ----------
    runs
        As from :func:`siscm.synthetic.sweep.sweep`.
    threshold
        Of the edge ratio, from 0 to 1.

    Returns
    -------
    dict
        ``runs`` above it; ``ari_mean`` and ``ari_lowest`` of these, and the shares whose ARI is
        near one (:data:`NEAR_ONE`) and whose 0/1 loss is like the true model's (:data:`ALIKE`).
        Nothing but ``runs`` if there are none.
    """
    above = runs[runs["edge_ratio"] > threshold]
    if above.empty:
        return {"runs": 0}
    gap = above["zero_one_fitted"] - above["zero_one_true"]
    return {
        "runs": len(above),
        "ari_mean": round(float(above["ari"].mean()), 4),
        "ari_lowest": round(float(above["ari"].min()), 4),
        "ari_near_one": round(float((above["ari"] >= NEAR_ONE).mean()), 4),
        "losses_alike": round(float((gap <= ALIKE).mean()), 4),
    }


def needed_ratio(runs: pd.DataFrame) -> float:
    """The edge ratio above which every run has an ARI near one: the highest of those without."""
    return float(runs.loc[runs["ari"] < NEAR_ONE, "edge_ratio"].max())


def figures(runs: pd.DataFrame) -> dict[str, Any]:
    """Everything that is recorded of a sweep, ready for JSON."""
    table = cells(runs).round(4).reset_index()
    return {
        "claims": {f"{threshold:g}": claims(runs, threshold) for threshold in (0.3, 0.4, 0.5)},
        "needed_ratio": round(needed_ratio(runs), 4),
        "cells": {f"s={row.s:g}, m={row.m}": list(row[3:]) for row in table.itertuples()},
    }


def drift(found: Mapping[str, Any], recorded: Mapping[str, Any], tolerance: float) -> Iterator[str]:
    """Where figures differ from those recorded by more than the tolerance, one sentence each."""
    for key in sorted({*found, *recorded}, key=str):
        if key not in found or key not in recorded:
            yield f"{key} is {'not recorded' if key in found else 'not found'}"
        elif isinstance(found[key], Mapping) and isinstance(recorded[key], Mapping):
            yield from (f"{key}: {words}" for words in drift(found[key], recorded[key], tolerance))
        elif not _alike(found[key], recorded[key], tolerance):
            yield f"{key} is {found[key]}, recorded as {recorded[key]}"


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two numbers or lists are; never a list and one number, which NumPy would repeat."""
    if isinstance(one, Mapping) or isinstance(other, Mapping) or np.shape(one) != np.shape(other):
        return False
    if any(np.asarray(x).dtype.kind not in "biuf" for x in (one, other)):  # a text, or None
        return bool(one == other)
    return np.allclose(one, other, rtol=0, atol=tolerance, equal_nan=True)


def main() -> None:
    """Run the whole sweep and record it beside the paper's claims."""
    content = expected("synthetic")
    content["ours"]["date"] = today()
    content["ours"]["figures"] = figures(sweep(content["ours"]["seed"], n_jobs=-1))
    write_expected("synthetic", content)


if __name__ == "__main__":
    main()
