"""Ridge regression of samples on class vectors, towards the identity."""

from typing import Any

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import WEIGHT, estimator, field
from jcmspl.support.arguments import Float64Array


@estimator
class IdentityRidge(Bilinear):
    """Ridge regression towards the identity, for encoders that are aligned: ``min |X - W'Y|^2 + alpha |W - I|^2``.

    ``W' = (XY' + alpha I)(YY' + alpha I)^-1``. Samples and class vectors must come from one encoder, or from two that
    were trained to agree: with a large penalty it is :class:`TextPrototypes`, and with a small one :class:`RPL`.
    Without class vectors the mean sample of a class takes the place of its vector.

    Parameters
    ----------
    alpha : float
        Penalty of the difference to the identity. With 0 the solution is least squares, and the identity in directions
        in which there are no classes.

    Examples
    --------
    >>> from jcmspl.methods import IdentityRidge
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_features=16, n_attributes=16, n_seen=30, n_unseen=5)
    >>> model = IdentityRidge(10.0).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    >>> model.visual_projection_.shape
    (16, 16)
    """

    alpha: float = field(default=100.0, kw_only=False, metadata=WEIGHT)
    space: str = "visual"
    feature_normalisation: str = "sample_l2"
    class_normalisation: str = "sample_l2"

    PER_AXIS = True  # class vectors are compared with samples axis by axis
    ONE_MAP = True
    PAPER = "ridge regression towards the identity; for class vectors of aligned encoders"
    GRID = {"alpha": (1.0, 10.0, 100.0, 1e3, 1e4)}

    def _vectors_of_none(self, statistics: Statistics) -> Float64Array:
        return statistics.class_sums / statistics.counts[:, None]

    def _prepare(self, training: TrainingData) -> Any:
        m, d = training.statistics.n_features, training.class_vectors.shape[1]
        if m != d:
            raise ValueError(
                f"IdentityRidge takes class vectors for samples, but samples have {m} features and class vectors {d} "
                f"dimensions (class_kernel={self.class_kernel!r}): take both from one encoder, or use RPL"
            )
        return super()._prepare(training)

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        # W' - I is the ridge regression of X - Y, and zero in directions in which there are no classes
        identity = np.eye(len(moments.cross))
        rest = moments.cross.T - (moments.vectors.T * moments.counts) @ moments.vectors
        return one_map((identity + moments.semantic.solve(rest, self.alpha)).T)
