"""Record figures of the real files in ``expected/`` (``make record``).

The panels' go to ``panels.json``, those of graded sharing on them to ``graded.json``, of whom to
ask to ``asking.json``; those of CIFAR-10H's published counts to ``counts`` in ``cifar10h.json``,
and, where the raw file is, those of the experiment to ``real`` beside it. The other parts of that
file stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siscm.cifar10h import load_cifar10h_counts
from siscm.cifar10h_data import experiment_kind, load_cifar10h, prepare
from siscm.experiment import run
from siscm.pages import expected, today, write_expected
from siscm.panels import PanelName, load_lewidi
from siscm.published import count_figures
from siscm.real_panels import (
    POPULATIONS,
    development,
    final,
    fitted,
    model_figures,
    score_figures,
    shift_figures,
)
from siscm.sources import COUNTS, ENTRIES, IMAGES, RAW, WEIGHTS
from siscm.study import figures, scores, study
from siscm.verdicts import figures as experiment_figures
from siscm.worth_asking import asking_figures

MIN_OPINIONS: dict[PanelName, int] = {"HS-Brexit": 1, "MD-Agreement": 60}
"""Experts with fewer training opinions than this are left out of a panel's study."""


def panel_figures(name: PanelName) -> dict[str, Any]:
    """The figures of one real panel, with the hashes of the files they come from."""
    panel = load_lewidi(name)
    done = study(panel, MIN_OPINIONS[name])
    groups = panel.known_groups
    known = scores(done, groups, rng=np.random.default_rng(0)) if groups else {}
    return {
        "files": dict(panel.files),
        "min_opinions": MIN_OPINIONS[name],
        "figures": figures(done, rng=np.random.default_rng(0)),
        "scores_with_known_groups": known,
    }


def graded_figures(name: PanelName) -> dict[str, Any]:
    """The figures of graded sharing on one real panel, by population of experts.

    ``development`` is by cross-validation in training and development parts, ``test`` on the test
    part, ``shift`` says how that differs from training, and ``known_groups``, where the panel tells
    groups, is development with these.
    """
    panel = load_lewidi(name)
    populations = {}
    for population, least in POPULATIONS[name].items():
        developed = {"development": development(panel, least), "test": final(panel, least)}
        if panel.known_groups:
            developed["known_groups"] = development(panel, least, panel.known_groups)
        model = fitted(panel, least)
        populations[population] = {
            "model": model_figures(panel, model),
            "shift": shift_figures(panel, model),
            **{part: score_figures(pairs, 2) for part, pairs in developed.items()},
        }
    return {"files": dict(panel.files), "populations": populations}


def published_counts() -> dict[str, Any]:
    """The figures of CIFAR-10H's published counts, with the hash of their file."""
    figures = count_figures(load_cifar10h_counts())
    rounded = {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in figures.items()
    }
    return {"files": {COUNTS: ENTRIES[COUNTS].sha256}, "figures": rounded}


def experiment() -> dict[str, Any]:
    """The figures of the paper's experiment on the real files, with the hashes of these."""
    ready = prepare(load_cifar10h("real"))
    done = run(ready.X_train, ready.train, ready.X_test, ready.test)
    files = {path: ENTRIES[path].sha256 for path in (RAW, IMAGES, WEIGHTS)}
    return {"files": files, "figures": experiment_figures(done)}


def main() -> None:
    """Recompute everything and write the files, dated today."""
    date = today()
    write_expected("panels", {name: {"date": date, **panel_figures(name)} for name in MIN_OPINIONS})
    write_expected("graded", {name: {"date": date, **graded_figures(name)} for name in POPULATIONS})
    asking = {
        name: asking_figures(load_lewidi(name), least) for name, least in MIN_OPINIONS.items()
    }
    write_expected("asking", {name: {"date": date, **figures} for name, figures in asking.items()})
    recorded = {"counts": {"date": date, **published_counts()}}
    if experiment_kind() == "real":
        recorded["real"] = {"date": date, **experiment()}
    write_expected("cifar10h", {**expected("cifar10h"), **recorded})


if __name__ == "__main__":
    main()
