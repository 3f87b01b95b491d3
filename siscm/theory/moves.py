"""Moves: one expert said a label, another says another; which are possible, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from siscm.checks import FloatArray
from siscm.data.simulate import simulate_opinions
from siscm.gumbel import joint_probabilities
from siscm.inference import counterfactual_proba
from siscm.opinions import NOT_ASKED
from siscm.partition import group_of
from siscm.violations import violates


def moves(log_p: FloatArray, log_q: FloatArray) -> pd.DataFrame:
    """Every move between two experts of one group, from the exact law (Theorem 10).

    Parameters
    ----------
    log_p, log_q
        Log-marginals (k,) of the two experts.

    Returns
    -------
    DataFrame
        A row an ordered pair of labels: ``said``, ``other_says``, ``violates`` (whether
        stability forbids it), ``probability`` (of both together).
    """
    said, says = np.nonzero(~np.eye(len(log_p), dtype=bool))
    return pd.DataFrame(
        {
            "said": said,
            "other_says": says,
            "violates": violates(log_p, said, log_q, says),
            "probability": joint_probabilities(log_p, log_q)[said, says],
        }
    )


def simulated_pairs(
    log_p: FloatArray, groups: Sequence[Sequence[int]], n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Opinions on n cases drawn from the Gumbel-Max SI-SCM, held against the law of every pair.

    The simulation runs every expert's mechanism on her group's noise and knows no law.

    Parameters
    ----------
    log_p
        Log-marginals (n_experts, k), the same in every case.
    groups
        The partition of the experts.
    n
        How many cases.
    rng
        Draws the noises.

    Returns
    -------
    DataFrame
        A row an ordered pair: ``expert``, ``other``, ``same_group``; ``violations`` (number
        of cases whose opinions violate stability); ``standard_errors`` (the largest distance of a
        conditional frequency from :func:`siscm.inference.counterfactual_proba`, in standard
        errors, where the law is neither 0 nor 1); ``from_marginal`` (the largest distance of that
        law from the other's marginal).

    Raises
    ------
    ValueError
        If an expert never says one of the labels in so few cases; names her.
    """
    n_experts, k = log_p.shape
    group = group_of(groups, range(n_experts))
    asked = np.ones((n, n_experts), dtype=bool)
    said = simulate_opinions(np.broadcast_to(log_p, (n, n_experts, k)), groups, asked, rng).T
    counts = np.stack([np.bincount(labels, minlength=k) for labels in said])
    if not counts.all():
        expert, label = np.argwhere(counts == 0)[0]
        raise ValueError(
            f"in {n} cases expert {expert} never says label {label}, so that nothing is seen of "
            "what others then say; draw more."
        )
    rows = []
    for h, other in permutations(range(n_experts), 2):
        observed = np.full((k, n_experts), NOT_ASKED)  # in the c-th row she said c
        observed[:, h] = range(k)
        law = counterfactual_proba(np.broadcast_to(log_p, (k, *log_p.shape)), observed, groups)
        law = law[:, other]
        seen = np.zeros((k, k))
        np.add.at(seen, (said[h], said[other]), 1)
        often = seen.sum(axis=1, keepdims=True)
        error = np.sqrt(law * (1 - law) / often)
        uncertain = error > 0
        apart = np.abs(seen / often - law)[uncertain] / error[uncertain]
        against = violates(log_p[h], said[h], log_p[other], said[other])
        rows.append(
            {
                "expert": h,
                "other": other,
                "same_group": bool(group[h] == group[other]),
                "violations": int(against.sum()),
                "standard_errors": float(apart.max(initial=0.0)),
                "from_marginal": float(np.abs(law - np.exp(log_p[other])).max()),
            }
        )
    return pd.DataFrame(rows)
