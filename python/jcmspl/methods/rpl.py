"""Ridge regression of samples on class vectors."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from jcmspl.core.scoring import SPACES
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import DECADES, WEIGHT, estimator, one_of_names
from jcmspl.support.arguments import Float64Array


@estimator
class RPL(Bilinear):
    """Ridge regression of samples on class vectors: ``min |X - VY|^2 + alpha |V|^2``, compared in the visual space.

    The "reverse projection", which suffers less from hubs than :class:`RidgeVS`.

    Parameters
    ----------
    alpha : float
        Penalty of the regression.
    space : {"visual", "semantic", "concept"}
        Compare x with Vy, or V'x with y.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        V'.

    Examples
    --------
    >>> from jcmspl.methods import RPL
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = RPL(0.1).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    alpha: float = field(default=1.0, kw_only=False, metadata=WEIGHT)
    space: str = field(default="visual", metadata=one_of_names(SPACES))

    PAPER: ClassVar[str] = "Shigeto et al. (2015): Ridge regression, hubness, and zero-shot learning"
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {"alpha": DECADES}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        return one_map(moments.semantic.solve(moments.cross.T, self.alpha).T)
