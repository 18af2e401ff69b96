"""Labelled samples that are read again and again, some of them at a time: in memory, or where dask has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, sorted_labels
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.on_dask import computed
from jcmspl.data.partitions import Collected, Part, Parts
from jcmspl.data.weights import weights_of
from jcmspl.model.adapting import add_directions
from jcmspl.model.directions import Directions, rows_at_a_time
from jcmspl.model.directions_on_dask import DirectionsOnDask
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import Float64Array, IntArray

# Samples that are read at a time.
_BLOCK = 8192


class Judged(NamedTuple):
    """What generalized recognition makes of samples: a value for each, but for the labels that occur.

    ``gaps`` are the best score of a seen class minus the best of an unseen one, ``right`` tells whether the best class
    of the sample's own kind is the right one, ``numbers`` are those of its label among ``labels``.
    """

    gaps: Float64Array
    right: npt.NDArray[np.bool_]
    numbers: IntArray
    labels: list[Label]


def judged(seen: Recogniser, unseen: Recogniser, X: npt.NDArray[Any], labels: list[Label]) -> Judged:
    """Recognise samples among seen and among unseen classes."""
    trained, numbers = set(seen.labels.tolist()), {label: i for i, label in enumerate(dict.fromkeys(labels))}
    (best_seen, seen_score), (best_unseen, unseen_score) = seen.best(X), unseen.best(X)
    named = zip(seen.labels[best_seen[:, 0]].tolist(), unseen.labels[best_unseen[:, 0]].tolist(), labels, strict=True)
    right = [(as_seen if label in trained else as_unseen) == label for as_seen, as_unseen, label in named]
    return Judged(
        seen_score[:, 0].astype(np.float64) - unseen_score[:, 0],
        np.array(right, dtype=bool),
        np.array([numbers[label] for label in labels], dtype=np.int64),
        list(numbers),
    )


#: A model with its training classes as candidates, and with the others.
Kinds = tuple[Recogniser, Recogniser]


@dataclass(frozen=True, eq=False)
class SamplesInMemory:
    """An array, or anything that is read like one."""

    X: npt.NDArray[Any]
    labels: list[Label]
    class_weight: dict[Label, float] | None = None

    def statistics(self, collector: Collector, fold: IntArray, n_folds: int) -> list[LabelledStatistics]:
        """Return the statistics of the samples of each fold; those of a negative number are left out."""
        return [self._of_fold(collector.for_a_part(), np.flatnonzero(fold == number)) for number in range(n_folds)]

    def _of_fold(self, collector: Collector, rows: IntArray) -> LabelledStatistics:
        collector.add_chunks(
            self._chunks(rows), lambda block: block, lambda own, _: weights_of(own, None, self.class_weight)
        )
        return collector.result()

    def judged(self, kinds: Sequence[Kinds], rows: IntArray) -> list[list[Judged]]:
        """Recognise some samples with each of the pairs."""
        return [[judged(*pair, X, labels) for X, labels in self._chunks(rows)] for pair in kinds]

    def looked_at(self, function: Callable[..., Any], rows: IntArray) -> list[Any]:
        """Return what a function makes of some samples and their labels, block by block."""
        return [function(X, labels) for X, labels in self._chunks(rows)]

    def directions(
        self, normalisation: Normalisation, n_candidates: int, rows: IntArray
    ) -> AbstractContextManager[Any]:
        """Return the directions of some samples."""
        n_features = self.X.shape[1]
        directions = Directions(n_features, rows_at_a_time(n_features, n_candidates))
        add_directions(directions, (X for X, _ in self._chunks(rows)), normalisation)
        return directions

    def named(self, recogniser: Recogniser, rows: IntArray) -> IntArray:
        """Return the number of the best candidate of some samples."""
        return np.concatenate([recogniser.top_k(X, 1)[0][:, 0] for X, _ in self._chunks(rows)])

    def _chunks(self, rows: IntArray) -> Iterator[tuple[npt.NDArray[Any], list[Label]]]:
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            yield self.X[block], [self.labels[row] for row in block]


class SamplesOnDask:
    """Partitions that stay where they are. Their labels are in memory, as numbers: it takes them to draw folds."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        classes = sorted_labels(parts.label_counts())
        self.labels: list[Label] = [classes[code] for code in parts.codes(classes).tolist()]

    def statistics(self, collector: Collector, fold: IntArray, n_folds: int) -> list[LabelledStatistics]:
        """Return the statistics of the samples of each fold; those of a negative number are left out."""
        total = self._parts.reduced(_of_folds, collector, n_folds, of_rows=[fold], merge=_each_added)
        return [part.statistics for part in total]

    def judged(self, kinds: Sequence[Kinds], rows: IntArray) -> list[list[Judged]]:
        """Recognise some samples with each of the pairs."""
        found = computed(self._parts.tasks(_judged_rows, kinds, of_rows=[self._mask(rows)]), what="recognising")
        return [[block[pair] for part in found for block in part] for pair in range(len(kinds))]

    def looked_at(self, function: Callable[..., Any], rows: IntArray) -> list[Any]:
        """Return what a function makes of some samples and their labels, block by block."""
        found = computed(self._parts.tasks(_looked_at, function, of_rows=[self._mask(rows)]), what="recognising")
        return [block for part in found for block in part]

    def directions(
        self, normalisation: Normalisation, n_candidates: int, rows: IntArray
    ) -> AbstractContextManager[Any]:
        """Return the directions of some samples, which stay on the workers."""
        return DirectionsOnDask(self._parts, normalisation, n_candidates, self._mask(rows))

    def named(self, recogniser: Recogniser, rows: IntArray) -> IntArray:
        """Return the number of the best candidate of some samples."""
        return np.concatenate(computed(self._parts.tasks(_named_rows, recogniser, of_rows=[self._mask(rows)])))

    def _mask(self, rows: IntArray) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(self.labels), dtype=bool)
        mask[rows] = True
        return mask


