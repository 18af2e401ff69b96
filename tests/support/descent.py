"""One fit of the core and the same by the textbook, for the tests of the solver."""

import numpy as np

from jcmspl.core import Spectrum, Statistics, solve
from support.reference import class_codes, jcmspl_iterations

PLAIN = (0.01, 1, 0.1, 0.01)


def spectrum_of(samples):
    return Spectrum(Statistics.from_samples(samples.X, samples.labels), samples.class_vectors)


def fit(spectrum, lambdas, **options):
    options = {"random_state": 0, "tol": 0, **options}
    return solve(spectrum, **dict(zip(("l1", "l2", "l3", "l4"), lambdas, strict=True)), **options)


def textbook(samples, lambdas, start, n_iter):
    """Iterations of the reference from a class-level start (k x c)."""
    H = class_codes(*start.shape)[:, samples.labels]
    Y = samples.class_vectors[samples.labels].T
    return jcmspl_iterations(samples.X.T, Y, H, start[:, samples.labels], lambdas, n_iter)


def relative_error(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)
