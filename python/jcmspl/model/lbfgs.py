"""L-BFGS: descent on smooth objectives of many variables, such as sums over samples, watched by a monitor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from jcmspl.data.training import TrainingData
from jcmspl.model.iterations import Iterative, course
from jcmspl.model.monitor import Monitor
from jcmspl.model.named_arrays import NamedArrays
from jcmspl.model.weighted import WeightedBlocks
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.exceptions import DivergenceError

_BLOCK = 2048  # samples

#: Returns the value and the gradient of an objective.
Objective = Callable[[Float64Array], tuple[float, Float64Array]]


class Minimum(NamedTuple):
    """The end of a descent."""

    point: Float64Array
    value: float
    gradient: Float64Array
    values: list[float]  #: after each iteration, or at the start if there was none
    converged: bool  #: it ended before it was out of iterations


def minimised(
    objective: Objective, start: Float64Array, on_iteration: Callable[[int, float], None] | None, **options: Any
) -> Minimum:
    """Run L-BFGS with options of SciPy; an exception that on_iteration raises stops it."""
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
    """Run L-BFGS until an iteration gains little.

    Parameters
    ----------
    objective : function
        Of a vector; returns the value and the gradient.
    start : ndarray
    max_iter : int
    tol : float
        It ends when an iteration lowers the objective by less than this part of it, or less than this if it is below 1.
    monitor : Monitor
        Its ``on_iteration`` is called after each iteration, and may raise to stop the descent.
    """
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 0.0, "maxls": 30}
    return minimised(objective, start, monitor.on_iteration, **options)


class Block(NamedTuple):
    """Normalised samples, their class numbers, and their weights as a column, to multiply rows by."""

    samples: Float64Array
    numbers: IntArray
    weights: Float64Array


class SampleBlocks:
    """Normalised samples, block by block, for any number of passes."""

    def __init__(self, training: TrainingData) -> None:
        self.class_vectors, self.classes = training.class_vectors, training.classes
        self.n_features = training.statistics.n_features
        self.total_weight = training.n_samples
        self.mean_square = training.sample_length**2 / self.n_features  # of a feature
        self._blocks = WeightedBlocks(training, _BLOCK)

    def __iter__(self) -> Iterator[Block]:
        return (Block(Z, numbers, weights[:, None]) for Z, numbers, weights in self._blocks)


def fitted_by_descent(
    model: Iterative, objective: Objective, start: Float64Array, monitor: Monitor
) -> tuple[Float64Array, NamedArrays]:
    """Return the minimum and the arrays of the course; it converges when the gradient is below tol times the first."""
    _, gradient = objective(start)
    first = float(np.abs(gradient).max(initial=0))
    options = {"maxiter": model.max_iter, "maxfun": 20 * model.max_iter, "ftol": 0.0, "gtol": model.tol * first}
    found = minimised(objective, start, monitor.on_iteration, **options)
    if not np.isfinite(found.value):
        raise DivergenceError("the objective overflows: scale the data down, or raise the penalty")
    converged = float(np.abs(found.gradient).max(initial=0)) <= model.tol * first
    return found.point, course(found.values, converged=converged)
