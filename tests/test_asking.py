"""Whom to ask: laws of total probability, decisions by hand, and a slow loop."""

from __future__ import annotations

from copy import copy
from itertools import product

import numpy as np
import pandas as pd
import pytest

from siscm.asking import (
    STRATEGIES,
    _gain,
    agreement_with_most,
    prospects,
    trial,
    value_of_asking,
)
from siscm.beyond.followers import Heard
from siscm.beyond.several import Wanted, cells_of
from siscm.graded import GradedSISCM
from siscm.model import GumbelMaxSISCM
from siscm.opinions import NOT_ASKED, Opinions
from siscm.synthetic.planted import SyntheticPanel, make_synthetic_panel

SIZES = (3, 2)
SHARING = {0: 0.9, 1: 0.7, 2: 0.5, 3: 0.8, 4: 0.6}


@pytest.fixture(scope="module")
def panel() -> SyntheticPanel:
    return make_synthetic_panel(
        80, np.random.default_rng(0), group_sizes=SIZES, n_classes=3, n_features=2
    )


@pytest.fixture(scope="module")
def model(panel: SyntheticPanel) -> GradedSISCM:
    """Of ordered labels, so that everything is exact."""
    model = GradedSISCM(noise="uniform", partition=panel.groups, sharing=SHARING)
    return model.fit(panel.X, panel.opinions)


@pytest.fixture(scope="module")
def at_hand(panel: SyntheticPanel) -> np.ndarray:
    """On every instance one opinion; on some two."""
    codes = np.full((80, 5), NOT_ASKED)
    rows = np.arange(80)
    codes[rows, rows % 5] = panel.opinions.labels[rows, rows % 5]
    codes[::7, 1] = panel.opinions.labels[::7, 1]
    return codes


def slow_verdict(model, log_p, codes, panel) -> np.ndarray:
    """P(most of the panel say d), one member after the other: no sum over noises."""
    silent = [h for h in np.flatnonzero(panel) if codes[h] == NOT_ASKED]
    out = np.zeros(3)
    for said in product(range(3), repeat=len(silent)):
        chance, now = 1.0, codes.copy()
        for h, label in zip(silent, said, strict=True):
            chance *= model.infer(log_p[None], now[None], [0])[0, h, label]
            now[h] = label
        votes = np.bincount(now[now >= 0], minlength=3)
        top = votes == votes.max()
        out += chance * top / top.sum()
    return out


def test_values_are_what_asking_and_deciding_again_would_show(panel, model, at_hand) -> None:
    log_p = model.log_marginals(panel.X)
    everybody = np.ones(5, dtype=bool)
    table = value_of_asking(model, log_p, at_hand)
    assert len(table) == (at_hand == NOT_ASKED).sum()
    law = model.infer(log_p, at_hand, range(80))
    for one in table.sample(4, random_state=0).itertuples():
        now = slow_verdict(model, log_p[one.row], at_hand[one.row], everybody)
        assert one.sure == pytest.approx(now.max())
        chance = law[one.row, one.position]
        after = np.zeros((3, 3))
        for label in range(3):
            said = at_hand[one.row].copy()
            said[one.position] = label
            after[label] = slow_verdict(model, log_p[one.row], said, everybody)
        np.testing.assert_allclose(chance @ after, now, atol=1e-10)
        assert one.gain == pytest.approx(chance @ after.max(axis=1) - now.max(), abs=1e-10)
        assert one.changes == pytest.approx(chance @ (after.argmax(axis=1) != now.argmax()))
        assert one.differs == pytest.approx(1 - chance[now.argmax()])


def test_more_opinions_never_promise_a_worse_decision(panel, model, at_hand) -> None:
    table = value_of_asking(model, model.log_marginals(panel.X), at_hand)
    assert (table["gain"] > -1e-12).all()
    assert (table["gain"] > 0.01).any()
    assert (table.loc[table["changes"] < 1e-12, "gain"] < 1e-10).all()
    assert table["changes"].le(1 + 1e-12).all()
    assert table["sure"].between(1 / 3, 1 + 1e-12).all()


