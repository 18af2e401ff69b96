"""MATLAB files of both kinds, version 5 (SciPy) and 7.3 (HDF5), seen in the same way.

Arrays have the shape that they have in MATLAB, and nothing is read before it is asked for.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError, decoding, require_file
from jcmspl.datasets.row_source import RowSource
from jcmspl.support.arguments import IntArray

_KIND = "a MATLAB file"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Rows closer than this are read in one go: a seek costs about as much as a few rows.
_LARGEST_GAP = 8
_DEEPEST_CELL = 8  # in a damaged file, a cell may even refer to itself


class MatFile(ABC):
    """The variables of a file; those in a structure have its name, a dot and their own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all variables."""

    @abstractmethod
    def texts(self, name: str) -> list[str]:
        """Return the texts in a cell array, however deeply each is wrapped, or the rows of a character array."""

    @abstractmethod
    def columns(self, name: str) -> RowSource:
        """Return the columns of a matrix as rows, read when needed if the file allows it."""

    @abstractmethod
    def _value(self, name: str) -> npt.NDArray[Any]: ...

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a numeric variable."""
        value = self._value(name)
        if value.dtype.kind not in "iufb":
            raise DatasetError(f"{self.path}: {name} must hold real numbers, but its type is {value.dtype}")
        return value

    def integers(self, name: str) -> IntArray:
        """Return a vector of whole numbers, of whatever type and orientation."""
        values = self.array(name)
        if values.size and max(values.shape) != values.size:
            raise DatasetError(f"{self.path}: {name} must be a vector, but its shape is {values.shape}")
        values = values.ravel()
        if not np.all(np.isfinite(values) & (values == np.floor(values))):
            raise DatasetError(f"{self.path}: {name} must hold whole numbers")
        return values.astype(np.int64)


def open_mat(path: Path) -> MatFile:
    """Open a MATLAB file of either kind."""
    require_file(path)
    with path.open("rb") as file:
        head = file.read(520)
    if _HDF5_SIGNATURE in (head[:8], head[512:520]):
        return _Hdf5Mat(path)
    return _ClassicMat(path)


class _ClassicMat(MatFile):
    def __init__(self, path: Path) -> None:
        from scipy.io import whosmat

        super().__init__(path)
        with decoding(path, _KIND):
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

        with decoding(self.path, _KIND):
            value = loadmat(self.path, variable_names=[name])[name]
        return value if isinstance(value, np.ndarray) else np.asarray(value.toarray())  # sparse in MATLAB

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


class _Hdf5Mat(MatFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._h5py = import_h5py(path)

    def names(self) -> list[str]:
        with _opened(self.path) as file:
            names = [name for name in file if not name.startswith("#")]
            groups = [name for name in names if isinstance(file[name], self._h5py.Group)]
            fields = [f"{group}.{field}" for group in groups for field in file[group]]
        return [*names, *fields]

    def _value(self, name: str) -> npt.NDArray[Any]:
        with _opened(self.path) as file:
            dataset = file[name.replace(".", "/")]
            value = np.asarray(dataset[()]).T
            if dataset.attrs.get("MATLAB_empty", 0):  # then the content is the shape
                value = np.empty(tuple(int(size) for size in value))
        return value

    def texts(self, name: str) -> list[str]:
        with _opened(self.path) as file:
            dataset = file[name.replace(".", "/")]
            value = np.asarray(dataset[()]).T
            if self._h5py.check_ref_dtype(dataset.dtype) is None:
                texts = [_decoded(row).rstrip() for row in np.atleast_2d(value)]
            else:
                texts = [self._text(file, reference) for reference in value.ravel()]
        return texts

    def _text(self, file: Any, reference: Any) -> str:
        dataset = file[reference]
        for _ in range(_DEEPEST_CELL):
            if self._h5py.check_ref_dtype(dataset.dtype) is None:
                break
            dataset = file[np.asarray(dataset[()]).ravel()[0]]
        return "" if dataset.attrs.get("MATLAB_empty", 0) else _decoded(np.asarray(dataset[()]).T.ravel())

    def columns(self, name: str) -> Hdf5Rows:
        return Hdf5Rows(self.path, name)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with decoding(path, _KIND), import_h5py(path).File(path, "r") as file:
        yield file


class Hdf5Rows:
    """The rows of a matrix in an HDF5 file, read when they are asked for.

    MATLAB writes matrices by columns and HDF5 numbers their axes the other way round: columns there are rows here. The
    file is open only while it is read, so this can be copied, pickled and used by several processes. ``rows_read`` is
    how many rows were read so far.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name, self.rows_read = Path(path), name, 0
        with _opened(self.path) as file:
            self.shape: tuple[int, ...] = tuple(file[name].shape)
            self.dtype: np.dtype[Any] = file[name].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> npt.NDArray[Any]:
        numbers = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise TypeError(f"rows must be a slice or a list of row numbers, but are {rows!r}")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < len(self)):
            raise IndexError(f"rows must be 0 to {len(self) - 1}")
        wanted, back = np.unique(numbers.astype(np.int64), return_inverse=True)
        result = np.empty((len(wanted), *self.shape[1:]), dtype=self.dtype)
        with _opened(self.path) as file:
            done, runs = 0, np.split(wanted, np.flatnonzero(np.diff(wanted) > _LARGEST_GAP) + 1)
            for run in runs if len(wanted) else ():
                block = np.asarray(file[self.name][int(run[0]) : int(run[-1]) + 1])
                result[done : done + len(run)] = block if len(block) == len(run) else block[run - run[0]]
                done += len(run)
                self.rows_read += len(block)
        return result if np.array_equal(back, np.arange(len(wanted))) else result[back]


def import_h5py(path: Path) -> Any:
    """Return h5py, or say how to get it."""
    try:
        import h5py
    except ImportError:
        raise ImportError(f"{path} is a MATLAB 7.3 file (HDF5), which needs h5py: pip install 'jcmspl[data]'") from None
    return h5py


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
        raise DatasetError(f"{path}: {name} must hold texts, but holds {cell!r}")
    return str(cell)


def _decoded(codes: npt.NDArray[Any]) -> str:
    return codes.astype("<u2").tobytes().decode("utf-16-le")  # MATLAB's characters are UTF-16
