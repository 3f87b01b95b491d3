r"""Whom to ask for a second opinion, and whether it is worth asking (beyond the paper).

A case is to be decided as the panel would: by the label that most of its experts would give. With
opinions O at hand, the expected share of the panel behind label d is

.. math:: v_d(O) = \frac1{|\mathcal H|} \sum_{h} P(Y_h = d \mid x, O),

and the decision is its largest. One more opinion, of expert h, can change it. Before she is asked
it is known how likely that is, and by how much the share behind the decision is expected to rise:

.. math:: \sum_{y} P(Y_h = y \mid x, O)\, \max_d v_d(O, Y_h = y) - \max_d v_d(O) .
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.graded import GradedSISCM
from siscm.opinions import NOT_ASKED, Opinions

STRATEGIES = ("nobody", "at random", "most accurate", "likeliest to differ", "most gained")
"""Whom to ask, given one opinion: nobody else; anybody; who was right most often in training; who
is likeliest to say something else; who promises the largest rise of the share."""


def value_of_asking(
    model: GradedSISCM,
    log_p: FloatArray,
    codes: IntArray,
    candidates: BoolArray | None = None,
    instances: pd.Index[Any] | None = None,
) -> pd.DataFrame:
    """What asking one more expert is worth, for each expert who could be asked.

    Parameters
    ----------
    model
        Fitted.
    log_p, codes
        Log-marginals (n, H, k), and label codes (n, H) of the opinions at hand.
    candidates
        (n, H): who can be asked; default everybody who was not.
    instances
        Names; default positions.

    Returns
    -------
    DataFrame
        A row an instance and candidate: ``row`` and ``position`` of both, ``instance``,
        ``expert``; ``differs``, the chance that she says something else than the decision so far;
        ``changes``, the chance that the decision becomes another; ``gain``, the expected rise of
        the share behind it.
    """
    names: pd.Index[Any] = pd.RangeIndex(len(codes)) if instances is None else instances
    allowed = codes == NOT_ASKED if candidates is None else candidates & (codes == NOT_ASKED)
    law = model.infer(log_p, codes, names.tolist())
    share = law.mean(axis=1)
    decision = share.argmax(axis=1)
    row, expert = np.nonzero(allowed)
    k = log_p.shape[-1]
    chance = law[row, expert]
    after = np.empty((len(row), k, k))
    for label in range(k):
        said = codes[row]
        said[np.arange(len(row)), expert] = label
        after[:, label] = model.infer(log_p[row], said, names.take(row).tolist()).mean(axis=1)
    best = after.max(axis=-1)
    changed = after.argmax(axis=-1) != decision[row][:, None]
    now = share.max(axis=1)[row]
    return pd.DataFrame(
        {
            "row": row,
            "position": expert,
            "instance": names.take(row),
            "expert": model.experts_[expert],
            "differs": 1 - chance[np.arange(len(row)), decision[row]],
            "changes": (chance * changed).sum(axis=1),
            "gain": (chance * best).sum(axis=1) - now,
        }
    )


def trial(
    model: GradedSISCM,
    X: Any,
    test: Opinions,
    accuracy: FloatArray,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Ask and decide on cases whose panel is known: by each of :data:`STRATEGIES`.

    On each case one of its experts, drawn at random, has spoken. A strategy picks a second one
    among the others, she says what she said, and the model decides. It should decide as most of
    the case's experts did.

    Parameters
    ----------
    model
        Fitted on other instances.
    X, test
        Features and opinions. Cases with fewer than three opinions, or a tie, are left out.
    accuracy
        (H,): how often each expert agreed with most of hers in training.
    rng
        Draws who has spoken.

    Returns
    -------
    DataFrame
        A row a case: ``instance``; ``gain``, the largest there was; and for each strategy whether
        its decision was right, for ``"at random"`` the chance of it.
    """
    votes = test.votes
    ranked = np.sort(votes, axis=1)
    kept = np.flatnonzero((votes.sum(axis=1) >= 3) & (ranked[:, -1] > ranked[:, -2]))
    verdict, labels = votes[kept].argmax(axis=1), test.labels[kept]
    log_p = model.log_marginals(X)[kept]
    asked = labels != NOT_ASKED
    spoke = np.where(asked, rng.random(asked.shape), -1).argmax(axis=1)
    rows = np.arange(len(kept))
    codes = np.full_like(labels, NOT_ASKED)
    codes[rows, spoke] = labels[rows, spoke]
    table = value_of_asking(model, log_p, codes, asked)
    row, expert = table["row"].to_numpy(), table["position"].to_numpy()
    both = codes[row]
    both[np.arange(len(row)), expert] = labels[row, expert]
    table["right"] = _decisions(model, log_p[row], both) == verdict[row]
    table["accuracy"] = accuracy[expert]
    by_case = table.groupby("row", sort=True)
    out = pd.DataFrame({"instance": test.instances.take(kept), "gain": by_case["gain"].max()})
    out["nobody"] = _decisions(model, log_p, codes) == verdict
    out["at random"] = by_case["right"].mean()
    for strategy, column in zip(STRATEGIES[2:], ("accuracy", "differs", "gain"), strict=True):
        out[strategy] = table.loc[by_case[column].idxmax(), "right"].to_numpy()
    return out


def _decisions(model: GradedSISCM, log_p: FloatArray, codes: IntArray) -> IntArray:
    share = model.infer(log_p, codes, range(len(codes))).mean(axis=1)
    return np.asarray(share.argmax(axis=1))


def agreement_with_most(opinions: Opinions) -> FloatArray:
    """(H,): how often each expert says what most of the others on her cases say; ties count half.

    One agreement and one disagreement are added, so that a few opinions do not make a record.
    """
    h, y = opinions.expert_codes, opinions.label_codes
    others = opinions.votes[opinions.instance_codes]
    others[np.arange(len(y)), y] -= 1
    top = others == others.max(axis=1, keepdims=True)
    right = np.where(others.sum(axis=1) > 0, top[np.arange(len(y)), y] / top.sum(axis=1), 0.5)
    sums = np.bincount(h, right, minlength=len(opinions.experts))
    return np.asarray((sums + 1) / (np.bincount(h, minlength=len(opinions.experts)) + 2))
