"""Second opinions with graded sharing, as a scikit-learn estimator (beyond the paper)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from siscm.alignment import align_partition
from siscm.answering import SecondOpinions
from siscm.beyond.chunks import split
from siscm.beyond.several import graded_proba
from siscm.beyond.sharing_fit import N_PARTS, NoiseChoice, fit_sharing
from siscm.checks import FloatArray, IntArray, check_count
from siscm.contradictions import Names
from siscm.inference import check_observed
from siscm.marginals import Features
from siscm.model import generators
from siscm.names import find_all, given_names, plain
from siscm.opinions import Opinions
from siscm.pairs import check_opinions
from siscm.partition import group_of
from siscm.pooled import PooledMarginals


class GradedSISCM(SecondOpinions, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    r"""A set invariant SCM whose experts share their group's noise more or less.

    Of Gumbel and uniform noises, expert h follows that of her group on an instance with probability
    :math:`a_h`, and one of her own otherwise; of Gaussian noises, hers has the correlation
    :math:`a_h` with that of her group. What one says then says something about what another would
    have said, but never everything, and one contradiction does not part two experts for ever.
    Gumbel noise and :math:`a_h = 1` are the paper's model; :math:`a_h = 0` leaves the marginals.

    Pairs of opinions are compared in as many chunks as there are parts
    (:mod:`siscm.beyond.chunks`), by the workers that joblib is told of:
    ``with joblib.parallel_config(n_jobs=2)``.

    Parameters
    ----------
    marginals
        Learns each expert's habits; default :class:`~siscm.pooled.PooledMarginals`.
    noise
        ``"gumbel"``: all labels alike. ``"uniform"``, ``"gaussian"``: for labels whose order (that
        of ``opinions.classes``) means something. ``"likeliest"``: whichever of
        :data:`siscm.beyond.sharing_fit.CANDIDATES` makes the training opinions likelier, pair by
        pair; without ``opinions.ordered`` Gumbel noise, for answers must not hang on what labels
        are called.
    partition
        Groups of expert ids to use instead of learning them.
    sharing
        :math:`a_h`, one for all experts or ``{expert: value}``, to use instead of learning it; or
        a Series by expert, such as ``sharing_["sharing"]`` of another model.
    n_restarts
        Runs of Algorithm 1 at each sharing tried.
    n_samples
        Draws where more than :data:`siscm.beyond.several.MOST_IN_DOUBT` opinions on one instance
        may share a Gumbel noise, there are more than two labels, and the panel is no small one
        (:data:`siscm.beyond.several.MOST_WAYS`); of more than twenty opinions fewer are taken.
        Another seed, or other instances in the same call, then move probabilities by up to some
        hundredths (:mod:`siscm.beyond.followers`). Also the points of an integral where three or
        more different labels were given; all else is exact.
    random_state
        Seed of Algorithm 1, of the parts, and of draws.

    Attributes
    ----------
    experts_, classes_
        Ids of experts and labels, in the order of every array returned.
    marginals_
        The fitted marginals.
    noise_
        The noise taken.
    partition_
        Groups of expert ids: within them, what one said says something about another.
    likeliest_partition_
        Groups that make the training opinions likeliest, pair by pair: who is alike.
        ``partition_`` is the same, or one group of all where that predicts better.
    sharing_
        DataFrame by expert: ``sharing`` :math:`a_h`, and the ends ``low``, ``high`` of its 95 %
        interval, which supposes that experts differ as :data:`siscm.beyond.sharing_errors.SPREAD`
        says, and the noise taken: by another noise the same opinions give other numbers. Whoever
        met nobody of her group, or is alone in it, is taken to be like any other: her numbers say
        nothing of her. No interval if sharing was given, or if no two of one group met.

    Examples
    --------
    >>> import numpy as np
    >>> from siscm import GradedSISCM, Opinions
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> said = (X[:, :1] + rng.logistic(size=(200, 1)) > 0).astype(int).repeat(2, axis=1)
    >>> model = GradedSISCM().fit(X, Opinions.from_codes(said, experts=["Ann", "Bob"]))
    >>> bool((model.sharing_["sharing"] > 0.9).all())
    True
    """

    def __init__(
        self,
        marginals: Any = None,
        noise: NoiseChoice = "likeliest",
        partition: Sequence[Sequence[Hashable]] | None = None,
        sharing: float | Mapping[Any, float] | pd.Series[float] | None = None,
        n_restarts: int = 3,
        n_samples: int = 2000,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.marginals = marginals
        self.noise = noise
        self.partition = partition
        self.sharing = sharing
        self.n_restarts = n_restarts
        self.n_samples = n_samples
        self.random_state = random_state

    def fit(self, X: Any, opinions: Opinions) -> Self:
        """Learn habits, groups, and how much of her group's noise each expert shares.

        Parameters
        ----------
        X
            As for :meth:`siscm.model.GumbelMaxSISCM.fit`.
        opinions
            What the experts said. An expert without opinions gets the pooled marginal, and the
            mean sharing.

        Raises
        ------
        TypeError
            If ``opinions`` is no :class:`~siscm.opinions.Opinions`, or ``marginals`` no marginals.
        ValueError
            As :meth:`siscm.pooled.PooledMarginals.fit`; or if ``partition`` or ``sharing`` do not
            fit the experts.
        """
        check_opinions(opinions)
        check_count(self.n_samples, "n_samples")
        check_count(self.n_restarts, "n_restarts")
        parts_rng, partition_rng, _ = generators(self.random_state)
        given = (
            None if self.partition is None else align_partition(self.partition, opinions.experts)
        )
        known = None if self.sharing is None else self._given_sharing(opinions.experts)
        marginals = PooledMarginals() if self.marginals is None else self.marginals
        if isinstance(marginals, type | SecondOpinions) or not hasattr(marginals, "log_marginals"):
            raise TypeError(
                f"marginals is {marginals!r}; give PooledMarginals(), which takes a classifier as "
                "its base."
            )
        marginals = clone(marginals)
        marginals.fit(X, opinions)
        keep = opinions.ordered or self.noise != "likeliest"
        found = fit_sharing(
            split(marginals.out_of_fold_, opinions, N_PARTS, rng=parts_rng),
            self.noise if keep else "gumbel",
            self.n_restarts,
            rng=partition_rng,
            groups=given,
            sharing=known,
        )
        self.marginals_ = marginals
        self.n_features_in_ = marginals.n_features_in_
        self.feature_names_in_ = marginals.feature_names_in_
        self.experts_, self.classes_ = marginals.experts_, marginals.classes_
        self.noise_, self.sharing_ = found.noise, found.table
        self.partition_, self.likeliest_partition_ = (
            [[plain(opinions.experts[h]) for h in group] for group in groups]
            for groups in (found.groups, found.likeliest)
        )
        return self

    def _given_sharing(self, experts: pd.Index[Any]) -> FloatArray:
        given = self.sharing
        values: list[Any] = [given] * len(experts)
        if isinstance(given, Mapping | pd.Series):
            names = given_names(list(given.keys()), "expert")
            codes = find_all(names, experts, "expert", "is in sharing, but not in the data.")
            values = [np.nan] * len(experts)
            for code, (_, value) in zip(codes, given.items(), strict=True):
                values[code] = value
        for expert, a in zip(experts, values, strict=True):
            if not (isinstance(a, Real) and 0 <= float(a) <= 1):
                raise ValueError(
                    f"the sharing of expert {plain(expert)!r} is {plain(a)!r}; it must be a number "
                    "from 0 to 1, one for all or one for each ({expert: number} or a Series)."
                )
        return np.array(values, dtype=np.float64)

    def log_marginals(self, X: Any, opinions: Opinions | None = None) -> FloatArray:
        r""":math:`\log P(Y_h = c \mid X = x)`: :meth:`siscm.model.GumbelMaxSISCM.log_marginals`.

        Parameters
        ----------
        X, opinions
            As there.
        """
        check_is_fitted(self)
        log_p: FloatArray = self.marginals_.log_marginals(X, opinions)
        return log_p

    def pair_sharing(self) -> FloatArray:
        r"""(H, H): :math:`\lambda = a_h a_{h'}` inside groups, 0 across; the diagonal is 1."""
        number = self.group_numbers()
        a = self.sharing_["sharing"].to_numpy()
        pairs = np.where(number[:, None] == number, np.multiply.outer(a, a), 0.0)
        np.fill_diagonal(pairs, 1.0)
        return pairs

    def group_numbers(self) -> IntArray:
        """(H,): the group of each expert, as its place in ``partition_``."""
        check_is_fitted(self)
        return group_of(self.partition_, self.experts_)

    def _counterfactual(
        self, features: Features, codes: IntArray, instances: pd.Index[Any]
    ) -> FloatArray:
        return self.infer(self.marginals_.log_marginals(features), codes, instances.tolist())

    def infer(
        self, log_p: FloatArray, codes: IntArray, instances: Sequence[Hashable]
    ) -> FloatArray:
        """:meth:`counterfactual_proba` from log-marginals (n, H, k) and label codes (n, H).

        Parameters
        ----------
        log_p
            As :meth:`log_marginals` gives them: (n, H, k).
        codes
            (n, H): positions in ``classes_`` of what was said, -1 where nobody was asked.
        instances
            Names of the n instances, for errors.

        Returns
        -------
        array (n, H, k)
            As of :meth:`counterfactual_proba`.
        """
        log_p, codes, names = self.check_observed(log_p, codes, instances)
        return graded_proba(
            log_p,
            codes,
            self.group_numbers(),
            self.sharing_["sharing"].to_numpy(),
            noise=self.noise_,
            n_samples=self.n_samples,
            rng=generators(self.random_state)[2],
            names=names,
        )

    def check_observed(
        self, log_p: npt.ArrayLike, codes: npt.ArrayLike, instances: Sequence[Hashable]
    ) -> tuple[FloatArray, IntArray, Names]:
        """Log-marginals, label codes and names, refused where they do not fit the model.

        Parameters
        ----------
        log_p, codes, instances
            As for :meth:`infer`.
        """
        check_is_fitted(self)
        return check_observed(log_p, codes, instances, self.experts_, self.classes_)
