"""Sparse codes by coordinate descent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso

from jcmspl.core.constrained import sparse_codes


def problem(n=20, r=12, m=9, seed=0):
    rng = np.random.default_rng(seed)
    X, D = rng.standard_normal((n, m)), rng.standard_normal((r, m))
    return X, D, (D @ D.T, X @ D.T, (X**2).sum(axis=1))


@pytest.mark.parametrize("penalty", [0.1, 1.0, 5.0])
def test_oracle_of_scikit_learn(penalty):
    X, D, sums = problem()
    found = sparse_codes(*sums, penalty, tol=1e-13)
    for x, code, value, gap in zip(X, *found, strict=True):
        other = Lasso(penalty / len(x), fit_intercept=False, tol=1e-10, max_iter=100_000).fit(D.T, x).coef_
        expected, own = (((x - a @ D) ** 2).sum() / 2 + penalty * np.abs(a).sum() for a in (other, code))
        assert value == pytest.approx(own, rel=1e-10)
        assert value == pytest.approx(expected, rel=1e-7)
        assert_allclose(code, other, atol=1e-3)
        assert 0 <= gap <= 1e-13 * (x @ x) / 2


def test_gaps_are_bounds():
    *_, sums = problem()
    exact = sparse_codes(*sums, 0.2, tol=1e-13).values
    for sweeps in (1, 2, 4):
        _, values, gaps = sparse_codes(*sums, 0.2, tol=0, max_sweeps=sweeps)
        assert (values - exact <= gaps + 1e-10).all()
        assert (values >= exact - 1e-10).all()


def test_where_codes_are_zero():
    *_, (gram, products, squares) = problem()
    for product, square in zip(products, squares, strict=True):
        least = np.abs(product).max()
        assert not sparse_codes(gram, product[None], [square], least).codes.any()
        assert sparse_codes(gram, product[None], [square], 0.99 * least).codes.any()


def test_without_a_penalty_it_is_least_squares():
    X, D, sums = problem(r=5)
    codes, values, _ = sparse_codes(*sums, 0)
    assert_allclose(codes, X @ np.linalg.pinv(D), atol=1e-8)
    assert_allclose(values, ((X - codes @ D) ** 2).sum(axis=1) / 2, atol=1e-8)


def test_atoms_and_samples_of_zeros():
    X, D, _ = problem()
    D[3], X[2] = 0, 0
    codes = sparse_codes(D @ D.T, X @ D.T, (X**2).sum(axis=1), 0.1).codes
    assert not codes[:, 3].any()
    assert not codes[2].any()


def test_bad_input():
    *_, (gram, products, squares) = problem()
    with pytest.raises(ValueError, match=r"gram must be of shape \(r, r\)"):
        sparse_codes(gram[1:], products, squares, 1)
    with pytest.raises(ValueError, match="penalty must be a finite number of at least 0"):
        sparse_codes(gram, products, squares, -1)
    with pytest.raises(ValueError, match="products holds NaN"):
        sparse_codes(gram, np.full_like(products, np.nan), squares, 1)
