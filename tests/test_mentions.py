"""Every name, file, command and variable that a page sets as code exists.

Read are README, CONTRIBUTING, CHANGELOG, the pages of the book, and the prose of the notebooks. In
what stands between backquotes, a file must be there, a make target in the Makefile, and a name in
the package, in an installed library or in the code of the page itself. What the docstrings of the
package refer to must be there too.
"""

from __future__ import annotations

import ast
import builtins
import fnmatch
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt
from uses import DOTTED, MODULES

import siscm

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += [*sorted((ROOT / "book").rglob("*.md")), *sorted((ROOT / "notebooks").glob("*.md"))]

# Set as code, but no name of anything here.
ELSEWHERE = {
    "007",  # an id in a user's file
    "TORCH_INDEX",  # a variable of the repository's settings
    "_ = ...",
    "drawn.holds",  # in the source of a function that the page shows
    "pip install .",
    "pip install '.[book]'",
    "real_data",  # a marker of pytest, which is strict about its own markers
    "slow",  # another
    "vX.Y.Z",
}

KINDS = "md|py|yml|toml|cff|lock|json|ipynb|cfg"
FILE = re.compile(rf"[\w.*-]*(/[\w.*-]*)+|\.venv[\w-]*|_build|\.?[\w-]+\.({KINDS})|\.\w+")


class Page:
    """The code of a document: set between backquotes, in blocks for a shell, and in Python."""

    def __init__(self, text: str) -> None:
        self.inline: list[str] = []
        self.blocks: list[str] = []
        self.python = ""
        self._read(text)

    def _read(self, text: str) -> None:
        for token in MarkdownIt("commonmark").parse(text):
            if token.type == "inline":
                before = ""
                for child in token.children or []:
                    role = re.search(r"\{[\w:-]+\}$", before)  # {cite:p}`key` names no code
                    if child.type == "code_inline" and not role:
                        self.inline.append(child.content)
                    before = child.content
            elif token.type == "fence" and re.match(r"\{code-cell\}|python\b", token.info):
                self.python += re.sub(r"\A---\n(.*\n)*?---\n|\A(:.*\n)+", "", token.content)
            elif token.type == "fence" and token.info.startswith("{"):
                self._read(token.content)
            elif token.type in ("fence", "code_block"):
                self.blocks.append(token.content)

    @functools.cached_property
    def variables(self) -> set[str]:
        """Names that the page's own code gives to something."""
        nodes = ast.walk(ast.parse(self.python))
        stored = (node for node in nodes if isinstance(node, ast.Name))
        return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


@functools.cache
def of_the_package() -> frozenset[str]:
    """Names that the package gives to something, and its texts: names of columns, options, rows."""
    found = set()
    for path in (ROOT / "siscm").rglob("*.py"):
        found |= {path.stem, path.parent.stem}
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    found.add(name)
                case ast.Constant(value=str(text)):
                    found.add(text)
    return frozenset(found)


@functools.cache
def switches() -> frozenset[str]:
    """Environment variables that the tools around the package read."""
    paths = [*(ROOT / "book").glob("*.py"), *(ROOT / "tests" / "browser").glob("*.py")]
    texts = (path.read_text("utf-8") for path in paths)
    return frozenset(name for text in texts for name in re.findall(r'"(SISCM_\w+)"', text))


@functools.cache
def attributes_of_the_package() -> frozenset[str]:
    """What instances of the package's classes have."""
    found = set()
    for path in (ROOT / "siscm").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                match inner:
                    case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                        found.add(name)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return frozenset(found)


@functools.cache
def targets_and_variables() -> tuple[set[str], set[str]]:
    """Of the Makefile."""
    text = (ROOT / "Makefile").read_text("utf-8")
    return (
        set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE)),
        set(re.findall(r"^(\w+) [:?]?= ", text, re.MULTILINE)),
    )


