"""How models learn: one pass over the data, what all settings share, then the method's own equations."""

from __future__ import annotations

import time
from collections.abc import Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector, LabelledStatistics, gives_chunks
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import Label, LabelArray, as_label_list, as_targets, label_array, some, sorted_labels
from jcmspl.data.normalisation import SHRINKAGE, Normalisation, parse_feature_normalisation, parse_normalisation
from jcmspl.data.on_dask import is_dask
from jcmspl.data.parts import Parts, as_dask_array, collected_from
from jcmspl.data.sources import Sources, check_source_shares, column_scale
from jcmspl.data.training import LabelledRows, TrainingData
from jcmspl.data.weights import BALANCED, check_class_weight, require_known_classes, weights_of
from jcmspl.models import registry
from jcmspl.models.adaptation import Adaptation
from jcmspl.models.arrays import NamedArrays, Shape, check_arrays
from jcmspl.models.cautions import warn_of_equal_vectors, warn_of_lost_digits, warn_of_transposed, warn_of_zero_vectors
from jcmspl.models.checking import checked_samples, rereadable_samples
from jcmspl.models.monitor import Monitor
from jcmspl.models.open_set import Threshold
from jcmspl.models.parameters import FLAG, POSITIVE, check_parameters, checked_by, one_of_names
from jcmspl.models.remembered import Remembered
from jcmspl.support.arguments import Float64Array
from jcmspl.support.log import Told, logger, told
from jcmspl.support.names import KERNELS
from jcmspl.support.progress import Progress
from jcmspl.support.shown import quoted
from jcmspl.support.state import changes, reads
from jcmspl.support.warn import OneWarning

if TYPE_CHECKING:
    from typing_extensions import Self

# From this number of features on a decomposition, which cannot tell how far it is, takes a second or more.
_LONG_DECOMPOSITION = 1500
# What calibration finds.
_CALIBRATED = ("calibration_", "rejection_", "_competition", "adaptation_constants_")
# Why a fitted model has no statistics.
_HOW_LOST = "it was saved without them, or lost them with a class that was removed (remove_classes)"


class Fitted:
    """What a fitted model has; a class of its own because the fields of a dataclass are parameters."""

    arrays_: NamedArrays
    classes_: LabelArray
    class_table_: ClassTable
    class_means_: Float64Array
    feature_normalisation_: Normalisation
    class_normalisation_: Normalisation
    calibration_: dict[tuple[str, Any], float]
    rejection_: dict[tuple[str, Any, str], Threshold]
    adaptation_constants_: tuple[float, float]
    adapted_: Adaptation
    imputed_values_: Float64Array  # what took the place of missing values, if somebody has set it
    timings_: dict[str, float]
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    _collected: LabelledStatistics | None
    _samples: LabelledSums  # of all samples so far, whether the model was trained on them or not
    _sample_length: float
    _trained_vectors: Float64Array  # those of classes_
    _table: ClassTable | None
    _declared: set[Label] | None
    _remembered: Remembered
    _competition: OneWarning  # of seen and unseen classes, uncalibrated


