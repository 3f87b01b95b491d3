"""A table of comma-separated values, in a zip archive or not: read without trusting either."""

from __future__ import annotations

import csv
import zipfile
from io import BytesIO, StringIO

import pandas as pd

LARGEST = 500_000_000
"""Bytes of a table that are still read; CIFAR-10H's raw one has about a tenth of them."""


def read_table(content: bytes, name: str) -> pd.DataFrame:
    """The cells of a table as text: a line a row, each with as many cells as the header.

    A quote that is never closed would hide rows, and a file cut short a part of its last one.

    Parameters
    ----------
    content
        Of a table, or of a zip archive with nothing else in it.
    name
        What errors call it.

    Raises
    ------
    ValueError
        If it cannot be read, or a row (1 is the first below the header) is not a line like that.
    """
    if content.startswith(b"PK") or name.endswith(".zip"):
        content = only_table(content, name)
    if len(content) > LARGEST:
        raise ValueError(f"{name} holds {len(content):,} bytes; more than {LARGEST:,} are refused.")
    width, row = None, -1
    try:
        rows = csv.reader(StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row, cells in enumerate(rows):
            width = len(cells) if width is None else width
            if rows.line_num != row + 1:
                raise ValueError("a cell runs over several lines; is a quote missing?")
            if len(cells) != width:
                raise ValueError(f"{len(cells)} cells under a header of {width}")
        # As a category, each text is kept once.
        return pd.read_csv(BytesIO(content), dtype="category", keep_default_na=False)
    except (ValueError, csv.Error) as error:
        row += isinstance(error, csv.Error)  # met while the next one is read
        where = f", row {row}" if row > 0 else ""
        raise ValueError(
            f"{name}{where} is not a table of comma-separated values: {error}"
        ) from None


def only_table(archive: bytes, name: str) -> bytes:
    """What the one table in a zip archive holds. Nothing is written to the disk.

    Parameters
    ----------
    archive
        Its bytes.
    name
        What errors call it.

    Raises
    ------
    ValueError
        If it cannot be read, or holds anything but one .csv file, without a folder, of at most
        :data:`LARGEST` bytes.
    """
    try:
        opened = zipfile.ZipFile(BytesIO(archive))
    except Exception as error:  # a damaged archive raises nearly anything
        raise ValueError(f"{name} is not a zip archive that can be read: {error}") from None
    with opened:
        # zipfile tidies up `filename`; this is the name as it stands in the archive.
        names = [member.orig_filename for member in opened.infolist()]
        listed = ", ".join(map(repr, names[:5]))
        if len(names) != 1:
            raise ValueError(
                f"{name} should hold one table and nothing else; it holds {len(names)} members"
                f"{': ' + listed if names else ''}."
            )
        if not names[0].endswith(".csv") or set("/\\:\0") & set(names[0]):
            raise ValueError(f"{name} should hold one .csv file, in no folder; it holds {listed}.")
        member = opened.infolist()[0]
        if member.file_size > LARGEST:
            raise ValueError(
                f"{name}: {listed} claims {member.file_size:,} bytes; more than {LARGEST:,} are "
                "refused."
            )
        try:
            return opened.read(member)  # never more than it claims, and its checksum is verified
        except Exception as error:  # damaged, encrypted, or packed in another way
            raise ValueError(f"{name}: {listed} cannot be unpacked: {error}") from None
