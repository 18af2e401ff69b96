"""Samples as other libraries hold them: tensors, columns of vectors, and tables with such a column.

No library is imported: pandas, polars, pyarrow, DuckDB, Hugging Face datasets and torch are known by their methods, and
none is required.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.support.shown import listed, quoted

# How libraries call types of numbers; the columns of a table have few different ones.
_NUMBERS = re.compile(r"(u?int(?!erval)|float|double|half|bool)", re.IGNORECASE)
_OTHERS = ("dask", "jcmspl", "numpy", "scipy")  # are read in other ways
_TABLE_METHODS = ("fetchnumpy", "collect_schema", "column_names", "columns")


class Columns(NamedTuple):
    """A table: the names of its columns, and how one is read.

    ``suspects`` are the columns that may hold vectors, by their types.
    """

    names: list[str]
    read: Callable[[str], Any]
    suspects: list[str]

    def vectors(self) -> list[str]:
        """Return the columns with a vector in each row."""
        return [name for name in self.suspects if _is_vector(_first(self.read(name)))]


def columns_of_table(value: Any) -> Columns | None:
    """Return the columns of a table in memory; None if the value is no table."""
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, Mapping):
        return _of_mapping(value) if value and all(isinstance(name, str) for name in value) else None
    if module in _OTHERS or not any(hasattr(value, method) for method in _TABLE_METHODS):
        return None
    if hasattr(value, "fetchnumpy"):  # a result of DuckDB
        try:
            columns = value.fetchnumpy()
        except TypeError:  # DuckDB before 1.1
            columns = None
        if columns is None:
            raise ValueError("this result of DuckDB was read before: run the query again, or pass duckdb.sql(...)")
        return _of_mapping(columns)
    if hasattr(value, "collect_schema") and hasattr(value, "collect"):  # a lazy frame of polars
        value = value.collect()
    # the columns of an Arrow table are arrays, and those of others names
    names = list(value.column_names if hasattr(value, "column_names") else value.columns)
    types = getattr(value, "dtypes", getattr(getattr(value, "schema", None), "types", None))
    if types is None:
        return Columns(names, value.__getitem__, names)
    types = list(types)
    numbers = {one for one in set(types) if _NUMBERS.match(str(one))}
    return Columns(names, value.__getitem__, [n for n, one in zip(names, types, strict=True) if one not in numbers])


def _of_mapping(columns: Mapping[str, Any]) -> Columns:
    suspects = [
        name for name, there in columns.items() if getattr(getattr(there, "dtype", None), "kind", "O") not in "fiub"
    ]
    return Columns(list(columns), lambda name: _unmasked(columns[name]), suspects)


def unwrapped(value: Any, name: str = "X") -> Any:
    """Return vectors of another library as an array of NumPy; anything else unchanged.

    Parameters
    ----------
    value : object
        A tensor, a column of vectors, a table with one such column, a DuckDB result, or rows of equal length. Other
        columns of the table are ignored.
    name : str
        For messages.
    """
    if isinstance(value, np.ndarray):
        return _matrix(value, name) if _holds_vectors(value) else _plain(value)
    if isinstance(value, (list, tuple)):
        return _of_rows(value, name)
    if _is_tensor(value):
        return _of_tensor(value)
    if isinstance(value, str) or type(value).__module__.partition(".")[0] in _OTHERS or getattr(value, "ndim", 1) == 0:
        return value
    table = columns_of_table(value)
    if table is not None:
        return _of_table(value, table, name)
    if hasattr(value, "__array__") and len(getattr(value, "shape", (0,))) == 1:
        found = np.asarray(value)
        if found.ndim == 2 or _holds_vectors(found):
            return unwrapped(found, name)
    return value


def _of_table(value: Any, table: Columns, name: str) -> Any:
    vectors = table.vectors()
    if len(vectors) > 1:
        raise ValueError(
            f"{name} has several columns of vectors, {listed(map(quoted, vectors))}: pass one of them, such as "
            f"{name}[{quoted(vectors[0])}]"
        )
    if vectors:
        return column_matrix(table.read(vectors[0]), f"{name}[{quoted(vectors[0])}]")
    if hasattr(value, "__array__") or hasattr(value, "__dataframe__"):
        return value  # a table of numbers, whose names scikit-learn reads
    columns = [np.asarray(table.read(column)) for column in table.names]
    texts = [column for column, there in zip(table.names, columns, strict=True) if there.dtype.kind not in "fiub"]
    if texts or not columns:
        raise TypeError(
            f"{name} has no column of vectors, and {listed(map(quoted, texts)) or 'no column'} does not hold numbers: "
            "pass the column of vectors, or the columns of features alone"
        )
    return np.column_stack(columns)


def column_matrix(column: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of vectors as a matrix."""
    found = unwrapped(column, name)
    return found if isinstance(found, np.ndarray) else _matrix(found, name)


