"""CSV files are read cell by cell, and every trouble in one is named; no traceback from inside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siscm.beyond.own_files import Problems, plain_name, read_csv, some_of, told

WANTED = ["instance", "expert", "label"]


def read(tmp_path, content, wanted=WANTED):
    path = tmp_path / "said.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    problems = Problems(path.name)
    return read_csv(path, problems, wanted), problems.table()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separator_and_encoding_are_found_out(tmp_path, separator, encoding):
    text = "instance,expert,label\n007,José,1\n".replace(",", separator)
    table, problems = read(tmp_path, text.encode(encoding))
    assert table.to_numpy().tolist() == [["007", "José", "1"]]
    assert list(problems["problem"]) == (
        ["is not UTF-8, and was read as Windows-1252"] if encoding == "cp1252" else []
    )


def test_the_header_decides_on_the_separator_not_the_texts(tmp_path):
    table, _ = read(tmp_path, "id;words\n1;a, b, c, d\n", ["id"])
    assert table["words"].tolist() == ["a, b, c, d"]


@pytest.mark.parametrize(
    ("content", "trouble"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"instance,expert,label\n", "has a header, but no rows"),
        (b"PK\x03\x04\x14\0rest", "a spreadsheet perhaps, or an archive"),
        (b"a\0b,c\n1,2\n", "is no CSV"),
        (b'instance,expert,label\n1,Ann,0\n2,"Bob,1\n3,Ann,0\n', "row that begins at line 3"),
        (b'instance,expert,label\n1,"An"n,0\n', "row that begins at line 2"),
    ],
)
def test_what_is_no_csv_is_fatal_and_says_why(tmp_path, content, trouble):
    table, problems = read(tmp_path, content)
    assert table is None
    (row,) = problems.itertuples()
    assert row.outcome == "fatal"
    assert row.file == "said.csv"
    assert trouble in row.problem


def test_a_missing_file_and_a_folder_are_fatal(tmp_path):
    for path, reason in ((tmp_path / "no.csv", "no such file"), (tmp_path, "cannot be read")):
        problems = Problems(path.name)
        assert read_csv(path, problems, WANTED) is None
        with pytest.raises(ValueError, match=f"{path.name}: .*{reason}"):
            problems.refuse()


def test_rows_are_lines_of_the_file_even_after_a_cell_of_several_lines(tmp_path):
    text = 'id,words\r\n1,"two\r\nlines\u2028or three"\r\n\r\n2,short\r\n'
    table, problems = read(tmp_path, text, ["id"])
    assert table.index.tolist() == [2, 5]
    assert problems.empty


def test_cells_that_hold_nothing_are_missing_and_others_stay_text(tmp_path):
    table, _ = read(tmp_path, "instance,expert,label\n 01 ,NA,None\nnan,,1.0\n")
    assert table.isna().to_numpy().tolist() == [[False, True, False], [True, True, False]]
    assert table["instance"].iloc[0] == "01"
    assert table["label"].tolist() == ["None", "1.0"]


def test_unequal_rows_and_odd_columns_are_named(tmp_path):
    content = "instance,expert,label,expert,,\n1,Ann,0,x,,\n2,Bob\n3,Ann,1,y,z\n4,Ann,1,y,,,more\n"
    table, problems = read(tmp_path, content)
    assert list(table.columns) == WANTED
    assert table.index.tolist() == [2, 3]
    found = dict(zip(problems["problem"], problems["where"], strict=True))
    assert found["rows with more cells than the header's 4"] == "row 4, row 5"
    assert [where for what, where in found.items() if "fewer cells" in what] == ["row 3"]
    assert found["columns with the name of one before"] == "column 4"


def test_a_column_without_a_name_is_left_out(tmp_path):
    table, problems = read(tmp_path, ",instance,expert,label\n0,1,Ann,0\n")
    assert list(table.columns) == WANTED
    assert problems["where"].tolist() == ["column 1"]


def test_places_are_counted_and_the_first_are_named():
    assert some_of("abcde") == "a, b, c and 2 more"
    assert some_of("abc") == "a, b, c"
    problems = Problems("f")
    problems.add("look", "p", "a", range(7))
    problems.add("look", "nowhere, and so no problem", "a", [])
    problems.add("fatal", "q", "b")
    assert problems.table()["how many"].tolist() == [1, 7]
    assert problems.table()["outcome"].tolist() == ["fatal", "look"]


@given(st.binary(max_size=80))
def test_no_file_at_all_raises(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    problems = Problems(path.name)
    table = read_csv(path, problems, WANTED)
    assert (table is None) == problems.fatal


@pytest.mark.parametrize("content", [",,,\n,,,\n", ";\n", '"",""\n', "sep=;\n", "\x1c,"])
def test_separators_alone_are_an_empty_file(tmp_path, content):
    table, problems = read(tmp_path, content)
    assert table is None
    assert problems["problem"].tolist() == ["the file is empty"]


@pytest.mark.parametrize("hint", ["sep=;", "SEP=;", '"sep=;"', "sep=;\r"])
def test_a_line_that_tells_excel_the_separator_is_no_header(tmp_path, hint):
    content = f"{hint}\ncase;doctor;grade\na;b;1\n"
    table, problems = read(tmp_path, content, ["case", "doctor", "grade"])
    assert problems.empty
    assert table.to_dict("list") == {"case": ["a"], "doctor": ["b"], "grade": ["1"]}
    assert table.index.tolist() == [3]


def test_names_are_told_up_to_forty_characters_and_four_words():
    assert told("x" * 40) == "x" * 40
    assert told("x" * 41) == "a name of 41 characters"
    assert told("a b c d") == "a b c d"
    assert told("a b c d e") == "a name of 9 characters"


def test_what_no_encoding_knows_leaves_a_mark(tmp_path):
    table, _ = read(tmp_path, b"instance,expert,label\n1,J\x81\xe9,0\n")
    assert table["expert"].tolist() == ["J\N{REPLACEMENT CHARACTER}é"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
@pytest.mark.parametrize("header", ['"instance","expert","label"', "sep=,\ninstance,expert,label"])
def test_a_byte_order_mark_is_no_part_of_what_follows(tmp_path, encoding, header):
    table, problems = read(tmp_path, f"\ufeff{header}\n1,José,0\n".encode(encoding))
    assert problems.empty
    assert table.to_dict("list") == {"instance": ["1"], "expert": ["José"], "label": ["0"]}


def test_columns_without_name_and_content_are_no_problem(tmp_path):
    table, problems = read(tmp_path, "instance,,expert,,label\n1,,Ann,,0\n")
    assert list(table.columns) == ["instance", "expert", "label"]
    assert problems.empty


def test_the_columns_wanted_decide_on_the_separator_before_their_number(tmp_path):
    table, _ = read(tmp_path, "instance;expert;label;a, b, c, d, e\n1;Ann;0;x\n")
    assert table["expert"].tolist() == ["Ann"]


def test_only_the_coding_of_accents_is_made_one():
    assert plain_name("m\N{SUPERSCRIPT TWO}") == "m\N{SUPERSCRIPT TWO}"
    assert plain_name("e\u0301") == "\u00e9"
