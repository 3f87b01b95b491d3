"""The contest on panels of texts: developed by cross-validation, then judged on the test part.

The protocol. Everything that can be chosen is chosen on the training and development parts of a
panel, by cross-validation over instances (:func:`development`). The test part is opened by
:func:`final`, once a recorded candidate. Vocabulary and features come from training texts only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from siscm.beyond.calibration import calibration
from siscm.beyond.contest import GRADED, contest, graded, methods, standings
from siscm.beyond.contest_pairs import pairs_of
from siscm.data.panels import Panel, PanelName
from siscm.graded import GradedSISCM
from siscm.opinions import Opinions
from siscm.pooled import PooledMarginals

N_FOLDS = 5
"""Parts of the instances, each of which is left out once."""

WEIGHTS = (1e-2, 1e-3, 1e-4)
"""Of the uniform distribution mixed into every method's before the log-loss."""

POPULATIONS: Mapping[PanelName, Mapping[str, int]] = MappingProxyType(
    {
        "HS-Brexit": {"everyone": 1},
        "MD-Agreement": {"60 opinions or more": 60, "everyone": 1},
    }
)
"""Of each panel the experts studied: with at least so many opinions in training and development."""

TOGETHER_DRAWS = 20_000
"""Of the bootstrap for intervals that are to hold together, whose ends are rare draws."""

FEW = 20
"""Experts of a panel up to which each has a row of her own."""


def text_marginals() -> PooledMarginals:
    """Marginals from texts: one classifier on all words for everybody, then each expert's own."""
    weights = TfidfVectorizer(sublinear_tf=True, min_df=2)
    words = ColumnTransformer([("words", weights, "text")])
    return PooledMarginals(make_pipeline(words, LogisticRegression(max_iter=1000)))


def texts(panel: Panel) -> pd.DataFrame:
    """The texts as features: one column, indexed by instance."""
    return panel.instances[["text"]]


def training(panel: Panel, min_opinions: int = 1) -> Opinions:
    """Opinions of the training and development parts, of experts with at least so many there.

    With 1, everybody of the panel stays, also who has no opinion there.
    """
    train = panel.part("train", "dev")
    if min_opinions <= 1:
        return train
    return train.select(experts=train.experts[train.n_by_expert >= min_opinions])


def held_out(
    opinions: Opinions, n_folds: int = N_FOLDS, seed: int = 0
) -> Iterator[tuple[Opinions, Opinions]]:
    """Opinions to learn from, and those on the instances of one of :data:`N_FOLDS` folds, in turn.

    Parameters
    ----------
    opinions
        All of them; instances without one are dealt out too.
    n_folds
        How many of the folds are left out.
    seed
        Of the draw that deals instances out to folds.
    """
    fold = np.random.default_rng(seed).permutation(len(opinions.instances)) % N_FOLDS
    for k in range(n_folds):
        learned, left_out = (
            opinions.select(instances=opinions.instances[part]) for part in (fold != k, fold == k)
        )
        yield learned, left_out


def development(
    panel: Panel,
    min_opinions: int = 1,
    partition: Sequence[Sequence[Hashable]] | None = None,
    n_folds: int = N_FOLDS,
) -> pd.DataFrame:
    """The contest by cross-validation inside the training and development parts.

    Parameters
    ----------
    panel
        A panel of texts.
    min_opinions
        Experts with fewer opinions there are left out.
    partition
        Groups for graded sharing to use instead of learning them.
    n_folds
        How many of :data:`N_FOLDS` are left out in turn.

    Returns
    -------
    DataFrame
        As from :func:`siscm.beyond.contest.contest`, of all folds.
    """
    said, model = training(panel, min_opinions), GradedSISCM(text_marginals(), partition=partition)
    found = [contest(model, texts(panel), *parts) for parts in held_out(said, n_folds)]
    return pd.concat(found, ignore_index=True)


def final(panel: Panel, min_opinions: int = 1) -> pd.DataFrame:
    """The contest on the test part, learned from training and development parts.

    Parameters
    ----------
    panel, min_opinions
        As for :func:`training`.
    """
    train = training(panel, min_opinions)
    test = panel.part("test").select(experts=train.experts)
    return contest(GradedSISCM(text_marginals()), texts(panel), train, test)


def fitted(panel: Panel, min_opinions: int = 1) -> GradedSISCM:
    """Graded sharing, learned from the training and development parts.

    Parameters
    ----------
    panel, min_opinions
        As for :func:`training`.
    """
    said = training(panel, min_opinions)
    return GradedSISCM(text_marginals()).fit(texts(panel).loc[said.instances], said)


