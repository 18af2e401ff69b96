"""A perceptron of class vectors whose layers are standardised over classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, POSITIVE_WEIGHT, NamedArrays, Shape, estimator, field
from jcmspl.model.visual_prototypes import VisualPrototypes
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array, softmax_loss
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.scaling import unit_length

# Added to variances over classes; the share of the present classes in running means and variances.
_LEAST, _MOMENTUM = 1e-5, 0.1
_SHAPES: dict[str, Shape] = {
    "layer_1": ("h", "d"),
    "layer_1_bias": ("h",),
    "layer_2": ("h", "h"),
    "layer_2_bias": ("h",),
    "layer_3": ("m", "h"),
    "layer_3_bias": ("m",),
}
_RUNNING: dict[str, Shape] = {f"{name}_{i}": ("h",) for i in (1, 2) for name in ("running_mean", "running_variance")}


@estimator
class CNZSL(VisualPrototypes, NetworkMethod):
    r"""Class normalisation, CN-ZSL (Skorokhodov, Elhoseiny, 2021): a deep softmax that needs no calibration.

    ``min of the mean over samples of -log softmax(scale^2 cos(x, p(a_j)))_y`` over training classes j. The prototype
    p(a) is ``relu(W3 CS(relu(CS(W2 relu(W1 a)))))``, without the last relu if a feature is negative, where CS
    standardises each unit over the training classes:
    ``(u - mean) / (variance + 1e-5)``. Prediction uses running means and variances of training, so that a class does
    not depend on other candidates.

    Network, loss, first weights, Adam with its decay and schedule are the authors', and samples are neither centred nor
    whitened as theirs. Batches are drawn as often as samples weigh.

    Parameters
    ----------
    scale : float
        The paper's γ.
    decay : float
        Penalty of all weights.
    batch_size : int
        The number of samples in a step.
    max_iter
        The number of epochs; from half of them on the learning rate is a tenth.
    """

    scale: float = field(default=5.0, kw_only=False, metadata=POSITIVE_WEIGHT)
    decay: float = field(default=1e-4, metadata=NOT_NEGATIVE)
    batch_size: int = field(default=256, metadata=COUNT)
    feature_normalisation: str = "sample_l2"
    class_normalisation: str = "sample_l2"
    whitening_components: Any = None
    learning_rate: float = 5e-4
    max_iter: int = 50

    LINEAR = True
    EXAMPLE = "hidden=64, max_iter=20, learning_rate=0.005"
    PAPER = "Skorokhodov, Elhoseiny (2021): Class Normalization for (Continual)? Generalized Zero-Shot Learning"
    COST = 400.0
    GRID = {"scale": (3.0, 5.0, 8.0)}
    ARRAYS = {**_SHAPES, **_RUNNING, "rectified": (), **NetworkMethod.COMMON}

    @property
    def own_metric(self) -> Any:
        """Samples are compared by cosines, as in training."""
        return "cosine"

    def _trainer(self, data: NetworkData, streams: Streams) -> CNZSLTrainer:
        return CNZSLTrainer(self, data, streams)

    def _predicted(self, vectors: Float64Array) -> Float64Array:
        arrays = {name: self.arrays_[name].astype(np.float64) for name in (*_SHAPES, *_RUNNING)}
        network = StandardisedNetwork(
            [arrays[name] for name in _SHAPES],
            [(arrays[f"running_mean_{i}"], arrays[f"running_variance_{i}"]) for i in (1, 2)],
            bool(self.arrays_["rectified"]),
        )
        rows, which = np.unique(self._class_inputs(vectors), axis=0, return_inverse=True)  # equal classes must tie
        return unit_length(network(rows)[which.reshape(-1)])


class Standardised(NamedTuple):
    """Units over classes, centred and divided by their variances, and what :meth:`backward` needs."""

    outputs: Array
    centred: Array
    variances: Array

    @classmethod
    def of(cls, U: Array) -> Standardised:
        """Standardise units by the classes that are there."""
        centred = U - U.mean(axis=0)
        variances = np.einsum("ij,ij->j", centred, centred) / max(len(U) - 1, 1) + U.dtype.type(_LEAST)
        return cls(centred / variances, centred, variances)

    def backward(self, dY: Array) -> Array:
        """Return the gradient by the units."""
        by_scaled = dY / self.variances
        of_variances = 2 / max(len(dY) - 1, 1) * np.einsum("ij,ij->j", dY, self.centred) / self.variances**2
        return np.asarray(by_scaled - by_scaled.mean(axis=0) - self.centred * of_variances)


@dataclass(eq=False)
class StandardisedNetwork:
    """The map of class vectors to prototypes: weights and biases of three layers, running means and variances."""

    parameters: list[Array]
    running: list[tuple[Array, Array]]
    rectified: bool

    @classmethod
    def drawn(
        cls, n_attributes: int, hidden: int, n_features: int, rng: np.random.RandomState, *, rectified: bool
    ) -> StandardisedNetwork:
        """Return a network with the authors' first weights."""
        bounds = (1 / np.sqrt(n_attributes), 1 / np.sqrt(hidden), np.sqrt(3 / (hidden * n_features)))
        shapes = ((hidden, n_attributes), (hidden, hidden), (n_features, hidden))
        parameters: list[Array] = []
        for bound, shape in zip(bounds, shapes, strict=True):
            parameters.append(rng.uniform(-bound, bound, size=shape).astype(np.float32))
            parameters.append(np.zeros(shape[0], dtype=np.float32))
        start = np.zeros(hidden, dtype=np.float32), np.ones(hidden, dtype=np.float32)
        return cls(parameters, [start, start], rectified)

    def __call__(self, vectors: Array) -> Array:
        """Return prototypes by running means and variances."""
        W1, b1, W2, b2, W3, b3 = self.parameters
        (mean1, variance1), (mean2, variance2) = self.running
        U = np.maximum(vectors @ W1.T + b1, 0) @ W2.T + b2
        Z = np.maximum((U - mean1) / (variance1 + _LEAST), 0)
        found: Array = (Z - mean2) / (variance2 + _LEAST) @ W3.T + b3
        return np.maximum(found, 0) if self.rectified else found

    def loss(
        self, vectors: Array, samples: Array, numbers: IntArray, scale: float, *, moving: bool = False
    ) -> tuple[float, list[Array]]:
        """Return the mean loss of samples of length one, and its gradients by the parameters.

        ``moving``: whether running means and variances follow.
        """
        W1, b1, W2, b2, W3, b3 = self.parameters
        Z1 = np.maximum(vectors @ W1.T + b1, 0)
        U2 = Z1 @ W2.T + b2
        first = Standardised.of(U2)
        Z2 = np.maximum(first.outputs, 0)
        second = Standardised.of(Z2)
        P = second.outputs @ W3.T + b3
        if self.rectified:
            np.maximum(P, 0, out=P)
        if moving:
            layers = zip(self.running, (U2, Z2), (first, second), strict=True)
            self.running = [
                (
                    (1 - _MOMENTUM) * mean + _MOMENTUM * U.mean(axis=0),
                    (1 - _MOMENTUM) * old + _MOMENTUM * (one.variances - _LEAST),
                )
                for (mean, old), U, one in layers
            ]
        lengths = np.sqrt(np.einsum("ij,ij->i", P, P))[:, None] + P.dtype.type(1e-12)
        P /= lengths
        loss, by_logits = softmax_loss(scale**2 * (samples @ P.T), numbers)
        by_units = scale**2 * (by_logits.T @ samples)
        dP = (by_units - np.einsum("ij,ij->i", by_units, P)[:, None] * P) / lengths
        if self.rectified:
            dP *= P > 0
        d2 = first.backward(second.backward(dP @ W3) * (first.outputs > 0))
        d1 = (d2 @ W2) * (Z1 > 0)
        gradients = [d1.T @ vectors, d1.sum(axis=0), d2.T @ Z1, d2.sum(axis=0), dP.T @ second.outputs, dP.sum(axis=0)]
        return loss, gradients


