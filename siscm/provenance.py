"""The book's page on where its data come from."""

from __future__ import annotations

from siscm.pages import expected
from siscm.registry import ENTRIES


def provenance_page() -> str:
    """A page of the book, as Markdown: the data files, and the figures recorded on them."""
    sources = dict.fromkeys((entry.source, entry.licence) for entry in ENTRIES.values())
    files = "\n\n".join(
        f"**{source}.** Licence: {licence}.\n\n"
        + "\n".join(
            f"- `{path}` from <{entry.url}>, SHA-256 `{entry.sha256}`, {entry.hash_from}"
            for path, entry in ENTRIES.items()
            if (entry.source, entry.licence) == (source, licence)
        )
        for source, licence in sources
    )
    cifar10h = expected("cifar10h")
    entries = {**expected("panels"), "CIFAR-10H, counts": cifar10h["counts"]}
    if cifar10h["real"] is not None:
        entries["CIFAR-10H, experiment"] = cifar10h["real"]
    recorded = "\n".join(
        f"| {name} | {entry['date']} | " + ", ".join(f"`{path}`" for path in entry["files"]) + " |"
        for name, entry in entries.items()
    )
    return f"""# Provenance

Generated when the book is built, from `siscm/sources.py` and the files in `expected/`.

## Data files

No data file is part of this project. `make data` downloads them; a file already in the folder
`SISCM_DATA_DIR` is used as it is if its SHA-256 is the one below, and refused if not.

The addresses were put together from repository, folder and commit, or quoted from public code,
and could not be opened where this was written. Each hash says where it comes from. `make book-real`
needs only the panels and CIFAR-10H's counts; the others are for the paper's experiment.

{files}

## Figures recorded on real files

`expected/panels.json`, and `counts` and `real` in `expected/cifar10h.json`, hold them; `make
record` writes them, and `make test-real` recomputes every number.

| what | recorded | files |
|---|---|---|
{recorded}
"""
