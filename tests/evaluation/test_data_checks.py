"""Class vectors, duplicate classes and leakage are checked."""

import dataclasses
import json

import numpy as np
import pytest

from jcmspl import ClassTable
from jcmspl.checks import check_data
from jcmspl.datasets import make_zsl
from jcmspl.evaluation.data_checks import near_duplicates

DATA = make_zsl(600, 32, 12, 24, 4, noise=0.3, random_state=1)


def with_vectors(change):
    vectors = DATA.classes.vectors.copy()
    change(vectors)
    return dataclasses.replace(DATA, classes=ClassTable(list(DATA.classes), vectors))


def test_clean_data():
    found = check_data(DATA)
    assert found.is_clean
    assert found.to_text().splitlines()[0].startswith("Labels: 0 of")


def test_a_vector_of_another_class_does_not_fit():
    seen = DATA.seen[3]
    row = list(DATA.classes).index(seen)

    def change(vectors):
        vectors[row] = -vectors[row]

    (issue,) = check_data(with_vectors(change)).classes
    assert issue.label == seen
    assert issue.by_samples >= 0.5 > issue.by_vector
    assert issue.taken_for != seen


def test_nearly_equal_vectors():
    def change(vectors):
        vectors[1] = vectors[0] + 1e-6
        vectors[5] = vectors[4]

    labels = list(DATA.classes)
    with pytest.warns(RuntimeWarning, match="same class vector") as told:
        found = check_data(with_vectors(change)).duplicates
    assert len(told) == 1
    assert [(pair.one, pair.other) for pair in found] in (
        [(labels[4], labels[5]), (labels[0], labels[1])],
        [(labels[0], labels[1]), (labels[4], labels[5])],
    )
    assert all(pair.distance < 1e-3 for pair in found)


def test_two_classes_are_duplicates_only_if_they_are_equal():
    assert near_duplicates(ClassTable(["a", "b"], [[1.0, 2], [1, 2.0001]])) == ()
    (pair,) = near_duplicates(ClassTable(["a", "b", "c"], [[1.0, 2], [1, 2], [3, 1]]))
    assert (pair.one, pair.other) == ("a", "b")


def test_classes_that_mostly_have_twins_are_all_found():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 64))
    table = ClassTable([f"class {i}" for i in range(50)], np.vstack([vectors, vectors[:20]]))
    found = near_duplicates(table)
    assert {(pair.one, pair.other) for pair in found} == {(f"class {i}", f"class {i + 30}") for i in range(20)}
    assert all(pair.distance == 0 for pair in found)


def test_leaked_and_repeated_samples():
    X, parts = np.array(DATA.X), {name: DATA.rows(name) for name in ("trainval", "test_seen", "test_unseen")}
    leaked = parts["test_unseen"][[2, 7]]
    X[leaked] = X[parts["trainval"][:2]]
    X[parts["trainval"][9]] = X[parts["trainval"][8]]
    data = dataclasses.replace(DATA, X=X)
    found = check_data(data)
    (leak,) = found.leaks
    assert (leak.part, leak.indices) == ("test_unseen", tuple(leaked.tolist()))
    assert found.repeated == 1
    assert "2 test samples equal to a training sample" in found.to_text()


def test_findings_are_rows_of_the_data_set():
    y = np.array(DATA.y)
    rows = DATA.rows("trainval")
    wrong = rows[5]
    y[wrong] = next(label for label in DATA.seen if label != y[wrong])
    found = check_data(dataclasses.replace(DATA, y=y))
    assert found.labels.indices[0] == wrong
    assert found.labels.mask()[wrong]
    told = json.loads(found.to_json())
    assert told["labels"][0]["index"] == wrong
    assert told["n_samples"] == len(rows)


def test_training_samples_are_those_of_validation_as_well():
    y, parts = np.array(DATA.y), dict(DATA.parts)
    rows = DATA.rows("trainval")
    parts["train"], parts["val"] = rows[::2], rows[1::2]
    wrong = rows[[7, 8]]
    y[wrong] = [next(label for label in DATA.seen if label != y[row]) for row in wrong]
    found = check_data(dataclasses.replace(DATA, y=y, parts=parts))
    assert found.labels.n_samples == len(rows)
    assert set(found.labels.indices[:2]) == set(wrong)
    assert len(found.labels.mask()) == len(y)


def test_without_test_samples_leakage_is_not_checked():
    parts = {name: rows[:0] if name.startswith("test") else rows for name, rows in DATA.parts.items()}
    assert (
        "leakage was not checked: there are no test samples"
        in check_data(dataclasses.replace(DATA, parts=parts)).to_text()
    )
    assert "leakage" not in check_data(DATA).to_text()


def test_arrays_are_no_data_set():
    with pytest.raises(TypeError, match="find_label_issues"):
        check_data(DATA.part("train"))


def test_few_classes_are_told():
    data = make_zsl(n_seen=5, n_unseen=2, random_state=0)
    found = check_data(data)
    assert found.classes == ()
    assert any("class vectors were not checked" in note for note in found.notes)