def test_the_panel_is_who_decides_and_who_can_be_asked(panel, model, at_hand) -> None:
    members = np.zeros((80, 5), dtype=bool)
    members[:, [0, 3, 4]] = True
    names = pd.Index([f"case {i}" for i in range(80)])
    log_p = model.log_marginals(panel.X)
    table = value_of_asking(model, log_p, at_hand, members, names)
    assert set(table["expert"]) == {0, 3, 4}
    assert (at_hand[table["row"], table["position"]] == NOT_ASKED).all()
    assert table["instance"].tolist() == [f"case {i}" for i in table["row"]]
    # Case 1: expert 1 has spoken, so she counts as well.
    expected = slow_verdict(model, log_p[1], at_hand[1], np.array([1, 1, 0, 1, 1], dtype=bool))
    np.testing.assert_allclose(table.loc[table["row"] == 1, "sure"], expected.max(), atol=1e-10)


def test_who_decides_alone_is_worth_asking_and_nobody_else() -> None:
    """Three experts who know nothing of each other: the last one turns a tie, or nothing."""
    opinions = Opinions.from_codes([[0, 1, 0], [1, 0, 1]] * 20)
    model = GradedSISCM(sharing=0.0, partition=[[0], [1], [2]]).fit(np.empty((40, 0)), opinions)
    log_p = np.log([[[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]])
    table = value_of_asking(model, log_p, np.array([[0, -1, -1]]))
    sure = 0.5 + 0.5 * 0.9  # either of the others says 0
    np.testing.assert_allclose(table["sure"], sure)
    np.testing.assert_allclose(table["gain"], 0, atol=1e-12)  # 0 stays the likelier majority
    table = value_of_asking(model, log_p, np.array([[1, -1, -1]]))
    now = 0.9 * 0.5  # 0 wins if both others say so
    np.testing.assert_allclose(table["sure"], 1 - now)
    # Expert 1: if she says 0 (half the time), 0 wins with 0.9. Expert 2: 0.9 and half.
    after = [0.5 * 0.9 + 0.5, 0.9 * 0.5 + 0.1]
    np.testing.assert_allclose(table["gain"], np.array(after) - (1 - now), atol=1e-12)


def test_a_trial_is_what_a_slow_loop_finds(panel, model) -> None:
    gaps = np.random.default_rng(3).random((80, 5)) < 0.2
    labels = np.where(gaps, NOT_ASKED, panel.opinions.labels)
    test = Opinions.from_codes(labels, classes=range(3))
    accuracy = np.array([0.5, 0.9, 0.4, 0.8, 0.6])
    found = trial(model, panel.X, test, accuracy, rng=np.random.default_rng(1))
    log_p = model.log_marginals(panel.X)
    kept = []
    for i in range(80):
        votes = np.bincount(labels[i][labels[i] >= 0], minlength=3)
        if votes.sum() >= 3:
            top = votes == votes.max()
            kept.append((i, top / top.sum()))
    ties = [i for i, worth in kept if worth.max() < 1]
    assert 5 < len(ties) < len(kept) < 80
    assert found["instance"].tolist() == [i for i, _ in kept]
    asked = labels[[i for i, _ in kept]] >= 0
    spoke = np.where(asked, np.random.default_rng(1).random(asked.shape), -1).argmax(axis=1)
    assert found["spoke"].tolist() == spoke.tolist()
    cases = list(zip(kept, spoke, found.to_dict("records"), strict=True))
    assert sum(i in ties for i, _ in kept[:8]) > 1
    for (i, worth), first, row in cases[:8]:
        said = np.full((1, 5), NOT_ASKED)
        said[0, first] = labels[i, first]
        members = labels[[i]] >= 0
        now = slow_verdict(model, log_p[i], said[0], members[0])
        assert row["nobody"] == worth[now.argmax()]
        values = value_of_asking(model, log_p[[i]], said, members)
        right, silent = {}, {}
        for other in values["position"]:
            both = said[0].copy()
            both[other] = labels[i, other]
            decision = slow_verdict(model, log_p[i], both, members[0]).argmax()
            right[other] = worth[decision]
            rest = [labels[i, h] for h in range(5) if members[0, h] and h not in (first, other)]
            votes = np.bincount(rest, minlength=3)
            top = (votes == votes.max()) / (votes == votes.max()).sum()
            silent[other] = top[decision] - top[now.argmax()]
        assert row["at random"] == pytest.approx(np.mean(list(right.values())))
        assert row["most accurate"] == right[max(right, key=lambda h: accuracy[h])]
        best = values.loc[values["gain"].idxmax(), "position"]
        assert (row["most gained"], row["silent"]) == (right[best], pytest.approx(silent[best]))
        proba = model.infer(log_p[[i]], said, [i])[0].max(axis=1)
        assert row["most uncertain"] == right[min(right, key=lambda h: proba[h])]
        assert (
            row["likeliest to differ"] == right[values.loc[values["differs"].idxmax(), "position"]]
        )
        assert row["gain"] == pytest.approx(values["gain"].max())
        assert row["sure"] == pytest.approx(values["sure"][0])
    assert set(STRATEGIES) < set(found.columns)


def test_a_trial_finds_cases_and_experts_by_their_names(panel) -> None:
    X = pd.DataFrame(panel.X)
    model = GradedSISCM(noise="uniform", partition=panel.groups, sharing=SHARING)
    model.fit(X, panel.opinions)
    accuracy = np.array([0.5, 0.9, 0.4, 0.8, 0.6])

    def tried(X, test):
        return trial(model, X, test, accuracy, rng=np.random.default_rng(1))

    found = tried(X, panel.opinions)
    pd.testing.assert_frame_equal(tried(X[::-1], panel.opinions), found)
    moved = panel.opinions.select(experts=[2, 0, 4, 1, 3])
    pd.testing.assert_frame_equal(tried(X, moved), found)
    with pytest.raises(ValueError, match="instance 0 has features but is not among"):
        tried(X, panel.opinions.select(instances=range(1, 80)))


def drawn_panels(model, log_p, rng) -> np.ndarray:
    """What everybody says of each case, drawn from the model's law of all together."""
    _, h, k = log_p.shape
    number, a = model.group_numbers(), model.sharing_["sharing"].to_numpy()
    said = np.full((len(log_p), h), NOT_ASKED)
    for i, row in enumerate(log_p):
        for group in np.unique(number):
            who = np.flatnonzero(number == group)
            nobody = Heard(row[:0], np.zeros(0, dtype=int), a[:0])
            cells = cells_of(nobody, Wanted(row[who], a[who]), model.noise_, 1, rng)
            chance = cells.chance[rng.choice(len(cells.weight), p=cells.weight)]
            said[i, who] = [rng.choice(k, p=p) for p in chance]
    return said


def test_what_is_promised_is_found_on_average_with_those_that_tie() -> None:
    """On panels that go on as the model says; without those that tie it promises too little."""
    rng = np.random.default_rng(0)
    four = make_synthetic_panel(400, rng, group_sizes=(2, 2), n_classes=2, n_features=2)
    sharing = {0: 0.9, 1: 0.7, 2: 0.8, 3: 0.6}
    model = GradedSISCM(noise="uniform", partition=four.groups, sharing=sharing)
    log_p = model.fit(four.X, four.opinions).log_marginals(four.X)
    said = Opinions.from_codes(drawn_panels(model, log_p, rng), classes=range(2))
    cases = trial(model, four.X, said, np.full(4, 0.5), rng=rng)
    ties = said.votes[:, 0] == 2
    assert 0.1 < ties.mean() < 0.4
    assert (cases.loc[ties, list(STRATEGIES)] == 0.5).all(axis=None)
    for promised, found in (
        (cases["sure"], cases["nobody"]),
        (cases["sure"] + cases["gain"], cases["most gained"]),
    ):
        off = found - promised
        error = off.std() / np.sqrt(len(off))
        assert abs(off.mean()) < 2 * error
        assert off[~ties].mean() > 4 * error


def large_panel(noise, k, n_samples, sharing=0.7, seed=0):
    """A model of twenty experts in one group, and six cases about which one has spoken."""
    rng = np.random.default_rng(seed)
    opinions = Opinions.from_codes(rng.integers(k, size=(30, 20)), classes=range(k))
    model = GradedSISCM(
        noise=noise, partition=[range(20)], sharing=sharing, n_samples=n_samples, random_state=seed
    )
    usual = np.random.default_rng(1).dirichlet(np.ones(k), size=(6, 1))
    p = np.random.default_rng(2).gamma(20 * usual + 0.1, size=(6, 20, k)).clip(1e-4)
    log_p = np.log(p / p.sum(axis=2, keepdims=True))
    codes = np.full((6, 20), NOT_ASKED)
    codes[:, 0] = log_p[:, 0].argmax(axis=1)
    return model.fit(np.empty((30, 0)), opinions), log_p, codes


@pytest.mark.parametrize("noise", ["gumbel", "uniform", "gaussian"])
def test_of_two_labels_no_draw_is_needed(noise) -> None:
    few, many = (value_of_asking(*large_panel(noise, 2, n)) for n in (10, 1000))
    pd.testing.assert_frame_equal(few, many)


def test_a_gain_of_nothing_is_promised_as_nothing() -> None:
    """Of twenty experts one can matter by chance at most; here nobody's word turns the decision."""
    model, log_p, codes = large_panel("gumbel", 2, 500, sharing=0.0)
    log_p = np.broadcast_to(np.log([0.3, 0.7]), log_p.shape)
    table = value_of_asking(model, log_p, np.where(codes >= 0, 1, codes))
    np.testing.assert_allclose(table["gain"], 0, atol=1e-12)
    np.testing.assert_allclose(table["changes"], 0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "k"), [("gumbel", 3), ("gumbel", 5), ("uniform", 5), ("gaussian", 5)]
)
def test_chance_is_not_promised_as_gain(noise, k) -> None:
    """Of everybody no more than there is; of whoever is picked, within a standard error."""
    true = value_of_asking(*large_panel(noise, k, 20_000))["gain"].to_numpy().reshape(6, 19)
    found = [value_of_asking(*large_panel(noise, k, 500, seed=seed)) for seed in range(1, 31)]
    gains = np.array([table["gain"].to_numpy().reshape(6, 19) for table in found])
    off = (gains - true).mean(axis=(1, 2))
    assert -0.005 < off.mean() < 2 * off.std() / np.sqrt(30)
    picked, promised = gains.argmax(axis=2), gains.max(axis=2)
    too_much = promised - true[np.arange(6), picked]
    assert too_much.mean() < promised.std(axis=0).mean()  # of one promise


