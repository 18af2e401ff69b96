"""The project's own file of a data set: one .npz of plain arrays, without pickles, mapped into memory if possible."""

from __future__ import annotations

import bisect
import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import LabelArray, label_array
from jcmspl.data.reading import floats
from jcmspl.datasets.columns import ID_COLUMNS
from jcmspl.datasets.dataset import PARTS, Dataset
from jcmspl.datasets.errors import (
    DatasetError,
    about,
    decoding,
    require_at_most,
    require_keys,
    require_memory,
    require_stored,
)
from jcmspl.datasets.npy import CHUNK_BYTES, Header, read_header, require_characters
from jcmspl.datasets.row_source import LazyIds, as_ids
from jcmspl.io.files import open_atomically, require_file
from jcmspl.support.shown import listed, quoted

_KIND = "a NumPy .npz file"
_WANTED = ("features", "labels", "class_names", "class_vectors", "train")
_ALIGNMENT = 64  # bytes: the core can then read a mapped array in place
_PADDING_ID = 0xD935  # the extra field that zipalign uses for alignment


def save_npz(dataset: Dataset, path: str | Path, overwrite: bool = False) -> None:
    """Write a data set to one .npz file, atomically.

    The arrays are ``features`` (rows are samples), ``labels``, ``class_names``, ``class_vectors``, ``attribute_names``
    (if there are any), ``ids`` and ``id_name`` (if there are any), ``name``, ``source``, and the row numbers ``train``,
    ``val``, ``test_seen`` and ``test_unseen``, which count from 0. Features are written a block at a time, so they may
    be larger than memory, and are not compressed, so that :func:`load_npz` can map them. ``np.load`` reads it too.

    Parameters
    ----------
    dataset : Dataset
        Labels must all be text or all be numbers.
    path : str or Path
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from jcmspl.datasets import load_digits, load_npz, save_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(load_digits(), Path(folder) / "digits.npz")
    ...     load_npz(Path(folder) / "digits.npz")
    Dataset 'digits': 1,797 samples x 64 features, 7 seen and 3 unseen classes
    """
    table = dataset.classes
    arrays = {
        "labels": _plain(dataset.y),
        "class_names": _plain(table.labels),
        "class_vectors": table.vectors,
        **dataset.parts,
        "name": np.array(dataset.name),
        "source": np.array(dataset.source),
    }
    if table.attributes is not None:
        arrays["attribute_names"] = np.array(table.attributes)
    if dataset.ids is not None:
        arrays |= {"ids": np.array(dataset.ids[:], dtype=str), "id_name": np.array(dataset.id_name)}
    dtype = floats(dataset.X[:1]).dtype
    rows = max(1, CHUNK_BYTES // (dtype.itemsize * dataset.n_features))
    with open_atomically(Path(path), overwrite=overwrite) as file:
        chunks = (floats(dataset.X[first : first + rows]) for first in range(0, dataset.n_samples, rows))
        write_arrays(file, (dataset.n_samples, dataset.n_features), dtype, chunks, **arrays)


def load_npz(path: str | Path, *, class_vectors: str | Sequence[str] | None = None, verify: bool = False) -> Dataset:
    """Read a data set that was written by :func:`save_npz`, or by ``np.savez`` with the same names.

    A file with the short names ``X``, ``y`` and ``S`` (class vectors) is read as well. There ``y`` counts the rows of
    ``S`` from 0; ``names`` may name the classes. ``part`` has a number for each sample: the lowest is "train", the
    highest "test_seen", and one between them "val". Samples of the highest part are "test_unseen" if their class has no
    other samples or is in ``unseen``, an array of class numbers. Without ``part`` and ``unseen`` all samples are
    "train".

    Parameters
    ----------
    path : str or Path
    class_vectors : str or sequence of str, optional
        For a file with short names: the array of class vectors in place of ``S``, or several to join
        (:meth:`jcmspl.ClassTable.joined`).
    verify : bool, default False
        Whether to read mapped features once and compare them with their checksum, which finds any damage. Checksums of
        all other arrays are always compared.

    Returns
    -------
    Dataset
        Its features are mapped into memory unless the file is compressed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from jcmspl.datasets import load_npz, make_zsl, save_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(make_zsl(), Path(folder, "made_up.npz"))
    ...     print(load_npz(Path(folder, "made_up.npz")).n_samples)
    1000
    """
    reader = NpzReader(Path(path))
    there = reader.names()
    if "features" not in there and {"X", "y"} <= set(there):
        return _with_short_names(reader, class_vectors, verify)
    if class_vectors is not None:
        raise DatasetError(
            f"{path} has no arrays X and y, so that its class vectors cannot be chosen: leave class_vectors out"
        )
    if "features" in there and "class_vectors" not in there:
        raise DatasetError(
            f"{path} holds features alone: give the class vectors as well, with --classes FILE (in Python: load_arrays)"
        )
    require_keys(reader.path, _WANTED, there)
    with about(reader.path):
        shape = reader.shape("features")
        n_samples = shape[0] if len(shape) == 2 else None
        labels = reader.array("labels", n_samples)
        parts = {part: reader.array(part, n_samples) for part in PARTS if part in there}
        name, source = (str(reader.array(key)) if key in there else "" for key in ("name", "source"))
        X = reader.mapped("features", verify)
        title, source = name or reader.path.stem, source or str(reader.path)
        return Dataset(title, X, labels, reader.classes(), parts, source, *reader.ids(len(X)))


def _with_short_names(reader: NpzReader, class_vectors: str | Sequence[str] | None, verify: bool) -> Dataset:
    """Read a file with the arrays X, y and S."""
    there = reader.names()
    chosen = [class_vectors or "S"] if class_vectors is None or isinstance(class_vectors, str) else list(class_vectors)
    require_keys(reader.path, chosen, there)
    with about(reader.path):
        X = reader.mapped("X", verify)
        y = _class_numbers(reader, "y", len(X))
        vectors = {name: reader.array(name) for name in chosen}
        n_classes = len(vectors[chosen[0]])
        labels = reader.array("names") if "names" in there else np.arange(n_classes)
        tables: dict[str, Any] = {name: ClassTable(labels, array) for name, array in vectors.items()}
        classes: ClassTable = tables[chosen[0]] if len(tables) == 1 else ClassTable.joined(**tables)
        if (strangers := y[(y < 0) | (y >= n_classes)]).size:
            raise DatasetError(
                f"y holds the class {strangers[0]}, but {chosen[0]} has {n_classes} rows, which count from 0"
            )
        parts = _parts_of(X, y, reader)
        return Dataset(reader.path.stem, X, classes.labels[y], classes, parts, str(reader.path), *reader.ids(len(X)))


def _parts_of(X: npt.NDArray[Any], y: npt.NDArray[Any], reader: NpzReader) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of each part of a file with short names."""
    there = reader.names()
    part = np.zeros(len(X), dtype=np.int64)
    if "part" in there:
        part = _class_numbers(reader, "part", len(X))
    numbers = np.unique(part).tolist()
    if len(numbers) > 3:
        raise DatasetError(
            f"part holds the numbers {listed(map(str, numbers))}, but there may be three at most: for training, "
            "validation and testing"
        )
    of = dict(zip(numbers, {1: ["train"], 2: ["train", "test_seen"]}.get(len(numbers), [*PARTS[:3]]), strict=True))
    is_test = part == numbers[-1]
    seen = y[~is_test] if len(numbers) > 1 else y
    unseen = ~np.isin(y, seen)
    if "unseen" in there:
        unseen |= np.isin(y, reader.array("unseen"))
    parts = {name: np.flatnonzero((part == number) & ~unseen) for number, name in of.items()}
    return {**parts, "test_unseen": np.flatnonzero(unseen & is_test)}


def _class_numbers(reader: NpzReader, name: str, n_samples: int) -> npt.NDArray[np.int64]:
    """Read an array with an integer for each sample."""
    array = reader.array(name, n_samples)
    if array.shape != (n_samples,) or array.dtype.kind not in "iu":
        raise DatasetError(
            f"{name} must have an integer for each of {n_samples} samples, but is {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)


def _plain(labels: LabelArray) -> LabelArray:
    """Return labels as an array without objects."""
    plain = label_array(labels.tolist())
    if plain.dtype.kind not in "Uiufb":
        raise DatasetError("labels must all be text or all be numbers to be saved, but these are mixed")
    return plain


class NpzReader:
    """The arrays in a .npz file, each read or mapped on demand."""

    def __init__(self, path: Path) -> None:
        require_file(path)
        self.path = path
        with decoding(path, _KIND), zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            self._members = {info.filename.removesuffix(".npy"): info for info in members}
            self._ends = sorted([*(info.header_offset for info in members), archive.start_dir])

    def names(self) -> list[str]:
        """Return the names of the arrays."""
        return list(self._members)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        with self._opened(name) as (_, header):
            return header.shape

    def array(self, name: str, most: int | None = None) -> npt.NDArray[Any]:
        """Read an array and compare its checksum; one with more than `most` rows, one for each sample, is refused."""
        with self._opened(name) as (member, header):
            require_at_most(f"{self.path}: {name}", header.shape[0] if header.shape else 1, most, "samples")
            require_memory(self.path, name, header.n_bytes)
            array = header.read(member)
        require_characters(self.path, array, _KIND)
        return array

    def mapped(self, name: str, verify: bool = False) -> npt.NDArray[Any]:
        """Map an array into memory, or read it if it is compressed; `verify`: compare the checksum of a mapped one."""
        info = self._members[name]
        if info.compress_type != zipfile.ZIP_STORED:
            return self.array(name)
        with self._opened(name) as (member, header):
            start = self._start(info) + member.tell()
            while verify and member.read(CHUNK_BYTES):
                pass  # the checksum is compared at the end of a member
            return header.mapped(self.path, start)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], Header]]:
        """Open a member and read its header; the member must be exactly as large as the header says."""
        info = self._members[name]
        with decoding(self.path, _KIND), zipfile.ZipFile(self.path) as archive, archive.open(info) as member:
            require_stored(self.path, name, info.file_size, info.compress_size)
            yield member, read_header(member, self.path, name, info.file_size)

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Return the first byte of a stored member, which must end before the next entry of the file."""
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            name_size, extra_size = struct.unpack("<HH", file.read(30)[26:])
        start: int = info.header_offset + 30 + name_size + extra_size
        end = self._ends[bisect.bisect(self._ends, info.header_offset)]
        if info.compress_size != info.file_size or start + info.file_size > end:
            raise DatasetError(f"{self.path} is damaged: {info.filename} reaches into what is stored after it")
        return start

    def ids(self, n_samples: int, wanted: str | None = None) -> tuple[LazyIds | None, str]:
        """Return the ids of samples, None if there is no array of ids, and the name of an id."""
        there = self.names()
        if wanted is not None and wanted not in there:
            raise DatasetError(f"{self.path} has no array {quoted(wanted)}: it holds {listed(there)}")
        name = wanted or next((name for name in ID_COLUMNS if name in there), None)
        if name is None or (wanted is None and self.shape(name) != (n_samples,)):
            return None, "id"
        if self.shape(name) != (n_samples,):
            raise DatasetError(
                f"{self.path}: {name} has the shape {self.shape(name)}, but there are {n_samples:,} samples"
            )
        called = str(self.array("id_name")) if "id_name" in there else name.removesuffix("s")
        return LazyIds(n_samples, lambda: as_ids(self.array(name, n_samples).tolist())), called

    def classes(self) -> ClassTable:
        """Read the class vectors, and the names of classes and attributes."""
        attributes = self.array("attribute_names").tolist() if "attribute_names" in self.names() else None
        return ClassTable(self.array("class_names"), self.array("class_vectors"), attributes)


def write_arrays(
    file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], chunks: Iterable[npt.NDArray[Any]], **arrays: Any
) -> None:
    """Write "features" from chunks of rows, one in memory at a time, and other arrays."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        name = "features.npy"
        info = zipfile.ZipInfo(name)
        # The local header has 30 bytes, the name, this field, and 20 bytes of 64-bit sizes.
        padding = -(30 + len(name) + 4 + 20) % _ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        with archive.open(info, "w", force_zip64=True) as member:
            header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            npy.write_array_header_1_0(member, header)
            for chunk in chunks:
                member.write(np.ascontiguousarray(chunk, dtype=dtype).data.cast("B"))
        for key, value in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(value), allow_pickle=False)
