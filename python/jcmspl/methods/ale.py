"""Attribute label embedding."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from jcmspl.model.bilinear import METRIC, Bilinear
from jcmspl.model.bilinear_ranker import Ranker
from jcmspl.model.parameters import estimator


@estimator
class ALE(Ranker, Bilinear):
    """Attribute label embedding (Akata et al., 2016).

    ``min over W of the sum over samples x of b(r) / r times the sum over other classes j of max(0, margin - s_y'Wx +
    s_j'Wx)``, y the class of x, r the number of classes that violate the margin, and b(r) = 1 + 1/2 + ... + 1/r. The
    loss is as published. The authors draw classes until one violates the margin, and guess r from how long it took;
    here all scores are known, so that a step takes all violators, and r is exact: the mean of their step. Constants,
    the start (W = 0) and the way to stop are as for :class:`DeViSE`.

    Parameters
    ----------
    space
        Compare Wx with s (as does "concept"), or x with W's.
    metric : {"dot", "cosine", "euclidean"} or callable
        "dot" is the published one, s'Wx.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W.

    Examples
    --------
    >>> from jcmspl.methods import ALE
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = ALE(max_iter=10).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    metric: Any = field(default="dot", metadata=METRIC)

    PAPER: ClassVar[str] = "Akata et al. (2016): Label-embedding for image classification"
    VIOLATORS: ClassVar[str] = "all"
