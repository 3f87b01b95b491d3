"""The command that `make reproduce` runs in this environment, on files made from the twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rehearsal import FEATURES, pictures, take_for_real, write_features

from siscm.cifar10h import extract, features
from siscm.cifar10h.pipeline import TWIN_SEED, load_cifar10h
from siscm.cifar10h.twin import simulate_cifar10h
from siscm.cifar10h.vgg19 import compute_features, load_network


def test_the_command_extracts_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = simulate_cifar10h(np.random.default_rng(TWIN_SEED))
    images = pictures(np.random.default_rng(0))
    take_for_real(tmp_path, twin, images, monkeypatch)
    needed = extract.images_needed(load_cifar10h("twin").raw)
    write_features(tmp_path / FEATURES, images[needed[8:]], twin.features[needed[8:]])
    assert extract.main([]) == 1
    assert "vgg19-dcbb9e9d.pth is not in the data folder" in capsys.readouterr().err

    network = load_network("random")
    monkeypatch.setattr(features, "load_network", lambda: network)
    assert extract.main([]) == 0
    said = f"ready: features of {len(needed):,} images (8 of them new) in {tmp_path / 'features'}\n"
    assert capsys.readouterr().out == said
    data = load_cifar10h("real")
    assert len(data.missing(needed)) == 0
    found = data.features(needed)
    np.testing.assert_array_equal(found[8:], twin.features[needed[8:]])
    np.testing.assert_allclose(
        found[:8], compute_features(network, images[needed[:8]]), rtol=1e-4, atol=1e-6
    )
