"""New cases of a panel of one's own: which are picked, and who is shown."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from siscm import Opinions
from siscm.beyond.own_cases import NewCases, among


class Habits:
    """Infers that everybody says what she tends to, or said."""

    def infer(self, log_p: np.ndarray, labels: np.ndarray, names: list[str]) -> np.ndarray:
        assert len(log_p) == len(labels) == len(names)
        spoke = np.eye(log_p.shape[-1])[np.maximum(labels, 0)]
        return np.where(labels[..., None] >= 0, spoke, np.exp(log_p))


def cases(labels: list[list[int]], shown: list[bool] | None = None) -> NewCases:
    """Each case and expert has a chance of "yes" of her own."""
    said = np.array(labels)
    p = (1 + np.arange(said.size).reshape(said.shape)) / (2 + said.size)
    opinions = Opinions.from_codes(said, classes=["no", "yes"])
    everybody = np.ones(said.shape[1], dtype=bool)
    log_p = np.log(np.stack([1 - p, p], axis=-1))
    return NewCases(Habits(), log_p, opinions, everybody if shown is None else np.array(shown))


@pytest.mark.parametrize(
    ("spoken", "n", "kept"),
    [
        ([1, 0, 1, 0, 1, 0, 1, 0], 4, [0, 2, 1, 3]),
        ([1, 0, 1, 1, 1], 4, [0, 2, 3, 1]),
        ([0, 0, 1, 0, 0], 4, [2, 0, 1, 3]),
        ([1, 0, 1, 0, 1, 0], 3, [0, 2, 1]),
        ([1, 1, 1], 5, [0, 1, 2]),
    ],
)
def test_half_of_some_cases_are_silent_as_far_as_there_are_any(
    spoken: list[int], n: int, kept: list[int]
) -> None:
    every = cases([[0, -1] if spoke else [-1, -1] for spoke in spoken])
    some = every.some(n)
    assert some.said.instances.tolist() == [every.said.instances[i] for i in kept]
    np.testing.assert_array_equal(some.log_p, every.log_p[kept])
    np.testing.assert_array_equal(some.said.labels, every.said.labels[kept])


def test_whether_anybody_is_left_to_ask_hangs_on_who_can_be() -> None:
    left = cases([[0, -1, 1], [1, -1, -1]])
    assert left.remark() == "2 case(s): 0 without an opinion, 1 with one, 1 with more."
    nobody = cases([[0, -1, 1], [1, 1, 1]], [True, False, True])
    assert nobody.remark().startswith("Nobody is left to ask")
    silent = cases([[-1, -1], [0, 1]]).remark()
    assert silent.startswith("2 case(s): 1 without an opinion, 0 with one, 1 with more.")
    assert "only about cases with one opinion" in silent


def test_at_a_glance_those_who_spoke_come_first_and_then_those_who_can_be_asked() -> None:
    table = cases([[-1, -1, 1, -1, -1], [-1, -1, 0, -1, -1]], [True, False, True, True, True])
    glance = table.at_a_glance(2)
    assert glance.index.tolist() == [2, 0, 3]
    assert glance.loc[2].tolist() == ["said yes", "said no"]
    assert glance.loc[0].tolist() == ["no (0.92)", "no (0.50)"]


def test_among_some_experts_groups_are_what_is_left_of_them() -> None:
    sharing = pd.DataFrame({"sharing": [0.1, 0.2, 0.3, 0.4]}, index=list("abcd"))
    model = SimpleNamespace(
        experts_=np.array(list("abcd")), sharing_=sharing, partition_=[["a", "d"], ["b"], ["c"]]
    )
    some = among(model, pd.Index(["a", "c"]))
    assert some.partition_ == [["a"], ["c"]]
    assert some.experts_.tolist() == ["a", "c"]
    assert some.sharing_["sharing"].tolist() == [0.1, 0.3]
    assert model.partition_ == [["a", "d"], ["b"], ["c"]]
