"""Parts of samples: blocks of rows, with their labels, weights and class numbers."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, as_targets, weights_of
from jcmspl.data.sample_digest import SampleDigest
from jcmspl.data.tasks import stop_if_cancelled
from jcmspl.support.arguments import ROWS, Float64Array, IntArray, row_blocks
from jcmspl.support.progress import Progress

#: Bytes that results derived from all samples may take in the memory of this process (see :attr:`Part.memory`).
IN_MEMORY = 2**28

Bools = npt.NDArray[np.bool_]


class Block:
    """Some rows of a part, read when an attribute is first used; ``first`` is the number of the first row there."""

    def __init__(self, part: Part, rows: slice, first: int) -> None:
        self._part, self._rows, self.first = part, rows, first

    def __len__(self) -> int:
        return self._rows.stop - self._rows.start  # type: ignore[no-any-return]

    @cached_property
    def X(self) -> npt.NDArray[Any]:
        """The samples, as an array that was checked but for NaN."""
        return self._part.samples(self._rows)

    @property
    def labels(self) -> list[Label]:
        """The label of each sample."""
        return self._part.labels[self._rows]

    @property
    def weights(self) -> Float64Array | None:
        """The weight of each sample; None if each counts once."""
        return None if self._part.weights is None else self._part.weights[self._rows]

    @property
    def codes(self) -> IntArray:
        """The number of the class of each sample, -1 for other classes and for weights of 0."""
        return self._part.codes[self._rows]


class Part:
    """Samples that are in one place: all of an array, or a partition on the worker that has it.

    X may be a DataFrame, or None where labels are enough. The numbers of ``classes`` are the codes of samples.
    ``is_checked`` says that X is an array and y a list of labels, both checked already. ``memory`` is the number of
    bytes that results derived from the samples may take; more belong in a temporary file. On workers there is no limit,
    for dask itself spills to disk.
    """

    def __init__(
        self,
        X: Any,
        n_features: int,
        y: Any = None,
        sample_weight: Any = None,
        *,
        class_weight: dict[Label, float] | None = None,
        classes: Sequence[Label] | None = None,
        is_checked: bool = False,
        memory: int = 2**62,
    ) -> None:
        self.X, self.n_features, self.memory = X, n_features, memory
        self._y, self._given, self._class_weight = y, sample_weight, class_weight
        self._classes, self._is_checked = classes, is_checked
        self._line: Progress | None = None
        for what, values in (("labels", y), ("weights", sample_weight)):
            if values is not None and X is not None and len(values) != len(X):
                raise ValueError(f"there are {len(X)} samples but {len(values)} {what}")

    def __len__(self) -> int:
        return len(self._y if self.X is None else self.X)

    def blocks(self, size: int = ROWS) -> Iterator[Block]:
        """Give the samples, some rows at a time; a task of dask ends here if it was cancelled."""
        for rows in row_blocks(len(self), size):
            stop_if_cancelled()
            yield Block(self, rows, rows.start)
            if self._line is not None:
                self._line.update(rows.stop)

    def whole(self) -> Block:
        """Return all rows as one block, for functions that cut them up themselves."""
        block = Block(self, slice(0, len(self)), 0)
        if self._is_checked:
            block.X = self.X  # as it is: the core reads a memory map block by block
        return block

    def samples(self, rows: Any) -> npt.NDArray[Any]:
        """Return some rows as an array; NaN is not looked for."""
        if self.X is None:
            return np.empty((0, self.n_features))
        if self._is_checked:
            return np.asarray(self.X[rows])
        X = _rows_of(self.X, rows)
        dtype = None if getattr(getattr(X, "dtype", None), "kind", "O") in "fiub" else "numeric"
        array: npt.NDArray[Any] = check_array(
            X, dtype=dtype, ensure_all_finite=False, ensure_min_samples=0, input_name="X"
        )
        if array.shape[1] != self.n_features:
            raise ValueError(f"X has {array.shape[1]} features, but {self.n_features} are expected")
        return array

    @cached_property
    def labels(self) -> list[Label]:
        """The label of each sample; none without y."""
        if self._y is None:
            return []
        return self._y if self._is_checked else as_targets(self._y)

    @cached_property
    def weights(self) -> Float64Array | None:
        """The weight of each sample; None if each counts once."""
        if self._given is None and self._class_weight is None:
            return None
        return None if self._y is None else weights_of(self.labels, self._given, self._class_weight)

    @cached_property
    def codes(self) -> IntArray:
        """The number of the class of each sample, -1 for other classes and for weights of 0."""
        if self._classes is None:
            raise RuntimeError("these samples have no classes to be numbered by: use Samples.coded")
        codes = coded(self, self._classes)
        if self.weights is not None:
            codes[self.weights == 0] = -1
        return codes

    def only(self, rows: IntArray) -> Part:
        """Return some of the samples."""
        return ChosenPart(self, rows)

    def reporting(self, line: Progress) -> Part:
        """Return the same part, which tells a progress line how far it was read."""
        twin = copy(self)
        twin._line = line
        return twin


class ChosenPart(Part):
    """Some rows of a part."""

    def __init__(self, part: Part, rows: IntArray) -> None:
        super().__init__(part.X, part.n_features, memory=part.memory)
        self._part, self.rows = part, rows

    def __len__(self) -> int:
        return len(self.rows)

    def samples(self, rows: Any) -> npt.NDArray[Any]:
        return self._part.samples(self.rows[rows])

    @cached_property
    def labels(self) -> list[Label]:
        own = self._part.labels
        return [own[row] for row in self.rows] if own else []

    @cached_property
    def weights(self) -> Float64Array | None:
        return None if self._part.weights is None else self._part.weights[self.rows]

    @cached_property
    def codes(self) -> IntArray:
        return self._part.codes[self.rows]

    def only(self, rows: IntArray) -> Part:
        return ChosenPart(self._part, self.rows[rows])


class ChunkedPart(Part):
    """Samples that come chunk by chunk, and can be read once."""

    def __init__(self, chunks: Iterable[npt.NDArray[Any]], n_features: int) -> None:
        super().__init__(None, n_features, memory=IN_MEMORY)
        self._chunks = chunks

    def blocks(self, size: int = ROWS) -> Iterator[Block]:
        read = 0
        for chunk in self._chunks:
            for block in Part(chunk, self.n_features, is_checked=True).blocks(size):
                block.first += read
                yield block
                if self._line is not None:
                    self._line.update(block.first + len(block))
            read += len(chunk)


@dataclass(frozen=True)
class Collected:
    """The statistics of a part, None if it has no samples of any weight."""

    statistics: LabelledStatistics | None
    has_negatives: bool

    def __add__(self, other: Collected) -> Collected:
        negatives = self.has_negatives or other.has_negatives
        if self.statistics is None or other.statistics is None:
            return Collected(self.statistics or other.statistics, negatives)
        return Collected(self.statistics + other.statistics, negatives)


def collected_of(part: Part, collector: Collector) -> Collected:
    """Return the statistics of a part."""
    own = collector.for_a_part()
    for block in part.blocks():
        own.add(block.X, block.labels, block.weights, first_row=block.first)
    return Collected(own.result() if own.has_samples else None, own.has_negatives)


# Functions of parts.
def coded(part: Part, classes: Sequence[Label]) -> IntArray:
    """Return the number of each sample's class, -1 for others."""
    number = {label: i for i, label in enumerate(classes)}
    return np.fromiter((number.get(label, -1) for label in part.labels), np.int64, count=len(part.labels))


