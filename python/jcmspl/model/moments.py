"""Sums and products for closed-form methods, of normalised samples and class vectors, each computed once on first use.

X holds a column for each sample, Y its class vector, S a column for each class, L the labels. All that grows with the
number of samples happens in :class:`jcmspl.core.Statistics`. The eigenbases do not depend on penalties, so that a
search over these shares them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from jcmspl.data.training import TrainingData
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import NOISE


class GramBasis:
    """The eigenvectors (columns) of a Gram matrix whose eigenvalues are above rounding noise.

    What lies in the other directions is rounding; leaving them out makes solutions those of least norm.
    """

    def __init__(self, gram: Float64Array, rounding: float = 0.0) -> None:
        values, vectors = np.linalg.eigh(gram)
        kept = values > max(np.finfo(np.float64).eps * len(gram) * values[-1], rounding)
        self.values: Float64Array = values[kept]
        self.vectors: Float64Array = vectors[:, kept]

    def solve(self, rows: Float64Array, penalty: float) -> Float64Array:
        """Return ``rows @ inv(gram + penalty I)``; for penalty 0 with the pseudo-inverse."""
        return np.asarray(((rows @ self.vectors) / (self.values + penalty)) @ self.vectors.T)


class Moments:
    """Sums and products over the training data, and the eigenbases of its Gram matrices."""

    def __init__(self, training: TrainingData) -> None:
        self._statistics, self._rounding = training.statistics, training.rounding
        self.rounding_of_columns = training.rounding_of_columns
        self.vectors = training.class_vectors  # S', a row for each class
        self.sums = training.statistics.class_sums  # (XL)' for labels 0 and 1
        self.cross: Float64Array = self.vectors.T @ self.sums  # YX'
        self.cross[_is_rounding(self.cross, training)] = 0
        self.counts = training.statistics.counts
        self.is_centred = training.features.is_centred
        # Centred class vectors say nothing of the overall mean, and neither do those of unseen classes.
        self._misses_mean = training.classes.is_centred and not self.is_centred

    @property
    def gram(self) -> Float64Array:
        """XX'."""
        return self._statistics.gram

    @property
    def squares(self) -> Float64Array:
        """The diagonal of XX'."""
        return self._statistics.squares

    @property
    def means(self) -> Float64Array:
        """The mean sample of each class, a row each."""
        return self.sums / self.counts[:, None]

    @property
    def intercept(self) -> Float64Array:
        """The intercept of predicted means: the overall mean, or 0 where it is predicted as well."""
        if not self._misses_mean:
            return np.zeros(self.sums.shape[1])
        return np.asarray(self.sums.sum(axis=0) / self.counts.sum())

    @property
    def scatter(self) -> Float64Array:
        """The sum of products of deviations of samples from the mean of their class."""
        return np.asarray(self.gram - self.sums.T @ self.means)

    @cached_property
    def visual(self) -> GramBasis:
        """The basis of XX'."""
        return GramBasis(self._statistics.gram, self._rounding)

    @cached_property
    def semantic(self) -> GramBasis:
        """The basis of YY', where each class counts as often as it has samples."""
        return GramBasis((self.vectors.T * self._statistics.counts) @ self.vectors)

    @cached_property
    def classes(self) -> GramBasis:
        """The basis of SS', where each class counts once."""
        return GramBasis(self.vectors.T @ self.vectors)


def _is_rounding(cross: Float64Array, training: TrainingData) -> npt.NDArray[np.bool_]:
    """Whether a row of YX' is rounding alone.

    So it is for an attribute that is the same in all training classes, where samples are centred: it is multiplied by
    the sum of all samples, which is 0.
    """
    statistics = training.statistics
    lengths = np.linalg.norm(statistics.class_sums, axis=1) + statistics.counts * training.features.reach()[1]
    return np.asarray(np.linalg.norm(cross, axis=1) <= NOISE * (lengths @ np.abs(training.class_vectors)))


def one_map(W: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return a map of samples to class vectors as two projections: A = W and B = I, so that B'Ax = Wx, A'By = W'y."""
    return W, np.eye(len(W))
