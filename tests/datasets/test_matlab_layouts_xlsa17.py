"""The layout of the benchmark files: reading MATLAB 5 and 7.3, the traps of the format, writing."""

import pickle
import sys

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import loadmat, savemat

from jcmspl import ClassTable
from jcmspl.datasets import Dataset, DatasetError, load_npz, load_xlsa17, save_npz, save_xlsa17
from support.benchmark_files import NAMES, PER_CLASS, benchmark_content, write_benchmark, write_mat73
from support.data_sets import same

BOTH = pytest.mark.parametrize("version", ["5", "7.3"])


@BOTH
def test_the_traps_of_the_format(tmp_path, version):
    features, splits = benchmark_content()
    data = load_xlsa17(write_benchmark(tmp_path / "zoo", version))
    assert data.name == "zoo"
    assert list(data.classes) == NAMES  # not sorted, not padded
    assert data.X.shape == (6 * PER_CLASS, 7)
    assert data.X.dtype == np.float32
    assert_array_equal(data.X[:], features["features"].T)
    assert data.y.tolist() == [NAMES[number - 1] for number in features["labels"].ravel()]
    assert_allclose(data.classes["ox"], splits["att"][:, 4])
    assert data.seen == NAMES[:4]
    assert data.unseen == NAMES[4:]
    assert_array_equal(data.rows("trainval"), np.sort(splits["trainval_loc"].ravel().astype(int)) - 1)
    assert set(data.y[data.rows("val")]) == {"blue+whale"}
    # what is tested is not trained on, although train_loc and val_loc list it
    assert len(np.intersect1d(splits["train_loc"], splits["test_seen_loc"])) > 0
    assert len(data.rows("train")) == 3 * (PER_CLASS - 1)
    assert len(data.rows("val")) == PER_CLASS - 1


@BOTH
def test_choice_of_attributes(tmp_path, version):
    folder = write_benchmark(tmp_path, version)
    original = load_xlsa17(folder, attributes="original_att").classes.vectors
    assert original.max() > 1
    unit = load_xlsa17(folder, attributes="att").classes.vectors
    assert_allclose(original / np.linalg.norm(original, axis=1, keepdims=True), unit)
    with pytest.raises(ValueError, match="attributes must be one of 'att', 'original_att'"):
        load_xlsa17(folder, attributes="w2v")


def test_samples_of_a_matlab_5_file_are_not_copied(tmp_path):
    X = load_xlsa17(write_benchmark(tmp_path)).X
    assert X.flags.c_contiguous  # columns there are rows here


def test_rows_of_a_matlab_73_file_are_read_when_they_are_needed(tmp_path):
    data = load_xlsa17(write_benchmark(tmp_path, "7.3"))
    whole = benchmark_content()[0]["features"].T
    assert data.X.rows_read == 0
    X, y = data.part("test_seen")
    assert_array_equal(X, whole[data.rows("test_seen")])
    assert len(y) == 4
    assert 4 <= data.X.rows_read <= len(whole)
    before = data.X.rows_read
    assert_array_equal(data.X[3:5], whole[3:5])
    assert data.X.rows_read == before + 2
    for rows in (np.array([5, 2, 2, 30]), slice(None, None, 3), slice(4, 4), np.array([], dtype=int), [0, 35]):
        assert_array_equal(data.X[rows], whole[rows] if len(whole[rows]) else np.empty((0, 7)))
    with pytest.raises(IndexError, match="0 to 35"):
        data.X[np.array([36])]
    with pytest.raises(TypeError, match="slice or a list"):
        data.X[1.5]
    assert_array_equal(pickle.loads(pickle.dumps(data.X))[:], whole)


def test_matlab_73_without_h5py(tmp_path, monkeypatch):
    folder = write_benchmark(tmp_path, "7.3")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install 'jcmspl\[data\]'"):
        load_xlsa17(folder)


def test_a_cell_that_refers_to_itself(tmp_path):
    folder = write_benchmark(tmp_path, "7.3")
    with h5py.File(folder / "att_splits.mat", "r+") as file:
        names = file["allclasses_names"]
        names[0, 0] = names.ref
    with pytest.raises(DatasetError, match=r"att_splits.mat: allclasses_names must hold texts"):
        load_xlsa17(folder)


