"""Samples as users pass them: arrays, memory maps, DataFrames, iterables of chunks, arrays and DataFrames of dask.

Only this module asks which of them X is. Elsewhere samples are a :class:`~jcmspl.data.samples.Samples`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import starmap
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.dask_samples import DaskSamples, as_dask_array, mapped_blocks, of_whole
from jcmspl.data.labels import BALANCED, Label, as_label_list, weights_of
from jcmspl.data.samples import SampleChunks, Samples, SamplesInMemory
from jcmspl.support.arguments import (
    ROWS,
    Float64Array,
    FloatArray,
    IntArray,
    LazyRows,
    as_real_array,
    is_plain,
    readable_in_place,
    require_finite,
    row_blocks,
)
from jcmspl.support.containers import is_dask, unwrapped
from jcmspl.support.shown import quoted


class Columns(NamedTuple):
    """The features of samples: their number and, if the samples came as a DataFrame, their names."""

    n_features: int
    names: npt.NDArray[Any] | None = None


class Features:
    """The features that samples must have, for scikit-learn: it reads and sets them as attributes of an estimator.

    A stand-in for the model, whose own state must not change while samples are read, and which it is named after. By
    default the first samples decide.
    """

    def __init__(self, name: str, columns: Columns | None = None) -> None:
        self._is_open, self._estimator = columns is None, _class_named(name)()
        if columns is not None:
            self._estimator.n_features_in_ = columns.n_features
            if columns.names is not None:
                self._estimator.feature_names_in_ = columns.names

    @property
    def columns(self) -> Columns:
        """The features, once samples have been read."""
        return Columns(self._estimator.n_features_in_, getattr(self._estimator, "feature_names_in_", None))

    def checked(self, X: Any, *, least: int = 1) -> npt.NDArray[Any]:
        """Return X as an array that the core can read, without looking for NaN: the core does that as it reads.

        Rows that are read on demand stay so, and samples of dask become a dask array of whole rows.
        """
        options: dict[str, Any] = {"skip_check_array": True}
        known = vars(self._estimator)
        if not self._is_open and "feature_names_in_" not in known and is_plain(X, known["n_features_in_"]):
            return np.asarray(X)  # validation takes longer than reading a few samples
        if _is_array_of_numbers(X):
            options = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": least}
        elif is_dask(X):
            self.checked(DaskSamples(X).header, least=0)
            return as_dask_array(X)  # type: ignore[no-any-return]
        elif isinstance(X, LazyRows):
            X = as_real_array(X, "X")
            if len(X) < least:
                raise ValueError(f"X has {len(X)} samples (its shape is {X.shape}), but at least {least} are needed")
        elif isinstance(X, (str, PathLike)):
            raise TypeError(
                f"X is {quoted(str(X))}: read the file first, for example with jcmspl.datasets.load_features"
            )
        elif isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise ValueError("X has masked values: fill or remove them")
        else:
            X = unwrapped(X)
            given = getattr(X, "dtype", None)
            is_number = getattr(given, "kind", "O") in "fiub" or getattr(given, "name", "") == "bfloat16"
            dtype = None if is_number else "numeric"
            options = {"dtype": dtype, "ensure_all_finite": False, "ensure_min_samples": least}
        array: npt.NDArray[Any] = validate_data(self._estimator, X, reset=self._is_open, **options)
        self._is_open = False
        return array


def _is_array_of_numbers(X: Any) -> bool:
    return type(X) is np.ndarray and X.dtype.kind in "fiub"


@lru_cache
def _class_named(name: str) -> type[Any]:
    return type(name, (BaseEstimator,), {})


@dataclass(frozen=True)
class SampleReader:
    """Reads samples for a model, by its name and parameters.

    ``needs`` is "statistics" or "samples"; ``reads_weights``: whether a method that learns from samples accepts
    weights.
    """

    name: str
    needs: str = "statistics"
    reads_weights: bool = True
    class_weight: Any = None

    def without_balance(self) -> SampleReader:
        """Return a reader without class_weight="balanced", which depends on all labels of a call."""
        return replace(self, class_weight=None) if isinstance(self.class_weight, str) else self

    def unweighted(self) -> SampleReader:
        """Return a reader without weights of classes, and for any sample weights: a model is tested with them."""
        return replace(self, class_weight=None, needs="statistics")

    def checked(self, X: Any, columns: Columns) -> npt.NDArray[Any]:
        """Return samples that have the features of the model; those of dask as an array of dask."""
        return Features(self.name, columns).checked(X)

    def samples(
        self, X: Any, y: Any, sample_weight: Any = None, columns: Columns | None = None
    ) -> tuple[Samples, Features]:
        """Return samples with their labels and weights, and their features; ``columns``: those that X must have.

        Chunks are (X, y) or (X, y, sample_weight); y is None then.
        """
        features = Features(self.name, columns)
        on_dask = chunked = False
        if not _is_array_of_numbers(X):
            X = unwrapped(X)
            on_dask = is_dask(X)
            chunked = not on_dask and _gives_chunks(X)
        if y is None and chunked:
            self.require_weights_known("chunks of samples")
            if sample_weight is not None:
                raise TypeError("each chunk brings its weights, (X, y, sample_weight): leave sample_weight out")
            return SampleChunks(X, 0, partial(features.checked, least=0), self._weights_of), features
        if chunked and not isinstance(X, (list, tuple)):
            raise TypeError("X is an iterator of chunks, so each chunk brings its labels, (X, y): leave y out")
        if y is None:
            raise ValueError(
                f"{self.name} requires y to be passed, but the target y is None (only an iterator of (X, y) chunks "
                "comes without)"
            )
        if on_dask:
            partitions = DaskSamples(X, y, sample_weight)
            features.checked(partitions.header, least=0)
            return partitions.weighed(self.class_weight), features
        array, labels = features.checked(X), as_label_list(y)
        if len(labels) != len(array):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {len(array)} samples in X, "
                f"{len(labels)} labels in y"
            )
        counts_once = sample_weight is None and self.class_weight is None
        weights = None if counts_once else self._weights_of(labels, sample_weight)
        return SamplesInMemory(array, labels, weights), features

    def unlabelled(self, X: Any, columns: Columns) -> Samples:
        """Return samples without labels: an array, an iterable of arrays, or samples of dask."""
        features, X = Features(self.name, columns), unwrapped(X)
        if is_dask(X):
            on_dask = DaskSamples(X)
            features.checked(on_dask.header, least=0)
            return on_dask
        in_chunks = _gives_chunks(X)
        if isinstance(X, (list, tuple)):
            in_chunks = bool(X) and all(_is_matrix(part) or _is_chunk(part) for part in X)
        if not in_chunks:
            return SamplesInMemory(features.checked(X, least=0))
        return SampleChunks(
            starmap(_without_labels, enumerate(X)), columns.n_features, partial(features.checked, least=0)
        )

    def read(
        self, X: Any, y: Any, sample_weight: Any, collector: Collector, columns: Columns | None = None
    ) -> tuple[LabelledStatistics, Columns]:
        """Return the statistics of samples, read in one pass, and their features; parameters as of :meth:`samples`."""
        samples, features = self.samples(X, y, sample_weight, columns)
        return samples.collected(collector), features.columns

    def _weights_of(self, labels: list[Label], sample_weight: Any) -> Float64Array | None:
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


def _is_matrix(part: Any) -> bool:
    return len(getattr(part, "shape", ())) == 2


def _is_chunk(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and len(part) in (2, 3) and _is_matrix(part[0])


def _gives_chunks(X: Any) -> bool:
    """Whether X is an iterable of chunks, (X, y) or (X, y, sample_weight), rather than samples."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(_is_chunk(chunk) for chunk in X)
    return isinstance(X, Iterable) and not (isinstance(X, str) or hasattr(X, "shape") or hasattr(X, "__array__"))


