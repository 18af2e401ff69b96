import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_sylvester

from jcmspl.methods import SAE
from support.animals import make_zoo
from support.linear import ZOOS, assert_map, explicit_data, fit


@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e3])
def test_oracle_sylvester_solver_of_scipy(weight):
    zoo = make_zoo(n_seen=12)  # neither coefficient is singular
    X, Y, *_ = explicit_data(zoo, "none")
    model = fit(SAE(weight, feature_normalisation="none", class_normalisation="none"), zoo)
    assert_map(model, solve_sylvester(Y @ Y.T, weight * X @ X.T, (1 + weight) * Y @ X.T))


@ZOOS
@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e3])
def test_where_the_equation_is_singular(zoo, weight):
    """The gradient of |X - W'Y|^2 + weight |WX - Y|^2 vanishes, and W has no part in directions without data."""
    X, Y, *_ = explicit_data(zoo)
    W = fit(SAE(weight), zoo).visual_projection_
    gradient = Y @ (W.T @ Y - X).T + weight * (W @ X - Y) @ X.T
    assert np.abs(gradient).max() < 1e-10 * np.abs(Y @ X.T).max() * (1 + weight)
    assert_allclose(W @ X @ np.linalg.pinv(X, 1e-10), W, atol=1e-8 * np.abs(W).max())
    assert_allclose(Y @ np.linalg.pinv(Y, 1e-10) @ W, W, atol=1e-8 * np.abs(W).max())
