"""Folds of classes: the statistics of each, what fits to it share, and the recognition of the classes it holds out."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.search import AffineScorer
from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labels import Label, sorted_labels
from jcmspl.data.normalisation import Normalisation, parse_normalisation
from jcmspl.models.model import OnIteration, ZeroShotModel
from jcmspl.models.recogniser import LinearRecogniser, Recogniser
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.progress import Progress

# Rows that are read at a time, and values of scores that are in memory at a time.
_ROWS = 8192
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
    """

    def __init__(
        self, X: npt.NDArray[Any], labels: list[Label], table: ClassTable, folds: Sequence[IntArray], n_splits: int
    ) -> None:
        self.X = X
        self.classes = sorted_labels(dict.fromkeys(labels))
        number = {label: i for i, label in enumerate(self.classes)}
        self.codes: IntArray = np.fromiter((number[label] for label in labels), dtype=np.int64, count=len(labels))
        self.vectors = table.select(self.classes, "y").vectors
        self.held_out = list(folds)
        self._n_splits = n_splits
        self._parts: dict[bool, list[Statistics]] = {}

    @property
    def n_folds(self) -> int:
        """The number of folds over all repeats."""
        return len(self.held_out)

    def read(self, unit_rows: Sequence[bool], *, progress: bool) -> None:
        """Collect the statistics of the classes that each fold holds out, in one pass over the samples.

        Parameters
        ----------
        unit_rows : sequence of bool
            Whether to scale samples to length one: both may be wanted.
        progress : bool
            Whether to show progress.
        """
        n, m = self.X.shape
        for unit in unit_rows:
            self._parts[unit] = [Statistics(m, len(self.classes), unit_rows=unit) for _ in self.held_out]
        with Progress("reading", n, "samples", enabled=progress) as line:
            for first in range(0, n, _ROWS):
                block, codes = np.asarray(self.X[first : first + _ROWS]), self.codes[first : first + _ROWS]
                _require_finite(block, first)
                for number, classes in enumerate(self.held_out):
                    own = np.isin(codes, classes)
                    for parts in self._parts.values():
                        parts[number].update(block[own], codes[own])
                line.update(first + len(block))

    def total(self, unit_rows: bool) -> LabelledStatistics:
        """Return the statistics of all samples."""
        return LabelledStatistics(self.classes, reduce(operator.add, self._parts[unit_rows][: self._n_splits]))

    def prepared(self, fold: int, model: ZeroShotModel) -> PreparedFold:
        """Normalise the training classes of a fold as the model's parameters say, and do what its fits share."""
        settings: Any = model
        features_name, classes_name = settings.feature_normalisation, settings.class_normalisation
        unit_rows, _ = parse_normalisation(features_name, "feature_normalisation")
        first = fold - fold % self._n_splits
        others = [i for i in range(first, first + self._n_splits) if i != fold]
        kept = np.setdiff1d(np.arange(len(self.classes)), self.held_out[fold])
        # a sum and not a difference: that would cost digits
        raw = reduce(operator.add, (self._parts[unit_rows][i] for i in others)).select_classes(kept)
        features = Normalisation.from_statistics(features_name, raw)
        classes = Normalisation.from_rows(classes_name, self.vectors[kept])
        statistics = features.of_statistics(raw)
        shared = model._shared(statistics, classes.of_rows(self.vectors[kept]))
        held_out = self.held_out[fold]
        candidates = ClassTable([self.classes[i] for i in held_out], self.vectors[held_out])
        means = statistics.class_sums / statistics.counts[:, None]
        return PreparedFold(shared, features, classes, candidates, means)

    def accuracies(self, fold: int, recognisers: Sequence[Recogniser]) -> Float64Array:
        """Return the mean accuracy over held-out classes of each of the recognisers, whose candidates these are."""
        held_out = self.held_out[fold]
        rows = np.flatnonzero(np.isin(self.codes, held_out))
        targets = np.searchsorted(held_out, self.codes[rows])
        hits = np.zeros((len(held_out), len(recognisers)))
        for block, chosen in _choices(self.X, rows, recognisers):
            right = chosen == targets[block][:, None]
            # a product with one-hot rows: sums over the samples of each class
            hits += (targets[block] == np.arange(len(held_out))[:, None]).astype(np.float64) @ right
        return np.asarray((hits / np.bincount(targets)[:, None]).mean(axis=0))


@dataclass(frozen=True)
class PreparedFold:
    """A fold and a normalisation: what all fits to it share."""

    shared: Any
    features: Normalisation
    classes: Normalisation
    candidates: ClassTable
    class_means: Float64Array

    def class_codes(self, model: Any) -> Float64Array:
        """Return the mean code of each class, C L N^-1 = P M N^-1 + E, after a fit: a start for other fits."""
        solution = model._solution(self.shared, None, return_codes=True)
        return np.asarray(solution.codes_of_samples @ self.class_means.T + solution.codes_of_classes)

    def recognisers(
        self, model: ZeroShotModel, variants: Sequence[dict[str, Any]], on_iteration: OnIteration | None
    ) -> list[Recogniser]:
        """Fit once, and fold the model and the held-out classes into a recogniser for each variant of it."""
        model.__dict__.update(model._learnt(self.shared, on_iteration))
        model.feature_normalisation_, model.class_normalisation_ = self.features, self.classes
        bias = np.zeros(self.candidates.n_classes)
        return [model.set_params(**variant)._recogniser(self.candidates, bias, None) for variant in variants]


def _choices(
    X: npt.NDArray[Any], rows: IntArray, recognisers: Sequence[Recogniser]
) -> Iterator[tuple[slice, npt.NDArray[np.int64]]]:
    """Yield, block by block of the rows, the candidate that each recogniser chooses, (block, recognisers)."""
    linear = [r for r in recognisers if isinstance(r, LinearRecogniser)]
    if len(linear) != len(recognisers):  # a distance of the user's own
        for block in _blocks(len(rows), _ROWS):
            samples = np.asarray(X[rows[block]])
            yield block, np.stack([r.top_k(samples, 1)[0][:, 0] for r in recognisers], axis=1)
        return
    # one product for all of them
    weights, bias = np.concatenate([r.weights for r in linear]), np.concatenate([r.bias for r in linear])
    scorer = AffineScorer(weights, bias, unit_rows=linear[0].unit_rows)
    for block in _blocks(len(rows), min(_ROWS, max(64, _SCORES // len(weights)))):
        scores = scorer.scores(np.asarray(X[rows[block]]))
        yield block, scores.reshape(len(scores), len(linear), -1).argmax(axis=2)


def _blocks(n: int, size: int) -> Iterator[slice]:
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def _require_finite(block: npt.NDArray[Any], first: int) -> None:
    finite = np.isfinite(block)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"X holds NaN or infinity, first at index ({first + row}, {column}): remove or replace such values"
        )
