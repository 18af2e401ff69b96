"""The one pass over the data: labelled samples in, statistics of labelled classes out."""

from __future__ import annotations

from collections.abc import Container, Iterable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, numbered, some, sorted_labels
from jcmspl.data.sample_digest import SampleDigest, sum_if_known
from jcmspl.support.arguments import Float64Array, IntArray, row_blocks
from jcmspl.support.progress import Progress
from jcmspl.support.scaling import unit_length
from jcmspl.support.warn import warn_user

# Rows between two looks at the clock; a multiple of the core's own blocks, so that it changes nothing else.
_ROWS_PER_STEP = 16384


@dataclass(frozen=True)
class LabelledStatistics:
    """Statistics together with the labels of their classes, which are sorted and all have samples.

    ``digest`` is that of the samples, if it is known.
    """

    labels: list[Label]
    statistics: Statistics
    digest: SampleDigest | None = None

    def __add__(self, other: LabelledStatistics) -> LabelledStatistics:
        digest = sum_if_known(self.digest, other.digest)
        if self.labels == other.labels:
            return LabelledStatistics(self.labels, self.statistics + other.statistics, digest)
        union = sorted_labels(dict.fromkeys([*self.labels, *other.labels]))
        return LabelledStatistics(union, self._renumbered(union) + other._renumbered(union), digest)

    @classmethod
    def with_samples(cls, statistics: Statistics, labels: list[Label]) -> LabelledStatistics:
        """Return the part of statistics that has samples, with its classes sorted by their labels."""
        numbers = np.flatnonzero(statistics.counts)
        part = cls([labels[i] for i in numbers], statistics.select_classes(numbers))
        if not part.labels:
            raise ValueError("the statistics have no samples")
        return part + cls([], Statistics(statistics.n_features, 0, **statistics.scaling._asdict()))

    def _renumbered(self, labels: list[Label]) -> Statistics:
        position = {label: number for number, label in enumerate(self.labels)}
        return self.statistics.select_classes([position.get(label, -1) for label in labels])


@dataclass(frozen=True, eq=False)
class LabelledSums:
    """The sum and the number of the samples of each class, which are scaled (see Scaling) and not yet normalised.

    They are kept where whole statistics would be too much.
    """

    labels: list[Label]
    sums: Float64Array
    counts: Float64Array

    @classmethod
    def of(cls, collected: LabelledStatistics) -> LabelledSums:
        """Return the sums in statistics."""
        return cls(collected.labels, collected.statistics.class_sums, collected.statistics.counts)

    def __contains__(self, label: Label) -> bool:
        return label in self._position

    def __add__(self, other: LabelledSums) -> LabelledSums:
        new = [label for label in other.labels if label not in self]
        labels = [*self.labels, *new]
        sums = np.concatenate([self.sums, np.zeros((len(new), self.sums.shape[1]))])
        total = LabelledSums(labels, sums, np.concatenate([self.counts, np.zeros(len(new))]))
        where = total.positions(other.labels)
        total.sums[where] += other.sums
        total.counts[where] += other.counts
        return total

    def without(self, labels: Container[Label]) -> LabelledSums:
        """Return the sums of the other classes."""
        kept = [i for i, label in enumerate(self.labels) if label not in labels]
        return LabelledSums([self.labels[i] for i in kept], self.sums[kept], self.counts[kept])

    def positions(self, labels: list[Label]) -> IntArray:
        """Return the row of each label."""
        return np.array([self._position[label] for label in labels], dtype=np.int64)

    @cached_property
    def _position(self) -> dict[Label, int]:
        return {label: position for position, label in enumerate(self.labels)}


