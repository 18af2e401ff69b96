"""Thresholds of rejection: the least score of a name, which rises where training classes score high as well.

A sample of a class that is no candidate often resembles a class of the training data, and then scores high with similar
candidates, too. The score that a sample needs is therefore ``value + weight * max(rival - floor, 0)``, where the rival
is the soft maximum ("energy") of its scores for the training classes. Below the floor the best score decides alone, so
that samples unlike all classes are rejected as well. docs/trust.md compares this with other measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import rankdata

from jcmspl.data.reading import mapped
from jcmspl.model.recogniser import Recogniser, score_blocks
from jcmspl.support.arguments import Float64Array, FloatArray

#: The weights of rivals that are tried. Between 0.5 and 1 most methods and data gain most.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
# The floor: this share of known samples have a lower rival.
_BELOW_THE_FLOOR = 0.25
# A gain counts if it exceeds so many standard errors over the folds.
_STANDARD_ERRORS = 2
# Areas nearer to each other than this are equal, and the smaller weight is chosen.
_EQUAL = 1e-4


def area(known: npt.ArrayLike, strangers: npt.ArrayLike) -> float:
    """Return the area under the ROC curve: how often a known sample scores higher than a stranger, ties half."""
    one, two = np.asarray(known, dtype=np.float64), np.asarray(strangers, dtype=np.float64)
    ranks = rankdata(np.concatenate([one, two]))[: len(one)]
    return float((ranks.sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(two)))


class Evidence(NamedTuple):
    """The best score of each sample among the candidates, and its rival: its soft best score of a training class."""

    best: Float64Array
    rival: Float64Array

    def confidence(self, weight: float, floor: float) -> Float64Array:
        """Return the best scores less the part that the threshold rises by."""
        return np.asarray(self.best - weight * np.maximum(self.rival - floor, 0))


@dataclass(frozen=True)
class Threshold:
    """The least score of a name, and its effect on training classes that played unseen ones and strangers.

    Attributes
    ----------
    value : float
        A sample whose best score is lower is rejected.
    lost : float
        The share of samples of candidates that it rejected.
    rejected : float
        The share of strangers that it rejected.
    auroc : float
        The area under the ROC curve, in the mean over folds: 1 tells strangers from known samples without a mistake,
        0.5 is a guess.
    weight, floor, temperature : float
        The least score rises by ``weight * (rival - floor)`` for a sample whose rival is above the floor. The rival is
        ``temperature * log(sum(exp(scores / temperature)))`` of its scores for the training classes.
    """

    value: float
    lost: float
    rejected: float
    auroc: float
    weight: float = 0.0
    floor: float = 0.0
    temperature: float = 1.0

    @classmethod
    def of(
        cls, folds: Sequence[tuple[Evidence, Evidence]], max_false_rejection: float, temperature: float = 1.0
    ) -> Threshold:
        """Choose the highest threshold that rejects no more than a share of the known samples of all folds.

        A fold has the evidence of known samples and of strangers. Rivals get a weight only if that increases the area
        under the ROC curve by more than two standard errors over the folds.
        """
        floor = float(np.quantile(np.concatenate([known.rival for known, _ in folds]), _BELOW_THE_FLOOR))
        weight, auroc = _best_weight(folds, floor)
        sides = ([side.confidence(weight, floor) for side in each] for each in zip(*folds, strict=True))
        known, strangers = map(np.concatenate, sides)
        value = float(np.sort(known)[min(int(max_false_rejection * len(known)), len(known) - 1)])
        lost, rejected = float(np.mean(known < value)), float(np.mean(strangers < value))
        if not weight:
            return cls(value, lost, rejected, auroc)
        return cls(value, lost, rejected, auroc, weight, floor, temperature)

    def confidence(self, evidence: Evidence) -> Float64Array:
        """Return the numbers that are compared with the value."""
        return evidence.confidence(self.weight, self.floor)

    def __str__(self) -> str:
        rise = f", + {self.weight:g} x (score of training classes - {self.floor:.4g})" if self.weight else ""
        return (
            f"below {self.value:.4g}{rise} (rejects {100 * self.lost:.1f} % of known samples and "
            f"{100 * self.rejected:.1f} % of strangers; AUROC {self.auroc:.3f})"
        )


def _best_weight(folds: Sequence[tuple[Evidence, Evidence]], floor: float) -> tuple[float, float]:
    """Return the weight of rivals, and the mean area under the ROC curve with it."""
    areas = np.array(
        [[area(*(side.confidence(weight, floor) for side in fold)) for fold in folds] for weight in WEIGHTS]
    )
    means = areas.mean(axis=1)
    best = int(np.flatnonzero(means >= means.max() - _EQUAL)[0])
    gains = areas[best] - areas[0]
    if gains.mean() <= _STANDARD_ERRORS * gains.std(ddof=1) / np.sqrt(len(gains)):
        best = 0
    return WEIGHTS[best], float(means[best])


@dataclass(frozen=True, eq=False)
class Rivals:
    """The soft best scores of samples among training classes, which a recogniser has as its candidates."""

    recogniser: Recogniser
    temperature: float

    def __call__(self, X: Any) -> Float64Array:
        """Return the rival of each sample, in memory or on the workers of dask."""
        return np.concatenate([np.empty(0), *mapped(self._of_rows, X, what="recognising", progress=False)])

    def _of_rows(self, X: npt.NDArray[Any]) -> Float64Array:
        blocks = score_blocks(len(X), len(self.recogniser.labels))
        return np.concatenate([np.empty(0), *(self._of_block(X[rows]) for rows in blocks)])

    def _of_block(self, X: npt.NDArray[Any]) -> Float64Array:
        scores = self.recogniser.scores(X).astype(np.float64)
        return np.asarray(self.temperature * logsumexp(scores / self.temperature, axis=1))


@dataclass(frozen=True, eq=False)
class Rejection:
    """The rule by which a call rejects samples: a number, or a calibrated threshold with the rivals that it needs."""

    value: float
    weight: float = 0.0
    floor: float = 0.0
    rivals: Rivals | None = None

    def __call__(self, X: npt.NDArray[Any], best: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which samples are rejected, given their best scores."""
        if self.rivals is None:
            return np.asarray(best < self.value)
        return Evidence(best.astype(np.float64), self.rivals(X)).confidence(self.weight, self.floor) < self.value
