"""Rows in many files: whatever is asked for equals what the array in memory gives; what is wrong is named."""

import json
import os
import pickle
import re
import sys
import threading

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from jcmspl import JCMSPL, ClassSearchCV, ClassTable
from jcmspl.core import Statistics
from jcmspl.datasets import DatasetError, load_arrays, load_dataset, open_rows, read_labels
from jcmspl.datasets.arrays import load_features
from jcmspl.methods import RidgeVS
from jcmspl.model.registry import get
from support.shards import KINDS, write_metadata, write_shard, write_shards, write_zarr

LENGTHS = [3, 0, 7, 1, 12]
X = np.random.default_rng(0).random((23, 5)).astype(np.float32)
NAMES = ["zebra", "horse", "otter", "tiger"]
Y = [NAMES[i % 4] for i in range(23)]
VECTORS = ClassTable(NAMES, [[1, 0.5, 0], [0, 0.5, 1], [0.2, 0, 1], [1, 0, 0.3]])
OLD_ZARR = zarr.__version__.startswith("2.")


def told_of_words(folder):
    pq.write_table(pa.table({"words": [["a", "b"]]}), folder / "t.parquet")
    with pytest.raises(DatasetError) as caught:
        open_rows(folder)
    return str(caught.value)


def skip_without(kind):
    if kind == "zarr3" and OLD_ZARR:
        pytest.skip("zarr 2 does not write format 3")


@pytest.fixture(scope="module", params=KINDS)
def source(request, tmp_path_factory):
    skip_without(request.param)
    folder = tmp_path_factory.mktemp("shards")
    if request.param.startswith("zarr"):
        write_zarr(folder / "a.zarr", X, int(request.param[-1]))
        return open_rows(folder / "a.zarr")
    return open_rows(folder if write_shards(folder, X, LENGTHS, request.param) else None)


def numbers():
    n = len(X)
    whole = st.integers(-n - 3, n + 3)
    return st.one_of(
        st.slices(n),
        st.builds(slice, st.none() | whole, st.none() | whole, st.sampled_from([None, 1, 2, -1, -3, 7])),
        st.lists(st.integers(-n, n - 1)),
        st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),
        st.integers(-n, n - 1),
    )


@settings(max_examples=60, deadline=None)
@given(rows=numbers())
def test_any_rows_are_those_of_the_array(source, rows):
    expected = X[np.array(rows, dtype=int) if isinstance(rows, list) else rows]
    assert_array_equal(source[rows], expected)
    assert source[rows].dtype == X.dtype


def test_as_an_array(source):
    assert (source.shape, source.dtype, source.ndim, len(source)) == (X.shape, X.dtype, 2, 23)
    assert_array_equal(np.asarray(source), X)
    assert_array_equal(list(source), X)
    for rows, error in (
        ([23], IndexError),
        ([-24], IndexError),
        ([0.5], TypeError),
        ("a", TypeError),
        ([[1]], TypeError),
    ):
        with pytest.raises(error, match="rows must be"):
            source[rows]
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(source, copy=False) if np.__version__ >= "2" else source.__array__(copy=False)


def test_pickles_hold_no_files(source):
    assert len(source[:2])  # something is kept for the next read
    content = pickle.dumps(source)
    assert len(content) < 4000
    assert_array_equal(pickle.loads(content)[5:9], X[5:9])


def test_several_threads_read(source):
    wrong = []

    def read(seed):
        for start in np.random.default_rng(seed).integers(0, 20, 15):
            if not np.array_equal(source[start : start + 4], X[start : start + 4]):
                wrong.append(start)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", ["f2", "f8", ">f4", "i4", "u1", "?"])
def test_types_stay_as_they_are(tmp_path, dtype):
    rows = (X * 9).astype(dtype)
    write_shards(tmp_path, rows, LENGTHS)
    found = open_rows(tmp_path)
    assert found.dtype == rows.dtype
    assert found[2:11].dtype == rows.dtype
    assert_array_equal(found[2:11], rows[2:11])


