"""The Sylvester equation in complex numbers, by Bartels and Stewart's method on LAPACK's own triangular solver.

Not part of the compiled core: no model needs complex numbers, and SciPy has all the parts. Scaling, the test for
singularity, the warning and the step of refinement are those of the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_lapack_funcs, schur

Matrix = npt.NDArray[np.inexact[Any]]


@dataclass(frozen=True)
class ComplexResults:
    """As the core's results: a solution, or two eigenvalues that make the equation singular."""

    x: Matrix
    nearly_singular: bool = False
    separation: float = 0.0
    singular_pair: tuple[complex, complex] | None = None


def solve_complex(a: Matrix, b: Matrix, q: Matrix) -> ComplexResults:
    """Solve ``a x + x b = q`` for complex matrices of one dtype."""
    if q.size == 0:
        return ComplexResults(np.zeros_like(q))
    of_ab, of_q = max(_exponent(a), _exponent(b)), _exponent(q)
    a, b, q = _times_power(a, -of_ab), _times_power(b, -of_ab), _times_power(q, -of_q)
    equation = _Triangular(a, b)
    pair = equation.singular_pair()
    if pair is not None:
        of_a, of_b = (complex(_times_power(np.asarray(z), of_ab)) for z in pair)
        return ComplexResults(q, singular_pair=(of_a, of_b))
    separation = equation.separation()
    x = equation.solve(q)
    better = x + equation.solve(q - a @ x - x @ b)
    if _relative_residual(a, b, q, better) < _relative_residual(a, b, q, x):
        x = better
    nearly_singular = separation < np.sqrt(equation.epsilon) * equation.size
    return ComplexResults(_times_power(x, of_q - of_ab), bool(nearly_singular), float(np.ldexp(separation, of_ab)))


def complex_residual(a: Matrix, b: Matrix, q: Matrix, x: Matrix) -> float:
    """Return ``|q - a x - x b| / ((|a| + |b|) |x| + |q|)``."""
    of_ab = max(_exponent(a), _exponent(b))
    larger = max(_exponent(q), of_ab + _exponent(x))
    a, b = _times_power(a, -of_ab), _times_power(b, -of_ab)
    return _relative_residual(a, b, _times_power(q, -larger), _times_power(x, of_ab - larger))


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
    """Return the power of two above the largest part of an element; if all are zero one that is below any other."""
    largest = max(np.abs(a.real).max(initial=0), np.abs(a.imag).max(initial=0))
    return int(np.frexp(largest)[1]) if largest else -2000


def _times_power(a: npt.NDArray[Any], exponent: int) -> npt.NDArray[Any]:
    out = np.empty_like(a)
    out.real, out.imag = np.ldexp(a.real, exponent), np.ldexp(a.imag, exponent)
    return out


def _relative_residual(a: Matrix, b: Matrix, q: Matrix, x: Matrix) -> float:
    size = (np.linalg.norm(a) + np.linalg.norm(b)) * np.linalg.norm(x) + np.linalg.norm(q)
    return float(np.linalg.norm(q - a @ x - x @ b) / size) if size > 0 else 0.0
