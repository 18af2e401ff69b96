"""The descent for many classes of equal counts, reduced to the few directions that the data determines.

With c classes of the same count, a descent that starts from their own codes H distinguishes at most m + d directions:
those of the class sums and of the class vectors. In a rotated basis that has these directions first, concepts and
classes separate. Along the directions the descent is that of as many classes; across them A and B are zero, and C is a
multiple of H. Nothing is approximated (docs/algorithm.md).
"""

from __future__ import annotations

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.support.arguments import Float64Array, IntArray

_SAME_COUNT = 1e-12  # relative difference of equal counts: sums of weights carry rounding errors
_LEAST_CLASSES = 256  # with fewer classes the rotation saves little


class RotatedClasses:
    """The input of a descent, with directions in place of classes."""

    def __init__(self, statistics: Statistics, class_vectors: Float64Array, groups: list[np.ndarray]) -> None:
        m, counts = statistics.n_features, statistics.counts
        both = np.hstack([statistics.class_sums, class_vectors])
        # classes of the same count, with their directions as orthonormal columns; None if they are not rotated
        self._groups: list[tuple[IntArray, Float64Array | None]] = []
        self._n_classes, parts, sizes = len(both), [], []
        self.idle = 0.0  #: |H|^2 across the directions
        for classes in groups:
            directions, rows = None, both[classes]
            if len(classes) > both.shape[1]:
                directions, rows = np.linalg.qr(rows)
                self.idle += float(counts[classes].mean()) * (len(classes) - len(rows))
            self._groups.append((classes, directions))
            parts.append(rows)
            sizes.append(np.full(len(rows), counts[classes].mean()))
        rotated = np.vstack(parts)
        self.statistics = Statistics.from_arrays(statistics.gram, rotated[:, :m], np.concatenate(sizes))
        self.class_vectors = np.ascontiguousarray(rotated[:, m:])
        self.n_directions = len(rotated)

    def by_class(self, rows: Float64Array) -> Float64Array:
        """Map a matrix with a row per direction to one with a row per class; it is zero across the directions."""
        out, first = np.empty((self._n_classes, rows.shape[1])), 0
        for classes, directions in self._groups:
            count = len(classes) if directions is None else directions.shape[1]
            part = rows[first : first + count]
            out[classes] = part if directions is None else directions @ part
            first += count
        return out

    def codes_by_class(self, codes: Float64Array, across: float) -> Float64Array:
        """Return E (n_classes, n_classes) from E of the directions; across them C is that multiple of H."""
        both = self.by_class(self.by_class(codes - across * np.eye(len(codes))).T).T
        return np.asarray(both + across * np.eye(len(both)))


def rotated_classes(statistics: Statistics, class_vectors: Float64Array) -> RotatedClasses | None:
    """Return the rotated classes, or None if there are not much fewer directions than classes."""
    counts, n_most = statistics.counts, statistics.n_features + class_vectors.shape[1]
    if n_directions(counts, n_most) == len(counts):
        return None
    return RotatedClasses(statistics, class_vectors, _groups(counts))


def n_directions(counts: Float64Array, n_most: int) -> int:
    """Return the number of directions (at most n_most per distinct count), or of classes if those are few."""
    found = sum(min(len(classes), n_most) for classes in _groups(counts))
    return found if len(counts) >= _LEAST_CLASSES and 2 * found <= len(counts) else len(counts)


def _groups(counts: Float64Array) -> list[np.ndarray]:
    order = np.argsort(counts, kind="stable")
    steps = np.diff(counts[order]) > _SAME_COUNT * counts[order][1:]
    return np.split(order, np.flatnonzero(steps) + 1)
