"""Learning from further samples: the state after ``partial_fit``."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledSums
from jcmspl.data.labels import as_label_list, require_known_classes
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.data.sample_digest import sum_if_known
from jcmspl.datasets.class_files import load_classes
from jcmspl.model.fitted import HOW_LOST, FittedModel
from jcmspl.model.learning import collector_for, learnt, size
from jcmspl.support.progress import told

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier

# Fields of the state that further samples leave as they are: a calibration is still the best there is.
_CALIBRATED = ("calibration", "rejection", "temperatures", "set_calibration", "warned", "adaptation_constants")
_OF_THE_TABLE = ("imputed_values", "column_names", "held_out")


def fitted_to_more(
    model: ZeroShotClassifier,
    X: Any,
    y: Any,
    classes: Any = None,
    class_vectors: Any = None,
    sample_weight: Any = None,
    *,
    refit: bool = True,
) -> FittedModel:
    """Return the state after further samples; parameters are those of ``partial_fit``."""
    before, reader = model._fitted, model.reader
    reader.require_statistics_enough("partial_fit")
    model._check_parameters()
    reader.require_weights_known("partial_fit")
    so_far = before.collected
    if so_far is None and before.is_solved:
        raise ValueError(f"this model is without its statistics and cannot learn on: {HOW_LOST}; use statistics=True")
    steps = parse_feature_normalisation(model.feature_normalisation)
    if so_far is not None and so_far.statistics.scaling != steps.scaling(so_far.statistics.power):
        raise ValueError(
            f"feature_normalisation={model.feature_normalisation!r} differs from that of the samples so far in whether "
            "samples are scaled: start anew with fit"
        )
    table = _table_so_far(before, class_vectors)
    require_known_classes(model.class_weight, table)
    declared = before.declared if classes is None else set(as_label_list(classes, "classes"))
    with told(f"{type(model).__name__}.partial_fit", X) as line:
        started = time.perf_counter()
        collector = collector_for(model, table, so_far, declared)
        new, columns = reader.read(X, y, sample_weight, collector, None if so_far is None else before.columns)
        known = before.class_table
        if table is not None and before.is_solved:  # in the order of the fitted model, training classes first
            known = table.select([*before.classes.tolist(), *table.others(before.classes.tolist())])
        digest = new.digest if so_far is None else sum_if_known(before.digest, new.digest)
        # A sum and never an addition in place: readers and copies of the model may hold the statistics so far. For
        # 2048 features that adds a few milliseconds to a call, a small part of what a chunk of samples takes.
        total = replace(new if so_far is None else so_far + new, digest=digest)
        if refit and len(total.labels) > 1:
            fitted = learnt(model, total, table, columns, {"read": time.perf_counter() - started})
            kept = _CALIBRATED + _OF_THE_TABLE if before.is_solved else _OF_THE_TABLE
            fitted = replace(fitted, declared=declared, **{name: getattr(before, name) for name in kept})
        else:
            fitted = replace(
                before,
                collected=total,
                samples=LabelledSums.of(total),
                given_table=table,
                declared=declared,
                digest=digest,
                columns=columns,
                class_table=known,
                adaptation=None,
            )
        line.text = size(fitted)
    return fitted


def _table_so_far(before: FittedModel, class_vectors: Any) -> ClassTable | None:
    so_far, known = before.collected, before.given_table
    if class_vectors is None:
        return known if so_far is not None else None
    table = load_classes(class_vectors)
    if so_far is None:
        return table
    if known is None:
        raise ValueError("the samples so far came without class_vectors: start anew with fit")
    trained = known.select(so_far.labels)
    merged = known.updated(table)
    if not np.array_equal(merged.select(so_far.labels).vectors, trained.vectors):
        raise ValueError("class_vectors changes the vector of a class that has samples already: start anew with fit")
    return merged
