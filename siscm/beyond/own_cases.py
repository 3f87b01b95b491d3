"""New cases of a user's panel: who would say what about them, and whom to ask."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from siscm.answers import disagreement_table, second_opinions_table
from siscm.asking import value_of_asking
from siscm.checks import BoolArray, FloatArray
from siscm.graded import GradedSISCM
from siscm.names import plain
from siscm.opinions import NOT_ASKED, Opinions

UNSEEN_PARTS = 5
"""Parts of the instances learned from, each of which is answered about by the others."""


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
        cls,
        model: GradedSISCM,
        X: pd.DataFrame,
        said: Opinions,
        shown: pd.Index[Any],
        learned: Opinions,
    ) -> NewCases:
        """The cases of some opinions.

        Parameters
        ----------
        model
            Fitted.
        X
            Features of these instances, and of those learned from.
        said
            Opinions on the cases by all experts of the model.
        shown
            Who is to be shown, and can be asked.
        learned
            What the model was learned from.
        """
        spoke = said.experts[np.unique(said.expert_codes)]
        experts = said.experts[said.experts.isin(shown) | said.experts.isin(spoke)]
        said = said.select(experts=experts)
        shape = (len(said.instances), len(experts))
        everybody = Opinions.from_codes(
            np.zeros(shape, dtype=np.int64), said.instances, experts, said.classes
        )
        cases = unseen(model, X, learned, everybody).reshape(*shape, said.n_classes)
        return cls(among(model, experts), cases, said, np.asarray(experts.isin(shown)))

    def some(self, n: int) -> NewCases:
        """At most n of them, half with an opinion and half without, as far as there are any."""
        spoken = self.said.n_by_instance > 0
        n_silent = min(int((~spoken).sum()), n // 2)
        first = np.flatnonzero(spoken)[: n - n_silent]
        kept = np.concatenate([first, np.flatnonzero(~spoken)[: n - len(first)]])
        said = self.said.select(instances=self.said.instances[kept])
        return replace(self, log_p=self.log_p[kept], said=said)

    def remark(self) -> str:
        """How much was said about the cases, and what cannot be told about them therefore."""
        votes = self.said.n_by_instance
        if not ((self.said.labels == NOT_ASKED) & self.shown).any():
            return (
                "Nobody is left to ask: everybody who could be has spoken. Second opinions are for "
                "instances that some have not judged: add such to the file of opinions, or some "
                "that nobody has judged to that of features."
            )
        none, one = int((votes == 0).sum()), int((votes == 1).sum())
        counts = f"{none} without an opinion, {one} with one, {len(votes) - none - one} with more."
        nobody = " Who would contradict is told only about cases with one opinion."
        return f"{len(votes)} case(s): {counts}{'' if one else nobody}"

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

        As :meth:`siscm.answering.SecondOpinions.rank_disagreement`, of the experts in question.
        Empty if there is no such case.
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
        table["gain"] = table["gain"].round(9) + 0.0  # rounding must not order a tie
        table = table.sort_values(["row", "gain"], ascending=[True, False], kind="stable")
        return table[["instance", "expert", "differs", "changes", "gain"]].reset_index(drop=True)


def among(model: GradedSISCM, experts: pd.Index[Any]) -> GradedSISCM:
    """The fitted model as if only some of its experts existed: it infers the same about them.

    Parameters
    ----------
    model
        Fitted; it is not changed.
    experts
        Some of its experts, in the order wanted.
    """
    some = copy(model)
    some.experts_ = experts.to_numpy()
    some.sharing_ = model.sharing_.loc[experts]
    kept = {plain(expert) for expert in experts}
    groups = ([expert for expert in group if expert in kept] for group in model.partition_)
    some.partition_ = [group for group in groups if group]
    return some


def unseen(model: GradedSISCM, X: pd.DataFrame, learned: Opinions, asked: Opinions) -> FloatArray:
    """Log-marginals (n_opinions, k), about no instance by marginals that have seen it.

    The instances learned from are dealt into :data:`UNSEEN_PARTS` parts, and marginals learned once
    more from the others answer about each; groups and sharing stay as they are. What is said about
    an instance does not depend on which others are asked about. Takes as long as learning
    marginals, once for each part that is asked about.

    Parameters
    ----------
    model, learned
        Fitted, and to which opinions.
    X
        Features of all instances in question. Without a column marginals know of no instance.
    asked
        About which instances, and by whom; the labels do not matter.
    """
    log_p = model.log_marginals(X.loc[asked.instances], asked)
    part = np.random.default_rng(0).permutation(len(learned.instances)) % UNSEEN_PARTS
    place = learned.instances.get_indexer(asked.instances)
    of_case = np.where(place < 0, -1, part[place])
    for number in np.unique(of_case[of_case >= 0]) if X.shape[1] else ():
        others = learned.select(instances=learned.instances[part != number])
        marginals = clone(model.marginals_).fit(X.loc[others.instances], others)
        here = of_case == number
        some = asked.select(instances=asked.instances[here])
        log_p[here[asked.instance_codes]] = marginals.log_marginals(X.loc[some.instances], some)
    return log_p
