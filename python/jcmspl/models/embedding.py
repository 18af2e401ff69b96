"""Embeddings: methods that map samples and classes into a space of their own, where a metric compares them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.search import AffineScorer
from jcmspl.models.bilinear import METRIC
from jcmspl.models.classifier import ZeroShotClassifier
from jcmspl.models.scorers import FunctionScorer, Scorer, checked_distances
from jcmspl.support.arguments import Float64Array, FloatArray, as_samples, require_finite


@dataclass(kw_only=True, eq=False, repr=False)
class Embedding(ZeroShotClassifier):
    """A method that says where samples and classes lie: :meth:`_embed` and :meth:`_prototypes`."""

    metric: Any = field(default="cosine", metadata=METRIC)

    COMPARISON: ClassVar[tuple[str, ...]] = ("metric",)

    def _embed(self, Z: FloatArray) -> FloatArray:
        """Return where normalised samples lie, a row for each."""
        raise NotImplementedError(f"{type(self).__name__} does not say where samples lie")

    def _prototypes(self, class_vectors: Float64Array) -> Float64Array:
        """Return where classes with the given normalised vectors lie, a row for each."""
        raise NotImplementedError(f"{type(self).__name__} does not say where classes lie")

    def transform(self, X: Any) -> FloatArray:
        """Return where samples lie in the space of comparison, a row for each."""
        check_is_fitted(self)
        floats = as_samples(self._checked(X))
        require_finite(floats, "X")
        return self._embed(self.feature_normalisation_.of_rows(floats))

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        prototypes = np.asarray(self._prototypes(class_vectors), dtype=np.float64)
        if callable(self.metric):
            return FunctionScorer(lambda Z: -checked_distances(self.metric, self._embed(Z), prototypes))
        lengths = np.linalg.norm(prototypes, axis=1, keepdims=True)
        if self.metric == "cosine":
            prototypes = prototypes / np.where(lengths > 0, lengths, 1)
        offsets = -(lengths[:, 0] ** 2) / 2 if self.metric == "euclidean" else np.zeros(len(prototypes))
        compare = AffineScorer(prototypes, offsets)
        return FunctionScorer(lambda Z: compare.scores(self._embed(Z)))
