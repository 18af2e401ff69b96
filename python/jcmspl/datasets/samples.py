"""Samples that may be larger than memory: what a data set asks of them, and how rows are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from jcmspl.support.arguments import FloatArray, IntArray, readable_in_place


class Samples(Protocol):
    """Rows of features: an array, a memory map, or anything else that reads rows when it is asked for them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_samples, n_features)."""
        ...

    @property
    def dtype(self) -> Any:
        """The type of the features."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


def floats(rows: npt.NDArray[Any]) -> FloatArray:
    """Return rows as the core reads them, copied only if they must be: float32 stays so, float16 becomes float32."""
    if readable_in_place(rows):
        return np.asarray(rows)
    small = rows.dtype.kind == "f" and rows.dtype.itemsize <= 4
    return np.array(rows, dtype=np.float32 if small else np.float64)


def read_rows(samples: Samples, rows: IntArray) -> FloatArray:
    """Return some rows, given in ascending order, as an array."""
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return floats(samples[int(rows[0]) : int(rows[-1]) + 1])
    return floats(samples[rows])


def row_chunks(samples: Samples, rows: IntArray, size: int) -> Iterator[FloatArray]:
    """Give some rows, a chunk at a time."""
    for first in range(0, len(rows), size):
        yield read_rows(samples, rows[first : first + size])


def runs(rows: IntArray, gap: int) -> Iterator[tuple[int, int]]:
    """Give the positions (first, end) in ascending rows of stretches without larger gaps.

    Examples
    --------
    >>> import numpy as np
    >>> list(runs(np.array([3, 4, 6, 90]), gap=8))
    [(0, 3), (3, 4)]
    """
    ends = np.flatnonzero(np.diff(rows) > gap) + 1
    first = 0
    for end in [*ends.tolist(), len(rows)]:
        if end > first:
            yield first, end
        first = end
