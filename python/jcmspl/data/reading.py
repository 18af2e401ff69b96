"""Samples as users pass them: arrays, memory maps, DataFrames, iterables of chunks, arrays and DataFrames of dask.

Only these functions ask which of them X is. Elsewhere samples are a :class:`~jcmspl.data.samples.Samples`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from jcmspl.data.collect import gives_chunks
from jcmspl.data.dask_samples import DaskSamples, as_dask_array, is_dask, mapped_blocks
from jcmspl.data.labels import Label, as_label_list
from jcmspl.data.parts import ROWS, Part, row_blocks
from jcmspl.data.samples import SampleChunks, Samples, SamplesInMemory
from jcmspl.data.weights import weights_of
from jcmspl.support.arguments import (
    Float64Array,
    FloatArray,
    IntArray,
    LazyRows,
    as_real_array,
    is_plain,
    readable_in_place,
)
from jcmspl.support.containers import unwrapped


def checked_samples(estimator: Any, X: Any, *, reset: bool = False, least: int = 1) -> npt.NDArray[Any]:
    """Return X as an array that the core can read, without looking for NaN: the core does that as it reads.

    Rows that are read on demand stay so, and samples of dask become a dask array of whole rows. The estimator stores
    the number of features and their names (``reset``), or they are compared with the stored ones.
    """
    known = vars(estimator)
    if not reset and "feature_names_in_" not in known and is_plain(X, known.get("n_features_in_")):
        return np.asarray(X)
    array: npt.NDArray[Any]
    if is_dask(X):
        checked_samples(estimator, DaskSamples(X).header, reset=reset, least=0)
        array = as_dask_array(X)
    elif isinstance(X, LazyRows):
        array = _checked_rows(estimator, X, reset=reset, least=least)
    elif isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X has masked values: fill or remove them")
    else:
        X = unwrapped(X)
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=None if kind in "fiub" else "numeric",
            ensure_all_finite=False,
            ensure_min_samples=least,
        )
    return array


def _checked_rows(estimator: Any, X: LazyRows, *, reset: bool, least: int) -> npt.NDArray[Any]:
    rows = as_real_array(X, "X")
    if len(rows) < least:
        raise ValueError(f"X has {len(rows)} samples (its shape is {rows.shape}), but at least {least} are needed")
    validate_data(estimator, rows, reset=reset, skip_check_array=True)
    return rows


def samples_of(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    reset: bool = False,
    weigh: Callable[[list[Label], Any], Float64Array | None] | None = None,
) -> Samples:
    """Return checked samples with their labels and weights.

    Parameters
    ----------
    estimator
        As for :func:`checked_samples`.
    X : array_like of shape (n_samples, n_features), or iterable of chunks
        Chunks are (X, y) or (X, y, sample_weight); y is None then.
    y : array_like of shape (n_samples,)
    sample_weight, class_weight
        As for :func:`~jcmspl.data.weights.weights_of`.
    reset : bool, default False
    weigh : function, optional
        Returns the weights of samples with these labels and sample weights, in place of ``weights_of``.
    """
    name = type(estimator).__name__
    if not (is_dask(X) or isinstance(X, LazyRows)):
        X = unwrapped(X)
    chunked = not is_dask(X) and gives_chunks(X)
    if y is None and chunked:
        if sample_weight is not None:
            raise TypeError("each chunk brings its weights, (X, y, sample_weight): leave sample_weight out")
        is_first = [reset]

        def validate(chunk: Any) -> npt.NDArray[Any]:
            return checked_samples(estimator, chunk, reset=bool(is_first) and is_first.pop(), least=0)

        weigh = weigh or partial(weights_of, class_weight=class_weight)
        return SampleChunks(X, 0, validate, weigh)
    if chunked and not isinstance(X, (list, tuple)):
        raise TypeError("X is an iterator of chunks, so each chunk brings its labels, (X, y): leave y out")
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None (only an iterator of (X, y) chunks comes "
            "without)"
        )
    if is_dask(X):
        on_dask = DaskSamples(X, y, sample_weight)
        checked_samples(estimator, on_dask.header, reset=reset, least=0)
        return on_dask.weighed(class_weight)
    array, labels = checked_samples(estimator, X, reset=reset), as_label_list(y)
    if len(labels) != len(array):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {len(array)} samples in X, "
            f"{len(labels)} labels in y"
        )
    weights = weights_of(labels, sample_weight, class_weight) if weigh is None else weigh(labels, sample_weight)
    return SamplesInMemory(array, labels, weights)


def unlabelled_samples(estimator: Any, X: Any) -> Samples:
    """Return samples without labels, checked: an array, an iterable of arrays, or samples of dask."""
    if is_dask(X):
        on_dask = DaskSamples(X)
        checked_samples(estimator, on_dask.header, least=0)
        return on_dask
    X = X if isinstance(X, LazyRows) else unwrapped(X)
    if isinstance(X, (list, tuple)):
        in_chunks = bool(X) and all(_is_matrix(part) or _is_labelled(part) for part in X)
    else:
        in_chunks = gives_chunks(X)
    if not in_chunks:
        return SamplesInMemory(checked_samples(estimator, X, least=0))

    def validate(chunk: Any) -> npt.NDArray[Any]:
        return checked_samples(estimator, chunk, least=0)

    return SampleChunks((_without_labels(*one) for one in enumerate(X)), estimator.n_features_in_, validate)


def _is_matrix(part: Any) -> bool:
    return len(getattr(part, "shape", ())) == 2


def _is_labelled(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and len(part) == 2 and _is_matrix(part[0])


def _without_labels(number: int, chunk: Any) -> Any:
    if _is_labelled(chunk):
        raise TypeError(f"chunk {number} is a pair (X, y), but these samples are to have no labels: give X alone")
    return chunk


def plain_samples(X: Any) -> Samples:
    """Return samples that were checked before, without labels."""
    return DaskSamples(X) if is_dask(X) else SamplesInMemory(X)


def mapped(function: Callable[..., Any], X: Any, *, what: str = "recognising", progress: bool = False) -> list[Any]:
    """Return the results of a function of samples: one for an array, one for each partition of dask."""
    if not is_dask(X):
        return [function(X)]
    return DaskSamples(X).map(_of_whole, function, what=what, progress=progress)


def _of_whole(part: Part, function: Callable[[npt.NDArray[Any]], Any]) -> Any:
    return function(part.whole().X)


def lazily(function: Callable[[npt.NDArray[Any]], Any], X: Any, dtype: Any, width: int | None = None) -> Any:
    """Return the result of a function of samples: a dask array for a dask array.

    Parameters
    ----------
    function
        Returns a row of the given width for each sample of an array, or a value if there is no width.
    X : array of numpy or dask
    dtype, width
        Of its result.
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