class CNZSLTrainer:
    """The network in training."""

    def __init__(self, model: CNZSL, data: NetworkData, streams: Streams) -> None:
        self._model, self._data, self._streams, self._done = model, data, streams, 0
        rectified = not np.any(data.samples < 0)
        self.network = StandardisedNetwork.drawn(
            data.n_attributes, model.hidden, data.n_features, streams.weights, rectified=rectified
        )
        self._adam = Adam(self.network.parameters, model.learning_rate, decay=model.decay)
        lengths = np.linalg.norm(data.samples, axis=1, keepdims=True)
        self._samples = data.samples / np.where(lengths > 0, lengths, 1)

    def epoch(self) -> float:
        """Learn from as many samples as there are, and return the mean loss."""
        if 2 * self._done >= self._model.max_iter:
            self._adam.learning_rate = self._model.learning_rate / 10
        self._done += 1
        data, losses = self._data, []
        for rows in data.batches(self._model.batch_size, self._streams.batches):
            loss, gradients = self.network.loss(
                data.class_vectors, self._samples[rows], data.numbers[rows], self._model.scale, moving=True
            )
            self._adam.step(gradients)
            losses.append(loss)
        return float(np.mean(losses))

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        arrays = dict(zip(_SHAPES, self.network.parameters, strict=True))
        for i, (mean, variance) in enumerate(self.network.running, start=1):
            arrays |= {f"running_mean_{i}": mean, f"running_variance_{i}": variance}
        arrays["rectified"] = np.array(self.network.rectified)
        return {name: np.asarray(array, dtype=np.float32) for name, array in arrays.items()}
