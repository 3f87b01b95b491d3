"""The build script: a cell that fails stops it, and stored notebooks are what their texts give."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from unittest.mock import ANY

import nbformat
import pandas as pd
import pytest
from test_provenance import run_on_the_real_file

from siscm.cifar10h.features import cache_file
from siscm.compendium import pages, provenance
from siscm.compendium.kinds import Data
from siscm.data.sources import RAW

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A toy chapter
"""
SHOW_SETTING = "import os\nprint(os.environ['SISCM_DATA'], os.environ.get('SISCM_DATA_DIR'))"


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"book_{Path(path).stem}", ROOT / "book" / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build, extension = load("build.py"), load("_ext/siscm_book.py")


def write_notebook(path: Path, *cells: str) -> None:
    path.parent.mkdir(exist_ok=True)
    blocks = [f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells]
    path.write_text("\n".join([HEADER, *blocks]), encoding="utf-8")


def start(command: str, root: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Start the script as `make` does: in a process of its own, which may start kernels."""
    return subprocess.run(
        [sys.executable, str(ROOT / "book" / "build.py"), *command.split(), "--root", str(root)],
        cwd=root,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy project whose notebook was stored by a caller who had asked for real data."""
    root = tmp_path_factory.mktemp("toy")
    write_notebook(root / "notebooks" / "01_toy.md", ":tags: [hide-input]\n\n" + SHOW_SETTING, "2")
    finished = start("outputs", root, SISCM_DATA="real")
    assert finished.returncode == 0, finished.stderr
    return root


@pytest.fixture
def toy(stored: Path, tmp_path: Path) -> Path:
    """A copy of the toy project that a test may damage."""
    root = tmp_path / "copy"
    shutil.copytree(stored, root, ignore=shutil.ignore_patterns("_build"))
    return root


def test_stored_notebooks_of_the_book_agree_with_their_texts() -> None:
    build.check(ROOT)


# --- running


@pytest.mark.parametrize("command", ["run", "html"])
@pytest.mark.parametrize("tags", ["", ":tags: [raises-exception]\n\n"])
def test_a_cell_that_fails_stops_the_build(command: str, tags: str, tmp_path: Path) -> None:
    stale = tmp_path / "_build" / "html" / "index.html"
    stale.parent.mkdir(parents=True)
    stale.write_text("a finished book, from before")
    write_notebook(tmp_path / "notebooks" / "07_broken.md", "1", tags + "1 / 0", "3")

    finished = start(command, tmp_path)

    assert finished.returncode == 1
    assert "07_broken" in finished.stderr
    assert "code cell 2" in finished.stderr
    assert "ZeroDivisionError" in finished.stderr
    assert not (tmp_path / "_build" / "html").exists()
    assert not (tmp_path / "_build" / "source").exists()


def test_a_warning_on_stderr_stops_the_build(tmp_path: Path) -> None:
    write_notebook(tmp_path / "notebooks" / "01_toy.md", "import warnings; warnings.warn('old')")
    finished = start("run", tmp_path)
    assert finished.returncode == 1
    assert "code cell 1 writes to stderr" in finished.stderr


def test_run_follows_the_callers_setting(tmp_path: Path) -> None:
    write_notebook(tmp_path / "notebooks" / "01_toy.md", SHOW_SETTING)

    finished = start("run", tmp_path, SISCM_DATA="real", SISCM_DATA_DIR="files")

    assert finished.returncode == 0, finished.stderr
    folder = tmp_path / "_build" / "source-real" / "notebooks"
    notebook = nbformat.read(folder / "01_toy.ipynb", as_version=4)
    # A kernel starts in another folder than its caller, so it gets the absolute path.
    assert notebook.cells[1].outputs[0].text == f"real {tmp_path / 'files'}\n"


def test_an_unknown_setting_is_refused(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SISCM_DATA", "reel")
    assert build.main(["run", "--root", str(toy)]) == 1
    assert "'reel'" in capsys.readouterr().err


def test_a_project_without_notebooks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main(["run", "--root", str(tmp_path)]) == 1
    assert "no notebook found" in capsys.readouterr().err


# --- storing


def test_outputs_are_of_the_simulated_setting_whoever_calls(stored: Path) -> None:
    notebook = nbformat.read(stored / "notebooks" / "01_toy.ipynb", as_version=4)
    assert notebook.cells[1].outputs[0].text.startswith("simulated")


def test_outputs_are_the_same_bytes_every_time(stored: Path, toy: Path) -> None:
    assert start("outputs", toy).returncode == 0
    name = Path("notebooks") / "01_toy.ipynb"
    assert (toy / name).read_bytes() == (stored / name).read_bytes()
    assert platform.python_version().encode() not in (toy / name).read_bytes()


def test_outputs_of_one_chapter_leave_the_others(toy: Path) -> None:
    write_notebook(toy / "notebooks" / "02_more.md", "1")
    first = toy / "notebooks" / "01_toy.ipynb"
    before = first.stat().st_mtime_ns
    assert start("outputs --chapter 02*", toy).returncode == 0
    assert (toy / "notebooks" / "02_more.ipynb").exists()
    assert first.stat().st_mtime_ns == before


def test_a_stream_that_a_kernel_parted_is_one_again() -> None:
    def said(name: str, text: str) -> nbformat.NotebookNode:
        return nbformat.v4.new_output("stream", name=name, text=text)

    shown = nbformat.v4.new_output("display_data", data={"text/plain": "table"})
    outputs = [said("stdout", "a"), said("stdout", "b\n"), shown, said("stdout", "c")]
    cell = nbformat.v4.new_code_cell("1", outputs=[*outputs, said("stderr", "d")])
    build.join_streams(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("x"), cell]))
    assert [output.get("text") for output in cell.outputs] == ["ab\n", None, "c", "d"]


