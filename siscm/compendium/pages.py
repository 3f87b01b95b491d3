"""What the book's pages say about their data: banner, tables, stamped figures."""

from __future__ import annotations

import datetime
import html
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from siscm.compendium.kinds import BANNERS, COLOURS, LABELS, Data
from siscm.data.registry import setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALARM_STYLE = 'style="background:#a4161a;color:#fff;font-weight:600"'
"""Of a table's cell that must not be overlooked; white on red in light and dark pages alike."""

STAMP_INCHES = 0.3
"""Height of the strip at the foot of a figure that is left to its stamp."""

LONG = 25
"""Characters above which a cell of a table is text to be read from the left."""

_INTERVAL = re.compile(r"\[([-+.\d]+), ([-+.\d]+)\]")
"""Two numbers that a table's cell may not part over two lines."""

ROOT = Path(__file__).resolve().parents[2]
"""The project's folder, where ``expected/`` and ``benchmarks/`` lie."""


@dataclass(frozen=True)
class _Shown:
    """Something set by its markup on a page, and shown as plain text elsewhere."""

    markup: str
    text: str

    def __repr__(self) -> str:
        return self.text


class Html(_Shown):
    """Something shown as HTML on a page and as plain text elsewhere."""

    def _repr_html_(self) -> str:
        return self.markup


class Markdown(_Shown):
    """Something set by its Markdown on a page, and shown as plain text elsewhere."""

    def _repr_markdown_(self) -> str:
        return self.markup


def banner(data: Data | None = None) -> Html:
    """The first thing on a page: which data its numbers come from.

    Parameters
    ----------
    data
        ``"example"`` for a page without a panel; default what the page runs on.
    """
    kind = data or setting()
    title, text = LABELS[kind].upper(), BANNERS[kind]
    style = (
        f"background:{COLOURS[kind]};color:#fff;padding:.8em 1em;border-radius:.3em;"
        "font-size:1.05em;line-height:1.4"
    )
    return Html(
        f'<div class="siscm-banner" role="note" style="{style}"><strong>{title}.</strong> '
        f"{html.escape(text)}</div>",
        f"{title}. {text}",
    )


def table(
    frame: pd.DataFrame | pd.Series[Any],
    caption: str,
    data: Data | None = None,
    note: str = "",
    alarm: str | None = None,
) -> Html:
    """A table with a caption that begins with the data it shows.

    Parameters
    ----------
    frame
        Rounded to what is meaningful; shown with its index unless that only counts rows.
    caption
        What to see in it.
    data
        What it shows; default what the page runs on (:func:`siscm.data.registry.setting`).
    note
        Added in small print: sources, dates, hashes.
    alarm
        Cells that hold just this word are shown in red.
    """
    kind = data or setting()
    frame = frame.to_frame() if isinstance(frame, pd.Series) else frame
    caption = _spaced(caption)
    index = not isinstance(frame.index, pd.RangeIndex)
    badge = (
        f'<span class="siscm-data" style="background:{COLOURS[kind]};color:#fff;'
        f'padding:.1em .5em;border-radius:.3em;white-space:nowrap">{LABELS[kind]}</span>'
    )
    small = f"<br><small>{html.escape(note)}</small>" if note else ""
    sentences = frame.map(lambda cell: isinstance(cell, str) and len(cell) > LONG).any(axis=None)
    words = " siscm-words" if sentences else ""
    frame = frame if kind == "own" else frame.map(_cell)  # labels stay as the reader wrote them
    named = any([*frame.index.names, *frame.columns.names])  # else a row of its own, without words
    body = frame.to_html(index=index, index_names=named, border=0, na_rep="")
    body = _INTERVAL.sub(r"[\1,&nbsp;\2]", body)
    if alarm is not None:
        cell = f"<td>{html.escape(alarm)}</td>"
        body = body.replace(cell, cell.replace("<td>", f'<td class="siscm-alarm" {ALARM_STYLE}>'))
    return Html(
        f'<figure class="siscm-table{words}"><figcaption>{badge} {html.escape(caption)}{small}'
        f'</figcaption><div style="overflow-x:auto">{body}</div></figure>',
        "\n".join(
            [f"[{LABELS[kind]}] {caption}", frame.to_string(index=index, na_rep=""), note]
        ).rstrip(),
    )


