"""Samples, wherever they are: one protocol for arrays, memory maps, iterables of chunks and partitions of dask.

Code that works on samples is a function of a :class:`Part`, which yields its samples in blocks. An array in memory or
on disk is one part, an iterable of chunks is one part that can be read once, and dask (:mod:`jcmspl.data.dask_samples`)
has many parts on its workers. The function is the same for all: ``samples.reduce(function)`` merges its results,
``samples.map(function)`` lists them.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.collect import Collector, LabelledStatistics, is_without_negatives
from jcmspl.data.labels import Label, as_targets, sorted_labels
from jcmspl.data.parts import (
    IN_MEMORY,
    Bools,
    ChunkedPart,
    Part,
    coded,
    counted,
    digest_of,
    looked_up,
    with_zeros,
)
from jcmspl.data.sample_digest import SampleDigest
from jcmspl.data.training import LabelledRows
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.progress import Progress


class PartResults:
    """The results of a function for each part, kept where the part is: here, or on the workers of dask."""

    def __init__(self, pieces: list[Any]) -> None:
        self._pieces = pieces

    def map(self, function: Callable[..., Any], *arguments: Any, of_pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return ``function(piece, *arguments)`` of each result.

        ``of_pieces`` has a further argument for each, passed after the result.
        """
        own: list[list[Any]] = [[] for _ in self._pieces] if of_pieces is None else [[one] for one in of_pieces]
        return [function(piece, *more, *arguments) for piece, more in zip(self._pieces, own, strict=True)]

    def reduce(self, function: Callable[..., Any], *arguments: Any, merge: Callable[[Any, Any], Any]) -> Any:
        """Return the merged results of ``function(piece, *arguments)``."""
        return reduce(merge, self.map(function, *arguments))

    def close(self) -> None:
        """Forget the results, and close them if they are files."""
        for piece in self._pieces:
            if hasattr(piece, "close"):
                piece.close()
        self._pieces = []


