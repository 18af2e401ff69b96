import numpy as np
import pytest
from sklearn.linear_model import Ridge

from jcmspl.methods import RPL
from support.linear import ZOOS, assert_map, explicit_data, fit


@ZOOS
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none", "zscore"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_oracle_ridge_of_scikit_learn(zoo, normalisation, alpha):
    X, Y, *_ = explicit_data(zoo, normalisation)
    model = fit(RPL(alpha, feature_normalisation=normalisation, class_normalisation=normalisation), zoo)
    assert_map(model, Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(Y.T, X.T).coef_.T)


@ZOOS
def test_without_a_penalty_it_is_least_squares(zoo):
    X, Y, *_ = explicit_data(zoo)
    assert_map(fit(RPL(0), zoo), (X @ np.linalg.pinv(Y, 1e-10)).T)
