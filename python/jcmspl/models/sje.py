"""Structured joint embedding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from jcmspl.models.bilinear import METRIC
from jcmspl.models.ranking import BilinearRanker


@dataclass(kw_only=True, eq=False, repr=False)
class SJE(BilinearRanker):
    """Structured joint embedding (Akata et al., 2015).

    ``min over W of the sum over samples x of max over classes j of (margin [j != y] - s_y'Wx + s_j'Wx)``, y the class
    of x, by a step for each sample against the class of the maximum, as published. Several sources of class vectors
    are joined by source_shares in one W, where the authors learn a W for each. Constants, the start (W = 0) and the
    way to stop are as for :class:`DeViSE`.

    Parameters
    ----------
    learning_rate, margin, average, max_iter, tol, validation_fraction, n_iter_no_change, random_state
        As for :class:`DeViSE`.
    space : {"semantic", "visual", "concept"}, default "semantic"
        Compare Wx with s (as does "concept"), or x with W's.
    metric : {"dot", "cosine", "euclidean"} or callable, default "dot"
        "dot" is the published one, s'Wx.
    feature_normalisation, class_normalisation, whitening_shrinkage
    class_kernel, kernel_width, source_shares, class_weight, prediction_weight, aligned
    seen_bias, temperature, adaptation_pull, adaptation_temperature, progress
        As for :class:`RidgeVS`; the step for a sample is multiplied by its weight.
    seen_samples : float, default 0
        As for :class:`jcmspl.JCMSPL`, too.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W.
    losses_, n_iter_
        As for :class:`DeViSE`.

    Examples
    --------
    >>> from jcmspl import SJE
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = SJE(max_iter=10).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    metric: Any = field(default="dot", metadata=METRIC)

    PAPER: ClassVar[str] = "Akata et al. (2015): Evaluation of output embeddings for fine-grained image classification"
    VIOLATORS: ClassVar[str] = "worst"
