"""What must hold of a data set: each check has its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, as_label_list, some
from jcmspl.datasets.errors import DatasetError
from jcmspl.support.arguments import IntArray

_ONE_BASED = "files of this field count from 1, Python from 0"


def check_samples(X: Any) -> None:
    """Refuse what cannot be rows of real numbers, without reading any."""
    shape, dtype = getattr(X, "shape", None), getattr(X, "dtype", None)
    if shape is None or dtype is None:
        raise DatasetError(f"X must be an array with shape and dtype, but is a {type(X).__name__}")
    if len(shape) != 2:
        raise DatasetError(f"X must have rows and columns, but its shape is {tuple(shape)}")
    if np.dtype(dtype).kind not in "fiub":
        raise DatasetError(f"X must hold real numbers, but its dtype is {dtype}")
    if shape[0] == 0 or shape[1] == 0:
        raise DatasetError(f"X is empty (its shape is {tuple(shape)})")


def labels_of(y: Any, n_samples: int) -> list[Label]:
    """Return one label for each sample."""
    try:
        labels = as_label_list(y)
    except (TypeError, ValueError) as error:
        raise DatasetError(str(error)) from error
    if len(labels) != n_samples:
        raise DatasetError(f"there are {n_samples} samples in X but {len(labels)} labels in y")
    return labels


def class_numbers(labels: list[Label], classes: ClassTable) -> IntArray:
    """Return the row of the table for each label."""
    try:
        return classes.positions(labels, "y")
    except ValueError as error:
        raise DatasetError(str(error)) from error


def checked_parts(parts: Mapping[str, Any], n_samples: int, names: tuple[str, ...]) -> dict[str, IntArray]:
    """Return all parts, those that were not given empty; rows are sorted and in no two parts."""
    unknown = [name for name in parts if name not in names]
    if unknown:
        raise DatasetError(f"there is no part named {some(unknown)}: parts are {', '.join(names)}")
    checked = {name: _rows(parts.get(name, ()), name, n_samples) for name in names}
    owner = np.full(n_samples, -1, dtype=np.int8)
    for number, (name, rows) in enumerate(checked.items()):
        taken = rows[owner[rows] >= 0]
        if len(taken):
            other = names[owner[taken[0]]]
            raise DatasetError(
                f"the parts {other!r} and {name!r} overlap: row {taken[0]} is in both ({len(taken)} such rows in all)"
            )
        owner[rows] = number
    return checked


def _rows(values: npt.ArrayLike, name: str, n_samples: int) -> IntArray:
    rows = np.asarray(values)
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise DatasetError(f"part {name!r} must be a list of row numbers, but is {rows.dtype} of shape {rows.shape}")
    for extreme in (rows.min(), rows.max()):
        if not 0 <= extreme < n_samples:
            raise DatasetError(
                f"part {name!r} holds the row {extreme}, but rows are 0 to {n_samples - 1} ({_ONE_BASED})"
            )
    rows = np.sort(rows.astype(np.int64))
    twice = rows[1:][rows[1:] == rows[:-1]]
    if len(twice):
        raise DatasetError(f"part {name!r} holds the row {twice[0]} more than once")
    rows.flags.writeable = False
    return rows


def check_protocol(parts: Mapping[str, IntArray], numbers: IntArray, classes: ClassTable) -> None:
    """Refuse parts that do not make a zero-shot problem."""
    if not len(parts["train"]):
        raise DatasetError("there are no training samples: the part 'train' is empty")
    labels = list(classes)
    seen = np.unique(numbers[np.concatenate([parts["train"], parts["val"]])])
    both = np.intersect1d(seen, numbers[parts["test_unseen"]])
    if len(both):
        raise DatasetError(
            f"seen and unseen classes overlap: 'test_unseen' and the training data both have samples of {len(both)} "
            f"classes: {some([labels[number] for number in both])}"
        )
    untrained = np.setdiff1d(numbers[parts["test_seen"]], seen)
    if len(untrained):
        raise DatasetError(
            f"'test_seen' has samples of {len(untrained)} classes without training samples: "
            f"{some([labels[number] for number in untrained])}"
        )
