"""Who is missing from counts is found exactly, and left open where nothing can tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets_of_images import handed_out, shuffled

from siscm.cifar10h import left_out as module
from siscm.cifar10h.counts import label_counts
from siscm.cifar10h.left_out import find_left_out

RAW = handed_out(np.random.default_rng(0))


def counts_without(raw: pd.DataFrame, *left_out: int) -> pd.DataFrame:
    return label_counts(raw[~raw["annotator"].isin(left_out)])


@given(st.sets(st.integers(0, 89), min_size=0, max_size=30))
def test_whoever_is_left_out_is_among_those_found(left_out: set[int]) -> None:
    found = find_left_out(RAW, counts_without(RAW, *left_out))
    assert found.explained
    assert set(found.certain) <= left_out <= set(found.certain) | set(found.open)
    assert len(found.certain) + found.n_open == len(left_out)
    assert found.remainder == 20 * len(left_out)
    # The answers of any two differ somewhere here, and few are left out, so all is certain.
    if len(left_out) <= 4:
        assert set(found.certain) == left_out
        assert found.open == ()


def test_equal_answers_leave_it_open() -> None:
    mates = sorted(RAW[RAW["planted_set"] == 5]["annotator"].unique())
    first = RAW[RAW["annotator"] == mates[0]]
    raw = pd.concat(
        [RAW[~RAW["annotator"].isin(mates[1:])], *(first.assign(annotator=m) for m in mates[1:])]
    )
    other = next(a for a in RAW["annotator"].unique() if a not in mates)
    found = find_left_out(raw, counts_without(raw, mates[0], mates[1], other))
    assert found.explained
    assert found.certain == (other,)
    assert found.open == tuple(mates)
    assert found.n_open == 2
    assert "1 are certain, and 2 more of 3 who cannot be told apart" in found.verdict()
    everyone = find_left_out(raw, counts_without(raw, *mates))
    assert everyone.certain == tuple(mates)
    assert everyone.open == ()


def table_of(said: dict[int, tuple[list[int], list[int]]]) -> pd.DataFrame:
    """A raw table of annotators, each with her images and what she said about them."""
    return pd.DataFrame(
        {"annotator": a, "image": i, "chosen_label": y}
        for a, (images, labels) in said.items()
        for i, y in zip(images, labels, strict=True)
    )


def test_two_explanations_that_share_nobody_leave_all_open() -> None:
    """A and B together say what C and D say together, though all four differ."""
    said = {0: ([0, 1], [0, 0]), 1: ([2, 3], [1, 1]), 2: ([0, 3], [0, 1]), 3: ([1, 2], [0, 1])}
    raw = table_of(said)
    found = find_left_out(raw, counts_without(raw, 0, 1))
    assert found.explained
    assert (found.certain, found.open, found.n_open) == ((), (0, 1, 2, 3), 2)
    assert found.suspects == {0, 1, 2, 3}
    assert not found.fit_together
    counts = counts_without(raw, 0, 1)
    counts.iloc[9, 9] = 1  # an opinion that the file lacks: no explanation, and no suspects
    unexplained = find_left_out(raw, counts)
    assert len(unexplained.candidates) == 4
    assert unexplained.suspects == set()
    assert "but not all of them at once" in unexplained.verdict()


def test_programming_rules_out_a_candidate_who_fits_in_nowhere() -> None:
    """Each opinion of C is missing, but were she left out, nobody would explain the others."""
    said = {0: ([0, 1], [0, 0]), 1: ([2, 3], [1, 1]), 2: ([1, 2], [0, 1])}
    raw = table_of(said)
    found = find_left_out(raw, counts_without(raw, 0, 1))
    assert found.candidates == (0, 1, 2)
    assert (found.certain, found.open) == ((0, 1), ())


def test_nobody_missing() -> None:
    found = find_left_out(RAW, label_counts(RAW))
    assert found.explained
    assert found.candidates == found.certain == found.open == ()
    assert "nobody is left out" in found.verdict()


def test_opinions_that_nobody_explains_are_reported() -> None:
    counts = counts_without(RAW, 3)
    row = RAW[RAW["annotator"] == 10].iloc[0]
    counts.iloc[row["image"], row["chosen_label"]] -= 1
    found = find_left_out(RAW, counts)
    assert not found.explained
    assert found.remainder == 21
    assert found.certain == found.open == ()
    assert 3 in found.suspects
    assert found.verdict().startswith("NOT explained by annotators left out: the raw file has 21")


def test_with_no_candidate_nobody_is_said_to_be_missing() -> None:
    raw = table_of({0: ([0, 1], [0, 0]), 1: ([0, 1], [0, 0])})
    counts = label_counts(raw)
    counts.iloc[0, 0] -= 1
    found = find_left_out(raw, counts)
    assert found.candidates == ()
    assert found.verdict().endswith("no annotator could be missing with all her opinions.")


def test_counts_of_opinions_that_the_file_lacks_are_reported() -> None:
    counts = counts_without(RAW, 3)
    counts.iloc[0, 9] += 2
    found = find_left_out(RAW, counts)
    assert not found.explained
    assert (found.remainder, found.negative) == (20, 2)
    assert found.candidates == (3,)
    assert found.suspects == {3}
    assert "and lacks 2 that they have" in found.verdict()


def test_counts_of_more_than_the_file_are_no_proof_that_nobody_is_left_out() -> None:
    counts = label_counts(RAW)
    counts.iloc[0, 9] += 2
    found = find_left_out(RAW, counts)
    assert (found.remainder, found.negative, found.explained) == (0, 2, False)
    assert found.verdict().startswith("NOT explained by annotators left out: the raw file has 0")


def test_counts_in_another_order_are_the_same() -> None:
    counts = counts_without(RAW, 3)
    assert find_left_out(RAW, counts.iloc[::-1]).certain == (3,)


@pytest.mark.parametrize("who", [3, 5])
def test_an_opinion_counted_twice_is_subtracted_twice(who: int) -> None:
    """Whether she who gave it again is left out or not."""
    again = RAW[RAW["annotator"] == who].head(1)
    rows = pd.concat([RAW, again], ignore_index=True)
    found = find_left_out(rows, counts_without(rows, 3, 50))
    assert found.explained
    assert found.certain == (3, 50)
    assert found.remainder == 40 + (who == 3)


def test_many_who_gave_the_same_answers_are_settled_at_once() -> None:
    """Ninety a set, of whom one in three is left out: nobody can be told from her mates."""
    raw = handed_out(np.random.default_rng(0), each=90)
    raw["chosen_label"] = raw["true_label"]
    left_out = range(0, raw["annotator"].nunique(), 3)
    found = find_left_out(raw, counts_without(raw, *left_out))
    assert found.explained
    assert found.settled
    assert found.certain == ()
    assert len(found.open) == 30 * 90
    assert found.n_open == 30 * 30


def test_a_search_that_is_given_up_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so many near-twins it would take minutes, or longer."""
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    raw = handed_out(np.random.default_rng(1), error=0.1, each=85)
    counts = counts_without(raw, *range(0, 2550, 3))
    found = find_left_out(raw, counts)
    assert not found.settled
    assert not found.explained
    assert found.certain == found.open == ()
    assert found.verdict().startswith("Not settled whether explained by annotators left out")


def test_what_is_not_settled_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """An explanation is known, but not whether there are others."""
    mates = sorted(RAW[RAW["planted_set"] == 5]["annotator"].unique())
    first = RAW[RAW["annotator"] == mates[0]]
    raw = pd.concat([RAW[~RAW["annotator"].isin(mates[1:])], first.assign(annotator=mates[1])])
    one_cover = module._one_cover

    def given_up(gave, left, prefer=None):  # type: ignore[no-untyped-def]
        return one_cover(gave, left) if prefer is None else (None, False)

    monkeypatch.setattr(module, "_one_cover", given_up)
    found = find_left_out(raw, counts_without(raw, mates[0]))
    assert found.explained
    assert not found.settled
    assert (found.certain, found.open, found.n_open) == ((), tuple(mates[:2]), 1)
    assert "1 more of 2 who were not told apart" in found.verdict()


def test_the_order_of_rows_does_not_matter() -> None:
    counts = counts_without(RAW, 3, 50)
    one = find_left_out(RAW, counts)
    other = find_left_out(shuffled(RAW, np.random.default_rng(0)), counts)
    assert one == other
