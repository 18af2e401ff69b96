"""Least squares with constraints on the solution: the simplex, the unit ball, a bound on the sum of absolute values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import (
    Float64Array,
    as_count,
    as_matrix,
    as_real_array,
    as_weight,
    require_finite,
    row_blocks,
)
from jcmspl.support.machine import blas_threads

BLOCK = 32  # rows of the ball's descent whose products with all others are one product of matrices


def project_onto_simplex(rows: npt.ArrayLike) -> Float64Array:
    """Return the nearest point of the probability simplex (no negative value, sum one) to each row."""
    return _core.project_onto_simplex(as_matrix(rows, "rows"))


def minimise_on_simplex(quadratic: npt.ArrayLike, linear: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
    """Minimise ``z'Qz / 2 - b'z`` over the probability simplex for each row b of ``linear``, Q positive definite.

    The second result holds duality gaps: upper bounds on the distance of each value from the minimum, within rounding.
    """
    Q, b = as_matrix(quadratic, "quadratic"), as_matrix(linear, "linear")
    if Q.shape != (b.shape[1], b.shape[1]) or len(Q) == 0:
        raise ValueError(f"quadratic must be of shape (p, p) and linear (n, p), but these are {Q.shape} and {b.shape}")
    return _core.minimise_on_simplex(Q, b, blas_threads())


class Mixtures:
    """Mixtures of atoms nearest to given points: shares z on the simplex minimise ``|x - z @ atoms|^2 + ridge |z|^2``.

    The ridge is at least 1e-10 of the mean square length of the atoms, so that rounding does not decide.
    """

    def __init__(self, atoms: Float64Array, ridge: float) -> None:
        self._centre = atoms.mean(axis=0)  # leaves the shares as they are, and rounding errors smaller
        self._around = atoms - self._centre
        self._products = self._around @ self._around.T
        least = 1e-10 * float(np.mean(self._products.diagonal()))
        self._products.flat[:: len(atoms) + 1] += max(ridge, least) or 1.0

    def __call__(self, points: Float64Array) -> Float64Array:
        """Return the shares (n, p) for points of shape (n, k)."""
        return minimise_on_simplex(self._products, (points - self._centre) @ self._around.T)[0]


def mixtures(points: Float64Array, atoms: Float64Array, ridge: float) -> Float64Array:
    """Return the shares (n, p) of the atoms in the mixture nearest to each point (:class:`Mixtures`)."""
    return Mixtures(atoms, ridge)(points)


def within_ball(rows: Float64Array) -> Float64Array:
    """Return the nearest point of the unit ball to each row, or to a single one."""
    return np.asarray(rows / np.maximum(1, np.linalg.norm(rows, axis=-1, keepdims=True)))


def descend_within_ball(rows: npt.ArrayLike, products: npt.ArrayLike, gram: npt.ArrayLike) -> Float64Array:
    """Lower ``|A - F'L|^2`` over one row of F, (k, m), after the other, each kept within the unit ball.

    ``products`` is LA' and ``gram`` LL'; rows whose entry on its diagonal is rounding noise stay unchanged.
    """
    F, P, G = as_matrix(rows, "rows").copy(), as_matrix(products, "products"), as_matrix(gram, "gram")
    if P.shape != F.shape or G.shape != (len(F), len(F)):
        raise ValueError(
            "rows and products must be of shape (k, m) and gram (k, k), but these are "
            f"{F.shape}, {P.shape} and {G.shape}"
        )
    noise = float(np.finfo(np.float64).eps * len(G) * G.diagonal().max(initial=0))
    for block in row_blocks(len(F), BLOCK):
        owed = P[block] - G[block] @ F
        F[block] = _core.descend_within_ball(F[block], owed, np.ascontiguousarray(G[block, block]), noise)
    return F


class SparseCodes(NamedTuple):
    """Codes (n, r), the value of the objective for each, and an upper bound on its distance from the minimum."""

    codes: Float64Array
    values: Float64Array
    gaps: Float64Array


def sparse_codes(
    gram: npt.ArrayLike,
    products: npt.ArrayLike,
    squares: npt.ArrayLike,
    penalty: float,
    *,
    tol: float = 1e-10,
    max_sweeps: int = 1000,
) -> SparseCodes:
    """Minimise ``|x - D a|^2 / 2 + penalty |a|_1`` for many samples x by coordinate descent (the lasso).

    ``gram`` is D'D, ``products`` D'x and ``squares`` |x|^2, one row per sample. With a penalty of 0 the codes are the
    shortest solutions of least squares. A code is done when its duality gap is below ``tol |x|^2 / 2``.
    """
    G, P = as_matrix(gram, "gram"), as_matrix(products, "products")
    lengths = np.ascontiguousarray(as_real_array(squares, "squares", ndim=1), dtype=np.float64)
    require_finite(lengths, "squares")
    if G.shape != (P.shape[1], P.shape[1]) or lengths.shape != (len(P),) or len(G) == 0:
        raise ValueError(
            "gram must be of shape (r, r), products (n, r) and squares (n,), but these are "
            f"{G.shape}, {P.shape} and {lengths.shape}"
        )
    if as_weight(penalty, "penalty") == 0:
        codes = np.asarray(P @ np.linalg.pinv(G, hermitian=True))
        return SparseCodes(codes, np.maximum(lengths - np.einsum("ij,ij->i", codes, P), 0) / 2, np.zeros(len(P)))
    sweeps = as_count(max_sweeps, "max_sweeps")
    return SparseCodes(
        *_core.sparse_codes(G, P, lengths, float(penalty), as_weight(tol, "tol"), sweeps, blas_threads())
    )


def soft(values: Float64Array, threshold: float | Float64Array) -> Float64Array:
    """Return values moved towards zero by a threshold, and no further (soft thresholding)."""
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
