"""Whitening by the scatter within classes: directions in which samples of one class differ count for less.

With S the scatter of samples around the means of their classes, divided by the number of samples, and w its mean
eigenvalue, T is such that T (S + b w I) T' is a multiple of the identity; b is the shrinkage. All of it follows from
sufficient statistics. T is the inverse of a Cholesky factor, and triangular: any other T, such as one made of
eigenvectors, differs from it by a rotation, which changes neither lengths nor angles, and costs several times as much.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, get_lapack_funcs, solve_triangular
from scipy.linalg.blas import dtrmm

from jcmspl.core.statistics import Statistics
from jcmspl.support.arguments import Float64Array

# Sums of n squares carry errors of about this part of them: less than that is no scatter but rounding.
_NOISE = 64 * np.finfo(np.float64).eps


def whitening(statistics: Statistics, shrinkage: float) -> Float64Array | None:
    """Return T, lower triangular, for centred samples; None if samples of a class do not differ.

    It is scaled so that the mean square length of the whitened samples is 1.
    """
    scatter = scatter_within(statistics)
    mean = scatter.trace() / max(len(scatter), 1)
    if scatter.trace() <= _NOISE * statistics.gram.trace() / max(statistics.n_samples, 1):
        return None
    scatter.flat[:: len(scatter) + 1] += shrinkage * mean
    factor = cholesky(scatter, lower=True, overwrite_a=True, check_finite=False)
    (invert,) = get_lapack_funcs(("trtri",), (factor,))
    T, _ = invert(factor, lower=1, overwrite_c=1)
    T = np.ascontiguousarray(np.tril(T))
    squares = float(np.vdot(product(T, statistics.gram), T))  # the trace of T G T'
    return np.asarray(T * np.sqrt(statistics.n_samples / squares))


def scatter_within(statistics: Statistics) -> Float64Array:
    """Return the mean product of deviations of samples from the mean of their class."""
    counts = np.maximum(statistics.counts, 1)
    sums = statistics.class_sums / np.sqrt(counts)[:, None]
    return np.asarray((statistics.gram - sums.T @ sums) / max(statistics.n_samples, 1))


def whitened(statistics: Statistics, T: Float64Array) -> Statistics:
    """Return the statistics of whitened samples."""
    gram = product(T, product(T, statistics.gram).T)
    return Statistics.from_arrays((gram + gram.T) / 2, product(T, statistics.class_sums.T).T, statistics.counts)


def product(T: Float64Array, matrix: Float64Array) -> Float64Array:
    """Return ``T @ matrix`` for a lower triangular T, at half the cost."""
    # in Fortran's order T is its transpose, upper triangular, and the product is (matrix' T')'
    return np.asarray(dtrmm(1.0, T.T, matrix.T, side=1, lower=0).T)


def divided(rows: Float64Array, T: Float64Array) -> Float64Array:
    """Return ``rows @ inv(T)``."""
    return np.asarray(solve_triangular(T, rows.T, lower=True, trans="T").T)


def undone(T: Float64Array, rows: Float64Array) -> Float64Array:
    """Return rows before they were whitened."""
    return np.asarray(solve_triangular(T, rows.T, lower=True).T)