def unknown_make(command: str) -> str:
    """What is wrong with ``make ...``: empty if nothing is."""
    targets, variables = targets_and_variables()
    for word in command.split()[1:]:
        name, is_variable, _ = word.partition("=")
        if name not in (variables if is_variable else targets):
            return f"make has no {'variable' if is_variable else 'target'} {name!r}"
    return ""


def file_exists(name: str) -> bool:
    """Whether such a file is in the repository, or git ignores the folder that it is made in."""
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    if any(fnmatch.fnmatch(name.split("/")[0] + "/", pattern) for pattern in ignored):
        return True
    if re.fullmatch(r"\.\w+", name):  # files of a kind
        return any(ROOT.glob(f"*/*{name}"))
    return any(ROOT.glob(name.strip("/"))) or any(ROOT.glob(f"book/{name}"))


def has(found: object, part: str) -> bool:
    """Whether an object has an attribute, or will have it once it is made or fitted."""
    if hasattr(found, part):
        return True
    bases = inspect.getmro(found) if inspect.isclass(found) else ()
    sources = [inspect.getsource(base) for base in bases if base.__module__.startswith("siscm")]
    pattern = rf"\bself\.{part}\b[^=\n]*=[^=]|^    {part}:"
    return any(re.search(pattern, source, re.MULTILINE) for source in sources)


def module(name: str) -> ModuleType | None:
    """The module of this name, or none."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def resolves(dotted: str) -> bool:
    """Whether a dotted name leads to something: of siscm, or of an installed library."""
    first, *rest = dotted.removeprefix("siscm.").split(".")
    found = getattr(siscm, first, None) if first in siscm.__all__ else None
    short = first in DOTTED and first == dotted.split(".")[0]  # without the folder it is in
    for package in (DOTTED[first] if short else f"siscm.{first}", first):
        if found is None:
            found = module(package)
    for part in rest:
        inside = module(f"{found.__name__}.{part}") if inspect.ismodule(found) else None
        if found is None or not (inside or has(found, part)):
            return False
        found = getattr(found, part, inside)
    return found is not None or bool(rest)


def unknown_names(code: str, page: Page) -> list[str]:
    """Names in a piece of Python that neither the package nor the page nor a library has."""
    known = of_the_package() | page.variables | set(dir(builtins))
    unknown, inner = [], set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node not in inner:
            inner |= {*ast.walk(node)} - {node}
            first, *rest = ast.unparse(node).split(".")
            by_variable = first in page.variables and set(rest) <= attributes_of_the_package()
            if not (by_variable or resolves(ast.unparse(node))):
                unknown.append(ast.unparse(node))
        elif isinstance(node, ast.Name) and node not in inner and node.id not in known:
            unknown.append(node.id)
        elif isinstance(node, ast.keyword) and node.arg and node.arg not in known:
            unknown.append(node.arg)
    return unknown


def trouble(code: str, page: Page) -> str:
    """What is wrong with what stands between backquotes: empty if nothing is."""
    if code in ELSEWHERE | of_the_package() | switches():
        return ""
    if code.startswith("make "):
        return unknown_make(code)
    if FILE.fullmatch(code):
        return "" if file_exists(code) else f"no file {code!r}"
    try:
        unknown = unknown_names(code, page)
    except SyntaxError:
        return f"{code!r} is neither a name, a file nor a command"
    return f"{code!r}: nothing is called {unknown[0]!r}" if unknown else ""


def troubles(page: Page) -> list[str]:
    """All that is wrong on a page."""
    found = [trouble(code, page) for code in page.inline]
    for block in page.blocks:
        lines = (line.partition("#")[0].strip() for line in block.splitlines())
        for line in lines:  # a command by itself, or in a picture
            whole = (
                [line] if line.startswith("make ") else re.findall(r"(?<=[-,] )make [\w-]+", line)
            )
            found += map(unknown_make, whole)
        for name in re.findall(r"(?<![\w*])[\w./]+\.(?:py|md|json)\b", block):
            if not (file_exists(name) or file_exists(f"siscm/{name}")):
                found.append(f"no file {name!r}")
    return [words for words in found if words]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_page_mentions_exists(path: Path) -> None:
    assert troubles(Page(path.read_text("utf-8"))) == []


def described(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """What has a docstring of its own, by name; of names that are set at once, the first ones."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node, after:
            case ((ast.FunctionDef() | ast.ClassDef()), _) if ast.get_docstring(node):
                yield node.name, node
            case (
                (ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target)),
                ast.Expr(value=ast.Constant()),
            ):
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id, node


