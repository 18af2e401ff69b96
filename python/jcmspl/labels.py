"""Class labels: of any type a user may have, kept as they are."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

Label = Hashable
LabelArray = npt.NDArray[Any]

#: Types of which NumPy makes arrays that give every label back as it was.
_UNIFORM_TYPES = (str, int, float, bool)


def as_label_list(labels: Any, name: str = "y") -> list[Label]:
    """Return labels as Python objects, one for each sample or class; missing or unhashable ones are refused."""
    # A list is not made an array first: NumPy would turn [1, "a"] into two strings and tuples into a matrix.
    values = list(labels) if isinstance(labels, (list, tuple)) else _flat(labels, name).tolist()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    for position, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"{name} has a missing label at position {position}: Input contains NaN or None")
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{name} holds {value!r} at position {position}, which cannot be a label: "
                "labels are strings, numbers or other hashable values"
            ) from None
    return values


def _flat(labels: Any, name: str) -> npt.NDArray[Any]:
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected: it is read as one label per row",
            DataConversionWarning,
            stacklevel=2,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} should be a 1d array of labels, but its shape is {array.shape}")
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers, which cannot be labels")
    if array.dtype.kind == "f" and np.isfinite(array).all():
        check_classification_targets(array)
    return array


def label_array(labels: Iterable[Label]) -> LabelArray:
    """Return an array that holds the labels unchanged: of their own type if they share one, else of objects."""
    values = list(labels)
    types = {type(value) for value in values}
    if len(types) == 1 and types.pop() in _UNIFORM_TYPES:
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return array


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Return the labels in an order that depends on them alone, also where they cannot be compared."""
    values: list[Any] = list(labels)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def some(labels: Sequence[Label], most: int = 3) -> str:
    """Return the first few labels for a message."""
    shown = ", ".join(repr(label) for label in labels[:most])
    return shown + (", ..." if len(labels) > most else "")
