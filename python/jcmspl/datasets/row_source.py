"""Rows of features that are read when they are asked for, so that there may be more of them than memory."""

from __future__ import annotations

from typing import Any, Protocol

from jcmspl.data.reading import floats as floats
from jcmspl.data.reading import read_rows as read_rows


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