class Samples:
    """Samples, and the labels and weights that belong to them.

    Functions of parts must be pure and must not change their arguments: they may run on workers, and again if a worker
    is lost. Chunks implement only what one pass over samples without labels allows, and ``collected``; callers refuse
    them with :meth:`require_rereadable` before they ask for more.

    Attributes
    ----------
    header : array or DataFrame without rows
        Tells the number of features, their type and names.
    """

    header: Any

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.header.shape[1])

    def map(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        of_rows: Sequence[Any] = (),
        without_samples: bool = False,
        what: str = "reading",
        progress: bool = False,
    ) -> list[Any]:
        """Return ``function(part, *values of its rows, *arguments)`` of each part.

        Each array of ``of_rows`` has a value for each sample, and a part gets those of its own rows.
        ``without_samples`` says that the function reads labels and weights only. ``what`` is the title of the progress
        line.
        """
        raise NotImplementedError

    def reduce(
        self, function: Callable[..., Any], *arguments: Any, merge: Callable[[Any, Any], Any] = operator.add, **how: Any
    ) -> Any:
        """Return the merged results of :meth:`map`; ``merge`` returns the sum of two results and changes neither."""
        return reduce(merge, self.map(function, *arguments, **how))

    def sum_each(self, function: Callable[..., Any], each: Sequence[tuple[Any, ...]], pool: Any) -> list[Any]:
        """Return the sum of ``function(part, *arguments)`` over all parts for each of several tuples of arguments.

        The threads of a pool take a tuple each; workers of dask take all tuples in one pass over the samples.
        """
        raise NotImplementedError

    def keep(self, function: Callable[..., Any], *arguments: Any, progress: bool = False) -> PartResults:
        """Compute ``function(part, *arguments)`` of each part, and leave the results where the parts are."""
        return PartResults(self.map(function, *arguments, progress=progress))

    def only(self, rows: IntArray) -> Samples:
        """Return the samples with these row indices, which ascend."""
        raise NotImplementedError

    def coded(self, classes: Sequence[Label]) -> Samples:
        """Return the same samples; their codes are indices into these classes."""
        raise NotImplementedError

    def take(self, rows: IntArray) -> npt.NDArray[Any]:
        """Return the samples with these row indices as an array."""
        raise NotImplementedError

    def require_rereadable(self, reader: str, advice: str = "") -> None:
        """Raise TypeError if the samples can be read only once; ``reader`` and ``advice`` are for the message."""

    def array(self, reader: str) -> npt.NDArray[Any]:
        """Return the samples as an array that can be read again, or raise TypeError if they are not in one place.

        ``reader`` is the name of the model that reads them, for the message.
        """
        raise self._refusal(reader)

    def _refusal(self, reader: str, advice: str = "") -> TypeError:
        return TypeError(
            f"{reader} reads samples more than once, so X must be an array or a memory map and not an iterable of "
            f"chunks{advice}"
        )

    def labelled_rows(self, classes: IntArray | None = None) -> LabelledRows | None:
        """Return the samples of the coded classes, or of some of them (ascending), for methods that read samples.

        None where samples are not in this process.
        """
        return None

    def collected(self, collector: Collector) -> LabelledStatistics:
        """Add the samples to a collector and return its statistics."""
        raise NotImplementedError

    def is_without_negatives(self) -> bool:
        """Whether no feature is negative, judged by the samples at hand: all in memory, or the first of others."""
        raise NotImplementedError

    # These follow from the above.
    def label_counts(self) -> dict[Label, float]:
        """Return the sum of the weights of the samples of each label."""
        counts: Counter[Label] = self.reduce(counted, merge=with_zeros, without_samples=True)
        return dict(counts)

    @cached_property
    def labels(self) -> list[Label]:
        """The label of each sample, in the memory of this process."""
        classes = sorted_labels(self.label_counts())
        numbers = np.concatenate(self.map(coded, classes, without_samples=True))
        return [classes[number] for number in numbers.tolist()]

    @cached_property
    def codes(self) -> IntArray:
        """The index of each sample's class (see :meth:`coded`), -1 for others and for samples that weigh nothing."""
        return np.concatenate(self.map(operator.attrgetter("codes"), without_samples=True))

    def digest(self) -> SampleDigest:
        """Return the digest of the samples."""
        found: SampleDigest = self.reduce(digest_of)
        return found

    def looked_up(self, digest: SampleDigest) -> tuple[Bools, Bools]:
        """Return whether each sample is in a digest, and whether the digest, which may be partial, can tell."""
        in_it, decided = zip(*self.map(looked_up, digest), strict=True)
        return np.concatenate(in_it), np.concatenate(decided)


