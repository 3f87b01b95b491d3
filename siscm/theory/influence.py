"""What talk changes: how far "would have said" and "says" part when experts influence others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd

from siscm.theory.random_scms import TALK, set_invariant
from siscm.theory.scm import Experts, FiniteSCM, conditional, counterfactual, marginal


def distance(scm: FiniteSCM, asked: Experts) -> float:
    r"""How far the answers to the paper's two questions are apart (Section 4), on average.

    Expert h said c. The first question: both were asked, among others; what does :math:`h'` say?
    Its answer is :math:`P^{\mathcal M;\,do[Z=\zeta]}(Y_{h'} \mid X=x, Y_h=c)`. The second: only h
    was asked; what would h' have said? Its answer is the counterfactual distribution. The
    distance of the two is the probability that would have to move to turn one into the other
    (total variation), from 0 to 1.

    Parameters
    ----------
    scm
        The model.
    asked
        The experts :math:`\zeta` of the first question, two or more.

    Returns
    -------
    float
        Mean over features, ordered pairs of the experts and labels c, these weighted by how likely
        h says them when asked alone. Labels that she cannot say in one of the two worlds are left
        out: there, one of the questions does not arise.

    Raises
    ------
    ValueError
        If fewer than two are asked; or if there is no label that an expert can say in both worlds,
        so that the two questions never both arise.
    """
    if len(asked) < 2:
        raise ValueError(f"asked holds {len(asked)} expert(s); it takes two for one to influence.")
    distances, weights = [], []
    for x, (h, other) in product(range(scm.n_x), permutations(sorted(asked), 2)):
        alone, instead = frozenset({h}), frozenset({other})
        p = np.where(marginal(scm, x, asked, h) > 0, marginal(scm, x, alone, h), 0.0)
        for c in np.flatnonzero(p).tolist():
            says = conditional(scm, x, asked, {h: c}, other)
            would = counterfactual(scm, x, alone, {h: c}, instead, other)
            distances.append(np.abs(says - would).sum() / 2)
            weights.append(p[c])
    if not distances:
        raise ValueError(
            f"no label can be said by one of the experts {sorted(asked)} both alone and together "
            "with the others: the two questions never both arise, and have no distance."
        )
    return float(np.average(distances, weights=weights))


def by_strength(
    rng: np.random.Generator, strengths: Iterable[float], n_models: int = 60
) -> pd.DataFrame:
    """The distance of the two answers as talk grows stronger, for each way to talk.

    Parameters
    ----------
    rng
        Draws the models: three experts, three labels, and what they would say without talk.
    strengths
        How likely an expert is to follow instead of saying what she thinks.
    n_models
        How many models; the same for every strength.

    Returns
    -------
    DataFrame
        A row a model, way, strength and number of experts ``asked`` (every two of them, or all
        three): ``asked``, ``talk``, ``strength``, ``model``, ``distance`` (mean over the sets of
        that size).
    """
    bases = [set_invariant(rng, n_noise=24, n_x=1) for _ in range(n_models)]
    rows = []
    for talk, strength, (model, base) in product(TALK, strengths, enumerate(bases)):
        scm = talk(base, strength)
        for size in (2, 3):
            sets = [frozenset(chosen) for chosen in combinations(range(3), size)]
            apart = float(np.mean([distance(scm, asked) for asked in sets]))
            rows.append((size, talk.__name__, strength, model, apart))
    return pd.DataFrame(rows, columns=["asked", "talk", "strength", "model", "distance"])