class Collector:
    """Collects statistics of samples whose classes become known as they arrive.

    Classes that may occur are those of the table, if there is one, and those declared, if the user has named any. With
    ``power=None`` signed roots of values are taken where no value of the first samples is negative; with
    ``spares_aligned`` not if encoders are aligned, for a cosine knows no roots. The classes of statistics ``so_far``,
    to which the result is to be added, are numbered alike, and samples are scaled alike.
    """

    def __init__(
        self,
        table: ClassTable | None,
        unit_rows: bool,
        power: bool | None,
        *,
        progress: bool,
        declared: set[Label] | None = None,
        spares_aligned: bool = False,
        so_far: LabelledStatistics | None = None,
    ) -> None:
        self._table, self._declared, self._spares_aligned = table, declared, spares_aligned
        self._unit_rows, self._looks_for_negatives, self._warns = unit_rows, power is None, True
        #: None: the first samples decide.
        self.power = power if so_far is None else so_far.statistics.power
        self.progress = progress
        self._numbers = {} if so_far is None else {label: number for number, label in enumerate(so_far.labels)}
        self._statistics: Statistics | None = None
        self._digest = SampleDigest(np.empty(0, dtype=np.uint64))
        #: Whether values were negative although roots are taken because the first ones were not.
        self.has_negatives = False

    @property
    def has_samples(self) -> bool:
        """Whether anything was collected."""
        return self._statistics is not None

    def for_a_part(self) -> Collector:
        """Return a collector of the same kind for some of the samples: it tells of negatives and does not warn."""
        twin = copy(self)
        twin._numbers, twin._warns = dict(self._numbers), False
        return twin

    def add(
        self,
        X: npt.NDArray[Any],
        labels: list[Label],
        weights: Float64Array | None = None,
        *,
        first_row: int = 0,
        line: Progress | None = None,
    ) -> None:
        """Add samples; what weighs nothing is as if it were not there, its label included."""
        if not len(X) or (weights is not None and not weights.any()):
            return
        numbers = self._number(labels, weights)
        decided = self.power is not None
        statistics = self._roomy(X, labels, weights)
        # values that have decided just now were all looked at
        looks = self._looks_for_negatives and bool(self.power) and (decided or not decides_by_all(X))
        for rows in row_blocks(len(X), _ROWS_PER_STEP):
            block, of_block = X[rows], None if weights is None else weights[rows]
            if looks and not self.has_negatives:
                self._look_for_negatives(block, of_block)
            statistics.update(block, numbers[rows], sample_weight=of_block, first_row=first_row + rows.start)
            self._digest += SampleDigest.of(block, of_block)
            if line is not None:
                line.update(first_row + rows.stop)

    def result(self) -> LabelledStatistics:
        """Return the collected statistics."""
        if self._statistics is None:
            raise RuntimeError("nothing was collected")
        labels = sorted_labels(self._numbers)
        numbers = list(map(self._numbers.__getitem__, labels))
        in_order = numbers == list(range(self._statistics.n_classes))
        statistics = self._statistics if in_order else self._statistics.select_classes(numbers)
        return LabelledStatistics(labels, statistics, self._digest)

    def warn_of_negatives(self) -> None:
        """Warn of values that would have decided otherwise."""
        warn_user(
            "the first samples had no negative values, so roots of values are taken; now there are some, and their "
            "roots are negative: write 'power' in feature_normalisation, or leave it out, instead of 'auto_power'",
            RuntimeWarning,
        )

    def _number(self, labels: list[Label], weights: Float64Array | None) -> npt.NDArray[np.int64]:
        """Return the number of each label, a new one for those not met before; any for a sample that weighs nothing."""
        known = self._numbers
        classes = present(labels, weights)
        # what should not be there is found before it is read
        strangers = [label for label in classes if self._declared is not None and label not in self._declared]
        if strangers:
            raise ValueError(f"y holds labels that are not in classes: {some(strangers)}")
        new = sorted_labels([label for label in classes if label not in known])
        if self._table is not None:
            self._table.positions(new, "y")
        known.update({label: number for number, label in enumerate(new, start=len(known))})
        numbers = (known[label] for label in labels) if weights is None else (known.get(label, 0) for label in labels)
        return np.fromiter(numbers, dtype=np.int64, count=len(labels))

    def _look_for_negatives(self, X: npt.NDArray[Any], weights: Float64Array | None) -> None:
        self.has_negatives = bool(((X if weights is None else X[weights > 0]) < 0).any())
        if self.has_negatives and self._warns:
            self.warn_of_negatives()

    def takes_roots_of(self, X: npt.NDArray[Any], labels: list[Label], weights: Float64Array | None) -> bool:
        """Return whether the first samples are such that roots of values are taken."""
        if not is_without_negatives(X, weights):
            return False
        if not self._spares_aligned or self._table is None or X.shape[1] != self._table.n_attributes:
            return True
        counted = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
        few = counted[:: -(-len(counted) // _ROWS_PER_STEP)]  # of all parts, for classes may follow each other
        rows = np.asarray(X[few], dtype=np.float64)
        own = [labels[row] for row in few]
        names = sorted_labels(dict.fromkeys(own))
        members = np.equal.outer(np.arange(len(names)), numbered(own, names)).astype(np.float64)
        alignment = Alignment.of(members @ unit_length(rows), self._table.select(names).vectors)
        return alignment is None or not alignment.is_aligned

    def _roomy(self, X: npt.NDArray[Any], labels: list[Label], weights: Float64Array | None) -> Statistics:
        """Return the statistics, with room for all classes met so far; the first samples decide how they are scaled."""
        needed = len(self._numbers)
        if self.power is None:
            self.power = self.takes_roots_of(X, labels, weights)
        if self._statistics is None:
            self._statistics = Statistics(X.shape[1], needed, unit_rows=self._unit_rows, power=self.power)
        elif self._statistics.n_classes < needed:
            # doubling, for each growth copies the Gram matrix
            old = np.arange(self._statistics.n_classes)
            added = np.full(max(needed - len(old), len(old)), -1)
            self._statistics = self._statistics.select_classes(np.concatenate([old, added]))
        return self._statistics


def present(labels: Iterable[Label], weights: Float64Array | None) -> dict[Label, None]:
    """Return the classes of the samples that weigh anything, in the order of their first ones."""
    return dict.fromkeys(labels if weights is None else compress(labels, weights.tolist()))


def decides_by_all(X: Any) -> bool:
    """Whether :func:`is_without_negatives` looks at all samples: those in memory, not those in a file."""
    return isinstance(X, np.ndarray) and not isinstance(X, np.memmap)


def is_without_negatives(X: Any, weights: npt.NDArray[Any] | None = None) -> bool:
    """Whether no feature is negative, judged by all samples in memory, or by the first block of others.

    Samples with weight 0 are ignored.
    """
    block = np.asarray(X if decides_by_all(X) else X[:4096])
    if weights is not None:
        block = block[weights[: len(block)] > 0]
    return bool(block.size) and not bool((block < 0).any())
