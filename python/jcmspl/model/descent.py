"""Smooth objectives that are sums over samples, minimised by L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.iterations import Iterative, course
from jcmspl.model.lbfgs import Objective, minimised
from jcmspl.model.monitor import Monitor
from jcmspl.model.named_arrays import NamedArrays
from jcmspl.model.weighted import WeightedBlocks
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.exceptions import DivergenceError

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
class Descent(Iterative):
    """A method that is fitted to samples by L-BFGS, until the gradient is below tol times that at the start.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations of L-BFGS.
    tol : float
        Stop when no entry of the gradient is larger than this part of the largest one at the start.
    """

    NEEDS: ClassVar[str] = "samples"
    READS_WEIGHTS: ClassVar[bool] = True

    def _prepare(self, training: TrainingData) -> Any:
        return SampleBlocks(training)

    def _minimised(
        self, objective: Objective, start: Float64Array, monitor: Monitor
    ) -> tuple[Float64Array, NamedArrays]:
        """Return where the objective is least, and the course there."""
        _, gradient = objective(start)
        first = float(np.abs(gradient).max(initial=0))
        options = {"maxiter": self.max_iter, "maxfun": 20 * self.max_iter, "ftol": 0.0, "gtol": self.tol * first}
        found = minimised(objective, start, monitor.on_iteration, **options)
        if not np.isfinite(found.value):
            raise DivergenceError("the objective overflows: scale the data down, or raise the penalty")
        converged = float(np.abs(found.gradient).max(initial=0)) <= self.tol * first
        return found.point, course(found.values, converged=converged)
