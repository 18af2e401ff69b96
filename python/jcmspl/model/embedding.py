"""Embeddings: methods that map samples and classes into a space of their own, where a metric compares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from jcmspl.core.scoring import AffineScorer
from jcmspl.model.bilinear import METRIC
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.parameters import check_parameters
from jcmspl.model.scorers import FunctionScorer, Scorer, minus_distances, normalised
from jcmspl.support.arguments import Float64Array, FloatArray
from jcmspl.support.calls import by_name


@dataclass(kw_only=True, eq=False, repr=False)
class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ZeroShotClassifier):
    """A method that says where samples and classes lie: :meth:`_embed` and :meth:`_prototypes`."""

    metric: Any = field(default="cosine", metadata=METRIC)

    COMPARISON: ClassVar[tuple[str, ...]] = ("metric",)

    def _embed(self, Z: FloatArray) -> FloatArray:
        """Return where normalised samples lie, a row for each."""
        raise NotImplementedError(f"{type(self).__name__} does not say where samples lie")

    def _prototypes(self, class_vectors: Float64Array) -> Float64Array:
        """Return where classes with the given normalised vectors lie, a row for each."""
        raise NotImplementedError(f"{type(self).__name__} does not say where classes lie")

    @by_name
    def transform(self, X: Any) -> FloatArray:
        """Return where samples lie in the space of comparison, a row for each."""
        model = self._fitted_twin()
        check_parameters(model, model.COMPARISON)  # they may have been set since the fit
        samples = model.reader.checked(X, model._fitted.columns)
        return model._embed(normalised(model.feature_normalisation_, samples))

    @property
    def _n_features_out(self) -> int:
        one_class = self.class_normalisation_.of_rows(self.class_table_.vectors[:1])
        return int(np.shape(self._prototypes(one_class))[1])

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        return self._scorer_by(self._embed, class_vectors)

    def _scorer_by(self, embed: Callable[[FloatArray], FloatArray], class_vectors: Float64Array) -> Scorer:
        """Return what compares samples, where a function says that they lie, with classes."""
        prototypes = np.asarray(self._prototypes(class_vectors), dtype=np.float64)
        if callable(self.metric):
            return FunctionScorer(partial(minus_distances, self.metric, embed, prototypes))
        if self.metric == "euclidean":
            return FunctionScorer(partial(minus_distances, _half_squares, embed, prototypes))
        if self.metric == "cosine":
            lengths = np.linalg.norm(prototypes, axis=1, keepdims=True)
            prototypes = prototypes / np.where(lengths > 0, lengths, 1)
        return FunctionScorer(partial(_compared, embed, AffineScorer(prototypes)))


def _half_squares(Z: FloatArray, prototypes: Float64Array) -> Float64Array:
    return np.asarray(cdist(Z, prototypes, "sqeuclidean") / 2)


def _compared(embed: Callable[[FloatArray], FloatArray], scorer: AffineScorer, Z: FloatArray) -> FloatArray:
    return scorer.scores(embed(Z))