def test_half_precision_in_parquet(tmp_path):
    write_shards(tmp_path, X.astype("f2"), LENGTHS, "parquet")
    assert open_rows(tmp_path).dtype == np.float16
    write_shard(tmp_path / "ints.parquet", np.arange(6).reshape(3, 2), "parquet")
    assert open_rows(tmp_path / "ints.parquet").dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
def test_sequential_reads_decode_nothing_twice(tmp_path, kind, monkeypatch):
    """Blocks of rows that are smaller than what is decoded together."""
    skip_without(kind)
    rows = np.arange(40_000, dtype=np.float32).reshape(-1, 2)
    path = tmp_path / f"a.{'npy' if kind == 'fortran' else kind.rstrip('23')}"
    options = {"parquet": {"row_group_size": 10_000}, "zarr2": {"chunks": (9000, 2)}, "zarr3": {"chunks": (9000, 2)}}
    write_shard(path, rows, kind, **options.get(kind, {}))
    source, decoded = open_rows(path), []
    from jcmspl.datasets import parquet, zarr_array

    advance, band = parquet._Cursor._advance, zarr_array.ZarrShard._decoded
    monkeypatch.setattr(parquet._Cursor, "_advance", lambda self: (decoded.append(self._stop), advance(self)))
    monkeypatch.setattr(
        zarr_array.ZarrShard, "_decoded", lambda self, array, n: (decoded.append(n), band(self, array, n))[1]
    )
    for first in range(0, 20_000, 1000):
        assert_array_equal(source[first : first + 1000], rows[first : first + 1000])
    assert len(set(decoded)) == len(decoded)
    assert bool(decoded) == (kind not in ("npy", "fortran"))


def test_another_thread_takes_what_was_kept_meanwhile(tmp_path):
    class SeemsFull(list):
        def __bool__(self):
            return True

    write_shards(tmp_path, X, LENGTHS)
    source = open_rows(tmp_path)
    source._kept = SeemsFull()
    assert_array_equal(source[:], X)


class TestNames:
    def test_natural_order(self, tmp_path):
        write_shards(tmp_path, X, [1] * 11 + [12])
        assert_array_equal(open_rows(tmp_path / "features-*.npy")[:], X)
        assert_array_equal(open_rows(str(tmp_path / "features-1[01].npy"))[:], X[10:])

    @pytest.mark.parametrize("folder", ["with space", "with [1] brackets", "a*b", "ü"])
    def test_any_folder(self, tmp_path, folder):
        write_shards(tmp_path / folder, X, LENGTHS)
        for path in (tmp_path / folder, tmp_path / folder / "features-*.npy", tmp_path / folder / "features-4.npy"):
            assert_array_equal(open_rows(path)[-3:], X[-3:])

    def test_a_list_is_taken_as_it_is(self, tmp_path):
        paths = write_shards(tmp_path, X, LENGTHS)
        assert_array_equal(open_rows([paths[4], str(paths[0])])[:], np.concatenate([X[-12:], X[:3]]))

    def test_the_folders_of_clip_retrieval(self, tmp_path):
        write_shards(tmp_path / "img_emb", X, LENGTHS, name="img_emb_{}")
        write_shards(tmp_path / "text_emb", X + 1, LENGTHS, name="text_emb_{}")
        write_metadata(tmp_path / "metadata", {"caption": Y, "n": list(range(23))}, LENGTHS)
        assert_array_equal(open_rows(tmp_path)[:], X)
        assert_array_equal(open_rows(tmp_path / "text_emb")[:], X + 1)
        assert open_rows(tmp_path).labels("caption").tolist() == Y
        assert open_rows(tmp_path / "text_emb").labels("n").tolist() == list(range(23))
        assert read_labels(tmp_path / "metadata", "caption").tolist() == Y

    def test_links_are_followed(self, tmp_path):
        paths = write_shards(tmp_path / "real", X, LENGTHS)
        (tmp_path / "links").mkdir()
        for number, path in enumerate(paths):
            (tmp_path / "links" / f"x{number}.npy").symlink_to(path)
        assert_array_equal(open_rows(tmp_path / "links")[:], X)
        paths[2].unlink()
        with pytest.raises(FileNotFoundError, match=r"x2\.npy does not exist"):
            open_rows(tmp_path / "links")

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            ("e_0 e_1 e_3", r"e_3\.npy follows .*e_1\.npy, so the files with the numbers 2 to 2 are missing"),
            ("e_2 e_3", r"e_2\.npy is the first file, so those before number 2 are missing"),
            ("e_7", r"e_7\.npy is the first file"),
            ("e_1 e_01 e_2", r"e_0?1\.npy has the same number as .*e_0?1\.npy"),
            ("t-0-of-3 t-1-of-3", r"t-1-of-3\.npy is the last file, but there should be 3"),
        ],
    )
    def test_gaps_are_named(self, tmp_path, names, message):
        for name in names.split():
            np.save(tmp_path / f"{name}.npy", X)
        with pytest.raises(DatasetError, match=message):
            open_rows(tmp_path)

    @pytest.mark.parametrize(
        "names", ["e_1 e_2", "a b d", "v2-0 v2-1", "d-20240131 d-20240201", "a_0_x b_5_y", "00000 00001"]
    )
    def test_no_gaps(self, tmp_path, names):
        for name in names.split():
            np.save(tmp_path / f"{name}.npy", X)
        assert len(open_rows(tmp_path)) == 23 * len(names.split())


