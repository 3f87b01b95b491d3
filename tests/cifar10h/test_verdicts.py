"""A run is judged as it was fixed beforehand: the paper's figures pass, each alone can fail."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from siscm import Opinions, evaluation
from siscm.baselines import copy as copy_opinion
from siscm.baselines import gumbel_max, marginals_only
from siscm.cifar10h.experiment import PAPERS_RULES, Experiment, run
from siscm.cifar10h.verdicts import (
    FAILS,
    HOLDS,
    NOT_RUN,
    countings,
    criteria,
    figures,
    raw_criteria,
    verdict_table,
    verdicts,
    without_same_group_pair,
)
from siscm.compendium import pages
from siscm.data.simulate import simulate_opinions

CONTENT = pages.expected("cifar10h")


PARTS = ("sizes", "accuracy", "experts_better_off")


def papers_figures() -> dict[str, Any]:
    """A run that gives just what the paper reports, its violations counted as pairs of experts."""
    paper = copy.deepcopy({part: CONTENT["paper"][part] for part in PARTS})
    paper["sizes"]["pairs_in_violation"] = paper["sizes"].pop("violations")
    return paper


# Where each figure lies, the largest step that still passes and the smallest that does not.
CASES: list[tuple[str, tuple[str | int, ...], float, float]] = [
    *(
        (name.replace("_", " "), ("sizes", name), 0, 1)
        for name in ("experts", "training_images", "test_images", "opinions")
    ),
    ("pairs of experts in violation", ("sizes", "pairs_in_violation"), 35, 36),
    ("groups", ("sizes", "groups"), 3, 4),
    ("groups of one expert", ("sizes", "singleton_groups"), 3, 4),
    (
        "experts without a same-group pair",
        ("sizes", "experts_without_same_group_pair"),
        8,
        9,
    ),
    ("of these, alone in their group", ("sizes", "of_these_alone"), 3, 4),
    *(
        (f"accuracy of {rule}, {scenario}", ("accuracy", rule, scenario), 0.03, 0.0301)
        for rule in PAPERS_RULES
        for scenario in evaluation.SCENARIOS
    ),
    *(
        (f"experts: {name}", ("experts_better_off", name, place), 8, 9)
        for name in CONTENT["paper"]["experts_better_off"]
        for place in (0, 1)
    ),
]


def moved(path: tuple[str | int, ...], step: float) -> dict[str, Any]:
    """The paper's figures, one of them moved."""
    run: Any = papers_figures()
    inner = run
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] += step
    return run


def test_every_criterion_has_a_case() -> None:
    assert {name for name, *_ in CASES} == {one.quantity for one in criteria(CONTENT)}
    assert len({path for _, path, *_ in CASES}) == 4 + 5 + 9 + 10


def test_the_papers_own_figures_pass() -> None:
    judged = verdicts(CONTENT, papers_figures())
    assert set(judged["verdict"]) == {HOLDS}
    assert judged["real"].tolist() == judged["paper"].tolist()


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("quantity", "path", "near", "far"), CASES)
def test_each_figure_passes_at_its_tolerance_and_fails_beyond(
    quantity: str, path: tuple[str | int, ...], near: float, far: float, sign: int
) -> None:
    assert set(verdicts(CONTENT, moved(path, sign * near))["verdict"]) == {HOLDS}
    failed = verdicts(CONTENT, moved(path, sign * far))["verdict"] == FAILS
    assert failed.index[failed].tolist() == [quantity]


@pytest.mark.parametrize(
    ("pairs", "verdict"), [(176, HOLDS), (159, HOLDS), (158, FAILS), (193, HOLDS), (194, FAILS)]
)
def test_half_of_the_violations_is_as_good(pairs: int, verdict: str) -> None:
    run = papers_figures()
    run["sizes"]["pairs_in_violation"] = pairs
    assert verdicts(CONTENT, run).loc["pairs of experts in violation", "verdict"] == verdict


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("name", "near", "far"),
    [("images", 0, 1), ("annotators", 0, 1), ("full_agreement", 0.025, 0.0251)],
)
def test_the_raw_table_is_judged_too(name: str, near: float, far: float, sign: int) -> None:
    sizes = CONTENT["paper"]["sizes"]
    raw = {
        "images": sizes["images"],
        "annotators": sizes["annotators"],
        "full_agreement": sizes["share_of_images_with_full_agreement"],
    }

    def failed(step: float) -> list[str]:
        run = {"raw": {**raw, name: raw[name] + sign * step}}
        return [one.path[-1] for one in raw_criteria(CONTENT) if one.verdict(run) == FAILS]

    assert failed(near) == []
    assert failed(far) == [name]
    share = {one.path[-1]: one.words(one.paper) for one in raw_criteria(CONTENT)}
    assert share == {"images": "10,000", "annotators": "2,571", "full_agreement": "35.0%"}


