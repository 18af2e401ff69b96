"""Labels, scores and shares of samples by a recogniser, rejected samples, and samples recognised in two ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from jcmspl.core.scoring import joined
from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, LabelArray
from jcmspl.data.parts import Collected, Part, collected_of, each_added
from jcmspl.data.reading import lazily, lazily_both, mapped, samples_dtype
from jcmspl.data.samples import Samples
from jcmspl.model.recogniser import LinearRecogniser, Recogniser, score_blocks
from jcmspl.model.threshold import Rejection
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray, require_finite

#: The distance of the best candidate, which is in every set: less than any other's.
BEST = -100.0
# The largest distance: files hold no infinity.
_FARTHEST = 1e9


class Named(NamedTuple):
    """The k best candidates of each sample, best first, by their numbers; the rest if asked for."""

    indices: IntArray
    scores: FloatArray
    shares: FloatArray | None
    rejected: npt.NDArray[np.bool_] | None
    sets: npt.NDArray[np.bool_] | None  # (n, n_candidates)


class SetLimit(NamedTuple):
    """The temperature of prediction sets, and the largest distance of a candidate in them."""

    temperature: float
    threshold: float


@dataclass(frozen=True, eq=False)
class Namer:
    """A recogniser of k candidates, with the temperature of shares, the rule of rejection and sets, if wanted."""

    recogniser: Recogniser
    k: int = 1
    temperature: float | None = None
    rejection: Rejection | None = None
    limit: SetLimit | None = None

    def __call__(self, X: npt.NDArray[Any]) -> Named:
        """Name samples in memory."""
        indices, scores = self.recogniser.top_k(X, self.k)
        shares = None
        if self.temperature is not None:
            blocks = score_blocks(len(X), len(self.recogniser.labels))
            parts = [self._shares(X[rows], indices[rows]) for rows in blocks]
            shares = np.concatenate([scores[:0], *parts])
        rejected = None if self.rejection is None else self.rejection(X, scores[:, 0])
        sets = None if self.limit is None else set_members(self.recogniser, self.limit, X)
        return Named(indices, scores, shares, rejected, sets)

    def _shares(self, X: npt.NDArray[Any], indices: IntArray) -> FloatArray:
        assert self.temperature is not None
        return np.take_along_axis(softmax(self.recogniser.scores_less_lead(X), self.temperature), indices, axis=1)

    def best(self, X: Any, *, progress: bool = False) -> Named:
        """Name samples in memory, or those of dask on its workers."""
        found = zip(*mapped(self, X, what="naming", progress=progress), strict=True)
        return Named(*(None if parts[0] is None else joined(parts) for parts in found))  # type: ignore[arg-type]


def softmax(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the softmax of the scores of each row, divided by a temperature; of the dtype of the scores."""
    # the differences first, in float64: scores over a tiny temperature would overflow
    exponents = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        exponents /= temperature
    shares = np.exp(exponents)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=scores.dtype)


def set_members(recogniser: Recogniser, limit: SetLimit, X: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which candidates are in the sets of samples, (n, n_candidates)."""
    inside = np.empty((len(X), len(recogniser.labels)), dtype=bool)
    for rows in score_blocks(len(X), max(inside.shape[1], 1)):
        inside[rows] = distances_of(X[rows], recogniser, limit.temperature) <= limit.threshold
    return inside


def distances_of(X: npt.NDArray[Any], recogniser: Recogniser, temperature: float) -> Float64Array:
    """Return minus the logarithms of probabilities times the number of candidates; BEST for the best candidates."""
    scores = recogniser.scores_less_lead(X).astype(np.float64)
    with np.errstate(over="ignore"):
        logits = (scores - scores.max(axis=1, keepdims=True)) / temperature
    found = np.minimum(logsumexp(logits, axis=1, keepdims=True) - logits - np.log(scores.shape[1]), _FARTHEST)
    found[np.arange(len(found)), recogniser.top_k(X, 1)[0][:, 0]] = BEST
    return np.asarray(found)


def named_or_none(namer: Namer, labels: LabelArray, X: npt.NDArray[Any]) -> LabelArray:
    """Return the labels of samples; the last label is that of samples that are rejected."""
    found = namer(X)
    rejected = np.asarray(found.rejected)
    return np.asarray(labels[np.where(rejected, len(labels) - 1, found.indices[:, 0])])


def shares_of(recogniser: Recogniser, temperature: float, X: npt.NDArray[Any]) -> FloatArray:
    """Return the softmax of the scores of samples."""
    return softmax(recogniser.scores_less_lead(X), temperature)


def scores_dtype(recogniser: Recogniser, X: npt.NDArray[Any]) -> npt.DTypeLike:
    """Return the dtype of the scores of samples."""
    return samples_dtype(X) if isinstance(recogniser, LinearRecogniser) else np.float64


def lazy_topk(recogniser: Recogniser, X: Any, k: int) -> tuple[Any, Any]:
    """Return labels and scores of the k best candidates, as arrays of dask for such samples."""
    dtypes = np.int64, scores_dtype(recogniser, X)
    indices, scores = lazily_both(partial(recogniser.top_k, k=k), X, dtypes, k)
    return lazily(partial(np.take, recogniser.labels), indices, recogniser.labels.dtype, k), scores


class Judged(NamedTuple):
    """Samples recognised among seen and unseen classes: a value for each, but for the labels that occur.

    ``gaps`` are the best score of a seen class minus the best of an unseen one, ``right`` tells whether the best class
    of the sample's own kind is the right one, ``numbers`` are those of its label among ``labels``.
    """

    gaps: Float64Array
    right: npt.NDArray[np.bool_]
    numbers: IntArray
    labels: list[Label]


def judged(X: npt.NDArray[Any], labels: list[Label], seen: Recogniser, unseen: Recogniser) -> Judged:
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


def statistics_of_folds(
    samples: Samples, collector: Collector, fold: IntArray, n_folds: int
) -> list[LabelledStatistics]:
    """Return the statistics of the samples of each fold; those of a negative number are left out."""
    total = samples.reduce(_of_folds, collector, n_folds, of_rows=[fold], merge=each_added)
    return [part.statistics for part in total]


def looked_at(samples: Samples, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Return the results of ``function(X, labels, *arguments)``, one for each block of samples."""
    found = samples.map(_of_blocks, function, *arguments, what="recognising")
    return [one for part in found for one in part]


def named_samples(samples: Samples, recogniser: Recogniser) -> IntArray:
    """Return the number of the best candidate of each sample."""
    return np.concatenate([np.empty(0, dtype=np.int64), *looked_at(samples, _best_of, recogniser)])


def _of_folds(part: Part, fold: IntArray, collector: Collector, n_folds: int) -> list[Collected]:
    try:
        return [collected_of(part.only(np.flatnonzero(fold == number)), collector) for number in range(n_folds)]
    except ValueError:
        for block in part.blocks():  # name the row of the user's samples, not of a fold
            require_finite(block.X, "X", first_row=block.first)
        raise


def _of_blocks(part: Part, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return [function(block.X, block.labels, *arguments) for block in part.blocks()]


def _best_of(X: npt.NDArray[Any], labels: list[Label], recogniser: Recogniser) -> IntArray:
    return recogniser.top_k(X, 1)[0][:, 0]
