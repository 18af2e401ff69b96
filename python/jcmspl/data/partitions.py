"""Labelled samples in partitions of dask arrays or DataFrames: functions of each, and sums of what they give."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, as_label_list, as_targets
from jcmspl.data.on_dask import Literal, computed, is_dask, is_frame, reduced, run, shared, stop_if_unwanted, task
from jcmspl.data.sample_digest import SampleDigest
from jcmspl.data.weights import BALANCED, balanced_weights, weights_of
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.version import __version__

# Rows that are read at a time: no more than these are ever converted or copied.
_ROWS = 8192


class Block(NamedTuple):
    """Some rows of a partition: samples that were looked at, their labels and weights if there are any."""

    X: npt.NDArray[Any]
    labels: list[Label]
    weights: Float64Array | None
    rows: slice


@dataclass(frozen=True, eq=False)
class Part:
    """A partition, on the worker that has it."""

    X: Any
    y: Any
    sample_weight: Any
    n_features: int
    class_weight: dict[Label, float] | None

    def __post_init__(self) -> None:
        for what, values in (("labels", self.y), ("weights", self.sample_weight)):
            if values is not None and self.X is not None and len(values) != len(self.X):
                raise ValueError(f"there are {len(self.X)} samples but {len(values)} {what}")

    def __len__(self) -> int:
        return len(self.y if self.X is None else self.X)

    def blocks(self) -> Iterator[Block]:
        """Give the samples, some rows at a time; ends when nobody wants the result any more."""
        for first in range(0, len(self), _ROWS):
            stop_if_unwanted()
            rows = slice(first, first + _ROWS)
            labels = [] if self.y is None else as_targets(_rows_of(self.y, rows))
            given = None if self.sample_weight is None else np.asarray(_rows_of(self.sample_weight, rows))
            weights = None if self.y is None else weights_of(labels, given, self.class_weight)
            yield Block(self.samples(rows), labels, weights, rows)

    def samples(self, rows: Any) -> npt.NDArray[Any]:
        """Return some rows as an array; NaN is not looked for."""
        if self.X is None:
            return np.empty((0, self.n_features))
        X = _rows_of(self.X, rows)
        dtype = None if getattr(getattr(X, "dtype", None), "kind", "O") in "fiub" else "numeric"
        array: npt.NDArray[Any] = check_array(
            X, dtype=dtype, ensure_all_finite=False, ensure_min_samples=0, input_name="X"
        )
        if array.shape[1] != self.n_features:
            raise ValueError(f"X has {array.shape[1]} features, but {self.n_features} are expected")
        return array


@dataclass(frozen=True, eq=False)
class Parts:
    """Samples that dask has, in partitions, and what belongs to each of them.

    Attributes
    ----------
    samples : list of Delayed
    header : array or DataFrame without rows
        What the samples are like: their number of features, type and names.
    known_lengths : list of int or None
    labels, sample_weights : list or None
        Of each partition.
    class_weight : dict of label -> weight or None
    """

    samples: list[Any]
    header: Any
    known_lengths: list[int] | None
    labels: list[Any] | None = None
    sample_weights: list[Any] | None = None
    class_weight: dict[Label, float] | None = None

    @classmethod
    def of(cls, X: Any, y: Any = None, sample_weight: Any = None) -> Parts:
        """Cut labels and weights, in memory or of dask, as the samples are cut."""
        if type(X).__module__ == "dask.delayed":  # which has any attribute that one asks for
            raise TypeError("X is a Delayed of dask, of unknown shape: make an array of it (dask.array.from_delayed)")
        if is_frame(X):
            plain = cls(list(X.to_delayed()), X._meta, None)
        else:
            X = in_whole_rows(X)
            sizes = X.chunks[0]
            lengths = None if any(size != size for size in sizes) else [int(size) for size in sizes]
            header = np.empty((0, X.shape[1]), dtype=X.dtype)
            plain = cls(list(X.to_delayed().ravel()), header, lengths)
        labels = None if y is None else plain.cut(y, "labels in y")
        weights = None if sample_weight is None else plain.cut(sample_weight, "numbers in sample_weight")
        return replace(plain, labels=labels, sample_weights=weights)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.header.shape[1])

    def lengths(self) -> list[int]:
        """Return the number of samples of each partition; they are counted if dask does not know."""
        if self.known_lengths is not None:
            return self.known_lengths
        counted = self.labels or self.samples
        return [int(n) for n in computed([task(len, number, one) for number, one in enumerate(counted)])]

    def cut(self, values: Any, what: str) -> list[Any]:
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
        if not is_frame(values):
            if values.ndim == 2 and values.shape[1] == 1:
                values = values[:, 0]
            if values.ndim != 1:
                raise ValueError(f"there must be one of the {what} for each sample, but their shape is {values.shape}")
            is_known = not np.isnan(values.shape[0])
            if is_known and self.known_lengths is not None:
                if values.shape[0] != sum(self.known_lengths):
                    raise ValueError(
                        "Found input variables with inconsistent numbers of samples: "
                        f"{sum(self.known_lengths)} samples in X, {values.shape[0]} {what}"
                    )
                values = values.rechunk((tuple(self.known_lengths),))
        elif getattr(values, "ndim", 1) != 1:
            raise ValueError(f"the {what} are a DataFrame: pass the column that holds them")
        pieces = list(values.to_delayed().ravel() if hasattr(values, "chunks") else values.to_delayed())
        if len(pieces) != len(self.samples):
            raise ValueError(
                f"X has {len(self.samples)} partitions, but the {what} have {len(pieces)}: cut them alike "
                "(X.to_dask_array(lengths=True), rechunk)"
            )
        return pieces

    def weighed(self, class_weight: Any) -> Parts:
        """Return the same with weights of classes; those that balance them take a pass over the labels."""
        if isinstance(class_weight, str) and class_weight == BALANCED:
            class_weight = balanced_weights(self.label_counts())
        return replace(self, class_weight=class_weight)

    def label_counts(self) -> dict[Label, float]:
        """Return what the samples of each label weigh, by their own weights and those of their classes."""
        counts: Counter[Label] = self.reduced(_counted, merge=_with_zeros, without_samples=True)
        return dict(counts)

    def codes(self, classes: Sequence[Label]) -> IntArray:
        """Return the number of each sample's class, -1 for others, from a pass over the labels."""
        number = {label: i for i, label in enumerate(classes)}
        found = computed(self.tasks(_coded, number, without_samples=True))
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def taken(self, rows: IntArray) -> npt.NDArray[Any]:
        """Return some samples, by their numbers among all; only these travel."""
        ends = np.cumsum([0, *self.lengths()])
        owner = np.searchsorted(ends, rows, side="right") - 1
        wanted = np.unique(owner)
        own = [rows[owner == number] - ends[number] for number in wanted]
        tasks = self.tasks(_taken, of_parts=dict(zip(wanted.tolist(), own, strict=True)))
        found = np.concatenate([np.empty((0, self.n_features)), *computed(tasks)])
        order = np.concatenate([np.flatnonzero(owner == number) for number in wanted] or [np.empty(0, dtype=int)])
        in_place = np.empty_like(found)
        in_place[order] = found
        return in_place

    def reduced(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        merge: Callable[[Any, Any], Any] = operator.add,
        of_rows: Sequence[Any] = (),
        without_samples: bool = False,
        what: str = "reading",
        progress: bool = False,
    ) -> Any:
        """Return the sum of ``function(part, *rows of the part, *arguments)`` over all partitions.

        Parameters
        ----------
        function
            Must be pure, and must not change what it is given.
        arguments
            The same for all partitions.
        merge : function
            Returns the sum of two results, and changes neither.
        of_rows : sequence of arrays
            With a value for each sample; a partition gets its own.
        without_samples : bool
            Whether labels and weights are enough.
        what, progress
            What to call it, and whether to show how far it is.
        """
        tasks = self.tasks(function, *arguments, of_rows=of_rows, without_samples=without_samples)
        return reduced(tasks, merge, what=what, progress=progress)

    def tasks(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        of_rows: Sequence[Any] = (),
        of_parts: dict[int, Any] | None = None,
        without_samples: bool = False,
    ) -> list[Any]:
        """Return the tasks that call the function; if something is given for some partitions, of these alone."""
        same = [shared(one) for one in arguments]
        ends = np.cumsum([0, *self.lengths()]) if of_rows else None
        weight = shared(self.class_weight)
        tasks = []
        for number, X in enumerate(self.samples):
            own = [] if ends is None else [Literal(rows[ends[number] : ends[number + 1]]) for rows in of_rows]
            if of_parts is not None:
                if number not in of_parts:
                    continue
                own.append(Literal(of_parts[number]))
            parts = (None if pieces is None else pieces[number] for pieces in (self.labels, self.sample_weights))
            given = (None if without_samples else X, *parts, self.n_features, weight)
            tasks.append(task(_of_part, number, function, *given, *own, *same))
        return tasks


