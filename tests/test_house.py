"""What the house promises about its size: modules, functions and estimators stay small."""

import ast
import inspect
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import siscm

PACKAGE = Path(siscm.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of_code(function: Function) -> int:
    """From its name to its end, the docstring not counted."""
    first = function.body[0]
    docstring = ast.get_docstring(function) is not None
    documented = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - documented


def test_what_is_counted() -> None:
    source = 'def f(\n    x,\n):\n    """One.\n\n    Two.\n    """\n    # why\n    return x\n'
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert lines_of_code(function) == 5


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_and_its_functions_stay_small(path: Path) -> None:
    source = path.read_text("utf-8")
    assert len(source.splitlines()) <= 300, f"part {path.name} in two, by what its functions do"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            assert lines_of_code(node) <= 50, f"part {node.name} in two"


def lines_of_a_module(source: str) -> int:
    """Lines with code: no blank ones, comments, docstrings, or strings that describe a name."""
    described = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    lines = enumerate(source.splitlines(), start=1)
    return sum(n not in described and line.strip()[:1] not in ("", "#") for n, line in lines)


def test_which_lines_of_a_module_are_counted() -> None:
    source = '"""One.\n\nTwo.\n"""\n\n# why\nX = 1  # what\n"""An X."""\ny = f(\n    X,\n)\n'
    assert lines_of_a_module(source) == 4


def test_the_method_and_what_users_call_stay_small() -> None:
    """What lies in none of the package's folders: what a reader of the paper and a user read."""
    sources = [path.read_text("utf-8") for path in MODULES if path.parent == PACKAGE]
    assert len(sources) > 20
    total = sum(map(lines_of_a_module, sources))
    assert total <= 3000, "what no user calls goes into one of siscm's folders"


def test_a_module_is_called_as_no_other_is() -> None:
    """Pages and CONTRIBUTING name modules without the folder they are in."""
    names = [path.stem for path in MODULES if path.stem != "__init__"]
    assert len(names) > 50
    names += {path.parent.name for path in MODULES}
    assert sorted(set(names)) == sorted(names)


ESTIMATORS = [siscm.GradedSISCM, siscm.GumbelMaxSISCM, siscm.PooledMarginals]


def test_estimators_have_at_most_eight_parameters() -> None:
    public = [getattr(siscm, name) for name in siscm.__all__]
    found = [thing for thing in public if inspect.isclass(thing)]
    assert [thing for thing in found if issubclass(thing, BaseEstimator)] == ESTIMATORS
    for estimator in ESTIMATORS:
        assert 0 < len(inspect.signature(estimator).parameters) <= 8
