"""Logistic regression on samples that are read block by block, so that they need not fit in memory.

What a sample is to be depends on its class alone: a row of ``targets`` for each training class. With the link
"softmax" that is one class among several, with "sigmoid" any number of independent answers of yes (1) and no (0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from jcmspl.data.training import TrainingData
from jcmspl.support.arguments import Float64Array, IntArray

# Normalised samples of up to so many values (256 MB) are kept in memory; more are normalised anew in each pass.
_KEPT = 2**25
# L-BFGS ends where a step lowers the objective by no more than rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps

Block = tuple[Float64Array, IntArray, Float64Array]


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
    blocks = Blocks(training)
    n_answers, n_features = targets.shape[1], training.statistics.n_features
    losses = _softmax_losses if link == "softmax" else _sigmoid_losses
    last = [0.0]

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
        last[0] = total / training.n_samples
        return last[0], gradient.ravel() / training.n_samples

    done = [0]

    def tell(_: Float64Array) -> None:
        done[0] += 1
        if on_iteration is not None:
            on_iteration(done[0], last[0])

    found = minimize(
        objective,
        np.zeros(n_answers * (n_features + 1)),
        jac=True,
        method="L-BFGS-B",
        callback=tell,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": _ROUNDING, "maxls": 50},
    )
    theta = found.x.reshape(n_answers, n_features + 1)
    weights, offsets = np.ascontiguousarray(theta[:, :-1]), np.ascontiguousarray(theta[:, -1])
    return LogisticFit(weights, offsets, max(done[0], 1), bool(found.success))


class Blocks(Iterable[Block]):
    """Normalised samples, their class numbers and what they weigh, again and again."""

    def __init__(self, training: TrainingData) -> None:
        self._training = training
        self._kept: list[Block] | None = []
        n_values = 0
        for block in self._read():
            n_values += block[0].size
            if n_values > _KEPT:
                self._kept = None
                break
            self._kept.append(block)

    def __iter__(self) -> Iterator[Block]:
        return self._read() if self._kept is None else iter(self._kept)

    def _read(self) -> Iterator[Block]:
        weights, done = self._training.sample_weights, 0
        for Z, numbers in self._training.samples():
            counts = np.ones(len(Z)) if weights is None else weights[done : done + len(Z)]
            done += len(Z)
            yield Z, numbers, counts


def _softmax_losses(logits: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the loss of each sample and its gradient by the logits."""
    logits -= logsumexp(logits, axis=1, keepdims=True)
    losses = -np.einsum("ij,ij->i", logits, targets)
    return losses, np.exp(logits) - targets


def _sigmoid_losses(logits: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    losses = np.logaddexp(0, logits).sum(axis=1) - np.einsum("ij,ij->i", logits, targets)
    return losses, np.asarray(expit(logits)) - targets
