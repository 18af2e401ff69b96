"""Predicted visual exemplars."""

from functools import partial
from typing import Any

import numpy as np

from jcmspl.model.kinds import PredictedMeans
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import NamedArrays, estimator, field, one_of_names
from jcmspl.model.recogniser import NearestScorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import NOISE

DISTANCES = ("euclidean", "standardised")


@estimator
class EXEM(PredictedMeans):
    """Visual exemplars, after Changpinyo, Chao, Sha (2017): the nearest of the predicted mean samples of classes.

    As published, mean samples are predicted from class vectors by a regression with a kernel, and distances may be
    standardised by how much samples of a class differ in each dimension. The regression is ridge regression here, where
    the paper has a support vector regression for each dimension, and samples are not reduced by a PCA before it.

    Parameters
    ----------
    distance : {"euclidean", "standardised"}
        "standardised": dimensions are divided by the standard deviation within classes, pooled over these (the paper
        averages that of each class).
    class_kernel : {"rbf", "poly2", "linear"}
        With "linear" it predicts what :class:`ClassMeanRidge` does.
    """

    distance: str = field(default="euclidean", metadata=one_of_names(DISTANCES))
    class_kernel: str = "rbf"

    LINEAR = True
    EXAMPLE = "0.1"
    PAPER = "Changpinyo, Chao, Sha (2017): Predicting Visual Exemplars of Unseen Classes"
    GRID = {"alpha": (1e-2, 0.1, 1.0), "kernel_width": (0.5, 1.0, 2.0), "distance": DISTANCES}
    ARRAYS = {**PredictedMeans.ARRAYS, "scale": ("m",)}

    @property
    def _per_axis(self) -> bool:
        return self.distance == "standardised"

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        scale = np.ones(len(prepared.gram)) if self.distance == "euclidean" else _scale(prepared)
        return {**super()._fit(prepared, monitor), "scale": scale}

    def _scorer(self, class_vectors: Float64Array, space: str) -> NearestScorer:
        scale = self.arrays_["scale"]
        prototypes = self._means(class_vectors) * scale
        halves = (prototypes**2).sum(axis=1) / 2
        return NearestScorer(prototypes * scale, -halves, partial(np.multiply, scale), float(scale.max()), prototypes)


def _scale(moments: Moments) -> Float64Array:
    """Return the factor of each dimension: the average of the standard deviations over its own.

    One in which samples of a class do not differ counts as much as the others do on average.
    """
    squares = moments.scatter.diagonal() / moments.counts.sum()
    rounding = NOISE * moments.gram.diagonal()
    if moments.rounding_of_columns is not None:
        rounding = np.maximum(rounding, moments.rounding_of_columns)
    differs = squares > rounding / moments.counts.sum()
    if not differs.any():
        return np.ones(len(squares))
    deviations = np.sqrt(np.where(differs, squares, 1))
    mean = deviations[differs].mean()
    return np.asarray(np.where(differs, mean / deviations, 1.0))
