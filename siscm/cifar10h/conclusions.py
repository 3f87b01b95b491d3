"""What the paper concludes from its experiment, and whether a run's figures say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from siscm.cifar10h.experiment import PAPERS_RULES
from siscm.evaluation import SCENARIOS

ALMOST_ALL = 0.9
"""Share of the experts above which this book says "almost all"; the paper has 97 % and more."""


def conclusions(figures: Mapping[str, Any]) -> pd.DataFrame:
    """What the paper concludes from its experiment, and whether a run's figures say the same.

    Only the figures are compared, not their uncertainty.

    Parameters
    ----------
    figures
        From :func:`siscm.cifar10h.verdicts.figures`, or those of the paper.

    Returns
    -------
    DataFrame
        A row a conclusion: ``here``, the figures in words, and ``agrees``, a bool.
    """
    accuracy = pd.DataFrame(figures["accuracy"], dtype=float)
    better = figures["experts_better_off"]

    def above(*pairs: tuple[str, str]) -> tuple[str, bool]:
        """Whether the first accuracy is above each of the others."""
        values = [float(accuracy[rule][scenario]) for rule, scenario in pairs]
        said, *rest = ("no pair" if np.isnan(value) else f"{value:.1%}" for value in values)
        return f"{said} against {', '.join(rest)}", all(values[0] > other for other in values[1:])

    def most(least: float, *names: str) -> tuple[str, bool]:
        """Whether more than this share of the experts is better off, in each comparison."""
        said = ", ".join("{} of {}".format(*better[name]) for name in names)
        return said, all(n > least * of for n, of in (better[name] for name in names))

    (model, gnb, cnb), (every, same, different) = PAPERS_RULES, SCENARIOS
    against = [f"SI-SCM above GNB, {every}", f"SI-SCM above GNB + CNB, {every}"]
    inside = [name.replace(every, same) for name in against]
    rows = {
        "All pairs: SI-SCM is above both baselines": above(
            *((rule, every) for rule in (model, gnb, cnb))
        ),
        "Same group: SI-SCM is above both baselines": above(
            *((rule, same) for rule in (model, gnb, cnb))
        ),
        "Different groups: GNB + CNB is above SI-SCM": above((cnb, different), (model, different)),
        "GNB + CNB is better in the same group than across": above((cnb, same), (cnb, different)),
        "All pairs: SI-SCM is above each baseline for most experts": most(0.5, *against),
        "Same group: SI-SCM is above each for almost all experts": most(ALMOST_ALL, *inside),
        "GNB + CNB is better in the same group for most experts": most(
            0.5, "GNB + CNB, same group above different"
        ),
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["here", "agrees"])


def in_words(concluded: pd.DataFrame, kind: str) -> str:
    """Whether the data agree with the paper's conclusions, in sentences for either outcome.

    Parameters
    ----------
    concluded
        From :func:`conclusions`.
    kind
        ``"twin"`` or ``"real"``.
    """
    agreeing, n = int(concluded["agrees"].sum()), len(concluded)
    where = "On the real file" if kind == "real" else "On the simulated twin"
    count = f"all {n}" if agreeing == n else f"{agreeing or 'none'} of the {n}"
    lines = [f"{where}, {count} conclusions of the paper come out as it reports them."]
    lines += [f"Not so: {name}." for name in concluded.index[~concluded["agrees"]]]
    if kind != "real":
        lines.append(
            "Either way this is no evidence about people: it shows what the method does with "
            "opinions made as the model says."
        )
    return "\n".join(lines)
