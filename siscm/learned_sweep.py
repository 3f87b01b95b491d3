r"""The synthetic sweep with habits that have to be learned, from the same opinions.

The paper's synthetic experiment knows every expert's marginals. Here a classifier an expert learns
them from the opinions that the graph is then built of, gaps included, as on real data. Whether
two opinions violate is judged by these estimates, so similar experts can seem to violate; and a
classifier that has seen the opinions that it judges finds them likelier than it should.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from siscm.checks import FloatArray
from siscm.evaluation import log_loss
from siscm.false_alarms import LOGIT, squared_error
from siscm.graph import SimilarityGraph
from siscm.marginals import all_log_marginals, fit_marginals
from siscm.opinions import Opinions
from siscm.partition import Groups
from siscm.progress import run_all
from siscm.sweep import (
    Cell,
    PairLosses,
    draw_panel,
    grid,
    pair_losses,
    partition_and_score,
    same_group,
    stream,
)
from siscm.synthetic import GROUP_SIZES, SyntheticPanel, sparsify

TRUE = "true"
"""The name of the marginals that opinions were drawn from."""


class Learner(NamedTuple):
    """How marginals are learned.

    Parameters
    ----------
    classifier
        Of each expert.
    apart
        Whether from as many other instances, of which the graph is told nothing: those after the
        largest training set, and so dependent on how large that is.
    """

    classifier: BaseEstimator
    apart: bool = False


LEARNERS = {
    "logit": Learner(LOGIT),
    "logit, apart": Learner(LOGIT, apart=True),
    "logit, 5 features": Learner(
        make_pipeline(ColumnTransformer([("first", "passthrough", slice(0, 5))]), LOGIT)
    ),
    "naive Bayes": Learner(GaussianNB()),
}
"""Multinomial logit as the truth is, with scikit-learn's penalty; the same, learned from other
opinions, or blind to 15 of 20 features; and the paper's choice on real data, of another form."""

MARGINALS = (TRUE, *LEARNERS)

N_TRAIN = (10, 20, 50, 100, 200, 400, 1000)
"""Training instances m: some of the sweep's, and one that is larger."""

MIN_PROBA = 1e-8
"""Floor of learned probabilities, as in :class:`siscm.GumbelMaxSISCM`."""