def test_a_missing_accuracy_fails() -> None:
    run = papers_figures()
    run["accuracy"]["GNB"]["same group"] = None
    row = verdicts(CONTENT, run).loc["accuracy of GNB, same group"]
    assert [row["real"], row["verdict"]] == ["no pair", FAILS]


def test_nobody_ran_it_reads_so() -> None:
    judged = verdicts(CONTENT, None)
    assert set(judged["real"]) == set(judged["verdict"]) == {NOT_RUN}


def test_the_twin_is_shown_and_not_judged() -> None:
    judged = verdicts(CONTENT, papers_figures())
    assert judged.loc["opinions", "twin"] == f"{CONTENT['twin']['sizes']['opinions']:,}"
    assert judged.loc["opinions", "twin"] != judged.loc["opinions", "real"]
    assert judged.loc["opinions", "verdict"] == HOLDS


class TestThePagesTable:
    """Which figures stand in the column ``real``, and the badge that says so."""

    failing = moved(("sizes", "experts"), 1)

    @staticmethod
    def recorded(figures: dict[str, Any]) -> dict[str, Any]:
        origin = {"date": "2030-01-01", "files": {"a/raw": "0123456789"}}
        return {**CONTENT, "real": {**origin, "figures": figures}}

    def test_on_the_twin_before_any_run(self) -> None:
        shown = repr(verdict_table({**CONTENT, "real": None}, self.failing, "twin"))
        assert shown.startswith("[simulated twin]")
        assert NOT_RUN in shown
        assert FAILS not in shown

    def test_on_the_real_file_live_even_if_recorded(self) -> None:
        for content in ({**CONTENT, "real": None}, self.recorded(papers_figures())):
            shown = verdict_table(content, self.failing, "real")
            assert repr(shown).startswith("[real data]")
            assert repr(shown).count(FAILS) == 1
            assert shown.markup.count("siscm-alarm") == 1
            assert NOT_RUN not in repr(shown)

    def test_on_the_twin_as_recorded(self) -> None:
        shown = repr(verdict_table(self.recorded(self.failing), papers_figures(), "twin"))
        assert shown.startswith("[recorded on the real files]")
        assert "recorded 2030-01-01 from raw 01234567" in shown
        assert shown.count(FAILS) == 1

    def test_the_record_is_absent_or_complete(self) -> None:
        real = CONTENT["real"]
        assert real is None or set(verdicts(CONTENT, real["figures"])["verdict"]) <= {HOLDS, FAILS}


