"""Synthetic panels whose groups are known: the paper's Appendix C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from siscm.checks import BoolArray, FloatArray, check_count, check_share
from siscm.data.simulate import simulate_opinions
from siscm.opinions import NOT_ASKED, Opinions

LEAST_OPINIONS = 2
"""That stay on an instance, however many are lost."""

GROUP_SIZES = (6, 7, 11, 11, 13)
"""Experts in each of the paper's five groups: 48 in all."""


@dataclass(frozen=True, eq=False)
class SyntheticPanel:
    r"""Opinions drawn from a Gumbel-Max SI-SCM that is known in full.

    Parameters
    ----------
    X
        Features (n, d), uniform on [0, 1].
    opinions
        What every expert says on every instance.
    weights
        Coefficients (H, k, d) of the experts' multinomial logit models: :math:`w_c`.
    groups
        The planted partition, as lists of expert positions.
    """

    X: FloatArray
    opinions: Opinions
    weights: FloatArray
    groups: list[list[int]]

    @property
    def log_marginals(self) -> FloatArray:
        r"""True log-marginals (n, H, k): :math:`\log P(Y_h = c \mid X = x)`."""
        return log_marginals(self.X, self.weights)

    def part(self, start: int, stop: int) -> SyntheticPanel:
        """The panel on some of its instances, those from ``start`` to before ``stop``."""
        kept = self.opinions.select(instances=self.opinions.instances[start:stop])
        return SyntheticPanel(self.X[start:stop], kept, self.weights, self.groups)


def make_synthetic_panel(
    n_instances: int,
    rng: np.random.Generator,
    *,
    group_sizes: Sequence[int] = GROUP_SIZES,
    n_classes: int = 5,
    n_features: int = 20,
) -> SyntheticPanel:
    r"""Draw experts, instances and opinions as in the paper's synthetic experiment (Appendix C).

    Features and coefficients are uniform on [0, 1], marginals are
    :math:`P(Y_h = c \mid x) \propto \exp(w_c \cdot x)`, and the experts of a group share one
    Gumbel noise. Every expert is asked about every instance; :func:`sparsify` makes gaps.

    Parameters
    ----------
    n_instances
        How many instances.
    rng
        Draws everything, from three streams that it spawns: experts, features and noises. So a
        panel with more instances begins like one with fewer.
    group_sizes
        How many experts each group has.
    n_classes, n_features
        How many labels, and how many features an instance has.

    Raises
    ------
    ValueError
        If a number, of a group's experts too, is no positive whole one.
    """
    if not len(group_sizes):
        raise ValueError("group_sizes is empty; give at least one group.")
    for size in (n_instances, n_classes, n_features, *group_sizes):
        check_count(size, "each size")
    ends = np.cumsum(group_sizes)
    groups = [list(range(end - size, end)) for end, size in zip(ends, group_sizes, strict=True)]
    experts, features, noises = rng.spawn(3)
    weights = experts.random((int(ends[-1]), n_classes, n_features))
    X = features.random((n_instances, n_features))
    log_p = log_marginals(X, weights)
    said = simulate_opinions(log_p, groups, np.ones(log_p.shape[:2], dtype=bool), noises)
    return SyntheticPanel(X, Opinions.from_codes(said, classes=range(n_classes)), weights, groups)


def log_marginals(X: FloatArray, weights: FloatArray) -> FloatArray:
    r"""The multinomial logit :math:`\log P(Y_h = c \mid x)` of each expert, (n, H, k).

    Parameters
    ----------
    X
        (n, d): features.
    weights
        (H, k, d): the coefficients of each expert.
    """
    return np.asarray(log_softmax(np.einsum("nd,hcd->nhc", X, weights), axis=-1))


def sparsify(opinions: Opinions, sparsity: float, rng: np.random.Generator) -> Opinions:
    r"""Keep :math:`\max\{2, (1 - s)\,|\mathcal H|\}` opinions on each instance, at random.

    As the paper has it (Appendix C). Where that number is fractional, each instance keeps the
    whole number below or above it, such that the average is right.

    Parameters
    ----------
    opinions
        Every expert on every instance.
    sparsity
        :math:`s`, from 0 (all stay) to 1 (two stay).
    rng
        Picks who stays.

    Raises
    ------
    ValueError
        If ``sparsity`` is not in [0, 1], or an opinion is missing already.
    """
    check_before_thinning(opinions, sparsity)
    n, n_experts = opinions.labels.shape
    stay = min(max(LEAST_OPINIONS, (1 - sparsity) * n_experts), n_experts)
    number = np.floor(stay + rng.random((n, 1)))
    rank = rng.random((n, n_experts)).argsort(axis=1).argsort(axis=1)
    return keep(opinions, rank < number)


def check_before_thinning(opinions: Opinions, sparsity: float) -> None:
    """Refuse a sparsity that is not in [0, 1], and opinions with gaps, with a ValueError."""
    check_share(sparsity, "sparsity")
    if (opinions.labels == NOT_ASKED).any():
        raise ValueError("opinions have gaps already; sparsify a panel in which all were asked.")


def keep(opinions: Opinions, stays: BoolArray) -> Opinions:
    """The opinions that stay (n, H), of the same instances, experts and classes.

    Parameters
    ----------
    opinions
        Of everybody on every instance, or some of them.
    stays
        (n, H): which of them stay.
    """
    stay = stays[opinions.instance_codes, opinions.expert_codes]
    return replace(
        opinions,
        instance_codes=opinions.instance_codes[stay],
        expert_codes=opinions.expert_codes[stay],
        label_codes=opinions.label_codes[stay],
    )