def _cell(value: Any) -> Any:
    """Thousands parted by commas, percent signs set off; all else as it is."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{value:,}"
    return _spaced(value) if isinstance(value, str) else value


def source(function: Callable[..., Any]) -> Markdown:
    """The code of a function that a page runs, shown from where it is tested."""
    code = inspect.getsource(function)
    return Markdown(f"```python\n{code}```", code)


def say(text: str) -> Markdown:
    """Sentences of a page whose numbers its code computes, so that none is typed.

    Parameters
    ----------
    text
        Markdown, as a rule an f-string over several lines, which are joined: a blank line ends a
        paragraph, and a line that begins with a hyphen is a point of a list. Percent signs are set
        off by a space.
    """
    joined = re.sub(r"(?<=\S)\n *(?!- |\s)", " ", textwrap.dedent(text).strip())
    spaced = _spaced(joined)
    return Markdown(spaced, spaced)


def _spaced(text: str) -> str:
    """A sentence with its percent signs set off by a space."""
    return re.sub(r"(?<=\d)%", "\N{NO-BREAK SPACE}%", text)


def stamp(figure: Figure, data: Data | None = None) -> None:
    """Write into a figure which data it shows, so that the two cannot be separated.

    By default ``data`` is what ``SISCM_DATA`` says.
    """
    kind = data or setting()
    strip = STAMP_INCHES / figure.get_figheight()
    figure.set_layout_engine("constrained", rect=(0, strip, 1, 1 - strip))
    figure.text(
        0.995,
        0.005,
        LABELS[kind],
        ha="right",
        va="bottom",
        fontsize=9,
        color="white",
        bbox={"facecolor": COLOURS[kind], "edgecolor": "none", "boxstyle": "round,pad=0.3"},
    )


def expected(name: str) -> dict[str, Any]:
    """The recorded figures of ``expected/<name>.json``."""
    path = ROOT / "expected" / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def write_expected(name: str, content: dict[str, Any]) -> None:
    """Record figures in ``expected/<name>.json``."""
    path = ROOT / "expected" / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def today() -> str:
    """The date, as it is recorded."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


def scores(compared: pd.DataFrame) -> pd.DataFrame:
    """A table of :func:`siscm.evaluation.compare`, with intervals in brackets.

    Scenarios without a pair are left out.
    """
    kept = compared[compared["n_pairs"] > 0]
    return pd.DataFrame(
        {
            "pairs": kept["n_pairs"].map("{:,.0f}".format),
            "accuracy": kept.apply(interval, axis=1, args=("accuracy",)),
            "log-loss": kept.apply(interval, axis=1, args=("log_loss",)),
        }
    ).rename_axis(["", ""])


def interval(row: pd.Series[Any], column: str, middle: bool = True) -> str:
    """The ends of a row's interval in square brackets, after what lies between them.

    Parameters
    ----------
    row
        Of a table of scores.
    column
        Its score; the ends are in the columns ``_low`` and ``_high``.
    middle
        Whether the score itself is given too.
    """
    ends = f"[{row[f'{column}_low']:.3f}, {row[f'{column}_high']:.3f}]"
    return f"{row[column]:z.3f} {ends}" if middle else ends


def recorded_scores(name: str, groups: Literal["learned", "known"]) -> Html:
    """The scores of a real panel from ``expected/panels.json``, as :func:`scores` shows them.

    Parameters
    ----------
    name
        Which panel.
    groups
        With the groups that Algorithm 1 found, or with those that the panel tells.
    """
    entry = expected("panels")[name]
    recorded = (
        entry["figures"]["scores"] if groups == "learned" else entry["scores_with_known_groups"]
    )
    frame = pd.concat({rule: pd.DataFrame(part).T for rule, part in recorded.items()})
    caption = f"{name}: second opinions on the test part, with the {groups} groups."
    return table(scores(frame), caption, "recorded", origin(entry))


def recorded_sizes() -> Html:
    """Sizes, violations and groups of the real panels from ``expected/panels.json``."""
    entries = expected("panels")
    frame = pd.DataFrame({name: sizes(entry["figures"]) for name, entry in entries.items()})
    origins = "; ".join(f"{name}: {origin(entry)}" for name, entry in entries.items())
    return table(frame, "The same on the real files.", "recorded", origins)


def recorded_meetings(name: str) -> Html:
    """Pairs of a real panel by how often they met, from ``expected/panels.json``."""
    entry = expected("panels")[name]
    frame = pd.DataFrame.from_dict(entry["figures"]["violations_by_meetings"], orient="index")
    frame = frame.astype({"pairs": int}).round(3).rename_axis("instances together")
    return table(frame, f"{name}: pairs by how often they met.", "recorded", origin(entry))


SIZES = {
    "experts": "experts",
    "training_opinions": "training opinions",
    "opinions_merged": "opinions given twice, counted once",
    "pairs_together": "pairs of experts seen together",
    "pairs_in_violation": "of these, pairs that ever violate",
    "median_meetings_of_violating_pairs": "median meetings of a pair that violates",
    "median_meetings_of_other_pairs": "median meetings of a pair that does not",
    "groups": "groups found",
    "singleton_groups": "of these, one expert alone",
    "largest_group": "experts in the largest group",
}
"""The figures of :func:`siscm.compendium.study.figures` that describe groups, in words."""


def sizes(figures: dict[str, Any]) -> pd.Series[Any]:
    """Sizes, violations and groups of a study, in words; empty where a figure does not exist."""
    return pd.Series(
        {words: f"{figures[key]:,.10g}" if key in figures else "" for key, words in SIZES.items()}
    )


def origin(entry: dict[str, Any]) -> str:
    """When an entry of ``expected/`` was recorded, and from which files."""
    hashes = ", ".join(f"{Path(path).name} {sha[:8]}" for path, sha in entry["files"].items())
    return f"recorded {entry['date']} from {hashes} (SHA-256, first 8 digits)"
