"""Rows of features that need not be in memory: ids read on demand, imputation of missing values, dask arrays."""

from __future__ import annotations

import itertools
import math
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from jcmspl.data.reading import floats
from jcmspl.data.tasks import Literal
from jcmspl.datasets.errors import DatasetError
from jcmspl.support.arguments import Float64Array, IntArray, LazyRows, one_of
from jcmspl.support.names import IMPUTATIONS


class RowSource(Protocol):
    """Rows of features: an array, a memory map, or any object that reads rows on demand."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_samples, n_features)."""
        ...

    @property
    def dtype(self) -> Any:
        """The type of the features."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


class LazyIds(Sequence[str]):
    """Ids of samples, read when the first is needed: training does without."""

    def __init__(self, count: int, read: Callable[[], list[str]]) -> None:
        self._count, self._read = count, read

    @cached_property
    def _texts(self) -> list[str]:
        texts = self._read()
        if len(texts) != self._count:
            raise DatasetError(f"there are {len(texts)} ids where {self._count} were announced")
        return texts

    def __reduce__(self) -> tuple[type[list[str]], tuple[list[str]]]:
        return list, (self._texts,)  # another machine may not have the file

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._texts[index]


def as_ids(values: Iterable[Any]) -> list[str]:
    """Return ids as texts; a missing one is empty."""
    return ["" if value is None else str(value) for value in values]


_ROWS = 8192  # read at a time


@dataclass(frozen=True, eq=False)
class Imputation:
    """Replacements of missing values; numbers of missing ones, and of features and samples read that have any."""

    how: str  #: "mean", "zero", or "given": the values come from elsewhere, such as a model
    values: Float64Array
    n_values: int = 0
    n_features: int = 0
    n_samples: int = 0

    @classmethod
    def of(cls, X: RowSource, rows: IntArray, how: str) -> Imputation:
        """Read some samples once; for the mean, they should be the training samples."""
        one_of(how, "impute", IMPUTATIONS)
        sums, counts = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=np.int64)
        n_samples = 0
        for first in range(0, len(rows), _ROWS):
            block = np.asarray(X[rows[first : first + _ROWS]], dtype=np.float64)
            missing = np.isnan(block)
            block = np.where(missing, 0.0, block)
            sums += block.sum(axis=0)
            counts += (~missing).sum(axis=0)
            n_samples += int(missing.any(axis=1).sum())
        empty = np.flatnonzero(counts == 0)
        if how == "mean" and len(empty):
            raise DatasetError(
                f"the feature {empty[0] + 1} (of {X.shape[1]}, from 1 on) has no value in any of the {len(rows):,} "
                f"training samples, so it has no mean ({len(empty)} such features in all): leave it out (ignore, "
                "--ignore), or impute zero"
            )
        values = sums / counts if how == "mean" else np.zeros(X.shape[1])
        absent = len(rows) - counts
        return cls(how, values, int(absent.sum()), int((absent > 0).sum()), n_samples)

    def __str__(self) -> str:
        by = {"mean": "by means of the training samples", "zero": "by zero"}.get(self.how, "by those of the model")
        return (
            f"{self.n_values:,} missing values, in {self.n_samples:,} of the training samples and {self.n_features:,} "
            f"of the features, are replaced {by}"
        )


class ImputedRows(LazyRows):
    """Rows whose missing values are replaced as they are read.

    ``n_imputed`` counts the values replaced so far; a row that is read again does not count again.
    """

    def __init__(self, source: RowSource, values: Float64Array) -> None:
        dtype = np.dtype(source.dtype)
        self.source, self.values = source, values
        self.shape, self.dtype = tuple(source.shape), dtype
        self.n_imputed = 0
        self._counted = np.zeros(len(source), dtype=bool)

    def _read(self, rows: IntArray) -> npt.NDArray[Any]:
        whole_run = len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows)
        block = np.asarray(self.source[int(rows[0]) : int(rows[-1]) + 1] if whole_run else self.source[rows])
        missing = np.isnan(block).sum(axis=1)
        self.n_imputed += int(missing[~self._counted[rows]].sum())
        self._counted[rows] = True
        return filled(block, self.values)

    def bounds(self) -> list[tuple[int, int]]:
        """Return (first row, row after the last) of each file."""
        return self.source.bounds() if hasattr(self.source, "bounds") else [(0, len(self))]

    @property
    def shards(self) -> Any:
        """The files that hold the rows."""
        return self.source.shards  # type: ignore[attr-defined]


def filled(block: npt.NDArray[Any], values: Float64Array) -> npt.NDArray[Any]:
    """Return rows with missing values replaced, not copied if there are none."""
    missing = np.isnan(block) if block.dtype.kind == "f" else np.zeros(0, dtype=bool)
    return np.where(missing, values.astype(block.dtype), block) if missing.any() else block


def imputed(X: RowSource, values: Any) -> RowSource:
    """Return features whose missing values are replaced by these."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (X.shape[1],):
        raise DatasetError(f"there are {values.size} values to impute, but {X.shape[1]} features")
    return ImputedRows(X, values) if np.dtype(X.dtype).kind == "f" else X


