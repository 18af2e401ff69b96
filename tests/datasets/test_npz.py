"""The project's own file: streams in, memory maps out, nothing pickled."""

import struct
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from jcmspl import ClassTable
from jcmspl.datasets import Dataset, DatasetError, load_npz, make_zsl, save_npz
from jcmspl.datasets import npz as npz_module
from jcmspl.datasets.npy import open_npy
from support.data_sets import Counting, same

CONTENT = {
    "features": np.arange(8.0).reshape(4, 2),
    "labels": np.array(["a", "b", "b", "c"]),
    "class_names": np.array(["a", "b", "c"]),
    "class_vectors": np.eye(3),
    "train": np.array([0, 1]),
    "test_unseen": np.array([3]),
}


@pytest.fixture(scope="module")
def made():
    return make_zsl(200, 9, 5, 6, 3, n_val=2)


def test_round_trip(tmp_path, made):
    save_npz(made, tmp_path / "made.npz")
    back = load_npz(tmp_path / "made.npz")
    same(back, made)
    assert (back.name, back.source) == (made.name, made.source)
    assert back.classes.attributes == made.classes.attributes
    assert [file.name for file in tmp_path.iterdir()] == ["made.npz"]


def test_features_are_mapped_where_the_core_can_read_them(tmp_path, made):
    save_npz(made, tmp_path / "made.npz")
    X = load_npz(tmp_path / "made.npz").X
    assert isinstance(X, np.memmap)
    assert X.flags.aligned
    assert X.ctypes.data % 64 == 0


def test_numpy_reads_it(tmp_path, made):
    save_npz(made, tmp_path / "made.npz")
    with np.load(tmp_path / "made.npz", allow_pickle=False) as file:
        assert_array_equal(file["features"], made.X)
        assert file["labels"].tolist() == made.y.tolist()
        assert_array_equal(file["test_unseen"], made.rows("test_unseen"))
        assert all(file[name].dtype.kind != "O" for name in file)
    assert zipfile.ZipFile(tmp_path / "made.npz").testzip() is None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_reads_what_numpy_writes(tmp_path, save, order):
    save(tmp_path / "a.npz", **{**CONTENT, "features": np.asarray(CONTENT["features"], order=order)})
    data = load_npz(tmp_path / "a.npz")
    assert data.name == "a"
    assert_array_equal(data.X, CONTENT["features"])
    assert data.unseen == ["c"]


def test_features_are_written_in_a_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(npz_module, "CHUNK_BYTES", 1000)
    lazy = Counting(2000, 5)
    y = ["a", "b"] * 1000
    save_npz(Dataset("lazy", lazy, y, ClassTable(["a", "b"], np.eye(2)), {"train": [0, 1]}), tmp_path / "a.npz")
    assert lazy.most == 50
    assert_array_equal(load_npz(tmp_path / "a.npz").X, lazy[:])


@given(
    st.one_of(
        st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=2),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2),
    )
)
def test_labels_come_back(tmp_path_factory, labels):
    labels = list(dict.fromkeys(labels))
    n = len(labels)
    data = Dataset("x", np.eye(n), labels, ClassTable(labels, np.eye(n)), {"train": range(n)})
    path = tmp_path_factory.mktemp("labels") / "x.npz"
    save_npz(data, path)
    assert load_npz(path).y.tolist() == labels


