"""Rows of features that need not be in memory, and ids of samples that are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from jcmspl.data.on_dask import is_dask
from jcmspl.datasets.errors import DatasetError
from jcmspl.support.arguments import FloatArray, IntArray, readable_in_place


class RowSource(Protocol):
    """Rows of features: an array, a memory map, or any object that reads rows on demand."""

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
    """Return rows as float32 or float64 for the core, copied only if needed; float16 becomes float32."""
    if readable_in_place(rows):
        return np.asarray(rows)
    small = rows.dtype.kind == "f" and rows.dtype.itemsize <= 4
    return np.array(rows, dtype=np.float32 if small else np.float64)


def read_rows(source: RowSource, rows: IntArray) -> FloatArray:
    """Return some rows, given in ascending order, as an array; rows of a dask array as a dask array."""
    if is_dask(source):
        return source[rows]  # type: ignore[no-any-return]
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return floats(source[int(rows[0]) : int(rows[-1]) + 1])
    return floats(source[rows])


class LazyIds(Sequence[str]):
    """Ids of samples, read when the first is needed: training does without.

    Parameters
    ----------
    count : int
    read : function that returns all ids
    """

    def __init__(self, count: int, read: Callable[[], list[str]]) -> None:
        self._count, self._read = count, read

    @cached_property
    def _texts(self) -> list[str]:
        texts = self._read()
        if len(texts) != self._count:
            raise DatasetError(f"there are {len(texts)} ids where {self._count} were announced")
        return texts

    def __reduce__(self) -> tuple[type[list[str]], tuple[list[str]]]:
        return list, (self._texts,)  # another machine may not have the file

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._texts[index]


def as_ids(values: Iterable[Any]) -> list[str]:
    """Return ids as texts; a missing one is empty."""
    return ["" if value is None else str(value) for value in values]
