import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import orthogonal_procrustes, polar
from sklearn.decomposition import PCA

from jcmspl.methods import Procrustes, TextPrototypes
from support.animals import make_zoo
from support.linear import ZOO, explicit_data, fit

SQUARE = make_zoo(n_seen=12, n_attributes=6, n_features=6)
SHORT = make_zoo(n_seen=12, n_attributes=6, n_features=4)
PLAIN = {"feature_normalisation": "none", "class_normalisation": "none"}


def test_oracle_procrustes_of_scipy():
    X, Y, *_ = explicit_data(SQUARE)
    R = fit(Procrustes(), SQUARE).visual_projection_
    assert_allclose(R.T, orthogonal_procrustes(X.T, Y.T)[0], atol=1e-10)
    assert_allclose(R @ R.T, np.eye(6), atol=1e-10)


def test_oracle_polar_factor_of_scipy_where_there_are_fewer_features():
    X, Y, *_ = explicit_data(SHORT)
    assert_allclose(fit(Procrustes(), SHORT).visual_projection_, polar(Y @ X.T)[0], atol=1e-10)


def test_oracle_pca_of_scikit_learn_where_there_are_more_features():
    zoo = make_zoo(n_seen=12)
    X, Y, *_ = explicit_data(zoo)
    reduction = PCA(len(Y)).fit(X.T).components_
    R = orthogonal_procrustes((reduction @ X).T, Y.T)[0].T
    assert_allclose(fit(Procrustes(), zoo).visual_projection_, R @ reduction, atol=1e-9)


def test_a_rotation_is_recovered():
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    X = np.array([SQUARE.table[name] for name in SQUARE.y]) @ rotation
    model = fit(Procrustes(**PLAIN), SQUARE._replace(X=X))
    assert_allclose(model.visual_projection_, rotation, atol=1e-10)


def test_spaces_that_are_one_stay_so():
    zoo = make_zoo(n_seen=30, n_attributes=6, n_features=6, noise=0, aligned=True)
    model, cosine = fit(Procrustes(**PLAIN), zoo), fit(TextPrototypes(), zoo)
    assert_allclose(model.visual_projection_, np.eye(6), atol=1e-10)
    assert_array_equal(model.predict(zoo.X_new), cosine.predict(zoo.X_new))


def test_directions_without_classes_are_left_out():
    """6 classes in 8 dimensions, centred: 5 directions."""
    R = fit(Procrustes(), ZOO).visual_projection_
    assert_allclose(np.linalg.svd(R)[1], [1] * 5 + [0] * 3, atol=1e-10)


@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same")
def test_samples_that_are_all_the_same():
    zoo = ZOO._replace(X=np.ones_like(ZOO.X))
    assert_allclose(fit(Procrustes(), zoo).decision_function(ZOO.X_new), 0)
