"""The semantic autoencoder."""

import numpy as np

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import DECADES, WEIGHT, estimator, field
from jcmspl.support.arguments import Float64Array


@estimator
class SAE(Bilinear):
    """Semantic autoencoder (Kodirov, Xiang, Gong, 2017): ``min |X - W'Y|^2 + weight |WX - Y|^2``.

    Its solution is that of the Sylvester equation ``YY' W + W (weight XX') = (1 + weight) YX'``, both of whose
    coefficients are symmetric, so that it is solved in their eigenbases; where it is singular by the W of least norm.

    Parameters
    ----------
    weight : float
        The paper's λ.
    """

    weight: float = field(default=1.0, kw_only=False, metadata=WEIGHT)

    EXAMPLE = '0.2, space="visual"'
    ONE_MAP = True
    PAPER = "Kodirov, Xiang, Gong (2017): Semantic autoencoder for zero-shot learning"
    GRID = {"weight": DECADES, "space": ("semantic", "visual")}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        U, s = moments.semantic.vectors, moments.semantic.values
        V, g = moments.visual.vectors, moments.visual.values
        # In the other directions the right side is zero as well: Y vanishes where YY' does, X where XX' does.
        rotated = (U.T @ moments.cross) @ V
        rotated *= (1 + self.weight) / (s[:, None] + self.weight * g)
        return one_map(np.asarray(U @ rotated @ V.T))
