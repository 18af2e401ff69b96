"""Samples as users pass them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from jcmspl.data.collect import gives_chunks
from jcmspl.data.labels import Label, as_label_list
from jcmspl.data.on_dask import is_dask
from jcmspl.support.arguments import as_real_array
from jcmspl.support.lazy_rows import LazyRows


def checked_samples(estimator: Any, X: Any, *, reset: bool = False, least: int = 1) -> npt.NDArray[Any]:
    """Return X as an array that the core can read, without looking for NaN: the core does that as it reads.

    Rows that are read when they are asked for stay what they are: whoever gets them reads a block at a time. The
    estimator remembers, or is asked, how many features there are and what they are called.
    """
    if not reset and _is_plain(X, vars(estimator), least):
        return np.asarray(X)
    if isinstance(X, LazyRows):
        return _checked_rows(estimator, X, reset=reset, least=least)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X has masked values: fill or remove them")
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    array: npt.NDArray[Any] = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None if kind in "fiub" else "numeric",
        ensure_all_finite=False,
        ensure_min_samples=least,
    )
    return array


def _is_plain(X: Any, fitted: dict[str, Any], least: int) -> bool:
    """Whether X is an array as it should be: scikit-learn takes longer to see that than the core to name a sample."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "fiub"
        and "feature_names_in_" not in fitted
        and X.shape[1] == fitted.get("n_features_in_")
        and len(X) >= least
    )


def _checked_rows(estimator: Any, X: LazyRows, *, reset: bool, least: int) -> npt.NDArray[Any]:
    rows = as_real_array(X, "X")
    if len(rows) < least:
        raise ValueError(f"X has {len(rows)} samples (its shape is {rows.shape}), but at least {least} are needed")
    validate_data(estimator, rows, reset=reset, skip_check_array=True)
    return rows


def rereadable_samples(estimator: Any, X: Any, y: Any, advice: str = "") -> tuple[npt.NDArray[Any], list[Label]]:
    """Return samples that can be read more than once, and their labels."""
    name = type(estimator).__name__
    if is_dask(X):
        raise TypeError(
            f"{name} reads the samples themselves, which dask would have to send again and again: pass X.compute()"
        )
    if y is None and gives_chunks(X):
        raise TypeError(
            f"{name} reads samples more than once, so X must be an array or a memory map and not an iterable of "
            f"chunks{advice}"
        )
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    return checked_samples(estimator, X, reset=True), as_label_list(y)


def unlabelled_chunks(
    X: Any, validate: Callable[[Any], npt.NDArray[Any]]
) -> tuple[Iterator[npt.NDArray[Any]], int | None]:
    """Return samples without labels as arrays that were looked at, and how many they are, if that is known.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features), or iterable of such arrays
    validate : function
        Looks at an array of samples.
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
