"""Sums of labelled samples: what is remembered of them where their whole statistics would be too much."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labels import Label
from jcmspl.support.arguments import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class LabelledSums:
    """The sum and the number of the samples of each class, which are scaled (see Scaling) and not yet normalised.

    Attributes
    ----------
    labels : list of labels
    sums : ndarray of shape (n_classes, n_features)
    counts : ndarray of shape (n_classes,)
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
