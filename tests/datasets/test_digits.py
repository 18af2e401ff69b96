"""The embedded data set."""

import dataclasses
import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits as scikit_learn_digits

from jcmspl import JCMSPL
from jcmspl.cli.demo import _METHODS
from jcmspl.datasets import load_digits, make_split
from jcmspl.datasets.digits import PIXEL_SETTINGS, stroke_table
from jcmspl.model import registry


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_content(digits):
    images = scikit_learn_digits()
    assert np.array_equal(digits.X, images.data)
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert digits.y.tolist() == [names[value] for value in images.target]
    assert list(digits.classes) == names
    assert (len(digits.seen), len(digits.unseen)) == (7, 3)
    assert set(digits.y[digits.rows("val")]) == {"seven", "eight"}
    share = len(digits.rows("test_seen")) / (len(digits.rows("test_seen")) + len(digits.rows("trainval")))
    assert share == pytest.approx(0.2, abs=0.01)


def test_descriptions():
    table = stroke_table()
    assert 15 <= table.n_attributes <= 30
    assert len(set(table.attributes)) == table.n_attributes
    assert table.vectors.min() >= 0
    assert table.vectors.max() <= 1
    assert np.all(np.ptp(table.vectors, axis=0) > 0)  # each attribute tells some digits apart
    assert len(np.unique(table.vectors, axis=0)) == 10
    loops = dict(zip(table.attributes, table.vectors.T, strict=True))
    assert [name for name, value in zip(table, loops["loop in upper half"], strict=True) if value] == ["eight", "nine"]


def accuracies_of_all_choices(digits, method=JCMSPL, **settings):
    found = {}
    for unseen in itertools.combinations(digits.classes, 3):
        data = dataclasses.replace(digits, parts=make_split(digits.y, unseen=unseen, val=0))
        model = method(**settings).fit(*data.part("train"), class_vectors=data.classes)
        found[unseen] = model.score(*data.part("test_unseen"))  # per class, among the classes in y
    return found


def test_the_choice_of_unseen_digits_is_in_the_middle(digits):
    accuracies = accuracies_of_all_choices(digits, **PIXEL_SETTINGS)
    values = list(accuracies.values())
    low, high = np.quantile(values, [0.4, 0.6])
    assert low <= accuracies[tuple(digits.unseen)] <= high
    assert np.mean(values) == pytest.approx(0.60, abs=0.005)  # as digits.py says
    assert np.mean(np.array(values) > 1 / 3) > 0.95


def test_settings_for_pixels_are_better_than_the_defaults_by_as_much_as_the_guide_says(digits):
    assert np.mean(list(accuracies_of_all_choices(digits).values())) == pytest.approx(0.57, abs=0.005)


@pytest.mark.parametrize("name", [name for name in _METHODS if name != "JCMSPL"])
def test_methods_of_the_demo_are_as_good_as_it_says(digits, name):
    found = accuracies_of_all_choices(digits, registry.get(name), **PIXEL_SETTINGS)
    assert 0.595 < np.mean(list(found.values())) < 0.635


@pytest.mark.parametrize("space", ["semantic", "visual", "concept"])
def test_digits_never_seen_are_recognised_untuned(digits, space):
    model = JCMSPL(space=space).fit(*digits.part("trainval"), class_vectors=digits.classes)
    X, y = digits.part("test_unseen")
    right = model.predict(X, candidates=digits.unseen) == y
    per_class = np.mean([right[y == label].mean() for label in digits.unseen])
    assert per_class > 0.5  # chance is 0.33
