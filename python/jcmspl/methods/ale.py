"""Attribute label embedding."""

from typing import Any

from jcmspl.model.bilinear import Bilinear
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
    metric : {"dot", "cosine", "euclidean"} or callable
        "dot" is the published one, s'Wx.
    """

    metric: Any = "dot"

    EXAMPLE = "max_iter=10"
    ONE_MAP = True
    PAPER = "Akata et al. (2016): Label-embedding for image classification"
    VIOLATORS = "all"
