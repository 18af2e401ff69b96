"""MATLAB files: version 7.3 here, older ones in matlab5.

Files of version 7.3 are HDF5 files. Such a file can refer to other files, which the library would read: only content
that is stored in the file itself is read here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError, decoding, require_at_most, require_memory, require_stored
from jcmspl.datasets.matlab5 import DEEPEST_CELL, KIND, TEXT_BYTES, Matlab5File
from jcmspl.io.files import require_file
from jcmspl.support.arguments import IntArray, LazyRows, runs_of
from jcmspl.support.lazy import needed

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class Matlab73File:
    """The variables of a file; a field of a structure is named "structure.field"."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _import_h5py(path)

    def names(self) -> list[str]:
        """Return the names of all variables."""
        with _opened(self.path) as file:
            names = [name for name in file.group if not name.startswith("#")]
            fields = [f"{name}.{field}" for name in names for field in file.fields(name)]
        return [*names, *fields]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable in MATLAB, without reading it."""
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
        """Return the columns of a matrix as rows, read on demand."""
        return Hdf5Rows(self.path, name)


MatFile = Matlab5File | Matlab73File


def open_mat(path: Path) -> MatFile:
    """Open a MATLAB file of any version from 5 on."""
    require_file(path)
    with path.open("rb") as file:
        head = file.read(520)
    is_hdf5 = _HDF5_SIGNATURE in (head[:8], head[512:520])
    return Matlab73File(path) if is_hdf5 else Matlab5File(path)


def length_of(file: MatFile, name: str) -> int:
    """Return the length of a vector, without reading it."""
    shape = file.shape(name)
    size = math.prod(shape)
    if size and max(shape) != size:
        raise DatasetError(f"{file.path}: {name} must be a vector, but its shape is {shape}")
    return size


def integers(file: MatFile, name: str, most: int | None = None) -> IntArray:
    """Read a vector of integers of any type and orientation, with at most one for each of `most` samples."""
    require_at_most(f"{file.path}: {name}", length_of(file, name), most, "samples")
    values = file.array(name).ravel()
    if not np.all(np.isfinite(values) & (values == np.floor(values))):
        raise DatasetError(f"{file.path}: {name} must hold whole numbers")
    return values.astype(np.int64)


class Hdf5Rows(LazyRows):
    """The columns of a MATLAB matrix as rows, read on demand.

    MATLAB writes matrices by columns, and HDF5 numbers axes in the opposite order: columns of MATLAB are rows here. The
    file is open only during a read, so this can be copied, pickled and used by several processes. ``rows_read`` counts
    the rows read so far.
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
    """An open file, which gives access only to objects that it stores itself."""

    def __init__(self, group: Any, path: Path, h5py: Any) -> None:
        self.group, self._path, self._h5py = group, path, h5py

    def fields(self, name: str) -> list[str]:
        """Return the names of the fields of a structure; an empty list for other variables."""
        found = self.group[name] if self._is_own(self.group, name) else None
        return list(found) if isinstance(found, self._h5py.Group) else []

    def dataset(self, name: str, reference: Any = None) -> Any:
        """Return the array of a variable, or the one that a reference in a cell of it points to."""
        found = self._followed(name) if reference is None else self.group[reference]
        if not isinstance(found, self._h5py.Dataset):
            raise DatasetError(f"{self._path}: {name} must be an array, but is a {type(found).__name__.lower()}")
        if found.external is not None:
            self._refuse(name, "its numbers are in another file (HDF5 external storage)")
        if found.is_virtual:
            self._refuse(name, "it is assembled from other files (an HDF5 virtual dataset)")
        if found.shape is None:  # only now: the library may open other files to find a shape
            raise DatasetError(f"{self._path}: {name} must be an array, but holds nothing")
        require_stored(self._path, name, _n_bytes(found), found.id.get_storage_size())
        return found

    def content(self, dataset: Any, name: str) -> npt.NDArray[Any]:
        """Read a whole array."""
        require_memory(self._path, name, _n_bytes(dataset))
        return np.asarray(dataset[()])

    def characters(self, dataset: Any, name: str) -> npt.NDArray[Any]:
        """Return the codes of an array of characters in its shape in MATLAB."""
        shape = self.empty_shape(dataset, name)
        if dataset.dtype.kind not in "iu":
            raise DatasetError(f"{self._path}: {name} must hold texts, but its type is {dataset.dtype}")
        return self.content(dataset, name).T if shape is None else np.zeros(shape, dtype=np.uint16)

    def holds_references(self, dataset: Any) -> bool:
        """Whether an array is a cell array."""
        return self._h5py.check_ref_dtype(dataset.dtype) is self._h5py.Reference

    def empty_shape(self, dataset: Any, name: str) -> tuple[int, ...] | None:
        """Return the shape of an empty array, which is stored as its content; None for other arrays."""
        if not dataset.attrs.get("MATLAB_empty", 0):
            return None
        shape = tuple(int(size) for size in self.content(dataset, name).ravel())
        if min(shape, default=1) != 0:
            raise DatasetError(f"{self._path}: {name} is said to be empty, but its shape is {shape}")
        return shape

    def _is_own(self, group: Any, name: str) -> bool:
        """Whether a name is an object of this group, and not a link, which may lead out of the file."""
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
    return needed("h5py", f"{path} is a MATLAB 7.3 file (HDF5), which needs h5py", "data")


def _n_bytes(dataset: Any) -> int:
    return int(dataset.dtype.itemsize * math.prod(dataset.shape))


def _decoded(codes: npt.NDArray[Any]) -> str:
    return codes.astype("<u2").tobytes().decode("utf-16-le")  # MATLAB's characters are UTF-16