def test_agreement_with_most_by_hand() -> None:
    labels = [[0, 0, 1], [1, 1, 1], [0, 1, -1], [2, -1, -1]]
    opinions = Opinions.from_codes(np.array(labels), classes=range(3))
    # First: others 0 and 1, a tie; all agree; others said 1; nobody else.
    right = [0.5 + 1 + 0 + 0.5, 0.5 + 1 + 0, 0 + 1]
    expected = [(r + 1) / (n + 2) for r, n in zip(right, (4, 3, 2), strict=True)]
    np.testing.assert_allclose(agreement_with_most(opinions), expected)


def test_of_a_panel_of_nobody_nothing_is_told_and_the_other_cases_stay(
    panel: SyntheticPanel, model: GradedSISCM
) -> None:
    log_p = model.log_marginals(panel.X)[:3]
    codes = np.full((3, len(model.experts_)), -1)
    may = np.ones(codes.shape, dtype=bool)
    may[1] = False
    table = value_of_asking(model, log_p, codes, may)
    assert table["row"].unique().tolist() == [0, 2]


def test_of_no_case_nothing_is_told_in_the_same_columns(model, panel, at_hand) -> None:
    log_p = model.log_marginals(panel.X)
    some = value_of_asking(model, log_p[:1], at_hand[:1])
    none = value_of_asking(model, log_p[:0], at_hand[:0])
    assert none.empty
    assert none.columns.tolist() == some.columns.tolist()


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[-2, -1, -1, -1, -1]], "label code -2 is not one of the 3 classes"),
        ([[7, -1, -1, -1, -1]], "label code 7 is not one of the 3 classes"),
        ([[0.0, -1, -1, -1, -1]], "labels must be integer codes, not float64"),
        ([[-1]], r"got \(1, 5, 3\) and \(1, 1\)"),
        ([[0, -1, -1, -1, -1]] * 2, r"got \(1, 5, 3\) and \(2, 5\)"),
    ],
)
def test_codes_that_are_no_opinions_are_refused(panel, model, codes, words) -> None:
    log_p = model.log_marginals(panel.X)[:1]
    with pytest.raises(ValueError, match=words):
        value_of_asking(model, log_p, np.array(codes))
    with pytest.raises(ValueError, match=words):
        model.infer(log_p, np.array(codes), ["case"])