def model_figures(panel: Panel, model: GradedSISCM) -> dict[str, Any]:
    """What was learned from training and development parts: sizes, groups, sharing, calibration.

    Parameters
    ----------
    panel, model
        A panel, and the model of :func:`fitted`.

    Returns
    -------
    dict
        Numbers and lists only, ready for JSON. ``sharing`` holds quantiles over experts;
        ``experts_sharing`` a row an expert, the most sharing first, with the ``group`` that the
        panel tells, and nothing if there are more than :data:`FEW`.
    """
    said = panel.part("train", "dev").select(experts=model.experts_)
    sharing = model.sharing_.round(4).assign(opinions=said.n_by_expert)
    if "group" in panel.experts:
        sharing["group"] = panel.experts["group"]
    sharing = sharing.sort_values("sharing", ascending=False)
    table = calibration(model.marginals_.out_of_fold_, said.label_codes)
    quantiles = sharing["sharing"].quantile([0, 0.25, 0.5, 0.75, 1]).round(4)
    return {
        "experts": len(said.experts),
        "instances": len(said.instances),
        "opinions": len(said),
        "prior_width": model.marginals_.prior_[0],
        "noise": model.noise_,
        "group_sizes": sorted((len(group) for group in model.partition_), reverse=True),
        "sharing": {f"{quantile:g}": value for quantile, value in quantiles.items()},
        "experts_sharing": sharing.to_dict("records") if len(sharing) <= FEW else [],
        "calibration": table.round(6).to_dict("records"),
    }


def shift_figures(panel: Panel, model: GradedSISCM) -> dict[str, dict[str, float]]:
    """How the test part differs from training: who judged, and whether promises are kept there.

    Parameters
    ----------
    panel, model
        As for :func:`model_figures`.

    Returns
    -------
    dict
        For ``training`` (out-of-fold) and ``test``: ``experts`` and ``opinions``;
        ``behind``, the median over opinions of how many their expert gave in training;
        ``label_1``, how often the second label was said, and ``label_1_promised``; ``agreement`` of
        two on one instance, and ``agreement_promised`` by graded sharing.
    """
    train, test = (
        panel.part(*parts).select(experts=model.experts_) for parts in (("train", "dev"), ("test",))
    )
    scored = model.log_marginals(texts(panel).loc[test.instances], test)
    out = {}
    for name, part, log_p in (
        ("training", train, model.marginals_.out_of_fold_),
        ("test", test, scored),
    ):
        pairs, said = pairs_of(log_p, part)
        law = graded(model)(pairs)
        out[name] = {
            "experts": len(np.unique(part.expert_codes)),
            "opinions": len(part),
            "behind": float(np.median(train.n_by_expert[part.expert_codes])),
            "label_1": round(float((part.label_codes == 1).mean()), 4),
            "label_1_promised": round(float(np.exp(log_p[:, 1]).mean()), 4),
            "agreement": round(float((pairs.label == said).mean()), 4),
            "agreement_promised": round(float(law[np.arange(len(said)), pairs.label].mean()), 4),
        }
    return out


def behind(pairs: pd.DataFrame, other: pd.DataFrame, n_classes: int) -> dict[str, float]:
    """How far graded sharing stays behind in another contest on the same pairs, ready for JSON.

    Parameters
    ----------
    pairs, other
        As from :func:`siscm.beyond.contest.contest`, with the same rows.
    n_classes
        How many labels there are.
    """
    whom = pairs.columns.get_level_values(0).isin(["instance", "observed", "target", GRADED])
    both = pairs.loc[:, whom].copy()
    for what in ("probability", "right"):
        both["other", what] = other[GRADED, what]
    row = standings(both, n_classes, rng=np.random.default_rng(0)).loc["other"].iloc[0]
    return {str(name): value for name, value in row.round(6).items()}


def final_figures(pairs: pd.DataFrame, n_classes: int) -> dict[str, Any]:
    """As :func:`score_figures`, and with intervals over instances that are to hold together.

    So that, in 95 of 100 tries, all comparisons with a rival hold that are made on the test parts
    of all populations (Bonferroni's correction).

    Parameters
    ----------
    pairs, n_classes
        As for :func:`score_figures`.
    """
    n_comparisons = sum(map(len, POPULATIONS.values())) * (len(methods(pairs)) - 1)
    together = standings(
        pairs,
        n_classes,
        rng=np.random.default_rng(0),
        n_bootstrap=TOGETHER_DRAWS,
        level=1 - 0.05 / n_comparisons,
    )
    rows = together.round(6).reset_index().to_dict("records")
    return {**score_figures(pairs, n_classes), "by_instance_together": rows}


def score_figures(pairs: pd.DataFrame, n_classes: int) -> dict[str, Any]:
    """A contest's standings, ready for JSON: intervals over instances, and over experts.

    Parameters
    ----------
    pairs
        As from :func:`siscm.beyond.contest.contest`.
    n_classes
        How many labels there are.
    """
    return {
        "pairs": len(pairs),
        **{
            f"by_{by}": standings(
                pairs, n_classes, rng=np.random.default_rng(0), by=by, weights=WEIGHTS
            )
            .round(6)
            .reset_index()
            .to_dict("records")
            for by in ("instance", "expert")
        },
    }
