"""What all tests share: the path of their helpers, fixtures, and how hard Hypothesis tries.

``ci`` (default) draws the same modest number of examples every time; ``HYPOTHESIS_PROFILE=deep``
or ``--hypothesis-profile=deep`` draws thousands of new ones; ``mutation`` is ``ci`` without the
search for the smallest counterexample, which nobody reads in `make mutation`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from siscm.checks import IntArray
    from siscm.cifar10h.cifar10_images import ImageArray
    from siscm.cifar10h.pipeline import Cifar10H

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *(str(path) for path in sorted(HERE.iterdir()) if path.is_dir())]

collect_ignore = ["browser"]  # `make test-browser` names it: it needs the built book

slow_is_fine = [HealthCheck.too_slow]
settings.register_profile(
    "ci",
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=slow_is_fine,
)
settings.register_profile(
    "deep", max_examples=3000, deadline=None, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "mutation", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def twin() -> Cifar10H:
    """The twin that the book shows; nobody may change it."""
    from siscm.cifar10h.pipeline import load_cifar10h

    return load_cifar10h("twin")


@pytest.fixture
def real_images() -> tuple[ImageArray, IntArray]:
    """CIFAR-10's images and labels, for tests on real files: as JPEG, else as `make data` has them.

    The re-encoded ones have no address, so whoever has downloaded everything lacks them.
    """
    from siscm.cifar10h import cifar10_images
    from siscm.data import registry  # not in the environment of tests/features
    from siscm.data.sources import JPEG_IMAGES

    if (registry.data_folder() / JPEG_IMAGES).is_file():
        return cifar10_images.load_jpeg_images()
    return cifar10_images.load_cifar10_images()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For many small fits, which are slower on several threads."""
    from threadpoolctl import threadpool_limits  # not in the environment of tests/features

    with threadpool_limits(1):
        yield


@pytest.fixture
def axes() -> Iterator[Axes]:
    """Empty axes."""
    from matplotlib import pyplot as plt  # not in the environment of tests/features

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)