def test_a_picture_is_the_figure_of_its_cell(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell(metadata={"picture": "panel"})
    notebook = nbformat.v4.new_notebook(cells=[cell])
    with pytest.raises(build.BuildError, match="picture 'panel' shows no figure"):
        build.store_pictures([notebook], tmp_path)
    shown = {"text/plain": "<Figure>", "image/png": "aGVsbG8="}
    cell.outputs = [nbformat.v4.new_output("display_data", data=shown)]
    build.store_pictures([notebook], tmp_path)
    assert (tmp_path / "panel.png").read_bytes() == b"hello"


def edit(change: Callable[[nbformat.NotebookNode], object]) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        path = root / "notebooks" / "01_toy.ipynb"
        notebook = nbformat.read(path, as_version=4)
        change(notebook)
        nbformat.write(notebook, path)

    return apply


def never_run(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[2].update(execution_count=None, outputs=[])


def out_of_order(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[1].execution_count, notebook.cells[2].execution_count = 2, 1


def with_error(notebook: nbformat.NotebookNode) -> None:
    error = nbformat.v4.new_output("error", ename="ValueError", evalue="bad", traceback=[])
    notebook.cells[2].outputs = [error]


def with_stderr(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[1].outputs[0].name = "stderr"


DAMAGES = {
    "cell 3: its source differs": edit(lambda notebook: notebook.cells[2].update(source="3")),
    "cell 1: its source differs": edit(lambda notebook: notebook.cells[0].update(source="# B")),
    "cell 2: its metadata differs": edit(lambda notebook: notebook.cells[1].metadata.clear()),
    "cell 1: its cell_type differs": edit(
        lambda notebook: notebook.cells[0].update(cell_type="raw")
    ),
    "3 cells in the .md, 2 in the .ipynb": edit(lambda notebook: notebook.cells.pop()),
    "code cell 2 was never run": edit(never_run),
    "code cell 1 was run as number 2, out of order": edit(out_of_order),
    "code cell 2 holds an error: ValueError: bad": edit(with_error),
    "code cell 1 writes to stderr": edit(with_stderr),
    "no 01_toy.ipynb beside it": lambda root: (root / "notebooks" / "01_toy.ipynb").unlink(),
    "02_left: no 02_left.md beside it": lambda root: shutil.copy(
        root / "notebooks" / "01_toy.ipynb", root / "notebooks" / "02_left.ipynb"
    ),
    "bytes: make its figures lighter": edit(
        lambda notebook: notebook.cells[1].outputs[0].update(text="0" * 1_000_000)
    ),
}


def test_the_check_passes_on_what_outputs_stored(toy: Path) -> None:
    assert build.main(["check", "--root", str(toy)]) == 0


@pytest.mark.parametrize("problem", DAMAGES)
def test_the_check_finds(problem: str, toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGES[problem](toy)
    assert build.main(["check", "--root", str(toy)]) == 1
    assert problem in capsys.readouterr().err


# --- comparing, as `make test` does


def test_nbval_compares_in_the_simulated_setting_and_fails_on_a_broken_cell(toy: Path) -> None:
    notebooks = toy / "notebooks"
    for name in ("conftest.py", "sanitize.cfg"):
        shutil.copy(ROOT / "notebooks" / name, notebooks / name)
    notebook = nbformat.read(notebooks / "01_toy.ipynb", as_version=4)
    notebook.cells[2].outputs[0].data["text/plain"] = "3"
    nbformat.write(notebook, notebooks / "02_changed.ipynb")
    notebook.cells[2].update(source="1 / 0", outputs=[])
    nbformat.write(notebook, notebooks / "03_broken.ipynb")

    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-rA"]
    command += ["--rootdir", str(toy), "-p", "no:cacheprovider"]
    command += ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "notebooks/sanitize.cfg"]
    finished = subprocess.run(
        [*command, *(str(path) for path in sorted(notebooks.glob("*.ipynb")))],
        cwd=toy,
        env=os.environ | {"SISCM_DATA": "real"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 1, finished.stdout + finished.stderr
    cells = [line.split(" - ")[0] for line in finished.stdout.splitlines() if "::Cell " in line]
    summary = [line for line in cells if line.startswith(("PASSED", "FAILED"))]
    assert sorted(summary) == [
        "FAILED notebooks/02_changed.ipynb::Cell 1",
        "FAILED notebooks/03_broken.ipynb::Cell 1",
        "PASSED notebooks/01_toy.ipynb::Cell 0",
        "PASSED notebooks/01_toy.ipynb::Cell 1",
        "PASSED notebooks/02_changed.ipynb::Cell 0",
        "PASSED notebooks/03_broken.ipynb::Cell 0",
    ]


# --- the book around the notebooks


@pytest.fixture
def small_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This book's configuration around a single page, and no notebook to run."""
    monkeypatch.setattr(build, "execute_all", lambda root, setting: {})
    shutil.copy(ROOT / "_config.yml", tmp_path)
    for name in ("_ext", "_static", "references.bib"):
        copy = shutil.copytree if (ROOT / "book" / name).is_dir() else shutil.copy
        (tmp_path / "book").mkdir(exist_ok=True)
        copy(ROOT / "book" / name, tmp_path / "book" / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "experiment", "folder", "words"),
    [
        ("simulated", "twin", "html", "SIMULATED data"),
        ("real", "twin", "html-real", "SIMULATED twin"),
        ("real", "real", "html-real", "REAL data"),
    ],
)
def test_every_page_says_which_data_it_shows_and_asks_no_outside_host(
    setting: str,
    experiment: str,
    folder: str,
    words: str,
    small_book: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (small_book / "book" / "intro.md").write_text("# Introduction\n\nWith $x^2$.\n")
    monkeypatch.setenv("SISCM_DATA", setting)
    monkeypatch.setenv("SISCM_DATA_DIR", str(small_book / "data"))
    if experiment == "real":
        for file in (small_book / "data" / RAW, cache_file()):
            file.parent.mkdir(parents=True)
            file.touch()
        # The page of provenance runs the experiment on the files, and these are empty.
        monkeypatch.setattr(provenance, "experiment", run_on_the_real_file)

    assert build.main(["html", "--root", str(small_book)]) == 0

    html = small_book / "_build" / folder
    page = (html / "book" / "intro.html").read_text(encoding="utf-8")
    assert words in page
    assert '<meta name="description" content="With ' in page
    assert 'src="http' not in page
    assert 'rel="stylesheet" type="text/css" href="http' not in page
    assert (html / "_static" / "mathjax.js").stat().st_size > 1_000_000
    assert (html / "index.html").exists()


@pytest.mark.parametrize("setting", ["simulated", "real"])
def test_a_page_of_own_files_is_not_called_what_the_build_is(
    setting: str, small_book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page on the reader's own files says so in the bar too, and no other page does."""

    def page(title: str, kind: Data | None) -> nbformat.NotebookNode:
        shown = {"text/html": pages.banner(kind).markup, "text/plain": repr(pages.banner(kind))}
        output = nbformat.v4.new_output("execute_result", data=shown, execution_count=1)
        cells = [
            nbformat.v4.new_markdown_cell(f"# {title}"),
            nbformat.v4.new_code_cell("pages.banner(kind)", outputs=[output], execution_count=1),
        ]
        language = {"name": "python", "pygments_lexer": "ipython3"}
        return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": language})

    monkeypatch.setenv("SISCM_DATA", setting)
    monkeypatch.setenv("SISCM_DATA_DIR", str(small_book / "data"))
    own, other = page("Own", "own"), page("Other", None)
    monkeypatch.setattr(build, "execute_all", lambda *_: {"01_own": own, "02_other": other})
    (small_book / "book" / "intro.md").write_text("# Introduction\n")
    with (small_book / "_toc.yml").open("a") as toc:
        toc.write("chapters:\n  - file: notebooks/01_own\n  - file: notebooks/02_other\n")

    assert build.main(["html", "--root", str(small_book)]) == 0

    html = small_book / "_build" / ("html-real" if setting == "real" else "html")
    bars = {}
    for name in ("notebooks/01_own", "notebooks/02_other", "book/intro"):
        text = (html / f"{name}.html").read_text("utf-8")
        (bars[name],) = re.findall(r'<span class="siscm-data siscm-data-(\w+)">([^<]*)', text)
    assert bars["notebooks/01_own"] == ("own", ANY)
    assert "YOUR data" in bars["notebooks/01_own"][1]
    assert "SIMULATED" not in bars["notebooks/01_own"][1]
    assert bars["book/intro"] == bars["notebooks/02_other"]
    assert "SIMULATED" in bars["book/intro"][1]


@pytest.mark.parametrize("address", ["", "https://github.com/example/siscm"])
def test_buttons_of_the_repository_appear_once_its_address_is_set(
    address: str, small_book: Path, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (small_book / "_config.yml").read_text("utf-8")
    config, n_places = re.subn(r'^  url: ".*"$', f'  url: "{address}"', config, flags=re.MULTILINE)
    assert n_places == 1
    (small_book / "_config.yml").write_text(config, "utf-8")
    (small_book / "book" / "intro.md").write_text("# Introduction\n")
    with (small_book / "_toc.yml").open("a") as toc:
        toc.write("chapters:\n  - file: notebooks/01_toy\n")
    notebook = nbformat.read(toy / "notebooks" / "01_toy.ipynb", as_version=4)
    monkeypatch.setattr(build, "execute_all", lambda root, setting: {"01_toy": notebook})

    assert build.main(["html", "--root", str(small_book)]) == 0

    html = small_book / "_build" / "html"
    chapter = (html / "notebooks" / "01_toy.html").read_text("utf-8")
    binder = "https://mybinder.org/v2/gh/example/siscm/main?urlpath=lab/tree/notebooks/01_toy.ipynb"
    assert (binder in chapter) == bool(address)
    assert ("mybinder" in chapter) == bool(address)
    introduction = (html / "book" / "intro.html").read_text("utf-8")
    assert ('href="https://github.com/example/siscm"' in introduction) == bool(address)


def test_a_warning_of_the_book_tools_leaves_no_book(
    small_book: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (small_book / "book" / "intro.md").write_text("# Introduction\n\nSee {doc}`nowhere`.\n")
    assert build.main(["html", "--root", str(small_book)]) == 1
    assert "nowhere" in capfd.readouterr().err
    assert not (small_book / "_build" / "html").exists()


def test_the_reference_gives_constants_as_their_source_does() -> None:
    shown = extension.written("siscm.synthetic.sweep")
    assert shown["RUNS"] == "tuple(grid())"
    assert (shown["N_TEST"], shown["N_REPEATS"]) == ("1000", "5")  # set at once
    assert extension.written("siscm.graph")["Law"].startswith("Callable[[FloatArray, ")
    assert "RULES" not in extension.written("siscm.baselines")  # takes several lines
    assert "ENTRIES" not in extension.written("siscm.data.sources")  # of names nobody is shown
    assert {"RULES", "PAPER"} <= {*extension.written("siscm.beyond.graded_sweep")}


def test_heads_of_tables_say_what_they_head_and_an_id_names_one_thing() -> None:
    table = pages.table(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), "Two rows.").markup
    body = f'{table}<section id="proof-content"></section><section id="proof-content"></section>'
    context = {"body": body}
    extension.mark_the_heads(None, "page", "page.html", context, None)
    assert context["body"].count('<th scope="col"') == 2  # one of them empty, in the corner
    assert context["body"].count('<th scope="row"') == 2
    assert "id=" not in context["body"]