def test_several_files_of_features(tmp_path):
    write_benchmark(tmp_path, features_name="res101.mat")
    write_benchmark(tmp_path, features_name="vit.mat", features=np.ones((3, 36)))
    with pytest.raises(DatasetError, match=r"2 files with features and labels: name one of res101.mat, vit.mat"):
        load_xlsa17(tmp_path)
    assert load_xlsa17(tmp_path, features="vit").n_features == 3
    assert load_xlsa17(tmp_path, features="res101.mat").n_features == 7
    (tmp_path / "res101.mat").unlink()
    savemat(tmp_path / "other.mat", {"something": 1})
    assert load_xlsa17(tmp_path).n_features == 3
    with pytest.raises(FileNotFoundError, match=r"googlenet.mat does not exist"):
        load_xlsa17(tmp_path, features="googlenet")


@BOTH
def test_the_files_of_images(tmp_path, version):
    data = load_xlsa17(write_benchmark(tmp_path / "zoo", version))
    expected = [f"/BS/some/where/{i}.jpg" for i in range(1, 1 + 6 * PER_CLASS)]
    assert (data.id_name, len(data.ids), list(data.ids)) == ("image_file", 36, expected)
    assert data.ids[2:4] == expected[2:4]
    assert pickle.loads(pickle.dumps(data)).ids == expected
    save_xlsa17(data, tmp_path / "again")
    assert list(load_xlsa17(tmp_path / "again").ids) == expected
    save_npz(data, tmp_path / "zoo.npz")
    again = load_npz(tmp_path / "zoo.npz")
    assert (list(again.ids), again.id_name) == (expected, "image_file")


def test_too_few_files_of_images(tmp_path):
    features, _ = benchmark_content()
    write_benchmark(tmp_path, image_files=features["image_files"][:5])
    with pytest.raises(DatasetError, match=r"res101.mat: image_files is 5 x 1, but there are 36 samples"):
        load_xlsa17(tmp_path)


def test_optional_variables(tmp_path):
    data = load_xlsa17(write_benchmark(tmp_path, train_loc=None, val_loc=None, test_seen_loc=None, image_files=None))
    assert len(data.rows("val")) == len(data.rows("test_seen")) == 0
    assert len(data.rows("train")) == 4 * (PER_CLASS - 1)


@BOTH
def test_empty_vectors(tmp_path, version):
    data = load_xlsa17(write_benchmark(tmp_path, version, val_loc=np.empty((0, 1)), test_seen_loc=np.empty((0, 0))))
    assert len(data.rows("val")) == len(data.rows("test_seen")) == 0


def test_names_in_a_character_array(tmp_path):
    assert list(load_xlsa17(write_benchmark(tmp_path, allclasses_names=np.array(NAMES))).classes) == NAMES


NAN = benchmark_content()[1]["att"].copy()
NAN[2, 1] = np.nan


@BOTH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, r"res101.mat lacks labels: it holds features, image_files"),
        ({"att": None, "test_unseen_loc": None}, r"att_splits.mat lacks att, test_unseen_loc: it holds allclasses_nam"),
        ({"test_unseen_loc": np.array([[37]])}, r"test_unseen_loc holds 37, but must be 1 to 36, .* count from 1"),
        ({"trainval_loc": np.array([[0], [3]])}, r"trainval_loc holds 0, but must be 1 to 36"),
        ({"trainval_loc": np.array([[np.inf], [3]])}, r"trainval_loc must hold whole numbers"),
        ({"trainval_loc": np.array([[1.5], [3]])}, r"trainval_loc must hold whole numbers"),
        ({"trainval_loc": np.ones((2, 3))}, r"trainval_loc must be a vector, but its shape is \(2, 3\)"),
        ({"trainval_loc": np.array([[3], [3]])}, r"part 'train' holds the row 2 more than once"),
        ({"trainval_loc": np.empty((0, 1))}, r"no training samples"),
        ({"labels": np.full((36, 1), 7)}, r"res101.mat: labels holds 7, but must be 1 to 6"),
        ({"labels": np.ones((35, 1))}, r"a column for each of the 35 labels, but is 7 x 36"),
        ({"features": np.ones((36, 7))}, r"is 36 x 7: transpose it"),
        ({"att": np.ones((6, 4))}, r"att must have a column for each of the 6 classes, but is 6 x 4: transpose it"),
        ({"att": NAN}, r"att_splits.mat: class_vectors holds NaN or infinity in the vectors of 1 classes: 'ant\+lion'"),
    ],
)
def test_bad_content(tmp_path, version, changes, message):
    folder = write_benchmark(tmp_path, version, **changes)
    with pytest.raises(DatasetError, match=message) as caught:
        load_xlsa17(folder)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_are_numbers(tmp_path):
    with pytest.raises(DatasetError, match=r"att_splits.mat: allclasses_names must hold texts, but holds"):
        load_xlsa17(write_benchmark(tmp_path, allclasses_names=np.ones((6, 1))))


