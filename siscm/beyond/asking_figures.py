"""The figures of the chapter *Whom to ask*, from all folds, and from other draws of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from siscm.beyond.real_panels import N_FOLDS
from siscm.beyond.worth_asking import (
    MARGINALS_ONLY,
    held_out_trials,
    merits,
    net_value,
    policy_standings,
    promises,
)
from siscm.data.panels import Panel

OTHER_DRAWS = 9
"""How often folds and first speakers are drawn once more, to see what hangs on them."""


def over_draws(
    panel: Panel, min_opinions: int = 1, n_draws: int = OTHER_DRAWS, n_folds: int = N_FOLDS
) -> dict[str, pd.DataFrame]:
    """What other draws of folds and first speakers change.

    Parameters
    ----------
    panel, min_opinions, n_folds
        As for :func:`siscm.beyond.worth_asking.held_out_trials`.
    n_draws
        How many other draws are made.

    Returns
    -------
    dict
        ``standings``, a row a policy: how far it stayed behind in one draw, ``least`` and ``most``;
        and ``clear``, in how many draws by more than its interval explains. ``merits``, the same of
        a merit. ``promises``, a row an interval of gains: ``draws`` in which it holds a case, and
        ``kept``, in how many of them the promise lies in the interval of what was found.
    """
    standings, merit, kept = [], [], []
    for draw in range(1, n_draws + 1):
        found, alone = _both(panel, min_opinions, n_folds, draw)
        standings.append(policy_standings(found, np.random.default_rng(draw)))
        merit.append(merits(found, alone, np.random.default_rng(draw)))
        kept.append(promises(found))
    gain = pd.concat(kept)
    inside = gain["promised"].between(gain["found_low"], gain["found_high"])
    return {
        "standings": _spread(standings, "behind"),
        "merits": _spread(merit, "merit"),
        "promises": gain.assign(kept=inside)
        .groupby("gain")
        .agg(draws=("kept", "size"), kept=("kept", "sum")),
    }


def _both(
    panel: Panel, min_opinions: int, n_folds: int, draw: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Trials with learned sharing, and with none."""
    found, _ = held_out_trials(panel, min_opinions, n_folds, draw)
    alone, _ = held_out_trials(panel, min_opinions, n_folds, draw, MARGINALS_ONLY)
    return found, alone


def _spread(tables: list[pd.DataFrame], what: str) -> pd.DataFrame:
    """Of a column in tables with the same rows: its least and most, and how often it is clear."""
    every = pd.concat(tables)
    by = every.assign(clear=every[f"{what}_low"] > 0).groupby(every.index.names)
    return by.agg(least=(what, "min"), most=(what, "max"), clear=("clear", "sum"))


def asking_figures(
    panel: Panel, min_opinions: int = 1, n_folds: int = N_FOLDS, n_draws: int = OTHER_DRAWS
) -> dict[str, Any]:
    """What the chapter *Whom to ask* shows of a panel, ready for JSON, from all its folds.

    Parameters
    ----------
    panel, min_opinions, n_folds, n_draws
        As for :func:`over_draws`.

    Returns
    -------
    dict
        ``files`` with their hashes, ``min_opinions``, ``folds``, ``cases``, ``draws``; and lists of
        rows ``standings``, ``merits``, ``promises``, ``net_value``: the tables of
        :mod:`siscm.beyond.worth_asking`; ``promises_marginals_only``, the promises where nothing is
        shared; and ``standings_over_draws``, ``merits_over_draws``, ``promises_over_draws``, those
        of :func:`over_draws`.
    """
    found, alone = _both(panel, min_opinions, n_folds, 0)
    tables = {
        "standings": policy_standings(found, np.random.default_rng(0)),
        "merits": merits(found, alone, np.random.default_rng(0)),
        "promises": promises(found),
        "promises_marginals_only": promises(alone),
        "net_value": net_value(found),
    }
    for name, table in over_draws(panel, min_opinions, n_draws, n_folds).items():
        tables[f"{name}_over_draws"] = table
    return {
        "files": dict(panel.files),
        "min_opinions": min_opinions,
        "folds": n_folds,
        "cases": len(found),
        "draws": n_draws,
        **{name: table.round(6).reset_index().to_dict("records") for name, table in tables.items()},
    }
