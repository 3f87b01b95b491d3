"""VGG19 for real: random weights, on generated images and on CIFAR-10's where they are."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torchvision.models import VGG19_Weights, vgg19

import siscm.cifar10h.vgg19
from siscm.cifar10h import features
from siscm.cifar10h.features import extract_features
from siscm.cifar10h.vgg19 import compute_features, load_network
from siscm.data import registry
from siscm.data.sources import WEIGHTS

Images = npt.NDArray[np.uint8]
Features = npt.NDArray[np.float32]

N_IMAGES = 8

DATA_DIR = os.environ.get("SISCM_DATA_DIR")


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where features are kept. No weights lie there."""
    monkeypatch.setenv("SISCM_DATA_DIR", str(tmp_path))


@pytest.fixture(scope="module")
def images() -> Images:
    """Smooth shapes, noise, and the extremes."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (N_IMAGES, 4, 4, 3), dtype=np.uint8)
    drawn = coarse.repeat(8, axis=1).repeat(8, axis=2)
    drawn[1] = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    drawn[2], drawn[3] = 0, 255
    return drawn


@pytest.fixture(scope="module")
def network() -> Any:
    return load_network("random", "cpu")


@pytest.fixture(scope="module")
def expected(network: Any, images: Images) -> Features:
    return compute_features(network, images, batch_size=3)


@pytest.fixture
def counted(network: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many images went through the network, batch by batch; it is not built anew."""
    seen: list[int] = []
    hook = network.register_forward_pre_hook(lambda module, inputs: seen.append(len(inputs[0])))
    monkeypatch.setattr(features, "load_network", lambda: network)
    yield seen
    hook.remove()


class Tiny(torch.nn.Module):
    """As quick as a network can be: 512 multiples of the mean of each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.1, 1, 512).reshape(1, 512, 1, 1))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels.mean(dim=(1, 2, 3), keepdim=True) * self.weight.expand(-1, -1, 7, 7)


# --- what a feature is


def by_hand(image: Images) -> Features:
    """One image's features from the definitions: bilinear weights as a matrix, layer by layer."""
    at = (
        np.arange(224) + 0.5
    ) * 32 / 224 - 0.5  # where a large pixel's centre lies among the small
    matrix = np.maximum(0, 1 - np.abs(np.clip(at, 0, 31)[:, None] - np.arange(32)))
    large = np.einsum("ai,bj,ijc->cab", matrix, matrix, image / 255)
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    pixels = (large - mean[:, None, None]) / std[:, None, None]

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = vgg19(weights=None).features.eval().double()
    maps = torch.tensor(pixels[None])
    with torch.no_grad():
        for layer in layers:
            maps = layer(maps)
    assert maps.shape == (1, 512, 7, 7)
    return maps.numpy().reshape(512, 49).mean(axis=1)


def test_a_feature_is_what_the_definition_says(images: Images, expected: Features) -> None:
    """In double precision, another resizing, and the order of memory that torch has by itself."""
    for index in (0, 1):
        found, wanted = expected[index], by_hand(images[index])
        assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_the_means_are_those_of_the_weights() -> None:
    preset = VGG19_Weights.IMAGENET1K_V1.transforms()
    assert tuple(preset.mean) == siscm.cifar10h.vgg19._MEAN
    assert tuple(preset.std) == siscm.cifar10h.vgg19._STD
    assert preset.crop_size == [224]
    entry = registry.ENTRIES[siscm.cifar10h.vgg19.WEIGHTS]
    assert VGG19_Weights.IMAGENET1K_V1.url == entry.url
    assert entry.sha256.startswith(Path(entry.path).stem.split("-")[1])


def test_features_tell_images_apart(expected: Features) -> None:
    assert expected.shape == (N_IMAGES, 512)
    assert expected.dtype == np.float32
    assert np.isfinite(expected).all()
    assert (expected >= 0).all(), "the last layer but pooling is a ReLU"
    apart = np.linalg.norm(expected[:, None] - expected[None], axis=2)
    assert (
        apart[~np.eye(N_IMAGES, dtype=bool)].min() > 1e-2 * np.linalg.norm(expected, axis=1).max()
    )


@pytest.mark.parametrize("batch_size", [1, 64])
def test_the_batch_size_does_not_matter(
    network: Any, images: Images, expected: Features, batch_size: int
) -> None:
    found = compute_features(network, images, batch_size=batch_size)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_the_same_twice_bit_for_bit(network: Any, images: Images, expected: Features) -> None:
    found = compute_features(network, images[:3], batch_size=3)
    np.testing.assert_array_equal(found, expected[:3])


