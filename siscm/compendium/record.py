"""Record figures of the real files in ``expected/`` (``make record``).

The panels' go to ``panels.json``, those of graded sharing on them to ``graded.json``, of whom to
ask to ``asking.json``; those of CIFAR-10H's published counts to ``counts`` in ``cifar10h.json``,
and, where the raw file is, those of the experiment to ``real`` beside it. The other parts of that
file stay as they are; ``python -m siscm.compendium.record twin`` rewrites those of CIFAR-10H's twin
alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from siscm.beyond.asking_figures import asking_figures
from siscm.beyond.real_panels import (
    POPULATIONS,
    behind,
    development,
    final,
    final_figures,
    fitted,
    model_figures,
    score_figures,
    shift_figures,
)
from siscm.cifar10h.conclusions import conclusions
from siscm.cifar10h.counts import load_cifar10h_counts
from siscm.cifar10h.experiment import Experiment, run
from siscm.cifar10h.pipeline import TWIN_SEED, Cifar10H, experiment_kind, load_cifar10h, prepare
from siscm.cifar10h.published import count_figures, raw_figures
from siscm.cifar10h.verdicts import figures as judged_figures
from siscm.compendium.pages import expected, today, write_expected
from siscm.compendium.study import figures, other_starts, scores, study
from siscm.data.panels import PanelName, load_lewidi
from siscm.data.sources import COUNTS, ENTRIES, IMAGES, RAW, WEIGHTS

TOLERANCE = 2e-6
"""How near figures must come to those recorded, which are rounded to six digits."""

FITTED_TOLERANCE: dict[PanelName, float] = {"HS-Brexit": 2e-5, "MD-Agreement": 2e-4}
"""The same where a likelihood was made large by steps, which end where they are small enough."""

OTHER_TWINS = tuple(range(1, 10))
"""Seeds of other twins than the book's: how far its figures hang on the seed."""

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
        "other_starts": other_starts(done),
    }


def graded_figures(name: PanelName) -> dict[str, Any]:
    """The figures of graded sharing on one real panel, by population of experts.

    ``development`` is by cross-validation in training and development parts, ``test`` on the test
    part, ``shift`` says how that differs from training, and ``known_groups``, where the panel tells
    groups, is development with these, ``known_groups_behind`` how far it stays behind.
    """
    panel = load_lewidi(name)
    populations = {}
    for population, least in POPULATIONS[name].items():
        model, developed = fitted(panel, least), development(panel, least)
        found = {
            "model": model_figures(panel, model),
            "shift": shift_figures(panel, model),
            "development": score_figures(developed, 2),
            "test": final_figures(final(panel, least), 2),
        }
        if panel.known_groups:
            known = development(panel, least, panel.known_groups)
            found["known_groups"] = score_figures(known, 2)
            found["known_groups_behind"] = behind(developed, known, 2)
        populations[population] = found
    return {"files": dict(panel.files), "populations": populations}


def published_counts() -> dict[str, Any]:
    """The figures of CIFAR-10H's published counts, with the hash of their file."""
    figures = count_figures(load_cifar10h_counts())
    rounded = {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in figures.items()
    }
    return {"files": {COUNTS: ENTRIES[COUNTS].sha256}, "figures": rounded}


def experiment_figures(data: Cifar10H) -> dict[str, Any]:
    """The figures of the paper's experiment, and of the raw table before any filter."""
    return {**judged_figures(_done(data)), "raw": raw_figures(data.raw)}


def _done(data: Cifar10H) -> Experiment:
    ready = prepare(data)
    return run(ready.X_train, ready.train, ready.X_test, ready.test)


def experiment() -> dict[str, Any]:
    """The figures of the paper's experiment on the real files, with the hashes of these."""
    files = {path: ENTRIES[path].sha256 for path in (RAW, IMAGES, WEIGHTS)}
    return {"files": files, "figures": experiment_figures(load_cifar10h("real"))}


def other_twin(seed: int) -> dict[str, Any]:
    """What the paper's experiment gives on another twin: accuracies, and which conclusions hold.

    The latter also if the smoothing of GNB + CNB is chosen inside training: ``agrees_smoothed``.
    """
    done = _done(load_cifar10h("twin", seed))
    figures, smoothed = judged_figures(done), judged_figures(done.smoothed())
    return {
        "accuracy": figures["accuracy"],
        "agrees": conclusions(figures)["agrees"].to_dict(),
        "agrees_smoothed": conclusions(smoothed)["agrees"].to_dict(),
    }


def record_twin() -> None:
    """Recompute the figures of CIFAR-10H's twin; nothing else moves, and no real file is read."""
    content = expected("cifar10h")
    tolerance = content["twin"]["tolerance"]
    found = experiment_figures(load_cifar10h("twin"))
    others = {str(seed): other_twin(seed) for seed in OTHER_TWINS}
    content["twin"] = {"seed": TWIN_SEED, **found, "others": others, "tolerance": tolerance}
    write_expected("cifar10h", content)


def main(arguments: Sequence[str] = ()) -> None:
    """Read the command line, and record the real files or the twin."""
    parser = argparse.ArgumentParser(prog="python -m siscm.compendium.record", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("twin",), help="record the twin alone")
    if parser.parse_args(arguments).part == "twin":
        record_twin()
    else:
        record_real()


def record_real() -> None:
    """Recompute everything about the real files and write it, dated today."""
    date = today()

    def dated(figures: dict[str, Any], tolerance: float = TOLERANCE) -> dict[str, Any]:
        return {"date": date, "tolerance": tolerance, **figures}

    write_expected("panels", {name: dated(panel_figures(name)) for name in MIN_OPINIONS})
    graded = {name: graded_figures(name) for name in POPULATIONS}
    write_expected(
        "graded", {name: dated(entry, FITTED_TOLERANCE[name]) for name, entry in graded.items()}
    )
    asking = {
        name: asking_figures(load_lewidi(name), least) for name, least in MIN_OPINIONS.items()
    }
    write_expected(
        "asking", {name: dated(entry, FITTED_TOLERANCE[name]) for name, entry in asking.items()}
    )
    recorded = {"counts": dated(published_counts())}
    if experiment_kind() == "real":
        recorded["real"] = dated(experiment())
    write_expected("cifar10h", {**expected("cifar10h"), **recorded})


if __name__ == "__main__":
    main(sys.argv[1:])
