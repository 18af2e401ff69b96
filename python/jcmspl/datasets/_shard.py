"""What a shard is: a file of rows, one of several or the only one, that knows its shape and reads rows on demand."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError
from jcmspl.io.paths import Place
from jcmspl.support.arguments import IntArray


class Shard(Protocol):
    """A file of rows. It holds no open file, so that it can be pickled."""

    @property
    def path(self) -> Place:
        """The file."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        ...

    @property
    def n_bytes(self) -> int | None:
        """The size of the file; None if it is not one file."""
        ...

    def read(self, rows: IntArray, kept: Any) -> tuple[npt.NDArray[Any], Any]:
        """Return rows, in ascending order, and what the next read of this shard gets as ``kept`` to go on from."""
        ...


def require_features(path: Place, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the shape of a file that holds rows of real numbers."""
    if len(shape) != 2 or shape[1] == 0:
        raise DatasetError(f"{path} must hold a row for each sample, but its array has the shape {tuple(shape)}")
    if dtype.kind not in "fiub":
        raise DatasetError(f"{path} must hold real numbers, but their type is {dtype}")
    return int(shape[0]), int(shape[1])


def require_unchanged(path: Place, before: object, now: object, what: str) -> None:
    """Refuse a file that somebody has written to since its header was read."""
    if now != before:
        raise DatasetError(f"{path} has changed since it was opened: it had {before:,} {what} and now has {now:,}")
