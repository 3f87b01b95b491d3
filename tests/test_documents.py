"""What README and cheat sheet say runs; the reference and CONTRIBUTING name what there is."""

import doctest
import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from mutation_score import DEMANDED
from test_prose import figures
from uses import DOTTED, imports

import siscm

ROOT = Path(__file__).parents[1]


def blocks(document):
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text("utf-8"), re.DOTALL)


BLOCKS = blocks("README.md")


def test_the_readmes_example_runs_and_answers(capsys):
    code = [line for line in BLOCKS[0].splitlines() if line and "import" not in line]
    assert len(code) <= 10
    scope = {}
    exec(BLOCKS[0], scope)
    assert "['Ann', 'Bob']" in capsys.readouterr().out
    new = scope["new"]
    assert not new.index.isin(scope["features"].index).any()  # learned from none of these
    answer = scope["model"].second_opinions(new, {"Ann": True})
    severe = answer[answer["label"]].set_index("expert")["probability"]
    before = dict(zip("ABC", scope["model"].log_marginals(new)[0, :, 1], strict=True))
    assert severe["Ann"] == 1
    assert severe["Bob"] > np.exp(before["B"])
    assert severe["Cleo"] == pytest.approx(np.exp(before["C"]))


def test_the_readmes_second_example_goes_on_from_the_first(capsys):
    scope = {}
    for block in BLOCKS:
        exec(block, scope)
    assert capsys.readouterr().out.count("[['Ann', 'Bob'], ['Cleo']]") == 2
    graded, case = scope["graded"], scope["new"]
    assert graded.experts_.tolist() == ["Ann", "Bob", "Cleo"]
    severe = graded.counterfactual_proba(case, {"Ann": True})[0, :, 1]
    before = np.exp(graded.log_marginals(case))[0, :, 1]
    assert severe[0] == 1
    assert severe[1] > before[1] + 0.2
    assert severe[2] == pytest.approx(before[2])


def test_every_line_of_the_cheat_sheet_runs():
    scope = {}
    for block in blocks("book/cheatsheet.md"):
        exec(block, scope)
        assert max(len(line) for line in block.splitlines()) <= 76  # else cut off on a laptop
    assert scope["best"].objective <= siscm.partition.objective(scope["graph"], scope["groups"])
    assert scope["opinions"].experts.tolist() == ["Ann", "Bob", "Cleo"]
    np.testing.assert_array_equal(scope["X"].index, scope["opinions"].instances)
    assert not scope["new"].index.isin(scope["X"].index).any()  # learned from none of these
    assert scope["stages"].ordered
    assert scope["stages"].classes.tolist() == scope["order"]
    assert set(scope["worth"]["instance"]) == {"new 1", "new 2"}
    assert set(scope["worth"]["expert"]) == {"Bob", "Cleo"}


def test_every_example_of_the_reference_can_be_pasted_into_a_script():
    modules = [import_module(name) for name in sorted(DOTTED.values())]
    found = [test for module in modules for test in doctest.DocTestFinder().find(module)]
    examples = ["".join(line.source for line in test.examples) for test in found]
    assert any(examples)
    for example in examples:
        exec(example, {})  # pytest's doctests have the module's names, a reader has not


def test_the_reference_has_every_module_once():
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "book" / "api").glob("*.md"))
    named = re.findall(r"^\.\. automodule:: (siscm\.[\w.]+)$", pages, re.MULTILINE)
    differ = set(named) ^ set(DOTTED.values())
    assert sorted(named) == sorted(DOTTED.values()), f"in book/api, or in siscm, alone: {differ}"
    left_out = re.findall(r"(?<=:exclude-members: ).+", pages)
    elsewhere = re.findall(
        r"^\.\. auto(?:function|method):: siscm\.[\w.]+\.(\w+)$", pages, re.MULTILINE
    )
    assert sorted(", ".join(left_out).split(", ")) == sorted(elsewhere)


DRAWN_ON = {"axes", "all_axes", "figure"}  # the first of every function that draws


def with_parameters():
    """Public functions, methods and classes with a section on parameters, by their full names."""
    for name in sorted(DOTTED.values()):
        things = vars(import_module(name))
        classes = [thing for thing in things.values() if inspect.isclass(thing)]
        for scope in (things, *(vars(one) for one in classes if one.__module__ == name)):
            for thing in scope.values():
                thing = getattr(thing, "__func__", thing)  # of a class method
                public = not getattr(thing, "__name__", "_").startswith("_")
                own = getattr(thing, "__module__", "") == name
                if public and own and "\nParameters\n---" in inspect.cleandoc(thing.__doc__ or ""):
                    yield f"{name}.{thing.__qualname__}", thing