def as_dask_array(X: Any) -> Any:
    """Return samples that dask has as an array of whole rows; of a DataFrame their number may not be known."""
    return in_whole_rows(X.to_dask_array() if is_frame(X) and hasattr(X, "columns") else X)


def in_whole_rows(X: Any) -> Any:
    """Return a dask array of samples none of which is cut."""
    if not hasattr(X, "map_blocks"):
        raise TypeError(f"X must be an array or a DataFrame of dask, but is a {type(X).__name__}")
    if X.ndim != 2:
        hint = ": use X.reshape(1, -1) for a single sample" if X.ndim == 1 else ""
        raise ValueError(f"X must have 2 dimension(s), but its shape is {X.shape}{hint}")
    if np.isnan(X.shape[1]):
        raise ValueError("dask does not know how many features X has: use X.compute_chunk_sizes() first")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def lazily(function: Callable[[npt.NDArray[Any]], Any], X: Any, dtype: Any, width: int | None = None) -> Any:
    """Return what a function makes of samples: of a dask array a dask array, of others the result itself.

    Parameters
    ----------
    function
        Of an array of samples; returns a row, or a value if there is no width, for each.
    X : array of numpy or dask
    dtype, width
        What it returns.
    """
    if not is_dask(X):
        return function(X)
    options: dict[str, Any] = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    meta = np.empty((0,) * (1 if width is None else 2), dtype=dtype)
    # the function is sent once, as it may be large, and not with each partition
    options |= {"version": __version__, "dtype": dtype, "meta": meta}
    return X.map_blocks(_on_block, shared(function), X.shape[1], **options)


