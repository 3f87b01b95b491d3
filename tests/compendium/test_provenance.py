"""Every item of the paper has its place in the book, and its verdict comes from the numbers."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from uses import MODULES, link, reached, the_package, used

from siscm.cifar10h import verdicts
from siscm.compendium import measured, pages, paper_numbers, provenance
from siscm.compendium.paper import (
    DIFFERS,
    MEANING,
    NOT_RUN,
    REPRODUCED,
    TWIN,
    Item,
    Number,
    Seed,
    at_least,
    figures,
    near,
    setting,
)
from siscm.compendium.provenance import (
    CONTENTS,
    SHOWN,
    UNEXPLAINED,
    _data,
    _table,
    provenance_page,
    read_items,
)
from siscm.data.registry import ENTRIES
from siscm.theory.statements import SECTIONS, STATEMENTS

ROOT = Path(__file__).parents[2]
PARTS = read_items()
ITEMS = [item for items in PARTS.values() for item in items]
CHAPTERS = {path.stem: path.read_text("utf-8") for path in (ROOT / "notebooks").glob("*.md")}
# Everything that the paper's source gives a label to, but its sections and two questions.
# fmt: off
LABELS = (
    "fig:intro_example", "fig:flowdiagram_inference", "fig:flowdiagram_training",
    "fig:results_real", "fig:results_real_2", "fig:results_synthetic",
    "fig:flowdiag_experiments", "fig:results_groups", "fig:confusion_matrices",
    "tab:acc_table", "alg:greedyalg",
    "eq:gumbelscm", "eq:scm", "eq:samedistr_example", "eq:conditional-stability",
    "eq:cfc_distr_estimator", "eq:optproblem", "eq:optproblem_graph", "eq:multdistr",
    "eq:cprop", "eq:equivalence1", "eq:equivalence2",
    "prop:set invariant", "thm:SCMsetinvariant", "thm:SCMequivalence", "thm:equalprop",
    "cor:equalprop_h", "cor:equalcounterfactuals", "def:counterfactual-stability",
    "thm:pcs_equivalence", "def:pcs_def", "cor:pcs_equivalence", "thm:gumbel",
)
# fmt: on

each = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)


def contents() -> dict[str, dict[str, Any]]:
    """What ``expected/`` holds."""
    return {name: pages.expected(name) for name in CONTENTS}


def run_on_the_real_file(**moved: float) -> dict[str, Any]:
    """A record of a run that gives the paper's figures, some sizes of it moved."""
    paper = copy.deepcopy(pages.expected("cifar10h")["paper"])
    sizes = paper["sizes"]
    sizes["pairs_in_violation"] = sizes.pop("violations")
    raw = {"full_agreement": sizes["share_of_images_with_full_agreement"]}
    raw |= {name: sizes[name] for name in ("images", "annotators")}
    sizes |= {name: sizes[name] + step for name, step in moved.items()}
    figures = {name: paper[name] for name in ("accuracy", "experts_better_off")}
    return {
        "date": "2030-01-01",
        "files": {"a/raw": "0123456789"},
        "figures": {**figures, "sizes": sizes, "raw": raw},
    }


