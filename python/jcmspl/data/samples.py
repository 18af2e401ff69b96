"""Samples, wherever they are: one protocol for arrays, memory maps, iterables of chunks and partitions of dask.

Work on samples is a function of a :class:`Part`, which gives them block by block. An array in memory or on disk is one
part, an iterable of chunks is one that can be read once, and dask has many, on its workers. The function is the same
for all of them: ``samples.reduce(function)`` merges its results, ``samples.map(function)`` lists them.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, as_targets, sorted_labels
from jcmspl.data.parts import (
    IN_MEMORY,
    Bools,
    ChosenPart,
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
from jcmspl.support.scaling import is_without_negatives


class Kept:
    """Results of a function of the parts of samples, left where the samples are."""

    def __init__(self, pieces: list[Any]) -> None:
        self._pieces = pieces

    def map(self, function: Callable[..., Any], *arguments: Any, of_pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return ``function(piece, *arguments)`` of each; ``of_pieces`` has one more argument for each of them."""
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

    Functions of parts must be pure, and must not change their arguments, for they may run on workers, and again where
    one was lost. What a kind of samples cannot do raises TypeError.

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
        """Return ``function(part, *rows of the part, *arguments)`` of each part.

        Arrays ``of_rows`` have a value for each sample; a part gets its own. ``without_samples``: labels and weights
        are enough. ``what`` is the title of the progress line.
        """
        raise NotImplementedError

    def reduce(
        self, function: Callable[..., Any], *arguments: Any, merge: Callable[[Any, Any], Any] = operator.add, **how: Any
    ) -> Any:
        """Return the merged results of ``function(part, *rows of the part, *arguments)``.

        ``merge`` returns the sum of two results and changes neither; the rest is as for :meth:`map`.
        """
        return self.map(function, *arguments, **how)[0]

    def recognised_each(self, function: Callable[..., Any], each: Sequence[tuple[Any, ...]], pool: Any) -> list[Any]:
        """Return for each of several tuples of arguments the sum of ``function(part, *arguments)``.

        The threads of a pool share them out, or workers get them all in one pass over the samples.
        """
        raise self._refusal(type(self).__name__)

    def keep(self, function: Callable[..., Any], *arguments: Any, progress: bool = False) -> Kept:
        """Compute ``function(part, *arguments)`` of each part, and leave the results there."""
        return Kept(self.map(function, *arguments, progress=progress))

    def only(self, rows: IntArray) -> Samples:
        """Return some of the samples, given by ascending numbers."""
        raise self._refusal(type(self).__name__)

    def coded(self, classes: Sequence[Label]) -> Samples:
        """Return the same samples, whose codes are the numbers of these classes."""
        raise self._refusal(type(self).__name__)

    def take(self, rows: IntArray) -> npt.NDArray[Any]:
        """Return some samples, by their numbers, as an array."""
        raise self._refusal(type(self).__name__)

    def require_rereadable(self, reader: str, advice: str = "") -> None:
        """Refuse samples that can be read only once; ``reader`` and ``advice`` are for the error."""

    def array(self, reader: str) -> npt.NDArray[Any]:
        """Return the samples as an array that can be read again and again; refuse where there is none.

        ``reader`` is the name of the model that reads them, for the error.
        """
        raise self._refusal(reader)

    def _refusal(self, reader: str, advice: str = "") -> TypeError:
        return TypeError(
            f"{reader} reads samples more than once, so X must be an array or a memory map and not an iterable of "
            f"chunks{advice}"
        )

    def labelled_rows(self, classes: IntArray | None = None) -> LabelledRows | None:
        """Return the samples of the coded classes, or of some of them, for methods that read samples.

        None where samples stay on workers.
        """
        return None

    def collected(self, collector: Collector) -> LabelledStatistics:
        """Return the statistics of the samples."""
        raise NotImplementedError

    def is_without_negatives(self) -> bool:
        """Whether the first samples have no negative value."""
        raise NotImplementedError

    # The rest is the same for all kinds.
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
        """The number of each sample's class (see :meth:`coded`), -1 for others and for samples that weigh nothing."""
        return np.concatenate(self.map(operator.attrgetter("codes"), without_samples=True))

    def digest(self) -> SampleDigest:
        """Return the digest of the samples."""
        found: SampleDigest = self.reduce(digest_of)
        return found

    def looked_up(self, digest: SampleDigest) -> tuple[Bools, Bools]:
        """Return which samples are in a digest, and for which the digest can tell."""
        in_it, decided = zip(*self.map(looked_up, digest), strict=True)
        return np.concatenate(in_it), np.concatenate(decided)


