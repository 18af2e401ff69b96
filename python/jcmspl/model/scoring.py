"""The score of a model: the share of labelled samples that it recognises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.data.labels import Label, LabelArray, as_label_list
from jcmspl.data.on_dask import is_dask
from jcmspl.model.labelling import right_in
from jcmspl.model.prediction import recogniser_for_labels
from jcmspl.model.reading import require_same_length
from jcmspl.support.arguments import Float64Array, as_sample_weights, one_of

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier

_NOTHING = "there are no samples in X, or none that weighs anything: there is nothing to score"


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
    reader, columns = model.reader, model._fitted.columns
    if is_dask(X):
        parts, _ = reader.parts_of(X, y, sample_weight, columns)
        totals = parts.label_counts()
        if not any(totals.values()):
            raise ValueError(_NOTHING)
        recogniser = recogniser_for_labels(model, totals, class_vectors, candidates, seen_penalty)
        # only sums of weights travel
        right = parts.reduced(right_in, recogniser, what="recognising", progress=reader.progress)
        return mean_share(right, totals, average)
    labels, samples = as_label_list(y), reader.checked(X, columns)
    require_same_length(samples, labels)
    weights = np.ones(len(samples)) if sample_weight is None else as_sample_weights(sample_weight, len(samples))
    if not weights.any():
        raise ValueError(_NOTHING)
    recogniser = recogniser_for_labels(model, labels, class_vectors, candidates, seen_penalty)
    return accuracy(labels, recogniser.predict(samples), weights, average)


def accuracy(labels: list[Label], predicted: LabelArray, weights: Float64Array, average: str) -> float:
    """Return the weighted share of right predictions: the mean over classes, or that of all samples."""
    right = weights * np.array([a == b for a, b in zip(predicted.tolist(), labels, strict=True)], dtype=np.float64)
    if average == "sample":
        return float(right.sum() / weights.sum())
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    codes = np.array([numbers[label] for label in labels])
    totals = np.bincount(codes, weights)
    counted = totals > 0
    return float(np.mean(np.bincount(codes, right)[counted] / totals[counted]))


def mean_share(right: Mapping[Label, float], totals: Mapping[Label, float], average: str) -> float:
    """Return the same from the weights of right predictions and of all samples by label."""
    if average == "sample":
        return float(sum(right.values()) / sum(totals.values()))
    return float(np.mean([right[label] / weight for label, weight in totals.items() if weight]))
