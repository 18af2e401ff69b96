"""Sparse codes of many samples at once: ``|x - D a|^2 / 2 + penalty |a|_1`` is least, to within a duality gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import Float64Array, as_count, as_matrix, as_real_array, as_weight, require_finite
from jcmspl.support.threads import blas_threads


class SparseCodes(NamedTuple):
    """Codes, (n, r), what was least for each, and how far that is above the least value, at most."""

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
    """Code samples by coordinate descent.

    Parameters
    ----------
    gram : array_like of shape (r, r)
        D'D.
    products : array_like of shape (n, r)
        D'x, a row for each sample.
    squares : array_like of shape (n,)
        |x|^2.
    penalty : float
        Without one codes are those of least squares, the shortest.
    tol : float
        A code is done when its duality gap is below this part of |x|^2 / 2.
    max_sweeps : int
        Over all values of a code; it ends there if the gap is not that small yet.
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
    """Return values moved towards zero by a threshold, and no further."""
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
