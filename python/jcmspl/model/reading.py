"""Samples as users pass them: validated, weighed, and summed up in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from jcmspl.data.collect import Collector, LabelledStatistics, gives_chunks
from jcmspl.data.labels import Label, as_label_list, as_targets
from jcmspl.data.on_dask import is_dask
from jcmspl.data.partitions import Parts, as_dask_array, collected_from
from jcmspl.data.weights import BALANCED, weights_of
from jcmspl.model.fitted import Columns
from jcmspl.support.arguments import Float64Array, as_real_array
from jcmspl.support.lazy_rows import LazyRows


def validated(name: str, X: Any, columns: Columns | None = None, *, least: int = 1) -> tuple[npt.NDArray[Any], Columns]:
    """Return X as an array that the core can read, and its features.

    NaN is not looked for, since the core finds it as it reads. Lazy rows stay lazy: they are read block by block.

    Parameters
    ----------
    name : str
        The estimator, for messages.
    X : array_like of shape (n_samples, n_features)
    columns : Columns, optional
        The features that X must have; any by default.
    least : int
        The least number of samples.
    """
    if columns is not None and is_plain(X, columns, least):
        return np.asarray(X), columns
    estimator = _class_named(name)()  # scikit-learn reads and sets attributes; the model's own must not change yet
    if columns is not None:
        estimator.n_features_in_ = columns.n_features
        if columns.names is not None:
            estimator.feature_names_in_ = columns.names
    if isinstance(X, LazyRows):
        array: npt.NDArray[Any] = as_real_array(X, "X")
        if len(array) < least:
            raise ValueError(
                f"X has {len(array)} samples (its shape is {array.shape}), but at least {least} are needed"
            )
        validate_data(estimator, array, reset=columns is None, skip_check_array=True)
    else:
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise ValueError("X has masked values: fill or remove them")
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        array = validate_data(
            estimator,
            X,
            reset=columns is None,
            dtype=None if kind in "fiub" else "numeric",
            ensure_all_finite=False,
            ensure_min_samples=least,
        )
    return array, Columns(estimator.n_features_in_, getattr(estimator, "feature_names_in_", None))


def is_plain(X: Any, columns: Columns, least: int = 1) -> bool:
    """Whether X needs no validation, which takes longer than the recognition of a single sample."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "fiub"
        and columns.names is None
        and X.shape[1] == columns.n_features
        and len(X) >= least
    )


@lru_cache
def _class_named(name: str) -> type[Any]:
    """Return a class of estimators with a given name, which is how scikit-learn names them in messages."""
    return type(name, (BaseEstimator,), {})


def require_same_length(X: Any, labels: list[Label]) -> None:
    """Refuse samples and labels that differ in number."""
    if len(labels) != len(X):
        raise ValueError(f"there are {len(X)} samples in X but {len(labels)} labels in y")


