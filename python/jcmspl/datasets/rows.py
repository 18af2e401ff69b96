"""The rows of many files as one matrix, read on demand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import LabelArray, label_array
from jcmspl.datasets.columns import LABEL_COLUMNS, Column, TableForm
from jcmspl.datasets.errors import DatasetError, not_a_table, require_features, require_memory
from jcmspl.datasets.npy import NpyShard
from jcmspl.datasets.parquet import ParquetShard, read_parquet_column
from jcmspl.datasets.row_source import as_ids, rows_on_dask
from jcmspl.datasets.zarr_array import ZarrShard, is_zarr
from jcmspl.io.files import WILDCARDS, Address, Place, matches, missing, natural_order, place_of
from jcmspl.support.arguments import IntArray, LazyRows
from jcmspl.support.shown import listed, quoted

#: The kinds of files whose rows are read on demand.
KINDS = (".npy", ".parquet", ".zarr")
#: Folders of clip-retrieval: embeddings, and tables about the samples.
EMBEDDINGS, METADATA = "img_emb", "metadata"
# Longer numbers in names are dates, or not numbers at all.
_LONGEST_NUMBER = 7


def holds_rows(path: str | Path) -> bool:
    """Whether a path stands for rows of many files: an address, a pattern, a zarr array or a folder of files."""
    place = place_of(path)
    if isinstance(place, Address):
        return True
    if place.is_dir():
        return is_zarr(place) or (place / EMBEDDINGS).is_dir() or any(_rows_in(place).values())
    return not place.exists() and any(wildcard in str(path) for wildcard in WILDCARDS)


def files_of(path: str | Path | Iterable[str | Path] | Place) -> list[Place]:
    """Return the files that a path stands for, in order; a gap in their numbers is refused."""
    if not isinstance(path, (str, Path, Address)):
        given = [place_of(item) for item in path]
        if not given:
            raise DatasetError("the list of files is empty")
        return given
    place = place_of(path)
    if place.is_dir():
        return [place] if is_zarr(place) else _files_in(place)
    if place.exists() or not any(wildcard in str(path) for wildcard in WILDCARDS):
        return [place]
    found = matches(place)
    if not found:
        raise FileNotFoundError(f"no file matches {place}")
    _require_all(found, from_start=False)
    return found


def _files_in(folder: Place) -> list[Place]:
    inner = folder / EMBEDDINGS
    if inner.is_dir():
        folder = inner
    kinds = {kind: files for kind, files in _rows_in(folder).items() if files}
    if len(kinds) != 1:
        found = " and ".join(f"{len(files)} {kind} files" for kind, files in kinds.items())
        hint = "name the files to read, with wildcards" if kinds else f"{', '.join(KINDS)} files are expected"
        raise DatasetError(f"{folder} holds {found or 'no files of features'}: {hint}")
    (files,) = kinds.values()
    _require_all(files, from_start=True)
    return files


def _rows_in(folder: Place) -> dict[str, list[Place]]:
    items = sorted((item for item in folder.iterdir() if not item.name.startswith(".")), key=natural_order)
    return {kind: [item for item in items if item.suffix == kind] for kind in KINDS}


def _require_all(files: Sequence[Place], *, from_start: bool) -> None:
    """Refuse files, in natural order, whose numbers have gaps; `from_start`: numbers must begin with 0 or 1."""
    numbers = _numbers([file.name for file in files])
    if numbers is None:
        return
    advice = "add what is missing, or give a list of files to open_rows if these are all"
    for i in range(1, len(files)):
        if numbers[i] == numbers[i - 1]:
            raise DatasetError(f"{files[i]} has the same number as {files[i - 1]}: which of them is meant?")
        if numbers[i] > numbers[i - 1] + 1:
            raise DatasetError(
                f"{files[i]} follows {files[i - 1]}, so the files with the numbers {numbers[i - 1] + 1} to "
                f"{numbers[i] - 1} are missing: {advice}"
            )
    if from_start and numbers[0] > 1:
        raise DatasetError(f"{files[0]} is the first file, so those before number {numbers[0]} are missing: {advice}")
    count = re.search(r"-of-(\d+)", files[-1].name)  # as in train-00000-of-00010.parquet
    if count and numbers[-1] + 1 < int(count[1]):
        raise DatasetError(f"{files[-1]} is the last file, but there should be {int(count[1])}: {advice}")


def _numbers(names: Sequence[str]) -> list[int] | None:
    """Return the numbers of names that differ in one number only; else None."""
    pieces = [re.split(r"(\d+)", name) for name in names]
    if len({tuple(words[::2]) for words in pieces}) > 1:
        return None
    columns = list(zip(*(words[1::2] for words in pieces), strict=True))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(names) == 1:
        varying = columns[:1]  # a single file, but perhaps not the first
    if len(varying) != 1 or any(len(number) > _LONGEST_NUMBER for number in varying[0]):
        return None
    return [int(number) for number in varying[0]]


#: A file of rows. ``read(rows, kept)`` returns rows, given in ascending order, and state that speeds up the next read
#: of the shard, which gets it as `kept`. A shard holds no open file, so that it can be pickled.
Shard = NpyShard | ParquetShard | ZarrShard


def open_rows(
    path: str | Path | Iterable[str | Path], *, label_columns: str | Sequence[str] = LABEL_COLUMNS
) -> ShardedRows:
    """Open files of features as one matrix whose rows are read on demand.

    ``fit``, ``partial_fit``, ``predict``, ``score`` and the like take it like an array, and read a block at a time.
    Slices, lists of row numbers and masks give arrays, in the type of the files.

    Parameters
    ----------
    path : str, Path, or iterable of them
        A ``.npy`` or ``.parquet`` file or a zarr array; a name with wildcards (``"features-*.npy"``); a folder of such
        files, or one that has them in ``img_emb``, as clip-retrieval writes it. Files are ordered by the numbers in
        their names, which must have no gaps; a list keeps its order. Addresses (``s3://...``) need fsspec.
    label_columns : str or sequence of str, default ("label", "labels", "class", "y")
        Parquet: the first of these columns that exists holds labels (:func:`read_labels`). If a column holds a vector
        in each row, its numbers are the features; otherwise all other columns are, except those named like labels or
        ids ("path", "url" and the like; :meth:`ShardedRows.ids`).

    Returns
    -------
    ShardedRows

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from jcmspl.datasets import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in range(3):
    ...         np.save(f"{folder}/features-{number}.npy", np.full((2, 4), number, dtype=np.float16))
    ...     X = open_rows(f"{folder}/features-*.npy")
    ...     X
    ...     X[1:5].mean(axis=1)
    <ShardedRows: 6 rows x 4 columns, float16, in 3 files>
    array([0., 1., 1., 2.], dtype=float16)
    """
    return opened_rows(path, label_columns, TableForm())


def opened_rows(
    path: str | Path | Iterable[str | Path], label_columns: str | Sequence[str], form: TableForm
) -> ShardedRows:
    """Open files as :func:`open_rows` does; `form` tells about other columns and missing values."""
    names = (label_columns,) if isinstance(label_columns, str) else tuple(label_columns)
    # absolute: the process may change its folder between reads, and workers may have other folders
    return ShardedRows([_shard(file.absolute(), names, form) for file in files_of(path)], missing=form.missing)


def read_labels(path: str | Path | Iterable[str | Path], column: str | None = None) -> LabelArray:
    """Read the labels of samples from files, in the order of :func:`open_rows`.

    Parameters
    ----------
    path : str, Path, or iterable of them
        Parquet files, such as the folder ``metadata`` of clip-retrieval, or ``.npy`` files of labels.
    column : str, optional
        The column of parquet files that holds the labels.

    Returns
    -------
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from jcmspl.datasets import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "labels-0.npy"), ["zebra", "otter"])
    ...     np.save(Path(folder, "labels-1.npy"), ["lynx"])
    ...     print(read_labels(Path(folder, "labels-*.npy")))
    ['zebra' 'otter' 'lynx']
    """
    return label_array([label for file in files_of(path) for label in _labels_in(file, column)])


class ShardedRows(LazyRows):
    """The rows of several files, one below the other, read on demand (see :func:`open_rows`).

    It can be copied, pickled and used by several processes: it holds paths, and open files only as a cache. Rows with
    NaN or infinity are refused when they are read, with the name of the file.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_features)
    dtype : numpy.dtype
    columns : tuple of str, or None
        The names of the features, if the files are tables.
    shards : tuple
        The files, each with ``path``, ``shape`` and ``dtype``.
    """

    def __init__(self, shards: Sequence[Shard], *, missing: bool = False) -> None:
        first = next((shard for shard in shards if shard.shape[1]), shards[0])
        require_features(first.path, first.shape, first.dtype)
        for shard in shards:
            _require_alike(first, shard)
        self.shards = tuple(shards)
        self._missing = missing  # whether values may be missing (NaN)
        self.dtype = first.dtype
        self.columns: tuple[str, ...] | None = getattr(first, "columns", None)
        #: Names of labels that are numbers from 0, if the files carry them.
        self.label_names: tuple[str, ...] = first.found.label_names if isinstance(first, ParquetShard) else ()
        self._ends = np.cumsum([shard.shape[0] for shard in shards])
        self._starts = self._ends - [shard.shape[0] for shard in shards]
        self.shape = int(self._ends[-1]), first.shape[1]
        self._kept: list[tuple[int, Any]] = []  # at most one (number of a shard, state of its last read)

    def to_dask(self) -> Any:
        """Return the rows as a dask array whose workers read the files themselves (needs ``jcmspl[dask]``).

        All workers must find the files under the same paths.
        """
        return rows_on_dask(self)

    def bounds(self) -> list[tuple[int, int]]:
        """Return (first row, row after the last) of each file."""
        return list(zip(self._starts.tolist(), self._ends.tolist(), strict=True))

    def metadata(self) -> Place | None:
        """Return the folder of tables about the samples, beside that of the rows, as clip-retrieval writes it."""
        folder = self.shards[0].path.parent.parent / METADATA
        return folder if folder.is_dir() else None

    def labels(self, column: str | None = None) -> LabelArray:
        """Read a column of labels from the parquet files themselves or from those in the folder ``metadata``.

        Parameters
        ----------
        column : str, optional
            By default the column of labels of the files.
        """
        first = self.shards[0]
        if isinstance(first, ParquetShard):
            own = column or first.found.label
            if own is None:
                raise DatasetError(f"{self.shards[0].path} has no column of labels: name it, or the file that has them")
            files = [shard.path for shard in self.shards]
        else:
            own, folder = column, self.metadata()
            if own is None or folder is None:
                choice = f"the column of labels in {folder}, or " if folder else ""
                raise DatasetError(f"{self.shards[0].path} has no labels: name {choice}the file that has them")
            files = files_of(folder)
        return label_array(self._values_of(files, own))

    def ids(self, column: Column | None = None) -> tuple[str, list[str]] | None:
        """Read the column of ids from the files themselves or from those in the folder ``metadata``.

        Parameters
        ----------
        column : str, optional
            By default a column of the parquet files with a usual name, such as "path".

        Returns
        -------
        name : str
        ids : list of str
            None instead of both if there is no such column.
        """
        first, folder = self.shards[0], self.metadata()
        own = first.found.id if isinstance(first, ParquetShard) else None
        if own is not None and (column is None or column == own or str(column).isdecimal()):
            return own, as_ids(self._values_of([shard.path for shard in self.shards], own, missing=True))
        if column is None:
            return None
        if folder is None:
            raise DatasetError(f"{self.shards[0].path} has no column of ids {quoted(column)}")
        return str(column), as_ids(self._values_of(files_of(folder), str(column), missing=True))

    def _values_of(self, files: list[Place], column: str, *, missing: bool = False) -> Iterator[Any]:
        if len(files) != len(self.shards):
            raise DatasetError(
                f"{files[0].parent} has {len(files)} files, but there are {len(self.shards)} of features in "
                f"{self.shards[0].path.parent}"
            )
        for file, shard in zip(files, self.shards, strict=True):
            labels = _labels_in(file, column, missing=missing)
            if len(labels) != shard.shape[0]:
                raise DatasetError(f"{file} has {len(labels):,} rows, but {shard.path} has {shard.shape[0]:,}")
            yield from labels

    def _read(self, rows: IntArray) -> npt.NDArray[Any]:
        n_bytes = len(rows) * self.shape[1] * self.dtype.itemsize
        require_memory(self.shards[0].path, f"a block of {len(rows):,} rows", n_bytes)
        blocks = [np.empty((0, self.shape[1]), self.dtype)]
        done = 0
        while done < len(rows):
            number = int(np.searchsorted(self._ends, rows[done], side="right"))
            stop = int(np.searchsorted(rows, self._ends[number]))
            blocks.append(self._read_shard(number, rows[done:stop] - self._starts[number]))
            done = stop
        return blocks[-1] if len(blocks) < 3 else np.concatenate(blocks, dtype=self.dtype)

    def _read_shard(self, number: int, rows: IntArray) -> npt.NDArray[Any]:
        before, kept = self._take_kept()
        shard = self.shards[number]
        block, kept = shard.read(rows, kept if before == number else None)
        self._kept[:] = [(number, kept)]
        finite = ~np.isinf(block) if self._missing else np.isfinite(block)
        if not finite.all():
            row = int(rows[np.argmin(finite.all(axis=1))])
            raise DatasetError(f"{shard.path}: row {row} holds NaN or infinity: remove or replace such values")
        return block

    def _take_kept(self) -> tuple[int, Any]:
        """Take the state of the last read away: a second thread must not use it, too."""
        try:
            return self._kept.pop()
        except IndexError:
            return -1, None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": []}

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, in {len(self.shards)} file{'s' if len(self.shards) > 1 else ''}>"


def _shard(file: Place, label_columns: Sequence[str], form: TableForm) -> Shard:
    if file.suffix == ".parquet":
        return ParquetShard.of(file, label_columns, form)
    if form.ignore:
        raise not_a_table(file)
    if file.suffix == ".npy":
        shard = NpyShard.of(file)
        require_features(file, shard.shape, shard.dtype)
        return shard
    if file.is_dir() and is_zarr(file):
        return ZarrShard.of(file)
    if not file.exists():
        raise missing(file)
    raise DatasetError(f"{file} is of an unknown kind: rows are read from {', '.join(KINDS)} files")


def _require_alike(first: Shard, other: Shard) -> None:
    """Refuse files of different shapes, types or columns."""
    if other.shape[1] != first.shape[1] and other.shape != (0, 0):  # (0, 0): a column of vectors without rows
        raise DatasetError(f"{other.path} has {other.shape[1]} columns, but {first.path} has {first.shape[1]}")
    if other.dtype != first.dtype:
        raise DatasetError(
            f"{other.path} holds {other.dtype}, but {first.path} holds {first.dtype}: write them again in one type"
        )
    names, own = (getattr(shard, "columns", None) for shard in (first, other))
    if names and own and names != own:
        different = [quoted(name) for name, there in zip(own, names, strict=True) if name != there]
        raise DatasetError(
            f"{other.path} has other columns than {first.path}, or in another order: {listed(different)}"
        )


def _labels_in(file: Place, column: str | None, *, missing: bool = False) -> Sequence[Any]:
    if file.suffix == ".parquet":
        if column is None:
            raise DatasetError(f"{file} is a table: name the column that holds the labels")
        return read_parquet_column(file, column, missing=missing)
    if file.suffix != ".npy":
        raise DatasetError(f"{file} is of an unknown kind: labels are read from .npy and .parquet files")
    array = NpyShard.of(file).whole()
    if array.ndim != 1:
        raise DatasetError(f"{file} has the shape {array.shape}, but one label for each sample is expected")
    labels: Sequence[Any] = array.tolist()
    return labels
