"""The data set object: its invariants, its parts, streams, and the generalized protocol."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from jcmspl import JCMSPL, ClassTable
from jcmspl.datasets import PARTS, Dataset, DatasetError, make_zsl
from support.data_sets import Counting

TABLE = ClassTable(["zebra", "horse", "otter", "lynx"], np.arange(12).reshape(4, 3))
Y = ["horse", "zebra", "horse", "otter", "zebra", "horse", "otter", "zebra"]
SPLIT = {"train": [5, 0, 1], "val": [4], "test_seen": [2, 7], "test_unseen": [3, 6]}


def animals(**changes):
    content = {"name": "animals", "X": np.arange(16.0).reshape(8, 2), "y": Y, "classes": TABLE, "parts": SPLIT}
    return Dataset(**{**content, **changes})


def test_ids():
    data = animals(ids=np.arange(8), id_name="number")
    assert (data.ids, data.id_name) == (list("01234567"), "number")
    assert data.without("test_seen", ["horse"]).ids == data.ids
    with pytest.raises(DatasetError, match="there are 8 samples in X but 7 ids"):
        animals(ids=list("1234567"))


def test_parts():
    data = animals()
    assert data.seen == ["zebra", "horse"]  # the order of the table
    assert data.unseen == ["otter"]
    assert_array_equal(data.rows("train"), [0, 1, 5])
    assert_array_equal(data.rows("trainval"), [0, 1, 4, 5])
    X, y = data.part("test_seen")
    assert_array_equal(X, [[4, 5], [14, 15]])
    assert y.tolist() == ["horse", "zebra"]
    assert_array_equal(data.class_numbers, [1, 0, 1, 2, 0, 1, 2, 0])
    with pytest.raises(ValueError, match=r"part must be one of 'train', 'val', .* but is 'test'"):
        data.rows("test")


def test_a_column_of_labels_is_read_as_one_label_per_row():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        data = animals(y=np.array(Y)[:, None])
    assert data.part("test_seen")[1].tolist() == ["horse", "zebra"]


def test_missing_parts_are_empty():
    data = animals(parts={"train": [0, 1]})
    assert list(data.parts) == list(PARTS)
    assert len(data.rows("val")) == len(data.part("test_unseen")[0]) == 0
    assert data.unseen == []
    assert list(data.chunks("val")) == []
    assert "in no part           6 samples" in data.describe()


def test_it_cannot_be_changed():
    rows = np.array([5, 0, 1])
    data = animals(parts={**SPLIT, "train": rows})
    rows[:] = 3
    assert_array_equal(data.rows("train"), [0, 1, 5])
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = Y
    with pytest.raises(ValueError, match="read-only"):
        data.rows("train")[0] = 3


def test_text():
    assert repr(animals()) == "Dataset 'animals': 8 samples x 2 features, 2 seen and 1 unseen classes"
    text = animals(source="a book").describe()
    assert "train                3 samples of     2 classes" in text
    assert "unseen classes: 'otter'" in text
    assert text.endswith("source: a book")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones(8)}, r"rows and columns, but its shape is \(8,\)"),
        ({"X": [[1.0]]}, "array with shape and dtype, but is a list"),
        ({"X": np.full((8, 2), "a")}, "real numbers, but its dtype is <U1"),
        ({"X": np.empty((8, 0))}, r"X is empty \(its shape is \(8, 0\)\)"),
        ({"y": Y[:-1]}, "8 samples in X but 7 labels in y"),
        ({"y": np.ones((8, 2))}, "1d array of labels"),
        ({"y": [*Y[:-1], None]}, "missing label at position 7"),
        ({"y": [*Y[:-1], "yak"]}, "no class vectors for 1 of the 4 classes in y: 'yak'"),
        ({"classes": {"zebra": [1]}}, "must be a ClassTable, but is a dict"),
        ({"parts": {**SPLIT, "test": [1]}}, "no part named 'test': parts are train, val, test_seen, test_unseen"),
        ({"parts": {**SPLIT, "train": [8]}}, "part 'train' holds the row 8, but rows are 0 to 7 .* count from 1"),
        ({"parts": {**SPLIT, "val": [-1]}}, "part 'val' holds the row -1, but rows are 0 to 7"),
        ({"parts": {**SPLIT, "val": [4, 4]}}, "part 'val' holds the row 4 more than once"),
        ({"parts": {**SPLIT, "val": [0.5]}}, "part 'val' must be a list of row numbers, but is float64"),
        ({"parts": {**SPLIT, "train": np.ones(8, dtype=bool)}}, "list of row numbers, but is bool"),
        ({"parts": {**SPLIT, "val": [0, 1]}}, r"'train' and 'val' overlap: row 0 is in both \(2 such rows in all\)"),
        ({"parts": {"val": [1]}}, "no training samples"),
        ({"parts": {"train": [0], "test_unseen": [2, 3, 5]}}, "overlap: .* samples of 1 classes: 'horse'"),
        ({"parts": {"train": [0], "val": [1], "test_unseen": [4]}}, "overlap: .* 'zebra'"),
        ({"parts": {"train": [0], "test_seen": [1]}}, "1 classes without training samples: 'zebra'"),
    ],
)
def test_invariants(changes, message):
    with pytest.raises(DatasetError, match=message) as caught:
        animals(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given_type", "expected"),
    [("f4", "f4"), ("f8", "f8"), ("f2", "f4"), ("u1", "f8"), ("i8", "f8"), ("?", "f8"), (">f4", "f4"), (">f8", "f8")],
)
def test_samples_become_floats_as_they_are_read(given_type, expected):
    X = (np.arange(16).reshape(8, 2) % 2).astype(given_type)
    data = animals(X=X)
    for read, _ in (data.part("train"), data.part("test_unseen"), *data.chunks("train", 2)):
        assert read.dtype == np.dtype(expected)
    assert_array_equal(data.part("train")[0], X[[0, 1, 5]].astype("f8"))


def test_streams():
    n = 1000
    y = np.array(["zebra", "horse"] * (n // 2))
    lazy = Counting(n, 3)
    data = Dataset("lazy", lazy, y, TABLE, {"train": np.arange(0, n, 2), "val": np.arange(1, n, 2)})
    assert lazy.most == 0
    chunks = list(data.chunks("train", 64))
    assert lazy.most == 64
    assert [len(X) for X, _ in chunks] == [64] * 7 + [52]
    assert_array_equal(np.concatenate([X for X, _ in chunks]), data.part("train")[0])
    assert set(np.concatenate([labels for _, labels in chunks])) == {"zebra"}
    with pytest.raises(ValueError, match="size must be from 1"):
        data.chunks("train", 0)


def test_a_model_learns_the_same_from_a_stream():
    data = make_zsl(600, 20, 8, 10, 4, dtype=np.float64, n_val=2)
    whole = JCMSPL().fit(*data.part("trainval"), class_vectors=data.classes)
    stream = JCMSPL().fit(data.chunks("trainval", 50), class_vectors=data.classes)
    X, _ = data.part("test_unseen")
    assert_array_equal(whole.predict(X, candidates=data.unseen), stream.predict(X, candidates=data.unseen))
    assert set(whole.classes_.tolist()) == set(data.seen)


def test_a_memory_map_is_read_by_parts(tmp_path):
    path = tmp_path / "X.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (8, 2))
    X[:] = np.arange(16).reshape(8, 2)
    data = animals(X=np.load(path, mmap_mode="r"), parts={"train": [0, 1, 2], "test_unseen": [3, 6]})
    train, _ = data.part("train")
    X[:] = -1  # what was read is in memory, and no longer in the file
    X.flush()
    assert_array_equal(train, [[0, 1], [2, 3], [4, 5]])


@given(st.integers(2, 30), st.floats(0, 0.99), st.integers(0, 2**31 - 2), st.randoms(use_true_random=False))
def test_held_out(n, share, seed, random):
    y = ["zebra", "horse"] + [random.choice(["zebra", "horse", "otter"]) for _ in range(n)]
    unseen = [i for i, label in enumerate(y) if label == "otter"]
    others = [i for i, label in enumerate(y) if label != "otter"]
    val = [i for i in others[1:] if random.random() < 0.3]
    train = [i for i in others if i not in val]
    parts = {"train": train, "val": val, "test_unseen": unseen}
    data = Dataset("d", np.ones((len(y), 1)), y, TABLE, parts)
    try:
        split = data.held_out(share, seed)
    except DatasetError as error:  # all of a small "train" was drawn
        assert "no training samples" in str(error)  # noqa: PT017 - or it works
        return
    assert split.X is data.X
    assert split.seen == data.seen
    together = np.sort(np.concatenate([split.rows("trainval"), split.rows("test_seen")]))
    assert_array_equal(together, data.rows("trainval"))
    for label in data.seen:
        count = y.count(label)
        drawn = np.sum(split.y[split.rows("test_seen")] == label)
        assert drawn == min(round(share * count), count - 1)
    assert_array_equal(split.rows("test_seen"), data.held_out(share, seed).rows("test_seen"))


def test_held_out_depends_on_the_class_alone():
    def drawn(y):
        data = Dataset("d", np.ones((len(y), 1)), y, TABLE, {"train": np.arange(len(y))})
        positions = {label: np.flatnonzero(np.array(y) == label) for label in set(y)}
        rows = data.held_out(0.3, 1).rows("test_seen")
        return {label: np.flatnonzero(np.isin(where, rows)).tolist() for label, where in positions.items()}

    grouped = drawn(["zebra"] * 20 + ["horse"] * 10)
    mixed = drawn(["horse", "zebra", "zebra"] * 10 + ["otter"] * 5)
    assert grouped["zebra"] == mixed["zebra"]
    assert grouped["horse"] == mixed["horse"]
    assert len(grouped["zebra"]) == 6


def test_held_out_refuses_a_second_draw_and_bad_shares():
    with pytest.raises(ValueError, match="has 2 samples in the part 'test_seen'"):
        animals().held_out()
    data = animals(parts={"train": [0, 1, 2]})
    for share in (1, -0.1, np.nan, "a"):
        with pytest.raises((ValueError, TypeError), match="the share of samples must be"):
            data.held_out(share)
    assert len(data.held_out(0).rows("test_seen")) == 0
