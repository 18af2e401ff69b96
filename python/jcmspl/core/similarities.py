"""Similarities that are not inner products: Hamming distances of binary codes, and intersections of histograms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import Float64Array, IntArray, as_count, as_matrix, as_real_array, require_finite
from jcmspl.support.machine import blas_threads

Words = npt.NDArray[np.uint64]


def packed_signs(values: npt.ArrayLike) -> Words:
    """Return one bit per value, 1 where it is not negative, packed row by row into words of 64 bits."""
    packed = np.packbits(as_real_array(values, "values") >= 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


class HammingScorer:
    """Scores of binary codes: a candidate's bias minus the number of bits in which its code differs from a sample's.

    Codes are made by :func:`packed_signs`.
    """

    def __init__(self, candidates: Words, bias: npt.ArrayLike | None = None) -> None:
        self.candidates = _packed(candidates, "candidates")
        if len(self.candidates) == 0:
            raise ValueError("there are no candidates")
        offsets = np.zeros(len(self.candidates)) if bias is None else as_real_array(bias, "bias", ndim=1)
        require_finite(offsets, "bias")
        if len(offsets) != len(self.candidates):
            raise ValueError(f"there are {len(self.candidates)} candidates but {len(offsets)} values of bias")
        self.bias = np.ascontiguousarray(offsets, dtype=np.float64)

    def scores(self, X: Words) -> Float64Array:
        """Return the scores (n, n_candidates) of packed codes."""
        return _core.hamming_scores(self._samples(X), self.candidates, self.bias, blas_threads())

    def top_k(self, X: Words, k: int = 1) -> tuple[IntArray, Float64Array]:
        """Return the indices and scores, each (n, k), of the best candidates, best first; ties to the lower index."""
        k = as_count(k, "k", maximum=len(self.candidates))
        return _core.hamming_top_k(self._samples(X), self.candidates, self.bias, k, blas_threads())

    def _samples(self, X: Words) -> Words:
        words = _packed(X, "X")
        if words.shape[1] != self.candidates.shape[1]:
            raise ValueError(
                f"X has codes of {words.shape[1]} words, but the candidates have {self.candidates.shape[1]}"
            )
        return words


def _packed(words: Words, name: str) -> Words:
    if np.ndim(words) != 2 or words.dtype != np.uint64:
        raise TypeError(f"{name} must be codes packed by packed_signs: a matrix of dtype uint64")
    return np.ascontiguousarray(words)


class Intersections:
    """Weighted intersections of samples with the rows of a matrix of thresholds, ``sum_k w_k min(x_k, v_k)``."""

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

        Where a threshold equals a value, the gradient is the one from above.
        """
        samples, of_scores = self._samples(X), as_matrix(factors, "factors")
        expected = (len(samples), len(self.thresholds))
        if of_scores.shape != expected:
            raise ValueError(f"factors must be of shape {expected}, but are of shape {of_scores.shape}")
        return _core.intersection_gradients(samples, self.thresholds, self.weights, of_scores, blas_threads())

    def _samples(self, X: npt.ArrayLike) -> Float64Array:
        samples = as_matrix(X, "X")
        if samples.shape[1] != self.thresholds.shape[1]:
            raise ValueError(f"X has {samples.shape[1]} features, but thresholds have {self.thresholds.shape[1]}")
        return samples
