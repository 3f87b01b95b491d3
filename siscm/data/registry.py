"""The data files: where each comes from, what it must be, and where it lies on this machine.

Nothing in the package reads a data file that is not listed in :mod:`siscm.data.sources`, and no
file is parsed before its SHA-256 agrees. :func:`locate` only looks; :func:`download`
(``make data``) fetches what is missing. ``SISCM_DATA`` says whether real files are wanted at all,
``SISCM_DATA_DIR`` where they lie.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal, cast

import pooch

from siscm.data.sources import ENTRIES as ENTRIES  # where others look, and tests put theirs
from siscm.data.sources import PANELS, PLACED_BY_HAND, Entry
from siscm.progress import DownloadBar

Setting = Literal["simulated", "real"]
"""What ``SISCM_DATA`` may say."""

_TIMEOUT = 30.0
"""Seconds without an answer after which a download counts as failed."""

_PIECE = 1 << 18
"""Bytes of a download that are written at once."""


def setting() -> Setting:
    """Which data the pages and :func:`siscm.data.panels.load_panel` show: simulated, unless asked.

    Reads the environment variable ``SISCM_DATA``.

    Raises
    ------
    ValueError
        If it is neither ``simulated`` nor ``real``.
    """
    value = os.environ.get("SISCM_DATA") or "simulated"
    if value not in ("simulated", "real"):
        raise ValueError(f"SISCM_DATA is {value!r}; it must be 'simulated' or 'real'.")
    return cast(Setting, value)


def data_folder() -> Path:
    """The folder of the data files: ``SISCM_DATA_DIR``, or else the user's cache."""
    folder = Path(os.environ.get("SISCM_DATA_DIR") or pooch.os_cache("siscm"))
    with suppress(RuntimeError):  # ~ of somebody who has no home stays as it is
        folder = folder.expanduser()
    return folder.absolute()


def locate(path: str) -> Path:
    """The local copy of a data file, its hash verified. Never downloads, never writes.

    Parameters
    ----------
    path
        A key of :data:`~siscm.data.sources.ENTRIES` or :data:`~siscm.data.sources.PLACED_BY_HAND`.

    Raises
    ------
    FileNotFoundError
        If the file is not there; says how to get it.
    ValueError
        If its bytes are not those expected, or the registry has no such path.
    """
    local = data_folder() / path
    if path in PLACED_BY_HAND:
        sha256, ways, remedy = PLACED_BY_HAND[path], "Put it there by hand", "Move it away"
    else:
        entry = _entry(path)
        sha256 = entry.sha256
        ways = (
            f"Run `make data` (or python -m siscm.data.registry) to download it, put it there "
            f"by hand (from {entry.url})"
        )
        remedy = "Move it away and run `make data`"
    if not local.is_file():
        raise FileNotFoundError(
            f"{path} is not in the data folder {data_folder()}. {ways}, or let SISCM_DATA_DIR "
            "name the folder that holds it."
        )
    _verify(
        local,
        sha256,
        f"{local} is not the file expected",
        f"{remedy}, or let SISCM_DATA_DIR name a folder with the right one.",
    )
    return local


def download(path: str | None = None) -> list[Path]:
    """Fetch a data file, or all of them; return where they lie.

    A file that is there with the right hash is used as it is; with a wrong one, nothing is
    downloaded. A download takes its name only after its hash agrees; one that fails, for whatever
    reason, leaves nothing behind. On a terminal a line shows how far a large one has come.

    Raises
    ------
    ValueError
        If a file, already there or just downloaded, is not the one expected (the first is left
        untouched), or the registry has no such path.
    ConnectionError
        If the address cannot be reached, refuses, or breaks off.
    OSError
        If the data folder cannot be written, or its disk is full.
    """
    folder = data_folder()
    entries = list(ENTRIES.values()) if path is None else [_entry(path)]
    for entry in sorted(entries, key=_is_missing):  # if one that is there is wrong, none is fetched
        if _is_missing(entry):
            _fetch(entry, folder)
        else:
            locate(entry.path)
    return [folder / entry.path for entry in entries]


