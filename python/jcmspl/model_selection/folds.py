"""Folds of classes: the statistics of each, what fits to it share, and the recognition of the classes it holds out."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.search import AffineScorer
from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labels import Label, sorted_labels
from jcmspl.data.normalisation import decided_name, parse_feature_normalisation
from jcmspl.data.training import LabelledRows, TrainingData
from jcmspl.data.weights import present
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import fit_prepared, normalisations_of, normalised_training, prepared, warm_start
from jcmspl.model.monitor import Monitor
from jcmspl.model.prediction import recogniser_of
from jcmspl.model.recogniser import LinearRecogniser, Recogniser
from jcmspl.support.arguments import Float64Array, IntArray, require_finite
from jcmspl.support.progress import Progress
from jcmspl.support.scaling import Scaling, is_without_negatives, unit_length

# Rows that are read at a time, those of them that stay in cache, and values of scores that are in memory at a time.
_ROWS = 8192
_CACHED_ROWS = 256
_SCORES = 4_000_000


class FoldedData:
    """Samples of known classes, and the classes that each fold holds out.

    Parameters
    ----------
    X : ndarray of shape (n, m)
    labels : list of n labels
    table : ClassTable
        The vectors of these classes; those of others are not looked at.
    folds : list of sequences of class numbers
        The classes that each fold holds out, by their number among the sorted labels. Folds of a repeat follow each
        other and hold out each class once.
    n_splits : int
        The number of folds of a repeat.
    weights : ndarray of shape (n,) or None
        How often each sample counts; None: once.
    """

    def __init__(
        self,
        X: npt.NDArray[Any],
        labels: list[Label],
        table: ClassTable,
        folds: Sequence[IntArray],
        n_splits: int,
        weights: Float64Array | None = None,
    ) -> None:
        self.X = X
        self._set_up(sorted_labels(present(labels, weights)), table, folds, n_splits)
        number = {label: i for i, label in enumerate(self.classes)}
        self._codes: IntArray = np.fromiter((number.get(label, -1) for label in labels), np.int64, count=len(labels))
        self._weights = weights
        if weights is not None:
            self._codes[weights == 0] = -1  # of no class, and so not looked at

    def _set_up(self, classes: list[Label], table: ClassTable, folds: Sequence[IntArray], n_splits: int) -> None:
        """Set what depends on the classes alone."""
        self.classes = classes
        self.vectors = table.select(self.classes, "y").vectors
        self._sources = table.sources
        self.held_out = list(folds)
        self.n_splits = n_splits
        self._parts: dict[Scaling, list[Statistics]] = {}
        self._scalings: dict[str, Scaling] = {}
        # the training data of each fold as it was asked for last, with the normalisation of its samples
        self._last: dict[int, tuple[tuple[Any, ...], TrainingData]] = {}

    @property
    def codes(self) -> IntArray:
        """The number of each sample's class, -1 for one that is not looked at."""
        return self._codes

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def samples(self, rows: Sequence[IntArray]) -> list[npt.NDArray[Any]]:
        """Return the samples of each list of rows."""
        return [np.asarray(self.X[own]) for own in rows]

    def places(self, direction: Float64Array) -> Float64Array:
        """Return where samples, of length one, lie in a direction; 0 for those that are not looked at."""
        blocks = _blocks(len(self.X), _ROWS)
        return np.concatenate([places_of(np.asarray(self.X[block]), self.codes[block], direction) for block in blocks])

    @property
    def n_folds(self) -> int:
        """The number of folds over all repeats."""
        return len(self.held_out)

    def read(self, normalisations: Iterable[str], *, progress: bool) -> None:
        """Collect the statistics of the classes that each fold holds out, in one pass over the samples.

        Parameters
        ----------
        normalisations : iterable of str
            Of samples: they may need several kinds of statistics.
        progress : bool
            Whether to show progress.
        """
        steps = {name: parse_feature_normalisation(name) for name in normalisations}
        undecided = any(each.power is None for each in steps.values())
        power = undecided and self._is_without_negatives()
        self._scalings = {name: each.scaling(power) for name, each in steps.items()}
        self._parts = self._collect(sorted(set(self._scalings.values())), progress)

    def _is_without_negatives(self) -> bool:
        return is_without_negatives(self.X, self._weights)

    def _collect(self, scalings: list[Scaling], progress: bool) -> dict[Scaling, list[Statistics]]:
        """Return the statistics of the classes that each fold holds out, of samples that are scaled in several ways."""
        n, m = self.X.shape
        parts = {
            scaling: [Statistics(m, len(self.classes), **scaling._asdict()) for _ in self.held_out]
            for scaling in scalings
        }
        with Progress("reading", n, "samples", enabled=progress) as line:
            for block in _blocks(n, _ROWS):
                weights = None if self._weights is None else self._weights[block]
                samples = np.asarray(self.X[block])
                add_to_folds(parts, self.held_out, samples, self.codes[block], weights, block.start)
                line.update(block.stop)
        return parts

    def total(self, normalisation: str) -> LabelledStatistics:
        """Return the statistics of all samples, as a normalisation of them needs them."""
        parts = self._parts[self._scalings[normalisation]]
        return LabelledStatistics(self.classes, reduce(operator.add, parts[: self.n_splits]))

    def alignment(self, normalisation: str) -> Alignment | None:
        """How well class vectors and all samples agree; None where they differ in length, or roots are taken."""
        if self.takes_roots(normalisation) or self.n_features != self.vectors.shape[1]:
            return None
        statistics = self.total(normalisation).statistics
        return Alignment.of(statistics.class_sums / statistics.counts[:, None], self.vectors)

    def prepared(self, fold: int, model: ZeroShotClassifier) -> PreparedFold:
        """Normalise the training classes of a fold as the model's parameters say, and do what its fits share."""
        training = self._training(fold, model)
        held_out = self.held_out[fold]
        candidates = ClassTable([self.classes[i] for i in held_out], self.vectors[held_out])
        return PreparedFold(training, prepared(model, training), candidates)

    def takes_roots(self, normalisation: str) -> bool:
        """Whether a normalisation takes roots of these samples."""
        return self._scalings[normalisation].power

    def different(self, normalisations: Iterable[str]) -> list[str]:
        """Return the normalisations of samples that are not the same as one before, once the samples have decided."""
        decided = {name: decided_name(name, self._scalings[name].power) for name in normalisations}
        return list({same: name for name, same in reversed(decided.items())}.values())[::-1]

    def _training(self, fold: int, model: ZeroShotClassifier) -> TrainingData:
        kept = np.setdiff1d(np.arange(len(self.classes)), self.held_out[fold])
        features, classes, shrinkage, kernel, width, columns = normalisations_of(model, self._sources)
        of_samples = (features, shrinkage, model.treats_axes_separately)
        known, training = self._last.get(fold, (None, None))
        if known == of_samples and training is not None:  # samples are the same, and whitening them takes long
            training = training.with_classes(classes, kernel, width, columns)
        else:
            first = fold - fold % self.n_splits
            others = [i for i in range(first, first + self.n_splits) if i != fold]
            # a sum and not a difference: that would cost digits
            parts = self._parts[self._scalings[features]]
            raw = reduce(operator.add, (parts[i] for i in others)).select_classes(kept)
            rows = self._rows_of(kept)
            training = normalised_training(model, raw, self.vectors[kept], self._sources, rows)
        self._last[fold] = of_samples, training
        return training

    def _rows_of(self, kept: IntArray) -> LabelledRows | None:
        """Return the samples themselves, whether the model reads them or not: a parameter of the grid may decide."""
        rows = np.flatnonzero(np.isin(self.codes, kept))
        weights = None if self._weights is None else self._weights[rows]
        return LabelledRows(self.X, rows, np.searchsorted(kept, self.codes[rows]), weights)

    def accuracies_of_folds(self, recognisers: Sequence[Sequence[Recogniser]], pool: Any) -> list[Float64Array]:
        """Return the accuracies of the recognisers of each fold; folds are shared out among the threads of a pool."""
        return list(pool.results((self.accuracies, fold, own) for fold, own in enumerate(recognisers)))

    def accuracies(self, fold: int, recognisers: Sequence[Recogniser]) -> Float64Array:
        """Return the mean accuracy over held-out classes of each of the recognisers, whose candidates these are."""
        return mean_accuracies(hits_of(self.X, self.codes, self._weights, self.held_out[fold], recognisers))


