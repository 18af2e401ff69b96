"""Least squares over vectors that are of length one at most."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from jcmspl.core.constrained import BLOCK, descend_within_ball


def problem(k=5, m=7, n=30, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    A, L = rng.standard_normal((m, n)), scale * rng.standard_normal((k, n))
    return rng.standard_normal((k, m)), A, L


def one_after_the_other(rows, A, L):
    """With residuals in full, from samples."""
    rows = rows.copy()
    for j, of_row in enumerate(L):
        rest = A - rows.T @ L + np.outer(rows[j], of_row)
        best = rest @ of_row / (of_row @ of_row)
        rows[j] = best / max(1, np.linalg.norm(best))
    return rows


def misfit(rows, A, L):
    return np.sum((A - rows.T @ L) ** 2)


@given(
    k=st.sampled_from([1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3]),
    m=st.integers(1, 20),
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_oracle_on_samples(k, m, n, seed, scale):
    rows, A, L = problem(k, m, n, seed, scale)
    found = descend_within_ball(rows, L @ A.T, L @ L.T)
    assert_allclose(found, one_after_the_other(rows, A, L), atol=1e-8)


def test_rounds_lead_to_the_minimum():
    rows, A, L = problem(scale=0.3)
    values = [np.inf]
    for _ in range(500):
        rows = descend_within_ball(rows, L @ A.T, L @ L.T)
        values.append(misfit(rows, A, L))
    assert (np.diff(values[1:]) <= 1e-12 * values[1]).all()
    within = {"type": "ineq", "fun": lambda flat: 1 - np.sum(flat.reshape(rows.shape) ** 2, axis=1)}
    oracle = minimize(lambda flat: misfit(flat.reshape(rows.shape), A, L), np.zeros(rows.size), constraints=within)
    assert oracle.success
    assert values[-1] == pytest.approx(oracle.fun, rel=1e-6)
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths.max() <= 1 + 1e-12
    assert (lengths > 1 - 1e-12).any()  # else the ball was not tested


def test_rows_without_codes_stay():
    rows, A, L = problem()
    L[2] = 0
    found = descend_within_ball(rows, L @ A.T, L @ L.T)
    assert_array_equal(found[2], rows[2])
    assert not np.allclose(found[3], rows[3])


def test_what_is_given_is_not_changed():
    rows, A, L = problem()
    given = rows, L @ A.T, L @ L.T
    copies = [one.copy() for one in given]
    for one in given:
        one.flags.writeable = False
    first = descend_within_ball(*given)
    assert_array_equal(first, descend_within_ball(*(np.asfortranarray(one) for one in given)))
    for one, copy in zip(given, copies, strict=True):
        assert_array_equal(one, copy)


def test_nothing_at_all():
    assert descend_within_ball(np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 0))).shape == (0, 3)
    assert descend_within_ball(np.empty((2, 0)), np.empty((2, 0)), np.eye(2)).shape == (2, 0)


@pytest.mark.parametrize(
    ("products", "gram"), [(1e200, 1.0), (1.0, 1e-320), (1e308, 1e-10), (5e-324, 5e-324), (1e-308, 1e-310)]
)
def test_numbers_out_of_range(products, gram):
    rows = descend_within_ball(np.zeros((1, 2)), np.full((1, 2), products), [[gram]])
    assert_allclose(rows, np.sqrt([[0.5, 0.5]]), rtol=1e-15)


def test_bad_input():
    rows, A, L = problem()
    with pytest.raises(ValueError, match=r"rows and products must be of shape \(k, m\) and gram \(k, k\)"):
        descend_within_ball(rows, A, L @ L.T)
    with pytest.raises(ValueError, match="gram holds NaN"):
        descend_within_ball(rows, L @ A.T, np.full((5, 5), np.nan))