def test_opinions_by_name_are_refused(panel, model) -> None:
    log_p = model.log_marginals(panel.X)
    for named, kind in (({0: 1}, "dict"), (panel.opinions, "Opinions")):
        words = rf"labels must be codes .* such as opinions\.labels; got {kind}\."
        with pytest.raises(TypeError, match=words):
            value_of_asking(model, log_p, named)
        with pytest.raises(TypeError, match=words):
            model.infer(log_p, named, panel.opinions.instances)
    assert len(value_of_asking(model, log_p, panel.opinions.labels)) == 0  # all have spoken


def test_what_is_about_other_experts_or_no_logarithm_is_refused(panel, model, at_hand) -> None:
    log_p = model.log_marginals(panel.X)
    with pytest.raises(ValueError, match=r"marginal in row \(0, 0\) sums to .* pass log-prob"):
        value_of_asking(model, np.exp(log_p), at_hand)
    with pytest.raises(ValueError, match=r"5 experts and 3 classes are named; .* has shape"):
        value_of_asking(model, log_p[:, :4], at_hand[:, :4])
    with pytest.raises(ValueError, match="79 instances, 5 experts"):
        value_of_asking(model, log_p, at_hand, instances=pd.RangeIndex(79))
    certain = np.log([[[1 - 2e-9, 1e-9, 1e-9]] * 5])
    certain[0, 0] = [0, -np.inf, -np.inf]
    with pytest.raises(
        ValueError, match="expert 0 on instance 'case' said 2, which has probability zero"
    ):
        value_of_asking(model, certain, np.array([[2, -1, -1, -1, -1]]), None, pd.Index(["case"]))
    for wrong in (np.ones((80, 4), dtype=bool), np.ones(5, dtype=bool), np.ones((80, 5))):
        with pytest.raises(ValueError, match=r"panel must be .* \(80, 5\)"):
            value_of_asking(model, log_p, at_hand, wrong)


