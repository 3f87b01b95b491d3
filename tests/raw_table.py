"""Small files in the true schema of CIFAR-10H's raw table and of CIFAR-10's archive."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.cifar10h.counts import CLASSES

COLUMNS = (
    "annotator_id",
    "trial_index",
    "is_attn_check",
    "true_category",
    "chosen_category",
    "true_label",
    "chosen_label",
    "correct_guess",
    "cifar10_test_test_idx",
    "image_filename",
    "subcategory",
    "reaction_time",
    "time_elapsed",
)

IMAGE_LABELS = np.random.default_rng(5).permutation(np.repeat(np.arange(10), 1000))
"""A true label for each of the 10,000 images."""


def raw_table(
    rng: np.random.Generator,
    n_annotators: int = 6,
    images_each: int = 20,
    checks_each: int = 2,
    n_images: int = 50,
    error_rate: float = 0.2,
) -> pd.DataFrame:
    """Answers of annotators who are right, or else say anything; the checks lie in between."""
    names = np.array(CLASSES, dtype=object)
    parts = []
    for annotator in range(n_annotators):
        n = images_each + checks_each
        image = np.full(n, -99999)
        seen = np.sort(rng.choice(n, images_each, replace=False))
        image[seen] = rng.choice(n_images, images_each, replace=False)
        check = image == -99999
        true = np.where(check, rng.integers(10, size=n), IMAGE_LABELS[np.maximum(image, 0)])
        chosen = np.where(rng.random(n) < error_rate, rng.integers(10, size=n), true)
        parts.append(
            pd.DataFrame(
                {
                    "annotator_id": annotator,
                    "trial_index": np.arange(n),
                    "is_attn_check": check.astype(int),
                    "true_category": names[true],
                    "chosen_category": names[chosen],
                    "true_label": true,
                    "chosen_label": chosen,
                    "correct_guess": (true == chosen).astype(int),
                    "cifar10_test_test_idx": image,
                    "image_filename": [f"thing_s_{i:06d}.png" if i >= 0 else "" for i in image],
                    "subcategory": np.where(check, "", "thing"),
                    "reaction_time": rng.integers(300, 3000, size=n),
                    "time_elapsed": np.cumsum(rng.integers(3000, 5000, size=n)),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def as_csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def as_zip(*members: tuple[str, bytes]) -> bytes:
    """An archive; its members are of no particular time, so that the same bytes come out again."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def python2_batch(
    images: npt.NDArray[np.uint8], labels: npt.NDArray[np.integer], by_columns: bool = False
) -> bytes:
    """A test batch as Python 2 pickled it, byte by byte: no Python 3 writes one like this."""

    def short(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    def whole(number: int) -> bytes:
        return b"J" + struct.pack("<i", number)

    rows = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    pixels = rows.tobytes(order="F" if by_columns else "C")
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n"
        + (b"cnumpy\nndarray\n" + whole(0) + b"\x85" + short(b"b") + b"\x87R")
        + (b"(" + whole(1) + whole(len(images)) + whole(images[0].size) + b"\x86")
        + (b"cnumpy\ndtype\n" + short(b"u1") + whole(0) + whole(1) + b"\x87R")
        + (b"(" + whole(3) + short(b"|") + b"NNN" + whole(-1) + whole(-1) + whole(0) + b"tb")
        + ((b"\x88T" if by_columns else b"\x89T") + struct.pack("<i", len(pixels)) + pixels + b"tb")
    )
    listed = b"](" + b"".join(whole(int(label)) for label in labels) + b"e"
    return (
        b"\x80\x02}("
        + (short(b"batch_label") + short(b"testing batch 1 of 1"))
        + (short(b"labels") + listed)
        + (short(b"data") + array)
        + b"u."
    )


def cifar_archive(batch: bytes, name: str = "cifar-10-batches-py/test_batch") -> bytes:
    """The batch among other members, packed as the published archive is."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for member, content in (("cifar-10-batches-py/readme.html", b"<html>"), (name, batch)):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
