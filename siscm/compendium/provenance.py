"""The book's page on where each number of the paper is redone, and on what data."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pkgutil import resolve_name
from typing import Any

from siscm.cifar10h.pipeline import experiment_kind
from siscm.compendium.pages import ROOT, expected
from siscm.compendium.paper import (
    DIFFERS,
    MEANING,
    TWIN,
    Contents,
    Item,
    Number,
    Seed,
    Source,
    figures,
)
from siscm.compendium.record import experiment
from siscm.data.sources import ENTRIES, RAW
from siscm.theory.statements import title_of


def read_items() -> dict[str, list[Item]]:
    """The items of the paper, by part of the page: ``expected/paper.toml``."""
    content = tomllib.loads((ROOT / "expected" / "paper.toml").read_text(encoding="utf-8"))
    decided = content.pop("seeds")
    return {part: [_item(entry, decided) for entry in entries] for part, entries in content.items()}


def _item(entry: dict[str, Any], decided: Mapping[str, str]) -> Item:
    """An entry of the file; ``decided`` is its table of seeds that no chapter hands out itself."""
    seeds = [Seed(what, decided[what]) for what in entry.pop("seeds", [])]
    for what, drawn in entry.pop("drawn", {}).items():
        seeds += [Seed(what, seed) for seed in drawn]
    numbers = figures(*entry.pop("judged", []))
    if "numbers" in entry:
        numbers = resolve_name(f"siscm.compendium.paper_numbers.{entry.pop('numbers')}")
    return Item(**entry, seeds=seeds, numbers=numbers)


CONTENTS = ("cifar10h", "synthetic")
"""The files of ``expected/`` that hold numbers of the paper."""

TWIN_SEED = "cifar10h.pipeline.TWIN_SEED"
"""Where the seed of CIFAR-10H's twin is decided."""

UNEXPLAINED = "Nobody has said yet why: `real` of this entry in `expected/paper.toml` is the place."

SHOWN = 8
"""Digits of a hash that an entry shows; the list of data files has all of them."""

_DATA: dict[Source, str] = {
    "none": "none",
    "models": "random finite models, by `siscm.theory.populations` and `siscm.theory.random_scms`",
    "example": "a worked example, made up in the chapter",
    "synthetic": "simulated by `siscm.synthetic.planted.make_synthetic_panel`",
    "benchmark": "measured by `benchmarks/algorithm1.py`, recorded in `benchmarks/results.json`",
}


def provenance_page() -> str:
    """A page of the book, as Markdown: every item of the paper, then the data files."""
    contents = {name: expected(name) for name in CONTENTS}
    if experiment_kind() == "real":  # recorded or not, as on the chapters' own pages
        contents["cifar10h"] = {**contents["cifar10h"], "real": experiment()}
    parts = "\n\n".join(
        f"## {part}\n\n:::{{container}} siscm-provenance\n"
        + "\n\n".join(_entry(item, contents) for item in items)
        + "\n:::"
        for part, items in read_items().items()
    )
    return f"""# Provenance

Every table, figure, equation and number of the paper: where this book redoes it, by which function,
on which data, from which seed, and what came out. The page is generated when the book is built;
numbers and tolerances come from `expected/`, and each verdict is computed from them.

{_summary(contents)}

{parts}

{_files()}

{_recorded()}
"""


def _summary(contents: Contents) -> str:
    """How many verdicts of each kind, by part; and what each kind means."""
    counts = {
        part: Counter(verdict for item in items for verdict in item.verdicts(contents))
        for part, items in read_items().items()
    }
    used = [verdict for verdict in MEANING if any(count[verdict] for count in counts.values())]
    rows = "\n".join(
        f"| {verdict} | "
        + " | ".join(str(count[verdict] or "·") for count in counts.values())
        + " |"
        for verdict in used
    )
    words = "\n".join(f"- **{verdict}**: {MEANING[verdict]}." for verdict in used)
    return f"""| verdict | {" | ".join(counts)} |
|---|{"---|" * len(counts)}
{rows}

{words}

An entry with several numbers counts once for each."""


def _entry(item: Item, contents: Contents) -> str:
    """One item as a definition: name and place, then what, where, how, and the verdict."""
    functions = ", ".join(f"{{py:obj}}`siscm.{name}`" for name in item.functions)
    seeds = "; ".join(_seeds(item, contents))
    numbers = list(item.numbers(contents))
    kinds = Counter(item.verdicts(contents))
    verdict = ", ".join(
        f"**{kind}**" + (f" ({n} of {len(numbers)})" if len(kinds) > 1 else "")
        for kind, n in kinds.items()
    )
    where = f"[{title_of(item.chapter)}](../notebooks/{item.chapter}.ipynb#{item.anchor})"
    blocks = [
        " ".join([f"*Verdict:* {verdict}.", *filter(None, _why(item, contents))]),
        *_table(numbers),
        f"*By* {functions}. *Data:* {_data(item.source, contents)}."
        + (f" *Seed:* {seeds}." if seeds else ""),
    ]
    head = f"**{item.name}**, {item.section}\n: {item.what} In {where}."
    return "\n\n".join([head, *(f"  {block}" for block in blocks)])