class TestHostile:
    """Each is refused in a sentence with the name of the file, before any row is read where the headers tell."""

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros(5), r"e_1\.npy must hold a row for each sample, but its array has the shape \(5,\)"),
            (np.zeros((2, 1, 5)), r"e_1\.npy must hold a row for each sample"),
            (np.zeros((2, 0)), r"e_1\.npy must hold a row for each sample"),
            (np.zeros((2, 4), "f4"), r"e_1\.npy has 4 columns, but .*e_0\.npy has 5"),
            (np.zeros((2, 5)), r"e_1\.npy holds float64, but .*e_0\.npy holds float32"),
            (np.full((2, 5), "a"), r"e_1\.npy must hold real numbers, but their type is <U1"),
            (np.zeros((2, 5), complex), r"e_1\.npy must hold real numbers"),
            (np.full((2, 5), None), r"e_1\.npy: the array holds Python objects, which are never read"),
        ],
    )
    def test_other_arrays(self, tmp_path, array, message):
        np.save(tmp_path / "e_0.npy", X)
        np.save(tmp_path / "e_1.npy", array, allow_pickle=True)
        with pytest.raises(DatasetError, match=message):
            open_rows(tmp_path)

    @pytest.mark.parametrize(
        "change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda d: d[:20]]
    )
    @pytest.mark.parametrize("kind", ["npy", "parquet"])
    def test_damaged_headers(self, tmp_path, kind, change):
        paths = write_shards(tmp_path, X, LENGTHS, kind)
        paths[2].write_bytes(change(paths[2].read_bytes()))
        with pytest.raises(DatasetError, match=rf"features-2\.{kind} .*damaged or cut short"):
            open_rows(tmp_path)

    def test_damage_within_a_parquet_file(self, tmp_path):
        plain = {"write_page_checksum": True, "compression": "none", "use_dictionary": False, "write_statistics": False}
        (path,) = write_shards(tmp_path, X, [23], "parquet", **plain)
        data = path.read_bytes()
        assert data.count(X[9, 1].tobytes()) == 1
        path.write_bytes(data.replace(X[9, 1].tobytes(), X[8, 1].tobytes()))
        with pytest.raises(DatasetError, match=r"features-0\.parquet is not a parquet file, or it is damaged"):
            open_rows(path)[:]

    @pytest.mark.parametrize("kind", ["npy", "parquet"])
    def test_a_file_that_changes_while_it_is_read(self, tmp_path, kind):
        paths = write_shards(tmp_path, X, LENGTHS, kind)
        source = open_rows(tmp_path)
        assert_array_equal(source[:3], X[:3])
        with paths[4].open("ab") as file:
            file.write(bytes(20))
        with pytest.raises(DatasetError, match=rf"features-4\.{kind} has changed since it was opened: it had .* bytes"):
            source[:]
        paths[4].unlink()
        with pytest.raises(FileNotFoundError, match=rf"features-4\.{kind}"):
            source[:]

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("value", [np.nan, -np.inf])
    def test_values_that_are_not_finite(self, tmp_path, kind, value):
        skip_without(kind)
        bad = X.copy()
        bad[15, 2] = value
        paths = write_shards(tmp_path, bad, LENGTHS, kind) if kind[:4] != "zarr" else [tmp_path / "a.zarr"]
        if kind.startswith("zarr"):
            write_zarr(paths[0], bad, int(kind[-1]))
        source = open_rows(paths)
        assert_array_equal(source[:15], X[:15])
        where = "a.zarr: row 15" if len(paths) == 1 else f"{paths[4].name}: row 4"
        with pytest.raises(DatasetError, match=re.escape(where) + " holds NaN or infinity"):
            source[10:]
        with pytest.raises(DatasetError, match=re.escape(where)):
            JCMSPL().fit(source, Y, class_vectors=VECTORS)

    def test_missing_values_in_tables(self, tmp_path):
        pq.write_table(pa.table({"a": [1, 2, None], "b": [1, 2, 3]}), tmp_path / "t.parquet")
        with pytest.raises(DatasetError, match=r"t\.parquet: row 2 has no value in the column 'a'"):
            open_rows(tmp_path)[:]

    @pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 5)])
    def test_a_column_of_vectors(self, tmp_path, kind):
        for number, rows in enumerate((slice(0, 9), slice(9, 23))):
            table = {"url": ["http://x"] * len(X[rows]), "label": Y[rows], "embedding": pa.array(list(X[rows]), kind)}
            pq.write_table(pa.table(table), tmp_path / f"t{number}.parquet", row_group_size=4)
        source = open_rows(tmp_path)
        assert source.shape == X.shape
        assert source.dtype == np.float32
        assert_array_equal(source[5:15], X[5:15])
        assert source.labels().tolist() == Y

    def test_a_column_of_vectors_in_one_file(self, tmp_path):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"label": Y, "embedding": pa.array(list(X))}), path)
        assert_array_equal(load_features(path).X[:], X)
        data = load_arrays(path, class_vectors=VECTORS)
        assert_array_equal(data.X[:], X)
        assert data.y.tolist() == Y

    def test_a_file_of_no_vectors_among_others(self, tmp_path):
        for number, rows in enumerate((slice(0, 0), slice(0, 9), slice(9, 9), slice(9, 23))):
            vectors = pa.array(list(X[rows]), pa.list_(pa.float32()))
            pq.write_table(pa.table({"v": vectors}), tmp_path / f"t{number}.parquet")
        source = open_rows(tmp_path)
        assert_array_equal(source[:], X)
        assert source.bounds() == [(0, 0), (0, 9), (9, 9), (9, 23)]
        with pytest.raises(DatasetError, match=r"t0\.parquet must hold a row for each sample"):
            open_rows(tmp_path / "t0.parquet")

    def test_a_column_of_vectors_of_other_lengths(self, tmp_path):
        def told(*rows, **others):
            pq.write_table(pa.table({"v": pa.array(rows, pa.list_(pa.float64())), **others}), tmp_path / "t.parquet")
            with pytest.raises(DatasetError) as caught:
                open_rows(tmp_path)[:]
            return str(caught.value)

        assert "t.parquet: row 2 has 1 numbers in the column 'v', but the first row has 2" in told([1, 2], [3, 4], [5])
        assert "row 1 has no value in the column 'v'" in told([1, 2], None)
        assert "row 0 has no value in the column 'v'" in told(None, [1, 2])
        assert "row 0 has no value in the column 'v'" in told([], [1, 2])
        assert "row 1 has a number missing in the column 'v'" in told([1, 2], [1, None])
        assert "the columns v, w all hold vectors: name one" in told([1, 2], w=[[1.0]]).replace("'", "")
        assert "does not hold vectors of numbers" in told_of_words(tmp_path)

    def test_tables_that_do_not_belong_together(self, tmp_path):
        pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "t0.parquet")
        pq.write_table(pa.table({"b": [1.0], "a": [2.0]}), tmp_path / "t1.parquet")
        with pytest.raises(DatasetError, match=r"t1\.parquet has other columns than .*t0\.parquet.*: 'b', 'a'"):
            open_rows(tmp_path)
        pq.write_table(pa.table({"a": [1.0], "caption": ["x"]}), tmp_path / "t0.parquet")
        with pytest.raises(DatasetError, match=r"t0\.parquet: the column 'caption' does not hold numbers"):
            open_rows(tmp_path)

    def test_nothing_there(self, tmp_path):
        (tmp_path / "notes.txt").touch()
        with pytest.raises(DatasetError, match=r"holds no files of features: \.npy"):
            open_rows(tmp_path)
        with pytest.raises(FileNotFoundError, match=r"no file matches .*features-\*\.npy"):
            open_rows(tmp_path / "features-*.npy")
        with pytest.raises(FileNotFoundError, match=r"a\.npy does not exist"):
            open_rows(tmp_path / "a.npy")
        with pytest.raises(FileNotFoundError, match=r"no file matches"):
            open_rows(tmp_path / "no" / "folder" / "*.npy")
        with pytest.raises(DatasetError, match="list of files is empty"):
            open_rows([])
        with pytest.raises(DatasetError, match=r"notes\.txt is of an unknown kind: rows are read from .npy"):
            open_rows(tmp_path / "notes.txt")

    def test_two_kinds_in_a_folder(self, tmp_path):
        write_shards(tmp_path, X, LENGTHS)
        write_shards(tmp_path, X, LENGTHS, "parquet")
        with pytest.raises(DatasetError, match=r"holds 5 \.npy files and 5 \.parquet files: name the files to read"):
            open_rows(tmp_path)
        assert_array_equal(open_rows(tmp_path / "*.parquet")[:], X)

    @pytest.mark.skipif(os.name == "nt", reason="there are no pipes")
    def test_pipes_are_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "e_0.npy")
        with pytest.raises(OSError, match=r"e_0\.npy is a named pipe"):
            open_rows(tmp_path)

    def test_files_without_rows(self, tmp_path):
        write_shards(tmp_path, X[:0], [0, 0])
        source = open_rows(tmp_path)
        assert source.shape == (0, 5)
        assert source[:].shape == (0, 5)
        with pytest.raises(ValueError, match="X has 0 samples"):
            JCMSPL().fit(source, [])


