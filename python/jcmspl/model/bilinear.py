"""Bilinear methods: two projections, A of samples and B of class vectors, compared in one of three spaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from jcmspl.core.scoring import METRICS, SPACES, fold
from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.data.reading import samples_dtype
from jcmspl.data.training import TrainingData
from jcmspl.datasets.class_files import load_classes
from jcmspl.model.adaptation import GUESS_WEIGHT
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.explanation import ClassMap, Explainer, Explanation, attribute_parts
from jcmspl.model.fitted import FittedAttribute
from jcmspl.model.known_classes import Call
from jcmspl.model.learning import Monitor
from jcmspl.model.method import check_parameters
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import SHARE_OR_AUTO, NamedArrays, Shape, checked_by, one_of_names
from jcmspl.model.prediction import biased_candidates, recogniser_of
from jcmspl.model.prototypes import (
    COSINE_COUNT,
    LONE_SHARE,
    NEW_SHARE,
    ratio_of_spreads,
    require_alignable,
    warn_of_alignment,
    with_class_vectors,
)
from jcmspl.model.recogniser import (
    FunctionScorer,
    LinearScorer,
    NearestScorer,
    Scorer,
    affine_map,
    by_rows,
    minus_distances,
)
from jcmspl.model.visual_prototypes import VisualPrototypes
from jcmspl.support.arguments import Float64Array, FloatArray, one_of
from jcmspl.support.calls import by_name
from jcmspl.support.progress import logger
from jcmspl.support.scaling import unit_length


def _check_metric(value: Any, name: str) -> None:
    if not callable(value):
        one_of(value, name, METRICS)


#: The metadata of a parameter that names a metric, or is one.
METRIC = checked_by(_check_metric)


@dataclass(kw_only=True, eq=False, repr=False)
class Bilinear(ClassNamePrefixFeaturesOutMixin, TransformerMixin, VisualPrototypes, ZeroShotClassifier):
    """A method that learns A and B; a class that derives from it says how: :meth:`_solve`.

    Samples and classes are compared in the semantic space, B'Ax with y, in the visual space, x with A'By, or in the
    concept space, Ax with By. In the visual space more can be known of a class than the model predicts:
    :mod:`jcmspl.model.prototypes`.
    """

    space: str = field(default="semantic", metadata=one_of_names(SPACES))
    metric: Any = field(default="cosine", metadata=METRIC)
    cosine_share: Any = field(default=0.0, metadata=SHARE_OR_AUTO)

    LINEAR: ClassVar[bool] = True
    #: Whether A is a map W of samples to class vectors, and B the identity.
    ONE_MAP: ClassVar[bool] = False
    SPACES: ClassVar[tuple[str, ...]] = SPACES
    COMPARISON: ClassVar[tuple[str, ...]] = ("space", "metric", *VisualPrototypes.COMPARISON, "cosine_share")
    ARRAYS: ClassVar[dict[str, Shape]] = {"visual_projection": ("k", "m"), "semantic_projection": ("k", "d")}

    def _prepare(self, training: TrainingData) -> Any:
        return Moments(training)

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        """Return A, (n_concepts, n_features), and B, (n_concepts, n_attributes)."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        A, B = self._solve(prepared)
        return {"visual_projection": np.ascontiguousarray(A), "semantic_projection": np.ascontiguousarray(B)}

    @property
    def visual_projection_(self) -> Float64Array:
        """A, for normalised samples."""
        return self._array("visual_projection")

    @property
    def semantic_projection_(self) -> Float64Array:
        """B, for normalised class vectors."""
        return self._array("semantic_projection")

    alignment_ = FittedAttribute[Alignment | None](
        "alignment", "How well class vectors and samples agree; None where they cannot be compared.", may_be_none=True
    )

    @property
    def cosine_share_(self) -> float:
        """The share of the plain cosine of sample and class vector in the score of a class without samples."""
        return self._cosine_share(self.alignment_)

    def _cosine_share(self, alignment: Alignment | None) -> float:
        if not isinstance(self.cosine_share, str):
            return float(self.cosine_share) if self.space == "visual" else 0.0
        if not self._compares_directions or alignment is None or not alignment.is_aligned:
            return 0.0
        return LONE_SHARE if self._lacks_scatter else NEW_SHARE

    @property
    def _lacks_scatter(self) -> bool:
        """Whether samples were to be whitened, and could not be: those of a class do not differ."""
        wanted = parse_feature_normalisation(self.feature_normalisation).whiten
        return wanted and self.feature_normalisation_.whitening is None

    @property
    def _compares_directions(self) -> bool:
        """Whether samples are compared by their cosines in the visual space, where a plain cosine can be added."""
        return self.space == "visual" and self._is_by_cosine

    @property
    def _finds_shares(self) -> bool:
        """Whether encoders were found to be aligned, so that shares depend on the number of samples of a class."""
        return isinstance(self.cosine_share, str) and self.cosine_share_ > 0

    @by_name
    def transform(self, X: Any) -> FloatArray:
        """Project samples into the concept space.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_concepts)
            The paper's Ax, a row for each sample.
        """
        model = self._fitted_twin()
        codes = affine_map(model.visual_projection_, model.feature_normalisation_)
        samples = model._checked(X)
        return cast(FloatArray, by_rows(codes.scores, samples, samples_dtype(samples), len(codes.weights)))

    @by_name
    def reconstruct_semantic(self, X: Any) -> FloatArray:
        """Return the class vector that the model reads out of each sample, B'Ax, in the units of the class vectors.

        Class vectors that are scaled to length one stay so, about.
        """
        model = self._fitted_twin()
        readout = affine_map(model._readout(), model.feature_normalisation_)
        return model.class_normalisation_.undone(readout.scores(model._checked(X)))

    @by_name
    def reconstruct_visual(self, class_vectors: Any = None) -> Float64Array:
        """Return the sample that the model expects of each class, A'By, in the units of the features.

        Features that are scaled to length one stay so, about, and if their roots are taken, these are what is returned.

        Parameters
        ----------
        class_vectors : ClassTable, dict, DataFrame or array_like, optional
            By default all classes that the model knows.
        """
        model = self._fitted_twin()
        table = load_classes(model.class_table_ if class_vectors is None else class_vectors)
        table = table.aligned_with(model.class_table_)
        vectors = model.class_normalisation_.of_rows(table.vectors)
        return np.asarray(model.feature_normalisation_.undone(model._expected(vectors)), dtype=np.float64)

    @by_name
    def explain(
        self,
        X: Any,
        *,
        label: Any = None,
        against: Any = "runner-up",
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
    ) -> list[Explanation]:
        """Tell which attributes spoke for and against the chosen class of each sample.

        The score of a class is a sum over the attributes (dimensions of its vector). An explanation holds the parts of
        that sum, by default the difference to the parts of the second-best class. What comes from labelled samples of
        the class, or from its vector itself (see seen_mean_share, prediction_count and cosine_share), is one more part,
        the last one.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
            As for predict.
        label : label, optional
            The class to explain, if not the chosen one.
        against : "runner-up", label or None
            The class to compare it with; None: none.

        Returns
        -------
        list of Explanation, one for each sample
        """
        model = self._fitted_twin()
        model._require_explainable()
        samples, call = model._checked(X), Call(class_vectors, candidates, seen_penalty)
        explainer = model._cached("explainer", partial(model._explainer, call), call)
        return explainer(samples, label=label, against=against)

    def _require_explainable(self) -> None:
        if callable(self.metric):
            raise ValueError("explain needs a metric by name: the score of a function does not split over attributes")
        if self.class_normalisation_.kernel is not None:
            raise ValueError("explain needs class_kernel='linear': with a kernel scores do not split over attributes")

    def _explainer(self, call: Call) -> Explainer:
        table, bias = biased_candidates(self, call, self.space)
        vectors = self.class_normalisation_.of_rows(table.vectors)
        A, B = self.visual_projection_, self.semantic_projection_
        factors, halves = attribute_parts(A, B, vectors, space=self.space, metric=self.metric)
        shares, rest = np.ones(table.n_classes), None
        if self.space == "visual":
            of_cosine, of_prediction = self._cosine_shares(table), self._prototypes_of(table).shares
            shares = (1 - of_cosine) * of_prediction
            witnesses = ["samples"] * bool(np.any(of_prediction != 1)) + ["vector"] * bool(of_cosine.any())
            rest = f"(its {' and '.join(witnesses)})" if witnesses else None
        if self.space == "visual" and self._adapted_scorer(table) is not None:
            shares, rest = shares * GUESS_WEIGHT / (1 + GUESS_WEIGHT), "(the adaptation)"
        recogniser = recogniser_of(self, table, bias, self.space)
        readout = affine_map(self._readout(), self.feature_normalisation_)
        return Explainer(table, bias, recogniser.scores, readout.scores, factors, halves, shares, rest)

    def _warn_of_alignment(self, alignment: Alignment, raw: Statistics) -> None:
        logger.info("%s: %s", type(self).__name__, alignment)
        warn_of_alignment(self, alignment, raw)

    def _more_facts(self) -> dict[str, object]:
        alignment = self.alignment_
        if alignment is None or not (alignment.is_aligned or self.cosine_share_):
            return {}
        share = f"{100 * self.cosine_share_:.0f} %"
        return {"encoders": f"{alignment}; the cosine has a share of {share} in the score of new classes"}

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        A, B = self.visual_projection_, self.semantic_projection_
        layer = None if callable(self.metric) else fold(A, B, class_vectors, space=space, metric=self.metric)
        if layer is not None and self.metric != "euclidean":
            return LinearScorer(*layer)
        projection = A if space == "concept" else self._readout()
        place, norm = partial(_projected, projection), float(np.linalg.norm(projection))
        prototypes = class_vectors @ B.T if space == "concept" else class_vectors
        if layer is not None:
            return NearestScorer(*layer, place, norm, prototypes)
        return FunctionScorer(partial(minus_distances, self.metric, place, prototypes))

    def _class_map(self, space: str) -> ClassMap | None:
        if callable(self.metric) or (space == "visual" and self.cosine_share_):
            return None
        return ClassMap.of_projections(self.visual_projection_, self.semantic_projection_, space, self.metric)

    def _visual_scorer(self, table: ClassTable) -> Scorer:
        features = self.feature_normalisation_
        shares = self._cosine_shares(table)
        if shares.any():
            require_alignable(features, self.class_normalisation_, self.metric)
        scorer = super()._visual_scorer(table)
        if not shares.any():
            return scorer
        of_training = self._predicted(self._trained_vectors)
        assert isinstance(scorer, LinearScorer)  # by cosine
        ratio = ratio_of_spreads(of_training, self._trained_vectors, self.class_means_, features)
        level = unit_length(self._trained_vectors).mean(axis=0) if self._finds_shares else None
        return with_class_vectors(scorer, table.vectors, features, shares, ratio, level)

    def _cosine_shares(self, table: ClassTable) -> Float64Array:
        """Return the share of the plain cosine in the score of each candidate, in the visual space."""
        check_parameters(self, ("cosine_share",))  # it may have been set since the fit
        if self._finds_shares and not self._lacks_scatter:
            return NEW_SHARE * COSINE_COUNT / (COSINE_COUNT + self._labelled(table))
        return np.full(table.n_classes, self._cosine_share(self.alignment_))

    def _sample_shares(self, counts: Float64Array) -> float | Float64Array:
        if isinstance(self.seen_mean_share, str) and self._finds_shares:
            return counts / (COSINE_COUNT + counts)
        return super()._sample_shares(counts)

    def _predicted(self, vectors: Float64Array) -> Float64Array:
        """Return where the model expects classes in the visual space: A'By, of length one where directions count."""
        rows = np.ascontiguousarray(self.class_normalisation_.of_rows(vectors))
        metric = "cosine" if self.metric == "cosine" else "dot"
        return fold(self.visual_projection_, self.semantic_projection_, rows, space="visual", metric=metric)[0]

    def _readout(self) -> Float64Array:
        """Return B'A, which reads a class vector out of a sample."""
        return np.asarray(self.semantic_projection_.T @ self.visual_projection_)

    def _expected(self, class_vectors: Float64Array) -> Float64Array:
        """Return A'By for each class."""
        return np.asarray((class_vectors @ self.semantic_projection_.T) @ self.visual_projection_)

    @property
    def _n_features_out(self) -> int:
        return len(self.visual_projection_)


def _projected(projection: Float64Array, Z: FloatArray) -> FloatArray:
    return np.asarray(Z @ projection.T)
