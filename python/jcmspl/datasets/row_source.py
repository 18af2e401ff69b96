"""Rows of features that need not be in memory, and ids of samples that are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol, overload

from jcmspl.datasets.errors import DatasetError


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
