"""Opinions: who said what about which instance."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from siscm.checks import IntArray
from siscm.names import encode, given_names, has_order, plain, positions
from siscm.table import as_codes, as_long, check_columns, merge_repeats, refuse_missing

NOT_ASKED = -1
"""Code of the label of an expert who was not asked about an instance."""


@dataclass(frozen=True, eq=False, repr=False)
class Opinions:
    """What each expert said about each instance: the :math:`Y_h` of the paper, with gaps.

    Only opinions that were given take memory: three codes an opinion, sorted by instance, then
    by expert. Build one with :meth:`from_long`, :meth:`from_wide` or :meth:`from_codes`.

    Parameters
    ----------
    instances, experts, classes
        The names behind the codes, each without repetition.
    instance_codes, expert_codes, label_codes
        One entry an opinion: positions in ``instances``, ``experts`` and ``classes``. Copied,
        and read-only from then on.
    ordered
        Whether the order of classes means something: given, of two, or of numbers; not of words.

    Raises
    ------
    ValueError
        If a code is no position, or the opinions are not sorted by instance, then by expert.
    """

    instances: pd.Index[Any]
    experts: pd.Index[Any]
    classes: pd.Index[Any]
    instance_codes: IntArray
    expert_codes: IntArray
    label_codes: IntArray
    ordered: bool = True

    def __post_init__(self) -> None:
        """Check the codes and freeze them."""
        roles = {"instance": self.instances, "expert": self.experts, "label": self.classes}
        for role, names in roles.items():
            codes = np.asarray(getattr(self, f"{role}_codes"))
            if codes.dtype.kind not in "iu" or codes.shape != np.shape(self.label_codes):
                raise ValueError(f"{role}_codes must be integers, one for each opinion.")
            wrong = (codes < 0) | (codes >= len(names))
            if wrong.any():
                raise ValueError(
                    f"{role}_codes holds {codes[wrong][0]}, which is no position among the "
                    f"{len(names)} {role}s."
                )
            codes = codes.astype(np.int64)  # a copy, that nobody else can change
            codes.flags.writeable = False
            object.__setattr__(self, f"{role}_codes", codes)
        place = self.instance_codes * len(self.experts) + self.expert_codes
        if (np.diff(place) <= 0).any():
            raise ValueError(
                "opinions must be sorted by instance, then by expert, each once; "
                "Opinions.from_long sorts them."
            )

    @classmethod
    def from_long(
        cls,
        table: pd.DataFrame,
        instance: str = "instance",
        expert: str = "expert",
        label: str = "label",
        instances: Iterable[Hashable] | None = None,
        experts: Iterable[Hashable] | None = None,
        classes: Iterable[Hashable] | None = None,
    ) -> Opinions:
        """Opinions from a table with one row an opinion.

        Parameters
        ----------
        table
            One row an opinion. The order of its rows never matters.
        instance, expert, label
            Names of the columns that hold the instance, the expert and what the expert said.
        instances, experts, classes
            Which names there are, and their order. Default: those in the table, sorted (numbers
            before text, whole floats as integers), or in the order of an ordered categorical.
            Give them to include names without an opinion, or to fix an order: it is ``ordered``.

        Returns
        -------
        Opinions
            Repeated equal opinions count once, with a warning that says how many there were.

        Raises
        ------
        ValueError
            If a column or a value is missing, as an empty text is; if an expert contradicts herself
            about an instance, if a name is not among those given, or if names differ only in type
            (``1`` and ``"1"``, or ``True``). The error names the offending one.

        Examples
        --------
        >>> import pandas as pd
        >>> from siscm import Opinions
        >>> rows = [(1, "Ann", "mild"), (1, "Bob", "severe"), (2, "Ann", "mild")]
        >>> table = pd.DataFrame(rows, columns=["case", "doctor", "said"])
        >>> Opinions.from_long(table, instance="case", expert="doctor", label="said").labels
        array([[ 0,  1],
               [ 0, -1]])
        """
        columns = {"instance": instance, "expert": expert, "label": label}
        check_columns(table, columns)
        refuse_missing(table, columns)
        instance_codes, instance_index = encode(table[instance], instances, "instance")
        expert_codes, expert_index = encode(table[expert], experts, "expert")
        label_codes, class_index = encode(table[label], classes, "label")
        rows = pd.DataFrame({"i": instance_codes, "h": expert_codes, "y": label_codes})
        rows = merge_repeats(rows, instance_index, expert_index, class_index)
        i, h, y = (rows[name].to_numpy() for name in "ihy")
        ordered = has_order(table[label], classes, class_index)
        return cls(instance_index, expert_index, class_index, i, h, y, ordered)

    @classmethod
    def from_wide(cls, table: pd.DataFrame, classes: Iterable[Hashable] | None = None) -> Opinions:
        """Opinions from a table with a row an instance and a column an expert.

        Parameters
        ----------
        table
            A gap (``None``, ``NaN``, ``NA``, ``NaT``, or a text of nothing but spaces) means that
            the expert was not asked. Rows and columns keep all their names, sorted, also those
            without any opinion.
        classes
            The labels there are, and their order, which then counts as ``ordered``; also those that
            nobody said. Default: those in the table, sorted as by :meth:`from_long`, or in their
            order if all columns are ordered categoricals with the same one.

        Raises
        ------
        TypeError
            If the table is no DataFrame.
        ValueError
            As :meth:`from_long`; also if a name of a row or of a column is missing or stands twice.

        Examples
        --------
        >>> import pandas as pd
        >>> from siscm import Opinions
        >>> table = pd.DataFrame({"Ann": ["mild", None], "Bob": ["severe", "mild"]})
        >>> Opinions.from_wide(table).labels
        array([[ 0,  1],
               [-1,  0]])
        """
        long, instances, experts = as_long(table)
        return cls.from_long(long, instances=instances, experts=experts, classes=classes)

    @classmethod
    def from_codes(
        cls,
        labels: npt.ArrayLike | pd.DataFrame,
        instances: Iterable[Hashable] | None = None,
        experts: Iterable[Hashable] | None = None,
        classes: Iterable[Hashable] | None = None,
    ) -> Opinions:
        """Opinions from an array of label codes.

        Parameters
        ----------
        labels
            Integers (n_instances, n_experts): positions in ``classes``, -1 (or masked) where
            nobody was asked.
        instances, experts, classes
            Names, in the order of the codes. Default: the index and columns of a DataFrame, else
            the positions themselves. Classes count as ``ordered``: if not, say ``noise="gumbel"``.

        Raises
        ------
        ValueError
            If a code is neither -1 nor a position in ``classes``, or if a shape does not fit.
        """
        if isinstance(labels, pd.DataFrame):
            instances = labels.index if instances is None else instances
            experts = labels.columns if experts is None else experts
        codes = as_codes(labels, NOT_ASKED, bounded=classes is None)
        n_used = int(codes.max()) + 1 if codes.size else 0
        where, who, what = (
            pd.RangeIndex(size) if names is None else given_names(names, role)
            for names, size, role in (
                (instances, codes.shape[0], "instance"),
                (experts, codes.shape[1], "expert"),
                (classes, n_used, "label"),
            )
        )
        for role, names, n in zip(("instance", "expert"), (where, who), codes.shape, strict=True):
            if len(names) != n:
                raise ValueError(f"{len(names)} {role}s are named, but the array holds {n}.")
        wrong = (codes < NOT_ASKED) | (codes >= len(what))
        if wrong.any():
            i, h = np.argwhere(wrong)[0]
            raise ValueError(
                f"instance {plain(where[i])!r}, expert {plain(who[h])!r}: code {codes[i, h]} is "
                f"neither -1 (not asked) nor one of the {len(what)} classes."
            )
        i, h = np.nonzero(codes != NOT_ASKED)
        return cls(where, who, what, i, h, codes[i, h].astype(np.int64))

    @property
    def n_classes(self) -> int:
        """How many labels there are: :math:`k`."""
        return len(self.classes)

    @cached_property
    def labels(self) -> IntArray:
        """Label codes (n_instances, n_experts), -1 where nobody was asked."""
        dense = np.full((len(self.instances), len(self.experts)), NOT_ASKED, dtype=np.int64)
        dense[self.instance_codes, self.expert_codes] = self.label_codes
        dense.flags.writeable = False
        return dense

    @property
    def votes(self) -> IntArray:
        """(n_instances, k): how many experts said each label."""
        counts = np.zeros((len(self.instances), self.n_classes), dtype=np.int64)
        np.add.at(counts, (self.instance_codes, self.label_codes), 1)
        return counts

    @property
    def tallies(self) -> IntArray:
        """(n_experts, k): how often each expert said each label."""
        counts = np.zeros((len(self.experts), self.n_classes), dtype=np.int64)
        np.add.at(counts, (self.expert_codes, self.label_codes), 1)
        return counts

    @property
    def n_by_instance(self) -> IntArray:
        """(n_instances,): how many opinions there are about each instance."""
        return np.bincount(self.instance_codes, minlength=len(self.instances))

    @property
    def n_by_expert(self) -> IntArray:
        """(n_experts,): how many opinions each expert gave."""
        return np.bincount(self.expert_codes, minlength=len(self.experts))

    def to_long(self) -> pd.DataFrame:
        """One row an opinion: ``instance``, ``expert``, ``label``; by instance, then by expert."""
        return pd.DataFrame(
            {
                "instance": self.instances.take(self.instance_codes),
                "expert": self.experts.take(self.expert_codes),
                "label": self.classes.take(self.label_codes),
            }
        )

    def select(
        self,
        instances: Iterable[Hashable] | None = None,
        experts: Iterable[Hashable] | None = None,
    ) -> Opinions:
        """The opinions of some experts about some instances, in the order given; same classes.

        Parameters
        ----------
        instances, experts
            Names to keep, in the order wanted; default all, as they are.

        Raises
        ------
        ValueError
            If a name is unknown or stands twice.
        """
        kept_instances = self.instances if instances is None else given_names(instances, "instance")
        kept_experts = self.experts if experts is None else given_names(experts, "expert")
        i = positions(self.instances, kept_instances, "instance")[self.instance_codes]
        h = positions(self.experts, kept_experts, "expert")[self.expert_codes]
        kept = np.flatnonzero((i >= 0) & (h >= 0))
        kept = kept[np.lexsort((h[kept], i[kept]))]
        codes = (i[kept], h[kept], self.label_codes[kept])
        return Opinions(kept_instances, kept_experts, self.classes, *codes, self.ordered)

    def __len__(self) -> int:
        """How many opinions there are."""
        return len(self.label_codes)

    def __repr__(self) -> str:
        return (
            f"<Opinions: {len(self):,} by {len(self.experts):,} experts about "
            f"{len(self.instances):,} instances, {self.n_classes} classes>"
        )
