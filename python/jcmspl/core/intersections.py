"""Weighted intersections of samples with thresholds, ``sum_k w_k min(x_k, v_k)``, and their gradients."""

from __future__ import annotations

import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import Float64Array, as_matrix, as_real_array, require_finite
from jcmspl.support.threads import blas_threads


class Intersections:
    """Intersections with the rows of a matrix of thresholds.

    Parameters
    ----------
    thresholds : array_like of shape (c, m)
    weights : array_like of shape (m,)
    """

    def __init__(self, thresholds: npt.ArrayLike, weights: npt.ArrayLike) -> None:
        self.thresholds = as_matrix(thresholds, "thresholds")
        self.weights = as_real_array(weights, "weights", ndim=1).astype("float64")
        require_finite(self.weights, "weights")
        if self.weights.shape != self.thresholds.shape[1:]:
            raise ValueError(
                f"thresholds have {self.thresholds.shape[1]} columns, but there are {len(self.weights)} weights"
            )

    def of(self, X: npt.ArrayLike) -> Float64Array:
        """Return the intersections of samples with all thresholds, (n, c)."""
        return _core.intersections(self._samples(X), self.thresholds, self.weights, blas_threads())

    def gradients(self, X: npt.ArrayLike, factors: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
        """Return the gradients of ``sum(factors * self.of(X))`` with respect to weights and thresholds.

        Where a threshold is equal to a value the gradient is that from above.
        """
        samples, of_scores = self._samples(X), as_matrix(factors, "factors")
        if of_scores.shape != (len(samples), len(self.thresholds)):
            expected = (len(samples), len(self.thresholds))
            raise ValueError(f"factors must be of shape {expected}, but are of shape {of_scores.shape}")
        return _core.intersection_gradients(samples, self.thresholds, self.weights, of_scores, blas_threads())

    def _samples(self, X: npt.ArrayLike) -> Float64Array:
        samples = as_matrix(X, "X")
        if samples.shape[1] != self.thresholds.shape[1]:
            raise ValueError(f"X has {samples.shape[1]} features, but thresholds have {self.thresholds.shape[1]}")
        return samples