def test_it_refuses_objects(tmp_path):
    labels = [1, "a"]
    data = Dataset("x", np.eye(2), labels, ClassTable(labels, np.eye(2)), {"train": [0, 1]})
    with pytest.raises(DatasetError, match="all be text or all be numbers"):
        save_npz(data, tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []
    for name in ("labels", "features"):
        np.savez(tmp_path / "y.npz", **{**CONTENT, name: np.array([[1, "a"], 2], dtype=object)})
        with pytest.raises(DatasetError, match=r"y.npz.*(allow_pickle|Python objects)"):
            load_npz(tmp_path / "y.npz")


def test_nothing_is_written_over(tmp_path, made):
    path = tmp_path / "a.npz"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        save_npz(made, path)
    assert path.read_text() == "mine"
    save_npz(made, path, overwrite=True)
    assert load_npz(path).n_samples == 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"labels": None, "train": None},
            "lacks labels, train: it holds class_names, class_vectors, features, test_un",
        ),
        ({"class_vectors": np.array([[1, 2], [np.nan, 1], [0, 0]])}, "a.npz: class_vectors holds NaN .* classes: 'b'"),
        ({"class_names": np.array(["a", "b"])}, "a.npz: there are 2 labels but 3 class_vectors"),
        ({"class_names": np.array([*"abd"])}, "a.npz: there are no class vectors for 1 of the 3 classes in y: 'c'"),
        ({"train": np.array([0, 4])}, "a.npz: part 'train' holds the row 4, but rows are 0 to 3"),
        ({"test_unseen": np.array([2])}, "a.npz: seen and unseen classes overlap"),
        ({"features": np.ones((3, 2))}, "a.npz: labels has 4 entries, but there are only 3 samples"),
        ({"features": np.array(["x"])}, "a.npz: X must have rows and columns"),
    ],
)
def test_bad_content(tmp_path, changes, message):
    content = {key: value for key, value in {**CONTENT, **changes}.items() if value is not None}
    np.savez(tmp_path / "a.npz", **content)
    with pytest.raises(DatasetError, match=message):
        load_npz(tmp_path / "a.npz")


def with_changed_header(path, new, old=b"(4, 2), }"):
    """Write CONTENT with another shape in the header of the features, and a checksum that is right."""
    np.savez(path, **CONTENT)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old in members["features.npy"]
    members["features.npy"] = members["features.npy"].replace(old.ljust(len(new)), new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return members["features.npy"]


@pytest.mark.parametrize("shape", [b"(4, 9), }", b"(4, 1), }", b"(-4, -2), }", b"(0, 0), }"])
def test_headers_that_claim_other_sizes(tmp_path, shape):
    """With one that claims more, what is stored after the features would be read as features."""
    content = with_changed_header(tmp_path / "a.npz", shape)
    with pytest.raises(DatasetError, match=r"a.npz is damaged or cut short: features has the shape .* 64 are stored"):
        load_npz(tmp_path / "a.npz")
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(DatasetError, match=r"x.npy is damaged or cut short: the array has .* but 64 are stored"):
        open_npy(tmp_path / "x.npy")


def test_a_member_that_reaches_into_the_next(tmp_path):
    """The directory at the end of the file and the header of the array agree: both claim what is not theirs."""
    path = tmp_path / "a.npz"
    n_header = len(with_changed_header(path, b"(4, 99),}")) - 64
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    size = n_header + 4 * 99 * 8
    data[entry + 16 : entry + 28] = struct.pack("<III", zlib.crc32(data[42 : 42 + size]), size, size)
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"a.npz is .*(reaches into what is stored after it|Overlapped)"):
        load_npz(path)


def test_a_member_that_is_shorter_than_it_says(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **{**CONTENT, "features": np.ones((4, 4096))})
    data = bytearray(path.read_bytes())
    sizes = data.index(b"PK\x01\x02") + 20
    data[sizes : sizes + 4] = struct.pack("<I", struct.unpack_from("<I", data, sizes)[0] - 4096)
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"a.npz is damaged: features.npy reaches into what is stored after it"):
        load_npz(path)


@pytest.mark.parametrize("name", ["labels", "class_vectors", "train", "features"])
def test_checksums(tmp_path, name):
    path = tmp_path / "a.npz"
    np.savez(path, **{**CONTENT, "features": np.ones((4, 4096))})
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        content = archive.read(f"{name}.npy")
    data[data.index(content) + len(content) - 1] ^= 1
    path.write_bytes(data)
    assert name != "features" or load_npz(path).X[-1, -1] != 1  # not noticed, for it is not read
    with pytest.raises(DatasetError, match=r"a.npz is not a NumPy .npz file, or it is damaged .*CRC"):
        load_npz(path, verify=True)


def test_whole_files_are_verified(tmp_path, made):
    save_npz(made, tmp_path / "a.npz")
    same(load_npz(tmp_path / "a.npz", verify=True), made)


SHORT = {
    "X": np.arange(12.0).reshape(6, 2),
    "y": np.array([0, 1, 2, 0, 1, 2]),
    "S": np.eye(3),
    "names": np.array(["ape", "bee", "cat"]),
}


