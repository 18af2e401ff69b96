"""Data sets as dask arrays: workers read files themselves; rows in memory are sent to them."""

from __future__ import annotations

import itertools
import math
import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.reading import floats
from jcmspl.data.tasks import Literal
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.imputation import ImputedRows, filled
from jcmspl.datasets.row_source import RowSource
from jcmspl.support.arguments import LazyRows

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


def dataset_on_dask(dataset: Dataset, n_workers: int) -> Dataset:
    """Return a data set whose features are a dask array."""
    return replace(dataset, X=rows_on_dask(dataset.X, n_workers))


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
