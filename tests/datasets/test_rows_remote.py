"""Addresses in files and in names of columns, classes and folders are not opened unasked."""

import json
import socket

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from numpy.testing import assert_array_equal

from jcmspl import ClassTable, load
from jcmspl.datasets import DatasetError, load_arrays, load_dataset, open_rows
from jcmspl.datasets.arrays import load_features
from jcmspl.datasets.class_files import load_classes
from support.shards import write_zarr

X = np.random.default_rng(0).random((23, 5)).astype(np.float32)
NAMES = list("abcd")
Y = [NAMES[i % 4] for i in range(23)]
VECTORS = ClassTable(NAMES, [[1, 0.5, 0], [0, 0.5, 1], [0.2, 0, 1], [1, 0, 0.3]])
URL = "http://127.0.0.1:9/a.npy"


def skip_without_zarr(version):
    if version == 3 and zarr.__version__.startswith("2."):
        pytest.skip("zarr 2 does not write format 3")


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    opened = []

    def refused(*arguments, **_):
        opened.append(arguments)
        raise OSError("a remote address was opened")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fsspec.core, "url_to_fs", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    yield
    assert not opened


@pytest.mark.parametrize("name", ["http::a.zarr", "simplecache::http::b.zarr", "memory:::c.zarr"])
@pytest.mark.parametrize("version", [2, 3])
def test_names_of_zarr_arrays(tmp_path, name, version):
    skip_without_zarr(version)
    write_zarr(tmp_path / "a.zarr", X, version)
    (tmp_path / "a.zarr").rename(name)
    assert_array_equal(open_rows(name)[:], X)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("label", ["http://schema.org/name", "s3://bucket"])
def test_columns_and_cells(tmp_path, kind, label):
    names = [f"{URL}#{name}" for name in Y]
    columns = {f"s3://f/{i}": column for i, column in enumerate(X.T)}
    frame = pd.DataFrame({"id": [f"{URL}?{i}" for i in range(len(X))], **columns, label: names})
    getattr(frame, f"to_{kind}")(tmp_path / f"x.{kind}", index=False)
    vectors = {f"{URL}#{name}": VECTORS[name] for name in NAMES}
    found = load_arrays(f"x.{kind}", label, class_vectors=vectors, id_column="id")
    assert found.y.tolist() == names
    assert found.ids[3] == f"{URL}?3"
    found = load_features(f"x.{kind}", id_column="id", ignore=[label])
    assert found.columns == tuple(columns)
    with pytest.raises(DatasetError, match="column"):
        load_arrays(f"x.{kind}", "http://schema.org/no", class_vectors=vectors)


def test_tables_of_many_files(tmp_path):
    label = "http://schema.org/name"
    for number in range(2):
        table = pa.table({f"f{i}": column for i, column in enumerate(X.T)} | {label: Y, "url": [URL] * len(X)})
        pq.write_table(table, tmp_path / f"x_{number}.parquet")
    found = load_arrays("x_*.parquet", label, class_vectors=VECTORS, id_column="url")
    assert found.y.tolist() == 2 * Y
    assert found.ids[-1] == URL


def test_what_only_takes_files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    for read, match in (
        (lambda: load_dataset(URL), "is an address"),
        (lambda: load_classes(URL), "does not exist"),
        (
            lambda: load_arrays("x.npy", Y, class_vectors=VECTORS, split="http://127.0.0.1:9/s.csv"),
            "does not exist",
        ),
        (lambda: load("http://127.0.0.1:9/m.safetensors"), "does not exist"),
    ):
        with pytest.raises((DatasetError, OSError), match=match):
            read()


@pytest.mark.parametrize("header", [".zarray", "zarr.json"])
def test_headers_that_name_others(tmp_path, header):
    """No codec or transformer that would fetch chunks from elsewhere is taken."""
    skip_without_zarr(3)
    write_zarr(tmp_path / "a.zarr", X, 2 if header == ".zarray" else 3)
    path = tmp_path / "a.zarr" / header
    original = json.loads(path.read_text())
    reference = [{"id": "reference", "name": "reference", "configuration": {"fo": URL, "url": URL}}]
    for change in ({"storage_transformers": reference}, {"filters": reference, "codecs": reference}):
        path.write_text(json.dumps(original | change))
        with pytest.raises(DatasetError, match=r"a\.zarr (has storage transformers|is encoded with 'reference')"):
            open_rows(tmp_path / "a.zarr")