class TestZarr:
    def test_groups(self, tmp_path):
        zarr.open_group(str(tmp_path / "g"), mode="w")
        write_zarr(tmp_path / "g" / "features", X)
        with pytest.raises(DatasetError, match=r"g is a group of zarr arrays: name one of them \(features"):
            open_rows(tmp_path / "g")
        assert_array_equal(open_rows(tmp_path / "g" / "features")[:], X)

    @pytest.mark.parametrize("version", [2, 3])
    def test_missing_chunks_are_not_zeros(self, tmp_path, version):
        skip_without(f"zarr{version}")
        write_zarr(tmp_path / "a.zarr", X, version)
        chunk = tmp_path / "a.zarr" / ("2.0" if version == 2 else "c/2/0")
        chunk.unlink()
        with pytest.raises(DatasetError, match=r"a\.zarr lacks 1 of its 18 chunks, which would be read as 0"):
            open_rows(tmp_path / "a.zarr")

    def test_damaged_chunks(self, tmp_path):
        write_zarr(tmp_path / "a.zarr", X, 2)
        (tmp_path / "a.zarr" / "2.0").write_bytes(b"damaged")
        source = open_rows(tmp_path / "a.zarr")
        with pytest.raises(DatasetError, match=r"a\.zarr is not a zarr array, or it is damaged"):
            source[:]

    @pytest.mark.parametrize("where", ["filters", "compressor"])
    def test_no_codec_runs_code(self, tmp_path, where):
        write_zarr(tmp_path / "a.zarr", X, 2)
        header = tmp_path / "a.zarr" / ".zarray"
        pickled = {"id": "pickle", "protocol": 5}
        header.write_text(
            json.dumps({**json.loads(header.read_text()), where: [pickled] if where == "filters" else pickled})
        )
        with pytest.raises(DatasetError, match=r"a\.zarr is encoded with 'pickle', which is not one of the codecs"):
            open_rows(tmp_path / "a.zarr")

    @pytest.mark.skipif(OLD_ZARR, reason="needs zarr 3")
    def test_format_3(self, tmp_path):
        array = zarr.create_array(str(tmp_path / "s.zarr"), shape=X.shape, chunks=(2, 5), shards=(8, 5), dtype="f4")
        array[:] = X
        assert_array_equal(open_rows(tmp_path / "s.zarr")[3:], X[3:])
        header = tmp_path / "s.zarr" / "zarr.json"
        header.write_text(header.read_text().replace('"bytes"', '"numcodecs.pickle"'))
        with pytest.raises(DatasetError, match="is encoded with 'pickle'"):
            open_rows(tmp_path / "s.zarr")

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"zarr_format": 2}', "9" * (2**20 + 1)])
    def test_damaged_headers(self, tmp_path, text):
        write_zarr(tmp_path / "a.zarr", X, 2)
        (tmp_path / "a.zarr" / ".zarray").write_text(text)
        with pytest.raises(DatasetError, match=r"a\.zarr"):
            open_rows(tmp_path / "a.zarr")

    def test_without_the_package(self, tmp_path, monkeypatch):
        write_zarr(tmp_path / "a.zarr", X)
        monkeypatch.setitem(sys.modules, "zarr", None)
        with pytest.raises(
            ImportError, match=r"a\.zarr is a zarr array, which needs zarr: pip install 'jcmspl\[zarr\]'"
        ):
            open_rows(tmp_path / "a.zarr")


