"""Tables of samples: CSV files, read a block of lines at a time, and parquet files."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import some
from jcmspl.datasets._cell_numbers import WHAT_TO_DO, CellNumbers
from jcmspl.datasets._columns import Column, Roles, TableForm, column_name, roles_of
from jcmspl.datasets._parquet_rows import batches_of, group_sizes
from jcmspl.datasets._text_lines import checked_delimiter, is_missing, is_number, rows_of, text_lines
from jcmspl.datasets.errors import DatasetError, decoding, require_memory
from jcmspl.datasets.sample_ids import as_ids
from jcmspl.io.paths import Place
from jcmspl.io.regular import require_file
from jcmspl.support.arguments import one_of
from jcmspl.support.names import HEADERS
from jcmspl.support.shown import quoted, shown

PARQUET = "a parquet file"  # in messages
_BLOCK = 4096  # lines
_SAFE_PYARROW = 17  # as in pyproject.toml
# What stands above names of classes, but names none.
_HEADS_OF_NAMES = ("", "class", "classes", "label", "labels", "name", "names")
_INDEX_OF_PANDAS = "__index_level_"


@dataclass(frozen=True)
class Table:
    """Numbers in columns, and beside them the labels and ids of other columns, if there are such."""

    columns: list[str] | None
    numbers: npt.NDArray[Any]
    labels: list[Any] | None
    ids: list[str] | None = None
    id_name: str = "id"
    left_out: tuple[str, ...] = ()  #: names of columns that nobody has asked to leave out


def read_csv(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read a CSV file of samples, with or without a header, whatever is between its cells.

    Parameters
    ----------
    path : Path
    form : TableForm
    labels : column, several names of which the first that exists is meant, or None
        The column of labels; None: there is none, or it is passed over.
    """

    def roles(names: list[str] | None, first: list[list[str]]) -> Roles:
        texts = [i for i, cells in enumerate(zip(*first, strict=True)) if _are_texts(cells)]
        return roles_of(path, names, len(first[0]), labels, form, texts)

    asked = (form.id_column, *form.ignore, *((labels,) if isinstance(labels, (str, int)) else ()))
    named = [column for column in asked if isinstance(column, str)]
    numbered = {int(column) - 1 for column in asked if column is not None and str(column).isdecimal()}
    return _read_csv(path, form, roles, numbered, named)


def read_class_csv(path: Path, *, header: str = "auto", delimiter: str | None = None) -> Table:
    """Read a CSV file of class vectors: the labels are in the first column, and all others hold numbers."""
    form = TableForm(header=header, delimiter=delimiter, missing=True)

    def roles(names: list[str] | None, first: list[list[str]]) -> Roles:
        return Roles(tuple(range(1, len(first[0]))), label=0)

    return _read_csv(path, form, roles, {0}, ())


def _read_csv(
    path: Path,
    form: TableForm,
    roles_in: Callable[[list[str] | None, list[list[str]]], Roles],
    texts: set[int],
    named: Iterable[str],
) -> Table:
    """Read a CSV file; what its columns are for is told by its header, and by the cells of the first lines.

    Parameters
    ----------
    path : Path
    form : TableForm
    roles_in : function of the names of columns and of the first rows
    texts : set of int
        The positions of columns that need not hold numbers.
    named : iterable of str
        Names, of which those that are in the first line tell that it is a header.
    """
    one_of(form.header, "header", HEADERS)
    require_file(path)
    with decoding(path, "a CSV file"):
        delimiter, rows = rows_of(path, checked_delimiter(form.delimiter))
        first_line, first = next(rows, (1, []))
        if not first:
            raise DatasetError(f"{path} is empty")
        first = [cell.strip() for cell in first]
        has_header = _has_header(path, first, texts, form.header, named)
        rows = itertools.chain([] if has_header else [(first_line, first)], rows)
        block = _next_block(path, rows, len(first), first_line)
        if not block:
            raise DatasetError(f"{path} holds no lines but its header")
        names = first if has_header else None
        roles = roles_in(names, [cells for _, cells in block])
        parser = CellNumbers(path, [column_name(names, i) for i in roles.features], delimiter, form.missing)
        pick = _picker(roles.features)
        blocks: list[npt.NDArray[np.float64]] = []
        labels: list[str] = []
        ids: list[str] = []
        while block:
            if roles.label is not None:
                labels += [cells[roles.label].strip() for _, cells in block]
            if roles.id is not None:
                ids += [cells[roles.id].strip() for _, cells in block]
            blocks.append(parser.numbers([number for number, _ in block], [pick(cells) for _, cells in block]))
            block = _next_block(path, rows, len(first), first_line)
        parser.close()
    return Table(
        columns=None if names is None else [names[i] for i in roles.features],
        numbers=np.concatenate(blocks),
        labels=None if roles.label is None else labels,
        ids=None if roles.id is None else ids,
        id_name=_id_name(names, roles.id),
        left_out=roles.left_out,
    )


