"""Graph, groups and sharing of a panel in chunks: seconds and memory by size and by workers.

As many annotators and labels as CIFAR-10H's, and about as many opinions an image; marginals given.
A Gumbel noise; in the last row both noises that are tried by default. The chunks lie in files;
each fit is a process of its own, whose memory is added up with that of all it starts, twenty times
a second, and the highest sum is kept (Linux only). Workers are threads; in one row processes
(loky), and what of memory they share counts twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pandas as pd
from _results import record, timed

from siscm import Opinions, SimilarityGraph
from siscm.beyond.chunks import total
from siscm.beyond.sharing import NODES, SharingEvidence
from siscm.beyond.sharing_fit import NoiseChoice, fit_sharing
from siscm.checks import FloatArray

N_EXPERTS, N_CLASSES, EACH = 2571, 10, 51
N_GROUPS, SHARING = 15, 0.7
PER_CHUNK = 625
RUNS = [("threading", workers, n, "gumbel") for n in (2_500, 5_000, 10_000) for workers in (1, 2)]
RUNS += [("threading", 2, 20_000, "gumbel"), ("loky", 2, 10_000, "gumbel")]
RUNS += [("threading", 2, 10_000, "likeliest")]
MB = 1e6


def chunk(seed: int) -> tuple[FloatArray, Opinions]:
    """Marginals and opinions of experts who follow their group's noise more often than not."""
    rng = np.random.default_rng(seed)
    asked = np.sort(rng.random((PER_CHUNK, N_EXPERTS)).argsort(axis=1)[:, :EACH], axis=1)
    log_p = np.log(rng.dirichlet(np.ones(N_CLASSES), size=asked.shape).clip(1e-6))
    log_p -= np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    own = rng.gumbel(size=log_p.shape)
    of_groups = rng.gumbel(size=(PER_CHUNK, N_GROUPS, N_CLASSES))
    of_group = np.take_along_axis(of_groups, (asked % N_GROUPS)[..., None], axis=1)
    follows = rng.random(asked.shape) < SHARING
    said = (log_p + np.where(follows[..., None], of_group, own)).argmax(axis=-1)
    names = (pd.RangeIndex(n) for n in (PER_CHUNK, N_EXPERTS, N_CLASSES))
    position = np.repeat(np.arange(PER_CHUNK), EACH)
    return log_p.reshape(-1, N_CLASSES), Opinions(*names, position, asked.ravel(), said.ravel())


def fit(
    folder: Path, backend: str, n_jobs: int, n_instances: int, noise: NoiseChoice
) -> dict[str, float]:
    """What is measured: seconds of the graph, and of groups, sharing and its intervals."""
    sources = [
        partial(joblib.load, folder / f"{i}.joblib") for i in range(n_instances // PER_CHUNK)
    ]
    start, cpu = time.perf_counter(), time.process_time()
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        total(SimilarityGraph.from_opinions, sources)
        between = time.perf_counter()
        learned = fit_sharing(sources, noise, rng=np.random.default_rng(0))
    end = time.perf_counter()
    return {
        "graph": between - start,
        "sharing": end - between,
        "cpu": time.process_time() - cpu,
        "groups": len(learned.groups),
        "mean": float(learned.table["sharing"].mean()),
    }


def resident(pid: int) -> float:
    """MB that a process and all it started hold at this moment."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        started = Path(f"/proc/{pid}/task").glob("*/children")
        children = {int(child) for path in started for child in path.read_text().split()}
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0
    here = pages * os.sysconf("SC_PAGE_SIZE") / MB
    return here + sum(resident(child) for child in children)


def measure(
    folder: Path, backend: str, n_jobs: int, n_instances: int, noise: str
) -> dict[str, float]:
    """A fit in a process of its own, watched."""
    arguments = [str(folder), backend, str(n_jobs), str(n_instances), noise]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    told, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the fit ended with status {process.returncode}")
    found: dict[str, float] = json.loads(told)
    return found | {"peak_mb": peak}


def adding() -> dict[str, float]:
    """The most that such experts can say, if all met all: MB, and seconds to add it to as much."""
    first, second = np.triu_indices(N_EXPERTS, 1)
    sums = np.ones((len(first), 2 * len(NODES) + 1))
    evidence = SharingEvidence(pd.RangeIndex(N_EXPERTS), first * N_EXPERTS + second, sums)
    seconds, _ = timed(lambda: evidence + evidence)
    size = evidence.key.nbytes + evidence.sums.nbytes
    return {
        "largest_evidence_mb": size / MB,
        "evidence_bytes_a_pair": size // len(first),
        "adding_seconds": seconds,
    }


def figures(folder: Path) -> dict[str, float | int]:
    """All runs, by workers and instances."""
    for i in range(max(n for _, _, n, _ in RUNS) // PER_CHUNK):
        joblib.dump(chunk(i), folder / f"{i}.joblib")
    found: dict[str, float | int] = {
        "experts": N_EXPERTS,
        "classes": N_CLASSES,
        "opinions_an_instance": EACH,
        "instances_a_chunk": PER_CHUNK,
        "chunk_mb": (folder / "0.joblib").stat().st_size / MB,
    }
    for backend, workers, n, noise in RUNS:
        run = measure(folder, backend, workers, n, noise)
        if run["groups"] != N_GROUPS and n >= 10_000:
            raise RuntimeError(f"{run['groups']} groups were found, not those planted")
        kind = backend if noise == "gumbel" else noise
        seconds, name = run["graph"] + run["sharing"], f"{kind}_{workers}_of_{n}"
        found |= {
            f"{name}_ordered_pairs": n * EACH * (EACH - 1),
            f"{name}_graph_seconds": run["graph"],
            f"{name}_sharing_seconds": run["sharing"],
            f"{name}_seconds": seconds,
            f"{name}_cpu_seconds": run["cpu"],
            f"{name}_pairs_per_second": n * EACH * (EACH - 1) / seconds,
            f"{name}_peak_mb": run["peak_mb"],
            f"{name}_mean_sharing": run["mean"],
        }
    found["two_workers_times_faster"] = (
        found["threading_1_of_10000_seconds"] / found["threading_2_of_10000_seconds"]
    )
    return found | adding()


def main() -> None:
    """Measure, and record."""
    with TemporaryDirectory() as folder:
        record("chunks", figures(Path(folder)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder, backend, n_jobs, n_instances, noise = sys.argv[1:]
        run = fit(Path(folder), backend, int(n_jobs), int(n_instances), noise)
        sys.stdout.write(json.dumps(run))
    else:
        main()
