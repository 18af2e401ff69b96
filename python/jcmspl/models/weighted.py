"""Samples with what they weigh, block by block, and sums over the samples of classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from jcmspl.data.training import TrainingData
from jcmspl.support.arguments import Float64Array, IntArray


def weighted_samples(training: TrainingData, size: int) -> Iterator[tuple[Float64Array, IntArray, Float64Array]]:
    """Give normalised samples, their class numbers and their weights, a block at a time."""
    weights, first = training.sample_weights, 0
    for Z, numbers in training.samples(size):
        yield Z, numbers, np.ones(len(Z)) if weights is None else weights[first : first + len(Z)]
        first += len(Z)


def sums_by_class(rows: Float64Array, numbers: IntArray, n_classes: int) -> Float64Array:
    """Return the sum of the rows of each class."""
    labels = csr_array((np.ones(len(rows)), (numbers, np.arange(len(rows)))), shape=(n_classes, len(rows)))
    return np.asarray(labels @ rows)
