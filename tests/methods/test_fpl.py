import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.methods import FPL, RidgeVS
from support.linear import ZOOS, assert_map, explicit_data, fit


@ZOOS
def test_oracle_least_squares_of_numpy(zoo):
    X, Y, *_ = explicit_data(zoo)
    assert_map(fit(FPL(), zoo), np.linalg.lstsq(X.T, Y.T, rcond=None)[0].T)


def a_world_of_shared_attributes(seed):
    """Classes from the tenth on are unseen; of centred samples a linear model predicts nothing for the last two.

    Seen classes share the last attribute, which is all that class 12 has, and have one of the two attributes before it;
    class 11 has both of these and nothing else.
    """
    rng = np.random.default_rng(seed)
    V = rng.random((13, 12))
    V[:, 9] = rng.integers(0, 2, 13)
    V[:, 10] = 1 - V[:, 9]
    V[:10, 11] = 1
    V[11:] = 0
    V[11, 9:11] = V[12, 11] = 1
    M = rng.standard_normal((12, 280))
    y = np.arange(300) % 10
    X = V[y] @ M + 0.5 * rng.standard_normal((300, 280))
    return X, y, V, V[np.arange(60) % 13] @ M + 0.5 * rng.standard_normal((60, 280)), rng.permutation(300)


@pytest.mark.parametrize("method", [FPL, RidgeVS])
@pytest.mark.parametrize("space", ["visual", "concept"])
def test_a_class_that_is_predicted_nowhere_gets_no_direction_of_rounding_errors(method, space):
    for seed in range(3):
        X, y, V, new, order = a_world_of_shared_attributes(seed)
        model = method(class_normalisation="none", space=space, progress=False)
        scores, again = (
            model.fit(X[rows], y[rows], class_vectors=V).decision_function(new, candidates=[10, 11, 12])
            for rows in (np.arange(300), order)
        )
        assert_allclose(again, scores, atol=1e-9 * np.abs(scores).max())
        if space == "visual":
            assert_array_equal(scores[:, 1:], 0)


@pytest.mark.parametrize("normalisation", ["center", "zscore", "center+whiten"])
def test_what_centring_leaves_of_dependent_features_is_no_direction(normalisation):
    """Far from the origin, rounding errors of sums exceed those of a Gram matrix of centred samples."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        vectors, y = rng.standard_normal((6, 5)), np.arange(24) % 4
        X = np.hstack([rng.standard_normal((24, 3)) + 30, np.zeros((24, 1))]) @ rng.standard_normal((4, 4))
        model = FPL(feature_normalisation=normalisation, whitening_shrinkage=1e-3, space="visual", progress=False)
        order = rng.permutation(24)
        scores, again = (
            model.fit(X[rows], y[rows], class_vectors=vectors).decision_function(X, candidates="all")
            for rows in (np.arange(24), order)
        )
        assert_allclose(again, scores, atol=1e-6 * np.abs(scores).max())
