"""Many random models for a check: those for which its premise holds, and those for which not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from siscm.checks import FloatArray
from siscm.theory.random_scms import (
    TALK,
    contradicted,
    different_groups,
    monotone,
    normal_noise,
    same_group,
    set_invariant,
    shared_noise,
    stable,
)
from siscm.theory.scm import FiniteSCM

Maker = Callable[[np.random.Generator], FiniteSCM]


@dataclass(frozen=True, eq=False)
class Drawn:
    """A model drawn at random.

    Parameters
    ----------
    scm
        The model.
    family
        How it was made, in words.
    holds
        Whether it is of the kind that its function names first: silent, alike, with Gumbel noise,
        or of the same group.
    marginals
        What experts tend to say, (n_experts, k), where they were made from that.
    """

    scm: FiniteSCM
    family: str
    holds: bool
    marginals: FloatArray = field(default_factory=lambda: np.empty((0, 0)))


def silent_or_talking(rng: np.random.Generator, n: int = 1000) -> Iterator[Drawn]:
    """Experts who do not talk, n times; and n / 2 times experts whose talk changes an answer."""
    for _ in range(n):
        yield Drawn(_silent(rng), "do not talk", True)
    for i in range(n // 2):
        yield _talking(rng, i, _silent)


def alike_or_not(rng: np.random.Generator, n: int = 600) -> Iterator[Drawn]:
    """Experts who are alike, n times; and n times the like with one noise that contradicts it."""
    for i in range(n):
        yield Drawn(_alike(rng, i), "alike", True)
        yield Drawn(_contradicted(rng, i), "alike but for one noise", False)


def alike_or_not_or_talking(rng: np.random.Generator, n: int = 1000) -> Iterator[Drawn]:
    """Experts who do not talk, n times, half of them alike; and n / 2 times experts who talk."""
    yield from alike_or_not(rng, n // 2)
    for i in range(n // 2):
        yield _talking(rng, i, lambda rng: _alike(rng, int(rng.integers(2))))


def gumbel_or_other_noise(rng: np.random.Generator, n: int = 1000) -> Iterator[Drawn]:
    """Two experts under one Gumbel noise, n times; and n / 2 times under a normal one."""
    for _ in range(n):
        p, q = marginals = _marginals(rng, 2)
        yield Drawn(same_group(p, q), "Gumbel noise", True, marginals)
    for i in range(n // 2):
        if i % 2:
            marginals = rng.dirichlet(np.ones(2), size=2)
            yield Drawn(normal_noise(marginals), "normal noise", False, marginals)
        else:
            marginals = _marginals(rng, 2)
            noise = rng.normal(size=(64, marginals.shape[1]))
            scm = shared_noise(marginals, noise)
            yield Drawn(scm, f"{len(noise)} normal values, equally likely", False, marginals)


def pairs_of_gumbel_max_si_scms(rng: np.random.Generator, n: int = 1000) -> Iterator[Drawn]:
    """Every two of the four experts of n random Gumbel-Max SI-SCMs; same group or not."""
    for _ in range(n):
        marginals, group = _marginals(rng, 4), rng.integers(2, size=4)
        for pair in combinations(range(4), 2):
            p, q = both = marginals[list(pair)]
            if group[pair[0]] == group[pair[1]]:
                yield Drawn(same_group(p, q), "same group", True, both)
            else:
                yield Drawn(different_groups(p, q), "different groups", False, both)


def _silent(rng: np.random.Generator) -> FiniteSCM:
    return set_invariant(
        rng,
        n_experts=int(rng.integers(2, 5)),
        n_classes=int(rng.integers(2, 5)),
        n_noise=int(rng.integers(8, 33)),
        n_x=int(rng.integers(1, 3)),
    )


def _talking(rng: np.random.Generator, i: int, base: Maker) -> Drawn:
    """Redrawn until talk, which is in the second half of the noises, changes an answer."""
    talk = TALK[i % len(TALK)]
    while True:
        alone = base(rng)
        scm, n = talk(alone, rng.uniform(0.1, 1.0)), len(alone.prior)
        if any((said[:, n:] != alone.answers[asked]).any() for asked, said in scm.answers.items()):
            return Drawn(scm, talk.__name__, False)


def _alike(rng: np.random.Generator, i: int) -> FiniteSCM:
    make = (monotone, stable)[i % 2]
    return make(
        rng,
        n_experts=int(rng.integers(2, 5)),
        n_classes=int(rng.integers(2, 5)),
        n_x=int(rng.integers(1, 3)),
    )


def _contradicted(rng: np.random.Generator, i: int) -> FiniteSCM:
    """Redrawn until the first two experts' habits differ enough to be contradicted."""
    while True:
        scm = contradicted(_alike(rng, i), 0, 1)
        if scm is not None:
            return scm


def _marginals(rng: np.random.Generator, n_experts: int) -> FloatArray:
    return rng.dirichlet(np.ones(rng.integers(2, 5)), size=n_experts)
