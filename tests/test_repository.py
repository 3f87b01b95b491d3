"""The repository agrees with itself: versions, environments, commands, and what is not in it."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import jupytext
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import siscm
from siscm.cifar10h.features import features_folder
from siscm.data import registry

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
CORE: list[str] = PROJECT["project"]["dependencies"]
LOCKED_SETS = [CORE, EXTRAS["book"], EXTRAS["test"], EXTRAS["lint"]]
LOCKED_SETS += [PROJECT["dependency-groups"]["build"]]

CONDA_NAMES = {"torch": "pytorch"}
IMPORT_NAMES = {"scikit-learn": "sklearn", "pyyaml": "yaml"}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def bounds(requirements: Iterable[str]) -> dict[str, SpecifierSet]:
    parsed = [Requirement(requirement) for requirement in requirements]
    return {requirement.name: requirement.specifier for requirement in parsed}


def files_of_the_project() -> list[Path]:
    """What git tracks or would track."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is an archive of the project, of which git knows nothing")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file()]


# --- versions and environments


def test_the_version_is_the_same_everywhere() -> None:
    stated = PROJECT["project"]["version"]
    assert siscm.__version__ == stated
    assert yaml.safe_load(read("CITATION.cff"))["version"] == stated
    dated = re.findall(rf"^## {re.escape(stated)} \((.+)\)$", read("CHANGELOG.md"), re.MULTILINE)
    assert dated == ["not yet released"] or [date.fromisoformat(day) for day in dated], dated


def test_what_an_archive_reads_says_the_same_as_the_citation_file() -> None:
    archive, citation = json.loads(read(".zenodo.json")), yaml.safe_load(read("CITATION.cff"))
    for name in ("title", "license", "keywords"):
        assert archive[name] == citation[name]
    assert archive["description"] == citation["abstract"].strip()
    assert archive["creators"] == citation["authors"]
    (preprint,) = citation["preferred-citation"]["identifiers"]
    assert archive["related_identifiers"][0]["identifier"] == preprint["value"]


def locked() -> list[tuple[Requirement, int]]:
    """Each entry of the lock, and how many hashes it has."""
    text = "\n".join(line for line in read("requirements.lock").splitlines() if "#" not in line)
    entries = re.split(r"\n(?=\S)", text.strip())
    split = [entry.split("--hash=sha256:") for entry in entries]
    return [(Requirement(first.strip(" \\\n")), len(hashes)) for first, *hashes in split]


@pytest.mark.parametrize(
    ("name", "bound"), [item for deps in LOCKED_SETS for item in bounds(deps).items()]
)
def test_the_lock_holds_each_dependency_within_its_bound(name: str, bound: SpecifierSet) -> None:
    entries = [entry for entry, _ in locked() if entry.name == name]
    here = [entry for entry in entries if entry.marker is None or entry.marker.evaluate()]
    assert len(here) == 1, f"{name}: run `make lock`"
    for entry in entries:
        (pin,) = entry.specifier
        assert pin.operator == "=="
        assert bound.contains(pin.version), f"{entry} is not {bound}: run `make lock`"


def test_every_entry_of_the_lock_has_a_hash_and_no_address() -> None:
    assert len(locked()) > 50
    assert [str(entry) for entry, hashes in locked() if not hashes] == []
    assert "://" not in read("requirements.lock")


def test_torch_is_not_in_the_lock() -> None:
    assert {entry.name for entry, _ in locked()}.isdisjoint(bounds(EXTRAS["features"]))


def conda(name: str) -> tuple[dict[str, SpecifierSet], list[str]]:
    """Bounds that a conda environment file states, by pip's names, and what it installs by path."""
    listed: list[Any] = yaml.safe_load(read(name))["dependencies"]
    from_conda = [entry for entry in listed if isinstance(entry, str) and entry != "pip"]
    (from_pip,) = [entry["pip"] for entry in listed if isinstance(entry, dict)]
    paths = [entry for entry in from_pip if entry.startswith("-e ")]
    stated = bounds([*from_conda, *(entry for entry in from_pip if entry not in paths)])
    pip_names = {conda_name: pip_name for pip_name, conda_name in CONDA_NAMES.items()}
    return {pip_names.get(name, name): bound for name, bound in stated.items()}, paths


def wanted_of_conda(requirements: Iterable[str]) -> dict[str, SpecifierSet]:
    return bounds(requirements) | {"python": SpecifierSet(PROJECT["project"]["requires-python"])}


def test_the_conda_environment_is_the_project_with_all_its_extras() -> None:
    stated, paths = conda("environment.yml")
    assert stated == wanted_of_conda(
        [*CORE, *(entry for extra in EXTRAS.values() for entry in extra)]
    )
    assert paths == ["-e ."]


