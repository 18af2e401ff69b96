"""The Sylvester equation by its definition."""

import numpy as np


def kronecker_solve(a, b, q):
    """The definition: one linear system for all elements of x, column by column."""
    k, m = q.shape
    operator = np.kron(np.eye(m), a) + np.kron(b.T, np.eye(k))
    return np.linalg.solve(operator, q.ravel(order="F")).reshape((k, m), order="F")
