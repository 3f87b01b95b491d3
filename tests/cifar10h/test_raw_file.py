"""CIFAR-10H's raw file: the right one is read, one that is wrong in any way is refused."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raw_table import (
    COLUMNS,
    IMAGE_LABELS,
    as_csv,
    as_zip,
    cifar_archive,
    python2_batch,
    raw_table,
)
from read_only import read_only
from serving import Server, serving

from siscm.cifar10h import raw_file
from siscm.cifar10h.cifar10_images import load_cifar10_images
from siscm.cifar10h.counts import CLASSES
from siscm.cifar10h.raw_file import check_raw, load_cifar10h_raw
from siscm.data import registry, zipped
from siscm.data.sources import IMAGES, RAW
from siscm.data.zipped import read_table

NAME = "cifar10h-raw.csv"


@pytest.fixture
def table() -> pd.DataFrame:
    return raw_table(np.random.default_rng(1))


def read(content: bytes, name: str = "the table", **options: object) -> pd.DataFrame:
    """The opinions in the content of a file."""
    return check_raw(read_table(content, name), name, **options)


def load() -> pd.DataFrame:
    """The raw file beside the image file of the data folder."""
    return load_cifar10h_raw(load_cifar10_images()[1])


def plainly(table: pd.DataFrame) -> list[tuple[int, int, int, int]]:
    """The real rows, read in the simplest way there is."""
    return [
        (row["annotator_id"], row["cifar10_test_test_idx"], row["true_label"], row["chosen_label"])
        for _, row in table.iterrows()
        if row["is_attn_check"] == 0
    ]


def changed(table: pd.DataFrame, row: int, **values: object) -> bytes:
    """The table as a file, with other values in one row (from 1, as errors count)."""
    table = table.astype(object)
    for column, value in values.items():
        table.loc[row - 1, column] = value
    return as_csv(table)


def first(table: pd.DataFrame, attention: int) -> int:
    """The first row that is (not) an attention check, from 1."""
    return int(np.flatnonzero(table["is_attn_check"] == attention)[0]) + 1


def test_the_small_table_is_in_the_true_schema(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == COLUMNS
    assert len(COLUMNS) == 13
    assert (table.groupby("annotator_id")["is_attn_check"].sum() == 2).all()


def test_real_rows_come_back_in_their_order(table: pd.DataFrame) -> None:
    shuffled = table.sample(frac=1, random_state=0)
    raw = read(as_csv(shuffled), image_labels=IMAGE_LABELS)
    assert list(raw.columns) == ["annotator", "image", "true_label", "chosen_label"]
    assert (raw.dtypes == np.int64).all()
    assert list(raw.itertuples(index=False, name=None)) == plainly(shuffled)
    assert raw.index.equals(pd.RangeIndex(6 * 20))


def test_every_way_in_gives_the_same(table: pd.DataFrame) -> None:
    expected = read(as_csv(table))
    archive = as_zip((NAME, as_csv(table)))
    respelt = table.rename(columns={"cifar10_test_test_idx": "cifar10_test_set_idx"})
    floats = table.astype({"true_label": float, "cifar10_test_test_idx": float})
    reordered = table[list(reversed(COLUMNS))].assign(more=1)
    ways = [
        read(archive),
        check_raw(table),
        *(read(as_csv(other)) for other in (respelt, floats, reordered)),
        read(as_csv(table).replace(b"\n", b"\r\n")),
        read(b"\xef\xbb\xbf" + as_csv(table)),
    ]
    for way in ways:
        pd.testing.assert_frame_equal(way, expected)


@pytest.mark.parametrize(
    "column",
    [
        c
        for c in COLUMNS
        if c.endswith(("label", "e_category", "n_category", "idx", "_id", "check"))
    ],
)
def test_a_missing_column_is_named(table: pd.DataFrame, column: str) -> None:
    with pytest.raises(ValueError, match=rf"the table has no column .*{column}.*'time_elapsed'"):
        read(as_csv(table.rename(columns={column: "other"})))


def test_columns_that_are_there_twice_are_named(table: pd.DataFrame) -> None:
    both = table.assign(cifar10_test_set_idx=table["cifar10_test_test_idx"])
    with pytest.raises(
        ValueError, match=r"several columns 'cifar10_test_test_idx', 'cifar10_test_"
    ):
        read(as_csv(both))
    for name in ("true_label", "cifar10_test_test_idx"):
        again = pd.concat([table, table[[name]]], axis=1)
        for way in (again, read_table(as_csv(again), "the table")):
            with pytest.raises(ValueError, match=f"several columns '{name}'"):
                check_raw(way)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("chosen_label", 10, "holds '10': it should be a whole number from 0 to 9"),
        ("chosen_label", -1, "holds '-1'"),
        ("chosen_label", 2.5, "holds '2.5'"),
        ("chosen_label", "", "holds nothing"),
        ("chosen_label", "cat", "holds 'cat'"),
        ("chosen_label", "nan", "holds 'nan'"),
        ("true_label", "", "holds nothing"),
        ("true_label", "inf", "holds 'inf'"),
        ("annotator_id", -1, "a whole number from 0 to 2147483647"),
        ("annotator_id", "", "holds nothing"),
        ("annotator_id", "1e30", r"holds '1e\+?30'"),
        ("cifar10_test_test_idx", 10_000, "from -99999 to 9999"),
        ("cifar10_test_test_idx", -1, "from 0 to 9999"),
        ("cifar10_test_test_idx", -99_999, "attention checks .is_attn_check 1., and only they"),
        ("cifar10_test_test_idx", "", "holds nothing"),
        ("is_attn_check", 2, "from 0 to 1"),
        ("is_attn_check", "", "holds nothing"),
        ("chosen_category", "lorry", "holds 'lorry': it should name the class of 'chosen_label'"),
        ("true_category", "", "holds nothing"),
    ],
)
def test_a_wrong_value_is_named_with_file_row_and_column(
    table: pd.DataFrame, tmp_path: Path, column: str, value: object, words: str
) -> None:
    row = first(table, attention=0) + 30
    while table.loc[row - 1, "is_attn_check"]:
        row += 1
    file = tmp_path / NAME
    file.write_bytes(changed(table, row, **{column: value}))
    with pytest.raises(ValueError, match=words) as caught:
        read(file.read_bytes(), str(file))
    assert str(caught.value).startswith(f"{file}, row {row}, column '{column}'")
    assert str(caught.value).endswith(f"Rows like this: 1 of {caught.value.args[0].split()[-1]}")


def test_gaps_in_a_frame_are_refused(table: pd.DataFrame) -> None:
    row = first(table, attention=0)
    for gap in (np.nan, None, pd.NA):
        gappy = table.astype({"chosen_label": object})
        gappy.loc[row - 1, "chosen_label"] = gap
        with pytest.raises(ValueError, match=rf"row {row}, column 'chosen_label' holds nothing"):
            check_raw(gappy)


@pytest.mark.parametrize("odd", ["0_1", 10**400, 1j, [1], [1, 2], {}])
def test_what_is_no_number_in_a_frame_is_refused(table: pd.DataFrame, odd: object) -> None:
    row = first(table, attention=0)
    values = [odd if i == row - 1 else label for i, label in enumerate(table["chosen_label"])]
    wrong = table.assign(chosen_label=pd.Series(values, dtype=object))
    with pytest.raises(ValueError, match=rf"row {row}, column 'chosen_label' holds .* from 0 to 9"):
        check_raw(wrong)


@pytest.mark.parametrize("odd", ["frog", "truck", "Cat", 3, None, ["cat", "dog"]])
def test_a_category_names_the_class_of_its_label_and_no_other(
    table: pd.DataFrame, odd: object
) -> None:
    row = first(table, attention=0)
    for kind in ("true", "chosen"):
        wrong = table.astype({f"{kind}_category": object})
        wrong.loc[row - 1, [f"{kind}_label", f"{kind}_category"]] = [3, "cat"]
        check_raw(wrong)
        wrong.at[row - 1, f"{kind}_category"] = odd
        with pytest.raises(ValueError, match=rf"row {row}, column '{kind}_category' holds"):
            check_raw(wrong)


def test_attention_checks_are_those_without_an_image(table: pd.DataFrame) -> None:
    row = first(table, attention=1)
    for values in ({"is_attn_check": 0}, {"cifar10_test_test_idx": 3}):
        with pytest.raises(ValueError, match=rf"row {row}, column 'cifar10_test_test_idx'.* only"):
            read(changed(table, row, **values))
    # What somebody said there is nobody's opinion about an image, and is not looked at.
    pd.testing.assert_frame_equal(
        read(changed(table, row, chosen_label="", chosen_category="?", true_label=77)),
        read(as_csv(table)),
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a table of comma-separated values: No columns"),
        (b"\xff\xfe\x00\x01", "not a table of comma-separated values"),
        (b"<html>nothing here</html>\n", "has no column 'annotator_id', 'is_attn_check'"),
        (
            b",".join(c.encode() for c in COLUMNS) + b"\n1,2,3\n",
            "row 1 .* 3 cells under a header of 13",
        ),
        (b",".join(c.encode() for c in COLUMNS) + b"\n" + b"0," * 13 + b"0\n", "14 cells under a"),
        (b",".join(c.encode() for c in COLUMNS) + b'\n"0,0\n', "unexpected end of data"),
    ],
)
def test_what_is_no_such_table_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read(content)
    assert str(caught.value).startswith(("the table ", "the table, row 1 "))


def test_a_row_that_is_too_long_and_one_that_is_cut_off(table: pd.DataFrame) -> None:
    lines = as_csv(table).splitlines(keepends=True)
    long = [*lines[:5], lines[5].replace(b"\n", b",1\n"), *lines[6:]]
    with pytest.raises(ValueError, match=r"row 5 .* 14 cells under a header of 13"):
        read(b"".join(long))
    row = first(table, attention=0)
    cut = lines[: row + 1]
    cut[row] = b",".join(cut[row].split(b",")[:8])
    with pytest.raises(ValueError, match=rf"row {row} .* 8 cells under a header of 13"):
        read(b"".join(cut))


def test_a_file_cut_short_anywhere_never_gives_a_row_that_is_not_in_it(table: pd.DataFrame) -> None:
    content = as_csv(table)
    true = set(plainly(table))
    n_read = 0
    for end in range(content.index(b"\n") + 1, len(content), 7):
        with contextlib.suppress(ValueError):
            found = read(content[:end], image_labels=IMAGE_LABELS)
            n_read += 1
            assert set(found.itertuples(index=False, name=None)) <= true
    assert n_read > 100


@pytest.mark.parametrize("column", ["image_filename", "subcategory", "time_elapsed"])
def test_quotes_that_would_swallow_rows_are_refused(table: pd.DataFrame, column: str) -> None:
    lines = as_csv(table).decode().splitlines()
    for row in (3, 7):
        cells = lines[row].split(",")
        cells[COLUMNS.index(column)] = '"' + cells[COLUMNS.index(column)]
        lines[row] = ",".join(cells)
    with pytest.raises(ValueError, match=r"row 3 is not a table .*(several lines|expected after)"):
        read("\n".join(lines).encode())
    # Quotes around a whole cell hide nothing.
    quoted = table.to_csv(index=False, quoting=csv.QUOTE_ALL).encode()
    pd.testing.assert_frame_equal(read(quoted), read(as_csv(table)))


def test_an_empty_table_has_no_opinions_and_is_not_complete() -> None:
    empty = ",".join(COLUMNS).encode() + b"\n"
    assert len(read(empty)) == 0
    with pytest.raises(ValueError, match="should know 2,571 annotators, but knows 0"):
        read(empty, complete=True)


def test_another_image_order_cannot_pass(table: pd.DataFrame) -> None:
    moved = np.roll(IMAGE_LABELS, 1)
    real = np.flatnonzero(table["is_attn_check"] == 0)
    image = table["cifar10_test_test_idx"].to_numpy()
    wrong = [r for r in real if moved[image[r]] != IMAGE_LABELS[image[r]]]
    with pytest.raises(ValueError, match="another order") as caught:
        read(as_csv(table), image_labels=moved)
    said = str(caught.value)
    assert f"row {wrong[0] + 1}, column 'true_label'" in said
    first_image = image[wrong[0]]
    assert (
        f"image {first_image} has the true label {IMAGE_LABELS[first_image]} here, but "
        f"{moved[first_image]} in the image file"
    ) in said
    assert f"Rows like this: {len(wrong)} of 120" in said


def test_two_images_exchanged_are_found(table: pd.DataFrame) -> None:
    seen = table.loc[table["is_attn_check"] == 0, "cifar10_test_test_idx"].unique()
    other = next(i for i in seen if IMAGE_LABELS[i] != IMAGE_LABELS[seen[0]])
    exchanged = IMAGE_LABELS.copy()
    exchanged[[seen[0], other]] = exchanged[[other, seen[0]]]
    with pytest.raises(ValueError, match=rf"image {seen[0]} has the true label"):
        read(as_csv(table), image_labels=exchanged)


def test_an_answer_given_twice_is_there_twice(table: pd.DataFrame) -> None:
    row = first(table, attention=0)
    twice = pd.concat([table, table.iloc[[row - 1]]])
    raw, every = read(as_csv(table)), read(as_csv(twice))
    pd.testing.assert_frame_equal(every.iloc[:-1], raw)
    assert every.iloc[-1].equals(raw.iloc[0])


def test_a_contradiction_is_refused(table: pd.DataFrame) -> None:
    row = table.iloc[first(table, attention=0) - 1].copy()
    said = int(row["chosen_label"])
    other = (said + 1) % 10
    row["chosen_label"], row["chosen_category"] = other, CLASSES[other]
    row["correct_guess"] = int(other == row["true_label"])
    twice = pd.concat([table, row.to_frame().T], ignore_index=True)
    with pytest.raises(ValueError, match="annotator 0 contradicts herself about image") as caught:
        read(as_csv(twice))
    rows = (
        f"{CLASSES[said]} in row {first(table, attention=0)}, {CLASSES[other]} in row {len(twice)};"
    )
    assert f"image {row['cifar10_test_test_idx']}, {rows}" in str(caught.value)


def answers(*rows: tuple[int, int, int]) -> pd.DataFrame:
    """Who said what about which image, by hand; no attention checks."""
    annotator, image, said = (np.array(column) for column in zip(*rows, strict=True))
    true, names = IMAGE_LABELS[image], np.array(CLASSES, dtype=object)
    return pd.DataFrame(
        {
            "annotator_id": annotator,
            "is_attn_check": 0,
            "cifar10_test_test_idx": image,
            "true_label": true,
            "chosen_label": said,
            "true_category": names[true],
            "chosen_category": names[said],
        }
    )


def test_a_contradiction_is_named_however_often_either_answer_stands_there() -> None:
    harmless = [(1, 7, 3), (1, 7, 3)]
    for said in ([4, 5, 5], [5, 5, 4], [4, 4, 5, 5]):
        with pytest.raises(ValueError, match="contradicts") as caught:
            check_raw(answers(*harmless, *((2, 8, label) for label in said)))
        rows = [f"{CLASSES[label]} in row {row}" for row, label in enumerate(said, start=3)]
        named = f"annotator 2 contradicts herself about image 8, {', '.join(rows)};"
        assert str(caught.value).startswith(f"the table: {named}")


def test_the_image_named_is_the_first_whose_label_is_wrong() -> None:
    table = answers((1, 7, 3), (1, 8, 3), (1, 9, 3))
    labels = IMAGE_LABELS.copy()
    labels[[8, 9]] += 1
    with pytest.raises(ValueError, match=r"row 2, .* image 8 has the true label .* this: 2 of 3"):
        check_raw(table, image_labels=labels)


THREE = [(a, i, 0) for a in (4, 5, 6) for i in (2 * (a - 4), 2 * (a - 4) + 1)]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*THREE, (7, 0, 0), (7, 1, 0)], "should know 3 annotators, but knows 4"),
        ([*THREE, (6, 0, 0)], "annotator 6 has 3 opinions; all 3 should have 2"),
        ([*THREE, (6, 0, 0), (5, 0, 0), (6, 1, 0)], "annotator 5 has 3 opinions"),
        ([(4, 1, 0), (4, 2, 0), *THREE[2:]], "no opinion about 1 of the 6 images; the first is 0"),
        ([*THREE[:4], (6, 3, 0), (6, 4, 0)], "no opinion about 1 of the 6 images; the first is 5"),
    ],
)
def test_of_a_complete_file_nothing_is_missing_and_nothing_is_too_much(
    rows: list[tuple[int, int, int]], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"N_ANNOTATORS": 3, "IMAGES_EACH": 2, "N_IMAGES": 6}.items():
        monkeypatch.setattr(raw_file, name, value)
    assert len(check_raw(answers(*THREE), complete=True)) == 6
    check_raw(answers(*rows))
    with pytest.raises(ValueError, match=words):
        check_raw(answers(*rows), complete=True)


# Archives


def lying(archive: bytes, size: int) -> bytes:
    """The archive with another size of its member in the directory at its end."""
    at = archive.rindex(b"PK\x01\x02") + 24
    return archive[:at] + size.to_bytes(4, "little") + archive[at + 4 :]


def encrypted(archive: bytes) -> bytes:
    at = archive.rindex(b"PK\x01\x02") + 8
    return archive[:at] + b"\x01" + archive[at + 1 :]


CSV = as_csv(raw_table(np.random.default_rng(1)))
GOOD = as_zip((NAME, CSV))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (as_zip(), "it holds 0 members"),
        (as_zip((NAME, CSV), ("more.csv", CSV)), r"2 members: 'cifar10h-raw\.csv', 'more\.csv'"),
        (as_zip((NAME, CSV), ("__MACOSX/._x", b"")), "it holds 2 members"),
        (as_zip(("data/", b""), (f"data/{NAME}", CSV)), "it holds 2 members"),
        (as_zip((f"data/{NAME}", CSV)), "in no folder"),
        (as_zip((f"/{NAME}", CSV)), r"it holds '/cifar10h-raw\.csv'"),
        (as_zip((f"../{NAME}", CSV)), "in no folder"),
        (as_zip((f"..\\{NAME}", CSV)), "in no folder"),
        (as_zip((f"C:{NAME}", CSV)), "in no folder"),
        (as_zip(("raw.txt", CSV)), r"should hold one \.csv file"),
        (as_zip(("raw.csv/", b"")), "in no folder"),
        (lying(GOOD, 500_000_001), "claims 500,000,001 bytes; more than 500,000,000 are refused"),
        (lying(GOOD, len(CSV) - 9), "cannot be unpacked: Bad CRC"),
        (encrypted(GOOD), "cannot be unpacked: .*encrypted"),
        (GOOD[: len(GOOD) // 2], "not a zip archive that can be read"),
        (b"PK", "not a zip archive that can be read"),
    ],
)
def test_an_archive_with_anything_else_is_refused(
    tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "raw.zip"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        read(file.read_bytes(), str(file))
    assert str(caught.value).startswith(str(file))
    assert list(tmp_path.iterdir()) == [file], "nothing is unpacked"


def test_a_name_with_a_zero_byte_is_refused() -> None:
    content = GOOD.replace(NAME.encode(), b"raw.csv\0../x.csv")
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["raw.csv"]
    with pytest.raises(ValueError, match="in no folder"):
        read(content)


@pytest.mark.parametrize("place", range(0, len(GOOD), 61))
def test_a_damaged_archive_never_shows_how_it_is_read(place: int) -> None:
    damaged = GOOD[:place] + bytes([GOOD[place] ^ 0x41]) + GOOD[place + 1 :]
    try:
        raw = read(damaged)
    except ValueError as error:
        said: ValueError | None = error
    else:  # dates and the like mean nothing here
        said = None
        pd.testing.assert_frame_equal(raw, read(GOOD))
    assert said is None or (type(said) is ValueError and str(said).startswith("the table"))


def test_a_page_instead_of_an_archive() -> None:
    with pytest.raises(ValueError, match="not a zip archive that can be read"):
        read(b"<html>404</html>", "raw.zip")


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert zipped.LARGEST == 500_000_000
    monkeypatch.setattr(zipped, "LARGEST", len(CSV) - 1)
    with pytest.raises(ValueError, match=r"holds [\d,]+ bytes; more than [\d,]+ are refused"):
        read(CSV)


# From the address to the table


SMALL = raw_table(np.random.default_rng(2), n_annotators=100, images_each=200, n_images=10_000)
SMALL.loc[SMALL["is_attn_check"] == 0, "cifar10_test_test_idx"] = np.tile(np.arange(10_000), 2)
TRUE = IMAGE_LABELS[np.maximum(SMALL["cifar10_test_test_idx"], 0)]
SMALL["true_label"], SMALL["true_category"] = TRUE, np.array(CLASSES)[TRUE]
SMALL["correct_guess"] = (SMALL["chosen_label"] == TRUE).astype(int)
ARCHIVE = as_zip((NAME, as_csv(SMALL)))
"""A hundred annotators, who together saw every image twice."""


@pytest.fixture(scope="module")
def images() -> bytes:
    return cifar_archive(python2_batch(np.zeros((10_000, 32, 32, 3), np.uint8), IMAGE_LABELS))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: bytes) -> Path:
    """A data folder that holds the images, and would take the raw file of a hundred."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(raw_file, "N_ANNOTATORS", 100)
    (tmp_path / IMAGES).parent.mkdir()
    (tmp_path / IMAGES).write_bytes(images)
    return tmp_path


