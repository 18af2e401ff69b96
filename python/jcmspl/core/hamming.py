"""Binary codes: packed 64 bits to a word, compared by the number of bits in which they differ."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import Float64Array, IntArray, as_count, as_real_array, require_finite
from jcmspl.support.threads import blas_threads

Words = npt.NDArray[np.uint64]


def packed_signs(values: npt.ArrayLike) -> Words:
    """Return a bit for each value, 1 where it is not negative, packed into words row by row."""
    bits = as_real_array(values, "values") >= 0
    packed = np.packbits(bits, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


class HammingScorer:
    """The score of a candidate is its bias minus the number of bits in which it differs from a sample.

    Parameters
    ----------
    candidates : ndarray of uint64 of shape (n_candidates, n_words)
        As :func:`packed_signs` makes them.
    bias : array_like of shape (n_candidates,), optional
    """

    def __init__(self, candidates: Words, bias: npt.ArrayLike | None = None) -> None:
        self.candidates = _checked(candidates, "candidates")
        if len(self.candidates) == 0:
            raise ValueError("there are no candidates")
        offsets = np.zeros(len(self.candidates)) if bias is None else as_real_array(bias, "bias", ndim=1)
        require_finite(offsets, "bias")
        if len(offsets) != len(self.candidates):
            raise ValueError(f"there are {len(self.candidates)} candidates but {len(offsets)} values of bias")
        self.bias = np.ascontiguousarray(offsets, dtype=np.float64)

    def scores(self, X: Words) -> Float64Array:
        """Return the scores of all candidates, (n, n_candidates), for packed codes."""
        return _core.hamming_scores(self._samples(X), self.candidates, self.bias, blas_threads())

    def top_k(self, X: Words, k: int = 1) -> tuple[IntArray, Float64Array]:
        """Return the indices and scores, each (n, k), of the best candidates, best first; ties to the lower index."""
        k = as_count(k, "k", maximum=len(self.candidates))
        return _core.hamming_top_k(self._samples(X), self.candidates, self.bias, k, blas_threads())

    def _samples(self, X: Words) -> Words:
        words = _checked(X, "X")
        if words.shape[1] != self.candidates.shape[1]:
            raise ValueError(f"X has codes of {words.shape[1]} words, but candidates of {self.candidates.shape[1]}")
        return words


def _checked(words: Words, name: str) -> Words:
    if np.ndim(words) != 2 or words.dtype != np.uint64:
        raise TypeError(f"{name} must be codes packed by packed_signs: a matrix of dtype uint64")
    return np.ascontiguousarray(words)
