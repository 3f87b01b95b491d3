"""Paths and arguments that lead to no file, or to no table: refused in words, by whoever is asked.

What stands in the files is the matter of ``test_broken_files.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from broken import assert_ours
from hypothesis import given
from hypothesis import strategies as st
from pandas.api.types import is_scalar
from test_broken_files import KNOWN, ODD, SAID, kept, quietly

from siscm.cifar10h.pipeline import load_cifar10h
from siscm.data import registry
from siscm.opinions import Opinions
from siscm.own_panel import check_files

PLACES: dict[str, Callable[[Path], Path]] = {
    "nothing": lambda folder: folder / "nowhere.csv",
    "a folder": lambda folder: folder,
    "a link to itself": lambda folder: linked(folder / "loop", folder / "loop"),
    "a link to nothing": lambda folder: linked(folder / "dangling", folder / "nowhere.csv"),
    "a file taken for a folder": lambda folder: written(folder / "a.csv") / "inside.csv",
    "a name with a NUL": lambda folder: folder / "a\0b.csv",
    "a name too long": lambda folder: folder / ("x" * 3000),
}


def linked(place: Path, target: Path) -> Path:
    place.symlink_to(target)
    return place


def written(place: Path) -> Path:
    place.write_text("a,b\n1,2\n")
    return place


@pytest.mark.parametrize("what", PLACES)
def test_where_there_is_no_file_a_user_is_told(what: str, tmp_path: Path) -> None:
    place = PLACES[what](tmp_path)
    for path in (place, str(place)):
        with pytest.raises(ValueError, match=r"cannot be read: .*Check the path: ") as caught:
            _ = check_files(path).panel
        assert_ours(caught.value, place.name)
    good = tmp_path / "said.csv"
    good.write_text(SAID, encoding="utf-8")
    with pytest.raises(ValueError, match=r"cannot be read: ") as caught:
        _ = check_files(good, place).panel
    assert_ours(caught.value, place.name)


def test_columns_that_no_file_can_have_are_named(tmp_path: Path) -> None:
    said, known = tmp_path / "said.csv", tmp_path / "known.csv"
    said.write_text(SAID, encoding="utf-8")
    known.write_text(KNOWN, encoding="utf-8")
    wrong: Any = 3
    with pytest.raises(ValueError, match=r"said\.csv: no column '3'.*\n.*known\.csv: no column"):
        _ = check_files(said, known, instance=wrong).panel


@pytest.mark.parametrize("folder", ["~nobody-of-this-name/x", "a file"])
def test_a_data_folder_that_cannot_be_one_is_named(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a file") if folder == "a file" else folder
    monkeypatch.setenv("SISCM_DATA_DIR", str(path))
    with pytest.raises(FileNotFoundError, match="SISCM_DATA_DIR"):
        registry.locate(registry.PANELS[0])
    assert registry.main(["check"]) == 1
    assert str(path) in capsys.readouterr().err
    if folder == "a file":
        with pytest.raises(NotADirectoryError, match="let SISCM_DATA_DIR name"):
            registry.download(registry.PANELS[0])


def test_an_unknown_kind_of_cifar10h_is_not_taken_for_the_twin() -> None:
    wrong: Any = "Real"
    with pytest.raises(ValueError, match=r"no kind 'Real'.*twin and real"):
        load_cifar10h(wrong)


# --- tables in memory


@pytest.mark.parametrize(
    "codes",
    [
        [[1], [1, 2]],
        np.array([[2**63, 0]], dtype=np.uint64),
        np.array([[2**64 - 1, 0]], dtype=np.uint64),  # -1, if it were cast
        [[2**62, 0]],
        np.zeros((2, 2), dtype="m8[s]"),
        [[1.0, np.nan]],
        [["a"]],
        [[None, 1]],
        [1, 2],
    ],
)
def test_codes_that_are_none_are_refused(codes: Any) -> None:
    with pytest.raises(ValueError, match=r"^labels ") as caught:
        Opinions.from_codes(codes)
    assert_ours(caught.value, "labels")


def test_a_column_that_cannot_be_one_is_refused() -> None:
    table = pd.DataFrame({"instance": [1], "expert": [1], "label": [1]})
    wrong: Any = ["instance"]
    with pytest.raises(ValueError, match=r"no column \['instance'\]") as caught:
        Opinions.from_long(table, instance=wrong)
    assert_ours(caught.value, "column")


plain = st.sampled_from(["yes", "no", "perhaps", None])
row = st.tuples(plain, plain, plain)


@given(
    rows=st.lists(row, max_size=4)
    | st.lists(row | st.tuples(*[plain | st.sampled_from(ODD)] * 3), max_size=4),
    experts=st.permutations(["a", "b", "c"])
    | st.sampled_from([["a", "b", "a"], ["a", None, "b"], [1, "1", 2], [1, 2.0, True]]),
    instances=st.permutations(range(4)) | st.sampled_from([[0, 0, 1, 2], [0, "0", 1, 2]]),
)
def test_an_odd_wide_table_is_refused_by_name_or_read_right(
    rows: list[tuple[Any, ...]], experts: list[Any], instances: list[Any]
) -> None:
    cells = np.empty((len(rows), 3), dtype=object)
    for place in np.ndindex(cells.shape):
        cells[place] = rows[place[0]][place[1]]
    index = pd.Index(instances[: len(rows)], dtype=object)
    table = pd.DataFrame(cells, index=index, columns=pd.Index(experts, dtype=object))
    try:
        found = quietly(Opinions.from_wide, table)
    except Exception as error:
        assert_ours(error, "instance", "expert", "label")
        return
    expected = {
        (kept(instances[i]), kept(experts[j]), kept(cells[i, j]))
        for i, j in np.ndindex(cells.shape)
        if not (is_scalar(cells[i, j]) and (pd.isna(cells[i, j]) or not str(cells[i, j]).strip()))
    }
    read = found.to_long().astype(object).itertuples(index=False)
    assert {tuple(map(kept, row)) for row in read} == expected
    assert found.instances.tolist() == sorted(index)
