"""Which classes a sample may be recognised as."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.classes import ClassTable
from jcmspl.labels import Label, as_label_list, some, sorted_labels

#: Groups of candidates that have a name.
GROUPS = ("seen", "unseen", "all")


def candidate_table(
    known: ClassTable, seen: Iterable[Label], class_vectors: Any, candidates: Any
) -> tuple[ClassTable, npt.NDArray[np.bool_]]:
    """Return the candidate classes of a call, and which of them were seen in training.

    Parameters
    ----------
    known : ClassTable
        What the model knows: classes it was trained on and others.
    seen : iterable of labels
        The former.
    class_vectors : anything that ClassTable.of takes, or None
        Classes given at the call; their vectors count, also where the model knows the class already.
    candidates : {"seen", "unseen", "all"}, sequence of labels, or None
        None: the classes given at the call, or else all that are known.
    """
    trained = list(seen)
    given = None if class_vectors is None else _given(class_vectors, known, candidates)
    pool = known if given is None else known.updated(given)
    wanted = _wanted(pool, trained, given, candidates)
    if not wanted:
        raise ValueError(
            "there are no candidate classes: give class_vectors of classes that were not in the training data, "
            "or candidates='seen'"
        )
    table = pool.select(wanted, "candidates")
    trained_set = set(trained)
    is_seen = np.array([label in trained_set for label in wanted])
    if given is not None and _is_bare_array(class_vectors):
        # row numbers may mean other classes than they did in training: only an equal vector tells
        is_seen = np.array(
            [
                bool(same) and np.array_equal(table[label], known[label])
                for label, same in zip(wanted, is_seen, strict=True)
            ]
        )
    return table, is_seen


def _given(class_vectors: Any, known: ClassTable, candidates: Any) -> ClassTable:
    table = ClassTable.of(class_vectors)
    if table.n_attributes != known.n_attributes:
        raise ValueError(
            f"the class vectors given have {table.n_attributes} attributes, but the model was trained with "
            f"{known.n_attributes}"
        )
    if candidates is not None and _is_bare_array(class_vectors):
        raise ValueError(
            "class_vectors is an array, whose classes are known by row number alone: to mix them with classes of the "
            "model, name them (a dict, DataFrame or ClassTable)"
        )
    return table


def _is_bare_array(class_vectors: Any) -> bool:
    return isinstance(class_vectors, (np.ndarray, list, tuple))


def _wanted(pool: ClassTable, trained: list[Label], given: ClassTable | None, candidates: Any) -> list[Label]:
    if candidates is None:
        return list(given) if given is not None else [*trained, *_unseen(pool, trained)]
    if isinstance(candidates, str):
        if candidates not in GROUPS:
            raise ValueError(
                f"candidates must be one of {', '.join(map(repr, GROUPS))}, or a list of labels, but is {candidates!r}"
            )
        if candidates == "seen":
            return trained
        unseen = _unseen(given if given is not None else pool, trained)
        return unseen if candidates == "unseen" else [*trained, *unseen]
    labels = as_label_list(candidates, "candidates")
    if len(set(labels)) != len(labels):
        twice = sorted_labels({label for label in labels if labels.count(label) > 1})
        raise ValueError(f"candidates names some classes twice: {some(twice)}")
    return labels


def _unseen(table: ClassTable, trained: list[Label]) -> list[Label]:
    left_out = set(trained)
    return [label for label in table if label not in left_out]
