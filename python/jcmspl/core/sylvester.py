"""The general Sylvester equation: real ones in the compiled core, complex ones by LAPACK's own triangular solver.

Complex equations are solved here because no model needs them. Scaling, the test for singularity, the warning and the
step of refinement are those of the core.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_lapack_funcs, schur

from jcmspl import _core
from jcmspl.support.arguments import as_number_array, require_finite
from jcmspl.support.exceptions import NearlySingularWarning, SingularEquationError

Matrix = npt.NDArray[np.inexact[Any]]


def solve_sylvester(a: npt.ArrayLike, b: npt.ArrayLike, q: npt.ArrayLike) -> Matrix:
    """Solve ``a x + x b = q`` for x.

    Symmetric coefficients are detected and diagonalised; diagonal, triangular and real Schur forms are used directly.
    Of two general coefficients the smaller is reduced to Schur form and the other to Hessenberg form. One step of
    iterative refinement follows where the residual shows that it can help.

    Parameters
    ----------
    a : array_like of shape (k, k)
    b : array_like of shape (m, m)
    q : array_like of shape (k, m)
        Real or complex. Computation and result are in single precision if all three arrays are, else in double.

    Returns
    -------
    x : ndarray of shape (k, m)

    Raises
    ------
    SingularEquationError
        If an eigenvalue of ``a`` and one of ``b`` add up to zero (to working precision), so that there is no unique
        solution. It is a ``numpy.linalg.LinAlgError`` and names the two eigenvalues.

    Warns
    -----
    NearlySingularWarning
        If less than half of the digits of x can be trusted because the equation is nearly singular. The message gives
        the estimated separation, the smallest singular value of the operator ``x -> a x + x b``.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.core import solve_sylvester
    >>> solve_sylvester([[2.0, 1.0], [0.0, 3.0]], [[1.0]], [[5.0], [4.0]])
    array([[1.33333333],
           [1.        ]])
    """
    a, b, q = _equation(a=a, b=b, q=q)
    results = _solve_complex(a, b, q) if q.dtype.kind == "c" else _core.solve_sylvester(a, b, q)
    if results.singular_pair is not None:
        of_a, of_b = (z.real if np.isclose(z.imag, 0, atol=1e-300) else z for z in results.singular_pair)
        raise SingularEquationError(
            f"the Sylvester equation is singular: the eigenvalue {of_a:.6g} of a and the eigenvalue {of_b:.6g} of b "
            "add up to zero (to working precision), so that it has no solution or infinitely many",
            results.singular_pair,
        )
    if results.nearly_singular:
        warnings.warn(
            f"the Sylvester equation is nearly singular (estimated separation {results.separation:.2g}): "
            "less than half of the digits of the solution can be trusted",
            NearlySingularWarning,
            stacklevel=2,
        )
    x: Matrix = results.x
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError("the solution of the Sylvester equation overflows: scale q down")
    return x


def sylvester_residual(a: npt.ArrayLike, b: npt.ArrayLike, q: npt.ArrayLike, x: npt.ArrayLike) -> float:
    """Return the relative residual of a solution x of ``a x + x b = q``.

    Parameters
    ----------
    a : array_like of shape (k, k)
    b : array_like of shape (m, m)
    q, x : array_like of shape (k, m)

    Returns
    -------
    float
        ``|q - a x - x b| / ((|a| + |b|) |x| + |q|)`` in Frobenius norms: a few units of rounding for a good solution.

    Examples
    --------
    >>> from jcmspl.core import sylvester_residual
    >>> sylvester_residual([[1.0]], [[1.0]], [[2.0]], [[1.0]])
    0.0
    """
    a, b, q, x = _equation(a=a, b=b, q=q, x=x)
    if x.shape != q.shape:
        raise ValueError(f"x must have the shape of q, {q.shape}, but has {x.shape}")
    if q.dtype.kind != "c":
        return float(_core.sylvester_residual(a, b, q, x))
    of_ab = max(_exponent(a), _exponent(b))
    larger = max(_exponent(q), of_ab + _exponent(x))
    a, b = _times_power(a, -of_ab), _times_power(b, -of_ab)
    return _relative_residual(a, b, _times_power(q, -larger), _times_power(x, of_ab - larger))


def _equation(**given: npt.ArrayLike) -> tuple[Matrix, ...]:
    """Return the given arrays as finite matrices of one dtype, with the shapes of a, b and q checked."""
    arrays = {name: as_number_array(value, name) for name, value in given.items()}
    single = all(array.dtype in (np.float16, np.float32, np.complex64) for array in arrays.values())
    complex_ = any(array.dtype.kind == "c" for array in arrays.values())
    dtype = np.dtype(("complex64" if single else "complex128") if complex_ else ("float32" if single else "float64"))
    a, b, q, *others = (np.ascontiguousarray(array, dtype=dtype) for array in arrays.values())
    for name, matrix in zip(arrays, (a, b, q, *others), strict=True):
        require_finite(matrix, name)
    for matrix, name in ((a, "a"), (b, "b")):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"{name} must be square, but its shape is {matrix.shape}")
    if q.shape != (len(a), len(b)):
        raise ValueError(f"q must have the shape {(len(a), len(b))} that a and b imply, but has {q.shape}")
    return a, b, q, *others


@dataclass(frozen=True)
class _Results:
    """Like the core's results: a solution, or two eigenvalues that make the equation singular."""

    x: Matrix
    nearly_singular: bool = False
    separation: float = 0.0
    singular_pair: tuple[complex, complex] | None = None


