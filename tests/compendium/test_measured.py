"""What scripts measured, as pages show it."""

import pytest

from siscm.compendium import measured


@pytest.mark.parametrize("name", ["exact_law", "graph", "sweep"])
def test_a_table_names_script_and_date(name):
    text = repr(measured.table(name, {"times_faster": "times faster"}))
    assert text.startswith("[measured speed]")
    assert f"benchmarks/{name}.py, 2" in text
    assert "times faster" in text
