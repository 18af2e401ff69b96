"""The classifier: what users call, whatever the method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array, some
from jcmspl.data.on_dask import is_dask
from jcmspl.data.parts import Part, lazily, samples_dtype
from jcmspl.models.adaptation_trials import AdaptationTrials
from jcmspl.models.calibration import SeenUnseenCurve, calibrated_biases, curve_of, generalized_curve
from jcmspl.models.candidates import candidate_table, unseen_in
from jcmspl.models.cautions import warn_of_zero_vectors
from jcmspl.models.checking import rereadable_samples
from jcmspl.models.class_map import ClassMap
from jcmspl.models.labelled_samples import SamplesInMemory, SamplesOnDask
from jcmspl.models.learner import Learner
from jcmspl.models.naming import Namer
from jcmspl.models.open_set import with_none
from jcmspl.models.parameters import NUMBER, checked_by
from jcmspl.models.persistence import load_model, save_model
from jcmspl.models.probabilities import AUTO_TEMPERATURE, as_temperature, softmax
from jcmspl.models.prototypes import Evidence
from jcmspl.models.recogniser import LinearRecogniser, Recogniser
from jcmspl.models.rejection import chosen_thresholds
from jcmspl.models.scorers import Scorer
from jcmspl.support.arguments import Float64Array, FloatArray, as_count, as_number, one_of
from jcmspl.support.exceptions import UncalibratedWarning
from jcmspl.support.names import SPACES
from jcmspl.support.scaling import Scaling
from jcmspl.support.state import changes, reads
from jcmspl.support.warn import OneWarning

if TYPE_CHECKING:
    from typing_extensions import Self

_COMPETITION = (
    "seen and unseen classes compete without a calibrated bias, and a model prefers those that it was trained on: "
    "calibrate it with training samples (calibrate(X, y); jcmspl fit --calibrate), or choose among unseen classes "
    "alone (candidates='unseen'; --candidates unseen); seen_bias=0 in the call (--seen-bias 0) says that it is meant so"
)


# What a recogniser is made of, besides the arrays of a fit and the parameters of the comparison.
_MAKE_A_RECOGNISER = (
    "class_table_",
    "classes_",
    "feature_normalisation_",
    "class_normalisation_",
    "class_means_",
    "_samples",
    "adapted_",
)


@dataclass(kw_only=True, eq=False, repr=False)
class ZeroShotClassifier(ClassifierMixin, Learner):
    """What all methods have in common: they learn from some classes and recognise others by their vectors.

    A method says how it learns (see :class:`~jcmspl.models.learner.Learner`) and what it makes of candidate classes:
    :meth:`_scorer`. :class:`~jcmspl.models.bilinear.Bilinear` and :class:`~jcmspl.models.embedding.Embedding` ask for
    less where a method is of that kind.
    """

    seen_bias: float = field(default=0.0, metadata=NUMBER)
    temperature: Any = field(default="auto", metadata=checked_by(as_temperature))

    #: What kind of method it is; None: what it derives from says so.
    KIND: ClassVar[str | None] = None
    #: Whether scores are linear in the sample, with a metric that has a name; None: what _scorer returns says so.
    LINEAR: ClassVar[bool | None] = None
    #: Where the method can compare samples and classes.
    SPACES: ClassVar[tuple[str, ...]] = ("own",)
    #: Parameters that say how samples and classes are compared: one fit serves all of their values.
    COMPARISON: ClassVar[tuple[str, ...]] = ()
    #: What a search tries where it is not told: a few values of each parameter.
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {}
    #: Whether large weights make the simpler model, as penalties do, or small ones, as those of further terms do.
    HEAVY_IS_SIMPLE: ClassVar[bool] = True
    #: Reduced forms of the method that have a name: the parameters that make them.
    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {}

    # With metadata routing enabled: class vectors belong to fit and to the predictions they are given for. The score of
    # a fold in cross-validation is not to take them for its candidates.
    __metadata_request__fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__partial_fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__predict: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__predict_proba: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__decision_function: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__score: ClassVar = {"class_vectors": False}

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        """Return what scores normalised samples for candidate classes with the given normalised vectors."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it recognises")

    def _class_map(self, space: str) -> ClassMap | None:
        """Return how the normalised vector of a class of which nothing else is known becomes its scores, if it can."""
        return None

    def _adaptation_trials(self) -> AdaptationTrials:
        """Return what finds the constants of an adaptation, for a model that can be adapted."""
        raise TypeError(f"a {type(self).__name__} cannot be adapted to samples: leave adaptation=True out")

    def _for_other_classes(self) -> Self:
        """Return an unfitted copy that can be fitted to other classes than these."""
        twin: Self = clone(self)
        return twin

    def _warm_start(self, prepared: Any, class_means: Float64Array) -> dict[str, Any]:
        """Return parameters that start other fits to the same data near the result of a fit, if there are any."""
        return {}

    @reads
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
        space : str, optional
            Where to compare, if not in the space of the model; one of its SPACES.

        Returns
        -------
        LinearRecogniser
            A plain linear layer, with ``to_onnx``, where the scores are linear in the sample; otherwise, as for a
            metric that is a function, a recogniser that calls the method with blocks of samples.
        """
        space = one_of(self.own_space if space is None else space, "space", self.SPACES)
        table, bias = self._biased_candidates(class_vectors, candidates, seen_bias, space)
        return self._recogniser_of(table, bias, space)

    @reads
    def predict(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
        reject: Any = None,
        reject_label: Any = None,
    ) -> LabelArray:
        """Return the label of the best candidate class of each sample, or that it is of none of them.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Of an array or a DataFrame of dask the result is an array of dask, whose partitions are named when and where
            it is computed. The same holds for the methods below.
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
        reject : float or "auto", optional
            Give no name to samples whose best score (see :meth:`decision_function`) is below this number; "auto": below
            the one that :meth:`calibrate_rejection` has chosen for such candidates. By default all samples get a name.
        reject_label : optional
            What a sample is called that gets no name; None by default, in an array of objects. One of the type of the
            labels, such as "" or -1, gives an array of that type.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_bias)
        if reject is None:
            return cast(LabelArray, lazily(recogniser.predict, samples, recogniser.labels.dtype))
        threshold = self._threshold(reject, class_vectors, candidates)
        labels = with_none(recogniser.labels, reject_label)
        namer = Namer(recogniser, 1, None, threshold)
        return cast(LabelArray, lazily(partial(_named_or_none, namer, labels), samples, labels.dtype))

    @reads
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
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_bias)
        n_candidates = len(recogniser.labels)
        if k is not None and as_count(k, "k") > n_candidates:
            raise ValueError(f"k is {k}, but there are only {n_candidates} candidates")
        k = min(5, n_candidates) if k is None else k
        if is_dask(samples):
            labels, scores = _lazy_topk(recogniser, samples, k)
        else:
            indices, scores = recogniser.top_k(samples, k)
            labels = recogniser.labels[indices]
        return (labels, scores) if return_scores else labels

    @reads
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
        check_is_fitted(self)
        if seen_bias is None:
            seen_bias = self.seen_bias_  # named, for scores choose nothing that would have to be warned of
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_bias)
        scores = lazily(recogniser.scores, samples, _scores_dtype(recogniser, samples), len(recogniser.labels))
        if class_vectors is None and candidates is None and self.class_table_.n_classes == 2:
            return cast(FloatArray, scores[:, 1] - scores[:, 0])
        return cast(FloatArray, scores)

    @reads
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
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_bias)
        shares = partial(_shares, recogniser, self._temperature(temperature))
        return cast(FloatArray, lazily(shares, samples, _scores_dtype(recogniser, samples), len(recogniser.labels)))

    @reads
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
        """Return the share recognised among the classes in y if all are unseen, else among all that the model knows.

        The former is zero-shot recognition, as in cross-validation over classes: predict with ``candidates="unseen"``
        where y holds all unseen classes. The latter is predict as it is. Name the candidates, or use a scorer of
        :mod:`jcmspl.metrics`, and nothing depends on what y holds.

        Parameters
        ----------
        X, class_vectors, candidates, seen_bias
            As for predict; but if y holds no class of the training data and neither class_vectors nor candidates are
            given, the candidates are the classes in y, which must be two at least.
        y : array_like of shape (n_samples,)
            The true labels. They must be among the candidates, if the model was trained with class vectors.
        sample_weight : array_like of shape (n_samples,), optional
        average : {"class", "sample"}, default "class"
            The mean over classes of the share within each, as is usual in this field, or the share of all samples.

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self)
        one_of(average, "average", ("class", "sample"))
        if is_dask(X):
            return self._score_on_dask(X, y, sample_weight, class_vectors, candidates, seen_bias, average)
        labels, samples = as_label_list(y), self._checked(X)
        if len(labels) != len(samples):
            raise ValueError(f"there are {len(samples)} samples in X but {len(labels)} labels in y")
        weights = _check_sample_weight(sample_weight, samples, dtype=np.float64)
        present = dict.fromkeys(labels)
        recogniser = self._judge_of(present, class_vectors, candidates, seen_bias)
        predicted = recogniser.predict(samples).tolist()
        right = weights * np.array([a == b for a, b in zip(predicted, labels, strict=True)], dtype=np.float64)
        if average == "sample":
            return float(right.sum() / weights.sum())
        numbers = {label: number for number, label in enumerate(present)}
        codes = np.array([numbers[label] for label in labels])
        totals = np.bincount(codes, weights)
        counted = totals > 0
        return float(np.mean(np.bincount(codes, right)[counted] / totals[counted]))

    def _judge_of(
        self, present: Iterable[Label], class_vectors: Any, candidates: Any, seen_bias: float | None
    ) -> Recogniser:
        """Return what names samples whose labels are these, to see whether it is right."""
        there = dict.fromkeys(present)
        if class_vectors is None and candidates is None and not there.keys() & set(self.classes_.tolist()):
            candidates = unseen_in(there, self.class_table_, self.classes_.tolist())
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        possible = set(recogniser.labels.tolist())
        strangers = [label for label in there if label not in possible]
        if strangers and self._table is not None:
            raise ValueError(f"y holds {some(strangers)}, which is not among the candidates and could never be right")
        return recogniser

    def _score_on_dask(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        class_vectors: Any,
        candidates: Any,
        seen_bias: float | None,
        average: str,
    ) -> float:
        """Return the score of samples that dask has: only sums of weights travel."""
        parts = self._parts_of(X, y, sample_weight)
        weights = parts.label_counts()
        if not any(weights.values()):
            raise ValueError("there are no samples in X, or none that weighs anything: there is nothing to score")
        recogniser = self._judge_of(weights, class_vectors, candidates, seen_bias)
        right = parts.reduced(_right, recogniser, what="recognising", progress=bool(self.progress))
        if average == "sample":
            return float(sum(right.values()) / sum(weights.values()))
        return float(np.mean([right[label] / weight for label, weight in weights.items() if weight]))

    @changes
    def calibrate(
        self,
        X: Any,
        y: Any,
        *,
        n_splits: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
        adaptation: bool = False,
    ) -> Self:
        """Choose the bias on training classes for generalized recognition, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others, and samples of both kinds are recognised among all of them. The bias that gives the highest harmonic
        mean of the two per-class accuracies, in the mean over folds, becomes seen_bias_; one is chosen for each space,
        for the metric of the model.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data.
        n_splits : int, optional
            The number of folds of classes. By default such that a fold holds out the same share of classes as is unseen
            among those that the model knows; 4 if it knows none.
        held_out : float, default 0.2
            The share of the samples of the other classes that is kept for testing.
        random_state : int, Generator, RandomState or None, default 0
        adaptation : bool, default False
            Whether to choose the constants of ``adapt`` as well, adaptation_constants_, for models that have it: each
            fold's model is adapted to the samples of the classes that it was not trained on. Others than
            adaptation_pull and adaptation_temperature are chosen if they recognise more, by more than a standard error
            over the folds.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self._table is None:
            raise ValueError("a model without class_vectors has no unseen classes to be calibrated for")
        with self._telling("calibrate", X) as line:
            samples = self._labelled_samples(X, y)
            trials = self._adaptation_trials() if adaptation else None
            found = calibrated_biases(
                self, samples, n_splits=n_splits, held_out=held_out, random_state=random_state, on_fold=trials
            )
            if trials is not None:
                self.adaptation_constants_ = trials.chosen()
            self.calibration_ = {**self.calibration_, **{(space, self._own_metric): found[space] for space in found}}
            # thresholds among seen and unseen classes were chosen with another bias
            self.rejection_ = {key: one for key, one in self.rejection_.items() if key[2] != "all"}
            self._competition = OneWarning()
            line.text = f"bias {self.seen_bias_:.4g} in the {self.own_space} space"
        return self

    @changes
    def calibrate_rejection(
        self,
        X: Any,
        y: Any,
        *,
        lost: float = 0.05,
        n_splits: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
    ) -> Self:
        """Choose when ``predict(..., reject="auto")`` names nothing, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others. Samples of the fold are looked at twice, with their class among the candidates, and without it, as
        strangers. The threshold is the highest that rejects no more than a share of the former. One is chosen for each
        space and for each group of candidates (seen, unseen, all), for the metric of the model and its bias on seen
        classes: calibrate that first. ``rejection_`` has them, with what they did to strangers.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data; of four classes at least.
        lost : float, default 0.05
            The share of samples of candidates that may be rejected.
        n_splits, held_out, random_state
            As for :meth:`calibrate`; each fold holds out two classes at least.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self._table is None:
            raise ValueError("a model without class_vectors has no unseen classes to be calibrated for")
        with self._telling("calibrate_rejection", X) as line:
            found = chosen_thresholds(
                self,
                self._labelled_samples(X, y),
                lost=lost,
                n_splits=n_splits,
                held_out=held_out,
                random_state=random_state,
            )
            own = {(space, self._own_metric, group): threshold for (space, group), threshold in found.items()}
            self.rejection_ = {**self.rejection_, **own}
            line.text = f"among unseen classes {found[self.own_space, 'unseen']}"
        return self

    def _labelled_samples(self, X: Any, y: Any) -> SamplesInMemory | SamplesOnDask:
        """Return samples that are read more than once, with the weights of their classes."""
        if is_dask(X):
            if self._needs == "samples":
                rereadable_samples(self, X, y)  # which refuses them
            return SamplesOnDask(self._parts_of(X, y).weighed(self.class_weight))
        samples, labels = self._checked(X), as_label_list(y)
        if len(labels) != len(samples):
            raise ValueError(f"there are {len(samples)} samples in X but {len(labels)} labels in y")
        weights = self._weights_of(labels, None)
        by_class = None if weights is None else dict(zip(labels, weights.tolist(), strict=True))
        return SamplesInMemory(samples, labels, by_class)

    @reads
    def generalized_curve(
        self, X: Any, y: Any, *, class_vectors: Any = None, space: str | None = None
    ) -> SeenUnseenCurve:
        """Return accuracy on seen against accuracy on unseen classes, as the bias on the former varies.

        Parameters
        ----------
        X, y
            Samples of classes of the training data and of others.
        class_vectors : optional
            Of the latter, where the model does not know them.
        space : str, optional
            Where to compare, if not in the space of the model.
        """
        seen = self.recogniser(candidates="seen", space=space)
        unseen = self.recogniser(candidates="unseen", class_vectors=class_vectors, space=space)
        if is_dask(X):
            samples = SamplesOnDask(self._parts_of(X, y))
            (pieces,) = samples.judged([(seen, unseen)], np.arange(len(samples.labels)))
            return curve_of(pieces, set(seen.labels.tolist()))
        return generalized_curve(seen, unseen, [(self._checked(X), y)])

    @reads
    def save(self, path: str | Path, *, statistics: bool = False, overwrite: bool = False) -> None:
        """Write the fitted model to a safetensors file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Any name but that of another kind of file, such as ``model.pkl``.
        statistics : bool, default False
            Whether to include the statistics of the samples, (n_features, n_features), which :meth:`partial_fit` needs
            to go on.
        overwrite : bool, default False
            Whether an existing file may be replaced.
        """
        save_model(self, Path(path), statistics=statistics, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that was written by :meth:`save`. No code in the file is ever run."""
        model = load_model(Path(path))
        if not isinstance(model, cls):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}: use jcmspl.load")
        return model

    @property
    @reads
    def seen_bias_(self) -> float:
        """What is taken off the scores of training classes: as calibrated for the space and metric, or as given."""
        return self._bias_in(self.own_space)

    @reads
    def _facts(self) -> dict[str, object]:
        facts = super()._facts()
        if facts and self.own_space in SPACES:
            facts["compares in"] = f"the {self.own_space} space"
        if facts and self.unseen_classes_.size:
            known = self._is_biased_in(self.own_space)
            facts["bias on seen classes"] = f"{self.seen_bias_:.3g}" if known else "none: not calibrated"
        if facts and self.timings_:
            facts["fitted in"] = f"{sum(self.timings_.values()):.2f} s"
        return facts

    @property
    def own_space(self) -> str:
        """Where the model compares: its parameter space, if it has one."""
        return str(getattr(self, "space", self.SPACES[0]))

    @property
    def _own_metric(self) -> Any:
        return getattr(self, "metric", None)

    def _bias_in(self, space: str) -> float:
        if getattr(self, "calibration_", None) is None:
            raise AttributeError("the model is not fitted yet")
        return float(self.calibration_.get((space, self._own_metric), self.seen_bias))

    def _is_biased_in(self, space: str) -> bool:
        """Whether somebody has thought of the bias: calibration, or whoever set it."""
        return (space, self._own_metric) in self.calibration_ or self.seen_bias != 0

    def _ready(
        self, X: Any, class_vectors: Any, candidates: Any, seen_bias: float | None
    ) -> tuple[npt.NDArray[Any], Recogniser]:
        """Return samples that were looked at, and what names them."""
        check_is_fitted(self)
        samples = self._checked(X)

        def make() -> Recogniser:
            return self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)

        if class_vectors is not None or not (candidates is None or isinstance(candidates, str)):
            return samples, make()
        state = vars(self)
        objects = [*self.arrays_.values(), *(state.get(name) for name in _MAKE_A_RECOGNISER)]
        space = self.own_space
        parameters = {name: value for name, value in state.items() if not (name[0] == "_" or name[-1] == "_")}
        values = (candidates, seen_bias, self._bias_in(space), parameters)
        return samples, self._remembered.get(objects, values, make)

    def _namer(
        self,
        k: int,
        *,
        proba: bool,
        reject: Any,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
    ) -> Namer:
        """Return what tells the k best candidates of samples, their shares, and which samples are of none of them."""
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_bias=seen_bias)
        temperature = self._temperature(None) if proba else None
        threshold = None if reject is None else self._threshold(reject, class_vectors, candidates)
        return Namer(recogniser, k, temperature, threshold)

    def _threshold(self, reject: Any, class_vectors: Any, candidates: Any) -> float:
        """Return the least score of a name that a call asks for."""
        if not isinstance(reject, str):
            return as_number(reject, "reject", "a number, 'auto' or None")
        one_of(reject, "reject", ("auto",))
        _, is_seen = candidate_table(self.class_table_, self.classes_.tolist(), class_vectors, candidates)
        group = "seen" if is_seen.all() else "all" if is_seen.any() else "unseen"
        chosen = self.rejection_.get((self.own_space, self._own_metric, group))
        if chosen is None:
            where = f"{group} classes in the {self.own_space} space"
            raise ValueError(
                f"no threshold was chosen for candidates among {where}: choose one with training samples "
                "(calibrate_rejection(X, y), after calibrate; jcmspl fit --calibrate-rejection), or give a number"
            )
        return chosen.value

    def _biased_candidates(
        self, class_vectors: Any, candidates: Any, seen_bias: float | None, space: str
    ) -> tuple[ClassTable, Float64Array]:
        """Return the candidate classes and what is added to their scores."""
        check_is_fitted(self)
        if class_vectors is not None and self._table is None:
            raise ValueError(
                "the model was trained without class_vectors, so it cannot know what other classes look like"
            )
        table, is_seen = candidate_table(self.class_table_, self.classes_.tolist(), class_vectors, candidates)
        if class_vectors is not None:
            warn_of_zero_vectors(table)
        handicap = as_number(self._bias_in(space) if seen_bias is None else seen_bias, "seen_bias")
        mixed = is_seen.any() and not is_seen.all()
        if mixed and seen_bias is None and not self._is_biased_in(space):
            self._competition(_COMPETITION, UncalibratedWarning)
        return table, np.where(is_seen, -handicap, 0.0) if mixed else np.zeros(table.n_classes)

    @reads
    def _recogniser_of(
        self, table: ClassTable, bias: Float64Array, space: str, *, scaled_already: bool = False
    ) -> Recogniser:
        """Return the recogniser of raw samples, or of samples that have been scaled to length one already."""
        normalisation = self.feature_normalisation_
        if scaled_already:
            normalisation = replace(normalisation, scaling=Scaling())
        return self._scorer_of(table, space).recogniser(normalisation, label_array(table), bias)

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        """Return what scores normalised samples for candidate classes; a kind of model may know more than vectors."""
        return self._scorer(np.ascontiguousarray(self.class_normalisation_.of_rows(table.vectors)), space)

    def _evidence_for(self, table: ClassTable) -> Evidence | None:
        """Return the labelled samples that there are of candidate classes; a model of a fold has none."""
        if not hasattr(self, "_samples"):
            return None
        return Evidence.of(table, self._samples, self.class_table_, self.classes_.tolist())

    def _temperature(self, temperature: float | None) -> float:
        chosen = as_temperature(self.temperature if temperature is None else temperature)
        if chosen is not None:
            return chosen
        seen = self.class_table_.select(self.classes_.tolist())
        recogniser = self._recogniser_of(seen, np.zeros(seen.n_classes), self.own_space, scaled_already=True)
        scores = recogniser.scores(self.class_means_)
        return max(AUTO_TEMPERATURE * float(scores.std()), float(np.finfo(np.float32).tiny))


