import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.methods import ESZSL
from support.linear import ZOO, ZOOS, assert_map, explicit_data, fit, refuses


@ZOOS
@pytest.mark.parametrize("negative", [-1.0, 0.0])
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none"])
def test_oracle_the_published_formula(zoo, normalisation, negative):
    X, _, S, codes = explicit_data(zoo, normalisation)
    L = np.where(np.eye(S.shape[1])[codes] == 1, 1.0, negative)
    gamma, lam = 0.3, 0.7
    V = np.linalg.inv(X @ X.T + gamma * np.eye(len(X))) @ X @ L @ S.T @ np.linalg.inv(S @ S.T + lam * np.eye(len(S)))
    parameters = {"feature_normalisation": normalisation, "class_normalisation": normalisation}
    model = fit(ESZSL(gamma, lam, negative_label=negative, **parameters), zoo)
    assert_map(model, V.T)
    assert_allclose(model.decision_function(zoo.X, candidates="seen"), X.T @ V @ S, atol=1e-9)
    assert_array_equal(model.predict(zoo.X, candidates="seen"), np.array(zoo.seen)[(X.T @ V @ S).argmax(axis=1)])


def test_labels_make_no_difference_on_centred_samples():
    published, other = fit(ESZSL()), fit(ESZSL(negative_label=0))
    assert_allclose(published.visual_projection_, 2 * other.visual_projection_, atol=1e-10)
    assert_array_equal(published.predict(ZOO.X_new), other.predict(ZOO.X_new))


def test_the_negative_label_is_below_the_positive_one():
    refuses(ESZSL(negative_label=1), "negative_label must be a number below 1")
