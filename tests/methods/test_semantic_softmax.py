import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from jcmspl.methods import SemanticSoftmax
from jcmspl.methods.semantic_softmax import _binary_cross_entropy, _cross_entropy
from support.animals import make_zoo
from support.linear import explicit_data, fit

EXACT = {"max_iter": 5000, "tol": 1e-9}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_oracle_logistic_regression_of_scikit_learn():
    """Where each class has a dimension to itself."""
    zoo, penalty = make_zoo(noise=2.0), 0.01
    plain = {"feature_normalisation": "none", "class_normalisation": "none", **EXACT}
    regression = LogisticRegression(C=1 / (2 * penalty * len(zoo.y)), fit_intercept=False, tol=1e-10, max_iter=5000)
    expected = regression.fit(zoo.X, zoo.y).predict_proba(zoo.X)
    fitted = SemanticSoftmax(penalty).set_params(**plain, temperature=1.0).fit(zoo.X, zoo.y)
    assert_allclose(fitted.visual_projection_, regression.coef_, atol=1e-5)
    assert_allclose(fitted.predict_proba(zoo.X), expected, atol=1e-6)


def test_two_classes_are_logistic_regression_along_their_difference():
    zoo, penalty = make_zoo(n_seen=2, noise=2.0), 1e-3
    X, _, S, codes = explicit_data(zoo)
    difference = np.diff(unit(S.T), axis=0)[0]
    strength = difference @ difference / (2 * penalty * len(codes))
    regression = LogisticRegression(C=strength, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X.T, codes)
    T = fit(SemanticSoftmax(penalty, **EXACT), zoo).visual_projection_
    assert_allclose(T, np.outer(difference, regression.coef_[0]) / (difference @ difference), atol=1e-4)


def test_losses_near_zero_keep_their_digits():
    numbers, weights = np.array([0]), np.ones(1)
    loss, slopes = _cross_entropy(np.array([[40.0, 0.0]]), numbers, weights)
    assert loss == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert_allclose(slopes, [[-np.exp(-40.0), np.exp(-40.0)]], rtol=1e-12)
    losses, slopes = _binary_cross_entropy(np.array([40.0, -40.0, 0.0]), np.array([1.0, 0.0, 0.25]))
    assert_allclose(losses, [np.exp(-40.0), np.exp(-40.0), np.log(2.0)], rtol=1e-12)
    assert_allclose(slopes, [-np.exp(-40.0), np.exp(-40.0), 0.25], rtol=1e-12)