# The most bytes and the fewest rows of a partition.
_MOST_BYTES, _LEAST_ROWS = 2**26, 1024


class MappedFile:
    """A memory map that another process can open again."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.path = Path(str(array.filename))  # absolute: workers run in other folders
        self.start, self.shape, self.dtype = array.offset, array.shape, array.dtype
        self.order = "C" if array.flags.c_contiguous else "F"
        self.size = self.path.stat().st_size

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        """Return some rows of the file as a memory map."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise FileNotFoundError(
                f"a worker of the cluster cannot read {self.path} ({error.strerror}): put it where all workers find it"
            ) from None
        if size != self.size:
            raise ValueError(f"{self.path} has {self.size:,} bytes here, but {size:,} where a worker reads it")
        order: Any = self.order
        whole: npt.NDArray[Any] = np.memmap(self.path, self.dtype, "r", self.start, self.shape, order)
        return whole[rows]


def rows_on_dask(X: RowSource, n_workers: int = 1) -> Any:
    """Return features as a dask array of ranges of rows, each within one file.

    Workers read the rows if X stands for files; rows in memory are sent.
    """
    import dask.array as da
    from dask import delayed

    if isinstance(X, ImputedRows):
        return rows_on_dask(X.source, n_workers).map_blocks(filled, X.values)
    n, m = X.shape
    dtype = floats(np.asarray(X[:1])).dtype
    most = min(_MOST_BYTES // (m * dtype.itemsize), max(_LEAST_ROWS, math.ceil(n / (4 * n_workers)))) or 1
    source = _files_of(X)
    file = None if source is None else delayed(Literal(source), pure=False, traverse=False)
    blocks = []
    for first, end in list(_ranges(X, most)) or [(0, 0)]:
        given = (file, first, end) if file is not None else (Literal(floats(np.asarray(X[first:end]))), 0, end - first)
        piece = delayed(_read, pure=False, traverse=False)(*given)
        blocks.append(da.from_delayed(piece, (end - first, m), dtype=dtype, meta=np.empty((0, 0), dtype=dtype)))
    return da.concatenate(blocks)


def _files_of(X: RowSource) -> Any:
    """Return a source that workers can slice rows from; None if the rows are in the memory of this process."""
    # changes to a map of mode "c" are only in memory
    if isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.mode != "c":
        return MappedFile(X)
    return X if isinstance(X, LazyRows) else None


def _ranges(X: RowSource, most: int) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of about equal size, each within one file."""
    bounds = X.bounds() if hasattr(X, "bounds") else [(0, X.shape[0])]
    for start, stop in bounds:
        n_parts = math.ceil((stop - start) / most)
        edges = np.linspace(start, stop, n_parts + 1).astype(int).tolist() if n_parts else []
        yield from itertools.pairwise(edges)


def _read(source: Literal, first: int, end: int) -> npt.NDArray[Any]:
    return floats(source.value[first:end])