def _is_missing(entry: Entry) -> bool:
    return not (data_folder() / entry.path).exists()


def _entry(path: str) -> Entry:
    if path not in ENTRIES:
        raise ValueError(f"the registry has no file {path!r}; it has {', '.join(ENTRIES)}.")
    return ENTRIES[path]


def _verify(file: Path, sha256: str, problem: str, remedy: str) -> None:
    found = pooch.file_hash(str(file), alg="sha256")
    if found != sha256:
        raise ValueError(f"{problem}: its SHA-256 should be {sha256}, but is {found}. {remedy}")


def _fetch(entry: Entry, folder: Path) -> None:
    """Download one file into a folder of its own beside its place, verify it, move it there."""
    target = folder / entry.path
    made = [parent for parent in target.parents if not parent.exists()]
    arrived = False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".siscm-") as staging:
            staged = Path(staging) / target.name
            _stream(entry, staged)
            _verify(
                staged,
                entry.sha256,
                f"what {entry.url} sent is not {entry.path}",
                "Nothing was kept. Try again later, or get the file elsewhere and put it into "
                f"{folder} by hand.",
            )
            staged.replace(target)
            arrived = True
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise type(error)(
            f"cannot write {entry.path} into the data folder {folder} ({error.strerror}); let "
            "SISCM_DATA_DIR name a folder that can be written."
        ) from error
    finally:
        if not arrived:
            # Deepest first. One that another process has filled meanwhile stays.
            for parent in made:
                with suppress(OSError):
                    parent.rmdir()


def _stream(entry: Entry, file: Path) -> None:
    """Write what the address sends into ``file``."""
    # Created here, so that failing to write and failing to read cannot be taken for each other,
    # and with the permissions that the user gives new files.
    file.touch()
    try:
        with closing(DownloadBar(entry.path)) as bar:
            load = pooch.HTTPDownloader(progressbar=bar, chunk_size=_PIECE, timeout=_TIMEOUT)
            load(entry.url, str(file), None)
    except OSError as error:  # requests derives all its errors from it
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                f"{entry.path} does not fit on the disk of the data folder ({error.strerror}). "
                "Nothing was kept. Make room, or let SISCM_DATA_DIR name a folder with more."
            ) from error
        answer = getattr(error, "response", None)
        reason = "there is no connection, or it broke off"
        if answer is not None:
            reason = f"the server answered {answer.status_code}"
            answer.close()
        raise ConnectionError(
            f"could not download {entry.path} from {entry.url}: {reason}. Nothing was kept. Try "
            "again with a network, or put the file into the data folder by hand."
        ) from error


def main(arguments: Sequence[str] = ()) -> int:
    """Download every data file that is missing (``make data``); return the exit code.

    With the argument ``check`` nothing is downloaded: the files of
    :data:`~siscm.data.sources.PANELS` must be there.
    """
    parser = argparse.ArgumentParser(prog="python -m siscm.data.registry", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("check",), help="look, download nothing")
    chosen = parser.parse_args(arguments)

    def work() -> None:
        if chosen.what == "check":
            for path in PANELS:
                locate(path)
        else:
            for entry in sorted(ENTRIES.values(), key=_is_missing):
                print(f"ready: {download(entry.path)[0]}", flush=True)

    return exit_code(work, "Files that are complete stay")


def exit_code(work: Callable[[], None], kept: str) -> int:
    """That of a command: it says errors in one line, and what an interruption kept."""
    unwind_when_ended()
    try:
        work()
    except (OSError, ValueError, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Stopped. {kept}; the same command goes on.", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def unwind_when_ended() -> None:
    """Let a polite kill and a closed terminal unwind like Ctrl-C: nothing half-written stays."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda number, frame: sys.exit(128 + number))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
