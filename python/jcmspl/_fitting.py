"""How estimators learn: one pass over the data, then a fit to its statistics."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

from jcmspl._collect import Collector, LabelledStatistics
from jcmspl._validation import Float64Array
from jcmspl.classes import ClassTable
from jcmspl.labels import Label, LabelArray, as_label_list, label_array, some
from jcmspl.normalisation import Normalisation, parse_normalisation
from jcmspl.statistics import Statistics


class FittingMixin:
    """fit, partial_fit and fit_from_statistics; a class that uses it says how to learn from statistics."""

    progress: bool
    n_features_in_: int

    def fit(self, X: Any, y: Any = None, *, class_vectors: Any = None) -> Any:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features), or iterable of (X, y) chunks
            Arrays of any layout, memory maps and DataFrames; float32 is not converted. Chunks are read one at a time.
        y : array_like of shape (n_samples,)
            The label of each sample; None if X gives chunks.
        class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like
            The vector of each class in y and, if you like, of other classes, which become candidates for later. The
            index of a DataFrame holds the labels; the labels of an array are its row numbers. By default each class
            gets a dimension of its own, which makes this a plain supervised classifier.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            table = None if class_vectors is None else ClassTable.of(class_vectors)
            started = time.perf_counter()
            collected = self._collected(X, y, table, reset=True)
            self._learn_from(collected, table, {"read": time.perf_counter() - started})
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, class_vectors: Any = None, solve: bool = True
    ) -> Any:
        """Learn from further samples; the result is that of one fit to all samples so far.

        Parameters
        ----------
        X, y
            As for fit.
        classes : array_like, optional
            Labels that may occur; others in y are then refused. Classes may also just arrive.
        class_vectors : optional
            As for fit; only classes without a vector so far need one.
        solve : bool, default True
            False: only take the samples in; the model stays as it was until a later call. Saves time when there are
            many chunks.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            so_far: LabelledStatistics | None = getattr(self, "_samples_so_far", None)
            if so_far is None and hasattr(self, "visual_projection_"):
                raise ValueError(
                    "this model was saved without its statistics, so it cannot learn on: save it with statistics=True"
                )
            table = self._table_so_far(class_vectors, so_far)
            if classes is not None:
                _require_declared(y, classes)
            started = time.perf_counter()
            collected = self._collected(X, y, table, reset=so_far is None)
            if so_far is not None:
                collected = so_far + collected
            if solve:
                self._learn_from(collected, table, {"read": time.perf_counter() - started})
            else:
                self._samples_so_far, self._table = collected, table
        return self

    def fit_from_statistics(self, statistics: Statistics, classes: Any = None, *, class_vectors: Any = None) -> Any:
        """Learn from statistics that were collected elsewhere, and perhaps merged.

        Parameters
        ----------
        statistics : Statistics
            Made with ``unit_rows=True`` if ``feature_normalisation`` starts with ``sample_l2``. Classes without samples
            are left out.
        classes : array_like of shape (statistics.n_classes,), optional
            The labels of the class numbers of the statistics; by default the numbers themselves.
        class_vectors
            As for fit.

        Returns
        -------
        self
        """
        if not isinstance(statistics, Statistics):
            raise TypeError(f"statistics must be jcmspl.Statistics, but is {type(statistics).__name__}")
        labels = as_label_list(range(statistics.n_classes) if classes is None else classes, "classes")
        if len(labels) != statistics.n_classes or len(set(labels)) != len(labels):
            raise ValueError(
                f"classes must be {statistics.n_classes} different labels, one for each class of the statistics"
            )
        with unchanged_on_failure(self):
            self._check_parameters()
            table = None if class_vectors is None else ClassTable.of(class_vectors)
            collected = _sorted_with_samples(statistics, labels)
            if table is not None:
                table.positions(collected.labels, "the statistics")
            vars(self).pop("feature_names_in_", None)
            self.n_features_in_ = statistics.n_features
            self._learn_from(collected, table, {})
        return self

    def add_classes(self, class_vectors: Any, *, replace: bool = False) -> Any:
        """Make further classes known to a fitted model, by name and vector; they are recognised at once.

        Parameters
        ----------
        class_vectors : ClassTable, dict of label -> vector or DataFrame
        replace : bool, default False
            Whether a class that the model knows already, but was not trained on, may get a new vector.

        Returns
        -------
        self
        """
        check_is_fitted(self, "visual_projection_")
        if isinstance(class_vectors, (np.ndarray, list, tuple)):
            raise TypeError("class_vectors must name its classes: pass a dict, a DataFrame or a ClassTable")
        table = ClassTable.of(class_vectors)
        trained = [label for label in table if label in set(self.classes_.tolist())]
        if trained:
            raise ValueError(f"the model was trained on {some(trained)}: their vectors cannot be changed")
        known = [label for label in table if label in self.class_table_]
        if known and not replace:
            raise ValueError(f"the model knows {some(known)} already: pass replace=True to give them new vectors")
        if self._table is None:
            raise ValueError(
                "the model was trained without class_vectors, so it cannot know what other classes look like"
            )
        self.class_table_ = self.class_table_.updated(table)
        self._table = self._table.updated(table)
        return self

    @property
    def statistics_(self) -> Statistics:
        """The statistics of all samples so far, in the order of classes_."""
        if getattr(self, "_samples_so_far", None) is None:
            raise AttributeError("this model has no statistics: it was loaded from a file that was saved without them")
        return self._samples_so_far.statistics  # type: ignore[union-attr]

    @property
    def unseen_classes_(self) -> LabelArray:
        """The classes that the model knows but was not trained on."""
        return self.class_table_.labels[len(self.classes_) :]

    # What a fitted model has; set by _learn_from.
    classes_: LabelArray
    class_table_: ClassTable
    class_means_: Float64Array
    feature_normalisation_: Normalisation
    class_normalisation_: Normalisation
    seen_bias_: float
    timings_: dict[str, float]
    _samples_so_far: LabelledStatistics | None
    _table: ClassTable | None

    @property
    def _settings(self) -> Any:
        """The estimator whose parameters count: this one, unless a search has chosen another."""
        return self

    def _check_parameters(self) -> None:
        """Refuse bad parameters before any data is read."""
        raise NotImplementedError

    def _learn(self, statistics: Statistics, class_vectors: Float64Array) -> dict[str, float]:
        """Set the fitted attributes from normalised statistics and vectors; return seconds per stage."""
        raise NotImplementedError

    def _samples(self, X: Any, *, reset: bool = False) -> npt.NDArray[Any]:
        """Return X as an array that the core can read, without looking for NaN: the core does that as it reads."""
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        array: npt.NDArray[Any] = validate_data(
            self, X, reset=reset, dtype=None if kind in "fiub" else "numeric", ensure_all_finite=False
        )
        return array

    def _collected(self, X: Any, y: Any, table: ClassTable | None, *, reset: bool) -> LabelledStatistics:
        unit_rows, _ = parse_normalisation(self._settings.feature_normalisation, "feature_normalisation")
        collector = Collector(table, unit_rows=unit_rows, progress=bool(self.progress))
        if y is None and _gives_chunks(X):
            first = [reset]

            def validate(chunk: Any) -> npt.NDArray[Any]:
                return self._samples(chunk, reset=bool(first) and first.pop())

            collector.add_chunks(X, validate)
        else:
            if y is None:
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None "
                    "(only an iterator of (X, y) chunks comes without)"
                )
            collector.add_array(self._samples(X, reset=reset), y)
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

    def _learn_from(self, collected: LabelledStatistics, table: ClassTable | None, timings: dict[str, float]) -> None:
        labels, raw = collected.labels, collected.statistics
        if len(labels) < 2:
            raise ValueError(
                f"y holds only one class, {labels[0]!r}: learning to recognise needs samples of at least two classes"
            )
        known = _one_hot(labels) if table is None else table.select([*labels, *_others(table, labels)], "y")
        features = Normalisation.from_statistics(self._settings.feature_normalisation, raw)
        classes = Normalisation.from_rows(self._settings.class_normalisation, known.vectors[: len(labels)])
        statistics = features.of_statistics(raw)
        _warn_of_cancellation(raw, statistics, features)
        timings |= self._learn(statistics, classes.of_rows(known.vectors[: len(labels)]))
        self.classes_ = label_array(labels)
        self.class_table_ = known
        self.class_means_ = raw.class_sums / raw.counts[:, None]
        self.feature_normalisation_, self.class_normalisation_ = features, classes
        self.seen_bias_ = float(self._settings.seen_bias)
        self.timings_ = timings
        self._samples_so_far, self._table = collected, table


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Give an estimator back as it was if anything stops what is done to it, Ctrl-C included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _gives_chunks(X: Any) -> bool:
    """Whether X is an iterable of (X, y) pairs: an iterator, or a list of tuples."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(chunk, tuple) and len(chunk) == 2 for chunk in X)
    return (
        isinstance(X, Iterable)
        and not hasattr(X, "shape")
        and not hasattr(X, "__array__")
        and not hasattr(X, "__len__")
    )


def _require_declared(y: Any, classes: Any) -> None:
    declared = set(as_label_list(classes, "classes"))
    if y is None:
        return
    unknown = [label for label in dict.fromkeys(as_label_list(y)) if label not in declared]
    if unknown:
        raise ValueError(f"y holds labels that are not in classes: {some(unknown)}")


def _sorted_with_samples(statistics: Statistics, labels: list[Label]) -> LabelledStatistics:
    with_samples = np.flatnonzero(statistics.counts)
    part = LabelledStatistics([labels[i] for i in with_samples], statistics.select_classes(with_samples))
    if not part.labels:
        raise ValueError("the statistics have no samples")
    return part + LabelledStatistics([], Statistics(statistics.n_features, 0, unit_rows=statistics.unit_rows))


def _one_hot(labels: list[Label]) -> ClassTable:
    return ClassTable(labels, np.eye(len(labels)))


def _others(table: ClassTable, labels: list[Label]) -> list[Label]:
    seen = set(labels)
    return [label for label in table if label not in seen]


def _warn_of_cancellation(raw: Statistics, normalised: Statistics, normalisation: Normalisation) -> None:
    """Warn when centring took away nearly all of the Gram matrix, and with it the digits of what is left."""
    before = np.sum(raw.gram.diagonal() / normalisation.scale**2)
    after = np.sum(normalised.gram.diagonal())
    if after > 1e-9 * before:
        return
    message = "after normalisation all samples are the same: there is nothing to learn from"
    if after > 0:
        message = (
            "the features hardly differ from their mean (by less than 1 part in 30,000), so centring loses most of "
            "their digits: subtract a constant from X first"
        )
    warnings.warn(message, RuntimeWarning, stacklevel=4)
