"""The textbook implementation: the paper's equations, sample by sample, with C formed explicitly.

Slow and plain on purpose. Samples are columns, as in the paper: X is m x n, Y is d x n, H and C are k x n.
"""

import numpy as np
from scipy.linalg import pinvh, solve
from scipy.linalg import solve_sylvester as scipy_sylvester

PAPER_SETTINGS = {
    "AwA": (1e-3, 1e3, 1e7, 1e2),
    "CUB": (1, 1e-3, 1e4, 1e-1),
    "SUN": (1e-4, 1e-2, 1e-4, 1e-4),
    "ImNet": (1e-5, 1e-5, 1e1, 1e-4),
}


def class_codes(n_concepts, n_classes):
    """Hc (k x c): k rows in c consecutive blocks, as even as possible."""
    codes = np.zeros((n_concepts, n_classes))
    for cls, rows in enumerate(np.array_split(np.arange(n_concepts), n_classes)):
        codes[rows, cls] = 1
    return codes


def sylvester_psd(left, right, rhs):
    """Minimum-norm solution of left Z + Z right = rhs for positive semidefinite coefficients.

    Where a coefficient is zero the equation is a linear least-squares problem, which SciPy's solve_sylvester cannot
    solve when the other coefficient is singular.
    """
    if not left.any() and not right.any():
        return np.zeros_like(rhs)
    if not left.any():
        return rhs @ pinvh(right)
    if not right.any():
        return pinvh(left) @ rhs
    return scipy_sylvester(left, right, rhs)


def objective_terms(A, B, C, X, Y, H, lambdas):
    l1, l2, l3, l4 = lambdas

    def squared(residual):
        return np.sum(residual**2)

    return 0.5 * np.array(
        [
            squared(A @ X - C),
            l1 * squared(B @ Y - C),
            l2 * squared(C - H),
            l3 * squared(X - A.T @ C),
            l4 * squared(Y - B.T @ C),
        ]
    )


def jcmspl_iterations(X, Y, H, C, lambdas, n_iter):
    """Yield (A, B, C, terms of the objective) after each iteration of block coordinate descent from C."""
    l1, l2, l3, l4 = lambdas
    for _ in range(n_iter):
        A = sylvester_psd(l3 * C @ C.T, X @ X.T, (1 + l3) * C @ X.T)
        B = sylvester_psd(l4 * C @ C.T, l1 * Y @ Y.T, (l1 + l4) * C @ Y.T)
        K = (1 + l1 + l2) * np.eye(len(C)) + l3 * A @ A.T + l4 * B @ B.T
        C = solve(K, l2 * H + (1 + l3) * A @ X + (l1 + l4) * B @ Y, assume_a="pos")
        yield A, B, C, objective_terms(A, B, C, X, Y, H, lambdas)
