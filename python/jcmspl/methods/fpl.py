"""Least squares from samples to class vectors."""

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import estimator
from jcmspl.support.arguments import Float64Array


@estimator
class FPL(Bilinear):
    """Least squares from samples to class vectors, ``min |WX - Y|^2``, the W of least norm where several do.

    The paper's "forward projection learning", without a concept space: :class:`RidgeVS` for alpha -> 0.
    """

    EXAMPLE = ""
    ONE_MAP = True
    PAPER = "Tang, Panahi, Krim: Joint Concept Matching based Learning for Zero-Shot Recognition (its ablation FPL)"

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        return one_map(moments.visual.solve(moments.cross, 0.0))
