import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from jcmspl.methods import RPL, IdentityRidge, TextPrototypes
from support.animals import make_zoo
from support.linear import assert_map, explicit_data, fit

ZOO = make_zoo(n_seen=8, n_attributes=12, n_features=12, aligned=True)


@pytest.mark.parametrize("normalisation", ["sample_l2", "sample_l2+center", "none"])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_oracle_ridge_of_scikit_learn_on_what_is_left_of_the_samples(normalisation, alpha):
    X, Y, *_ = explicit_data(ZOO, normalisation)
    rest = Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(Y.T, (X - Y).T).coef_
    model = IdentityRidge(alpha, feature_normalisation=normalisation, class_normalisation=normalisation)
    assert_map(fit(model, ZOO), (np.eye(len(X)) + rest).T)


def test_oracle_the_closed_form():
    X, Y, *_ = explicit_data(ZOO, "sample_l2")
    W = (X @ Y.T + 3 * np.eye(12)) @ np.linalg.inv(Y @ Y.T + 3 * np.eye(12))
    assert_map(fit(IdentityRidge(3), ZOO), W.T)


def test_a_large_penalty_leaves_the_class_vectors_as_they_are():
    model, cosine = fit(IdentityRidge(1e12), ZOO), fit(TextPrototypes(), ZOO)
    assert_allclose(model.visual_projection_, np.eye(12), atol=1e-9)
    assert_array_equal(model.predict(ZOO.X_new), cosine.predict(ZOO.X_new))


def test_a_small_penalty_is_ridge_regression():
    zoo = make_zoo(n_seen=30, n_attributes=6, n_features=6, aligned=True)  # as many directions as dimensions
    plain = {"feature_normalisation": "sample_l2", "class_normalisation": "sample_l2"}
    assert_map(fit(IdentityRidge(1e-9), zoo), fit(RPL(1e-9, **plain), zoo).visual_projection_)


def test_without_a_penalty_it_is_the_identity_where_there_are_no_classes():
    _, Y, *_ = explicit_data(ZOO, "sample_l2")
    W = fit(IdentityRidge(0), ZOO).visual_projection_.T
    outside = np.eye(12) - Y @ np.linalg.pinv(Y, 1e-10)
    assert_allclose(W @ outside, outside, atol=1e-9)


def test_other_dimensions_are_refused():
    zoo = make_zoo()
    with pytest.raises(ValueError, match="samples have 20 features and class vectors 8 dimensions"):
        fit(IdentityRidge(), zoo)
    with pytest.raises(ValueError, match="class_kernel='rbf'"):
        fit(IdentityRidge(class_kernel="rbf"), ZOO)
