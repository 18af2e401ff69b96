"""What tells samples apart, read from its file when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, overload

from jcmspl.datasets.errors import DatasetError


class LazyIds(Sequence[str]):
    """Texts whose number is known, and which are read when the first is wanted: training does without.

    Parameters
    ----------
    count : int
    read : function that returns all texts
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
        return list, (self._texts,)  # elsewhere there may be no such file

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._texts[index]


def as_ids(values: Iterable[Any]) -> list[str]:
    """Return what tells samples apart as texts; one that is missing is empty."""
    return ["" if value is None else str(value) for value in values]
