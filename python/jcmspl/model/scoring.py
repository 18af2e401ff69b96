"""The score of a model: the share of labelled samples that it recognises."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.data.labels import Label
from jcmspl.data.parts import Part
from jcmspl.model.prediction import recogniser_for_labels
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import one_of

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier


def accuracy_of(
    model: ZeroShotClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_vectors: Any = None,
    candidates: Any = None,
    seen_penalty: float | None = None,
    average: str = "class",
) -> float:
    """Return the accuracy of a model; parameters are those of ``score``."""
    one_of(average, "average", ("class", "sample"))
    reader = model.reader
    samples, _ = reader.unweighted().samples(X, y, sample_weight, model._fitted.columns)
    totals = samples.label_counts()
    if not any(totals.values()):
        raise ValueError("there are no samples in X, or none that weighs anything: there is nothing to score")
    recogniser = recogniser_for_labels(model, totals, class_vectors, candidates, seen_penalty)
    found: Right = samples.reduce(_right_in, recogniser, what="recognising", progress=reader.progress)
    if average == "sample":
        return found.weight / found.of_all
    return float(np.mean([found.by_label[label] / weight for label, weight in totals.items() if weight]))


@dataclass(frozen=True)
class Right:
    """The weight of the samples that are recognised, by label and in all, and that of all samples."""

    by_label: Counter[Label]
    weight: float
    of_all: float

    def __add__(self, other: Right) -> Right:
        return Right(self.by_label + other.by_label, self.weight + other.weight, self.of_all + other.of_all)


def _right_in(part: Part, recogniser: Recogniser) -> Right:
    labels, weights = part.labels, np.ones(len(part)) if part.weights is None else part.weights
    named = recogniser.predict(part.whole().X).tolist()
    right = weights * np.array([one == label for one, label in zip(named, labels, strict=True)], dtype=np.float64)
    by_label: Counter[Label] = Counter()
    for label, weight in zip(labels, right.tolist(), strict=True):
        by_label[label] += weight
    return Right(by_label, float(right.sum()), float(weights.sum()))
