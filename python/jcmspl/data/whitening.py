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
from scipy.linalg import cholesky, eigh, pinv, solve, solve_triangular
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri

from jcmspl.core.statistics import Statistics
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import NOISE

# The least shrinkage where features depend on each other: errors of whitened samples are about 2e-16 divided by it.
_LEAST = 1e-8
#: The weight of class means beside samples in the choice of leading directions.
OF_MEANS = 2.0


def whiten(
    statistics: Statistics, shrinkage: float, noise: Float64Array, *, symmetric: bool = False
) -> tuple[Float64Array, Statistics] | None:
    """Return T for centred samples, and the statistics of samples that are whitened by it.

    T is scaled so that the mean square length of the whitened samples is 1. It is symmetric, or lower triangular. None
    if samples of a class do not differ. ``noise`` tells how much of each column of the statistics may be rounding: the
    error of ``gram[i, j]`` is up to ``noise[i] * noise[j]``.
    """
    gram, counts = statistics.gram, statistics.counts
    sums = statistics.class_sums / np.sqrt(np.where(counts > 0, counts, 1))[:, None]
    # within classes: the mean product of deviations of samples from the mean of their class
    scatter = np.asarray((gram - sums.T @ sums) / (statistics.n_samples or 1))
    mean = scatter.trace() / max(len(scatter), 1)
    # samples may lie far from the origin: centring leaves rounding errors of their squares behind
    rounding = float(noise @ noise) / (statistics.n_samples or 1)
    if scatter.trace() <= max(NOISE * gram.trace() / (statistics.n_samples or 1), rounding):
        return None
    # however small it is, rounding errors must not make a matrix of less than full rank look indefinite
    least = max(4 * len(scatter) * np.finfo(np.float64).eps * float(scatter.diagonal().max()), rounding / 8)
    ridge = max(shrinkage * mean, least)
    if shrinkage < _LEAST and _has_dependent_features(scatter, ridge):
        ridge = max(ridge, _LEAST * mean)
    scatter.flat[:: len(scatter) + 1] += ridge
    if symmetric:
        T = _inverse_root(scatter)
    else:  # the inverse of the Cholesky factor
        factor = cholesky(scatter, lower=True, overwrite_a=True, check_finite=False)
        T = np.ascontiguousarray(np.tril(dtrtri(factor, lower=1, overwrite_c=1)[0]))
    half = product(T, gram)
    scale = float(np.sqrt(statistics.n_samples / np.vdot(half, T)))  # the product is the trace of T G T'
    T *= scale
    half *= scale
    return T, whitened(statistics, T, noise, half)


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


def whitened(
    statistics: Statistics, T: Float64Array, noise: Float64Array, half: Float64Array | None = None
) -> Statistics:
    """Return the statistics of whitened samples; ``half`` is T G, if that is known."""
    half = product(T, statistics.gram) if half is None else half
    # only the lower triangle is looked at, so that what rounding does to the other one is of no account
    gram = product(T, half.T)
    sums = product(T, statistics.class_sums.T).T
    # With little shrinkage T has large rows where features depend on each other. What they make of rounding errors
    # must look neither like a signal nor like a negative square.
    empty = gram.diagonal() <= T**2 @ noise**2
    gram[empty] = 0
    gram[:, empty] = 0
    sums[:, empty] = 0
    return Statistics.from_arrays(gram, sums, statistics.counts)


def _has_dependent_features(scatter: Float64Array, ridge: float) -> bool:
    """Whether some feature varies, within classes, hardly otherwise than those before it say."""
    shrunk = scatter.copy()
    shrunk.flat[:: len(shrunk) + 1] += ridge
    own = cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False).diagonal() ** 2
    return bool((own <= _LEAST * (scatter.diagonal() + ridge)).any())


def _inverse_root(matrix: Float64Array) -> Float64Array:
    """Return the symmetric inverse root; the matrix is positive definite but for rounding."""
    values, vectors = np.linalg.eigh(matrix)
    least = len(values) * np.finfo(np.float64).eps * values[-1]
    half = vectors / np.maximum(values, least) ** 0.25
    return np.asarray(half @ half.T)


def is_triangular(T: Float64Array) -> bool:
    """Whether T is lower triangular; else it is symmetric, or has fewer rows than columns."""
    return T.shape[0] == T.shape[1] and not np.triu(T, 1).any()


def product(T: Float64Array, matrix: Float64Array) -> Float64Array:
    """Return ``T @ matrix``, at half the cost where T is triangular."""
    if not is_triangular(T):
        return np.asarray(T @ matrix)
    # in Fortran's order T is its transpose, upper triangular, and the product is (matrix' T')'
    return np.asarray(dtrmm(1.0, T.T, matrix.T, side=1, lower=0).T)


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
