"""A panel of texts as CSV files, such as a user might have: what the page of own panels shows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from siscm.compendium.kinds import Data
from siscm.data.panels import Panel
from siscm.data.registry import setting


def write_example(panel: Panel, folder: str | Path, n_new: int = 60) -> tuple[Path, Path]:
    """A panel of texts as two CSV files, such as a user might have.

    ``opinions.csv`` holds what was said about the training part, and one opinion each about the
    first half of the new cases, which are the first of the development part; ``features.csv``
    the texts of all these, and the domain if the panel has domains. The test part stays closed.

    Parameters
    ----------
    panel
        As from :func:`siscm.data.panels.load_panel`.
    folder
        Where to write; texts of a real panel can offend, so let it be a temporary one.
    n_new
        How many new cases.

    Returns
    -------
    Path, Path
        The file of opinions, and that of features.
    """
    train = panel.part("train")
    new = panel.part("dev").instances[:n_new]
    said = panel.opinions.select(instances=new[: n_new // 2]).to_long()
    # Not always the same expert: the first opinion of the first case, the second of the next.
    by_case = enumerate(said.groupby("instance", sort=False))
    one_each = [some.iloc[[case % len(some)]] for case, (_, some) in by_case]
    opinions = pd.concat([train.to_long(), *one_each])
    asked = pd.Index(opinions["instance"].unique())
    columns = ["text", "domain"] if "domain" in panel.instances else ["text"]
    features = panel.instances.loc[asked.append(new[n_new // 2 :]), columns]
    paths = Path(folder) / "opinions.csv", Path(folder) / "features.csv"
    opinions.to_csv(paths[0], index=False)
    features.rename_axis("instance").to_csv(paths[1])
    return paths


def kind_of(*paths: str | Path | None, example: str | Path) -> Data:
    """What a page shows: the panel behind :func:`write_example`, or else the user's own files.

    Parameters
    ----------
    *paths
        The files that the page reads; None for one that it does without.
    example
        The folder that the example was written into.
    """
    given = [Path(path).resolve() for path in paths if path is not None]
    return setting() if all(Path(example).resolve() in path.parents for path in given) else "own"
