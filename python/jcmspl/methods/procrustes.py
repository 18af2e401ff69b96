"""A rotation of samples to class vectors."""

import numpy as np

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import estimator
from jcmspl.support.arguments import Float64Array


@estimator
class Procrustes(Bilinear):
    """The rotation that brings samples nearest to their class vectors: ``min |WX - Y|^2`` with ``W'W = I``.

    W is the polar factor of YX'. It keeps angles as they are, which suits spaces that are alike, as those of two
    encoders of one kind. If samples have more features than class vectors have dimensions, d, they are reduced to their
    d principal components before. Directions in which YX' says nothing, as where classes are fewer than dimensions, are
    left out: there any rotation would do.
    """

    EXAMPLE = ""
    ONE_MAP = True
    PAPER = "Schönemann (1966): A generalized solution of the orthogonal Procrustes problem"
    GRID = {"space": ("semantic", "visual")}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        # eigenvectors are sorted by their eigenvalues: the last ones are the principal components
        components = moments.visual.vectors[:, -len(moments.cross) :]
        U, values, V = np.linalg.svd(moments.cross @ components, full_matrices=False)
        kept = values > np.finfo(np.float64).eps * len(moments.gram) * values.max(initial=0)
        return one_map(np.asarray(U[:, kept] @ V[kept] @ components.T))
