"""Perceptrons and losses with gradients written out; rows are samples.

Arrays are of float32, or of whatever type the parameters have: gradients are tested in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.support.arguments import Float64Array, IntArray

Array = npt.NDArray[Any]
#: The slope of an activation below zero.
SLOPES = {"linear": 1.0, "relu": 0.0, "leaky": 0.2}


@dataclass(eq=False)
class Perceptron:
    """Dense layers, ``Z = phi(Z W' + b)``.

    Attributes
    ----------
    weights : list of ndarray of shape (n_outputs, n_inputs)
    biases : list of ndarray of shape (n_outputs,)
    activations : tuple of str
        Of each layer: keys of SLOPES.
    dropout : tuple of float
        Of each layer: the share of its outputs that are zero in training.
    """

    weights: list[Array]
    biases: list[Array]
    activations: tuple[str, ...]
    dropout: tuple[float, ...] = ()

    @classmethod
    def drawn(
        cls,
        sizes: Sequence[int],
        activations: Sequence[str],
        start: str | float,
        rng: np.random.RandomState,
        dropout: Sequence[float] = (),
    ) -> Perceptron:
        """Return a network of float32 with random weights and biases of zero.

        ``start`` names the scale of weights: "he", normal of variance 2 / inputs; "glorot", uniform of variance
        2 / (inputs + outputs); "half_glorot", half of these; or a number, normal of that deviation.
        """
        pairs = list(pairwise(sizes))
        weights = [_drawn(rng, (n_out, n_in), start).astype(np.float32) for n_in, n_out in pairs]
        biases = [np.zeros(n_out, dtype=np.float32) for _, n_out in pairs]
        return cls(weights, biases, tuple(activations), tuple(dropout))

    @property
    def parameters(self) -> list[Array]:
        """All weights, then all biases."""
        return [*self.weights, *self.biases]

    def __call__(self, X: Array) -> Array:
        """Return the outputs, without dropout."""
        return self.forward(X)[0]

    def forward(self, X: Array, dropout: np.random.RandomState | None = None) -> tuple[Array, list[Any]]:
        """Return the outputs, and for :meth:`backward` the inputs of each layer with the slopes at its outputs."""
        Z, trace = X, []
        for i, (W, b, activation) in enumerate(zip(self.weights, self.biases, self.activations, strict=True)):
            U = Z @ W.T
            U += b
            M = None
            if activation != "linear":
                M = slopes(U, activation)
                share = self.dropout[i] if dropout is not None and self.dropout else 0.0
                if dropout is not None and share:
                    M *= (dropout.random_sample(U.shape) >= share).astype(U.dtype) / U.dtype.type(1 - share)
                U *= M
            trace.append((Z, M))
            Z = U
        return Z, trace

    def backward(self, dY: Array, trace: list[Any], *, to_input: bool = False) -> tuple[list[Array], Array]:
        """Return the gradients by the parameters, and by the inputs if wanted, given that by the outputs."""
        of_weights: list[Array] = []
        of_biases: list[Array] = []
        for i, (Z, M) in reversed(list(enumerate(trace))):
            if M is not None:
                dY = dY * M
            of_weights.insert(0, dY.T @ Z)
            of_biases.insert(0, dY.sum(axis=0))
            if i or to_input:
                dY = dY @ self.weights[i]
        return [*of_weights, *of_biases], dY


def _drawn(rng: np.random.RandomState, shape: tuple[int, int], start: str | float) -> Float64Array:
    n_out, n_in = shape
    if start in ("glorot", "half_glorot"):
        bound = np.sqrt(6 / (n_in + n_out)) * (1.0 if start == "glorot" else 0.5)
        return rng.uniform(-bound, bound, size=shape)
    return rng.standard_normal(shape) * (np.sqrt(2 / n_in) if start == "he" else float(start))


def slopes(U: Array, activation: str) -> Array:
    """Return the slopes of an activation."""
    found: Array = np.where(U > 0, U.dtype.type(1), U.dtype.type(SLOPES[activation]))
    return found


def softmax_loss(logits: Array, labels: IntArray) -> tuple[float, Array]:
    """Return the mean cross-entropy, and its gradient by the logits."""
    rows = np.arange(len(logits))
    shifted = logits - logits.max(axis=1, keepdims=True)
    shares = np.exp(shifted)
    totals = shares.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(totals[:, 0]) - shifted[rows, labels]))
    shares /= totals
    shares[rows, labels] -= 1
    shares /= len(logits)
    return loss, shares


def squared_loss(found: Array, wanted: Array) -> tuple[float, Array]:
    """Return the mean over rows of ``|found - wanted|^2 / 2``, and its gradient by what was found."""
    difference = found - wanted
    return float(np.vdot(difference, difference)) / (2 * len(found)), difference / len(found)


def absolute_loss(found: Array, wanted: Array) -> tuple[float, Array]:
    """Return the mean over rows of ``|found - wanted|_1``, and its gradient by what was found."""
    difference = found - wanted
    return float(np.abs(difference).sum()) / len(found), np.sign(difference) / len(found)


@dataclass(frozen=True, eq=False)
class Latent:
    """Normal distributions with a diagonal covariance, a row for each sample, and a draw from each.

    ``codes`` are means and logarithms of variances, side by side; the latter are cut off at plus and minus LIMIT.
    """

    codes: Array
    noise: Array

    LIMIT = 8.0

    @property
    def size(self) -> int:
        """The number of dimensions."""
        return int(self.codes.shape[1] // 2)

    @property
    def means(self) -> Array:
        """The means."""
        return self.codes[:, : self.size]

    @property
    def logs(self) -> Array:
        """The logarithms of variances."""
        return np.clip(self.codes[:, self.size :], -self.LIMIT, self.LIMIT)

    @property
    def drawn(self) -> Array:
        """The draws, ``mean + deviation * noise``."""
        found: Array = self.means + np.exp(self.logs / 2) * self.noise
        return found

    def divergence(self) -> tuple[float, Array]:
        """Return the mean over rows of KL from the standard normal distribution, and its gradient by the codes."""
        means, logs = self.means, self.logs
        variances = np.exp(logs)
        loss = 0.5 * float(np.sum(variances + means * means - 1 - logs)) / len(means)
        return loss, self.gradient(means / len(means), (variances - 1) / (2 * len(means)))

    def gradient_of_draws(self, by_draws: Array) -> Array:
        """Return the gradient by the codes, given that by the draws."""
        return self.gradient(by_draws, by_draws * self.noise * np.exp(self.logs / 2) / 2)

    def gradient(self, by_means: Array, by_logs: Array) -> Array:
        """Return the gradient by the codes; there is none by a logarithm that was cut off."""
        inside = np.abs(self.codes[:, self.size :]) < self.LIMIT
        return np.hstack([by_means, by_logs * inside])