def add_to_folds(
    parts: dict[Scaling, list[Statistics]],
    held_out: Sequence[IntArray],
    X: npt.NDArray[Any],
    codes: IntArray,
    weights: Float64Array | None,
    first_row: int,
) -> None:
    """Add samples to the statistics of the folds that hold out their classes; a negative code is of no class."""
    counted = X if weights is None else np.where(codes[:, None] < 0, 0, X)
    require_finite(counted, "X", first_row=first_row)
    for number, classes in enumerate(held_out):
        own = np.isin(codes, classes)
        of_own = None if weights is None else weights[own]
        for of_folds in parts.values():
            of_folds[number].update(X[own], codes[own], sample_weight=of_own)


def places_of(X: npt.NDArray[Any], codes: IntArray, direction: Float64Array) -> Float64Array:
    """Return where samples, of length one, lie in a direction; 0 for those of no class."""
    places: Float64Array = np.zeros(len(X))
    wanted = np.flatnonzero(codes >= 0)
    for block in _blocks(len(wanted), _CACHED_ROWS):
        rows = wanted[block]
        places[rows] = unit_length(np.asarray(X[rows], dtype=np.float64)) @ direction
    return places


def hits_of(
    X: npt.NDArray[Any],
    codes: IntArray,
    weights: Float64Array | None,
    held_out: IntArray,
    recognisers: Sequence[Recogniser],
) -> Float64Array:
    """Return what the samples weigh that each recogniser gets right, a row for each held-out class.

    The last column is what all samples of the class weigh.
    """
    rows = np.flatnonzero(np.isin(codes, held_out))
    targets = np.searchsorted(held_out, codes[rows])
    weight = np.ones(len(rows)) if weights is None else weights[rows]
    hits = np.zeros((len(held_out), len(recognisers) + 1))
    hits[:, -1] = np.bincount(targets, weight, minlength=len(held_out))
    if not len(rows) or not recognisers:
        return hits
    for block, chosen in _choices(X, rows, recognisers):
        right = chosen == targets[block][:, None]
        # a product with rows of weights: sums over the samples of each class
        hits[:, :-1] += np.where(targets[block] == np.arange(len(held_out))[:, None], weight[block], 0.0) @ right
    return hits


