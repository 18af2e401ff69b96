"""MATLAB files of the versions 5 to 7.

SciPy reads them too, but a damaged file can end the process there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._mat5_elements import CELL, CHAR, NUMERIC, SPARSE, STRUCT, Elements, Header
from jcmspl.datasets._matlab_file import DEEPEST_CELL, KIND, TEXT_BYTES, MatFile
from jcmspl.datasets.errors import DatasetError, decoding, require_memory

_START = 128  # bytes of text before the first variable
_ORDERS = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}  # the version and the order of bytes, at the end of that text


class _Variable(NamedTuple):
    position: int
    header: Header
    fields: list[str]


class ClassicMat(MatFile):
    """The variables of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._size = path.stat().st_size
        self._variables: dict[str, _Variable] = {}
        with decoding(path, KIND), path.open("rb") as file:
            start = file.read(_START)
            if start[124:] not in _ORDERS:
                raise ValueError("it is not of version 5 to 7.3: save an older file anew, with -v7")
            self._order = _ORDERS[start[124:]]
            position = _START
            while position < self._size:
                file.seek(position)
                rest = Elements(file, self._size - position, self._order, path)
                matrix = rest.variable()
                header = matrix.header()
                fields = matrix.fields() if header.kind == STRUCT and header.size else []
                self._variables[header.name] = _Variable(position, header, fields)
                position = self._size - rest.left
        self._variables.pop("", None)  # what MATLAB keeps for itself

    def names(self) -> list[str]:
        """Return the names of all variables."""
        fields = [f"{name}.{field}" for name, variable in self._variables.items() for field in variable.fields]
        return [*self._variables, *fields]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that a variable has in MATLAB, without reading it."""
        if name in self._variables:
            return self._variables[name].header.shape
        with self._opened(name, to_the_end=False) as (header, _):
            return header.shape

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a variable of real numbers."""
        with self._opened(name) as (header, elements):
            if header.is_complex or header.kind not in (*NUMERIC, SPARSE):
                raise DatasetError(f"{self.path}: {name} must hold real numbers, but holds {_kind(header)}")
            values = self._values(header, elements, name)
            if values.size != header.size:
                raise DatasetError(f"{self.path}: {name} has {values.size} values, but its shape is {header.shape}")
        return values.reshape(header.shape, order="F")

    def columns(self, name: str) -> npt.NDArray[Any]:
        """Return the columns of a matrix as rows."""
        return self.array(name).T  # MATLAB stores columns one after the other: no copy

    def texts(self, name: str) -> list[str]:
        """Return the texts in a cell array, or the rows of a character array."""
        with self._opened(name) as (header, elements):
            if header.kind == CHAR:
                texts = [row.rstrip() for row in elements.rows_of_text(header, name)]  # they are padded with blanks
            elif header.kind == CELL:
                require_memory(self.path, name, header.size * TEXT_BYTES)
                texts = [self._text(elements, name) for _ in range(header.size)]
            else:
                raise DatasetError(f"{self.path}: {name} must hold texts, but holds {_kind(header)}")
        return texts

    def _text(self, elements: Elements, name: str, depth: int = 0) -> str:
        """Return the text in the cell that comes next, which may be wrapped in cells of its own."""
        cell = elements.matrix()
        header = cell.header()
        if not header.size:
            texts = [""]
        elif header.kind == CELL and header.size == 1 and depth < DEEPEST_CELL:
            texts = [self._text(cell, name, depth + 1)]
        elif header.kind == CHAR:
            texts = cell.rows_of_text(header, name)
        else:
            raise DatasetError(f"{self.path}: {name} must hold texts, but a cell holds {_kind(header)}")
        if len(texts) != 1:
            raise DatasetError(
                f"{self.path}: {name} must hold one text in each cell, but a cell has the shape {header.shape}"
            )
        cell.skip(cell.left)
        return texts[0]

    def _values(self, header: Header, elements: Elements, name: str) -> npt.NDArray[Any]:
        if header.kind == SPARSE:
            return self._dense(header, elements, name)
        return elements.numbers(name) if elements.left else np.empty(0)

    def _dense(self, header: Header, elements: Elements, name: str) -> npt.NDArray[Any]:
        """Return a sparse matrix as a vector of all its values, by columns."""
        rows, starts, values = (elements.numbers(name) for _ in range(3))
        n_rows, n_columns = header.shape if len(header.shape) == 2 else (-1, -1)
        ends_well = len(starts) == n_columns + 1 and starts[0] == 0 and np.all(starts[1:] >= starts[:-1])
        count = int(starts[-1]) if ends_well else -1
        if not 0 <= count <= min(len(rows), len(values)) or np.any((rows[:count] < 0) | (rows[:count] >= n_rows)):
            raise DatasetError(f"{self.path} is damaged: the sparse matrix {name} has values that are nowhere")
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
    kinds = {CELL: "cells", STRUCT: "a structure", CHAR: "text", SPARSE: "a sparse matrix"}
    return kinds.get(header.kind, "numbers" if header.kind in NUMERIC else "something else")
