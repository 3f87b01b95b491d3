"""Who infers best: each rule against a slow way, nothing learned from the test, standings."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_by_one import loop_pairs
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from strategies import log_normalised

from siscm import GumbelMaxSISCM, Opinions, gumbel
from siscm.baselines import Pairs, Rule
from siscm.beyond.contest import (
    GRADED,
    contest,
    fit_regression,
    graded,
    judged,
    methods,
    standings,
)
from siscm.beyond.contest_pairs import Part, pairs_of
from siscm.beyond.expert_intervals import mean_over_experts
from siscm.beyond.tuned import PSEUDO_COUNTS, STRENGTHS, tuned
from siscm.cifar10h.rivals import fit_dawid_skene, fit_pooled_regression, fit_times_table
from siscm.data.simulate import simulate_panel
from siscm.evaluation import log_loss
from siscm.graded import GradedSISCM
from siscm.pooled import PooledMarginals

Array = np.ndarray
K, H, N_TRAIN, N_TEST = 3, 4, 60, 25
METHODS = [
    GRADED,
    "marginals",
    "copy",
    "one noise for all",
    "marginal × table",
    "Dawid–Skene",
    "Dawid–Skene with features",
    "pooled regression",
    "regression on marginals",
]


class Known(BaseEstimator):
    """Marginals that need no learning: log_p (n, H, k), by the row that X names."""

    def __init__(self, log_p: Array) -> None:
        self.log_p = log_p

    def fit(self, X: pd.DataFrame, opinions: Opinions) -> Known:
        self.experts_ = opinions.experts.to_numpy()
        self.classes_ = opinions.classes.to_numpy()
        self.n_features_in_, self.feature_names_in_ = X.shape[1], list(X.columns)
        self.out_of_fold_ = self.log_marginals(X, opinions)
        return self

    def log_marginals(self, X: pd.DataFrame, opinions: Opinions | None = None) -> Array:
        all_of_them = self.log_p[X["row"]]
        if opinions is None:
            return all_of_them
        return all_of_them[opinions.instance_codes, opinions.expert_codes]


class World:
    """Experts a and b share a noise, c and d another, four times in five; with gaps."""

    def __init__(
        self, seed: int = 0, n: int = N_TRAIN + N_TEST, sharing: float = 0.8, gaps: float = 0.25
    ) -> None:
        rng = np.random.default_rng(seed)
        habits = 1.5 * rng.normal(size=(n, 1, K)) + rng.normal(size=(H, K))
        self.log_p = log_normalised(habits + 0.5 * rng.normal(size=(n, H, K)))
        common = gumbel.sample_noise(K, (n, 2), rng)[:, [0, 0, 1, 1]]
        own = gumbel.sample_noise(K, (n, H), rng)
        follows = rng.random((n, H, 1)) < sharing
        labels = (self.log_p + np.where(follows, common, own)).argmax(axis=-1)
        labels[rng.random((n, H)) < gaps] = -1
        self.names = [f"case {i}" for i in range(n)]
        self.X = pd.DataFrame({"row": range(n)}, index=self.names)
        self.labels = labels

    def opinions(self, start: int, stop: int, labels: Array | None = None) -> Opinions:
        said = (self.labels if labels is None else labels)[start:stop]
        return Opinions.from_codes(said, self.names[start:stop], list("abcd"), list("xyz"))

    @property
    def train(self) -> Opinions:
        return self.opinions(0, N_TRAIN)

    @property
    def test(self) -> Opinions:
        return self.opinions(N_TRAIN, N_TRAIN + N_TEST)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def table(world: World) -> pd.DataFrame:
    return contest(GradedSISCM(Known(world.log_p), "gumbel"), world.X, world.train, world.test)


def of(world: World, opinions: Opinions) -> Array:
    """The marginal of each opinion."""
    rows = world.X.loc[opinions.instances, "row"].to_numpy()
    return world.log_p[rows][opinions.instance_codes, opinions.expert_codes]


# --- pairs ------------------------------------------------------------------------------------


def test_pairs_are_all_ordered_ones_with_the_marginals_of_both(world: World) -> None:
    pairs, said = pairs_of(of(world, world.test), world.test)
    found = zip(pairs.instance, pairs.observed, pairs.label, pairs.target, said, strict=True)
    assert Counter(found) == Counter(loop_pairs(world.test))
    rows = N_TRAIN + pairs.instance
    np.testing.assert_allclose(pairs.log_p_observed, world.log_p[rows, pairs.observed])
    np.testing.assert_allclose(pairs.log_p_target, world.log_p[rows, pairs.target])
    assert not pairs.same_group.any()


def test_rows_are_the_pairs_of_the_test_and_nothing_of_training(
    world: World, table: pd.DataFrame
) -> None:
    assert methods(table) == METHODS
    assert list(table.columns) == [
        ("instance", ""),
        ("observed", ""),
        ("target", ""),
        *((name, what) for name in METHODS for what in ("probability", "right")),
    ]
    expected = Counter(
        (world.test.instances[i], world.test.experts[g], world.test.experts[h])
        for i, g, _, h, _ in loop_pairs(world.test)
    )
    found = (table[column, ""] for column in ("instance", "observed", "target"))
    assert Counter(zip(*found, strict=True)) == expected
    assert not set(table["instance", ""]) & set(world.train.instances)


# --- the rules --------------------------------------------------------------------------------


def two_classes(label: list[int], p: list[float]) -> Pairs:
    """Targets who say 1 with probability p, and what was said before."""
    nobody = np.zeros(len(p), dtype=np.int64)
    log_p = np.log([[1 - value, value] for value in p])
    return Pairs(log_p, log_p, np.array(label), nobody.astype(bool), nobody, nobody, nobody)


def test_regression_is_scikit_learns_on_the_rows_written_out(world: World) -> None:
    train, said = pairs_of(of(world, world.train), world.train)
    test, _ = pairs_of(of(world, world.test), world.test)

    def written_out(pairs: Pairs) -> list[list[float]]:
        rows = []
        for log_p, log_q, c in zip(
            pairs.log_p_observed, pairs.log_p_target, pairs.label, strict=True
        ):
            p, q = log_p - log_p.mean(), log_q - log_q.mean()
            surprise = [p[d] if c == j else 0.0 for j in range(K) for d in range(K)]
            rows.append([*p, *q, *(float(c == j) for j in range(K)), *surprise])
        return rows

    by_hand = LogisticRegression(max_iter=2000).fit(written_out(train), said)
    law = fit_regression(train, said)(test)
    np.testing.assert_allclose(law, by_hand.predict_proba(written_out(test)), atol=1e-6)


def test_regression_gives_a_label_never_said_nothing(world: World) -> None:
    pairs, said = pairs_of(of(world, world.train), world.train)
    law = fit_regression(pairs, np.where(said == 1, 2, said))(pairs)
    assert (law[:, 1] == 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1)


@pytest.mark.parametrize("noise", ["gumbel", "uniform"])
def test_graded_is_the_model_given_one_opinion(world: World, noise: str) -> None:
    model = GradedSISCM(
        Known(world.log_p),
        noise,
        partition=[["a", "c"], ["b", "d"]],
        sharing={"a": 0.9, "b": 0.3, "c": 0.6, "d": 1.0},
    ).fit(world.X.loc[world.train.instances], world.train)
    pairs, _ = pairs_of(of(world, world.test), world.test)
    law = graded(model)(pairs)
    assert len(law) > 100
    for row in range(0, len(law), 7):
        i, g, h = pairs.instance[row], pairs.observed[row], pairs.target[row]
        label = world.test.classes[pairs.label[row]]
        X = world.X.loc[[world.test.instances[i]]]
        exact = model.counterfactual_proba(X, {"abcd"[g]: label})[0, h]
        np.testing.assert_allclose(law[row], exact, atol=1e-12)


def test_every_rule_gives_distributions(world: World) -> None:
    train, said = pairs_of(of(world, world.train), world.train)
    test, _ = pairs_of(of(world, world.test), world.test)
    model = GradedSISCM(Known(world.log_p)).fit(world.X.loc[world.train.instances], world.train)
    for rule in (graded(model), fit_times_table(world.train), fit_regression(train, said)):
        law = rule(test)
        assert law.shape == (len(test.label), K)
        assert law.min() >= 0
        np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("noise", ["gumbel", "uniform"])
def test_each_method_is_its_rule_learned_from_training_alone(world: World, noise: str) -> None:
    found = contest(GradedSISCM(Known(world.log_p), noise), world.X, world.train, world.test)
    train, said = pairs_of(of(world, world.train), world.train)
    test, truth = pairs_of(of(world, world.test), world.test)
    model = GradedSISCM(Known(world.log_p), noise).fit(
        world.X.loc[world.train.instances], world.train
    )
    parts = [(of(world, opinions), opinions) for opinions in (world.train, world.test)]

    def features(log_p: np.ndarray, opinions: Opinions) -> np.ndarray:
        rows = [log_p[opinions.instance_codes == i] for i in range(len(opinions.instances))]
        return np.array([r.mean(axis=0) if len(r) else np.zeros(K) for r in rows])

    def regression(strength: float, train: Part, test: Part) -> Rule:
        return fit_pooled_regression(features(*train), train[1], features(*test), strength)

    def dawid_skene(pseudo: float, train: Part, test: Part) -> Rule:
        return fit_dawid_skene(train[1], pseudo)

    def featured(pseudo: float, train: Part, test: Part) -> Rule:
        return fit_dawid_skene(train[1], pseudo, features(*train), features(*test))

    shared = [
        gumbel.counterfactual_probabilities(p, q, c)
        for p, q, c in zip(test.log_p_observed, test.log_p_target, test.label, strict=True)
    ]
    laws = {
        GRADED: graded(model)(test),
        "marginals": np.exp(test.log_p_target),
        "copy": np.eye(K)[test.label],
        "one noise for all": np.array(shared),
        "marginal × table": fit_times_table(world.train)(test),
        "Dawid–Skene": tuned(dawid_skene, PSEUDO_COUNTS, *parts)(test),
        "Dawid–Skene with features": tuned(featured, PSEUDO_COUNTS, *parts)(test),
        "pooled regression": tuned(regression, STRENGTHS, *parts)(test),
        "regression on marginals": fit_regression(train, said)(test),
    }
    assert list(laws) == methods(found)
    assert found["instance", ""].tolist() == [world.test.instances[i] for i in test.instance]
    assert found["observed", ""].tolist() == ["abcd"[h] for h in test.observed]
    assert found["target", ""].tolist() == ["abcd"[h] for h in test.target]
    for name, law in laws.items():
        given = np.array([row[d] for row, d in zip(law, truth, strict=True)])
        np.testing.assert_allclose(found[name, "probability"], given, atol=1e-9, err_msg=name)
        assert (found[name, "right"] == (law.argmax(axis=1) == truth)).all()


def test_ties_go_to_the_first_class(world: World) -> None:
    """Where a rule has no favourite, or two, it is right if the first of them was said."""

    def none(pairs: Pairs) -> Array:
        return np.full(pairs.log_p_target.shape, 1 / K)

    def last_two(pairs: Pairs) -> Array:
        return np.tile([0.2, 0.4, 0.4], (len(pairs.label), 1))

    log_p = of(world, world.test)
    _, truth = pairs_of(log_p, world.test)
    found = judged({"none": none, "last two": last_two}, log_p, world.test)
    assert set(truth) == {0, 1, 2}
    assert found["none", "right"].tolist() == (truth == 0).tolist()
    assert found["last two", "right"].tolist() == (truth == 1).tolist()


# --- nothing is learned from the test ---------------------------------------------------------


def test_what_others_say_of_other_instances_changes_nothing(
    world: World, table: pd.DataFrame
) -> None:
    altered = world.labels.copy()
    later = altered[N_TRAIN + 10 :]
    later[later >= 0] = 2 - later[later >= 0]
    found = contest(
        GradedSISCM(Known(world.log_p), "gumbel"),
        world.X,
        world.train,
        world.opinions(N_TRAIN, N_TRAIN + N_TEST, altered),
    )
    first = found["instance", ""].isin(world.names[: N_TRAIN + 10]).to_numpy()
    assert 0 < first.sum() < len(found)
    pd.testing.assert_frame_equal(found[first], table[first])
    assert not found[~first].equals(table[~first])


def test_what_a_target_says_changes_no_distribution_of_it(
    world: World, table: pd.DataFrame
) -> None:
    """Expert a says x, then y, then z: what each method gave to the three adds up to 1."""
    pairs, _ = pairs_of(of(world, world.test), world.test)
    as_target, uninvolved = pairs.target == 0, (pairs.target != 0) & (pairs.observed != 0)
    total = np.zeros((len(METHODS), len(table)))
    for label in range(K):
        altered = world.labels.copy()
        altered[:, 0] = np.where(altered[:, 0] >= 0, label, -1)
        altered[:N_TRAIN] = world.labels[:N_TRAIN]
        test = world.opinions(N_TRAIN, N_TRAIN + N_TEST, altered)
        found = contest(GradedSISCM(Known(world.log_p), "gumbel"), world.X, world.train, test)
        pd.testing.assert_frame_equal(found[uninvolved], table[uninvolved])
        total += [found[name, "probability"] for name in METHODS]
    np.testing.assert_allclose(total[:, as_target], 1, atol=1e-12)


def test_training_does_matter(world: World, table: pd.DataFrame) -> None:
    altered = world.labels.copy()
    altered[altered >= 0] = 2 - altered[altered >= 0]
    found = contest(
        GradedSISCM(Known(world.log_p), "gumbel"),
        world.X,
        world.opinions(0, N_TRAIN, altered),
        world.test,
    )
    learns_nothing = {"marginals", "copy", "one noise for all"}
    for name in METHODS:
        same = np.allclose(found[name, "probability"], table[name, "probability"])
        assert same == (name in learns_nothing), name


def test_marginals_of_training_are_out_of_fold(world: World, table: pd.DataFrame) -> None:
    """Judged by what trained on them, training opinions would promise too much."""

    class NotAskedAgain(Known):
        def log_marginals(self, X: pd.DataFrame, opinions: Opinions | None = None) -> Array:
            found = super().log_marginals(X, opinions)
            if opinions is not None and hasattr(self, "out_of_fold_"):
                assert not set(X.index) & set(world.train.instances)
            return found

    found = contest(
        GradedSISCM(NotAskedAgain(world.log_p), "gumbel"), world.X, world.train, world.test
    )
    pd.testing.assert_frame_equal(found, table)


# --- what is refused --------------------------------------------------------------------------


def test_parts_that_do_not_go_together_are_refused(world: World) -> None:
    known = Known(world.log_p)
    with pytest.raises(ValueError, match=r"instance 'case 59' is in train and in test"):
        contest(GradedSISCM(known), world.X, world.train, world.opinions(N_TRAIN - 1, N_TRAIN + 9))
    turned = world.test.select(experts=list("bacd"))
    with pytest.raises(ValueError, match=r"same experts in the same order.*'b', 'a'"):
        contest(GradedSISCM(known), world.X, world.train, turned)
    labels = world.test.labels
    other = Opinions.from_codes(labels, world.test.instances, list("abcd"), list("xzy"))
    with pytest.raises(ValueError, match=r"same classes.*'x', 'z', 'y'"):
        contest(GradedSISCM(known), world.X, world.train, other)
    alone = np.where(np.arange(H) == 0, labels, -1)
    lonely = Opinions.from_codes(alone, world.test.instances, list("abcd"), list("xyz"))
    with pytest.raises(ValueError, match="nothing to infer"):
        contest(GradedSISCM(known), world.X, world.train, lonely)
    with pytest.raises(ValueError, match="nothing to infer"):
        contest(GradedSISCM(known), world.X, world.train, world.opinions(N_TRAIN, N_TRAIN))


@pytest.mark.parametrize("other", [GumbelMaxSISCM(), PooledMarginals(), None])
def test_another_model_is_refused_before_anything_is_learned(world: World, other: Any) -> None:
    words = f"model is a {type(other).__name__}; it must be a GradedSISCM"
    with pytest.raises(TypeError, match=words):
        contest(other, world.X, world.train, world.test)


def test_features_without_ids_are_refused_before_anything_is_learned(world: World) -> None:
    with pytest.raises(TypeError, match="X is a ndarray; it must be a DataFrame indexed by inst"):
        contest(GradedSISCM(), world.X.to_numpy(), world.train, world.test)


# --- standings --------------------------------------------------------------------------------


def small_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            ("instance", ""): ["i", "i", "j", "j"],
            ("observed", ""): ["b", "a", "b", "a"],
            ("target", ""): ["a", "b", "a", "b"],
            (GRADED, "probability"): [0.5, 0.8, 0.9, 0.4],
            (GRADED, "right"): [True, True, True, False],
            ("other", "probability"): [0.25, 1.0, 0.0, 0.4],
            ("other", "right"): [False, True, False, False],
        }
    )


def test_standings_by_hand() -> None:
    found = standings(small_table(), 2, rng=np.random.default_rng(0), weights=(0.2, 0.5))
    assert list(found.index) == [(GRADED, 0.2), ("other", 0.2), (GRADED, 0.5), ("other", 0.5)]
    assert found.index.names == ["method", "weight"]
    for weight in (0.2, 0.5):
        mine, hers = (
            -np.log((1 - weight) * np.array(p) + weight / 2)
            for p in ([0.5, 0.8, 0.9, 0.4], [0.25, 1.0, 0.0, 0.4])
        )
        best, other = found.loc[GRADED, weight], found.loc["other", weight]
        assert best["log_loss"] == pytest.approx(mine.mean())
        assert other["log_loss"] == pytest.approx(hers.mean())
        assert other["log_loss_more"] == pytest.approx((hers - mine).mean())
        assert best["accuracy"] == 0.75
        assert other["accuracy"] == 0.25
        assert other["accuracy_less"] == 0.5
        # Of two instances, one is drawn twice in half of all draws: its mean is an end.
        means = sorted([(hers - mine)[:2].mean(), (hers - mine)[2:].mean()])
        assert [other["log_loss_more_low"], other["log_loss_more_high"]] == pytest.approx(means)
        assert other["accuracy_less_low"] == other["accuracy_less_high"] == 0.5


def test_nobody_is_better_than_herself(table: pd.DataFrame) -> None:
    found = standings(table, K, rng=np.random.default_rng(0)).loc[GRADED]
    more = [column for column in found if "more" in column or "less" in column]
    assert len(more) == 6
    assert (found[more] == 0).all(axis=None)


def slow_interval(
    difference: Array, cluster: Array, rng: np.random.Generator, n: int = 3000
) -> Array:
    names = sorted(set(cluster))
    parts = {name: difference[cluster == name] for name in names}
    means = []
    for _ in range(n):
        drawn = [parts[names[j]] for j in rng.integers(len(names), size=len(names))]
        means.append(np.concatenate(drawn).mean())
    return np.quantile(means, [0.025, 0.975])


def test_intervals_are_those_of_a_slow_bootstrap(table: pd.DataFrame) -> None:
    found = standings(table, K, rng=np.random.default_rng(1), n_bootstrap=3000)
    slow_rng = np.random.default_rng(2)
    cluster = table["instance", ""].to_numpy()
    for name in ("marginals", "copy", "pooled regression"):
        row = found.loc[name].iloc[0]
        losses = [log_loss(table[n, "probability"].to_numpy(), K) for n in (name, GRADED)]
        right = [table[n, "right"].to_numpy().astype(float) for n in (name, GRADED)]
        for what, difference in (
            ("log_loss_more", losses[0] - losses[1]),
            ("accuracy_less", right[1] - right[0]),
        ):
            slow = slow_interval(difference, cluster, slow_rng)
            ends = row[[f"{what}_low", f"{what}_high"]].to_numpy()
            assert ends[0] <= row[what] <= ends[1]
            assert np.abs(ends - slow).max() < 0.07 * (slow[1] - slow[0])


def test_over_experts_a_pair_is_drawn_by_both_of_its_experts(table: pd.DataFrame) -> None:
    table = table.copy()  # half of the instances as if judged by four others, for four are too few
    others = np.where(table["instance", ""].rank(method="dense") % 2, "*", "")
    for role in ("observed", "target"):
        table[role, ""] += others
    found = standings(table, K, rng=np.random.default_rng(1), by="expert").loc["copy"].iloc[0]
    right = [table[name, "right"].to_numpy(dtype=float) for name in (GRADED, "copy")]
    whom = np.split(pd.factorize(pd.concat([table["observed", ""], table["target", ""]]))[0], 2)
    rng = np.random.default_rng(int(np.random.default_rng(1).integers(2**63)))
    by_hand = mean_over_experts("accuracy_less", right[0] - right[1], *whom, rng)
    assert {name: found[name] for name in by_hand} == pytest.approx(by_hand)
    assert by_hand["accuracy_less_low"] < by_hand["accuracy_less_high"]


@pytest.mark.parametrize("by", ["instance", "expert"])
def test_a_higher_level_holds_what_a_lower_one_does(table: pd.DataFrame, by: str) -> None:
    table = pd.concat([table, table.assign(observed=table["target", ""] + "*")], ignore_index=True)
    low, high = (
        standings(table, K, rng=np.random.default_rng(1), by=by, level=level)
        .droplevel("weight")
        .drop(index=GRADED)
        for level in (0.8, 0.99)
    )
    assert (high["log_loss_more_low"] < low["log_loss_more_low"]).all()
    assert (low["log_loss_more_high"] < high["log_loss_more_high"]).all()


def test_two_experts_alone_have_no_interval(table: pd.DataFrame) -> None:
    """Drawn anew they are always the same pair; that would be an interval of no width."""
    only = table[table["target", ""].isin(["a", "b"]) & table["observed", ""].isin(["a", "b"])]
    found = standings(only, K, rng=np.random.default_rng(3), by="expert")
    for what in ("log_loss_more", "accuracy_less"):
        assert found[what].notna().all()
        assert found[[f"{what}_low", f"{what}_high"]].isna().all(axis=None)


def test_intervals_hang_on_the_seed_alone_and_means_on_nothing(table: pd.DataFrame) -> None:
    one, same, other = (
        standings(table, K, rng=np.random.default_rng(seed), n_bootstrap=100) for seed in (4, 4, 5)
    )
    pd.testing.assert_frame_equal(one, same)
    means = ["log_loss", "accuracy", "log_loss_more", "accuracy_less"]
    pd.testing.assert_frame_equal(one[means], other[means])
    assert not one["log_loss_more_low"].equals(other["log_loss_more_low"])


def test_without_a_weight_who_was_certain_and_wrong_has_lost_all(table: pd.DataFrame) -> None:
    found = standings(table, K, rng=np.random.default_rng(6), weights=(0, 0.001))
    copy = found.loc["copy", 0]
    assert copy["log_loss"] == copy["log_loss_more"] == np.inf
    assert np.isnan(copy[["log_loss_more_low", "log_loss_more_high"]].to_numpy()).all()
    assert copy["accuracy_less_low"] <= copy["accuracy_less"] <= copy["accuracy_less_high"]
    finite = found.drop(index=[("copy", 0), ("one noise for all", 0)])
    assert np.isfinite(finite.to_numpy()).all()


# --- who wins ---------------------------------------------------------------------------------


def test_graded_sharing_wins_where_it_is_the_truth() -> None:
    world = World(seed=7, n=900, gaps=0.0)
    pairs = contest(
        GradedSISCM(Known(world.log_p), "gumbel"),
        world.X,
        world.opinions(0, 600),
        world.opinions(600, 900),
    )
    found = standings(pairs, K, rng=np.random.default_rng(8)).xs(0.001, level="weight")
    rivals = found.drop(index=GRADED)
    assert (rivals["log_loss_more_low"] > 0).all()
    assert found["accuracy"].idxmax() == GRADED
    # Fully shared noise is right as often, and overconfident: worse than the marginals.
    assert found["log_loss"]["one noise for all"] > found["log_loss"]["marginals"]


def test_graded_sharing_wins_on_a_simulated_panel_with_learned_marginals() -> None:
    panel = simulate_panel("HS-Brexit", np.random.default_rng(0))
    assert panel.truth is not None
    names = panel.opinions.instances
    train, test = (panel.opinions.select(instances=names[a:b]) for a, b in ((0, 200), (200, 500)))
    marginals = PooledMarginals(LogisticRegression(max_iter=1000), n_folds=2)
    pairs = contest(GradedSISCM(marginals), panel.truth.features, train, test)
    found = standings(pairs, 2, rng=np.random.default_rng(9)).xs(0.001, level="weight")
    assert found["log_loss"].idxmin() == GRADED
    assert found["log_loss_more_low"]["marginals"] > 0


def test_training_from_which_nothing_can_be_learned_is_refused(world: World) -> None:
    train, test, X = world.train, world.test, world.X
    alone = np.where(np.arange(len(train.experts)) == 0, train.labels, -1)
    alike = np.where(train.labels >= 0, 0, -1)
    names = {"instances": train.instances, "experts": train.experts, "classes": train.classes}
    for labels, trouble in (
        (alone, "no two training opinions are about one instance"),
        (alike, "all training opinions say"),
    ):
        with pytest.raises(ValueError, match=trouble):
            contest(GradedSISCM(), X, Opinions.from_codes(labels, **names), test)
    with pytest.raises(ValueError, match=r"instance .* has no row in X"):
        contest(GradedSISCM(), X.loc[test.instances], train, test)


def test_the_bootstrap_knows_what_it_can_draw(table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="by is 'target'; it must be 'instance' or 'expert'"):
        standings(table, 3, rng=np.random.default_rng(0), by="target")
