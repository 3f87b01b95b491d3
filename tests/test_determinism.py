"""The same numbers everywhere: fresh processes that differ in what must not matter.

Run as a script, this file fits three models, writes a report on CSV files of the same panel, and
prints what they say as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from older_processor import older_processor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import siscm
from siscm import GumbelMaxSISCM, Opinions, gumbel
from siscm.own_panel import check_files
from siscm.own_report import make_report

pytestmark = pytest.mark.slow

GROUPS = [[0, 1, 2, 3], [4, 5, 6], [7, 8], [9]]
N_OWN = 120
"""Instances in the CSV files that the report is about."""

MODELS = {
    "naive Bayes": GaussianNB(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(3),
}

# What must not matter: order of the rows, hash seed, jobs, threads of the algebra, processor.
VARIATIONS = {
    "rows": ("1", "0", "1", "1", ""),
    "hashes": ("", "1", "1", "1", ""),
    "threads": ("", "0", "1", "2", ""),
    "jobs": ("", "0", "2", "1", ""),
    "processor": ("", "0", "1", "1", "older"),
    "everything": ("2", "random", "2", "2", "older"),
}


def panel(shuffle: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features and a table of opinions; ids and labels are text, so that hashes could matter."""
    rng = np.random.default_rng(20)
    n, n_experts, k, n_features = 400, 10, 3, 60
    X = rng.normal(size=(n, n_features))
    score = X @ (rng.normal(size=(n_features, n_experts * k)) / 8)
    noise = np.empty((n, n_experts, k))
    for group in GROUPS:
        noise[:, group] = gumbel.sample_noise(k, (n, 1), rng)
    said = (score.reshape(n, n_experts, k) + noise).argmax(axis=2)
    i, h = np.nonzero(rng.random((n, n_experts)) < 0.6)
    ids = np.array([f"case {i:03d}" for i in rng.permutation(n)])
    table = pd.DataFrame(
        {
            "instance": ids[i],
            "expert": np.array([f"expert {letter}" for letter in "jihgfedcba"])[h],
            "label": np.array(["no", "maybe", "yes"])[said[i, h]],
        }
    )
    features = pd.DataFrame(X, index=ids)
    if shuffle:
        seed = int(shuffle)
        table = table.sample(frac=1, random_state=seed)
        features = features.sample(frac=1, random_state=seed + 1)
    return features, table


def report(shuffle: str, n_jobs: int) -> dict[str, dict[str, Any]]:
    """What three models, fitted to the panel, say about its first instances."""
    features, table = panel(shuffle)
    opinions = Opinions.from_long(table)
    first = features.loc[opinions.instances[:8]]
    observed = {"expert c": ["no", "yes", "maybe", None] * 2}
    answers = {}
    for name, expert_model in MODELS.items():
        model = GumbelMaxSISCM(expert_model, min_proba=1e-3, n_jobs=n_jobs)
        model.fit(features, opinions)
        ranking = model.rank_disagreement(first, {"expert c": "yes"})
        model.set_params(method="monte_carlo", n_samples=50)
        answers[name] = {
            "experts": model.experts_.tolist(),
            "partition": model.partition_,
            "violations": model.graph_.violations.tolist(),
            "ranking": ranking["expert"].tolist(),
            "predictions": model.counterfactual_predict(first, observed).tolist(),
            "weights": np.nan_to_num(model.graph_.weights).ravel().tolist(),
            "marginals": np.exp(model.log_marginals(first)).ravel().tolist(),
            "exact": model.set_params(method="exact")
            .counterfactual_proba(first, observed)
            .ravel()
            .tolist(),
            "probabilities": ranking["probability"].tolist(),
        }
    return answers | {"report": report_on_files(shuffle)}