def test_the_binder_environment_is_the_core_and_what_the_notebooks_import() -> None:
    stated, paths = conda(".binder/environment.yml")
    everything = wanted_of_conda([*CORE, *EXTRAS["book"]])
    assert stated.items() <= everything.items()
    assert stated.keys() >= bounds(CORE).keys() | {"ipykernel", "jupytext", "python"}
    assert paths == ["-e .."]  # pip runs in the folder of the file

    known = {IMPORT_NAMES.get(name, name) for name in stated} | {"siscm", "IPython"}
    for notebook in sorted((ROOT / "notebooks").glob("*.md")):
        cells = jupytext.read(notebook, fmt="md:myst").cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        assert foreign_imports(ast.parse(code)) <= known, notebook.name


def workflows() -> dict[str, str]:
    """Their texts by name."""
    paths = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {path.name: path.read_text("utf-8") for path in paths}


def test_the_oldest_python_is_the_same_everywhere() -> None:
    (oldest,) = [bound.version for bound in SpecifierSet(PROJECT["project"]["requires-python"])]
    for document in ("README.md", "CONTRIBUTING.md", "book/rerun.md"):
        assert set(re.findall(r"Python (3\.\d+)", read(document))) == {oldest}, document
    short = "py" + oldest.replace(".", "")
    assert PROJECT["tool"]["ruff"]["target-version"] == short
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert f"Programming Language :: Python :: {oldest}" in PROJECT["project"]["classifiers"]
    major, minor = oldest.split(".")
    for name in ("Makefile", ".ci/run"):
        assert set(re.findall(r"sys\.version_info < \((\d+, \d+)\)", read(name))) == {
            f"{major}, {minor}"
        }
        assert f"python{oldest} " in read(name)
    assert f"--python-version {oldest} " in read("Makefile")
    for name, text in workflows().items():
        asked = [re.findall(r"\d\.\d+", line) for line in re.findall(r"python.*:(.*\d.*)", text)]
        assert asked, name
        assert all(line[0] == oldest for line in asked), name


def test_the_workflows_use_the_same_actions() -> None:
    used = sorted(set(re.findall(r"uses: (.+)", "\n".join(workflows().values()))))
    names = [action.split("@")[0] for action in used]
    assert names == sorted(set(names)), "one action in two versions"
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action) for action in used)


