"""Tables of text: CSV files, read a block of lines at a time, and parquet files."""

from __future__ import annotations

import contextlib
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import some
from jcmspl.datasets.errors import DatasetError, decoding, require_memory
from jcmspl.io.places import Place
from jcmspl.io.regular import require_file
from jcmspl.support.arguments import one_of
from jcmspl.support.names import HEADERS
from jcmspl.support.shown import quoted, shown

PARQUET = "a parquet file"  # in messages
_BLOCK = 4096  # lines
_SAFE_PYARROW = 17  # as in pyproject.toml
# What stands above names of classes, but names none.
_HEADS_OF_NAMES = ("", "class", "classes", "label", "labels", "name", "names")


@dataclass(frozen=True)
class Table:
    """Numbers in columns, beside them the texts of one more column, if that was asked for."""

    columns: list[str] | None
    numbers: npt.NDArray[Any]
    texts: list[Any] | None


#: The position of a column, or names of which the first that exists is meant.
Column = int | Sequence[str]


def read_csv(path: Path, text_column: Column | None = None, *, header: str = "auto") -> Table:
    """Read a CSV file of numbers, with or without a header; one column, by name or position, may hold texts.

    The first line is a header if the parameter says so; "auto": if nothing in it is a number, or if it has words beside
    numbers that count the columns. Where it does nothing but count them it could be either, and is refused.
    """
    one_of(header, "header", HEADERS)
    blocks: list[npt.NDArray[np.float64]] = []
    texts: list[str] = []
    require_file(path)
    with decoding(path, "a CSV file"):
        lines = (line for line in _lines(path) if any(cell.strip() for cell in line[1]))
        first_number, first = next(lines, (1, []))
        if not first:
            raise DatasetError(f"{path} is empty")
        _require_commas(path, first)
        columns = [cell.strip() for cell in first] if _has_header(path, first, text_column, header) else None
        position = _position(path, columns, len(first), text_column)
        rest = itertools.chain([(first_number, first)] if columns is None else [], lines)
        while block := list(itertools.islice(rest, _BLOCK)):
            for number, cells in block:
                if len(cells) != len(first):
                    raise DatasetError(f"{path}: line {number} has {len(cells)} cells, but line 1 has {len(first)}")
            if position is not None:
                texts += [cells.pop(position).strip() for _, cells in block]
            blocks.append(_numbers(path, block))
    if not blocks:
        raise DatasetError(f"{path} holds no lines but its header")
    if columns is not None and position is not None:
        del columns[position]
    return Table(columns, np.concatenate(blocks), None if position is None else texts)


def read_text_rows(path: Path, *, whole_lines: bool = False) -> list[list[str]]:
    """Read all lines of a CSV or text file as lists of cells; only blank lines at the end are left out.

    Where whole lines are wanted, a comma is part of the text, whether it stands in quotes or not.
    """
    require_file(path)
    with decoding(path, "a text file"):
        if whole_lines:
            with path.open(encoding="utf-8-sig") as file:
                rows = [[_unquoted(line.strip())] for line in file]
        else:
            rows = [[cell.strip() for cell in cells] or [""] for _, cells in _lines(path)]
    while rows and rows[-1] == [""]:
        rows.pop()
    return rows


def read_parquet(path: Path, text_column: Sequence[str] | None = None) -> Table:
    """Read a parquet file of numbers, a batch at a time; one column may hold texts."""
    with open_parquet(path) as file, decoding(path, PARQUET):
        columns = [str(name) for name in file.schema_arrow.names]
        position = _position(path, columns, len(columns), text_column)
        label = None if position is None else columns[position]
        texts: list[Any] = []
        kept, types = number_columns(path, file, label)
        single = all(type_.kind == "f" and type_.itemsize <= 4 for type_ in types)
        n_rows, dtype = rows_of_parquet(path, file.metadata), np.dtype(np.float32 if single else np.float64)
        require_memory(path, "the table", n_rows * (len(kept) + (label is not None)) * dtype.itemsize)
        numbers = np.empty((n_rows, len(kept)), dtype)
        done = 0
        for batch in file.iter_batches(batch_size=_BLOCK):
            for i, name in enumerate(kept):
                numbers[done : done + batch.num_rows, i] = batch.column(name).to_numpy(zero_copy_only=False)
            if label is not None:
                texts += batch.column(label).to_pylist()
            done += batch.num_rows
        if done != n_rows or (label is not None and len(texts) != n_rows):
            raise DatasetError(f"{path} is damaged: it claims {n_rows:,} rows, but {done:,} are there")
    return Table(kept, numbers, None if label is None else texts)


