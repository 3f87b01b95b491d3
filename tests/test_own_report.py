"""The report says what the model says, and what second opinions are worth as it can be counted."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import jupytext
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from siscm import Opinions
from siscm.answers import disagreement_table, second_opinions_table
from siscm.asking import value_of_asking
from siscm.beyond import plots_graded
from siscm.beyond.contest import GRADED
from siscm.beyond.own_example import kind_of, write_example
from siscm.beyond.own_features import FEW_CELLS, marginals_for
from siscm.cifar10h.rivals import TABLE
from siscm.compendium import pages
from siscm.data.panels import load_panel
from siscm.graded import GradedSISCM
from siscm.own_panel import OwnPanel, check_files
from siscm.own_report import MOST_SHOWN, Report, learning, make_report, out_of_fold

PAGE = Path(__file__).parents[1] / "notebooks" / "17_your_panel.md"


def made_up(folder, n=120, n_experts=5, k=5, noise="gumbel", a=0.9, seed=0):
    """A panel with odd ids and numbers as labels: paths of its opinions and features.

    About the first six cases one expert has spoken, about two of the features nobody. What experts
    tend to say depends on who they are, and not on the case.
    """
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n_experts, k))
    p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    shared, own = rng.random((2, n, n_experts, k))
    u = np.where(rng.random((n, n_experts, 1)) < a, shared[:, :1], own)
    if noise == "gumbel":
        codes = (np.log(p) - np.log(-np.log(u))).argmax(axis=2)
    else:
        codes = (u[..., :1] > p.cumsum(axis=1)[:, :-1]).sum(axis=2)
    codes[rng.random(codes.shape) < 0.2] = -1
    codes[6:, :2] = np.maximum(codes[6:, :2], 0)  # two opinions at least
    codes[:6, 1:] = -1
    codes[:6, 0] = 0
    names = [f"00{i} é" for i in range(n)]
    opinions = Opinions.from_codes(codes, names, [f"Dr. {h}" for h in range(n_experts)], range(k))
    paths = folder / "said.csv", folder / "known.csv"
    opinions.to_long().to_csv(paths[0], index=False, sep=";", encoding="utf-8-sig")
    names += ["new 1", "new 2"]
    table = pd.DataFrame(rng.normal(size=(n + 2, 2)), columns=["a", "b"])
    table.insert(0, "instance", names)
    table["word"] = rng.choice(["red", "blue"], n + 2)
    table.to_csv(paths[1], index=False)
    return paths


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    return check_files(*made_up(tmp_path_factory.mktemp("made_up"))).panel


@pytest.fixture(scope="module")
def report(panel):
    return make_report(panel)


def test_the_model_is_graded_sharing_learned_from_the_panel(panel, report):
    said = learning(panel, None, np.random.default_rng(0))
    n_cells = len(said) * said.n_classes
    model = GradedSISCM(marginals_for(panel.X, panel.kinds, n_cells))
    model.fit(panel.X.loc[said.instances], said)
    pd.testing.assert_frame_equal(report.model.sharing_, model.sharing_)
    table = report.sharing()
    pd.testing.assert_series_equal(
        table["sharing"].sort_index(), model.sharing_["sharing"].sort_index()
    )
    assert (table["low"] < table["sharing"]).all()
    assert table["opinions"].sum() == len(said)
    assert table["sharing"].is_monotonic_decreasing


def test_a_penalty_is_chosen_for_large_panels_and_mixed_features_too() -> None:
    """One feature tells something about the labels, forty others nothing, nor does a category."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 41))).add_prefix("x")
    score = X[["x0"]].to_numpy() * [3, 1, -1, -3]
    codes = (score[:, None] + rng.gumbel(size=(60, 3, 4))).argmax(axis=2)
    said, kinds = Opinions.from_codes(codes, X.index), dict.fromkeys(X, "number")
    mixed, mixed_kinds = X.assign(ward=["a", "b", "c"] * 20), {**kinds, "ward": "category"}
    few, many, with_ward = (
        -model.out_of_fold_[np.arange(180), said.label_codes].mean()
        for model in (
            marginals_for(X, kinds, FEW_CELLS).fit(X, said),
            marginals_for(X, kinds, FEW_CELLS + 1).fit(X, said),
            marginals_for(mixed, mixed_kinds).fit(mixed, said),
        )
    )
    assert max(many, with_ward) < few + 0.02


