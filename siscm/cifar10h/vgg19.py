"""The network VGG19 up to its last pooling, and what it makes of images: 512 numbers each.

Images are scaled to [0, 1], resized from 32 x 32 to 224 x 224 (bilinear, pixels as areas:
``align_corners=False``; no crop, and no antialiasing, which enlarging does not need), and
standardised by ImageNet's channel means and standard deviations. The network leaves 512 maps of
7 x 7 numbers; a feature is the mean of a map. Weights are torchvision's
``VGG19_Weights.IMAGENET1K_V1``. The released code's were Keras's, on channels in the order BGR
with their means subtracted, after TensorFlow's legacy bilinear resizing, so features differ.

Needs torch (the extra ``features``), but only once a function is called.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from siscm.data.sources import WEIGHTS

Images = npt.NDArray[np.uint8]
Features = npt.NDArray[np.float32]
Network = Any
"""A torch module, (n, 3, 224, 224) to (n, 512, 7, 7). Types are checked without torch."""

N_FEATURES = 512

TRANSFORM_VERSION = 1
"""Of the way from an image to its features. Whoever changes it raises this number."""

_SIZE = 224
_IMAGE_SHAPE = (32, 32, 3)
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_RANDOM_SEED = 0


def load_network(
    weights: Literal["imagenet", "random"] = "imagenet", device: str | None = None
) -> Network:
    """VGG19 up to its last pooling, ready to run on a device.

    Leaves torch's random numbers as they were.

    Parameters
    ----------
    weights
        ``"imagenet"``, the registry's file, its hash verified before it is opened; or
        ``"random"``, always the same, for trying and testing.
    device
        A name of torch's, such as ``"cpu"``. By default the GPU if there is one.

    Raises
    ------
    ValueError
        If there are no such weights, or their file is not what it should be.
    FileNotFoundError
        If the weights are not there; says how to get them.
    ImportError
        If torch is not installed.
    """
    if weights not in ("imagenet", "random"):
        raise ValueError(f"weights is {weights!r}; it must be 'imagenet' or 'random'.")
    torch, models = import_extra("torch"), import_extra("torchvision.models")
    if weights == "random":
        # The CPU's generator alone: `torch.manual_seed` would seed every GPU's as well.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_RANDOM_SEED)
            network = models.vgg19(weights=None).features
    else:
        from siscm.data import registry  # only here: it needs pooch, which random weights do not

        network = _read_weights(registry.locate(WEIGHTS))
    target = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    # The order in memory that processors like better.
    order = torch.channels_last if target.type == "cpu" else torch.contiguous_format
    return network.to(device=target, dtype=torch.float32, memory_format=order).eval()


def compute_features(
    network: Network,
    images: Images,
    *,
    batch_size: int = 16,
    advance: Callable[[int], object] = lambda done: None,
) -> Features:
    """A network's features of all these images, (n, 512), nothing kept.

    In full float32: TF32 and other short cuts are off while it runs, and as they were afterwards.

    Parameters
    ----------
    network
        As :func:`load_network` gives it; runs where it lies.
    images
        As in :func:`siscm.cifar10h.features.extract_features`.
    batch_size
        How many images at a time: a matter of speed and memory. It changes a feature by rounding
        alone.
    advance
        Called after each batch with the number of its images.
    """
    torch = import_extra("torch")
    check_images(images)
    device = next(network.parameters()).device
    mean, std = (torch.tensor(v, device=device).reshape(1, 3, 1, 1) for v in (_MEAN, _STD))
    rows = np.empty((len(images), N_FEATURES), dtype=np.float32)
    with torch.inference_mode(), _full_precision(torch):
        for start in range(0, len(images), batch_size):
            batch = torch.tensor(images[start : start + batch_size], device=device)
            pixels = batch.permute(0, 3, 1, 2).to(torch.float32) / 255
            pixels = torch.nn.functional.interpolate(
                pixels, size=(_SIZE, _SIZE), mode="bilinear", align_corners=False, antialias=False
            )
            maps = network((pixels - mean) / std)
            rows[start : start + batch_size] = maps.mean(dim=(2, 3)).cpu().numpy()
            advance(len(batch))
    return rows


def _read_weights(file: Path) -> Network:
    """The network with a file's weights. The file can hold nothing but numbers: no code is run."""
    torch, models = import_extra("torch"), import_extra("torchvision.models")
    with torch.device("meta"):  # builds the network without numbers; the file has them
        network = models.vgg19(weights=None).features
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
        ours = {
            name.removeprefix("features."): value
            for name, value in state.items()
            if name.startswith("features.")
        }
        network.load_state_dict(ours, assign=True)
    except (AttributeError, EOFError, RuntimeError, pickle.UnpicklingError) as error:
        raise ValueError(f"{file} does not hold the weights of torchvision's VGG19.") from error
    return network


def check_images(images: Images) -> None:
    """Refuse anything but 8-bit colour images of 32 x 32 pixels."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != _IMAGE_SHAPE:
        raise ValueError(
            "images must be uint8 of shape (n, 32, 32, 3), red, green and blue from 0 to 255, not "
            f"{images.dtype} of shape {images.shape}."
        )


def import_extra(name: str) -> Any:
    """A module of the extra ``features``."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"extracting features needs {error.name}, which is not installed here: `make "
            "reproduce` installs it in an environment of its own, .venv-features, and extracts "
            "what the book needs; elsewhere, `pip install 'siscm[features]'`."
        ) from error


@contextmanager
def _full_precision(torch: Any) -> Iterator[None]:
    """No TF32, no choice of algorithm by a race; all as it was afterwards."""
    cudnn, mkldnn = torch.backends.cudnn, torch.backends.mkldnn
    wanted: list[tuple[Any, str, object]]
    wanted = [(cudnn, "benchmark", False), (cudnn, "deterministic", True)]
    if hasattr(cudnn, "conv"):  # torch 2.9 and newer, where the older switch is best not touched
        wanted += [(backend.conv, "fp32_precision", "ieee") for backend in (cudnn, mkldnn)]
    else:
        wanted += [(cudnn, "allow_tf32", False)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in wanted]
    try:
        for owner, name, value in wanted:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
