"""Logistic regression on samples that are read block by block, so that they need not fit in memory.

What a sample is to be depends on its class alone: a row of ``targets`` for each training class. With the link
"softmax" that is one class among several, with "sigmoid" any number of independent answers of yes (1) and no (0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from jcmspl.data.training import TrainingData
from jcmspl.models.descent import minimised
from jcmspl.models.weighted import WeightedBlocks
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
    training: TrainingData,
    targets: Float64Array,
    *,
    link: str,
    penalty: float,
    max_iter: int,
    tol: float,
    on_iteration: Callable[[int, float], None] | None = None,
) -> LogisticFit:
    """Minimise ``sum of losses + penalty / 2 |weights|^2`` by L-BFGS.

    Parameters
    ----------
    training : TrainingData
        Of a method that reads samples.
    targets : ndarray of shape (n_classes, n_answers)
    link : {"softmax", "sigmoid"}
    penalty : float
        The inverse of scikit-learn's C.
    max_iter : int
    tol : float
        It has converged where no entry of the gradient, divided by the number of samples, is larger.
    on_iteration : function of the number and the objective of an iteration, optional
        What it raises stops the fit.
    """
    blocks = WeightedBlocks(training)
    n_answers, n_features = targets.shape[1], training.statistics.n_features
    losses = _softmax_losses if link == "softmax" else _sigmoid_losses

    def objective(flat: Float64Array) -> tuple[float, Float64Array]:
        theta = flat.reshape(n_answers, n_features + 1)  # the last column holds the offsets
        weights, offsets = theta[:, :-1], theta[:, -1]
        total, gradient = penalty / 2 * float(np.vdot(weights, weights)), np.zeros_like(theta)
        gradient[:, :-1] = penalty * weights
        for Z, numbers, counts in blocks:
            loss, residuals = losses(Z @ weights.T + offsets, targets[numbers])
            total += float(loss @ counts)
            residuals *= counts[:, None]
            gradient[:, :-1] += residuals.T @ Z
            gradient[:, -1] += residuals.sum(axis=0)
        return total / training.n_samples, gradient.ravel() / training.n_samples

    start = np.zeros(n_answers * (n_features + 1))
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": _ROUNDING, "maxls": 50}
    found = minimised(objective, start, on_iteration, **options)
    theta = found.point.reshape(n_answers, n_features + 1)
    weights, offsets = np.ascontiguousarray(theta[:, :-1]), np.ascontiguousarray(theta[:, -1])
    return LogisticFit(weights, offsets, max(len(found.values), 1), found.converged)


def _softmax_losses(logits: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the loss of each sample and its gradient by the logits."""
    logits -= logsumexp(logits, axis=1, keepdims=True)
    losses = -np.einsum("ij,ij->i", logits, targets)
    return losses, np.exp(logits) - targets


def _sigmoid_losses(logits: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    losses = np.logaddexp(0, logits).sum(axis=1) - np.einsum("ij,ij->i", logits, targets)
    return losses, np.asarray(expit(logits)) - targets
