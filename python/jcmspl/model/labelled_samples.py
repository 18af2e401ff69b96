"""Labelled samples that are read again and again, some of them at a time, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label
from jcmspl.data.parts import Collected, Part, collected_of, each_added
from jcmspl.data.samples import Samples
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import Float64Array, IntArray


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


def statistics_of_folds(
    samples: Samples, collector: Collector, fold: IntArray, n_folds: int
) -> list[LabelledStatistics]:
    """Return the statistics of the samples of each fold; those of a negative number are left out."""
    total = samples.reduce(_of_folds, collector, n_folds, of_rows=[fold], merge=each_added)
    return [part.statistics for part in total]


def judged_samples(samples: Samples, kinds: Sequence[Kinds]) -> list[list[Judged]]:
    """Recognise samples with each of the pairs."""
    return [looked_at(samples, _judge, *pair) for pair in kinds]


def looked_at(samples: Samples, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Return the results of ``function(X, labels, *arguments)``, one for each block of samples."""
    found = samples.map(_of_blocks, function, *arguments, what="recognising")
    return [one for part in found for one in part]


def named_samples(samples: Samples, recogniser: Recogniser) -> IntArray:
    """Return the number of the best candidate of each sample."""
    return np.concatenate([np.empty(0, dtype=np.int64), *looked_at(samples, _best_of, recogniser)])


def _of_folds(part: Part, fold: IntArray, collector: Collector, n_folds: int) -> list[Collected]:
    return [collected_of(part.only(np.flatnonzero(fold == number)), collector) for number in range(n_folds)]


def _of_blocks(part: Part, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return [function(block.X, block.labels, *arguments) for block in part.blocks()]


def _judge(X: npt.NDArray[Any], labels: list[Label], seen: Recogniser, unseen: Recogniser) -> Judged:
    return judged(seen, unseen, X, labels)


def _best_of(X: npt.NDArray[Any], labels: list[Label], recogniser: Recogniser) -> IntArray:
    return recogniser.top_k(X, 1)[0][:, 0]