class SamplesInMemory(Samples):
    """A checked array or memory map, as one part; rows are read when they are used."""

    def __init__(
        self,
        X: npt.NDArray[Any],
        labels: list[Label] | None = None,
        weights: Float64Array | None = None,
        classes: Sequence[Label] | None = None,
    ) -> None:
        self.header = np.empty((0, X.shape[1]), dtype=X.dtype)
        self._X, self._labels, self._weights = X, labels, weights
        self._part = Part(X, X.shape[1], labels, weights, classes=classes, is_checked=True, memory=IN_MEMORY)

    @property
    def labels(self) -> list[Label]:
        """The label of each sample."""
        return self._part.labels

    @property
    def codes(self) -> IntArray:
        """The number of each sample's class, -1 for others and for samples that weigh nothing."""
        return self._part.codes

    def map(self, function: Callable[..., Any], *arguments: Any, of_rows: Sequence[Any] = (), **how: Any) -> list[Any]:
        with _line(len(self._part), **how) as line:
            return [function(self._part.reporting(line), *of_rows, *arguments)]

    def recognised_each(self, function: Callable[..., Any], each: Sequence[tuple[Any, ...]], pool: Any) -> list[Any]:
        return list(pool.results((function, self._part, *arguments) for arguments in each))

    def only(self, rows: IntArray) -> Samples:
        twin = copy(self)
        twin._part = self._part.only(rows)
        return twin

    def coded(self, classes: Sequence[Label]) -> Samples:
        twin = SamplesInMemory(self._X, self._labels, self._weights, classes)
        if isinstance(self._part, ChosenPart):
            twin._part = twin._part.only(self._part.rows)
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
        rows = self._part.rows[wanted] if isinstance(self._part, ChosenPart) else wanted
        return LabelledRows(self._X, rows, numbers, weights)

    def collected(self, collector: Collector) -> LabelledStatistics:
        X, weights = self._part.whole().X, self._part.weights
        if weights is not None and not weights.any():
            raise ValueError("the weights of all samples are zero, so there is nothing to learn from")
        with Progress("reading", len(X), "samples", enabled=collector.progress) as line:
            collector.add(X, as_targets(self.labels), weights, line=line)
        return collector.result()

    def is_without_negatives(self) -> bool:
        return is_without_negatives(self._X, self._part.weights)


def _line(total: int | None, *, what: str = "reading", progress: bool = False, **_: Any) -> Progress:
    return Progress(what, total, "samples", enabled=progress)


class SampleChunks(Samples):
    """An iterable of chunks, (X, y), (X, y, sample_weight) or X alone, which is read once.

    ``validate`` returns the samples of a chunk as a checked array, ``weigh`` their weights, by labels and given
    weights. The number of features is 0 if it is not known yet.
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

    def map(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> list[Any]:
        part = ChunkedPart((self._validate(chunk) for chunk in self._chunks), self.n_features)
        with _line(None, **how) as line:
            return [function(part.reporting(line), *arguments)]

    def collected(self, collector: Collector) -> LabelledStatistics:
        read = 0
        with Progress("reading", None, "samples", enabled=collector.progress) as line:
            for number, chunk in enumerate(self._chunks):
                try:
                    X, y, *rest = chunk
                    (sample_weight,) = rest or (None,)
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
