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
from scipy.linalg import eigh, pinv, solve, solve_triangular

from jcmspl.core.statistics import Statistics
from jcmspl.support.arguments import Float64Array

#: The weight of class means beside samples in the choice of leading directions.
OF_MEANS = 2.0
# Columns of a triangular matrix that are multiplied at a time.
_PANEL = 256


def reduced(T: Float64Array, statistics: Statistics, n_components: int) -> tuple[Float64Array, Statistics]:
    """Return T, and the statistics of whitened samples, for their leading directions alone.

    These are eigenvectors of the mean square of samples and, OF_MEANS times, that of class means. The mean square
    length of samples stays 1, and directions in which there is nothing are left out.
    """
    n, counts, gram = statistics.n_samples, statistics.counts, statistics.gram
    means = statistics.class_sums / np.where(counts > 0, counts, 1)[:, None]
    matrix = gram / n + OF_MEANS * (means.T @ means) / max(int(np.count_nonzero(counts)), 1)
    m = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(max(m - n_components, 0), m - 1))
    kept = values > m * np.finfo(np.float64).eps * values[-1]
    V = vectors[:, kept].T[::-1]
    V[:, gram.diagonal() == 0] = 0
    # the sign of an eigenvector is arbitrary, and random numbers of a method meet it
    V *= np.where(V @ np.random.RandomState(0).standard_normal(m) < 0, -1.0, 1.0)[:, None]
    V *= np.sqrt(n / np.vdot(V @ gram, V))
    sums = statistics.class_sums @ V.T
    return np.ascontiguousarray(V @ T), Statistics.from_arrays(V @ gram @ V.T, sums, counts)


def is_triangular(T: Float64Array) -> bool:
    """Whether T is lower triangular; else it is symmetric, or has fewer rows than columns."""
    return T.shape[0] == T.shape[1] and not np.triu(T, 1).any()


def times(rows: Float64Array, T: Float64Array, *, triangular: bool) -> Float64Array:
    """Return ``rows @ T``; of a triangular T only the half that is not zero is multiplied."""
    if not triangular:
        return np.asarray(rows @ T)
    out = np.empty_like(rows)
    for first in range(0, len(T), _PANEL):
        panel = slice(first, first + _PANEL)
        out[:, panel] = rows[:, first:] @ T[first:, panel]
    return out


def divided(rows: Float64Array, T: Float64Array) -> Float64Array:
    """Return ``rows @ inv(T)``; where T has fewer rows than columns, with its pseudoinverse."""
    if T.shape[0] < T.shape[1]:
        return np.asarray(rows @ pinv(T))
    if not is_triangular(T):
        return np.asarray(solve(T, rows.T, assume_a="pos").T)
    return np.asarray(solve_triangular(T, rows.T, lower=True, trans="T").T)


def undone(T: Float64Array, rows: Float64Array) -> Float64Array:
    """Return rows before they were whitened."""
    if T.shape[0] < T.shape[1]:
        return np.asarray(rows @ pinv(T).T)
    if not is_triangular(T):
        return divided(rows, T)
    return np.asarray(solve_triangular(T, rows.T, lower=True).T)
