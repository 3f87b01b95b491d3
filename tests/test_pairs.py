"""Every pair of opinions on an instance, once; and one marginal an opinion."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log, log_dirichlet, rngs

from siscm import Opinions
from siscm.pairs import iter_pairs, opinion_marginals, rows_of_opinions


def random_opinions(rng: np.random.Generator, n: int, n_experts: int, k: int = 3) -> Opinions:
    asked = rng.random((n, n_experts)) < rng.random()
    codes = np.where(asked, rng.integers(0, k, size=asked.shape), -1)
    return Opinions.from_codes(codes, classes=range(k))


@given(
    rng=rngs(),
    n=st.integers(0, 6),
    n_experts=st.integers(0, 6),
    block=st.sampled_from([1, 2, 3, 5, 1000]),
)
def test_every_pair_on_an_instance_once(
    rng: np.random.Generator, n: int, n_experts: int, block: int
) -> None:
    opinions = random_opinions(rng, n, n_experts)
    long = opinions.to_long()
    expected = [
        pair
        for _, rows in long.groupby("instance").groups.items()
        for pair in combinations(rows, 2)
    ]
    found = [
        (int(a), int(b))
        for first, second in iter_pairs(opinions, block)
        for a, b in zip(first, second, strict=True)
    ]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("block", [1, 10, 11, 50, 10_000])
def test_blocks_are_as_large_as_asked_but_hold_all_of_an_opinions_pairs(block: int) -> None:
    opinions = random_opinions(np.random.default_rng(0), 40, 12)
    later = opinions.to_long().groupby("instance").cumcount(ascending=False).tolist()
    expected, start = [], 0
    while sum(later[start:]):
        stop = start + 1
        while stop < len(later) and sum(later[start : stop + 1]) <= block:
            stop += 1
        expected.append(sum(later[start:stop]))
        start = stop
    assert [len(first) for first, _ in iter_pairs(opinions, block)] == expected
    assert len(expected) > 1 or block == 10_000


@given(rng=rngs())
def test_both_shapes_of_marginals_agree(rng: np.random.Generator) -> None:
    opinions = random_opinions(rng, 5, 4)
    dense = log_dirichlet(rng, (5, 4, 3))
    long = opinions.to_long()
    rows = dense[long["instance"].to_numpy(dtype=int), long["expert"].to_numpy(dtype=int)]
    assert rows.shape == (len(opinions), 3)
    np.testing.assert_array_equal(
        opinion_marginals(dense, opinions), opinion_marginals(rows, opinions)
    )
    np.testing.assert_allclose(opinion_marginals(rows, opinions), rows, rtol=0, atol=1e-14)


def test_float32_marginals_are_normalised_and_left_alone() -> None:
    opinions = Opinions.from_codes([[0, 1]], classes=[0, 1, 2])
    values = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(1, 2)).astype(np.float32))
    copy = values.copy()
    taken = opinion_marginals(values, opinions)
    np.testing.assert_allclose(np.exp(taken).sum(axis=-1), 1, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(values, copy)
    assert taken.dtype == np.float64


def test_refusals_name_the_expert_and_the_instance() -> None:
    opinions = Opinions.from_codes(
        [[0, 1], [1, -1]], instances=["a", "b"], experts=["Ann", "Bob"], classes=["no", "yes"]
    )
    half = np.full((2, 2, 2), np.log(0.5))
    with pytest.raises(ValueError, match=r"\(2, 1, 2\); these opinions need \(2, 2, 2\).*\(3, 2\)"):
        opinion_marginals(half[:, :1], opinions)
    wrong = half.copy()
    wrong[0, 1] = np.log([0.5, 0.6])
    with pytest.raises(
        ValueError, match=r"expert 'Bob' on instance 'a' sums to 1\.1\d*, not to 1\.$"
    ):
        opinion_marginals(wrong, opinions)
    wrong[0, 1] = np.nan
    with pytest.raises(ValueError, match="expert 'Bob' on instance 'a' sums to nan"):
        opinion_marginals(wrong, opinions)
    wrong[1, 0] = [1e3, 0]
    with pytest.raises(ValueError, match="expert 'Bob' on instance 'a' sums to nan"):
        opinion_marginals(wrong, opinions)
    wrong[0, 1] = np.log(0.6)
    with pytest.raises(ValueError, match="expert 'Ann' on instance 'b' sums to inf"):
        opinion_marginals(wrong, opinions)
    wrong[1, 0] = np.log(0.1)  # further from 1 than 1.2 is
    with pytest.raises(ValueError, match=r"expert 'Ann' on instance 'b' sums to 0\.2"):
        opinion_marginals(wrong, opinions)
    wrong = half.copy()
    wrong[1, 0] = log([1, 0])
    words = r"'Ann' on instance 'b' said 'yes', .* zero .*models\) makes it possible\.$"
    with pytest.raises(ValueError, match=words):
        opinion_marginals(wrong, opinions)
    # Bob was not asked about b: his marginal there is nobody's business.
    wrong = half.copy()
    wrong[1, 1] = np.nan
    assert np.isfinite(opinion_marginals(wrong, opinions)).all()


def test_what_is_masked_is_refused_and_so_is_a_table_in_the_place_of_opinions() -> None:
    opinions = random_opinions(np.random.default_rng(0), 5, 3)
    log_p = np.log(np.full((len(opinions), 3), 1 / 3))
    with pytest.raises(ValueError, match="a value is masked"):
        rows_of_opinions(np.ma.array(log_p, mask=np.eye(len(log_p), 3)), opinions)
    with pytest.raises(TypeError, match="opinions is a DataFrame; make it with"):
        rows_of_opinions(log_p, opinions.to_long())
