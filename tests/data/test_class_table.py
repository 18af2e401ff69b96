import copy
import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.utils.validation import _is_arraylike

from jcmspl import ClassTable
from jcmspl.data.labels import as_label_list, as_targets, label_array, sorted_labels

VECTORS = {"zebra": [1.0, 0.0], "horse": [0.0, 1.0], "otter": [0.5, 0.25]}


def test_all_forms_make_the_same_table():
    names, matrix = list(VECTORS), np.array(list(VECTORS.values()))
    expected = ClassTable(names, matrix)
    frame = pd.DataFrame(matrix, index=names, columns=["stripes", "hooves"])
    assert ClassTable.of(VECTORS) == expected
    assert ClassTable.of(expected) is expected
    assert ClassTable.of(frame) == ClassTable(names, matrix, ["stripes", "hooves"])
    assert ClassTable.of(matrix) == ClassTable([0, 1, 2], matrix)
    assert ClassTable.of(matrix.tolist()) == ClassTable([0, 1, 2], matrix)
    mixed = pd.DataFrame({"a": [True, False, True], "b": pd.array([1, 2, 3], dtype="Int64"), "c": [0.5, 1, 2]})
    assert_array_equal(ClassTable.of(mixed).vectors, [[1, 1, 0.5], [0, 2, 1], [1, 3, 2]])
    assert ClassTable.of({k: pd.Series(v) for k, v in VECTORS.items()}) == expected
    assert expected != ClassTable(names, matrix + 1)
    assert expected != ClassTable(names[::-1], matrix)


def test_look_up():
    table = ClassTable.of(VECTORS)
    assert_array_equal(table["horse"], [0, 1])
    assert "otter" in table
    assert "lynx" not in table
    assert list(table) == list(VECTORS)
    assert (table.n_classes, table.n_attributes) == (3, 2)
    assert_array_equal(table.positions(["otter", "zebra"]), [2, 0])
    assert table.select(["otter", "zebra"]) == ClassTable(["otter", "zebra"], [[0.5, 0.25], [1, 0]])
    assert table.without(["zebra"]) == table.select(["horse", "otter"])
    assert table.without(VECTORS) is None
    assert table.attribute_names == ("attribute 0", "attribute 1")


def test_updated_takes_the_other_vector_and_keeps_the_rest():
    table = ClassTable.of(VECTORS).updated(ClassTable.of({"otter": [9, 9], "lynx": [3, 4]}))
    assert list(table) == ["zebra", "horse", "otter", "lynx"]
    assert_array_equal(table["otter"], [9, 9])
    with pytest.raises(ValueError, match="3 attributes, but those of the model have 2"):
        table.updated(ClassTable.of({"a": [1, 2, 3]}))
    a, b = (ClassTable(["x"], [[1, 2]], names) for names in (["p", "q"], ["q", "p"]))
    assert_array_equal(a.updated(b)["x"], [2, 1])  # attributes are known by name, not by position
    with pytest.raises(ValueError, match="other attributes than those of the model: 'r' in place of 'q'"):
        a.updated(ClassTable(["x"], [[1, 2]], ["p", "r"]))


def test_scikit_learn_does_not_take_it_for_an_array():
    assert not _is_arraylike(ClassTable.of(VECTORS))


