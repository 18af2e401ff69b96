"""Lazy rows: a matrix that is read on demand and indexed like an array."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
