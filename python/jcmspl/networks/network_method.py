"""Methods that train networks: their parameters, their data in float32, and the rounds of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear_ranker import settled_classes, settled_order
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import COUNT, POSITIVE_WEIGHT, SEED, NamedArrays, Shape
from jcmspl.model.posteriors import Covariance
from jcmspl.networks.perceptron import Array, Perceptron
from jcmspl.support.arguments import Float64Array, IntArray, as_random_state
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.machine import one_blas_thread


class Streams(NamedTuple):
    """A stream of random numbers for each purpose: more draws for one change no other."""

    weights: np.random.RandomState
    batches: np.random.RandomState
    noise: np.random.RandomState
    #: The seed of the noise of which samples are generated after training.
    generation: int

    @classmethod
    def of(cls, random_state: Any) -> Streams:
        """Return the streams of a seed."""
        seeds = as_random_state(random_state).randint(2**24, size=4)  # whole numbers in float32, too
        weights, batches, noise = map(np.random.RandomState, seeds[:3])
        return cls(weights, batches, noise, int(seeds[3]))


class NetworkData:
    """Training data as networks like them: float32, where the mean square of a value is 1.

    Samples and classes come in an order that depends neither on the order in which they were given nor on names.
    """

    def __init__(self, training: TrainingData) -> None:
        self._training = training
        self.classes = settled_classes(training)
        self.feature_unit = np.sqrt(training.statistics.n_features) / training.sample_length
        vectors = training.class_vectors
        length = float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))
        self.class_unit = np.sqrt(vectors.shape[1]) / (length or 1.0)
        self.class_vectors = self._single(vectors[self.classes] * self.class_unit)
        self.n_features, self.n_attributes = training.statistics.n_features, vectors.shape[1]

    @property
    def means(self) -> Array:
        """The mean sample of each class."""
        return self._single(self._training.class_means[self.classes] * self.feature_unit)

    @property
    def counts(self) -> Float64Array:
        """The number of samples of each class."""
        return self._training.statistics.counts[self.classes]

    @property
    def units(self) -> NamedArrays:
        """The factors of normalised samples and class vectors, as arrays of a model."""
        return {"feature_unit": self._single(self.feature_unit), "class_unit": self._single(self.class_unit)}

    @cached_property
    def samples(self) -> Array:
        """All samples."""
        blocks = self._training.samples(order=self._order)
        return np.concatenate([self._single(Z * self.feature_unit) for Z, _ in blocks])

    @cached_property
    def numbers(self) -> IntArray:
        """The class of each sample: a row of ``class_vectors``."""
        places = np.argsort(self.classes)
        found: IntArray = np.asarray(places[self._training.numbers[self._order]])
        return found

    @cached_property
    def _order(self) -> IntArray:
        return settled_order(self._training)

    @cached_property
    def weights(self) -> Float64Array:
        """The weight of each sample."""
        weights = self._training.sample_weights
        return np.ones(len(self._order)) if weights is None else weights[self._order]

    @cached_property
    def _cumulated_weights(self) -> Float64Array:
        return np.cumsum(self.weights)

    def batches(self, size: int, rng: np.random.RandomState) -> Iterator[IntArray]:
        """Give rows of samples for an epoch, drawn with replacement, as often as their weights say."""
        for _ in range(-(-len(self.samples) // size)):
            yield self.batch(size, rng)

    def batch(self, size: int, rng: np.random.RandomState) -> IntArray:
        """Return the rows of some samples."""
        sums = self._cumulated_weights
        drawn: IntArray = np.searchsorted(sums, rng.random_sample(size) * sums[-1], side="right")
        return np.minimum(drawn, len(sums) - 1)

    def some_of(self, rows: IntArray, size: int, rng: np.random.RandomState) -> IntArray:
        """Return some of these rows, each once at most, those of large weight more often than others."""
        keys = rng.standard_exponential(len(rows)) / self.weights[rows]
        return rows[np.argsort(keys, kind="stable")[:size]]

    def precision(self, shrinkage: float) -> Array:
        """Return the inverse of the shrunk covariance of normalised samples within classes."""
        training = self._training
        statistics = training.statistics
        within = Covariance(statistics, training.class_means, statistics.counts, training.rounding)
        return self._single(within.solve(np.eye(self.n_features), shrinkage))

    def rows_of_classes(self) -> list[IntArray]:
        """Return the rows of the samples of each class."""
        order = np.argsort(self.numbers, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.numbers, minlength=len(self.classes)))[:-1])

    @staticmethod
    def _single(values: npt.ArrayLike) -> Array:
        return np.ascontiguousarray(values, dtype=np.float32)[()] if np.ndim(values) else np.array(values, np.float32)


class Trainer(Protocol):
    """A network in training."""

    def epoch(self) -> float:
        """Learn for an epoch, or a step of a method on statistics, and return the mean loss."""
        ...

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        ...


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkMethod(ZeroShotClassifier):
    r"""A method that trains a network; a class that derives from it says how: :meth:`_trainer`.

    BLAS runs on one thread during a fit, because its rounding depends on the number of threads, and training makes
    much of it: on CPUs of one kind a seed is one model. A search uses the cores for its folds.

    Parameters
    ----------
    hidden : int
        The width of hidden layers.
    learning_rate : float
        Of Adam.
    max_iter : int
        The number of epochs. An epoch draws as many samples as there are, each as often as its weight says.
    random_state : int, Generator, RandomState or None
        Seed of first weights, of batches and of noise. Other names for classes, or samples in another order, change
        nothing but rounding.

    Attributes
    ----------
    losses_ : ndarray of shape (n_iter\_,)
        The mean loss in each epoch.
    n_iter_ : int
        The number of epochs.
    """

    feature_normalisation: str = "auto_power+sample_l2+center+whiten"
    whitening_components: Any = 256
    hidden: int = field(default=1024, metadata=COUNT)
    learning_rate: float = field(default=1e-3, metadata=POSITIVE_WEIGHT)
    max_iter: int = field(default=20, metadata=COUNT)
    random_state: Any = field(default=0, metadata=SEED)

    NETWORK: ClassVar[bool] = True
    PRECISION: ClassVar[type[np.floating[Any]]] = np.float32
    NEEDS: ClassVar[str] = "samples"
    READS_WEIGHTS: ClassVar[bool] = True
    HEAVY_IS_SIMPLE: ClassVar[bool] = False
    #: Arrays of all networks.
    COMMON: ClassVar[dict[str, Shape]] = {"feature_unit": (), "class_unit": (), "losses": ("i",)}

    def _trainer(self, data: NetworkData, streams: Streams) -> Trainer:
        """Return the network before the first epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    @property
    def losses_(self) -> npt.NDArray[np.float32]:
        """The mean loss in each epoch."""
        return self._array("losses")

    @property
    def n_iter_(self) -> int:
        """The number of epochs."""
        return len(self.losses_)

    def _prepare(self, training: TrainingData) -> Any:
        return NetworkData(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        losses = []
        with one_blas_thread(), np.errstate(all="ignore"):
            trainer = self._trainer(prepared, Streams.of(self.random_state))
            for number in range(1, self.max_iter + 1):
                loss = trainer.epoch()
                if not np.isfinite(loss):
                    raise DivergenceError(
                        f"the loss overflows in epoch {number} with learning_rate={self.learning_rate:g}: lower it"
                    )
                losses.append(loss)
                monitor.tell_of_iteration(number, loss)
            arrays: NamedArrays = trainer.arrays() | prepared.units
            return arrays | {"losses": np.array(losses, dtype=np.float32)}

    def _class_inputs(self, vectors: Float64Array) -> Float64Array:
        """Return the inputs of a network for classes with the given vectors."""
        return np.ascontiguousarray(self.class_normalisation_.of_rows(vectors)) * float(self._array("class_unit"))


def layer_shapes(prefix: str, *sizes: str) -> dict[str, Shape]:
    """Return the shapes of the arrays of a perceptron with layers of these sizes."""
    found: dict[str, Shape] = {}
    for number, (n_in, n_out) in enumerate(pairwise(sizes), start=1):
        found |= {f"{prefix}_{number}": (n_out, n_in), f"{prefix}_{number}_bias": (n_out,)}
    return found


def layer_arrays(prefix: str, network: Perceptron) -> NamedArrays:
    """Return the arrays of a perceptron."""
    found: NamedArrays = {}
    for number, (W, b) in enumerate(zip(network.weights, network.biases, strict=True), start=1):
        found |= {f"{prefix}_{number}": W, f"{prefix}_{number}_bias": b}
    return found


def perceptron_of(arrays: NamedArrays, prefix: str, activations: tuple[str, ...]) -> Perceptron:
    """Return the perceptron of a fitted model, in float64."""
    names = [f"{prefix}_{number}" for number in range(1, len(activations) + 1)]
    weights = [arrays[name].astype(np.float64) for name in names]
    return Perceptron(weights, [arrays[f"{name}_bias"].astype(np.float64) for name in names], activations)
