import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from jcmspl.methods import RPL, ClassMeanRidge
from support.animals import make_zoo
from support.linear import ZOO, ZOOS, assert_map, class_means, explicit_data, fit


def unbalanced(zoo):
    kept = np.sort(np.concatenate([np.flatnonzero(zoo.y == name)[: 2 + 2 * i] for i, name in enumerate(zoo.seen)]))
    return zoo._replace(X=zoo.X[kept], y=zoo.y[kept])


@ZOOS
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none", "zscore"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_oracle_ridge_of_scikit_learn(zoo, normalisation, alpha):
    zoo = unbalanced(zoo)
    X, _, S, codes = explicit_data(zoo, normalisation)
    model = fit(ClassMeanRidge(alpha, feature_normalisation=normalisation, class_normalisation=normalisation), zoo)
    expected = Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(S.T, class_means(X, codes))
    assert_map(model, expected.coef_.T)


def test_with_as_many_samples_of_each_class_it_is_rpl():
    samples = 15
    model, rpl = fit(ClassMeanRidge(0.7)), fit(RPL(0.7 * samples, metric="euclidean"))
    assert_allclose(model.visual_projection_, rpl.visual_projection_, atol=1e-12)
    assert_array_equal(model.predict(ZOO.X_new), rpl.predict(ZOO.X_new))


def test_a_linear_world_is_recovered():
    zoo = make_zoo(n_seen=12, noise=0)
    model = fit(ClassMeanRidge(0, feature_normalisation="none", class_normalisation="none"), zoo)
    true = [zoo.X_new[zoo.y_new == name][0] for name in zoo.unseen]
    assert_allclose(model.reconstruct_visual(zoo.table.select(zoo.unseen)), true, atol=1e-8)
    assert model.score(zoo.X_new, zoo.y_new) == 1


def test_units_of_samples():
    zoo = ZOO._replace(X=1000 * ZOO.X, X_new=1000 * ZOO.X_new)
    plain = ClassMeanRidge(feature_normalisation="none")
    assert_array_equal(fit(plain, zoo).predict(zoo.X_new), fit(plain).predict(ZOO.X_new))
