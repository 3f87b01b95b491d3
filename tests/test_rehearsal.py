"""A rehearsal of the real path: files in the true schemas, filled from the twin, give it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rehearsal import FEATURES, Images, pictures, take_for_real, write_features

from siscm.cifar10h import extract
from siscm.cifar10h.pipeline import TWIN_SEED, experiment_kind, load_cifar10h, prepare
from siscm.cifar10h.twin import Twin, simulate_cifar10h

pytestmark = pytest.mark.slow


@dataclass
class Rehearsal:
    folder: Path
    images: Images
    twin: Twin


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    """A data folder with files that the registry takes for the real ones; no features yet."""
    folder = tmp_path_factory.mktemp("data")
    twin = simulate_cifar10h(np.random.default_rng(TWIN_SEED))
    images = pictures(np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        take_for_real(folder, twin, images, patch)
        patch.setenv("SISCM_DATA", "real")
        yield Rehearsal(folder, images, twin)


def test_real_files_take_the_twins_path(
    rehearsal: Rehearsal, capsys: pytest.CaptureFixture[str]
) -> None:
    real, twin = load_cifar10h("real"), load_cifar10h("twin")
    assert experiment_kind() == "twin"  # there are no features yet
    assert real.truth is None
    pd.testing.assert_frame_equal(real.raw, twin.raw)
    pd.testing.assert_frame_equal(real.counts, twin.counts)

    needed = extract.images_needed(real.raw)
    assert real.missing(needed).tolist() == needed.tolist()
    with pytest.raises(ImportError, match="`make reproduce`"):
        prepare(real)
    assert extract.main(["--count"]) == 0
    assert capsys.readouterr().out == f"{len(needed)}\n"

    features = rehearsal.twin.features
    write_features(rehearsal.folder / FEATURES, rehearsal.images[needed], features[needed])
    assert load_cifar10h().kind == "real"
    assert len(real.missing(needed)) == 0
    assert len(real.missing(np.arange(10_000))) == 10_000 - len(needed)
    ours, theirs = prepare(real), prepare(twin)
    for name in ("train", "test"):
        found, wanted = getattr(ours, name), getattr(theirs, name)
        pd.testing.assert_frame_equal(found.to_long(), wanted.to_long())
    pd.testing.assert_frame_equal(ours.X_train, theirs.X_train)
    pd.testing.assert_frame_equal(ours.X_test, theirs.X_test)
    pd.testing.assert_frame_equal(ours.kept, theirs.kept)
