"""Training data: normalised statistics, samples if the method asks for them, and warnings of likely mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics, Sums
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, some
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.sources import Sources
from jcmspl.support.arguments import Float64Array, IntArray, row_blocks
from jcmspl.support.scaling import NOISE
from jcmspl.support.shown import quoted
from jcmspl.support.warn import warn_user


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of an array that belong to the training data, with the class number and perhaps the weight of each."""

    X: npt.NDArray[Any]  #: may be a memory map: rows are read when they are asked for, as often as they are
    rows: IntArray  #: ascending
    numbers: IntArray
    weights: Float64Array | None = None


class OfSamples(NamedTuple):
    """How samples are normalised."""

    name: str
    shrinkage: float
    symmetric_whitening: bool = False
    whitening_components: int | None = None


class OfClasses(NamedTuple):
    """How class vectors are normalised; ``columns`` are multiplied first."""

    name: str
    kernel: str
    kernel_width: float
    columns: Float64Array | None = None


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Normalised training data. Classes are numbered as the rows of ``class_vectors``."""

    statistics: Statistics  #: of the normalised samples
    class_vectors: Float64Array  #: (n_classes, n_attributes), normalised as well
    features: Normalisation  #: of samples
    classes: Normalisation  #: of class vectors
    raw: Sums  #: of the samples (scaled) before they were normalised
    given_vectors: Float64Array  #: the vector of each class before it was normalised
    _rows: LabelledRows | None = None
    sources: Sources | None = None  #: that class vectors were joined of
    rounding_of_columns: Float64Array | None = None  #: how much of the sum of squares of each may be rounding alone
    timings: dict[str, float] = field(default_factory=dict)  #: seconds of normalisation and whitening

    @classmethod
    def of(
        cls,
        raw: Statistics,
        vectors: Float64Array,
        of_samples: OfSamples,
        of_classes: OfClasses,
        rows: LabelledRows | None = None,
        sources: Sources | None = None,
    ) -> TrainingData:
        """Fit both normalisations to raw training data and apply them."""
        name, shrinkage, symmetric, n_components = of_samples
        timings: dict[str, float] = {}
        sums = raw.sums
        features, statistics = Normalisation.of_training(
            name, raw, shrinkage, sums=sums, symmetric=symmetric, n_components=n_components, timings=timings
        )
        classes = Normalisation.from_rows(of_classes.name, vectors, *of_classes[1:])
        given = sums, vectors, rows, sources, features.rounding_in(sums.squares), timings
        return cls(statistics, classes.of_rows(vectors), features, classes, *given)

    def with_classes(self, of_classes: OfClasses) -> TrainingData:
        """Return the same samples with class vectors that are normalised otherwise."""
        vectors = self.given_vectors
        classes = Normalisation.from_rows(of_classes.name, vectors, *of_classes[1:])
        return replace(self, class_vectors=classes.of_rows(vectors), classes=classes)

    @property
    def rounding(self) -> float:
        """Eigenvalues of the Gram matrix up to this may be rounding alone: single errors hardly ever add up."""
        return 0.0 if self.rounding_of_columns is None else float(self.rounding_of_columns.sum()) / 8

    @property
    def n_samples(self) -> float:
        """The number of samples; the sum of their weights, where they have any."""
        return self.statistics.n_samples

    @property
    def sample_length(self) -> float:
        """The root mean square length of the normalised samples; 1 if all of them are zero."""
        squares = float(self.statistics.squares.sum()) / (self.statistics.n_samples or 1)
        return float(np.sqrt(squares)) if squares > 0 else 1.0

    @property
    def given_means(self) -> Float64Array:
        """The mean sample (scaled) of each class before it was normalised."""
        return self.raw.class_sums / self.raw.counts[:, None]

    @cached_property
    def alignment(self) -> Alignment | None:
        """How well samples and class vectors agree; None where they differ in length, or roots of samples are taken."""
        if self.features.scaling.power or self.raw.class_sums.shape[1] != self.given_vectors.shape[1]:
            return None
        return Alignment.of(self.given_means, self.given_vectors)

    @property
    def class_means(self) -> Float64Array:
        """The mean normalised sample of each class."""
        return self.statistics.class_sums / self.statistics.counts[:, None]

    @property
    def sample_weights(self) -> Float64Array | None:
        """The weights of all samples in the order in which :meth:`samples` gives these; None if each counts once.

        For methods that say ``READS_WEIGHTS = True``.
        """
        return None if self._rows is None else self._rows.weights

    @property
    def numbers(self) -> IntArray:
        """The class numbers of all samples in the order in which :meth:`samples` gives these."""
        return self._labelled_rows.numbers

    def samples(self, size: int = 8192, order: IntArray | None = None) -> Iterator[tuple[Float64Array, IntArray]]:
        """Give normalised samples and their class numbers, a block at a time; may be asked for again and again.

        Only for methods that say ``NEEDS = "samples"``. ``order`` tells which samples are wanted and in what order,
        counted from 0 as they come without it. Rows of a file are then read here and there, those of a block from front
        to back.
        """
        source = self._labelled_rows
        rows, numbers = source.rows, source.numbers
        if order is not None:
            rows, numbers = rows[order], numbers[order]
        constant = self.statistics.squares == 0  # as in the statistics, what is left of them is rounding
        for block in row_blocks(len(rows), size):
            read = source.X[rows[block]] if order is None else _read_ascending(source.X, rows[block])
            normalised = self.features.of_rows(np.asarray(read, dtype=np.float64))
            normalised[:, constant] = 0
            yield normalised, numbers[block]

    @property
    def _labelled_rows(self) -> LabelledRows:
        if self._rows is None:
            raise RuntimeError('a method that reads samples must say so: NEEDS = "samples"')
        return self._rows


def _read_ascending(X: npt.NDArray[Any], rows: IntArray) -> npt.NDArray[Any]:
    ascending = np.argsort(rows)
    read = np.empty((len(rows), X.shape[1]), dtype=X.dtype)
    read[ascending] = X[rows[ascending]]
    return read


def warn_of_lost_digits(training: TrainingData) -> None:
    """Warn of features that are so far from zero that their differences are lost in rounding errors.

    The Gram matrix of centred samples is what is left of that of the raw ones: 1e-9 of it has half of the digits.
    """
    n, squares, class_sums, _ = training.raw
    shift, scale = training.features.shift, training.features.scale
    left = squares - (2 * class_sums.sum(axis=0) - n * shift) * shift
    before, after = squares / scale**2, np.where(left > NOISE * squares, left, 0) / scale**2
    if not after.any():
        message = (
            "after normalisation all samples are the same, or their differences are too small beside their mean to be "
            "told from rounding errors: if they do differ, subtract a constant from X first"
        )
        warn_user(message, RuntimeWarning)
        return
    poor = np.flatnonzero((after > 0) & (after < 1e-9 * before))
    if len(poor):
        message = (
            f"{len(poor)} of the {len(before)} features (the first is number {poor[0]}) differ from their mean by less "
            "than 1 part in 30,000, so centring loses most of their digits: subtract a constant from them first"
        )
        warn_user(message, RuntimeWarning)


def warn_of_zero_vectors(table: ClassTable) -> None:
    """Warn of classes whose vectors say nothing."""
    is_empty = ~table.vectors.any(axis=1)
    if is_empty.any():
        empty = table.labels[is_empty].tolist()
        warn_user(
            f"the class vector of {some(empty)} is all zero, so nothing is known of that class: check where the vector "
            "comes from",
            RuntimeWarning,
        )


def warn_of_transposed(table: ClassTable, labels: Sequence[Label]) -> None:
    """Warn of an array that has as many columns as there are classes, and rows for more.

    The labels of an array are its row numbers, so that its transpose may fit as well. A square one cannot be told.
    """
    by_number = table.attributes is None and list(table) == list(range(table.n_classes))
    if by_number and table.n_classes > table.n_attributes == table.positions(labels).max() + 1:
        warn_user(
            f"class_vectors has {table.n_classes} rows and {table.n_attributes} columns, and y holds the classes up to "
            f"{table.n_attributes - 1}: if classes are its columns, pass class_vectors.T; if they are its rows, name "
            "the attributes, ClassTable(labels, vectors, attributes)",
            RuntimeWarning,
        )


def warn_of_equal_vectors(table: ClassTable, normalisation: Normalisation) -> None:
    """Warn of classes that cannot be told apart because their vectors are the same once they are normalised."""
    vectors = normalisation.of_rows(table.vectors)
    rounded = np.round(vectors / (np.abs(vectors).max(initial=0) or 1), 9) + 0.0  # + 0.0: no negative zeros
    order = np.lexsort(rounded.T[::-1])
    same = np.flatnonzero(np.all(rounded[order[1:]] == rounded[order[:-1]], axis=1))
    if len(same):
        one, two = (list(table)[order[same[0] + i]] for i in range(2))
        warn_user(
            f"the classes {quoted(one)} and {quoted(two)} have the same class vector after {normalisation.name!r} and "
            "cannot be told apart: check the vectors, or try another class_normalisation ('center', 'zscore', 'none')",
            RuntimeWarning,
        )
