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

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array, some
from jcmspl.data.normalisation import Normalisation, parse_normalisation
from jcmspl.support.arguments import Float64Array


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
            index of a DataFrame holds the labels; the labels of an array are its row numbers. In cross-validation
            pass a ClassTable: scikit-learn cuts the other forms up when they are as long as X. By default each class
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
            Labels that may occur, now and in later calls; others in y are then refused. Classes may also just arrive.
        class_vectors : optional
            As for fit; only classes without a vector so far need one.
        solve : bool, default True
            False: only take the samples in; the model stays as it was until a later call. Saves time when there are
            many chunks. There is nothing to solve before two classes have samples.

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
            if so_far is not None and so_far.statistics.unit_rows != self._unit_rows():
                raise ValueError(
                    f"feature_normalisation={self._settings.feature_normalisation!r} differs from that of the samples "
                    "so far in whether samples are scaled: start anew with fit"
                )
            table = self._table_so_far(class_vectors, so_far)
            declared = (
                set(as_label_list(classes, "classes")) if classes is not None else getattr(self, "_declared", None)
            )
            started = time.perf_counter()
            new = self._collected(X, y, table, reset=so_far is None, so_far=so_far, declared=declared)
            self._declared = declared
            if solve:
                total = new if so_far is None else so_far + new
            else:
                total = new if so_far is None else so_far.add_in_place(new)
            if solve and len(total.labels) > 1:
                calibration = dict(getattr(self, "calibration_", {}))
                self._learn_from(total, table, {"read": time.perf_counter() - started})
                self.calibration_ = calibration  # still the best there is
            else:
                self._samples_so_far, self._table = total, table
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
        classes = set(self.classes_.tolist())
        trained = [label for label in table if label in classes]
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
        """A copy of the statistics of all samples so far; their classes are sorted, as in classes_."""
        so_far: LabelledStatistics | None = getattr(self, "_samples_so_far", None)
        if so_far is None:
            reason = "it was saved without them" if hasattr(self, "visual_projection_") else "it is not fitted yet"
            raise AttributeError(f"this model has no statistics: {reason}")
        return so_far.statistics.copy()

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
    calibration_: dict[tuple[str, Any], float]
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

    def _samples(self, X: Any, *, reset: bool = False, least: int = 1) -> npt.NDArray[Any]:
        """Return X as an array that the core can read, without looking for NaN: the core does that as it reads."""
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise ValueError("X has masked values: fill or remove them")
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        array: npt.NDArray[Any] = validate_data(
            self,
            X,
            reset=reset,
            dtype=None if kind in "fiub" else "numeric",
            ensure_all_finite=False,
            ensure_min_samples=least,
        )
        return array

    def _unit_rows(self) -> bool:
        return parse_normalisation(self._settings.feature_normalisation, "feature_normalisation")[0]

    def _collected(
        self,
        X: Any,
        y: Any,
        table: ClassTable | None,
        *,
        reset: bool,
        so_far: LabelledStatistics | None = None,
        declared: set[Label] | None = None,
    ) -> LabelledStatistics:
        collector = Collector(
            table,
            unit_rows=self._unit_rows(),
            progress=bool(self.progress),
            known=so_far.labels if so_far is not None else (),
            declared=declared,
        )
        chunked = _gives_chunks(X)
        if y is None and chunked:
            first = [reset]

            def validate(chunk: Any) -> npt.NDArray[Any]:
                return self._samples(chunk, reset=bool(first) and first.pop(), least=0)

            collector.add_chunks(X, validate)
        else:
            if chunked and y is not None and not isinstance(X, (list, tuple)):
                raise TypeError("X is an iterator of chunks, so each chunk brings its labels, (X, y): leave y out")
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
        raw = collected.statistics
        # a label in y may be equal to that in the table and yet of another type, as 1.0 is to 1: the table's counts
        labels = collected.labels if table is None else table.own_labels(collected.labels)
        if len(labels) < 2:
            raise ValueError(
                f"y holds only one class, {labels[0]!r}: learning to recognise needs samples of at least two classes"
            )
        known = _one_hot(labels) if table is None else table.select([*labels, *_others(table, labels)], "y")
        features = Normalisation.from_statistics(self._settings.feature_normalisation, raw)
        classes = Normalisation.from_rows(self._settings.class_normalisation, known.vectors[: len(labels)])
        statistics = features.of_statistics(raw)
        _warn_of_lost_digits(raw, statistics, features)
        _warn_of_equal_vectors(known, classes)
        timings |= self._learn(statistics, classes.of_rows(known.vectors[: len(labels)]))
        self.classes_ = label_array(labels)
        self.class_table_ = known
        self.class_means_ = raw.class_sums / raw.counts[:, None]
        self.feature_normalisation_, self.class_normalisation_ = features, classes
        self.calibration_ = {}
        self.timings_ = timings
        self._samples_so_far, self._table = LabelledStatistics(labels, raw), table


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Give an estimator back as it was if anything stops what is done to it, Ctrl-C included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        state = vars(estimator)
        state.update(before)  # first: at no moment is anything of the old state missing
        for name in set(state) - set(before):
            del state[name]
        raise


def _gives_chunks(X: Any) -> bool:
    """Whether X is an iterable of (X, y) pairs rather than samples."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(_is_pair(chunk) for chunk in X)
    return (
        isinstance(X, Iterable) and not isinstance(X, str) and not hasattr(X, "shape") and not hasattr(X, "__array__")
    )


def _is_pair(chunk: Any) -> bool:
    return isinstance(chunk, (list, tuple)) and len(chunk) == 2 and len(getattr(chunk[0], "shape", ())) == 2


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


def _warn_of_lost_digits(raw: Statistics, normalised: Statistics, normalisation: Normalisation) -> None:
    """Warn of features that are so far from zero that their differences are lost in rounding errors.

    The Gram matrix of centred samples is what is left of that of the raw ones: 1e-9 of it has half of the digits.
    """
    before = raw.gram.diagonal() / normalisation.scale**2
    after = normalised.gram.diagonal()
    if not after.any():
        message = (
            "after normalisation all samples are the same, or their differences are too small beside their mean to be "
            "told from rounding errors: if they do differ, subtract a constant from X first"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=4)
        return
    poor = np.flatnonzero((after > 0) & (after < 1e-9 * before))
    if len(poor):
        message = (
            f"{len(poor)} of the {len(before)} features (the first is number {poor[0]}) differ from their mean by less "
            "than 1 part in 30,000, so centring loses most of their digits: subtract a constant from them first"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def _warn_of_equal_vectors(table: ClassTable, normalisation: Normalisation) -> None:
    """Warn of classes that cannot be told apart because their vectors are the same once they are normalised."""
    vectors = normalisation.of_rows(table.vectors)
    rounded = np.round(vectors / (np.abs(vectors).max(initial=0) or 1), 9) + 0.0  # + 0.0: no negative zeros
    order = np.lexsort(rounded.T[::-1])
    same = np.flatnonzero(np.all(rounded[order[1:]] == rounded[order[:-1]], axis=1))
    if len(same):
        one, two = (list(table)[order[same[0] + i]] for i in range(2))
        warnings.warn(
            f"the classes {one!r} and {two!r} have the same class vector after {normalisation.name!r} and cannot be "
            "told apart: check the vectors, or try another class_normalisation ('center', 'zscore', 'none')",
            RuntimeWarning,
            stacklevel=4,
        )
