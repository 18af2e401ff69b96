"""The probability simplex: vectors of shares, none of them negative, whose sum is one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import Float64Array, as_matrix
from jcmspl.support.threads import blas_threads


def project_onto_simplex(rows: npt.ArrayLike) -> Float64Array:
    """Return the nearest point of the simplex to each row."""
    return _core.project_onto_simplex(as_matrix(rows, "rows"))


def minimise_on_simplex(quadratic: npt.ArrayLike, linear: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
    """Minimise ``z'Qz / 2 - b'z`` over the simplex for each row b of ``linear``.

    Parameters
    ----------
    quadratic : array_like of shape (p, p)
        Q, symmetric and positive definite.
    linear : array_like of shape (n, p)

    Returns
    -------
    solutions : ndarray of shape (n, p)
    gaps : ndarray of shape (n,)
        Duality gaps: how far the value of each solution is above the least one, at most. They are within rounding.
    """
    Q, b = as_matrix(quadratic, "quadratic"), as_matrix(linear, "linear")
    if Q.shape != (b.shape[1], b.shape[1]) or len(Q) == 0:
        raise ValueError(f"quadratic must be of shape (p, p) and linear (n, p), but these are {Q.shape} and {b.shape}")
    return _core.minimise_on_simplex(Q, b, blas_threads())


class Mixtures:
    """The shares in which atoms mix to points best: ``|x - z @ atoms|^2 + ridge |z|^2`` is least.

    Parameters
    ----------
    atoms : ndarray of shape (p, k)
    ridge : float
        What is too little for rounding, as zero is, counts as 1e-10 of the mean square length of the atoms.
    """

    def __init__(self, atoms: Float64Array, ridge: float) -> None:
        self._centre = atoms.mean(axis=0)  # which does not matter to mixtures, but to rounding
        self._around = atoms - self._centre
        self._products = self._around @ self._around.T
        least = 1e-10 * float(np.mean(self._products.diagonal()))
        self._products.flat[:: len(atoms) + 1] += max(ridge, least) or 1.0

    def __call__(self, points: Float64Array) -> Float64Array:
        """Return the shares, (n, p), for points of shape (n, k)."""
        return minimise_on_simplex(self._products, (points - self._centre) @ self._around.T)[0]


def mixtures(points: Float64Array, atoms: Float64Array, ridge: float) -> Float64Array:
    """Return the shares, (n, p), in which atoms mix to each point best (:class:`Mixtures`)."""
    return Mixtures(atoms, ridge)(points)