def _why(item: Item, contents: Contents) -> Iterable[str]:
    """What explains the verdict, or that nobody has said why the raw file's numbers differ."""
    yield item.why
    unrun = {**contents, "cifar10h": {**contents["cifar10h"], "real": None}}
    if contents["cifar10h"]["real"] is None:
        yield item.twin
    elif item.verdicts(contents).count(DIFFERS) > item.verdicts(unrun).count(DIFFERS):
        yield item.real or UNEXPLAINED


def _seeds(item: Item, contents: Contents) -> Iterable[str]:
    """The seeds of what is drawn; where the real file was run, not the twin's."""
    made_up = contents["cifar10h"]["real"] is None
    shown = [seed for seed in item.seeds if made_up or seed.where != TWIN_SEED]
    for what in dict.fromkeys(seed.what for seed in shown):
        same = [seed for seed in shown if seed.what == what]
        values = ", ".join(str(seed.value(contents)) for seed in same)
        where = "" if isinstance(same[0].where, int) else f", `{same[0].where}`"
        yield f"{values} ({what}{where})"


def _table(numbers: list[Number]) -> Iterable[str]:
    """The numbers of an item, paper beside ours; no column says the same in every row."""
    if not numbers:
        return
    twin = all(n.here.startswith(TWIN) for n in numbers)
    apart = len({n.verdict for n in numbers}) > 1
    head = ["number", "paper", "twin" if twin else "here", "allowed", "verdict"]
    rows = [
        [n.name, n.paper, n.here.removeprefix(TWIN) if twin else n.here, n.allowed, n.verdict]
        for n in numbers
    ]
    lines = [head, ["---"] * len(head), *rows]
    yield "\n  ".join(f"| {' | '.join(cells if apart else cells[:-1])} |" for cells in lines)


def _data(source: Source, contents: Contents) -> str:
    """What an item rests on: files with hashes, or who made it up."""
    cifar10h = contents["cifar10h"]
    if source == "counts":
        entries = filter(None, [cifar10h["counts"], cifar10h["real"]])
        return "real, " + "; ".join(map(_recorded_from, entries))
    if source == "raw":
        if cifar10h["real"] is not None:
            return f"real, {_recorded_from(cifar10h['real'])}"
        files = ENTRIES[RAW].sha256[:SHOWN]
        twin = "`siscm.cifar10h.twin.simulate_cifar10h`"
        return f"raw file `{files}`, which is not here; the twin, by {twin}"
    return _DATA[source]


def _recorded_from(entry: Mapping[str, Any]) -> str:
    files = ", ".join(f"`{path}` `{sha256[:SHOWN]}`" for path, sha256 in entry["files"].items())
    return f"{files}, " + (f"recorded {entry['date']}" if "date" in entry else "read for this page")


def _files() -> str:
    """The data files, with address, licence and hash."""
    sources = dict.fromkeys((entry.source, entry.licence) for entry in ENTRIES.values())
    listed = "\n\n".join(
        f"**{source}.** Licence: {licence}.\n\n"
        + "\n".join(
            f"- `{path}` from <{entry.url}>, SHA-256 `{entry.sha256}`, {entry.hash_from}"
            for path, entry in ENTRIES.items()
            if (entry.source, entry.licence) == (source, licence)
        )
        for source, licence in sources
    )
    return f"""## Data files

No data file is part of this project. `make data` downloads them; a file already in the folder
`SISCM_DATA_DIR` is used as it is if its SHA-256 is the one below, and refused if not. Entries above
show the first {SHOWN} digits of it.

The addresses were put together from repository, folder and commit, or quoted from public code,
and could not be opened where this was written. Each hash says where it comes from. `make book-real`
needs only the panels and CIFAR-10H's counts; the others are for the paper's experiment.

{listed}"""


def _recorded() -> str:
    """What was recorded on real files, and when."""
    cifar10h = expected("cifar10h")
    entries = {**expected("panels"), "CIFAR-10H, counts": cifar10h["counts"]}
    if cifar10h["real"] is not None:
        entries["CIFAR-10H, experiment"] = cifar10h["real"]
    rows = "\n".join(
        f"| {name} | {entry['date']} | " + ", ".join(f"`{path}`" for path in entry["files"]) + " |"
        for name, entry in entries.items()
    )
    return f"""## Figures recorded on real files

`expected/panels.json`, `graded.json` and `asking.json`, and `counts` and `real` in
`expected/cifar10h.json`, hold them; `make record` writes them, and `make test-real` recomputes
them. What each file of `expected/` holds is told in its README.

| what | recorded | files |
|---|---|---|
{rows}"""
