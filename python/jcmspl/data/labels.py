"""Class labels, of any type a user may have and kept as they are, and how much samples count: weights by label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning

from jcmspl.support.arguments import Float64Array, IntArray, as_sample_weights, as_weight
from jcmspl.support.shown import quoted
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.data.class_table import ClassTable

BALANCED = "balanced"  # a class_weight

Label = Hashable
LabelArray = npt.NDArray[Any]

#: Types of which NumPy makes arrays, by the kinds of dtype that give every label back as it was.
_UNIFORM_KINDS = {str: "U", int: "iu", float: "f", bool: "b"}
# Python's types that can be neither missing nor unhashable.
_PLAIN_TYPES = {str, int, bool}
# Units of NumPy's times that are finer than those of Python.
_FINE_UNITS = ("ns", "ps", "fs", "as")


def as_label_list(labels: Any, name: str = "y") -> list[Label]:
    """Return labels as Python objects, one for each sample or class; missing or unhashable ones are refused."""
    values: list[Any]
    # A list is not made an array first: NumPy would turn [1, "a"] into two strings and tuples into a matrix.
    if isinstance(labels, (list, tuple)):
        if set(map(type, labels)) <= _PLAIN_TYPES:
            return list(labels)
        values = [_plain(value) for value in labels]
    else:
        array = _flat(labels, name)
        values = array.tolist()
        if array.dtype.kind in "iubU":
            return values  # can be neither missing nor unhashable
    for position, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{name} holds {quoted(value)} at position {position}, which cannot be a label: "
                "labels are strings, numbers or other hashable values"
            ) from None
        if _is_missing(value):
            raise ValueError(f"{name} has a missing label at position {position}: Input contains NaN or None")
    return values


def as_targets(y: Any) -> list[Label]:
    """Return the labels of samples; numbers with a fraction are refused, for they are no labels but measurements."""
    labels = as_label_list(y)
    for label in dict.fromkeys(labels):
        if isinstance(label, float) and not label.is_integer():
            raise ValueError(
                f"Unknown label type: continuous. y holds {label!r}: labels are whole numbers, strings or other names"
            )
    return labels


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # how pandas' NA answers
        return True


def _flat(labels: Any, name: str) -> npt.NDArray[Any]:
    if isinstance(labels, np.ma.MaskedArray) and np.ma.is_masked(labels):
        raise ValueError(f"{name} has masked values: fill or remove them")
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        warn_user(
            f"A column-vector {name} was passed when a 1d array was expected: it is read as one label per row",
            DataConversionWarning,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} should be a 1d array of labels, but its shape is {array.shape}")
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers, which cannot be labels")
    if array.dtype.kind in "mM":
        if np.datetime_data(array.dtype)[0] not in _FINE_UNITS:
            return array.astype(f"{array.dtype.kind}8[us]")  # what Python has types for
        return _objects([_plain(value) for value in array])
    return array


def _plain(value: Any) -> Any:
    """Return a label of NumPy's as Python's own; of times, those that Python has no type for stay NumPy's."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return _time(value)
    if isinstance(value, np.generic):
        return value.item()
    # times of pandas are those of Python, but for nanoseconds
    fine = getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)
    return _time(value.to_numpy()) if fine and getattr(value, "tzinfo", None) is None else value


def _time(value: np.datetime64 | np.timedelta64) -> Any:
    """Return a time in the coarsest unit that holds it, so that equal times are equal labels whatever their units."""
    unit = np.datetime_data(value.dtype)[0]
    if unit not in _FINE_UNITS or np.isnat(value):
        return None if np.isnat(value) else value.item()
    for coarser in ("us", *_FINE_UNITS):
        same = value.astype(f"{value.dtype.kind}8[{coarser}]")
        if same == value:
            return same.item() if coarser == "us" else same
    return value


def label_array(labels: Iterable[Label]) -> LabelArray:
    """Return an array that holds the labels unchanged: of their own type if they share one, else of objects."""
    values: list[Any] = list(labels)
    types = {type(value) for value in values}
    kinds = _UNIFORM_KINDS.get(types.pop()) if len(types) == 1 else None
    if kinds:
        array = np.array(values)
        # integers may be too long for any dtype, and strings may end with characters that NumPy drops
        if array.dtype.kind in kinds and array.tolist() == values:
            return array
    return _objects(values)


def _objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    objects: npt.NDArray[Any] = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        objects[position] = value
    return objects


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Return the labels in an order that depends on them alone, also where they cannot be compared."""
    values: list[Any] = list(labels)
    # sets compare as subsets, which is no order
    if not any(isinstance(value, (set, frozenset)) for value in values):
        try:
            return sorted(values)
        except TypeError:
            pass
    return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def numbered(labels: Iterable[Label], classes: Iterable[Label]) -> IntArray:
    """Return the number of each label's class, in the order of the classes."""
    number = {label: i for i, label in enumerate(classes)}
    return np.array([number[label] for label in labels], dtype=np.int64)


def some(labels: Sequence[Label], most: int = 3) -> str:
    """Return the first few labels for a message."""
    return ", ".join(map(quoted, labels[:most])) + (", ..." if len(labels) > most else "")


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


def balanced_weights(counts: Mapping[Label, float]) -> dict[Label, float]:
    """Return the weight of each class with which all of them count the same, from what their samples weigh."""
    share = sum(counts.values()) / max(sum(count > 0 for count in counts.values()), 1)
    return {label: share / count for label, count in counts.items() if count}
