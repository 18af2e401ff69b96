"""MATLAB files of both kinds, version 5 (SciPy) and 7.3 (HDF5), seen in the same way.

Arrays have the shape that they have in MATLAB, and nothing is read before it is asked for.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._matlab73 import Hdf5Mat
from jcmspl.datasets._matlab_file import KIND, MatFile
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.io.regular import require_file
from jcmspl.support.shown import quoted

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def open_mat(path: Path) -> MatFile:
    """Open a MATLAB file of either kind."""
    require_file(path)
    with path.open("rb") as file:
        head = file.read(520)
    if _HDF5_SIGNATURE in (head[:8], head[512:520]):
        return Hdf5Mat(path)
    return _ClassicMat(path)


class _ClassicMat(MatFile):
    def __init__(self, path: Path) -> None:
        from scipy.io import whosmat

        super().__init__(path)
        with decoding(path, KIND):
            _require_whole(path)
            self._kinds = {str(name): str(kind) for name, _, kind in whosmat(path)}
        self._structures: dict[str, dict[str, Any]] = {}

    def names(self) -> list[str]:
        structures = [name for name, kind in self._kinds.items() if kind == "struct"]
        return [*self._kinds, *(f"{name}.{field}" for name in structures for field in self._fields(name))]

    def _fields(self, name: str) -> dict[str, Any]:
        if name not in self._structures:
            structure = self._load(name)
            first = structure.ravel()[0] if structure.size else None
            self._structures[name] = {} if first is None else {n: first[n] for n in structure.dtype.names or ()}
        return self._structures[name]

    def _load(self, name: str) -> npt.NDArray[Any]:
        from scipy.io import loadmat

        with decoding(self.path, KIND):
            value = loadmat(self.path, variable_names=[name])[name]
        return value if isinstance(value, np.ndarray) else np.asarray(value.toarray())  # sparse in MATLAB

    def shape(self, name: str) -> tuple[int, ...]:
        return self._value(name).shape

    def array(self, name: str) -> npt.NDArray[Any]:
        value = self._value(name)
        if value.dtype.kind not in "iufb":
            raise DatasetError(f"{self.path}: {name} must hold real numbers, but its type is {value.dtype}")
        return value

    def _value(self, name: str) -> npt.NDArray[Any]:
        structure, dot, field = name.partition(".")
        return np.asarray(self._fields(structure)[field] if dot else self._load(name))

    def texts(self, name: str) -> list[str]:
        value = self._value(name)
        if value.dtype.kind == "U":  # a character array: its rows are padded with blanks
            return [str(row).rstrip() for row in value.ravel()]
        return [_innermost(cell, self.path, name) for cell in value.ravel()]

    def columns(self, name: str) -> npt.NDArray[Any]:
        return self.array(name).T  # MATLAB stores columns one after the other: no copy


def _require_whole(path: Path) -> None:
    """Refuse a MATLAB 5 file that ends within a variable: SciPy notices only if that variable is read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(128)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:])
        if order is None:
            return  # MATLAB 4, or nothing that SciPy will read
        position = len(header)
        while position < size:
            file.seek(position)
            _, length = struct.unpack(f"{order}II", file.read(8))
            position += 8 + length
    if position > size:
        raise DatasetError(f"{path} is cut short: it ends within a variable")


def _innermost(cell: Any, path: Path, name: str) -> str:
    """Return the text in a cell: SciPy gives arrays of one object in arrays of one object."""
    while isinstance(cell, np.ndarray):
        if cell.size == 0:
            return ""
        if cell.size != 1:
            raise DatasetError(f"{path}: {name} must hold one text in each cell, but a cell has the shape {cell.shape}")
        cell = cell.ravel()[0]
    if not isinstance(cell, str):
        raise DatasetError(f"{path}: {name} must hold texts, but holds {quoted(cell)}")
    return str(cell)