def _without_labels(number: int, chunk: Any) -> Any:
    if _is_chunk(chunk):
        raise TypeError(f"chunk {number} is a pair (X, y), but these samples are to have no labels: give X alone")
    return chunk


def plain_samples(X: Any) -> Samples:
    """Return samples that were checked before, without labels."""
    return DaskSamples(X) if is_dask(X) else SamplesInMemory(X)


def mapped(function: Callable[..., Any], X: Any, *, what: str = "recognising", progress: bool = False) -> list[Any]:
    """Return the results of a function of samples: one for an array, one for each partition of dask."""
    if not is_dask(X):
        return [function(X)]
    return DaskSamples(X).map(of_whole, function, what=what, progress=progress)


def lazily(function: Callable[[npt.NDArray[Any]], Any], X: Any, dtype: Any, width: int | None = None) -> Any:
    """Return the result of a function of samples: a dask array for a dask array.

    It has a row of the given width for each sample, or a value if there is no width.
    """
    return mapped_blocks(function, X, dtype, width) if is_dask(X) else function(X)


def lazily_both(
    function: Callable[[npt.NDArray[Any]], tuple[Any, Any]], X: Any, dtypes: Sequence[Any], width: int
) -> tuple[Any, Any]:
    """Return both results of a function of samples, arrays of numbers of the same width; dask shares the work."""
    if not is_dask(X):
        return function(X)
    both = mapped_blocks(partial(_side_by_side, function), X, np.float64, 2 * width)
    return both[:, :width].astype(dtypes[0]), both[:, width:].astype(dtypes[1])


