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
    assert len(source.splitlines()) <= 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            assert lines_of_code(node) <= 50, node.name


def test_all_modules_lie_in_one_folder() -> None:
    """Where the reference and what pages mention are compared with them."""
    assert {path.parent for path in MODULES} == {PACKAGE}
    assert len(MODULES) > 50


ESTIMATORS = [siscm.GradedSISCM, siscm.GumbelMaxSISCM, siscm.PooledMarginals]


def test_estimators_have_at_most_eight_parameters() -> None:
    public = [getattr(siscm, name) for name in siscm.__all__]
    found = [thing for thing in public if inspect.isclass(thing)]
    assert [thing for thing in found if issubclass(thing, BaseEstimator)] == ESTIMATORS
    for estimator in ESTIMATORS:
        assert 0 < len(inspect.signature(estimator).parameters) <= 8
