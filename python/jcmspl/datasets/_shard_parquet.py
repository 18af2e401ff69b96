"""Shards in parquet files: a column for each feature, and perhaps one of labels."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._shard import require_features, require_unchanged
from jcmspl.datasets._tables import PARQUET, number_columns, open_parquet, rows_of_parquet
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.io.places import Place, size_of
from jcmspl.support.arguments import IntArray
from jcmspl.support.shown import quoted

_BATCH = 4096  # rows that are decoded at a time


@dataclass(frozen=True)
class ParquetShard:
    """The columns of numbers of a parquet file."""

    path: Place
    columns: tuple[str, ...]
    label_column: str | None
    dtype: np.dtype[Any]
    group_ends: tuple[int, ...]  #: the number of rows up to the end of each row group
    n_bytes: int

    @classmethod
    def of(cls, path: Place, label_columns: Sequence[str]) -> ParquetShard:
        """Look at a file; the first of the label columns that it has holds no feature."""
        with open_parquet(path) as file:
            there = file.schema_arrow.names
            label = next((name for name in label_columns if name in there), None)
            columns, types = number_columns(path, file, label)
            floats = all(type_.kind == "f" for type_ in types)
            dtype = np.result_type(*types) if floats and types else np.dtype(np.float64)
            n_rows = rows_of_parquet(path, file.metadata)
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        require_features(path, (n_rows, len(columns)), dtype)
        return cls(path, tuple(columns), label, dtype, tuple(accumulate(sizes)), _bytes_of(path))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.group_ends[-1] if self.group_ends else 0, len(self.columns)

    def read(self, rows: IntArray, kept: Any = None) -> tuple[npt.NDArray[Any], Any]:
        """Return rows, in ascending order."""
        result = np.empty((len(rows), len(self.columns)), self.dtype)
        cursor = kept or _Cursor(self)
        done = 0
        while done < len(rows):
            block, start = cursor.block_with(int(rows[done]))
            stop = int(np.searchsorted(rows, start + len(block)))
            result[done:stop] = block[rows[done:stop] - start]
            done = stop
        return result, cursor


def _bytes_of(path: Place) -> int:
    with path.open("rb") as file:
        return size_of(file)


class _Cursor:
    """A parquet file that is being read: it can only be decoded from the start of a group of rows on.

    Whoever reads on where the last read ended has nothing decoded twice, however large the groups are.
    """

    def __init__(self, shard: ParquetShard) -> None:
        self._shard = shard
        require_unchanged(shard.path, shard.n_bytes, _bytes_of(shard.path), "bytes")
        self._file = open_parquet(shard.path)
        self._restart(0)

    def block_with(self, row: int) -> tuple[npt.NDArray[Any], int]:
        """Return a block that has this row in it, and the number of its first row."""
        group = self._group_of(row)
        if row < self._start or group > self._group_of(self._stop):
            self._restart(group)
        while self._stop <= row:
            self._advance()
        return self._block, self._start

    def _group_of(self, row: int) -> int:
        return bisect.bisect_right(self._shard.group_ends, row)

    def _restart(self, group: int) -> None:
        ends = self._shard.group_ends
        self._start = self._stop = ends[group - 1] if group else 0
        self._block = np.empty((0, len(self._shard.columns)), self._shard.dtype)
        with decoding(self._shard.path, PARQUET):
            groups = list(range(group, len(ends)))
            self._batches = self._file.iter_batches(_BATCH, row_groups=groups, columns=list(self._shard.columns))

    def _advance(self) -> None:
        shard = self._shard
        with decoding(shard.path, PARQUET):
            batch = next(self._batches, None)
            if batch is None:
                raise DatasetError(f"{shard.path} is damaged: of {shard.shape[0]:,} rows {self._stop:,} are there")
            block = np.empty((batch.num_rows, len(shard.columns)), shard.dtype)
            for i, name in enumerate(shard.columns):
                column = batch.column(name)
                if column.null_count:
                    row = self._stop + column.is_null().to_pylist().index(True)
                    raise DatasetError(f"{shard.path}: row {row} has no value in the column {quoted(name)}")
                block[:, i] = column.to_numpy(zero_copy_only=False)
        self._start, self._stop, self._block = self._stop, self._stop + len(block), block
