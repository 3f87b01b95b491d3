"""What most of a panel say: against lists of all ways, sums over who followed, and simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log, log_dirichlet, rngs
from test_several import by_follower_sets

from siscm.beyond import ways
from siscm.beyond.followers import Heard
from siscm.beyond.noises import Noise
from siscm.beyond.several import Wanted, cells_of, graded_proba
from siscm.beyond.ways import most, with_most
from siscm.contradictions import Names
from siscm.opinions import NOT_ASKED

Array = np.ndarray


def go_on(
    log_p: Array,
    codes: Array,
    number: Array,
    a: Array,
    *,
    noise: Noise = "uniform",
    n_samples: int = 20_000,
) -> Array:
    names = Names(["the case"], [f"member {i}" for i in range(len(log_p))], range(log_p.shape[1]))
    return with_most(
        log_p,
        np.asarray(codes),
        np.asarray(number),
        np.asarray(a, dtype=float),
        noise=noise,
        n_samples=n_samples,
        rng=np.random.default_rng(0),
        names=names,
    )


def summed(chances: dict[tuple[int, ...], float], codes: Array, k: int) -> Array:
    """P(a silent member says c, most say d), from the chance of everything all may say."""
    silent = np.flatnonzero(np.asarray(codes) == NOT_ASKED)
    out = np.zeros((len(silent), k, k))
    for labels, chance in chances.items():
        votes = np.bincount(labels, minlength=k)
        top = np.flatnonzero(votes == votes.max())
        for i, h in enumerate(silent):
            out[i, labels[h], top] += chance / len(top)
    return out


def listed(log_p: Array, codes: Array, number: Array, a: Array, noise: Noise, n: int) -> Array:
    """The same from a list of all ways, each in every cell of the noises."""
    k, rng = log_p.shape[1], np.random.default_rng(0)
    silent = np.flatnonzero(codes == NOT_ASKED)
    said = list(product(range(k), repeat=len(silent)))
    chances = np.ones(len(said))
    for group in np.unique(number):
        spoke = np.flatnonzero((number == group) & (codes != NOT_ASKED))
        rest = np.flatnonzero((number == group) & (codes == NOT_ASKED))
        heard = Heard(log_p[spoke], codes[spoke], a[spoke])
        weight, chance = cells_of(heard, Wanted(log_p[rest], a[rest]), noise, n, rng)
        for way, labels in enumerate(said):
            in_cells = weight.copy()
            for j, h in enumerate(rest):
                in_cells = in_cells * chance[:, j, labels[silent.tolist().index(h)]]
            chances[way] *= in_cells.sum()
    everything = {}
    for labels, chance_of in zip(said, chances, strict=True):
        whole = codes.copy()
        whole[silent] = labels
        everything[tuple(whole.tolist())] = chance_of
    return summed(everything, codes, k)


@given(rng=rngs(), k=st.integers(2, 3))
def test_one_after_the_other_is_all_together(rng: np.random.Generator, k: int) -> None:
    """The chance of what all say: of the first, of the second given her, ...; of two groups."""
    log_p, a = log_dirichlet(rng, (5, k)), rng.uniform(0.1, 0.95, size=5)
    first = int(rng.integers(k))
    codes, groups = np.array([first, -1, -1, -1, -1]), ([0, 2, 3], [1, 4])
    p = np.exp(log_p)
    chances = {}
    for said in product(range(k), repeat=4):
        labels, chance = np.array([first, *said]), 1.0
        for group in groups:
            for i, h in enumerate(group):
                if h > 0:
                    seen = group[:i]
                    law = by_follower_sets(p[seen], labels[seen], a[seen], p[h], a[h])
                    chance *= law[labels[h]]
        chances[tuple(labels.tolist())] = chance
    found = go_on(log_p, codes, [0, 1, 0, 0, 1], a)
    np.testing.assert_allclose(found, summed(chances, codes, k)[None], atol=1e-10)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("noise", ["uniform", "gumbel", "gaussian"])
@pytest.mark.parametrize("seed", range(4))
def test_counting_is_listing(noise: Noise, k: int, seed: int) -> None:
    """Groups in any order, alone or together; sharing none, all or some; nobody or some spoke."""
    rng = np.random.default_rng(seed)
    log_p, a = log_dirichlet(rng, (6, k)), rng.choice([0, 1, 0.3, 0.8], size=6)
    if seed == 3:  # ties everywhere
        log_p = np.log(np.full((6, k), 1 / k))
    number = rng.integers(1 + seed, size=6)
    codes = np.full(6, NOT_ASKED)
    codes[: seed % 3] = 0
    found = go_on(log_p, codes, number, a, noise=noise, n_samples=300)
    expected = listed(log_p, codes, number, a, noise, 300)
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    if (noise, k) == ("gumbel", 3):
        assert len(found) == 2
        np.testing.assert_allclose(found[1], expected, atol=0.15)
        assert (found[0] != found[1]).any() == (a.max() > 0)
    else:
        assert len(found) == 1


@pytest.mark.parametrize(
    ("noise", "k"), [("uniform", 3), ("gumbel", 2), ("gumbel", 3), ("gaussian", 3)]
)
def test_each_member_goes_on_as_the_model_says(noise: Noise, k: int) -> None:
    """Two groups; in one two have spoken."""
    rng = np.random.default_rng(0)
    log_p, a = log_dirichlet(rng, (6, k)), rng.uniform(0.3, 0.9, size=6)
    codes, number = np.array([0, 1, -1, -1, 1, -1]), np.array([0, 0, 0, 1, 1, 1])
    found = go_on(log_p, codes, number, a, noise=noise)
    law = graded_proba(
        log_p[None],
        codes[None],
        number,
        a,
        noise=noise,
        n_samples=2000,
        rng=rng,
        names=Names(["x"], range(6), range(k)),
    )[0]
    shares = found.sum(axis=3).mean(axis=0)
    off = 0.01 if (noise, k) == ("gumbel", 3) else 1e-10
    np.testing.assert_allclose(shares, law[codes == NOT_ASKED], atol=off)


def test_twenty_with_two_labels_are_exact() -> None:
    """Against a simulation that knows nothing of cells: noises, who follows, votes."""
    rng = np.random.default_rng(4)
    p, a = rng.uniform(0.3, 0.8, size=20), rng.uniform(0.2, 0.9, size=20)
    number = np.arange(20) % 3
    codes = np.where(np.arange(20) < 2, 1, NOT_ASKED)
    found = go_on(np.log(np.stack([1 - p, p], axis=1)), codes, number, a, n_samples=10)
    n = 400_000
    shared, own = rng.random((n, 3))[:, number], rng.random((n, 20))
    ones = np.where(rng.random((n, 20)) < a, shared, own) > 1 - p
    ones = ones[ones[:, :2].all(axis=1)]
    votes = ones.sum(axis=1)
    share = np.where(votes == 10, 0.5, votes > 10)
    for i, h in enumerate(range(2, 20)):
        expected = [
            [((ones[:, h] == c) * (share if d else 1 - share)).mean() for d in (0, 1)]
            for c in (0, 1)
        ]
        np.testing.assert_allclose(found[0, i], expected, atol=6 / np.sqrt(len(ones)) / 2)


def test_cells_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    given_ = (log_dirichlet(rng, (9, 2)), [0] + [-1] * 8, [0, 1, 0] * 3, rng.uniform(size=9))
    at_once = go_on(*given_)
    monkeypatch.setattr(ways, "_BLOCK", 100)
    np.testing.assert_allclose(go_on(*given_), at_once, atol=1e-12)


@pytest.mark.parametrize("noise", ["uniform", "gumbel"])
def test_large_panels_are_drawn(noise: Noise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, and both times what is counted comes out."""
    rng = np.random.default_rng(2)
    log_p, a = log_dirichlet(rng, (6, 3)), rng.uniform(0.3, 0.9, size=6)
    given_ = (log_p, [2, -1, -1, -1, -1, -1], [0, 1, 0, 1, 0, 2], a)
    counted = go_on(*given_, noise=noise, n_samples=2000).mean(axis=0)
    monkeypatch.setattr(ways, "MOST_COUNTS", 0)
    drawn = go_on(*given_, noise=noise, n_samples=40_000)
    assert drawn.shape == (2, 5, 3, 3)
    assert (drawn[0] != drawn[1]).any()
    np.testing.assert_allclose(drawn, [counted] * 2, atol=0.01 if noise == "uniform" else 0.025)