def expect(monkeypatch: pytest.MonkeyPatch, server: Server, kind: str, **files: bytes) -> None:
    """Make the registry expect these files; the raw one comes from the server."""
    entries = {
        path: replace(registry.ENTRIES[path], sha256=hashlib.sha256(files[name]).hexdigest())
        for path, name in ((RAW, "raw"), (IMAGES, "images"))
    }
    entries[RAW] = replace(entries[RAW], url=f"{server.url}/{kind}")
    monkeypatch.setattr(registry, "ENTRIES", entries)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(ARCHIVE) as server:
        yield server


def test_download_and_load(
    folder: Path, server: Server, images: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect(monkeypatch, server, "good", raw=ARCHIVE, images=images)
    with pytest.raises(FileNotFoundError, match="make data"):
        load()
    registry.download()
    raw = load()
    assert len(raw) == 20_000
    assert list(raw.itertuples(index=False, name=None)) == plainly(SMALL)


@pytest.mark.parametrize(
    ("kind", "error"),
    [("altered", ValueError), ("short", ValueError), ("truncated", ConnectionError)],
)
def test_a_bad_download_leaves_nothing_and_a_second_try_works(
    folder: Path,
    server: Server,
    images: bytes,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    error: type[Exception],
) -> None:
    expect(monkeypatch, server, kind, raw=ARCHIVE, images=images)
    with pytest.raises(error, match="Nothing was kept"):
        registry.download()
    assert not (folder / RAW).parent.exists()
    expect(monkeypatch, server, "good", raw=ARCHIVE, images=images)
    registry.download()
    assert len(load()) == 20_000


SCRIPT = """
import sys
from siscm.data import registry
entry = registry.Entry({path!r}, {sha256!r}, {url!r}, "", "")
registry.ENTRIES = {{entry.path: entry}}
sys.exit(registry.main())
"""


def command(server: Server, kind: str) -> list[str]:
    """A fresh process that downloads the raw file."""
    sha256 = hashlib.sha256(ARCHIVE).hexdigest()
    code = SCRIPT.format(path=RAW, sha256=sha256, url=f"{server.url}/{kind}")
    return [sys.executable, "-c", code]


def test_an_interrupted_download_leaves_nothing_and_a_second_try_works(
    folder: Path, server: Server, images: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(command(server, "stalling"), stderr=subprocess.DEVNULL) as process:
        assert server.halfway.wait(timeout=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) != 0
    server.go_on.set()
    assert not (folder / RAW).parent.exists()
    expect(monkeypatch, server, "good", raw=ARCHIVE, images=images)
    registry.download()
    assert len(load()) == 20_000


def test_two_processes_at_once(
    folder: Path, server: Server, images: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [
        subprocess.Popen(command(server, "good"), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        assert process.communicate(timeout=60)[0] == f"ready: {folder / RAW}\n"
        assert process.returncode == 0
    assert [file.name for file in (folder / RAW).parent.iterdir()] == ["cifar10h-raw.zip"]
    expect(monkeypatch, server, "good", raw=ARCHIVE, images=images)
    assert len(load()) == 20_000


def missing_person(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["annotator_id"] != 7]


def missing_answer(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(table.index[(table["annotator_id"] == 7) & (table["is_attn_check"] == 0)][3])


def unseen_image(table: pd.DataFrame) -> pd.DataFrame:
    """Everybody who saw image 17 saw another of the same class instead."""
    other = np.flatnonzero((IMAGE_LABELS[17] == IMAGE_LABELS) & (np.arange(10_000) > 5000))[0]
    return table.replace({"cifar10_test_test_idx": {17: other}})


def other_order(table: pd.DataFrame) -> pd.DataFrame:
    index = table["cifar10_test_test_idx"]
    return table.assign(cifar10_test_test_idx=index.where(index < 0, 9999 - index))


def other_column(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns={"chosen_label": "label"})


def zipped_table(change: object = lambda table: table, *more: str, name: str = NAME) -> bytes:
    """The archive with its table changed, with more members, or under another name."""
    members = [(name, as_csv(change(SMALL))), *((member, b"") for member in more)]
    return as_zip(*members)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped_table(missing_person), "should know 100 annotators, but knows 99"),
        (zipped_table(missing_answer), "annotator 7 has 199 opinions; all 100 should have 200"),
        (zipped_table(unseen_image), "no opinion about 1 of the 10,000 images; the first is 17"),
        (zipped_table(other_order), r"in the image file; its images may be in another order"),
        (zipped_table(other_column), "has no column 'chosen_label'"),
        (zipped_table(lambda table: table, "extra.py"), "it holds 2 members"),
        (zipped_table(name=f"../{NAME}"), "in no folder"),
        (zipped_table(name=f"/tmp/{NAME}"), "in no folder"),
    ],
    ids=["person", "answer", "unseen", "order", "column", "member", "path", "absolute"],
)
def test_a_download_of_the_right_hash_and_the_wrong_content_is_refused(
    folder: Path, images: bytes, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    with serving(content) as server:
        expect(monkeypatch, server, "good", raw=content, images=images)
        registry.download()
    with pytest.raises(ValueError, match=words) as caught:
        load()
    assert str(caught.value).startswith(str(folder / RAW))
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert left == {Path(RAW).name, Path(IMAGES).name}, "nothing is unpacked"


def test_a_read_only_folder_is_read_and_takes_no_download(
    server: Server, images: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(raw_file, "N_ANNOTATORS", 100)
    expect(monkeypatch, server, "good", raw=ARCHIVE, images=images)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        monkeypatch.setenv("SISCM_DATA_DIR", name)
        (place / IMAGES).parent.mkdir()
        (place / IMAGES).write_bytes(images)
        with read_only(place), pytest.raises(PermissionError, match=f"cannot write {RAW} into"):
            registry.download()
        assert [path.name for path in place.rglob("*") if path.is_file()] == [Path(IMAGES).name]
        registry.download()
        with read_only(place):
            registry.download()
            assert len(load()) == 20_000
