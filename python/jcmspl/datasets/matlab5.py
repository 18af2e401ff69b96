"""MATLAB files of versions 5 to 7.

SciPy reads them too, but a damaged file can end the process there. A file consists of elements: a tag, which is a type
and a number of bytes, and content. Sizes are believed only as far as elements fit into one another and into the file.
"""

from __future__ import annotations

import io
import math
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError, decoding, require_memory, require_stored

KIND = "a MATLAB file"  # in messages
#: How deeply the cell of a text may be nested: in a damaged file, a cell may refer to itself.
DEEPEST_CELL = 8
#: The least memory that a text in a list takes.
TEXT_BYTES = 64
_START = 128  # bytes of text before the first variable
_ORDERS = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}  # version and byte order, at the end of that text
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CODECS = {1: "ascii", 2: "ascii", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_FLAGS, _MATRIX, _COMPRESSED = 6, 14, 15
_MOST_AXES = 32
_LONGEST_NAMES = 2**20  # bytes of the names of all fields of a structure
_LONGEST_BLANK = 2**16
_BLOCK = 2**16

_CELL, _STRUCT, _CHAR, _SPARSE, _NUMERIC, _OPAQUE = 1, 2, 4, 5, range(6, 16), 17


class Header(NamedTuple):
    """The header of a variable or a cell, before its content."""

    name: str
    kind: int
    is_complex: bool
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)


class Elements:
    """Consecutive elements in a part of a file, beyond which nothing is read."""

    def __init__(self, stream: IO[bytes], size: int, order: str, path: Path) -> None:
        self._stream, self.left, self._order, self._path = stream, size, order, path

    def variable(self) -> Elements:
        """Open the next variable, which may be compressed, and count it as read."""
        kind, size, _ = self._tag()
        if kind != _COMPRESSED:
            return self._within(kind, size)
        self._spend(size)
        inflated = Elements(io.BufferedReader(_Inflated(self._stream, size), _BLOCK), 8, self._order, self._path)
        kind, inflated.left, _ = inflated._tag()
        require_stored(self._path, "a compressed variable", inflated.left, size)
        return inflated._within(kind, inflated.left)

    def matrix(self) -> Elements:
        """Open the next matrix, and count it as read."""
        kind, size, _ = self._tag()
        return self._within(kind, size)

    def _within(self, kind: int, size: int) -> Elements:
        if kind != _MATRIX:
            raise ValueError(f"an element is of type {kind}, where a matrix is expected")
        self._spend(size)
        return Elements(self._stream, size, self._order, self._path)

    def header(self) -> Header:
        """Read the header of a matrix."""
        if not self.left:  # an empty cell
            return Header("", _NUMERIC[0], False, (0, 0))
        kind, flags = self._content(8)
        if kind != _FLAGS or len(flags) != 8:
            raise ValueError("a variable has no flags")
        word = struct.unpack(f"{self._order}I", flags[:4])[0]
        kind = word & 0xFF
        shape = () if kind == _OPAQUE else self._shape()
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
        """Read an element of numbers in their stored type."""
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
            return [" " * header.shape[1]] * header.shape[0]  # some programs leave blanks out
        suffix = {"<": "-le", ">": "-be"}[self._order] if kind in (4, 17, 18) else ""
        text = content.tobytes().decode(_CODECS[kind] + suffix)
        # MATLAB counts UTF-16 units, other programs characters
        for codec, unit in (("utf-16-le", "<u2"), ("utf-32-le", "<u4")):
            codes = np.frombuffer(text.encode(codec), dtype=unit)
            if len(codes) == header.size and header.shape[0] <= header.size:
                return [row.tobytes().decode(codec) for row in codes.reshape(header.shape, order="F")]
        raise ValueError(f"{len(text)} characters stand where the shape is {header.shape}")

    def fields(self) -> list[str]:
        """Read the names of the fields of a structure; the matrices of its first element follow."""
        kind, content = self._content(4)
        length = struct.unpack(f"{self._order}i", content)[0] if kind == 5 and len(content) == 4 else 0
        _, names = self._content(_LONGEST_NAMES)
        if length < 1 or len(names) % length:
            raise ValueError("the names of the fields of a structure have no length")
        parts = (names[first : first + length] for first in range(0, len(names), length))
        return [_name(part.split(b"\0")[0]) for part in parts]

    def skip(self, size: int) -> None:
        """Skip some bytes."""
        self._spend(size)
        if self._stream.seekable():
            self._stream.seek(size, io.SEEK_CUR)
            return
        while size:
            passed = len(self._stream.read(min(size, _BLOCK)))
            size = size - passed if passed else self._end_too_early()

    def finish(self) -> None:
        """Skip the rest; a compressed variable must end there, and its checksum is compared."""
        self.skip(self.left)
        if not self._stream.seekable() and self._stream.read(1):
            raise ValueError("a compressed variable has more content than its header says")

    def _tag(self) -> tuple[int, int, int]:
        """Return the type, the number of bytes, and the number of padding bytes after these."""
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
            raise ValueError(f"{size} bytes stand where at most {most} are expected")
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
    """A stream of decompressed bytes."""

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


class _Variable(NamedTuple):
    position: int
    header: Header
    fields: list[str]


