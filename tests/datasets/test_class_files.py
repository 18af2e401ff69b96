"""Class vectors in files of every format, and names of classes for labels that are numbers."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from safetensors.numpy import save_file

from jcmspl import ClassTable
from jcmspl.datasets import DatasetError, load_arrays, load_dataset
from jcmspl.datasets.class_files import load_classes, load_label_names
from jcmspl.methods import ESZSL

NAMES = ["zebra", "horse", "otter"]
VECTORS = np.array([[1.0, 0.5], [0.0, 0.5], [1.0, 0.0]])
TABLE = ClassTable(NAMES, VECTORS)
X = np.random.default_rng(0).normal(size=(12, 4))
Y = NAMES * 4


def write(path, kind):
    by_name = dict(zip(NAMES, VECTORS.tolist(), strict=True))
    table = pa.table({"name": NAMES, "vector": VECTORS.tolist()})
    match kind:
        case "a.json":
            path.write_text(json.dumps(by_name))
        case "attributes.json":
            path.write_text(json.dumps({name: {"stripes": v[0], "hooves": v[1]} for name, v in by_name.items()}))
        case "a.yaml":
            path.write_text("".join(f"{name}: {vector}\n" for name, vector in by_name.items()))
        case "a.jsonl":
            path.write_text("\n".join(json.dumps({"class": name, "v": v}) for name, v in by_name.items()))
        case "a.parquet":
            parquet.write_table(table, path)
        case "columns.parquet":
            columns = {"stripes": VECTORS[:, 0], "hooves": VECTORS[:, 1]}
            parquet.write_table(pa.table({"class": NAMES, **columns}), path)
        case "a.feather":
            feather.write_feather(table, path)
        case "a.npz":
            np.savez(path, anything=np.array(NAMES), whatever=VECTORS)
        case "keys.npz":
            np.savez(path, **by_name)
        case "a.safetensors":
            save_file({name: np.array(v) for name, v in by_name.items()}, path)
        case "matrix.safetensors":
            save_file({"vectors": VECTORS}, path, {"class_names": json.dumps(NAMES)})
    return path


# a list of the list before it, ten times, and so on: a text of it would have 10 ** 12 entries
BOMB = "zebra: [&a0 [1], " + ", ".join(f"&a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(12)) + "]"

KINDS = [
    *("a.json", "attributes.json", "a.yaml", "a.jsonl", "a.parquet", "columns.parquet", "a.feather"),
    *("a.npz", "keys.npz", "a.safetensors", "matrix.safetensors"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_formats(kind, tmp_path):
    if kind == "a.yaml":
        pytest.importorskip("yaml")
    found = load_classes(write(tmp_path / kind, kind))
    assert sorted(found) == sorted(NAMES)
    np.testing.assert_array_equal(found.select(NAMES).vectors, VECTORS)
    named = kind in ("attributes.json", "columns.parquet")
    assert found.attributes == (("stripes", "hooves") if named else None)


def test_models_take_the_name_of_a_file(tmp_path):
    path = write(tmp_path / "a.json", "a.json")
    model = ESZSL().fit(X, Y, class_vectors=str(path))
    assert list(model.predict(X, class_vectors=path)) == list(ESZSL().fit(X, Y, class_vectors=TABLE).predict(X))
    with pytest.raises(FileNotFoundError, match=r"b.json does not exist; did you mean a.json\?"):
        ESZSL().fit(X, Y, class_vectors=str(tmp_path / "b.json"))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.json", "", "not a JSON file"),
        ("a.json", "[" * 100_000, "not a JSON file"),
        ("a.json", "[1, 2]", "must hold an object"),
        ("a.json", "{}", "must hold an object"),
        ("a.json", '{"zebra": 3}', "'zebra' has 3 where a list of numbers"),
        ("a.json", '{"zebra": [1, "2"]}', "'zebra' has .* where a list of numbers"),
        ("a.json", '{"zebra": [true]}', "'zebra' has .* where a list of numbers"),
        ("a.json", '{"zebra": [1, NaN]}', "NaN or infinity in the vectors of 1 classes: 'zebra'"),
        ("a.json", '{"zebra": [1, 2], "horse": [1]}', "'horse' has 1"),
        ("a.json", '{"zebra": {"a": 1}, "horse": {"b": 1}}', "'horse' has other attributes than 'zebra'"),
        ("a.json", '{"zebra": {"a": [1]}}', "'zebra' has .* where a list of numbers"),
        ("a.json", '{"zebra": [1], "otter": [2], "zebra": [3]}', "has 'zebra' twice"),
        ("a.json", '{"zebra": {"tail": 1, "tail": 2}}', "has 'tail' twice"),
        ("a.yaml", "zebra: [1]\notter: [2]\nzebra: [3]", "has 'zebra' twice"),
        ("a.yaml", BOMB, "'zebra' has .* where a list of numbers"),
        ("a.json", '{"zebra": [%s]}' % ("9" * 400), "class_vectors|a.json"),
        ("a.yaml", "zebra: !!python/object/apply:os.system [exit]", "not a YAML file"),
        ("a.yaml", "a: &a [1, 2]\nb: &b [*a, *a]\n", "'b' has .* where a list of numbers"),
        ("a.yaml", "[" * 5000, "not a YAML file"),
        ("a.jsonl", '{"class": "zebra", "v": [1]}\n{"class": "horse", "v": [1, 2]}', "line 2 holds 2 values"),
        ("a.safetensors", "", "not a safetensors file"),
        ("a.json5", "{}", "unknown kind"),
    ],
)
def test_bad_files(name, content, told, tmp_path):
    if name == "a.yaml":
        pytest.importorskip("yaml")
    (tmp_path / name).write_text(content)
    with pytest.raises(DatasetError, match=told) as error:
        load_classes(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


def test_without_yaml(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    (tmp_path / "a.yaml").touch()
    with pytest.raises(ImportError, match=r"pip install 'jcmspl\[yaml\]'"):
        load_classes(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("names.txt", "zebra\nhorse\notter\n"),
        ("names.json", '["zebra", "horse", "otter"]'),
        ("names.json", '{"0": "zebra", "1": "horse", "2": "otter"}'),
        ("names.json", '{"zebra": 0, "horse": 1, "otter": 2}'),
    ],
)
def test_files_of_label_names(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    data = load_arrays(X, np.arange(12) % 3, class_vectors=TABLE, label_names=tmp_path / name)
    assert data.y.tolist() == Y


def test_label_names():
    for names in (NAMES, tuple(NAMES), np.array(NAMES), dict(enumerate(NAMES))):
        assert load_arrays(X, [0, 1, 2] * 4, class_vectors=TABLE, label_names=names).y.tolist() == Y
    with pytest.raises(DatasetError, match=r"label_names .* has no name for the labels 3"):
        load_arrays(X, [0, 1, 3] * 4, class_vectors=TABLE, label_names=NAMES)
    for bad in ([], {}, [None], [["zebra"]]):
        with pytest.raises(DatasetError, match="must hold a name for each number"):
            load_label_names(bad)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("about", [{"names": NAMES, "_type": "ClassLabel"}, {"names": 3}, None, {}])
def test_label_tables_of_hugging_face(suffix, about, tmp_path):
    """The names of classes are in the metadata of a file; if these are damaged, labels stay numbers."""
    features = json.dumps({"info": {"features": {"label": about}}})
    table = pa.table({"embedding": X.tolist(), "label": [0, 1, 2] * 4}).replace_schema_metadata(
        {"huggingface": features}
    )
    path = tmp_path / f"data.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    if about and about.get("names") == NAMES:
        assert load_dataset(path, class_vectors=TABLE).y.tolist() == Y
    else:
        with pytest.raises(DatasetError, match="the labels are numbers, but the classes have names"):
            load_dataset(path, class_vectors=TABLE)
