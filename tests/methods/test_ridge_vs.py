import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from jcmspl import ClassTable
from jcmspl.methods import FPL, RidgeVS
from support.linear import ZOO, ZOOS, assert_map, explicit_data, fit


@ZOOS
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none", "zscore"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_oracle_ridge_of_scikit_learn(zoo, normalisation, alpha):
    X, Y, *_ = explicit_data(zoo, normalisation)
    model = fit(RidgeVS(alpha, feature_normalisation=normalisation, class_normalisation=normalisation), zoo)
    assert_map(model, Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(X.T, Y.T).coef_)


@ZOOS
def test_without_a_penalty_it_is_least_squares(zoo):
    X, Y, *_ = explicit_data(zoo)
    assert_map(fit(RidgeVS(0), zoo), Y @ np.linalg.pinv(X, 1e-10))
    small, none = fit(RidgeVS(1e-9), zoo), fit(FPL(), zoo)
    assert_allclose(small.visual_projection_, none.visual_projection_, rtol=1e-4, atol=1e-5)


def test_class_vectors_under_other_names_are_the_same():
    table = ClassTable([f"no. {i}" for i in range(9)], ZOO.table.vectors)
    names = dict(zip(ZOO.table, table, strict=True))
    model = RidgeVS().fit(ZOO.X, [names[label] for label in ZOO.y], class_vectors=table)
    # the classes are now sorted otherwise, and the map is a sum over them
    assert_allclose(model.visual_projection_, fit(RidgeVS()).visual_projection_, atol=1e-12)
