"""Smooth objectives that are sums over samples, minimised by L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.data.training import TrainingData
from jcmspl.models.classifier import ZeroShotClassifier
from jcmspl.models.descent import Objective, minimised
from jcmspl.models.monitor import Monitor
from jcmspl.models.parameters import COUNT, NOT_NEGATIVE
from jcmspl.models.weighted import WeightedBlocks
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.warn import warn_user

_BLOCK = 2048  # samples


class Block(NamedTuple):
    """Normalised samples, their class numbers and what each counts: a column, to multiply rows by."""

    samples: Float64Array
    numbers: IntArray
    weights: Float64Array


class SampleBlocks:
    """Normalised samples, block by block, as often as an iterative method asks for them."""

    def __init__(self, training: TrainingData) -> None:
        self.class_vectors, self.classes = training.class_vectors, training.classes
        self.n_features = training.statistics.n_features
        self.total_weight = training.n_samples
        self.mean_square = training.sample_length**2 / self.n_features  # of a feature
        self._blocks = WeightedBlocks(training, _BLOCK)

    def __iter__(self) -> Iterator[Block]:
        return (Block(Z, numbers, weights[:, None]) for Z, numbers, weights in self._blocks)


@dataclass(kw_only=True, eq=False, repr=False)
class Descent(ZeroShotClassifier):
    """A method that is fitted to samples by L-BFGS."""

    max_iter: int = field(default=100, metadata=COUNT)
    tol: float = field(default=1e-4, metadata=NOT_NEGATIVE)

    NEEDS: ClassVar[str] = "samples"
    READS_WEIGHTS: ClassVar[bool] = True

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
        """Whether the gradient at the end is below tol times that at the start."""
        return bool(self._array("converged"))

    def _prepare(self, training: TrainingData) -> Any:
        return SampleBlocks(training)

    def _minimised(
        self, objective: Objective, start: Float64Array, monitor: Monitor
    ) -> tuple[Float64Array, dict[str, Float64Array]]:
        """Return where the objective is least, and the arrays objective and converged."""
        value, gradient = objective(start)
        first = float(np.abs(gradient).max(initial=0))
        options = {"maxiter": self.max_iter, "maxfun": 20 * self.max_iter, "ftol": 0.0, "gtol": self.tol * first}
        found = minimised(objective, start, monitor.on_iteration, **options)
        if not np.isfinite(found.value):
            raise DivergenceError("the objective overflows: scale the data down, or raise the penalty")
        converged = float(np.abs(found.gradient).max(initial=0) <= self.tol * first)
        return found.point, {"objective": np.array(found.values or [value]), "converged": np.array(converged)}

    def _warn_of_result(self) -> None:
        if not self.converged_ and self.tol > 0:
            warn_user(
                f"the fit stopped after {self.n_iter_} iterations, before it converged. Raise max_iter "
                f"(now {self.max_iter}), or tol if the predictions are good as they are; a larger penalty makes it "
                "converge sooner.",
                ConvergenceWarning,
            )
