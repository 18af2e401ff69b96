"""How models learn: one pass over the data, what all settings share, then the method's own equations."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import Label, as_label_list, label_array
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.data.sample_digest import sum_if_known
from jcmspl.data.training import LabelledRows, TrainingData
from jcmspl.data.weights import require_known_classes
from jcmspl.model import registry
from jcmspl.model.cache import Remembered
from jcmspl.model.cautions import warn_of_equal_vectors, warn_of_lost_digits, warn_of_transposed, warn_of_zero_vectors
from jcmspl.model.checking import rereadable_samples
from jcmspl.model.fitted import HOW_LOST
from jcmspl.model.monitor import Monitor
from jcmspl.model.named_arrays import NamedArrays, Shape, check_arrays
from jcmspl.model.reader import Reader
from jcmspl.support.arguments import Float64Array
from jcmspl.support.exceptions import DivergenceError, SingularEquationError
from jcmspl.support.log import Told, logger, told
from jcmspl.support.progress import Progress
from jcmspl.support.renamed import accepts_old_keywords, attributes_of, current_names
from jcmspl.support.shown import quoted
from jcmspl.support.state import changes
from jcmspl.support.warn import OneWarning

if TYPE_CHECKING:
    from typing_extensions import Self

# From this number of features on a decomposition, which cannot tell how far it is, takes a second or more.
_LONG_DECOMPOSITION = 1500
# What calibration finds.
_CALIBRATED = ("calibration_", "rejection_", "_competition", "adaptation_constants_")


@dataclass(kw_only=True, eq=False, repr=False)
class Learner(Reader):
    """fit, partial_fit and fit_from_statistics for any method.

    A method says in two steps how it learns, so that a search over its parameters can share the first:
    :meth:`_prepare`, all that depends on the data alone, and :meth:`_fit`, the rest.
    """

    #: How long a fit takes, in units of ridge regression, about; None: by what it reads. The cheap are compared first.
    COST: ClassVar[float | None] = None
    #: The arrays that a fit gives, and their shapes (:mod:`jcmspl.model.named_arrays`).
    ARRAYS: ClassVar[dict[str, Shape]] = {}
    #: Those that files of earlier versions lack: a model from such a file has zeros for them.
    ADDED_ARRAYS: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "PAPER" in vars(cls):
            registry.register(cls)

    # What a method says of itself.
    def _prepare(self, training: TrainingData) -> Any:
        """Return what fits with any parameters to the same normalised data have in common."""
        return training

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        """Return the arrays that the method is once it is fitted."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    def _vectors_of_none(self, statistics: Statistics) -> Float64Array:
        """Return class vectors where the user gives none: by default each class has a dimension of its own."""
        return np.eye(statistics.n_classes)

    def _warn_of_training(self, raw: Statistics) -> None:
        """Warn of training data, given their raw statistics, in which a user may have made a mistake."""

    def _warn_of_result(self) -> None:
        """Warn if the fit is not all that it should be."""

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
        class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like
            The vector of each class in y and, if you like, of other classes, which become candidates for later. The
            index of a DataFrame holds the labels; the labels of an array are its row numbers. In cross-validation
            pass a ClassTable: scikit-learn cuts the other forms up when they are as long as X. By default each class
            gets a dimension of its own, which makes this a plain supervised classifier.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts. What weighs 0 is as if it were not there: a class without anything else is
            not one of the training classes.

        Returns
        -------
        self
        """
        self._check_parameters()
        table = None if class_vectors is None else ClassTable.of(class_vectors)
        require_known_classes(self.class_weight, table)
        with self._telling("fit", X) as line:
            started = time.perf_counter()
            rows = None
            if self._needs == "samples":
                samples, labels = rereadable_samples(self, X, y)
                weights = self._weights_of(labels, sample_weight)
                collected = self._collector(table).add_array(samples, labels, weights).result()
                rows = LabelledRows.of(samples, labels, collected.labels, weights=weights)
            else:
                collected = self._read(X, y, sample_weight, self._collector(table), reset=True)
            self._learn(collected, table, {"read": time.perf_counter() - started}, rows)
            self._forget_the_table_before()
            line.text = self._size_so_far()
        return self

    @changes
    @accepts_old_keywords
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
            Labels that may occur, now and in later calls; others in y are then refused. Classes may also just arrive.
        class_vectors : optional
            As for fit; only classes without a vector so far need one.
        sample_weight : optional
            As for fit.
        refit : bool, default True
            False: only take the samples in; what the model has learnt stays as it was until a later call. Saves time
            when there are many chunks. There is nothing to solve before two classes have samples. A model that is
            fitted already knows new classes at once, by their vectors and their samples
            (see :meth:`add_classes`).

        Returns
        -------
        self
        """
        self._require_statistics_enough("partial_fit")
        self._check_parameters()
        self._require_weights_known("partial_fit")
        so_far: LabelledStatistics | None = getattr(self, "_collected", None)
        if so_far is None and hasattr(self, "arrays_"):
            raise ValueError(
                f"this model is without its statistics and cannot learn on: {HOW_LOST}; use statistics=True"
            )
        steps = parse_feature_normalisation(self.feature_normalisation)
        if so_far is not None and so_far.statistics.scaling != steps.scaling(so_far.statistics.power):
            raise ValueError(
                f"feature_normalisation={self.feature_normalisation!r} differs from that of the samples "
                "so far in whether samples are scaled: start anew with fit"
            )
        table = self._table_so_far(class_vectors, so_far)
        require_known_classes(self.class_weight, table)
        declared = set(as_label_list(classes, "classes")) if classes is not None else getattr(self, "_declared", None)
        with self._telling("partial_fit", X) as line:
            self._go_on(X, y, sample_weight, so_far, table, declared, refit)
            line.text = self._size_so_far()
        return self

    def _go_on(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        so_far: LabelledStatistics | None,
        table: ClassTable | None,
        declared: set[Label] | None,
        refit: bool,
    ) -> None:
        """Take further samples in, and learn from all so far if that is wanted."""
        started = time.perf_counter()
        collector = self._collector(table, so_far, declared)
        new = self._read(X, y, sample_weight, collector, reset=so_far is None)
        self._declared = declared
        known = self._known_with(table)
        digest = new.digest if so_far is None else sum_if_known(self._digest_so_far(), new.digest)
        in_place = not refit and so_far is not None and so_far.labels == new.labels
        total = replace(new if so_far is None or in_place else so_far + new, digest=digest)
        if refit and len(total.labels) > 1:
            kept = {name: vars(self)[name] for name in _CALIBRATED if name in vars(self)}
            self._learn(total, table, {"read": time.perf_counter() - started})
            self.__dict__.update(kept)  # still the best there is
            return
        sums = LabelledSums.of(total)
        self._table = table
        self._samples = self._samples + sums if in_place else sums
        self.training_digest_ = digest
        self.__dict__.pop("adapted_", None)
        if known is not None:
            self.class_table_ = known
        # last, for what is changed in place stays changed if anything after it fails
        self._collected = so_far.add_in_place(new) if so_far is not None and in_place else total

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

        Returns
        -------
        self
        """
        self._require_statistics_enough("fit_from_statistics")
        if not isinstance(statistics, Statistics):
            raise TypeError(f"statistics must be jcmspl.core.Statistics, but is {type(statistics).__name__}")
        labels = as_label_list(range(statistics.n_classes) if classes is None else classes, "classes")
        if len(labels) != statistics.n_classes or len(set(labels)) != len(labels):
            raise ValueError(
                f"classes must be {statistics.n_classes} different labels, one for each class of the statistics"
            )
        self._check_parameters()
        if self.class_weight is not None:
            raise ValueError(
                "class_weight does not apply to statistics, in which all classes are summed up already: give weights "
                "to Statistics.update(..., sample_weight=...), and leave class_weight out"
            )
        table = None if class_vectors is None else ClassTable.of(class_vectors)
        collected = LabelledStatistics.with_samples(statistics, labels)
        if table is not None:
            table.positions(collected.labels, "the statistics")
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = statistics.n_features
        with self._telling("fit_from_statistics") as line:
            self._learn(collected, table, {})
            self._forget_the_table_before()
            line.text = self._size_so_far()
        return self

    def _forget_the_table_before(self) -> None:
        for name in ("imputed_values_", "column_names_", "held_out_"):
            self.__dict__.pop(name, None)

    @changes
    def set_params(self, /, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; those that matter after a fit hold at once, others for the next one.

        ``seen_penalty`` takes the place of a calibrated bias, in all spaces; thresholds for rejection among seen and
        unseen classes are forgotten with it. ``adaptation_pull`` and ``adaptation_temperature`` take that of calibrated
        constants.
        """
        params = current_names(params, self._get_param_names())
        super().set_params(**params)
        # an explicit value overrides the calibrated one
        if params.keys() & {"adaptation_pull", "adaptation_temperature"}:
            self.__dict__.pop("adaptation_constants_", None)
        if "seen_penalty" in params and hasattr(self, "arrays_"):
            self._forget_calibration()
        return self

    def __dir__(self) -> Iterable[str]:
        return attributes_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(current_names(state, self._get_param_names(), warn=False))  # of an old pickle

    def _forget_calibration(self) -> None:
        self.calibration_ = {}
        # thresholds among seen and unseen classes were chosen with another bias
        self.rejection_ = {key: one for key, one in self.rejection_.items() if key[2] != "all"}
        self._competition = OneWarning()

    def _telling(self, what: str, about: Any = "") -> AbstractContextManager[Told]:
        """Log when a piece of work starts and ends."""
        return told(f"{type(self).__name__}.{what}", about)

    def _table_so_far(self, class_vectors: Any, so_far: LabelledStatistics | None) -> ClassTable | None:
        before: ClassTable | None = getattr(self, "_table", None)
        if class_vectors is None:
            return before if so_far is not None else None
        table = ClassTable.of(class_vectors)
        if so_far is None:
            return table
        if before is None:
            raise ValueError("the samples so far came without class_vectors: start anew with fit")
        trained = before.select(so_far.labels)
        merged = before.updated(table)
        if not np.array_equal(merged.select(so_far.labels).vectors, trained.vectors):
            raise ValueError(
                "class_vectors changes the vector of a class that has samples already: start anew with fit"
            )
        return merged

    def _known_with(self, table: ClassTable | None) -> ClassTable | None:
        """Return all classes of a table as a fitted model knows them, those that it was trained on first."""
        if table is None or not hasattr(self, "arrays_"):
            return None
        trained = self.classes_.tolist()
        return table.select([*trained, *table.others(trained)])

    def _learn(
        self,
        collected: LabelledStatistics,
        table: ClassTable | None,
        timings: dict[str, float],
        rows: LabelledRows | None = None,
    ) -> None:
        """Become the model of these samples."""
        raw = collected.statistics
        # a label in y may be equal to that in the table and yet of another type, as 1.0 is to 1: the table's counts
        labels = collected.labels if table is None else table.own_labels(collected.labels)
        if len(labels) < 2:
            raise ValueError(
                f"y holds only one class, {quoted(labels[0])}: learning to recognise needs samples of at least "
                "two classes"
            )
        if table is None:
            known = ClassTable(labels, self._vectors_of_none(raw))
        else:
            known = table.select([*labels, *table.others(labels)], "y")
        vectors = known.vectors[: len(labels)]
        training = TrainingData.of(
            raw, vectors, *self._normalisations(known.sources), rows, symmetric_whitening=self._per_axis
        )
        training = replace(training, sources=known.sources)
        warn_of_lost_digits(raw, training)
        warn_of_zero_vectors(known)
        if table is not None:
            warn_of_transposed(table, labels)
        warn_of_equal_vectors(known, training.classes)
        self._become(*self._solved(training), training)
        self.classes_ = label_array(labels)
        self.class_table_ = known
        self._sample_length = training.sample_length
        for name in ("adaptation_constants_", "adapted_"):
            self.__dict__.pop(name, None)
        self.calibration_, self.rejection_ = {}, {}
        self._competition = OneWarning()
        self.timings_ = timings | self.timings_
        logger.debug("%s: seconds per stage %s", type(self).__name__, self.timings_)
        self._collected = LabelledStatistics(labels, raw)
        self.training_digest_ = collected.digest
        self._samples = LabelledSums.of(self._collected)
        self._table = table
        self._warn_of_training(raw)
        self._warn_of_result()

    def _solved(self, training: TrainingData) -> tuple[NamedArrays, dict[str, float]]:
        """Return the arrays of a fit, and seconds per stage; progress is shown."""
        started = time.perf_counter()
        n_features = training.statistics.n_features
        with Progress("decomposing", n_features, "features", enabled=bool(self.progress)) as line:
            if n_features >= _LONG_DECOMPOSITION:
                line.announce()
            prepared = self._prepare(training)
        timings = {"prepare": time.perf_counter() - started}
        most = getattr(self, "max_iter", None)
        with (
            Progress("fitting", most, "iterations", enabled=bool(self.progress)) as line,
            Progress("coding", None, "samples", enabled=bool(self.progress)) as coding,
        ):
            monitor = Monitor(lambda done, value: line.update(done, f"objective {value:.6g}"), coding.update_of)
            arrays = self._fitted(prepared, monitor)
        timings["solve"] = time.perf_counter() - started - timings["prepare"]
        return arrays, monitor.timings or timings

    def _fitted(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        """Return the arrays of a fit, all of them finite."""
        reason = "parameters, or the values of the data, are too far apart in scale"
        try:
            arrays = self._fit(prepared, monitor)
        except (DivergenceError, SingularEquationError):
            raise
        except np.linalg.LinAlgError as error:
            raise DivergenceError(f"the fit of {type(self).__name__} failed, {error}: {reason}") from error
        bad = [name for name, array in arrays.items() if not np.isfinite(array).all()]
        if bad:
            raise DivergenceError(f"the fit of {type(self).__name__} overflowed, in its {bad[0]}: {reason}")
        return arrays

    def _become(self, arrays: NamedArrays, timings: dict[str, float], training: TrainingData) -> None:
        """Take over the result of a fit."""
        c, d = training.class_vectors.shape
        check_arrays(arrays, self.ARRAYS, {"m": training.statistics.n_features, "d": d, "c": c})
        self.arrays_ = arrays
        self.timings_ = timings
        self.feature_normalisation_ = training.features
        self.class_normalisation_ = training.classes
        self.class_means_ = training.given_means
        self._trained_vectors = training.given_vectors
        self._remembered = Remembered()
