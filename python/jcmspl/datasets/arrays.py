"""Own data: features, labels, class vectors and splits in files of any common kind, or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array
from jcmspl.datasets._tables import holds_vectors, read_csv, read_parquet, read_text_rows
from jcmspl.datasets.dataset import PARTS, Dataset
from jcmspl.datasets.errors import DatasetError, about, refuse_pictures, require_keys
from jcmspl.datasets.npz import NpzReader, open_npy
from jcmspl.datasets.row_source import RowSource
from jcmspl.datasets.rows import LABEL_COLUMNS, holds_rows, open_rows, read_labels
from jcmspl.datasets.splits import make_split
from jcmspl.io.places import place_of
from jcmspl.io.regular import require_file
from jcmspl.support.arguments import IntArray, as_real_array
from jcmspl.support.shown import listed, quoted

#: The kinds of files that hold each part of a data set.
SUFFIXES = {
    "features": (".npy", ".npz", ".csv", ".parquet"),
    "labels": (".npy", ".txt", ".csv"),
    "classes": (".csv", ".npy", ".npz"),
    "split": (".csv", ".txt"),
}
_UNUSED = "unused"


def load_arrays(
    features: Any,
    labels: Any = None,
    *,
    class_vectors: Any,
    split: Any = None,
    unseen: float | Iterable[Label] = 0.2,
    test_seen: float = 0.2,
    val: float | Iterable[Label] = 0.2,
    random_state: int = 0,
    name: str | None = None,
    header: str = "auto",
    classes_header: str = "auto",
) -> Dataset:
    """Make a data set of your own files or arrays.

    Parameters
    ----------
    features : path or array of shape (n_samples, n_features)
        A file: ``.npy`` (mapped into memory), ``.npz`` (its array "features" or "X", or its only one), ``.csv`` or
        ``.parquet`` (one column for each feature, and perhaps one of labels; read into memory). Or what
        :func:`open_rows` takes, read when it is needed: a zarr array, a folder or a pattern of files, an address.
    labels : path, column name or array_like of shape (n_samples,), optional
        A ``.npy``, ``.txt`` or ``.csv`` file with a label for each sample, ``.npy`` files by a pattern, or the column
        (of a ``.npz``: the array) of the features, or of the ``metadata`` beside them, that holds them; by default the
        one named "label", "labels", "class" or "y".
    class_vectors : path, ClassTable, dict, DataFrame or array_like
        A ``.csv`` file, where the first column is the name of the class and a header has those of the attributes; an
        ``.npz`` file with "class_names" and "class_vectors"; or a ``.npy`` file, where labels are row numbers from 0.
    split : path or dict of str to row numbers, optional
        A ``.csv`` or ``.txt`` file with the part of each sample, in its order, or with the columns "row" (from 0) and
        "part". Parts are "train", "val", "test_seen" and "test_unseen"; "unused" leaves a sample out. By default a
        split is made.
    unseen, test_seen, val, random_state
        How a split is made: see :func:`make_split`. Without effect if there is one.
    name : str, optional
    header, classes_header : {"auto", "yes", "no"}, default "auto"
        Whether the CSV files of features and of class vectors start with a header. "auto": it is found out, and a first
        line 0,1,2,..., which could be either, is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.datasets import load_arrays
    >>> animals = {"zebra": [1, 1], "horse": [0, 1], "otter": [0, 0], "tiger": [1, 0]}
    >>> load_arrays(np.ones((40, 5)), list(animals) * 10, class_vectors=animals, unseen=["tiger"], name="animals")
    Dataset 'animals': 40 samples x 5 features, 3 seen and 1 unseen classes
    """
    X, y = _features_and_labels(features, labels, header)
    classes = load_classes(class_vectors, classes_header)
    path = place_of(features) if _is_path(features) else None
    with about(place_of(labels) if _is_path(labels) and _is_label_file(labels) else path):
        y = _same_labels(y, classes)
        if len(y) != len(X):
            raise DatasetError(f"there are {len(X)} samples but {len(y)} labels")
        classes.positions(y.tolist(), "y")  # if it is these that are wrong, it is not the split
    if split is None:
        with about(None):
            split = make_split(y, unseen=unseen, test_seen=test_seen, val=val, random_state=random_state)
    parts = split if isinstance(split, Mapping) else _read_split(Path(split), len(X))
    with about(path if isinstance(split, Mapping) else Path(split)):
        title = name or ("arrays" if path is None else path.stem)
        return Dataset(title, X, y, classes, parts, "arrays in memory" if path is None else str(path))


def load_features(path: str | Path, header: str = "auto") -> RowSource:
    """Open a file as ``features`` of :func:`load_arrays`, without labels or with labels that are passed over."""
    if _are_read_on_demand(path):
        return open_rows(path)
    try:
        return _features_and_labels(path, None, header)[0]
    except DatasetError:  # it has no labels
        return _features_and_labels(path, (), header)[0]


def load_classes(value: Any, header: str = "auto") -> ClassTable:
    """Read class vectors, as ``class_vectors`` of :func:`load_arrays`."""
    if not _is_path(value):
        return ClassTable.of(value)
    path = Path(value)
    require_file(path)
    with about(path):
        if path.suffix == ".csv":
            table = read_csv(path, 0, header=header)
            if not table.numbers.size:
                raise DatasetError(
                    f"{path} has a single column, but after the name of a class comes its vector: is this the file of "
                    "labels, which is another option (labels, --labels)?"
                )
            return ClassTable(table.texts, table.numbers, table.columns)
        if path.suffix == ".npy":
            return ClassTable.of(open_npy(path))
        if path.suffix == ".npz":
            reader = NpzReader(path)
            require_keys(path, ("class_names", "class_vectors"), reader.names())
            return reader.classes()
        raise DatasetError(f"{path} is of an unknown kind: class vectors are in {', '.join(SUFFIXES['classes'])} files")


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, Path))


def _are_read_on_demand(features: str | Path) -> bool:
    return holds_rows(features) or (Path(features).suffix == ".parquet" and holds_vectors(Path(features)))


def _is_label_file(labels: str | Path) -> bool:
    path = place_of(labels)
    return path.suffix in SUFFIXES["labels"] or (path.exists() and not path.is_dir())


def _features_and_labels(features: Any, labels: Any, header: str) -> tuple[RowSource, Any]:
    if not _is_path(features):
        X: RowSource = features if hasattr(features, "dtype") else as_real_array(features, "features")
        return X, _read_labels(labels, "labels must come with features in memory")
    # a file of labels, or a column of the features?
    column = labels if isinstance(labels, str) and not _is_label_file(labels) else None
    if _are_read_on_demand(features):
        rows = open_rows(features, label_columns=column or LABEL_COLUMNS)
        return rows, rows.labels(column) if column is not None or labels is None else _read_labels(labels)
    path = Path(features)
    refuse_pictures(path)
    require_file(path)
    columns = LABEL_COLUMNS if column is None else (column,)
    apart = labels is not None and column is None
    if path.suffix == ".npy":
        return open_npy(path), _read_labels(
            labels if apart else None, f"{path} has no labels: name the file that has them"
        )
    if path.suffix == ".npz":
        reader = NpzReader(path)
        there = reader.names()
        X = reader.mapped(_feature_key(path, there))
        if apart:
            return X, _read_labels(labels)
        key = next((key for key in columns if key in there), None)
        if key is None:
            raise DatasetError(f"{path} has no array {quoted(column or 'labels')}: it holds {listed(there)}")
        return X, reader.array(key, len(X))
    if path.suffix in (".csv", ".parquet"):
        text_column = None if apart else columns
        is_csv = path.suffix == ".csv"
        table = read_csv(path, text_column, header=header) if is_csv else read_parquet(path, text_column)
        return table.numbers, _read_labels(labels) if apart else table.texts
    raise DatasetError(f"{path} is of an unknown kind: features are in {', '.join(SUFFIXES['features'])} files")


def _feature_key(path: Path, there: list[str]) -> str:
    key = next((key for key in ("features", "X") if key in there), there[0] if len(there) == 1 else None)
    if key is None:
        raise DatasetError(f"{path} has no array 'features': it holds {listed(there) or 'nothing'}")
    return key


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
        return array
    rows = read_text_rows(path, whole_lines=path.suffix == ".txt")
    wide = next((i for i, cells in enumerate(rows, start=1) if len(cells) != 1), None)
    if wide is not None:
        raise DatasetError(
            f"{path}: entry {wide} has {len(rows[wide - 1])} cells, but one label is expected: a label with commas "
            f"stands in quotes; or {swapped}"
        )
    texts = [cells[0] for cells in rows]
    return texts[1:] if texts and texts[0].lower() in LABEL_COLUMNS else texts


def _same_labels(labels: Any, classes: ClassTable) -> LabelArray:
    """Return labels in the type that the classes have, where text and numbers stand for the same names.

    A CSV file knows only text, an array of labels may hold numbers.
    """
    values = as_label_list(labels)
    different = list(dict.fromkeys(values))
    if not all(label in classes for label in different):
        names = {str(label): label for label in classes}
        known_as = {label: names.get(str(label), label) for label in different}
        values = [known_as[label] for label in values]
    return label_array(values)


def _read_split(path: Path, n_samples: int) -> dict[str, IntArray]:
    """Read the part of each sample from a CSV or text file."""
    rows = read_text_rows(path)
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
