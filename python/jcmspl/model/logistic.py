"""Logistic regression on samples that are read block by block, so that they need not fit in memory.

What a sample is to be depends on its class alone: a row of ``targets`` for each training class. With the link
"softmax" that is one class among several, with "sigmoid" any number of independent answers of yes (1) and no (0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from jcmspl.core.statistics import Statistics
from jcmspl.model.lbfgs import minimised
from jcmspl.model.moments import GramBasis
from jcmspl.model.weighted import Block
from jcmspl.support.arguments import Float64Array

# L-BFGS ends where a step lowers the objective by no more than rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps


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
    *,
    link: str,
    penalty: float,
    max_iter: int,
    tol: float,
    on_iteration: Callable[[int, float], None] | None = None,
) -> LogisticFit:
    """Minimise ``sum of losses + penalty / 2 |weights|^2`` by L-BFGS.

    The descent is in coordinates of the weights in which samples are centred and uncorrelated, and the objective about
    as curved everywhere: where a few directions hold most of the scatter, it takes far fewer iterations.

    Parameters
    ----------
    samples : iterable of blocks
        Read again in each iteration.
    statistics : Statistics
        Theirs.
    targets : ndarray of shape (n_classes, n_answers)
    link : {"softmax", "sigmoid"}
    penalty : float
        The inverse of scikit-learn's C.
    max_iter : int
    tol : float
        It has converged where no entry of the gradient of the mean loss, in these coordinates, is larger.
    on_iteration : function of the number and the objective of an iteration, optional
        What it raises stops the fit.
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

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": _ROUNDING, "maxls": 50}
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