def samples_dtype(X: Any) -> npt.DTypeLike:
    """Return the dtype in which samples are worked on."""
    return np.float32 if X.dtype.kind == "f" and X.dtype.itemsize == 4 else np.float64


def _on_block(X: Any, function: Literal, n_features: int, version: str, block_id: tuple[int, ...] | None = None) -> Any:
    number = 0 if block_id is None else int(block_id[0])
    return run(version, _of_samples, number, X, function, n_features)


def _of_samples(X: Any, function: Callable[[npt.NDArray[Any]], Any], n_features: int) -> Any:
    return function(Part(X, None, None, n_features, None).samples(slice(None)))


@dataclass(frozen=True)
class Collected:
    """What was collected from partitions; no statistics if there was nothing."""

    statistics: Any  # LabelledStatistics, or None
    has_negatives: bool

    @classmethod
    def of(cls, collector: Collector) -> Collected:
        """Return what a collector has."""
        return cls(collector.result() if collector.has_samples else None, collector.has_negatives)

    def __add__(self, other: Collected) -> Collected:
        negatives = self.has_negatives or other.has_negatives
        if self.statistics is None or other.statistics is None:
            return Collected(self.statistics or other.statistics, negatives)
        return Collected(self.statistics + other.statistics, negatives)


def collected_from(parts: Parts, collector: Collector, *, progress: bool) -> LabelledStatistics:
    """Return the statistics of all partitions, which are collected where they are."""
    if collector.is_undecided:
        collector.decide(takes_roots(parts, collector))
    total: Collected = parts.reduced(_collected, collector, progress=progress)
    if total.statistics is None:
        raise ValueError("there are no samples: all partitions are empty, or all weights are zero")
    if total.has_negatives:
        collector.warn_of_negatives()
    statistics: LabelledStatistics = total.statistics
    return statistics


