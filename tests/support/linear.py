"""Helpers for tests of linear methods: data normalised by other means, and the properties of a map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from support.animals import make_zoo
from support.normalised import explicit

ZOO = make_zoo()
# 12 attributes of 6 classes, 40 features: more unknowns than equations on both sides
WIDE = make_zoo(n_attributes=12, n_features=40, per_class=5)
ZOOS = pytest.mark.parametrize("zoo", [ZOO, WIDE], ids=["narrow", "wide"])


def explicit_data(zoo, normalisation="sample_l2+center"):
    """X (m x n), Y (d x n), S (d x c) and the class numbers, normalised by other means."""
    codes = np.array([zoo.seen.index(label) for label in zoo.y])
    vectors = explicit(normalisation, zoo.table.select(zoo.seen).vectors)
    return explicit(normalisation, zoo.X).T, vectors[codes].T, vectors.T, codes


def class_means(X, codes):
    """The mean sample of each class, a row each."""
    return np.array([X[:, codes == number].mean(axis=1) for number in range(codes.max() + 1)])


def new_samples(zoo):
    """The samples to be recognised, a row each, normalised as the training data is by default."""
    return explicit("sample_l2", zoo.X_new) - explicit("sample_l2", zoo.X).mean(axis=0)


def new_classes(zoo):
    """The vectors of unseen classes, a row each, normalised as those of seen classes are by default."""
    seen, unseen = (explicit("sample_l2", zoo.table.select(names).vectors) for names in (zoo.seen, zoo.unseen))
    return unseen - seen.mean(axis=0)


def assert_same_but_for_a_shared_term(found, expected, rtol=1e-9):
    """Scores are the same but for a term that all candidates of a sample share."""
    found, expected = (rows - rows.mean(axis=1, keepdims=True) for rows in (found, expected))
    assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())


def fit(model, zoo=ZOO, **options):
    return clone(model).fit(zoo.X, zoo.y, class_vectors=zoo.table, **options)


def assert_map(model, expected):
    assert_allclose(model.visual_projection_, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert_array_equal(model.semantic_projection_, np.eye(len(expected)))


def refuses(model, message):
    with pytest.raises(ValueError, match=message):
        fit(model)
