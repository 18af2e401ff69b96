"""The critic of a Wasserstein generative adversarial network, with its gradient penalty in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jcmspl.networks.perceptron import Array, Perceptron, slopes


class CriticLoss(NamedTuple):
    """The loss of a critic, its gradients, and the mean length of the critic's gradient by interpolated samples."""

    value: float
    gradients: list[Array]
    norm: float


class Critic:
    """``D(x, a) = v'phi(H x + K a + b)``: how real a sample looks of a class with the vector a.

    A constant would cancel everywhere, so there is none.
    """

    def __init__(self, weights: Array, bias: Array, output: Array) -> None:
        self.weights, self.bias, self.output = weights, bias, output

    @classmethod
    def drawn(cls, n_features: int, n_attributes: int, hidden: int, rng: np.random.RandomState) -> Critic:
        """Return a critic with random weights of deviation 0.02."""
        network = Perceptron.drawn((n_features + n_attributes, hidden, 1), ("leaky", "linear"), 0.02, rng)
        return cls(network.weights[0], network.biases[0], network.weights[1][0].copy())

    @property
    def parameters(self) -> list[Array]:
        """[H K], b and v."""
        return [self.weights, self.bias, self.output]

    def __call__(self, samples: Array, vectors: Array) -> Array:
        """Return the values of the critic."""
        U = np.hstack([samples, vectors]) @ self.weights.T + self.bias
        return np.asarray((U * slopes(U, "leaky")) @ self.output)

    def loss(self, real: Array, generated: Array, vectors: Array, mix: Array, penalty: float) -> CriticLoss:
        """Return mean D(generated) - mean D(real) + penalty mean (|g| - 1)^2.

        g is the gradient of D by the samples ``mix * real + (1 - mix) * generated``; mix has a column. Where slopes do
        not change g = H'(v * slopes), so that the gradients of the penalty are products, too.
        """
        B, m = real.shape
        W, v = self.weights, self.output
        inputs = np.vstack([np.hstack([real, vectors]), np.hstack([generated, vectors])])
        U = inputs @ W.T
        U += self.bias
        M = slopes(U, "leaky")
        T = slopes(mix * U[:B] + (1 - mix) * U[B:], "leaky")  # layers of mixtures are mixtures of layers
        sign = np.repeat(np.array([-1, 1], dtype=U.dtype) / B, B)
        by_values = M * v
        by_values *= sign[:, None]
        value = float(np.sum(by_values * U))
        of_output = sign @ (M * U)
        G = (T * v) @ W[:, :m]
        norms = np.sqrt(np.einsum("ij,ij->i", G, G))[:, None] + U.dtype.type(1e-12)
        R = G * ((2 * penalty / B) * (norms - 1) / norms)
        of_output += np.sum(T * (R @ W[:, :m].T), axis=0)
        of_weights = by_values.T @ inputs
        T *= v
        of_weights[:, :m] += T.T @ R
        value += penalty * float(np.mean((norms - 1) ** 2))
        return CriticLoss(value, [of_weights, by_values.sum(axis=0), of_output], float(norms.mean()))

    def by_samples(self, samples: Array, vectors: Array) -> tuple[float, Array]:
        """Return the mean of -D, and its gradient by the samples."""
        U = np.hstack([samples, vectors]) @ self.weights.T + self.bias
        by_layer = slopes(U, "leaky")
        by_layer *= -self.output / len(samples)
        return float(np.sum(by_layer * U)), by_layer @ self.weights[:, : samples.shape[1]]
