"""Kernels for class vectors: a map of them, learnt from the seen classes, that any linear method can take.

With K the kernel of the seen classes and k(y) that of a class with each of them, phi(y) = K^(-1/2) k(y): inner products
of seen classes are then their kernel. It is centred on the seen classes, and scaled so that their mean square length
is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist, pdist

from jcmspl.support.arguments import Float64Array

# Eigenvalues of a kernel below this part of the largest, times their number, are rounding.
_NOISE = 1e-14
# Entries of an eigenvector are off by a few last digits, the more the nearer another eigenvalue is, of their size.
_LAST_DIGITS, _LEAST_GAP = 16 * np.finfo(np.float64).eps, 1e-6
# Widths whose squares are numbers; classes are all alike, or all strangers, long before.
_WIDTHS = 1e-150, 1e150


@dataclass(frozen=True, eq=False)
class ClassKernel:
    """A fitted map."""

    name: str  #: "poly2", (1 + s . t)^2, or "rbf", exp(-|s - t|^2 / (2 width^2))
    width: float  #: of "rbf", in the units of the normalised class vectors
    anchors: Float64Array  #: (n_seen, n_attributes), the normalised vectors of the seen classes
    root: Float64Array  #: (n_seen, n_dimensions), K^(-1/2) on the space that the kernel spans, scaled
    shift: Float64Array

    @classmethod
    def fitted(cls, name: str, relative_width: float, anchors: Float64Array) -> ClassKernel:
        """Fit to the normalised vectors of the seen classes; the width is relative to their median distance."""
        distances = pdist(anchors)
        median = float(np.median(distances)) if distances.any() else 1.0
        width = relative_width * (median or float(distances.mean()))
        width = float(np.clip(width, *_WIDTHS))
        kernel = _kernel(name, width, anchors, anchors)
        values, vectors = eigh(kernel)
        kept = values > len(values) * _NOISE * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        mapped = kernel @ root
        shift = mapped.mean(axis=0)
        length = float(np.sqrt(np.mean(np.sum((mapped - shift) ** 2, axis=1)))) or 1.0
        return cls(name, width, anchors, np.ascontiguousarray(root / length), shift / length)

    def of(self, rows: Float64Array) -> Float64Array:
        """Map normalised class vectors."""
        moved = _kernel(self.name, self.width, rows, self.anchors) @ self.root - self.shift
        # what the seen classes have in common must not look like a difference between them
        moved[np.abs(moved) <= self._rounding] = 0
        return np.asarray(moved)

    @cached_property
    def _rounding(self) -> Float64Array:
        """Rounding in the dimension that the seen classes share, if they do; 0 in dimensions where they differ.

        It can only be that of the largest eigenvalue: a kernel is positive, and so are the entries of its eigenvector
        alone. These are the less certain, the nearer the next eigenvalue is.
        """
        rounding = np.zeros(len(self.shift))
        if rounding.size:
            lengths = np.sum(self.root**2, axis=0)  # of each, 1 / eigenvalue
            nearness = lengths[-1] / np.min(lengths[:-1], initial=np.inf)
            noise = _LAST_DIGITS / max(1 - nearness, _LEAST_GAP)
            largest = _kernel(self.name, self.width, self.anchors, self.anchors) @ self.root[:, -1]
            noise *= np.abs(largest).max()
            rounding[-1] = noise * (np.abs(largest - self.shift[-1]).max() <= noise)
        return rounding


def _kernel(name: str, width: float, rows: Float64Array, anchors: Float64Array) -> Float64Array:
    if name == "poly2":
        return np.asarray((1 + rows @ anchors.T) ** 2)
    return np.asarray(np.exp(-cdist(rows, anchors, "sqeuclidean") / (2 * width**2)))
