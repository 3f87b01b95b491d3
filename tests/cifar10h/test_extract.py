"""Which images are looked at, and what the command says about them; torch is not needed here."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from read_only import read_only

from siscm.checks import IntArray
from siscm.cifar10h import extract
from siscm.cifar10h.extract import images_needed, main
from siscm.cifar10h.pipeline import Cifar10H
from siscm.cifar10h.preprocessing import preprocess
from siscm.cifar10h.vgg19 import Features


class Looking:
    """Features that are made when they are asked for, and counted."""

    def __init__(self) -> None:
        self.known: set[int] = set()

    def features(self, wanted: IntArray) -> Features:
        self.known |= set(wanted.tolist())
        return np.zeros((len(wanted), 512), dtype=np.float32)

    def missing(self, wanted: IntArray) -> IntArray:
        return np.array([image for image in wanted if image not in self.known], dtype=np.int64)


@pytest.fixture
def looking(twin: Cifar10H, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Looking:
    """The command finds a twin where it looks for the real files."""
    found = Looking()
    real = replace(twin, kind="real", features=found.features, missing=found.missing)

    def load(kind: str) -> Cifar10H:
        assert kind == "real"
        return real

    monkeypatch.setattr(extract, "load_cifar10h", load)
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path / "data"))
    return found


def test_the_table_needs_what_either_reading_of_the_filter_keeps(twin: Cifar10H) -> None:
    kept: dict[str, set[int]] = {}
    for reading in ("released", "paper"):
        done = preprocess(twin.raw, reading=reading)
        kept[reading] = {*done.train.instances, *done.test.instances}
    needed = images_needed(twin.raw)
    assert set(needed.tolist()) == kept["released"] | kept["paper"]
    assert (np.diff(needed) > 0).all()


def test_the_wider_reading_is_the_papers(twin: Cifar10H) -> None:
    """At thresholds so high that one opinion more or less decides about images."""
    released, paper = (
        preprocess(twin.raw, reading=reading, min_train=145, min_test=38)
        for reading in ("released", "paper")
    )
    for narrow, wide in ((released.train, paper.train), (released.test, paper.test)):
        assert set(narrow.instances) < set(wide.instances)


def test_the_audit_needs_every_image_with_two_answers(twin: Cifar10H) -> None:
    answers: dict[int, set[int]] = {}
    for image, label in zip(twin.raw["image"], twin.raw["chosen_label"], strict=True):
        answers.setdefault(image, set()).add(label)
    needed = images_needed(twin.raw, "audit")
    assert needed.tolist() == sorted(image for image, said in answers.items() if len(said) > 1)
    assert set(images_needed(twin.raw)) < set(needed)


def test_the_command_looks_at_what_is_missing_and_says_so_in_a_line(
    looking: Looking, twin: Cifar10H, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, audit = images_needed(twin.raw), images_needed(twin.raw, "audit")
    where = f"in {tmp_path / 'data' / 'features'}\n"
    new = {
        ("table",): (table, len(table)),
        (): (table, 0),
        ("audit",): (audit, len(audit) - len(table)),
    }
    for arguments, (images, n_new) in new.items():
        assert main(arguments) == 0
        assert looking.known >= set(images.tolist())
        printed = capsys.readouterr()
        assert (
            printed.out
            == f"ready: features of {len(images):,} images ({n_new:,} of them new) {where}"
        )
        assert printed.err == ""


def test_counting_changes_nothing(
    looking: Looking, twin: Cifar10H, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, audit = images_needed(twin.raw), images_needed(twin.raw, "audit")
    looking.known = set(table.tolist())
    assert main(["--count"]) == 0
    assert capsys.readouterr().out == "0\n"
    assert main(["audit", "--count"]) == 0
    assert capsys.readouterr().out == f"{len(audit) - len(table)}\n"
    assert looking.known == set(table.tolist())
    assert list(tmp_path.iterdir()) == []


def test_nobody_counts_and_checks_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--count", "--check"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_a_check_refuses_a_half_done_extraction(
    looking: Looking,
    twin: Cifar10H,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = images_needed(twin.raw)
    looking.known = set(table[::2].tolist())
    monkeypatch.setattr(extract, "experiment_kind", lambda: "twin")
    assert main(["--check"]) == 0  # the chapters show the twin, which lacks nothing
    monkeypatch.setattr(extract, "experiment_kind", lambda: "real")
    assert main(["--check"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{len(table) // 2:,} images have no features yet")
    assert "`make reproduce` goes on" in printed.err
    assert printed.err.count("\n") == 1

    looking.known = set(table.tolist())
    assert main(["--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_read_only_folder_is_told_before_torch_is_installed(
    looking: Looking,
    twin: Cifar10H,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.setenv("SISCM_DATA_DIR", name)
        with read_only(Path(name)):
            assert main(["--count"]) == 1
            printed = capsys.readouterr()
            assert printed.out == ""
            assert printed.err.startswith(f"features are missing and cannot be kept in {name}")
            assert "SISCM_DATA_DIR" in printed.err
            assert printed.err.count("\n") == 1

            looking.known = set(images_needed(twin.raw).tolist())
            assert main(["--count"]) == 0
            assert capsys.readouterr().out == "0\n"
        assert os.listdir(name) == []


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (FileNotFoundError("raw.zip is not there"), 1, "raw.zip is not there\n"),
        (ImportError("extracting needs torch"), 1, "extracting needs torch\n"),
        (ValueError("two of them"), 1, "two of them\n"),
        (KeyboardInterrupt(), 130, "Stopped. Features that were saved stay"),
    ],
)
def test_whatever_stops_it_is_told_in_a_line(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(kind: str) -> Cifar10H:
        raise error

    monkeypatch.setattr(extract, "load_cifar10h", stop)
    assert main([]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(words)
    assert printed.err.count("\n") == 1
