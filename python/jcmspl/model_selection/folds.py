"""Folds of classes: their statistics, the work that all fits to a fold have in common, and their accuracies."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.scoring import AffineScorer
from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labels import Label
from jcmspl.data.normalisation import decided_name, parse_feature_normalisation
from jcmspl.data.parts import Part, each_added
from jcmspl.data.samples import Samples
from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import Monitor, prepared, solution, state_of
from jcmspl.model.prediction import recogniser_of
from jcmspl.model.recogniser import LinearRecogniser, Recogniser
from jcmspl.support.arguments import ROWS, Float64Array, IntArray, require_finite, row_blocks
from jcmspl.support.scaling import Scaling, unit_length

# Rows of a block that stays in cache.
_CACHED_ROWS = 256
# The number of scores in memory at a time, with at least 64 rows to a block.
_SCORES = 4_000_000


class FoldedData:
    """Labelled samples, their classes, and the indices of the classes that each fold holds out.

    Classes are sorted; those whose samples all weigh nothing are left out. Folds are listed repeat by repeat: each
    repeat has ``n_splits`` folds, which hold out each class once. Call :meth:`read` with all normalisations of samples
    first.
    """

    def __init__(
        self, samples: Samples, classes: list[Label], table: ClassTable, folds: Sequence[IntArray], n_splits: int
    ) -> None:
        self._samples = samples.coded(classes)
        self.classes = classes
        self.vectors = table.select(self.classes, "y").vectors
        self._sources = table.sources
        self.held_out, self.n_folds, self.n_splits = list(folds), len(folds), n_splits
        self._statistics: dict[Scaling, list[Statistics]] = {}
        self._scalings: dict[str, Scaling] = {}
        # cache: the training data last built for each fold, and the normalisation of samples it was built with
        self._last: dict[int, tuple[tuple[Any, ...], TrainingData]] = {}
        # the last statistics of the training classes of each fold, with the scaling of its samples
        self._last_raw: dict[int, tuple[Scaling, Statistics]] = {}

    @property
    def codes(self) -> IntArray:
        """The index of each sample's class, -1 for samples that do not count; with dask this reads all labels."""
        return self._samples.codes

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._samples.n_features

    def samples(self, rows: Sequence[IntArray]) -> list[npt.NDArray[Any]]:
        """Return the samples of each list of rows."""
        ends = np.cumsum([len(own) for own in rows])
        return np.split(self._samples.take(np.concatenate(rows)), ends[:-1])

    def positions(self, direction: Float64Array) -> Float64Array:
        """Return the inner products of samples, scaled to length one, with a direction; 0 for those of no class."""
        return np.concatenate(self._samples.map(_positions, direction))

    def read(self, normalisations: Iterable[str], *, progress: bool) -> None:
        """Collect the statistics of the classes that each fold holds out, in one pass over the samples.

        Each scaling of samples that the normalisations need has statistics of its own. Whether roots of features are
        taken may be left to the samples: they are, if no feature is negative.
        """
        steps = {name: parse_feature_normalisation(name) for name in normalisations}
        undecided = any(each.power is None for each in steps.values())
        power = undecided and self._samples.is_without_negatives()
        self._scalings = {name: each.scaling(power) for name, each in steps.items()}
        scalings = sorted(set(self._scalings.values()))
        found = self._samples.reduce(
            _statistics_of_folds, len(self.classes), self.held_out, scalings, merge=each_added, progress=progress
        )
        n = self.n_folds
        self._statistics = {scaling: found[i * n : i * n + n] for i, scaling in enumerate(scalings)}

    def total(self, normalisation: str) -> LabelledStatistics:
        """Return the statistics of all samples, scaled for a normalisation: the sum over the folds of one repeat."""
        parts = self._statistics[self._scalings[normalisation]]
        return LabelledStatistics(self.classes, reduce(operator.add, parts[: self.n_splits]))

    def alignment(self, normalisation: str) -> Alignment | None:
        """How well class vectors and samples agree; None if they differ in size, or roots of features are taken."""
        if self._scalings[normalisation].power or self.n_features != self.vectors.shape[1]:
            return None
        statistics = self.total(normalisation).statistics
        return Alignment.of(statistics.class_sums / statistics.counts[:, None], self.vectors)

    def prepared(self, fold: int, model: ZeroShotClassifier) -> PreparedFold:
        """Normalise the training classes of a fold as the model's parameters say, and do the work all fits need."""
        training = self._training(fold, model)
        held_out = self.held_out[fold]
        candidates = ClassTable([self.classes[i] for i in held_out], self.vectors[held_out])
        return PreparedFold(training, prepared(model, training), candidates)

    def without_duplicates(self, normalisations: Iterable[str]) -> list[str]:
        """Return the normalisations without those that equal an earlier one for these samples."""
        first: dict[str, str] = {}
        for name in normalisations:
            first.setdefault(decided_name(name, self._scalings[name].power), name)
        return list(first.values())

    def _training(self, fold: int, model: ZeroShotClassifier) -> TrainingData:
        kept = np.setdiff1d(np.arange(len(self.classes)), self.held_out[fold])
        sample_normalisation, class_normalisation = model.normalisations(self._sources)
        known, training = self._last.get(fold, (None, None))
        if known == sample_normalisation and training is not None:  # whitening the same samples again would be slow
            training = training.with_classes(class_normalisation)
        else:
            raw = self._raw(fold, self._scalings[sample_normalisation.name], kept)
            rows = self._samples.labelled_rows(kept)  # methods read them or not, depending on their parameters
            training = TrainingData.of(
                raw, self.vectors[kept], sample_normalisation, class_normalisation, rows, self._sources
            )
        self._last[fold] = sample_normalisation, training
        return training

    def _raw(self, fold: int, scaling: Scaling, kept: IntArray) -> Statistics:
        """Return the statistics of the training classes of a fold, before they are normalised."""
        known, raw = self._last_raw.get(fold, (None, None))
        if known == scaling and raw is not None:  # normalisations that differ in the shrinkage follow each other
            return raw
        first = fold - fold % self.n_splits  # of the same repeat
        parts = self._statistics[scaling]
        # the other folds are added: to subtract this one from the total would lose digits
        start, *others = (parts[i] for i in range(first, first + self.n_splits) if i != fold)
        raw = start.copy()
        for other in others:
            raw += other
        raw = raw.select_classes(kept)
        self._last_raw[fold] = scaling, raw
        return raw

    def accuracies_of_folds(self, recognisers: Sequence[Sequence[Recogniser]], pool: Any) -> list[Float64Array]:
        """Return the mean accuracy over held-out classes of each recogniser of the first folds, a list for each."""
        each = list(zip(self.held_out[: len(recognisers)], recognisers, strict=True))
        found = self._samples.sum_each(_hits, each, pool)
        return [np.asarray((hits[:, :-1] / hits[:, -1:]).mean(axis=0)) for hits in found]