def read_parquet_column(path: Place, name: str) -> list[Any]:
    """Read a column of labels, none of which may be missing."""
    with open_parquet(path) as file, decoding(path, PARQUET):
        columns = [str(column) for column in file.schema_arrow.names]
        _position(path, columns, len(columns), (name,))
        values: list[Any] = []
        for batch in file.iter_batches(batch_size=_BLOCK, columns=[name]):
            values += batch.column(name).to_pylist()
        if len(values) != rows_of_parquet(path, file.metadata):
            raise DatasetError(f"{path} is damaged: it claims {file.metadata.num_rows:,} rows, but has {len(values):,}")
    if None in values:
        raise DatasetError(f"{path}: row {values.index(None)} has no value in the column {quoted(name)}")
    return values


def open_parquet(path: Place) -> Any:
    """Open a parquet file, here or elsewhere."""
    require_file(path)
    parquet = import_parquet(path)
    with decoding(path, PARQUET):
        source = path if isinstance(path, Path) else path.open()
        return parquet.ParquetFile(source, page_checksum_verification=True)


def number_columns(path: Place, file: Any, label: str | None) -> tuple[list[str], list[np.dtype[Any]]]:
    """Return the names of all columns but that of labels, which must hold numbers, and their types."""
    # pandas stores the index of a table as if it were a column
    names = [str(name) for name in file.schema_arrow.names]
    kept = [name for name in names if name != label and not name.startswith("__index_level_")]
    with decoding(path, PARQUET):
        types = [_numpy_type(file.schema_arrow.field(name).type) for name in kept]
    not_numbers = [name for name, type_ in zip(kept, types, strict=True) if type_.kind not in "fiub"]
    if not_numbers:
        raise DatasetError(f"{path}: the columns {some(not_numbers)} do not hold numbers")
    return kept, types


def vector_column(path: Place, file: Any, label: str | None) -> tuple[str, int, np.dtype[Any]] | None:
    """Return the column that has a vector in each row, their length and type; None if there is no such column.

    The length is 0 where there are no rows to tell it.
    """
    from pyarrow import types

    with decoding(path, PARQUET):
        fields = [field for field in file.schema_arrow if field.name != label]
        found = [field for field in fields if types.is_list(field.type) or _is_other_list(types, field.type)]
        if not found:
            return None
        if len(found) > 1:
            raise DatasetError(
                f"{path}: the columns {some([field.name for field in found])} all hold vectors: keep one"
            )
        (field,) = found
        dtype = _numpy_type(field.type.value_type)
        if dtype.kind not in "fiub":
            raise DatasetError(f"{path}: the column {quoted(field.name)} does not hold vectors of numbers")
        if types.is_fixed_size_list(field.type):
            return field.name, int(field.type.list_size), dtype
        first = next(file.iter_batches(batch_size=1, columns=[field.name]), None)
        if first is None or not first.num_rows:
            return field.name, 0, dtype
        length = first.column(0).value_lengths()[0].as_py()
        if not length:
            raise DatasetError(f"{path}: row 0 has no value in the column {quoted(field.name)}")
        return field.name, int(length), dtype


def holds_vectors(path: Path) -> bool:
    """Whether a parquet file has a column with a vector in each row."""
    with open_parquet(path) as file:
        return vector_column(path, file, None) is not None


def _is_other_list(types: Any, arrow_type: Any) -> bool:
    return bool(types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type))


