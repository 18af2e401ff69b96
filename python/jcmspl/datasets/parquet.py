"""Tables of pyarrow: parquet files, read whole or on demand, and Arrow files (Feather is one), read whole.

A damaged file must not end the process: row groups and columns of a parquet file have as many rows as the file claims,
and record batches of an Arrow file are validated before their values are read, or the file is refused.
"""

from __future__ import annotations

import bisect
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.columns import (
    MISSING_ADVICE,
    Column,
    Table,
    TableForm,
    joined,
    named_roles,
    no_column,
)
from jcmspl.datasets.errors import DatasetError, decoding, require_features, require_memory, require_unchanged
from jcmspl.datasets.row_source import as_ids
from jcmspl.io.files import Place, require_file, size_of
from jcmspl.support.arguments import IntArray
from jcmspl.support.shown import quoted, shown

_KIND = "a parquet file"  # in messages
_SAFE_PYARROW = 17  # as in pyproject.toml
_BATCH = 4096  # rows that are decoded at a time, roughly
_PANDAS_INDEX = "__index_level_"
_ARROW = b"ARROW1"  # the start of an Arrow file; a stream starts otherwise


def import_parquet(path: Place, kind: str = _KIND) -> Any:
    """Import pyarrow.parquet, or say how to install it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"{path} is {kind}, which needs pyarrow: pip install 'jcmspl[data]'") from None
    # older versions may end the process over a damaged file, and before 14.0.1 a file could run code
    if int(pyarrow.__version__.partition(".")[0]) < _SAFE_PYARROW:
        raise ImportError(
            f"{path} is {kind}, which needs pyarrow {_SAFE_PYARROW} or newer, but there is "
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
    """Read a parquet file of samples, a batch at a time; arguments as for :func:`roles_of`."""
    with open_parquet(path) as file, decoding(path, _KIND):
        if not file.metadata.num_rows:  # its columns may have no type
            raise DatasetError(f"{path} holds no samples")
        found = _columns_of(path, file.schema_arrow, labels, form, lambda name: _first_of(file, name))
        others = [name for name in (found.label, found.id) if name is not None]
        n_rows = sum(_group_sizes(path, file.metadata))
        require_memory(path, "the table", n_rows * (found.width + len(others)) * found.dtype.itemsize)
        batches = _batches_of(path, file, [*found.names, *others])
        return joined(path, _tables(path, batches, found, form))


def read_parquet_column(path: Place, name: str, *, missing: bool = False) -> list[Any]:
    """Read one column, of labels for example; `missing` says whether values may be missing."""
    with open_parquet(path) as file, decoding(path, _KIND):
        columns = [str(column) for column in file.schema_arrow.names]
        if name not in columns:
            raise no_column(path, name, columns)
        batches = _batches_of(path, file, [name])
        values = [value for batch in batches for value in batch.column(name).to_pylist()]
    if None in values and not missing:
        raise DatasetError(f"{path}: row {values.index(None)} has no value in the column {quoted(name)}")
    return values


def holds_vectors(path: Path, form: TableForm) -> bool:
    """Whether a parquet file has a column with a vector in each row."""
    with open_parquet(path) as file, decoding(path, _KIND):
        schema, ignored = file.schema_arrow, {str(name) for name in form.ignore}
        return any(_is_list(schema.field(name).type) for name in schema.names if name not in ignored)


def read_arrow(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read an Arrow file (or stream) of samples; arguments as for :func:`roles_of`."""
    require_file(path)
    kind = "an Arrow file"
    import_parquet(path, kind)
    from pyarrow import OSFile, ipc

    with decoding(path, kind), OSFile(str(path)) as file:
        is_file = file.read(len(_ARROW)) == _ARROW
        file.seek(0)
        with (ipc.open_file if is_file else ipc.open_stream)(file) as reader:
            batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
            return table_of_batches(path, reader.schema, batches, form, labels)


def table_of_batches(
    path: Path, schema: Any, batches: Iterable[Any], form: TableForm, labels: Column | Sequence[str] | None
) -> Table:
    """Return the record batches of Arrow as one table; `labels` as for :func:`roles_of`."""
    whole = (_validated(batch) for batch in batches if batch.num_rows)
    first = next(whole, None)
    if first is None:
        raise DatasetError(f"{path} holds no samples")
    found = _columns_of(path, schema, labels, form, lambda name: first.column(name)[:1])
    return joined(path, _tables(path, itertools.chain([first], whole), found, form))


def _validated(batch: Any) -> Any:
    batch.validate(full=True)
    return batch


def _tables(path: Place, batches: Iterator[Any], found: _Columns, form: TableForm) -> Iterator[Table]:
    """Yield batches as tables."""
    done = 0
    for batch in batches:
        yield Table(
            list(found.names) if found.length is None else None,
            _features(path, batch, found, done, form),
            None if found.label is None else batch.column(found.label).to_pylist(),
            None if found.id is None else as_ids(batch.column(found.id).to_pylist()),
            found.id or "id",
            found.left_out,
            found.label_names,
        )
        done += batch.num_rows


