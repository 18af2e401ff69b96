"""Rows of features that are read when they are asked for, so that there may be more of them than memory."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from jcmspl.data.on_dask import is_dask
from jcmspl.support.arguments import FloatArray, IntArray, readable_in_place


class RowSource(Protocol):
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


def read_rows(source: RowSource, rows: IntArray) -> FloatArray:
    """Return some rows, given in ascending order, as an array; of a dask array as one of dask."""
    if is_dask(source):
        return source[rows]  # type: ignore[no-any-return]
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return floats(source[int(rows[0]) : int(rows[-1]) + 1])
    return floats(source[rows])
