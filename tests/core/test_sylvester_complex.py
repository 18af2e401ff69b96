"""Sylvester equations in complex numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jcmspl.core import solve_sylvester, sylvester_residual
from jcmspl.exceptions import NearlySingularWarning, SingularEquationError
from support.sylvester import kronecker_solve


def complex_equation(rng, k, m, dtype=np.complex128):
    draw = [rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((k, k), (m, m), (k, m))]
    return tuple(z.astype(dtype) for z in draw)


@given(
    k=st.integers(1, 8), m=st.integers(1, 8), seed=st.integers(0, 999), real=st.sampled_from(["", "a", "b", "q", "ab"])
)
def test_complex_equals_kronecker_solve(k, m, seed, real):
    rng = np.random.default_rng(seed)
    parts = dict(zip("abq", complex_equation(rng, k, m), strict=True))
    a, b, q = (z.real if name in real else z for name, z in parts.items())
    a = a + 4 * np.sqrt(k + m) * np.eye(k)
    x = solve_sylvester(a, b, q)
    assert x.dtype == np.complex128
    assert_allclose(x, kronecker_solve(a, b, q), rtol=1e-9, atol=1e-11)
    assert sylvester_residual(a, b, q, x) < 1e-14


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
def test_complex_at_extreme_scales(scale):
    a, b, q = complex_equation(np.random.default_rng(0), 5, 4)
    x = solve_sylvester(a * scale, b * scale, q * scale)
    assert_allclose(x, solve_sylvester(a, b, q), rtol=1e-9)
    assert sylvester_residual(a * scale, b * scale, q * scale, x) < 1e-14


def test_complex_single_precision_stays_single():
    equation = complex_equation(np.random.default_rng(0), 6, 5, np.complex64)
    x = solve_sylvester(*equation)
    assert x.dtype == np.complex64
    assert sylvester_residual(*equation, x) < 1e-6
    assert solve_sylvester(*equation[:2], equation[2].real).dtype == np.complex64
    assert solve_sylvester(equation[0], equation[1].real.astype(np.float64), equation[2]).dtype == np.complex128


def test_complex_singular_and_nearly_singular():
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)))
    a = basis @ np.diag([1 + 2j, 3, 4j]) @ basis.conj().T
    with pytest.raises(SingularEquationError) as error:
        solve_sylvester(a, np.diag([-1 - 2j, 5]), np.ones((3, 2)))
    assert_allclose(error.value.eigenvalues, (1 + 2j, -1 - 2j), atol=1e-12)
    with pytest.warns(NearlySingularWarning, match="separation 1"):
        solve_sylvester(a, np.diag([-1 - 2j + 1e-10, 5]), np.ones((3, 2)))
