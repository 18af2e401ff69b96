"""Gaussian classes whose means and variances are predicted from class vectors."""

from functools import partial
from typing import Any

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.iterations import weighted_samples
from jcmspl.model.kinds import PredictedMeans
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import POSITIVE, WEIGHT, NamedArrays, estimator, field
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray
from jcmspl.support.scaling import NOISE

# Of the mean variance: what is added to variances before their logarithm is taken, and how far logarithms may go.
_LEAST_VARIANCE, _FARTHEST = 0.001, 30.0


@estimator
class GFZSL(PredictedMeans):
    """Gaussian classes, each with its own variances, after Verma, Rai (2017).

    Means, and logarithms of variances along each dimension, are predicted from class vectors by kernel ridge
    regression, and the score of a class is the logarithm of its density: all that as published, and so is the kernel.
    Here that is centred, constants are added to variances in units of their mean, so that they mean the same for all
    features, and a large penalty makes variances those that all seen classes share.

    Class-wise variances are not part of the statistics that other methods share: they are read off the samples in one
    more pass.

    Parameters
    ----------
    variance_penalty : float
        Penalty of the regression that predicts variances.
    variance_floor : float
        What is added to predicted variances, in units of the mean variance; 0.05 in the paper.
    """

    variance_penalty: float = field(default=100.0, metadata=WEIGHT)
    variance_floor: float = field(default=1.0, metadata=POSITIVE)
    class_kernel: str = "poly2"

    NEEDS = "samples"
    READS_WEIGHTS = True
    PER_AXIS = True
    EXAMPLE = "alpha=0.1"
    PAPER = "Verma, Rai (2017): A Simple Exponential Family Framework for Zero-Shot Learning"
    GRID = {"alpha": (0.1, 0.3, 1.0), "variance_penalty": (1.0, 100.0, 1e4), "variance_floor": (0.05, 1.0)}
    ARRAYS = {**PredictedMeans.ARRAYS, "log_variance_map": ("d", "m"), "log_variance": ("m",), "unit": (), "floor": ()}

    def _prepare(self, training: TrainingData) -> Any:
        return _Prepared(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        logarithms = np.log(prepared.variances / prepared.unit + _LEAST_VARIANCE)
        shared = logarithms.mean(axis=0)
        of_classes = prepared.classes.solve((prepared.vectors.T @ (logarithms - shared)).T, self.variance_penalty).T
        return {
            **super()._fit(prepared, monitor),
            "log_variance_map": np.ascontiguousarray(of_classes),
            "log_variance": shared,
            "unit": np.array(prepared.unit),
            "floor": np.array(float(self.variance_floor)),
        }

    def _variances(self, class_vectors: Float64Array) -> Float64Array:
        """Return the predicted variances of classes with the given normalised vectors."""
        logarithms = self.arrays_["log_variance"] + class_vectors @ self.arrays_["log_variance_map"]
        relative = np.exp(np.clip(logarithms, -_FARTHEST, _FARTHEST)) + self.arrays_["floor"]
        return np.asarray(relative * self.arrays_["unit"])

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        return FunctionScorer(partial(_log_densities, self._means(class_vectors), self._variances(class_vectors)))


class _Prepared(Moments):
    """Moments, and the variance of each class along each dimension."""

    def __init__(self, training: TrainingData) -> None:
        super().__init__(training)
        means, squares = self.means, np.zeros_like(self.means)
        for Z, numbers, weights in weighted_samples(training):
            members = np.zeros((len(means), len(Z)))
            members[numbers, np.arange(len(Z))] = weights
            squares += members @ (Z - means[numbers]) ** 2
        self.variances: Float64Array = squares / self.counts[:, None]
        #: The mean variance; 1 if samples of a class do not differ.
        self.unit = float(self.variances.mean())
        if self.unit <= NOISE * self.gram.trace() / (self.counts.sum() * len(self.gram)):
            self.unit = 1.0


def _log_densities(means: Float64Array, variances: Float64Array, Z: FloatArray) -> FloatArray:
    samples = np.asarray(Z, dtype=np.float64)
    weights = means / variances
    constants = (means * weights + np.log(2 * np.pi * variances)).sum(axis=1)
    return np.asarray(samples @ weights.T - (samples**2 @ (1 / variances).T + constants) / 2)
