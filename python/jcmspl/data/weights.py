"""How much samples count: each by a weight of its own, by that of its class, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, numbered
from jcmspl.support.arguments import Float64Array, as_sample_weights, as_weight
from jcmspl.support.shown import quoted

BALANCED = "balanced"


def check_class_weight(value: Any, name: str) -> None:
    """Refuse what is no class_weight: None, "balanced", or weights by label."""
    if value is None or (isinstance(value, str) and value == BALANCED):
        return
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be None, {BALANCED!r} or a dict of label -> weight, but is {value!r}")
    for label, weight in value.items():
        as_weight(weight, f"{name}[{quoted(label)}]")


def require_known_classes(class_weight: Any, table: ClassTable | None) -> None:
    """Refuse weights of classes that have no vector, for they are misspelt or of another type."""
    if table is not None and isinstance(class_weight, Mapping):
        table.positions(class_weight, "class_weight")


def weights_of(labels: Sequence[Label], sample_weight: Any, class_weight: Any) -> Float64Array | None:
    """Return the weight of each sample: its own weight times that of its class; None where each counts once.

    Classes that class_weight does not name weigh 1. "balanced" is as in scikit-learn, n_samples / (n_classes * count),
    of samples as they weigh.
    """
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(labels)) if sample_weight is None else as_sample_weights(sample_weight, len(labels))
    if class_weight is None:
        return weights
    by_class = class_weight
    if class_weight == BALANCED:
        classes = list(dict.fromkeys(labels))
        counts = np.bincount(numbered(labels, classes), weights, minlength=len(classes))
        by_class = balanced_weights(dict(zip(classes, counts.tolist(), strict=True)))
    of_classes = np.fromiter((by_class.get(label, 1.0) for label in labels), dtype=np.float64, count=len(labels))
    return as_sample_weights(weights * of_classes, len(labels), "the product of sample_weight and class_weight")


def present(labels: Iterable[Label], weights: Float64Array | None) -> dict[Label, None]:
    """Return the classes of the samples that weigh anything, in the order of their first ones."""
    return dict.fromkeys(labels if weights is None else compress(labels, weights.tolist()))


def balanced_weights(counts: Mapping[Label, float]) -> dict[Label, float]:
    """Return the weight of each class with which all of them count the same, from what their samples weigh."""
    share = sum(counts.values()) / max(sum(count > 0 for count in counts.values()), 1)
    return {label: share / count for label, count in counts.items() if count}
