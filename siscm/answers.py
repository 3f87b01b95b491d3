"""Counterfactual distributions as tables: what the model's callers read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.checks import FloatArray, IntArray
from siscm.names import plain
from siscm.opinions import NOT_ASKED


def second_opinions_table(
    law: FloatArray,
    instances: pd.Index[Any],
    experts: npt.NDArray[Any],
    classes: npt.NDArray[Any],
) -> pd.DataFrame:
    """One row an instance, expert and label: ``instance``, ``expert``, ``label``, ``probability``.

    Parameters
    ----------
    law
        (n, H, k): what each would have said, in the order of the names.
    instances, experts, classes
        Their names, n, H and k of them.
    """
    n, n_experts, k = law.shape
    return pd.DataFrame(
        {
            "instance": instances.repeat(n_experts * k),
            "expert": np.tile(experts.repeat(k), n),
            "label": np.tile(classes, n * n_experts),
            "probability": law.ravel(),
        }
    )


def refuse_other_than_one(codes: IntArray, instances: pd.Index[Any]) -> None:
    """Raise if an instance has not exactly one observed opinion; the error names it.

    Parameters
    ----------
    codes
        (n, H): label codes, -1 where nobody was asked.
    instances
        Their names.
    """
    n_observed = (codes != NOT_ASKED).sum(axis=1)
    if (n_observed != 1).any():
        row = int(np.argmax(n_observed != 1))
        raise ValueError(
            f"instance {plain(instances[row])!r} has {int(n_observed[row])} observed opinions; "
            "ranking who disagrees needs exactly one."
        )


def disagreement_table(
    law: FloatArray, codes: IntArray, instances: pd.Index[Any], experts: npt.NDArray[Any]
) -> pd.DataFrame:
    """For each instance the experts not observed, the likeliest to say something else first.

    Parameters
    ----------
    law
        (n, H, k): what each would have said, given the one opinion observed.
    codes
        (n, H): that opinion, -1 for everybody else.
    instances, experts
        Their names, n and H of them.
    """
    asked = codes != NOT_ASKED
    n, observed = len(codes), asked.argmax(axis=1)
    said = codes[np.arange(n), observed]
    differs = 1 - np.take_along_axis(law, said[:, None, None], axis=2)[:, :, 0]
    differs[asked] = -1
    order = np.argsort(-differs, axis=1, kind="stable")[:, :-1]
    width = order.shape[1]
    return pd.DataFrame(
        {
            "instance": instances.repeat(width),
            "observed": experts[observed].repeat(width),
            "expert": experts[order].ravel(),
            "probability": np.take_along_axis(differs, order, axis=1).ravel(),
        }
    )
