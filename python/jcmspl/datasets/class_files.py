"""Files of class vectors, and tables of the names of classes."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.data.class_table import LABEL_COLUMNS, ClassTable
from jcmspl.data.labels import Label
from jcmspl.datasets.columns import Table, TableForm
from jcmspl.datasets.csv_table import read_class_csv
from jcmspl.datasets.errors import DatasetError, about, decoding, require_memory
from jcmspl.datasets.json_lines import read_json_lines
from jcmspl.datasets.npy import open_npy
from jcmspl.datasets.npz import NpzReader
from jcmspl.datasets.parquet import read_arrow, read_parquet
from jcmspl.datasets.tensors import TensorReader
from jcmspl.io.files import require_file
from jcmspl.support.lazy import needed
from jcmspl.support.shown import listed, quoted

_TEXTS = (".csv", ".tsv", ".txt")
_OBJECTS = (".json", ".yaml", ".yml")
_TABLES: dict[str, Callable[[Path, TableForm, Sequence[str]], Table]] = {
    ".parquet": read_parquet,
    **dict.fromkeys((".arrow", ".feather"), read_arrow),
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
}
#: The file formats of class vectors.
SUFFIXES = (*_TEXTS, ".npy", ".npz", *_TABLES, ".safetensors", *_OBJECTS)
_BYTES_OF_OBJECTS = 16  # of memory for a byte of JSON or YAML, roughly


def load_classes(value: Any, header: str = "auto", delimiter: str | None = None) -> ClassTable:
    """Read class vectors, as ``class_vectors`` of :func:`load_arrays`."""
    if not isinstance(value, (str, Path)):
        return ClassTable.of(value)
    path = Path(value)
    require_file(path)
    with about(path):
        if path.suffix in _TEXTS:
            table = read_class_csv(path, header=header, delimiter=delimiter)
            if not table.numbers.size:
                raise DatasetError(
                    f"{path} has a single column, but the vector of a class must follow its name: is this the file of "
                    "labels, which is another option (labels, --labels)?"
                )
            return ClassTable(table.labels, table.numbers, table.columns)
        if path.suffix == ".npy":
            return ClassTable.of(open_npy(path))
        if path.suffix == ".npz":
            return _of_npz(NpzReader(path))
        if path.suffix == ".safetensors":
            return _of_tensors(TensorReader(path))
        if path.suffix in _OBJECTS:
            return _of_object(path, _read_object(path))
        if path.suffix in _TABLES:
            found = _TABLES[path.suffix](path, TableForm(), LABEL_COLUMNS)
            return ClassTable(found.labels, found.numbers, found.columns)
    raise DatasetError(f"{path} is of an unknown kind: class vectors are read from {', '.join(SUFFIXES)} files")


def load_label_names(value: Any) -> dict[Label, Label]:
    """Return the name of each number of a class: a sequence of names, which count from 0, a mapping, or a file of one.

    A file is JSON (a list, or an object of numbers to names), YAML, or text with a name on each line.
    """
    names: Any = value
    if isinstance(value, (str, Path)):
        path = Path(value)
        require_file(path)
        if path.suffix in _OBJECTS:
            names = _read_object(path)
        else:
            with decoding(path, "text in UTF-8"):
                names = [line.strip() for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    if not isinstance(names, Mapping):
        names = dict(enumerate(names.tolist() if hasattr(names, "tolist") else names))
    if names and all(isinstance(name, str) and isinstance(n, int) for name, n in names.items()):
        names = {number: name for name, number in names.items()}  # label2id of Hugging Face
    if not names or not all(isinstance(name, (str, int)) for name in names.values()):
        raise DatasetError("label_names (--label-names) must hold a name for each number of a class")
    return {str(number): name for number, name in names.items()}


def _of_npz(reader: NpzReader) -> ClassTable:
    """Read class vectors: under the project's own names, or any two arrays of equal length, names and vectors."""
    there = reader.names()
    if {"class_names", "class_vectors"} <= set(there):
        return reader.classes()
    shapes = {name: reader.shape(name) for name in there}
    vectors = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(vectors) == 1:
        names = [name for name, shape in shapes.items() if shape == shapes[vectors[0]][:1]]
        if len(names) == 1:
            return ClassTable(reader.array(names[0]), reader.array(vectors[0]))
    if there and len(set(shapes.values())) == 1 and len(shapes[there[0]]) == 1:
        return ClassTable(there, np.stack([reader.array(name) for name in there]))
    held = listed(f"{name} {shape}" for name, shape in shapes.items()) or "nothing"
    raise DatasetError(
        f"{reader.path} holds {held}, but class vectors are an array of names and one of vectors, of the same length "
        "(or a vector for each class, under its name)"
    )


def _of_tensors(reader: TensorReader) -> ClassTable:
    """Read class vectors: a tensor for each class, or one of all, with names in the metadata or row numbers."""
    there = reader.names()
    matrices = [name for name in there if len(reader.shape(name)) == 2]
    if not matrices:
        return ClassTable.of({name: reader.array(name) for name in there})
    if len(matrices) > 1:
        raise DatasetError(f"{reader.path} has several matrices, {listed(matrices)}, but class vectors are one")
    names = reader.metadata().get("class_names")
    vectors = reader.array(matrices[0])
    return ClassTable.of(vectors) if names is None else ClassTable(json.loads(names), vectors)


def _read_object(path: Path) -> Any:
    """Read a JSON or YAML file."""
    require_memory(path, "its content", _BYTES_OF_OBJECTS * path.stat().st_size)
    if path.suffix == ".json":
        with decoding(path, "a JSON file"):
            return json.loads(path.read_bytes(), object_pairs_hook=partial(_without_repeats, path))
    yaml = needed("yaml", f"{path} is a YAML file, which needs PyYAML", "yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            _without_repeats(path, [(key.value, None) for key, _ in node.value])
            return super().construct_mapping(node, deep)

    with decoding(path, "a YAML file"), path.open("rb") as file:
        return yaml.load(file, Loader)


def _without_repeats(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a name that it has twice is refused, since the first value would be lost."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise DatasetError(f"{path} has {quoted(name)} twice: leave one out, or rename it")
        found[name] = value
    return found


def _of_object(path: Path, content: Any) -> ClassTable:
    """Return class vectors by name: lists of numbers, or objects of attributes and their values."""
    if not isinstance(content, dict) or not content:
        raise DatasetError(f"{path} must hold an object: the name of each class, then its vector")
    vectors = list(content.values())
    attributes = list(vectors[0]) if isinstance(vectors[0], dict) else None
    for name, vector in content.items():
        if attributes is not None and (not isinstance(vector, dict) or set(vector) != set(attributes)):
            raise DatasetError(
                f"{path}: the class {quoted(name)} has other attributes than {quoted(next(iter(content)))}"
            )
        _require_numbers(path, name, list(vector.values()) if isinstance(vector, dict) else vector)
    if attributes is None:
        return ClassTable.of(content)
    return ClassTable(list(content), [[vector[a] for a in attributes] for vector in vectors], attributes)


def _require_numbers(path: Path, name: Any, vector: Any) -> None:
    if not isinstance(vector, list) or not {type(number) for number in vector} <= {int, float}:
        found = reprlib.repr(vector)  # short, even if a YAML file refers to the same lists again and again
        raise DatasetError(f"{path}: the class {quoted(name)} has {found} where a list of numbers is expected")
