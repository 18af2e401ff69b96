"""Weighted intersections and their gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.core.intersections import Intersections


@pytest.mark.parametrize("m", [1, 15, 16, 37, 200])
def test_oracle_of_the_definition(m):
    rng = np.random.default_rng(m)
    X, V, w, G = rng.random((90, m)), rng.random((7, m)), rng.standard_normal(m), rng.standard_normal((90, 7))
    G[rng.random(G.shape) < 0.3] = 0
    X[4], X[5] = V[2], 0
    kernel = Intersections(V, w)
    least = np.minimum(X[:, None], V)
    assert_allclose(kernel.of(X), least @ w, atol=1e-12)
    of_weights, of_thresholds = kernel.gradients(X, G)
    assert_allclose(of_weights, np.einsum("ij,ijk->k", G, least), atol=1e-11)
    assert_allclose(of_thresholds, w * np.einsum("ij,ijk->jk", G, X[:, None] > V), atol=1e-11)


def test_bad_input():
    kernel = Intersections(np.ones((3, 4)), np.ones(4))
    with pytest.raises(ValueError, match="X has 5 features, but thresholds have 4"):
        kernel.of(np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"factors must be of shape \(2, 3\)"):
        kernel.gradients(np.ones((2, 4)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="4 columns, but there are 3 weights"):
        Intersections(np.ones((3, 4)), np.ones(3))
