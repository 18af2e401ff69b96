import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge

from jcmspl.methods import RPL, RidgeVS, UntiedAutoencoder
from support.linear import ZOO, ZOOS, explicit_data, fit, new_classes, new_samples


@ZOOS
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_oracle_two_ridge_regressions_of_scikit_learn_and_cosines_of_scipy(zoo, share):
    X, Y, *_ = explicit_data(zoo)
    Z, vectors = new_samples(zoo), new_classes(zoo)
    encoder = Ridge(alpha=0.5, fit_intercept=False, solver="svd").fit(X.T, Y.T).coef_
    decoder = Ridge(alpha=5.0, fit_intercept=False, solver="svd").fit(Y.T, X.T).coef_
    semantic, visual = 1 - cdist(Z @ encoder.T, vectors, "cosine"), 1 - cdist(Z, vectors @ decoder.T, "cosine")
    found = fit(UntiedAutoencoder(0.5, 5.0, visual_share=share), zoo).decision_function(
        zoo.X_new, candidates=zoo.unseen
    )
    assert_allclose(found, (1 - share) * semantic + share * visual, atol=1e-9)


@pytest.mark.parametrize(("share", "peer"), [(0.0, RidgeVS(2.0)), (1.0, RPL(3.0))])
def test_either_alone_is_a_peer(share, peer):
    model = fit(UntiedAutoencoder(2.0, 3.0)).set_params(visual_share=share)
    for candidates in ("seen", "unseen"):
        expected = fit(peer).predict(ZOO.X_new, candidates=candidates)
        assert_array_equal(model.predict(ZOO.X_new, candidates=candidates), expected)


def test_metrics_choose_the_same_class():
    model = fit(UntiedAutoencoder())
    expected = model.predict(ZOO.X_new)
    for metric in ("cosine", "euclidean"):
        assert_array_equal(model.set_params(metric=metric).predict(ZOO.X_new), expected)


def test_precision_is_that_of_the_samples():
    model = fit(UntiedAutoencoder())
    exact, rounded = (model.decision_function(ZOO.X_new.astype(dtype)) for dtype in (np.float64, np.float32))
    assert_allclose(rounded, exact, atol=1e-5)


def test_a_class_vector_that_the_decoder_cancels_gives_no_direction():
    """Rounding errors of its image do not choose names: its score is that of the semantic space alone."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 6)), np.arange(20) % 2
    vectors = {0: [1.0, 0.3, 0.0], 1: [-1.0, -0.3, 0.0], "across": [0.3, -1.0, 0.0]}
    model = UntiedAutoencoder(class_normalisation="sample_l2", visual_share=1.0, progress=False)
    scores = model.fit(X, y, class_vectors=vectors).decision_function(X, candidates=["across", 0])
    assert_array_equal(scores[:, 0], 0)
    assert np.abs(scores[:, 1]).min() > 0
