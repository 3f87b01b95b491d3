"""What a panel of one's own says: groups, sharing, calibration, and what second opinions are worth.

The same code and defaults for every panel. A panel that is large for its number of labels is
learned from a random part of its instances, so that a report takes minutes and not hours.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from siscm.baselines import Rule, copy, marginals_only
from siscm.beyond.calibration import calibration
from siscm.beyond.contest import GRADED, graded, judged, standings
from siscm.beyond.own_cases import NewCases
from siscm.beyond.own_features import marginals_for
from siscm.cifar10h.rivals import TABLE, fit_times_table
from siscm.graded import GradedSISCM
from siscm.names import as_index, plain
from siscm.opinions import Opinions
from siscm.own_panel import OwnPanel

MOST_CELLS = 150_000
"""Opinions times labels that a report learns from at most."""

N_FOLDS = 3
"""Parts of the instances by which second opinions are judged."""

MOST_SHOWN = 20
"""Experts that tables and figures show, and who can be asked: those with most opinions."""


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A panel, the model learned from it, and how well its second opinions predict.

    Made by :func:`make_report`.

    Parameters
    ----------
    panel
        As from :func:`siscm.own_panel.check_files`.
    learned
        The opinions that the model was learned from.
    model
        Graded sharing, fitted.
    pairs
        As from :func:`siscm.beyond.contest.contest`, out-of-fold: graded sharing, marginals, copy,
        :data:`siscm.cifar10h.rivals.TABLE`.
    """

    panel: OwnPanel
    learned: Opinions
    model: GradedSISCM
    pairs: pd.DataFrame

    @cached_property
    def n_opinions(self) -> pd.Series[int]:
        """How many opinions of each expert were learned from."""
        return pd.Series(self.learned.n_by_expert, self.learned.experts, name="opinions")

    @cached_property
    def shown(self) -> pd.Index[Any]:
        """The experts shown, in their order: :data:`MOST_SHOWN` with most opinions."""
        most = np.argsort(-self.n_opinions.to_numpy(), kind="stable")[:MOST_SHOWN]
        return self.learned.experts[np.sort(most)]

    def sizes(self) -> pd.Series[Any]:
        """What the panel holds, and what was learned from."""
        return pd.Series(
            {
                "experts": len(self.learned.experts),
                "labels": self.learned.n_classes,
                "instances": len(self.panel.opinions.instances),
                "opinions": len(self.panel.opinions),
                "features": self.panel.X.shape[1],
                "opinions learned from": len(self.learned),
                "new cases": len(self.panel.cases()),
            },
            name="number",
        )

    def sharing(self, everybody: bool = False) -> pd.DataFrame:
        """Experts by group and sharing: ``group``, ``opinions``, ``sharing``, ``low``, ``high``.

        Groups are numbered from the largest. Numbers are missing for whoever is alone in hers, or
        of whom fewer than two labels were learned from, which show next to nothing of her noise;
        and ``low`` and ``high`` if no two of one group met. Only the experts :attr:`shown`, unless
        everybody is asked for.
        """
        groups = sorted(self.model.partition_, key=len, reverse=True)
        number = {expert: i + 1 for i, group in enumerate(groups) for expert in group}
        table = self.model.sharing_.reindex(columns=["sharing", "low", "high"])
        table.insert(0, "group", [number[plain(expert)] for expert in table.index])
        unknown = ~table["group"].duplicated(keep=False)
        unknown |= (self.learned.tallies > 0).sum(axis=1) < 2
        table.loc[unknown, ["sharing", "low", "high"]] = np.nan
        table.insert(1, "opinions", self.n_opinions)
        kept = table if everybody else table.loc[self.shown]
        return kept.sort_values(["group", "sharing"], ascending=[True, False], kind="stable")

    def groups(self, most: int = 4) -> dict[str, list[Any]]:
        """The experts of each group by its name; beyond so many groups, those of all others."""
        number = self.sharing(everybody=True)["group"]
        if number.max() == 1:
            return {"one group of all": number.index.tolist()}
        members: dict[str, list[Any]] = {}
        for expert, i in number.items():
            members.setdefault(f"group {i}" if i <= most else "smaller groups", []).append(expert)
        return members

    def calibration(self) -> pd.DataFrame:
        """As from :func:`siscm.beyond.calibration.calibration`, of marginals out-of-fold."""
        return calibration(self.model.marginals_.out_of_fold_, self.learned.label_codes)

    @cached_property
    def worth(self) -> pd.DataFrame:
        """As from :func:`siscm.beyond.contest.standings`, without the weight."""
        table = standings(self.pairs, self.learned.n_classes, rng=np.random.default_rng(0))
        return table.droplevel("weight")

    def verdict(self) -> str:
        """Whether second opinions are worth anything on this panel, in a sentence or two."""
        more, low, high = self._more("marginals")
        if low > 0:
            size = f"{more:.3f} (95 % interval {low:.3f} to {high:.3f})"
            said = f"One opinion tells about the others: the log-loss is lower by {size} with it."
        elif high < 0:
            size = f"{-more:.3f} (95 % interval {-high:.3f} to {-low:.3f})"
            said = (
                f"Second opinions do NOT help here: the log-loss is higher by {size} with them. "
                "Use the marginals."
            )
        else:
            said = (
                "It is open whether one opinion tells about the others: the 95 % interval of what "
                f"it takes off the log-loss, {low:.3f} to {high:.3f}, holds 0."
            )
        of_marginals = more
        more, low, high = self._more(TABLE)
        if high >= 0 or more >= of_marginals:
            return said
        size = f"{-more:.3f} (95 % interval {-high:.3f} to {-low:.3f})"
        return (
            f"{said} But the marginals times a mere table of which label follows which ({TABLE}) "
            f"do better than graded sharing: the log-loss is lower by {size}. Rather use these. "
            "With three labels or more it often means that certain labels are taken for each "
            "other, which graded sharing does not know."
        )

    def _more(self, method: str) -> tuple[float, float, float]:
        """How much higher the log-loss of a method is, with the ends of its interval."""
        row: Any = self.worth.loc[method]
        more, low, high = (
            round(float(row[f"log_loss_more{end}"]), 3) + 0.0 for end in ("", "_low", "_high")
        )
        return more, low, high

    def cases(self, instances: Iterable[Hashable] | None = None) -> NewCases:
        """New cases, and what the model infers about them.

        Instances that were learned from may be among them: see
        :func:`siscm.beyond.own_cases.unseen`.

        Parameters
        ----------
        instances
            Instances of the panel; default :meth:`siscm.own_panel.OwnPanel.cases`.
        """
        about = self.panel.cases() if instances is None else as_index(list(instances))
        said = self.panel.opinions.select(instances=about)
        return NewCases.about(self.model, self.panel.X, said, self.shown, self.learned)