@BOTH
def test_parts_and_classes_that_overlap(tmp_path, version):
    _, splits = benchmark_content()
    both = np.vstack([splits["test_unseen_loc"], splits["trainval_loc"][:1]])
    with pytest.raises(DatasetError, match="the parts 'train' and 'test_unseen' overlap: row"):
        load_xlsa17(write_benchmark(tmp_path / "a", version, test_unseen_loc=both, val_loc=None))
    one_of_each = splits["test_unseen_loc"][::2], splits["test_unseen_loc"][1::2]
    with pytest.raises(DatasetError, match=r"seen and unseen classes overlap: .* 2 classes: 'ox', 'märz'"):
        load_xlsa17(
            write_benchmark(tmp_path / "b", version, trainval_loc=one_of_each[0], test_unseen_loc=one_of_each[1])
        )


def test_places_that_are_not_a_folder_of_the_layout(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        load_xlsa17(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"att_splits.mat does not exist"):
        load_xlsa17(tmp_path)
    write_benchmark(tmp_path)
    (tmp_path / "res101.mat").unlink()
    with pytest.raises(FileNotFoundError, match="no file of features"):
        load_xlsa17(tmp_path)
    with pytest.raises(NotADirectoryError, match="is a file"):
        load_xlsa17(tmp_path / "att_splits.mat")


@BOTH
def test_round_trips(tmp_path, version):
    data = load_xlsa17(write_benchmark(tmp_path / "a", version), attributes="original_att")
    save_npz(data, tmp_path / "b.npz")
    again = load_npz(tmp_path / "b.npz")
    same(again, data)
    assert again.source == data.source
    save_xlsa17(again, tmp_path / "c")
    same(load_xlsa17(tmp_path / "c", attributes="original_att"), data)
    assert sorted(file.name for file in tmp_path.glob("c/*")) == ["att_splits.mat", "features.mat"]  # and nothing else


def test_what_is_written_is_what_others_expect(tmp_path):
    data = load_xlsa17(write_benchmark(tmp_path / "a"), attributes="original_att")
    save_xlsa17(data, tmp_path / "b")
    features, splits = loadmat(tmp_path / "b" / "features.mat"), loadmat(tmp_path / "b" / "att_splits.mat")
    expected_features, expected_splits = benchmark_content()
    assert_array_equal(features["features"], expected_features["features"])
    assert features["features"].dtype == np.float32
    assert_array_equal(features["labels"], expected_features["labels"])
    for name in ("trainval_loc", "test_seen_loc", "test_unseen_loc"):
        assert_array_equal(splits[name], np.sort(expected_splits[name], axis=0))
    assert_array_equal(np.sort(np.vstack([splits["train_loc"], splits["val_loc"]]), axis=0), splits["trainval_loc"])
    assert_allclose(splits["att"], expected_splits["att"])
    assert_allclose(np.linalg.norm(splits["att"], axis=0), 1)
    assert_array_equal(splits["original_att"], expected_splits["original_att"])
    # as scripts read it: [str(cell[0][0]) for cell in allclasses_names]
    assert [str(cell[0][0]) for cell in splits["allclasses_names"]] == NAMES


def test_attribute_names_and_labels_that_are_numbers(tmp_path):
    table = ClassTable([30, 4, 5], [[0.0, 0], [1, 2], [3, 4]], ["stripes", "long tail"])
    data = Dataset("n", np.ones((3, 2), dtype=np.uint8), [30, 4, 5], table, {"train": [0, 1], "test_unseen": [2]})
    save_xlsa17(data, tmp_path / "n")
    back = load_xlsa17(tmp_path / "n", attributes="original_att")
    assert back.classes == ClassTable(["30", "4", "5"], table.vectors, table.attributes)
    assert back.y.tolist() == ["30", "4", "5"]
    assert_array_equal(load_xlsa17(tmp_path / "n").classes["30"], [0, 0])  # a vector of zeros has no direction


def test_nothing_is_written_over_or_left_behind(tmp_path):
    data = load_xlsa17(write_benchmark(tmp_path / "a"))
    save_xlsa17(data, tmp_path / "b")
    before = {file: file.read_bytes() for file in (tmp_path / "b").iterdir()}
    with pytest.raises(FileExistsError, match="exists already"):
        save_xlsa17(data, tmp_path / "b")
    (tmp_path / "b" / "features.mat").unlink()
    with pytest.raises(FileExistsError, match=r"att_splits.mat exists"):
        save_xlsa17(data, tmp_path / "b")
    assert [file.name for file in (tmp_path / "b").iterdir()] == ["att_splits.mat"]
    save_xlsa17(data, tmp_path / "b", overwrite=True)
    assert (tmp_path / "b" / "features.mat").stat().st_size == len(before[tmp_path / "b" / "features.mat"])

    class Broken(np.ndarray):
        def __getitem__(self, rows):
            raise OSError("the disk is gone")

    broken = Dataset("broken", data.X.view(Broken), data.y, data.classes, data.parts)
    with pytest.raises(OSError, match="the disk is gone"):
        save_xlsa17(broken, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    with pytest.raises(FileNotFoundError):
        save_xlsa17(data, tmp_path / "no" / "such" / "folder")


def test_too_much_for_matlab_5(tmp_path):
    class Huge:
        shape, dtype = (2**21, 2**10), np.dtype(np.float32)

        def __len__(self):
            return self.shape[0]

    table = ClassTable(["a", "b"], np.eye(2))
    y = np.array(["a", "b"]).repeat(2**20)
    data = Dataset("huge", Huge(), y, table, {"train": [0], "test_unseen": [2**21 - 1]})
    with pytest.raises(DatasetError, match=r"huge has 8.0 GB of features, .* at most 4 GB of them: use save_npz"):
        save_xlsa17(data, tmp_path / "huge")
    assert not (tmp_path / "huge").exists()


def test_labels_that_names_cannot_tell_apart(tmp_path):
    for labels, message in (([1, "1"], "are the same as text"), (["", "a"], "has no name")):
        data = Dataset("x", np.eye(2), labels, ClassTable(labels, np.eye(2)), {"train": [0, 1]})
        with pytest.raises(DatasetError, match=message):
            save_xlsa17(data, tmp_path / "x")


def test_cub(data_folder):
    if not (data_folder / "cub").is_dir():
        pytest.skip("no cub/ in the folder of benchmark data")
    data = load_xlsa17(data_folder / "cub", attributes="original_att")
    assert (data.n_samples, data.n_features, data.classes.n_classes, data.classes.n_attributes) == (
        11788,
        1280,
        200,
        312,
    )
    assert {part: len(rows) for part, rows in data.parts.items()} == {
        "train": 4707,
        "val": 2344,
        "test_seen": 1770,
        "test_unseen": 2967,
    }
    assert (len(data.seen), len(data.unseen)) == (150, 50)
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    assert "012.Yellow_headed_Blackbird" in data.unseen
    # percentages: what the file calls original_att
    assert data.classes.vectors.max() > 90


def test_matlab_73_agrees_with_matlab_5(tmp_path):
    same(load_xlsa17(write_benchmark(tmp_path / "a")), load_xlsa17(write_benchmark(tmp_path / "b", "7.3")))
    # a file of features of the one kind, splits of the other
    features, _ = benchmark_content()
    write_mat73(tmp_path / "a" / "res101.mat", features)
    same(load_xlsa17(tmp_path / "a"), load_xlsa17(tmp_path / "b"))
