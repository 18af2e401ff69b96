"""Methods that predict where the mean sample of a class lies from its class vector, by ridge regression.

The regression has one row for each class, however many samples it has: ``P = M' S (S'S + alpha I)^-1 u``, with M the
mean samples of the seen classes and S their vectors. With ``class_kernel`` it is kernel ridge regression. Where samples
are not centred and class vectors are (with a kernel they always are), the overall mean is added to P as an intercept;
where neither are, the regression goes through the origin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.moments import Moments
from jcmspl.model.monitor import Monitor
from jcmspl.model.named_arrays import NamedArrays, Shape
from jcmspl.model.parameters import WEIGHT
from jcmspl.support.arguments import Float64Array


def map_to_means(moments: Moments, alpha: float) -> Float64Array:
    """Return what class vectors, as rows, are multiplied by to predict the mean samples of their classes."""
    return moments.classes.solve((moments.vectors.T @ moments.means).T, alpha).T


@dataclass(kw_only=True, eq=False, repr=False)
class PredictedMeans(ZeroShotClassifier):
    """A method that compares samples with predicted means; subclasses implement the comparison.

    Parameters
    ----------
    alpha : float
        Penalty of the regression that predicts means.
    """

    alpha: float = field(default=0.3, kw_only=False, metadata=WEIGHT)

    ARRAYS: ClassVar[dict[str, Shape]] = {"mean_map": ("d", "m"), "intercept": ("m",)}
    ADDED_ARRAYS: ClassVar[tuple[str, ...]] = ("intercept",)

    def _prepare(self, training: TrainingData) -> Any:
        return Moments(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        means = np.ascontiguousarray(map_to_means(prepared, self.alpha))
        return {"mean_map": means, "intercept": prepared.intercept}

    def _means(self, class_vectors: Float64Array) -> Float64Array:
        """Return the predicted means of classes with the given normalised vectors."""
        return np.asarray(class_vectors @ self.arrays_["mean_map"] + self.arrays_["intercept"])