def make_report(
    panel: OwnPanel, *, most_cells: int | None = MOST_CELLS, random_state: int = 0
) -> Report:
    """Learn from a panel, and judge by cross-validation what second opinions are worth on it.

    Parameters
    ----------
    panel
        As from :func:`siscm.own_panel.check_files`.
    most_cells
        A panel with more opinions times labels is learned from a random part of its instances;
        None for all.
    random_state
        Seed of parts and folds.

    Raises
    ------
    ValueError
        If too few instances have two opinions.
    """
    rng = np.random.default_rng(random_state)
    learned = learning(panel, most_cells, rng)
    pairs = out_of_fold(panel, learned, rng)
    return Report(panel, learned, _fitted(panel, learned), pairs)


def learning(panel: OwnPanel, most_cells: int | None, rng: np.random.Generator) -> Opinions:
    """The opinions to learn from, of all experts.

    Those about new cases, too: cases on which a second opinion was thought needless are unlike the
    others, and habits learned without them would be wrong about them. With features, what is
    answered about a case still comes from habits that have not seen it
    (:func:`siscm.beyond.own_cases.unseen`); without, habits know of no case.

    Parameters
    ----------
    panel
        As from :func:`siscm.own_panel.check_files`.
    most_cells
        Opinions times labels to learn from at most, of random instances, though of two with two
        opinions or more for each fold, if there are such; None for all.
    rng
        Draws the instances.
    """
    votes = panel.opinions.n_by_instance
    kept = np.flatnonzero(votes)
    if most_cells is not None:
        kept = rng.permutation(kept)
        judged_twice = np.flatnonzero(votes[kept] > 1)[: 2 * N_FOLDS]
        kept = np.concatenate([kept[judged_twice], np.delete(kept, judged_twice)])
        cells = np.cumsum(votes[kept]) * panel.opinions.n_classes
        kept = np.sort(kept[: max(int((cells <= most_cells).sum()), 2 * N_FOLDS)])
    return panel.opinions.select(instances=panel.opinions.instances[kept])


def _fitted(panel: OwnPanel, said: Opinions) -> GradedSISCM:
    """Graded sharing, with marginals for the panel's features, learned from some opinions."""
    marginals = marginals_for(panel.X, panel.kinds, len(said) * said.n_classes)
    return GradedSISCM(marginals).fit(panel.X.loc[said.instances], said)


def out_of_fold(panel: OwnPanel, said: Opinions, rng: np.random.Generator) -> pd.DataFrame:
    """Every ordered pair of opinions, inferred by models that saw no opinion on its instance.

    Parameters
    ----------
    panel
        As from :func:`siscm.own_panel.check_files`.
    said
        The opinions to learn from and to infer, some of the panel's.
    rng
        Deals the instances out to folds.

    Returns
    -------
    DataFrame
        As from :func:`siscm.beyond.contest.contest`; the methods are graded sharing, marginals,
        copy, :data:`siscm.cifar10h.rivals.TABLE`.

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
        train, test = (said.select(instances=said.instances[kept]) for kept in (~out, out))
        model = _fitted(panel, train)
        rules: dict[str, Rule] = {GRADED: graded(model), "marginals": marginals_only, "copy": copy}
        rules[TABLE] = fit_times_table(train)
        scored = model.log_marginals(panel.X.loc[test.instances], test)
        tables.append(judged(rules, scored, test))
    return pd.concat(tables, ignore_index=True)