# What workers do.
def _of_folds(part: Part, fold: IntArray, collector: Collector, n_folds: int) -> list[Collected]:
    own = [collector.for_a_part() for _ in range(n_folds)]
    for block in part.blocks():
        for number in np.unique(fold[block.rows]):
            if number >= 0:
                mine = np.flatnonzero(fold[block.rows] == number)
                weights = None if block.weights is None else block.weights[mine]
                chunk = (block.X[mine], [block.labels[row] for row in mine], weights)
                own[number].add_chunks([chunk], _as_it_is, _given, may_be_empty=True)
    return [Collected.of(one) for one in own]


def _as_it_is(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return X


def _given(labels: list[Label], weights: Any) -> Any:
    return weights


def _each_added(ones: list[Any], others: list[Any]) -> list[Any]:
    return [one + other for one, other in zip(ones, others, strict=True)]


def _judged_rows(part: Part, mask: npt.NDArray[np.bool_], kinds: Sequence[Kinds]) -> list[list[Judged]]:
    def judge(X: npt.NDArray[Any], labels: list[Label]) -> list[Judged]:
        return [judged(*pair, X, labels) for pair in kinds]

    return _of_chosen(part, mask, judge)


def _looked_at(part: Part, mask: npt.NDArray[np.bool_], function: Callable[..., Any]) -> list[Any]:
    return _of_chosen(part, mask, function)


def _named_rows(part: Part, mask: npt.NDArray[np.bool_], recogniser: Recogniser) -> IntArray:
    found = _of_chosen(part, mask, lambda X, _: recogniser.top_k(X, 1)[0][:, 0])
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _of_chosen(part: Part, mask: npt.NDArray[np.bool_], function: Callable[..., Any]) -> list[Any]:
    found = []
    for block in part.blocks():
        chosen = np.flatnonzero(mask[block.rows])
        if len(chosen):
            found.append(function(block.X[chosen], [block.labels[row] for row in chosen]))
    return found
