"""A table packed into a zip archive: read without trusting the archive."""

from __future__ import annotations

import zipfile
from io import BytesIO

LARGEST = 500_000_000
"""Bytes of a table that are still read; CIFAR-10H's raw one has about a tenth of them."""


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
