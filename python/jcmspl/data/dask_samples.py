"""Samples in partitions of dask arrays or DataFrames: functions of each run on the worker that has it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import BALANCED, Label, as_label_list, balanced_weights
from jcmspl.data.parts import Collected, Part, collected_of, each_added
from jcmspl.data.samples import PartResults, Samples
from jcmspl.data.tasks import Literal, computed, in_list, kept, reduced, run, shared, task
from jcmspl.support.arguments import IntArray
from jcmspl.support.containers import is_dask
from jcmspl.support.version import __version__


def _is_frame(value: Any) -> bool:
    """Whether a value of dask is a DataFrame or a Series, and not an array."""
    return hasattr(value, "map_partitions") and hasattr(value, "divisions")


class DaskSamples(Samples):
    """Samples that dask has, in partitions; labels and weights, in memory or of dask, are cut as the samples are."""

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        if type(X).__module__ == "dask.delayed":  # any attribute of a Delayed exists
            raise TypeError("X is a Delayed of dask, of unknown shape: make an array of it (dask.array.from_delayed)")
        self._labels: list[Any] | None = None
        self._weights: list[Any] | None = None
        self._known_lengths: list[int] | None = None
        if _is_frame(X):
            self._pieces, self.header = list(X.to_delayed()), X._meta
        else:
            X = in_whole_rows(X)
            sizes = X.chunks[0]
            self._known_lengths = None if any(size != size for size in sizes) else [int(size) for size in sizes]
            self._pieces, self.header = list(X.to_delayed().ravel()), np.empty((0, X.shape[1]), dtype=X.dtype)
        self._class_weight: dict[Label, float] | None = None
        self._classes: Sequence[Label] | None = None
        self._mask: npt.NDArray[np.bool_] | None = None
        if y is not None:
            self._labels = self._cut(y, "labels in y")
        if sample_weight is not None:
            self._weights = self._cut(sample_weight, "numbers in sample_weight")

    def weighed(self, class_weight: Any) -> DaskSamples:
        """Return the same with weights of classes; those that balance them take a pass over the labels."""
        if isinstance(class_weight, str) and class_weight == BALANCED:
            class_weight = balanced_weights(self.label_counts())
        return self._with(_class_weight=class_weight)

    def _with(self, **changed: Any) -> DaskSamples:
        twin = copy(self)
        for name in ("labels", "codes"):  # cached
            vars(twin).pop(name, None)
        vars(twin).update(changed)
        return twin

    def lengths(self) -> list[int]:
        """Return the number of samples of each partition, counted on the workers if dask does not know it."""
        if self._known_lengths is None:
            counted = self._labels or self._pieces
            self._known_lengths = [int(n) for n in computed([task(len, i, one) for i, one in enumerate(counted)])]
        return self._known_lengths

    def _cut(self, values: Any, what: str) -> list[Any]:
        """Return values, one for each sample, as the samples are cut."""
        if is_dask(values):
            return self._cut_by_dask(values, what)
        listed = values if isinstance(values, np.ndarray) else as_label_list(values, what)
        ends = np.cumsum([0, *self.lengths()])
        if len(listed) != ends[-1]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {ends[-1]} samples in X, "
                f"{len(listed)} {what}"
            )
        return [Literal(listed[first:end]) for first, end in pairwise(ends.tolist())]

    def _cut_by_dask(self, values: Any, what: str) -> list[Any]:
        if not _is_frame(values):
            if values.ndim == 2 and values.shape[1] == 1:
                values = values[:, 0]
            if values.ndim != 1:
                raise ValueError(f"there must be one of the {what} for each sample, but their shape is {values.shape}")
            is_known = not np.isnan(values.shape[0])
            if is_known and self._known_lengths is not None:
                if values.shape[0] != sum(self._known_lengths):
                    raise ValueError(
                        "Found input variables with inconsistent numbers of samples: "
                        f"{sum(self._known_lengths)} samples in X, {values.shape[0]} {what}"
                    )
                values = values.rechunk((tuple(self._known_lengths),))
        elif getattr(values, "ndim", 1) != 1:
            raise ValueError(f"the {what} are a DataFrame: pass the column that holds them")
        pieces = list(values.to_delayed().ravel() if hasattr(values, "chunks") else values.to_delayed())
        if len(pieces) != len(self._pieces):
            raise ValueError(
                f"X has {len(self._pieces)} partitions, but the {what} have {len(pieces)}: cut them alike "
                "(X.to_dask_array(lengths=True), rechunk)"
            )
        return pieces

    def map(
        self, function: Callable[..., Any], *arguments: Any, what: str = "reading", progress: bool = False, **how: Any
    ) -> list[Any]:
        return computed(self._tasks(function, *arguments, **how), what=what, progress=progress)

    def reduce(
        self, function: Callable[..., Any], *arguments: Any, merge: Callable[[Any, Any], Any] = operator.add, **how: Any
    ) -> Any:
        told = {name: how.pop(name) for name in ("what", "progress") if name in how}
        return reduced(self._tasks(in_list(function), *arguments, **how), merge, **told)

    def sum_each(self, function: Callable[..., Any], each: Sequence[tuple[Any, ...]], pool: Any) -> list[Any]:
        found: list[Any] = self.reduce(_of_each, function, each, merge=each_added, what="recognising")
        return found

    def keep(self, function: Callable[..., Any], *arguments: Any, progress: bool = False) -> PartResults:
        return _ResultsOnWorkers(kept(self._tasks(function, *arguments), progress=progress))

    def only(self, rows: IntArray) -> Samples:
        mask = np.zeros(sum(self.lengths()), dtype=bool)
        mask[rows if self._mask is None else np.flatnonzero(self._mask)[rows]] = True
        return self._with(_mask=mask)

    def coded(self, classes: Sequence[Label]) -> Samples:
        return self._with(_classes=list(classes))

    def take(self, rows: IntArray) -> npt.NDArray[Any]:
        """Return some samples, by their numbers, as an array; only these travel."""
        ends = np.cumsum([0, *self.lengths()])
        owner = np.searchsorted(ends, rows, side="right") - 1
        wanted = np.unique(owner)
        own = {int(number): rows[owner == number] - ends[number] for number in wanted}
        found = np.concatenate([np.empty((0, self.n_features)), *computed(self._tasks(Part.samples, of_parts=own))])
        order = np.concatenate([np.flatnonzero(owner == number) for number in wanted] or [np.empty(0, dtype=int)])
        in_place = np.empty_like(found)
        in_place[order] = found
        return in_place

    def _refusal(self, reader: str, advice: str = "") -> TypeError:
        return TypeError(
            f"{reader} reads the samples themselves, which dask would have to send again and again: pass X.compute()"
        )

    def collected(self, collector: Collector) -> LabelledStatistics:
        if collector.power is None:
            collector.power = self._takes_roots(collector)
        total: Collected = self.reduce(collected_of, collector, progress=collector.progress)
        if total.statistics is None:
            raise ValueError("there are no samples: all partitions are empty, or all weights are zero")
        if total.has_negatives:
            collector.warn_of_negatives()
        return total.statistics

    def is_without_negatives(self) -> bool:
        return self._takes_roots(Collector(None, False, None, progress=False))

    def _takes_roots(self, collector: Collector) -> bool:
        """Whether roots of values are taken, decided by the first partition that has samples of any weight."""
        for number in range(len(self._pieces)):
            (found,) = computed(self._tasks(_first_decision, collector, of_parts={number: None}))
            if found is not None:
                return bool(found)
        return False

    def _tasks(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        of_rows: Sequence[Any] = (),
        of_parts: dict[int, Any] | None = None,
        without_samples: bool = False,
    ) -> list[Any]:
        """Return the tasks that call the function; if something is given for some partitions, of these alone."""
        same = [shared(one) for one in arguments]
        by_row = [*of_rows] if self._mask is None else [self._mask, *of_rows]
        ends = np.cumsum([0, *self.lengths()]) if by_row else None
        settings = shared((self.n_features, self._class_weight, self._classes, self._mask is not None))
        tasks = []
        for number, X in enumerate(self._pieces):
            own = [] if ends is None else [Literal(rows[ends[number] : ends[number + 1]]) for rows in by_row]
            if of_parts is not None:
                if number not in of_parts:
                    continue
                own.append(Literal(of_parts[number]))
            pieces = (None if given is None else given[number] for given in (self._labels, self._weights))
            samples = None if without_samples else X
            tasks.append(task(_of_part, number, function, samples, *pieces, settings, *own, *same))
        return tasks


class _ResultsOnWorkers(PartResults):
    """Results that stay on the workers until they are closed."""

    def map(self, function: Callable[..., Any], *arguments: Any, of_pieces: Sequence[Any] | None = None) -> list[Any]:
        return computed(self._tasks(function, arguments, of_pieces))

    def reduce(self, function: Callable[..., Any], *arguments: Any, merge: Callable[[Any, Any], Any]) -> Any:
        return reduced(self._tasks(in_list(function), arguments), merge)

    def close(self) -> None:
        self._pieces = []  # the workers forget results without references

    def _tasks(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], of_pieces: Sequence[Any] | None = None
    ) -> list[Any]:
        same = [shared(one) for one in arguments]
        own: list[list[Any]] = [[] for _ in self._pieces] if of_pieces is None else [[one] for one in of_pieces]
        return [task(function, number, piece, *own[number], *same) for number, piece in enumerate(self._pieces)]


def as_dask_array(X: Any) -> Any:
    """Return samples of dask as a dask array of whole rows; that of a DataFrame may have an unknown length."""
    return in_whole_rows(X.to_dask_array() if _is_frame(X) and hasattr(X, "columns") else X)


def in_whole_rows(X: Any) -> Any:
    """Return a dask array whose chunks are whole rows."""
    if not hasattr(X, "map_blocks"):
        raise TypeError(f"X must be an array or a DataFrame of dask, but is a {type(X).__name__}")
    if X.ndim != 2:
        hint = ": use X.reshape(1, -1) for a single sample" if X.ndim == 1 else ""
        raise ValueError(f"X must have 2 dimension(s), but its shape is {X.shape}{hint}")
    if np.isnan(X.shape[1]):
        raise ValueError("dask does not know how many features X has: use X.compute_chunk_sizes() first")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def mapped_blocks(function: Callable[[npt.NDArray[Any]], Any], X: Any, dtype: Any, width: int | None) -> Any:
    """Return a dask array of what a function returns for the partitions of a dask array; see `reading.lazily`."""
    options: dict[str, Any] = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    meta = np.empty((0,) * (1 if width is None else 2), dtype=dtype)
    # the function is sent once, as it may be large, and not with each partition
    options |= {"version": __version__, "dtype": dtype, "meta": meta}
    return X.map_blocks(_on_block, shared(function), X.shape[1], **options)


def _on_block(X: Any, function: Literal, n_features: int, version: str, block_id: tuple[int, ...] | None = None) -> Any:
    number = 0 if block_id is None else int(block_id[0])
    return run(version, of_whole, number, Part(X, n_features), function)


# Functions that run on workers.
def of_whole(part: Part, function: Callable[[npt.NDArray[Any]], Any]) -> Any:
    """Return the result of a function of all samples of a part."""
    return function(part.whole().X)


def _of_part(
    function: Callable[..., Any], X: Any, y: Any, sample_weight: Any, settings: tuple[Any, ...], *arguments: Any
) -> Any:
    n_features, class_weight, classes, is_masked = settings
    part = Part(X, n_features, y, sample_weight, class_weight=class_weight, classes=classes)
    if not is_masked:
        return function(part, *arguments)
    mask, *rest = arguments
    return function(part.only(np.flatnonzero(mask)), *rest)


def _of_each(part: Part, function: Callable[..., Any], each: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [function(part, *arguments) for arguments in each]


def _first_decision(part: Part, _: None, collector: Collector) -> bool | None:
    found = None
    for block in part.blocks():
        weights = block.weights
        if len(block.X) and (weights is None or weights.any()):
            found = (found is None or found) and collector.takes_roots_of(block.X, block.labels, weights)
    return found
