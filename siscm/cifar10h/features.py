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
    Network,
    Weights,
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


def extract_features(
    images: Images,
    indices: Sequence[int] | IntArray | BoolArray,
    *,
    weights: Weights = "imagenet",
    cache: Path | None = None,
    batch_size: int = 16,
    device: str | None = None,
) -> Features:
    """What VGG19 sees in the images asked for, each looked at once (:mod:`siscm.cifar10h.vgg19`).

    Kept by the image's pixels and the weights' hash, so that neither another order of the images
    nor a re-encoded one can be mistaken. Rows are saved as the work goes on; after an interruption
    it resumes. Two processes may work on the same cache. On a terminal a bar shows the progress.

    Parameters
    ----------
    images
        (n, 32, 32, 3), red, green and blue from 0 to 255.
    indices
        Which of them to extract, in the order of the result; repeats are allowed.
    weights
        ``"imagenet"``, the registry's file, its hash verified before it is opened; a file of your
        own in torchvision's format; or ``"random"``, always the same, for trying and testing.
    cache
        The folder to keep features in; by default ``features`` in the data folder.
    batch_size
        How many images at a time: a matter of speed and memory. It changes a feature by rounding
        alone.
    device
        A name of torch's, such as ``"cpu"``. By default the GPU if there is one.

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
    file = cache_file(weights, cache)
    keys = [_image_key(images[index]) for index in wanted]
    known = _read(file)
    missing = {key: int(index) for key, index in zip(keys, wanted, strict=True) if key not in known}
    if missing:
        known = _extract(images, missing, load_network(weights, device), file, batch_size)
    return np.array([known[key] for key in keys], dtype=np.float32).reshape(-1, N_FEATURES)


def missing_features(
    images: Images,
    indices: Sequence[int] | IntArray | BoolArray,
    *,
    weights: Weights = "imagenet",
    cache: Path | None = None,
) -> npt.NDArray[np.int64]:
    """Which of the images asked for have not been looked at yet, each once and in order.

    Needs no torch, and no weights but to know their hash. Parameters are those of
    :func:`extract_features`, which looks at them.
    """
    check_images(images)
    wanted = np.unique(np.arange(len(images))[indices])
    known = _read(cache_file(weights, cache))
    return wanted[[_image_key(images[index]) not in known for index in wanted]]


def features_folder() -> Path:
    """Where features are kept unless a caller names another folder."""
    return registry.data_folder() / "features"


def cache_file(weights: Weights = "imagenet", cache: Path | None = None) -> Path:
    """The file that keeps the features made with these weights, whether it is there or not."""
    folder = features_folder() if cache is None else cache
    return folder / f"vgg19-{_weights_key(weights)}-v{TRANSFORM_VERSION}.npy"


def _extract(
    images: Images,
    missing: Mapping[bytes, int],
    network: Network,
    file: Path,
    batch_size: int,
) -> dict[bytes, Features]:
    """Extract the missing images, saving as it goes; return all that the cache then holds."""
    known = _add(file, {})  # now, not after minutes of work, if it cannot be written
    keys = list(missing)
    # `disable=None`: shown on a terminal only.
    with import_extra("tqdm").tqdm(
        total=len(keys), desc="VGG19", unit=" images", disable=None
    ) as progress:
        for start in range(0, len(keys), _SAVE_EVERY):
            part = keys[start : start + _SAVE_EVERY]
            chosen = images[[missing[key] for key in part]]
            rows = compute_features(network, chosen, batch_size=batch_size, advance=progress.update)
            known = _add(file, dict(zip(part, rows, strict=True)))
    return known


def _weights_key(weights: Weights) -> str:
    """What tells these weights from others: the first digits of their file's SHA-256."""
    if weights == "random":
        return "random"
    if weights == "imagenet":
        # Stated, not computed: features that are kept need no weights any more.
        return registry.ENTRIES[WEIGHTS].sha256[:16]
    if not isinstance(weights, Path):
        raise ValueError(f"weights is {weights!r}; it must be 'imagenet', 'random' or a Path.")
    with weights.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


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
            f"cannot keep features in {file.parent} ({error.strerror or error}): name a folder "
            "that can be written as `cache`, or with SISCM_DATA_DIR."
        ) from error
    return known