class TestShortNames:
    """Files with X, y and S, as embeddings are often kept."""

    def saved(self, folder, **arrays):
        content = {name: array for name, array in {**SHORT, **arrays}.items() if array is not None}
        np.savez(folder / "pairs.npz", **content)
        return folder / "pairs.npz"

    def test_names_and_numbers(self, tmp_path):
        data = load_npz(self.saved(tmp_path))
        assert data.y.tolist() == ["ape", "bee", "cat"] * 2
        assert data.rows("train").tolist() == list(range(6))
        assert isinstance(data.X, np.memmap)
        assert data.name == "pairs"
        assert load_npz(self.saved(tmp_path, names=None)).y.tolist() == [0, 1, 2] * 2

    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            ([0, 0, 0, 1, 1, 1], {"train": [0, 1, 2], "test_seen": [3, 4, 5]}),
            ([2, 2, 2, 1, 1, 1], {"train": [3, 4, 5], "test_seen": [0, 1, 2]}),
            ([0, 0, 0, 1, 1, 2], {"train": [0, 1, 2], "val": [3, 4], "test_seen": [5]}),
        ],
    )
    def test_parts(self, part, expected, tmp_path):
        data = load_npz(self.saved(tmp_path, part=np.array(part)))
        assert {name: rows.tolist() for name, rows in data.parts.items() if len(rows)} == expected

    def test_unseen_classes(self, tmp_path):
        data = load_npz(self.saved(tmp_path, unseen=np.array([2])))
        assert data.unseen == ["cat"]
        assert data.rows("train").tolist() == [0, 1, 3, 4]
        both = load_npz(self.saved(tmp_path, unseen=np.array([2]), part=np.array([0, 0, 0, 1, 1, 1])))
        assert {name: rows.tolist() for name, rows in both.parts.items() if len(rows)} == {
            "train": [0, 1],
            "test_seen": [3, 4],
            "test_unseen": [5],
        }

    def test_classes_without_training_samples_are_unseen(self, tmp_path):
        data = load_npz(self.saved(tmp_path, part=np.array([0, 0, 1, 1, 1, 1])))
        assert {name: rows.tolist() for name, rows in data.parts.items() if len(rows)} == {
            "train": [0, 1],
            "test_seen": [3, 4],
            "test_unseen": [2, 5],
        }

    def test_other_class_vectors(self, tmp_path):
        path = self.saved(tmp_path, T=np.arange(6.0).reshape(3, 2))
        assert load_npz(path, class_vectors="T").classes["cat"].tolist() == [4, 5]
        assert load_npz(path, class_vectors=["S", "T"]).classes.sources == (("S", 3), ("T", 2))

    @pytest.mark.parametrize(
        ("arrays", "words"),
        [
            ({"S": None}, "lacks S: it holds X, names, y"),
            ({"y": np.array([0, 1, 2, 0, 1, 3])}, "y holds the class 3, but S has 3 rows"),
            ({"y": np.zeros(6)}, "y must have an integer for each of 6 samples, but is float64"),
            ({"part": np.arange(6)}, "part holds the numbers 0, 1, 2, 3, .*three at most"),
            ({"part": np.zeros(5, dtype=int)}, "part must have an integer for each of 6 samples"),
            ({"names": np.array(["ape", "bee"])}, "2 labels but 3 class_vectors"),
        ],
    )
    def test_mistakes(self, arrays, words, tmp_path):
        with pytest.raises(DatasetError, match=words):
            load_npz(self.saved(tmp_path, **arrays))

    def test_class_vectors_of_another_file(self, tmp_path):
        np.savez(tmp_path / "a.npz", **CONTENT)
        with pytest.raises(DatasetError, match="leave class_vectors out"):
            load_npz(tmp_path / "a.npz", class_vectors="S")


def test_names_of_numbers_that_are_no_characters(tmp_path):
    save_npz(make_zsl(40, 6, 4, 4, 2), tmp_path / "data.npz")
    with np.load(tmp_path / "data.npz") as file:
        content = dict(file)
    content["class_names"] = np.arange(0x110000, 0x110000 + 6, dtype=np.uint32).view("<U1")
    np.savez(tmp_path / "data.npz", **content)
    with pytest.raises(DatasetError, match=r"data\.npz is not a NumPy \.npz file, or it is damaged"):
        load_npz(tmp_path / "data.npz")
