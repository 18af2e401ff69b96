"""Scores of candidates, and the search for the nearest, in any of the three spaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import (
    Float64Array,
    FloatArray,
    IntArray,
    as_count,
    as_matrix,
    as_real_array,
    as_samples,
    one_of,
    readable_blocks,
    require_finite,
    working_dtype,
)
from jcmspl.support.machine import blas_threads, one_blas_thread
from jcmspl.support.names import METRICS as METRICS
from jcmspl.support.names import SPACES as SPACES
from jcmspl.support.scaling import Scaling

# Weights that fit in the cache of a core, and the number of sample values from which the core's own threads pay.
_FEW_WEIGHTS, _MANY_VALUES = 2**17, 2**22

Space = Literal["visual", "semantic", "concept"]
Metric = Literal["cosine", "euclidean", "dot"]


def nearest(
    X: npt.ArrayLike, prototypes: npt.ArrayLike, k: int = 1, *, metric: Metric = "cosine"
) -> tuple[IntArray, FloatArray]:
    """Find the nearest prototypes of each sample.

    The search is exact. Only a block of scores is in memory at a time; with many prototypes most scores are not even
    computed, because cheap bounds rule them out. Of equal scores the lower index wins. A vector of zeros has cosine 0
    with every vector.

    Parameters
    ----------
    X : array_like of shape (n, m)
    prototypes : array_like of shape (c, m)
        The values are float32 if both arrays are, else float64. Distances, and all scores of a large search, are
        compared in float64 in either case; where float32 values are equal the lower index comes first.
    k : int, default 1
        Number of prototypes, from 1 to c.
    metric : {"cosine", "euclidean", "dot"}

    Returns
    -------
    indices : ndarray of shape (n, k)
        Row numbers of the prototypes, nearest first.
    values : ndarray of shape (n, k)
        Cosine similarities or inner products (falling), or distances (rising).

    Examples
    --------
    >>> from jcmspl.core import nearest
    >>> indices, distances = nearest([[0.0, 1.0]], [[3.0, 1.0], [0.0, 2.0]], k=2, metric="euclidean")
    >>> indices
    array([[1, 0]])
    >>> distances
    array([[1., 3.]])
    """
    X, prototypes = as_real_array(X, "X"), as_real_array(prototypes, "prototypes")
    if X.shape[1] != prototypes.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but prototypes has {prototypes.shape[1]}")
    if len(prototypes) == 0:
        raise ValueError("prototypes is empty")
    dtype = working_dtype(X, prototypes)
    X, prototypes = as_samples(X.astype(dtype, copy=False)), as_matrix(prototypes, "prototypes", dtype)
    k = as_count(k, "k", maximum=len(prototypes))
    one_of(metric, "metric", METRICS)
    with _overflow_as_advice():
        return _core.nearest(X, prototypes, k, getattr(_core.Metric, metric), blas_threads())


class AffineScorer:
    """A linear layer of scores: the score of candidate c is ``x @ weights[c] + bias[c]``.

    Parameters
    ----------
    weights : array_like of shape (n_candidates, n_features)
    bias : array_like of shape (n_candidates,), optional
    unit_rows : bool, default False
        Divide each sample by its length first.
    power : bool, default False
        Take the signed root of each value before that.

    Examples
    --------
    >>> from jcmspl.core import AffineScorer
    >>> scorer = AffineScorer([[1.0, 0.0], [0.0, 2.0]], bias=[0.0, -1.0])
    >>> scorer.scores([[1.0, 1.5]])
    array([[1., 2.]])
    >>> scorer.top_k([[1.0, 1.5]])[0]
    array([[1]])
    """

    def __init__(
        self,
        weights: npt.ArrayLike,
        bias: npt.ArrayLike | None = None,
        *,
        unit_rows: bool = False,
        power: bool = False,
    ) -> None:
        given = as_real_array(weights, "weights")
        self.weights = as_matrix(given, "weights", working_dtype(given))
        if self.weights.size == 0:
            raise ValueError(f"there are no candidates or no features (the shape of weights is {self.weights.shape})")
        offsets = np.zeros(len(self.weights)) if bias is None else as_real_array(bias, "bias", ndim=1)
        require_finite(offsets, "bias")
        if len(offsets) != len(self.weights):
            raise ValueError(f"there are {len(self.weights)} candidates but {len(offsets)} values of bias")
        self.bias = np.ascontiguousarray(offsets, dtype=self.weights.dtype)
        self.scaling = Scaling(bool(unit_rows), bool(power))

    @classmethod
    def fold(
        cls,
        visual_projection: npt.ArrayLike,
        semantic_projection: npt.ArrayLike,
        candidates: npt.ArrayLike,
        *,
        space: Space = "semantic",
        metric: Metric = "cosine",
        unit_rows: bool = False,
    ) -> AffineScorer:
        """Fold the projections A and B and the vectors of the candidate classes into a scorer.

        Parameters
        ----------
        visual_projection : array_like of shape (k, m)
            The paper's A.
        semantic_projection : array_like of shape (k, d)
            The paper's B.
        candidates : array_like of shape (n_candidates, d)
            Class vectors y.
        space : {"semantic", "visual", "concept"}
            Compare B'Ax with y, x with A'By, or Ax with By.
        metric : {"cosine", "euclidean", "dot"}
            The cosine is multiplied by the length of the sample in that space, which all candidates share. Euclidean
            scores are minus half the squared distance, up to a term that all candidates share.
        unit_rows : bool, default False
            Divide each sample by its length first.
        """
        folded = fold(visual_projection, semantic_projection, candidates, space=space, metric=metric)
        return cls(*folded, unit_rows=unit_rows)

    def top_k(self, X: npt.ArrayLike, k: int = 1) -> tuple[IntArray, FloatArray]:
        """Return the indices and scores, each (n, k), of the best candidates of each sample, best first."""
        k = as_count(k, "k", maximum=len(self.weights))
        samples, n_threads = as_real_array(X, "X"), blas_threads()
        if n_threads == 1 or self.weights.size > _FEW_WEIGHTS or math.prod(samples.shape) < _MANY_VALUES:
            parts = self._by_blocks(samples, _core.top_k, k, *self.scaling, n_threads)
        else:
            # reading samples takes as long as multiplying them, so all threads must do both
            with one_blas_thread():
                parts = self._by_blocks(samples, _core.top_k, k, *self.scaling, n_threads, n_threads)
        indices, scores = zip(*parts, strict=True)
        return joined(indices), joined(scores)

    def scores(self, X: npt.ArrayLike) -> FloatArray:
        """Return the scores of all candidates, (n, n_candidates)."""
        return joined(self._by_blocks(X, _core.affine_scores, *self.scaling))

    def _by_blocks(self, X: npt.ArrayLike, search: Callable[..., Any], *options: Any) -> list[Any]:
        """Run the search on each block of samples."""
        array = as_real_array(X, "X")
        results = []
        for rows in readable_blocks(array):
            # the samples decide the precision: there are more samples than weights
            block = as_samples(array[rows])
            if block.shape[1] != self.weights.shape[1]:
                raise ValueError(f"X has {block.shape[1]} features, but the candidates have {self.weights.shape[1]}")
            with np.errstate(over="ignore"):
                weights, bias = (np.ascontiguousarray(part, dtype=block.dtype) for part in (self.weights, self.bias))
            if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
                raise ValueError("the weights are too large for float32 samples: pass X as float64")
            with _overflow_as_advice():
                results.append(search(block, weights, bias, *options))
        return results


def fold(
    visual_projection: npt.ArrayLike,
    semantic_projection: npt.ArrayLike,
    candidates: npt.ArrayLike,
    *,
    space: str,
    metric: str,
) -> tuple[Float64Array, Float64Array]:
    """Return the weights and the bias of :meth:`AffineScorer.fold`."""
    one_of(space, "space", SPACES)
    one_of(metric, "metric", METRICS)
    A = as_matrix(visual_projection, "visual_projection")
    B = as_matrix(semantic_projection, "semantic_projection")
    vectors = as_matrix(candidates, "candidates")
    if len(A) != len(B):
        raise ValueError(f"the projections have {len(A)} and {len(B)} concepts, but must have the same number")
    if vectors.shape[1] != B.shape[1]:
        raise ValueError(f"candidates have {vectors.shape[1]} attributes, but the projection has {B.shape[1]}")
    weights, bias = _core.fold(A, B, vectors, getattr(_core.Space, space), getattr(_core.Metric, metric))
    if metric == "cosine" and space != "semantic":
        with np.errstate(all="ignore"):
            weights[_is_rounding(A, B, vectors, weights if space == "visual" else None)] = 0
    return weights, bias


def _is_rounding(
    A: Float64Array, B: Float64Array, vectors: Float64Array, directions: Float64Array | None
) -> npt.NDArray[np.bool_]:
    """Whether the attributes of a class cancel out, so that the direction of its prototype is rounding error.

    The prototype is A'By if directions are given, else By. The core already zeroes prototypes below the rounding error
    of these products. But the projections have errors themselves: they solve equations whose condition multiplies
    rounding errors. The bound is half of the digits of the sum of the lengths that the attributes contribute.
    """
    of_concepts = np.linalg.norm(A, axis=1) if directions is not None else None
    of_attributes = np.linalg.norm(B, axis=0) if of_concepts is None else of_concepts @ np.abs(B)
    codes = vectors @ B.T
    if directions is None:
        lengths = np.linalg.norm(codes, axis=1)
    else:  # from the longest coordinate alone, which takes much less work than all of them
        rows, longest = np.arange(len(vectors)), np.abs(directions).argmax(axis=1)
        along = directions[rows, longest]
        lengths = np.abs((codes * A[:, longest].T).sum(axis=1)) / np.where(along == 0, 1, np.abs(along))
    bound = np.sqrt(np.finfo(np.float64).eps) * (np.abs(vectors) @ of_attributes)
    return np.asarray((lengths <= bound) & np.isfinite(bound))


def joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return all rows of arrays; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@contextmanager
def _overflow_as_advice() -> Iterator[None]:
    try:
        yield
    except OverflowError:
        raise ValueError("the scores overflow: scale the data down or use float64") from None
