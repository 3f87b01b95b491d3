"""VGG19's features of the images that the chapters on CIFAR-10H need (``make reproduce``)."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from siscm.checks import IntArray
from siscm.cifar10h.features import cache_file, features_folder
from siscm.cifar10h.pipeline import experiment_kind, load_cifar10h
from siscm.cifar10h.preprocessing import preprocess, with_disagreement
from siscm.data import registry

Need = Literal["table", "audit"]


def images_needed(raw: pd.DataFrame, need: Need = "table") -> IntArray:
    """The images whose features a part of the book asks for, in the order of their numbers.

    Parameters
    ----------
    raw
        A row an opinion, as from :func:`siscm.cifar10h.raw_file.load_cifar10h_raw`.
    need
        ``"table"``: what the paper's expert filter keeps, in either reading; enough for Table 1
        and all that is computed from the same images. ``"audit"``: every image on which people
        disagree, several times as many.
    """
    if need == "audit":
        return np.unique(with_disagreement(raw)["image"]).astype(np.int64)
    # The wider reading: whoever has more opinions than the threshold does not have fewer.
    done = preprocess(raw, reading="paper")
    return np.unique(np.concatenate([done.train.instances, done.test.instances])).astype(np.int64)


def main(arguments: Sequence[str] | None = None) -> int:
    """Extract what is missing, count it, or refuse it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m siscm.cifar10h.extract", description=__doc__)
    parser.add_argument("images", nargs="?", choices=("table", "audit"), default="table")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--count", action="store_true", help="only print how many are missing")
    only.add_argument("--check", action="store_true", help="only refuse a half-done extraction")
    chosen = parser.parse_args(arguments)

    def work() -> None:
        if chosen.check and experiment_kind() != "real":
            return  # the chapters show the twin
        data, folder = load_cifar10h("real"), features_folder()
        wanted = images_needed(data.raw, chosen.images)
        missing = len(data.missing(wanted))
        if chosen.check:
            _refuse_half_done(missing)
        elif chosen.count:
            if missing:
                _check_writable(folder)
            print(missing)
        else:
            data.features(wanted)
            new = f"{missing:,} of them new"
            print(f"ready: features of {len(wanted):,} images ({new}) in {folder}")

    return registry.exit_code(work, "Features that were saved stay")


def _refuse_half_done(missing: int) -> None:
    """Refuse to go on where chapters would take the real files and then miss a part of them."""
    if missing:
        raise FileNotFoundError(
            f"{missing:,} images have no features yet, as after an extraction that was stopped: "
            f"`make reproduce` goes on with it; without {cache_file()} the chapters show the twin."
        )


def _check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written, or made, before anything large is installed."""
    place = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise type(error)(
            f"features are missing and cannot be kept in {folder} ({error.strerror}): let "
            "SISCM_DATA_DIR name a folder that can be written and holds the same files, or links "
            "to them."
        ) from error


if __name__ == "__main__":
    sys.exit(main())