def _side_by_side(function: Callable[..., tuple[Any, Any]], X: npt.NDArray[Any]) -> Float64Array:
    return np.concatenate(function(X), axis=1, dtype=np.float64)


def samples_dtype(X: Any) -> npt.DTypeLike:
    """Return the dtype of computations with samples."""
    return np.float32 if X.dtype.kind == "f" and X.dtype.itemsize == 4 else np.float64


def floats(rows: npt.NDArray[Any]) -> FloatArray:
    """Return rows as the core reads them, copied only if they must be: float32 stays so, float16 becomes float32."""
    if readable_in_place(rows):
        return np.asarray(rows)
    small = rows.dtype.kind == "f" and rows.dtype.itemsize <= 4
    return np.array(rows, dtype=np.float32 if small else np.float64)


def read_rows(X: Any, rows: IntArray) -> FloatArray:
    """Return some rows, given in ascending order, as an array; of a dask array as a dask array."""
    if is_dask(X):
        return X[rows]  # type: ignore[no-any-return]
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return floats(X[int(rows[0]) : int(rows[-1]) + 1])
    return floats(X[rows])


def in_chunks(
    X: Any, rows: IntArray, size: int, read: Callable[[Any, IntArray], Any] = read_rows
) -> Iterator[tuple[IntArray, Any]]:
    """Give some rows of samples, so many at a time, with their numbers; those of a dask array at once."""
    if is_dask(X):
        if len(rows):
            yield rows, X[rows]
        return
    for block in row_blocks(len(rows), size):
        yield rows[block], read(X, rows[block])


def in_memory(X: Any) -> Any:
    """Return samples in the memory of this process: those of dask are fetched."""
    return X.compute() if is_dask(X) else X


def unlabelled_rows(
    X: Any, lists_of_rows: Sequence[IntArray], size: int = ROWS, read: Callable[[Any, IntArray], Any] = read_rows
) -> Any:
    """Return the samples of some lists of rows, for a model to adapt to: a dask array, or chunks of others."""
    if is_dask(X):
        return X[np.sort(np.concatenate(lists_of_rows))]
    return (chunk for rows in lists_of_rows for _, chunk in in_chunks(X, rows, size, read))


def finite_samples(X: Any) -> Any:
    """Return samples without NaN and infinity: row numbers of errors are then those of all samples, not of a part."""
    if is_dask(X):
        return X
    if hasattr(X, "iloc"):
        values = np.asarray(X)
        if values.dtype.kind == "f":
            require_finite(values, "X")
        return X
    samples = as_real_array(X, "X", ndim=2)
    if isinstance(samples, np.ndarray):
        require_finite(samples, "X")
    return samples
