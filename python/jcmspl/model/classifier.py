"""The classifier that users call, whatever the method: parameters, and calls of the parts that do the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import LabelArray
from jcmspl.data.normalisation import SHRINKAGE, Normalisation, parse_feature_normalisation, parse_normalisation
from jcmspl.data.reading import Columns, SampleReader
from jcmspl.data.sample_digest import SampleDigest
from jcmspl.data.sources import check_source_shares
from jcmspl.data.training import TrainingData
from jcmspl.data.weights import check_class_weight
from jcmspl.datasets.splits import HeldOut
from jcmspl.model import calibration, known_classes, learning, prediction, prediction_sets, registry, rejection
from jcmspl.model.adapting import AdaptationTrials
from jcmspl.model.calibration import Drawing, SeenUnseenCurve
from jcmspl.model.explanation import ClassMap
from jcmspl.model.fitted import (
    HOW_LOST,
    REPLACES_CALIBRATED,
    FittedAttribute,
    FittedModel,
    described,
    facts_of,
)
from jcmspl.model.known_classes import Call
from jcmspl.model.labelling import Namer, lazy_topk, named_or_none, scores_dtype, set_members, shares_of
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import (
    FLAG,
    NUMBER,
    OPTIONAL_COUNT,
    POSITIVE,
    NamedArrays,
    Shape,
    as_temperature,
    check_parameters,
    checked_by,
    one_of_names,
)
from jcmspl.model.persistence import load_model, save_model
from jcmspl.model.prediction import recogniser_for
from jcmspl.model.prediction_sets import SetCalibration
from jcmspl.model.prototypes import Evidence
from jcmspl.model.recogniser import Recogniser, Scorer, by_rows, cached
from jcmspl.model.rejection import with_none
from jcmspl.model.threshold import Threshold
from jcmspl.support.arguments import Float64Array, FloatArray, as_count, is_plain
from jcmspl.support.calls import alias, attributes_of, by_name, changes, current_names, lock_of
from jcmspl.support.names import KERNELS
from jcmspl.support.shown import Card

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

_UNFITTED, _NO_CALL = FittedModel(), Call()


@dataclass(kw_only=True, eq=False, repr=False)
class ZeroShotClassifier(ClassifierMixin, BaseEstimator):
    """The classifier that all methods are: it learns from some classes and recognises others by their vectors.

    A method says how it learns in two steps, so that a search over its parameters can share the first:
    :meth:`_prepare` does all that depends on the data alone, and :meth:`_fit` the rest. :meth:`_scorer` says how it
    compares samples with candidate classes. :class:`~jcmspl.model.bilinear.Bilinear` and
    :class:`~jcmspl.model.kinds.Embedding` ask for less where a method is of that kind.

    The state of a fitted model is one frozen object, :class:`~jcmspl.model.fitted.FittedModel`. A method that changes
    the model assigns a new one in a single step; a method that reads takes the present one first.
    """

    feature_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_feature_normalisation))
    class_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_normalisation))
    whitening_shrinkage: float = field(default=SHRINKAGE, metadata=POSITIVE)
    whitening_components: Any = field(default=None, metadata=OPTIONAL_COUNT)
    class_kernel: str = field(default="linear", metadata=one_of_names(KERNELS))
    kernel_width: float = field(default=1.0, metadata=POSITIVE)
    source_shares: Any = field(default=None, metadata=checked_by(check_source_shares))
    class_weight: Any = field(default=None, metadata=checked_by(check_class_weight))
    progress: bool = field(default=True, metadata=FLAG)
    seen_penalty: float = field(default=0.0, metadata=NUMBER)
    temperature: Any = field(default="auto", metadata=checked_by(as_temperature))

    # Facts that a method states about itself.
    #: Where the method was published: a class with its own PAPER is a method, and registered.
    PAPER: ClassVar[str]
    #: The parameters of the example in the docstring, which is otherwise the same for all methods.
    EXAMPLE: ClassVar[str | None] = None
    #: The kind of method; None: the class that it derives from tells.
    KIND: ClassVar[str | None] = None
    #: The data that the method reads: "statistics" of the samples, or the "samples" themselves.
    NEEDS: ClassVar[str] = "statistics"
    #: Whether a method that reads samples reads their weights too, ``training.sample_weights``.
    READS_WEIGHTS: ClassVar[bool] = False
    #: Whether the method treats each axis separately, as those with a variance per axis do, so that a rotation of the
    #: samples changes its answers: whitening is then the symmetric one (:mod:`jcmspl.data.whitening`).
    PER_AXIS: ClassVar[bool] = False
    #: Whether the method trains a neural network, so that it is compared only where it is named.
    NETWORK: ClassVar[bool] = False
    #: The type of the numbers in ARRAYS.
    PRECISION: ClassVar[type[np.floating[Any]]] = np.float64
    #: The duration of a fit in units of ridge regression, about; None: by what it reads. The cheap are compared first.
    COST: ClassVar[float | None] = None
    #: The arrays of the solution and their shapes (:mod:`jcmspl.model.parameters`).
    ARRAYS: ClassVar[dict[str, Shape]] = {}
    #: Those that files of earlier versions lack: a model from such a file has zeros for them.
    ADDED_ARRAYS: ClassVar[tuple[str, ...]] = ()
    #: The spaces in which the method can compare samples and classes.
    SPACES: ClassVar[tuple[str, ...]] = ("own",)
    #: Whether scores are one linear layer, unless the metric is a function.
    LINEAR: ClassVar[bool] = False
    #: Parameters that say how samples and classes are compared: one fit serves all of their values.
    COMPARISON: ClassVar[tuple[str, ...]] = ()
    #: Those of them that a fit looks at as well, so that a search fits each of their values.
    FITTED_FOR: ClassVar[tuple[str, ...]] = ()
    #: The default grid of a search: a few values of each parameter.
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {}
    #: Whether large weights make the simpler model, as penalties do, or small ones, as those of further terms do.
    HEAVY_IS_SIMPLE: ClassVar[bool] = True
    #: Reduced forms of the method that have a name: the parameters that make them.
    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {}

    # With metadata routing enabled: class vectors belong to fit and to the predictions they are given for. The score of
    # a fold in cross-validation must not take them for its candidates.
    __metadata_request__fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__partial_fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__predict: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__predict_proba: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__decision_function: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__score: ClassVar = {"class_vectors": False}

    _fitted = _UNFITTED  # without an annotation, which would make it a parameter of the dataclass

    # The state, for users.
    arrays_ = FittedAttribute[NamedArrays]("arrays", "The arrays of the solution.")
    classes_ = FittedAttribute[LabelArray]("classes", "The labels of the training classes, sorted.")
    class_table_ = FittedAttribute[ClassTable]("class_table", "All known classes, the training classes first.")
    class_means_ = FittedAttribute[Float64Array]("class_means", "The mean sample of each training class, scaled.")
    feature_normalisation_ = FittedAttribute[Normalisation]("feature_normalisation", "The normalisation of samples.")
    class_normalisation_ = FittedAttribute[Normalisation]("class_normalisation", "The normalisation of class vectors.")
    calibration_ = FittedAttribute[dict[tuple[str, Any], float]]("calibration", "Biases by space and metric.")
    rejection_ = FittedAttribute[dict[tuple[str, Any, str], Threshold]](
        "rejection", "Thresholds by space, metric and group of candidates."
    )
    temperatures_ = FittedAttribute[dict[tuple[str, Any, str], float]](
        "temperatures", "Calibrated temperatures, in units of the spread of scores, by space, metric and group."
    )
    adaptation_constants_ = FittedAttribute[tuple[float, float]](
        "adaptation_constants", "The pull and the temperature of adaptation that calibrate chose."
    )
    imputed_values_ = FittedAttribute[Float64Array]("imputed_values", "The replacements of missing values.")
    column_names_ = FittedAttribute[tuple[str, ...]]("column_names", "The feature columns of the training table.")
    held_out_ = FittedAttribute[HeldOut]("held_out", "How test samples were drawn from the training table.")
    training_digest_ = FittedAttribute[SampleDigest | None](
        "digest", "The digest of all labelled samples so far; None where it is not known.", may_be_none=True
    )
    timings_ = FittedAttribute[dict[str, float]]("timings", "Seconds per stage of the fit; they add up to its time.")
    _trained_vectors = FittedAttribute[Float64Array]("trained_vectors", "The vectors of classes_.")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "PAPER" in vars(cls):
            registry.register(cls)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._columns.n_features

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features, if the training samples were a DataFrame."""
        if self._columns.names is None:
            raise AttributeError("the training samples had no names of features")
        return self._columns.names

    @property
    def _columns(self) -> Columns:
        if self._fitted.columns is None:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no features")
        return self._fitted.columns

    @property
    def statistics_(self) -> Statistics:
        """A copy of the statistics of all samples so far; their classes are sorted.

        They are those of classes_, and of classes that have got samples since without a solution.
        """
        fitted = self._fitted
        if fitted.collected is None:
            reason = HOW_LOST if fitted.is_solved else "it is not fitted yet"
            raise AttributeError(f"this model has no statistics: {reason}")
        return fitted.collected.statistics.copy()

    @property
    def unseen_classes_(self) -> LabelArray:
        """The classes that the model knows but was not trained on."""
        return self._fitted_twin()._fitted.unseen_classes

    @property
    def seen_penalty_(self) -> float:
        """The number that is subtracted from scores of training classes, as calibrated or as given."""
        return self.bias_in(self.own_space)

    seen_bias_ = alias("seen_penalty_")

    @property
    def set_calibration_(self) -> dict[str, SetCalibration]:
        """The calibration of prediction sets in the model's space, by group of candidates."""
        own = self.own_space, self.own_metric
        found = {key[2]: one for key, one in self._fitted.set_calibration.items() if key[:2] == own}
        if not found:
            raise AttributeError("prediction sets are not calibrated: call calibrate_sets(X, y)")
        return found

    @property
    def own_space(self) -> str:
        """The space in which the model compares: its parameter ``space``, if it has one."""
        return str(getattr(self, "space", self.SPACES[0]))

    @property
    def own_metric(self) -> Any:
        """The metric by which the model compares: its parameter ``metric``, if it has one."""
        return getattr(self, "metric", None)

    # Methods for users.
    @changes
    def fit(self, X: Any, y: Any = None, *, class_vectors: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features), or iterable of chunks
            Arrays of any layout, memory maps and DataFrames; float32 is not converted. Chunks, (X, y) or
            (X, y, sample_weight), are read one at a time.
        y : array_like of shape (n_samples,)
            The label of each sample; None if X gives chunks.
        class_vectors : ClassTable, dict of label -> vector, table, array_like or the path of a file
            The vector of each class in y and, if you like, of other classes, which become candidates for later. The
            index of a DataFrame holds the labels; the labels of an array are its row numbers. In cross-validation
            pass a ClassTable: scikit-learn cuts up other forms that are as long as X. By default each class gets a
            dimension of its own, which makes this a plain supervised classifier.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts. A class whose samples all weigh 0 is not a training class.
        """
        self._fitted = learning.fitted_to(self._settled(), X, y, class_vectors, sample_weight)
        return self

    @changes
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        class_vectors: Any = None,
        sample_weight: Any = None,
        refit: bool = True,
    ) -> Self:
        """Learn from further samples; the result is that of one fit to all samples so far.

        Parameters
        ----------
        X, y
            As for fit.
        classes : array_like, optional
            Labels that may occur, now and in later calls; others in y are then refused. By default any may.
        class_vectors : optional
            As for fit; only classes without a vector so far need one.
        sample_weight : optional
            As for fit.
        refit : bool, default True
            False: only collect the samples, and leave the solution until a later call, which saves time with many
            chunks. The first solution needs samples of two classes. A fitted model recognises new classes at once,
            by their vectors and samples (see :meth:`add_classes`).
        """
        model = self._settled()
        self._fitted = learning.fitted_to_more(model, X, y, classes, class_vectors, sample_weight, refit=refit)
        return self

    @changes
    def fit_from_statistics(self, statistics: Statistics, classes: Any = None, *, class_vectors: Any = None) -> Self:
        """Learn from statistics that were collected elsewhere, and perhaps merged.

        Parameters
        ----------
        statistics : Statistics
            Made with ``unit_rows=True`` and ``power=True`` if ``feature_normalisation`` has ``sample_l2`` and ``power``
            in it. Classes without samples are left out.
        classes : array_like of shape (statistics.n_classes,), optional
            The labels of the class numbers of the statistics; by default the numbers themselves.
        class_vectors
            As for fit.
        """
        self._fitted = learning.fitted_to_statistics(self._settled(), statistics, classes, class_vectors)
        return self

    @changes
    def set_params(self, /, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; those that matter after a fit hold at once, others for the next one.

        ``seen_penalty`` replaces a calibrated one, in all spaces; thresholds for rejection among seen and unseen
        classes are forgotten with it. ``adaptation_pull`` and ``adaptation_temperature`` replace calibrated constants.
        Assigning an attribute, as in ``model.seen_penalty = 0.1``, does the same.
        """
        params = current_names(params, self._get_param_names())
        twin = self._settled()
        BaseEstimator.set_params(twin, **params)  # all is refused before anything is changed
        self.__dict__.update({name: vars(twin)[name] for name in params}, _fitted=twin._fitted)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in REPLACES_CALIBRATED or not self._fitted.is_solved:
            super().__setattr__(name, value)
            return
        with lock_of(self):
            self.__dict__.update({name: value, "_fitted": self._fitted.without_calibrated(name)})

    @changes
    def add_classes(self, class_vectors: Any = None, X: Any = None, y: Any = None, *, replace: bool = False) -> Self:
        """Make further classes known to a fitted model, by name, vector and samples; they are recognised at once.

        The solution stays the same. In the visual space of a bilinear method a few labelled samples tell where a class
        lies, together with the model's prediction (prediction_count says how much that counts).

        Parameters
        ----------
        class_vectors : ClassTable, dict of label -> vector or DataFrame
            May be left out if there are samples of classes that the model knows already.
        X, y : optional
            Labelled samples, as for fit, of classes that are added or that the model knows but was not trained on. They
            are added to those of earlier calls, and to the statistics, so that a later :meth:`partial_fit` learns
            from them.
        replace : bool, default False
            Whether a class that the model knows already, but was not trained on, may get a new vector; its samples are
            kept.
        """
        self._fitted = known_classes.extended(self._fitted_twin(), class_vectors, X, y, may_replace=replace)
        return self

    @changes
    def remove_classes(self, labels: Any) -> Self:
        """Make a fitted model forget classes that it was not trained on: they are candidates no longer.

        The solution, a calibrated bias, thresholds and an adaptation stay the same. A removed class may be added again.
        Training classes cannot be removed, for the model is made of them: leave them out of the ``candidates`` of a
        call.

        Parameters
        ----------
        labels : sequence or set of labels
            Of ``unseen_classes_``. Samples that the model was given of them (:meth:`add_classes`) are forgotten as
            well. If these are part of its statistics, from which they cannot be taken out, the model forgets its
            statistics, too: it predicts as before, but :meth:`partial_fit` cannot go on.
        """
        self._fitted = known_classes.without(self._fitted_twin()._fitted, labels)
        return self

    @changes
    def describe_table(
        self,
        *,
        column_names: Sequence[str] | None = None,
        imputed_values: npt.ArrayLike | None = None,
        held_out: HeldOut | None = None,
    ) -> Self:
        """Record how the table of training samples was read, so that other tables can be read in the same way.

        ``jcmspl fit`` does so. A later ``fit`` forgets it.

        Parameters
        ----------
        column_names : sequence of str, optional
            The columns of the table that are features, in order: ``column_names_``.
        imputed_values : array_like of shape (n_features,), optional
            The replacements of missing values: ``imputed_values_``.
        held_out : HeldOut, optional
            How test samples were drawn from the table: ``held_out_``.
        """
        self._fitted = described(self._fitted_twin()._fitted, column_names, imputed_values, held_out)
        return self

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
        """Choose the bias on training classes, and the temperature of probabilities, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others, and samples of both kinds are recognised among all of them. The bias that gives the highest harmonic
        mean of the two per-class accuracies, in the mean over folds, becomes seen_penalty_. The temperature with the
        lowest log loss is that of temperature="auto" from now on, for seen, unseen and all candidates each
        (``temperatures_``); it stays near the usual one where folds disagree. Both are chosen for each space, for the
        metric of the model. With fewer than 100 classes folds are drawn up to four times, by methods on statistics.

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
            Whether to choose the constants of ``adapt`` as well, adaptation_constants_: each fold's model is adapted to
            the samples of the classes that it was not trained on. Constants other than adaptation_pull and
            adaptation_temperature are chosen if they recognise more, by more than a standard error over the folds.
        """
        drawing = Drawing(n_splits, held_out, random_state, repeated=not adaptation)
        self._fitted = calibration.calibrated(self._fitted_twin(), X, y, drawing, adaptation=adaptation)
        return self

    @changes
    def calibrate_rejection(
        self,
        X: Any,
        y: Any,
        *,
        max_false_rejection: float = 0.05,
        n_splits: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
    ) -> Self:
        """Choose the threshold of ``predict(..., reject="auto")``, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others. Samples of the fold are looked at twice, with their class among the candidates, and without it, as
        strangers. The threshold is the highest that rejects no more than a share of the former. It rises for samples
        that score high for training classes, if that tells strangers better (docs/trust.md). One is chosen for each
        space and for each group of candidates (seen, unseen, all), for the metric of the model and its bias on seen
        classes: calibrate that first. ``rejection_`` has them, with the share of strangers that they reject.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data; of four classes at least.
        max_false_rejection : float, default 0.05
            The share of samples of candidates that may be rejected.
        n_splits, held_out, random_state
            As for :meth:`calibrate`; each fold holds out two classes at least.
        """
        model, drawing = self._fitted_twin(), Drawing(n_splits, held_out, random_state)
        self._fitted = rejection.with_thresholds(model, X, y, drawing, max_false_rejection=max_false_rejection)
        return self

    @changes
    def calibrate_sets(
        self, X: Any, y: Any, *, n_splits: int | None = None, held_out: float = 0.2, random_state: Any = 0
    ) -> Self:
        """Calibrate the sets of :meth:`predict_set`, on training data alone.

        Training classes take turns in the part of unseen ones, as in :meth:`calibrate`; their samples say how
        improbable the right class may be. The promise counts classes, not samples: with K training classes sets cover
        what was asked for in the mean over draws of classes, and less, which ``set_calibration_`` tells, with 95 %
        confidence. One calibration is made for each space and each group of candidates (seen, unseen, all), with the
        temperatures and the bias of the model: call :meth:`calibrate` first.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data; of four classes at least.
        n_splits, held_out, random_state
            As for :meth:`calibrate`; each fold holds out two classes at least.
        """
        drawing = Drawing(n_splits, held_out, random_state, at_least=2, repeated=True)
        self._fitted = prediction_sets.with_sets(self._fitted_twin(), X, y, drawing)
        return self

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

    @by_name
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
        save_model(self._fitted_twin(), Path(path), statistics=statistics, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that was written by :meth:`save`. No code in the file is ever run."""
        model = load_model(Path(path))
        if not isinstance(model, cls):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}: use jcmspl.load")
        return model

    # Hooks: what a method implements, or may change.
    def _prepare(self, training: TrainingData) -> Any:
        """Return the data that fits with any parameters to the same normalised samples share."""
        return training

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        """Return the arrays of the solution, ARRAYS."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        """Return the scorer of normalised samples for candidate classes with the given normalised vectors."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it recognises")

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        """Return the scorer of normalised samples for candidate classes; a kind of model may use more than vectors."""
        return self._scorer(np.ascontiguousarray(self.class_normalisation_.of_rows(table.vectors)), space)

    def _vectors_of_none(self, statistics: Statistics) -> Float64Array:
        """Return class vectors where the user gives none: by default each class has a dimension of its own."""
        return np.eye(statistics.n_classes)

    def _check_parameters(self) -> None:
        """Refuse bad parameters before any data is read."""
        check_parameters(self)

    def _check_training(self, training: TrainingData) -> None:
        """Refuse training data that do not go with the parameters."""

    def _warn_of_training(self, raw: Statistics) -> None:
        """Warn of likely mistakes in training data, given their raw statistics."""

    def _warn_of_result(self) -> None:
        """Warn if the fit did not converge."""

    def _class_map(self, space: str) -> ClassMap | None:
        """Return the map of the normalised vector of a new class to its scores, if the method has one."""
        return None

    def _makes_up_for_seen(self, table: ClassTable, space: str) -> bool:
        """Whether the scores of these candidates prefer no seen class, so that no bias is to be subtracted."""
        return False

    def _is_biased_in(self, space: str) -> bool:
        """Whether a bias was calibrated, or given, so that predictions need no warning."""
        return (space, self.own_metric) in self._fitted.calibration or self.seen_penalty != 0

    def _adaptation_trials(self) -> AdaptationTrials:
        """Return the search for the constants of an adaptation, for a model that can be adapted."""
        raise TypeError(f"a {type(self).__name__} cannot be adapted to samples: leave adaptation=True out")

    def _for_other_classes(self) -> Self:
        """Return an unfitted copy that can be fitted to other classes than these."""
        twin: Self = clone(self)
        return twin

    def _warm_start(self, prepared: Any, class_means: Float64Array) -> dict[str, Any]:
        """Return parameters that start other fits to the same data near the result of a fit, if there are any."""
        return {}

    def _more_facts(self) -> dict[str, object]:
        """Return facts of the fit that a kind of model shows in a notebook besides those of all models."""
        return {}

    @property
    def _per_axis(self) -> bool:
        """PER_AXIS with the present parameters."""
        return self.PER_AXIS

    @property
    def _needs(self) -> str:
        """NEEDS with the present parameters, for methods whose NEEDS is that of the default parameters."""
        return self.NEEDS

    # For methods, the parts of a model, and later layers of the package.
    @property
    def needs(self) -> str:
        """The data that the method reads with its present parameters: "statistics" or "samples"."""
        return self._needs

    @property
    def treats_axes_separately(self) -> bool:
        """Whether the method, with its present parameters, treats each axis separately: PER_AXIS."""
        return self._per_axis

    @property
    def reader(self) -> SampleReader:
        """The reader of samples, by the parameters of the model."""
        return SampleReader(type(self).__name__, self._needs, self.READS_WEIGHTS, self.class_weight)

    @property
    def state(self) -> FittedModel:
        """The fitted state, which is frozen: a change of the model replaces it."""
        return self._fitted

    @state.setter
    def state(self, fitted: FittedModel) -> None:
        self._fitted = fitted

    def bias_in(self, space: str) -> float:
        """Return the bias on seen classes in a space: the calibrated one, or else ``seen_penalty``."""
        if self._fitted.calibration is None:
            raise AttributeError("the model is not fitted yet")
        return float(self._fitted.calibration.get((space, self.own_metric), self.seen_penalty))

    def _settled(self, fitted: FittedModel | None = None) -> Self:
        """Return a copy with the present parameters and state, or another state, which other threads do not change."""
        twin: Self = object.__new__(type(self))
        twin.__dict__.update(vars(self))
        if fitted is not None:
            twin._fitted = fitted
        return twin

    def _fitted_twin(self) -> Self:
        twin = self._settled()
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
        return cached(self._fitted.cache, kind, (*call, self.bias_in(self.own_space)), parameters, make)

    def _array(self, name: str) -> npt.NDArray[Any]:
        """Return an array of the solution, for properties: a model that is not fitted does not have them."""
        if not self._fitted.is_solved:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no {name}_")
        return self._fitted.arrays[name]

    def _evidence_for(self, table: ClassTable) -> Evidence | None:
        """Return the labelled samples of candidate classes; None for the model of a fold, which keeps none."""
        fitted = self._fitted
        if fitted.samples is None:
            return None
        return Evidence.of(table, fitted.samples, fitted.class_table, fitted.classes.tolist())

    # scikit-learn, and notebooks.
    def __dir__(self) -> list[str]:
        return attributes_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(current_names(state, self._get_param_names(), warn=False))  # of an old pickle

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted.arrays is not None

    def _facts(self) -> dict[str, object]:
        return facts_of(self._settled())

    # Without super(), for searches borrow both.
    def _repr_html_inner(self) -> str:
        return str(BaseEstimator._repr_html_inner(self)) + Card.of_facts(self._facts())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = BaseEstimator._repr_mimebundle_(self, **options)
        if "text/html" in bundle:
            bundle["text/html"] += Card.of_facts(self._facts())
        return bundle