def _of_rows(rows: Sequence[Any], name: str) -> Any:
    """Return a list of vectors as a matrix; one without a vector or of another length than the first is refused."""
    if not _is_vector(_first(rows)):
        return rows
    array = (
        np.asarray(None)
        if any(_is_tensor(row) or isinstance(row, np.ma.MaskedArray) for row in rows)
        else _as_array(rows)
    )
    return array if array.dtype.kind in "fiubc" else _matrix(rows, name)


def _matrix(rows: Iterable[Any], name: str) -> npt.NDArray[Any]:
    vectors: list[npt.NDArray[Any]] = []
    for number, given in enumerate(rows):
        row = given.as_py() if hasattr(given, "as_py") else given
        found = row if row is None or isinstance(row, str) else _plain(_of_tensor(row) if _is_tensor(row) else row)
        vector = _as_array(found)
        if vector.ndim != 1 or vector.dtype.kind not in "fiubc":
            raise TypeError(f"{name}: row {number} holds {_stranger(row)}")
        if vectors and len(vector) != len(vectors[0]):
            raise ValueError(f"{name}: row {number} has {len(vector)} numbers, but the first row has {len(vectors[0])}")
        vectors.append(vector)
    return np.stack(vectors)


def _stranger(row: Any) -> str:
    """Tell what is wrong with a row that is not a vector of numbers."""
    if isinstance(row, (list, tuple, np.ndarray)):
        wrong = [(place, entry) for place, entry in enumerate(row) if not isinstance(entry, (int, float, np.number))]
        if wrong:
            place, entry = wrong[0]
            return f"{quoted(entry)} at position {place} where a number is expected"
    advice = ": read the text first, for example with json.loads" if isinstance(row, str) else ""
    return f"{quoted(row)} where a vector of numbers is expected{advice}"


def _as_array(value: Any) -> npt.NDArray[Any]:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Creating an ndarray from ragged")  # NumPy before 1.24
            return np.asarray(_unmasked(value))
    except (ValueError, Warning):
        return np.asarray(None)


def _unmasked(values: Any) -> Any:
    """Return a masked array, DuckDB's form of nulls, with NaN among numbers and None among other values."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return values.data
    filled = values.data.astype(np.float64 if values.dtype.kind in "fiub" else object)
    filled[mask] = np.nan if filled.dtype.kind == "f" else None
    return filled


def _plain(value: Any) -> Any:
    """Return an array whose type NumPy itself lacks, such as bfloat16 of ml_dtypes, as float32."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "V" and "float" in value.dtype.name:
        return value.astype(np.float32)
    return value


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "numpy")


def _of_tensor(tensor: Any) -> npt.NDArray[Any]:
    tensor = tensor.detach().cpu()
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # bfloat16 and other types that NumPy lacks
        return np.asarray(tensor.float().numpy())


def _is_list(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping))


def _holds_vectors(column: npt.NDArray[Any]) -> bool:
    """Whether an array is a column of vectors, or of their texts, which are refused with advice."""
    if column.dtype.kind != "O" or column.ndim != 1:
        return False
    first = _first(column)
    return _is_list(first) or (isinstance(first, str) and first.startswith("["))


def _is_vector(value: Any) -> bool:
    """Whether a value is a list of numbers, as far as its first entry tells."""
    if not _is_list(value):
        return False
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) == 1
    return isinstance(value, Sequence) and all(isinstance(entry, (int, float, np.number)) for entry in value[:1])


def _first(column: Iterable[Any]) -> Any:
    """Return the first value of a column that is not missing; None without one."""
    values = (value.as_py() if hasattr(value, "as_py") else value for value in column)
    return next(
        (value for value in values if not (value is None or (isinstance(value, float) and value != value))), None
    )
