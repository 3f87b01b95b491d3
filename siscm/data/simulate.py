r"""Opinions and whole panels drawn from a Gumbel-Max SI-SCM that is known.

One core, :func:`simulate_opinions`, draws every simulated opinion of the project. A simulated
panel is shaped like a real one. Its texts are made of invented words ("w0123") from latent
topics, and what an expert tends to say depends on the topics, so that all that is done with a
real panel can be done with it, and compared with the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, logit, ndtri

from siscm import gumbel
from siscm.checks import BoolArray, FloatArray, IntArray, check_log_distribution
from siscm.data.panels import SPLITS, Panel, PanelName, Truth, question_of
from siscm.opinions import NOT_ASKED, Opinions
from siscm.partition import group_of

# Aggregates read off the real files, for the simulated panels to come near.
_HS_SIZES = (784, 168, 168)  # instances in train, dev, test
_HS_RATES = (0.05, 0.05, 0.06, 0.20, 0.25, 0.17)  # share of 1 among each expert's opinions
_MD_SIZES = (6592, 1104, 3057)
_MD_EXPERTS = (670, 534, 246)  # who gives an opinion in each split
_MD_NEW = (670, 12, 148)  # of these, who does not in train; 11 of them both in dev and in test
_MD_NEW_IN_BOTH = 11
_MD_ASKED = 5  # experts an instance
_MD_BATCH = 4  # instances that go together to the same experts
_MD_RATE, _MD_RATE_SPREAD = 0.31, 0.8  # median share of 1, and spread of its log-odds
_MD_ACTIVITY_SPREAD = 1.5  # of the logarithm of how many opinions an expert gives
_MD_DOMAINS = {"A": -0.9, "B": 0.1, "C": 0.8}  # log-odds that each domain adds

# Invented: how strongly experts follow the topics, and how far they share a view of them. Chosen
# so that pairs of experts agree about as often as in the real panels.
_STRENGTH = 3.0
_SHARED_VIEW = 0.8
_MD_GROUPS = (6, 7, 11, 11, 13)  # sizes in proportion, those of the paper's synthetic experiment

_N_TOPICS = 12
_TOPIC_CONCENTRATION = 0.3  # below 1: most texts are about few topics
_WORDS_A_TOPIC = 100
_COMMON_SHARE = 0.25  # of a text's words belong to no topic
_TEXT_LENGTH = 18  # words on average, as in the real texts


def simulate_opinions(
    log_marginals: npt.ArrayLike,
    groups: Sequence[Sequence[int]],
    asked: BoolArray,
    rng: np.random.Generator,
) -> IntArray:
    r"""Draw what experts say under the Gumbel-Max SI-SCM :math:`\mathcal M(\Psi)`.

    On each instance each group draws one Gumbel noise vector, and every expert in it says
    :math:`\arg\max_c \log P(Y_h = c \mid X) + U_c` (Section 6). One group of all experts gives
    one noise for all, groups of one give independent experts.

    Parameters
    ----------
    log_marginals
        (n, H, k), or (n_opinions, k): one row for each True of ``asked``, row by row.
    groups
        Positions of experts; each of 0, ..., H - 1 stands in exactly one group.
    asked
        (n, H): who gives an opinion on what.
    rng
        Where the noise comes from.

    Returns
    -------
    int array (n, H)
        Label codes, -1 where nobody was asked.

    Raises
    ------
    ValueError
        If groups are not a partition of the experts, if a marginal is not a distribution, or if
        shapes do not fit.
    """
    n, n_experts = asked.shape
    number = group_of(groups, range(n_experts))
    i, h = np.nonzero(asked)
    log_p = np.asarray(log_marginals, dtype=np.float64)
    if log_p.ndim == 3 and log_p.shape[:2] == asked.shape:
        log_p = log_p[i, h]
    if log_p.ndim != 2 or len(log_p) != len(i):
        raise ValueError(
            f"log_marginals has shape {np.shape(log_marginals)}; it should be ({n}, {n_experts}, "
            f"labels), or ({len(i)}, labels) for the opinions asked for."
        )
    log_p = check_log_distribution(log_p, "simulated")
    noise = gumbel.sample_noise(log_p.shape[1], (n, len(groups)), rng)
    labels = np.full(asked.shape, NOT_ASKED, dtype=np.int64)
    labels[i, h] = np.argmax(log_p + noise[i, number[h]], axis=1)
    return labels


class _Plan(NamedTuple):
    """Who is asked about what in a simulated panel, and how often each expert says 1."""

    sizes: tuple[int, int, int]
    asked: BoolArray
    rates: FloatArray
    groups: list[list[int]]
    domain: IntArray | None


def simulate_panel(name: PanelName, rng: np.random.Generator) -> Panel:
    """A simulated panel shaped like a real one, with its truth.

    As many instances, splits, experts and opinions as the real panel; shares of each label and
    agreement of pairs come near it. HS-Brexit: the two known groups share noise. MD-Agreement:
    experts' activity has a heavy tail, most test experts are unseen in training, three domains,
    and five planted groups that nothing in the panel tells.

    Parameters
    ----------
    name
        ``"HS-Brexit"`` or ``"MD-Agreement"``.
    rng
        Where all randomness comes from.

    Raises
    ------
    ValueError
        If there is no such panel.
    """
    question = question_of(name)
    plan = _plan_hs_brexit() if name == "HS-Brexit" else _plan_md_agreement(rng)
    n, n_experts = plan.asked.shape
    experts = pd.Index([f"S{h + 1}" for h in range(n_experts)], name="expert")
    split = np.repeat(SPLITS, plan.sizes)
    number = np.concatenate([np.arange(1, size + 1) for size in plan.sizes])
    ids = [f"{s}-{i}" for s, i in zip(split, number, strict=True)]
    topics = rng.dirichlet(np.full(_N_TOPICS, _TOPIC_CONCENTRATION), size=n)
    instances = pd.DataFrame(
        {"text": _write_texts(topics, rng), "split": split}, index=pd.Index(ids, name="instance")
    )
    known = pd.DataFrame(index=experts)
    if plan.domain is None:
        known["group"] = np.repeat(["target", "control"], [len(group) for group in plan.groups])
    else:
        instances["domain"] = np.array(list(_MD_DOMAINS))[plan.domain]
    truth = _draw_truth(topics, plan, instances.index, experts, rng)
    everybody = Opinions.from_codes(np.where(plan.asked, 0, NOT_ASKED), instances.index, experts)
    labels = simulate_opinions(truth.log_marginals(everybody), plan.groups, plan.asked, rng)
    return Panel(
        name=name,
        source="simulated",
        question=question,
        instances=instances,
        opinions=Opinions.from_codes(labels, instances.index, experts, classes=(0, 1)),
        experts=known,
        truth=truth,
    )


def _plan_hs_brexit() -> _Plan:
    """Six experts in two groups of three, each asked about everything."""
    return _Plan(
        sizes=_HS_SIZES,
        asked=np.ones((sum(_HS_SIZES), len(_HS_RATES)), dtype=bool),
        rates=np.array(_HS_RATES),
        groups=[[0, 1, 2], [3, 4, 5]],
        domain=None,
    )


def _plan_md_agreement(rng: np.random.Generator) -> _Plan:
    """Many experts, few of them asked about each instance, most of them seldom."""
    n_train, n_new_dev, n_new_test = _MD_NEW
    n_experts = n_train + n_new_dev + n_new_test - _MD_NEW_IN_BOTH
    activity = np.exp(_MD_ACTIVITY_SPREAD * ndtri((np.arange(n_experts) + 0.5) / n_experts))
    activity = rng.permutation(activity)
    seen, new = np.split(np.arange(n_experts), [n_train])
    share = activity[seen] / activity[seen].sum()
    again_dev = rng.choice(seen, _MD_EXPERTS[1] - n_new_dev, replace=False, p=share)
    again_test = rng.choice(seen, _MD_EXPERTS[2] - n_new_test, replace=False, p=share)
    pools = [seen, np.r_[again_dev, new[:n_new_dev]], np.r_[again_test, new[-n_new_test:]]]
    domain = rng.integers(len(_MD_DOMAINS), size=sum(_MD_SIZES))
    asked = np.zeros((sum(_MD_SIZES), n_experts), dtype=bool)
    start = 0
    for size, pool in zip(_MD_SIZES, pools, strict=True):
        rows = np.arange(start, start + size)
        for team in np.array_split(rng.permutation(pool), _MD_ASKED):
            i = rows[_in_batches(domain[rows], rng)]
            asked[i, np.repeat(team, _share_out(size, activity[team], rng))] = True
        start += size
    ends = np.cumsum(np.array(_MD_GROUPS) * n_experts / sum(_MD_GROUPS)).round().astype(int)
    groups = [sorted(group.tolist()) for group in np.split(rng.permutation(n_experts), ends[:-1])]
    rates = expit(logit(_MD_RATE) + _MD_RATE_SPREAD * rng.standard_normal(n_experts))
    return _Plan(_MD_SIZES, asked, rates, groups, domain)


def _in_batches(domain: IntArray, rng: np.random.Generator) -> IntArray:
    """Positions of instances in the order in which a team works through them.

    Each member takes a stretch of it. Instances go in batches of one domain, as on a crowd's
    platform: so most experts see few domains, and two experts who meet do so more than once.
    """
    by_domain = np.lexsort((np.arange(len(domain)), domain))
    batch = np.arange(len(domain)) // _MD_BATCH
    order = np.lexsort((rng.random(batch[-1] + 1)[batch], domain[by_domain]))
    return by_domain[order]


def _share_out(total: int, activity: FloatArray, rng: np.random.Generator) -> IntArray:
    """How many opinions each expert gives: one at least, the rest by activity."""
    return rng.multinomial(total - len(activity), activity / activity.sum()) + 1


def _draw_truth(
    topics: FloatArray,
    plan: _Plan,
    instances: pd.Index[str],
    experts: pd.Index[str],
    rng: np.random.Generator,
) -> Truth:
    """Tastes for topics: partly one that all share, partly each expert's own."""
    shape = (len(experts), _N_TOPICS)
    tastes = np.sqrt(_SHARED_VIEW) * rng.standard_normal(_N_TOPICS)
    tastes = tastes + np.sqrt(1 - _SHARED_VIEW) * rng.standard_normal(shape)
    tastes -= tastes.mean(axis=1, keepdims=True)
    tastes *= _STRENGTH / np.linalg.norm(tastes, axis=1, keepdims=True)
    features = pd.DataFrame(
        (topics - 1 / _N_TOPICS) / topics.std(),
        index=instances,
        columns=[f"topic {topic}" for topic in range(_N_TOPICS)],
    )
    slopes = pd.DataFrame(tastes, index=experts, columns=features.columns)
    if plan.domain is not None:
        features["domain"] = np.array(list(_MD_DOMAINS.values()))[plan.domain]
        slopes["domain"] = 1.0
    # A few hundred instances are enough to set each expert's rate.
    some = features.to_numpy()[:: max(1, len(features) // 400)]
    log_odds = np.einsum("nf,hf->nh", some, slopes.to_numpy())
    intercepts = pd.Series(_intercepts(log_odds, plan.rates), index=experts)
    groups = tuple(tuple(experts[group]) for group in plan.groups)
    return Truth(groups, features, slopes, intercepts)


def _intercepts(log_odds: FloatArray, rates: FloatArray) -> FloatArray:
    """What to add to each expert's log-odds (n, H) so that she says 1 at her rate (H,)."""
    low, high = np.full(len(rates), -50.0), np.full(len(rates), 50.0)
    for _ in range(40):
        middle = (low + high) / 2
        too_often = expit(log_odds + middle).mean(axis=0) > rates
        low, high = np.where(too_often, low, middle), np.where(too_often, middle, high)
    return np.asarray((low + high) / 2)


def _write_texts(topics: FloatArray, rng: np.random.Generator) -> list[str]:
    """Texts of invented words: each word from one of the text's topics, or common to all."""
    lengths = 1 + rng.poisson(_TEXT_LENGTH - 1, size=len(topics))
    ends = np.cumsum(lengths)
    ladder = np.cumsum(topics, axis=1)[:, :-1].repeat(lengths, axis=0)
    topic = (rng.random(ends[-1])[:, None] > ladder).sum(axis=1)
    topic[rng.random(ends[-1]) < _COMMON_SHARE] = _N_TOPICS
    # Few words are frequent and many are rare, as in any language.
    frequency = 1 / np.arange(2, _WORDS_A_TOPIC + 2)
    rank = rng.choice(_WORDS_A_TOPIC, size=ends[-1], p=frequency / frequency.sum())
    words = np.array([f"w{w:04d}" for w in range((_N_TOPICS + 1) * _WORDS_A_TOPIC)])
    written = words[topic * _WORDS_A_TOPIC + rank]
    return [" ".join(text) for text in np.split(written, ends[:-1])]
