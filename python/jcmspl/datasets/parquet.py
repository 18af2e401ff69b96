"""Parquet files: tables of samples, columns of labels, and shards whose rows are read on demand.

A damaged file must not end the process: row groups and columns have as many rows as the file claims, or it is refused.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import some
from jcmspl.datasets.columns import (
    ID_COLUMNS,
    Column,
    Roles,
    Table,
    TableForm,
    id_name,
    no_column,
    position_of,
    roles_of,
)
from jcmspl.datasets.csv_table import MISSING_ADVICE
from jcmspl.datasets.errors import DatasetError, decoding, require_features, require_memory, require_unchanged
from jcmspl.datasets.row_source import as_ids
from jcmspl.io.files import Place, require_file, size_of
from jcmspl.support.arguments import IntArray
from jcmspl.support.shown import quoted, shown

_KIND = "a parquet file"  # in messages
_SAFE_PYARROW = 17  # as in pyproject.toml
_BATCH = 4096  # rows that are decoded at a time, roughly
_PANDAS_INDEX = "__index_level_"


def import_parquet(path: Place) -> Any:
    """Import pyarrow.parquet, or say how to install it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"{path} is a parquet file, which needs pyarrow: pip install 'jcmspl[data]'") from None
    # older versions may end the process over a damaged file, and before 14.0.1 a file could run code
    if int(pyarrow.__version__.partition(".")[0]) < _SAFE_PYARROW:
        raise ImportError(
            f"{path} is a parquet file, which needs pyarrow {_SAFE_PYARROW} or newer, but there is "
            f"{pyarrow.__version__}: pip install 'jcmspl[data]'"
        )
    return parquet


def open_parquet(path: Place) -> Any:
    """Open a local or remote parquet file."""
    require_file(path)
    parquet = import_parquet(path)
    with decoding(path, _KIND):
        source = path if isinstance(path, Path) else path.open()
        # batches_of needs pre_buffer
        return parquet.ParquetFile(source, pre_buffer=True, page_checksum_verification=True)