def foreign_imports(tree: ast.AST) -> set[str]:
    """Names of what is imported from outside the standard library, anywhere in a piece of code."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names


@pytest.mark.parametrize("path", sorted((ROOT / "siscm").rglob("*.py")), ids=lambda path: path.name)
def test_a_module_imports_only_what_the_project_installs(path: Path) -> None:
    declared = bounds([*CORE, *EXTRAS["book"], *EXTRAS["features"]])
    allowed = {IMPORT_NAMES.get(name, name) for name in declared} | {"siscm", "IPython"}
    assert foreign_imports(ast.parse(path.read_text(encoding="utf-8"))) <= allowed


def test_the_package_needs_no_extra() -> None:
    extras = bounds(requirement for extra in EXTRAS.values() for requirement in extra)
    names = {IMPORT_NAMES.get(name, name).replace("-", "_") for name in extras} | {"IPython"}
    command = "import siscm, sys; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    ).stdout.split()
    assert names.isdisjoint(loaded)
    assert "numpy" in loaded


# --- commands


def test_every_target_is_explained_and_phony() -> None:
    explained = re.findall(r"^([a-z-]+):[^#\n]*## .", read("Makefile"), re.MULTILINE)
    (phony,) = re.findall(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    assert set(phony.split()) == set(explained)


def test_ci_runs_the_commands_of_the_readme() -> None:
    script = read(".ci/run")
    steps = re.findall(r"^\s*(make .+)$", script, re.MULTILINE)
    on_any_machine = ("lint", "test", "book", "test-browser", "pdf")
    named = (*on_any_machine, "test-features", "test-real", "book-real")
    assert steps == [f"make {target}" for target in named]
    assert "set -euo pipefail" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)

    workflow = yaml.safe_load(read(".github/workflows/ci.yml"))
    runs = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    assert runs == [f"make {target}" for target in on_any_machine]
    shown = set(re.findall(r"^make \S+", read("README.md"), re.MULTILINE))
    assert {"make book", "make test"} <= shown


def test_the_schedule_runs_the_newest_and_the_oldest_dependencies() -> None:
    workflow = yaml.safe_load(read(".github/workflows/scheduled.yml"))
    assert "schedule" in workflow[True]  # YAML takes `on` for a truth value
    runs = [
        step["run"].split()[-1]
        for job in workflow["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    assert runs == ["test-newest", "test-oldest"]
    for target in runs:
        tests, notebooks = (line for line in dry_run(target) if "-m pytest" in line)
        plain, nbval = (line for line in dry_run("test") if "-m pytest" in line)
        environment = target.replace("test-", ".venv-") + "/"
        assert tests.startswith(plain.replace(".venv/", environment))
        assert notebooks == nbval.replace(".venv/", environment)


def dry_run(target: str, *arguments: str, **variables: str) -> list[str]:
    """The commands that a target would run, in their order."""
    shown = subprocess.run(
        ["make", "--dry-run", target, *arguments],
        cwd=ROOT,
        env=without_make(**variables),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return shown.replace("\\\n", " ").splitlines()


@pytest.mark.parametrize("images", ["table", "audit"])
def test_reproduce_downloads_then_extracts_then_builds(images: str) -> None:
    arguments = [] if images == "table" else [f"IMAGES={images}"]
    shown = dry_run("reproduce", *arguments, SISCM_DATA="simulated", IMAGES="other")
    steps = [line for line in shown if "-m siscm." in line or "build.py" in line]
    download, extract, check, complete, build = steps
    assert download == ".venv/bin/python -m siscm.data.registry"
    assert check == ".venv/bin/python -m siscm.data.registry check"
    assert complete == "SISCM_DATA=real .venv/bin/python -m siscm.cifar10h.extract --check"
    assert build == "SISCM_DATA=real .venv/bin/python book/build.py html"

    # torch is installed only after the files are there, and only for features that are missing.
    count, _, otherwise = extract.partition("||")
    assert f".venv/bin/python -m siscm.cifar10h.extract {images} --count" in count
    extracts = rf"\S*python -m siscm\.cifar10h\.extract {images};"
    assert re.search(rf"make .*\.venv-features/\.installed && {extracts}", otherwise)


@pytest.mark.parametrize("target", ["book-real", "test-real", "record"])
def test_nothing_real_is_begun_without_its_files(target: str) -> None:
    steps = [line for line in dry_run(target) if "matplotlib" not in line]
    check, complete, work = (
        line for line in steps if re.search(r"-m (siscm|pytest)\b|build\.py", line)
    )
    assert check.endswith("siscm.data.registry check")
    assert complete.endswith("siscm.cifar10h.extract --check")
    assert work.startswith("SISCM_DATA=real ")


def test_the_book_is_published_from_the_real_files() -> None:
    workflow = yaml.safe_load(read(".github/workflows/book.yml"))
    assert workflow[True] == {"push": {"branches": ["main"]}}  # YAML takes `on` for a truth value
    job = workflow["jobs"]["build"]
    steps = job["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["make reproduce"]
    upload = next(step for step in steps if "upload-pages-artifact" in step.get("uses", ""))
    assert upload["with"]["path"] == "_build/html-real"

    folder = job["env"]["SISCM_DATA_DIR"].removeprefix("${{ github.workspace }}/")
    kept = [step["with"] for step in steps if "actions/cache" in step.get("uses", "")]
    paths = "\n".join(step["path"] for step in kept).split()
    top = {f"{folder}/{path.split('/')[0]}" for path in registry.ENTRIES}
    assert set(paths) == top | {f"{folder}/{features_folder().name}"}
    modules = re.findall(r"'(siscm/[\w/]+\.py)'", str([step["key"] for step in kept]))
    assert modules
    assert [name for name in modules if not (ROOT / name).exists()] == []


def test_each_target_decides_on_its_data_whatever_the_caller_has_set() -> None:
    def steps(target: str, caller: str) -> list[str]:
        shown = dry_run(target, SISCM_DATA=caller)
        return [line for line in shown if re.search(r"build\.py|pdf\.py|pytest", line)]

    for target in ("book", "test", "test-quick", "outputs", "pdf"):
        shown = steps(target, "real")
        assert shown
        assert all(line.startswith("SISCM_DATA=simulated ") for line in shown), target
    for target in ("book-real", "test-real"):
        shown = steps(target, "simulated")
        assert shown
        assert all(line.startswith("SISCM_DATA=real ") for line in shown), target
    nbval = steps("test", "real")[-1]
    assert "--nbval --nbval-current-env" in nbval
    assert nbval.rstrip().endswith("notebooks/*.ipynb")


def test_which_book_is_printed_is_said_in_the_same_words_everywhere() -> None:
    for name in ("Makefile", "book/pdf.py", "CONTRIBUTING.md"):
        assert "the book on simulated data, as `make book` built it" in read(name), name


def test_what_the_quick_tests_leave_out_is_said() -> None:
    command = next(line for line in dry_run("test-quick") if "pytest" in line)
    (row,) = re.findall(r"^\| `make test-quick` \| (.*) \|$", read("CONTRIBUTING.md"), re.MULTILINE)
    left_out = re.findall(r"--ignore (\S+)", command)
    assert re.findall(r"`(tests/\S+)`", row) == left_out
    assert "not slow" in command
    assert "`slow`" in row
    assert "nbval" not in command


def without_make(**variables: str) -> dict[str, str]:
    """The caller's variables, less those by which one make tells another what to do.

    PYTHON is one of them where the caller's make was told of one.
    """
    theirs = ("MAKE", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    return kept | variables


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_the_released_codes_runs_are_looked_for_where_the_files_are(
    there: bool, named: bool, tmp_path: Path
) -> None:
    """In the folder named, or in the user's cache; if they are not there, a word is said."""
    folder = tmp_path / "my files" if named else tmp_path / "siscm"
    folder.mkdir()
    if there:
        (folder / "reference").mkdir()
    variables = {"XDG_CACHE_HOME": str(tmp_path), "SISCM_DATA_DIR": str(folder) if named else ""}
    command = dry_run("test-real")[-1].replace(".venv/bin/python", sys.executable)
    prefix, before, _ = command.partition("-m pytest -m real_data tests ")
    assert before
    said = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", command.replace(prefix, "echo ", 1)],
        cwd=ROOT,
        env=without_make(**variables),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("--ignore tests/test_reference.py" in said.stdout) == (not there)
    left_out = f"no runs of the released code in {folder}/reference: tests/test_reference.py"
    assert (left_out in said.stderr) == (not there)


