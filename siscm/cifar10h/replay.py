"""The paper's real experiment played again with one part replaced, beside how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.base import clone

from siscm import evaluation
from siscm.baselines import Rule, gumbel_max, marginals_only
from siscm.checks import FloatArray
from siscm.cifar10h.experiment import PAPERS_RULES, Experiment
from siscm.cifar10h.pipeline import Prepared
from siscm.graph import SimilarityGraph
from siscm.model import generators
from siscm.opinions import Opinions
from siscm.partition import greedy
from siscm.synthetic.recovery import Groups

MODEL, GNB, CNB = PAPERS_RULES

Rules = Mapping[str, tuple[Rule, FloatArray]]
"""By name, rules and the log-marginals of the test opinions that each is given."""


@dataclass(frozen=True, eq=False)
class Effect:
    """What one other reading changes.

    Parameters
    ----------
    difference
        The row of ``book/differences.md``.
    otherwise
        The reading taken instead of ours, in a few words.
    sizes
        A row a size that the reading could change; columns ``ours``, and ``other`` or, for
        several seeds, one a seed.
    accuracy
        A row a rule of Table 1 that the reading is about, a column a scenario: other minus ours.
        For several seeds, their rows one below the other.
    note
        Why figures are missing.
    """

    difference: str
    otherwise: str
    sizes: pd.DataFrame = field(default_factory=pd.DataFrame)
    accuracy: pd.DataFrame = field(default_factory=pd.DataFrame)
    note: str = ""


class Replay:
    """The experiment as it stands, and what comes out when a part of it is replaced.

    Parameters
    ----------
    prepared
        The data of the experiment.
    done
        The experiment on them.
    """

    def __init__(self, prepared: Prepared, done: Experiment) -> None:
        self.prepared, self.done = prepared, done
        self.log_train = done.model.log_marginals(prepared.X_train, done.train)
        self.log_test = done.log_marginals
        self.accuracy = done.accuracy().loc[list(PAPERS_RULES)]
        self.sizes = all_sizes(done.train, done.test, done.model.graph_, done.model.partition_)

    def groups(self, graph: SimilarityGraph, rng: np.random.Generator | None = None) -> Groups:
        """Algorithm 1 on another graph."""
        # By default the model's own random numbers: a graph that is the same gives the same groups.
        model = self.done.model
        rng = generators(model.random_state)[1] if rng is None else rng
        found = greedy(graph, model.n_restarts, rng=rng)
        return [graph.experts.take(group).tolist() for group in found]

    def scored(self, rules: Rules, groups: Groups | None = None) -> pd.DataFrame:
        """Accuracy of rules by scenario, minus ours.

        Parameters
        ----------
        rules
            What is scored, and by which marginals.
        groups
            The partition that scenarios follow; default that of the experiment.
        """
        groups = self.done.model.partition_ if groups is None else groups
        rows = [
            evaluation.accuracy(log_test, self.done.test, groups, {name: rule})
            for name, (rule, log_test) in rules.items()
        ]
        return pd.concat(rows) - self.accuracy.loc[list(rules)]

    def beside(self, other: Mapping[str, int]) -> pd.DataFrame:
        """Sizes in two columns."""
        return pd.DataFrame({"ours": {name: self.sizes[name] for name in other}, "other": other})

    def regrouped(
        self, difference: str, otherwise: str, graph: SimilarityGraph, rules: Rules | None = None
    ) -> Effect:
        """The model, or these rules, on another graph of the same opinions.

        Parameters
        ----------
        difference, otherwise
            As in :class:`Effect`.
        graph
            The other graph.
        rules
            What is scored; default the model.
        """
        groups = self.groups(graph)
        sizes = self.beside(all_sizes(self.done.train, self.done.test, graph, groups))
        rules = {MODEL: (gumbel_max, self.log_test)} if rules is None else rules
        return Effect(difference, otherwise, sizes, self.scored(rules, groups))

    def refitted(self, difference: str, otherwise: str, other: Prepared, cnb: Rule) -> Effect:
        """Other features or opinions: all is learned anew, save GNB + CNB, which is given.

        Parameters
        ----------
        difference, otherwise
            As in :class:`Effect`.
        other
            The other features or opinions.
        cnb
            GNB + CNB, learned from them.
        """
        model = clone(self.done.model).fit(other.X_train, other.train)
        sizes = all_sizes(other.train, other.test, model.graph_, model.partition_)
        log_test = model.log_marginals(other.X_test, other.test)
        rules = {MODEL: gumbel_max, GNB: marginals_only, CNB: cnb}
        scores = evaluation.accuracy(log_test, other.test, model.partition_, rules) - self.accuracy
        return Effect(difference, otherwise, self.beside(sizes), scores)


def opinion_sizes(train: Opinions, test: Opinions) -> dict[str, int]:
    """What a filter leaves."""
    return {
        "experts": len(train.experts),
        "training images": len(train.instances),
        "test images": len(test.instances),
        "opinions": len(train) + len(test),
    }


def all_sizes(
    train: Opinions, test: Opinions, graph: SimilarityGraph, groups: Groups
) -> dict[str, int]:
    """What a filter leaves, and what becomes of it."""
    return opinion_sizes(train, test) | {
        "pairs in violation": int((np.triu(graph.violations) > 0).sum()),
        "groups": len(groups),
        "singleton groups": sum(len(group) == 1 for group in groups),
    }