def read_parquet(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read a parquet file of samples, a batch at a time; parameters as for :func:`read_csv`."""
    with open_parquet(path) as file, decoding(path, _KIND):
        names, roles, types = _columns_of(path, file, labels, form)
        single = all(type_.kind == "f" and type_.itemsize <= 4 for type_ in types)
        n_rows, dtype = sum(_group_sizes(path, file.metadata)), np.dtype(np.float32 if single else np.float64)
        others = [i for i in (roles.label, roles.id) if i is not None]
        require_memory(path, "the table", n_rows * (len(roles.features) + len(others)) * dtype.itemsize)
        numbers = np.empty((n_rows, len(roles.features)), dtype)
        texts: dict[int, list[Any]] = {i: [] for i in others}
        wanted = [names[i] for i in (*roles.features, *others)]
        done = 0
        for batch in _batches_of(path, file, wanted):
            block = numbers[done : done + batch.num_rows]
            for i, position in enumerate(roles.features):
                block[:, i] = _numbers_of(path, batch.column(names[position]), names[position], done, form)
            for position in others:
                texts[position] += batch.column(names[position]).to_pylist()
            done += batch.num_rows
    return Table(
        columns=[names[i] for i in roles.features],
        numbers=numbers,
        labels=None if roles.label is None else texts[roles.label],
        ids=None if roles.id is None else as_ids(texts[roles.id]),
        id_name=id_name(names, roles.id),
        left_out=roles.left_out,
    )


def read_parquet_column(path: Place, name: str, *, missing: bool = False) -> list[Any]:
    """Read one column, of labels for example; `missing` says whether values may be missing."""
    with open_parquet(path) as file, decoding(path, _KIND):
        columns = [str(column) for column in file.schema_arrow.names]
        if name not in columns:
            raise no_column(path, quoted(name), columns)
        values: list[Any] = []
        for batch in _batches_of(path, file, [name]):
            values += batch.column(name).to_pylist()
    if None in values and not missing:
        raise DatasetError(f"{path}: row {values.index(None)} has no value in the column {quoted(name)}")
    return values


def holds_vectors(path: Path, form: TableForm) -> bool:
    """Whether a parquet file has a column with a vector in each row."""
    with open_parquet(path) as file:
        return _vector_column(path, file, (str(name) for name in form.ignore)) is not None


@dataclass(frozen=True)
class ParquetShard:
    """The feature columns of a parquet file, or its one column of vectors; other columns are not read."""

    path: Place
    columns: tuple[str, ...]
    vector_length: int | None  #: of a column of vectors; 0 if the file has no rows
    label_column: str | None
    id_column: str | None
    dtype: np.dtype[Any]
    group_ends: tuple[int, ...]  #: the number of rows up to the end of each row group
    n_bytes: int
    form: TableForm

    @classmethod
    def of(cls, path: Place, label_columns: Sequence[str], form: TableForm) -> ParquetShard:
        """Read the schema of a file; the first of the label columns that it has is not a feature."""
        with open_parquet(path) as file:
            there = [str(name) for name in file.schema_arrow.names]
            label = next((name for name in label_columns if name in there), None)
            if isinstance(form.id_column, str) and form.id_column not in there and not form.id_column.isdecimal():
                form = replace(form, id_column=None)  # it may be in the tables beside the features
            vectors = _vector_column(path, file, (label, *(str(name) for name in form.ignore)))
            if vectors is None:
                names, roles, types = _columns_of(path, file, label, form)
                columns = [names[i] for i in roles.features]
                own_id = None if roles.id is None else names[roles.id]
            else:
                columns, types = [vectors[0]], [vectors[2]]
                own_id = _id_beside_vectors(path, there, form, vectors[0])
            floats = all(type_.kind == "f" for type_ in types)
            dtype = np.result_type(*types) if floats and types else np.dtype(np.float64)
            sizes = _group_sizes(path, file.metadata)
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
        """Return rows, given in ascending order, and the cursor to continue from."""
        result = np.empty((len(rows), self.shape[1]), self.dtype)
        cursor = kept or _Cursor(self)
        done = 0
        while done < len(rows):
            block, start = cursor.block_with(int(rows[done]))
            stop = int(np.searchsorted(rows, start + len(block)))
            result[done:stop] = block[rows[done:stop] - start]
            done = stop
        return result, cursor


class _Cursor:
    """A position in an open parquet file.

    Decoding can only start at a row group. A read that continues where the last one ended decodes nothing twice, even
    in large groups.
    """

    def __init__(self, shard: ParquetShard) -> None:
        self._shard = shard
        require_unchanged(shard.path, shard.n_bytes, _bytes_of(shard.path), "bytes")
        self._file = open_parquet(shard.path)
        self._restart(0)

    def block_with(self, row: int) -> tuple[npt.NDArray[Any], int]:
        """Return the block that contains a row, and the number of its first row."""
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
        self._batches = _batches_of(self._shard.path, self._file, self._shard.columns, group)

    def _advance(self) -> None:
        shard = self._shard
        with decoding(shard.path, _KIND):
            batch = next(self._batches, None)
            if batch is None:
                raise DatasetError(f"{shard.path} is damaged: of {shard.shape[0]:,} rows {self._stop:,} are there")
            block = np.empty((batch.num_rows, shard.shape[1]), shard.dtype)
            for i, name in enumerate(shard.columns):
                column = batch.column(name)
                if shard.vector_length is None:
                    block[:, i] = _numbers_of(shard.path, column, name, self._stop, shard.form)
                else:
                    block[:] = self._vectors(column, name, shard.vector_length)
        self._start, self._stop, self._block = self._stop, self._stop + len(block), block

    def _vectors(self, column: Any, name: str, length: int) -> npt.NDArray[Any]:
        path = self._shard.path
        if column.null_count:
            raise DatasetError(
                f"{path}: row {self._stop + _first_null(column)} has no value in the column {quoted(name)}"
            )
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != length).any():
            row = int(np.argmax(lengths != length))
            raise DatasetError(
                f"{path}: row {self._stop + row} has {lengths[row]} numbers in the column {quoted(name)}, "
                f"but the first row has {length}"
            )
        values = column.flatten()
        if values.null_count and not self._shard.form.missing:
            row = self._stop + _first_null(values) // length
            raise DatasetError(f"{path}: row {row} has a number missing in the column {quoted(name)}")
        if values.null_count:
            values = values.cast("float64")
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, length)


def _columns_of(
    path: Place, file: Any, labels: Column | Sequence[str] | None, form: TableForm
) -> tuple[list[str], Roles, list[np.dtype[Any]]]:
    """Return the names of all columns, their roles, and the types of the features."""
    # pandas stores the index of a table as a column
    names = [str(name) for name in file.schema_arrow.names if not str(name).startswith(_PANDAS_INDEX)]
    with decoding(path, _KIND):
        types = [_numpy_type(file.schema_arrow.field(name).type) for name in names]
    texts = [i for i, type_ in enumerate(types) if type_.kind not in "fiub"]
    roles = roles_of(path, names, len(names), labels, form, texts)
    return names, roles, [types[i] for i in roles.features]


def _vector_column(path: Place, file: Any, others: Iterable[str | None]) -> tuple[str, int, np.dtype[Any]] | None:
    """Return the name, vector length and type of the one column, besides `others`, of vectors; None if there is none.

    The length is 0 if the file has no rows and the schema does not fix it.
    """
    from pyarrow import types

    with decoding(path, _KIND):
        passed_over = set(others)
        is_list = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        fields = [field for field in file.schema_arrow if field.name not in passed_over]
        found = [field for field in fields if any(is_kind(field.type) for is_kind in is_list)]
        if not found:
            return None
        if len(found) > 1:
            raise DatasetError(
                f"{path}: the columns {some([field.name for field in found])} all hold vectors: keep one, and "
                "leave the others out with ignore (--ignore)"
            )
        (field,) = found
        dtype = _numpy_type(field.type.value_type)
        if dtype.kind not in "fiub":
            raise DatasetError(f"{path}: the column {quoted(field.name)} does not hold vectors of numbers")
        if types.is_fixed_size_list(field.type):
            return field.name, int(field.type.list_size), dtype
        groups = [i for i in range(file.metadata.num_row_groups) if file.metadata.row_group(i).num_rows]
        first = next(file.iter_batches(batch_size=1, row_groups=groups[:1], columns=[field.name]), None)
        if first is None or not first.num_rows:
            return field.name, 0, dtype
        length = first.column(0).value_lengths()[0].as_py()
        if not length:
            raise DatasetError(f"{path}: row 0 has no value in the column {quoted(field.name)}")
        return field.name, int(length), dtype


def _id_beside_vectors(path: Place, names: Sequence[str], form: TableForm, vectors: str) -> str | None:
    """Return the column of ids in a file with a column of vectors."""
    if form.id_column is not None:
        return names[position_of(path, names, len(names), form.id_column)]
    by_name = {name.lower(): name for name in reversed(names) if name != vectors}
    return next((by_name[name] for name in ID_COLUMNS if name in by_name), None)


def _numbers_of(path: Place, column: Any, name: str, first_row: int, form: TableForm) -> npt.NDArray[Any]:
    """Return the values of a batch of a column; missing values are NaN if they are allowed."""
    if not column.null_count:
        values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    if not form.missing:
        row = first_row + _first_null(column)
        raise DatasetError(f"{path}: row {row} has no value in the column {quoted(name)}: {MISSING_ADVICE}")
    return np.array([np.nan if value is None else value for value in column.to_pylist()], dtype=np.float64)


def _first_null(values: Any) -> int:
    return int(values.is_null().to_pylist().index(True))


def _numpy_type(arrow_type: Any) -> np.dtype[Any]:
    try:
        numpy_type: np.dtype[Any] = np.dtype(arrow_type.to_pandas_dtype())
    except NotImplementedError:  # categories and the like
        numpy_type = np.dtype(object)
    return numpy_type


def _bytes_of(path: Place) -> int:
    with path.open("rb") as file:
        return size_of(file)


def _group_sizes(path: Place, metadata: Any) -> list[int]:
    """Return the number of rows of each row group; they must add up to the rows of the file."""
    sizes = [int(metadata.row_group(i).num_rows) for i in range(metadata.num_row_groups)]
    if min(sizes, default=0) < 0 or sum(sizes) != metadata.num_rows:
        raise DatasetError(f"{_claim(path, metadata)}, but its row groups have {sum(sizes):,}")
    return sizes


def _batches_of(path: Place, file: Any, columns: Sequence[str], first_group: int = 0) -> Iterator[Any]:
    """Yield batches of some columns from the start of a row group on.

    The file must be open with ``pre_buffer``: pyarrow then checks the metadata of all column chunks before it reads the
    first batch, and raises an error if any is damaged. Asking for damaged metadata before that ends the process.
    """
    from pyarrow import ArrowInvalid

    sizes, wanted = _group_sizes(path, file.metadata), set(columns)
    schema = file.metadata.schema
    # columns of one value a row: lists have several, and are counted when they are read
    leaves = [(i, schema.column(i)) for i in range(len(schema))]
    plain = [i for i, leaf in leaves if leaf.path in wanted and not leaf.max_repetition_level]
    before = sum(sizes[:first_group])
    for groups in _groups_read_together(sizes, first_group):
        size = sum(sizes[group] for group in groups)
        even = -(-size // max(1, round(size / _BATCH)))  # avoids a short batch at the end of a group
        batches = file.iter_batches(batch_size=max(1, even), row_groups=groups, columns=list(columns))
        done = 0
        try:
            batch = next(batches, None)  # must come before column(i)
            described = [(file.metadata.row_group(group), sizes[group]) for group in groups]
            if any(group.column(i).num_values != rows for group, rows in described for i in plain):
                raise DatasetError(f"{_claim(path, file.metadata)}, but its columns have other lengths")
            while batch is not None:
                done += batch.num_rows
                yield batch
                batch = next(batches, None)
        except ArrowInvalid as error:  # columns of different lengths
            detail = shown(str(error), 200)
            raise DatasetError(f"{_claim(path, file.metadata)}, which are not there ({detail})") from error
        before += done
        if done != size:
            raise DatasetError(f"{_claim(path, file.metadata)}, but {before:,} are there")


def _groups_read_together(sizes: Sequence[int], first: int) -> Iterator[list[int]]:
    """Yield runs of row groups: one large group, or as many small ones as fit in a batch."""
    run: list[int] = []
    rows = 0
    for group in range(first, len(sizes)):
        if run and rows + sizes[group] > _BATCH:
            yield run
            run, rows = [], 0
        run.append(group)
        rows += sizes[group]
    if run:
        yield run


def _claim(path: Place, metadata: Any) -> str:
    return f"{path} is damaged: it claims {metadata.num_rows:,} rows"