def learn(
    classifier: BaseEstimator,
    X: FloatArray,
    opinions: Opinions,
    X_wanted: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Log-marginals (n, H, k) at ``X_wanted``, learned from opinions with gaps.

    Who gave no opinion has the uniform distribution; who gave only one label is held to say it
    always, up to :data:`MIN_PROBA`.

    Parameters
    ----------
    classifier
        Of each expert.
    X, opinions
        To learn from.
    X_wanted
        Features of the instances that marginals are wanted for.
    rng
        Seeds the classifiers.
    """
    k, experts = opinions.n_classes, opinions.experts
    asked = np.flatnonzero(opinions.n_by_expert)
    known = opinions.select(experts=experts[asked])
    with warnings.catch_warnings():
        # Whoever runs a sweep down to ten instances knows that some experts said but one label.
        warnings.filterwarnings(
            "ignore", message=r".* only ever said one label", category=UserWarning
        )
        models = fit_marginals(classifier, X, known, rng)
    log_p = np.full((len(X_wanted), len(experts), k), -np.log(k))
    log_p[:, asked] = all_log_marginals(models, X_wanted, known.experts, k, MIN_PROBA)
    return log_p


def learned_sweep(
    seed: int = 0,
    *,
    n_train: Sequence[int] = N_TRAIN,
    sparsities: Sequence[float] = (0.1, 0.6),
    n_repeats: int = 2,
    n_test: int = 100,
    marginals: Sequence[str] = MARGINALS,
    group_sizes: Sequence[int] = GROUP_SIZES,
    n_jobs: int = 1,
) -> pd.DataFrame:
    r"""Run the synthetic sweep with true and with learned marginals, side by side.

    Experts, instances, opinions, gaps and restarts are those of :func:`siscm.sweep.sweep` with
    the same seed, so that only the marginals differ. The numbers do not depend on ``n_jobs``.

    Parameters
    ----------
    seed
        As in :func:`siscm.sweep.sweep`.
    n_train, sparsities, n_repeats
        The grid: m, s, and how many sets of experts.
    n_test
        Test instances: the first of the sweep's.
    marginals
        Some of :data:`MARGINALS`.
    group_sizes
        As in the paper by default.
    n_jobs
        Processes, as in joblib; -1 takes all cores.

    Returns
    -------
    DataFrame
        A row a run and kind of ``marginals``: ``repeat``, ``m``, ``s``, ``opinions``;

        - ``error`` of the log-marginals on test instances, root mean square of an expert and its
          median over experts, on the scale of :func:`siscm.false_alarms.by_training_size`;
        - ``lost``, of the pairs of one planted group that met, the share in violation;
          ``alarms``, their mean number of violations; ``alarm_rate``, the highest share of the
          instances of such a pair that are violations;
        - ``caught``, of the other pairs that met, the share in violation; ``violation_rate``, the
          lowest share of the instances of such a pair (each NaN where none met);
        - the other columns of the sweep, but that the ``true`` groups are called ``planted``, for
          here marginals can be true; and ``zero_one_copy`` and ``log_copy``, losses of the rule
          that everybody says what the observed expert said, which needs no marginals.

    Raises
    ------
    ValueError
        As :func:`siscm.sweep.sweep`.
    """
    # The longest first, so that no process is left alone with one at the end.
    runs = sorted(grid(n_repeats, n_train, sparsities), key=lambda run: -run.n_train)
    panels = [
        draw_panel(seed, repeat, 2 * max(n_train), n_test, group_sizes)
        for repeat in range(n_repeats)
    ]
    true_losses = [pair_losses(test) for _, test in panels]
    tasks = [
        (run, name, *panels[run.repeat], max(n_train), true_losses[run.repeat], stream(seed, run))
        for run, name in product(runs, marginals)
    ]
    table = pd.DataFrame(run_all(_run, tasks, len(tasks), n_jobs))
    table.columns = table.columns.str.replace("_true", "_planted")
    return table.sort_values(["repeat", "m", "s"], kind="stable", ignore_index=True)


def _run(
    run: Cell,
    name: str,
    both: SyntheticPanel,
    test: SyntheticPanel,
    largest: int,
    true_losses: Mapping[str, PairLosses],
    rng: np.random.Generator,
) -> dict[str, str | float]:
    """One row: thin out, learn, build the graph, partition it, and score.

    The panel ``both`` has instances for the graph, and from ``largest`` on others to learn from.
    """
    train, apart = (both.part(start, start + run.n_train) for start in (0, largest))
    kept = sparsify(train.opinions, run.sparsity, rng)
    if name == TRUE:
        log_p, log_p_test, losses = train.log_marginals, test.log_marginals, true_losses
    else:
        classifier, other = LEARNERS[name]
        own = deepcopy(rng)  # the restarts below use a stream that nothing here has drawn from
        source = apart if other else train
        seen = sparsify(apart.opinions, run.sparsity, own) if other else kept
        learned = learn(classifier, source.X, seen, np.concatenate([train.X, test.X]), own)
        log_p, log_p_test = np.split(learned, [len(train.X)])
        losses = pair_losses(test, log_p_test)
    graph = SimilarityGraph.from_opinions(log_p, kept)
    errors = squared_error(log_p_test, test.log_marginals)
    return {
        **partition_and_score(run, graph, train.groups, losses, rng),
        "marginals": name,
        "opinions": len(kept),
        "error": float(np.median(np.sqrt(errors.mean(axis=0)))),
        **_violations(graph, train.groups),
        **{f"{loss}_copy": value for loss, value in copy_losses(test.opinions).items()},
    }


def _violations(graph: SimilarityGraph, planted: Groups) -> dict[str, float]:
    """How often pairs that met violate: those planted together, and the others."""
    met = graph.together > 0
    count = graph.violations[met]
    pairs = pd.DataFrame({"count": count, "rate": count / graph.together[met]})
    same = same_group(planted, len(graph.experts))[met]
    similar, others = pairs[same], pairs[~same]
    # Where there are none, what pandas says of them is NaN.
    return {
        "lost": (similar["rate"] > 0).mean(),
        "alarms": similar["count"].mean(),
        "alarm_rate": similar["rate"].max(),
        "caught": (others["rate"] > 0).mean(),
        "violation_rate": others["rate"].min(),
    }


def copy_losses(opinions: Opinions) -> dict[str, float]:
    """Both losses of saying what the observed expert said, over ordered pairs; nobody missing.

    The log-loss is taken after mixing in a little of the uniform distribution, as everywhere.
    """
    (_, n_experts), k = opinions.labels.shape, opinions.n_classes
    counts = (opinions.labels[..., None] == np.arange(k)).sum(axis=1)  # how many said each label
    agree = float((counts * (counts - 1)).sum(axis=1).mean() / (n_experts * (n_experts - 1)))
    right, wrong = log_loss(np.array([1.0, 0.0]), k)
    return {"zero_one": 1 - agree, "log": float(agree * right + (1 - agree) * wrong)}
