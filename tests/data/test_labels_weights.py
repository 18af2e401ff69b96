import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight

from jcmspl.data.collect import present
from jcmspl.data.labels import check_class_weight, weights_of

LABELS = st.lists(st.sampled_from(["ant", "bee", "cat"]), min_size=1, max_size=30)


@given(LABELS, st.sampled_from(["balanced", {"ant": 2, "bee": 0.5, "cat": 1.0}]))
def test_as_in_scikit_learn(labels, class_weight):
    expected = class_weight
    if isinstance(class_weight, dict):  # which names no class that is not there
        expected = {label: class_weight[label] for label in set(labels)}
    assert_allclose(weights_of(labels, None, class_weight), compute_sample_weight(expected, labels), rtol=1e-14)


@given(LABELS, st.integers(0, 2**32 - 1))
def test_balanced_counts_samples_as_they_weigh(labels, seed):
    repeats = np.random.default_rng(seed).integers(0, 4, len(labels))
    repeats[0] = 1
    found = weights_of(labels, repeats, "balanced")
    assert_allclose(found, np.where(repeats > 0, repeats, 0) * _of_repeated(labels, repeats), rtol=1e-14)


def _of_repeated(labels, repeats):
    """The weights that scikit-learn gives the classes where samples are repeated; 0 where none is left."""
    repeated = np.repeat(labels, repeats).tolist()
    by_class = dict(zip(repeated, compute_sample_weight("balanced", repeated), strict=True))
    return np.array([by_class.get(label, 0.0) for label in labels])


def test_both_kinds_multiply_and_others_weigh_one():
    assert weights_of(["a", "b"], None, None) is None
    assert_array_equal(weights_of(["a", "b", "a"], [1, 2, 3], {"a": 10, "z": 5}), [10, 2, 30])
    assert_array_equal(weights_of([1.0, 2], None, {1: 3}), [3, 1])
    assert list(present(["b", "a", "c", "b"], np.array([0, 1, 2, 0.5]))) == ["a", "c", "b"]
    with pytest.raises(ValueError, match="product of sample_weight and class_weight"):
        weights_of(["a"], [1e80], {"a": 1e80})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("even", "must be None, 'balanced' or a dict"),
        ([1, 2], "must be None, 'balanced' or a dict"),
        (2.0, "must be None, 'balanced' or a dict"),
        (np.ones(3), "must be None, 'balanced' or a dict"),
        ({"a": -1}, r"class_weight\['a'\] must be a finite number of at least 0"),
        ({"a": np.nan}, r"class_weight\['a'\] must be a finite number"),
        ({"a": "much"}, r"class_weight\['a'\] must be a number"),
    ],
)
def test_bad_class_weights(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_class_weight(value, "class_weight")
