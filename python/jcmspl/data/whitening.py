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


def whiten(statistics: Statistics, shrinkage: float) -> tuple[Float64Array, Statistics] | None:
    """Return T, lower triangular, for centred samples, and the statistics of samples that are whitened by it.

    It is scaled so that the mean square length of the whitened samples is 1. None if samples of a class do not differ.
    """
    gram = statistics.gram
    scatter = _scatter_within(gram, statistics)
    mean = scatter.trace() / max(len(scatter), 1)
    if scatter.trace() <= _NOISE * gram.trace() / (statistics.n_samples or 1):
        return None
    # however small it is, rounding errors must not make a matrix of less than full rank look indefinite
    least = 4 * len(scatter) * np.finfo(np.float64).eps * float(scatter.diagonal().max())
    scatter.flat[:: len(scatter) + 1] += max(shrinkage * mean, least)
    factor = cholesky(scatter, lower=True, overwrite_a=True, check_finite=False)
    (invert,) = get_lapack_funcs(("trtri",), (factor,))
    T, _ = invert(factor, lower=1, overwrite_c=1)
    T = np.ascontiguousarray(np.tril(T))
    half = product(T, gram)
    scale = float(np.sqrt(statistics.n_samples / np.vdot(half, T)))  # the product is the trace of T G T'
    T *= scale
    half *= scale
    return T, _whitened(statistics, T, half)


def whitened(statistics: Statistics, T: Float64Array) -> Statistics:
    """Return the statistics of whitened samples."""
    return _whitened(statistics, T, product(T, statistics.gram))


def _whitened(statistics: Statistics, T: Float64Array, half: Float64Array) -> Statistics:
    """Return the statistics of whitened samples, given T G."""
    # only the lower triangle is looked at, so that what rounding does to the other one is of no account
    gram = product(T, half.T)
    return Statistics.from_arrays(gram, product(T, statistics.class_sums.T).T, statistics.counts)


def _scatter_within(gram: Float64Array, statistics: Statistics) -> Float64Array:
    """Return the mean product of deviations of samples from the mean of their class."""
    counts = statistics.counts
    sums = statistics.class_sums / np.sqrt(np.where(counts > 0, counts, 1))[:, None]
    return np.asarray((gram - sums.T @ sums) / (statistics.n_samples or 1))


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