def test_new_cases_with_an_opinion_are_learned_from_but_answered_by_who_has_not_seen_it(
    panel, report
):
    new = panel.cases()
    assert len(new) == 8
    assert new[:2].tolist() == ["new 1", "new 2"]
    assert len(report.learned) == len(panel.opinions)
    other = make_report(contradicted(panel, new[2]))
    log_p = report.cases().log_p
    np.testing.assert_array_equal(log_p[2], other.cases().log_p[2])
    seen = [r.model.log_marginals(panel.X.loc[new])[2] for r in (report, other)]
    assert np.abs(seen[0] - seen[1]).max() > 1e-4


def test_cases_thought_to_need_no_second_opinion_are_not_taken_for_the_others():
    """Two general readers judge; a specialist is asked only where one says that it is severe."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    codes = (x[:, None] + rng.normal(size=(400, 1)) + rng.normal(size=(400, 3)) / 2 > 0.5) * 1
    truth, first = codes[:, :2].copy(), rng.integers(0, 2, 400)
    codes[np.arange(400), 1 - first] = -1
    codes[codes[:, :2].max(axis=1) == 0, 2] = -1
    X = pd.DataFrame({"x": x})
    said = Opinions.from_codes(codes, X.index, ["Ann", "Bob", "specialist"])
    cases = make_report(OwnPanel(said, X, {"x": "number"})).cases()
    names = cases.said.instances
    assert (codes[names].max(axis=1) == 0).all()
    silent = (np.arange(len(names)), 1 - first[names])
    promised, true = cases.law()[(*silent, 1)].mean(), truth[names][silent].mean()
    assert promised == pytest.approx(true, abs=0.1)


def contradicted(panel, case):
    """The panel if everybody had said something else about a case."""
    said = panel.opinions
    here = said.instance_codes == said.instances.get_loc(case)
    labels = np.where(here, (said.label_codes + 1) % said.n_classes, said.label_codes)
    return replace(panel, opinions=replace(said, label_codes=labels))


@pytest.fixture(scope="module")
def judged_twice(panel):
    """Without new cases: at least two opinions about every instance, and some miss one."""
    several = panel.opinions.instances[panel.opinions.n_by_instance > 1][:60]
    return replace(panel, opinions=panel.opinions.select(several), X=panel.X.loc[several])


def test_habits_that_answer_about_a_case_learned_from_have_not_seen_it(judged_twice):
    learned = learning(judged_twice, None, np.random.default_rng(0)).instances
    some = learned[[3, 20, 30]]
    one, other = (make_report(p) for p in (judged_twice, contradicted(judged_twice, some[0])))
    log_p = one.cases(some).log_p
    np.testing.assert_array_equal(log_p[0], other.cases(some).log_p[0])
    np.testing.assert_array_equal(log_p[0], one.cases(some[:1]).log_p[0])  # whoever is beside it
    seen = [r.model.log_marginals(judged_twice.X.loc[some])[0] for r in (one, other)]
    assert np.abs(seen[0] - seen[1]).max() > 1e-4
    plain = np.exp(one.model.log_marginals(judged_twice.X.loc[some]))
    apart = [np.abs(np.exp(log_p) - np.roll(plain, shift, axis=1)).mean() for shift in range(5)]
    assert 2 * apart[0] < min(apart[1:])  # each expert's are near to her own
    bare = make_report(replace(judged_twice, X=judged_twice.X[[]], kinds={}))
    np.testing.assert_array_equal(
        bare.cases(some).log_p, bare.model.log_marginals(np.empty((3, 0)))
    )


def test_if_everybody_spoke_about_everything_words_say_that_nobody_is_left(panel):
    codes = np.random.default_rng(0).integers(2, size=(40, 4))
    names = [f"i{i:02}" for i in range(40)]
    said = Opinions.from_codes(codes, names, list("ABCD"), ["no", "yes"])
    report = make_report(replace(panel, opinions=said, X=pd.DataFrame(index=names), kinds={}))
    for cases in (report.cases(), report.cases(names[:2])):
        assert cases.some(4).disagreement().empty
        assert cases.some(8).asking().empty
        assert cases.some(4).remark().startswith("Nobody is left to ask: everybody who could")
        assert len(cases.at_a_glance()) == 4
    assert report.sizes()["new cases"] == 0
    assert len(report.learned) == 160


def test_what_is_not_told_about_cases_is_said(panel, report, judged_twice):
    assert report.cases().remark() == "8 case(s): 2 without an opinion, 6 with one, 0 with more."
    two = report.cases(panel.cases()[:2])
    assert two.disagreement().empty
    assert two.remark().endswith("Who would contradict is told only about cases with one opinion.")
    assert not two.asking().empty


def test_a_large_panel_is_learned_from_a_part(panel):
    k = panel.opinions.n_classes
    parts = [learning(panel, 100 * k, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert 90 < len(parts[0]) <= 100
    assert parts[0].instances.equals(parts[1].instances)
    assert not parts[0].instances.equals(parts[2].instances)
    assert parts[0].experts.equals(panel.opinions.experts)


def test_second_opinions_are_those_of_the_model(panel, report):
    cases = report.cases()
    names = panel.cases()
    said = panel.opinions.select(instances=names)
    law = report.model.infer(cases.log_p, said.labels, names.tolist())
    direct = second_opinions_table(law, names, report.model.experts_, report.model.classes_)
    pd.testing.assert_frame_equal(cases.second_opinions(), direct)
    ranked = disagreement_table(law[2:], said.labels[2:], names[2:], report.model.experts_)
    pd.testing.assert_frame_equal(cases.disagreement(), ranked)
    nobody = report.model.second_opinions(panel.X.loc[names[:2]], said.select(instances=names[:2]))
    pd.testing.assert_frame_equal(direct[direct["instance"].isin(names[:2])], nobody)


def test_what_asking_is_worth_is_what_the_model_says(panel, report):
    names = panel.cases()
    said = panel.opinions.select(instances=names)
    cases = report.cases()
    direct = value_of_asking(report.model, cases.log_p, said.labels, None, names)
    table = cases.asking()
    both = table.merge(direct, on=["instance", "expert"], suffixes=("", "_direct"))
    assert len(both) == len(table) == len(direct)
    np.testing.assert_allclose(both["differs"], both["differs_direct"])
    np.testing.assert_allclose(both["gain"], both["gain_direct"].clip(lower=0), atol=2e-9)
    best = table.groupby("instance", sort=False)["gain"]
    assert (best.first() == best.max()).all()


def test_at_a_glance_says_what_the_table_says(report):
    some = report.cases().some(4)
    glance = some.at_a_glance(n_experts=2)
    assert glance.shape == (3, 4)
    assert glance.index[0] == "Dr. 0"
    assert glance.loc["Dr. 0"].str.startswith("said 0").sum() == 2
    table = some.second_opinions().set_index(["instance", "expert", "label"])["probability"]
    words = glance.loc["Dr. 1", "new 1"]
    label = words.split()[0]
    assert words == f"{label} ({table['new 1', 'Dr. 1', label]:.2f})"
    assert table["new 1", "Dr. 1"].max() == table["new 1", "Dr. 1", label]


def test_every_ordered_pair_is_judged_once_and_copying_is_as_right_as_experts_agree(report):
    votes = report.learned.votes
    asked = votes.sum(axis=1)
    n_pairs = (asked * (asked - 1)).sum()
    assert len(report.pairs) == n_pairs
    agreeing = (votes * (votes - 1)).sum()
    assert report.worth.loc["copy", "accuracy"] == pytest.approx(agreeing / n_pairs)
    assert report.worth.index.tolist() == [GRADED, "marginals", "copy", TABLE]


def test_calibration_counts_every_label_of_every_opinion_once(report):
    table = report.calibration()
    learned = report.learned
    assert table["n"].sum() == len(learned) * learned.n_classes
    assert (table["said"] * table["n"]).sum() == pytest.approx(len(learned))
    assert (table["probability"] * table["n"]).sum() == pytest.approx(len(learned))


@pytest.mark.parametrize("words", [None, list("badce")])
def test_a_noise_that_knows_an_order_is_taken_if_there_is_one(tmp_path, words):
    """Numbers have one, words that of order=; otherwise they have none."""
    opinions, features = made_up(tmp_path, noise="gaussian")
    if words is not None:
        table = pd.read_csv(opinions, sep=";", encoding="utf-8-sig")
        table["label"] = table["label"].map(lambda grade: words[grade])
        table.to_csv(opinions, index=False)
        report = make_report(check_files(opinions, features).panel)
        assert report.model.noise_ == "gumbel"
    report = make_report(check_files(opinions, features, order=words).panel)
    assert report.model.noise_ == "gaussian"


def test_a_panel_on_which_it_does_not_help_is_told_so(tmp_path):
    report = make_report(check_files(made_up(tmp_path, 200, k=3, a=0.0)[0]).panel)
    assert not report.verdict().startswith("One opinion tells")
    pairs = report.pairs.copy()
    pairs[GRADED, "probability"] = 0.1
    assert "do NOT help" in replace(report, pairs=pairs).verdict()
    assert "Use the marginals" in replace(report, pairs=pairs).verdict()
    for last in (-1e-4, 1e-4):  # what is no difference in three digits is told as none
        pairs[GRADED, "probability"] = pairs["marginals", "probability"] * (1 + last)
        assert "0.000 to 0.000, holds 0" in replace(report, pairs=pairs).verdict()


def test_who_only_ever_says_one_label_has_no_sharing():
    codes = np.random.default_rng(0).integers(0, 2, (60, 4))
    codes[:, :2] = [0, 1]
    codes = np.insert(codes, 4, -1, axis=1)
    said = Opinions.from_codes(codes, experts=["no", "yes", "Ann", "Bob", "nobody"])
    panel = OwnPanel(said, pd.DataFrame(index=said.instances), {})
    one_group = [said.experts.tolist()]
    model = GradedSISCM(partition=one_group, sharing=0.5).fit(np.empty((60, 0)), said)
    table = Report(panel, said, model, pd.DataFrame()).sharing()["sharing"]
    assert table[table.notna()].to_dict() == {"Ann": 0.5, "Bob": 0.5}


def test_a_panel_on_which_a_mere_table_does_better_is_told_so(report):
    assert TABLE not in report.verdict()
    pairs = report.pairs.copy()
    for more, told in ((0.3, True), (0.0, False)):
        pairs[TABLE, "probability"] = pairs[GRADED, "probability"] * np.exp(more)
        verdict = replace(report, pairs=pairs).verdict()
        assert ("do better than graded sharing: the log-loss is lower by 0.3" in verdict) is told


def test_experts_alone_have_no_sharing_and_groups_have_names(report):
    one_each = [[name] for name in report.model.experts_]
    model = GradedSISCM(partition=one_each).fit(
        np.empty((len(report.learned.instances), 0)), report.learned
    )
    alone = replace(report, model=model)
    assert alone.sharing()[["sharing", "low", "high"]].isna().all(axis=None)
    plots_graded.draw_sharing(plt.figure().subplots(), alone.sharing(), alone.groups())
    plt.close("all")
    assert list(alone.groups(most=3)) == ["group 1", "group 2", "group 3", "smaller groups"]
    assert sorted(chain(*alone.groups().values())) == sorted(model.experts_)
    assert list(report.groups()) == ["one group of all"]


@pytest.mark.parametrize("features", [True, False])
def test_hs_brexit_runs_through(tmp_path, features):
    said, known = write_example(load_panel("HS-Brexit"), tmp_path)
    checked = check_files(said, known if features else None)
    assert (checked.problems["outcome"] == "look").all()
    report = make_report(checked.panel)
    assert report.verdict().startswith("One opinion tells")
    assert report.sizes()["new cases"] == (60 if features else 30)
    calibration = report.calibration()
    assert (calibration["said"] - calibration["probability"]).abs().max() < 0.1
    assert len(report.cases().second_opinions()) == report.sizes()["new cases"] * 6 * 2


@pytest.mark.slow
def test_md_agreement_runs_through_and_shows_few_of_its_experts(tmp_path, monkeypatch):
    monkeypatch.setattr("siscm.own_report.N_FOLDS", 2)
    checked = check_files(*write_example(load_panel("MD-Agreement"), tmp_path))
    assert checked.panel.kinds == {"text": "text", "domain": "category"}
    report = make_report(checked.panel, most_cells=8_000)
    assert report.sizes()["experts"] > 600
    assert len(report.sharing()) == MOST_SHOWN
    least = report.n_opinions[report.shown].min()
    assert (report.n_opinions.drop(report.shown) <= least).all()
    cases = report.cases(checked.panel.cases()[28:32])
    assert cases.said.votes.sum() == 2
    assert MOST_SHOWN <= len(cases.said.experts) <= MOST_SHOWN + 2
    assert cases.asking()["expert"].isin(report.shown).all()
    names = cases.said.instances
    direct = report.model.second_opinions(
        checked.panel.X.loc[names], checked.panel.opinions.select(instances=names)
    )
    found = cases.second_opinions().merge(direct, on=["instance", "expert", "label"])
    assert len(found) == cases.log_p.size
    np.testing.assert_allclose(found["probability_x"], found["probability_y"])


def test_the_example_keeps_the_test_part_closed(tmp_path):
    panel = load_panel("HS-Brexit")
    tables = [pd.read_csv(path) for path in write_example(panel, tmp_path, n_new=10)]
    for table in tables:
        assert set(panel.instances.loc[table["instance"], "split"]) == {"train", "dev"}
    said, known = tables
    counts = said["instance"].value_counts()
    assert (counts[counts.index.str.startswith("dev")] == 1).all()
    assert said.loc[said["instance"].str.startswith("dev"), "expert"].nunique() == 5
    assert len(known) == len(counts) + 5


def test_a_page_says_your_data_as_soon_as_one_file_is_yours(tmp_path):
    said, known, mine = tmp_path / "ex" / "a.csv", tmp_path / "ex" / "b.csv", tmp_path / "c.csv"
    assert kind_of(said, known, example=tmp_path / "ex") == "simulated"
    assert kind_of(said, None, example=tmp_path / "ex") == "simulated"
    assert kind_of(said, mine, example=tmp_path / "ex") == "own"
    assert kind_of(mine, None, example=tmp_path / "ex") == "own"
    assert repr(pages.banner("own")).startswith("YOUR DATA")


@pytest.mark.parametrize("features", [True, False])
def test_two_lines_of_the_page_are_enough(tmp_path, features):
    mpl.use("agg")
    said, known = made_up(tmp_path)
    cells = [cell.source for cell in jupytext.read(PAGE).cells if cell.cell_type == "code"]
    own = next(i for i, cell in enumerate(cells) if "MD-Agreement" in cell)
    changed = 0
    lines = []
    for line in "\n".join(cells[:own]).splitlines():
        for name, path in (("OPINIONS", said), ("FEATURES", known if features else None)):
            if line.startswith(f"{name} = "):
                line = f"{name} = {None if path is None else str(path)!r}"
                changed += 1
        lines.append(line)
    assert changed == 2
    scope = {}
    exec("\n".join(lines), scope)
    plt.close("all")
    assert scope["kind"] == "own"
    assert scope["report"].panel.opinions.instances[-1] == ("new 2" if features else "0099 é")
    assert len(pd.read_csv(scope["path"])) == len(scope["table"])
    scope["here"].cleanup()


def test_one_instance_with_two_opinions_is_too_few_to_judge_by(panel):
    said = panel.opinions
    (met, *_), alone = np.flatnonzero(said.n_by_instance > 1), said.n_by_instance < 2
    some = said.select(instances=said.instances[alone | (np.arange(len(alone)) == met)])
    with pytest.raises(ValueError, match=r"1 instance\(s\) have two opinions or more"):
        out_of_fold(panel, some, np.random.default_rng(0))


@pytest.mark.parametrize(("n_texts", "columns"), [(2, ["age"]), (5, ["age", "comment"])])
def test_a_comment_that_most_cases_lack_stops_no_report(tmp_path, n_texts, columns):
    rng = np.random.default_rng(0)
    ids, age = [f"c{i}" for i in range(60)], rng.normal(size=60)
    said = [
        (one, expert, x + rng.logistic() > 0)
        for one, x in zip(ids, age, strict=True)
        for expert in "ABC"
    ]
    said += [(f"alone {i}", "A", True) for i in range(n_texts)]
    comment = {f"alone {i}": "this case was hard to judge" for i in range(1, n_texts)}
    comment["c3"] = "please look at the second page"
    known = pd.DataFrame({"instance": [*ids, *(f"alone {i}" for i in range(n_texts))]})
    known["age"] = [*age, *range(n_texts)]
    known["comment"] = known["instance"].map(comment)
    known.to_csv(tmp_path / "known.csv", index=False)
    pd.DataFrame(said, columns=["instance", "expert", "label"]).to_csv(
        tmp_path / "said.csv", index=False
    )
    panel = check_files(
        tmp_path / "said.csv", tmp_path / "known.csv", kinds={"comment": "text"}
    ).panel
    assert list(panel.X.columns) == columns
    assert make_report(panel).sizes()["features"] == len(columns)


def told(groups, sharing, codes):
    """A report of a model of which only groups and sharing are known."""
    experts = list(sharing)
    table = pd.DataFrame({"sharing": sharing, "low": 0.0, "high": 1.0}).loc[experts]
    learned = Opinions.from_codes(codes, experts=experts)
    return Report(None, learned, SimpleNamespace(partition_=groups, sharing_=table), None)


def test_who_gave_most_opinions_is_shown_in_the_order_of_all(monkeypatch):
    codes = [[0, -1, 0, 0], [1, -1, 1, -1], [0, 1, 1, -1], [-1, -1, 0, -1]]
    report = told(
        [["Ann", "Bob", "Cy", "Dee"]], dict.fromkeys(["Ann", "Bob", "Cy", "Dee"], 0.5), codes
    )
    assert report.n_opinions.tolist() == [3, 1, 4, 1]
    for most, shown in ((2, ["Ann", "Cy"]), (3, ["Ann", "Bob", "Cy"])):
        monkeypatch.setattr("siscm.own_report.MOST_SHOWN", most)
        other = replace(report)
        assert other.shown.tolist() == shown
        assert sorted(other.sharing().index) == shown
        assert len(other.sharing(everybody=True)) == 4


def test_sharing_is_by_group_from_the_largest_and_of_who_is_alone_there_is_none():
    sharing = {"Ann": 0.2, "Bob": 0.7, "Cy": 0.9, "Dee": 0.5, "Eve": 0.3, "Flo": 0.4}
    groups = [["Bob"], ["Ann", "Cy", "Dee"], ["Eve", "Flo"]]
    report = told(groups, sharing, [[0] * 6, [1] * 6])
    table = report.sharing()
    assert table["group"].to_dict() == {"Cy": 1, "Dee": 1, "Ann": 1, "Flo": 2, "Eve": 2, "Bob": 3}
    assert table.index.tolist() == ["Cy", "Dee", "Ann", "Flo", "Eve", "Bob"]
    assert table.index[table["sharing"].isna()].tolist() == ["Bob"]
    assert report.groups(most=2) == {
        "group 1": ["Cy", "Dee", "Ann"],
        "group 2": ["Flo", "Eve"],
        "smaller groups": ["Bob"],
    }


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.01, 0.03), "One opinion tells"),
        ((-0.01, 0.05), "It is open"),
        ((-0.05, 0.01), "It is open"),
        ((-0.03, -0.01), "Second opinions do NOT help"),
    ],
)
def test_the_verdict_is_open_as_long_as_the_interval_holds_nothing(ends, words):
    report = told([["Ann", "Bob"]], {"Ann": 0.5, "Bob": 0.5}, [[0, 1]])
    low, high = ends
    row = {"log_loss_more": sum(ends) / 2, "log_loss_more_low": low, "log_loss_more_high": high}
    report.__dict__["worth"] = pd.DataFrame(row, index=["marginals", TABLE])
    assert report.verdict().startswith(words)
    assert "a mere table" not in report.verdict()  # no better than the marginals
    report.__dict__["worth"].loc[TABLE] -= 1
    assert "a mere table" in report.verdict()


def panel_of(n_twice, n_once, n_never=0):
    """Two experts, who both speak about the first instances; one feature."""
    codes = [[0, 1]] * n_twice + [[0, -1]] * n_once + [[-1, -1]] * n_never
    opinions = Opinions.from_codes(codes)
    return OwnPanel(opinions, pd.DataFrame({"u": 0.0}, index=opinions.instances), {})


def test_whatever_has_an_opinion_is_learned_from():
    found = learning(panel_of(4, 9, n_never=2), None, np.random.default_rng(0))
    assert found.instances.tolist() == list(range(13))


def test_of_many_cases_with_one_opinion_those_judged_twice_are_kept():
    found = learning(panel_of(6, 300), 20, np.random.default_rng(0))
    assert (found.n_by_instance > 1).sum() == 6


def test_of_the_largest_panel_six_instances_are_learned_from():
    found = learning(panel_of(30, 0, 1), 1, np.random.default_rng(0))
    assert len(found.instances) == 6


@pytest.mark.parametrize(("n_twice", "n_folds"), [(2, 2), (7, 3)])
def test_every_meeting_is_judged_once_by_who_has_not_seen_it(monkeypatch, n_twice, n_folds):
    said, parts = panel_of(n_twice, 3).opinions, []

    def fitted(panel, train):
        return SimpleNamespace(log_marginals=lambda X, test: train)

    def judged(rules, train, test):
        parts.append(test.instances.tolist())
        assert sorted([*train.instances, *test.instances]) == list(range(n_twice + 3))
        return pd.DataFrame({"instance": test.instances})

    monkeypatch.setattr("siscm.own_report._fitted", fitted)
    monkeypatch.setattr("siscm.own_report.graded", lambda model: None)
    monkeypatch.setattr("siscm.own_report.fit_times_table", lambda *_: None)
    monkeypatch.setattr("siscm.own_report.judged", judged)
    for seed in range(5):
        found = out_of_fold(panel_of(n_twice, 3), said, np.random.default_rng(seed))
        assert sorted(found["instance"]) == list(range(n_twice))
    assert len(parts) == 5 * n_folds
    assert len({tuple(sorted(part)) for part in parts}) > n_folds or n_twice == 2


def test_a_report_is_drawn_from_its_seed(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "siscm.own_report.learning", lambda panel, most, rng: drawn.append(rng.random())
    )
    monkeypatch.setattr("siscm.own_report.out_of_fold", lambda *_: None)
    monkeypatch.setattr("siscm.own_report._fitted", lambda *_: None)
    for seed in (0, 5):
        make_report(None, random_state=seed)
    assert drawn == [np.random.default_rng(seed).random() for seed in (0, 5)]
