"""Is a second opinion worth its cost? Trials on cases that no model learned from, and their sums.

Everything is judged on the training and development parts of a panel, by cross-validation: on each
part of its instances by a model that learned from the others. The test part stays closed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from siscm.asking import STRATEGIES, agreement_with_most, trial
from siscm.beyond.real_panels import N_FOLDS, held_out, text_marginals, texts, training
from siscm.checks import FloatArray, check_share
from siscm.data.panels import Panel
from siscm.graded import GradedSISCM
from siscm.intervals import mean_with_interval

SHARE = 0.2
"""The share of cases asked about, where not all are."""

EDGES = (0.0, 0.01, 0.05, 0.1, 0.2, 1.0)
"""Gains between these are taken together, to see whether they are kept."""

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Costs of an opinion, where a wrong decision costs 1."""

EVERYWHERE, LARGEST, UNSURE, ANY = "everywhere", "largest gains", "least sure", "random cases"
"""Where to ask: about every case, where most is gained, where the decision so far is least sure,
anywhere."""

BEST = STRATEGIES[-1]
"""Ask whoever promises the largest gain."""

MARGINALS_ONLY = 0.0
"""The sharing of experts who know nothing of each other, but for a case's features."""

_ROUNDING = 1e-9
"""Gains up to here are none."""


def held_out_trials(
    panel: Panel,
    min_opinions: int = 1,
    n_folds: int = N_FOLDS,
    draw: int = 0,
    sharing: float | None = None,
) -> tuple[pd.DataFrame, GradedSISCM]:
    """Trials on held-out instances of the training and development parts.

    Parameters
    ----------
    panel
        A panel of texts.
    min_opinions
        Experts with fewer opinions there are left out.
    n_folds
        How many of the :data:`siscm.beyond.real_panels.N_FOLDS` parts are tried.
    draw
        Which draw of the parts, and of who has spoken first.
    sharing
        Of every expert, such as :data:`MARGINALS_ONLY`; default learned.

    Returns
    -------
    DataFrame, GradedSISCM
        As from :func:`siscm.asking.trial`, with the ``fold`` of each case; and the model of the
        first fold.
    """
    said, X = training(panel, min_opinions), texts(panel)
    found, models = [], []
    for k, (train, test) in enumerate(held_out(said, n_folds, draw)):
        model = GradedSISCM(text_marginals(), sharing=sharing).fit(X.loc[train.instances], train)
        rng = np.random.default_rng(draw * N_FOLDS + k)
        cases = trial(model, X.loc[test.instances], test, agreement_with_most(train), rng=rng)
        found.append(cases.assign(fold=k))
        models.append(model)
    return pd.concat(found, ignore_index=True), models[0]


def policies(found: pd.DataFrame, share: float = SHARE) -> pd.DataFrame:
    """How right each case is decided, by where and whom to ask.

    Parameters
    ----------
    found
        As from :func:`siscm.asking.trial`.
    share
        Of the cases that are asked about, where not all are.

    Returns
    -------
    DataFrame
        A row a case; columns ``(where, who)``: asking nobody, everywhere, about the cases with
        the largest gains, about those least sure, and about random cases, for which it is the
        chance.
    """
    check_share(share, "share")
    nobody = found["nobody"].to_numpy()
    first = {LARGEST: -found["gain"].to_numpy(), UNSURE: found["sure"].to_numpy()}
    rank = {where: np.argsort(np.argsort(x, kind="stable")) for where, x in first.items()}
    columns: dict[tuple[str, str], FloatArray] = {("nowhere", STRATEGIES[0]): nobody}
    for who in STRATEGIES[1:]:
        right = found[who].to_numpy()
        columns[EVERYWHERE, who] = right
        for where in first:
            asked = rank[where] < round(share * len(found))
            columns[where, who] = np.where(asked, right, nobody)
        columns[ANY, who] = share * right + (1 - share) * nobody
    return pd.DataFrame(columns).sort_index(axis=1)


def curve(found: pd.DataFrame, shares: Sequence[float]) -> pd.DataFrame:
    """How often the decision is right by the share of cases asked about: a row a share.

    Columns ``(where, who)`` as of :func:`policies`: the largest gains, and random cases.
    """
    return pd.DataFrame(
        {share: policies(found, share).mean()[[LARGEST, ANY]] for share in shares}
    ).T.rename_axis("share")


def policy_standings(
    found: pd.DataFrame, rng: np.random.Generator, share: float = SHARE
) -> pd.DataFrame:
    """How often each policy decides rightly, and how far it stays behind asking by gain.

    Parameters
    ----------
    found
        As from :func:`held_out_trials`.
    rng
        Draws the bootstrap samples, the same ones for every policy.
    share
        Of the cases asked about, where not every case is.

    Returns
    -------
    DataFrame
        A row a policy, ``(where, who)``: ``right``, ``behind``, each with the ends ``_low``,
        ``_high`` of its interval. Asking only about a share of the cases is behind asking whoever
        promises most where most is gained; all else is behind asking her everywhere.
    """
    right = policies(found, share)
    seed = int(rng.integers(2**63))
    rows = {}
    for policy in right.columns:
        best = right[LARGEST if policy[0] in (LARGEST, UNSURE, ANY) else EVERYWHERE, BEST]
        rows[policy] = _over_cases("right", right[policy], seed) | _over_cases(
            "behind", best - right[policy], seed
        )
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["where", "who"])


