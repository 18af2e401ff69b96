"""Your own data: features, labels, class vectors and splits in common file formats or in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array, some, sorted_labels
from jcmspl.datasets.class_files import SUFFIXES as CLASS_SUFFIXES
from jcmspl.datasets.class_files import load_classes, load_label_names
from jcmspl.datasets.columns import LABEL_COLUMNS, Column, Table, TableForm, named_roles
from jcmspl.datasets.csv_table import checked_delimiter, read_csv, read_text_rows
from jcmspl.datasets.database import DATABASES, is_database, read_database
from jcmspl.datasets.dataset import PARTS, Dataset
from jcmspl.datasets.errors import DatasetError, about, not_a_table, refuse_pictures
from jcmspl.datasets.json_lines import read_json_lines
from jcmspl.datasets.npy import open_npy, require_characters
from jcmspl.datasets.npz import NpzReader
from jcmspl.datasets.parquet import holds_vectors, read_arrow, read_parquet
from jcmspl.datasets.row_source import RowSource, as_ids, imputed
from jcmspl.datasets.rows import KINDS, holds_rows, opened_rows, read_labels
from jcmspl.datasets.splits import make_split
from jcmspl.datasets.tensors import TensorReader
from jcmspl.io.files import Address, place_of, require_file
from jcmspl.support.arguments import IntArray, as_real_array, one_of
from jcmspl.support.containers import column_matrix, columns_of_table, unwrapped
from jcmspl.support.names import IMPUTATIONS
from jcmspl.support.shown import listed, quoted, suggestion

#: The file formats of each part of a data set.
SUFFIXES = {
    "features": (
        *(".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".jsonl", ".ndjson"),
        ".safetensors",
    ),
    "labels": (".npy", ".txt", ".csv"),
    "classes": CLASS_SUFFIXES,
    "split": (".csv", ".txt"),
}
_UNUSED = "unused"
_TEXT_TABLES = (".csv", ".tsv", ".txt")
_TABLES: dict[str, Callable[[Path, TableForm, Column | Sequence[str] | None], Table]] = {
    **dict.fromkeys(_TEXT_TABLES, read_csv),
    ".parquet": read_parquet,
    **dict.fromkeys((".arrow", ".feather"), read_arrow),
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
}
_NO_LABELS: tuple[()] = ()  # labels are not needed


def load_arrays(
    features: Any,
    labels: Any = None,
    *,
    class_vectors: Any,
    split: Any = None,
    unseen: float | Iterable[Label] = 0.0,
    test_seen: float = 0.0,
    val: float | Iterable[Label] = 0.0,
    random_state: int = 0,
    name: str | None = None,
    header: str = "auto",
    classes_header: str = "auto",
    delimiter: str | None = None,
    classes_delimiter: str | None = None,
    id_column: Column | None = None,
    ignore: Sequence[Column] = (),
    ignore_text: bool = False,
    vector: str | None = None,
    array: str | None = None,
    query: str | None = None,
    label_names: Any = None,
    impute: str | None = None,
    missing: bool = False,
) -> Dataset:
    """Make a data set from your own files or arrays.

    All samples are for training unless ``split``, ``unseen``, ``test_seen`` or ``val`` say otherwise.

    Parameters
    ----------
    features : path or array of shape (n_samples, n_features)
        A file: ``.npy``, ``.npz`` or ``.safetensors`` (mapped into memory), or a table: ``.csv``, ``.tsv``, ``.txt``,
        ``.parquet``, ``.arrow``, ``.feather``, ``.jsonl``, or ``file.db::table`` of SQLite or DuckDB (one column for
        each feature, or a column with a vector in each row; optionally one of labels and one of ids). Or anything that
        :func:`open_rows` takes, read on demand: a zarr array, a folder or a pattern of files, an address. Or a table in
        memory: of pandas, polars, pyarrow, DuckDB or Hugging Face datasets.
    labels : path, column name or array_like of shape (n_samples,), optional
        A ``.npy``, ``.txt`` or ``.csv`` file with a label for each sample; a pattern of ``.npy`` files; or the column
        (in a ``.npz``: the array) of labels in the file of features or in the ``metadata`` beside it, by its name or
        its number from 1 on. By default the column named "label", "labels", "class" or "y".
    class_vectors : path, ClassTable, dict, DataFrame or array_like
        A ``.csv`` file with the names of classes in the first column, and those of attributes in a header; a table
        (``.parquet``, ``.arrow``, ``.jsonl``) with a column of names; a ``.json`` or ``.yaml`` object of names and
        vectors; a ``.npz`` file with an array of names and one of vectors; a ``.safetensors`` file with a tensor for
        each class; or a ``.npy`` file, where labels are row numbers from 0. None: each class has a dimension of
        its own, for models that are trained on all of their classes.
    split : path or dict of str to row numbers, optional
        A ``.csv`` or ``.txt`` file with the part of each sample, in order, or with the columns "row" (from 0) and
        "part". Parts are "train", "val", "test_seen" and "test_unseen"; "unused" leaves a sample out.
    unseen, test_seen, val, random_state
        How to split if there is no ``split``: see :func:`make_split`. By default all samples are for training.
    name : str, optional
    header, classes_header : {"auto", "yes", "no"}, default "auto"
        Whether the CSV files of features and of class vectors start with a header. "auto": it is detected, and a first
        line 0,1,2,..., which could be either, is refused.
    delimiter, classes_delimiter : str, optional
        The delimiter of these files: a sign, or "comma", "semicolon", "tab", "pipe" or "space" (any number of blanks).
        By default it is detected.
    id_column : str or int, optional
        The column (in a ``.npz``: the array) of ids of samples, by its name or its number from 1 on; by default one
        named "id", "path", "file", "filename", "url" or the like. It becomes ``ids`` of the data set.
    ignore : sequence of str or int
        Columns to leave out, by name or number. Columns with usual names of labels or ids are never features.
    ignore_text : bool, default False
        Whether to leave out all other columns of text; otherwise they are refused.
    vector : str, optional
        The column of a table that holds a vector in each row; by default the only one.
    array : str, optional
        The array of features in a ``.npz`` or ``.safetensors`` file; by default "features", "X", or its only matrix.
    query : str, optional
        A query of a database (``SELECT ...``), in place of one of its tables.
    label_names : sequence of str, dict or path, optional
        The names of classes whose labels are numbers: names that count from 0, a mapping, or a file of one (``.json``,
        ``.yaml``, or text with a name on each line). By default those that a file or a data set of Hugging Face has.
    impute : {None, "mean", "zero"}
        The replacement of missing values (NaN; in tables also empty, NA, null or ?): the mean of the training samples,
        or zero. See :meth:`Dataset.imputed`.
    missing : bool, default False
        Whether missing values are kept as NaN without ``impute``. Otherwise missing values in tables are refused here,
        with line and column, and others by the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.datasets import load_arrays
    >>> animals = {"zebra": [1, 1], "horse": [0, 1], "otter": [0, 0], "tiger": [1, 0]}
    >>> load_arrays(np.ones((40, 5)), list(animals) * 10, class_vectors=animals, unseen=["tiger"], name="animals")
    Dataset 'animals': 40 samples x 5 features, 3 seen and 1 unseen classes
    """
    if impute is not None:
        one_of(impute, "impute", IMPUTATIONS)
    form = TableForm(
        header, delimiter, id_column, ignore, ignore_text, missing or impute is not None, vector, array, query
    )
    found, y = _features_and_labels(features, labels, form)
    X = found.X
    if found.left_out:
        warnings.warn(
            f"{features} has columns named like labels or ids, which are not used as features: "
            f"{listed(map(quoted, found.left_out))} (rename them if they are features)",
            UserWarning,
            stacklevel=2,
        )
    table = None if class_vectors is None else load_classes(class_vectors, classes_header, classes_delimiter)
    path = place_of(features) if _is_path(features) else None
    with about(place_of(labels) if _is_path(labels) and _is_label_file(labels) else path):
        y = _same_labels(y, table, label_names, found.label_names)
        if len(y) != len(X):
            raise DatasetError(f"there are {len(X)} samples but {len(y)} labels")
        classes = ClassTable.one_hot(sorted_labels(set(y.tolist()))) if table is None else table
        classes.positions(y.tolist(), "y")  # checked first, so that the error does not name the split
    if split is None:
        with about(None):
            split = make_split(y, unseen=unseen, test_seen=test_seen, val=val, random_state=random_state)
    parts = split if isinstance(split, Mapping) else _read_split(Path(split), len(X))
    with about(path if isinstance(split, Mapping) else Path(split)):
        title = name or ("arrays" if path is None else path.stem)
        source = "arrays in memory" if path is None else str(path)
        dataset = Dataset(title, X, y, classes, parts, source, found.ids, found.id_name, columns=found.columns)
    if table is None and dataset.unseen:
        raise DatasetError("unseen classes need class vectors: give them as class_vectors (--classes)")
    with about(path):
        return dataset if impute is None else dataset.imputed(impute)


@dataclass(frozen=True)
class Features:
    """Samples without labels.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        In memory, mapped, or read on demand.
    ids : sequence of str, optional
        The ids of the samples.
    id_name : str
        The name of the ids.
    left_out : tuple of str
        Columns named like labels or ids, which were left out without being asked for.
    columns : tuple of str, optional
        The names of the features, if they come from a table.
    label_names : tuple of str
        The names of labels that are numbers from 0, if the table has them.
    """

    X: RowSource
    ids: Sequence[str] | None = None
    id_name: str = "id"
    left_out: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    label_names: tuple[str, ...] = ()


def load_features(
    path: str | Path,
    *,
    header: str = "auto",
    delimiter: str | None = None,
    id_column: Column | None = None,
    ignore: Sequence[Column] = (),
    ignore_text: bool = False,
    vector: str | None = None,
    array: str | None = None,
    query: str | None = None,
    imputed_values: Any = None,
) -> Features:
    r"""Open samples to classify: the features of a file; labels in it are ignored.

    Parameters
    ----------
    path : str or Path
        As ``features`` of :func:`load_arrays`.
    header, delimiter, id_column, ignore, ignore_text, vector, array, query
        As for :func:`load_arrays`.
    imputed_values : array_like of shape (n_features,), optional
        The replacements of missing values, such as ``model.imputed_values_``. None: missing values are refused, here or
        when they are read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from jcmspl.datasets import load_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "samples.csv"
    ...     _ = table.write_text("\n".join(["path;length;height", "zebra.jpg;1,5;2", "lynx.jpg;NA;0,5"]))
    ...     found = load_features(table, imputed_values=[1.0, 1.0])
    >>> found.ids, found.X[:].tolist()
    (['zebra.jpg', 'lynx.jpg'], [[1.5, 2.0], [1.0, 0.5]])
    """
    form = TableForm(
        header, delimiter, id_column, ignore, ignore_text, imputed_values is not None, vector, array, query
    )
    found, _ = _features_and_labels(path, _NO_LABELS, form)
    with about(place_of(path)):
        return found if imputed_values is None else replace(found, X=imputed(found.X, imputed_values))


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, Path))


def _are_read_on_demand(features: str | Path, form: TableForm) -> bool:
    return holds_rows(features) or (Path(features).suffix == ".parquet" and holds_vectors(Path(features), form))


def _is_label_file(labels: str | Path) -> bool:
    path = place_of(labels)
    if isinstance(path, Address):  # not opened: a column may have such a name
        return path.suffix in (*SUFFIXES["labels"], *KINDS)
    return path.suffix in SUFFIXES["labels"] or (path.exists() and not path.is_dir())


def _features_and_labels(features: Any, labels: Any, form: TableForm) -> tuple[Features, Any]:
    checked_delimiter(form.delimiter)
    if not _is_path(features):
        return _in_memory(features, labels, form)
    # a file of labels, or a column of the features?
    column = labels if isinstance(labels, str) and not _is_label_file(labels) else None
    apart = labels is not None and column is None
    if is_database(features):
        return _of_table(read_database(features, form, None if apart else column or LABEL_COLUMNS), labels, apart)
    if form.query is not None:
        raise DatasetError(f"{features} is not a database ({', '.join(DATABASES)}): leave query (--query) out")
    if form.array is not None and Path(features).suffix not in (".npz", ".safetensors"):
        raise DatasetError(f"{features} has no named arrays: leave array (--array) out")
    if form.vector is not None and Path(features).suffix in (".npy", ".npz", ".safetensors"):
        advice = "" if Path(features).suffix == ".npy" else ", or name an array with array (--array)"
        raise DatasetError(f"{features} is not a table: leave vector (--vector) out{advice}")
    if _are_read_on_demand(features, form):
        rows = opened_rows(features, column or LABEL_COLUMNS, form)
        ids = rows.ids(form.id_column)
        found = Features(rows, columns=rows.columns, label_names=rows.label_names)
        if ids is not None:
            found = replace(found, ids=ids[1], id_name=ids[0])
        return found, _read_labels(labels) if apart else rows.labels(column)
    path = Path(features)
    refuse_pictures(path)
    require_file(path)
    if path.suffix in _TABLES:
        return _of_table(_TABLES[path.suffix](path, form, None if apart else column or LABEL_COLUMNS), labels, apart)
    if form.ignore:
        raise not_a_table(path)
    if path.suffix in (".npz", ".safetensors"):
        reader = NpzReader(path) if path.suffix == ".npz" else TensorReader(path)
        there = reader.names()
        key = _array_of_features(reader, there, form.array)
        X = reader.mapped(key)
        found = Features(X, *reader.ids(len(X), None if form.id_column is None else str(form.id_column)))
        if apart:
            return found, _read_labels(labels)
        label = next((key for key in (LABEL_COLUMNS if column is None else (column,)) if key in there), None)
        if label is None:
            raise DatasetError(f"{path} has no array {quoted(column or 'labels')}: it holds {listed(there)}")
        return found, reader.array(label, len(X))
    if path.suffix == ".npy":
        if form.id_column is not None:
            raise DatasetError(f"{path} is not a table: it has no column {quoted(form.id_column)} (id_column, --id)")
        return Features(open_npy(path)), _read_labels(
            labels if apart else None, f"{path} has no labels: name the file that has them"
        )
    raise DatasetError(f"{path} is of an unknown kind: features are read from {', '.join(SUFFIXES['features'])} files")


def _of_table(table: Table, labels: Any, apart: bool) -> tuple[Features, Any]:
    """Return the samples of a table, and its labels or those that are apart."""
    left_out = () if labels is _NO_LABELS else table.left_out
    columns = None if table.columns is None else tuple(table.columns)
    found = Features(table.numbers, table.ids, table.id_name, left_out, columns, table.label_names)
    return found, _read_labels(labels) if apart else table.labels


def _array_of_features(reader: NpzReader | TensorReader, there: Sequence[str], wanted: str | None) -> str:
    """Return the array that holds the features: the one that is wanted, with a usual name, or the only matrix."""
    usual = [wanted] if wanted is not None else ["features", "X"]
    matrices = [name for name in there if len(reader.shape(name)) == 2] if wanted is None else []
    found = [name for name in usual if name in there] or (there if len(there) == 1 and wanted is None else matrices)
    if not found or (len(found) > 1 and found is matrices):
        which = "several matrices" if found else f"no array {quoted(usual[0])}"
        raise DatasetError(
            f"{reader.path} has {which}: it holds {listed(there) or 'nothing'}; name the one of features with array "
            f"(--array){suggestion(wanted or '', there)}"
        )
    return found[0]


def _in_memory(features: Any, labels: Any, form: TableForm) -> tuple[Features, Any]:
    """Return the samples and labels of arrays or of a table in memory."""
    table = columns_of_table(features)
    if table is None:
        if form.id_column is not None or form.ignore:
            raise ValueError("id_column and ignore are for tables, but these features are an array")
        found = unwrapped(features, "features")
        rows: RowSource = found if hasattr(found, "dtype") else as_real_array(found, "features")
        return Features(rows), _read_labels(labels, "labels must come with features in memory")
    place, names = Path("features"), [str(name) for name in table.names]
    if table.names and not len(table.read(table.names[0])):
        raise DatasetError("features holds no samples")
    wanted = LABEL_COLUMNS if labels is None else labels if isinstance(labels, (str, int)) else None
    vectors = [name for name in table.vectors() if name not in form.ignore and name != wanted]
    vectors = [form.vector] if form.vector in names else vectors
    texts = (names.index(name) for name in table.candidates if np.asarray(table.read(name)).dtype.kind not in "fiub")
    features_, is_vector, label, own, left_out = named_roles(place, names, vectors, wanted, form, texts)
    if is_vector:
        X = column_matrix(table.read(features_[0]), f"features[{quoted(features_[0])}]")
    else:
        given = dict(zip(names, table.names, strict=True))
        X = np.column_stack([as_real_array(table.read(given[name]), name, ndim=1) for name in features_])
    ids = None if own is None else as_ids(np.asarray(table.read(own)).tolist())
    columns = None if is_vector else features_
    types: Any = getattr(features, "features", None)  # of Hugging Face: a label table knows its names
    carried = types.get(label) if isinstance(types, Mapping) else None
    label_names = tuple(getattr(carried, "names", None) or ())
    table_read = Features(X, ids, own or "id", left_out, columns, label_names)
    return table_read, _read_labels(labels) if label is None else np.asarray(table.read(label))


def _read_labels(labels: Any, otherwise: str = "") -> Any:
    if labels is None:
        raise DatasetError(otherwise)
    if not _is_path(labels):
        return labels
    if holds_rows(labels):
        return read_labels(labels)
    path = Path(labels)
    swapped = "is this the file of class vectors, which is another option (class_vectors, --classes)?"
    if path.suffix == ".npy":
        array = np.array(open_npy(path))
        if array.ndim == 2 and array.shape[1] > 1:
            raise DatasetError(
                f"{path} has the shape {array.shape}, but one label for each sample is expected: {swapped}"
            )
        require_characters(path, array, "a NumPy .npy file of labels")
        return array
    rows = read_text_rows(path, whole_lines=path.suffix == ".txt")
    wide = next((i for i, cells in enumerate(rows, start=1) if len(cells) != 1), None)
    if wide is not None:
        raise DatasetError(
            f"{path}: entry {wide} has {len(rows[wide - 1])} cells, but one label is expected: put a label with "
            f"commas in quotes; or {swapped}"
        )
    texts = [cells[0] for cells in rows]
    return texts[1:] if texts and texts[0].lower() in LABEL_COLUMNS else texts


def _same_labels(labels: Any, classes: ClassTable | None, given: Any, carried: Sequence[str]) -> LabelArray:
    """Convert labels to those of the classes, if there are any.

    A CSV file holds "3" where an array of labels has 3, and numbers stand for names where `given` names them, or the
    names that the file of the labels carries.
    """
    values = as_label_list(labels)
    different = list(dict.fromkeys(values))
    if given is not None or (carried and not (classes and all(label in classes for label in different))):
        names = load_label_names(carried if given is None else given)
        unnamed = [label for label in different if str(label) not in names]
        if unnamed and given is not None:
            raise DatasetError(f"label_names (--label-names) has no name for the labels {some(unnamed)}")
        values = [names.get(str(label), label) for label in values]
        different = list(dict.fromkeys(values))
    if classes is not None and not all(label in classes for label in different):
        names = {str(label): label for label in classes}
        known_as = {label: names.get(str(label), label) for label in different}
        values = [known_as[label] for label in values]
    return label_array(values)


def _read_split(path: Path, n_samples: int) -> dict[str, IntArray]:
    """Read the part of each sample from a CSV or text file."""
    rows = read_text_rows(path, delimiter=None)
    if not rows:
        raise DatasetError(f"{path} is empty")
    header = [cell.lower() for cell in rows[0]]
    if "row" in header and "part" in header:
        row, part = header.index("row"), header.index("part")
        entries = [(cells[row], cells[part]) for cells in rows[1:] if len(cells) == len(header)]
        if len(entries) != len(rows) - 1:
            raise DatasetError(f"{path} has lines without {len(header)} cells, as its header has")
    elif len(header) == 1:
        named = header[0] in ("part", "split")
        entries = [(str(i), cells[0]) for i, cells in enumerate(rows[named:])]
        if len(entries) != n_samples:
            raise DatasetError(f"{path} names the parts of {len(entries)} samples, but there are {n_samples}")
    else:
        raise DatasetError(
            f"{path} must have one column, or the columns 'row' and 'part', but starts with {listed(rows[0])}"
        )
    parts: dict[str, list[int]] = {name: [] for name in PARTS}
    for row_text, name in entries:
        if name == _UNUSED:
            continue
        if name not in parts or not row_text.isdecimal():
            raise DatasetError(
                f"{path} holds {quoted(name)} for row {quoted(row_text)}, but a row is a number from 0 and a part "
                f"one of {', '.join(PARTS)} or {_UNUSED}"
            )
        parts[name].append(int(row_text))
    return {name: np.array(numbers, dtype=np.int64) for name, numbers in parts.items()}
