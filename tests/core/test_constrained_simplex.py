"""Quadratic programmes on the simplex."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, nnls

from jcmspl.core.constrained import minimise_on_simplex, mixtures, project_onto_simplex


def by_slsqp(Q, b):
    p = len(Q)
    found = minimize(
        lambda z: z @ Q @ z / 2 - b @ z,
        np.full(p, 1 / p),
        jac=lambda z: Q @ z - b,
        bounds=[(0, 1)] * p,
        constraints={"type": "eq", "fun": lambda z: z.sum() - 1, "jac": lambda z: np.ones(p)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def problem(p, n, ridge, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((p, max(2, p // 2)))
    return scale * (atoms @ atoms.T + ridge * np.eye(p)), scale * rng.standard_normal((n, len(atoms[0]))) @ atoms.T


@pytest.mark.parametrize("ridge", [1e-4, 0.1, 10.0, 1e4])
@pytest.mark.parametrize("p", [2, 7, 20])
def test_oracle_slsqp_of_scipy(p, ridge):
    Q, b = problem(p, 12, ridge)
    z, gaps = minimise_on_simplex(Q, b)
    for one, right in zip(z, b, strict=True):
        expected = by_slsqp(Q, right)
        value, other = (v @ Q @ v / 2 - right @ v for v in (one, expected))
        assert value <= other + 1e-9 * abs(other)
        assert_allclose(one, expected, atol=1e-3)
    assert (gaps <= 1e-12 * np.abs(Q).max() * p + 1e-12 * np.abs(b).max() * p).all()


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_oracle_nnls_of_scipy(ridge):
    """Shares that mix to a point: with K = Q - 1b' - b1' + |x|^2 11' the value is z'Kz / 2, and NNLS finds its ray."""
    rng = np.random.default_rng(1)
    atoms, points = rng.standard_normal((30, 40)), rng.standard_normal((20, 40))
    found = mixtures(points, atoms, ridge)
    for x, z in zip(points, found, strict=True):
        around = atoms - x
        R = np.linalg.cholesky(around @ around.T + ridge * np.eye(30)).T
        ray, _ = nnls(R, np.linalg.solve(R.T, np.ones(30)), maxiter=10_000)
        assert_allclose(z, ray / ray.sum(), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("ridge", [1e-8, 1e-3, 1.0, 100.0])
def test_the_conditions_of_a_minimum_hold(ridge, scale):
    Q, b = problem(60, 200, ridge, seed=3, scale=scale)
    z, gaps = minimise_on_simplex(Q, b)
    assert (z >= 0).all()
    assert_allclose(z.sum(axis=1), 1, rtol=1e-12)
    gradient = z @ Q - b
    least = gradient.min(axis=1)
    bound = 1e-10 * (np.abs(Q).max() + np.abs(b).max())
    assert_allclose(gaps, (z * gradient).sum(axis=1) - least, atol=bound)
    assert (gaps <= bound).all()
    assert (((z > 0) * (gradient - least[:, None])) <= 1e3 * bound).all()


def test_projections():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.standard_normal((40, 9)) * 3, np.zeros((1, 9)), np.eye(9), 1e9 * rng.random((2, 9))])
    found = project_onto_simplex(rows)
    assert_allclose(found, minimise_on_simplex(np.eye(9), rows)[0], atol=1e-6)
    assert_allclose(found[:-2], minimise_on_simplex(np.eye(9), rows[:-2])[0], atol=1e-12)
    assert_allclose(project_onto_simplex(found), found, atol=1e-15)
    assert_allclose(project_onto_simplex([[3.0]]), [[1.0]])


def test_atoms_mix_to_themselves():
    rng = np.random.default_rng(2)
    atoms = rng.standard_normal((12, 30)) + 100  # an offset that mixtures do not see
    assert_allclose(mixtures(atoms, atoms, 0.0), np.eye(12), atol=1e-7)
    assert_allclose(mixtures(atoms, atoms, 1e12), np.full((12, 12), 1 / 12), atol=1e-6)
    same = mixtures(atoms[:1], np.repeat(atoms[:1], 4, axis=0), 0.0)
    assert_allclose(same, [[0.25] * 4])
    twice = mixtures(atoms[:3], np.vstack([atoms, atoms]), 0.0)
    assert_allclose(twice[:, :12] + twice[:, 12:], np.eye(12)[:3], atol=1e-4)


def test_bad_input():
    with pytest.raises(ValueError, match=r"quadratic must be of shape \(p, p\)"):
        minimise_on_simplex(np.eye(3), np.ones((2, 4)))
    with pytest.raises(ValueError, match="linear holds NaN"):
        minimise_on_simplex(np.eye(3), [[0, 1, np.nan]])
    assert minimise_on_simplex(np.eye(3), np.empty((0, 3)))[0].shape == (0, 3)
