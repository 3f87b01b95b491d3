"""Graph and weights at the size of CIFAR-10H's raw file, on its twin, one marginal an opinion.

2,571 annotators, 10,000 images, 514,200 opinions, every ordered pair of opinions on one image; the
paper's filter is left out, so this is far more than its experiment needs. One core.
"""

from __future__ import annotations

import resource
from functools import partial

import numpy as np
from _results import peak_mb, record, timed

from siscm import SimilarityGraph
from siscm.cifar10h.raw_file import check_raw
from siscm.cifar10h.twin import simulate_cifar10h
from siscm.opinions import Opinions
from siscm.pairs import iter_pairs


def build(log_p: np.ndarray, opinions: Opinions) -> np.ndarray:
    """What is measured."""
    return SimilarityGraph.from_opinions(log_p, opinions).weights


def main() -> None:
    """Time it, then weigh it: counting memory makes it slower."""
    twin = simulate_cifar10h(np.random.default_rng(0))
    raw = check_raw(twin.raw, image_labels=twin.image_labels, complete=True)
    opinions = Opinions.from_long(raw, "image", "annotator", "chosen_label", classes=range(10))
    task = partial(build, twin.truth.log_marginals, opinions)
    seconds, weights = timed(task)
    process_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3  # Linux counts in KB
    record(
        "raw_scale",
        {
            "experts": len(opinions.experts),
            "instances": len(opinions.instances),
            "classes": opinions.n_classes,
            "opinions": len(opinions),
            "ordered_pairs": 2 * sum(len(first) for first, _ in iter_pairs(opinions)),
            "pairs_of_experts": int(np.isfinite(weights).sum()) // 2,
            "seconds": seconds,
            "peak_mb": peak_mb(task),
            "process_peak_mb": process_mb,
        },
    )


if __name__ == "__main__":
    main()