def _named_or_none(namer: Namer, labels: LabelArray, X: npt.NDArray[Any]) -> LabelArray:
    """Return the labels of samples; the last label is that of samples that are rejected."""
    found = namer(X)
    rejected = np.asarray(found.rejected)
    return np.asarray(labels[np.where(rejected, len(labels) - 1, found.indices[:, 0])])


def _shares(recogniser: Recogniser, temperature: float, X: npt.NDArray[Any]) -> FloatArray:
    return softmax(recogniser.scores(X), temperature)


def _scores_dtype(recogniser: Recogniser, X: npt.NDArray[Any]) -> npt.DTypeLike:
    return samples_dtype(X) if isinstance(recogniser, LinearRecogniser) else np.float64


def _lazy_topk(recogniser: Recogniser, X: Any, k: int) -> tuple[Any, Any]:
    """Return labels and scores as arrays of dask, which share the work."""
    both = lazily(partial(_indices_and_scores, recogniser, k), X, np.float64, 2 * k)
    labels, dtype = recogniser.labels, _scores_dtype(recogniser, X)
    named = both[:, :k].map_blocks(partial(_labels_at, labels), dtype=labels.dtype, meta=labels[:0].reshape(0, 1))
    return named, both[:, k:].astype(dtype)


def _indices_and_scores(recogniser: Recogniser, k: int, X: npt.NDArray[Any]) -> Float64Array:
    return np.concatenate(recogniser.top_k(X, k), axis=1, dtype=np.float64)


def _labels_at(labels: LabelArray, indices: npt.NDArray[Any]) -> LabelArray:
    return np.asarray(labels[indices.astype(np.int64)])


def _right(part: Part, recogniser: Recogniser) -> Counter[Label]:
    """Return what the samples of each label weigh that are recognised."""
    right: Counter[Label] = Counter()
    for block in part.blocks():
        weights = np.ones(len(block.X)) if block.weights is None else block.weights
        named = recogniser.predict(block.X).tolist()
        for label, other, weight in zip(block.labels, named, weights.tolist(), strict=True):
            right[label] += weight * (label == other)
    return right
