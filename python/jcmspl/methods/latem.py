"""Latent embeddings: several bilinear maps that compete."""

from functools import partial
from typing import Any

import numpy as np

from jcmspl.core.margin_ranking import BilinearRanking
from jcmspl.model.bilinear_ranker import Ranker, highest_scores
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import COUNT, SHARE, FittedArray, NamedArrays, estimator, field
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array

# As the authors have it.
_EPOCHS_BEFORE_PRUNING = 5


@estimator
class LATEM(Ranker, ZeroShotClassifier):
    """Latent embeddings (Xian et al., 2016): ``F(x, j) = max over k of s_j'W_k x``, ranked as :class:`DeViSE` does.

    A step moves the map that gave the score of the sample's own class towards it, and the map that gave the score of
    the violator away from that. The score and the steps are as published, but that a step takes the first violator in
    random order, where the authors draw one other class and take no step if it does not violate the margin. Small
    random maps are the start (of attributes in their order: the names of classes matter where there are no class
    vectors); the default normalisation makes them mean the same whatever the spread of the samples. With n_maps=1 this
    is DeViSE with metric="dot".

    Parameters
    ----------
    n_maps : int
        The paper's K, to start with.
    pruning : float
        Maps that in the first five epochs gave the score of the own class for less than this share of the samples are
        dropped after these. The authors do so with 0.05 and n_maps=16 where they do not choose n_maps on held-out
        classes; with 0 none is dropped.
    """

    feature_normalisation: str = "sample_l2+center_unit"
    n_maps: int = field(default=2, metadata=COUNT)
    pruning: float = field(default=0.0, metadata=SHARE)

    EXAMPLE = "n_maps=3, max_iter=10"
    PAPER = "Xian et al. (2016): Latent embeddings for zero-shot classification"
    GRID = {"learning_rate": (0.1, 1.0, 10.0), "n_maps": (2, 4)}
    FITTED_FOR = ()
    ARRAYS = {"maps": ("n_maps", "d", "m"), "losses": ("i",)}
    VIOLATORS = "any"

    maps_ = FittedArray("W_k, for normalised samples and class vectors; those that were not dropped.")

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        maps, losses = self._learnt(prepared, monitor, self.n_maps)
        return {"maps": maps, "losses": losses}

    def _after_epoch(self, number: int, ranking: BilinearRanking) -> None:
        if number == _EPOCHS_BEFORE_PRUNING and self.pruning > 0:
            choices = ranking.choices
            ranking.keep(np.flatnonzero(choices >= min(self.pruning * choices.sum(), choices.max())))

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        return FunctionScorer(partial(highest_scores, self.maps_, class_vectors))
