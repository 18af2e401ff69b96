"""Ridge regression of samples on class vectors."""

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import DECADES, WEIGHT, estimator, field
from jcmspl.support.arguments import Float64Array


@estimator
class RPL(Bilinear):
    """Ridge regression of samples on class vectors: ``min |X - W'Y|^2 + alpha |W|^2``, compared in the visual space.

    The "reverse projection", which suffers less from hubs than :class:`RidgeVS`.
    """

    alpha: float = field(default=1.0, kw_only=False, metadata=WEIGHT)
    space: str = "visual"

    EXAMPLE = "0.1"
    ONE_MAP = True
    PAPER = "Shigeto et al. (2015): Ridge regression, hubness, and zero-shot learning"
    GRID = {"alpha": DECADES}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        return one_map(moments.semantic.solve(moments.cross.T, self.alpha).T)