@dataclass(kw_only=True, eq=False, repr=False)
class Learner(Fitted, BaseEstimator):
    """fit, partial_fit and fit_from_statistics for any method.

    A method says in two steps how it learns, so that a search over its parameters can share the first:
    :meth:`_prepare`, all that depends on the data alone, and :meth:`_fit`, the rest.
    """

    feature_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_feature_normalisation))
    class_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_normalisation))
    whitening_shrinkage: float = field(default=SHRINKAGE, metadata=POSITIVE)
    class_kernel: str = field(default="linear", metadata=one_of_names(KERNELS))
    kernel_width: float = field(default=1.0, metadata=POSITIVE)
    source_shares: Any = field(default=None, metadata=checked_by(check_source_shares))
    class_weight: Any = field(default=None, metadata=checked_by(check_class_weight))
    progress: bool = field(default=True, metadata=FLAG)

    #: What the method reads: "statistics" of the samples, or the "samples" themselves.
    NEEDS: ClassVar[str] = "statistics"
    #: Whether a method that reads samples reads their weights too, ``training.sample_weights``.
    READS_WEIGHTS: ClassVar[bool] = False
    #: How long a fit takes, in units of ridge regression, about; None: by what it reads. The cheap are compared first.
    COST: ClassVar[float | None] = None
    #: The arrays that a fit gives, and their shapes (:mod:`jcmspl.models.arrays`).
    ARRAYS: ClassVar[dict[str, Shape]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "PAPER" in vars(cls):
            registry.register(cls)

    # What a method says of itself.
    @property
    def _needs(self) -> str:
        """What the method reads with its parameters as they are, for one whose NEEDS is only true of the defaults."""
        return self.NEEDS

    def _prepare(self, training: TrainingData) -> Any:
        """Return what fits with any parameters to the same normalised data have in common."""
        return training

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        """Return the arrays that the method is once it is fitted."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    def _vectors_of_none(self, statistics: Statistics) -> Float64Array:
        """Return class vectors where the user gives none: by default each class has a dimension of its own."""
        return np.eye(statistics.n_classes)

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
            self.__dict__.pop("imputed_values_", None)  # of the samples before
            line.text = self._size_so_far()
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
        solve: bool = True,
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
        solve : bool, default True
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
                f"this model is without its statistics and cannot learn on: {_HOW_LOST}; use statistics=True"
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
            self._go_on(X, y, sample_weight, so_far, table, declared, solve)
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
        solve: bool,
    ) -> None:
        """Take further samples in, and learn from all so far if that is wanted."""
        started = time.perf_counter()
        collector = self._collector(table, so_far, declared)
        new = self._read(X, y, sample_weight, collector, reset=so_far is None)
        self._declared = declared
        known = self._known_with(table)
        in_place = not solve and so_far is not None and so_far.labels == new.labels
        total = new if so_far is None or in_place else so_far + new
        if solve and len(total.labels) > 1:
            kept = {name: vars(self)[name] for name in _CALIBRATED if name in vars(self)}
            self._learn(total, table, {"read": time.perf_counter() - started})
            self.__dict__.update(kept)  # still the best there is
            return
        sums = LabelledSums.of(total)
        self._table = table
        self._samples = self._samples + sums if in_place else sums
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
            raise TypeError(f"statistics must be jcmspl.Statistics, but is {type(statistics).__name__}")
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
            line.text = self._size_so_far()
        return self

    @changes
    def add_classes(self, class_vectors: Any = None, X: Any = None, y: Any = None, *, replace: bool = False) -> Self:
        """Make further classes known to a fitted model, by name, vector and samples; they are recognised at once.

        What the model has learnt stays as it is. In the visual space of a bilinear method a few labelled samples tell
        where a class lies, together with the model's prediction (prediction_weight says how much that counts).

        Parameters
        ----------
        class_vectors : ClassTable, dict of label -> vector or DataFrame
            May be left out if there are samples of classes that the model knows already.
        X, y : optional
            Labelled samples, as for fit, of classes that are added or that the model knows but was not trained on. They
            are added to those of earlier calls. A model that has its statistics takes them in there, too, so that a
            later :meth:`partial_fit` learns from them.
        replace : bool, default False
            Whether a class that the model knows already, but was not trained on, may get a new vector; its samples are
            kept.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if X is None and (y is not None or class_vectors is None):
            missing = "y came without X" if y is not None else "nothing was given"
            raise ValueError(f"{missing}: pass class_vectors, or samples X and their labels y, or all of them")
        if self._table is None:
            raise ValueError(
                "the model was trained without class_vectors, so it cannot know what other classes look like"
            )
        if class_vectors is not None:
            self._add_vectors(class_vectors, replace=replace)
        if X is not None:
            self._add_samples(X, y)
        return self

    @changes
    def remove_classes(self, labels: Any) -> Self:
        """Make a fitted model forget classes that it was not trained on: they are candidates no longer.

        What the model has learnt stays as it is, and so do a calibrated bias, thresholds and an adaptation. A class
        may be added again, as if it had never been there. Training classes cannot be removed, for the model is made of
        them: leave them out of the ``candidates`` of a call.

        Parameters
        ----------
        labels : sequence or set of labels
            Of ``unseen_classes_``. Samples that the model was given of them (:meth:`add_classes`) are forgotten as
            well. If these are part of its statistics, of which they cannot be taken out again, the model forgets its
            statistics, too: it predicts as before, but :meth:`partial_fit` cannot go on.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if isinstance(labels, str):
            raise TypeError(f"labels must be a list of labels, but is the text {quoted(labels)}: pass [{labels!r}]")
        wanted = dict.fromkeys(as_label_list(sorted_labels(labels) if isinstance(labels, Set) else labels, "labels"))
        unknown = [label for label in wanted if label not in self.class_table_]
        if unknown:
            known = self.class_table_.others(self.classes_.tolist())
            raise ValueError(
                f"the model does not know {some(unknown)}: those that can be removed are {some(known, 5) or 'none'}"
            )
        classes = set(self.classes_.tolist())
        trained = [label for label in wanted if label in classes]
        if trained:
            raise ValueError(
                f"the model was trained on {some(trained)} and cannot forget that: leave them out of the candidates of "
                "a call, or fit it without them"
            )
        if not wanted:
            return self
        self.class_table_ = self.class_table_.select(self.class_table_.others(wanted))
        if self._table is not None:
            self._table = self._table.without(wanted)
        if self._collected is not None and any(label in wanted for label in self._collected.labels):
            self._collected = None
        self._samples = self._samples.without(wanted)
        return self

    def _add_vectors(self, class_vectors: Any, *, replace: bool) -> None:
        if isinstance(class_vectors, (np.ndarray, list, tuple)):
            raise TypeError("class_vectors must name its classes: pass a dict, a DataFrame or a ClassTable")
        table = ClassTable.of(class_vectors)
        classes = set(self.classes_.tolist())
        trained = [label for label in table if label in classes]
        if trained:
            raise ValueError(f"the model was trained on {some(trained)}: their vectors cannot be changed")
        known = [label for label in table if label in self.class_table_]
        if known and not replace:
            raise ValueError(f"the model knows {some(known)} already: pass replace=True to give them new vectors")
        warn_of_zero_vectors(table)
        if known:
            self.__dict__.pop("adapted_", None)
        self.class_table_ = self.class_table_.updated(table)
        self._table = self.class_table_

    def _add_samples(self, X: Any, y: Any) -> None:
        """Remember samples of classes that the model knows and was not trained on."""
        scaling = self.feature_normalisation_.scaling
        collector = Collector(self.class_table_, *scaling, progress=bool(self.progress))
        class_weight = self.class_weight
        if isinstance(class_weight, str):  # balanced over a call, each would count otherwise in another call
            self.class_weight = None
        new = self._read(X, y, None, collector, reset=False)
        self.class_weight = class_weight
        classes = set(self.classes_.tolist())
        trained = [label for label in new.labels if label in classes]
        if trained:
            raise ValueError(
                f"y holds {some(trained)}, which the model was trained on: use partial_fit to learn from more samples"
            )
        self.__dict__.pop("adapted_", None)
        if self._collected is None:
            self._samples += LabelledSums.of(new)
        else:
            self._collected += new
            self._samples = LabelledSums.of(self._collected)

    @changes
    def set_params(self, /, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; those that matter after a fit hold at once, others for the next one."""
        if params.keys() & {"adaptation_pull", "adaptation_temperature"}:
            self.__dict__.pop("adaptation_constants_", None)  # what is named counts
        return super().set_params(**params)  # type: ignore[no-any-return]

    def __copy__(self) -> Self:
        """Return a copy with statistics of its own, which are added to in place."""
        twin: Self = object.__new__(type(self))
        twin.__dict__.update(vars(self))
        collected: LabelledStatistics | None = getattr(self, "_collected", None)
        if collected is not None:
            twin._collected = LabelledStatistics(collected.labels, collected.statistics.copy())
        return twin

    @property
    def statistics_(self) -> Statistics:
        """A copy of the statistics of all samples so far; their classes are sorted.

        They are those of classes_, and of classes that have got samples since without a solution.
        """
        so_far: LabelledStatistics | None = getattr(self, "_collected", None)
        if so_far is None:
            reason = _HOW_LOST if hasattr(self, "arrays_") else "it is not fitted yet"
            raise AttributeError(f"this model has no statistics: {reason}")
        return so_far.statistics.copy()

    @property
    @reads
    def unseen_classes_(self) -> LabelArray:
        """The classes that the model knows but was not trained on."""
        return self.class_table_.labels[len(self.classes_) :]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "arrays_")

    def _telling(self, what: str, about: Any = "") -> AbstractContextManager[Told]:
        """Log when a piece of work starts and ends."""
        return told(f"{type(self).__name__}.{what}", about)

    def _size_so_far(self) -> str:
        """Return what the model has learnt from, for the log."""
        samples = self._samples
        return f"{samples.counts.sum():g} samples of {len(samples.labels)} classes"

    def _array(self, name: str) -> npt.NDArray[Any]:
        """Return one of the arrays of the fit: for properties, which a model that is not fitted does not have."""
        if not hasattr(self, "arrays_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no {name}_")
        return self.arrays_[name]

    def _check_parameters(self) -> None:
        """Refuse bad parameters before any data is read."""
        check_parameters(self)

    def _require_statistics_enough(self, method: str) -> None:
        if self._needs == "samples":
            raise TypeError(
                f"{type(self).__name__} learns from the samples themselves, so {method} is not to be had: "
                "use fit with all samples"
            )

    def _require_weights_known(self, what: str) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={BALANCED!r} takes all labels at once, so it is not supported with {what}: pass a dict "
                "of label -> weight, such as n_samples / (n_classes * count)"
            )

    def _weights_of(self, labels: list[Label], sample_weight: Any) -> Float64Array | None:
        """Return what samples weigh to this model; None if each counts once."""
        weights = weights_of(labels, sample_weight, self.class_weight)
        if weights is not None and self._needs == "samples" and not self.READS_WEIGHTS:
            raise ValueError(
                f"{type(self).__name__} cannot weigh samples: leave sample_weight and class_weight out, and repeat "
                "samples that are to count more than once"
            )
        return weights

    def _checked(self, X: Any, *, reset: bool = False, least: int = 1) -> npt.NDArray[Any]:
        """Return samples that were looked at; those of dask, as far as dask knows them, as an array of dask."""
        if is_dask(X):
            checked_samples(self, Parts.of(X).header, reset=reset, least=0)
            array: npt.NDArray[Any] = as_dask_array(X)
            return array
        return checked_samples(self, X, reset=reset, least=least)

    def _require_labels(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None "
                "(only an iterator of (X, y) chunks comes without)"
            )

    def _parts_of(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = False) -> Parts:
        """Return samples that dask has, and their labels, of which the former were looked at as far as dask knows."""
        self._require_labels(y)
        parts = Parts.of(X, y, sample_weight)
        self._checked(parts.header, reset=reset, least=0)
        return parts

    def _normalisations(self, sources: Sources | None) -> tuple[str, str, float, str, float, Float64Array | None]:
        """Return what is to be done to samples, and to class vectors of these sources."""
        of_classes = self.class_kernel, self.kernel_width, column_scale(sources, self.source_shares)
        return self.feature_normalisation, self.class_normalisation, self.whitening_shrinkage, *of_classes

    def _collector(
        self, table: ClassTable | None, so_far: LabelledStatistics | None = None, declared: set[Label] | None = None
    ) -> Collector:
        power, unit_rows, *_ = parse_feature_normalisation(self.feature_normalisation)
        collector = Collector(table, unit_rows, power, progress=bool(self.progress), declared=declared)
        return collector if so_far is None else collector.going_on_from(so_far)

    def _read(self, X: Any, y: Any, sample_weight: Any, collector: Collector, *, reset: bool) -> LabelledStatistics:
        """Return the statistics of the samples: the one pass over them."""
        if is_dask(X):
            parts = self._parts_of(X, y, sample_weight, reset=reset).weighed(self.class_weight)
            return collected_from(parts, collector, progress=bool(self.progress))
        chunked = gives_chunks(X)
        if y is None and chunked:
            self._require_weights_known("chunks of samples")
            if sample_weight is not None:
                raise TypeError("each chunk brings its weights, (X, y, sample_weight): leave sample_weight out")
            first = [reset]

            def validate(chunk: Any) -> npt.NDArray[Any]:
                return self._checked(chunk, reset=bool(first) and first.pop(), least=0)

            collector.add_chunks(X, validate, self._weights_of)
        else:
            if chunked and y is not None and not isinstance(X, (list, tuple)):
                raise TypeError("X is an iterator of chunks, so each chunk brings its labels, (X, y): leave y out")
            self._require_labels(y)
            samples, weights = self._checked(X, reset=reset), None
            if sample_weight is not None or self.class_weight is not None:
                y = as_targets(y)
                weights = self._weights_of(y, sample_weight)
            collector.add_array(samples, y, weights)
        return collector.result()

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
        training = TrainingData.of(raw, vectors, *self._normalisations(known.sources), rows)
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
        self._samples = LabelledSums.of(self._collected)
        self._table = table
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
        with Progress("fitting", most, "iterations", enabled=bool(self.progress)) as line:
            monitor = Monitor(lambda done, value: line.update(done, f"objective {value:.6g}"))
            arrays = self._fit(prepared, monitor)
        timings["solve"] = time.perf_counter() - started - timings["prepare"]
        return arrays, monitor.timings or timings

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
