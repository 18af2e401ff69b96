"""A perceptron from class vectors to mean samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.bilinear import METRIC
from jcmspl.model.parameters import COUNT, WEIGHT, NamedArrays, estimator, field
from jcmspl.model.visual_prototypes import VisualPrototypes
from jcmspl.networks.network_method import (
    NetworkData,
    NetworkMethod,
    Streams,
    layer_arrays,
    layer_shapes,
    perceptron_of,
)
from jcmspl.networks.perceptron import Array, Perceptron
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length

_ACTIVATIONS = ("relu", "linear")


@estimator
class DEM(VisualPrototypes, NetworkMethod):
    r"""Deep embedding of class vectors among samples (Zhang, Xiang, Gong, 2017): a perceptron predicts mean samples.

    ``min over W, U of the mean over samples and features of (x - U relu(W y))^2 + decay |W, U|^2 / 2``, y the vector of
    the class of x. The inputs are those of training classes alone, so that this is the loss of mean samples, weighed by
    the number of samples, but for a constant: a fit needs statistics only, and its time does not depend on the number
    of samples.

    Loss, layers and Adam are the authors'. Theirs are a last ReLU, batches of samples and as many as a million steps;
    ours are class means, steps of all classes at once, samples that are whitened and therefore a linear output.

    Parameters
    ----------
    decay : float
        Penalty of all weights and biases.
    max_iter
        The number of steps.
    """

    decay: float = field(default=1e-3, kw_only=False, metadata=WEIGHT)
    metric: Any = field(default="cosine", metadata=METRIC)
    hidden: int = field(default=1600, metadata=COUNT)
    learning_rate: float = 3e-4
    max_iter: int = 1000

    NEEDS = "statistics"
    LINEAR = True
    EXAMPLE = "hidden=64, max_iter=300"
    PAPER = "Zhang, Xiang, Gong (2017): Learning a Deep Embedding Model for Zero-Shot Learning"
    COST = 300.0
    COMPARISON = (*VisualPrototypes.COMPARISON, "metric")
    GRID = {"decay": (1e-4, 1e-3, 1e-2)}
    ARRAYS = {**layer_shapes("predictor", "d", "h", "m"), **NetworkMethod.COMMON}

    def _trainer(self, data: NetworkData, streams: Streams) -> DEMTrainer:
        sizes = (data.n_attributes, self.hidden, data.n_features)
        network = Perceptron.drawn(sizes, _ACTIVATIONS, "he", streams.weights)
        return DEMTrainer(network, data, self.learning_rate, self.decay)

    def _predicted(self, vectors: Float64Array) -> Float64Array:
        network = perceptron_of(self.arrays_, "predictor", _ACTIVATIONS)
        # of equal vectors BLAS may round predictions differently, by their place: such classes must tie
        rows, which = np.unique(self._class_inputs(vectors), axis=0, return_inverse=True)
        found = (network(rows) / float(self._array("feature_unit")))[which.reshape(-1)]
        return unit_length(found) if self._is_by_cosine else found


class DEMTrainer:
    """The perceptron in training, on class means."""

    def __init__(self, network: Perceptron, data: NetworkData, learning_rate: float, decay: float) -> None:
        self.network, self._inputs, self._means = network, data.class_vectors, data.means
        self._weights = (data.counts / data.counts.sum()).astype(self._means.dtype)
        self._adam = Adam(network.parameters, learning_rate, decay=decay)

    def epoch(self) -> float:
        """Take a step, and return the loss before it, without the penalty."""
        loss, gradients = mean_loss(self.network, self._inputs, self._means, self._weights)
        self._adam.step(gradients)
        return loss

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return layer_arrays("predictor", self.network)


def mean_loss(network: Perceptron, inputs: Array, means: Array, weights: Array) -> tuple[float, list[Array]]:
    """Return the weighted mean over classes of the mean squared error of features, and its gradients."""
    found, trace = network.forward(inputs)
    differences = found - means
    share = weights[:, None] / differences.dtype.type(means.shape[1])
    gradients, _ = network.backward(2 * share * differences, trace)
    return float(np.sum(share * differences**2)), gradients
