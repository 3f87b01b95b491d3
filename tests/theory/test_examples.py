"""The pages' small models are what they say."""

import numpy as np

from siscm.theory.examples import (
    ANN,
    BOB,
    BOTH,
    ONLY_ANN,
    ONLY_BOB,
    ann_and_bob,
    bob_repeats_ann,
    contrary,
)
from siscm.theory.properties import set_invariance
from siscm.theory.scm import conditional, counterfactual, interventional


def test_ann_and_bob_do_not_talk_and_answer_both_questions_alike():
    scm = ann_and_bob()
    assert set_invariance(scm) is None
    np.testing.assert_allclose(conditional(scm, 0, BOTH, {ANN: 1}, BOB), [0.25, 0.75])
    would = counterfactual(scm, 0, ONLY_ANN, {ANN: 1}, ONLY_BOB, BOB)
    np.testing.assert_allclose(would, [0.25, 0.75])


def test_bob_who_repeats_is_himself_alone_and_ann_beside_her():
    scm = bob_repeats_ann()
    np.testing.assert_allclose(interventional(scm, 0, ONLY_BOB), [0.5, 0.5])
    np.testing.assert_allclose(interventional(scm, 0, BOTH), [[0.6, 0], [0, 0.4]])
    assert set_invariance(scm).experts == (BOB,)


def test_contrary_looks_like_agreement_and_is_the_reverse():
    scm = contrary()
    np.testing.assert_allclose(interventional(scm, 0, BOTH), [[0.5, 0], [0, 0.5]])
    for asked in (ONLY_ANN, ONLY_BOB):
        np.testing.assert_allclose(interventional(scm, 0, asked), [0.5, 0.5])
    would = counterfactual(scm, 0, ONLY_ANN, {ANN: 1}, ONLY_BOB, BOB)
    np.testing.assert_allclose(would, [1, 0])


def test_of_the_two_contrary_it_is_bob_who_listens() -> None:
    assert set_invariance(contrary()).experts == (BOB,)


# test_false_alarms