class SamplesInMemory(Samples):
    """An array or memory map of checked type and shape, as one part; rows are read when they are used."""

    def __init__(
        self,
        X: npt.NDArray[Any],
        labels: list[Label] | None = None,
        weights: Float64Array | None = None,
        classes: Sequence[Label] | None = None,
    ) -> None:
        self.header = np.empty((0, X.shape[1]), dtype=X.dtype)
        self._X, self._labels, self._weights, self._classes = X, labels, weights, classes
        self._rows: IntArray | None = None  # all, in order

    @cached_property
    def _part(self) -> Part:
        X, classes = self._X, self._classes
        whole = Part(X, X.shape[1], self._labels, self._weights, classes=classes, is_checked=True, memory=IN_MEMORY)
        return whole if self._rows is None else whole.only(self._rows)

    @property
    def labels(self) -> list[Label]:
        """The label of each sample."""
        return self._part.labels

    @property
    def codes(self) -> IntArray:
        """The index of each sample's class, -1 for others and for samples that weigh nothing."""
        return self._part.codes

    def map(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        of_rows: Sequence[Any] = (),
        without_samples: bool = False,
        what: str = "reading",
        progress: bool = False,
    ) -> list[Any]:
        with Progress(what, len(self._part), "samples", enabled=progress) as line:
            return [function(self._part.reporting(line), *of_rows, *arguments)]

    def sum_each(self, function: Callable[..., Any], each: Sequence[tuple[Any, ...]], pool: Any) -> list[Any]:
        return list(pool.results((function, self._part, *arguments) for arguments in each))

    def only(self, rows: IntArray) -> Samples:
        twin = SamplesInMemory(self._X, self._labels, self._weights, self._classes)
        twin._rows = rows if self._rows is None else self._rows[rows]
        return twin

    def coded(self, classes: Sequence[Label]) -> Samples:
        twin = SamplesInMemory(self._X, self._labels, self._weights, classes)
        twin._rows = self._rows
        return twin

    def take(self, rows: IntArray) -> npt.NDArray[Any]:
        return self._part.samples(rows)

    def array(self, reader: str) -> npt.NDArray[Any]:
        return self._part.whole().X

    def labelled_rows(self, classes: IntArray | None = None) -> LabelledRows | None:
        codes = self._part.codes
        wanted = np.flatnonzero(codes >= 0 if classes is None else np.isin(codes, classes))
        numbers = codes[wanted] if classes is None else np.searchsorted(classes, codes[wanted])
        weights = None if self._part.weights is None else self._part.weights[wanted]
        rows = wanted if self._rows is None else self._rows[wanted]
        return LabelledRows(self._X, rows, numbers, weights)

    def collected(self, collector: Collector) -> LabelledStatistics:
        X, labels, weights = self._X, self._labels, self._weights
        if self._rows is not None:
            X, labels, weights = self._part.whole().X, self._part.labels, self._part.weights
        if weights is not None and not weights.any():
            raise ValueError("the weights of all samples are zero, so there is nothing to learn from")
        with Progress("reading", len(X), "samples", enabled=collector.progress) as line:
            collector.add(X, as_targets(labels), weights, line=line)
        return collector.result()

    def is_without_negatives(self) -> bool:
        weights = self._part.weights
        if self._rows is not None:
            chosen, weights = weights, np.zeros(len(self._X))
            weights[self._rows] = 1 if chosen is None else chosen
        return is_without_negatives(self._X, weights)


class SampleChunks(Samples):
    """An iterable of chunks, (X, y), (X, y, sample_weight) or X alone, which is read once.

    ``validate(samples)`` returns the samples of a chunk as a checked array; ``weigh(labels, weights)`` returns their
    final weights. ``n_features`` is 0 if it is not known yet. :meth:`map` takes chunks of samples alone, and
    :meth:`collected` chunks with labels.
    """

    def __init__(
        self,
        chunks: Iterable[Any],
        n_features: int,
        validate: Callable[[Any], npt.NDArray[Any]],
        weigh: Callable[[list[Label], Any], Float64Array | None] = lambda labels, weights: weights,
    ) -> None:
        self.header = np.empty((0, n_features))
        self._chunks, self._validate, self._weigh = chunks, validate, weigh

    def map(  # type: ignore[override]  # rows and labels of chunks are not known
        self, function: Callable[..., Any], *arguments: Any, what: str = "reading", progress: bool = False
    ) -> list[Any]:
        part = ChunkedPart((self._validate(chunk) for chunk in self._chunks), self.n_features)
        with Progress(what, None, "samples", enabled=progress) as line:
            return [function(part.reporting(line), *arguments)]

    def collected(self, collector: Collector) -> LabelledStatistics:
        read = 0
        with Progress("reading", None, "samples", enabled=collector.progress) as line:
            for number, chunk in enumerate(self._chunks):
                try:
                    if isinstance(chunk, np.ndarray):
                        raise TypeError  # its rows are not X and y
                    X, y, sample_weight = chunk if len(chunk) == 3 else (*chunk, None)
                except (TypeError, ValueError):
                    raise TypeError(f"chunk {number} is not a pair (X, y), nor (X, y, sample_weight)") from None
                X, labels = self._validate(X), as_targets(y)
                if len(X) != len(labels):
                    raise ValueError(f"chunk {number} has {len(X)} samples but {len(labels)} labels")
                collector.add(X, labels, self._weigh(labels, sample_weight), first_row=read, line=line)
                read += len(X)
        if not collector.has_samples:
            raise ValueError("there are no samples: the iterator gave no chunk, or empty ones, or all weights are zero")
        return collector.result()

    def require_rereadable(self, reader: str, advice: str = "") -> None:
        raise self._refusal(reader, advice)