class TestAddresses:
    @pytest.fixture
    def bucket(self, tmp_path):
        """A folder, and the same data in memory."""
        files = fsspec.filesystem("memory")

        def copied(folder):
            for path in folder.rglob("*"):
                if path.is_file():
                    files.pipe_file(f"/bucket/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
            return f"memory://bucket/{folder.relative_to(tmp_path).as_posix()}"

        yield copied
        if files.exists("/bucket"):
            files.rm("/bucket", recursive=True)

    @pytest.mark.parametrize("kind", KINDS)
    def test_of_all_kinds(self, tmp_path, bucket, kind):
        skip_without(kind)
        folder = tmp_path / ("a b" if kind.startswith("zarr") else "a [b] c")  # zarr 2 takes brackets for a pattern
        if kind.startswith("zarr"):
            write_zarr(folder, X, int(kind[-1]))
            places = [bucket(folder), f"file://{folder}"]
        else:
            write_shards(folder, X, LENGTHS, kind)
            address = bucket(folder)
            places = [address, f"{address}/features-*", f"file://{folder}", f"file://{folder}/*-?.*"]
        for place in places:
            source = open_rows(place)
            assert_array_equal(source[2:], X[2:])
            assert_array_equal(pickle.loads(pickle.dumps(source))[5], X[5])

    def test_what_is_wrong_is_named(self, tmp_path, bucket):
        paths = write_shards(tmp_path / "f", X, LENGTHS)
        paths[1].write_bytes(b"")
        address = bucket(tmp_path / "f")
        with pytest.raises(DatasetError, match=r"memory://bucket/f/features-1\.npy .*damaged or cut short"):
            open_rows(address)
        for place in (f"{address}/a.npy", f"{address}/*.parquet", "memory://nowhere/a-*.npy", "memory://nowhere"):
            with pytest.raises(FileNotFoundError, match=re.escape(place)):
                open_rows(place)
        with pytest.raises(ValueError, match=r"nothing://a/b\.npy cannot be read: Protocol not known"):
            open_rows("nothing://a/b.npy")

    def test_without_the_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
        with pytest.raises(ImportError, match=r"s3://a/b\.npy is an address, which needs fsspec: pip install 'jcmspl"):
            open_rows("s3://a/b.npy")

    def test_data_sets_are_here(self):
        with pytest.raises(DatasetError, match="memory://a is an address"):
            load_dataset("memory://a")


class TestLabels:
    def test_of_the_tables_themselves(self, tmp_path):
        write_shards(tmp_path, X, LENGTHS, "parquet", labels=Y)
        source = open_rows(tmp_path)
        assert source.shape == (23, 5)
        assert source.labels().tolist() == Y
        assert open_rows(tmp_path, label_columns="f3").shape == (23, 4)  # one named "label" is never a feature

    def test_files_of_labels(self, tmp_path):
        for number, part in enumerate((Y[:3], Y[3:])):
            np.save(tmp_path / f"labels-{number}.npy", np.array(part))
        assert read_labels(tmp_path / "labels-*.npy").tolist() == Y
        np.save(tmp_path / "labels-2.npy", X)
        with pytest.raises(DatasetError, match=r"labels-2\.npy has the shape \(23, 5\), but one label"):
            read_labels(tmp_path / "labels-*.npy")

    @pytest.mark.parametrize(
        ("lengths", "message"),
        [
            ([3, 0, 7, 13], r"metadata has 4 files, but there are 5 of features in .*img_emb"),
            ([3, 0, 8, 0, 12], r"metadata_2\.parquet has 8 rows, but .*img_emb_2\.npy has 7"),
        ],
    )
    def test_tables_with_other_rows(self, tmp_path, lengths, message):
        write_shards(tmp_path / "img_emb", X, LENGTHS, name="img_emb_{}")
        write_metadata(tmp_path / "metadata", {"caption": Y}, lengths)
        with pytest.raises(DatasetError, match=message):
            load_arrays(tmp_path, "caption", class_vectors=VECTORS)

    def test_missing_ones(self, tmp_path):
        write_shards(tmp_path / "img_emb", X, LENGTHS, name="img_emb_{}")
        with pytest.raises(DatasetError, match=r"img_emb_0\.npy has no labels: name the file that has them"):
            load_arrays(tmp_path, class_vectors=VECTORS)
        write_metadata(tmp_path / "metadata", {"caption": [*Y[:-1], None]}, LENGTHS)
        with pytest.raises(DatasetError, match=r"metadata_4\.parquet: row 11 has no value in the column 'caption'"):
            load_arrays(tmp_path, "caption", class_vectors=VECTORS)
        with pytest.raises(DatasetError, match=r"metadata_0\.parquet has no column named 'colour'"):
            load_arrays(tmp_path, "colour", class_vectors=VECTORS)
        with pytest.raises(DatasetError, match=r"has no labels: name the column of labels in .*metadata, or the file"):
            load_arrays(tmp_path, class_vectors=VECTORS)


class TestUse:
    """Calls that take arrays take sources, and give the same."""

    @pytest.fixture
    def rows(self, tmp_path):
        write_shards(tmp_path, X, LENGTHS)
        return open_rows(tmp_path)

    @pytest.mark.parametrize("metric", ["cosine", "euclidean", lambda a, b: np.abs(a[:, None] - b).sum(axis=-1)])
    def test_models(self, rows, metric):
        options = {"metric": metric, "progress": False}
        one, two = (JCMSPL(**options).fit(data, Y, class_vectors=VECTORS) for data in (X, rows))
        assert two.n_features_in_ == 5
        for method in ("predict", "predict_topk", "decision_function", "predict_proba", "transform"):
            assert_array_equal(getattr(one, method)(X), getattr(two, method)(rows))
        assert one.score(X, Y) == two.score(rows, Y)
        with pytest.raises(ValueError, match="features"):
            JCMSPL().fit(X[:, :4], Y, class_vectors=VECTORS).predict(rows)

    def test_search(self, rows):
        make = ClassSearchCV(RidgeVS(), cv=2, progress=False)
        one, two = (clone(make).fit(data, Y, class_vectors=VECTORS) for data in (X, rows))
        assert_allclose(two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"])

    def test_partial_fit_and_adapt(self, rows):
        one, two = (JCMSPL(progress=False).partial_fit(data, Y, class_vectors=VECTORS) for data in (X, rows))
        assert_array_equal(one.predict(X), two.predict(rows))
        assert one.statistics_.allclose(two.statistics_)
        assert_array_equal(one.adapt(X).predict(X), two.adapt(rows).predict(rows))
        assert_array_equal(one.calibrate(X, Y).seen_penalty_, two.calibrate(rows, Y).seen_penalty_)

    def test_methods_that_read_samples(self, rows):
        for name in ("SAE", "ESZSL"):
            one, two = (get(name)(progress=False).fit(data, Y, class_vectors=VECTORS) for data in (X, rows))
            assert_array_equal(one.predict(X), two.predict(rows))

    def test_statistics(self, rows):
        labels = [NAMES.index(name) for name in Y]
        assert Statistics(5, 4).update(rows, labels).allclose(Statistics(5, 4).update(X, labels))

    def test_never_the_whole_in_memory(self, rows, monkeypatch):
        """No read is larger than a block, whatever a model does."""
        from jcmspl.data import collect
        from jcmspl.support import arguments

        monkeypatch.setattr(collect, "_ROWS_PER_STEP", 4)
        monkeypatch.setattr(arguments, "_CONVERSION_ROWS", 4)
        sizes = []
        read = type(rows)._read
        monkeypatch.setattr(
            type(rows), "_read", lambda self, wanted: (sizes.append(len(wanted)), read(self, wanted))[1]
        )
        model = JCMSPL(progress=False, feature_normalisation="sample_l2+center").fit(rows, Y, class_vectors=VECTORS)
        model.predict(rows)
        model.score(rows, Y)
        assert max(sizes) == 4

    @pytest.mark.parametrize(
        "layout", ["features-{}.npy", "features/{}.npy", "img_emb/img_emb_{}.npy", "features.zarr"]
    )
    def test_data_sets(self, tmp_path, layout):
        if layout.endswith("zarr"):
            write_zarr(tmp_path / "features.zarr", X)
        else:
            folder, _, name = layout.rpartition("/")
            write_shards(tmp_path / folder, X, LENGTHS, name=name.removesuffix(".npy"))
        (tmp_path / "labels.txt").write_text("\n".join(Y))
        (tmp_path / "classes.csv").write_text(
            "".join(f"{name},{','.join(map(str, VECTORS[name]))}\n" for name in NAMES)
        )
        data = load_dataset(tmp_path, val=0)
        assert_array_equal(data.X[:], X)
        assert data.y.tolist() == Y
        samples, labels = data.part("trainval")
        assert_array_equal(samples, X[data.rows("trainval")])
        assert JCMSPL().fit(data.chunks("trainval"), class_vectors=data.classes).classes_.tolist() == sorted(
            set(labels)
        )

    def test_features_alone(self, tmp_path):
        write_shards(tmp_path, X, LENGTHS, "parquet", labels=Y)
        assert_array_equal(load_features(str(tmp_path)).X[:], X)
        data = load_arrays(tmp_path / "features-*.parquet", class_vectors=VECTORS)
        assert data.y.tolist() == Y
        assert data.X.shape == (23, 5)
