"""Fits to the made-up animals, and what it is to be the same model."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL
from support.animals import make_zoo

ZOO = make_zoo()


def fitted(zoo=ZOO, **parameters):
    return JCMSPL(**parameters).fit(zoo.X, zoo.y, class_vectors=zoo.table)


def assert_same_model(one, two, rtol=1e-8):
    assert_array_equal(one.classes_, two.classes_)
    assert_array_equal(one.unseen_classes_, two.unseen_classes_)
    for name in ("visual_projection_", "semantic_projection_", "objective_", "class_means_"):
        a, b = getattr(one, name), getattr(two, name)
        assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max(), err_msg=name)
