"""A folder that nobody here may write, root included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Take the right to write from a folder and all below it, and give it back at the end.

    Nobody but its owner may enter pytest's own folder for temporary files: use another.
    """
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        for folder in folders:
            folder.chmod(0o755)
