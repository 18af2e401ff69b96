"""Samples that arrive in a stream."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl.datasets.errors import DatasetError
from jcmspl.datasets.sample_stream import read_stream

X = np.round(np.random.default_rng(0).standard_normal((7, 3)), 6)
NAME = Path("standard input")


def rows_of(content, n_features=3, **options):
    content = content if isinstance(content, bytes) else content.encode()
    chunks = list(read_stream(io.BytesIO(content), NAME, n_features, **options))
    rows, samples = np.concatenate([chunk.rows for chunk in chunks]), np.concatenate([chunk.X for chunk in chunks])
    ids = [own for chunk in chunks for own in chunk.ids or ()]
    return rows, samples, ids


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def csv_text(delimiter=",", header="", prefix=lambda row: ""):
    lines = [prefix(i) + delimiter.join(map(str, row)) for i, row in enumerate(X.tolist())]
    return header + "\n".join(lines) + "\n"


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    "content",
    [
        npy_bytes(X),
        csv_text(),
        csv_text(";"),
        csv_text("\t"),
        "\ufeff" + csv_text(header="a,b,c\n").replace("\n", "\r\n"),
        "\n" + "\n".join(json.dumps(row) for row in X.tolist()),
        "".join(json.dumps({"features": row}) + "\n\n" for row in X.tolist()),
    ],
)
def test_every_form_chunk_by_chunk(content, size):
    rows, samples, ids = rows_of(content, size=size)
    assert_array_equal(rows, np.arange(7))
    assert_array_equal(samples, X)
    assert ids == []


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "i2", "?"])
def test_types_of_npy(dtype):
    assert_array_equal(rows_of(npy_bytes(X.astype(dtype)))[1], X.astype(dtype))


def test_ids():
    wanted = [f"photo {i}" for i in range(7)]
    texts = [
        csv_text(header="id,a,b,c\n", prefix=lambda row: f"photo {row},"),
        csv_text(header="label,id,a,b,c\n", prefix=lambda row: f"cat,photo {row},"),
        "\n".join(json.dumps({"id": name, "features": row}) for name, row in zip(wanted, X.tolist(), strict=True)),
    ]
    for text in texts:
        rows, samples, ids = rows_of(text, size=2)
        assert (len(rows), ids) == (7, wanted)
        assert_array_equal(samples, X)
    assert rows_of('{"id": 5, "features": [1, 2, 3]}')[2] == ["5"]


def test_a_column_of_features_may_be_called_id():
    assert rows_of("id,b,c\n1,2,3\n")[1].tolist() == [[1, 2, 3]]


def test_no_rows():
    assert list(read_stream(io.BytesIO(npy_bytes(X[:0])), NAME, 3)) == []
    assert list(read_stream(io.BytesIO(b"a,b,c\n"), NAME, 3)) == []


def test_a_chunk_comes_before_the_stream_ends():
    """A stream whose rest would fail: what was there before is given."""
    stream = read_stream(io.BytesIO(b"1,2,3\n4,5,6\noops\n"), NAME, 3, size=2)
    assert_array_equal(next(stream).X, [[1, 2, 3], [4, 5, 6]])
    with pytest.raises(DatasetError, match="line 3 has 1 cells"):
        next(stream)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty"),
        (b"\n \n", "only blank lines"),
        (npy_bytes(X[:, :2]), "has 2 columns, but the model expects 3 features"),
        (npy_bytes(X[0]), r"array has the shape \(3,\)"),
        (npy_bytes(np.asfortranarray(X)), "by columns"),
        (npy_bytes(X)[:-9], "cut short: it claims 7 rows, but 6 are there"),
        (npy_bytes(X)[:20], "damaged or cut short"),
        (npy_bytes(X.astype(complex)), "real numbers"),
        (npy_bytes(X.astype("U9")), "real numbers"),
        ("1,2\n", "has 2 columns, but the model expects 3 features"),
        ("1,2,3\n4,5\n", "line 2 has 2 cells"),
        ("1,2,3\n4,x,6\n", "line 2 holds 'x' in the column number 2 where a plain number"),
        ("1,2,3\n4,1_0,6\n", "line 2 holds '1_0'"),
        ("a,2,3\n", "line 1 holds 'a'.*--header yes"),
        ("[1, 2]\n", "line 1 holds 2 values where a list of 3 numbers"),
        ("[1, 2, null]\n", "line 1 holds None where a number"),
        ('[1, 2, "3"]\n', "line 1 holds '3' where a number"),
        ("[1, 2, true]\n", "line 1 holds True where a number"),
        ("[1, 2, 3]\n[1, 2\n", "line 2 is not JSON"),
        ('{"features": [1, 2, 3]}\n{"values": [1, 2, 3]}\n', "line 2 has no 'features'"),
        ('{"a": [1, 2, 3], "b": [1, 2, 3]}\n', "columns 'a', 'b' all hold vectors: name one"),
        ('{"a": "x"}\n', "column 'a' does not hold numbers"),
        ('{"features": 3}\n', "line 1 holds 3 where a list"),
        ('{"id": [1], "features": [1, 2, 3]}\n', "an 'id' that is neither"),
        ('{"id": 1, "features": [1, 2, 3]}\n[1, 2, 3]\n', "some samples have an 'id'"),
        ("[1, 2, 1" + 400 * "0" + "]\n", "too large"),
        ("[" * 5000, "is not JSON"),
        (b"\xff\xfe1,2,3", "is written in UTF-16: save it as UTF-8"),
        (b"1,2,3\n4,\xe9,6", "line 2 is not in UTF-8"),
        (b'[1, 2, 3]\n"\xe9"', "line 2 is not in UTF-8"),
    ],
)
def test_what_is_refused(content, message):
    with pytest.raises(DatasetError, match=message):
        rows_of(content)


def test_the_stream_stays_open():
    file = io.BytesIO(csv_text().encode())
    list(read_stream(file, NAME, 3))
    assert not file.closed


def test_a_file_of_json_lines_is_nothing_else(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text("hello world\n")
    with path.open("rb") as file, pytest.raises(DatasetError, match="line 1 is not JSON"):
        list(read_stream(file, path, 3))