def test_the_papers_estimator_is_refused(panel, model, at_hand) -> None:
    other = GumbelMaxSISCM(partition=panel.groups).fit(panel.X, panel.opinions)
    with pytest.raises(TypeError, match="model is a GumbelMaxSISCM; it must be a fitted Graded"):
        value_of_asking(other, other.log_marginals(panel.X), at_hand)


def test_lists_are_taken_as_arrays_are(panel, model, at_hand) -> None:
    log_p, members = model.log_marginals(panel.X)[:2], [[True] * 3 + [False] * 2] * 2
    found = value_of_asking(model, log_p.tolist(), at_hand[:2].tolist(), members, ["a", "b"])
    expected = value_of_asking(model, log_p, at_hand[:2], np.array(members), pd.Index(["a", "b"]))
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("make", [lambda i: ("c", i), lambda i: frozenset({"c", i})])
def test_instances_can_be_called_what_has_parts(panel, model, at_hand, make) -> None:
    names = [make(i) for i in range(3)]
    index = pd.Index(names, tupleize_cols=False)
    found = value_of_asking(model, model.log_marginals(panel.X)[:3], at_hand[:3], None, index)
    assert found["instance"].tolist() == [names[i] for i in found["row"]]
    test = Opinions.from_codes(panel.opinions.labels[:3], names, classes=range(3))
    told = trial(model, panel.X[:3], test, np.ones(5), rng=np.random.default_rng(0))
    assert set(told["instance"]) <= set(names)
    assert len(told) > 0


def test_a_gain_is_valued_on_the_estimate_it_was_not_decided_on_by_hand() -> None:
    """The first would decide as she says, which the second values at 0.1; that one always 1."""
    halves = np.array([[[[0.3, 0.2], [0.1, 0.4]]], [[[0.1, 0.4], [0.2, 0.3]]]])
    np.testing.assert_allclose(_gain(halves, 0), [(0.1 + 0.2) / 2])
    np.testing.assert_allclose(_gain(halves[:1], 0), [0.3])


