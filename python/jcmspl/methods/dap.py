"""Direct attribute prediction."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import expit

from jcmspl.data.training import TrainingData
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import FLAG, POSITIVE, NamedArrays, estimator, field, one_of_names
from jcmspl.model.posteriors import THRESHOLDS, Affine, Covariance, PosteriorMethod, Signatures
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray


@estimator
class DAP(PosteriorMethod):
    """Direct attribute prediction: a classifier for each attribute; a class is as likely as its attributes are.

    Class vectors are made binary, a_j; the score of a class is the sum over attributes of
    ``log P(a_j | x) - log P(a_j)``, with P(a_j) the share of training classes that have, or lack, the attribute. The
    rule is as published; there attributes are predicted by support vector machines with Platt scaling, here by linear
    discriminant analysis or logistic regression.

    Parameters
    ----------
    threshold
    use_prior : bool
        Whether P(a_j) is subtracted.
    posterior : {"lda", "logistic"}
        How P(a_j | x) is found: by linear discriminant analysis of the samples with and without the attribute, in
        closed form from statistics (shrinkage is that of the covariance within the two groups), or by logistic
        regression, which reads the samples again and again.
    """

    threshold: str = field(default="attribute_mean", kw_only=False, metadata=one_of_names(THRESHOLDS))
    use_prior: bool = field(default=True, metadata=FLAG)
    posterior_temperature: float = field(default=1.0, metadata=POSITIVE)

    EXAMPLE = "use_prior=False"
    PAPER = (
        "Lampert, Nickisch, Harmeling (2014): Attribute-based classification for zero-shot visual object categorization"
    )
    COMPARISON = ("use_prior", *PosteriorMethod.COMPARISON)
    GRID = {"shrinkage": (0.01, 0.1, 0.5, 0.9), "use_prior": (True, False)}
    ARRAYS = {**PosteriorMethod.ARRAYS, "weights": ("d", "m"), "offsets": ("d",), "thresholds": ("d",)}
    LINK = "sigmoid"

    def _signatures(self, vectors: Float64Array) -> Signatures:
        return Signatures.fitted(vectors, self.threshold).require_varied(type(self).__name__, self.threshold)

    def _prepare(self, training: TrainingData) -> AttributeGroups:
        return AttributeGroups(training)

    def _targets(self, training: TrainingData) -> Float64Array:
        return self._signatures(training.class_vectors).training

    def _closed_form(self, prepared: Any) -> Affine:
        signatures = self._signatures(prepared.training.class_vectors)
        found: Affine = prepared.log_odds(signatures, self.shrinkage)
        return found

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        thresholds = self._signatures(prepared.training.class_vectors).thresholds
        return {**super()._fit(prepared, monitor), "thresholds": thresholds}

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        # attributes are those that classifiers were fitted to, whatever threshold was set since
        signatures = Signatures.above(self.arrays_["thresholds"], self._training_vectors())
        candidates, log_odds = signatures.of(class_vectors), self._log_posterior()
        return FunctionScorer(partial(_scores, signatures, candidates, log_odds, bool(self.use_prior)))


class AttributeGroups:
    """Linear discriminant analysis of two groups of classes, for many pairs of groups at once.

    The covariance within the two groups is that of all samples but for a product of the difference d of their means,
    ``C - s (1 - s) d d'`` with s the share of the one, so that one decomposition serves all of them.
    """

    def __init__(self, training: TrainingData) -> None:
        self.training = training

    @cached_property
    def _total(self) -> Covariance:
        statistics, n = self.training.statistics, self.training.n_samples
        mean = statistics.class_sums.sum(axis=0)[None] / n
        return Covariance(statistics, mean, np.array([n]), self.training.rounding)

    def log_odds(self, signatures: Signatures, shrinkage: float) -> Affine:
        """Return the log odds that a sample has each attribute; 0 where that does not vary.

        Covariances are shrunk towards the mean variance of all samples.
        """
        statistics, n = self.training.statistics, self.training.n_samples
        varies = signatures.varies
        has = signatures.training[:, varies].T
        n_has = has @ statistics.counts
        share = n_has / n
        sums, total = has @ statistics.class_sums, statistics.class_sums.sum(axis=0)
        one, other = sums / n_has[:, None], (total - sums) / (n - n_has)[:, None]
        solved = self._total.solve(one - other, shrinkage)
        # Sherman and Morrison's formula for what the product takes away
        taken = (1 - shrinkage) * share * (1 - share) * np.einsum("ij,ij->i", solved, one - other)
        solved /= np.maximum(1 - taken, _LEAST_REST)[:, None]
        weights, offsets = np.zeros((len(varies), statistics.n_features)), np.zeros(len(varies))
        weights[varies] = solved
        offsets[varies] = np.log(share / (1 - share)) - np.einsum("ij,ij->i", solved, one + other) / 2
        return Affine(weights, offsets)


# Where two groups can be told apart without an error the odds would be infinite.
_LEAST_REST = 1e-9


def _scores(
    signatures: Signatures, candidates: Float64Array, log_odds: Affine, use_prior: bool, Z: FloatArray
) -> Float64Array:
    return signatures.scores(np.asarray(expit(log_odds.of(Z))), candidates, use_prior=use_prior)
