r"""Whom to ask for a second opinion, and whether it is worth asking (beyond the paper).

A case has a panel: the experts who could be asked about it. It is to be decided as most of its
panel would. With some opinions O at hand, the model knows how likely the panel is to go on in each
way y, all members together, and so how likely most of it says d:

.. math:: V_d(O) = \sum_{y} P(Y = y \mid x, O)\; 1[\text{most of } y \text{ is } d] ,

where each of n labels that tie gets 1/n. The decision is the likeliest d, and
:math:`\max_d V_d(O)` the chance that it is right. One more opinion, of expert h, can change it.
Before she is asked, it is known how much the chance to be right will rise on average, her *gain*:

.. math:: \sum_{c} P(Y_h = c \mid x, O)\, \max_d V_d(O, Y_h = c) - \max_d V_d(O) \ge 0 .

If asking costs :math:`\kappa`, and a wrong decision 1, she is worth asking where her gain is above
:math:`\kappa`.

With two labels all this is exact, and with more, under a noise on a line, on panels that are not
large (:mod:`siscm.beyond.ways`). Else there are two estimates, from draws. A decision is made on
one and valued on the other, for on its own draws chance would count as gain. So an estimated gain
is on average too small, if anything, and may lie a little below 0. The largest of many is still
picked for its chance, too, and promises too much by about its standard error: more ``n_samples``,
less.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from siscm.alignment import align_experts, align_features
from siscm.beyond.ways import most, with_most
from siscm.checks import BoolArray, FloatArray, IntArray
from siscm.contradictions import Names
from siscm.graded import GradedSISCM
from siscm.model import generators
from siscm.names import as_index
from siscm.opinions import NOT_ASKED, Opinions

STRATEGIES = (
    "nobody",
    "at random",
    "most accurate",
    "likeliest to differ",
    "most uncertain",
    "most gained",
)
"""Whom to ask, given one opinion: nobody else; anybody; who was right most often in training; who
is likeliest to say something else than the decision so far; of whom the model knows least what she
will say (the chance of her likeliest label is lowest); who promises the largest gain."""


COLUMNS = ["row", "position", "instance", "expert", "sure", "differs", "changes", "gain"]
"""What :func:`value_of_asking` tells."""


class Prospect(NamedTuple):
    """What could be decided on a case, before and after one more opinion."""

    row: int
    now: FloatArray
    """(k,): V of this module."""
    experts: IntArray
    """(u,): positions of the panel's members who were not asked."""
    after: FloatArray
    """(u, k, k): the chance that the expert says c and most of the panel d."""
    gain: FloatArray
    """(u,): of asking each of them, exact or estimated."""


def prospects(
    model: GradedSISCM,
    log_p: FloatArray,
    codes: IntArray,
    panel: BoolArray | None,
    instances: pd.Index[Any],
) -> Iterator[Prospect]:
    """The prospect of each case.

    Parameters
    ----------
    model
        Fitted.
    log_p, codes
        Log-marginals (n, H, k), and label codes (n, H) of the opinions at hand.
    panel
        (n, H): who belongs to the panel of each case, beside who has spoken; None for everybody.
    instances
        Names of the cases, for error messages.

    Raises
    ------
    TypeError
        If the model is another one, or ``codes`` are no array but ``{expert: label}``, say. The
        paper's model is this one at Gumbel noise and a sharing of 1.
    ValueError
        If the arguments do not fit each other or the model; or if the opinions at hand are
        impossible together, which takes a sharing of 1.
    """
    if not isinstance(model, GradedSISCM):
        raise TypeError(f"model is a {type(model).__name__}; it must be a fitted GradedSISCM.")
    log_p, codes, names = model.check_observed(log_p, codes, instances.tolist())
    panel = np.ones(codes.shape, dtype=bool) if panel is None else np.asarray(panel)
    if panel.dtype != bool or panel.shape != codes.shape:
        raise ValueError(
            f"panel must be True or False for each case and expert, {codes.shape}; got "
            f"{panel.dtype} {panel.shape}."
        )
    number, a = model.group_numbers(), model.sharing_["sharing"].to_numpy()
    rng = generators(model.random_state)[2]
    k = log_p.shape[-1]
    for row in range(len(codes)):
        members = np.flatnonzero(panel[row] | (codes[row] != NOT_ASKED))
        who = members.tolist()
        said = codes[row, members]
        halves = with_most(
            log_p[row, members],
            said,
            number[members],
            a[members],
            noise=model.noise_,
            n_samples=model.n_samples,
            rng=rng,
            names=Names([names.instances[row]], [names.experts[h] for h in who], names.classes),
        )
        silent = said == NOT_ASKED
        spoken = most(np.bincount(said[~silent], minlength=k))
        now = halves.sum(axis=2).mean(axis=(0, 1)) if silent.any() else spoken
        gain = _gain(halves, int(now.argmax()))
        yield Prospect(row, now, members[silent], halves.mean(axis=0), gain)


def _gain(halves: FloatArray, decision: int) -> FloatArray:
    """(u,): decided on each estimate (1 or 2, u, k, k), and valued on the other if there are two.

    On the same, chance in it would count as gain.
    """
    decided = halves.argmax(axis=3)[..., None]
    after = np.take_along_axis(halves[::-1], decided, axis=3)[..., 0]
    return np.asarray((after - halves[::-1, :, :, decision]).sum(axis=2).mean(axis=0))


