"""The data files: where each comes from, what it must be, and where it lies on this machine.

Nothing in the package reads a data file that is not listed here, and no file is parsed before its
SHA-256 agrees. :func:`locate` only looks; :func:`download` (``make data``) fetches what is
missing. ``SISCM_DATA`` says whether real files are wanted at all, ``SISCM_DATA_DIR`` where they
lie.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

import pooch

Setting = Literal["simulated", "real"]

_TIMEOUT = 30.0
"""Seconds without an answer after which a download counts as failed."""


@dataclass(frozen=True)
class Entry:
    """One data file.

    Parameters
    ----------
    path
        Where it lies under the data folder, with forward slashes; also its name here.
    sha256
        What its bytes must hash to, in hexadecimal.
    url
        Where to get it: the address of one fixed commit.
    licence
        What its authors allow.
    source
        What to cite.
    """

    path: str
    sha256: str
    url: str
    licence: str
    source: str


# These addresses could not be opened where this was written: they are put together from the
# repositories, folders and commits that the files came from. If one is wrong, its download fails
# with a clear error; the hash, which was computed from the file itself, is what protects.
_RAW = "https://raw.githubusercontent.com"
_LEWIDI = f"{_RAW}/Le-Wi-Di/le-wi-di.github.io/45d7b06e4c36b59472d6bdf9281f7f1e395eb0e0"
_CIFAR10H = f"{_RAW}/jcpeterson/cifar-10h/48da312b193b82e6939ec20f23d1f09cbdd849c8"

_SHARED_TASK = "Leonardelli et al., SemEval-2023 Task 11: Learning With Disagreements (Le-Wi-Di)"
_LEWIDI_SOURCE = {
    "HS-Brexit": "Akhtar, Basile and Patti (2021), Whose Opinions Matter? Perspective-aware "
    f"Models to Identify Opinions of Hate Speech Victims; {_SHARED_TASK}",
    "MD-Agreement": "Leonardelli et al. (2021), Agreeing to Disagree: Annotating Offensive "
    f"Language Datasets with Annotators' Disagreement; {_SHARED_TASK}",
}
_LEWIDI_SHA256 = {
    "HS-Brexit": {
        "train": "d204d83c7b1a73f037b3aff36aac61357c08a96f96292a37ac7655eb562d81fb",
        "dev": "77c17f95985cbb6db47ffcda637e717a9074f2660e15b5c0c1f9006f50da60a7",
        "test": "24e5e1615818ff6e3b96e50245cfe10636ef8ec0ea51f2c2a60acb68858fd195",
    },
    "MD-Agreement": {
        "train": "0b100595f7d10fd9b4624c647af2888597472b2dea90643dc788278714f57a6d",
        "dev": "b42b6b54015589504de259241e14c17ff605baab4eb146effcb17a95fbfd69f5",
        "test": "a30f185ece8bc99a45ce50e0311593ee1a6882a816c93f6915cabd368f3fad53",
    },
}
_CIFAR10H_SHA256 = {
    "counts": "9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
}


def lewidi_path(name: str, split: str) -> str:
    """The registry's path of one split of a Le-Wi-Di panel."""
    return f"lewidi/{name}_dataset/{name}_{split}.json"


def _entries() -> list[Entry]:
    lewidi = [
        Entry(
            path=lewidi_path(name, split),
            sha256=sha256,
            url=f"{_LEWIDI}/LeWiDi_2-2023/{name}_dataset/{name}_{split}.json",
            licence="research use; cite the shared task",
            source=_LEWIDI_SOURCE[name],
        )
        for name, splits in _LEWIDI_SHA256.items()
        for split, sha256 in splits.items()
    ]
    cifar10h = [
        Entry(
            path=f"cifar10h/cifar10h-{what}.npy",
            sha256=sha256,
            url=f"{_CIFAR10H}/data/cifar10h-{what}.npy",
            licence="CC BY-NC-SA 4.0",
            source="Peterson, Battleday, Griffiths and Russakovsky (2019), Human Uncertainty Makes "
            "Classification More Robust",
        )
        for what, sha256 in _CIFAR10H_SHA256.items()
    ]
    return lewidi + cifar10h


ENTRIES: Mapping[str, Entry] = MappingProxyType({entry.path: entry for entry in _entries()})
"""Every data file by its path under the data folder."""


def setting() -> Setting:
    """Which data the pages and :func:`siscm.panels.load_panel` show: simulated, unless asked.

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
    folder = os.environ.get("SISCM_DATA_DIR") or pooch.os_cache("siscm")
    return Path(folder).expanduser().absolute()


def locate(path: str) -> Path:
    """The local copy of a data file, its hash verified. Never downloads, never writes.

    Parameters
    ----------
    path
        A key of :data:`ENTRIES`.

    Raises
    ------
    FileNotFoundError
        If the file is not there; says how to get it.
    ValueError
        If its bytes are not those expected, or the registry has no such path.
    """
    entry = _entry(path)
    local = data_folder() / path
    if not local.is_file():
        raise FileNotFoundError(
            f"{path} is not in the data folder {data_folder()}. Run `make data` to download it, "
            f"put it there by hand (from {entry.url}), or let SISCM_DATA_DIR name the folder "
            "that holds it."
        )
    _verify(
        local,
        entry,
        f"{local} is not the file expected",
        "Move it away and run `make data`, or let SISCM_DATA_DIR name a folder with the right one.",
    )
    return local


def download(path: str | None = None) -> list[Path]:
    """Fetch a data file, or all of them; return where they lie.

    A file that is there with the right hash is used as it is. A download takes its name only
    after its hash agrees; one that fails, for whatever reason, leaves nothing behind.

    Raises
    ------
    ValueError
        If a file, already there or just downloaded, is not the one expected (the first is left
        untouched), or the registry has no such path.
    ConnectionError
        If the address cannot be reached, refuses, or breaks off.
    PermissionError
        If the data folder cannot be written.
    """
    entries = list(ENTRIES.values()) if path is None else [_entry(path)]
    folder = data_folder()
    for entry in entries:
        if not (folder / entry.path).exists():
            _fetch(entry, folder)
    return [locate(entry.path) for entry in entries]


def _entry(path: str) -> Entry:
    if path not in ENTRIES:
        raise ValueError(f"the registry has no file {path!r}; it has {', '.join(ENTRIES)}.")
    return ENTRIES[path]


def _verify(file: Path, entry: Entry, problem: str, remedy: str) -> None:
    found = pooch.file_hash(str(file), alg="sha256")
    if found != entry.sha256:
        raise ValueError(
            f"{problem}: its SHA-256 should be {entry.sha256}, but is {found}. {remedy}"
        )


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
                entry,
                f"what {entry.url} sent is not {entry.path}",
                "Nothing was kept. Try again later, or get the file elsewhere and put it into "
                f"{folder} by hand.",
            )
            staged.replace(target)
            arrived = True
    except PermissionError as error:
        raise PermissionError(
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
        pooch.HTTPDownloader(timeout=_TIMEOUT)(entry.url, str(file), None)
    except OSError as error:  # requests derives all its errors from it
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
    """Download every data file (``make data``), a line each; return the exit code.

    With the argument ``check`` nothing is downloaded: the files must be there.
    """
    # A polite kill unwinds like Ctrl-C does, so that it leaves nothing half-written behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    only_check = list(arguments) == ["check"]
    for path in ENTRIES:
        try:
            local = locate(path) if only_check else download(path)[0]
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
        if not only_check:
            print(f"ready: {local}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
