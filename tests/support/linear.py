"""What the tests of linear methods share: data normalised by other means, and what it is to be a map."""

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


def fit(model, zoo=ZOO, **options):
    return clone(model).fit(zoo.X, zoo.y, class_vectors=zoo.table, **options)


def assert_map(model, expected):
    assert_allclose(model.visual_projection_, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert_array_equal(model.semantic_projection_, np.eye(len(expected)))


def refuses(model, message):
    with pytest.raises(ValueError, match=message):
        fit(model)