def test_draws_of_votes_are_unbiased(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three draws each, many times."""
    rng = np.random.default_rng(3)
    log_p, said = log_dirichlet(rng, (5, 3)), np.array([0, 1, 0])
    nobody = Heard(log_p[:0], np.zeros(0, dtype=int), np.zeros(0))
    cells = [cells_of(nobody, Wanted(log_p, np.full(5, 0.6)), "uniform", 1, rng)]
    several = np.array([ways._drawn(cells, said, 3, rng) for _ in range(20_000)])
    error = several.std(axis=0) / np.sqrt(len(several))
    assert (np.abs(several.mean(axis=0) - ways._counted(cells, said)) < 4.5 * error + 1e-12).all()


def test_everybody_has_spoken() -> None:
    found = go_on(np.log(np.full((3, 2), 0.5)), [0, 1, 1], [0, 1, 1], [0.5] * 3)
    assert found.shape == (1, 0, 2, 2)


def test_rare_opinions_of_experts_who_surely_follow() -> None:
    """Possible together, though no draw from what one of them said would find the other."""
    log_p = np.log([[1e-200, 1e-300, 1], [1e-300, 1e-200, 1], [0.3, 0.3, 0.4]])
    found = go_on(log_p, [0, 1, -1], [0] * 3, [1.0] * 3, noise="gumbel")
    law = [np.diag([0.5, 0.5, 0])] * 2
    np.testing.assert_allclose(found[:, 0], law, atol=0.02)


def test_impossible_opinions_are_refused_by_name() -> None:
    log_p = np.log(np.full((4, 2), 0.5))
    words = "'the case': no noise makes expert 'member 1' say 0 and expert 'member 3' say 1"
    with pytest.raises(ValueError, match=words):
        go_on(log_p, [1, 0, -1, 1], [0, 1, 1, 1], [1.0] * 4)
    assert np.isfinite(go_on(log_p, [1, 0, -1, 1], [0, 1, 1, 1], [0.99] * 4)).all()


def test_most_say_and_ties_are_shared() -> None:
    votes = np.array([[2, 1, 0], [0, 2, 1], [1, 1, 1]])
    np.testing.assert_allclose(most(votes), [[1, 0, 0], [0, 1, 0], [1 / 3] * 3])
    np.testing.assert_allclose(most(np.array([2, 2])), [0.5, 0.5])


def test_a_majority_is_likelier_the_more_is_shared() -> None:
    """Six even experts, one of whom has spoken: apart, most may say anything; together, as she."""
    log_p = log(np.full((6, 2), 0.5))
    shares = []
    for a in (0.0, 0.7, 0.99):
        found = go_on(log_p, [0] + [-1] * 5, [0] * 6, [a] * 6)
        shares.append(found[0, 0, :, 0].sum())
    assert shares[0] == pytest.approx((1 + 5 + 10 + 10 / 2) / 32)
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.95