def value_of_asking(
    model: GradedSISCM,
    log_p: FloatArray,
    codes: IntArray,
    panel: BoolArray | None = None,
    instances: pd.Index[Any] | None = None,
) -> pd.DataFrame:
    """What asking one more expert is worth, for each expert who could be asked.

    Parameters
    ----------
    model, log_p, codes
        As for :func:`prospects`.
    panel
        (n, H): the panel of each case, beside who has spoken; default everybody.
    instances
        Names; default positions.

    Returns
    -------
    DataFrame
        A row a case and expert of its panel who was not asked: ``row`` and ``position`` of both,
        ``instance``, ``expert``; ``sure``, the chance that the decision so far is right;
        ``differs``, the chance that she says something else than it; ``changes``, the chance that
        the decision becomes another; ``gain``, the expected rise of the chance that it is right,
        exact or estimated as this module says.

    Raises
    ------
    TypeError, ValueError
        As :func:`prospects`.
    """
    index = pd.RangeIndex(len(codes)) if instances is None else as_index(list(instances))
    found = prospects(model, log_p, codes, panel, index)
    tables = [_values(one, model, index) for one in found]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)


def _values(one: Prospect, model: GradedSISCM, instances: pd.Index[Any]) -> pd.DataFrame:
    decision = one.now.argmax()
    chance = one.after.sum(axis=2)
    return pd.DataFrame(
        {
            "row": one.row,
            "position": one.experts,
            "instance": instances.take([one.row] * len(one.experts)),  # a tuple is one name
            "expert": model.experts_[one.experts],
            "sure": one.now[decision],
            "differs": 1 - chance[:, decision],
            "changes": (chance * (one.after.argmax(axis=2) != decision)).sum(axis=1),
            "gain": one.gain,
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
    the case's experts did; where labels tie, a decision for one of them counts its share.

    Parameters
    ----------
    model
        Fitted on other instances.
    X, test
        Features and opinions, aligned by id. Cases with fewer than three opinions are left out.
    accuracy
        (H,): how often each of the model's experts agreed with most of hers in training.
    rng
        Draws who has spoken.

    Returns
    -------
    DataFrame
        A row a case: ``instance``; ``spoke``, the expert who has spoken; ``sure`` and ``gain`` (the
        largest there was), as :func:`value_of_asking` has them; for each strategy how right its
        decision was, 1 or 0 without a tie, for ``"at random"`` on average; and ``silent``, how much
        righter the decision became by asking who promised most, judged by the others alone: the
        two who have spoken are not in the majority that they helped to find.

    Raises
    ------
    ValueError
        If X and opinions do not align, an expert is unknown, or the classes are not those of
        training.
    """
    kept = np.flatnonzero(test.n_by_instance >= 3)
    place = align_experts(test, model.experts_, model.classes_)
    labels = np.full((len(kept), len(model.experts_)), NOT_ASKED)
    labels[:, place] = test.labels[kept]
    votes = test.votes[kept]
    worth = most(votes)
    log_p = model.log_marginals(align_features(X, test.instances))[kept]
    asked = labels != NOT_ASKED
    spoke = np.where(asked, rng.random(asked.shape), -1).argmax(axis=1)
    rows = np.arange(len(kept))
    codes = np.full_like(labels, NOT_ASKED)
    codes[rows, spoke] = labels[rows, spoke]
    names = test.instances.take(kept)
    out = []
    for one in prospects(model, log_p, codes, asked, names):
        values = _values(one, model, names)
        said = labels[one.row, one.experts]
        decided = one.after[np.arange(len(said)), said].argmax(axis=1)
        right = worth[one.row, decided]
        unsure = -one.after.sum(axis=2).max(axis=1)
        picks = (accuracy[one.experts], values["differs"], unsure, values["gain"])
        best = int(one.gain.argmax())
        both = [codes[one.row].max(), said[best]]
        silent = most(votes[one.row] - np.bincount(both, minlength=votes.shape[1]))
        out.append(
            {
                "instance": names[one.row],
                "spoke": model.experts_[spoke[one.row]],
                "sure": values["sure"][0],
                "gain": values["gain"].max(),
                "nobody": worth[one.row, one.now.argmax()],
                "at random": right.mean(),
                **{
                    strategy: right[int(np.argmax(np.asarray(pick)))]
                    for strategy, pick in zip(STRATEGIES[2:], picks, strict=True)
                },
                "silent": silent[decided[best]] - silent[one.now.argmax()],
            }
        )
    return pd.DataFrame(out, columns=["instance", "spoke", "sure", "gain", *STRATEGIES, "silent"])


def agreement_with_most(opinions: Opinions) -> FloatArray:
    """(H,): how often each expert says what most of the others on her cases say.

    A label that ties counts its share of the tie, a case that nobody else judged half. One
    agreement and one disagreement are added, so that a few opinions do not make a record.
    """
    h, y = opinions.expert_codes, opinions.label_codes
    others = opinions.votes[opinions.instance_codes]
    others[np.arange(len(y)), y] -= 1
    top = others == others.max(axis=1, keepdims=True)
    right = np.where(others.sum(axis=1) > 0, top[np.arange(len(y)), y] / top.sum(axis=1), 0.5)
    sums = np.bincount(h, right, minlength=len(opinions.experts))
    return np.asarray((sums + 1) / (opinions.n_by_expert + 2))
