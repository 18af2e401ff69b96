import importlib.util
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jcmspl import _core
from jcmspl.core import solve_sylvester, sylvester_residual
from jcmspl.exceptions import NearlySingularWarning, SingularEquationError
from support.sylvester import kronecker_solve


def general(rng, n):
    return rng.standard_normal((n, n)) + 2 * np.sqrt(n) * np.eye(n)


def symmetric(rng, n):
    a = rng.standard_normal((n, n))
    return a @ a.T + np.eye(n)


def upper(rng, n):
    return np.triu(rng.standard_normal((n, n)), 1) / n + np.diag(1 + rng.random(n))


def lower(rng, n):
    return upper(rng, n).T


def diagonal(rng, n):
    return np.diag(1 + rng.random(n))


def schur_form(rng, n):
    return scipy.linalg.schur(general(rng, n))[0]


def transposed_schur_form(rng, n):
    return schur_form(rng, n).T


def defective(rng, n):
    """One Jordan block, hidden by an orthogonal change of basis."""
    basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return basis @ (2 * np.eye(n) + np.eye(n, k=1)) @ basis.T


def complex_pairs(rng, n):
    """Eigenvalues 1 +- i t only (and 1): 2 x 2 blocks all over the Schur form."""
    a = rng.standard_normal((n, n))
    return (a - a.T) / np.sqrt(n) + np.eye(n)


def badly_scaled(rng, n):
    scale = 10.0 ** rng.uniform(-3, 3, n)
    return scale[:, None] * (rng.standard_normal((n, n)) / n + 2 * np.eye(n)) / scale


KINDS = [
    general,
    symmetric,
    upper,
    lower,
    diagonal,
    schur_form,
    transposed_schur_form,
    defective,
    complex_pairs,
    badly_scaled,
]
SHAPES = [(1, 1), (2, 2), (3, 2), (1, 9), (9, 1), (7, 12), (12, 7), (4, 30), (30, 4), (26, 25)]


@pytest.mark.parametrize("kind_b", KINDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind_a", KINDS, ids=lambda f: f.__name__)
def test_equals_kronecker_solve(kind_a, kind_b):
    for shape in SHAPES:
        rng = np.random.default_rng(sum(shape))
        a, b, q = kind_a(rng, shape[0]), kind_b(rng, shape[1]), rng.standard_normal(shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearlySingularWarning)  # some badly scaled ones are
            x = solve_sylvester(a, b, q)
        expected = kronecker_solve(a, b, q)
        operator = np.kron(np.eye(shape[1]), a) + np.kron(b.T, np.eye(shape[0]))
        tolerance = 50 * np.finfo(float).eps * np.linalg.cond(operator)
        assert np.linalg.norm(x - expected) <= tolerance * np.linalg.norm(expected), shape


@pytest.mark.parametrize("kind_b", KINDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind_a", KINDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_residual_of_larger_equations(kind_a, kind_b, dtype):
    for shape in [(150, 130), (8, 160), (160, 8)]:
        rng = np.random.default_rng(1)
        a, b = kind_a(rng, shape[0]).astype(dtype), kind_b(rng, shape[1]).astype(dtype)
        q = rng.standard_normal(shape).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearlySingularWarning)  # large Jordan blocks are, in float32
            x = solve_sylvester(a, b, q)
        assert x.dtype == dtype
        assert sylvester_residual(a, b, q, x) < 20 * np.finfo(dtype).eps


def residual_by_definition(a, b, q, x):
    norm = np.linalg.norm
    return norm(q - a @ x - x @ b) / ((norm(a) + norm(b)) * norm(x) + norm(q))


def test_residual_function():
    rng = np.random.default_rng(0)
    a, b, q, x = (rng.standard_normal(s) for s in [(5, 5), (3, 3), (5, 3), (5, 3)])
    assert sylvester_residual(a, b, q, x) == pytest.approx(residual_by_definition(a, b, q, x))
    assert sylvester_residual(np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)), np.ones((2, 2))) == 0


@given(
    k=st.integers(1, 40),
    m=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
)
def test_backward_stable_for_any_shape(k, m, seed, kinds):
    rng = np.random.default_rng(seed)
    a, b, q = kinds[0](rng, k), kinds[1](rng, m), rng.standard_normal((k, m))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NearlySingularWarning)
        x = solve_sylvester(a, b, q)
    assert residual_by_definition(a, b, q, x) < 1e-13


def graded(kind):
    """A triangular matrix, or one in Schur form, with a first eigenvalue of 1e-30 in a block of its own."""

    def make(rng, n):
        a = np.zeros((n, n))
        a[0, 0] = 1e-30
        a[1:, 1:] = kind(rng, n - 1)
        return a

    make.__name__ = kind.__name__
    return make