def import_parquet(path: Place) -> Any:
    """Return pyarrow's module, or say how to get it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"{path} is a parquet file, which needs pyarrow: pip install 'jcmspl[data]'") from None
    # a damaged file may end the process in older ones, and before 14.0.1 a file could have code run
    if int(pyarrow.__version__.partition(".")[0]) < _SAFE_PYARROW:
        raise ImportError(
            f"{path} is a parquet file, which needs pyarrow {_SAFE_PYARROW} or newer, but there is "
            f"{pyarrow.__version__}: pip install 'jcmspl[data]'"
        )
    return parquet


def rows_of_parquet(path: Place, metadata: Any) -> int:
    """Return the number of rows, on which all that is said of it must agree."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    # columns of one value a row: others have several, and are counted when they are read
    plain = [i for i in range(metadata.num_columns) if not metadata.schema.column(i).max_repetition_level]
    agree = all(group.column(i).num_values == group.num_rows for group in groups for i in plain)
    n_rows = int(metadata.num_rows)
    if not agree or sum(group.num_rows for group in groups) != n_rows:
        raise DatasetError(f"{path} is damaged: it claims {n_rows:,} rows, but its columns have other lengths")
    return n_rows


def _numpy_type(arrow_type: Any) -> np.dtype[Any]:
    try:
        numpy_type: np.dtype[Any] = np.dtype(arrow_type.to_pandas_dtype())
    except NotImplementedError:  # categories and the like
        numpy_type = np.dtype(object)
    return numpy_type


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give the number and the cells of each line."""
    with path.open(newline="", encoding="utf-8-sig") as file:  # Excel starts files with a byte order mark
        reader = csv.reader(file)
        for cells in reader:
            yield reader.line_num, cells


def _unquoted(text: str) -> str:
    cells = next(csv.reader([text]), [""])
    return cells[0].strip() if len(cells) == 1 else text


def _require_commas(path: Path, first: Sequence[str]) -> None:
    """Refuse a file with something else between its cells."""
    line = ",".join(first)
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        with_decimal_commas = all(_is_number(cell.replace(",", ".")) for cell in line.split(sign))
        if sign in line and (len(first) == 1 or with_decimal_commas):
            raise DatasetError(
                f"{path} has {name} between its cells, but a CSV file has commas there, and points in its numbers: "
                "export it so"
            )


def _has_header(path: Path, cells: Sequence[str], text_column: Column | None, header: str) -> bool:
    if header != "auto":
        return header == "yes"
    others = [cell.strip() for i, cell in enumerate(cells) if i != text_column]
    numeric = [cell for cell in others if _is_number(cell)]
    if not numeric:
        return bool(others)
    if numeric != [str(i) for i in range(len(numeric))]:
        return False
    if len(numeric) < len(others) or (text_column == 0 and cells[0].strip().lower() in _HEADS_OF_NAMES):
        return True
    if len(numeric) == 1:
        return False
    raise DatasetError(
        f"{path} starts with the line {shown(','.join(cells), 40)}, which is either data or a header that counts the "
        "columns, as pandas writes it: say which with header='no' or 'yes' (--header), for class vectors "
        "classes_header (--classes-header)"
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_plain(text: str) -> bool:
    """Whether no number in the text is written as only Python or another script would: 1_000, or full-width digits."""
    return text.isascii() and "_" not in text


def _position(path: Place, columns: list[str] | None, width: int, column: Column | None) -> int | None:
    if column is None or isinstance(column, int):
        return column
    wanted = " or ".join(map(repr, column))
    if columns is None:
        raise DatasetError(f"{path} has no header line, so it has no column named {wanted}")
    position = next((columns.index(name) for name in column if name in columns), None)
    if position is None:
        raise DatasetError(f"{path} has no column named {wanted}: its {width} columns are {some(columns, 6)}")
    return position


def _numbers(path: Path, block: list[tuple[int, list[str]]]) -> npt.NDArray[np.float64]:
    if _is_plain("".join(map("".join, (cells for _, cells in block)))):
        with contextlib.suppress(ValueError):
            return np.array([cells for _, cells in block], dtype=np.float64).reshape(len(block), -1)
    number, bad = next((n, c) for n, cells in block for c in cells if not (_is_plain(c) and _is_number(c)))
    hint = " (if it is a header, say so with header='yes', or --header yes)" if number == 1 else ""
    raise DatasetError(f"{path}: line {number} holds {quoted(bad)} where a plain number is expected{hint}")
