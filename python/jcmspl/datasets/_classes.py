"""Class tables from files: NaN is told by the name of the class, and text and numbers may stand for the same name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import LabelArray, as_label_list, label_array, some
from jcmspl.datasets.errors import DatasetError


def class_table(labels: Any, vectors: npt.NDArray[Any], attributes: Iterable[str] | None, name: str) -> ClassTable:
    """Return a table of vectors that a file calls by the given name."""
    names = as_label_list(labels, "the names of the classes")
    if vectors.ndim == 2 and len(vectors) == len(names) and vectors.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise DatasetError(
                f"{name} holds NaN or infinity in the vectors of {len(bad)} classes: {some([names[i] for i in bad])}"
            )
    return ClassTable(names, vectors, attributes)


def same_labels(labels: Any, classes: ClassTable) -> LabelArray:
    """Return labels in the type that the classes have, where text and numbers stand for the same names.

    A CSV file knows only text, an array of labels may hold numbers.

    Examples
    --------
    >>> from jcmspl import ClassTable
    >>> same_labels([7, 8], ClassTable(["7", "8"], [[0.0], [1.0]]))
    array(['7', '8'], dtype='<U1')
    """
    values = as_label_list(labels)
    different = list(dict.fromkeys(values))
    if not all(label in classes for label in different):
        names = {str(label): label for label in classes}
        known_as = {label: names.get(str(label), label) for label in different}
        values = [known_as[label] for label in values]
    return label_array(values)
