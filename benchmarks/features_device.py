"""The feature extractor on a machine with a GPU, beside its CPU. Run by hand; keeps nothing.

    python benchmarks/features_device.py [images]

Random weights, generated images. Prints, as JSON: images per second on each, the largest
difference between the two and between batch sizes (relative to the largest feature), what TF32
would have cost, and whether torch's settings were left as they were. Needs torch, torchvision and
what the package itself imports, but no download and no pooch.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from _results import timed

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    import torch
    import torchvision
except ModuleNotFoundError:
    # `make bench` runs every script, in an environment without torch.
    sys.stderr.write("features_device.py: no torch here, nothing is measured\n")
    sys.exit(0)

from siscm.cifar10h.vgg19 import compute_features, load_network

Features = npt.NDArray[np.float32]

N_IMAGES = 512
BATCH_SIZES = (1, 7, 16, 64, 256)


def generated(n_images: int) -> npt.NDArray[np.uint8]:
    """Coarse shapes with a little noise on them."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 236, (n_images, 4, 4, 3), dtype=np.uint8)
    large = coarse.repeat(8, axis=1).repeat(8, axis=2)
    return large + rng.integers(0, 20, large.shape, dtype=np.uint8)


def run(
    network: Any, images: npt.NDArray[np.uint8], batch_size: int, repeats: int
) -> tuple[Features, float]:
    """Features, and images a second at best."""
    compute_features(network, images[:batch_size], batch_size=batch_size)  # warm up
    task = partial(compute_features, network, images, batch_size=batch_size)  # ends on the CPU
    seconds, found = min((timed(task) for _ in range(repeats)), key=lambda run: run[0])
    return found, len(images) / seconds


def apart(found: Features, reference: Features) -> float:
    """The largest difference, relative to the largest feature."""
    return float(np.abs(found - reference).max() / np.abs(reference).max())


def with_tf32(network: Any, images: npt.NDArray[np.uint8], reference: Features) -> float:
    """How far off the features are if TF32 is on: the other figures should be far below."""
    import siscm.cifar10h.vgg19 as module

    careful, module._full_precision = module._full_precision, nullcontext
    torch.backends.cudnn.allow_tf32 = True
    try:
        return apart(compute_features(network, images), reference)
    finally:
        module._full_precision = careful


def settings() -> list[object]:
    """What of torch's settings the extractor touches for a while."""
    cudnn = torch.backends.cudnn
    precision = cudnn.conv.fp32_precision if hasattr(cudnn, "conv") else None
    random = [torch.get_rng_state().sum().item()]
    if torch.cuda.is_available():
        random.append(torch.cuda.get_rng_state().sum().item())
    return [cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, precision, random]


def main() -> None:
    """Compare and print."""
    n_images = int(sys.argv[1]) if len(sys.argv) > 1 else N_IMAGES
    images = generated(n_images)
    before = settings()
    reference, cpu_speed = run(load_network("random", "cpu"), images, 16, 1)
    figures: dict[str, object] = {
        "images": n_images,
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "cpu_threads": torch.get_num_threads(),
        "cpu_images_per_second": round(cpu_speed, 1),
        "features_in_use": int((reference.max(axis=0) > 0).sum()),
    }
    if torch.cuda.is_available():
        network = load_network("random")
        first, _ = run(network, images, 16, 1)
        again, _ = run(network, images, 16, 1)
        by_batch = {size: run(network, images, size, 2) for size in BATCH_SIZES}
        figures |= {
            "gpu": torch.cuda.get_device_name(),
            "gpu_images_per_second": {s: round(v, 1) for s, (_, v) in by_batch.items()},
            "gpu_against_cpu": apart(first, reference),
            "gpu_batch_sizes_apart": {s: apart(found, first) for s, (found, _) in by_batch.items()},
            "gpu_twice_the_same": bool((first == again).all()),
            "gpu_gigabytes_at_most": round(torch.cuda.max_memory_allocated() / 1e9, 2),
            "settings_as_they_were": settings() == before,
            "gpu_with_tf32_against_cpu": with_tf32(network, images, reference),
        }
    else:
        figures |= {"gpu": None, "settings_as_they_were": settings() == before}
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
