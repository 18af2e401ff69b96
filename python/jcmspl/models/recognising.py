"""How fitted estimators recognise: candidates, scores, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from jcmspl.core.search import METRICS, SPACES, AffineScorer
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import LabelArray, as_label_list, label_array, some
from jcmspl.data.normalisation import Normalisation
from jcmspl.models.candidates import candidate_table
from jcmspl.models.recogniser import DistanceRecogniser, LinearRecogniser, Recogniser
from jcmspl.support.arguments import Float64Array, FloatArray, as_count, as_number, one_of


class RecognisingMixin:
    """predict and its kin, for estimators with visual and semantic projections."""

    space: str
    metric: Any
    temperature: Any
    classes_: LabelArray
    class_table_: ClassTable
    class_means_: Float64Array
    visual_projection_: Float64Array
    semantic_projection_: Float64Array
    feature_normalisation_: Normalisation
    class_normalisation_: Normalisation
    seen_bias: float
    calibration_: dict[tuple[str, Any], float]
    _table: ClassTable | None

    def recogniser(
        self,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
        space: str | None = None,
    ) -> Recogniser:
        """Fold the model and its candidate classes into one recogniser, for use in a loop or elsewhere.

        Parameters
        ----------
        class_vectors, candidates, seen_bias
            As for predict.
        space : {"semantic", "visual", "concept"}, optional
            Where to compare, if not in the space of the model.

        Returns
        -------
        LinearRecogniser
            A plain linear layer, with ``to_onnx``. For a metric that is a function: a recogniser that calls it.
        """
        one_of(self._settings.space if space is None else space, "space", SPACES)
        table, bias = self._candidates(class_vectors, candidates, seen_bias, space)
        return self._recogniser(table, bias, space)

    def predict(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
    ) -> LabelArray:
        """Return the label of the best candidate class of each sample.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
        class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like, optional
            Classes to choose from, whether the model knows them or not; for this call their vectors count. The labels
            of an array are its row numbers.
        candidates : {"seen", "unseen", "all"} or sequence of labels, optional
            Choose among the classes of the training data, among those known (or given) but not trained on, among both
            (generalized), or among the classes named. By default: the classes in class_vectors if given, else all that
            the model knows.
        seen_bias : float, optional
            What to take off the scores of classes of the training data where both kinds are candidates, in place of
            the model's own seen_bias_ (calibrated stacking).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "visual_projection_")
        samples = self._samples(X)
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        return _best(recogniser, samples)

    def predict_topk(
        self,
        X: Any,
        k: int | None = None,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
        return_scores: bool = False,
    ) -> Any:
        """Return the labels of the k best candidate classes of each sample, best first.

        Parameters
        ----------
        X, class_vectors, candidates, seen_bias
            As for predict.
        k : int, optional
            How many; by default 5, or all candidates if there are fewer.
        return_scores : bool, default False
            Whether to return the scores as well.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of shape (n_samples, k), if asked for
        """
        check_is_fitted(self, "visual_projection_")
        samples = self._samples(X)
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        n_candidates = len(recogniser.labels)
        if k is not None and as_count(k, "k") > n_candidates:
            raise ValueError(f"k is {k}, but there are only {n_candidates} candidates")
        k = min(5, n_candidates) if k is None else k
        indices, scores = recogniser.top_k(samples, k)
        labels = recogniser.labels[indices]
        return (labels, scores) if return_scores else labels

    def decision_function(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
    ) -> FloatArray:
        """Return the score of every candidate class for each sample: the higher the better.

        For the metric "cosine" the score is the cosine times the length of the sample in the space of comparison, for
        "euclidean" minus half the squared distance up to a term that is the same for all candidates, for "dot" the
        inner product, and for a function minus its distance.

        Parameters
        ----------
        X, class_vectors, candidates, seen_bias
            As for predict.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_candidates)
            Columns are the candidates in the order given; "seen" is the order of classes_, "unseen" that of
            unseen_classes_, "all" the one after the other. As in all of scikit-learn, a model that knows two classes
            and nothing else gives one column (n_samples,) unless candidates or class_vectors are named: the score of
            the second class minus that of the first.
        """
        check_is_fitted(self, "visual_projection_")
        samples = self._samples(X)
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        scores = recogniser.scores(samples)
        if class_vectors is None and candidates is None and self.class_table_.n_classes == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    def predict_proba(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
        temperature: float | None = None,
    ) -> FloatArray:
        """Return the softmax of the scores divided by a temperature.

        These rank as the scores do and say how clear a choice is. They are no calibrated probabilities.

        Parameters
        ----------
        X, class_vectors, candidates, seen_bias
            As for predict.
        temperature : float, optional
            In place of the model's own: the lower, the surer. "auto" in the model means the share of the spread of the
            scores (of the mean samples of the training classes, for these classes) that AUTO_TEMPERATURE says.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_candidates)
            Columns as for decision_function, but always one for each candidate: by default all classes that the model
            knows, which are more than classes_ if it knows unseen ones.
        """
        check_is_fitted(self, "visual_projection_")
        samples = self._samples(X)
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        scores = recogniser.scores(samples)
        # the differences first, in float64: scores over a tiny temperature would overflow
        exponents = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            exponents /= self._temperature(temperature)
        shares = np.exp(exponents)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=scores.dtype)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
        average: str = "class",
    ) -> float:
        """Return the share of samples that are recognised.

        Parameters
        ----------
        X, class_vectors, candidates, seen_bias
            As for predict; but if y holds no class of the training data and neither class_vectors nor candidates are
            given, the candidates are the classes in y, which must be two at least: zero-shot recognition, as in
            cross-validation over classes.
        y : array_like of shape (n_samples,)
            The true labels. They must be among the candidates, if the model was trained with class vectors.
        sample_weight : array_like of shape (n_samples,), optional
        average : {"class", "sample"}, default "class"
            The mean over classes of the share within each, as is usual in this field, or the share of all samples.

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self, "visual_projection_")
        one_of(average, "average", ("class", "sample"))
        labels, samples = as_label_list(y), self._samples(X)
        if len(labels) != len(samples):
            raise ValueError(f"there are {len(samples)} samples in X but {len(labels)} labels in y")
        weights = _check_sample_weight(sample_weight, samples, dtype=np.float64)
        present = dict.fromkeys(labels)
        if class_vectors is None and candidates is None and not present.keys() & set(self.classes_.tolist()):
            self.class_table_.positions(present, "y")
            if len(present) < 2:
                raise ValueError(
                    f"y holds the single class {labels[0]!r}, which would be its only candidate: name the candidates"
                )
            candidates = [label for label in self.class_table_ if label in present]
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        possible = set(recogniser.labels.tolist())
        strangers = [label for label in present if label not in possible]
        if strangers and self._table is not None:
            raise ValueError(f"y holds {some(strangers)}, which is not among the candidates and could never be right")
        predicted = _best(recogniser, samples).tolist()
        right = weights * np.array([a == b for a, b in zip(predicted, labels, strict=True)], dtype=np.float64)
        if average == "sample":
            return float(right.sum() / weights.sum())
        numbers = {label: number for number, label in enumerate(present)}
        codes = np.array([numbers[label] for label in labels])
        return float(np.mean(np.bincount(codes, right) / np.bincount(codes, weights)))

    def _samples(self, X: Any, *, reset: bool = False) -> npt.NDArray[Any]:
        raise NotImplementedError

    @property
    def _settings(self) -> Any:
        raise NotImplementedError

    def _check_recognition_parameters(self) -> None:
        one_of(self.space, "space", SPACES)
        if not callable(self.metric):
            one_of(self.metric, "metric", METRICS)
        if self.temperature != "auto":
            _as_temperature(self.temperature)

    @property
    def seen_bias_(self) -> float:
        """What is taken off the scores of training classes: as calibrated for the space and metric, or as given."""
        return self._bias_in(self._settings.space)

    def _bias_in(self, space: str) -> float:
        if getattr(self, "calibration_", None) is None:
            raise AttributeError("the model is not fitted yet")
        return float(self.calibration_.get((space, self._settings.metric), self._settings.seen_bias))

    def _candidates(
        self, class_vectors: Any, candidates: Any, seen_bias: float | None, space: str | None = None
    ) -> tuple[ClassTable, Float64Array]:
        """Return the candidate classes and what is added to their scores."""
        check_is_fitted(self, "visual_projection_")
        if class_vectors is not None and self._table is None:
            raise ValueError(
                "the model was trained without class_vectors, so it cannot know what other classes look like"
            )
        table, is_seen = candidate_table(self.class_table_, self.classes_.tolist(), class_vectors, candidates)
        handicap = as_bias(self._bias_in(space or self._settings.space) if seen_bias is None else seen_bias)
        mixed = is_seen.any() and not is_seen.all()
        return table, np.where(is_seen, -handicap, 0.0) if mixed else np.zeros(table.n_classes)

    def _recogniser(
        self, table: ClassTable, bias: Float64Array, space: str | None, *, unit_rows: bool | None = None
    ) -> Recogniser:
        """Return the recogniser of raw samples; unit_rows=False: of samples that have been scaled already."""
        metric, space = self._settings.metric, self._settings.space if space is None else space
        one_of(space, "space", SPACES)
        vectors = np.ascontiguousarray(self.class_normalisation_.of_rows(table.vectors))
        scale = self.feature_normalisation_.unit_rows if unit_rows is None else unit_rows
        if callable(metric):
            left, prototypes = self._in_space(vectors, space)
            left.unit_rows = scale
            return DistanceRecogniser(metric, left.scores, prototypes, bias, label_array(table))
        one_of(metric, "metric", METRICS)
        A, B = self.visual_projection_, self.semantic_projection_
        folded = AffineScorer.fold(A, B, vectors, space=space, metric=metric)  # type: ignore[arg-type]
        weights, offsets = self.feature_normalisation_.folded(folded.weights, folded.bias)
        return LinearRecogniser(weights, offsets + bias, label_array(table), scale)

    def _affine(self, weights: Float64Array) -> AffineScorer:
        """Return what applies a linear map of normalised samples to raw ones."""
        folded, bias = self.feature_normalisation_.folded(weights, np.zeros(len(weights)))
        return AffineScorer(folded, bias, unit_rows=self.feature_normalisation_.unit_rows)

    def _in_space(self, vectors: Float64Array, space: str) -> tuple[AffineScorer, Float64Array]:
        """Return the map of samples into the space of comparison, and the candidates there."""
        A, B = self.visual_projection_, self.semantic_projection_
        if space == "visual":
            return self._affine(np.eye(A.shape[1])), (vectors @ B.T) @ A
        if space == "semantic":
            return self._affine(B.T @ A), vectors
        return self._affine(A), vectors @ B.T

    def _temperature(self, temperature: float | None) -> float:
        chosen = self._settings.temperature if temperature is None else temperature
        if chosen != "auto":
            return _as_temperature(chosen)
        seen = self.class_table_.select(self.classes_.tolist())
        recogniser = self._recogniser(seen, np.zeros(seen.n_classes), None, unit_rows=False)
        scores = recogniser.scores(self.class_means_)
        return max(AUTO_TEMPERATURE * float(scores.std()), float(np.finfo(np.float32).tiny))


#: What "auto" means: this share of the spread of the scores of mean training samples. On three spaces and three metrics
#: of CUB it lies near the temperature that gives unseen classes their highest likelihood.
AUTO_TEMPERATURE = 0.35


def _best(recogniser: Recogniser, samples: npt.NDArray[Any]) -> LabelArray:
    return np.asarray(recogniser.labels[recogniser.top_k(samples, 1)[0][:, 0]])


def as_bias(value: Any) -> float:
    """Return a bias on training classes: a finite number."""
    return as_number(value, "seen_bias")


def _as_temperature(value: Any) -> float:
    number = as_number(value, "temperature", "a number or 'auto'")
    if number <= 0:
        raise ValueError(f"temperature must be a finite number above 0, but is {number}")
    return number
