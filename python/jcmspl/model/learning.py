"""Learning: one pass over the data, what all settings share, then the equations of the method.

Each function takes a model, whose parameters and hooks it uses, and returns the new state; it never changes the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector, LabelledStatistics, LabelledSums
from jcmspl.data.labels import Label, as_label_list, label_array, require_known_classes
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.data.reading import Columns
from jcmspl.data.training import (
    LabelledRows,
    TrainingData,
    warn_of_equal_vectors,
    warn_of_lost_digits,
    warn_of_transposed,
    warn_of_zero_vectors,
)
from jcmspl.datasets.class_files import load_classes
from jcmspl.model.fitted import FittedModel
from jcmspl.model.method import check_arrays
from jcmspl.model.parameters import NamedArrays
from jcmspl.model.prototypes import require_alignable
from jcmspl.support.calls import settled
from jcmspl.support.exceptions import DivergenceError, NotFiniteError, SingularEquationError
from jcmspl.support.progress import Progress, logger, told
from jcmspl.support.shown import quoted

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier


def _say_nothing(*_: float) -> None:
    pass


@dataclass
class Monitor:
    """The reports of a fit while it runs; a function that raises an exception stops the fit."""

    #: Called with the number and the objective of an iteration that is done.
    tell_of_iteration: Callable[[int, float], None] = _say_nothing
    #: Called with the number of samples of a long pass that are done, and of all.
    tell_of_samples: Callable[[int, int], None] = _say_nothing
    #: Whether the value of the objective is wanted where it takes time of its own.
    wants_objective: bool = True
    #: Seconds per stage, as far as the method tells.
    timings: dict[str, float] = field(default_factory=dict)


# From this number of features on a decomposition, which cannot report its progress, takes a second or more.
_LONG_DECOMPOSITION = 1500


def fitted_to(
    model: ZeroShotClassifier, X: Any, y: Any, class_vectors: Any = None, sample_weight: Any = None
) -> FittedModel:
    """Return the state after a fit to labelled samples; parameters are those of ``fit``."""
    model._check_parameters()
    reader, table = model.reader, class_table(class_vectors)
    if model.class_weight is not None:
        require_known_classes(model.class_weight, table)
    collector = collector_for(model, table)
    with told(f"{type(model).__name__}.fit", X) as line:
        started = time.perf_counter()
        samples, features = reader.samples(X, y, sample_weight)
        if reader.needs == "samples":
            samples.require_rereadable(reader.name)
            samples.array(reader.name)  # refused where samples stay on workers
        collected = samples.collected(collector)
        rows = samples.coded(collected.labels).labelled_rows() if reader.needs == "samples" else None
        timings = {"read": time.perf_counter() - started}
        fitted = learnt(model, collected, table, features.columns, timings, rows)
        line.text = size(fitted)
    return fitted


def fitted_to_statistics(
    model: ZeroShotClassifier, statistics: Statistics, classes: Any = None, class_vectors: Any = None
) -> FittedModel:
    """Return the state after a fit to statistics; parameters are those of ``fit_from_statistics``."""
    model.reader.require_statistics_enough("fit_from_statistics")
    if not isinstance(statistics, Statistics):
        raise TypeError(f"statistics must be jcmspl.core.Statistics, but is {type(statistics).__name__}")
    labels = as_label_list(range(statistics.n_classes) if classes is None else classes, "classes")
    if len(labels) != statistics.n_classes or len(set(labels)) != len(labels):
        raise ValueError(
            f"classes must be {statistics.n_classes} different labels, one for each class of the statistics"
        )
    model._check_parameters()
    if model.class_weight is not None:
        raise ValueError(
            "class_weight does not apply to statistics, in which all classes are summed up already: give weights to "
            "Statistics.update(..., sample_weight=...), and leave class_weight out"
        )
    table = class_table(class_vectors)
    collected = LabelledStatistics.with_samples(statistics, labels)
    if table is not None:
        table.positions(collected.labels, "the statistics")
    with told(f"{type(model).__name__}.fit_from_statistics") as line:
        fitted = learnt(model, collected, table, Columns(statistics.n_features), {})
        line.text = size(fitted)
    return fitted


def class_table(class_vectors: Any) -> ClassTable | None:
    """Return the class vectors that a user gives as a table; None without any."""
    is_read = class_vectors is None or isinstance(class_vectors, ClassTable)
    return class_vectors if is_read else load_classes(class_vectors)


def learnt(
    model: ZeroShotClassifier,
    collected: LabelledStatistics,
    table: ClassTable | None,
    columns: Columns,
    timings: dict[str, float],
    rows: LabelledRows | None = None,
) -> FittedModel:
    """Return the state of a model that was trained on all samples so far.

    ``table`` holds the class vectors that the user gave, ``timings`` the seconds that were spent before, ``rows`` the
    samples themselves, for methods that read them.
    """
    started, raw = time.perf_counter(), collected.statistics
    # an equal label of another type, as 1.0 is to 1, may stand in y: the type in the table counts
    labels = collected.labels if table is None else table.own_labels(collected.labels)
    if len(labels) < 2:
        raise ValueError(
            f"y holds only one class, {quoted(labels[0])}: learning to recognise needs samples of at least two classes"
        )
    if table is None:
        known = ClassTable(labels, model._vectors_of_none(raw))
    else:
        known = table.select([*labels, *table.others(labels)], "y")
    classes = label_array(labels)
    vectors = known.vectors[: len(labels)]
    training = TrainingData.of(raw, vectors, *model.normalisations(known.sources), rows, known.sources)
    warn_of_lost_digits(training)
    warn_of_zero_vectors(known)
    if table is not None:
        warn_of_transposed(table, labels)
    warn_of_equal_vectors(known, training.classes)
    share = getattr(model, "cosine_share", 0.0)  # of bilinear methods
    if share and not isinstance(share, str):
        require_alignable(training.features, training.classes, model.own_metric)
    arrays, of_solution = _solved(model, training)
    fitted = replace(
        state_of(model, arrays, timings | training.timings | of_solution, training),
        alignment=None if table is None else training.alignment,
        sample_length=training.sample_length,
        classes=classes,
        class_table=known,
        calibration={},
        rejection={},
        given_table=table,
        collected=LabelledStatistics(labels, raw),
        samples=LabelledSums(labels, training.raw.class_sums, training.raw.counts),
        declared=model._fitted.declared,
        digest=collected.digest,
        columns=columns,
    )
    if fitted.alignment is not None:
        settled(model, _fitted=fitted)._warn_of_alignment(fitted.alignment, raw)
    if not arrays.get("converged", False):
        settled(model, _fitted=fitted)._warn_of_result()
    named = sum(seconds for name, seconds in fitted.timings.items() if name not in timings)
    other = max(time.perf_counter() - started - named, 0.0)
    fitted = replace(fitted, timings=fitted.timings | {"other": other})
    logger.debug("%s: seconds per stage %s", type(model).__name__, fitted.timings)
    return fitted


def prepared(model: ZeroShotClassifier, training: TrainingData) -> Any:
    """Return the data that all fits of a method to the same training data share."""
    return model._prepare(training)


def require_parameters(model: ZeroShotClassifier) -> None:
    """Refuse bad parameters of a model."""
    model._check_parameters()


def warm_start(model: ZeroShotClassifier, shared: Any, training: TrainingData) -> dict[str, Any]:
    """Return parameters that start other fits near the result of this one, if the method has any."""
    return model._warm_start(shared, training.class_means)


def solution(model: ZeroShotClassifier, shared: Any, monitor: Monitor) -> NamedArrays:
    """Return the arrays of a fit to prepared training data, all of them finite."""
    name = type(model).__name__
    try:
        arrays = model._fit(shared, monitor)
    except (DivergenceError, SingularEquationError):
        raise
    except np.linalg.LinAlgError as error:
        raise DivergenceError(f"the fit of {name} failed, {error}: {_reason_of_overflow(model)}") from error
    except NotFiniteError as error:  # the data were checked before: it is an intermediate result
        raise DivergenceError(f"the fit of {name} overflowed: {_reason_of_overflow(model)}") from error
    for array, values in arrays.items():
        if not np.isfinite(values).all():
            raise DivergenceError(f"the fit of {name} overflowed, in its {array}: {_reason_of_overflow(model)}")
    return arrays


def _reason_of_overflow(model: ZeroShotClassifier) -> str:
    """Return the likely reason of an overflow: parameters of extreme size, or else the scale of the data."""
    extreme = [
        f"{name}={value:g}"
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, float) and np.isfinite(value) and value and not 1e-100 < abs(value) < 1e100
    ]
    if extreme:
        return f"choose values nearer to 1 in place of {', '.join(extreme)}"
    return "parameters, or the values of the data, are too far apart in scale"


def state_of(
    model: ZeroShotClassifier, arrays: NamedArrays, timings: dict[str, float], training: TrainingData
) -> FittedModel:
    """Return the part of the state that follows from normalised training data and a solution.

    A model of a fold has no more: it scores candidates, and knows no labels.
    """
    c, d = training.class_vectors.shape
    sizes = {"m": training.statistics.n_features, "d": d, "c": c}
    check_arrays(arrays, model.ARRAYS, sizes, precision=model.PRECISION)
    return FittedModel(
        arrays=arrays,
        timings=timings,
        feature_normalisation=training.features,
        class_normalisation=training.classes,
        class_means=training.given_means,
        trained_vectors=training.given_vectors,
        alignment=training.alignment,
    )


def size(fitted: FittedModel) -> str:
    """Return the numbers of samples and classes so far, for the log."""
    return f"{fitted.samples.counts.sum():g} samples of {len(fitted.samples.labels)} classes"


def collector_for(
    model: ZeroShotClassifier,
    table: ClassTable | None,
    so_far: LabelledStatistics | None = None,
    declared: set[Label] | None = None,
) -> Collector:
    """Return the collector of the statistics that a model with its parameters needs."""
    power, unit_rows, *_ = parse_feature_normalisation(model.feature_normalisation)
    return Collector(
        table,
        unit_rows,
        power,
        progress=bool(model.progress),
        declared=declared,
        spares_aligned=isinstance(getattr(model, "cosine_share", 0), str),
        so_far=so_far,
    )


def _solved(model: ZeroShotClassifier, training: TrainingData) -> tuple[NamedArrays, dict[str, float]]:
    """Return the arrays of a fit and the seconds per stage; progress is shown."""
    started, n_features, show = time.perf_counter(), training.statistics.n_features, bool(model.progress)
    with Progress("decomposing", n_features, "features", enabled=show) as line:
        if n_features >= _LONG_DECOMPOSITION:
            line.announce()
        shared = model._prepare(training)
    timings = {"prepare": time.perf_counter() - started}
    with (
        Progress("fitting", getattr(model, "max_iter", None), "iterations", enabled=show) as line,
        Progress("coding", None, "samples", enabled=show) as coding,
    ):
        monitor = Monitor(line.tell_of_iteration, coding.update_of) if show else Monitor()
        arrays = solution(model, shared, monitor)
    timings["solve"] = time.perf_counter() - started - timings["prepare"]
    return arrays, monitor.timings or timings
