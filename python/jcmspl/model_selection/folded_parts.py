"""Folds of classes of samples that dask has: each pass over them is a sum over partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector
from jcmspl.data.labels import Label
from jcmspl.data.on_dask import computed
from jcmspl.data.partitions import Block, Part, Parts, takes_roots
from jcmspl.model.recogniser import Recogniser
from jcmspl.model_selection.folds import FoldedData, add_to_folds, hits_of, mean_accuracies, places_of
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.scaling import Scaling


class FoldedParts(FoldedData):
    """Partitions of samples of known classes, and the classes that each fold holds out.

    Parameters
    ----------
    parts : Parts
    classes : list of labels
        Those that have samples which weigh anything, sorted.
    table, folds, n_splits
        As for FoldedData.
    """

    def __init__(
        self, parts: Parts, classes: list[Label], table: ClassTable, folds: Sequence[IntArray], n_splits: int
    ) -> None:
        self._set_up(classes, table, folds, n_splits)
        self._samples = parts

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._samples.n_features

    @property
    def codes(self) -> IntArray:
        """The number of each sample's class, -1 for one that is not looked at; from a pass over the labels."""
        if not hasattr(self, "_codes"):
            found = computed(self._samples.tasks(_codes_of, self.classes, without_samples=True))
            self._codes = np.concatenate(found)
        return self._codes

    def samples(self, rows: Sequence[IntArray]) -> list[npt.NDArray[Any]]:
        """Return the samples of each list of rows."""
        ends = np.cumsum([len(own) for own in rows])
        return np.split(self._samples.taken(np.concatenate(rows)), ends[:-1])

    def places(self, direction: Float64Array) -> Float64Array:
        """Return where samples, of length one, lie in a direction; 0 for those that are not looked at."""
        return np.concatenate(computed(self._samples.tasks(_places_of, self.classes, direction)))

    def _is_without_negatives(self) -> bool:
        return takes_roots(self._samples, Collector(None, False, None, progress=False))

    def _rows_of(self, kept: IntArray) -> None:
        """There are none: samples stay where they are."""

    def _collect(self, scalings: list[Scaling], progress: bool) -> dict[Scaling, list[Statistics]]:
        arguments = (self.classes, self.held_out, scalings)
        total = self._samples.reduced(_statistics_of_folds, *arguments, merge=_all_added, progress=progress)
        return dict(zip(scalings, total, strict=True))

    def accuracies_of_folds(self, recognisers: Sequence[Sequence[Recogniser]], pool: Any) -> list[Float64Array]:
        """Return the mean accuracy over held-out classes of each recogniser of each fold, in one pass."""
        total = self._samples.reduced(
            _hits_of_folds, self.classes, self.held_out, recognisers, merge=_each_added, what="recognising"
        )
        return [mean_accuracies(hits) for hits in total]


# What workers do.
def _numbered(block: Block, number: dict[Label, int]) -> IntArray:
    """Return the number of the class of each sample, -1 for one that weighs nothing."""
    codes = np.fromiter((number.get(label, -1) for label in block.labels), np.int64, len(block.labels))
    if block.weights is not None:
        codes[block.weights == 0] = -1
    return codes


def _codes_of(part: Part, classes: list[Label]) -> IntArray:
    number = {label: i for i, label in enumerate(classes)}
    return np.concatenate([np.empty(0, dtype=np.int64), *(_numbered(block, number) for block in part.blocks())])


def _places_of(part: Part, classes: list[Label], direction: Float64Array) -> Float64Array:
    number = {label: i for i, label in enumerate(classes)}
    found = (places_of(block.X, _numbered(block, number), direction) for block in part.blocks())
    return np.concatenate([np.empty(0), *found])


def _statistics_of_folds(
    part: Part, classes: list[Label], held_out: list[IntArray], scalings: list[Scaling]
) -> list[list[Statistics]]:
    number = {label: i for i, label in enumerate(classes)}
    parts = {
        scaling: [Statistics(part.n_features, len(classes), **scaling._asdict()) for _ in held_out]
        for scaling in scalings
    }
    for block in part.blocks():
        add_to_folds(parts, held_out, block.X, _numbered(block, number), block.weights, block.rows.start)
    return list(parts.values())


def _hits_of_folds(
    part: Part, classes: list[Label], held_out: list[IntArray], recognisers: list[list[Recogniser]]
) -> list[Float64Array]:
    number = {label: i for i, label in enumerate(classes)}
    total = [np.zeros((len(own), len(of_fold) + 1)) for own, of_fold in zip(held_out, recognisers, strict=True)]
    for block in part.blocks():
        codes = _numbered(block, number)
        for hits, own, of_fold in zip(total, held_out, recognisers, strict=True):
            hits += hits_of(block.X, codes, block.weights, own, of_fold)
    return total


def _each_added(ones: list[Any], others: list[Any]) -> list[Any]:
    return [one + other for one, other in zip(ones, others, strict=True)]


def _all_added(ones: list[list[Any]], others: list[list[Any]]) -> list[list[Any]]:
    return [_each_added(one, other) for one, other in zip(ones, others, strict=True)]