def digest_of_parts(parts: Parts) -> SampleDigest:
    """Return the digest of the samples of all partitions."""
    found: SampleDigest = parts.reduced(_digest_of)
    return found


def looked_up(parts: Parts, digest: SampleDigest) -> list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
    """Return for each partition which of its samples are in a digest, and of which the digest can tell."""
    return computed(parts.tasks(_looked_up, digest))


def takes_roots(parts: Parts, collector: Collector) -> bool:
    """Whether the first partition that has samples which weigh anything is such that roots of values are taken."""
    for number in range(len(parts.samples)):
        (found,) = computed(parts.tasks(_first_decision, collector, of_parts={number: None}))
        if found is not None:
            return bool(found)
    return False


# What workers do.
def _of_part(
    function: Callable[..., Any],
    X: Any,
    y: Any,
    sample_weight: Any,
    n_features: int,
    class_weight: dict[Label, float] | None,
    *arguments: Any,
) -> Any:
    return function(Part(X, y, sample_weight, n_features, class_weight), *arguments)


def _collected(part: Part, collector: Collector) -> Collected:
    own = collector.for_a_part()
    chunks = ((block.X, block.labels, block.weights) for block in part.blocks())
    own.add_chunks(chunks, lambda X: X, lambda labels, weights: weights, may_be_empty=True)
    return Collected.of(own)


def _digest_of(part: Part) -> SampleDigest:
    digests = (SampleDigest.of(block.X, block.weights) for block in part.blocks())
    return reduce(operator.add, digests, SampleDigest.of(np.empty((0, part.n_features))))


def _looked_up(part: Part, digest: SampleDigest) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    nothing = np.empty(0, dtype=bool)
    found = [(nothing, nothing), *(digest.has(block.X) for block in part.blocks())]
    in_it, decided = zip(*found, strict=True)
    return np.concatenate(in_it), np.concatenate(decided)


def _first_decision(part: Part, _: None, collector: Collector) -> bool | None:
    found = None
    for block in part.blocks():
        weights = block.weights
        if len(block.X) and (weights is None or weights.any()):
            found = (found is None or found) and collector.takes_roots_of(block.X, block.labels, weights)
    return found


def _counted(part: Part) -> Counter[Label]:
    counts: Counter[Label] = Counter()
    for block in part.blocks():
        weights = np.ones(len(block.labels)) if block.weights is None else block.weights
        for label, weight in zip(block.labels, weights.tolist(), strict=True):
            counts[label] += weight
    return counts


def _with_zeros(one: Counter[Label], other: Counter[Label]) -> Counter[Label]:
    """Return the sum, with the labels that weigh nothing, which + would leave out."""
    total = one.copy()
    total.update(other)
    return total


def _coded(part: Part, number: dict[Label, int]) -> IntArray:
    codes = [
        np.fromiter((number.get(label, -1) for label in block.labels), np.int64, len(block.labels))
        for block in part.blocks()
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *codes])


def _taken(part: Part, rows: IntArray) -> npt.NDArray[Any]:
    return part.samples(rows)


def _rows_of(values: Any, rows: Any) -> Any:
    if isinstance(values, list) and not isinstance(rows, slice):
        return [values[row] for row in rows]
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]
