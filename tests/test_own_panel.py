"""Each problem of a user's files is named, with its place, and mended or left out as it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siscm import Opinions
from siscm.beyond.own_features import RARE, marginals_for
from siscm.beyond.own_files import Problems
from siscm.own_panel import OwnPanel, _thin_places, check_files

SAID = [
    (f"{i:03d}", expert, (i * j) % 7 % 2)
    for i in range(30)
    for j, expert in enumerate(["Ann", "Bob", "Cleo"], start=2)
]
FEATURES = {
    "age": [20 + (7 * i) % 30 for i in range(30)],
    "ward": ["north" if i % 3 else "south" for i in range(30)],
    "notes": [f"seen on day {i} with word{i % 4} and pain" for i in range(30)],
}


def said_table(rows=()):
    return pd.DataFrame([*SAID, *rows], columns=["instance", "expert", "label"])


def features_table(**columns):
    return pd.DataFrame({"instance": [f"{i:03d}" for i in range(30)], **FEATURES, **columns})


@pytest.fixture
def check(tmp_path):
    def checked(said=None, features=None, **options):
        said = said_table() if said is None else said
        paths = []
        for name, table in (("said.csv", said), ("known.csv", features)):
            paths.append(None if table is None else tmp_path / name)
            if table is not None:
                table.to_csv(tmp_path / name, index=False)
        return check_files(*paths, **options)

    return checked


def only(checked, part):
    """The one problem whose words hold some part."""
    found = checked.problems[checked.problems["problem"].str.contains(part, regex=False)]
    assert len(found) == 1, checked.problems["problem"].tolist()
    return found.iloc[0]


def test_clean_files_have_no_problem_and_nothing_is_changed(check):
    checked = check(features=features_table())
    assert checked.problems.empty
    panel = checked.panel
    expected = said_table().astype(str).sort_values(["instance", "expert"], ignore_index=True)
    pd.testing.assert_frame_equal(panel.opinions.to_long().astype(object), expected.astype(object))
    assert panel.opinions.instances[7] == "007"
    assert panel.kinds == {"age": "number", "ward": "category", "notes": "text"}
    assert panel.X["age"].tolist() == FEATURES["age"]


def test_the_order_of_the_rows_does_not_matter(check):
    one = check(features=features_table()).panel
    other = check(said_table().sample(frac=1, random_state=0), features_table()[::-1]).panel
    pd.testing.assert_frame_equal(one.X, other.X)
    pd.testing.assert_frame_equal(one.opinions.to_long(), other.opinions.to_long())


OPINION_PROBLEMS = {
    "repeat an equal one": ("mended", "row 92", [("000", "Ann", 0)], 90),
    "contradict themselves": (
        "left out",
        "expert 'Ann' about '000': 0 / 1 (row 2, row 92)",
        [("000", "Ann", 1)],
        89,
    ),
    "rows without an instance": ("left out", "row 92", [("", "Ann", 1)], 90),
    "rows without an expert": ("left out", "row 92", [("000", "NA", 1)], 90),
    "rows without a label": ("left out", "row 92, row 93", [("9", "Ann", ""), ("9", "B", "")], 90),
    "experts that differ only by spaces": (
        "mended",
        "'Ann  Lee' / 'Ann Lee'",
        [("000", "Ann  Lee", 1), ("001", "Ann Lee", 1)],
        92,
    ),
    "experts that differ only by upper and lower case: kept apart": (
        "look",
        "'Ann' / 'ann'",
        [("000", "ann", 1)],
        91,
    ),
    "labels used only once": ("look", "odd", [("000", "Dan", "odd")], 91),
    "labels that are one number": ("mended", "'1' / '1.0'", [("000", "Dan", "1.0")], 91),
    "experts with fewer than 5 opinions": ("look", "Dan", [("000", "Dan", 1)], 91),
    "experts who met nobody": ("look", "Dan", [("xyz", "Dan", 1)], 91),
    "instances with one opinion": ("look", "xyz", [("xyz", "Dan", 1)], 91),
    "experts who only ever say one label": (
        "look",
        "E",
        [(f"{i:03d}", "E", 1) for i in range(9)],
        99,
    ),
}


@pytest.mark.parametrize("problem", OPINION_PROBLEMS)
def test_a_problem_of_the_opinions_is_named_with_its_place(check, problem):
    outcome, where, rows, n_left = OPINION_PROBLEMS[problem]
    checked = check(said_table(rows))
    found = only(checked, problem)
    assert (found["outcome"], found["where"]) == (outcome, where)
    assert found["how many"] == where.count(", row") * ("(" not in where) + 1
    assert found["file"] == "said.csv"
    assert found["what to do"]
    assert len(checked.panel.opinions) == n_left


def test_labels_that_differ_by_case_are_merged_into_the_usual_spelling(check):
    table = said_table([("000", "Dan", "YES")]).replace({"label": {0: "no", 1: "yes"}})
    checked = check(table)
    assert only(checked, "labels that differ only by")["where"] == "'YES' / 'yes'"
    assert list(checked.panel.opinions.classes) == ["no", "yes"]


def test_several_problems_are_all_named(check):
    rows = [rows for _, _, some, _ in OPINION_PROBLEMS.values() for rows in some]
    found = check(said_table(rows)).problems
    assert len(found) >= 8
    order = ["fatal", "left out", "mended", "look"]
    assert found["outcome"].map(order.index).is_monotonic_increasing


FATAL = {
    "no column 'label'": said_table().rename(columns={"label": "verdict"}),
    "everybody says '1'": said_table().assign(label=1),
    "all opinions are by 'Ann'": said_table().query("expert == 'Ann'"),
    "no two experts have an instance": said_table().iloc[::3].assign(expert=["A", "B"] * 15),
    "fewer than 4 instances": said_table().iloc[:9],
    "no row is complete": said_table().assign(expert=None),
    "no opinion is left": pd.concat([said_table(), said_table().eval("label = 1 - label")]),
    "different labels": said_table().assign(label=range(90)),
    "no column 'expert', 'label'; it has 'instance', 'Ann', 'Bob', 'Cleo', 'mean'": said_table()
    .pivot(index="instance", columns="expert", values="label")
    .assign(mean=0.5)
    .reset_index(),
}


@pytest.mark.parametrize("problem", FATAL)
def test_a_fatal_problem_is_an_error_that_names_file_and_remedy(check, problem):
    checked = check(FATAL[problem])
    found = only(checked, problem)
    assert found["outcome"] == "fatal"
    with pytest.raises(ValueError, match=r"^said\.csv: ") as error:
        _ = checked.panel
    assert found["problem"] in str(error.value)
    assert found["what to do"] in str(error.value)
    assert error.value.__cause__ is None


def test_a_column_cannot_be_both_the_instances_and_the_experts(check):
    found = only(check(expert="instance"), "one column stands for two of instance, expert, label")
    assert found["outcome"] == "fatal"
    assert found["what to do"] == "Name three different columns."


def test_all_fatal_problems_are_named_at_once(tmp_path, check):
    checked = check(
        said_table().assign(label=1).iloc[::3], features_table().drop(columns="instance")
    )
    fatal = checked.problems[checked.problems["outcome"] == "fatal"]
    assert len(fatal) == 4
    with pytest.raises(ValueError, match=r"known\.csv: no column 'instance'") as error:
        _ = checked.panel
    assert len(str(error.value).splitlines()) == 4


def test_columns_that_are_not_used_are_named(check):
    found = only(check(said_table().assign(age=3, note="x")), "columns that are not used")
    assert (found["outcome"], found["where"]) == ("look", "column age, column note")
    assert "file of features" in found["what to do"]


def test_other_column_names_are_found_or_given(check):
    said = said_table().set_axis(["case", "Expert ", "verdict"], axis=1)
    checked = check(said, instance="case", label="verdict")
    assert only(checked, "no column 'expert'")["outcome"] == "mended"
    assert len(checked.panel.opinions) == 90


@pytest.mark.parametrize(
    ("columns", "problem", "outcome", "where"),
    [
        ({"same": [1] * 30}, "hold one value", "left out", "column same"),
        ({"void": [None] * 30}, "hold one value", "left out", "column void"),
        ({"twin": FEATURES["age"]}, "equal to one before", "left out", "column twin (= age)"),
        ({"id": [f"x{i}y" for i in range(30)]}, "values mostly differ", "left out", "column id"),
        ({"dose": [1.5, None, *range(28)]}, "'dose': gaps", "mended", "row 3"),
        ({"dose": ["inf", *range(29)]}, "'dose': infinite", "mended", "row 2"),
        ({"dose": ["1e101", *range(29)]}, "beyond 1e100", "mended", "row 2"),
        ({"dose": ["-1e101", *range(29)]}, "beyond 1e100", "mended", "row 2"),
        ({"dose": ["?", *range(29)]}, "'dose': values that are no", "mended", "row 2"),
        (
            {"kin": [None, *"abc" * 9, "a", "b"]},
            "'kin': gaps, taken for a",
            "mended",
            "row 2",
        ),
        (
            {"story": [None, *[f"a b c d e{i}" for i in range(29)]]},
            "empty texts",
            "mended",
            "row 2",
        ),
    ],
)
def test_a_problem_of_a_column_is_named(check, columns, problem, outcome, where):
    checked = check(features=features_table(**columns))
    found = only(checked, problem)
    assert (found["outcome"], found["where"], found["file"]) == (outcome, where, "known.csv")
    X = checked.panel.X
    assert not X.isna().any(axis=None)
    assert set(columns) <= set(X.columns) or outcome == "left out"


def test_gaps_of_numbers_get_the_median_and_a_column_of_their_own(check):
    dose = [None, "1,5", "2,5", "9,0", *["2,5"] * 26]
    panel = check(features=features_table(dose=dose)).panel
    assert panel.X["dose"].tolist()[:4] == [2.5, 1.5, 2.5, 9.0]
    assert panel.X["dose is missing"].tolist() == [1.0] + [0.0] * 29


def test_medians_come_from_instances_with_opinions_only(check):
    more = features_table().iloc[:5].assign(instance=list("abcde"), dose=1000)
    table = pd.concat([features_table(dose=[None, *range(1, 30)]), more])
    panel = check(features=table).panel
    assert panel.X.loc["000", "dose"] == 15
    assert list(panel.cases()) == list("abcde")


def test_problems_of_the_ids_of_features(check):
    again = features_table().iloc[[3, 4]].assign(age=[FEATURES["age"][3], 99])
    table = pd.concat([features_table().iloc[:28], again])
    table = pd.concat(
        [table, table.iloc[[0]].assign(instance=""), table.iloc[[0]].assign(instance="new")]
    )
    checked = check(features=table)
    assert only(checked, "rows that repeat")["where"] == "row 30"
    assert only(checked, "described again")["where"] == "row 31"
    assert only(checked, "rows without an instance")["where"] == "row 32"
    assert only(checked, "without opinions")["where"] == "row 33"
    assert only(checked, "without features")["where"] == "028, 029"
    assert len(checked.panel.opinions) == 28 * 3
    assert checked.panel.X.loc["004", "age"] == FEATURES["age"][4]
    assert checked.panel.cases().tolist() == ["new"]


def test_ids_that_lost_their_zeros_are_pointed_out(check):
    table = features_table()
    table["instance"] = table["instance"].str.lstrip("0").replace("", "0")
    checked = check(features=table.iloc[1:10])
    found = only(checked, "no instance with opinions is in the file of features")
    assert found["where"].startswith("000, 001, 002 and")
    assert "there, the first is '1'" in found["what to do"]
    checked = check(features=table.assign(instance=[f"{i}x" for i in range(30)]))
    with pytest.raises(ValueError, match="no instance with opinions is in the file of features"):
        _ = checked.panel


def test_ids_that_became_floats_are_whole_again(check):
    table = features_table(instance=[f"{i + 1}.0" for i in range(30)])
    said = said_table()
    said["instance"] = (said["instance"].astype(int) + 1).astype(str)
    checked = check(said, table)
    assert only(checked, "written as 1.0")["how many"] == 30
    assert len(checked.panel.opinions) == 90


def test_no_message_holds_what_a_feature_says(check):
    secret = "unspeakable"
    odd = [secret, *range(29)]
    words = [f"{secret} of case {i}" for i in range(30)]
    table = features_table(odd=odd, words=words, tag=[f"{secret}{i}" for i in range(30)])
    checked = check(features=pd.concat([table, table.iloc[[1]].assign(odd=5)]))
    assert len(checked.problems) >= 3
    assert secret not in checked.problems.to_string()


@pytest.mark.parametrize("end", ["said", "and one more"])
def test_a_text_of_several_lines_without_quotes_is_in_no_message_and_no_case(check, tmp_path, end):
    path = tmp_path / "broken.csv"
    body = "\n".join(f"{i:03d},of case {i} was\nunspeakable{i} {end}" for i in range(30))
    path.write_text(f"instance,words\n{body}")
    check()
    checked = check_files(tmp_path / "said.csv", path)
    assert "unspeakable" not in checked.problems.to_string()
    found = only(checked, "rows without features about instances without opinions")
    assert (found["outcome"], found["how many"]) == ("left out", 30)
    assert found["where"].startswith("row 3, row 5, row 7 and")
    assert len(checked.panel.X) == 30


@pytest.mark.parametrize(
    "texts", [["unspeakable"] * 2, ["unspeakable", "so unspeakable, my friend"]]
)
def test_a_file_without_a_header_tells_no_cell(check, tmp_path, texts):
    path = tmp_path / "bare.csv"
    pd.DataFrame([["000", *texts], ["001", "a", "b"]]).to_csv(path, header=False, index=False)
    check()
    for checked in (check_files(tmp_path / "said.csv", path), check_files(path)):
        found = only(checked, "no column 'instance'")
        assert "column(s)" in found["problem"]
        assert "header" in found["what to do"]
        assert "unspeakable" not in checked.problems.to_string()


def test_ids_that_may_be_texts_are_told_by_their_rows_or_length(check):
    texts = [f"an unspeakable thing happened on day {i}" for i in range(30)]
    said = said_table().iloc[:87]
    said["instance"] = np.repeat(texts[:29], 3)
    alone = pd.DataFrame([(texts[29], "Ann", 1)], columns=said.columns)
    odd = said.iloc[[0]].assign(label=1 - said["label"].iloc[0])
    spelt = said.iloc[[3]].assign(instance=texts[1].upper())
    checked = check(pd.concat([said, alone, odd, spelt]), features_table(instance=texts))
    assert "unspeakable" not in checked.problems.to_string().casefold()
    assert only(checked, "with one opinion")["where"].startswith("a name of 39 characters")
    assert only(checked, "upper and lower case")["where"] == "row 5 / row 91"
    assert "'Ann' about 'a name of" in only(checked, "contradict themselves")["where"]


def test_opinions_are_no_features(check):
    said = said_table()
    found = only(check(said, said), "looks like opinions: it has the columns 'expert' and 'label'")
    assert found["outcome"] == "fatal"
    assert found["what to do"].endswith("or set FEATURES = None.")
    named = said.set_axis(["case", "Doctor", "grade"], axis=1)
    names = {"instance": "case", "expert": "doctor", "label": "grade"}
    only(check(named, named, **names), "it has the columns 'doctor' and 'grade'")
    only(check(said, said.drop(columns="expert")), "several rows that differ")
    few = pd.concat([features_table(), features_table(age=range(30)).iloc[:15]])
    assert only(check(features=few), "described again")["outcome"] == "mended"


@pytest.mark.parametrize("kind", ["number", "category", "text"])
def test_the_kind_of_a_column_can_be_given(check, kind):
    stage = [f"{i % 3 + 10} or so" if kind == "text" else i % 3 for i in range(30)]
    checked = check(features=features_table(stage=stage), kinds={"stage": kind})
    assert checked.panel.kinds["stage"] == kind


def test_a_wrong_kind_is_refused(check):
    for kinds in ({"agee": "number"}, {"age": "numbers"}):
        with pytest.raises(ValueError, match="kinds= names"):
            _ = check(features=features_table(), kinds=kinds).panel


def test_labels_get_their_order_from_their_values_or_the_user(check):
    five = said_table().assign(label=[(3 * i) % 11 for i in range(90)])
    panel = check(five).panel
    assert list(panel.opinions.classes) == [str(i) for i in range(11)]
    assert panel.opinions.ordered
    words = said_table().assign(label=np.resize(["mild", "Severe", "none"], 90))
    assert not check(words).panel.opinions.ordered
    panel = check(words, order=["none", "mild", "severe", "deadly"]).panel
    assert list(panel.opinions.classes) == ["none", "mild", "Severe", "deadly"]
    assert panel.opinions.ordered
    for order, trouble in ((["mild"], "not in order="), (["mild", "Mild"], "not in order=")):
        with pytest.raises(ValueError, match=trouble):
            _ = check(words, order=order).panel
    with pytest.raises(ValueError, match="names a label twice"):
        _ = check(words, order=["none", "mild", "severe", "none"]).panel


def test_new_cases_are_those_with_few_opinions_the_fewest_first(check):
    rows = [("one", "Ann", 1)]
    more = pd.concat([features_table(), features_table().iloc[:2].assign(instance=["one", "zero"])])
    panel = check(said_table(rows), more).panel
    assert panel.cases().tolist() == ["zero", "one"]
    assert panel.cases(few=0).tolist() == ["zero"]


def test_for_want_of_new_cases_those_with_fewest_opinions_but_none_fully_judged(check):
    assert check().panel.cases().empty  # nobody is left to ask
    assert check(said_table().iloc[:-1]).panel.cases().tolist() == ["029"]
    fewer = said_table().drop(index=[1, 10, 20, 21, 30])
    assert check(fewer).panel.cases().tolist() == ["000", "003", "006"]


@pytest.mark.parametrize("role", ["instance", "expert", "label"])
def test_a_cell_of_marks_that_nobody_sees_is_empty(check, role):
    said = said_table().astype(object)
    said.loc[0, role] = "\ufeff \u200b"
    found = check(said).problems
    article = "a" if role == "label" else "an"
    (where,) = found.loc[found["problem"] == f"rows without {article} {role}", "where"]
    assert where == "row 2"


def test_experts_called_by_no_digits_keep_their_names(check):
    """Where whole numbers are made of 1.0, nothing would be left of .0, which is one too."""
    named = said_table().replace({"expert": {"Ann": ".0", "Bob": "1.0"}})
    experts = check(named[named["expert"].isin([".0", "1.0"])]).panel.opinions.experts
    assert list(experts) == [".0", "1.0"]


TEXT = st.text(st.sampled_from('01 ab",;\n.né'), max_size=4)


@given(st.lists(st.lists(TEXT, min_size=2, max_size=4), max_size=8), st.booleans())
def test_whatever_the_files_hold_there_is_a_panel_or_a_named_error(tmp_path_factory, cells, known):
    folder = tmp_path_factory.getbasetemp()
    body = "\n".join(",".join(row) for row in cells)
    (folder / "said.csv").write_text(f"instance,expert,label\n{body}", "utf-8")
    (folder / "known.csv").write_text(f"instance,a,b\n{body}", "utf-8")
    checked = check_files(folder / "said.csv", folder / "known.csv" if known else None)
    if (checked.problems["outcome"] == "fatal").any():
        with pytest.raises(ValueError, match=r"\.csv: "):
            _ = checked.panel
    else:
        assert len(checked.panel.opinions) > 1


@pytest.mark.parametrize("order", [[3, 1, 2], [3.0, 1.0, 2.0], ["3.0", "1.0", "2.0"]])
def test_an_order_of_numbers_may_be_spelt_as_in_the_file_or_otherwise(check, order):
    grades = said_table().assign(label=np.resize(["1.0", "2.0", "3.0"], 90))
    assert list(check(grades, order=order).panel.opinions.classes) == ["3", "1", "2"]


def test_features_of_nobody_are_no_features(check):
    checked = check(features=features_table().assign(instance=""))
    assert (
        only(checked, "no instance with opinions is in the file of features")["outcome"] == "fatal"
    )


def test_where_gaps_were_takes_no_column_of_the_users_away(check):
    own = [i * i % 11 for i in range(30)]
    features = features_table(**{"dose is missing": own, "dose": [None, *range(1, 30)]})
    assert check(features=features).panel.X["dose is missing"].tolist() == own


def labelled(*labels):
    """The table of opinions with these labels in turn."""
    table = said_table()
    return table.assign(label=[labels[i % len(labels)] for i in range(len(table))])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1234567890124", "1234567890123"], ["1234567890123", "1234567890124"]),
        (
            ["900000000000207013", "900000000000207008"],
            ["900000000000207008", "900000000000207013"],
        ),
        (["2", "1_0", "10"], ["10", "1_0", "2"]),  # Python would read 1_0 as ten
    ],
)
def test_labels_that_only_look_alike_stay_apart(check, labels, classes):
    checked = check(labelled(*labels))
    assert "mended" not in set(checked.problems["outcome"])
    assert list(checked.panel.opinions.classes) == classes


@pytest.mark.parametrize("labels", [["-0", "0.0", "0", "1"], ["0.30000000000000004", "0.3", "1"]])
def test_labels_that_are_one_number_are_one(check, labels):
    checked = check(labelled(*labels))
    assert only(checked, "one number written in two ways")["outcome"] == "mended"
    assert list(checked.panel.opinions.classes) == ["0" if "0" in labels else "0.3", "1"]


def test_a_mark_that_may_part_thousands_is_to_be_looked_at(check):
    cost = ["900", "1,250", "12,500", "80"] + [str(i) for i in range(26)]
    for mark in ",.":
        marked = [cell.replace(",", mark) for cell in cost]
        found = only(check(features=features_table(cost=marked)), f"numbers with a {mark!r}")
        assert (found["outcome"], found["where"]) == ("look", "row 3, row 4")
    either = ["900", "1,250", "12.500", "80"] + [str(i) for i in range(26)]
    assert only(check(features=features_table(cost=either)), "numbers with")["outcome"] == "look"
    decimal = ["900", "1,25", "12,500", "80"] + [str(i) for i in range(26)]
    assert check(features=features_table(cost=decimal)).problems.empty


@pytest.mark.parametrize("sure", ["12,345.60", "1,234,567", "-12,345.60"])
def test_one_number_can_show_that_commas_part_thousands(check, sure):
    """And with the two marks exchanged, that points do."""
    cost = ["900", "1,274", sure, "80"] + [str(i) for i in range(26)]
    checked = check(features=features_table(cost=cost))
    found = only(checked, "thousands parted by a ','")
    assert (found["outcome"], found["where"]) == ("mended", "row 3, row 4")
    expected = [900, 1274, float(sure.replace(",", "")), 80]
    assert checked.panel.X["cost"].tolist()[:4] == expected
    exchanged = [cell.translate(str.maketrans(",.", ".,")) for cell in cost]
    checked = check(features=features_table(cost=exchanged))
    assert only(checked, "thousands parted by a '.'")["where"] == "row 3, row 4"
    assert checked.panel.X["cost"].tolist()[:4] == expected
    both = check(features=features_table(cost=[*cost[:-1], "1.234,5"]))
    assert "row 4" in only(both, "values that are no numbers")["where"]


def test_a_header_that_stands_twice_is_no_opinion(check):
    said = said_table()
    twice = pd.concat([said, pd.DataFrame([said.columns], columns=said.columns), said.tail(0)])
    checked = check(twice)
    assert only(checked, "rows that repeat the header")["where"] == f"row {len(said) + 2}"
    assert "expert" not in checked.panel.opinions.experts


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff", "\u2060"])
def test_what_cannot_be_seen_makes_no_other_expert(check, unseen):
    said = said_table()
    said.loc[3, "expert"] = f"{said.loc[3, 'expert']}{unseen}"
    checked = check(said)
    assert only(checked, "experts that differ only by spaces")["outcome"] == "mended"
    assert list(checked.panel.opinions.experts) == sorted(set(said_table()["expert"]))


def test_a_quote_that_is_never_closed_is_to_be_looked_at(check):
    said = said_table()
    said.loc[3, "expert"] = "ann,1\ni62,bob"
    assert only(check(said), "experts that hold a line break")["where"] == "row 5"


@pytest.mark.parametrize("nothing", ["n/a", "#N/A", "Nan", "NA", "null"])
def test_no_value_is_no_label_however_it_is_written(check, nothing):
    said = said_table().astype({"label": object})
    said.loc[3, "label"] = nothing
    checked = check(said)
    assert only(checked, "rows without a label")["outcome"] == "left out"
    assert nothing not in map(str, checked.panel.opinions.classes)


def test_beside_decimal_points_a_comma_parts_thousands(check):
    cost = ["900.5", "1,250", "12,500", "80"] + [str(i) for i in range(26)]
    checked = check(features=features_table(cost=cost))
    found = only(checked, "thousands parted by a ','")
    assert (found["outcome"], found["where"]) == ("mended", "row 3, row 4")
    assert checked.panel.X["cost"].tolist()[:4] == [900.5, 1250, 12500, 80]


def test_any_name_of_a_column_can_be_the_instances(check):
    said, known = said_table(), features_table()
    said, known = (table.rename(columns={"instance": "self"}) for table in (said, known))
    assert check(said, known, instance="self").problems.empty


def test_accents_may_be_coded_in_either_way(check):
    one, other = "f\u00e4ll", "fa\u0308ll"
    for typed, held in ((one, other), (other, one)):
        said = labelled("no", "yes", held, "no").rename(columns={"instance": held})
        known = features_table(**{f"{held} 2": FEATURES["age"][::-1]})
        checked = check(
            said,
            known.rename(columns={"instance": held}),
            instance=typed,
            order=["no", "yes", typed],
            kinds={f"{typed} 2": "category"},
        )
        assert checked.problems.empty
        assert list(checked.panel.opinions.classes) == ["no", "yes", one]
        assert checked.panel.kinds[f"{one} 2"] == "category"


@pytest.mark.parametrize("order", [{"0", "1"}, frozenset({"0", "1"}), 3, "01"])
def test_an_order_that_is_no_list_is_refused(check, order):
    with pytest.raises(TypeError, match=r"order= must be a list of labels in their order; got"):
        check(order=order)


@pytest.mark.parametrize("kinds", [{"age": ["number"]}, {3: "number", "age": 4}])
def test_kinds_that_are_no_kinds_by_column_are_refused(check, kinds):
    with pytest.raises(ValueError, match=r"kinds= .*Give \{column: kind\}"):
        _ = check(features=features_table(), kinds=kinds).panel


@pytest.mark.parametrize("order", [None, ["1,5", "2", "10,5"], [1.5, 2, 10.5]])
def test_labels_with_a_decimal_comma_are_numbers(check, order):
    checked = check(labelled("1,5", "2", "10,5"), order=order)
    assert list(checked.panel.opinions.classes) == ["1.5", "2", "10.5"]
    assert checked.panel.opinions.ordered
    found = only(checked, "labels with a comma, read as a decimal one")
    assert (found["outcome"], found["where"]) == ("look", "'1,5', '10,5'")


@pytest.mark.parametrize("ending", [".0", ",0"])
def test_ids_with_a_decimal_point_or_comma_are_whole_again(check, ending):
    floats = said_table().assign(instance=[f"{i // 3 + 1}{ending}" for i in range(90)])
    checked = check(floats)
    assert only(checked, "written as 1.0")["how many"] == 30
    assert "1" in checked.panel.opinions.instances


def test_a_column_that_seldom_holds_words_is_left_out(check):
    seldom = ["this case was very hard", *[None] * 28, "please look at page two"]
    checked = check(features=features_table(comment=seldom))
    found = only(checked, "words to learn from in fewer than 5 texts")
    assert (found["outcome"], found["where"]) == ("left out", "column comment")
    assert "comment" not in checked.panel.X


def test_categories_and_words_with_accents_coded_in_either_way_are_one(check):
    one, other = "f\u00e4ll", "fa\u0308ll"
    ward = [[one, f" {other}", "flat"][i % 3] for i in range(30)]
    notes = [f"{other} on day {i} and pain" for i in range(30)]
    X = check(features=features_table(ward=ward, notes=notes)).panel.X
    assert X["ward"].tolist() == [one, one, "flat"] * 10
    assert X["notes"].iloc[0] == f"{one} on day 0 and pain"


def test_a_typographic_minus_is_a_minus(check):
    panel = check(
        labelled("\u22121", "0", "1", "1"), features_table(dose=[f"\u2212{i}" for i in range(30)])
    ).panel
    assert list(panel.opinions.classes) == ["-1", "0", "1"]
    assert panel.X["dose"].tolist() == [-i for i in range(30)]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([f"c{i // 2}" for i in range(30)], "category"),  # half as many values as cells
        (["a", "b", "c", *range(27)], "number"),  # nine in ten are numbers
        ([f"a b c d{i}" for i in range(30)], "text"),  # four words
    ],
)
def test_a_kind_is_guessed_at_its_threshold_too(check, column, kind):
    assert check(features=features_table(some=column)).panel.kinds["some"] == kind


def test_what_differs_on_new_cases_alone_tells_nothing(check):
    new = features_table().iloc[:1].assign(instance="new", site="other")
    checked = check(features=pd.concat([features_table(site="here"), new]))
    assert only(checked, "hold one value")["where"] == "column site"


def test_whether_there_is_a_value_is_a_category(check):
    panel = check(features=features_table(seen=["yes", None] * 15)).panel
    assert panel.X["seen"].tolist() == ["yes", ""] * 15


def test_where_gaps_were_is_a_column_only_if_it_differs_in_training(check):
    new = features_table().iloc[:1].assign(instance="new", dose=None)
    table = pd.concat([features_table(dose=list(range(30))), new])
    assert "dose is missing" not in check(features=table).panel.X
    odd = features_table(dose=["a", "b"] * 15)
    panel = check(features=odd, kinds={"dose": "number"}).panel
    assert panel.X["dose"].tolist() == [0.0] * 30
    assert "dose is missing" not in panel.X


def test_a_gap_is_told_once_and_what_is_infinite_gets_the_median(check):
    checked = check(features=features_table(dose=[None, *range(29)]))
    assert only(checked, "'dose'")["problem"].endswith("gaps, filled with the median")
    panel = check(features=features_table(dose=["inf", *range(29)])).panel
    assert panel.X["dose"].tolist() == [14, *range(29)]
    assert panel.X["dose is missing"].tolist() == [1, *[0] * 29]


def test_an_instance_with_opinions_may_lack_all_features(check):
    table = features_table().astype(object)
    table.loc[3, list(FEATURES)] = None
    panel = check(features=table).panel
    assert len(panel.opinions) == 90
    assert panel.X.loc["003", "age"] == np.median(np.delete(FEATURES["age"], 3))


def test_numbers_beside_categories_have_no_unit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=60), "ward": ["a", "b", "c"] * 20})
    codes = (X[["x"]].to_numpy() + rng.logistic(size=(60, 3)) > 0).astype(int)
    said, kinds = Opinions.from_codes(codes, X.index), {"x": "number", "ward": "category"}
    one, other = (
        marginals_for(known, kinds).fit(known, said).out_of_fold_
        for known in (X, X.assign(x=1000 * X["x"] + 7))
    )
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_category_is_rare_below_five_opinions():
    X = pd.DataFrame({"ward": ["five"] * RARE + ["four"] * (RARE - 1) + ["many"] * 20})
    (columns, _), *_ = (model.steps for model in marginals_for(X, {"ward": "category"}).base)
    encoder = columns[1].fit(X).named_transformers_["categories"]
    assert encoder.infrequent_categories_[0].tolist() == ["four"]


def test_gaps_do_not_hide_that_commas_part_thousands(check):
    cost = ["1,234,567", "1,274", *[None] * 28]
    checked = check(features=features_table(cost=cost), kinds={"cost": "number"})
    assert only(checked, "thousands parted by a ','")["where"] == "row 2, row 3"
    assert checked.panel.X["cost"].tolist()[:2] == [1234567, 1274]


def test_nine_numbers_in_ten_show_what_commas_part(check):
    cost = ["1,234,567", "1,274", *range(25), "?", "?", "a"]
    checked = check(features=features_table(cost=cost))
    assert only(checked, "thousands parted by a ','")["where"] == "row 2, row 3"


def test_after_a_zero_a_comma_is_a_decimal_one(check):
    dose = [f"0,{i}" for i in range(100, 130)]
    checked = check(features=features_table(dose=dose))
    assert checked.problems.empty
    assert checked.panel.X["dose"].iloc[0] == 0.1


# tests/beyond/test_own_files.py


def test_fifty_labels_are_not_too_many(check):
    said = said_table().assign(label=[f"grade {i % 50}" for i in range(90)])
    assert len(check(said).panel.opinions.classes) == 50


def test_features_that_stand_twice_are_no_opinions(check):
    twice = pd.concat([features_table()] * 2)
    assert only(check(features=twice), "rows that repeat an equal one")["how many"] == 30


def test_of_columns_that_differ_by_case_the_first_is_taken(check):
    said = said_table().rename(columns={"expert": "Expert"}).assign(EXPERT="somebody else")
    checked = check(said)
    assert only(checked, "no column 'expert'")["where"] == "column Expert"
    assert list(checked.panel.opinions.experts) == ["Ann", "Bob", "Cleo"]


@pytest.mark.parametrize(("usual", "odd"), [("YES", "yes"), ("yes", "YES")])
def test_the_usual_spelling_of_a_label_is_the_most_frequent(check, usual, odd):
    said = said_table().replace({"label": {0: "no", 1: usual}})
    said.loc[said.index[said["label"] == usual][0], "label"] = odd
    assert list(check(said).panel.opinions.classes) == sorted(["no", usual])


def test_numbers_keep_fifteen_digits(check):
    checked = check(labelled("1.2345678", "1.2345679"))
    assert list(checked.panel.opinions.classes) == ["1.2345678", "1.2345679"]


def test_minus_zero_is_zero(check):
    assert list(check(labelled("-0.0", "1")).panel.opinions.classes) == ["0", "1"]


def test_labels_written_as_whole_floats_are_no_problem(check):
    assert check(labelled("1.0", "2.0")).problems.empty


@pytest.mark.parametrize(("n", "new"), [(10, 1), (11, 2), (191, 20), (300, 20)])
def test_for_want_of_new_cases_a_tenth_is_taken_and_twenty_at_most(n, new):
    opinions = Opinions.from_codes(np.tile([0, 1, -1], (n, 1)))
    panel = OwnPanel(opinions, pd.DataFrame(index=opinions.instances), {})
    assert panel.cases().tolist() == list(range(new))


def thin(codes, classes=range(2)):
    """Where each problem is that leaves too little to learn from."""
    problems = Problems("said.csv")
    _thin_places(Opinions.from_codes(codes, classes=classes), problems)
    return problems.table().set_index("problem")["where"].to_dict()


def test_meetings_are_pairs_and_fifty_of_them_are_not_few():
    fifty = np.tile([0, 1, -1], (50, 1))
    three = [[0, 1, 1], *fifty[:47].tolist()]
    assert not any("pair(s)" in problem for problem in [*thin(fifty), *thin(three)])
    assert "only 49 pair(s) of opinions are about one instance" in thin(three[:-1])


def test_as_many_experts_as_instances_are_not_more():
    square = np.resize([0, 1, 1], (5, 5))
    assert not any("more experts" in problem for problem in thin(square))
    assert "more experts (5) than instances" in thin(square[:4])


def test_four_instances_with_two_opinions_are_enough():
    twice = [[0, 1], [1, 0], [0, 0], [1, 1], [0, -1]]
    assert "fewer than 4 instances have two opinions or more" not in thin(twice)
    assert "fewer than 4 instances have two opinions or more" in thin(twice[1:])


def test_five_opinions_are_not_few_and_of_who_gave_fewer_no_habit_is_told():
    """The first says 0 always, five times; the second four times 0; the third has met nobody."""
    codes = np.full((6, 4), -1)
    codes[:5, 0], codes[:4, 1], codes[5, 2], codes[:5, 3] = 0, 0, 1, [0, 1, 0, 1, 0]
    found = thin(codes)
    assert found["experts with fewer than 5 opinions"] == "1, 2"
    assert found["experts who only ever say one label"] == "0"
    assert found["experts who met nobody on an instance"] == "2"
    met = thin(np.where(np.arange(4) < 2, codes, -1)[:5])
    assert "0" not in met["experts who met nobody on an instance"].split(", ")


def test_a_label_used_once_is_not_one_that_nobody_used():
    found = thin([[0, 0, 1]] * 5 + [[0, 2, 1]], classes=range(4))
    assert found["labels used only once"] == "2"
    assert found["labels that nobody used"] == "3"


def test_an_instance_without_any_opinion_has_not_one():
    found = thin([[0, 1]] * 5 + [[0, -1], [-1, -1]])
    assert found["instances with one opinion"] == "5"