def _over_cases(name: str, values: pd.Series[float], seed: int) -> dict[str, float]:
    """A mean with the ends of its interval: from one seed, from the same draws of cases."""
    totals = np.asarray(values, dtype=np.float64)
    return mean_with_interval(name, totals, np.ones(len(totals)), np.random.default_rng(seed))


def merits(found: pd.DataFrame, alone: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """How much righter decisions become by asking who promises most, and by sharing.

    A decision is to be as most of the panel say, and so the opinion asked for counts twice: it
    tells about the others, and it is part of what is to be found. Without any sharing the second
    is left, and decisions get righter by it, too. Judged by those who have not spoken, the first
    is left; but the decisions are made for all, and may suit these less.

    Parameters
    ----------
    found, alone
        As from :func:`held_out_trials`, of the same cases: with learned sharing, and with
        :data:`MARGINALS_ONLY`.
    rng
        Draws the bootstrap samples, the same ones for every row.

    Returns
    -------
    DataFrame
        A row a comparison, ``(what, judged by)``: ``merit``, by how much more often the decision is
        right, with the ends ``merit_low``, ``merit_high`` of its interval.
    """
    seed = int(rng.integers(2**63))
    compared = {
        (f"asking, {model}", judge): rise
        for model, cases in (("graded sharing", found), ("marginals only", alone))
        for judge, rise in (("all", cases[BEST] - cases["nobody"]), ("the silent", cases["silent"]))
    }
    for when, who in (("before", STRATEGIES[0]), ("after", BEST)):
        compared[f"sharing, {when} asking", "all"] = found[who] - alone[who]
    rows = {what: _over_cases("merit", rise, seed) for what, rise in compared.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["what", "judged by"])


def promises(found: pd.DataFrame) -> pd.DataFrame:
    """Gains promised and found, by how large they were said to be.

    Returns
    -------
    DataFrame
        A row an interval of gains between :data:`EDGES` that holds a case, gains below all of them
        counted with the smallest: ``cases``;
        ``promised``, their mean gain; ``found``, by how much more often the decision was right
        after asking whoever promised it, with the ends ``found_low``, ``found_high`` of its
        interval, as of :func:`rise_interval`.
    """
    place = np.clip(np.searchsorted(EDGES, found["gain"], side="right") - 1, 0, len(EDGES) - 2)
    rows = {}
    for i in np.unique(place).tolist():
        some = found[place == i]
        rise = some[BEST] - some["nobody"]
        low, high = rise_interval(rise)
        rows[f"{EDGES[i]:g} to {EDGES[i + 1]:g}"] = {
            "cases": len(some),
            "promised": some["gain"].mean(),
            "found": rise.mean(),
            "found_low": low,
            "found_high": high,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("gain")


def rise_interval(rise: pd.Series[float]) -> tuple[float, float]:
    """A 95 % interval of a mean difference between right and right, case by case.

    Where hardly a decision changed, the bootstrap would be all but certain. So half a case is added
    to each way in which two answers can be right or wrong (Agresti and Min, 2005), and the normal
    law taken.

    Parameters
    ----------
    rise
        From -1, right before and wrong after, to 1; halves where labels tie.
    """
    n = len(rise) + 2
    middle = rise.sum() / n
    variance = ((rise**2).sum() + 1) / n - middle**2
    half = norm.ppf(0.975) * np.sqrt(variance / n)
    return float(max(middle - half, -1)), float(min(middle + half, 1))


def net_value(found: pd.DataFrame, costs: Sequence[float] = COSTS) -> pd.DataFrame:
    """What asking brings a case, less its cost, if whoever promises more than it costs is asked.

    Parameters
    ----------
    found
        A row a case, as from :func:`siscm.asking.trial` or :func:`held_out_trials`.
    costs
        Of an opinion, where a wrong decision costs 1.

    Returns
    -------
    DataFrame
        A row a cost: ``asked``, the share of cases; ``net``, as found; ``promised``, as the model
        expected it; ``always``, if everybody's second opinion were asked for. Never asking is 0.
    """
    gain = found["gain"].to_numpy()
    rise = (found[BEST] - found["nobody"]).to_numpy()
    rows = {}
    for cost in costs:
        asked = gain > cost + _ROUNDING
        rows[cost] = {
            "asked": asked.mean(),
            "net": ((rise - cost) * asked).mean(),
            "promised": ((gain - cost) * asked).mean(),
            "always": (rise - cost).mean(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("cost")
