"""Structured joint embedding."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import METRIC, Bilinear
from jcmspl.model.bilinear_ranker import Ranker
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import one_map
from jcmspl.model.parameters import FLAG, NamedArrays, estimator


@estimator
class SJE(Ranker, Bilinear):
    """Structured joint embedding (Akata et al., 2015).

    ``min over W of the sum over samples x of max over classes j of (margin [j != y] - s_y'Wx + s_j'Wx)``, y the class
    of x, by a step for each sample against the class of the maximum, as published. Constants, the start (W = 0) and the
    way to stop are as for :class:`DeViSE`.

    Parameters
    ----------
    separate_sources : bool
        Whether class vectors of several sources (:meth:`ClassTable.joined`) have a W each, learnt without the others,
        whose scores are added by source_shares, as the authors do; they choose the shares on held-out classes. With
        False one W is learnt from the joined vectors.
    space
        Compare Wx with s (as does "concept"), or x with W's.
    metric : {"dot", "cosine", "euclidean"} or callable
        "dot" is the published one, s'Wx.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W.
    losses_ : ndarray
        The mean loss of a sample in each epoch; of one source after the other, where these are separate.

    Examples
    --------
    >>> from jcmspl.methods import SJE
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = SJE(max_iter=10).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    metric: Any = field(default="dot", metadata=METRIC)
    separate_sources: bool = field(default=False, metadata=FLAG)

    PAPER: ClassVar[str] = "Akata et al. (2015): Evaluation of output embeddings for fine-grained image classification"
    VIOLATORS: ClassVar[str] = "worst"

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        if not self.separate_sources or prepared.sources is None:
            return super()._fit(prepared, monitor)
        if self.class_kernel != "linear":
            raise ValueError(
                f"class_kernel={self.class_kernel!r} mixes the sources of class vectors: set class_kernel='linear', or "
                "separate_sources=False"
            )
        vectors = prepared.class_vectors
        ends = np.cumsum([width for _, width in prepared.sources])
        maps, losses = [], []
        for own in np.split(vectors, ends[:-1], axis=1):
            # vectors of a source alone are as long as joined ones; its share is what it has of their square
            part = float(np.linalg.norm(own) / (np.linalg.norm(vectors) or 1.0))
            if part == 0:
                maps.append(np.zeros((own.shape[1], prepared.statistics.n_features)))
                continue
            (W,), of_epochs = self._learnt(replace(prepared, class_vectors=own / part), monitor)
            maps.append(part * W)
            losses.append(of_epochs)
        A, B = one_map(np.vstack(maps))
        return {"visual_projection": A, "semantic_projection": B, "losses": np.concatenate(losses)}