def _solve_complex(a: Matrix, b: Matrix, q: Matrix) -> _Results:
    """Solve ``a x + x b = q`` for complex matrices of one dtype."""
    if q.size == 0:
        return _Results(np.zeros_like(q))
    of_ab, of_q = max(_exponent(a), _exponent(b)), _exponent(q)
    a, b, q = _times_power(a, -of_ab), _times_power(b, -of_ab), _times_power(q, -of_q)
    equation = _Triangular(a, b)
    pair = equation.singular_pair()
    if pair is not None:
        of_a, of_b = (complex(_times_power(np.asarray(z), of_ab)) for z in pair)
        return _Results(q, singular_pair=(of_a, of_b))
    separation = equation.separation()
    x = equation.solve(q)
    better = x + equation.solve(q - a @ x - x @ b)
    if _relative_residual(a, b, q, better) < _relative_residual(a, b, q, x):
        x = better
    nearly_singular = separation < np.sqrt(equation.epsilon) * equation.size
    return _Results(_times_power(x, of_q - of_ab), bool(nearly_singular), float(np.ldexp(separation, of_ab)))


class _Triangular:
    """The equation with both coefficients in Schur form, r and s: u r u^H and v s v^H."""

    def __init__(self, a: Matrix, b: Matrix) -> None:
        self.r, self.u = schur(a, output="complex")
        self.s, self.v = schur(b, output="complex")
        self.size = float(np.linalg.norm(a) + np.linalg.norm(b))
        self.epsilon = float(np.finfo(a.real.dtype).eps)
        (self._trsyl,) = get_lapack_funcs(("trsyl",), (self.r, self.s))

    def singular_pair(self) -> tuple[Any, Any] | None:
        """Return two eigenvalues that add up to zero to working precision."""
        of_a, of_b = self.r.diagonal(), self.s.diagonal()
        sums = np.abs(of_a[:, None] + of_b)
        i, j = np.unravel_index(np.argmin(sums), sums.shape)
        return (of_a[i], of_b[j]) if sums[i, j] <= 10 * self.epsilon * self.size else None

    def solve(self, q: Matrix) -> Matrix:
        solution: Matrix = self.u @ self._solve(self.u.conj().T @ q @ self.v, "N") @ self.v.conj().T
        return solution

    def _solve(self, f: Matrix, form: str) -> Matrix:
        y, scale, _ = self._trsyl(self.r, self.s, f, trana=form, tranb=form)
        return np.asarray(y / scale)

    def separation(self) -> float:
        """Estimate the smallest singular value of ``x -> a x + x b``, by power iteration on its inverse and adjoint."""
        rng = np.random.default_rng(0)
        z = rng.standard_normal((len(self.r), len(self.s))).astype(self.r.dtype)
        growth = 0.0
        for form in ("N", "C") * 3:
            z = self._solve(z / np.linalg.norm(z), form)
            growth = max(growth, float(np.linalg.norm(z)))
            if not np.isfinite(growth):
                return 0.0
        return 1 / growth


def _exponent(a: Matrix) -> int:
    """Return the power of two above the largest real or imaginary part; for zeros one below any other."""
    largest = max(np.abs(a.real).max(initial=0), np.abs(a.imag).max(initial=0))
    return int(np.frexp(largest)[1]) if largest else -2000


def _times_power(a: npt.NDArray[Any], exponent: int) -> npt.NDArray[Any]:
    out = np.empty_like(a)
    out.real, out.imag = np.ldexp(a.real, exponent), np.ldexp(a.imag, exponent)
    return out


def _relative_residual(a: Matrix, b: Matrix, q: Matrix, x: Matrix) -> float:
    size = (np.linalg.norm(a) + np.linalg.norm(b)) * np.linalg.norm(x) + np.linalg.norm(q)
    return float(np.linalg.norm(q - a @ x - x @ b) / size) if size > 0 else 0.0
