"""An autoencoder whose encoder and decoder are learnt apart."""

from typing import Any

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.kinds import Embedding
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import SHARE, WEIGHT, NamedArrays, estimator, field
from jcmspl.support.arguments import Float64Array, FloatArray
from jcmspl.support.scaling import directions_of_product, unit_length


@estimator
class UntiedAutoencoder(Embedding):
    """A linear autoencoder without tied weights: :class:`RidgeVS` as the encoder, :class:`RPL` as the decoder.

    ``min |WX - Y|^2 + gamma |W|^2`` and ``min |X - VY|^2 + lambda |V|^2``. Scores are the cosines of both spaces
    together: ``(1 - share) cos(Wx, y) + share cos(x, Vy)``. :class:`SAE` has V = W'.

    Parameters
    ----------
    encoder_penalty : float
        γ: penalty of the encoder.
    decoder_penalty : float
        λ: penalty of the decoder.
    visual_share : float
        The share of the visual space, from 0 to 1. It may be changed after a fit.
    metric : {"dot", "cosine", "euclidean"} or callable
        Of the unit vectors of both spaces, side by side: all three choose the same class.
    """

    encoder_penalty: float = field(default=1.0, kw_only=False, metadata=WEIGHT)
    decoder_penalty: float = field(default=10.0, kw_only=False, metadata=WEIGHT)
    visual_share: float = field(default=0.5, metadata=SHARE)
    metric: Any = "dot"

    EXAMPLE = "visual_share=0.7"
    PAPER = "two ridge regressions; the semantic autoencoder of Kodirov, Xiang, Gong (2017), untied"
    GRID = {
        "encoder_penalty": (0.1, 1.0, 10.0),
        "decoder_penalty": (1.0, 10.0, 100.0),
        "visual_share": (0.25, 0.5, 0.75),
    }
    COMPARISON = ("metric", "visual_share")
    ARRAYS = {"encoder": ("d", "m"), "decoder": ("d", "m")}

    def _prepare(self, training: TrainingData) -> Any:
        return Moments(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        encoder = prepared.visual.solve(prepared.cross, self.encoder_penalty)
        decoder = prepared.semantic.solve(prepared.cross.T, self.decoder_penalty).T
        return {"encoder": np.ascontiguousarray(encoder), "decoder": np.ascontiguousarray(decoder)}

    def _embed(self, Z: FloatArray) -> FloatArray:
        return self._side_by_side(unit_length(Z @ self.arrays_["encoder"].T.astype(Z.dtype)), unit_length(Z))

    def _prototypes(self, class_vectors: Float64Array) -> Float64Array:
        visual = directions_of_product(class_vectors, self.arrays_["decoder"])
        return np.asarray(self._side_by_side(unit_length(class_vectors), visual), dtype=np.float64)

    def _side_by_side(self, semantic: FloatArray, visual: FloatArray) -> FloatArray:
        """Return rows whose inner products are the cosines of both spaces together, from their unit rows."""
        shares = float(np.sqrt(1 - self.visual_share)), float(np.sqrt(self.visual_share))
        return np.hstack([shares[0] * semantic, shares[1] * visual])
