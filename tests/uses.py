"""What the cells of a chapter use of the package: by themselves, and through what they use.

Followed are names: of functions, classes and constants, imported or of the same module. A class
stands for its methods. What is reached through a variable only is not followed any further.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jupytext

ROOT = Path(__file__).resolve().parents[1]
MODULES = {path.stem: path for path in (ROOT / "siscm").rglob("[!_]*.py")}
"""Each module of the package by its name, which no other has, whatever folder it is in."""
DOTTED = {
    name: ".".join(path.relative_to(ROOT).with_suffix("").parts) for name, path in MODULES.items()
}
"""Their full names."""


def imported(tree: ast.AST) -> dict[str, str]:
    """The names that a piece of code imports from the package, and what they stand for there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "siscm":
            module = (node.module or "").rpartition(".")[2]
            for name in node.names:
                inside = f"{module}.{name.name}" if module in MODULES else name.name
                found[name.asname or name.name] = inside
    return found


def named(tree: ast.AST, known: Mapping[str, str]) -> Iterator[str]:
    """What a piece of code names, as ``module.name``."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in known:
                yield ".".join(f"{known[name]}.{attribute}".split(".")[:2])
            case ast.Name(id=name) if name in known:
                yield known[name]


@functools.cache
def the_package() -> dict[str, set[str]]:
    """What each function, class and constant of the package names, by ``module.name``."""
    uses: dict[str, set[str]] = {}
    for path in [*MODULES.values(), ROOT / "siscm" / "__init__.py"]:
        tree = ast.parse(path.read_text("utf-8"))
        own: dict[str, ast.stmt] = {}
        for node in tree.body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    own[name] = node
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    own[name] = node
        known = imported(tree) | {name: f"{path.stem}.{name}" for name in own}
        uses |= {f"{path.stem}.{name}": set(named(node, known)) for name, node in own.items()}
        if path.stem == "__init__":
            uses |= {name: {inner} for name, inner in known.items()}
    return uses


def reached(names: Iterable[str]) -> set[str]:
    """These, and what they name in turn."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += the_package().get(name, ())
    return found


def imports(pattern: str) -> set[str]:
    """The modules that the chapter of this name, which may hold a ``*``, imports from."""
    (path,) = (ROOT / "notebooks").glob(f"{pattern}.md")
    names = imported(_tree(_cells(path.stem))).values()
    offered = imported(ast.parse((ROOT / "siscm" / "__init__.py").read_text("utf-8")))
    return {offered.get(name, name).split(".")[0] for name in names}


@functools.cache
def used(chapter: str, anchor: str = "") -> set[str]:
    """What a chapter uses, or its cells under a heading: also what a variable there was made by."""
    cells = _cells(chapter)
    whole, here = _tree(cells), _tree(list(_under(anchor, cells)))
    known = imported(whole)
    if not anchor:
        return reached(named(whole, known))
    seen = {node.id for node in ast.walk(here) if isinstance(node, ast.Name)}
    made: set[str] = set()
    for node in ast.walk(whole):
        if isinstance(node, ast.Assign):
            inner = [one for target in node.targets for one in ast.walk(target)]
            if seen & {one.id for one in inner if isinstance(one, ast.Name)}:
                made |= set(named(node.value, known))
    return reached(named(here, known)) | made


def link(heading: str) -> str:
    """A heading as a link names it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _cells(chapter: str) -> list[Any]:
    return list(jupytext.read(ROOT / "notebooks" / f"{chapter}.md", fmt="md:myst").cells)


def _tree(cells: list[Any]) -> ast.Module:
    return ast.parse("\n".join(cell.source for cell in cells if cell.cell_type == "code"))


def _under(anchor: str, cells: list[Any]) -> Iterator[Any]:
    """The cells under a heading, to the next one of its level or a higher one."""
    level = 0
    for cell in cells:
        if cell.cell_type == "code" and level:
            yield cell
        elif cell.cell_type == "markdown":
            for marks, heading in re.findall(r"^(#{1,3}) (.+)$", cell.source, re.MULTILINE):
                if link(heading) == anchor:
                    level = len(marks)
                elif len(marks) <= level:
                    level = 0