def test_cifar10_images_where_they_are(network: Any, counted: list[int]) -> None:
    """The re-encoded ones, of which no number is reported. CI has them."""
    file = Path(DATA_DIR or "") / "cifar10" / "cifar10_test_jpeg.npz"
    if DATA_DIR is None or not file.exists():
        pytest.skip("SISCM_DATA_DIR names no folder with cifar10/cifar10_test_jpeg.npz")
    with np.load(file, allow_pickle=False) as archive:
        real = archive["images"]
    assert real.shape == (10_000, 32, 32, 3)
    chosen = [9_999, 3, 1_234, 3]
    found = extract_features(real, chosen)
    assert counted == [3]
    np.testing.assert_array_equal(found[1], found[3])
    alone = compute_features(network, real[[1_234]])
    assert np.abs(found[2] - alone[0]).max() <= 1e-5 * np.abs(alone).max()
    assert np.abs(found[0] - found[1]).max() > 1e-2 * found.max()


# --- what it leaves behind


def torch_state() -> dict[str, object]:
    backends = torch.backends
    state: dict[str, object] = {
        "seed": torch.get_rng_state().tolist(),
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "benchmark": backends.cudnn.benchmark,
        "deterministic": backends.cudnn.deterministic,
        "tf32": backends.cudnn.allow_tf32,
        "matmul": backends.cuda.matmul.allow_tf32,
    }
    for name, owner in (("cudnn", backends.cudnn), ("mkldnn", backends.mkldnn)):
        if hasattr(owner, "conv"):
            state[name] = owner.conv.fp32_precision
    return state


def precise() -> bool:
    cudnn = torch.backends.cudnn
    tf32 = cudnn.conv.fp32_precision != "ieee" if hasattr(cudnn, "conv") else cudnn.allow_tf32
    return cudnn.deterministic and not cudnn.benchmark and not tf32


def test_full_precision_while_it_runs_and_torch_as_it_was_afterwards(images: Images) -> None:
    tiny, during = Tiny(), []
    tiny.register_forward_hook(lambda *_: during.append((precise(), torch.is_grad_enabled())))
    before = torch_state()
    assert not precise()
    load_network("random", "cpu")
    compute_features(tiny, images)
    assert during == [(True, False)]
    assert torch_state() == before

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_features(tiny, images, advance=stop)
    assert torch_state() == before


def test_random_weights_are_the_same_whatever_the_seed(network: Any) -> None:
    torch.manual_seed(123)
    again = load_network("random", "cpu").state_dict()
    assert again.keys() == network.state_dict().keys()
    for name, value in network.state_dict().items():
        assert torch.equal(value, again[name]), name


def test_the_network_is_ready_to_run(network: Any) -> None:
    assert not network.training
    assert {value.device.type for value in network.parameters()} == {"cpu"}
    assert sum(value.numel() for value in network.parameters()) == 20_024_384
    on_its_own = load_network("random")
    wanted = "cuda" if torch.cuda.is_available() else "cpu"
    assert next(on_its_own.parameters()).device.type == wanted


