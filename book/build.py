"""Run the notebooks and build the book.

    python book/build.py run       run fresh copies of the notebooks, under _build/source
    python book/build.py html      run them, then build the book: _build/html/index.html
    python book/build.py outputs   run them and store what they print in notebooks/*.ipynb
    python book/build.py check     compare each notebooks/*.md with the .ipynb beside it

``run`` and ``html`` follow the environment variable SISCM_DATA, ``simulated`` (the default) or
``real``; on real data their folders end in ``-real``. ``outputs`` always runs on simulated data.

The notebooks are run here and not by Jupyter Book, whose cache overlooks changes of the package
and whose second build forgets a cell that failed in the first.
"""

import argparse
import base64
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode

from siscm.data.registry import setting

ROOT = Path(__file__).resolve().parent.parent
KERNELS_AT_ONCE = 2
SECONDS_PER_CELL = 900
MOST_STORED_BYTES = 1_000_000
MATHJAX = "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"

INDEX = """\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="refresh" content="0; url=book/intro.html">
    <link rel="icon" href="_static/favicon.svg">
    <title>Counterfactual Inference of Second Opinions</title>
  </head>
  <body><p><a href="book/intro.html">Counterfactual Inference of Second Opinions</a></p></body>
</html>
"""
"""What lies at the book's address and leads to its first page; Jupyter Book's has no icon."""


class BuildError(Exception):
    """Something that must stop the build, worded for whoever started it."""


def suffix(setting: str) -> str:
    """Keep the build on real data apart from the one on simulated data."""
    return "-real" if setting == "real" else ""


def notebook_sources(root: Path, names: str = "*") -> list[Path]:
    """Find the notebooks' texts, in the order of the chapters: all, or of such names."""
    found = sorted((root / "notebooks").glob(f"{names}.md"))
    if not found:
        raise BuildError(f"no notebook found: {root / 'notebooks'} holds no {names}.md")
    return found


def read_source(path: Path) -> NotebookNode:
    """Read a notebook's text; the same text always gives the same notebook, ids included."""
    notebook: NotebookNode = jupytext.read(path, fmt="md:myst")
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
    notebook.metadata.pop("jupytext", None)
    return notebook