class Matlab5File:
    """The variables of a file; a field of a structure is named "structure.field"."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = path.stat().st_size
        self._variables: dict[str, _Variable] = {}
        with decoding(path, KIND), path.open("rb") as file:
            start = file.read(_START)
            if start[124:] not in _ORDERS:
                raise ValueError("it is not of version 5 to 7.3: save an older file again with -v7")
            self._order = _ORDERS[start[124:]]
            position = _START
            while position < self._size:
                file.seek(position)
                rest = Elements(file, self._size - position, self._order, path)
                matrix = rest.variable()
                header = matrix.header()
                fields = matrix.fields() if header.kind == _STRUCT and header.size else []
                self._variables[header.name] = _Variable(position, header, fields)
                position = self._size - rest.left
        self._variables.pop("", None)  # internal data of MATLAB

    def names(self) -> list[str]:
        """Return the names of all variables."""
        fields = [f"{name}.{field}" for name, variable in self._variables.items() for field in variable.fields]
        return [*self._variables, *fields]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable in MATLAB, without reading it."""
        if name in self._variables:
            return self._variables[name].header.shape
        with self._opened(name, to_the_end=False) as (header, _):
            return header.shape

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a variable of real numbers."""
        with self._opened(name) as (header, elements):
            if header.is_complex or header.kind not in (*_NUMERIC, _SPARSE):
                raise DatasetError(f"{self.path}: {name} must hold real numbers, but holds {_kind(header)}")
            if header.kind == _SPARSE:
                values = self._dense(header, elements, name)
            else:
                values = elements.numbers(name) if elements.left else np.empty(0)
            if values.size != header.size:
                raise DatasetError(f"{self.path}: {name} has {values.size} values, but its shape is {header.shape}")
        return values.reshape(header.shape, order="F")

    def columns(self, name: str) -> npt.NDArray[Any]:
        """Return the columns of a matrix as rows."""
        return self.array(name).T  # MATLAB stores columns one after the other: no copy

    def texts(self, name: str) -> list[str]:
        """Return the texts in a cell array, or the rows of a character array."""
        with self._opened(name) as (header, elements):
            if header.kind == _CHAR:
                texts = [row.rstrip() for row in elements.rows_of_text(header, name)]  # they are padded with blanks
            elif header.kind == _CELL:
                require_memory(self.path, name, header.size * TEXT_BYTES)
                texts = [self._text(elements, name) for _ in range(header.size)]
            else:
                raise DatasetError(f"{self.path}: {name} must hold texts, but holds {_kind(header)}")
        return texts

    def _text(self, elements: Elements, name: str, depth: int = 0) -> str:
        """Return the text in the next cell, which may be wrapped in more cells."""
        cell = elements.matrix()
        header = cell.header()
        if not header.size:
            texts = [""]
        elif header.kind == _CELL and header.size == 1 and depth < DEEPEST_CELL:
            texts = [self._text(cell, name, depth + 1)]
        elif header.kind == _CHAR:
            texts = cell.rows_of_text(header, name)
        else:
            raise DatasetError(f"{self.path}: {name} must hold texts, but a cell holds {_kind(header)}")
        if len(texts) != 1:
            raise DatasetError(
                f"{self.path}: {name} must hold one text in each cell, but a cell has the shape {header.shape}"
            )
        cell.skip(cell.left)
        return texts[0]

    def _dense(self, header: Header, elements: Elements, name: str) -> npt.NDArray[Any]:
        """Return a sparse matrix as a dense vector, by columns."""
        rows, starts, values = (elements.numbers(name) for _ in range(3))
        n_rows, n_columns = header.shape if len(header.shape) == 2 else (-1, -1)
        ends_well = len(starts) == n_columns + 1 and starts[0] == 0 and np.all(starts[1:] >= starts[:-1])
        count = int(starts[-1]) if ends_well else -1
        if not 0 <= count <= min(len(rows), len(values)) or np.any((rows[:count] < 0) | (rows[:count] >= n_rows)):
            raise DatasetError(f"{self.path} is damaged: the sparse matrix {name} has values outside its shape")
        require_memory(self.path, name, header.size * values.itemsize)
        dense = np.zeros((n_columns, n_rows), dtype=values.dtype)
        np.add.at(dense, (np.repeat(np.arange(n_columns), np.diff(starts)), rows[:count]), values[:count])
        return dense.ravel()

    @contextmanager
    def _opened(self, name: str, to_the_end: bool = True) -> Iterator[tuple[Header, Elements]]:
        """Open a variable, or a field of the first element of a structure, after its header."""
        variable, dot, field = name.partition(".")
        position, header, fields = self._variables[variable]
        with decoding(self.path, KIND), self.path.open("rb") as file:
            file.seek(position)
            whole = Elements(file, self._size - position, self._order, self.path).variable()
            whole.header()
            elements = whole
            if dot:
                whole.fields()
                for _ in range(fields.index(field)):
                    other = whole.matrix()
                    other.skip(other.left)
                elements = whole.matrix()
                header = elements.header()
            yield header, elements
            if to_the_end:
                elements.skip(elements.left)
                whole.finish()


def _kind(header: Header) -> str:
    if header.is_complex:
        return "complex numbers"
    kinds = {_CELL: "cells", _STRUCT: "a structure", _CHAR: "text", _SPARSE: "a sparse matrix"}
    return kinds.get(header.kind, "numbers" if header.kind in _NUMERIC else "something else")