def test_it_is_silent_without_a_terminal(
    images: Images, counted: list[int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    extract_features(images, [2])
    assert counted == [1]
    assert capfd.readouterr() == ("", "")


def test_a_bar_shows_the_progress_on_a_terminal(
    images: Images, counted: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    extract_features(images, [2, 3])
    assert "0/2" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()


# --- weights from a file


@pytest.fixture(scope="module")
def state(network: Any) -> dict[str, torch.Tensor]:
    """A file's content: what the network has, and more that it has not."""
    own = {f"features.{name}": value for name, value in network.state_dict().items()}
    return own | {"classifier.0.bias": torch.zeros(3)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the registry's file of weights lies."""
    place = tmp_path / WEIGHTS
    place.parent.mkdir()
    return place


def expect(file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the registry expect what the file holds; its hash."""
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    entry = replace(registry.ENTRIES[WEIGHTS], sha256=sha256)
    monkeypatch.setattr(registry, "ENTRIES", {entry.path: entry})
    return sha256


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_come_from_a_file_in_torchvisions_format(
    zipped: bool, state: Any, network: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both formats that torch writes: the published file's age suggests the older one."""
    torch.save(state, file, _use_new_zipfile_serialization=zipped)
    expect(file, monkeypatch)
    loaded = load_network("imagenet", "cpu")
    for name, value in network.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name]), name
    assert not loaded.training


def test_the_registrys_file_is_used_only_if_its_hash_agrees(
    state: Any,
    images: Images,
    expected: Features,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(FileNotFoundError, match="make data"):
        extract_features(images, [0])
    torch.save(state, file)
    with pytest.raises(ValueError, match="SHA-256 should be dcbb9e9d"):
        extract_features(images, [0])
    assert not (tmp_path / "features").exists()

    sha256 = expect(file, monkeypatch)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # as those expected
    found = extract_features(images, [0])
    assert np.abs(found[0] - expected[0]).max() <= 1e-5 * expected.max()
    kept = tmp_path / "features" / f"vgg19-{sha256[:16]}-v1.npy"
    assert kept.exists()

    # What is kept needs no weights any more.
    monkeypatch.setattr(features, "load_network", lambda: pytest.fail("not needed"))
    file.rename(file.with_name("gone"))
    np.testing.assert_array_equal(extract_features(images, [0]), found)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("code in a file of weights was run",))


@pytest.mark.parametrize(
    "content", ["empty", "text", "truncated", "other", "list", "shape", "code"]
)
def test_a_file_that_holds_something_else_is_refused(
    content: str, state: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content in ("empty", "text"):
        file.write_bytes(b"" if content == "empty" else b"<html></html>")
    elif content == "code":
        file.write_bytes(pickle.dumps(Evil(), protocol=2))
    else:
        other = {"features.0.weight": torch.zeros(64, 3, 3, 3)}
        wrong_shape = state | {"features.0.bias": torch.zeros(1)}
        torch.save({"other": other, "list": [1], "shape": wrong_shape}.get(content, state), file)
        if content == "truncated":
            os.truncate(file, file.stat().st_size // 2)
    expect(file, monkeypatch)
    with pytest.raises(ValueError, match=rf"{file.name} does not hold the weights of torchvision"):
        load_network("imagenet", "cpu")


# --- the cache


def test_an_image_is_looked_at_once(
    images: Images, expected: Features, counted: list[int], tmp_path: Path
) -> None:
    def extract(indices: list[int]) -> Features:
        return extract_features(images, indices)

    extract([4, 1, 4, 0])
    assert counted == [3]
    found = extract([0, 5, 4])
    assert counted == [3, 1]
    assert np.abs(found - expected[[0, 5, 4]]).max() <= 1e-5 * expected.max()
    np.testing.assert_array_equal(extract([5, 4, 0]), found[[1, 2, 0]])
    assert counted == [3, 1]
    assert {path.suffix for path in (tmp_path / "features").iterdir()} <= {".npy", ".lock"}


def test_an_interruption_costs_only_what_was_not_saved(
    images: Images, counted: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "_SAVE_EVERY", 2)
    real = features.compute_features

    def interrupted(network: Any, chosen: Images, **options: Any) -> Features:
        if len(counted) == 2:
            raise KeyboardInterrupt
        return real(network, chosen, **options)

    with monkeypatch.context() as patch:
        patch.setattr(features, "compute_features", interrupted)
        with pytest.raises(KeyboardInterrupt):
            extract_features(images, range(6))
    assert counted == [2, 2]
    extract_features(images, range(6))
    assert counted == [2, 2, 2]


def test_a_folder_that_cannot_be_written_is_told_before_the_work(
    images: Images, counted: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "features"
    taken.write_text("")
    with pytest.raises(OSError, match=r"cannot keep features in .*features.*SISCM_DATA_DIR"):
        extract_features(images, [0])
    with monkeypatch.context() as patch:
        patch.setenv("SISCM_DATA_DIR", str(taken))
        with pytest.raises(OSError, match="cannot keep features"):
            extract_features(images, [0])
    taken.unlink()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError, match=r"cannot keep features .*\(Permission denied\)"):
        extract_features(images, [0])
    assert counted == []


def test_a_write_that_fails_leaves_what_was_there(
    images: Images, counted: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = extract_features(images, [0])
    real = np.save

    def full(stream: Any, table: Any, **options: Any) -> None:
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        extract_features(images, [1])
    monkeypatch.setattr(np, "save", real)
    found = extract_features(images, [0, 1])
    np.testing.assert_array_equal(found[:1], first)
    assert counted == [1, 1]


WORKER = """
import sys
import time
from pathlib import Path
import numpy as np
from siscm.cifar10h import features
from test_features import Tiny

folder, start = Path(sys.argv[1]), int(sys.argv[2])
features.load_network = lambda: Tiny()
save = np.save
np.save = lambda *args, **options: (time.sleep(0.01), save(*args, **options))  # time to collide
images = np.random.default_rng(0).integers(0, 256, (25, 32, 32, 3), dtype=np.uint8)
(folder / f"ready-{start}").touch()
while len(list(folder.glob("ready-*"))) < 2:
    pass
for index in range(start, start + 15):
    features.extract_features(images, [index])
"""


def test_processes_at_once_lose_nothing_of_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path(__file__).resolve()
    environment = os.environ | {"PYTHONPATH": f"{here.parent}{os.pathsep}{here.parents[2]}"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), str(start)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for start in (0, 10)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
    (file,) = tmp_path.rglob("*.npy")
    assert len(np.load(file)) == 25
    images = np.random.default_rng(0).integers(0, 256, (25, 32, 32, 3), dtype=np.uint8)
    monkeypatch.setattr(features, "load_network", lambda: pytest.fail("not needed"))
    found = extract_features(images, range(25))
    wanted = compute_features(Tiny(), images)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
