"""Iterations: blocks of weighted samples, L-BFGS on sums over them, logistic regression, and how a descent went."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.statistics import Statistics
from jcmspl.data.training import TrainingData
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import GramBasis
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, NamedArrays, Shape
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.scaling import NOISE
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier as _Method
else:
    _Method = object  # a mixin beside a kind of method


@dataclass(kw_only=True, eq=False, repr=False)
class Iterative(_Method):
    """Parameters and facts of a method that iterates, and whose arrays are those of COURSE among others.

    A mixin beside a kind of method; it comes last among the bases, so that the defaults of the others count.
    """

    max_iter: int = field(default=100, metadata=COUNT)
    tol: float = field(default=1e-4, metadata=NOT_NEGATIVE)

    COURSE: ClassVar[dict[str, Shape]] = {"objective": ("i",), "converged": ()}

    @property
    def objective_(self) -> Float64Array:
        """The value of the objective after each iteration."""
        return self._array("objective")

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return len(self.objective_)

    @property
    def converged_(self) -> bool:
        """Whether iterations ended because of tol, and not of max_iter."""
        return bool(self._array("converged"))

    def _warn_of_result(self) -> None:
        if not self.tol > 0:
            return
        sooner = "; a larger penalty makes it converge sooner" if hasattr(self, "penalty") else ""
        warn_user(
            f"the fit stopped after max_iter={self.max_iter} iterations, before it converged. Raise max_iter, or tol "
            f"if the predictions are good as they are{sooner}.",
            ConvergenceWarning,
        )


def course(objective: list[float], *, converged: bool) -> NamedArrays:
    """Return the arrays of COURSE."""
    return {"objective": np.array(objective), "converged": np.array(float(converged))}


# Bytes up to which normalised samples are kept and not made anew each time.
_KEPT = 2**30

#: Normalised samples, their class numbers and their weights.
Block = tuple[Float64Array, IntArray, Float64Array]


class WeightedBlocks(Iterable[Block]):
    """Normalised samples, their class numbers and their weights, block by block, as often as a method asks for them."""

    def __init__(self, training: TrainingData, size: int = 8192) -> None:
        self._training, self._size = training, size
        small = 8 * len(training.numbers) * training.statistics.n_features <= _KEPT
        self._kept = list(weighted_samples(training, size)) if small else None

    def __iter__(self) -> Iterator[Block]:
        return weighted_samples(self._training, self._size) if self._kept is None else iter(self._kept)


def weighted_samples(training: TrainingData, size: int = 8192) -> Iterator[Block]:
    """Give normalised samples, their class numbers and their weights, a block at a time."""
    weights, first = training.sample_weights, 0
    for Z, numbers in training.samples(size):
        yield Z, numbers, np.ones(len(Z)) if weights is None else weights[first : first + len(Z)]
        first += len(Z)


def sums_by_class(rows: Float64Array, numbers: IntArray, n_classes: int) -> Float64Array:
    """Return the sum of the rows of each class."""
    labels = csr_array((np.ones(len(rows)), (numbers, np.arange(len(rows)))), shape=(n_classes, len(rows)))
    return np.asarray(labels @ rows)


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
    objective: Objective, start: Float64Array, on_iteration: Callable[[int, float], None], **options: Any
) -> Minimum:
    """Run L-BFGS with options of SciPy; an exception that on_iteration raises stops it."""
    last = [0.0]  # the value where the objective was asked for last: at the end of an iteration that is its result
    values: list[float] = []

    def watched(point: Float64Array) -> tuple[float, Float64Array]:
        last[0], gradient = objective(point)
        return last[0], gradient

    def tell(_: Float64Array) -> None:
        values.append(last[0])
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
    """Run L-BFGS until an iteration lowers the objective by less than ``tol`` of it, or than tol if it is below 1."""
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 0.0, "maxls": 30}
    return minimised(objective, start, monitor.tell_of_iteration, **options)


class SampleBlocks(WeightedBlocks):
    """Samples, and what objectives of them need besides."""

    def __init__(self, training: TrainingData) -> None:
        super().__init__(training, _BLOCK)
        self.class_vectors, self.classes = training.class_vectors, training.classes
        self.n_features, self.total_weight = training.statistics.n_features, training.n_samples
        self.mean_square = training.sample_length**2 / self.n_features  # of a feature


def fitted_by_descent(
    model: Iterative, objective: Objective, start: Float64Array, monitor: Monitor
) -> tuple[Float64Array, NamedArrays]:
    """Return the minimum and the arrays of the course; it converges when the gradient is below tol times the first."""
    _, gradient = objective(start)
    first = float(np.abs(gradient).max(initial=0))
    options = {"maxiter": model.max_iter, "maxfun": 20 * model.max_iter, "ftol": 0.0, "gtol": model.tol * first}
    found = minimised(objective, start, monitor.tell_of_iteration, **options)
    if not np.isfinite(found.value):
        raise DivergenceError("the objective overflows: scale the data down, or raise the penalty")
    converged = float(np.abs(found.gradient).max(initial=0)) <= model.tol * first
    return found.point, course(found.values, converged=converged)


class LogisticFit(NamedTuple):
    """``z @ weights[j] + offsets[j]`` is the log odds of answer j, or the log posterior of class j but for a term."""

    weights: Float64Array
    offsets: Float64Array
    n_iter: int
    converged: bool


def fit_logistic(
    samples: Iterable[Block],
    statistics: Statistics,
    targets: Float64Array,
    on_iteration: Callable[[int, float], None],
    *,
    link: str,
    penalty: float,
    max_iter: int,
    tol: float,
) -> LogisticFit:
    """Minimise ``sum of losses + penalty / 2 |weights|^2`` by L-BFGS.

    The descent is in coordinates of the weights in which samples are centred and uncorrelated, and the objective about
    as curved everywhere: where a few directions hold most of the scatter, it takes far fewer iterations. It has
    converged where no entry of the gradient of the mean loss, in these coordinates, is larger than tol.

    The target of a sample depends on its class alone: a row of ``targets`` for each training class. With the link
    "softmax" that is one class among several, with "sigmoid" any number of independent answers of yes (1) and no (0).
    """
    n, coordinates = statistics.n_samples, _Coordinates(statistics, targets.shape[1], link, penalty)
    losses = _softmax_losses if link == "softmax" else _sigmoid_losses

    def objective(flat: Float64Array) -> tuple[float, Float64Array]:
        weights, offsets = coordinates.affine(flat)
        total = penalty / 2 * float(np.vdot(weights, weights))
        of_weights, of_offsets = penalty * weights, np.zeros_like(offsets)
        for Z, numbers, counts in samples:
            loss, residuals = losses(Z @ weights.T + offsets, targets[numbers])
            total += float(loss @ counts)
            residuals *= counts[:, None]
            of_weights += residuals.T @ Z
            of_offsets += residuals.sum(axis=0)
        return total / n, coordinates.gradient(of_weights, of_offsets) / n

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": NOISE, "maxls": 50}
    found = minimised(objective, np.zeros(coordinates.size), on_iteration, **options)
    weights, offsets = coordinates.affine(found.point)
    return LogisticFit(np.ascontiguousarray(weights), offsets, len(found.values), found.converged)


class _Coordinates:
    """Weights along the principal directions of samples, in units by their scatter, and offsets at the mean sample."""

    def __init__(self, statistics: Statistics, n_answers: int, link: str, penalty: float) -> None:
        n = statistics.n_samples
        curvature = 1 / n_answers if link == "softmax" else 0.25  # of the loss, where nothing is known yet
        self._mean = statistics.class_sums.sum(axis=0) / n
        scatter = GramBasis(statistics.gram - n * np.outer(self._mean, self._mean))
        self._basis = scatter.vectors / np.sqrt((curvature * scatter.values + penalty) / n)
        self._unit = 1 / np.sqrt(curvature)
        self._shape = n_answers, self._basis.shape[1] + 1
        self.size = self._shape[0] * self._shape[1]

    def affine(self, flat: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return weights and offsets."""
        theta = flat.reshape(self._shape)
        weights = theta[:, :-1] @ self._basis.T
        return weights, self._unit * theta[:, -1] - weights @ self._mean

    def gradient(self, of_weights: Float64Array, of_offsets: Float64Array) -> Float64Array:
        """Return the gradient by the coordinates, given that by weights and offsets."""
        along = (of_weights - np.outer(of_offsets, self._mean)) @ self._basis
        return np.column_stack([along, self._unit * of_offsets]).ravel()


def _softmax_losses(logits: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the loss of each sample and its gradient by the logits."""
    logits -= logsumexp(logits, axis=1, keepdims=True)
    losses = -np.einsum("ij,ij->i", logits, targets)
    return losses, np.exp(logits) - targets


def _sigmoid_losses(logits: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    losses = np.logaddexp(0, logits).sum(axis=1) - np.einsum("ij,ij->i", logits, targets)
    return losses, np.asarray(expit(logits)) - targets