TRIANGULAR = [graded(kind) for kind in (upper, lower, diagonal, schur_form, transposed_schur_form)]


@pytest.mark.parametrize("kind_b", TRIANGULAR, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind_a", TRIANGULAR, ids=lambda f: f.__name__)
def test_triangular_forms_are_used_as_they_are(kind_a, kind_b):
    # beside eigenvalues of 1, any reduction would drown 1e-30 in rounding errors and find the equation singular
    rng = np.random.default_rng(0)
    a, b, q = kind_a(rng, 6), kind_b(rng, 5), np.ones((6, 5))
    x = solve_sylvester(a, b, q)
    assert x[0, 0] == pytest.approx(0.5e30, rel=1e-14)
    assert_allclose(x[1:, 1:], kronecker_solve(a[1:, 1:], b[1:, 1:], q[1:, 1:]), rtol=1e-10)


def test_symmetric_coefficients_are_diagonalised():
    # The eigenvalues -1 of a and 1 + 1e-14 of b nearly cancel. Those of a symmetric matrix are accurate enough to see
    # that they do not quite; for a general one they add up to zero.
    rng = np.random.default_rng(0)
    v = rng.standard_normal(40)
    v /= np.linalg.norm(v)
    a, b = np.eye(40) - 2 * np.outer(v, v), np.diag([1 + 1e-14, *[2.0] * 39])
    a = (a + a.T) / 2
    with pytest.warns(NearlySingularWarning):
        solve_sylvester(a, b, np.ones((40, 40)))
    a[0, 1] = np.nextafter(a[0, 1], 9)
    with pytest.raises(SingularEquationError):
        solve_sylvester(a, b, np.ones((40, 40)))


def test_results_of_the_core():
    results = _core.solve_sylvester(np.eye(2), np.eye(3), np.ones((2, 3)))
    assert_allclose(results.x, np.full((2, 3), 0.5))
    assert results.nearly_singular is False
    assert results.singular_pair is None
    singular = _core.solve_sylvester(np.diag([1.0, 3.0]), -np.eye(3), np.ones((2, 3)))
    assert singular.singular_pair == (1, -1)
    assert singular.x is None


def test_schur_form_of_wrong_kind_is_not_taken_as_one():
    # a 2 x 2 block with unequal diagonal elements, or with real eigenvalues, is no Schur form
    rng = np.random.default_rng(0)
    for block in ([[1.0, 2.0], [-3.0, 1.5]], [[1.0, 2.0], [3.0, 1.0]]):
        a = upper(rng, 5)
        a[1:3, 1:3] = block
        b, q = upper(rng, 4), rng.standard_normal((5, 4))
        assert_allclose(solve_sylvester(a, b, q), kronecker_solve(a, b, q), rtol=1e-11, atol=1e-12)


def test_any_memory_layout_and_dtype():
    rng = np.random.default_rng(0)
    a, b, q = rng.integers(1, 9, (4, 4)), rng.integers(1, 9, (6, 6)), rng.integers(1, 9, (4, 6))
    expected = kronecker_solve(a.astype(float), b.astype(float), q.astype(float))
    assert_allclose(solve_sylvester(a, b, q), expected, rtol=1e-10)
    for change in (np.asfortranarray, lambda z: np.repeat(np.repeat(z, 2, 0), 2, 1)[::2, ::2], np.ndarray.tolist):
        assert_allclose(solve_sylvester(*(change(z.astype(float)) for z in (a, b, q))), expected, rtol=1e-10)
    frozen = a.astype(">f8")
    frozen.flags.writeable = False
    assert_allclose(solve_sylvester(frozen, b, q), expected, rtol=1e-10)
    assert frozen[0, 0] == a[0, 0]


def test_float32_stays_float32_only_if_all_are():
    one = np.ones((1, 1), np.float32)
    assert solve_sylvester(one, one, one).dtype == np.float32
    assert solve_sylvester(one, one, np.ones((1, 1))).dtype == np.float64
    assert solve_sylvester(*(np.ones((1, 1), np.float16) for _ in range(3))).dtype == np.float32  # as SciPy's


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty(shape):
    assert solve_sylvester(np.eye(shape[0]), np.eye(shape[1]), np.zeros(shape)).shape == shape


def test_zero_right_hand_side():
    rng = np.random.default_rng(0)
    assert not solve_sylvester(general(rng, 5), general(rng, 4), np.zeros((5, 4))).any()


@pytest.mark.parametrize(
    ("a", "b", "pair"),
    [
        (np.diag([1.0, 2.0]), np.diag([5.0, -2.0]), (2, -2)),
        (np.diag([1.0, 2.0]), np.array([[-1.0, 3.0], [0.0, 7.0]]), (1, -1)),
        (np.zeros((2, 2)), np.zeros((3, 3)), (0, 0)),
        (np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[-3.0]]), (3, -3)),
        (np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[0.0, 1.0], [-1.0, 0.0]]), (1j, -1j)),
    ],
)
def test_singular_equation_names_the_eigenvalues(a, b, pair):
    for swap in (False, True):
        left, right = (b, a) if swap else (a, b)
        with pytest.raises(SingularEquationError, match="eigenvalue") as caught:
            solve_sylvester(left, right, np.ones((len(left), len(right))))
        of_a, of_b = caught.value.eigenvalues
        assert of_a == pytest.approx(-of_b)
        assert abs(abs(of_a) - abs(pair[0])) < 1e-12
        assert min(abs(np.linalg.eigvals(left) - of_a)) < 1e-12
        assert min(abs(np.linalg.eigvals(right) - of_b)) < 1e-12