@dataclass(frozen=True)
class ParquetShard:
    """The feature columns of a parquet file, or its one column of vectors; other columns are not read."""

    path: Place
    found: _Columns
    group_ends: tuple[int, ...]  #: the number of rows up to the end of each row group
    n_bytes: int
    form: TableForm

    @classmethod
    def of(cls, path: Place, label_columns: Sequence[str], form: TableForm) -> ParquetShard:
        """Read the schema of a file; the first of the label columns that it has is not a feature."""
        with open_parquet(path) as file, decoding(path, _KIND):
            there = [str(name) for name in file.schema_arrow.names]
            label = next((name for name in label_columns if name in there), None)
            if isinstance(form.id_column, str) and form.id_column not in there and not form.id_column.isdecimal():
                form = replace(form, id_column=None)  # it may be in the tables beside the features
            found = _columns_of(path, file.schema_arrow, label, form, lambda name: _first_of(file, name), exact=True)
            sizes = _group_sizes(path, file.metadata)
        if sum(sizes) or found.length != 0:
            require_features(path, (sum(sizes), found.width), found.dtype)
        return cls(path, found, tuple(accumulate(sizes)), _bytes_of(path), form)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the features; None if a column holds vectors."""
        return self.found.names if self.found.length is None else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the features."""
        return self.found.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.group_ends[-1] if self.group_ends else 0, self.found.width

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
        self._batches = _batches_of(self._shard.path, self._file, self._shard.found.names, group)

    def _advance(self) -> None:
        shard = self._shard
        with decoding(shard.path, _KIND):
            batch = next(self._batches, None)
            if batch is None:
                raise DatasetError(f"{shard.path} is damaged: of {shard.shape[0]:,} rows {self._stop:,} are there")
            block = _features(shard.path, batch, shard.found, self._stop, shard.form)
        self._start, self._stop, self._block = self._stop, self._stop + len(block), block


class _Columns(NamedTuple):
    """The columns of features, labels and ids; `length` is that of the vectors in a column, 0 if there are no rows."""

    names: tuple[str, ...]
    length: int | None
    dtype: np.dtype[Any]
    label: str | None
    id: str | None
    left_out: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()  #: of the numbers in the column of labels, from 0

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.names) if self.length is None else self.length


def _columns_of(
    path: Place,
    schema: Any,
    labels: Column | Sequence[str] | None,
    form: TableForm,
    first_of: Callable[[str], Any],
    exact: bool = False,
) -> _Columns:
    """Return the roles of the columns; `first_of` gives the first value of a column as an array, None without rows.

    Numbers are float32 or float64, or `exact`: of the type of the columns.
    """
    # pandas stores the index of a table as a column
    names = [str(name) for name in schema.names if not str(name).startswith(_PANDAS_INDEX)]
    ignored = {str(name) for name in form.ignore} | ({labels} if isinstance(labels, str) else set())
    lists = [name for name in names if name not in ignored and _is_list(schema.field(name).type)]
    types = {name: _numpy_type(schema.field(name).type) for name in names}
    texts = [i for i, name in enumerate(names) if types[name].kind not in "fiub"]
    features, is_vector, label, own, left_out = named_roles(path, names, lists, labels, form, texts)
    length = None
    if is_vector:
        (vector,) = features
        type_ = schema.field(vector).type
        types[vector] = _numpy_type(type_.value_type)
        if types[vector].kind not in "fiub":
            raise DatasetError(f"{path}: the column {quoted(vector)} does not hold vectors of numbers")
        length = getattr(type_, "list_size", None)
        if length is None:
            first = first_of(vector)
            length = 0 if first is None else first.value_lengths()[0].as_py()
            if first is not None and not length:
                raise DatasetError(f"{path}: row 0 has no value in the column {quoted(vector)}")
    dtype = _common([types[name] for name in features], exact)
    return _Columns(features, length, dtype, label, own, left_out, _label_names(schema, label))


def _label_names(schema: Any, label: str | None) -> tuple[str, ...]:
    """Return the names of classes that Hugging Face datasets stores beside a column of their numbers."""
    try:
        about = json.loads((schema.metadata or {})[b"huggingface"])
        names = about["info"]["features"][label]["names"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _first_of(file: Any, name: str) -> Any:
    """Return the first value of a column, as an array."""
    groups = [i for i in range(file.metadata.num_row_groups) if file.metadata.row_group(i).num_rows]
    first = next(file.iter_batches(batch_size=1, row_groups=groups[:1], columns=[name]), None)
    return None if first is None or not first.num_rows else first.column(0)


def _is_list(type_: Any) -> bool:
    from pyarrow import types

    return any(is_kind(type_) for is_kind in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _common(types: Sequence[np.dtype[Any]], exact: bool) -> np.dtype[Any]:
    if not types or any(type_.kind != "f" for type_ in types):
        return np.dtype(np.float64)
    return np.result_type(*types, *(() if exact else (np.float32,)))


def _features(path: Place, batch: Any, found: _Columns, first_row: int, form: TableForm) -> npt.NDArray[Any]:
    """Return the features of a batch, which starts with this row of the file."""
    block = np.empty((batch.num_rows, found.width), found.dtype)
    for i, name in enumerate(found.names):
        column = batch.column(name)
        if found.length is None:
            block[:, i] = _numbers_of(path, column, name, first_row, form)
        else:
            block[:] = _vectors(path, column, name, found.length, first_row, form)
    return block


def _vectors(path: Place, column: Any, name: str, length: int, first_row: int, form: TableForm) -> npt.NDArray[Any]:
    if column.null_count:
        raise DatasetError(f"{path}: row {first_row + _first_null(column)} has no value in the column {quoted(name)}")
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    if (lengths != length).any():
        row = int(np.argmax(lengths != length))
        raise DatasetError(
            f"{path}: row {first_row + row} has {lengths[row]} numbers in the column {quoted(name)}, "
            f"but the first row has {length}"
        )
    values = column.flatten()
    if values.null_count and not form.missing:
        row = first_row + _first_null(values) // length
        raise DatasetError(f"{path}: row {row} has a number missing in the column {quoted(name)}")
    if values.null_count:
        values = values.cast("float64")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, length)


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