def test_the_content_cannot_be_changed_from_outside():
    matrix, names = np.ones((2, 3)), np.array(["a", "b"])
    table = ClassTable(names, matrix)
    matrix[:], names[:] = 5, "c"
    table["a"][:] = 7
    assert_array_equal(table["a"], [1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        table.vectors[0, 0] = 2


def test_copies_and_pickles():
    table = ClassTable.of(VECTORS)
    for twin in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert twin == table
        assert not twin.vectors.flags.writeable


def test_html_escapes_names():
    html = ClassTable(["<script>"], [[1.0]])._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ClassTable(["a", "a"], np.eye(2)), ValueError, "two vectors for the class 'a'"),
        (lambda: ClassTable([1, True], np.eye(2)), ValueError, "two vectors for the class True"),
        (lambda: ClassTable(["a"], np.eye(2)), ValueError, "1 labels but 2 class_vectors"),
        (lambda: ClassTable([], np.empty((0, 3))), ValueError, "is empty"),
        (lambda: ClassTable(["a"], [[np.nan]]), ValueError, "NaN or infinity in the vectors of 1 classes: 'a'"),
        (lambda: ClassTable(["a"], [["x"]]), TypeError, "real numbers"),
        (lambda: ClassTable(["a"], [1.0]), ValueError, "2 dimension"),
        (lambda: ClassTable([None], [[1.0]]), ValueError, "missing label at position 0"),
        (lambda: ClassTable([[1]], [[1.0]]), TypeError, "cannot be a label"),
        (lambda: ClassTable(["a"], [[1.0]], ["p", "q"]), ValueError, "2 names for 1 attributes"),
        (lambda: ClassTable.of({"a": [1, 2], "b": [1]}), ValueError, "'a' has 2 values and that of 'b' has 1"),
        (lambda: ClassTable.of([[1, 2], [3]]), ValueError, "that of 0 has 2 values and that of 1 has 1"),
        (lambda: ClassTable.of({"a": ["1", "2"]}), TypeError, "class vector of 'a'"),
        (lambda: ClassTable.of({"a": [1j]}), TypeError, "class vector of 'a'"),
        (lambda: ClassTable.of(pd.DataFrame({"p": ["x"]})), TypeError, "its column 'p' is"),
        (lambda: ClassTable.of(VECTORS)["lynx"], KeyError, "no class 'lynx'"),
        (lambda: ClassTable.of({"a": "text"}), TypeError, "class vector of 'a'"),
        (lambda: ClassTable.of({"a": [[1]]}), ValueError, "class vector of 'a' must have one dimension"),
        (lambda: ClassTable.of({}), ValueError, "is empty"),
        (
            lambda: ClassTable.of(VECTORS).positions(["lynx", "otter", "yak"], "y"),
            ValueError,
            "no class vectors for 2 of the 3 classes in y: 'lynx', 'yak'",
        ),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


ANY_LABEL = st.one_of(
    st.text(max_size=5),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.integers().map(float).filter(np.isfinite),
    st.binary(max_size=3),
    st.tuples(st.integers(), st.text(max_size=2)),
)


@given(st.lists(ANY_LABEL, min_size=1, max_size=20))
def test_labels_of_odd_types_come_back_as_they_were(labels):
    array = label_array(labels)
    assert array.shape == (len(labels),)
    back = as_label_list(array)
    assert back == labels
    assert [type(a) for a in back] == [type(a) for a in labels]


def test_labels_that_numpy_would_change():
    for labels in ([2**63, -1], ["a", "a\0"], [1, "1"], [frozenset([1]), frozenset([2])], [(1, 2), (3,)]):
        assert label_array(labels).tolist() == labels
        assert ClassTable(labels, np.eye(len(labels))).labels.tolist() == labels


def test_dates():
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    table = ClassTable(days, np.eye(2))
    assert days[1] in table
    assert as_label_list(days.to_numpy())[0] == days[0]


@pytest.mark.parametrize(
    "labels", [pd.array(["a", None], dtype="string"), [np.nan], [pd.NaT], np.array(["NaT"], "M8[s]")]
)
def test_missing_labels(labels):
    with pytest.raises(ValueError, match="missing label at position"):
        as_label_list(labels)


def test_other_labels_that_are_none():
    with pytest.raises(TypeError, match="cannot be a label"):
        as_label_list([np.array([1, 2]), np.array([3])])
    with pytest.raises(ValueError, match="masked"):
        as_label_list(np.ma.masked_array([1, 2], mask=[True, False]))
    with pytest.raises(ValueError, match="continuous"):
        as_targets([0.5, 1.5])
    assert as_targets([1.0, 2.0]) == [1, 2]


def test_sets_have_an_order_of_their_own():
    labels = [frozenset(part) for part in ([1], [2], [1, 2], [3])]
    assert sorted_labels(labels) == sorted_labels(labels[::-1])


@given(st.lists(ANY_LABEL, max_size=20), st.randoms())
def test_the_order_of_labels_depends_on_them_alone(labels, random):
    shuffled = list(labels)
    random.shuffle(shuffled)
    # equal labels such as 1 and True may stand for each other
    assert sorted_labels(dict.fromkeys(labels)) == sorted_labels(dict.fromkeys(labels))
    if len({type(label) for label in labels}) == 1:
        assert sorted_labels(labels) == sorted_labels(shuffled) == sorted(labels)


@pytest.mark.parametrize(("own", "other"), [(3, "3"), ("3", 3), ("1.5", 1.5), (1, "1")])
def test_labels_that_differ_in_type_alone(own, other):
    table = ClassTable([own, "x"], [[1.0], [2.0]])
    expected = (
        f"their types differ, {other!r} is of type {type(other).__name__} and {own!r} of type {type(own).__name__}"
    )
    with pytest.raises(ValueError, match=expected):
        table.positions([other], "y")
    with pytest.raises(ValueError, match=r"\(there are for .*\)$"):
        table.positions(["yeti"], "y")


@pytest.mark.parametrize("kind", ["dict", "frame", "table", "array"])
def test_nan_is_told_of_by_class(kind):
    vectors = np.array([[1.0, 2.0], [3.0, np.nan]])
    forms = {
        "dict": dict(zip(["zebra", "horse"], vectors, strict=True)),
        "frame": pd.DataFrame(vectors, index=["zebra", "horse"]),
        "array": vectors,
    }
    with pytest.raises(ValueError, match=r"NaN or infinity in the vectors of 1 classes: ('horse'|1)$"):
        ClassTable(["zebra", "horse"], vectors) if kind == "table" else ClassTable.of(forms[kind])


def test_labels_of_numpy_are_shown_as_plain_ones():
    table, zero = ClassTable(["one"], [[1.0]]), np.array(["zero"])[0]
    for call in (
        lambda: table[zero],
        lambda: table.positions([zero]),
        lambda: ClassTable([zero, zero], [[1.0], [2.0]]),
        lambda: ClassTable.of({zero: "text"}),
        lambda: ClassTable.of({zero: [np.nan]}),
    ):
        with pytest.raises((ValueError, KeyError, TypeError), match=r"'zero'") as caught:
            call()
        assert "str_" not in str(caught.value)


def test_times_that_are_finer_than_those_of_python():
    given = np.array([0, 1, 5000, 5001, 7_000_000], dtype="M8[ns]")
    labels = as_label_list(given)
    assert len(set(labels)) == 5
    assert labels[2] == dt.datetime(1970, 1, 1, 0, 0, 0, 5)  # as from an array of coarser units
    assert all(type(labels[i]) is dt.datetime for i in (0, 2, 4))
    assert label_array(labels).tolist() == labels
    # whatever form they have, equal times are equal labels
    for same in (list(given), pd.Series(given), pd.to_datetime(given), list(pd.to_datetime(given))):
        assert as_label_list(same) == labels
        assert set(as_label_list(same)) == set(labels)
    assert set(as_label_list(given.astype("M8[ps]"))) == set(labels)
    assert ClassTable(given, np.eye(5)).positions(as_label_list(given[::-1])).tolist() == [4, 3, 2, 1, 0]
    assert sorted_labels(labels[::-1]) == sorted_labels(labels)
    spans = as_label_list(np.array([1, 1000], dtype="m8[ns]"))
    assert spans == [np.timedelta64(1, "ns"), dt.timedelta(microseconds=1)]
    assert as_label_list(list(pd.to_timedelta(spans[:1]))) == spans[:1]
    with pytest.raises(ValueError, match="missing label at position 1"):
        as_label_list(np.array([1, "NaT"], "M8[ns]"))