@pytest.mark.parametrize("shape", [(5, 5), (30, 70), (70, 30), (1, 40)])
def test_hidden_singular_equation(shape):
    # eigenvalues 1..k and -k..m: the pair is only seen after both are known to working precision
    rng = np.random.default_rng(3)

    def with_eigenvalues(values):
        basis, _ = np.linalg.qr(rng.standard_normal((len(values), len(values))))
        return basis @ (np.diag(values) + np.triu(rng.standard_normal((len(values),) * 2), 1) / len(values)) @ basis.T

    a = with_eigenvalues(np.arange(1.0, shape[0] + 1))
    b = with_eigenvalues(np.append(np.arange(1.0, shape[1]), -shape[0]))
    with pytest.raises(np.linalg.LinAlgError, match="singular") as caught:
        solve_sylvester(a, b, rng.standard_normal(shape))
    assert caught.value.eigenvalues == pytest.approx((shape[0], -shape[0]), abs=1e-6)


@pytest.mark.parametrize("kind", [general, upper, symmetric, complex_pairs, diagonal])
def test_nearly_singular_equation_warns_with_the_separation(kind):
    rng = np.random.default_rng(0)
    a, gap = kind(rng, 6), 1e-11
    b = gap * np.eye(6) - a.T  # has the eigenvalues of -a, moved by the gap
    with pytest.warns(NearlySingularWarning, match="estimated separation") as caught:
        solve_sylvester(a, b, rng.standard_normal((6, 6)))
    operator = np.kron(np.eye(6), a) + np.kron(b.T, np.eye(6))
    separation = np.linalg.svd(operator, compute_uv=False)[-1]
    estimate = float(str(caught[0].message).split("separation ")[1].split(")")[0])
    assert 0.3 * separation < estimate < 10 * separation


def test_singular_and_nearly_singular_whatever_the_right_hand_side():
    # a right-hand side that has a solution does not make the equation less singular
    a, x = np.array([[1.0, 2, 0], [3, 4, 5], [0, 6, 7]]), np.arange(9.0).reshape(3, 3)
    for q in (a @ x - x @ a.T, np.zeros((3, 3))):
        with pytest.raises(SingularEquationError):
            solve_sylvester(a, -a.T, q)
        b = 1e-12 * np.eye(3) - a.T
        with pytest.warns(NearlySingularWarning):
            solve_sylvester(a, b, a @ x + x @ b)


@pytest.mark.parametrize("top", [1e8, 1e17, 1e20, 1e100])
def test_graded_triangular_input_is_solved_element_by_element(top):
    a, b = np.array([[top, 1.0], [0, 1]]), np.array([[1.0]])
    assert_allclose(solve_sylvester(a, b, [[top], [1.0]]), [[(top - 0.5) / (top + 1)], [0.5]], rtol=1e-12)