def _picker(positions: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """Return what gives some cells of a row."""
    return itemgetter(*positions) if len(positions) > 1 else lambda cells: [cells[i] for i in positions]


def _next_block(
    path: Path, rows: Iterable[tuple[int, list[str]]], width: int, first_line: int
) -> list[tuple[int, list[str]]]:
    block = list(itertools.islice(rows, _BLOCK))
    for number, cells in block:
        if len(cells) != width:
            raise DatasetError(f"{path}: line {number} has {len(cells)} cells, but line {first_line} has {width}")
    return block


def _id_name(names: Sequence[str] | None, position: int | None) -> str:
    return "id" if names is None or position is None or not names[position] else names[position]


def _are_texts(cells: Sequence[str]) -> bool:
    """Whether a column holds no number at all, but something."""
    there = [cell for cell in cells if not is_missing(cell)]
    return bool(there) and not any(is_number(cell.replace(",", ".", 1)) for cell in there)


def read_text_rows(path: Path, *, whole_lines: bool = False, delimiter: str | None = ",") -> list[list[str]]:
    """Read all lines of a CSV or text file as lists of cells; only blank lines at the end are left out.

    Where whole lines are wanted, a comma is part of the text, whether it stands in quotes or not.
    """
    require_file(path)
    with decoding(path, "a text file"):
        if whole_lines:
            rows = [[_unquoted(line.strip())] for line in text_lines(path)]
        else:
            rows = [[cell.strip() for cell in cells] or [""] for _, cells in rows_of(path, delimiter, blank=True)[1]]
    while rows and rows[-1] == [""]:
        rows.pop()
    return rows


def read_parquet(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read a parquet file of samples, a batch at a time; arguments are those of :func:`read_csv`."""
    with open_parquet(path) as file, decoding(path, PARQUET):
        names, roles, types = columns_of_parquet(path, file, labels, form)
        single = all(type_.kind == "f" and type_.itemsize <= 4 for type_ in types)
        n_rows, dtype = sum(group_sizes(path, file.metadata)), np.dtype(np.float32 if single else np.float64)
        others = [i for i in (roles.label, roles.id) if i is not None]
        require_memory(path, "the table", n_rows * (len(roles.features) + len(others)) * dtype.itemsize)
        numbers = np.empty((n_rows, len(roles.features)), dtype)
        texts: dict[int, list[Any]] = {i: [] for i in others}
        kept = [names[i] for i in (*roles.features, *others)]
        done = 0
        for batch in batches_of(path, file, kept):
            block = numbers[done : done + batch.num_rows]
            for i, position in enumerate(roles.features):
                block[:, i] = numbers_of_column(path, batch.column(names[position]), names[position], done, form)
            for position in others:
                texts[position] += batch.column(names[position]).to_pylist()
            done += batch.num_rows
    return Table(
        columns=[names[i] for i in roles.features],
        numbers=numbers,
        labels=None if roles.label is None else texts[roles.label],
        ids=None if roles.id is None else as_ids(texts[roles.id]),
        id_name=_id_name(names, roles.id),
        left_out=roles.left_out,
    )


def numbers_of_column(path: Place, column: Any, name: str, first_row: int, form: TableForm) -> npt.NDArray[Any]:
    """Return some rows of a column of a parquet file; those that are missing as NaN, if they may be missing."""
    if not column.null_count:
        values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    if not form.missing:
        row = first_row + column.is_null().to_pylist().index(True)
        raise DatasetError(f"{path}: row {row} has no value in the column {quoted(name)}: {WHAT_TO_DO}")
    return np.array([np.nan if value is None else value for value in column.to_pylist()], dtype=np.float64)


def columns_of_parquet(
    path: Place, file: Any, labels: Column | Sequence[str] | None, form: TableForm
) -> tuple[list[str], Roles, list[np.dtype[Any]]]:
    """Return the names of columns, what they are for, and the types of the features."""
    # pandas stores the index of a table as if it were a column
    names = [str(name) for name in file.schema_arrow.names if not str(name).startswith(_INDEX_OF_PANDAS)]
    with decoding(path, PARQUET):
        types = [_numpy_type(file.schema_arrow.field(name).type) for name in names]
    texts = [i for i, type_ in enumerate(types) if type_.kind not in "fiub"]
    roles = roles_of(path, names, len(names), labels, form, texts)
    return names, roles, [types[i] for i in roles.features]


def read_parquet_column(path: Place, name: str, *, missing: bool = False) -> list[Any]:
    """Read a column of labels, none of which may be missing, or of what may be missing."""
    with open_parquet(path) as file, decoding(path, PARQUET):
        columns = [str(column) for column in file.schema_arrow.names]
        if name not in columns:
            told = f"its {len(columns)} columns are {some(columns, 6)}"
            raise DatasetError(f"{path} has no column named {quoted(name)}: {told}")
        values: list[Any] = []
        for batch in batches_of(path, file, [name]):
            values += batch.column(name).to_pylist()
    if None in values and not missing:
        raise DatasetError(f"{path}: row {values.index(None)} has no value in the column {quoted(name)}")
    return values


def open_parquet(path: Place) -> Any:
    """Open a parquet file, here or elsewhere."""
    require_file(path)
    parquet = import_parquet(path)
    with decoding(path, PARQUET):
        source = path if isinstance(path, Path) else path.open()
        # batches_of needs pre_buffer
        return parquet.ParquetFile(source, pre_buffer=True, page_checksum_verification=True)


def vector_column(path: Place, file: Any, others: Iterable[str | None]) -> tuple[str, int, np.dtype[Any]] | None:
    """Return the column beside others that has a vector in each row, their length and type; None if there is none.

    The length is 0 where there are no rows to tell it.
    """
    from pyarrow import types

    with decoding(path, PARQUET):
        passed_over = set(others)
        fields = [field for field in file.schema_arrow if field.name not in passed_over]
        found = [field for field in fields if types.is_list(field.type) or _is_other_list(types, field.type)]
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


def holds_vectors(path: Path, form: TableForm) -> bool:
    """Whether a parquet file has a column with a vector in each row."""
    with open_parquet(path) as file:
        return vector_column(path, file, (str(name) for name in form.ignore)) is not None


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


def _numpy_type(arrow_type: Any) -> np.dtype[Any]:
    try:
        numpy_type: np.dtype[Any] = np.dtype(arrow_type.to_pandas_dtype())
    except NotImplementedError:  # categories and the like
        numpy_type = np.dtype(object)
    return numpy_type


def _unquoted(text: str) -> str:
    cells = next(csv.reader([text]), [""])
    return cells[0].strip() if len(cells) == 1 else text


def _has_header(path: Path, cells: Sequence[str], texts: set[int], header: str, named: Iterable[str]) -> bool:
    """Whether the first line is a header.

    If nobody says it: if nothing in it is a number, or if it has words beside numbers that count the columns. Where it
    does nothing but count them it could be either, and is refused.
    """
    if header != "auto":
        return header == "yes"
    if any(name in cells and not is_number(name) for name in named):
        return True
    others = [cell for i, cell in enumerate(cells) if i not in texts]
    numeric = [cell for cell in others if is_number(cell) or is_number(cell.replace(",", ".", 1))]
    if not numeric:
        return bool(others) and not all(map(is_missing, others))
    if numeric != [str(i) for i in range(len(numeric))]:
        return False
    names_above = {i for i in texts if i < len(cells) and cells[i].lower() in _HEADS_OF_NAMES}
    if len(numeric) < len(others) or names_above:
        return True
    if len(numeric) == 1:
        return False
    raise DatasetError(
        f"{path} starts with the line {shown(','.join(cells), 40)}, which is either data or a header that counts the "
        "columns, as pandas writes it: say which with header='no' or 'yes' (--header), for class vectors "
        "classes_header (--classes-header)"
    )
