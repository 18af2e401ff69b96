"""A rotation of samples to class vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import estimator
from jcmspl.support.arguments import Float64Array


@estimator
class Procrustes(Bilinear):
    """The rotation that brings samples nearest to their class vectors: ``min |RX - Y|^2`` with ``R'R = I``.

    R is the polar factor of YX'. It keeps angles as they are, which suits spaces that are alike, as those of two
    encoders of one kind. If samples have more features than class vectors have dimensions, d, they are reduced to their
    d principal components before. Directions in which YX' says nothing, as where classes are fewer than dimensions, are
    left out: there any rotation would do.

    Parameters
    ----------
    space
        Compare Rx with y (as does "concept"), or x with R'y.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        R, for samples with all their features.

    Examples
    --------
    >>> from jcmspl.methods import Procrustes
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = Procrustes().fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    PAPER: ClassVar[str] = "Schönemann (1966): A generalized solution of the orthogonal Procrustes problem"
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {"space": ("semantic", "visual")}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        # eigenvectors are sorted by their eigenvalues: the last ones are the principal components
        components = moments.visual.vectors[:, -len(moments.cross) :]
        U, values, V = np.linalg.svd(moments.cross @ components, full_matrices=False)
        kept = values > np.finfo(np.float64).eps * len(moments.gram) * values.max(initial=0)
        return one_map(np.asarray(U[:, kept] @ V[kept] @ components.T))
