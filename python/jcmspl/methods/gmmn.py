"""A generator whose samples have the moments of real ones."""

from __future__ import annotations

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.parameters import COUNT, SHARE, NamedArrays, estimator, field
from jcmspl.networks.generated import Generated, Generator
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array

# Widths of the kernels, in units of the mean squared distance of two samples of a class.
_WIDTHS = (0.125, 0.25, 0.5, 1.0, 2.0)
# Samples of a class in a batch, at most.
_MOST = 64
# The deviation of first weights. Larger ones leave a random part in predictions for classes that were not trained on.
_START = 0.01


@estimator
class GMMN(Generated, NetworkMethod):
    r"""Generative moment matching network, after Bucher, Herbin, Jurie (2017).

    ``min over G of the mean over classes of MMD(G(a, z), x)``, the maximum mean discrepancy of generated and real
    samples of a class by a sum of five Gaussian kernels. All classes count the same.

    Loss (with its root), dropout, leaky activations, first weights and batches of one class are the authors'. Theirs
    are two hidden layers of 8192, kernel widths for their features and a softmax head; ours are one hidden layer,
    widths relative to the scatter within classes, whitened samples and the cosine with generated means.

    Parameters
    ----------
    noise_size : int
        The length of the noise.
    dropout : float
        The share of hidden units that are left out in a step.
    """

    noise_size: int = field(default=15, metadata=COUNT)
    dropout: float = field(default=0.5, metadata=SHARE)
    learning_rate: float = 2e-4
    max_iter: int = 20

    EXAMPLE = "hidden=64, max_iter=10, learning_rate=0.003"
    PAPER = "Bucher, Herbin, Jurie (2017): Generating Visual Representations for Zero-Shot Classification"
    COST = 200.0

    def _trainer(self, data: NetworkData, streams: Streams) -> GMMNTrainer:
        generator = Generator.drawn(self, data, streams, self.noise_size, _START, (min(self.dropout, 0.95), 0.0))
        return GMMNTrainer(generator, data, self.learning_rate, streams)


class GMMNTrainer:
    """The generator in training."""

    def __init__(self, generator: Generator, data: NetworkData, learning_rate: float, streams: Streams) -> None:
        self.generator, self._data, self._streams = generator, data, streams
        self._adam = Adam(generator.network.parameters, learning_rate)
        self._rows = data.rows_of_classes()
        deviations = data.samples - data.means[data.numbers]
        scatter = 2 * float(np.vdot(deviations, deviations)) / len(deviations)
        self._widths = [width * (scatter or data.n_features) for width in _WIDTHS]

    def epoch(self) -> float:
        """Take a step for each class, and return the mean loss."""
        return float(np.mean([self._step(k) for k in self._streams.batches.permutation(len(self._rows))]))

    def _step(self, k: int) -> float:
        real = self._data.samples[self._data.some_of(self._rows[k], _MOST, self._streams.batches)]
        vectors = np.broadcast_to(self._data.class_vectors[k], (len(real), self._data.n_attributes))
        network = self.generator.network
        found, trace = network.forward(self.generator.inputs(vectors), self._streams.noise)
        loss, by_found = discrepancy(found, real, self._widths)
        self._adam.step(network.backward(by_found, trace)[0])
        return loss

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return self.generator.arrays()


def discrepancy(found: Array, real: Array, widths: list[float]) -> tuple[float, Array]:
    """Return the maximum mean discrepancy, and its gradient by the generated samples.

    The kernel is ``sum over widths w of exp(-|p - q|^2 / (2 w))``; means include pairs of a sample with itself.
    """
    n, n_real = len(found), len(real)
    both = np.vstack([found, real])
    squares = np.einsum("ij,ij->i", both, both)
    distances = np.maximum(squares[:, None] + squares - 2 * (both @ both.T), 0)
    np.fill_diagonal(distances, 0)
    kernel, slope = np.zeros_like(distances), np.zeros_like(distances[:n])
    for width in widths:
        part = np.exp(distances / (-2 * width))
        kernel += part
        slope += part[:n] / width
    signs = np.repeat(np.array([1 / n, -1 / n_real], dtype=found.dtype), [n, n_real])
    root = float(np.sqrt(max(float(signs @ kernel @ signs), 1e-12)))
    slope *= signs
    return root, (slope @ both - slope.sum(axis=1, keepdims=True) * found) / (n * root)
