"""Shards in parquet files: a column for each feature, or one of vectors, and perhaps one of labels."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._columns import ID_COLUMNS, TableForm, position_of
from jcmspl.datasets._parquet_rows import batches_of, group_sizes
from jcmspl.datasets._shard import require_features, require_unchanged
from jcmspl.datasets._tables import (
    PARQUET,
    columns_of_parquet,
    numbers_of_column,
    open_parquet,
    vector_column,
)
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.io.paths import Place, size_of
from jcmspl.support.arguments import IntArray
from jcmspl.support.shown import quoted


@dataclass(frozen=True)
class ParquetShard:
    """The columns of numbers of a parquet file, or its column of vectors, beside which no other is looked at."""

    path: Place
    columns: tuple[str, ...]
    vector_length: int | None  #: of a column of vectors; 0 if there are no rows to tell it
    label_column: str | None
    id_column: str | None
    dtype: np.dtype[Any]
    group_ends: tuple[int, ...]  #: the number of rows up to the end of each row group
    n_bytes: int
    form: TableForm

    @classmethod
    def of(cls, path: Place, label_columns: Sequence[str], form: TableForm) -> ParquetShard:
        """Look at a file; the first of the label columns that it has holds no feature."""
        with open_parquet(path) as file:
            there = [str(name) for name in file.schema_arrow.names]
            label = next((name for name in label_columns if name in there), None)
            if isinstance(form.id_column, str) and form.id_column not in there and not form.id_column.isdecimal():
                form = replace(form, id_column=None)  # it may be in the tables beside the features
            vectors = vector_column(path, file, (label, *(str(name) for name in form.ignore)))
            if vectors is None:
                names, roles, types = columns_of_parquet(path, file, label, form)
                columns = [names[i] for i in roles.features]
                own_id = None if roles.id is None else names[roles.id]
            else:
                columns, types = [vectors[0]], [vectors[2]]
                own_id = _id_beside_vectors(path, there, form, vectors[0])
            floats = all(type_.kind == "f" for type_ in types)
            dtype = np.result_type(*types) if floats and types else np.dtype(np.float64)
            sizes = group_sizes(path, file.metadata)
        length = None if vectors is None else vectors[1]
        if sum(sizes) or length != 0:
            require_features(path, (sum(sizes), len(columns) if length is None else length), dtype)
        ends = tuple(accumulate(sizes))
        return cls(path, tuple(columns), length, label, own_id, dtype, ends, _bytes_of(path), form)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        width = len(self.columns) if self.vector_length is None else self.vector_length
        return self.group_ends[-1] if self.group_ends else 0, width

    def read(self, rows: IntArray, kept: Any = None) -> tuple[npt.NDArray[Any], Any]:
        """Return rows, in ascending order."""
        result = np.empty((len(rows), self.shape[1]), self.dtype)
        cursor = kept or _Cursor(self)
        done = 0
        while done < len(rows):
            block, start = cursor.block_with(int(rows[done]))
            stop = int(np.searchsorted(rows, start + len(block)))
            result[done:stop] = block[rows[done:stop] - start]
            done = stop
        return result, cursor


def _id_beside_vectors(path: Place, names: Sequence[str], form: TableForm, vectors: str) -> str | None:
    """Return the column that tells samples apart, beside one of vectors."""
    if form.id_column is not None:
        return names[position_of(path, names, len(names), form.id_column)]
    by_name = {name.lower(): name for name in reversed(names) if name != vectors}
    return next((by_name[name] for name in ID_COLUMNS if name in by_name), None)


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
        self._block = np.empty((0, self._shard.shape[1]), self._shard.dtype)
        self._batches = batches_of(self._shard.path, self._file, self._shard.columns, group)

    def _advance(self) -> None:
        shard = self._shard
        with decoding(shard.path, PARQUET):
            batch = next(self._batches, None)
            if batch is None:
                raise DatasetError(f"{shard.path} is damaged: of {shard.shape[0]:,} rows {self._stop:,} are there")
            block = np.empty((batch.num_rows, shard.shape[1]), shard.dtype)
            for i, name in enumerate(shard.columns):
                column = batch.column(name)
                if shard.vector_length is None:
                    block[:, i] = numbers_of_column(shard.path, column, name, self._stop, shard.form)
                else:
                    block[:] = self._vectors(column, name, shard.vector_length)
        self._start, self._stop, self._block = self._stop, self._stop + len(block), block

    def _vectors(self, column: Any, name: str, length: int) -> npt.NDArray[Any]:
        if column.null_count:
            row = self._stop + column.is_null().to_pylist().index(True)
            raise DatasetError(f"{self._shard.path}: row {row} has no value in the column {quoted(name)}")
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != length).any():
            row = int(np.argmax(lengths != length))
            raise DatasetError(
                f"{self._shard.path}: row {self._stop + row} has {lengths[row]} numbers in the column {quoted(name)}, "
                f"but the first row has {length}"
            )
        values = column.flatten()
        if values.null_count and not self._shard.form.missing:
            row = self._stop + values.is_null().to_pylist().index(True) // length
            raise DatasetError(f"{self._shard.path}: row {row} has a number missing in the column {quoted(name)}")
        if values.null_count:
            values = values.cast("float64")
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, length)
