"""What is said of a panel depends on who said what: on no row's place, and on nobody's name."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from siscm import GradedSISCM, GumbelMaxSISCM, Opinions, baselines, evaluation, gumbel
from siscm.asking import value_of_asking

pytestmark = pytest.mark.usefixtures("one_thread")

GROUPS = [[0, 3, 5], [1, 4], [2]]
N, K = 220, 3
EXPERTS = list("fedcba")
FIRST = [f"case {i:03d}" for i in (7, 3, 11, 200)]
SAID = ["yes", "no", "maybe", "yes"]


def panel() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features, and a row an opinion; ids are text."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(N, 3))
    noise = np.empty((N, len(EXPERTS), K))
    for group in GROUPS:
        noise[:, group] = gumbel.sample_noise(K, (N, 1), rng)
    score = (X @ rng.normal(size=(3, len(EXPERTS) * K))).reshape(noise.shape)
    said = (0.7 * score + noise).argmax(axis=2)
    i, h = np.nonzero(rng.random(said.shape) < 0.7)
    ids = np.array([f"case {i:03d}" for i in range(N)])
    labels = np.array(["no", "maybe", "yes"])
    table = pd.DataFrame(
        {"instance": ids[i], "expert": np.array(EXPERTS)[h], "label": labels[said[i, h]]}
    )
    return pd.DataFrame(X, index=pd.Index(ids, name="instance"), columns=list("uvw")), table


@dataclass(frozen=True)
class Names:
    """How instances and experts are called."""

    instance: Callable[[str], Hashable] = lambda name: name
    expert: Callable[[str], Hashable] = lambda name: name


Answers = dict[str, Any]
"""Tables by what they tell, with the names of the plain panel."""


def answers(estimator: Any, X: pd.DataFrame, table: pd.DataFrame, names: Names) -> Answers:
    """What a model fitted to the panel says, and how good it is, under the plain names again."""
    table = table.assign(
        instance=table["instance"].map(names.instance), expert=table["expert"].map(names.expert)
    )
    X = X.set_axis(X.index.map(names.instance))
    opinions = Opinions.from_long(table)
    model = estimator.fit(X, opinions)
    plain = {names.expert(name): name for name in EXPERTS}
    cases = {names.instance(name): name for name in FIRST}
    first, asked = X.loc[list(cases)], {names.expert("c"): SAID}
    log_p = model.log_marginals(X, opinions)
    given = log_p, opinions, model.partition_
    dense = model.log_marginals(first)
    codes = np.full(dense.shape[:2], -1)
    codes[:, opinions.experts.get_loc(names.expert("c"))] = [2, 1, 0, 2]
    tables = {
        "second opinions": model.second_opinions(first, asked),
        "disagreement": model.rank_disagreement(first, asked),
        "per expert": evaluation.per_expert(evaluation.all_pairs(*given)).reset_index(),
        "accuracy": evaluation.accuracy(*given, baselines.RULES).reset_index(),
        "confusion": evaluation.confusion(evaluation.all_pairs(*given), opinions.classes),
    }
    if isinstance(model, GradedSISCM):
        worth = value_of_asking(model, dense, codes)
        rows = list(map(list(cases).__getitem__, worth["row"]))
        tables["asking"] = worth.assign(instance=rows).drop(columns="position")
    for name, found in tables.items():
        for column in ("instance", "expert", "observed", "target", "source"):
            if column in found:
                found[column] = found[column].map(cases if column == "instance" else plain)
        key = [name for name in ("instance", "expert", "target", "label") if name in found]
        tables[name] = found.sort_values(key).reset_index(drop=True) if key else found
    partition = sorted(sorted(plain[expert] for expert in group) for group in model.partition_)
    return {**tables, "partition": partition}


MODELS: dict[str, Callable[[], Any]] = {
    "the paper's": lambda: GumbelMaxSISCM(LogisticRegression()),
    "graded": lambda: GradedSISCM(),
}

NEAR = {"the paper's": 1e-6, "graded": 1e-5}
"""What is made likely by steps ends where they are small enough."""

VARIATIONS: dict[str, tuple[int, Names]] = {
    "shuffled": (1, Names()),
    "shuffled otherwise": (2, Names()),
    "numbers for instances": (0, Names(instance=lambda name: int(name.split()[1]))),
    "instances in another order": (1, Names(instance=lambda name: name[::-1])),
    "numbers for experts": (0, Names(expert=EXPERTS[::-1].index)),
    "experts in another order": (1, Names(expert=lambda name: f"Dr {219 - ord(name)}")),
}


@pytest.fixture(scope="module", params=MODELS)
def plain(request: pytest.FixtureRequest) -> tuple[str, Answers]:
    return request.param, answers(MODELS[request.param](), *panel(), Names())


@pytest.mark.parametrize("variation", VARIATIONS)
def test_nothing_depends_on_the_order_of_rows_or_on_names(
    plain: tuple[str, Answers], variation: str
) -> None:
    name, expected = plain
    seed, names = VARIATIONS[variation]
    near = NEAR[name]
    if name == "graded" and variation == "instances in another order":
        near = 0.05  # pooled marginals deal instances to folds in the order of their names
    X, table = panel()
    if seed:
        X = X.sample(frac=1, random_state=seed)
        table = table.sample(frac=1, random_state=seed + 1)
    found = answers(MODELS[name](), X, table, names)
    assert found.pop("partition") == expected["partition"]
    for what, shown in found.items():
        pd.testing.assert_frame_equal(
            shown, expected[what], check_dtype=False, rtol=0, atol=near, obj=what
        )


def named(group: list[int]) -> set[str]:
    return {EXPERTS[expert] for expert in group}


def test_the_panel_has_groups_and_a_say(plain: tuple[str, Answers]) -> None:
    """Else the tests above would compare nothing."""
    _, found = plain
    assert 1 < len(found["partition"]) < len(EXPERTS)
    assert all(any(set(some) <= named(group) for group in GROUPS) for some in found["partition"])
    for what in ("second opinions", "disagreement"):
        assert found[what]["probability"].std() > 0.05
    assert len(found["second opinions"]) == len(FIRST) * len(EXPERTS) * K
