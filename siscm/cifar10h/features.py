"""VGG19's features of images, extracted once and kept.

Only extracting needs torch (the extra ``features``). What has been extracted is read without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from siscm.checks import BoolArray, IntArray
from siscm.cifar10h.vgg19 import (
    N_FEATURES,
    TRANSFORM_VERSION,
    Features,
    Images,
    check_images,
    compute_features,
    import_extra,
    load_network,
)
from siscm.data import registry
from siscm.data.sources import WEIGHTS

_SAVE_EVERY = 256
"""Images after which what has been extracted is kept: what an interruption can cost."""

_ROW = np.dtype([("image", "S64"), ("features", "<f4", (N_FEATURES,))])
"""A row of the cache: SHA-256 of an image's pixels, and its features."""


def extract_features(images: Images, indices: Sequence[int] | IntArray | BoolArray) -> Features:
    """What VGG19 sees in the images asked for, each looked at once (:mod:`siscm.cifar10h.vgg19`).

    Its weights are the registry's file, whose hash is verified before it is opened. On the GPU if
    there is one; on a terminal a bar shows the progress.

    Kept by the image's pixels and the weights' hash, so that neither another order of the images
    nor a re-encoded one can be mistaken. Rows are saved as the work goes on; after an interruption
    it resumes. Two processes may work on the same cache.

    Parameters
    ----------
    images
        (n, 32, 32, 3), red, green and blue from 0 to 255.
    indices
        Which of them to extract, in the order of the result; repeats are allowed.

    Returns
    -------
    array (len(indices), 512) of float32

    Raises
    ------
    ValueError
        If images are not as above, or a file is not what it should be.
    FileNotFoundError
        If the weights are not there; says how to get them.
    ImportError
        If something has to be extracted and torch is not installed.
    OSError
        If something has to be extracted and the cache cannot be written.
    """
    check_images(images)
    wanted = np.arange(len(images))[indices]
    keys = [_image_key(images[index]) for index in wanted]
    known = _read(cache_file())
    missing = {key: int(index) for key, index in zip(keys, wanted, strict=True) if key not in known}
    if missing:
        known = _extract(images, missing)
    return np.array([known[key] for key in keys], dtype=np.float32).reshape(-1, N_FEATURES)


def missing_features(
    images: Images, indices: Sequence[int] | IntArray | BoolArray
) -> npt.NDArray[np.int64]:
    """Which of the images asked for have not been looked at yet, each once and in order.

    Needs no torch, and no weights but to know their hash. Parameters are those of
    :func:`extract_features`, which looks at them.
    """
    check_images(images)
    wanted = np.unique(np.arange(len(images))[indices])
    known = _read(cache_file())
    return wanted[[_image_key(images[index]) not in known for index in wanted]]


def features_folder() -> Path:
    """Where features are kept."""
    return registry.data_folder() / "features"


def cache_file() -> Path:
    """The file that keeps the features, whether it is there or not.

    Its name holds the first digits of the weights' SHA-256; stated, not computed, as features that
    are kept need no weights any more.
    """
    weights = registry.ENTRIES[WEIGHTS].sha256[:16]
    return features_folder() / f"vgg19-{weights}-v{TRANSFORM_VERSION}.npy"


def _extract(images: Images, missing: Mapping[bytes, int]) -> dict[bytes, Features]:
    """Extract the missing images, saving as it goes; return all that the cache then holds."""
    network, file = load_network(), cache_file()
    known = _add(file, {})  # now, not after minutes of work, if it cannot be written
    keys = list(missing)
    # `disable=None`: shown on a terminal only.
    with import_extra("tqdm").tqdm(
        total=len(keys), desc="VGG19", unit=" images", disable=None
    ) as progress:
        for start in range(0, len(keys), _SAVE_EVERY):
            part = keys[start : start + _SAVE_EVERY]
            chosen = images[[missing[key] for key in part]]
            rows = compute_features(network, chosen, advance=progress.update)
            known = _add(file, dict(zip(part, rows, strict=True)))
    return known


def _image_key(image: Images) -> bytes:
    return hashlib.sha256(image.tobytes()).hexdigest().encode()


def _read(file: Path) -> dict[bytes, Features]:
    """What the cache holds, by image. A file that is replaced meanwhile is read whole."""
    if not file.exists():
        return {}
    try:
        table = np.load(file, allow_pickle=False)
        return dict(zip(table["image"].tolist(), table["features"], strict=True))
    except Exception as error:  # a damaged file raises nearly anything
        raise ValueError(f"{file} is not a file of features ({error}). Move it away.") from None


def _add(file: Path, rows: Mapping[bytes, Features]) -> dict[bytes, Features]:
    """Add rows to the cache, and return all that it holds then, other processes' work included."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with import_extra("filelock").FileLock(file.with_suffix(".lock")):
            known = _read(file) | dict(rows)
            table = np.array(list(known.items()), dtype=_ROW)
            partial = file.with_suffix(".partial")
            with partial.open("wb") as stream:
                np.save(stream, table, allow_pickle=False)
            partial.replace(file)
    except OSError as error:
        raise type(error)(
            f"cannot keep features in {file.parent} ({error.strerror or error}): let "
            "SISCM_DATA_DIR name a folder that can be written."
        ) from error
    return known