def counted(part: Part) -> Counter[Label]:
    """Return the sum of the weights of each label."""
    counts: Counter[Label] = Counter()
    weights = np.ones(len(part.labels)) if part.weights is None else part.weights
    for label, weight in zip(part.labels, weights.tolist(), strict=True):
        counts[label] += weight
    return counts


def with_zeros(one: Counter[Label], other: Counter[Label]) -> Counter[Label]:
    """Return the sum, including labels of weight 0, which + would leave out."""
    total = one.copy()
    total.update(other)
    return total


def digest_of(part: Part) -> SampleDigest:
    """Return the digest of the samples of a part."""
    digests = (SampleDigest.of(block.X, block.weights) for block in part.blocks())
    return reduce(operator.add, digests, SampleDigest.of(np.empty((0, part.n_features))))


def looked_up(part: Part, digest: SampleDigest) -> tuple[Bools, Bools]:
    """Return which samples are in a digest, and for which the digest can tell."""
    nothing = np.empty(0, dtype=bool)
    found = [(nothing, nothing), *(digest.has(block.X) for block in part.blocks())]
    in_it, decided = zip(*found, strict=True)
    return np.concatenate(in_it), np.concatenate(decided)


def each_added(ones: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """Return the sums of pairs: merges results that are lists."""
    return [one + other for one, other in zip(ones, others, strict=True)]


def _rows_of(values: Any, rows: Any) -> Any:
    if isinstance(values, list) and not isinstance(rows, slice):
        return [values[row] for row in rows]
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]
