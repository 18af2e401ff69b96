"""Class maps: how a vector of any class becomes its scores, for those who compute them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jcmspl.support.arguments import Float64Array


@dataclass(frozen=True, eq=False)
class ClassMap:
    """The score of a class with the normalised vector v for the normalised sample z is ``(Qv) . (Pz)``, and more.

    By ``metric`` it is divided by ``|Fv|`` ("cosine", and 0 where that is 0), or ``|Fv|^2 / 2`` is taken off
    ("euclidean"), or neither ("dot").

    Attributes
    ----------
    of_samples : ndarray of shape (k, n_features)
        P.
    of_classes : ndarray of shape (k, n_attributes) or None
        Q; None: the identity.
    lengths : ndarray of shape (r, n_attributes) or None
        F; None: the identity.
    metric : {"cosine", "euclidean", "dot"}
    """

    of_samples: Float64Array
    of_classes: Float64Array | None
    lengths: Float64Array | None
    metric: str

    @classmethod
    def of_projections(cls, A: Float64Array, B: Float64Array, space: str, metric: str) -> ClassMap:
        """Return the map of two projections, of samples and of class vectors, in one of the three spaces."""
        if metric == "dot" or space == "semantic":
            lengths = None
        else:  # |A'Bv| is |RBv| for A' = QR
            lengths = B if space == "concept" else np.linalg.qr(A.T, mode="r") @ B
        if len(A) > B.shape[1]:
            return cls(B.T @ A, None, lengths, metric)
        return cls(A, B, lengths, metric)

    @property
    def size(self) -> int:
        """How many numbers it takes."""
        return sum(part.size for part in (self.of_samples, self.of_classes, self.lengths) if part is not None)
