"""Structured joint embedding."""

from dataclasses import replace
from typing import Any

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.bilinear_ranker import Ranker
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import one_map
from jcmspl.model.parameters import FLAG, NamedArrays, estimator, field


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
    metric : {"dot", "cosine", "euclidean"} or callable
        "dot" is the published one, s'Wx.

    Attributes
    ----------
    losses_ : ndarray
        The mean loss of a sample in each epoch; of one source after the other, where these are separate.
    """

    metric: Any = "dot"
    separate_sources: bool = field(default=False, metadata=FLAG)

    EXAMPLE = "max_iter=10"
    ONE_MAP = True
    PAPER = "Akata et al. (2015): Evaluation of output embeddings for fine-grained image classification"
    VIOLATORS = "worst"

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