def undescribed(thing):
    """The parameters that its section leaves out, and those that it names and there are not."""
    section = inspect.cleandoc(thing.__doc__).partition("\nParameters\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^\*{0,2}(\w+(?:, \w+)*)$", section, re.MULTILINE)
    named = [name for entry in entries for name in entry.split(", ")]
    drawn_on = DRAWN_ON if thing.__name__.startswith("draw_") else set()
    return (set(named) ^ set(inspect.signature(thing).parameters)) - {"self", "cls"} - drawn_on


def test_a_section_on_parameters_names_every_one():
    """A function's own, too, if only to say where it is described; what it draws on is plain."""
    found = dict(with_parameters())
    assert {"siscm.opinions.Opinions", "siscm.opinions.Opinions.from_long"} <= set(found)
    assert "siscm.answering.SecondOpinions.second_opinions" in found
    assert {name: undescribed(thing) for name, thing in found.items() if undescribed(thing)} == {}


def test_a_parameter_that_is_left_out_is_noticed():
    def function(one, two, *, three=3):
        """Text.

        Parameters
        ----------
        one, four
            Of these.

        Returns
        -------
        two
        """

    assert undescribed(function) == {"two", "three", "four"}


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def drawn(text):
    """The modules in the picture of CONTRIBUTING: listed in a column, or with an underscore."""
    (picture,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    columns = re.split(r"\n| {2,}|: ", re.sub(r" \([^)]*\)|plots_\*, ", "", picture))
    lists = [column.strip() for column in columns if re.fullmatch(r" *\w+(, \w+)* *", column)]
    names = {name for names in lists for name in names.split(", ")}
    return names | set(re.findall(r"\b[a-z]+_[a-z]+\b", picture))


def fails_under():
    """What CONTRIBUTING says of the least that coverage and mutants may reach."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    least = project["tool"]["coverage"]["report"]["fail_under"]
    yield f"| which branches of the package its tests reach; fails under {least} %"
    yield f"to see whether their tests notice; fails under {100 * DEMANDED:.0f} %"


def untrue(text):
    """What CONTRIBUTING says and is not so."""
    yield from drawn(text) - set(DOTTED)
    listed = re.findall(r"^\| `(siscm/\w+)/` \|", text, re.MULTILINE)
    folders = {name.rpartition(".")[0].replace(".", "/") for name in DOTTED.values()}
    yield from set(listed) ^ folders - {"siscm"}
    rows = re.findall(r"^\|[^|]*\|([^|]*)\| ((?:\d\d(?:, | to )?)+) \|$", text, re.MULTILINE)
    for modules, chapters in rows:
        first, to, last = chapters.partition(" to ")
        numbers = range(int(first), int(last) + 1) if to else map(int, chapters.split(", "))
        for n in numbers:
            if not imports(f"{n:02}_*") & set(re.findall(r"`(\w+)`", modules)):
                yield f"chapter {n:02} and {modules}"
        text = text.replace(f"| {chapters} |", "")
    for words in fails_under():
        if words not in text:
            yield words
        text = text.replace(words, "")
    # the figures of the mutants are compared with their list in test_mutation_score.py
    yield from figures(re.sub(r"Of [\d,]+ small changes[^(]*\([^)]*\)", "", text))
    yield from re.findall(r"\b(?:seconds?|minutes?|hours?)\b", text)


def test_contributing_says_what_is_so():
    assert list(untrue(CONTRIBUTING)) == []
    assert len(drawn(CONTRIBUTING)) > 30


@pytest.mark.parametrize(
    ("here", "wrong"),
    [
        ("marginals, pooled ", "marginals, pouled "),
        ("sources, registry (hashes)", "sources, registri (hashes)"),
        ("SISCM_DATA: panels,", "SISCM_DATA: pannels,"),
        ("; sharing_fit learns", "; sharing_fits learns"),
        (" partition    ", " partitions   "),
        ("| `siscm/data/` |", "| data |"),
        ("| 05 |", "| 15 |"),
        ("| 10 to 13 |", "| 09 to 13 |"),
        ("| 14, 15 |", "| 13, 15 |"),
        ("fails under 95 %", "fails under 75 %"),
        ("fails under 90 %", "fails under 80 %"),
        ("`make coverage` says", "They reach 58 % of the package; `make coverage` says"),
        ("(long; installs", "(nine hours; installs"),
        ("so that nothing fails by chance", "so that 15 fail by chance"),
    ],
)
def test_what_contributing_says_that_is_not_so_is_noticed(here, wrong):
    assert CONTRIBUTING.count(here) == 1
    assert list(untrue(CONTRIBUTING.replace(here, wrong)))
