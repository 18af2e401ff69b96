"""Rows that are read when they are asked for, indexed as an array is."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# Rows closer than this are read in one go: a seek costs about as much as a few rows.
_LARGEST_GAP = 8


class LazyRows:
    """A matrix of which only those rows are in memory that somebody has asked for.

    A slice, a list of row numbers or a mask gives an array, a single number gives a row. Whoever derives from this says
    ``shape`` and ``dtype``, and reads rows in :meth:`_read`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def _read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return rows, whose numbers ascend and are there."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """How many axes there are, as for an array."""
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
            raise ValueError("rows that are read when they are asked for cannot be an array without a copy")
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.shape[0]:,} rows x {self.shape[1]:,} columns, {self.dtype}>"


class Run(NamedTuple):
    """Rows from start to stop that are read in one go."""

    start: int
    stop: int
    wanted: npt.NDArray[np.int64]  #: which of these, counted from the start
    places: slice  #: where they are among all that are wanted


def runs_of(rows: npt.NDArray[np.int64]) -> Iterator[Run]:
    """Give rows, whose numbers ascend, in runs without large gaps."""
    edges = [0, *(np.flatnonzero(np.diff(rows) > _LARGEST_GAP) + 1).tolist(), len(rows)]
    for first, last in itertools.pairwise(edges):
        if last > first:
            start = int(rows[first])
            yield Run(start, int(rows[last - 1]) + 1, rows[first:last] - start, slice(first, last))
