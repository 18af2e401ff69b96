"""Gaussian discriminant analysis with predicted means."""

from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.training import TrainingData
from jcmspl.model.explanation import ClassMap
from jcmspl.model.kinds import PredictedMeans
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import SHARE, NamedArrays, estimator, field
from jcmspl.model.recogniser import LinearScorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import NOISE


@estimator
class GDA(PredictedMeans):
    """Gaussian classes of one covariance, whose means are predicted from class vectors.

    The score of a class of mean u is ``u' C^-1 x - u' C^-1 u / 2``, as in linear discriminant analysis. C is the
    covariance S within classes, shrunk: ``(1 - shrinkage) S + shrinkage tr(S)/m I``. All candidates are as likely. The
    parts are as in textbooks; that means are predicted as :class:`EXEM` does it is our composition.

    Parameters
    ----------
    shrinkage : float
        From 0 to 1. It decides more than anything else: choose it by :class:`ClassSearchCV`. With 1 the score is that
        of Euclidean distances. Directions in which nothing varies do not count with 0.
    seen_mean_share : float
        The share of the true mean of a training class in where it lies, the rest is the predicted one. With 1 it is
        recognised as by linear discriminant analysis; 0 treats seen and unseen classes alike.
    """

    shrinkage: float = field(default=0.5, metadata=SHARE)
    seen_mean_share: float = field(default=0.0, metadata=SHARE)
    class_kernel: str = "rbf"

    LINEAR = True
    EXAMPLE = "shrinkage=0.3"
    PAPER = (
        "Gaussian discriminant analysis; Wang et al. (2024): A Hard-to-Beat Baseline for Training-free CLIP-based "
        "Adaptation"
    )
    GRID = {"alpha": (0.1, 1.0), "shrinkage": (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.8, 0.95)}
    COMPARISON = ("seen_mean_share",)
    ARRAYS = {
        **PredictedMeans.ARRAYS,
        "weight_map": ("d", "m"),  # all three times the inverse of the covariance
        "weight_intercept": ("m",),
        "class_means": ("c", "m"),
        "class_weights": ("c", "m"),
    }

    ADDED_ARRAYS = (*PredictedMeans.ADDED_ARRAYS, "weight_intercept")

    def _prepare(self, training: TrainingData) -> Any:
        return _Prepared(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        means = prepared.means
        arrays = {**super()._fit(prepared, monitor), "class_means": np.ascontiguousarray(means)}
        arrays["weight_map"] = prepared.times_precision(arrays["mean_map"], self.shrinkage)
        arrays["weight_intercept"] = prepared.times_precision(arrays["intercept"][None], self.shrinkage)[0]
        arrays["class_weights"] = prepared.times_precision(means, self.shrinkage)
        return arrays

    def _scorer_of(self, table: ClassTable, space: str) -> LinearScorer:
        vectors = self.class_normalisation_.of_rows(table.vectors)
        means = self._means(vectors)
        weights = vectors @ self.arrays_["weight_map"] + self.arrays_["weight_intercept"]
        evidence = self._evidence_for(table) if self.seen_mean_share else None
        if evidence is not None:
            rows, labels = evidence.rows[evidence.is_trained], list(table)
            number = {label: i for i, label in enumerate(self.classes_.tolist())}
            trained = [number[labels[row]] for row in rows]
            for predicted, name in ((means, "class_means"), (weights, "class_weights")):
                predicted[rows] *= 1 - self.seen_mean_share
                predicted[rows] += self.seen_mean_share * self.arrays_[name][trained]
        return LinearScorer(weights, -(means * weights).sum(axis=1) / 2)

    def _class_map(self, space: str) -> ClassMap | None:
        if self.arrays_["intercept"].any():
            return None
        weights = self.arrays_["weight_map"]
        values, vectors = np.linalg.eigh(self.arrays_["mean_map"] @ weights.T)  # of predicted means, by the precision
        return ClassMap(weights, None, np.sqrt(np.maximum(values, 0))[:, None] * vectors.T, "euclidean")


class _Prepared(Moments):
    """Moments, and the eigenbasis of the covariance within classes, which no shrinkage changes."""

    def __init__(self, training: TrainingData) -> None:
        super().__init__(training)
        values, self._vectors = np.linalg.eigh(self.scatter / self.counts.sum())
        self._values = np.maximum(values, 0)
        # what is left of a scatter that is none is rounding, that of samples before they are centred too
        noise = max(NOISE * float(self.gram.trace()), 8 * self._rounding)
        if self._values.sum() <= noise / self.counts.sum():
            self._values = np.ones(len(values))

    def times_precision(self, rows: Float64Array, shrinkage: float) -> Float64Array:
        """Return rows times the inverse of the shrunk covariance, on the directions in which anything varies."""
        shrunk = (1 - shrinkage) * self._values + shrinkage * self._values.mean()
        kept = shrunk > np.finfo(np.float64).eps * len(shrunk) * shrunk.max()
        vectors = self._vectors[:, kept]
        return np.ascontiguousarray(((rows @ vectors) / shrunk[kept]) @ vectors.T)
