"""Recognisers: a fitted model and its candidate classes, folded into something that names samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from jcmspl.core.search import AffineScorer
from jcmspl.data.labels import LabelArray
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray, as_count

#: ``D(Z, P)``: distances, (len(Z), len(P)), between samples and candidates.
Distance = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.ArrayLike]

# Samples that are handed to a user's distance function at a time.
_BLOCK = 1024


class Recogniser(Protocol):
    """What names samples: scores for candidate classes, the higher the better."""

    @property
    def labels(self) -> LabelArray:
        """The labels of the candidates."""
        ...

    def scores(self, X: npt.NDArray[Any]) -> FloatArray:
        """Return the scores of all candidates, (n, n_candidates)."""
        ...

    def top_k(self, X: npt.NDArray[Any], k: int) -> tuple[IntArray, FloatArray]:
        """Return the indices and scores of the k best candidates, best first."""
        ...


@dataclass(frozen=True, eq=False)
class LinearRecogniser:
    """A plain linear layer that recognises: the score of a candidate c is ``x @ weights[c] + bias[c]``.

    All of a model is in it: normalisation, projections, metric, candidates and calibration.

    Attributes
    ----------
    weights : ndarray of shape (n_candidates, n_features)
    bias : ndarray of shape (n_candidates,)
    labels : ndarray of shape (n_candidates,)
    unit_rows : bool
        Whether samples must be divided by their length first.
    """

    weights: Float64Array
    bias: Float64Array
    labels: LabelArray
    unit_rows: bool

    def __post_init__(self) -> None:
        scorer = AffineScorer(self.weights, self.bias, unit_rows=self.unit_rows)
        object.__setattr__(self, "_scorer", scorer)

    def scores(self, X: npt.ArrayLike) -> FloatArray:
        """Return the scores of all candidates, (n, n_candidates)."""
        scorer: AffineScorer = self._scorer  # type: ignore[attr-defined]
        return scorer.scores(X)

    def top_k(self, X: npt.ArrayLike, k: int = 1) -> tuple[IntArray, FloatArray]:
        """Return the indices and scores, each (n, k), of the best candidates, best first."""
        scorer: AffineScorer = self._scorer  # type: ignore[attr-defined]
        return scorer.top_k(X, k)

    def predict(self, X: npt.ArrayLike) -> LabelArray:
        """Return the label of the best candidate of each sample."""
        return np.asarray(self.labels[self.top_k(X, 1)[0][:, 0]])

    def to_onnx(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the layer as an ONNX model; needs ``pip install 'jcmspl[onnx]'``.

        Its input is ``features`` (n, n_features) in float32, its outputs ``scores`` (n, n_candidates) and ``index``
        (n,), the number of the best candidate. The labels are in the model's metadata, as a JSON list.
        """
        from jcmspl.io.onnx import write_onnx

        write_onnx(self, Path(path), overwrite=overwrite)


@dataclass(frozen=True, eq=False)
class DistanceRecogniser:
    """Recognition with a distance of the user's own: the paper's arbitrary D.

    Samples are projected and compared a block at a time. The score is minus the distance.
    """

    distance: Distance
    project: Callable[[npt.NDArray[Any]], FloatArray]
    prototypes: Float64Array
    bias: Float64Array
    labels: LabelArray

    def scores(self, X: npt.NDArray[Any]) -> FloatArray:
        """Return the scores of all candidates, (n, n_candidates)."""
        return np.concatenate([self._block(X[first : first + _BLOCK]) for first in range(0, len(X), _BLOCK)])

    def top_k(self, X: npt.NDArray[Any], k: int) -> tuple[IntArray, FloatArray]:
        """Return the indices and scores of the k best candidates, best first."""
        k = as_count(k, "k", maximum=len(self.labels))
        indices, values = [], []
        for first in range(0, len(X), _BLOCK):
            scores = self._block(X[first : first + _BLOCK])
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            indices.append(best)
            values.append(np.take_along_axis(scores, best, axis=1))
        return np.concatenate(indices).astype(np.int64), np.concatenate(values)

    def _block(self, X: npt.NDArray[Any]) -> FloatArray:
        distances = np.asarray(self.distance(self.project(X), self.prototypes))
        expected = (len(X), len(self.prototypes))
        if distances.shape != expected:
            raise ValueError(
                f"the metric returned an array of shape {distances.shape} for {expected[0]} samples and {expected[1]} "
                f"candidates: it must be a function D(Z, P) that returns distances of shape {expected}"
            )
        if not np.isfinite(distances).all():
            raise ValueError("the metric returned NaN or infinity")
        return np.asarray(self.bias - distances)
