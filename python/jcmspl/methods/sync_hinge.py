"""Synthesised classifiers with hinge losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from jcmspl.data.training import TrainingData
from jcmspl.methods.sync import classifiers_by_least_squares
from jcmspl.model.iterations import Iterative, Minimum, WeightedBlocks, course, minimised
from jcmspl.model.kinds import Synthesised, learnt
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import NamedArrays, estimator, field, one_of_names
from jcmspl.support.arguments import Float64Array, IntArray

LOSSES = ("one_versus_other", "crammer_singer", "structured")
# The largest violation is smooth within this part of a margin; a coarser one first leads there sooner.
_SMOOTHNESS = (0.3, 0.03)

#: From scores and class numbers to the loss of each sample and its derivatives by the scores.
Loss = Callable[[Float64Array, IntArray], tuple[Float64Array, Float64Array]]


@estimator
class SynCHinge(Iterative, Synthesised):
    r"""Synthesised classifiers (Changpinyo, Chao, Gong, Sha, 2016), with one of the hinge losses of the paper.

    Losses, normalisation and phantom classes (the seen ones) are as published. Classifiers w of seen classes are learnt
    by L-BFGS, in coordinates in which samples are uncorrelated, starting from those of :class:`SynC`. The largest
    violation of a margin is replaced by a smooth function that exceeds it by 0.03 log c of the margin at most.

    Parameters
    ----------
    penalty : float
        The paper's λ: ``penalty / 2 |W|^2`` is added to the loss. It must be above 0. The last two
        losses are not divided by the number of classes, and want a penalty that is so much larger.
    loss : {"one_versus_other", "crammer_singer", "structured"}
        ``mean max(0, 1 - t w_j'x)^2`` over samples and classes, with t = 1 for the own class and -1 for others; or
        ``mean max_j max(0, m_j + w_j'x - w'x)`` over samples, with w that of the own class, and m_j = 1 or, structured,
        the distance of the vectors of both classes.
    max_iter
        Of each of two stages, where the loss has a largest violation.
    tol
        Stop when an iteration lowers the objective by less than this, or by less than this part of one above 1.

    Attributes
    ----------
    objective_
        After each iteration; smoother in the first stage than in the second.
    """

    loss: str = field(default="one_versus_other", metadata=one_of_names(LOSSES))
    max_iter: int = 1000
    tol: float = 1e-5

    NEEDS = "samples"
    READS_WEIGHTS = True
    EXAMPLE = 'loss="crammer_singer", penalty=1e-3'
    PAPER = "Changpinyo, Chao, Gong, Sha (2016): Synthesized Classifiers for Zero-Shot Learning"
    GRID = {"penalty": tuple(2.0**power for power in (-20, -16, -12)), "tau": (0.25, 0.5, 1.0, 2.0)}
    ARRAYS = {**Synthesised.ARRAYS, **Iterative.COURSE}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty == 0:
            raise ValueError(
                "penalty must be above 0 for hinge losses, but is 0: without it classifiers are not unique"
            )

    def _prepare(self, training: TrainingData) -> Any:
        return _Prepared(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        W = classifiers_by_least_squares(prepared, self.penalty)
        margins = np.ones(2 * (len(W),))
        if self.loss == "structured":
            phantoms = learnt(W, prepared.vectors)["phantoms"]
            margins = cdist(phantoms, phantoms)
        stages: list[Loss] = [_one_versus_other]
        if self.loss != "one_versus_other":
            stages = [_LargestViolation(margins, smoothness) for smoothness in _SMOOTHNESS]
        objective: list[float] = []
        for loss in stages:
            W, found = self._minimised(prepared, loss, W, monitor)
            objective += found.values
        return learnt(W, prepared.vectors) | course(objective, converged=found.converged)

    def _minimised(
        self, prepared: _Prepared, loss: Loss, start: Float64Array, monitor: Monitor
    ) -> tuple[Float64Array, Minimum]:
        """Return classifiers, and how they were found."""
        basis, shape = prepared.uncorrelated(self.penalty), (len(start), -1)

        def objective(flat: Float64Array) -> tuple[float, Float64Array]:
            W = flat.reshape(shape) @ basis.T
            value, gradient = prepared.mean_loss(loss, W)
            value += self.penalty / 2 * float(np.vdot(W, W))
            return value, np.ravel((gradient + self.penalty * W) @ basis)

        coordinates: Float64Array = np.asarray(np.linalg.lstsq(basis, start.T, rcond=None)[0].T, dtype=np.float64)
        options = {"maxiter": self.max_iter, "maxfun": 20 * self.max_iter, "ftol": self.tol, "gtol": 0.0, "maxcor": 20}
        found = minimised(objective, coordinates.ravel(), monitor.tell_of_iteration, **options)
        return found.point.reshape(shape) @ basis.T, found


class _Prepared(Moments):
    """Moments, and the samples that losses are summed over."""

    def __init__(self, training: TrainingData) -> None:
        super().__init__(training)
        self._blocks = WeightedBlocks(training)

    def uncorrelated(self, penalty: float) -> Float64Array:
        """Return the coordinates, as columns, in which the curvature of the objective is about the same everywhere."""
        curvatures = self.visual.values / (self.counts.sum() * len(self.counts)) + penalty
        return np.asarray(self.visual.vectors / np.sqrt(curvatures))

    def mean_loss(self, loss: Loss, W: Float64Array) -> tuple[float, Float64Array]:
        """Return the mean loss over samples, and its gradient by W."""
        value, gradient = 0.0, np.zeros_like(W)
        for Z, numbers, weights in self._blocks:
            losses, slopes = loss(Z @ W.T, numbers)
            value += float(losses @ weights)
            gradient += (slopes * weights[:, None]).T @ Z
        n = float(self.counts.sum())
        return value / n, gradient / n


def _one_versus_other(scores: Float64Array, numbers: IntArray) -> tuple[Float64Array, Float64Array]:
    signs = np.full_like(scores, -1.0)
    signs[np.arange(len(numbers)), numbers] = 1
    violations = np.maximum(0, 1 - signs * scores)
    n_classes = scores.shape[1]
    return (violations**2).sum(axis=1) / n_classes, -2 / n_classes * signs * violations


class _LargestViolation:
    """The largest of ``m_j + s_j - s``, over all classes, s being the score of the own one; smooth."""

    def __init__(self, margins: Float64Array, smoothness: float) -> None:
        self._margins = margins - np.diag(margins.diagonal())
        self._width = smoothness * (float(self._margins.max()) or 1.0)

    def __call__(self, scores: Float64Array, numbers: IntArray) -> tuple[Float64Array, Float64Array]:
        rows = np.arange(len(numbers))
        violations = scores - scores[rows, numbers][:, None] + self._margins[numbers]
        largest = violations.max(axis=1)
        exponents = (violations - largest[:, None]) / self._width
        losses = largest + self._width * np.log(np.exp(exponents).sum(axis=1))
        slopes = softmax(exponents, axis=1)
        slopes[rows, numbers] -= 1
        return losses, slopes
