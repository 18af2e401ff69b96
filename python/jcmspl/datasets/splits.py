"""Splits of samples and classes into parts for training, validation and testing."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, as_label_list, numbered, some, sorted_labels
from jcmspl.datasets.errors import DatasetError, about
from jcmspl.support.arguments import IntArray, as_count, as_weight


@dataclass(frozen=True)
class HeldOut:
    """The arguments of :meth:`Dataset.held_out`, to draw the same test samples of seen classes again."""

    share: float
    random_state: int
    drawn_from: str  #: a digest of the row numbers and labels of the samples that were drawn from

    @classmethod
    def of(cls, rows: IntArray, labels: Any, share: float, random_state: int) -> HeldOut:
        """Record a draw from the rows with these labels."""
        return cls(float(share), int(random_state), _digest_of(rows, labels))

    def fits(self, rows: IntArray, labels: Any) -> bool:
        """Whether the samples were drawn from these."""
        return self.drawn_from == _digest_of(rows, labels)


def make_split(
    y: Any,
    classes: Any = None,
    *,
    unseen: float | Iterable[Label] = 0.2,
    test_seen: float = 0.2,
    val: float | Iterable[Label] = 0.2,
    random_state: int = 0,
) -> dict[str, IntArray]:
    """Split labelled samples for zero-shot learning: classes first, then samples of the seen ones.

    Parameters
    ----------
    y : array_like of shape (n_samples,)
        The label of each sample.
    classes : ClassTable or class_vectors, optional
        Only used to check that every label has a class vector.
    unseen : float or labels, default 0.2
        The unseen classes, whose samples are all for testing: a share of the classes in y, or labels.
    test_seen : float, default 0.2
        The share of the samples of each seen class for testing; at least one sample stays for training.
    val : float or labels, default 0.2
        The seen classes whose other samples are for validation: a share of the seen classes, or labels.
    random_state : int, default 0
        Classes are drawn from their sorted labels, samples class by class: samples of other classes have no effect.

    Returns
    -------
    parts : dict of str to ndarray
        The row numbers of "train", "val", "test_seen" and "test_unseen", for :class:`Dataset`.

    Examples
    --------
    >>> from jcmspl.datasets import make_split
    >>> y = ["zebra", "horse", "otter", "whale"] * 10
    >>> parts = make_split(y, unseen=["zebra"], test_seen=0.2, val=0)
    >>> {name: len(rows) for name, rows in parts.items()}
    {'train': 24, 'val': 0, 'test_seen': 6, 'test_unseen': 10}
    """
    labels = as_label_list(y)
    present = sorted_labels(dict.fromkeys(labels))
    if classes is not None:
        table = ClassTable.of(classes)
        with about(None):
            table.positions(present, "y")
    seed = as_count(random_state, "random_state", 0)
    shuffled = [present[i] for i in np.random.default_rng(seed).permutation(len(present))]
    tested = _chosen(unseen, shuffled, "unseen")
    seen = [label for label in shuffled if label not in tested]
    validated = _chosen(val, seen, "val")
    if len(validated) == len(seen):
        raise DatasetError(
            f"of {len(present)} classes {len(tested)} are unseen and {len(validated)} for validation: none is left for "
            "training"
        )
    numbers = numbered(labels, present)
    is_unseen, is_val = (np.isin(numbers, numbered(group, present)) for group in (tested, validated))
    held_out = draw_per_class(np.flatnonzero(~is_unseen), numbers, present, test_seen, seed)
    free = ~is_unseen
    free[held_out] = False
    return {
        "train": np.flatnonzero(free & ~is_val),
        "val": np.flatnonzero(free & is_val),
        "test_seen": held_out,
        "test_unseen": np.flatnonzero(is_unseen),
    }


def draw_per_class(
    rows: IntArray, numbers: IntArray, labels: Sequence[Label], share: float, random_state: int
) -> IntArray:
    """Draw a share of the rows of each class, but never all rows of a class.

    Each class has its own random numbers, seeded by its name: the draw does not depend on other classes.
    """
    share, seed = _share(share, "the share of samples"), as_count(random_state, "random_state", 0)
    drawn = []
    for members in shuffled_rows(rows, numbers, labels, seed):
        count = min(round(share * len(members)), len(members) - 1)
        if count > 0:
            drawn.append(members[:count])
    return np.sort(np.concatenate(drawn)) if drawn else np.empty(0, dtype=np.int64)


def shuffled_rows(rows: IntArray, numbers: IntArray, labels: Sequence[Label], seed: int) -> list[IntArray]:
    """Return the rows of each class in random order, seeded by the name of the class."""
    by_class = rows[np.argsort(numbers[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(numbers[by_class])) + 1
    return [
        np.random.default_rng([seed, zlib.crc32(repr(labels[numbers[members[0]]]).encode())]).permutation(members)
        for members in np.split(by_class, ends)
        if len(members)
    ]


def _digest_of(rows: IntArray, labels: Any) -> str:
    """Return a digest of rows and labels; 3 and "3" count as equal, because text files hold "3"."""
    texts = "\0".join(str(label) for label in as_label_list(labels))
    content = np.asarray(rows, dtype="<i8").tobytes() + texts.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _share(value: Any, name: str) -> float:
    share = as_weight(value, name)
    if share >= 1:
        raise ValueError(f"{name} must be at least 0 and less than 1 (a quarter is 0.25), but is {share:g}")
    return share


def _chosen(wanted: float | Iterable[Label], labels: list[Label], name: str) -> set[Label]:
    """Return the wanted labels, or the first share of all, at least one unless the share is 0."""
    if isinstance(wanted, str):
        raise TypeError(f"{name} must be a share or a list of labels, but is the text {wanted!r}")
    if not isinstance(wanted, Iterable):
        share = _share(wanted, f"the share of {name} classes")
        return set(labels[: max(round(share * len(labels)), 1)]) if share > 0 else set()
    chosen = set(as_label_list(list(wanted), name))
    missing = [label for label in sorted_labels(chosen) if label not in labels]
    if missing:
        raise DatasetError(f"{name} names classes that have no samples to choose from: {some(missing)}")
    return chosen
