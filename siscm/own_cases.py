"""New cases of a user's panel: who would say what about them, and whom to ask."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from siscm.answers import disagreement_table, second_opinions_table
from siscm.asking import value_of_asking
from siscm.checks import BoolArray, FloatArray
from siscm.graded import GradedSISCM
from siscm.names import plain
from siscm.opinions import NOT_ASKED, Opinions

N_SAMPLES = 500
"""Draws where several opinions on a case share a Gumbel noise, with more than two labels."""


@dataclass(frozen=True, eq=False, repr=False)
class NewCases:
    """Cases with few opinions or none, and the experts in question.

    Made by :meth:`about`. Experts are those shown in a report, and whoever spoke about a case: the
    others are left out of every table, and of the panel that decides in :meth:`asking`.

    Parameters
    ----------
    model
        As if only these experts existed.
    log_p
        Log-marginals (n, s, k).
    said
        What they said about the cases.
    shown
        (s,): who is shown, and can be asked.
    """

    model: GradedSISCM
    log_p: FloatArray
    said: Opinions
    shown: BoolArray

    @classmethod
    def about(
        cls, model: GradedSISCM, X: pd.DataFrame, said: Opinions, shown: pd.Index[Any]
    ) -> NewCases:
        """The cases of some opinions.

        Parameters
        ----------
        model
            Fitted.
        X
            Features of these instances at least.
        said
            Opinions on the cases by all experts of the model.
        shown
            Who is to be shown, and can be asked.
        """
        spoke = said.experts[np.unique(said.expert_codes)]
        experts = said.experts[said.experts.isin(shown) | said.experts.isin(spoke)]
        said = said.select(experts=experts)
        shape = (len(said.instances), len(experts))
        everybody = Opinions.from_codes(
            np.zeros(shape, dtype=np.int64), said.instances, experts, said.classes
        )
        log_p = model.log_marginals(X.loc[said.instances], everybody)
        cases = log_p.reshape(*shape, said.n_classes)
        return cls(among(model, experts), cases, said, np.asarray(experts.isin(shown)))

    def some(self, n: int) -> NewCases:
        """At most n of them, half with an opinion and half without, as far as there are any."""
        spoken = self.said.n_by_instance > 0
        n_silent = min(int((~spoken).sum()), n // 2)
        first = np.flatnonzero(spoken)[: n - n_silent]
        kept = np.concatenate([first, np.flatnonzero(~spoken)[: n - len(first)]])
        said = self.said.select(instances=self.said.instances[kept])
        return replace(self, log_p=self.log_p[kept], said=said)

    def law(self) -> FloatArray:
        """(n, s, k): what each expert would say, given what others said about the case."""
        return self.model.infer(self.log_p, self.said.labels, self.said.instances.tolist())

    def second_opinions(self) -> pd.DataFrame:
        """Who would say what: ``instance``, ``expert``, ``label``, ``probability``."""
        return second_opinions_table(
            self.law(), self.said.instances, self.model.experts_, self.model.classes_
        )

    def at_a_glance(self, n_experts: int = 6) -> pd.DataFrame:
        """The likeliest label, a row an expert and a column a case; ``said`` where she spoke.

        Those who spoke about a case come first, and so many others.
        """
        law, codes = self.law(), self.said.labels
        best, classes = law.argmax(axis=2), self.said.classes
        words = [
            [
                f"said {plain(classes[said])}"
                if said != NOT_ASKED
                else f"{plain(classes[label])} ({p[label]:.2f})"
                for said, label, p in zip(*case, strict=True)
            ]
            for case in zip(codes, best, law, strict=True)
        ]
        table = pd.DataFrame(words, self.said.instances, self.said.experts).T
        spoke = (codes != NOT_ASKED).any(axis=0)
        others = np.flatnonzero(~spoke & self.shown)[:n_experts]
        return table.iloc[np.concatenate([np.flatnonzero(spoke), others])]

    def disagreement(self) -> pd.DataFrame:
        """Who is likeliest to contradict, about the cases with just one opinion.

        As :meth:`siscm.graded.GradedSISCM.rank_disagreement`, of the experts in question.
        """
        one = np.flatnonzero(self.said.n_by_instance == 1)
        names = self.said.instances[one]
        return disagreement_table(
            self.law()[one], self.said.labels[one], names, self.model.experts_
        )

    def asking(self) -> pd.DataFrame:
        """What one more opinion would be worth, of each expert shown; the largest gain first.

        As :func:`siscm.asking.value_of_asking`, where the panel that decides is of the experts in
        question.
        """
        can = np.tile(self.shown, (len(self.said.instances), 1))
        table = value_of_asking(self.model, self.log_p, self.said.labels, can, self.said.instances)
        table["gain"] = table["gain"].round(9).clip(lower=0) + 0.0  # rounding must not order a tie
        table = table.sort_values(["row", "gain"], ascending=[True, False], kind="stable")
        return table[["instance", "expert", "differs", "changes", "gain"]].reset_index(drop=True)


def among(model: GradedSISCM, experts: pd.Index[Any]) -> GradedSISCM:
    """The fitted model as if only some of its experts existed: it infers the same about them."""
    some = copy(model)
    some.experts_ = experts.to_numpy()
    some.sharing_ = model.sharing_.loc[experts]
    kept = {plain(expert) for expert in experts}
    groups = ([expert for expert in group if expert in kept] for group in model.partition_)
    some.partition_ = [group for group in groups if group]
    some.n_samples = min(model.n_samples, N_SAMPLES)
    return some
