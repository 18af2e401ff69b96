"""Least squares over vectors that are of length one at most, as those of a dictionary."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import Float64Array, as_matrix

BLOCK = 32  # rows whose products with all others are one product of matrices


def descend_within_ball(rows: npt.ArrayLike, products: npt.ArrayLike, gram: npt.ArrayLike) -> Float64Array:
    """Lower ``|A - F'L|^2`` over one row of F after the other, each kept within the unit ball.

    Parameters
    ----------
    rows : array_like of shape (k, m)
        F, from which it goes on.
    products : array_like of shape (k, m)
        LA'.
    gram : array_like of shape (k, k)
        LL'. Where its diagonal is rounding, rows stay as they are.

    Returns
    -------
    ndarray of shape (k, m)
    """
    F, P, G = as_matrix(rows, "rows").copy(), as_matrix(products, "products"), as_matrix(gram, "gram")
    if P.shape != F.shape or G.shape != (len(F), len(F)):
        raise ValueError(
            "rows and products must be of shape (k, m) and gram (k, k), but these are "
            f"{F.shape}, {P.shape} and {G.shape}"
        )
    noise = float(np.finfo(np.float64).eps * len(G) * G.diagonal().max(initial=0))
    for start in range(0, len(F), BLOCK):
        block = slice(start, start + BLOCK)
        owed = P[block] - G[block] @ F
        F[block] = _core.descend_within_ball(F[block], owed, np.ascontiguousarray(G[block, block]), noise)
    return F
