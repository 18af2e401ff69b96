"""The cosine of samples and class vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from jcmspl import JCMSPL
from jcmspl.methods import TextPrototypes
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, n_attributes=12, n_features=12, aligned=True)


def test_oracle_of_cosines():
    model = TextPrototypes().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    names = [*ZOO.unseen, ZOO.seen[2]]
    expected = 1 - cdist(ZOO.X_new, ZOO.table.select(names).vectors, "cosine")
    assert_allclose(model.decision_function(ZOO.X_new, candidates=names), expected, atol=1e-12)


def test_nothing_is_learnt_from_samples():
    one = TextPrototypes().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    two = TextPrototypes().fit(ZOO.X[:40] + 5, ZOO.y[:40], class_vectors=ZOO.table)
    assert_array_equal(one.decision_function(ZOO.X_new), two.decision_function(ZOO.X_new)[:, order(one, two)])


def order(one, two):
    labels = list(two.class_table_)
    return [labels.index(label) for label in one.class_table_]


def test_it_is_all_that_aligned_can_be():
    model = TextPrototypes().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    learnt = JCMSPL(space="visual", cosine_share=1).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    for candidates in ("seen", "unseen"):
        expected = model.predict(ZOO.X_new, candidates=candidates)
        assert_array_equal(learnt.predict(ZOO.X_new, candidates=candidates), expected)


def test_without_class_vectors_the_means_of_classes_stand_for_them():
    model = TextPrototypes().fit(ZOO.X, ZOO.y)
    unit = ZOO.X / np.linalg.norm(ZOO.X, axis=1, keepdims=True)
    means = np.array([unit[ZOO.y == name].mean(axis=0) for name in ZOO.seen])
    assert_allclose(model.decision_function(ZOO.X_new), 1 - cdist(ZOO.X_new, means, "cosine"), atol=1e-12)


def test_other_dimensions_are_refused():
    zoo = make_zoo()
    with pytest.raises(ValueError, match="samples have 20 features and class vectors 8 dimensions"):
        TextPrototypes().fit(zoo.X, zoo.y, class_vectors=zoo.table)
    with pytest.raises(ValueError, match="class_kernel='rbf'"):
        TextPrototypes(class_kernel="rbf").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
