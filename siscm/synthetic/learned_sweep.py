r"""The synthetic sweep with habits that have to be learned, from the same opinions.

The paper's synthetic experiment knows every expert's marginals. Here a classifier an expert learns
them from the opinions that the graph is then built of, gaps included, as on real data. Whether
two opinions violate is judged by these estimates, so similar experts can seem to violate; and a
classifier that has seen the opinions that it judges finds them likelier than it should.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from siscm.checks import FloatArray
from siscm.graph import SimilarityGraph
from siscm.marginals import all_log_marginals, fit_marginals
from siscm.opinions import Opinions
from siscm.partition import Groups
from siscm.synthetic.pair_losses import PairLosses, pair_losses, same_group
from siscm.synthetic.planted import GROUP_SIZES, sparsify
from siscm.synthetic.sweep import Given, Row, Run, grid, partition_and_score, run_each
from siscm.theory.false_alarms import LOGIT, squared_error

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
"""The marginals compared: those that are true, and those that each learner finds."""

RUNS = tuple(grid(2, (10, 20, 50, 100, 200, 400, 1000), (0.1, 0.6)))
"""Of training instances m some of the sweep's, and one that is larger."""

MIN_PROBA = 1e-8
"""Floor of learned probabilities, as in :class:`siscm.model.GumbelMaxSISCM`."""


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
    runs: Sequence[Run] = RUNS,
    n_test: int = 100,
    marginals: Sequence[str] = MARGINALS,
    group_sizes: Sequence[int] = GROUP_SIZES,
    n_jobs: int = 1,
) -> pd.DataFrame:
    r"""Run the synthetic sweep with true and with learned marginals, side by side.

    Experts, instances, opinions, gaps and restarts are those of :func:`siscm.synthetic.sweep.sweep`
    with the same seed, so that only the marginals differ.

    Parameters
    ----------
    seed, runs, n_test, group_sizes, n_jobs
        As in :func:`siscm.synthetic.sweep.run_each`.
    marginals
        Some of :data:`MARGINALS`.

    Returns
    -------
    DataFrame
        A row a run and kind of ``marginals``: ``repeat``, ``m``, ``s``, ``opinions``;

        - ``error`` of the log-marginals on test instances, root mean square of an expert and its
          median over experts, on the scale of :func:`siscm.theory.false_alarms.by_training_size`;
        - ``lost``, of the pairs of one planted group that met, the share in violation;
          ``alarms``, their mean number of violations; ``alarm_rate``, the highest share of the
          instances of such a pair that are violations;
        - ``caught``, of the other pairs that met, the share in violation; ``violation_rate``, the
          lowest share of the instances of such a pair (each NaN where none met);
        - the other columns of the sweep, but that the ``true`` groups are called ``planted``, for
          here marginals can be true; and 0/1 losses of :func:`copying`: ``zero_one_copy``, from
          everybody, which needs no marginals, and ``zero_one_copy_planted``, inside the planted
          groups only, which is told what the SI-SCM of ``zero_one_planted`` is told.

    Raises
    ------
    ValueError
        As :func:`siscm.synthetic.sweep.run_each`; or if there are no such marginals.
    """
    if not marginals or not set(marginals) <= set(MARGINALS):
        raise ValueError(f"marginals are {list(marginals)}; they must be some of {MARGINALS}.")
    function = partial(_rows, marginals=marginals)
    found = run_each(function, runs, seed, n_test, group_sizes, n_jobs)
    return found.rename(columns=lambda name: name.replace("_true", "_planted"))


def _rows(given: Given, marginals: Sequence[str]) -> list[Row]:
    """The rows of one run."""
    return [_row(given, name) for name in marginals]


def _row(given: Given, name: str) -> Row:
    """Learn, build the graph, partition it, and score."""
    train, test, kept = given.train, given.test, given.kept
    if name == TRUE:
        log_p, log_p_test, losses = train.log_marginals, test.log_marginals, given.losses
    else:
        classifier, apart = LEARNERS[name]
        rng = deepcopy(given.rng)  # restarts use a stream that nothing here has drawn from
        if apart:
            source, seen = given.apart, sparsify(given.apart.opinions, given.run.sparsity, rng)
        else:
            source, seen = train, kept
        learned = learn(classifier, source.X, seen, np.concatenate([train.X, test.X]), rng)
        log_p, log_p_test = np.split(learned, [len(train.X)])
        losses = pair_losses(test, log_p_test)
    graph = SimilarityGraph.from_opinions(log_p, kept)
    errors = squared_error(log_p_test, test.log_marginals)
    copied = copying(test.opinions, losses["zero_one"].alone)
    return {
        **partition_and_score(given, graph, losses),
        "marginals": name,
        "error": float(np.median(np.sqrt(errors.mean(axis=0)))),
        **_violations(graph, train.groups),
        "zero_one_copy": copied.all_pairs([list(range(len(copied.alone)))]),
        "zero_one_copy_planted": copied.all_pairs(train.groups),
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


def copying(opinions: Opinions, alone: FloatArray) -> PairLosses:
    """0/1 losses of saying what the observed expert said, where she is of one's group.

    Parameters
    ----------
    opinions
        On test instances; nobody is missing.
    alone
        (H,): the loss of each expert's marginal, which predicts across groups.
    """
    said = opinions.labels
    return PairLosses((said[:, :, None] != said[:, None, :]).mean(axis=0), alone)
