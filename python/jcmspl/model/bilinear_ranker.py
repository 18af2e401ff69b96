"""Ranking methods, which learn one sample at a time to score its class above the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from jcmspl.core.margin_ranking import BilinearRanking
from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import one_map
from jcmspl.model.parameters import (
    COUNT,
    FLAG,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_WEIGHT,
    SEED,
    SHARE,
    NamedArrays,
    Shape,
)
from jcmspl.support.arguments import Float64Array, IntArray, as_random_state
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.scaling import unit_length

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier as _Method
else:
    _Method = object  # a mixin beside a kind of method

# Samples that are in memory at a time.
_BLOCK = 4096
# The first differences between several maps, as a part of the margin: enough for them to win different samples.
_FIRST_DIFFERENCE = 0.1


class Epoch(NamedTuple):
    """The maps after a pass over the samples, and the mean loss in it."""

    maps: Float64Array
    loss: float


@dataclass(kw_only=True, eq=False, repr=False)
class Ranker(_Method):
    r"""Parameters and steps of ranking methods: against classes that come too close to a sample's own (VIOLATORS).

    Samples come in a random order, another in each epoch, that depends neither on the order in which they are given nor
    on the names of classes. The number of epochs is that after which classes that were held out are recognised best;
    then all classes are learnt from, for so many epochs.

    Parameters
    ----------
    learning_rate : float
        W changes by ``learning_rate (s_y - s_j) x'`` in a step, times the weight of the sample.
    margin : float
        By how much the score of a sample's own class is to exceed those of others.
    average : bool
        Whether the model is the mean of W over all steps and not the last one.
    max_iter : int
        The largest number of epochs. One in which no class violates the margin is the last.
    tol : float
        An epoch is better if it recognises more of the held-out classes by more than this share.
    validation_fraction : float
        The share of classes that are held out to find the number of epochs, at least two and less than half of them;
        all classes are then learnt from for so many. With 0, or fewer than five classes, there are max_iter epochs.
    n_iter_no_change : int
        The best number of epochs is that after which so many further ones were no better.
    random_state : int, Generator, RandomState or None
        Seed of the choice of held-out classes and of the order of steps. Other names for classes, or samples in another
        order, change nothing but rounding.

    Attributes
    ----------
    losses_ : ndarray of shape (n_iter\_,)
        The mean loss of a sample in each epoch, before the step for it.
    n_iter_ : int
        The number of epochs.
    """

    learning_rate: float = field(default=1.0, kw_only=False, metadata=POSITIVE_WEIGHT)
    margin: float = field(default=1.0, metadata=POSITIVE)
    average: bool = field(default=True, metadata=FLAG)
    max_iter: int = field(default=20, metadata=COUNT)
    tol: float = field(default=1e-3, metadata=NOT_NEGATIVE)
    validation_fraction: float = field(default=0.2, metadata=SHARE)
    n_iter_no_change: int = field(default=5, metadata=COUNT)
    random_state: Any = field(default=0, metadata=SEED)

    NEEDS: ClassVar[str] = "samples"
    READS_WEIGHTS: ClassVar[bool] = True
    HEAVY_IS_SIMPLE: ClassVar[bool] = False
    # it decides after how many epochs classes that were held out are recognised best
    FITTED_FOR: ClassVar[tuple[str, ...]] = ("metric",)
    ARRAYS: ClassVar[dict[str, Shape]] = {**Bilinear.ARRAYS, "losses": ("i",)}
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.01, 0.1, 1.0, 10.0)}
    #: The violators that a step learns from (:class:`jcmspl.core.margin_ranking.BilinearRanking`).
    VIOLATORS: ClassVar[str]

    @property
    def losses_(self) -> Float64Array:
        """The mean loss of a sample in each epoch, before the step for it."""
        return self._array("losses")

    @property
    def n_iter_(self) -> int:
        """The number of epochs."""
        return len(self.losses_)

    def _prepare(self, training: TrainingData) -> Any:
        return training

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        maps, losses = self._learnt(prepared, monitor)
        A, B = one_map(maps[0])
        return {"visual_projection": np.ascontiguousarray(A), "semantic_projection": B, "losses": losses}

    def _learnt(self, training: TrainingData, monitor: Monitor, n_maps: int = 1) -> tuple[Float64Array, Float64Array]:
        """Return maps, (n_maps, d, m), and the loss of each epoch."""
        generator = as_random_state(self.random_state)
        classes = settled_classes(training)
        chosen = _held_out(len(classes), self.validation_fraction, generator)
        # epochs are as many as a monitor expects, or twice as many
        numbers, times = count(1), 1 if chosen is None else 2

        def tell(loss: float) -> None:
            monitor.tell_of_iteration(-(-next(numbers) // times), loss)

        n_epochs = self.max_iter
        if chosen is not None:
            trial = self._epochs(training, np.delete(classes, chosen), n_maps, generator)
            n_epochs = self._best_number(training, classes[chosen], trial, tell)
        losses: list[float] = []
        epochs = self._epochs(training, classes, n_maps, generator)
        for epoch in islice(epochs, n_epochs):
            tell(epoch.loss)
            losses.append(epoch.loss)
        return epoch.maps, np.array(losses)

    def _epochs(
        self, training: TrainingData, classes: IntArray, n_maps: int, generator: np.random.RandomState
    ) -> Iterator[Epoch]:
        """Give the maps and the loss after each epoch of learning from some of the classes."""
        numbers = _own_numbers(classes, len(training.class_vectors))
        order = settled_order(training)
        order = order[numbers[training.numbers[order]] >= 0]
        ranking = BilinearRanking(
            self._first_maps(training, n_maps, generator),
            training.class_vectors[classes],
            violators=self.VIOLATORS,
            margin=self.margin,
            learning_rate=self.learning_rate,
            seed=int(generator.randint(2**31 - 1)),
            average=self.average,
        )
        sample_weights = training.sample_weights
        total_weight = len(order) if sample_weights is None else float(sample_weights[order].sum())
        for number in range(1, self.max_iter + 1):
            total, n_updates = 0.0, 0
            turn = order[generator.permutation(len(order))]
            for first, (Z, of_samples) in zip(count(0, _BLOCK), training.samples(_BLOCK, turn), strict=False):
                weights = None if sample_weights is None else sample_weights[turn[first : first + _BLOCK]]
                loss, updated = ranking.learn(Z, numbers[of_samples], weights)
                total, n_updates = total + loss, n_updates + updated
            if not np.isfinite(total):
                raise DivergenceError(
                    f"the scores overflow with learning_rate={self.learning_rate:g}: lower it, or scale the data down"
                )
            self._after_epoch(number, ranking)
            yield Epoch(ranking.mean_maps if self.average else ranking.maps, total / total_weight)
            if not n_updates:  # nor will there be in any later epoch
                return

    def _after_epoch(self, number: int, ranking: BilinearRanking) -> None:
        """Change or look at the maps after an epoch, if a method wants to."""

    def _first_maps(self, training: TrainingData, n_maps: int, generator: np.random.RandomState) -> Float64Array:
        shape = (n_maps, training.class_vectors.shape[1], training.statistics.n_features)
        if n_maps == 1:
            return np.zeros(shape)
        length = training.sample_length * (np.sqrt(np.mean(np.sum(training.class_vectors**2, axis=1))) or 1.0)
        return np.asarray(_FIRST_DIFFERENCE * self.margin / length * generator.standard_normal(shape))

    def _best_number(
        self, training: TrainingData, held_out: IntArray, epochs: Iterator[Epoch], tell: Callable[[float], None]
    ) -> int:
        """Return after how many epochs classes that were held out are recognised best."""
        best, number = -np.inf, 1
        for done, (maps, loss) in enumerate(epochs, start=1):
            tell(loss)
            accuracy = self._accuracy(training, held_out, maps)
            if accuracy > best + self.tol:
                best, number = accuracy, done
            if done - number >= self.n_iter_no_change:
                break
        return number

    def _accuracy(self, training: TrainingData, classes: IntArray, maps: Float64Array) -> float:
        """Return the mean over some classes of the share of their samples that is recognised among them."""
        numbers = _own_numbers(classes, len(training.class_vectors))
        vectors = training.class_vectors[classes]
        if getattr(self, "metric", "dot") == "cosine":
            vectors = unit_length(vectors)
        counts, right = np.zeros(len(classes)), np.zeros(len(classes))
        for Z, of_samples in training.samples(_BLOCK, np.flatnonzero(numbers[training.numbers] >= 0)):
            own = numbers[of_samples]
            hits = highest_scores(maps, vectors, Z).argmax(axis=1) == own
            counts += np.bincount(own, minlength=len(classes))
            right += np.bincount(own, hits, minlength=len(classes))
        return float(np.mean(right / counts))


def settled_order(training: TrainingData) -> IntArray:
    """Return an order of the samples that depends on what they are: not on their given order, nor on names of classes.

    Of samples that are the same the class decides, by its own settled order.
    """
    direction = _some_direction(training)
    places = np.concatenate([Z @ direction for Z, _ in training.samples()])
    return np.lexsort((np.argsort(settled_classes(training))[training.numbers], places))


def settled_classes(training: TrainingData) -> IntArray:
    """Return an order of the classes that depends on their samples, and not on their names."""
    return np.argsort(training.class_means @ _some_direction(training), kind="stable")


def _some_direction(training: TrainingData) -> Float64Array:
    return np.asarray(np.random.RandomState(0).standard_normal(training.statistics.n_features))


def highest_scores(maps: Float64Array, class_vectors: Float64Array, Z: Float64Array) -> Float64Array:
    """Return ``max over k of s_j' W_k x`` for each sample and class."""
    scores = (Z @ maps[0].T) @ class_vectors.T
    for W in maps[1:]:
        np.maximum(scores, (Z @ W.T) @ class_vectors.T, out=scores)
    return np.asarray(scores)


def _held_out(n_classes: int, fraction: float, generator: np.random.RandomState) -> IntArray | None:
    """Return classes that are to be recognised without having been learnt from; None if there are too few to spare."""
    number = min(max(2, round(fraction * n_classes)), (n_classes - 1) // 2)
    if fraction == 0 or number < 2:
        return None
    return np.sort(generator.permutation(n_classes)[:number])


def _own_numbers(classes: IntArray, n_classes: int) -> IntArray:
    """Return the place of each class among some classes; -1 for others."""
    numbers = np.full(n_classes, -1)
    numbers[classes] = np.arange(len(classes))
    return numbers
