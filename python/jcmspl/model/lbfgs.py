"""Descent on a smooth objective of many variables by L-BFGS, watched by a monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from jcmspl.model.monitor import Monitor
from jcmspl.support.arguments import Float64Array

#: Returns the value and the gradient of an objective.
Objective = Callable[[Float64Array], tuple[float, Float64Array]]


class Minimum(NamedTuple):
    """Where a descent has ended."""

    point: Float64Array
    value: float
    gradient: Float64Array
    values: list[float]  #: after each iteration, or at the start if there was none
    converged: bool  #: it ended before it was out of iterations


def minimised(
    objective: Objective, start: Float64Array, on_iteration: Callable[[int, float], None] | None, **options: Any
) -> Minimum:
    """Return where L-BFGS ends; what on_iteration raises stops it. The options are those of SciPy."""
    last = [0.0]  # the value where the objective was asked for last: at the end of an iteration that is its result
    values: list[float] = []

    def watched(point: Float64Array) -> tuple[float, Float64Array]:
        last[0], gradient = objective(point)
        return last[0], gradient

    def tell(_: Float64Array) -> None:
        values.append(last[0])
        if on_iteration is not None:
            on_iteration(len(values), last[0])

    found = minimize(watched, start, jac=True, method="L-BFGS-B", callback=tell, options=options)
    point, value = np.asarray(found.x, dtype=np.float64), float(found.fun)
    # 1: out of iterations. A line on which nothing lower is found (2) means that the rest is rounding.
    return Minimum(point, value, np.asarray(found.jac), values or [value], found.status != 1)


def descend(
    objective: Objective,
    start: Float64Array,
    *,
    max_iter: int,
    tol: float,
    monitor: Monitor,
) -> Minimum:
    """Return where L-BFGS ends.

    Parameters
    ----------
    objective : function
        Of a vector; returns the value and the gradient.
    start : ndarray
    max_iter : int
    tol : float
        It ends when an iteration lowers the objective by less than this part of it, or less than this if it is below 1.
    monitor : Monitor
        Is told of each iteration, and may stop the descent.
    """
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 0.0, "maxls": 30}
    return minimised(objective, start, monitor.on_iteration, **options)
