"""What a model file holds: the names and shapes of its arrays, and how labels and parameters are written."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jcmspl.data.labels import Label, as_label_list
from jcmspl.io.archive import ModelFileError
from jcmspl.model.parameters import Shape
from jcmspl.support.shown import quoted

# Arrays that every model has: n classes, c of them trained on; and those of the statistics, of s classes.
COMMON: dict[str, Shape] = {
    "class_vectors": ("n", "d"),
    "class_means": ("c", "m"),
    "feature_shift": ("m",),
    "feature_scale": ("m",),
    "class_shift": ("d",),
    "class_scale": ("d",),
}
STATISTICS: dict[str, Shape] = {"gram": ("m", "m"), "class_sums": ("s", "m")}
WHITENING = "feature_whitening"  # (m, m), where samples are whitened
COLUMNS = "class_columns"  # (d,), where the sources of class vectors have shares
IMPUTED = "imputed_values"  # (m,), where the samples had values missing
HASHES = "sample_hashes"  # (h,), where the digest of the training samples is known
KERNEL = "kernel."
KERNEL_ARRAYS: dict[str, Shape] = {"kernel.anchors": ("a", "d"), "kernel.root": ("a", "r"), "kernel.shift": ("r",)}
ADAPTED = "adapted."
ADAPTED_ARRAYS: dict[str, Shape] = {
    "adapted.class_vectors": ("n", "d"),
    "adapted.weights": ("n", "m"),
    "adapted.offsets": ("n",),
    "adapted.moved": ("n",),
    "adapted.backing": ("n",),
}
# Prefixes of the arrays of the method, and of parameters that are arrays.
FITTED, PARAMETER = "fitted.", "parameter."
# What stands for infinity, which JSON does not have.
INFINITY = "inf"
# Parameters that are numbers in a row.
SEQUENCES = ("source_shares", "ensemble_factors")


def _numpy_time(kind: str, count: Any, unit: Any) -> Any:
    return np.array(operator.index(count), dtype=f"{kind}[{unit}]")[()]


_LABEL_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
# Times: texts, or numbers of units.
_TIMES: dict[str, Callable[[Any], Label]] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(*map(operator.index, parts)),
    "datetime64": lambda parts: _numpy_time("M8", *parts),
    "timedelta64": lambda parts: _numpy_time("m8", *parts),
}


def plain(value: Any, name: str) -> Any:
    """Return a parameter as JSON has it."""
    if name == "class_weight" and isinstance(value, Mapping):
        items = as_label_list(list(value), name)
        return [[encoded(label), float(value[label])] for label in items]
    if name in SEQUENCES and value is not None:
        return [float(number) for number in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value == np.inf:
        return INFINITY
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if name == "random_state":
        return None  # the state of a generator is of no use once the model is fitted
    raise ValueError(f"the parameter {name}={value!r} cannot be saved: use a number or a string, or pickle the model")


def encoded(label: Label) -> list[Any]:
    """Return a label as JSON has it, with its type."""
    kind = type(label).__name__
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return [kind, [int(label.astype(np.int64)), np.datetime_data(label.dtype)[0]]]
    if type(label) in (datetime.datetime, datetime.date):
        return [kind, label.isoformat()]  # type: ignore[attr-defined]
    if type(label) is datetime.timedelta:
        return [kind, [label.days, label.seconds, label.microseconds]]
    if _LABEL_TYPES.get(kind) is not type(label) or label in (float("inf"), float("-inf")):
        raise ValueError(
            f"the label {quoted(label)} cannot be saved: labels in files are strings, numbers, booleans or times "
            "(or use pickle)"
        )
    return [kind, label]


def decoded(item: Any) -> Label:
    """Return a label that was encoded."""
    kind, value = item
    if kind in _TIMES:
        try:
            return _TIMES[kind](value)
        except (TypeError, ValueError, OverflowError):
            raise ModelFileError(f"the label {quoted(value)} is not of the type {quoted(kind)}") from None
    if _LABEL_TYPES.get(kind) is not type(value):
        raise ModelFileError(f"the label {quoted(value)} is not of the type {quoted(kind)}")
    label: Label = value
    return label
