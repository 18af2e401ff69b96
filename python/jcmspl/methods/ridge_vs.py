"""Ridge regression of class vectors on samples."""

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import DECADES, WEIGHT, estimator, field
from jcmspl.support.arguments import Float64Array


@estimator
class RidgeVS(Bilinear):
    """Ridge regression of class vectors on samples: ``min |WX - Y|^2 + alpha |W|^2``.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.methods import RidgeVS
    >>> vectors = {"zebra": [1.0, 1, 0], "horse": [0, 1, 0], "tiger": [1, 0, 1], "lion": [0, 0, 1]}
    >>> y = np.repeat(["zebra", "horse", "lion"], 5)
    >>> X = np.array([vectors[name] for name in y]) + 0.01 * np.random.default_rng(0).standard_normal((15, 3))
    >>> model = RidgeVS(alpha=0.1).fit(X, y, class_vectors=vectors)
    >>> model.predict([[1.0, 0, 1]], candidates=["tiger", "horse"], seen_penalty=0.0)
    array(['tiger'], dtype='<U5')
    """

    alpha: float = field(default=1.0, kw_only=False, metadata=WEIGHT)

    ONE_MAP = True
    PAPER = "ridge regression from samples to class vectors; the visual-semantic baseline of the field"
    GRID = {"alpha": DECADES}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        return one_map(moments.visual.solve(moments.cross, self.alpha))
