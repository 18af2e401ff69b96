"""Classes that a fitted model gets to know or forgets without retraining."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import as_label_list, some, sorted_labels
from jcmspl.data.sample_digest import sum_if_known
from jcmspl.model.cautions import warn_of_zero_vectors
from jcmspl.model.fitted import FittedModel
from jcmspl.support.shown import quoted


def with_vectors(fitted: FittedModel, class_vectors: Any, *, may_replace: bool = False) -> FittedModel:
    """Return a state that knows further classes by their vectors.

    Parameters
    ----------
    fitted : FittedModel
    class_vectors : ClassTable, dict of label -> vector or DataFrame
    may_replace : bool
        Whether classes that are known already, but were not trained on, may get new vectors.
    """
    if isinstance(class_vectors, (np.ndarray, list, tuple)):
        raise TypeError("class_vectors must name its classes: pass a dict, a DataFrame or a ClassTable")
    table = ClassTable.of(class_vectors)
    classes = set(fitted.classes.tolist())
    trained = [label for label in table if label in classes]
    if trained:
        raise ValueError(f"the model was trained on {some(trained)}: their vectors cannot be changed")
    known = [label for label in table if label in fitted.class_table]
    if known and not may_replace:
        raise ValueError(f"the model knows {some(known)} already: pass replace=True to give them new vectors")
    warn_of_zero_vectors(table)
    merged = fitted.class_table.updated(table)
    adaptation = None if known else fitted.adaptation  # adapted to vectors that have changed
    return replace(fitted, class_table=merged, given_table=merged, adaptation=adaptation)


def with_samples(fitted: FittedModel, new: LabelledStatistics) -> FittedModel:
    """Return a state with further samples of classes that it knows and was not trained on."""
    classes = set(fitted.classes.tolist())
    trained = [label for label in new.labels if label in classes]
    if trained:
        raise ValueError(
            f"y holds {some(trained)}, which the model was trained on: use partial_fit to learn from more samples"
        )
    if fitted.collected is None:
        collected, samples = None, fitted.samples + LabelledSums.of(new)
    else:
        collected = fitted.collected + new
        samples = LabelledSums.of(collected)
    digest = sum_if_known(fitted.digest, new.digest)
    return replace(fitted, collected=collected, samples=samples, digest=digest, adaptation=None)


def without(fitted: FittedModel, labels: Any) -> FittedModel:
    """Return a state that has forgotten classes it was not trained on, and their samples."""
    if isinstance(labels, str):
        raise TypeError(f"labels must be a list of labels, but is the text {quoted(labels)}: pass [{labels!r}]")
    wanted = dict.fromkeys(as_label_list(sorted_labels(labels) if isinstance(labels, Set) else labels, "labels"))
    unknown = [label for label in wanted if label not in fitted.class_table]
    if unknown:
        known = fitted.class_table.others(fitted.classes.tolist())
        raise ValueError(
            f"the model does not know {some(unknown)}: those that can be removed are {some(known, 5) or 'none'}"
        )
    classes = set(fitted.classes.tolist())
    trained = [label for label in wanted if label in classes]
    if trained:
        raise ValueError(
            f"the model was trained on {some(trained)} and cannot forget that: leave them out of the candidates of "
            "a call, or fit it without them"
        )
    if not wanted:
        return fitted
    collected = fitted.collected
    if collected is not None and any(label in wanted for label in collected.labels):
        collected = None  # samples cannot be taken out of sums
    return replace(
        fitted,
        class_table=fitted.class_table.select(fitted.class_table.others(wanted)),
        given_table=None if fitted.given_table is None else fitted.given_table.without(wanted),
        collected=collected,
        samples=fitted.samples.without(wanted),
    )