def use(real: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Let the page find this as the record of the real file."""
    held = {**contents(), "panels": pages.expected("panels")}
    held["cifar10h"]["real"] = real
    monkeypatch.setattr(provenance, "expected", held.__getitem__)
    return held


def anchors(text: str) -> set[str]:
    """The headings of a chapter, as a link names them."""
    return {link(heading) for heading in re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)}


def test_each_label_of_the_papers_source_has_one_item() -> None:
    assert sorted(label for item in ITEMS for label in item.labels) == sorted(LABELS)
    assert len({item.name for item in ITEMS}) == len(ITEMS)
    figures = {item.name for item in ITEMS if re.fullmatch(r"(Figure|Table) \d", item.name)}
    assert figures == {"Table 1", *(f"Figure {n}" for n in range(1, 10))}


def test_every_rule_for_numbers_is_some_items() -> None:
    listed = (ROOT / "expected" / "paper.toml").read_text("utf-8")
    rules = inspect.getmembers(paper_numbers, inspect.isfunction)
    own = {name for name, rule in rules if rule.__module__ == paper_numbers.__name__}
    assert own == set(re.findall(r'^numbers = "(\w+)"$', listed, re.MULTILINE))


def test_each_numbered_statement_is_told_by_the_item_of_its_chapter() -> None:
    for chapter in SECTIONS:
        here = [statement for statement in STATEMENTS if statement.chapter == chapter]
        functions = [f"theory.theorems.{statement.check.__name__}" for statement in here]
        (item,) = (item for item in ITEMS if item.functions == functions)
        numbered = (one.check.__name__.replace("_", " ").capitalize() for one in here)
        assert item.name == " · ".join(numbered)
        assert item.what == "; ".join(statement.name for statement in here) + "."
        assert item.chapter == chapter
        assert item.section == f"Section {SECTIONS[chapter]}, Appendix A"


@each
def test_chapter_and_heading_exist(item: Item) -> None:
    assert item.anchor in anchors(CHAPTERS[item.chapter])


RECORDED = reached(name for name in the_package() if name.startswith("record."))
STATED = {f"theorems.{statement.check.__name__}" for statement in STATEMENTS}


def astray(item: Item) -> set[str]:
    """Functions of an item that its chapter does not use, or none of them under its heading.

    What is on the raw file may be used by ``make record`` instead; a check of a numbered statement
    by that statement's chapter, as ``test_statements.py`` sees.
    """
    dotted = [name.split(".") for name in item.functions]
    named = {".".join(name[name[0] not in MODULES :][:2]) for name in dotted}
    here = used(item.chapter, item.anchor)
    elsewhere = STATED | (RECORDED if item.source in ("raw", "counts") else set())
    pictures = {name for name in named if name.startswith("plots")}
    return (
        named - used(item.chapter) - elsewhere
        | pictures - here
        | (set() if named & here else named)
    )


@each
def test_functions_exist_and_are_used_where_the_link_leads(item: Item) -> None:
    assert item.functions
    found = [resolve_name(f"siscm.{name}") for name in item.functions]
    # where it is defined: the reference has it nowhere else, and a link to it would lead nowhere
    assert [f"{one.__module__}.{one.__qualname__}" for one in found] == [
        f"siscm.{name}" for name in item.functions
    ]
    assert astray(item) == set()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("Figure 8", {"functions": ["cifar10h.plots_experiment.draw_confusion"]}),
        (
            "Figure 9",
            {"functions": ["evaluation.confusion", "cifar10h.plots_experiment.draw_group_sizes"]},
        ),
        ("Table 1", {"anchor": "sizes"}),
        ("Table 1", {"functions": ["evaluation.summaries", "evaluation.accuracy"]}),
        ("Figure 6", {"anchor": "the-claim-as-a-figure"}),
        ("Equation 5", {"chapter": "06_finding_groups", "anchor": "violations"}),
    ],
)
def test_a_link_or_a_function_that_is_another_items_is_noticed(
    name: str, changed: dict[str, Any]
) -> None:
    (item,) = (item for item in ITEMS if item.name == name)
    assert astray(item) == set()
    other = dataclasses.replace(item, **changed)
    assert other.anchor in anchors(CHAPTERS[other.chapter])
    assert astray(other)


def in_order(items: list[Item]) -> bool:
    """Whether figures and equations, in the order of their numbers, are in that of sections.

    The paper's source is not here, so no test can say more of sections than that; those of the
    numbered statements come from ``siscm/theory/statements.py``.
    """
    for kind in ("Figure", "Equations?"):
        found = [(re.fullmatch(rf"{kind} (\d+)( .*)?", item.name), item.section) for item in items]
        numbered = sorted((int(match[1]), section) for match, section in found if match)
        places = [(section.startswith("Appendix"), section) for _, section in numbered]
        if len(places) < 8 or places != sorted(places):
            return False
    return True


@pytest.mark.parametrize(
    ("name", "section"), [("Figure 8", "Appendix A"), ("Equation 5", "Section 3")]
)
def test_sections_follow_the_numbers(name: str, section: str) -> None:
    moved = [
        dataclasses.replace(item, section=section) if item.name == name else item for item in ITEMS
    ]
    assert in_order(ITEMS)
    assert moved != ITEMS
    assert not in_order(moved)


@each
def test_seeds_are_those_of_the_chapter(item: Item) -> None:
    text = CHAPTERS[item.chapter]
    for seed in item.seeds:
        assert isinstance(seed.value(contents()), int)
        if isinstance(seed.where, int):
            assert f"default_rng({seed.where})" in text
        elif seed.where == "expected/synthetic:ours.seed":
            assert 'recorded = pages.expected("synthetic")' in text
            assert 'sweep(recorded["ours"]["seed"]' in text
        else:  # decided in the package: the chapter must not say otherwise
            assert not re.search(r"\b(seed|random_state)=", text)
    assert item.seeds or item.source not in ("raw", "synthetic", "models")


def test_the_twins_seed_is_the_recorded_one() -> None:
    seeds = {seed.value(contents()) for item in ITEMS for seed in item.seeds if seed.what == "twin"}
    assert seeds == {contents()["cifar10h"]["twin"]["seed"]}


def test_hashes_are_the_registrys() -> None:
    text = provenance_page()
    for path, entry in ENTRIES.items():
        assert f"`{path}`" in text
        assert entry.sha256 in text
    short = set(re.findall(rf"`([0-9a-f]{{{SHOWN}}})`", text))
    assert short
    assert short <= {entry.sha256[:SHOWN] for entry in ENTRIES.values()}


def _numbers(content: Any) -> Iterator[Any]:
    """The numbers of a part of ``expected/``, lists of numbers whole."""
    if isinstance(content, dict):
        for value in content.values():
            yield from _numbers(value)
    elif not isinstance(content, str):
        yield content


def test_no_number_of_the_paper_is_left_out() -> None:
    held = contents()
    shown = {number.paper for item in ITEMS for number in item.numbers(held)}
    claim = held["synthetic"]["paper"]["claim"]
    quoted = {"paper": [held["synthetic"]["paper"]["setup"], claim, held["cifar10h"]["paper"]]}
    for part in quoted["paper"]:
        for value in _numbers(part):
            if value == claim["edge_ratio_above"]:  # in the names of what is so above it
                continue
            if isinstance(value, list):
                words = {", ".join(map(str, value)), " of ".join(f"{n:,}" for n in value)}
            else:
                words = {f"{value:,}", f"{value:.2f}", f"{value:.1%}", f"{value:.0%}"}
            assert words & shown, value


# Typed once more from the paper's text, for nothing else here knows what it says.
QUOTED = {
    "cifar10h": "2571 10000 .35 114 1257 303 20426 352 15 7 11 7"
    " .668 .799 .451 .489 .513 .451 .62 .66 .552"
    " 103 114 89 114 100 103 101 103 87 103"
    " 10 50 130 20 2 512 20 1000 10 .2 1560",
    "synthetic": "48 6 7 11 11 13 5 20 1000 500 5 5 2 .3 1",
}


@pytest.mark.parametrize("name", QUOTED)
def test_what_is_quoted_is_what_the_paper_says(name: str) -> None:
    paper = pages.expected(name)["paper"]
    paper.pop("from_the_released_code", None)
    found = [
        n for value in _numbers(paper) for n in (value if isinstance(value, list) else [value])
    ]
    said = [float(word) for word in QUOTED[name].split()]
    assert found == said, f"hold `paper` in expected/{name}.json against the paper's text"


def test_the_run_time_is_told_of_all_graphs_that_were_measured() -> None:
    """Not of those alone where it comes out as the paper says, nor of more than Algorithm 1."""
    found = measured.results("algorithm1")["figures"]
    names = [name for name in found if re.fullmatch(r"\w+_(looked|search_seconds)_exponent", name)]
    numbers = list(paper_numbers.run_time(contents()))
    assert sorted(f"{found[name]:.2f}" for name in names) == sorted(n.here for n in numbers)
    for number in numbers:  # a bound from above
        assert (number.verdict == REPRODUCED) == (float(number.here) <= 1.1)


def test_the_loss_of_the_true_groups_is_the_recorded_one() -> None:
    """Rounded once more it was another than the chapter's."""
    (number,) = paper_numbers.loss_of_the_true_groups(contents())
    cells = contents()["synthetic"]["ours"]["figures"]["cells"]
    assert {float(number.here)} == {cell[3] for cell in cells.values()}


def test_without_a_run_on_the_real_file_nothing_about_it_is_judged(monkeypatch) -> None:
    held = use(None, monkeypatch)
    for item in ITEMS:
        assert set(item.verdicts(held)) <= set(MEANING)
        if item.source == "raw" and item.name not in ("The filter", "Marginals and model"):
            assert set(item.verdicts(held)) == {NOT_RUN}
    assert "CIFAR-10H, experiment" not in provenance_page()


def test_a_record_of_the_real_file_is_picked_up_and_judged(monkeypatch) -> None:
    held = use(run_on_the_real_file(), monkeypatch)
    assert NOT_RUN not in {verdict for item in ITEMS for verdict in item.verdicts(held)}
    table = next(item for item in ITEMS if item.name == "Table 1")
    assert set(table.verdicts(held)) == {REPRODUCED}
    page = provenance_page()
    assert "real, `a/raw` `01234567`, recorded 2030-01-01" in page
    assert "| CIFAR-10H, experiment | 2030-01-01 | `a/raw` |" in page
    assert "twin:" not in page
    assert "(twin" not in page


def test_a_book_made_from_the_real_file_judges_it_before_anybody_recorded_it(monkeypatch) -> None:
    use(None, monkeypatch)
    run = run_on_the_real_file(groups=4)
    del run["date"]
    monkeypatch.setattr(provenance, "experiment_kind", lambda: "real")
    monkeypatch.setattr(provenance, "experiment", lambda: run)
    page = provenance_page()
    assert "| groups | 15 | 19 | ±3 | differs |" in page
    assert "real, `a/raw` `01234567`, read for this page" in page
    for wrong in (NOT_RUN, "which is not here", "(twin", "CIFAR-10H, experiment |"):
        assert wrong not in page


def test_a_figure_beyond_its_tolerance_differs_and_no_other(monkeypatch) -> None:
    held = use(run_on_the_real_file(groups=4), monkeypatch)
    found = {
        number.name
        for item in PARTS["CIFAR-10H"]
        for number in item.numbers(held)
        if number.verdict == DIFFERS and item.name not in ("The filter", "Marginals and model")
    }
    assert found == {"groups"}
    assert "| groups | 15 | 19 | ±3 | differs |" in provenance_page()


def test_our_own_figures_decide_too(monkeypatch) -> None:
    """Had the sweep found the groups in every run above the ratio, the claim would hold."""
    held = use(None, monkeypatch)
    claim = next(item for item in ITEMS if item.name == "Claim about the edge ratio")
    assert set(claim.verdicts(held)) == {DIFFERS}
    held["synthetic"]["ours"]["figures"]["claims"]["0.3"] |= {
        "ari_near_one": 0.95,
        "losses_alike": 1.0,
    }
    assert set(claim.verdicts(held)) == {REPRODUCED}


def test_whatever_differs_is_known_and_says_why(monkeypatch) -> None:
    held = use(None, monkeypatch)
    found = set()
    for item in ITEMS:
        names = [n.name for n in item.numbers(held) if n.verdict == DIFFERS]
        assert item.why or not names
        found |= {(item.name, name) for name in names}
    assert found == {
        ("Set-up", "samples a distribution"),
        ("Claim about the edge ratio", found_name("an ARI of", found)),
        ("Claim about the edge ratio", found_name("a loss within", found)),
        ("The filter", "least opinions in training"),
        ("The filter", "least opinions in test"),
        ("Marginals and model", "samples a distribution"),
    }


def test_whatever_differs_on_the_real_file_says_why_or_that_nobody_has(monkeypatch) -> None:
    use(run_on_the_real_file(), monkeypatch)
    page = provenance_page()
    assert UNEXPLAINED not in page
    assert "The twin was" not in page
    assert "The twin's" not in page
    use(run_on_the_real_file(groups=100, experts=1, of_these_alone=9), monkeypatch)
    whole = re.split(r"^(?=\*\*)", provenance_page(), flags=re.MULTILINE)
    unsaid = {entry.split("**")[1] for entry in whole if UNEXPLAINED in entry}
    assert unsaid == {
        "Sizes of the experiment",
        "Violations and groups",
        "Experts without a same-group pair",
    }


def found_name(part: str, found: set[tuple[str, str]]) -> str:
    """The name of a number that holds these words."""
    return next((name for _, name in found if part in name), part)


def test_judging_at_the_edge() -> None:
    assert near("n", 1, 1.1, 0.1).verdict == near("n", 1, 0.9, 0.1).verdict == REPRODUCED
    assert near("n", 1, 1.101, 0.1).verdict == DIFFERS
    assert near("n", 10_000, 10_000, 0).allowed == "exactly"
    assert at_least("n", "all", 0.95, 0.95).verdict == REPRODUCED
    assert at_least("n", "all", 0.949, 0.95).verdict == DIFFERS
    assert setting("n", [6, 7], [6, 7]).paper == "6, 7"
    assert setting("n", 5, 6).verdict == DIFFERS


def test_the_page_tells_what_every_verdict_means_and_counts_each() -> None:
    page, held = provenance_page(), contents()
    verdicts = [verdict for item in ITEMS for verdict in item.verdicts(held)]
    counted = re.findall(r"^\| [a-z ]+ \|((?: [\d·]+ \|){3})$", page, re.MULTILINE)
    assert sum(int(n) for row in counted for n in re.findall(r"\d+", row)) == len(verdicts)
    for verdict in set(verdicts):
        assert f"- **{verdict}**: " in page
    assert page == provenance_page()


class TestExpected:
    """``expected/`` is one house: every file is described, every figure of ours has a tolerance."""

    FILES = sorted((ROOT / "expected").glob("*.json"))
    README = (ROOT / "expected" / "README.md").read_text("utf-8")

    def test_the_readme_names_every_file_and_only_tests_that_exist(self) -> None:
        rows = set(re.findall(r"^\| `(\w+\.json)`", self.README, re.MULTILINE))
        assert rows == {path.name for path in self.FILES}
        named = re.findall(r"`((?:tests|notebooks)/[\w/]+\.\w+)`", self.README)
        assert {name.split("/")[0] for name in named} == {"tests", "notebooks"}
        for name in named:
            text = (ROOT / name).read_text("utf-8")
            assert re.search(r"expected|provenance|_again", text), name

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_figures_of_ours_have_a_tolerance_and_an_origin(self, path: Path) -> None:
        if path.stem == "graded_first":  # a record of the past, as the README says
            return
        content = json.loads(path.read_text("utf-8"))
        parts = content if path.stem in ("panels", "graded", "asking") else {path.stem: content}
        if "paper" in content:
            parts = {key: content[key] for key in content if key not in ("paper", "judged_by")}
        for name, part in parts.items():
            if part is not None:
                tolerance = part["tolerance"]
                assert tolerance, name
                widest = max(tolerance.values()) if isinstance(tolerance, dict) else tolerance
                assert widest <= 0.005, f"{name}: a wrong figure passes"
                assert "seed" in part or {"date", "files"} <= set(part), name


def test_numbers_are_the_twins_only_if_all_are_and_verdicts_are_told_where_they_differ() -> None:
    twins = [Number(name, "1", f"{TWIN}2", "±1", NOT_RUN) for name in "ab"]
    assert list(_table(twins)) == [
        "| number | paper | twin | allowed |\n  | --- | --- | --- | --- |\n"
        "  | a | 1 | 2 | ±1 |\n  | b | 1 | 2 | ±1 |"
    ]
    ours = Number("c", "3", "3", "exactly", REPRODUCED)
    assert list(_table([twins[0], ours])) == [
        "| number | paper | here | allowed | verdict |\n  | --- | --- | --- | --- | --- |\n"
        f"  | a | 1 | {TWIN}2 | ±1 | {NOT_RUN} |\n  | c | 3 | 3 | exactly | {REPRODUCED} |"
    ]
    assert list(_table([])) == []


def test_a_seed_may_be_a_default_of_a_function() -> None:
    assert Seed("draws", "graded.GradedSISCM(n_samples)").value({}) == 2000
    assert Seed("draws", 7).value({}) == 7
    assert Seed("draws", "expected/some:part.key").value({"some": {"part": {"key": 5}}}) == 5


def test_figures_are_those_below_their_path_and_no_others() -> None:
    content = contents()["cifar10h"]
    paths = [one.path for one in (*verdicts.raw_criteria(content), *verdicts.criteria(content))]
    path = next(path for path in paths if len(path) > 1)
    below = [one for one in paths if one[:2] == path[:2]]
    assert len(below) < sum(one[0] == path[0] for one in paths)
    assert len(list(figures(path[:2])(contents()))) == len(below)


def test_what_rests_on_counts_names_the_files_of_both() -> None:
    counts = {"files": {"counts.npy": "0123456789"}, "date": "2026-01-02"}
    real = {"files": {"raw.csv": "abcdefghij"}}
    words = _data("counts", {"cifar10h": {"counts": counts, "real": real}})
    assert words == (
        "real, `counts.npy` `01234567`, recorded 2026-01-02; "
        "`raw.csv` `abcdefgh`, read for this page"
    )
    assert "raw.csv" not in _data("counts", {"cifar10h": {"counts": counts, "real": None}})
