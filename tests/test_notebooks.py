"""Every page keeps the house's promises: banner, badges, captions, short cells."""

import ast
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def _code(path):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _has(cell, mime):
    return any(mime in output.get("data", {}) for output in cell.outputs)


PLACE_OF_THE_KIND = {"pages.banner": 0, "pages.stamp": 1, "pages.table": 2}


def _unmarked(source):
    """Calls that leave it to ``SISCM_DATA`` which data a banner, figure or table shows."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in calls:
        place = PLACE_OF_THE_KIND.get(ast.unparse(call.func), -1)
        named = "data" in [keyword.arg for keyword in call.keywords]
        if len(call.args) <= place and not named:
            yield ast.unparse(call)


def test_a_mark_that_names_no_kind_is_noticed():
    assert len(list(_unmarked("pages.banner()\npages.stamp(figure)\npages.table(x, 'c')"))) == 3
    named = "pages.stamp(figure, 'example')\npages.table(x, 'c', 'own')\npages.banner(data='twin')"
    assert not list(_unmarked(named))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestPage:
    def test_first_output_is_the_banner(self, path):
        first = _code(path)[0]
        assert first.source.splitlines()[-1].startswith("pages.banner(")
        assert "siscm-banner" in first.outputs[0].data["text/html"]
        source = "".join(cell.source for cell in _code(path))
        kinds = {
            "load_cifar10h(": "SIMULATED TWIN",
            "load_panel(": "SIMULATED DATA",
            "siscm.synthetic.planted": "SYNTHETIC EXPERTS",
            "learned_sweep(": "SYNTHETIC EXPERTS",
        }
        said = next((kinds[call] for call in kinds if call in source), "WORKED EXAMPLE")
        banner = first.outputs[0].data["text/plain"]
        assert said in banner, "give pages.banner the kind of data that the cells load"

    def test_every_figure_is_stamped_captioned_and_described(self, path):
        figures = [cell for cell in _code(path) if _has(cell, "image/png")]
        assert figures, "every chapter has a figure"
        for cell in figures:
            assert "pages.stamp(figure" in cell.source
            assert cell.metadata["mystnb"]["image"]["alt"]
            assert cell.metadata["mystnb"]["figure"]["caption"]

    def test_every_table_says_which_data_it_shows(self, path):
        tables = [cell for cell in _code(path) if _has(cell, "text/html")]
        for cell in tables[1:]:
            assert "siscm-data" in cell.outputs[-1].data["text/html"]

    def test_a_mark_is_left_to_the_setting_only_where_data_are_loaded(self, path):
        """A book on the real files would call made-up numbers real."""
        source = "\n".join(cell.source for cell in _code(path))
        if "load_panel(" not in source:
            assert list(_unmarked(source)) == [], 'name the kind of data, such as "example"'

    def test_it_opens_with_what_to_see_to_need_and_to_wait(self, path):
        opening = nbformat.read(path, as_version=4).cells[0].source
        for question in ("What you will see", "What you need", "How long it runs"):
            assert question in opening

    def test_cells_are_short_and_define_no_function(self, path):
        for cell in _code(path):
            assert len(cell.source.splitlines()) <= 25
            defined = [
                n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.FunctionDef)
            ]
            assert not defined
