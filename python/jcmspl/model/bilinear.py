"""Bilinear methods: two projections, A of samples and B of class vectors, compared in one of three spaces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from jcmspl.core.scoring import METRICS, SPACES, fold
from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.data.reading import samples_dtype
from jcmspl.data.training import TrainingData
from jcmspl.model import adapting
from jcmspl.model.adaptation import GUESS_WEIGHT, Adaptation
from jcmspl.model.adapting import AdaptationTrials
from jcmspl.model.cautions import warn_of_alignment
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.explanation import ClassMap, Explainer, Explanation, attribute_parts
from jcmspl.model.fitted import FittedAttribute
from jcmspl.model.known_classes import Call
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import (
    POSITIVE,
    SHARE_OR_AUTO,
    WEIGHT_OR_INFINITY,
    NamedArrays,
    Shape,
    check_parameters,
    checked_by,
    one_of_names,
)
from jcmspl.model.prediction import biased_candidates, recogniser_of
from jcmspl.model.prototypes import (
    LONE_SHARE,
    NEW_SHARE,
    SEEN_SHARE,
    Prototypes,
    combined,
    ratio_of_spreads,
    require_alignable,
    share_of_cosine,
    share_of_samples,
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
from jcmspl.support.arguments import Float64Array, FloatArray, one_of
from jcmspl.support.calls import by_name, changes
from jcmspl.support.progress import logger
from jcmspl.support.scaling import unit_length

if TYPE_CHECKING:
    from typing_extensions import Self


def _check_metric(value: Any, name: str) -> None:
    if not callable(value):
        one_of(value, name, METRICS)


# Parameters that say what else than the model's prediction counts in the visual space.
_EVIDENCE = ("seen_mean_share", "prediction_count", "cosine_share")
#: The metadata of a parameter that names a metric, or is one.
METRIC = checked_by(_check_metric)


@dataclass(kw_only=True, eq=False, repr=False)
class Bilinear(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ZeroShotClassifier):
    """A method that learns A and B; a class that derives from it says how: :meth:`_solve`.

    Samples and classes are compared in the semantic space, B'Ax with y, in the visual space, x with A'By, or in the
    concept space, Ax with By. In the visual space more can be known of a class than the model predicts:
    :mod:`jcmspl.model.prototypes`.
    """

    space: str = field(default="semantic", metadata=one_of_names(SPACES))
    metric: Any = field(default="cosine", metadata=METRIC)
    seen_mean_share: Any = field(default=0.0, metadata=SHARE_OR_AUTO)
    prediction_count: float = field(default=1.0, metadata=WEIGHT_OR_INFINITY)
    cosine_share: Any = field(default=0.0, metadata=SHARE_OR_AUTO)
    adaptation_pull: float = field(default=0.3, metadata=POSITIVE)
    adaptation_temperature: float = field(default=0.02, metadata=POSITIVE)

    LINEAR: ClassVar[bool] = True
    #: Whether A is a map W of samples to class vectors, and B the identity.
    ONE_MAP: ClassVar[bool] = False
    SPACES: ClassVar[tuple[str, ...]] = SPACES
    COMPARISON: ClassVar[tuple[str, ...]] = ("space", "metric", *_EVIDENCE)
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

    adapted_ = FittedAttribute[Adaptation]("adaptation", "The result of adapt.")
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
        return bool(self.space == "visual" and self.metric == "cosine")

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
        table = ClassTable.of(model.class_table_ if class_vectors is None else class_vectors)
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

    @changes
    def adapt(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        class_shares: Any = None,
        check: bool = True,
    ) -> Self:
        """Move the prototypes of the candidates to where unlabelled samples are (transductive recognition).

        For when all samples to be named are at hand. From then on predictions use the moved prototypes where all
        candidates of the call have been adapted, with the vectors that they had then; among other candidates the model
        predicts as before. Where seen and unseen classes compete, adaptation makes up for the preference for seen ones:
        predictions that use it take no bias off their scores, unless the call names one.

        Candidates may be missing among the samples, but the more are, the less is gained. ``adapted_`` tells what has
        moved, and whether it is trusted: neighbouring samples should have the same name no less often than before. If
        they do not, the model predicts as before, and says so in a warning.

        Parameters that are set later hold for the next adaptation, which starts from the model and not from the last
        one. fit, fit_from_statistics, partial_fit, and new vectors or samples by add_classes forget it, as
        :meth:`reset_adaptation` does.

        Only where samples and classes are compared in the visual space by their cosines.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features), or iterable of such arrays
            Samples without labels: an array of any layout, a memory map, a DataFrame, or chunks of samples, which are
            read one at a time. Directions of samples, in float32, are kept in memory up to 256 MB, and beyond that in
            a temporary file; those of arrays and DataFrames of dask stay on its workers.
        class_vectors, candidates, seen_penalty
            As for predict. The bias is taken off the scores of seen classes while prototypes move.
        class_shares : "even", dict of label -> number or array_like of shape (n_candidates,), optional
            The share of each candidate in the samples, where it is known: shares, percentages or numbers of samples, in
            the order of the candidates. Names are given in these shares. Right shares help, wrong ones do much harm.
        check : bool, default True
            Whether to predict as without the adaptation if it is not to be trusted; False: use it in any case.

        Returns
        -------
        self
        """
        call = Call(class_vectors, candidates, seen_penalty)
        self._fitted = adapting.adapted(self._fitted_twin(), X, call, class_shares=class_shares, check=check)
        return self

    @changes
    def reset_adaptation(self) -> Self:
        """Forget an adaptation: predict as without it."""
        self._fitted = replace(self._fitted, adaptation=None)
        return self

    def _require_explainable(self) -> None:
        if callable(self.metric):
            raise ValueError("explain needs a metric by name: the score of a function does not split over attributes")
        if self.class_normalisation_.kernel is not None:
            raise ValueError("explain needs class_kernel='linear': with a kernel scores do not split over attributes")

    def _adaptation_trials(self) -> AdaptationTrials:
        adapting.require_adaptable(self)
        return AdaptationTrials(float(self.adaptation_pull), float(self.adaptation_temperature))

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

    def _check_training(self, training: TrainingData) -> None:
        if not isinstance(self.cosine_share, str) and self.cosine_share:
            require_alignable(training.features, training.classes, self.metric)

    def _warn_of_training(self, raw: Statistics) -> None:
        if self.alignment_ is not None:
            logger.info("%s: %s", type(self).__name__, self.alignment_)
            warn_of_alignment(self, self.alignment_, raw)

    def _more_facts(self) -> dict[str, object]:
        alignment = self.alignment_
        if alignment is None or not (alignment.is_aligned or self.cosine_share_):
            return {}
        share = f"{100 * self.cosine_share_:.0f} %"
        return {"encoders": f"{alignment}; the cosine has a share of {share} in the score of new classes"}

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        if space != "visual":
            return super()._scorer_of(table, space)
        return self._adapted_scorer(table) or self._visual_scorer(table)

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
        prototypes = self._prototypes_of(table).vectors
        shares = self._cosine_shares(table)
        if shares.any():
            require_alignable(features, self.class_normalisation_, self.metric)
        if callable(self.metric):
            return FunctionScorer(partial(minus_distances, self.metric, np.asarray, prototypes))
        if self.metric == "euclidean":
            halves = (prototypes**2).sum(axis=1) / 2
            return NearestScorer(prototypes, -halves, np.asarray, 1.0, prototypes)
        scorer = LinearScorer(prototypes, np.zeros(len(prototypes)))
        if not shares.any():
            return scorer
        of_training = self._predicted(self._trained_vectors)
        ratio = ratio_of_spreads(of_training, self._trained_vectors, self.class_means_, features)
        level = unit_length(self._trained_vectors).mean(axis=0) if self._finds_shares else None
        return with_class_vectors(scorer, table.vectors, features, shares, ratio, level)

    def _labelled(self, table: ClassTable) -> Float64Array:
        """Return the number of labelled samples of each candidate that the model has."""
        counts, evidence = np.zeros(table.n_classes), self._evidence_for(table)
        if evidence is not None:
            counts[evidence.rows] = evidence.counts
        return counts

    def _makes_up_for_seen(self, table: ClassTable, space: str) -> bool:
        """Whether predictions use an adaptation: it leaves no preference for seen classes that a bias would undo."""
        return space == "visual" and self._adapted_scorer(table) is not None

    def _adapted_scorer(self, table: ClassTable) -> LinearScorer | None:
        """Return the adapted scorer, or None unless every candidate was adapted."""
        adaptation = self._fitted.adaptation
        return adaptation.scorer(table) if adaptation is not None and self.metric == "cosine" else None

    def _cosine_shares(self, table: ClassTable) -> Float64Array:
        """Return the share of the plain cosine in the score of each candidate, in the visual space."""
        check_parameters(self, ("cosine_share",))  # it may have been set since the fit
        if self._finds_shares and not self._lacks_scatter:
            return share_of_cosine(self._labelled(table))
        return np.full(table.n_classes, self._cosine_share(self.alignment_))

    def _prototypes_of(self, table: ClassTable) -> Prototypes:
        """Return where classes lie in the visual space."""
        check_parameters(self, ("metric", *_EVIDENCE))  # they may have been set since the fit
        predicted, evidence = self._predicted(table.vectors), self._evidence_for(table)
        if evidence is None:
            return Prototypes(predicted, np.ones(len(predicted)))
        share = self.seen_mean_share
        if isinstance(share, str):
            share = share_of_samples(evidence.counts) if self._finds_shares else SEEN_SHARE
        return combined(
            predicted,
            evidence,
            self.feature_normalisation_,
            seen_mean_share=share,
            prediction_count=self.prediction_count,
            sample_length=self._fitted.sample_length if self.metric == "cosine" else None,
        )

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
