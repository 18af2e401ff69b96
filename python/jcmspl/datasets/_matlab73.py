"""MATLAB files of version 7.3, which are HDF5 files.

Such a file can name others, whose content the library would read in its place: only what is stored in the file itself
is read here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._matlab_file import DEEPEST_CELL, KIND, TEXT_BYTES, MatFile
from jcmspl.datasets.errors import DatasetError, decoding, require_memory, require_stored
from jcmspl.support.lazy_rows import LazyRows, runs_of


class Hdf5Mat(MatFile):
    """The variables of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        _import_h5py(path)

    def names(self) -> list[str]:
        """Return the names of all variables."""
        with _opened(self.path) as file:
            names = [name for name in file.group if not name.startswith("#")]
            fields = [f"{name}.{field}" for name in names for field in file.fields(name)]
        return [*names, *fields]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that a variable has in MATLAB, without reading it."""
        with _opened(self.path) as file:
            dataset = file.dataset(name)
            shape = file.empty_shape(dataset, name)
            return tuple(dataset.shape[::-1]) if shape is None else shape

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a variable of real numbers."""
        with _opened(self.path) as file:
            dataset = file.dataset(name)
            if dataset.dtype.kind not in "iufb":
                raise DatasetError(f"{self.path}: {name} must hold real numbers, but its type is {dataset.dtype}")
            shape = file.empty_shape(dataset, name)
            return file.content(dataset, name).T if shape is None else np.zeros(shape)

    def texts(self, name: str) -> list[str]:
        """Return the texts in a cell array, or the rows of a character array."""
        with _opened(self.path) as file:
            dataset = file.dataset(name)
            if file.holds_references(dataset):
                references = file.content(dataset, name).T.ravel()
                require_memory(self.path, name, len(references) * TEXT_BYTES)
                return [self._text(file, reference, name) for reference in references]
            return [_decoded(row).rstrip() for row in np.atleast_2d(file.characters(dataset, name))]

    def _text(self, file: _OwnContent, reference: Any, name: str) -> str:
        dataset = file.dataset(name, reference)
        for _ in range(DEEPEST_CELL):
            if not file.holds_references(dataset):
                break
            dataset = file.dataset(name, file.content(dataset, name).ravel()[0])
        return _decoded(file.characters(dataset, name).ravel())

    def columns(self, name: str) -> Hdf5Rows:
        """Return the columns of a matrix as rows."""
        return Hdf5Rows(self.path, name)


class Hdf5Rows(LazyRows):
    """The rows of a matrix in an HDF5 file, read when they are asked for.

    MATLAB writes matrices by columns and HDF5 numbers their axes the other way round: columns there are rows here. The
    file is open only while it is read, so this can be copied, pickled and used by several processes. ``rows_read`` is
    how many rows were read so far.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name, self.rows_read = Path(path).absolute(), name, 0
        with _opened(self.path) as file:
            dataset = file.dataset(name)
            self.shape: tuple[int, ...] = tuple(dataset.shape)
            self.dtype: np.dtype[Any] = dataset.dtype

    def _read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        require_memory(self.path, f"a block of {len(rows):,} columns of {self.name}", len(rows) * row_bytes)
        result = np.empty((len(rows), *self.shape[1:]), dtype=self.dtype)
        with _opened(self.path) as file:
            dataset = file.dataset(self.name)
            for run in runs_of(rows):
                block = np.asarray(dataset[run.start : run.stop])
                result[run.places] = block if len(block) == len(run.wanted) else block[run.wanted]
                self.rows_read += len(block)
        return result


class _OwnContent:
    """An open file: the only way to any object in it, none of which lies in another file."""

    def __init__(self, group: Any, path: Path, h5py: Any) -> None:
        self.group, self._path, self._h5py = group, path, h5py

    def fields(self, name: str) -> list[str]:
        """Return the names of the fields of a structure; none if the variable is something else."""
        found = self.group[name] if self._is_own(self.group, name) else None
        return list(found) if isinstance(found, self._h5py.Group) else []

    def dataset(self, name: str, reference: Any = None) -> Any:
        """Return the array of a variable, or the one that a reference in a cell of that variable leads to."""
        found = self._followed(name) if reference is None else self.group[reference]
        if not isinstance(found, self._h5py.Dataset):
            raise DatasetError(f"{self._path}: {name} must be an array, but is a {type(found).__name__.lower()}")
        if found.external is not None:
            self._refuse(name, "its numbers are in another file (HDF5 external storage)")
        if found.is_virtual:
            self._refuse(name, "it is put together from other files (an HDF5 virtual dataset)")
        if found.shape is None:  # only now: to tell a shape, the library may open those other files
            raise DatasetError(f"{self._path}: {name} must be an array, but holds nothing")
        require_stored(self._path, name, _n_bytes(found), found.id.get_storage_size())
        return found

    def content(self, dataset: Any, name: str) -> npt.NDArray[Any]:
        """Read an array whole."""
        require_memory(self._path, name, _n_bytes(dataset))
        return np.asarray(dataset[()])

    def characters(self, dataset: Any, name: str) -> npt.NDArray[Any]:
        """Return the codes of an array of characters in the shape that it has in MATLAB."""
        shape = self.empty_shape(dataset, name)
        if dataset.dtype.kind not in "iu":
            raise DatasetError(f"{self._path}: {name} must hold texts, but its type is {dataset.dtype}")
        return self.content(dataset, name).T if shape is None else np.zeros(shape, dtype=np.uint16)

    def holds_references(self, dataset: Any) -> bool:
        """Whether an array is one of cells."""
        return self._h5py.check_ref_dtype(dataset.dtype) is self._h5py.Reference

    def empty_shape(self, dataset: Any, name: str) -> tuple[int, ...] | None:
        """Return the shape of an empty array, which is what is stored in place of its content, or None."""
        if not dataset.attrs.get("MATLAB_empty", 0):
            return None
        shape = tuple(int(size) for size in self.content(dataset, name).ravel())
        if min(shape, default=1) != 0:
            raise DatasetError(f"{self._path}: {name} is said to be empty, but its shape is {shape}")
        return shape

    def _is_own(self, group: Any, name: str) -> bool:
        """Whether a name stands for an object here, and not for a path that leads to it, or out of the file."""
        return bool(group.id.links.get_info(name.encode()).type == self._h5py.h5l.TYPE_HARD)

    def _followed(self, name: str) -> Any:
        found = self.group
        for part in name.split("."):
            if not self._is_own(found, part):
                self._refuse(name, "it is a link, which may lead to another file")
            found = found[part]
        return found

    def _refuse(self, name: str, reason: str) -> None:
        raise DatasetError(
            f"{self._path}: {name} is not read, because {reason}: save it again so that the file holds all of it"
        )


@contextmanager
def _opened(path: Path) -> Iterator[_OwnContent]:
    h5py = _import_h5py(path)
    with decoding(path, KIND), h5py.File(path, "r") as file:
        yield _OwnContent(file, path, h5py)


def _import_h5py(path: Path) -> Any:
    """Return h5py, or say how to get it."""
    try:
        import h5py
    except ImportError:
        raise ImportError(f"{path} is a MATLAB 7.3 file (HDF5), which needs h5py: pip install 'jcmspl[data]'") from None
    return h5py


def _n_bytes(dataset: Any) -> int:
    return int(dataset.dtype.itemsize * math.prod(dataset.shape))


def _decoded(codes: npt.NDArray[Any]) -> str:
    return codes.astype("<u2").tobytes().decode("utf-16-le")  # MATLAB's characters are UTF-16
