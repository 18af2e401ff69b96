"""Samples with what they weigh, block by block, once or again and again, and sums over the samples of classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.sparse import csr_array

from jcmspl.data.training import TrainingData
from jcmspl.support.arguments import Float64Array, IntArray

# Bytes up to which normalised samples are kept and not made anew each time.
_KEPT = 2**30

#: Normalised samples, their class numbers and their weights.
Block = tuple[Float64Array, IntArray, Float64Array]


class WeightedBlocks(Iterable[Block]):
    """Normalised samples, their class numbers and their weights, block by block, as often as a method asks for them."""

    def __init__(self, training: TrainingData, size: int = 8192) -> None:
        self._training, self._size = training, size
        small = 8 * len(training.numbers) * training.statistics.n_features <= _KEPT
        self._kept = list(weighted_samples(training, size)) if small else None

    def __iter__(self) -> Iterator[Block]:
        return weighted_samples(self._training, self._size) if self._kept is None else iter(self._kept)


def weighted_samples(training: TrainingData, size: int) -> Iterator[Block]:
    """Give normalised samples, their class numbers and their weights, a block at a time."""
    weights, first = training.sample_weights, 0
    for Z, numbers in training.samples(size):
        yield Z, numbers, np.ones(len(Z)) if weights is None else weights[first : first + len(Z)]
        first += len(Z)


def sums_by_class(rows: Float64Array, numbers: IntArray, n_classes: int) -> Float64Array:
    """Return the sum of the rows of each class."""
    labels = csr_array((np.ones(len(rows)), (numbers, np.arange(len(rows)))), shape=(n_classes, len(rows)))
    return np.asarray(labels @ rows)