@pytest.fixture(scope="module")
def small() -> Experiment:
    """Seven experts with one noise, whose marginals the features do not tell."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    log_p = np.log(rng.dirichlet(np.ones(3), (200, 7)))
    asked = rng.random((200, 7)) < 0.6
    opinions = Opinions.from_codes(simulate_opinions(log_p, [[*range(7)]], asked, rng))
    table = pd.DataFrame(X, index=opinions.instances)
    train, test = (opinions.select(part) for part in (range(150), range(150, 200)))
    return run(table.iloc[:150], train, table.iloc[150:], test)


def _lacking_one_by_one(done: Experiment) -> dict[str, int]:
    """Who is on no test image with another of her group, and of these, who has none."""
    found = {"experts_without_same_group_pair": 0, "of_these_alone": 0}
    asked = done.test.labels >= 0
    for group in done.model.partition_:
        places = [list(done.test.experts).index(expert) for expert in group]
        for h in places:
            others = [g for g in places if g != h]
            if not (asked[:, [h]] & asked[:, others]).any():
                found["experts_without_same_group_pair"] += 1
                found["of_these_alone"] += not others
    return found


def test_figures_are_counts_of_the_experiment(small: Experiment) -> None:
    found = figures(small)
    graph = small.model.graph_
    pairs = [(h, g) for h in range(7) for g in range(h)]
    violations = [int(graph.violations[pair]) for pair in pairs]
    assert sum(violations) > sum(n > 0 for n in violations) > 0
    assert found["sizes"] == {
        "experts": 7,
        "training_images": 150,
        "test_images": 50,
        "opinions": len(small.train) + len(small.test),
        "pairs_in_violation": sum(n > 0 for n in violations),
        "violating_pairs_of_opinions": sum(violations),
        "groups": len(small.model.partition_),
        "singleton_groups": sum(len(group) == 1 for group in small.model.partition_),
        **_lacking_one_by_one(small),
    }
    table = small.accuracy()
    for rule, row in found["accuracy"].items():
        for scenario, value in row.items():
            exact = table.loc[rule, scenario]
            assert np.isnan(exact) if value is None else value == round(exact, 6)
    assert list(found["experts_better_off"]) == list(CONTENT["paper"]["experts_better_off"])


def test_who_is_on_no_test_image_is_without_a_same_group_pair(small: Experiment) -> None:
    said = small.test.labels.copy()
    said[:, 4] = -1
    test = Opinions.from_codes(said, small.test.instances, small.test.experts, small.test.classes)
    X = pd.DataFrame(np.random.default_rng(5).normal(size=(200, 2)))
    done = run(X.iloc[:150], small.train, X.iloc[150:], test)
    assert 4 in without_same_group_pair(done).index
    sizes = figures(done)["sizes"]
    assert {name: sizes[name] for name in _lacking_one_by_one(done)} == _lacking_one_by_one(done)


def test_figures_by_hand() -> None:
    """Ann and Bob are a group, though no test image shows it; Cem and Dee are alone."""
    experts, groups = ["Ann", "Bob", "Cem", "Dee"], [["Ann", "Bob"], ["Cem"], ["Dee"]]
    test = Opinions.from_codes([[0, -1, 0, -1], [-1, 1, 1, -1]], experts=experts)
    violations = np.array([[0, 0, 1, 0], [0, 0, 3, 0], [1, 3, 0, 0], [0, 0, 0, 0]])
    graph = SimpleNamespace(experts=test.experts, violations=violations)
    model: Any = SimpleNamespace(graph_=graph, partition_=groups)
    rules = dict(zip(PAPERS_RULES, (gumbel_max, marginals_only, copy_opinion), strict=True))
    done = Experiment(model, test, test, np.log(np.tile([0.9, 0.1], (4, 1))), rules)
    assert without_same_group_pair(done)["alone"].to_dict() == {
        "Ann": False,
        "Bob": False,
        "Cem": True,
        "Dee": True,
    }
    found = figures(done)
    sizes = found["sizes"]
    assert (sizes["pairs_in_violation"], sizes["violating_pairs_of_opinions"]) == (2, 4)
    assert (sizes["groups"], sizes["singleton_groups"]) == (3, 2)
    assert (sizes["experts_without_same_group_pair"], sizes["of_these_alone"]) == (4, 2)
    # Cem said 0 and 1, of which the marginal has one; whoever copies is right everywhere.
    assert found["accuracy"]["GNB"] == {
        "all pairs": 0.5,
        "same group": None,
        "different groups": 0.5,
    }
    assert found["accuracy"]["GNB + CNB"]["all pairs"] == 1
    assert found["experts_better_off"]["SI-SCM above GNB, all pairs"] == [0, 3]
    assert found["experts_better_off"]["SI-SCM above GNB, same group"] == [0, 0]


def test_figures_survive_json_and_can_be_judged(small: Experiment) -> None:
    found = figures(small)
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    assert verdicts(CONTENT, again).loc["experts", "verdict"] == FAILS


def test_countings_double_what_counts_each_pair_once() -> None:
    table = countings({"pairs_in_violation": 3, "violating_pairs_of_opinions": 5})
    assert table["each pair once"].tolist() == [3, 5]
    assert table["both orders"].tolist() == [6, 10]
