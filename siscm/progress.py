"""How far a download or a long computation has come, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from joblib import Parallel, delayed

Item = TypeVar("Item")

_MEGABYTE = 1_000_000


class DownloadBar:
    """A line on the terminal that counts megabytes; nothing in a log, nothing for small files.

    Has what ``pooch.HTTPDownloader`` asks of a progress bar.

    Parameters
    ----------
    name
        What is being downloaded.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.total = 0  # bytes, set by pooch; 0 if the server does not say
        self._arrived = 0
        self._shown = 0

    def update(self, n_bytes: int) -> None:
        """Count what has just arrived; show it once it makes another megabyte."""
        self._arrived += n_bytes
        if self.total:  # the last piece may count for more than it holds
            self._arrived = min(self._arrived, self.total)
        megabytes = self._arrived // _MEGABYTE
        if megabytes > self._shown and sys.stderr.isatty():
            self._shown = megabytes
            end = f" of {self.total // _MEGABYTE}" if self.total else ""
            print(f"\r{self.name}: {megabytes}{end} MB", end="", file=sys.stderr, flush=True)

    def reset(self) -> None:
        """Count from the beginning: pooch does, before it counts all at the end."""
        self._arrived = 0

    def close(self) -> None:
        """End the line, if there is one."""
        if self._shown:
            self._shown = 0
            print(file=sys.stderr, flush=True)


def run_all(
    function: Callable[..., Item],
    tasks: Iterable[Iterable[Any]],
    total: int,
    n_jobs: int,
    name: str = "runs",
) -> list[Item]:
    """What a function returns for each task, which is its arguments; counted on a terminal.

    Parameters
    ----------
    function
        What is called; in other processes if there are several workers.
    tasks
        The arguments of each call.
    total
        How many tasks there are.
    n_jobs
        Workers, as in joblib.
    name
        What the tasks are, on the terminal.
    """
    done = []
    for one in Parallel(n_jobs, return_as="generator")(delayed(function)(*task) for task in tasks):
        done.append(one)
        if sys.stderr.isatty():
            end = "\n" if len(done) == total else ""
            print(f"\r{name}: {len(done)} of {total}", end=end, file=sys.stderr, flush=True)
    return done
