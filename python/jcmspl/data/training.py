"""What a method learns from: normalised statistics always, and the samples themselves where it asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.data.labels import Label, numbered
from jcmspl.data.normalisation import Normalisation
from jcmspl.support.arguments import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of an array, or of anything that is read like one, with the number of the class of each.

    Attributes
    ----------
    X : array of shape (n, n_features)
        May be a memory map: rows are read when they are asked for, as often as they are.
    rows : ndarray of int
        The rows that belong to the training data, ascending.
    numbers : ndarray of int
        The class number of each of them.
    """

    X: npt.NDArray[Any]
    rows: IntArray
    numbers: IntArray

    @classmethod
    def of(
        cls, X: npt.NDArray[Any], y: Sequence[Label], labels: Sequence[Label], rows: IntArray | None = None
    ) -> LabelledRows:
        """Return some or all rows of an array, their classes numbered in the order of the labels."""
        chosen = np.arange(len(y)) if rows is None else rows
        return cls(X, chosen, numbered((y[row] for row in chosen), labels))


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Normalised training data. Classes are numbered as the rows of ``class_vectors``.

    Attributes
    ----------
    statistics : Statistics
        Gram matrix, class sums and counts of the normalised samples.
    class_vectors : ndarray of shape (n_classes, n_attributes)
        Normalised as well.
    features, classes : Normalisation
        What was done to samples and to class vectors.
    given_means, given_vectors : ndarray
        The mean sample (scaled) and the vector of each class before that.
    """

    statistics: Statistics
    class_vectors: Float64Array
    features: Normalisation
    classes: Normalisation
    given_means: Float64Array
    given_vectors: Float64Array
    _rows: LabelledRows | None = None

    @classmethod
    def of(
        cls,
        raw: Statistics,
        vectors: Float64Array,
        feature_normalisation: str,
        class_normalisation: str,
        whitening_shrinkage: float,
        class_kernel: str,
        kernel_width: float,
        rows: LabelledRows | None = None,
    ) -> TrainingData:
        """Fit both normalisations to raw training data and apply them."""
        features, statistics = Normalisation.of_training(feature_normalisation, raw, whitening_shrinkage)
        classes = Normalisation.from_rows(class_normalisation, vectors, class_kernel, kernel_width)
        means = raw.class_sums / raw.counts[:, None]
        return cls(statistics, classes.of_rows(vectors), features, classes, means, vectors, rows)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return self.statistics.n_samples

    @property
    def sample_length(self) -> float:
        """The root mean square length of the normalised samples; 1 if all of them are zero."""
        squares = float(self.statistics.gram.trace()) / max(self.n_samples, 1)
        return float(np.sqrt(squares)) if squares > 0 else 1.0

    @property
    def class_means(self) -> Float64Array:
        """The mean normalised sample of each class."""
        return self.statistics.class_sums / self.statistics.counts[:, None]

    def samples(self, size: int = 8192) -> Iterator[tuple[Float64Array, IntArray]]:
        """Give normalised samples and their class numbers, a block at a time; may be asked for again and again.

        Only for methods that say ``NEEDS = "samples"``.
        """
        if self._rows is None:
            raise RuntimeError('a method that reads samples must say so: NEEDS = "samples"')
        rows, numbers = self._rows.rows, self._rows.numbers
        constant = self.statistics.gram.diagonal() == 0  # as in the statistics, what is left of them is rounding
        for first in range(0, len(rows), size):
            block = slice(first, first + size)
            normalised = self.features.of_rows(np.asarray(self._rows.X[rows[block]], dtype=np.float64))
            normalised[:, constant] = 0
            yield normalised, numbers[block]
