"""The elements that MATLAB files of version 5 consist of: a tag, which is a type and a number of bytes, and content.

Sizes are believed only as far as they fit into one another, and so into the file.
"""

from __future__ import annotations

import io
import math
import struct
import sys
import zlib
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError, require_memory, require_stored

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CODECS = {1: "ascii", 2: "ascii", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_FLAGS, _MATRIX, _COMPRESSED = 6, 14, 15
_MOST_AXES = 32
_LONGEST_NAMES = 2**20  # bytes of the names of all fields of a structure
_LONGEST_BLANK = 2**16
_BLOCK = 2**16

CELL, STRUCT, CHAR, SPARSE, NUMERIC, OPAQUE = 1, 2, 4, 5, range(6, 16), 17


class Header(NamedTuple):
    """What stands before the content of a variable or of a cell."""

    name: str
    kind: int
    is_complex: bool
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)


class Elements:
    """Elements one after the other in a part of a file, beyond which nothing is read."""

    def __init__(self, stream: IO[bytes], size: int, order: str, path: Path) -> None:
        self._stream, self.left, self._order, self._path = stream, size, order, path

    def variable(self) -> Elements:
        """Open the variable that comes next, which may be compressed, and count it as read here."""
        kind, size, _ = self._tag()
        if kind != _COMPRESSED:
            return self._within(kind, size)
        self._spend(size)
        inflated = Elements(io.BufferedReader(_Inflated(self._stream, size), _BLOCK), 8, self._order, self._path)
        kind, inflated.left, _ = inflated._tag()
        require_stored(self._path, "a compressed variable", inflated.left, size)
        return inflated._within(kind, inflated.left)

    def matrix(self) -> Elements:
        """Open the matrix that comes next, and count it as read here."""
        kind, size, _ = self._tag()
        return self._within(kind, size)

    def _within(self, kind: int, size: int) -> Elements:
        if kind != _MATRIX:
            raise ValueError(f"an element is of type {kind}, where a matrix is expected")
        self._spend(size)
        return Elements(self._stream, size, self._order, self._path)

    def header(self) -> Header:
        """Read what stands before the content of a matrix."""
        if not self.left:  # how an empty cell may be written
            return Header("", NUMERIC[0], False, (0, 0))
        kind, flags = self._content(8)
        if kind != _FLAGS or len(flags) != 8:
            raise ValueError("a variable has no flags")
        word = struct.unpack(f"{self._order}I", flags[:4])[0]
        kind = word & 0xFF
        shape = () if kind == OPAQUE else self._shape()
        return Header(_name(self._content(_LONGEST_NAMES)[1]), kind, bool(word & 0x800), shape)

    def _shape(self) -> tuple[int, ...]:
        kind, content = self._content(4 * _MOST_AXES)
        if kind not in (5, 6) or len(content) % 4 or len(content) < 8:
            raise ValueError("a variable has no shape")
        shape: tuple[int, ...] = struct.unpack(f"{self._order}{len(content) // 4}i", content)
        if min(shape) < 0:
            raise ValueError(f"a variable has the shape {shape}")
        return shape

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """Read an element of numbers, in the type in which they are stored."""
        kind, size, padding = self._tag()
        if kind not in _NUMBERS or size % int(_NUMBERS[kind][1]):
            raise ValueError(f"{size} bytes of type {kind} stand where numbers are expected")
        array = self._bytes(size, name).view(_NUMBERS[kind])
        self.skip(padding)
        swapped = (self._order == "<") != (sys.byteorder == "little")
        return array.byteswap(inplace=True) if swapped else array

    def rows_of_text(self, header: Header, name: str) -> list[str]:
        """Read the rows of an array of characters."""
        kind, size, padding = self._tag()
        if kind not in _CODECS or len(header.shape) != 2:
            raise ValueError(f"{size} bytes of type {kind} stand where characters are expected")
        content = self._bytes(size, name)
        self.skip(padding)
        if not size and max(header.size, header.shape[0]) <= _LONGEST_BLANK:
            return [" " * header.shape[1]] * header.shape[0]  # some programs do not write blanks
        suffix = {"<": "-le", ">": "-be"}[self._order] if kind in (4, 17, 18) else ""
        text = content.tobytes().decode(_CODECS[kind] + suffix)
        # MATLAB counts units of UTF-16, others characters
        for codec, unit in (("utf-16-le", "<u2"), ("utf-32-le", "<u4")):
            codes = np.frombuffer(text.encode(codec), dtype=unit)
            if len(codes) == header.size and header.shape[0] <= header.size:
                return [row.tobytes().decode(codec) for row in codes.reshape(header.shape, order="F")]
        raise ValueError(f"{len(text)} characters stand where the shape is {header.shape}")

    def fields(self) -> list[str]:
        """Read the names of the fields of a structure, whose matrices come next, those of its first element first."""
        kind, content = self._content(4)
        length = struct.unpack(f"{self._order}i", content)[0] if kind == 5 and len(content) == 4 else 0
        _, names = self._content(_LONGEST_NAMES)
        if length < 1 or len(names) % length:
            raise ValueError("the names of the fields of a structure have no length")
        parts = (names[first : first + length] for first in range(0, len(names), length))
        return [_name(part.split(b"\0")[0]) for part in parts]

    def skip(self, size: int) -> None:
        """Pass over some bytes."""
        self._spend(size)
        if self._stream.seekable():
            self._stream.seek(size, io.SEEK_CUR)
            return
        while size:
            passed = len(self._stream.read(min(size, _BLOCK)))
            size = size - passed if passed else self._end_too_early()

    def finish(self) -> None:
        """Pass over what is left; compressed bytes must end there, which is where their checksum is compared."""
        self.skip(self.left)
        if not self._stream.seekable() and self._stream.read(1):
            raise ValueError("there is more in a compressed variable than it says")

    def _tag(self) -> tuple[int, int, int]:
        """Return type, number of bytes, and number of bytes up to the next element after these."""
        first = struct.unpack(f"{self._order}I", self._take(4))[0]
        if first >> 16:  # a small element: tag and content are four bytes each
            kind, size = first & 0xFFFF, first >> 16
            if size > 4:
                raise ValueError(f"a small element has {size} bytes")
            return kind, size, 4 - size
        size = struct.unpack(f"{self._order}I", self._take(4))[0]
        return first, size, max(min(-size % 8, self.left - size), 0)

    def _content(self, most: int) -> tuple[int, bytes]:
        kind, size, padding = self._tag()
        if size > most:
            raise ValueError(f"{size} bytes stand where {most} are expected at the most")
        content = self._take(size)
        self.skip(padding)
        return kind, content

    def _take(self, size: int) -> bytes:
        self._spend(size)
        content = self._stream.read(size)
        if len(content) < size:
            self._end_too_early()
        return content

    def _bytes(self, size: int, name: str) -> npt.NDArray[np.uint8]:
        self._spend(size)
        require_memory(self._path, name, size)
        content = np.empty(size, dtype=np.uint8)
        if self._stream.readinto(content.data) < size:  # type: ignore[attr-defined]
            self._end_too_early()
        return content

    def _spend(self, size: int) -> None:
        if size > self.left:
            self._end_too_early()
        self.left -= size

    def _end_too_early(self) -> int:
        raise DatasetError(f"{self._path} is cut short or damaged: it ends within a variable")


def _name(content: bytes) -> str:
    name = content.decode("ascii")
    if not name.isprintable():
        raise ValueError(f"a variable has the name {name!r:.50}")
    return name


class _Inflated(io.RawIOBase):
    """What comes out of some compressed bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left, self._inflate = file, size, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._inflate.eof:
            source = self._inflate.unconsumed_tail
            if not source:
                source = self._file.read(min(_BLOCK, self._left))
                self._left -= len(source)
            content = self._inflate.decompress(source, min(len(buffer), 16 * _BLOCK))
            if content:
                buffer[: len(content)] = content
                return len(content)
            if not source:
                raise ValueError("a compressed variable ends too early")
        return 0
