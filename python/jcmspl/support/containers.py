"""Samples as other libraries hold them: tensors, columns of vectors, and tables with such a column.

No library is imported: objects of pandas, polars, pyarrow, DuckDB, Hugging Face datasets and torch are recognised by
their attributes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.support.shown import listed, quoted

# How libraries call types of numbers.
_NUMBERS = re.compile(r"(u?int(?!erval)|float|double|half|bool)", re.IGNORECASE)
# Packages whose objects other modules read.
_READ_ELSEWHERE = ("dask", "jcmspl", "numpy", "scipy")
_TABLE_ATTRIBUTES = ("fetchnumpy", "collect_schema", "column_names", "columns")


class Columns(NamedTuple):
    """A table: the names of its columns, and how one is read.

    ``candidates`` are the columns whose type does not rule out vectors.
    """

    names: list[str]
    read: Callable[[str], Any]
    candidates: list[str]

    def vectors(self) -> list[str]:
        """Return the columns with a vector in each row."""
        return [name for name in self.candidates if _is_vector(_first(self.read(name)))]


def columns_of_table(value: Any) -> Columns | None:
    """Return the columns of a table in memory; None if the value is no table.

    Queries of DuckDB are run and lazy frames collected; a result of DuckDB can be read once.
    """
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, Mapping):
        return _of_mapping(value) if value and all(isinstance(name, str) for name in value) else None
    if module in _READ_ELSEWHERE or not any(hasattr(value, method) for method in _TABLE_ATTRIBUTES):
        return None
    if hasattr(value, "fetchnumpy"):  # a result of DuckDB
        try:
            columns = value.fetchnumpy()
        except TypeError:  # DuckDB before 1.1, if it was read before
            columns = None
        if columns is None:
            raise ValueError("this result of DuckDB was read before: run the query again, or pass duckdb.sql(...)")
        return _of_mapping(columns)
    if hasattr(value, "collect_schema") and hasattr(value, "collect"):  # a lazy frame of polars
        value = value.collect()
    # `columns` holds arrays in an Arrow table, and names in other tables
    names = list(value.column_names if hasattr(value, "column_names") else value.columns)
    types = getattr(value, "dtypes", getattr(getattr(value, "schema", None), "types", None))
    if types is None:
        return Columns(names, value.__getitem__, names)
    types = list(types)  # few are different, so each is converted to text once
    numbers = {one for one in set(types) if _NUMBERS.match(str(one))}
    return Columns(names, value.__getitem__, [n for n, one in zip(names, types, strict=True) if one not in numbers])


def _of_mapping(columns: Mapping[str, Any]) -> Columns:
    candidates = [
        name for name, column in columns.items() if getattr(getattr(column, "dtype", None), "kind", "O") not in "fiub"
    ]
    return Columns(list(columns), lambda name: _unmasked(columns[name]), candidates)


def is_dask(value: Any) -> bool:
    """Whether a value is an array, DataFrame, Series, ... of dask; does not load dask."""
    is_of_dask = type(value).__module__.partition(".")[0] in ("dask", "dask_expr")
    return is_of_dask and hasattr(value, "__dask_graph__")


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
    if (
        isinstance(value, str)
        or type(value).__module__.partition(".")[0] in _READ_ELSEWHERE
        or getattr(value, "ndim", 1) == 0
    ):
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
        return value  # scikit-learn reads it, with the names of its columns, and refuses text
    columns = [np.asarray(table.read(column)) for column in table.names]
    texts = [column for column, values in zip(table.names, columns, strict=True) if values.dtype.kind not in "fiub"]
    if texts or not columns:
        others = f"no column of vectors, and no numbers in {listed(map(quoted, texts))}" if texts else "no columns"
        raise TypeError(f"{name} has {others}: pass the column of vectors, or the columns of features alone")
    return np.column_stack(columns)


def column_matrix(column: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of vectors as a matrix."""
    found = unwrapped(column, name)
    return found if isinstance(found, np.ndarray) else _matrix(found, name)


def _of_rows(rows: Sequence[Any], name: str) -> Any:
    """Return a list of vectors as a matrix; a list whose first value is no vector unchanged.

    A row without a vector, or with one of another length, is refused.
    """
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
    """Replace masked values, DuckDB's form of nulls, by NaN in numbers and by None elsewhere."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return values.data
    filled = values.data.astype(np.float64 if values.dtype.kind in "fiub" else object)
    filled[mask] = np.nan if filled.dtype.kind == "f" else None
    return filled


def _plain(value: Any) -> Any:
    """Return an array whose type NumPy itself lacks, such as bfloat16 of ml_dtypes, as float32; others unchanged."""
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
    """Whether an array is a column of vectors, or of texts such as '[1, 2]', which `_matrix` refuses with advice."""
    if column.dtype.kind != "O" or column.ndim != 1:
        return False
    first = _first(column)
    return _is_list(first) or (isinstance(first, str) and first.startswith("["))


def _is_vector(value: Any) -> bool:
    """Whether a value is a list of numbers, as far as its first entry or its type tells."""
    if not _is_list(value):
        return False
    shape = getattr(value, "shape", None)
    if shape is None:
        return isinstance(value, Sequence) and all(isinstance(entry, (int, float, np.number)) for entry in value[:1])
    if len(shape) != 1:
        return False
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return dtype.kind in "fiubcV"  # V: bfloat16 of ml_dtypes
    return not any(isinstance(entry, str) for entry in value[:1])


def _first(column: Iterable[Any]) -> Any:
    """Return the first value that is not missing: None, NaN or NA of pandas; None without one."""
    values = (value.as_py() if hasattr(value, "as_py") else value for value in column)
    return next((value for value in values if not _is_missing(value)), None)


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ == "NAType"
