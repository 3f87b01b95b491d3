"""The design behind CIFAR-10H: who was shown which images, and whether chance decided it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import chi2, chi2_contingency, monte_carlo_test

from siscm.checks import FloatArray
from siscm.cifar10h.image_sets import NO_SET, HiddenSets


def assignment_tests(
    raw: pd.DataFrame, sets: HiddenSets, *, rng: np.random.Generator, n_resamples: int = 999
) -> pd.DataFrame:
    """Tests of whether chance decided which images, and which annotators, make up a set.

    Difficulty of an image is the share of *other* sets' annotators who missed its true label, so
    that those who saw a set say nothing about it. It is compared with sets dealt out anew, each
    with as many images of each class as it has. Annotators are taken in the order of their ids,
    which tells something only if ids were given in order of arrival.

    Parameters
    ----------
    raw, sets
        A raw table, and what :func:`siscm.cifar10h.image_sets.hidden_sets` found in it.
    rng, n_resamples
        Draw that many random assignments.

    Returns
    -------
    DataFrame
        A row a hypothesis: ``statistic``; ``usual``, its mean if the hypothesis holds; two-sided
        ``p_value``. NaN where the sets leave nothing to compare.
    """
    rows = {"classes fall into sets at random": _class_test(sets.images)}

    compare = partial(_against_chance, rng=rng, n_resamples=n_resamples)
    harder = _left_out_difficulty(raw, sets)
    stratum = harder.groupby(["reshuffle", "true_label"]).ngroup().to_numpy()
    rows["no set is harder or easier than by chance"] = compare(
        harder["difficulty"].to_numpy(), stratum, _spread(harder["set"].to_numpy())
    )
    placed = sets.annotators[sets.annotators["set"] != NO_SET].sort_index()
    place, one = np.arange(len(placed), dtype=np.float64), np.zeros(len(placed), dtype=np.int64)
    for what in ("set", "reshuffle"):
        rows[f"the order of ids does not tell the {what}"] = compare(
            place, one, _spread(placed[what].to_numpy())
        )
    rows["neighbours by id share a set as often as others"] = compare(
        placed["set"].to_numpy(dtype=np.float64),
        one,
        lambda x, axis=-1: (x[..., 1:] == x[..., :-1]).mean(axis=-1),
    )
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["statistic", "usual", "p_value"])
    return table.rename_axis("hypothesis")


def _class_test(images: pd.DataFrame) -> list[float]:
    """Pearson's chi-squared of sets by classes, summed over reshuffles, and its degrees."""
    statistic, degrees = 0.0, 0
    for _, dealt in images.groupby("reshuffle"):
        result = chi2_contingency(pd.crosstab(dealt["set"], dealt["true_label"]), correction=False)
        statistic += float(result.statistic)
        degrees += int(result.dof)
    if not degrees:
        return [np.nan] * 3
    # Both tails: classes spread too evenly are no more chance than classes heaped.
    tails = chi2.cdf(statistic, degrees), chi2.sf(statistic, degrees)
    return [statistic, degrees, float(min(1.0, 2 * min(tails)))]


def _left_out_difficulty(raw: pd.DataFrame, sets: HiddenSets) -> pd.DataFrame:
    """``sets.images`` with how often annotators outside the set missed each image."""
    opinions = raw.assign(
        set=sets.annotators["set"].loc[raw["annotator"]].to_numpy(),
        missed=raw["chosen_label"] != raw["true_label"],
    )
    whole = opinions.groupby("image")["missed"].agg(["sum", "size"])
    inside = opinions.groupby(["set", "image"])["missed"].agg(["sum", "size"])
    images = sets.images
    own = inside.loc[pd.MultiIndex.from_frame(images[["set", "image"]])].to_numpy()
    missed, asked = (whole.loc[images["image"]].to_numpy() - own).T
    kept = asked > 0
    difficult: pd.DataFrame = images[kept].assign(difficulty=missed[kept] / asked[kept])
    return difficult


def _spread(group: npt.NDArray[Any]) -> Callable[..., FloatArray]:
    """The statistic: variance of the means of values (..., n) within groups, weighted by size."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-2))
    sizes = np.diff(starts, append=len(group))

    def statistic(values: FloatArray, axis: int = -1) -> FloatArray:
        means = np.add.reduceat(values[..., order], starts, axis=-1) / sizes
        centred = means - values.mean(axis=-1, keepdims=True)
        return np.asarray((sizes * centred**2).sum(axis=-1) / len(group))

    return statistic


def _against_chance(
    values: npt.NDArray[Any],
    strata: npt.NDArray[Any],
    statistic: Callable[..., FloatArray],
    rng: np.random.Generator,
    n_resamples: int,
) -> list[float]:
    """A statistic, its mean when values change places within strata, and a two-sided p-value."""
    if len(values) < 2:
        return [np.nan] * 3
    places = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]

    def deal(size: tuple[int, ...]) -> FloatArray:
        dealt = np.tile(values, (size[0], 1))
        for place in places:
            dealt[:, place] = rng.permuted(dealt[:, place], axis=1)
        return dealt

    result = monte_carlo_test(
        values, deal, statistic, vectorized=True, n_resamples=n_resamples, batch=50
    )
    if np.allclose(result.null_distribution, result.statistic, rtol=1e-9, atol=1e-12):
        return [np.nan] * 3  # however they are dealt: a single set, say
    return [float(result.statistic), float(result.null_distribution.mean()), float(result.pvalue)]
