"""What second opinions are worth on a user's panel, by cross-validation over its instances."""

from __future__ import annotations

import numpy as np
import pandas as pd

from siscm.baselines import Rule, copy, marginals_only
from siscm.contest import GRADED, Graded, judged
from siscm.graded import GradedSISCM
from siscm.opinions import Opinions
from siscm.own_features import marginals_for
from siscm.own_panel import OwnPanel
from siscm.pooled import PooledMarginals
from siscm.sharing_fit import NoiseChoice

N_FOLDS = 3
"""Parts of the instances by which second opinions are judged."""


def learning(panel: OwnPanel, most_cells: int | None, rng: np.random.Generator) -> Opinions:
    """The opinions to learn from, of all experts.

    With features, instances with one opinion are kept out, so that no answer about them comes from
    marginals that have seen it; unless most opinions are on such.

    Parameters
    ----------
    panel
        As from :func:`siscm.own_panel.check_files`.
    most_cells
        Opinions times labels to learn from at most, of random instances; None for all.
    rng
        Draws the instances.
    """
    votes = panel.opinions.n_by_instance
    several = votes > 1
    apart = panel.X.shape[1] > 0 and votes[several].sum() * 2 >= votes.sum()
    kept = np.flatnonzero(several if apart else votes > 0)
    if most_cells is not None:
        kept = rng.permutation(kept)
        cells = np.cumsum(votes[kept]) * panel.opinions.n_classes
        kept = np.sort(kept[: max(int((cells <= most_cells).sum()), 2 * N_FOLDS)])
    return panel.opinions.select(instances=panel.opinions.instances[kept])


def marginals_of(panel: OwnPanel, said: Opinions) -> PooledMarginals:
    """Marginals for a panel's features, not fitted yet."""
    return marginals_for(panel.X, panel.kinds, len(said) * said.n_classes)


def out_of_fold(
    panel: OwnPanel, said: Opinions, noise: NoiseChoice, rng: np.random.Generator
) -> pd.DataFrame:
    """Every ordered pair of opinions, inferred by models that saw no opinion on its instance.

    Returns
    -------
    DataFrame
        As from :func:`siscm.contest.contest`; the methods are graded sharing, marginals, copy.

    Raises
    ------
    ValueError
        If fewer than two instances have two opinions.
    """
    several = rng.permutation(np.flatnonzero(said.n_by_instance > 1))
    n_folds = min(N_FOLDS, len(several))
    if n_folds < 2:
        raise ValueError(
            f"{len(several)} instance(s) have two opinions or more; judging second opinions takes "
            "two such instances."
        )
    tables = []
    for part in range(n_folds):
        out = np.zeros(len(said.instances), dtype=bool)
        out[several[part::n_folds]] = True
        train = said.select(instances=said.instances[~out])
        test = said.select(instances=said.instances[out])
        tables.append(_judged(panel, train, test, noise))
    return pd.concat(tables, ignore_index=True)


def _judged(panel: OwnPanel, train: Opinions, test: Opinions, noise: NoiseChoice) -> pd.DataFrame:
    X = panel.X
    model = GradedSISCM(marginals_of(panel, train), noise=noise)
    model.fit(X.loc[train.instances], train)
    rules: dict[str, Rule] = {GRADED: Graded(model), "marginals": marginals_only, "copy": copy}
    return judged(rules, model.log_marginals(X.loc[test.instances], test), test)