def mean_accuracies(hits: Float64Array) -> Float64Array:
    """Return the mean over classes of the share that each recogniser gets right."""
    return np.asarray((hits[:, :-1] / hits[:, -1:]).mean(axis=0))


@dataclass(frozen=True)
class PreparedFold:
    """A fold and a normalisation: what all fits to it share."""

    training: TrainingData
    prepared: Any
    candidates: ClassTable

    def warm_start(self, model: ZeroShotClassifier) -> dict[str, Any]:
        """Return parameters that start fits near the result of this one, if the method has any."""
        return warm_start(model, self.prepared, self.training)

    def fitted(self, model: ZeroShotClassifier, monitor: Monitor) -> ZeroShotClassifier:
        """Fit a model to the training classes and return it."""
        return fit_prepared(model, self.prepared, self.training, monitor)

    def recognisers(
        self, model: ZeroShotClassifier, variants: Sequence[dict[str, Any]], monitor: Monitor
    ) -> list[Recogniser]:
        """Fit once, and fold the model and the held-out classes into a recogniser for each variant of it."""
        self.fitted(model, monitor)
        bias = np.zeros(self.candidates.n_classes)
        variants_of = (model.set_params(**variant) for variant in variants)
        return [recogniser_of(one, self.candidates, bias, one.own_space) for one in variants_of]


def _choices(
    X: npt.NDArray[Any], rows: IntArray, recognisers: Sequence[Recogniser]
) -> Iterator[tuple[slice, npt.NDArray[np.int64]]]:
    """Yield, block by block of the rows, the candidate that each recogniser chooses, (block, recognisers)."""
    linear = [r for r in recognisers if isinstance(r, LinearRecogniser)]
    if len(linear) != len(recognisers):  # not all are linear in the sample
        for block in _blocks(len(rows), _ROWS):
            samples = np.asarray(X[rows[block]])
            yield block, np.stack([r.top_k(samples, 1)[0][:, 0] for r in recognisers], axis=1)
        return
    # one product for all of them
    weights, bias = np.concatenate([r.weights for r in linear]), np.concatenate([r.bias for r in linear])
    scorer = AffineScorer(weights, bias, **linear[0].scaling._asdict())
    for block in _blocks(len(rows), min(_ROWS, max(64, _SCORES // len(weights)))):
        scores = scorer.scores(np.asarray(X[rows[block]]))
        yield block, scores.reshape(len(scores), len(linear), -1).argmax(axis=2)


def _blocks(n: int, size: int) -> Iterator[slice]:
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))
