"""How models recognise: scores of candidate classes, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import LabelArray, label_array
from jcmspl.data.on_dask import is_dask
from jcmspl.data.partitions import lazily
from jcmspl.model.candidates import candidate_table
from jcmspl.model.cautions import warn_of_zero_vectors
from jcmspl.model.known_classes import KnowsClasses
from jcmspl.model.labelling import Namer
from jcmspl.model.open_set import with_none
from jcmspl.model.parameters import NUMBER, checked_by
from jcmspl.model.probabilities import AUTO_TEMPERATURE, as_temperature
from jcmspl.model.prototypes import Evidence
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.scorers import Scorer
from jcmspl.model.topk import lazy_topk, named_or_none, scores_dtype, shares_of
from jcmspl.support.arguments import Float64Array, FloatArray, as_count, as_number, one_of
from jcmspl.support.exceptions import UncalibratedWarning
from jcmspl.support.renamed import accepts_old_keywords, alias
from jcmspl.support.scaling import Scaling
from jcmspl.support.state import reads

T = TypeVar("T")

_COMPETITION = (
    "seen and unseen classes compete without a calibrated bias, and a model prefers those that it was trained on: "
    "calibrate it with training samples (calibrate(X, y); jcmspl fit --calibrate), or choose among unseen classes "
    "alone (candidates='unseen'; --candidates unseen); seen_penalty=0 in the call (--seen-penalty 0) says that it is "
    "meant so"
)


# What recognisers, temperatures and explanations are made of, besides the arrays of a fit and the parameters.
_STATE = (
    "class_table_",
    "classes_",
    "feature_normalisation_",
    "class_normalisation_",
    "class_means_",
    "_samples",
    "adapted_",
)


@dataclass(kw_only=True, eq=False, repr=False)
class Recognises(ClassifierMixin, KnowsClasses):
    """predict and its kin, for any method that says what it makes of candidate classes: :meth:`_scorer_of`."""

    seen_penalty: float = field(default=0.0, metadata=NUMBER)
    temperature: Any = field(default="auto", metadata=checked_by(as_temperature))

    #: Where the method can compare samples and classes.
    SPACES: ClassVar[tuple[str, ...]] = ("own",)

    # With metadata routing enabled: class vectors belong to fit and to the predictions they are given for. The score of
    # a fold in cross-validation is not to take them for its candidates.
    __metadata_request__fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__partial_fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__predict: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__predict_proba: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__decision_function: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__score: ClassVar = {"class_vectors": False}

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        """Return what scores normalised samples for candidate classes."""
        raise NotImplementedError

    @reads
    @accepts_old_keywords
    def recogniser(
        self,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        space: str | None = None,
    ) -> Recogniser:
        """Fold the model and its candidate classes into one recogniser, for use in a loop or elsewhere.

        Parameters
        ----------
        class_vectors, candidates, seen_penalty
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
        table, bias = self._biased_candidates(class_vectors, candidates, seen_penalty, space)
        return self._recogniser_of(table, bias, space)

    @reads
    @accepts_old_keywords
    def predict(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
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
        seen_penalty : float, optional
            What to take off the scores of classes of the training data where both kinds are candidates, in place of
            the model's own seen_penalty_ (calibrated stacking), or of 0 where the model was adapted to samples.
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
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_penalty)
        if reject is None:
            return cast(LabelArray, lazily(recogniser.predict, samples, recogniser.labels.dtype))
        threshold = self._threshold(reject, class_vectors, candidates)
        labels = with_none(recogniser.labels, reject_label)
        namer = Namer(recogniser, 1, None, threshold)
        return cast(LabelArray, lazily(partial(named_or_none, namer, labels), samples, labels.dtype))

    @reads
    @accepts_old_keywords
    def predict_topk(
        self,
        X: Any,
        k: int | None = None,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        return_scores: bool = False,
    ) -> Any:
        """Return the labels of the k best candidate classes of each sample, best first.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
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
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_penalty)
        n_candidates = len(recogniser.labels)
        if k is not None and as_count(k, "k") > n_candidates:
            raise ValueError(f"k is {k}, but there are only {n_candidates} candidates")
        k = min(5, n_candidates) if k is None else k
        if is_dask(samples):
            labels, scores = lazy_topk(recogniser, samples, k)
        else:
            indices, scores = recogniser.top_k(samples, k)
            labels = recogniser.labels[indices]
        return (labels, scores) if return_scores else labels

    @reads
    @accepts_old_keywords
    def decision_function(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
    ) -> FloatArray:
        """Return the score of every candidate class for each sample: the higher the better.

        For the metric "cosine" the score is the cosine times the length of the sample in the space of comparison, for
        "euclidean" minus half the squared distance up to a term that is the same for all candidates, for "dot" the
        inner product, and for a function minus its distance.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
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
        if seen_penalty is None:
            seen_penalty = self._bias_among(class_vectors, candidates)  # scores alone choose no class: no warning
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_penalty)
        scores = lazily(recogniser.scores, samples, scores_dtype(recogniser, samples), len(recogniser.labels))
        if class_vectors is None and candidates is None and self.class_table_.n_classes == 2:
            return cast(FloatArray, scores[:, 1] - scores[:, 0])
        return cast(FloatArray, scores)

    @reads
    @accepts_old_keywords
    def predict_proba(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        temperature: float | None = None,
    ) -> FloatArray:
        """Return the softmax of the scores divided by a temperature.

        These rank as the scores do and say how clear a choice is. They are no calibrated probabilities.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
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
        samples, recogniser = self._ready(X, class_vectors, candidates, seen_penalty)
        shares = partial(shares_of, recogniser, self._temperature(temperature))
        return cast(FloatArray, lazily(shares, samples, scores_dtype(recogniser, samples), len(recogniser.labels)))

    @property
    @reads
    def seen_penalty_(self) -> float:
        """What is taken off the scores of training classes: as calibrated for the space and metric, or as given."""
        return self._bias_in(self.own_space)

    @property
    def own_space(self) -> str:
        """Where the model compares: its parameter space, if it has one."""
        return str(getattr(self, "space", self.SPACES[0]))

    @property
    def _own_metric(self) -> Any:
        return getattr(self, "metric", None)

    seen_bias_ = alias("seen_penalty_")

    def _bias_in(self, space: str) -> float:
        if getattr(self, "calibration_", None) is None:
            raise AttributeError("the model is not fitted yet")
        return float(self.calibration_.get((space, self._own_metric), self.seen_penalty))

    def _is_biased_in(self, space: str) -> bool:
        """Whether somebody has thought of the bias: calibration, or whoever set it."""
        return (space, self._own_metric) in self.calibration_ or self.seen_penalty != 0

    def _ready(
        self, X: Any, class_vectors: Any, candidates: Any, seen_penalty: float | None
    ) -> tuple[npt.NDArray[Any], Recogniser]:
        """Return samples that were looked at, and what names them."""
        check_is_fitted(self)
        samples = self._checked(X)

        def make() -> Recogniser:
            return self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_penalty=seen_penalty)

        return samples, self._made_once("recogniser", make, class_vectors, candidates, seen_penalty)

    def _made_once(
        self,
        kind: str,
        make: Callable[[], T],
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
    ) -> T:
        """Return the cached result for these candidates if nothing has changed since, or make it.

        Nothing is remembered for class vectors, or for candidates by their labels.
        """
        if class_vectors is not None or not (candidates is None or isinstance(candidates, str)):
            return make()
        state = vars(self)
        objects = [*self.arrays_.values(), *(state.get(name) for name in _STATE)]
        parameters = {name: value for name, value in state.items() if not (name[0] == "_" or name[-1] == "_")}
        for name, value in parameters.items():
            if isinstance(value, np.ndarray):  # the same if it is the same object: comparing values means nothing here
                objects.append(value)
                parameters[name] = np.ndarray
        values = (candidates, seen_penalty, self._bias_in(self.own_space), parameters)
        return self._remembered.get(kind, objects, values, make)

    def _namer(
        self,
        k: int,
        *,
        proba: bool,
        reject: Any,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
    ) -> Namer:
        """Return what tells the k best candidates of samples, their shares, and which samples are of none of them."""
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_penalty=seen_penalty)
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
        self, class_vectors: Any, candidates: Any, seen_penalty: float | None, space: str
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
        if not is_seen.any() or is_seen.all():
            as_number(0.0 if seen_penalty is None else seen_penalty, "seen_penalty")
            return table, np.zeros(table.n_classes)
        if seen_penalty is None:
            is_made_up_for = self._makes_up_for_seen(table, space)
            seen_penalty = 0.0 if is_made_up_for else self._bias_in(space)
            if not (is_made_up_for or self._is_biased_in(space)):
                self._competition(_COMPETITION, UncalibratedWarning)
        return table, np.where(is_seen, -as_number(seen_penalty, "seen_penalty"), 0.0)

    def _bias_among(self, class_vectors: Any, candidates: Any) -> float:
        """Return the bias on seen classes of a call that names none, without a warning."""
        if not hasattr(self, "adapted_"):
            return self.seen_penalty_
        table, _ = candidate_table(self.class_table_, self.classes_.tolist(), class_vectors, candidates)
        return 0.0 if self._makes_up_for_seen(table, self.own_space) else self.seen_penalty_

    def _makes_up_for_seen(self, table: ClassTable, space: str) -> bool:
        """Whether the scores of these candidates prefer no seen class, so that no bias is to be taken off."""
        return False

    @reads
    def _recogniser_of(
        self, table: ClassTable, bias: Float64Array, space: str, *, scaled_already: bool = False
    ) -> Recogniser:
        """Return the recogniser of raw samples, or of samples that have been scaled to length one already."""
        normalisation = self.feature_normalisation_
        if scaled_already:
            normalisation = replace(normalisation, scaling=Scaling())
        return self._scorer_of(table, space).recogniser(normalisation, label_array(table), bias)

    def _evidence_for(self, table: ClassTable) -> Evidence | None:
        """Return the labelled samples that there are of candidate classes; a model of a fold has none."""
        if not hasattr(self, "_samples"):
            return None
        return Evidence.of(table, self._samples, self.class_table_, self.classes_.tolist())

    def _temperature(self, temperature: float | None) -> float:
        chosen = as_temperature(self.temperature if temperature is None else temperature)
        if chosen is not None:
            return chosen
        return self._made_once("temperature", self._auto_temperature)

    def _auto_temperature(self) -> float:
        """Return the temperature "auto": a share of the spread of the scores of mean training samples."""
        seen = self.class_table_.select(self.classes_.tolist())
        recogniser = self._recogniser_of(seen, np.zeros(seen.n_classes), self.own_space, scaled_already=True)
        scores = recogniser.scores(self.class_means_)
        return max(AUTO_TEMPERATURE * float(scores.std()), float(np.finfo(np.float32).tiny))
