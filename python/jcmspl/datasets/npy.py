"""NumPy's .npy files: headers that must fit their file, memory maps, and shards whose rows are read on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from jcmspl.datasets.errors import DatasetError, decoding, require_memory, require_unchanged
from jcmspl.io.files import Place, require_file, size_of
from jcmspl.support.arguments import IntArray, runs_of

CHUNK_BYTES = 2**25
_KIND = "a NumPy .npy file"


class Header(NamedTuple):
    """The header of a .npy file."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def order(self) -> Literal["F", "C"]:
        """The memory order of the array."""
        return "F" if self.by_columns else "C"

    @property
    def n_bytes(self) -> int:
        """The size of the array."""
        return self.dtype.itemsize * math.prod(self.shape)

    def read(self, file: IO[bytes]) -> npt.NDArray[Any]:
        """Read the whole array."""
        content = np.empty(self.n_bytes, dtype=np.uint8)
        _fill(content, file)
        return np.ndarray(self.shape, self.dtype, content, order=self.order)

    def mapped(self, path: Path, start: int) -> npt.NDArray[Any]:
        """Map the array, which starts at this byte of a file."""
        if not self.n_bytes:
            return np.empty(self.shape, self.dtype)
        array: npt.NDArray[Any] = np.memmap(path, self.dtype, "r", start, self.shape, self.order)
        return array


def _fill(content: npt.NDArray[np.uint8], file: IO[bytes]) -> None:
    """Read the next bytes of a file, a chunk at a time: archives and remote files copy what they read."""
    done = 0
    while done < len(content):
        count = file.readinto(content.data[done : done + CHUNK_BYTES])  # type: ignore[attr-defined]
        if not count:
            raise ValueError(f"{done} of {len(content)} bytes are there")
        done += count


def parse_header(file: IO[bytes]) -> Header:
    """Read a header without checking it."""
    read = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    return Header(*read(file))


def read_header(file: IO[bytes], path: Place, name: str, size: int) -> Header:
    """Read the header of a .npy file of `size` bytes; the array must fill the file exactly."""
    header = parse_header(file)
    if header.dtype.hasobject:
        raise DatasetError(f"{path}: {name} holds Python objects, which are never read from files")
    there = size - file.tell()
    # empty texts take no bytes: any number of them would fit
    if min(header.shape, default=0) < 0 or header.n_bytes != there or math.prod(header.shape) > there:
        raise DatasetError(
            f"{path} is damaged or cut short: {name} has the shape {header.shape} and the type {header.dtype}, which "
            f"is {header.n_bytes} bytes, but {there} are stored"
        )
    return header


def open_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array in a .npy file as a memory map."""
    require_file(path)
    with decoding(path, _KIND), path.open("rb") as file:
        return read_header(file, path, "the array", path.stat().st_size).mapped(path, file.tell())


def require_characters(path: Path, array: npt.NDArray[Any], kind: str) -> None:
    """Refuse an array of texts with numbers that are not characters; `kind` is that of the file."""
    if array.dtype.kind == "U":
        with decoding(path, kind):
            array.tolist()


@dataclass(frozen=True)
class NpyShard:
    """An array in a .npy file, with rows that are read on demand.

    It is read and not mapped: if the file is cut short meanwhile, that is an error and not the end of the process.
    """

    path: Place
    header: Header
    start: int  #: the first byte of the numbers
    n_bytes: int  #: the size of the file

    @classmethod
    def of(cls, path: Place) -> NpyShard:
        """Read the header of a file."""
        require_file(path)
        with decoding(path, _KIND), path.open("rb") as file:
            size = size_of(file)
            return cls(path, read_header(file, path, "the array", size), file.tell(), size)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.header.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.header.dtype

    def whole(self) -> npt.NDArray[Any]:
        """Read the whole array, of any shape."""
        require_memory(self.path, "the array", self.header.n_bytes)
        with self._opened() as file:
            file.seek(self.start)
            return self.header.read(file)

    def read(self, rows: IntArray, kept: Any = None) -> tuple[npt.NDArray[Any], None]:
        """Return rows, given in ascending order, and None: nothing is kept for the next read."""
        blocks = [np.empty((0, self.shape[1]), self.dtype)]
        (n, m), by_columns = self.shape, self.header.by_columns
        with self._opened() as file:
            for run in runs_of(rows):
                length = run.stop - run.start
                block = np.empty((m, length) if by_columns else (length, m), self.dtype)
                for number, part in enumerate(block if by_columns else [block]):  # a part is consecutive in the file
                    first = number * n + run.start if by_columns else run.start * m
                    file.seek(self.start + first * self.dtype.itemsize)
                    _fill(part.reshape(-1).view(np.uint8), file)
                block = block.T if by_columns else block
                blocks.append(block if length == len(run.wanted) else block[run.wanted])
        return blocks[-1] if len(blocks) < 3 else np.concatenate(blocks, dtype=self.dtype), None

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Open the file again, which must not have changed."""
        with decoding(self.path, _KIND), self.path.open("rb") as file:
            require_unchanged(self.path, self.n_bytes, size_of(file), "bytes")
            yield file