def report_on_files(shuffle: str) -> dict[str, Any]:
    """What the report, with graded sharing, says about a part of the panel in two CSV files."""
    features, table = panel(shuffle)
    features = features.iloc[:, :4].rename_axis("instance").rename(columns=str)
    features = features[features.index < f"case {N_OWN + 5:03d}"]  # some that nobody has seen
    table = table[table["instance"] < f"case {N_OWN:03d}"]
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "said.csv", Path(folder) / "known.csv"
        table.to_csv(paths[0], index=False)
        features.to_csv(paths[1])
        checked = check_files(*paths)
        own = make_report(checked.panel)
    new = own.panel.cases()[:5]
    return {
        "problems": checked.problems["problem"].tolist(),
        "experts": own.learned.experts.tolist(),
        "learned from": own.learned.instances.tolist(),
        "noise": own.model.noise_,
        "partition": own.model.partition_,
        "likeliest": own.model.likeliest_partition_,
        "verdict": own.verdict(),
        "sharing": own.model.sharing_.to_numpy().ravel().tolist(),
        "worth": own.worth.to_numpy().ravel().tolist(),
        "marginals": np.exp(own.model.log_marginals(own.panel.X.loc[new])).ravel().tolist(),
    }


def start(
    shuffle: str, hash_seed: str, threads: str, n_jobs: str, processor: str
) -> subprocess.Popen[str]:
    """The report of a fresh process."""
    root = str(Path(siscm.__file__).parents[1])
    variables = (older_processor() if processor == "older" else {}) | {
        "PYTHONHASHSEED": hash_seed,
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", __file__, shuffle, n_jobs],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    answers: dict[str, dict[str, Any]] = json.loads(out)
    return answers


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, dict[str, Any]]]:
    """The reports of all variations, and of the plain run; two processes at a time."""
    runs = {"plain": ("", "0", "1", "1", ""), **VARIATIONS}
    names = list(runs)
    answers = {}
    for pair in (names[at : at + 2] for at in range(0, len(names), 2)):
        started = {name: start(*runs[name]) for name in pair}
        answers |= {name: finish(process) for name, process in started.items()}
    return answers


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("variation", VARIATIONS)
def test_the_same_in_every_process(reports: Any, variation: str, name: str) -> None:
    expected, found = reports["plain"][name], reports[variation][name]
    assert found.keys() == expected.keys()
    for what in ("experts", "partition", "violations", "ranking", "predictions"):
        assert found[what] == expected[what]
    for what in ("weights", "marginals", "exact", "probabilities"):
        np.testing.assert_allclose(found[what], expected[what], rtol=0, atol=1e-10, err_msg=what)


@pytest.mark.parametrize("variation", VARIATIONS)
def test_the_same_report_on_a_users_files(reports: Any, variation: str) -> None:
    expected, found = reports["plain"]["report"], reports[variation]["report"]
    assert found.keys() == expected.keys()
    for what, value in expected.items():
        if what in ("sharing", "worth", "marginals"):
            np.testing.assert_allclose(found[what], value, rtol=0, atol=1e-6, err_msg=what)
        else:
            assert found[what] == value, what


def test_the_panel_has_something_to_say(reports: Any) -> None:
    """Without groups, violations or differences between models the tests above would be empty."""
    answers = reports["plain"]
    assert all(np.sum(answers[name]["violations"]) > 0 for name in MODELS)
    for name in ("naive Bayes", "logistic"):
        assert 1 < len(answers[name]["partition"]) < 10
    assert answers["naive Bayes"]["exact"] != answers["logistic"]["exact"]
    assert len({tuple(row) for row in answers["logistic"]["predictions"]}) > 1
    own = answers["report"]
    assert 1 < len(own["likeliest"]) < 10
    assert 0.3 < np.nanmean(own["sharing"]) < 1
    assert len(own["marginals"]) == 5 * 10 * 3
    kept_back = older_processor()["NPY_DISABLE_CPU_FEATURES"]
    if "V3" in kept_back or "AVX2" in kept_back:
        assert reports["processor"]["logistic"]["exact"] != answers["logistic"]["exact"]
    shuffled, plain = panel("1"), panel("")
    for one, other in zip(shuffled, plain, strict=True):
        assert not one.index.equals(other.index)
        assert one.index.sort_values().equals(other.index.sort_values())


if __name__ == "__main__":
    print(json.dumps(report(sys.argv[1], int(sys.argv[2]))))
