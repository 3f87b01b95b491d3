"""Labels that have an order: what graders are, and which noise suits them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from siscm.beyond import ordered_trial as module
from siscm.beyond.contest import GRADED, contest
from siscm.beyond.ordered_trial import N_LABELS, QUANTILES, graders, ordered_trial
from siscm.graded import GradedSISCM
from siscm.opinions import Opinions
from siscm.pooled import PooledMarginals

pytestmark = pytest.mark.usefixtures("one_thread")


def test_graders_use_every_grade_as_often_as_they_are_to() -> None:
    X, opinions = graders(np.random.default_rng(0), 2000, 5)
    assert X.shape == (2000, 5)
    assert opinions.labels.min() == 0
    shares = np.bincount(opinions.label_codes, minlength=N_LABELS) / len(opinions)
    np.testing.assert_allclose(shares, np.diff([0, *QUANTILES, 1]), atol=1e-3)


def test_without_errors_and_leanings_graders_agree_on_what_features_hide() -> None:
    """The more severity is hidden, the more they agree beyond what features explain."""
    agree = []
    for hidden in (0.0, 3.0):
        _, opinions = graders(np.random.default_rng(1), 1000, 4, hidden=hidden, error=0.3)
        one, two = opinions.labels[:, 0], opinions.labels[:, 1]
        agree.append(float(np.corrcoef(one, two)[0, 1]))
    assert agree[1] > agree[0] > 0.5


def test_who_reads_the_scale_upside_down_is_alone_in_her_group() -> None:
    X, opinions = graders(np.random.default_rng(0), 150, 6)
    grades = opinions.labels.copy()
    grades[:, 2] = N_LABELS - 1 - grades[:, 2]
    turned = Opinions.from_codes(grades, classes=range(N_LABELS))
    model = GradedSISCM(PooledMarginals(n_folds=2))
    assert [2] in model.fit(X, turned).partition_
    assert [2] not in model.fit(X, opinions).partition_


def test_correlated_noises_suit_graders_and_are_found() -> None:
    found = ordered_trial(n_panels=1, n_instances=240, marginals=PooledMarginals(n_folds=2))[0]
    gaussian = found[f"{GRADED}, gaussian"]
    assert found[f"{GRADED}, likeliest"] == gaussian
    assert gaussian < found[f"{GRADED}, uniform"] < found[f"{GRADED}, gumbel"] < found["marginals"]
    assert len(found) == 4 + 8, "a rival more or less: count it here"


def test_graders_lean_and_use_the_scale_each_in_her_own_way() -> None:
    """Where the ends of the middle grades lie for each, in units of how wide hers are."""
    _, opinions = graders(np.random.default_rng(0), 4000, 60, error=0.0)
    mild, grave = ndtri([(opinions.labels <= grade).mean(axis=0) for grade in (0, 3)])
    assert 0.2 < np.std(grave - mild) < 0.6  # 1 / scale
    assert 0.15 < np.std(mild) < 0.5  # leaning, beside the spread of severity


def test_errors_are_each_graders_own() -> None:
    _, opinions = graders(np.random.default_rng(0), 4000, 6, error=3.0)
    alike = np.corrcoef(opinions.labels.T)[np.triu_indices(6, 1)]
    assert 0.05 < alike.min() < alike.max() < 0.4


def test_features_show_half_of_severity() -> None:
    X, opinions = graders(np.random.default_rng(0), 4000, 40, error=0.0)
    grade = opinions.labels.mean(axis=1)
    left = (
        grade
        - np.column_stack([X, np.ones(4000)])
        @ np.linalg.lstsq(np.column_stack([X, np.ones(4000)]), grade, rcond=None)[0]
    )
    assert 1 - left.var() / grade.var() == pytest.approx(0.5, abs=0.1)


def test_every_panel_is_another_and_a_third_of_its_cases_is_held_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []

    def watched(model, X, train, test) -> pd.DataFrame:
        sizes.append((len(train.instances), len(test.instances)))
        return contest(model, X, train, test)

    monkeypatch.setattr(module, "contest", watched)
    found = ordered_trial(n_panels=2, n_instances=60, marginals=PooledMarginals(n_folds=2))
    assert sizes == [(40, 20)] * 2
    assert found.loc["marginals", 0] != found.loc["marginals", 1]
    assert found.loc[[f"{GRADED}, gaussian", "marginals"]].lt(5).all(axis=None)  # a mean, no sum
