"""What scripts measured, as pages show it."""

import pytest

from siscm.compendium import measured


@pytest.mark.parametrize("name", ["exact_law", "graph", "sweep"])
def test_a_table_names_script_and_date(name):
    text = repr(measured.table(name, {"times_faster": "times faster"}))
    assert text.startswith("[measured speed]")
    assert f"benchmarks/{name}.py, 2" in text
    assert "times faster" in text


def test_a_table_says_what_was_measured_where_and_when(monkeypatch):
    entry = {
        "figures": {"n": 12345},
        "date": "2026-01-02",
        "machine": {"cores": 8, "cpu": "a chip"},
        "python": "3.11",
        "numpy": "2.0",
    }
    monkeypatch.setattr(measured, "results", {"some": entry}.__getitem__)
    words = "benchmarks/some.py, 2026-01-02, two cores of 8, a chip, Python 3.11, NumPy 2.0"
    assert measured.note("some", "two cores") == words
    assert "12,345" in repr(measured.table("some", {"n": "how many"}))
