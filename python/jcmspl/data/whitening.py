"""Whitening by the scatter within classes: directions in which samples of one class differ count for less.

With S the scatter of samples around the means of their classes, divided by the number of samples, and w its mean
eigenvalue, T is such that T (S + b w I) T' is a multiple of the identity; b is the shrinkage. All of it follows from
sufficient statistics. Any two such T differ by a rotation. Most methods look at lengths and angles alone, which no
rotation changes; for them T is the inverse of a Cholesky factor, triangular, which is the cheapest to compute. For
methods that look at one axis at a time, such as those with a variance for each, T is symmetric: the only T that treats
all features alike, whatever their order.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve, solve_triangular

from jcmspl.support.arguments import Float64Array


def is_triangular(T: Float64Array) -> bool:
    """Whether T is lower triangular; else it is symmetric."""
    return not np.triu(T, 1).any()


def divided(rows: Float64Array, T: Float64Array) -> Float64Array:
    """Return ``rows @ inv(T)``."""
    if not is_triangular(T):
        return np.asarray(solve(T, rows.T, assume_a="pos").T)
    return np.asarray(solve_triangular(T, rows.T, lower=True, trans="T").T)


def undone(T: Float64Array, rows: Float64Array) -> Float64Array:
    """Return rows before they were whitened."""
    if not is_triangular(T):
        return divided(rows, T)
    return np.asarray(solve_triangular(T, rows.T, lower=True).T)
