"""Small kinds of methods: embeddings, predicted means, synthesised classifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import pinv
from scipy.spatial.distance import cdist, pdist
from scipy.special import softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from jcmspl.core.scoring import AffineScorer
from jcmspl.data.normalisation import parse_feature_normalisation, parse_normalisation
from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import METRIC
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import Monitor
from jcmspl.model.method import check_parameters
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import NOT_NEGATIVE, WEIGHT, NamedArrays, Shape, checked_by
from jcmspl.model.recogniser import FunctionScorer, LinearScorer, Scorer, minus_distances, normalised
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
        samples = model._checked(X)
        return model._embed(normalised(model.feature_normalisation_, samples))

    @property
    def _n_features_out(self) -> int:
        one_class = self.class_normalisation_.of_rows(self.class_table_.vectors[:1])
        return int(np.shape(self._prototypes(one_class))[1])

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        return self._scorer_by(self._embed, class_vectors)

    def _scorer_by(self, embed: Callable[[FloatArray], FloatArray], class_vectors: Float64Array) -> Scorer:
        """Return the scorer of samples in the places that a function returns."""
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


def map_to_means(moments: Moments, alpha: float) -> Float64Array:
    """Return the matrix that maps class vectors, as rows, to the predicted mean samples of their classes."""
    return moments.classes.solve((moments.vectors.T @ moments.means).T, alpha).T


@dataclass(kw_only=True, eq=False, repr=False)
class PredictedMeans(ZeroShotClassifier):
    """A method that compares samples with means predicted by a regression; subclasses implement the comparison."""

    alpha: float = field(default=0.3, kw_only=False, metadata=WEIGHT)

    ARRAYS: ClassVar[dict[str, Shape]] = {"mean_map": ("d", "m"), "intercept": ("m",)}
    ADDED_ARRAYS: ClassVar[tuple[str, ...]] = ("intercept",)

    def _prepare(self, training: TrainingData) -> Any:
        return Moments(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        means = np.ascontiguousarray(map_to_means(prepared, self.alpha))
        return {"mean_map": means, "intercept": prepared.intercept}

    def _means(self, class_vectors: Float64Array) -> Float64Array:
        return np.asarray(class_vectors @ self.arrays_["mean_map"] + self.arrays_["intercept"])


@dataclass(kw_only=True, eq=False, repr=False)
class Synthesised(ZeroShotClassifier):
    """A method that learns linear classifiers of the seen classes, and synthesises those of others.

    The phantom classes are where the seen ones are. With S the similarities of seen classes to them and W the
    classifiers of seen classes, the base classifiers are ``V = pinv(S) W``, and that of a class with similarities s is
    ``s V``.

    Parameters
    ----------
    penalty : float
        The paper's λ: ``penalty / 2 |W|^2`` is added to the loss.
    tau : float
        How sharply classes differ: with 0 all candidates are the same, and a large one makes a class its nearest seen
        one. It may be changed after a fit.
    """

    penalty: float = field(default=2.0**-16, kw_only=False, metadata=WEIGHT)
    tau: float = field(default=0.5, metadata=NOT_NEGATIVE)
    feature_normalisation: str = field(default="sample_l2", metadata=checked_by(parse_feature_normalisation))
    class_normalisation: str = field(default="sample_l2", metadata=checked_by(parse_normalisation))

    LINEAR: ClassVar[bool] = True
    COMPARISON: ClassVar[tuple[str, ...]] = ("tau",)
    ARRAYS: ClassVar[dict[str, Shape]] = {"classifiers": ("c", "m"), "phantoms": ("c", "d"), "unit": ()}

    def _scorer(self, class_vectors: Float64Array, space: str) -> LinearScorer:
        phantoms, unit = self.arrays_["phantoms"], float(self.arrays_["unit"])
        base = pinv(similarities(phantoms, phantoms, self.tau)) @ self.arrays_["classifiers"]
        weights = similarities(class_vectors / unit, phantoms, self.tau) @ base
        return LinearScorer(weights, np.zeros(len(weights)))


def learnt(classifiers: Float64Array, class_vectors: Float64Array) -> NamedArrays:
    """Return the arrays of the classifiers and vectors of seen classes: the unit is a usual distance of vectors."""
    distances = pdist(class_vectors)
    unit = float(np.median(distances[distances > 0])) if distances.any() else 1.0
    return {"classifiers": np.ascontiguousarray(classifiers), "phantoms": class_vectors / unit, "unit": np.array(unit)}


def similarities(vectors: Float64Array, phantoms: Float64Array, tau: float) -> Float64Array:
    """Return the share of each phantom class in each class; the shares of a class add up to 1."""
    return np.asarray(softmax(-tau * cdist(vectors, phantoms, "sqeuclidean"), axis=1))