@functools.cache
def entries() -> frozenset[str]:
    """Everything that has an entry of its own in the reference, by its full name."""
    found = set(DOTTED.values())
    for module_name, path in MODULES.items():
        for name, node in described(ast.parse(path.read_text("utf-8")).body):
            full = f"{DOTTED[module_name]}.{name}"
            found.add(full)
            if isinstance(node, ast.ClassDef):
                found |= {f"{full}.{inner}" for inner, _ in described(node.body)}
                if "SecondOpinions" in map(ast.unparse, node.bases):
                    found |= {f"{full}.{inner}" for inner in vars(siscm.answering.SecondOpinions)}
                attributes = ast.get_docstring(node).partition("\nAttributes\n")[2]
                found |= {f"{full}.{inner}" for inner in re.findall(r"^(\w+)$", attributes, re.M)}
    return frozenset(found)


@pytest.mark.parametrize("name", MODULES)
def test_what_a_docstring_refers_to_has_an_entry(name: str) -> None:
    """Sphinx does not tell: what it finds nowhere becomes a plain word."""
    source = MODULES[name].read_text("utf-8")
    inside = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    before = ("", f"{DOTTED[name]}.", *(f"{DOTTED[name]}.{one}." for one in inside))
    for target in re.findall(r":(?:func|meth|class|data|mod|attr):`~?([^`]+)`", source):
        assert any(start + target in entries() for start in before), target


def test_what_has_no_entry_is_noticed() -> None:
    assert {"siscm.opinions.Opinions.__len__", "siscm.evaluation.SCENARIOS"} <= entries()
    assert "siscm.graded.GradedSISCM.second_opinions" in entries()
    assert not {"siscm.Opinions", "siscm.data.registry.PANELS", "time.monotonic"} & entries()


def test_enough_is_mentioned_to_be_checked() -> None:
    pages = {path.name: Page(path.read_text("utf-8")) for path in DOCUMENTS}
    mentioned = {code for page in pages.values() for code in page.inline}
    assert len(mentioned) > 150
    assert mentioned >= ELSEWHERE, "an exception that nobody needs"
    assert len([code for code in pages["notation.md"].inline if "." in code]) >= 28
    assert "make book" in " ".join(pages["README.md"].blocks)


@pytest.mark.parametrize(
    "wrong",
    [
        "make bok",
        "make reproduce IMAGE=audit",
        "siscm.pool",
        "siscm.tolerance",
        "siscm.theory.gumbel",
        "siscm.pooled.PooledMarginal",
        "GradedSISCM.partitions_",
        "GradedSISM",
        "partition.Step.candidate",
        "noises.excess.",
        "numpy.random.Generators",
        "notebooks/17_your_panels.md",
        "requirements.txt",
        "SISCM_DATA_FOLDER",
        "SISCM_DATAS=real",
        "split(..., rang=rng)",
        "report.case(3)",
        "two words",
    ],
)
def test_what_does_not_exist_is_noticed(wrong: str) -> None:
    page = Page("```python\nreport = 1\nrng = 2\n```\n`GradedSISCM` and {cite:p}`nobody`")
    assert troubles(page) == []
    assert trouble(wrong, page)
    assert troubles(Page(f"Text `{wrong}`."))


@pytest.mark.parametrize(
    "block",
    ["make bok   # x", "  -> models.py", "see tests/test_nothing.py", "x -- make outpits --> y"],
)
def test_blocks_are_read_too(block: str) -> None:
    assert troubles(Page("```\nmake book  # run\nmodel.py\ntests/test_mentions.py\n```")) == []
    assert troubles(Page(f"```text\n{block}\n```"))
