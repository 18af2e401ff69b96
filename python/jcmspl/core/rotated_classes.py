"""Many classes with equal counts, seen along the few directions that the data has a part in.

Of c classes that weigh the same, a descent that starts from their own codes H can tell m + d directions at most: those
of the class sums and of the class vectors. Turned so that these come first, its concepts and its classes fall apart.
Along the directions it is the descent of as many classes; across them A and B are zero, and C is a multiple of H.
Nothing is approximated (docs/algorithm.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.support.arguments import Float64Array

#: Counts that are sums of weights differ by rounding where they should be equal.
_SAME_COUNT = 1e-12
#: Fewer classes are not worth the trouble.
_LEAST_CLASSES = 256


@dataclass(frozen=True)
class _Group:
    """Classes of the same count, and the directions among them: orthonormal columns, or None for the classes."""

    classes: np.ndarray
    directions: Float64Array | None


class TurnedClasses:
    """What a descent needs of classes, by directions in place of classes."""

    def __init__(self, statistics: Statistics, class_vectors: Float64Array, groups: list[np.ndarray]) -> None:
        m, counts = statistics.n_features, statistics.counts
        both = np.hstack([statistics.class_sums, class_vectors])
        self._n_classes, self._groups, parts, sizes = len(both), [], [], []
        #: |H|^2 across the directions
        self.idle = 0.0
        for classes in groups:
            directions, rows = None, both[classes]
            if len(classes) > both.shape[1]:
                directions, rows = np.linalg.qr(rows)
                self.idle += float(counts[classes].mean()) * (len(classes) - len(rows))
            self._groups.append(_Group(classes, directions))
            parts.append(rows)
            sizes.append(np.full(len(rows), counts[classes].mean()))
        turned = np.vstack(parts)
        self.statistics = Statistics.from_arrays(statistics.gram, turned[:, :m], np.concatenate(sizes))
        self.class_vectors = np.ascontiguousarray(turned[:, m:])

    @property
    def n_directions(self) -> int:
        """How many there are, in place of the number of classes."""
        return len(self.class_vectors)

    def by_class(self, rows: Float64Array) -> Float64Array:
        """Return what has a row for each direction with a row for each class: zero across the directions."""
        out, first = np.empty((self._n_classes, rows.shape[1])), 0
        for group in self._groups:
            count = len(group.classes) if group.directions is None else group.directions.shape[1]
            part = rows[first : first + count]
            out[group.classes] = part if group.directions is None else group.directions @ part
            first += count
        return out

    def codes_by_class(self, codes: Float64Array, across: float) -> Float64Array:
        """Return E (n_classes, n_classes) from E of the directions and the multiple of H that C is across them."""
        both = self.by_class(self.by_class(codes - across * np.eye(len(codes))).T).T
        return np.asarray(both + across * np.eye(len(both)))


def turned_classes(statistics: Statistics, class_vectors: Float64Array) -> TurnedClasses | None:
    """Return the classes by directions, or None where these are not much fewer."""
    counts, n_most = statistics.counts, statistics.n_features + class_vectors.shape[1]
    if n_directions(counts, n_most) == len(counts):
        return None
    return TurnedClasses(statistics, class_vectors, _groups(counts))


def n_directions(counts: Float64Array, n_most: int) -> int:
    """Return how many a descent works with: at most n_most of each count, or all classes where these are not many."""
    found = sum(min(len(classes), n_most) for classes in _groups(counts))
    return found if len(counts) >= _LEAST_CLASSES and 2 * found <= len(counts) else len(counts)


def _groups(counts: Float64Array) -> list[np.ndarray]:
    order = np.argsort(counts, kind="stable")
    steps = np.diff(counts[order]) > _SAME_COUNT * counts[order][1:]
    return np.split(order, np.flatnonzero(steps) + 1)
