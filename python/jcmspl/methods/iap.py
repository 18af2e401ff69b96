"""Indirect attribute prediction."""

from functools import partial
from typing import Any

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.parameters import FLAG, estimator, field, one_of_names
from jcmspl.model.posteriors import THRESHOLDS, Affine, PosteriorMethod, Signatures, log_probabilities
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray


@estimator
class IAP(PosteriorMethod):
    """Indirect attribute prediction: a sample has the attributes of the training classes that it is likely to be of.

    ``P(a_j | x)`` is the sum of p(k|x) over the training classes k that have the attribute; classes are then named by
    the rule of :class:`DAP`. Both are as published; there the posterior p(k|x) is that of a support vector machine.

    Parameters
    ----------
    threshold
    use_prior : bool
        Whether P(a_j), the share of training classes that have or lack the attribute, is subtracted.
    """

    threshold: str = field(default="attribute_mean", kw_only=False, metadata=one_of_names(THRESHOLDS))
    use_prior: bool = field(default=True, metadata=FLAG)

    EXAMPLE = "shrinkage=0.3"
    PAPER = (
        "Lampert, Nickisch, Harmeling (2014): Attribute-based classification for zero-shot visual object categorization"
    )
    COMPARISON = ("threshold", "use_prior", *PosteriorMethod.COMPARISON)
    GRID = {"shrinkage": (0.1, 0.5, 0.9), "posterior_temperature": (1.0, 3.0, 10.0, 30.0)}

    def _prepare(self, training: TrainingData) -> Any:
        self._signatures(training.class_vectors)  # which are refused before anything is decomposed
        return super()._prepare(training)

    def _signatures(self, vectors: Float64Array) -> Signatures:
        return Signatures.fitted(vectors, self.threshold).require_varied(type(self).__name__, self.threshold)

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        log_posterior = self._log_posterior()
        signatures = self._signatures(self._training_vectors())
        candidates = signatures.of(class_vectors)
        return FunctionScorer(partial(_scores, signatures, candidates, log_posterior, bool(self.use_prior)))


def _scores(
    signatures: Signatures, candidates: Float64Array, log_posterior: Affine, use_prior: bool, Z: FloatArray
) -> Float64Array:
    probabilities = np.exp(log_probabilities(log_posterior, Z)) @ signatures.training
    return signatures.scores(probabilities, candidates, use_prior=use_prior)
