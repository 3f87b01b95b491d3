"""The line that shows how far a download has come."""

from __future__ import annotations

import io
import sys

import pytest

from siscm.progress import DownloadBar, run_all

PIECE = 262_144


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def count(total: int, size: int, monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    """What a terminal shows of ``size`` bytes, of which pooch was told that they are ``total``."""
    terminal = Terminal()
    if monkeypatch:
        monkeypatch.setattr(sys, "stderr", terminal)
    bar = DownloadBar("a file")
    bar.total = total
    for _ in range(0, size, PIECE):
        bar.update(PIECE)
    bar.reset()
    bar.update(total)
    bar.close()
    bar.close()
    return terminal.getvalue()


@pytest.mark.parametrize("total", [20_500_000, 20 * PIECE * 4])
def test_every_megabyte_is_shown_once_and_never_too_many(
    total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *steps = count(total, total, monkeypatch).split("\r")
    assert first == ""
    end = total // 1_000_000
    assert steps == [f"a file: {n} of {end} MB" for n in range(1, end)] + [
        f"a file: {end} of {end} MB\n"
    ]


def test_an_unknown_size_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count(0, 2_500_000, monkeypatch) == "\ra file: 1 MB\ra file: 2 MB\n"


def test_a_small_file_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count(900_000, 900_000, monkeypatch) == ""


def test_a_log_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    count(20_500_000, 20_500_000)
    assert capfd.readouterr() == ("", "")


def test_runs_are_counted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert run_all(str.upper, iter([("a",), ("b",)]), 2, 1) == ["A", "B"]
    assert screen.getvalue() == "\rruns: 1 of 2\rruns: 2 of 2\n"


def test_in_a_log_they_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all(str.upper, iter([("a",), ("b",)]), 2, 1) == ["A", "B"]
    assert capsys.readouterr().err == ""
