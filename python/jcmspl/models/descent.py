"""Descent on a smooth objective of many variables, watched by a monitor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from jcmspl.models.monitor import Monitor
from jcmspl.support.arguments import Float64Array


def descend(
    objective: Callable[[Float64Array], tuple[float, Float64Array]],
    start: Float64Array,
    *,
    max_iter: int,
    tol: float,
    monitor: Monitor,
) -> tuple[Float64Array, Float64Array]:
    """Return where L-BFGS ends, and the objective at the start and after each iteration.

    Parameters
    ----------
    objective : function
        Of a vector; returns the value and the gradient.
    start : ndarray
    max_iter : int
    tol : float
        It ends when an iteration lowers the objective by less than this part of it.
    monitor : Monitor
        Is told of each iteration, and may stop the descent.
    """
    last = [0.0]  # the value where the objective was asked for last: at the end of an iteration that is its result
    values: list[float] = []

    def watched(x: Float64Array) -> tuple[float, Float64Array]:
        last[0], gradient = objective(x)
        if not values:
            values.append(last[0])
        return last[0], gradient

    def tell(x: Float64Array) -> None:
        values.append(last[0])
        if monitor.on_iteration is not None:
            monitor.on_iteration(len(values) - 1, last[0])

    options = {"maxiter": max_iter, "ftol": tol, "gtol": 0.0, "maxls": 30}
    found = minimize(watched, start, jac=True, method="L-BFGS-B", callback=tell, options=options)
    return np.asarray(found.x, dtype=np.float64), np.array(values)