def test_singular_complex_pair_in_schur_form():
    a, b = np.array([[0.0, 2], [-3, 0]]), np.array([[0.0, 6], [-1, 0]])  # +-i sqrt(6) both
    with pytest.raises(SingularEquationError):
        solve_sylvester(a, b, np.ones((2, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [general, symmetric, upper])
def test_extreme_scales(kind, dtype):
    rng = np.random.default_rng(0)
    a, b, q = kind(rng, 7), kind(rng, 5), rng.standard_normal((7, 5))
    expected = solve_sylvester(a, b, q)
    limit = 1e30 if dtype is np.float32 else 1e250
    for scale in (1 / limit, limit):
        x = solve_sylvester(*(np.asarray(z * scale, dtype) for z in (a, b, q)))
        assert_allclose(x, expected, rtol=0, atol=1e4 * np.finfo(dtype).eps * np.abs(expected).max())
        with pytest.raises(SingularEquationError):
            solve_sylvester(np.asarray(a * scale, dtype), np.asarray(-a.T * scale, dtype), np.ones((7, 7), dtype))


def test_overflowing_solution_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="overflows"):
        solve_sylvester(np.full((2, 2), 1e-200) + np.eye(2) * 1e-199, np.eye(2) * 1e-200, np.full((2, 2), 1e150))


def test_no_warning_for_equations_that_are_only_large_or_small():
    rng = np.random.default_rng(0)
    a, b, q = general(rng, 8), general(rng, 6), rng.standard_normal((8, 6))
    for scale in (1e-150, 1e-8, 1.0, 1e8, 1e150):
        assert_allclose(solve_sylvester(scale * a, scale * b, scale * q), solve_sylvester(a, b, q), rtol=1e-9)
    tiny = np.diag([1e-20, 1.0])  # exact as it stands: nothing to warn of
    assert_allclose(solve_sylvester(tiny, tiny, np.ones((2, 2))), 1 / (tiny.diagonal()[:, None] + tiny.diagonal()))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones((2, 3)), np.eye(2), np.ones((2, 2))), ValueError, "a must be square"),
        ((np.eye(2), np.eye(3), np.ones((3, 2))), ValueError, r"q must have the shape \(2, 3\)"),
        ((np.ones(2), np.eye(2), np.ones((2, 2))), ValueError, "a must have 2 dimension"),
        ((np.eye(2), np.array([[1, np.nan], [0, 1]]), np.ones((2, 2))), ValueError, "b holds NaN or infinity.*0, 1"),
        ((np.eye(2), np.eye(2), np.array([[1, np.inf], [0, 1]])), ValueError, "q holds NaN or infinity"),
        ((np.eye(2) * 1j, np.eye(2) * np.nan, np.eye(2)), ValueError, "b holds NaN or infinity"),
        ((np.array([["x"]]), np.eye(1), np.eye(1)), TypeError, "real numbers"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        solve_sylvester(*arguments)


OURS_FOR_SCIPYS = """
import scipy.linalg
import jcmspl
scipy.linalg.solve_sylvester = jcmspl.core.solve_sylvester

def pytest_collection_modifyitems(items):
    assert items[0].module.solve_sylvester is jcmspl.core.solve_sylvester
"""


def test_scipys_own_tests_of_its_solver_pass(tmp_path):
    if importlib.util.find_spec("scipy.linalg.tests") is None:
        pytest.skip("this SciPy ships without its tests")
    (tmp_path / "ours.py").write_text(OURS_FOR_SCIPYS)
    tests = ["--pyargs", "scipy.linalg.tests.test_solvers", "-k", "TestSolveSylvester"]
    search_path = os.pathsep.join([str(tmp_path), *sys.path])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "ours", "-p", "no:cacheprovider", *tests],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": search_path},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\b\d+ passed", run.stdout)


def test_residual_at_the_ends_of_the_range():
    for scale in (5e-324, 2.0**-1030, 2.0**-700, 2.0**700, 2.0**1000):
        a, b, x = np.diag([1.0, 3.0]) * scale, np.array([[2.0]]) * scale, np.array([[1.0], [2.0]])
        exact = np.array([[3.0], [10.0]]) * scale
        assert sylvester_residual(a, b, exact, x) == 0
        assert_allclose(sylvester_residual(a, b, 2 * exact, x), 1 / (2 + (np.hypot(1, 3) + 2) * 5**0.5 / 109**0.5))
    assert sylvester_residual([[1e300]], [[1e300]], [[1e-300]], [[1e-300]]) == 1
    assert sylvester_residual(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))) == 0


def test_subnormal_coefficients():
    rng = np.random.default_rng(0)
    for kind in (general, symmetric, upper):
        a, b, q = kind(rng, 4) * 1e-310, kind(rng, 3) * 1e-310, rng.standard_normal((4, 3)) * 1e-310
        x = solve_sylvester(a, b, q)
        assert_allclose(x, kronecker_solve(*(z * 2.0**1000 for z in (a, b, q))), rtol=1e-8)


@pytest.mark.parametrize("one", [1.0, 1j])
@pytest.mark.parametrize("scale", [1e-308, 1e300])
def test_one_coefficient_of_zeros_beside_tiny_or_huge_ones(one, scale):
    a, q = one * np.diag([1.0, 2.0]) * scale, np.array([[3.0], [4.0]]) * scale
    x = solve_sylvester(a, [[0.0]], q)
    assert_allclose(x, [[3 / one], [2 / one]], rtol=1e-14)
    assert sylvester_residual(a, [[0.0]], q, x) < 1e-15
    assert sylvester_residual(a, [[0.0]], 0 * q, 0 * x) == 0


def test_residual_of_wrong_shape():
    with pytest.raises(ValueError, match="shape of q"):
        sylvester_residual(np.eye(2), np.eye(2), np.eye(2), np.ones((2, 3)))