@pytest.mark.parametrize(
    ("fails_at", "named", "words"),
    [
        ("ensurepip", False, r"needs Python 3\.11 or newer that can make environments.*3-venv"),
        ("ensurepip", True, r"python3 cannot make environments.*lacks venv or ensurepip.*3-venv"),
        ("version_info", False, r"needs Python 3\.11 or newer .* and found none"),
        ("version_info", True, r"needs Python 3\.11 or newer, and \S*python3 is not"),
    ],
)
def test_a_python_that_does_not_suit_is_told_before_anything_is_made(
    fails_at: str, named: bool, words: str, tmp_path: Path
) -> None:
    for name in ("python3.11", "python3", "python"):
        fake = tmp_path / name
        fake.write_text(f'#!/bin/sh\ncase "$2" in *{fails_at}*) exit 1;; esac\n')
        fake.chmod(0o755)
    path, environment = f"{tmp_path}:{os.environ['PATH']}", tmp_path / "new"
    options = [f"PYTHON={tmp_path / 'python3'}"] if named else []
    made = subprocess.run(
        ["make", f"VENV={environment}", *options, f"{environment}/.installed"],
        cwd=ROOT,
        env=without_make(PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode != 0
    assert re.search(words, made.stderr)
    assert not environment.exists()


# --- contents


def test_every_notebook_is_a_chapter_and_every_chapter_exists() -> None:
    toc = yaml.safe_load(read("_toc.yml"))
    files = [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]
    notebooks = [f"notebooks/{path.stem}" for path in sorted((ROOT / "notebooks").glob("*.md"))]
    assert [name for name in files if name.startswith("notebooks/")] == notebooks
    written = {"book/provenance", "book/statements"}  # book/build.py writes these
    assert written <= set(files)
    path = read("book/intro.md").partition("## The path")[2]
    assert [name for name in notebooks if f"(../{name}.ipynb)" not in path] == []
    others = [name for name in files if name not in written]
    assert [name for name in others if not (ROOT / f"{name}.md").exists()] == []


def test_tests_on_real_data_fail_and_never_skip_when_a_file_is_missing() -> None:
    this = Path(__file__).resolve()
    others = {
        str(path): path.read_text("utf-8") for path in this.parent.rglob("*.py") if path != this
    }
    marked = {name: text for name, text in others.items() if "mark.real_data" in text}
    assert marked, "no test is marked real_data"
    assert [name for name, text in marked.items() if re.search(r"skip(if)?\(", text)] == []


def test_no_file_holds_a_path_of_a_machine_or_the_address_of_an_index() -> None:
    folders = "|".join(["work", "root", "home", "Users"])
    forbidden = [
        rf"(?<![\w.~/-])/({folders})/[\w.]",
        r"pypi\.(org|python)",
        r"pythonhosted\.",
        r"--(extra-)?index-url",
        r"find-links",
        r"https?://[^\s\"']+/simple\b",
    ]
    this = Path(__file__).resolve()
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in files_of_the_project()
        if path != this
        for match in re.finditer("|".join(forbidden), path.read_text("utf-8", errors="replace"))
    ]
    assert found == []
