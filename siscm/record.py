"""Record the figures of the real panels in ``expected/panels.json`` (``make record``)."""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np

from siscm.pages import ROOT
from siscm.panels import PanelName, load_lewidi
from siscm.study import figures, scores, study

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


def main() -> None:
    """Recompute everything and write the file, dated today."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    content = {name: {"date": today, **panel_figures(name)} for name in MIN_OPINIONS}
    path = ROOT / "expected" / "panels.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