def kernel_environment(root: Path, setting: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Give a kernel the caller's environment, less what would make its outputs differ."""
    ipython = root / "_build" / "ipython"  # no start-up files of the user's own
    ipython.mkdir(parents=True, exist_ok=True)
    changed = {"SISCM_DATA": setting, "IPYTHONDIR": str(ipython)}
    if environ.get("SISCM_DATA_DIR"):  # the kernel runs in another folder than the caller
        changed["SISCM_DATA_DIR"] = str(Path(environ["SISCM_DATA_DIR"]).expanduser().absolute())
    kept = {name: value for name, value in environ.items() if name != "MPLBACKEND"}
    return kept | changed


def execute(path: Path, setting: str) -> NotebookNode:
    """Run one notebook in its own folder and return it with its outputs."""
    notebook = read_source(path)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # no word about TCP for each kernel
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute(env=kernel_environment(path.parent.parent, setting, os.environ))
    except (CellControlSignal, DeadKernelError) as error:
        number = max(client.code_cells_executed, 1)
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # without the terminal's colours
        raise BuildError(f"{path.name}: code cell {number} failed\n{reason}") from error
    notebook.metadata.language_info.pop("version", None)  # else it differs between machines
    join_streams(notebook)
    found = [f"{path.name}: {fault}" for fault in faults(notebook)]
    if found:
        raise BuildError("\n".join(found))
    return notebook


def join_streams(notebook: NotebookNode) -> None:
    """Make one of outputs that follow each other on one stream: a kernel parts them by chance."""
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        joined: list[NotebookNode] = []
        for output in cell.outputs:
            if joined and output.output_type == "stream" and output.name == joined[-1].get("name"):
                joined[-1].text += output.text
            else:
                joined.append(output)
        cell.outputs = joined


def execute_all(root: Path, setting: str, names: str = "*") -> dict[str, NotebookNode]:
    """Run notebooks; the first that fails, in the order of the chapters, is raised."""
    paths = notebook_sources(root, names)
    with ThreadPoolExecutor(KERNELS_AT_ONCE) as pool:
        executed = list(pool.map(lambda path: execute(path, setting), paths))
    return {path.stem: notebook for path, notebook in zip(paths, executed, strict=True)}


def store(notebooks: Mapping[str, NotebookNode], folder: Path) -> None:
    """Write executed notebooks as ``.ipynb`` files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, notebook in notebooks.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")


def store_pictures(notebooks: Iterable[NotebookNode], folder: Path) -> None:
    """Write the figure of each cell whose metadata names a ``picture`` as a file of that name.

    The start page shows it, from the run that the pages come from; README shows the stored one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for cell in (cell for notebook in notebooks for cell in notebook.cells):
        if "picture" not in cell.metadata:
            continue
        name = cell.metadata["picture"]
        images = [output.get("data", {}).get("image/png") for output in cell.outputs]
        image = next(filter(None, images), None)
        if image is None:
            raise BuildError(f"the cell that should draw the picture {name!r} shows no figure")
        (folder / f"{name}.png").write_bytes(base64.b64decode(image))


def faults(notebook: NotebookNode) -> Iterator[str]:
    """Say what is wrong with the outputs of a notebook; nothing for a clean, complete run."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    for number, cell in enumerate(code, start=1):
        where = f"code cell {number}"
        if cell.execution_count is None:
            yield f"{where} was never run"
        elif cell.execution_count != number:
            yield f"{where} was run as number {cell.execution_count}, out of order"
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"{where} holds an error: {output.ename}: {output.evalue}"
            elif output.output_type == "stream" and output.name == "stderr":
                yield f"{where} writes to stderr: {output.text.strip()}"


def differences(source: NotebookNode, stored: NotebookNode) -> Iterator[str]:
    """Say where a notebook's text and its stored run are not the same notebook."""
    if len(source.cells) != len(stored.cells):
        yield f"{len(source.cells)} cells in the .md, {len(stored.cells)} in the .ipynb"
        return
    for number, (ours, theirs) in enumerate(zip(source.cells, stored.cells, strict=True), start=1):
        for what in ("cell_type", "source", "metadata"):
            if ours[what] != theirs[what]:
                yield f"cell {number}: its {what} differs between the .md and the .ipynb"


def pair_problems(path: Path) -> Iterator[str]:
    """Say what is wrong with the pair of a notebook's text and its stored run."""
    source, stored = path.with_suffix(".md"), path.with_suffix(".ipynb")
    if not source.exists():
        yield f"no {source.name} beside it: delete the .ipynb, or bring its text back"
    elif not stored.exists():
        yield f"no {stored.name} beside it: run `make outputs`"
    else:
        if stored.stat().st_size >= MOST_STORED_BYTES:
            yield f"{stored.name} has {stored.stat().st_size:,} bytes: make its figures lighter"
        notebook = nbformat.read(stored, as_version=4)
        yield from differences(read_source(source), notebook)
        yield from faults(notebook)


def check(root: Path) -> None:
    """Compare each notebook's text with its stored run; raise with all that is wrong."""
    stems = {path.with_suffix("") for path in (root / "notebooks").glob("*.ipynb")}
    stems |= {path.with_suffix("") for path in notebook_sources(root)}
    found = [f"{stem.name}: {problem}" for stem in sorted(stems) for problem in pair_problems(stem)]
    if found:
        raise BuildError("\n".join([*found, "`make outputs` runs the notebooks and stores them"]))


def outputs(root: Path, names: str) -> None:
    """Run notebooks on simulated data and store them beside their texts."""
    notebooks = execute_all(root, "simulated", names)
    store(notebooks, root / "notebooks")
    store_pictures(notebooks.values(), root / "book" / "figures")
    check(root)


def run(root: Path, setting: str) -> Path:
    """Run fresh copies of the notebooks; return the folder the book is built from.

    What an earlier build left goes first, so that a failure leaves no book that looks finished.
    """
    source = root / "_build" / f"source{suffix(setting)}"
    for old in (source, root / "_build" / f"html{suffix(setting)}"):
        shutil.rmtree(old, ignore_errors=True)
    store(execute_all(root, setting), source / "notebooks")
    return source


def assemble(root: Path, source: Path) -> None:
    """Lay the rest of the book beside the notebooks that were run."""
    # Here, so that notebooks can be run and checked without the pages.
    from siscm.compendium.provenance import provenance_page
    from siscm.theory.statements import statements_page

    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(root / name, source / name)
    ignored = shutil.ignore_patterns("build.py", "chromium.py", "pdf.py", "__pycache__")
    shutil.copytree(root / "book", source / "book", ignore=ignored)
    executed = sorted((source / "notebooks").glob("*.ipynb"))
    notebooks = [nbformat.read(path, as_version=4) for path in executed]
    store_pictures(notebooks, source / "book" / "figures")
    mathjax = distribution("sphinx-mathjax-offline").locate_file(MATHJAX)
    shutil.copy(Path(str(mathjax)), source / "book" / "_static" / "mathjax.js")
    for name, page in (("provenance", provenance_page), ("statements", statements_page)):
        (source / "book" / f"{name}.md").write_text(page(), encoding="utf-8")


def jupyter_book(source: Path, setting: str, *options: str) -> None:
    """Let Jupyter Book make pages of a folder; raise with its report if it warns of anything."""
    program = Path(sysconfig.get_path("scripts")) / "jupyter-book"
    finished = subprocess.run(
        [str(program), "build", str(source), "-W", "--keep-going", "--quiet", *options],
        env=os.environ | {"SISCM_DATA": setting},
        check=False,
        text=True,
        stdout=subprocess.PIPE,  # on success it would name a folder that the book is about to leave
    )
    if finished.returncode:
        raise BuildError(f"{finished.stdout}\nJupyter Book stopped at the errors or warnings above")


def html(root: Path, setting: str) -> Path:
    """Run the notebooks and build the book; return its first page."""
    source = run(root, setting)
    assemble(root, source)
    jupyter_book(source, setting, "--all")
    target = root / "_build" / f"html{suffix(setting)}"
    shutil.move(source / "_build" / "html", target)
    (target / "index.html").write_text(INDEX, encoding="utf-8")
    return target / "index.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, do what it asks; 1 if that failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "html", "outputs", "check"))
    parser.add_argument("--chapter", default="*", help="for outputs: which, such as 15*")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    chosen = parser.parse_args(arguments)
    root = chosen.root.resolve()
    try:
        if chosen.command == "check":
            check(root)
        elif chosen.command == "outputs":
            outputs(root, chosen.chapter)
        elif chosen.command == "run":
            print(f"Executed notebooks: {run(root, setting())}")
        else:
            print(f"The book is ready: open {html(root, setting())}")
    except (BuildError, ValueError) as error:
        print(f"book/build.py {chosen.command} failed\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