def _statistics_of_folds(
    part: Part, n_classes: int, held_out: Sequence[IntArray], scalings: Sequence[Scaling]
) -> list[Statistics]:
    """Return the statistics of the classes that each fold holds out: all folds for each scaling, in one list."""
    found = [[Statistics(part.n_features, n_classes, **each._asdict()) for _ in held_out] for each in scalings]
    for block in part.blocks():
        # samples without weight may hold NaN
        checked = block.X if block.weights is None else np.where(block.codes[:, None] < 0, 0, block.X)
        require_finite(checked, "X", first_row=block.first)
        for number, classes in enumerate(held_out):
            own = np.isin(block.codes, classes)
            weights = None if block.weights is None else block.weights[own]
            for of_folds in found:
                of_folds[number].update(block.X[own], block.codes[own], sample_weight=weights)
    return [statistics for of_folds in found for statistics in of_folds]


def _positions(part: Part, direction: Float64Array) -> Float64Array:
    found = np.zeros(len(part))
    for block in part.blocks():
        wanted = np.flatnonzero(block.codes >= 0)
        for rows in row_blocks(len(wanted), _CACHED_ROWS):
            chosen = wanted[rows]
            found[block.first + chosen] = unit_length(np.asarray(block.X[chosen], dtype=np.float64)) @ direction
    return found


def _hits(part: Part, held_out: IntArray, recognisers: Sequence[Recogniser]) -> Float64Array:
    """Return the weight of the samples that each recogniser gets right, a row for each held-out class (ascending).

    The last column is the weight of all samples of the class.
    """
    chosen = part.only(np.flatnonzero(np.isin(part.codes, held_out)))
    targets = np.searchsorted(held_out, chosen.codes)
    weights = np.ones(len(chosen)) if chosen.weights is None else chosen.weights
    hits = np.zeros((len(held_out), len(recognisers) + 1))
    hits[:, -1] = np.bincount(targets, weights, minlength=len(held_out))
    if not len(chosen) or not recognisers:
        return hits
    for first, choices in _choices(chosen, recognisers):
        rows = slice(first, first + len(choices))
        right = choices == targets[rows][:, None]
        # one-hot rows of classes, times weights, by `right`: the weight of right samples of each class
        hits[:, :-1] += np.where(targets[rows] == np.arange(len(held_out))[:, None], weights[rows], 0.0) @ right
    return hits


@dataclass(frozen=True)
class PreparedFold:
    """The training data of a fold in one normalisation, and the work that all fits to it have in common."""

    training: TrainingData
    prepared: Any
    candidates: ClassTable

    def fitted(self, model: ZeroShotClassifier, monitor: Monitor) -> ZeroShotClassifier:
        """Fit this model to the training classes and return it, not a copy."""
        arrays = solution(model, self.prepared, monitor)
        model.state = state_of(model, arrays, monitor.timings, self.training)
        return model

    def recognisers(
        self, model: ZeroShotClassifier, variants: Sequence[dict[str, Any]], monitor: Monitor
    ) -> list[Recogniser]:
        """Fit once, and return a recogniser of the held-out classes for each variant.

        Variants are values of parameters that need no fit of their own; all set the same parameters.
        """
        self.fitted(model, monitor)
        bias = np.zeros(self.candidates.n_classes)  # there are no seen classes to penalise
        recognisers = []
        for variant in variants:
            model.set_params(**variant)
            recognisers.append(recogniser_of(model, self.candidates, bias, model.own_space))
        return recognisers


def _choices(part: Part, recognisers: Sequence[Recogniser]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield the number of the first row of each block, and the candidate that each recogniser chooses for its rows."""
    linear = [r for r in recognisers if isinstance(r, LinearRecogniser)]
    if len(linear) != len(recognisers):  # not all are linear in the sample
        for block in part.blocks():
            yield block.first, np.stack([r.top_k(block.X, 1)[0][:, 0] for r in recognisers], axis=1)
        return
    # one product for all; recognisers of a fold share the scaling of samples
    weights, bias = np.concatenate([r.weights for r in linear]), np.concatenate([r.bias for r in linear])
    scorer = AffineScorer(weights, bias, **linear[0].scaling._asdict())
    for block in part.blocks(min(ROWS, max(64, _SCORES // len(weights)))):
        scores = scorer.scores(block.X)
        yield block.first, scores.reshape(len(scores), len(linear), -1).argmax(axis=2)
