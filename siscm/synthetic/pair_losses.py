"""What is lost by inferring each expert from each other one, and so under any partition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.evaluation import log_loss
from siscm.gumbel import counterfactual_probabilities
from siscm.partition import Groups, group_of
from siscm.synthetic.planted import SyntheticPanel


class PairLosses(NamedTuple):
    """Mean losses on test instances, from which the loss under any partition is a sum.

    Parameters
    ----------
    shared
        (H, H): entry [h, h'] is the loss of inferring h' from h as if they shared a noise.
    alone
        (H,): the loss of an expert's marginal.
    """

    shared: FloatArray
    alone: FloatArray

    def all_pairs(self, groups: Groups) -> float:
        """Mean over all ordered pairs of experts; across groups the marginal predicts."""
        inside = same_group(groups, len(self.alone))
        loss = np.where(inside, self.shared, self.alone)
        return float(loss[~np.eye(len(loss), dtype=bool)].mean())

    def own_group(self, groups: Groups) -> float:
        """Mean over targets, the observed expert drawn from the target's group, as it is scored.

        Whoever is alone is predicted by her marginal. The released code's rule, in expectation
        over whom it draws: a model is asked only about pairs that it believes to be similar.
        """
        inside = same_group(groups, len(self.alone)) & ~np.eye(len(self.alone), dtype=bool)
        others = inside.sum(axis=0)
        from_others = np.where(inside, self.shared, 0.0).sum(axis=0) / np.maximum(others, 1)
        return float(np.where(others > 0, from_others, self.alone).mean())


def pair_losses(panel: SyntheticPanel, log_p: FloatArray | None = None) -> dict[str, PairLosses]:
    """0/1 loss and log-loss of every ordered pair of experts.

    The log-loss is taken after mixing in a little of the uniform distribution, as everywhere
    (:data:`siscm.evaluation.UNIFORM_WEIGHT`).

    Parameters
    ----------
    panel
        Test instances, on which every expert gave an opinion.
    log_p
        Log-marginals (n, H, k) to infer with, learned ones for instance; default the true ones.
    """
    log_p, said = panel.log_marginals if log_p is None else log_p, panel.opinions.labels
    rows = [
        _losses(counterfactual_probabilities(log_p[:, [h]], log_p, said[:, [h]]), said)
        for h in range(len(panel.weights))
    ]
    alone = _losses(np.exp(log_p), said)
    return {loss: PairLosses(np.stack([row[loss] for row in rows]), alone[loss]) for loss in alone}


def _losses(law: FloatArray, said: IntArray) -> dict[str, FloatArray]:
    """Mean over instances of both losses of predictions (n, H, k), for each expert."""
    chance = np.take_along_axis(law, said[..., None], axis=-1)[..., 0]
    return {
        "zero_one": (law.argmax(axis=-1) != said).mean(axis=0),
        "log": log_loss(chance, law.shape[-1]).mean(axis=0),
    }


def same_group(groups: Groups, n_experts: int) -> BoolArray:
    """(H, H): whether two experts are in one group."""
    number = group_of(groups, range(n_experts))
    return np.asarray(number[:, None] == number)
