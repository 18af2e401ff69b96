"""Shards in NumPy's .npy files: by rows or by columns, of any type of real numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._shard import require_features, require_unchanged
from jcmspl.datasets.errors import decoding, require_memory
from jcmspl.datasets.npz import Header, read_header
from jcmspl.io.paths import Place, size_of
from jcmspl.io.regular import require_file
from jcmspl.support.arguments import IntArray
from jcmspl.support.lazy_rows import runs_of

_KIND = "a NumPy .npy file"


@dataclass(frozen=True)
class NpyFile:
    """An array of any shape, of which the header has been read.

    It is read and not mapped: a file that is cut short meanwhile is an error then, and not the end of the process.
    """

    path: Place
    header: Header
    start: int  #: the byte at which the numbers start
    n_bytes: int

    @classmethod
    def of(cls, path: Place) -> NpyFile:
        """Look at a file; what it holds must fill it exactly."""
        require_file(path)
        with decoding(path, _KIND), path.open("rb") as file:
            size = size_of(file)
            return cls(path, read_header(file, path, "the array", size), file.tell(), size)

    def whole(self) -> npt.NDArray[Any]:
        """Read all of it."""
        require_memory(self.path, "the array", self.header.n_bytes)
        with self.opened() as file:
            file.seek(self.start)
            return self.header.read(file)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file again, which must be as it was."""
        with decoding(self.path, _KIND), self.path.open("rb") as file:
            require_unchanged(self.path, self.n_bytes, size_of(file), "bytes")
            yield file


@dataclass(frozen=True)
class NpyShard:
    """The rows of a .npy file."""

    file: NpyFile
    shape: tuple[int, int]

    @classmethod
    def of(cls, path: Place) -> NpyShard:
        """Look at a file."""
        file = NpyFile.of(path)
        return cls(file, require_features(path, file.header.shape, file.header.dtype))

    @property
    def path(self) -> Place:
        """The file."""
        return self.file.path

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.file.header.dtype

    @property
    def n_bytes(self) -> int:
        """The size of the file."""
        return self.file.n_bytes

    def read(self, rows: IntArray, kept: Any = None) -> tuple[npt.NDArray[Any], None]:
        """Return rows, in ascending order."""
        blocks = [np.empty((0, self.shape[1]), self.dtype)]
        read = self._by_columns if self.file.header.by_columns else self._by_rows
        with self.file.opened() as file:
            for run in runs_of(rows):
                block = read(file, run.start, run.stop)
                blocks.append(block if len(block) == len(run.wanted) else block[run.wanted])
        return blocks[-1] if len(blocks) < 3 else np.concatenate(blocks, dtype=self.dtype), None

    def _by_rows(self, file: IO[bytes], start: int, stop: int) -> npt.NDArray[Any]:
        block = np.empty((stop - start, self.shape[1]), self.dtype)
        self._fill(block, file, start * self.shape[1])
        return block

    def _by_columns(self, file: IO[bytes], start: int, stop: int) -> npt.NDArray[Any]:
        columns = np.empty((self.shape[1], stop - start), self.dtype)
        for number, column in enumerate(columns):
            self._fill(column, file, number * self.shape[0] + start)
        return columns.T

    def _fill(self, array: npt.NDArray[Any], file: IO[bytes], first: int) -> None:
        """Read an array that starts with this number of the file."""
        file.seek(self.file.start + first * self.dtype.itemsize)
        content, done = array.reshape(-1).view(np.uint8).data, 0
        while done < len(content):
            count = file.readinto(content[done:])  # type: ignore[attr-defined]
            if not count:
                raise ValueError(f"{done} of {len(content)} bytes are there")
            done += count
