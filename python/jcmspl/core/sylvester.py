"""The general Sylvester equation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.core.complex_sylvester import Matrix, complex_residual, solve_complex
from jcmspl.support.arguments import as_number_array, require_finite
from jcmspl.support.exceptions import NearlySingularWarning, SingularEquationError


def solve_sylvester(a: npt.ArrayLike, b: npt.ArrayLike, q: npt.ArrayLike) -> Matrix:
    """Solve ``a x + x b = q`` for x.

    Symmetric coefficients are found out and diagonalised; diagonal, triangular and real Schur forms are used as they
    are. Of two general coefficients the smaller is brought to Schur form and the other to Hessenberg form. One step
    of iterative refinement follows where the residual shows that it can help.

    Parameters
    ----------
    a : array_like of shape (k, k)
    b : array_like of shape (m, m)
    q : array_like of shape (k, m)
        Real or complex. If all three are of single precision so are the computation and the result; otherwise both
        are of double precision.

    Returns
    -------
    x : ndarray of shape (k, m)

    Raises
    ------
    SingularEquationError
        If an eigenvalue of ``a`` and one of ``b`` add up to zero (to working precision): there is then no solution,
        or more than one. It is a ``numpy.linalg.LinAlgError`` and names the two eigenvalues.

    Warns
    -----
    NearlySingularWarning
        If the equation is so nearly singular that less than half of the digits of x can be trusted. The message gives
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
    results = solve_complex(a, b, q) if q.dtype.kind == "c" else _core.solve_sylvester(a, b, q)
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
    """Return how far x is from solving ``a x + x b = q``.

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
    return complex_residual(a, b, q, x) if q.dtype.kind == "c" else float(_core.sylvester_residual(a, b, q, x))


def _equation(**given: npt.ArrayLike) -> tuple[Matrix, ...]:
    """Return finite matrices of one dtype, those of the equation checked for their shapes."""
    arrays = {name: as_number_array(value, name) for name, value in given.items()}
    dtype = _dtype(*arrays.values())
    a, b, q, *others = (np.ascontiguousarray(array, dtype=dtype) for array in arrays.values())
    for name, matrix in zip(arrays, (a, b, q, *others), strict=True):
        require_finite(matrix, name)
    for matrix, name in ((a, "a"), (b, "b")):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"{name} must be square, but its shape is {matrix.shape}")
    if q.shape != (len(a), len(b)):
        raise ValueError(f"q must have the shape {(len(a), len(b))} that a and b imply, but has {q.shape}")
    return a, b, q, *others


def _dtype(*arrays: npt.NDArray[Any]) -> np.dtype[Any]:
    single = all(array.dtype in (np.float16, np.float32, np.complex64) for array in arrays)
    if any(array.dtype.kind == "c" for array in arrays):
        return np.dtype(np.complex64 if single else np.complex128)
    return np.dtype(np.float32 if single else np.float64)