@dataclass(frozen=True)
class SampleReader:
    """Reads samples for an estimator.

    Attributes
    ----------
    name : str
        The estimator, for messages.
    needs : {"statistics", "samples"}
        Whether the method learns from sums over samples, or from the samples themselves.
    reads_weights : bool
        Whether a method that learns from samples accepts weights.
    class_weight : None, "balanced" or dict of label -> number
    progress : bool
    """

    name: str
    needs: str = "statistics"
    reads_weights: bool = True
    class_weight: Any = None
    progress: bool = False

    def without_class_weight(self) -> SampleReader:
        """Return a reader that weighs all classes alike."""
        return replace(self, class_weight=None)

    def checked(self, X: Any, columns: Columns, *, least: int = 1) -> npt.NDArray[Any]:
        """Return validated samples; those of dask as an array of dask, of which only the header is validated."""
        if is_dask(X):
            validated(self.name, Parts.of(X).header, columns, least=0)
            array: npt.NDArray[Any] = as_dask_array(X)
            return array
        return validated(self.name, X, columns, least=least)[0]

    def weights_of(self, labels: list[Label], sample_weight: Any) -> Float64Array | None:
        """Return the weight of each sample, class_weight included; None if each counts once."""
        weights = weights_of(labels, sample_weight, self.class_weight)
        if weights is not None and self.needs == "samples" and not self.reads_weights:
            raise ValueError(
                f"{self.name} cannot weigh samples: leave sample_weight and class_weight out, and repeat samples that "
                "are to count more than once"
            )
        return weights

    def require_statistics_enough(self, method: str) -> None:
        """Refuse a call that has statistics alone, where the method learns from samples."""
        if self.needs == "samples":
            raise TypeError(
                f"{self.name} needs all samples at once and does not support {method}: use fit with all samples"
            )

    def require_weights_known(self, what: str) -> None:
        """Refuse weights that depend on all labels where only some are at hand."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={BALANCED!r} takes all labels at once, so it is not supported with {what}: pass a dict "
                "of label -> weight, such as n_samples / (n_classes * count)"
            )

    def parts_of(
        self, X: Any, y: Any, sample_weight: Any = None, columns: Columns | None = None
    ) -> tuple[Parts, Columns]:
        """Return samples of dask with their labels, and the features, of which the header alone is validated."""
        self._require_labels(y)
        parts = Parts.of(X, y, sample_weight)
        _, found = validated(self.name, parts.header, columns, least=0)
        return parts, found

    def read(
        self, X: Any, y: Any, sample_weight: Any, collector: Collector, columns: Columns | None = None
    ) -> tuple[LabelledStatistics, Columns]:
        """Return the statistics of samples, read in one pass, and their features.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        collector : Collector
        columns : Columns, optional
            The features that X must have; any by default.
        """
        if is_dask(X):
            parts, found = self.parts_of(X, y, sample_weight, columns)
            return collected_from(parts.weighed(self.class_weight), collector, progress=self.progress), found
        chunked = gives_chunks(X)
        if y is None and chunked:
            return self._read_chunks(X, sample_weight, collector, columns)
        if chunked and y is not None and not isinstance(X, (list, tuple)):
            raise TypeError("X is an iterator of chunks, so each chunk brings its labels, (X, y): leave y out")
        self._require_labels(y)
        (samples, found), weights = validated(self.name, X, columns), None
        if sample_weight is not None or self.class_weight is not None:
            y = as_targets(y)
            weights = self.weights_of(y, sample_weight)
        return collector.add_array(samples, y, weights).result(), found

    def _read_chunks(
        self, chunks: Any, sample_weight: Any, collector: Collector, columns: Columns | None
    ) -> tuple[LabelledStatistics, Columns]:
        self.require_weights_known("chunks of samples")
        if sample_weight is not None:
            raise TypeError("each chunk brings its weights, (X, y, sample_weight): leave sample_weight out")
        found = columns

        def validate(chunk: Any) -> npt.NDArray[Any]:
            nonlocal found
            array, found = validated(self.name, chunk, found, least=0)
            return array

        collector.add_chunks(chunks, validate, self.weights_of)
        total = collector.result()
        assert found is not None  # result refuses to be without samples
        return total, found

    def rereadable(self, X: Any, y: Any, advice: str = "") -> tuple[npt.NDArray[Any], list[Label], Columns]:
        """Return samples that can be read more than once, their labels and their features."""
        if is_dask(X):
            raise TypeError(
                f"{self.name} reads the samples themselves, which dask would have to send again and again: pass "
                "X.compute()"
            )
        if y is None and gives_chunks(X):
            raise TypeError(
                f"{self.name} reads samples more than once, so X must be an array or a memory map and not an iterable "
                f"of chunks{advice}"
            )
        if y is None:
            raise ValueError(f"{self.name} requires y to be passed, but the target y is None")
        array, columns = validated(self.name, X)
        return array, as_label_list(y), columns

    def _require_labels(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"{self.name} requires y to be passed, but the target y is None "
                "(only an iterator of (X, y) chunks comes without)"
            )


def unlabelled_chunks(
    X: Any, validate: Callable[[Any], npt.NDArray[Any]]
) -> tuple[Iterator[npt.NDArray[Any]], int | None]:
    """Return samples without labels as validated arrays, and their number if it is known.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features), or iterable of such arrays
    validate : function
    """
    if isinstance(X, (list, tuple)):
        in_chunks = bool(X) and all(_is_matrix(part) or _is_labelled(part) for part in X)
    else:
        in_chunks = gives_chunks(X)
    if in_chunks:
        return (validate(_without_labels(chunk, number)) for number, chunk in enumerate(X)), None
    array = validate(X)
    return iter([array]), len(array)


def _is_matrix(part: Any) -> bool:
    return len(getattr(part, "shape", ())) == 2


def _is_labelled(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and len(part) == 2 and _is_matrix(part[0])


def _without_labels(chunk: Any, number: int) -> Any:
    if _is_labelled(chunk):
        raise TypeError(f"chunk {number} is a pair (X, y), but these samples are to have no labels: give X alone")
    return chunk
