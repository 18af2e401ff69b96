"""Methods that generate samples of classes from their vectors and noise, and heads that recognise by these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.model.iterations import fit_logistic
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import COUNT, POSITIVE_WEIGHT, SHARE, NamedArrays, Shape, one_of_names
from jcmspl.model.recogniser import LinearScorer
from jcmspl.model.visual_prototypes import VisualPrototypes
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import SLOPES, Array, Perceptron
from jcmspl.support.arguments import Float64Array
from jcmspl.support.names import HEADS
from jcmspl.support.scaling import unit_length

if TYPE_CHECKING:
    _Method = NetworkMethod
else:
    _Method = object  # a mixin before NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class Generated(VisualPrototypes, _Method):
    """A method that trains a generator of samples, a perceptron of a class vector and noise with one hidden layer.

    After training the same noise serves all classes and calls: samples of two classes differ by their vectors alone,
    those of a class depend on no other candidate, and few are enough for means.

    Parameters
    ----------
    head : {"cosine", "lda", "softmax"}
        How samples are compared with classes: by their cosines with the means of generated samples; by linear
        discriminant analysis with these means and the covariance within training classes; or by a softmax that is
        fitted to the generated samples of all candidates, so that scores depend on which candidates there are. It may
        be changed after a fit.
    n_generated : int
        The number of samples that are generated of a class.
    shrinkage : float
        From 0 to 1. Of "lda": the covariance is ``(1 - t) S + t tr(S) / m I``.
    head_decay : float
        Of "softmax": half of it times the squared weights is added to the mean loss, where the mean square of a
        feature is 1.
    """

    head: str = field(default="cosine", metadata=one_of_names(HEADS))
    n_generated: int = field(default=64, metadata=COUNT)
    shrinkage: float = field(default=0.5, metadata=SHARE)
    head_decay: float = field(default=0.1, metadata=POSITIVE_WEIGHT)

    KIND: ClassVar[str | None] = "Generated"
    LINEAR: ClassVar[bool] = True
    COMPARISON: ClassVar[tuple[str, ...]] = (*VisualPrototypes.COMPARISON, "head", "n_generated", "head_decay")
    ARRAYS: ClassVar[dict[str, Shape]] = {
        "class_weights": ("h", "d"),
        "noise_weights": ("h", "k"),
        "hidden_bias": ("h",),
        "output_weights": ("m", "h"),
        "output_bias": ("m",),
        "precision": ("m", "m"),
        "generation": (),
        **NetworkMethod.COMMON,
    }
    #: The activation of the hidden layer of the generator.
    ACTIVATION: ClassVar[str] = "leaky"

    @property
    def own_metric(self) -> Any:
        """The head."""
        return self.head

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        return super()._fit(prepared, monitor) | {"precision": prepared.precision(self.shrinkage)}

    def _predicted(self, vectors: Float64Array) -> Float64Array:
        rows, which = np.unique(self._class_inputs(vectors), axis=0, return_inverse=True)  # equal classes must tie
        hidden = np.stack([layer.mean(axis=0) for layer in self._hidden(rows)])
        means = self._outputs(hidden)[which.reshape(-1)]
        return unit_length(means) if self._is_by_cosine else means

    def _visual_scorer(self, table: ClassTable) -> LinearScorer:
        prototypes = self._prototypes_of(table).vectors
        if self.head == "cosine":
            return LinearScorer(prototypes, np.zeros(len(prototypes)))
        if self.head == "lda":
            weights = prototypes @ self.arrays_["precision"].astype(np.float64)
            return LinearScorer(weights, -np.sum(prototypes * weights, axis=1) / 2)
        return self._softmax(self._class_inputs(table.vectors), prototypes)

    def _softmax(self, inputs: Float64Array, prototypes: Float64Array) -> LinearScorer:
        """Return the softmax of the samples of some classes, moved so that their means are the prototypes."""
        d, unit = inputs.shape[1], float(self.arrays_["feature_unit"])
        rows, which = np.unique(np.hstack([inputs, prototypes]), axis=0, return_inverse=True)
        samples = [self._outputs(layer) for layer in self._hidden(rows[:, :d])]
        moved = [unit * (Z - Z.mean(axis=0) + p) for Z, p in zip(samples, rows[:, d:], strict=True)]
        n = self.n_generated
        numbers, Z = np.repeat(np.arange(len(rows)), n), np.concatenate(moved)
        found = fit_logistic(
            [(Z, numbers, np.ones(len(Z)))],
            Statistics.from_samples(Z, numbers),
            np.eye(len(rows)),
            lambda number, value: None,
            link="softmax",
            penalty=self.head_decay * len(Z),
            max_iter=200,
            tol=1e-5,
        )
        return LinearScorer(unit * found.weights[which.reshape(-1)], found.offsets[which.reshape(-1)])

    def _hidden(self, inputs: Float64Array) -> Iterator[Float64Array]:
        """Give the hidden layer of the samples of each class."""
        arrays = {name: self.arrays_[name].astype(np.float64) for name in ("class_weights", "noise_weights")}
        shape = self.n_generated, arrays["noise_weights"].shape[1]
        noise = np.random.RandomState(int(self.arrays_["generation"])).standard_normal(shape)
        of_noise = noise @ arrays["noise_weights"].T + self.arrays_["hidden_bias"]
        slope = SLOPES[self.ACTIVATION]
        for of_class in inputs @ arrays["class_weights"].T:
            U = of_noise + of_class
            yield np.where(U > 0, U, slope * U)

    def _outputs(self, hidden: Float64Array) -> Float64Array:
        """Return normalised samples."""
        W, b = (self.arrays_[name].astype(np.float64) for name in ("output_weights", "output_bias"))
        return np.asarray((hidden @ W.T + b) / float(self.arrays_["feature_unit"]))


class Generator:
    """A generator in training, ``[a; z] -> hidden -> m``."""

    def __init__(self, network: Perceptron, n_attributes: int, noise: np.random.RandomState, generation: int) -> None:
        self.network, self.n_attributes, self._noise, self._generation = network, n_attributes, noise, generation
        self.noise_size = network.weights[0].shape[1] - n_attributes

    @classmethod
    def drawn(
        cls,
        model: Generated,
        data: NetworkData,
        streams: Streams,
        noise_size: int,
        start: str | float,
        dropout: tuple[float, ...] = (),
    ) -> Generator:
        """Return a generator with random weights."""
        sizes = (data.n_attributes + noise_size, model.hidden, data.n_features)
        network = Perceptron.drawn(sizes, (model.ACTIVATION, "linear"), start, streams.weights, dropout)
        return cls(network, data.n_attributes, streams.noise, streams.generation)

    def noise(self, n: int) -> Array:
        """Return noise for n samples."""
        dtype = self.network.weights[0].dtype
        return self._noise.standard_normal((n, self.noise_size)).astype(dtype)

    def inputs(self, vectors: Array, noise: Array | None = None) -> Array:
        """Return the inputs for samples of classes with the given vectors."""
        return np.hstack([vectors, self.noise(len(vectors)) if noise is None else noise])

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        (W, output_weights), (b, output_bias) = self.network.weights, self.network.biases
        return {
            "class_weights": np.ascontiguousarray(W[:, : self.n_attributes]),
            "noise_weights": np.ascontiguousarray(W[:, self.n_attributes :]),
            "hidden_bias": b,
            "output_weights": output_weights,
            "output_bias": output_bias,
            "generation": np.array(self._generation, dtype=np.float32),
        }
