"""The prediction methods of the classifier: each folds model and candidates into a recogniser and asks that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.labels import LabelArray
from jcmspl.model import calibration, prediction, prediction_sets
from jcmspl.model.calibration import SeenUnseenCurve
from jcmspl.model.known_classes import Call
from jcmspl.model.labelling import Namer, lazy_topk, named_or_none, scores_dtype, set_members, shares_of
from jcmspl.model.method import Method
from jcmspl.model.prediction import recogniser_for
from jcmspl.model.recogniser import Recogniser, by_rows, cached
from jcmspl.model.rejection import with_none
from jcmspl.support.arguments import FloatArray, as_count, is_plain
from jcmspl.support.calls import by_name, settled

if TYPE_CHECKING:
    from typing_extensions import Self

    _Method = Method
else:
    _Method = object  # a mixin before Method

T = TypeVar("T")

_NO_CALL = Call()


class Predictor(_Method):
    """The methods of a classifier that recognise samples; a mixin."""

    @by_name
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
        return recogniser_for(self._fitted_twin(), Call(class_vectors, candidates, seen_penalty), space)

    @by_name
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
            For an array or a DataFrame of dask this and the methods below return a dask array.
        class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like, optional
            Classes to choose from, known to the model or not; for this call their vectors count. The labels of an array
            are its row numbers.
        candidates : {"seen", "unseen", "all"} or sequence of labels, optional
            Choose among the classes of the training data, among those known (or given) but not trained on, among both
            (generalized), or among the classes named. By default: the classes in class_vectors if given, else all that
            the model knows.
        seen_penalty : float, optional
            The number to subtract from the scores of training classes where both kinds are candidates, in place of
            the model's own seen_penalty_ (calibrated stacking), or of 0 where the model was adapted to samples.
        reject : float or "auto", optional
            Give no name to samples whose best score (see :meth:`decision_function`) is below this number; "auto": below
            the threshold that :meth:`calibrate_rejection` has chosen for these candidates. By default all samples get a
            name.
        reject_label : optional
            The label of a rejected sample; None by default, in an array of objects. One of the type of the labels, such
            as "" or -1, gives an array of that type.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        call = Call(class_vectors, candidates, seen_penalty)
        model, samples, recogniser = self._ready(X, call)
        if reject is None:
            return cast(LabelArray, by_rows(recogniser.predict, samples, recogniser.labels.dtype))
        rule = prediction.rejection_for(model, reject, call)
        labels = with_none(recogniser.labels, reject_label)
        namer = Namer(recogniser, 1, None, rule)
        return cast(LabelArray, by_rows(partial(named_or_none, namer, labels), samples, labels.dtype))

    @by_name
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
            By default 5, or the number of candidates if there are fewer.
        return_scores : bool, default False
            Whether to return the scores as well.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of shape (n_samples, k), if asked for
        """
        _, samples, recogniser = self._ready(X, Call(class_vectors, candidates, seen_penalty))
        n_candidates = len(recogniser.labels)
        if k is not None and as_count(k, "k") > n_candidates:
            raise ValueError(f"k is {k}, but there are only {n_candidates} candidates")
        k = min(5, n_candidates) if k is None else k
        labels, scores = lazy_topk(recogniser, samples, k)
        return (labels, scores) if return_scores else labels

    @by_name
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
            unseen_classes_, "all" the one after the other. As in all of scikit-learn, a model that knows only two
            classes gives one column (n_samples,) unless candidates or class_vectors are named: the score of the second
            class minus that of the first.
        """
        call = Call(class_vectors, candidates, seen_penalty)
        if seen_penalty is None:  # scores choose no class, so there is nothing to warn of
            call = call._replace(seen_penalty=prediction.default_bias(self._fitted_twin(), call))
        model, samples, recogniser = self._ready(X, call)
        scores = by_rows(recogniser.scores, samples, scores_dtype(recogniser, samples), len(recogniser.labels))
        if class_vectors is None and candidates is None and model.class_table_.n_classes == 2:
            return cast(FloatArray, scores[:, 1] - scores[:, 0])
        return cast(FloatArray, scores)

    @by_name
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

        After :meth:`calibrate` the temperature is the one that fits probabilities best on training classes that play
        unseen ones; before, probabilities rank as the scores do, but are usually too low or too high.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
            As for predict.
        temperature : float, optional
            In place of the model's own: the lower, the surer. "auto" in the model means the calibrated one
            (``temperatures_``, or 0.35 before) times the spread of the scores of the mean samples of the training
            classes, for these classes.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_candidates)
            Columns as for decision_function, but always one for each candidate: by default all classes that the model
            knows, which are more than classes_ if it knows unseen ones.
        """
        model, samples, recogniser = self._ready(X, call := Call(class_vectors, candidates, seen_penalty))
        shares = partial(shares_of, recogniser, prediction.temperature_of(model, temperature, call))
        return cast(FloatArray, by_rows(shares, samples, scores_dtype(recogniser, samples), len(recogniser.labels)))

    @by_name
    def predict_set(
        self, X: Any, *, coverage: float = 0.9, class_vectors: Any = None, candidates: Any = None
    ) -> npt.NDArray[np.bool_]:
        """Return the set of classes that each sample may be of, after :meth:`calibrate_sets`.

        A set always holds the class that :meth:`predict` names, and further ones that are not too improbable.

        Parameters
        ----------
        X, class_vectors, candidates
            As for predict.
        coverage : float, default 0.9
            How often sets shall hold the right class, in the mean over classes. What can be promised is in
            ``set_calibration_[group].at(coverage)``. If there are too few training classes for this coverage, sets hold
            all candidates, with a warning.

        Returns
        -------
        sets : ndarray of bool, of shape (n_samples, n_candidates)
            Columns as for :meth:`predict_proba`.
        """
        model, samples, recogniser = self._ready(X, call := Call(class_vectors, candidates))
        members = partial(set_members, recogniser, prediction_sets.limit_for(model, coverage, call))
        return cast("npt.NDArray[np.bool_]", by_rows(members, samples, np.bool_, len(recogniser.labels)))

    @by_name
    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        average: str = "class",
    ) -> float:
        """Return the share recognised among the classes in y if all are unseen, else among all that the model knows.

        The former is zero-shot recognition, as in cross-validation over classes; the latter is :meth:`predict` by
        default. Name the candidates, or use a scorer of :mod:`jcmspl.metrics`, and nothing depends on y.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
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
        call = Call(class_vectors, candidates, seen_penalty)
        return prediction.accuracy_of(self._fitted_twin(), X, y, sample_weight, call, average)

    @by_name
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
        return calibration.curve_of_model(self._fitted_twin(), X, y, class_vectors, space)

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted.arrays is not None

    def _fitted_twin(self) -> Self:
        twin = settled(self)
        check_is_fitted(twin)
        return twin

    def _checked(self, X: Any) -> npt.NDArray[Any]:
        n_features, names = columns = self._fitted.columns
        return X if names is None and is_plain(X, n_features) else self.reader.checked(X, columns)

    def _ready(self, X: Any, call: Call) -> tuple[Self, npt.NDArray[Any], Recogniser]:
        """Return a settled copy, validated samples and the recogniser of a call."""
        model = self._fitted_twin()
        return model, model._checked(X), model._cached("recogniser", partial(recogniser_for, model, call), call)

    def _cached(self, kind: str, make: Callable[[], T], call: Call = _NO_CALL) -> T:
        """Return a cached result for the arguments of a call and the present parameters, or make it.

        There is no cache for class vectors, or for candidates given as labels: comparing them takes as long.
        """
        if call.class_vectors is not None or not (call.candidates is None or isinstance(call.candidates, str)):
            return make()
        parameters = {name: value for name, value in vars(self).items() if name[0] != "_"}
        return cached(self._fitted.cache, kind, call, parameters, make)