def test_where_everybody_has_spoken_the_decision_is_known(panel, model) -> None:
    codes = np.array([[2, 0, 2, 1, 2], [0, 1, 1, 0, 2]])
    log_p, index = model.log_marginals(panel.X)[:2], pd.RangeIndex(2)
    found = list(prospects(model, log_p, codes, None, index))
    assert [one.now.tolist() for one in found] == [[0, 0, 1], [0.5, 0.5, 0]]
    assert [len(one.experts) for one in found] == [0, 0]


def test_draws_are_as_many_as_the_model_says_and_from_its_seed() -> None:
    model, log_p, codes = large_panel("gumbel", 3, 20)

    def gains(**options) -> list[float]:
        other = copy(model).set_params(**options)
        return value_of_asking(other, log_p[:1], codes[:1])["gain"].tolist()

    assert gains() == gains(random_state=0)
    assert gains() != gains(random_state=1)
    assert gains() != gains(n_samples=40)


def test_who_cannot_have_said_that_is_named_with_her_case(panel) -> None:
    model = GradedSISCM(sharing=1.0, partition=[range(5)]).fit(panel.X, panel.opinions)
    log_p = np.broadcast_to(np.log([0.5, 0.3, 0.2]), (2, 5, 3))
    codes = np.array([[-1] * 5, [-1, -1, 0, -1, 1]])
    members = np.array([[True] * 5, [False, False, True, True, True]])
    with pytest.raises(ValueError, match="'b': no noise makes expert 2 say 0 and expert 4 say 1,"):
        value_of_asking(model, log_p, codes, members, ["a", "b"])


def test_who_can_be_asked_is_told_by_name() -> None:
    opinions = Opinions.from_codes([[0, 1, 0], [1, 0, 1]] * 5, experts=["Cy", "Ann", "Bob"])
    model = GradedSISCM(sharing=0.0, partition=[["Cy"], ["Ann"], ["Bob"]])
    model.fit(np.empty((10, 0)), opinions)
    log_p = np.log(np.full((1, 3, 2), 0.5))
    table = value_of_asking(model, log_p, np.array([[-1, 1, -1]]))
    assert table["expert"].tolist() == ["Cy", "Bob"]


def test_cases_that_two_have_judged_change_nothing_about_the_others(panel, model) -> None:
    labels = panel.opinions.labels[:5].copy()
    labels[:2, 2:] = NOT_ASKED

    def tried(first):
        test = Opinions.from_codes(labels[first:], range(first, 5), classes=range(3))
        rng = np.random.default_rng(0)
        return trial(model, panel.X[first:5], test, np.arange(5) / 5, rng=rng)

    pd.testing.assert_frame_equal(tried(0), tried(2))


def test_who_never_said_anything_has_the_record_of_a_beginner() -> None:
    opinions = Opinions.from_codes([[0, 0, -1], [1, 1, -1]])
    np.testing.assert_allclose(agreement_with_most(opinions), [3 / 4, 3 / 4, 1 / 2])


@pytest.mark.parametrize("noise", ["gumbel", "uniform"])
@pytest.mark.parametrize("codes", [[0, 1, -1], [0, 1, 0]])
def test_the_impossible_is_refused_though_nobody_is_left_to_ask(noise, codes) -> None:
    said = np.random.default_rng(0).integers(2, size=(60, 3))
    model = GradedSISCM(noise=noise, sharing=1.0, partition=[[0, 1, 2]])
    model.fit(np.empty((60, 0)), Opinions.from_codes(said))
    with pytest.raises(ValueError, match="no noise makes expert"):
        value_of_asking(model, np.log(np.full((1, 3, 2), 0.5)), np.array([codes]))


def test_of_no_case_of_three_a_trial_has_no_row_and_all_columns(panel, model) -> None:
    two = panel.opinions.select(experts=panel.opinions.experts[:2])
    table = trial(model, panel.X, two, np.ones(len(model.experts_)), rng=np.random.default_rng(0))
    assert table.empty
    assert {*STRATEGIES, "gain", "instance"} <= set(table.columns)
