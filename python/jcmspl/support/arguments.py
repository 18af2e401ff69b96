"""Checked arguments: converts what users pass into the types of the core, or explains what is wrong."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from jcmspl.support.containers import unwrapped
from jcmspl.support.exceptions import NotFiniteError

# Rows no further apart than this are read together: a seek costs about as much as a few rows.
_LARGEST_GAP = 8


class LazyRows:
    """Base class of matrices that are read on demand.

    A slice, a list of row numbers or a mask gives an array, a single number gives a row. Subclasses set ``shape`` and
    ``dtype`` and implement :meth:`_read`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def _read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the rows with these numbers, which are valid and ascending."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> npt.NDArray[Any]:
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            return np.asarray(self[[operator.index(rows)]][0])
        numbers = self._numbers(rows)
        if (np.diff(numbers) > 0).all():
            return self._read(numbers)
        wanted, back = np.unique(numbers, return_inverse=True)
        return self._read(wanted)[back]

    def _numbers(self, rows: Any) -> npt.NDArray[np.int64]:
        if isinstance(rows, slice):
            return np.arange(*rows.indices(len(self)), dtype=np.int64)
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            return np.flatnonzero(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise TypeError(f"rows must be a slice or a list of row numbers, but are {rows!r}")
        if numbers.size and not (numbers.min() >= -len(self) and numbers.max() < len(self)):
            raise IndexError(f"rows must be 0 to {len(self) - 1}")
        numbers = numbers.astype(np.int64)
        return np.where(numbers < 0, numbers + len(self), numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("rows that are read on demand cannot become an array without a copy")
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.shape[0]:,} rows x {self.shape[1]:,} columns, {self.dtype}>"


class Run(NamedTuple):
    """Rows from start to stop that are read together."""

    start: int
    stop: int
    wanted: npt.NDArray[np.int64]  #: the wanted rows among them, counted from start
    places: slice  #: positions of these among all wanted rows


def runs_of(rows: npt.NDArray[np.int64]) -> Iterator[Run]:
    """Split ascending row numbers into runs without large gaps."""
    edges = [0, *(np.flatnonzero(np.diff(rows) > _LARGEST_GAP) + 1).tolist(), len(rows)]
    for first, last in itertools.pairwise(edges):
        if last > first:
            start = int(rows[first])
            yield Run(start, int(rows[last - 1]) + 1, rows[first:last] - start, slice(first, last))


FloatArray = npt.NDArray[np.floating[Any]]
Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Rows of a block of samples: no more than these are converted or copied at a time.
ROWS = 8192
# Samples that the core cannot read in place are converted this many at a time.
_CONVERSION_ROWS = 4096
# The range of sample weights other than zero: sums of weights, and their squares, stay far from overflow and underflow.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100


def require_finite(array: npt.NDArray[Any], name: str, *, first_row: int = 0) -> None:
    """Refuse NaN and infinity and name the position of the first; rows are counted from first_row."""
    finite = np.isfinite(array)
    if not finite.all():
        first, *rest = (int(i) for i in np.argwhere(~finite)[0])
        where = (first_row + first, *rest)
        raise NotFiniteError(f"{name} holds NaN or infinity, first at index {where}: remove or replace such values")


def as_real_array(value: npt.ArrayLike, name: str, ndim: int = 2) -> npt.NDArray[Any]:
    """Return an array of real numbers of any dtype and ndim dimensions, without a copy of arrays and lazy rows."""
    array = as_number_array(value, name, ndim)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must hold real numbers, but its dtype is {array.dtype}")
    return array


def as_number_array(value: npt.ArrayLike, name: str, ndim: int = 2) -> npt.NDArray[Any]:
    """Return an array of real or complex numbers, as :func:`as_real_array` does."""
    if type(value).__module__.startswith("scipy.sparse"):
        raise TypeError(f"{name} is a sparse matrix: pass a dense array, for example {name}.toarray()")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{name} has masked values: fill or remove them")
    given: Any = value if isinstance(value, (np.ndarray, LazyRows)) else unwrapped(value, name)
    array: npt.NDArray[Any] = given if isinstance(given, LazyRows) else np.asarray(given)  # type: ignore[assignment]
    if array.dtype.kind not in "fiubc" and not is_bfloat16(array):
        raise TypeError(f"{name} must hold real numbers, but its dtype is {array.dtype}")
    if array.ndim != ndim:
        hint = f": use {name}.reshape(1, -1) for a single sample" if name == "X" and array.ndim == 1 else ""
        raise ValueError(f"{name} must have {ndim} dimension(s), but its shape is {array.shape}{hint}")
    return array


def as_matrix(value: npt.ArrayLike, name: str, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return a finite, C-contiguous matrix of the given dtype."""
    array = np.ascontiguousarray(as_real_array(value, name), dtype=dtype)
    require_finite(array, name)
    return array


def is_plain(X: Any, n_columns: int | None) -> bool:
    """Whether X is a matrix of numbers with so many columns, and some rows, that needs no validation.

    Validation takes longer than the recognition of a single sample.
    """
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub" and X.shape[1] == n_columns and len(X) > 0


def is_bfloat16(array: Any) -> bool:
    """Whether numbers are of the type bfloat16 of ml_dtypes, which NumPy takes for bytes."""
    return bool(array.dtype.name == "bfloat16")


def readable_in_place(array: npt.NDArray[Any], names: Collection[str] = ("float32", "float64")) -> bool:
    """Whether the core can read the array without a copy: native, aligned, of a type of these names, any strides."""
    return (
        isinstance(array, np.ndarray)
        and array.dtype.isnative
        and array.dtype.name in names
        and array.flags.aligned
        and all(stride % array.dtype.itemsize == 0 for stride in array.strides)
    )


def row_blocks(n_rows: int, size: int = ROWS) -> list[slice]:
    """Return ranges of rows, a block each: the one loop over blocks."""
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


def readable_blocks(array: npt.NDArray[Any]) -> list[slice]:
    """Return blocks of rows: all at once if the core can read them in place, else small ones to convert."""
    n_rows = max(len(array), 1)  # an empty block tells the type of results
    return row_blocks(n_rows, n_rows if readable_in_place(array) else _CONVERSION_ROWS)


def as_samples(value: npt.ArrayLike, name: str = "X") -> npt.NDArray[Any]:
    """Return samples (rows) that the core can read, copied only if necessary.

    The core itself checks for NaN and infinity while it reads.
    """
    array = as_real_array(value, name)
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no features (its shape is {array.shape})")
    if readable_in_place(array):
        return array
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4
    return np.array(array, dtype=np.float32 if single else np.float64, order="C")


def working_dtype(*arrays: npt.NDArray[Any]) -> type[np.float32] | type[np.float64]:
    """Return float32 if all of the arrays are float32, else float64."""
    return np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64


def as_labels(value: npt.ArrayLike, n_samples: int, n_classes: int, name: str = "labels") -> IntArray:
    """Return class numbers 0..n_classes-1, one per sample."""
    labels = np.asarray(value)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, but its shape is {labels.shape}")
    if len(labels) != n_samples:
        raise ValueError(f"there are {n_samples} samples but {len(labels)} {name}")
    if labels.dtype.kind not in "iu" and not (labels.dtype.kind == "f" and np.all(labels == np.floor(labels))):
        raise TypeError(f"{name} must be whole numbers 0..{n_classes - 1}, but are of dtype {labels.dtype}")
    outside = (labels < 0) | (labels >= n_classes)
    if outside.any():
        first = int(np.argmax(outside))
        raise ValueError(
            f"{name} must be 0..{n_classes - 1}, but that of sample {first} is {labels[first]} "
            "(files of this field often count from 1)"
        )
    return np.ascontiguousarray(labels, dtype=np.int64)


def as_sample_weights(value: npt.ArrayLike, n_samples: int, name: str = "sample_weight") -> Float64Array:
    """Return weights, one per sample: zero, or a number whose products with sums of squares do not overflow."""
    weights = as_real_array(value, name, ndim=1)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"{name} must have one number for each of the {n_samples} samples, but its shape is {weights.shape}"
        )
    good = (weights == 0) | ((weights >= LEAST_WEIGHT) & (weights <= MOST_WEIGHT))  # False for NaN
    if not good.all():
        first = int(np.argmin(good))
        raise ValueError(
            f"{name} must be 0 or a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}, but that of sample {first} is "
            f"{weights[first]}"
        )
    return np.ascontiguousarray(weights, dtype=np.float64)


def as_count(value: Any, name: str, minimum: int = 1, maximum: int = 2**31 - 1) -> int:
    """Return a whole number in the given range; the default maximum is that of the core's BLAS."""
    try:
        if isinstance(value, bool):  # operator.index accepts it as 0 or 1
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, but is {value!r}") from None
    if not minimum <= count <= maximum:
        raise ValueError(f"{name} must be from {minimum} to {maximum}, but is {count}")
    return count


def as_number(value: Any, name: str, kind: str = "a number") -> float:
    """Return a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {kind}, but is {value!r}") from None
    except OverflowError:  # a whole number with more digits than any float
        raise ValueError(f"{name} must be a finite number, but has {len(str(abs(value)))} digits") from None
    if not np.isfinite(number):
        raise ValueError(f"{name} must be a finite number, but is {number}")
    return number


def as_weight(value: Any, name: str) -> float:
    """Return a finite number of at least 0."""
    weight = as_number(value, name)
    if weight < 0:
        raise ValueError(f"{name} must be a finite number of at least 0, but is {weight}")
    return weight


def as_random_state(seed: Any) -> np.random.RandomState:
    """Return a numpy RandomState, as scikit-learn uses, from a seed, a RandomState or a Generator."""
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(int(seed.integers(2**31 - 1)))
    try:
        state: np.random.RandomState = check_random_state(seed)
    except (TypeError, ValueError):
        expected = "a whole number from 0 to 2**32 - 1, a generator or None"
        raise ValueError(f"random_state must be {expected}, but is {seed!r}") from None
    return state


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices, else raise a ValueError that lists them."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, but is {value!r}")
    return str(value)
