"""The one pass over the data: labelled samples in, statistics of labelled classes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, as_targets, numbered, some, sorted_labels
from jcmspl.data.sample_digest import SampleDigest, sum_if_known
from jcmspl.data.weights import present
from jcmspl.support.arguments import Float64Array
from jcmspl.support.progress import Progress
from jcmspl.support.scaling import is_without_negatives, unit_length
from jcmspl.support.warn import OneWarning

# Rows between two looks at the clock; a multiple of the core's own blocks, so that it changes nothing else.
_ROWS_PER_STEP = 16384
_NEGATIVES = (
    "the first samples had no negative values, so roots of values are taken; now there are some, and their roots are "
    "negative: write 'power' in feature_normalisation, or leave it out, instead of 'auto_power'"
)


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

    def add_in_place(self, other: LabelledStatistics) -> LabelledStatistics:
        """Return the sum of both; self's own statistics if they have the same classes, which saves memory and time."""
        if self.labels != other.labels:
            return self + other
        total = self.statistics
        total += other.statistics
        return self

    def _renumbered(self, labels: list[Label]) -> Statistics:
        position = {label: number for number, label in enumerate(self.labels)}
        return self.statistics.select_classes([position.get(label, -1) for label in labels])


class Collector:
    """Collects statistics of samples whose classes become known as they arrive.

    Parameters
    ----------
    table : ClassTable or None
        The classes that may occur; None: any.
    unit_rows : bool
        Whether samples are scaled to length one.
    power : bool or None
        Whether the signed roots of values are taken; None: where no value of the first samples is negative.
    progress : bool
        Whether to show progress.
    declared : set of labels or None
        The classes that may occur, where the user has named them.
    spares_aligned : bool
        Whether no roots are taken, where samples are to decide, if encoders are aligned: a cosine knows no roots.
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
    ) -> None:
        self._spares_aligned = spares_aligned
        self._table, self._show, self._declared = table, progress, declared
        self._unit_rows, self._power = unit_rows, power
        self._warn: Callable[[str, type[Warning]], None] | None = OneWarning() if power is None else None
        self._numbers: dict[Label, int] = {}
        self._statistics: Statistics | None = None
        self._digest: SampleDigest | None = None
        #: Whether values were negative although roots are taken because the first ones were not.
        self.has_negatives = False

    @property
    def is_undecided(self) -> bool:
        """Whether the first samples are to decide about roots."""
        return self._power is None

    @property
    def has_samples(self) -> bool:
        """Whether anything was collected."""
        return self._statistics is not None

    def decide(self, power: bool) -> None:
        """Take roots of values or not: somebody else has looked at the first samples."""
        self._power = power

    def for_a_part(self) -> Collector:
        """Return a collector of the same kind for some of the samples: it tells of negatives and does not warn."""
        twin = copy(self)
        twin._numbers = dict(self._numbers)
        twin._warn = None if self._warn is None else _say_nothing
        return twin

    def warn_of_negatives(self) -> None:
        """Warn of values that would have decided otherwise, for a part that could not."""
        if self._warn is not None:
            self._warn(_NEGATIVES, RuntimeWarning)

    def going_on_from(self, so_far: LabelledStatistics) -> Collector:
        """Collect what is to be added to these statistics: number their classes alike, scale samples alike."""
        self._numbers = {label: number for number, label in enumerate(so_far.labels)}
        self._power = so_far.statistics.power
        return self

    def add_array(self, X: npt.NDArray[Any], y: Any, weights: Float64Array | None = None) -> Collector:
        """Read an array of samples; return self.

        What weighs nothing is as if it were not there, its label included.
        """
        labels = as_targets(y)
        if len(labels) != len(X):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {len(X)} samples in X, "
                f"{len(labels)} labels in y"
            )
        if weights is not None and not weights.any():
            raise ValueError("the weights of all samples are zero, so there is nothing to learn from")
        numbers = self._number(labels, weights)
        statistics = self._roomy(X, labels, weights)
        with Progress("reading", len(X), "samples", enabled=self._show) as progress:
            for first in range(0, len(X), _ROWS_PER_STEP):
                rows = slice(first, first + _ROWS_PER_STEP)
                block, of_block = X[rows], None if weights is None else weights[rows]
                self._look_for_negatives(block, of_block)
                statistics.update(block, numbers[rows], sample_weight=of_block, first_row=first)
                self._remember(block, of_block)
                progress.update(min(first + _ROWS_PER_STEP, len(X)))
        return self

    def add_chunks(
        self,
        chunks: Iterable[Any],
        validate: Callable[[Any], npt.NDArray[Any]],
        weigh: Callable[[list[Label], Any], Float64Array | None],
        *,
        may_be_empty: bool = False,
    ) -> None:
        """Read an iterable of chunks, (X, y) or (X, y, sample_weight).

        Each X is checked by the first function; the second says what samples with these labels and weights weigh.
        """
        read = 0
        with Progress("reading", None, "samples", enabled=self._show) as progress:
            for number, chunk in enumerate(chunks):
                try:
                    X, y, *rest = chunk
                    (sample_weight,) = rest or (None,)
                except (TypeError, ValueError):
                    raise TypeError(f"chunk {number} is not a pair (X, y), nor (X, y, sample_weight)") from None
                X, labels = validate(X), as_targets(y)
                if len(X) != len(labels):
                    raise ValueError(f"chunk {number} has {len(X)} samples but {len(labels)} labels")
                weights = weigh(labels, sample_weight)
                if not len(X) or (weights is not None and not weights.any()):
                    continue
                numbers = self._number(labels, weights)
                statistics = self._roomy(X, labels, weights)
                self._look_for_negatives(X, weights)
                statistics.update(X, numbers, sample_weight=weights, first_row=read)
                self._remember(X, weights)
                read += len(X)
                progress.update(read)
        if not read and not may_be_empty:
            raise ValueError("there are no samples: the iterator gave no chunk, or empty ones, or all weights are zero")

    def result(self) -> LabelledStatistics:
        """Return what was collected."""
        if self._statistics is None:
            raise RuntimeError("nothing was collected")
        labels = sorted_labels(self._numbers)
        numbers = [self._numbers[label] for label in labels]
        in_order = numbers == list(range(self._statistics.n_classes))
        statistics = self._statistics if in_order else self._statistics.select_classes(numbers)
        return LabelledStatistics(labels, statistics, self._digest)

    def _number(self, labels: list[Label], weights: Float64Array | None) -> npt.NDArray[np.int64]:
        """Return the number of each label, a new one for those not met before; any for a sample that weighs nothing."""
        known = self._numbers
        classes = present(labels, weights)
        new = sorted_labels(label for label in classes if label not in known)
        # what should not be there is found before it is read
        strangers = [label for label in classes if self._declared is not None and label not in self._declared]
        if strangers:
            raise ValueError(f"y holds labels that are not in classes: {some(strangers)}")
        if self._table is not None:
            self._table.positions(new, "y")
        known.update({label: number for number, label in enumerate(new, start=len(known))})
        numbers = (known[label] for label in labels) if weights is None else (known.get(label, 0) for label in labels)
        return np.fromiter(numbers, dtype=np.int64, count=len(labels))

    def _remember(self, X: npt.NDArray[Any], weights: Float64Array | None) -> None:
        """Add samples to the digest."""
        digest = SampleDigest.of(X, weights)
        self._digest = digest if self._digest is None else self._digest + digest

    def _look_for_negatives(self, X: npt.NDArray[Any], weights: Float64Array | None) -> None:
        """Warn of values that would have decided otherwise."""
        if self._warn is None or not self._power:
            return
        if bool(((X if weights is None else X[weights > 0]) < 0).any()):
            self.has_negatives = True
            self._warn(_NEGATIVES, RuntimeWarning)

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
        if self._power is None:
            self._power = self.takes_roots_of(X, labels, weights)
        if self._statistics is None:
            self._statistics = Statistics(X.shape[1], needed, unit_rows=self._unit_rows, power=self._power)
        elif self._statistics.n_classes < needed:
            # doubling, for each growth copies the Gram matrix
            old = np.arange(self._statistics.n_classes)
            added = np.full(max(needed - len(old), len(old)), -1)
            self._statistics = self._statistics.select_classes(np.concatenate([old, added]))
        return self._statistics


def _say_nothing(message: str, category: type[Warning]) -> None:
    """Stand for a warning where nobody would see it."""


def gives_chunks(X: Any) -> bool:
    """Whether X is an iterable of chunks, (X, y) or (X, y, sample_weight), rather than samples."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(_is_chunk(chunk) for chunk in X)
    return isinstance(X, Iterable) and not (isinstance(X, str) or hasattr(X, "shape") or hasattr(X, "__array__"))


def _is_chunk(chunk: Any) -> bool:
    return isinstance(chunk, (list, tuple)) and len(chunk) in (2, 3) and len(getattr(chunk[0], "shape", ())) == 2
