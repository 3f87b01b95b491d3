"""The graph of experts that can be similar, with the weights of its edges (Section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.gumbel import counterfactual_probabilities
from siscm.names import plain, refuse_other_experts
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs, opinion_marginals
from siscm.violations import violates

Loss = Literal["zero_one", "log"]
"""By what inferred labels are judged: whether they are wrong, or minus the log-probability."""

Law = Callable[[FloatArray, FloatArray, IntArray], FloatArray]
"""Counterfactual distributions (n, k) from log-marginals (n, k) of observed and target experts,
and what the observed ones said (n,)."""


@dataclass(frozen=True, eq=False)
class SimilarityGraph:
    r"""Which experts can be similar, and what sharing their noise would change: :math:`\mathcal G`.

    Everything in it is a sum over instances, so graphs of the same experts on other instances
    can be added: ``graph + other``.

    Parameters
    ----------
    experts
        Names, in the order of all the arrays.
    together
        (H, H): on how many instances both experts gave an opinion; symmetric, zero diagonal.
    violations
        (H, H): on how many of these their opinions violate conditional stability; symmetric.
    loss_change
        (H, H): entry [h, h'] sums, over the instances of both, the loss of inferring the opinion
        of h' from that of h with shared noise, minus the loss of the marginal of h' alone.
    loss
        Which loss that is: ``"zero_one"`` or ``"log"``.
    """

    experts: pd.Index[Any]
    together: IntArray
    violations: IntArray
    loss_change: FloatArray
    loss: Loss = "zero_one"

    @classmethod
    def from_opinions(
        cls,
        log_marginals: npt.ArrayLike,
        opinions: Opinions,
        loss: Loss = "zero_one",
        law: Law = counterfactual_probabilities,
    ) -> SimilarityGraph:
        """Compare every two opinions on one instance, by the exact law.

        Parameters
        ----------
        log_marginals
            One row an opinion, (n_opinions, k) in the order of ``opinions.to_long()``, as
            ``model.log_marginals(X, opinions)`` returns them; or (n_instances, n_experts, k) in
            the order of ``opinions.instances`` and ``opinions.experts``.
        opinions
            What the experts said.
        loss
            ``"zero_one"``: whether the likeliest label is not what was said. ``"log"``: minus the
            log-probability of what was said (infinite where a pair violates).
        law
            The exact law, or an estimate of it, such as the paper's Monte Carlo: a partial of
            :func:`siscm.gumbel.monte_carlo_probabilities` that has draws and generator. The
            weights hang on it, the edges do not.

        Raises
        ------
        ValueError
            If ``loss`` is unknown, or the marginals do not fit the opinions (the error names the
            expert and the instance).
        """
        if loss not in ("zero_one", "log"):
            raise ValueError(f"loss is {loss!r}; it must be 'zero_one' or 'log'.")
        log_p = opinion_marginals(log_marginals, opinions)
        h, y = opinions.expert_codes, opinions.label_codes
        # Straight from the logarithm, which stays finite where the probability underflows.
        marginal_loss = (
            -log_p[np.arange(len(y)), y] if loss == "log" else _loss(np.exp(log_p), y, loss)
        )
        n_experts = len(opinions.experts)
        together = np.zeros(n_experts**2, dtype=np.int64)
        violations = np.zeros(n_experts**2, dtype=np.int64)
        change = np.zeros(n_experts**2)
        for a, b in iter_pairs(opinions):
            cell = h[a] * n_experts + h[b]
            np.add.at(together, cell, np.ones_like(cell))
            violating = cell[violates(log_p[a], y[a], log_p[b], y[b])]
            np.add.at(violations, violating, np.ones_like(violating))
            for observed, target in ((a, b), (b, a)):
                inferred = law(log_p[observed], log_p[target], y[observed])
                here = _loss(inferred, y[target], loss) - marginal_loss[target]
                np.add.at(change, h[observed] * n_experts + h[target], here)
        square = (n_experts, n_experts)
        together, violations = together.reshape(square), violations.reshape(square)
        return cls(
            opinions.experts,
            together + together.T,
            violations + violations.T,
            change.reshape(square),
            loss,
        )

    @cached_property
    def edges(self) -> BoolArray:
        r"""(H, H): who *can* be similar: seen together, never in violation. :math:`\mathcal E`."""
        edges = np.asarray((self.together > 0) & (self.violations == 0))
        edges.flags.writeable = False
        return edges

    @cached_property
    def weights(self) -> FloatArray:
        """(H, H): mean loss change of a pair, both directions summed; NaN if never together.

        Symmetric. Negative where sharing the noise lowers the loss: :math:`w(h, h')` of the paper.
        """
        both = self.loss_change + self.loss_change.T
        weights: FloatArray = np.divide(
            both, self.together, out=np.full_like(both, np.nan), where=self.together > 0
        )
        weights.flags.writeable = False
        return weights

    def checked_weights(self) -> FloatArray:
        """As :attr:`weights`, where those of edges have to be added up and taken away again.

        Raises
        ------
        ValueError
            If the weight of an edge is not finite, as the log-loss of an estimated law can be.
        """
        weights = self.weights
        for a, b in np.argwhere(self.edges & ~np.isfinite(weights)):
            one, other = plain(self.experts[a]), plain(self.experts[b])
            raise ValueError(
                f"the edge of experts {one!r} and {other!r} has the weight {weights[a, b]}; only "
                "finite weights can be added up."
            )
        return weights

    def with_unmet_pairs(self) -> SimilarityGraph:
        """The graph in which two who never met can be similar too, at neither gain nor cost.

        Not in the paper, whose edges are pairs that were seen together. Counted as if they had
        met once, without violation and without a change of the loss.
        """
        together = np.maximum(self.together, ~np.eye(len(self.experts), dtype=bool))
        return replace(self, together=together)

    def __add__(self, other: SimilarityGraph) -> SimilarityGraph:
        """The graph of both sets of instances together.

        Raises
        ------
        ValueError
            If the two graphs are not about the same experts in the same order, or their losses
            differ.
        """
        if not isinstance(other, SimilarityGraph):
            return NotImplemented
        refuse_other_experts(self.experts, other.experts, "graphs are")
        if self.loss != other.loss:
            raise ValueError(
                f"one graph measures the {self.loss!r} loss, the other {other.loss!r}; build both "
                "with the same loss=."
            )
        return SimilarityGraph(
            self.experts,
            self.together + other.together,
            self.violations + other.violations,
            self.loss_change + other.loss_change,
            self.loss,
        )


def _loss(probabilities: FloatArray, label: IntArray, loss: Loss) -> FloatArray:
    """Loss of each row (n, k) when ``label`` was said."""
    if loss == "zero_one":
        return np.asarray(probabilities.argmax(axis=-1) != label, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return -np.log(probabilities[np.arange(len(label)), label])
