"""Hamming distances of packed codes, and intersections with thresholds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.core.similarities import HammingScorer, Intersections, packed_signs


def signs(values):
    return np.where(values >= 0, 1.0, -1.0)


@pytest.mark.parametrize("n_bits", [1, 8, 63, 64, 65, 300, 1024])
def test_hamming_oracle_dense_products(n_bits):
    rng = np.random.default_rng(n_bits)
    X, Y = rng.standard_normal((30, n_bits)), rng.standard_normal((3000, n_bits))
    X[3], bias = 0.0, rng.integers(-5, 5, 3000) / 4
    expected = (signs(X) @ signs(Y).T - n_bits) / 2 + bias
    scorer = HammingScorer(packed_signs(Y), bias)
    assert_array_equal(scorer.scores(packed_signs(X)), expected)
    indices, best = scorer.top_k(packed_signs(X), 4)
    assert_array_equal(indices, np.argsort(-expected, axis=1, kind="stable")[:, :4])
    assert_array_equal(best, np.take_along_axis(expected, indices, axis=1))


def test_packing():
    words = packed_signs([[0.0, -1.0, 5.0] + [-1.0] * 70])
    assert words.shape == (1, 2)
    assert_array_equal(np.unpackbits(words.view(np.uint8))[:4], [1, 0, 1, 0])
    assert packed_signs(np.empty((0, 5))).shape == (0, 1)


def test_bad_codes():
    codes = packed_signs(np.ones((3, 5)))
    with pytest.raises(ValueError, match="codes of 2 words, but the candidates have 1"):
        HammingScorer(codes).scores(packed_signs(np.ones((3, 65))))
    with pytest.raises(TypeError, match="packed by packed_signs"):
        HammingScorer(codes).scores(np.ones((3, 1)))
    with pytest.raises(ValueError, match="there are no candidates"):
        HammingScorer(codes[:0])
    with pytest.raises(ValueError, match="3 candidates but 2 values"):
        HammingScorer(codes, [1, 2])
    with pytest.raises(ValueError, match="k must be from 1 to 3"):
        HammingScorer(codes).top_k(codes, 4)


@pytest.mark.parametrize("m", [1, 15, 16, 37, 200])
def test_intersections_oracle_of_the_definition(m):
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


def test_bad_intersections():
    kernel = Intersections(np.ones((3, 4)), np.ones(4))
    with pytest.raises(ValueError, match="X has 5 features, but thresholds have 4"):
        kernel.of(np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"factors must be of shape \(2, 3\)"):
        kernel.gradients(np.ones((2, 4)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="4 columns, but there are 3 weights"):
        Intersections(np.ones((3, 4)), np.ones(3))
