"""Checks of a data set before models are fitted: labels, class vectors, duplicate classes, leakage."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from jcmspl.data.class_folds import ClassKFold
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, some, sorted_labels
from jcmspl.data.reading import read_rows
from jcmspl.data.sample_digest import Hashes, row_hashes
from jcmspl.datasets.dataset import Dataset
from jcmspl.evaluation.label_issues import LabelIssues, find_label_issues, judge
from jcmspl.io.json_text import dumps
from jcmspl.support.arguments import IntArray
from jcmspl.support.shown import aligned, percent

# A class whose samples are recognised this often among the training classes is compact.
_COMPACT = 0.5
# Its vector does not fit if they are recognised by it less often than this part of what is usual.
_FITTING = 0.25
# Vectors nearer to each other than this part of the usual distance to the nearest are nearly equal.
_NEAR = 0.05
_ROWS = 8192
_LISTED = 20
_FEWEST_CLASSES = 4
_TESTED = ("test_seen", "test_unseen")


@dataclass(frozen=True)
class ClassIssue:
    """A class that is not recognised by its vector, although its samples are alike.

    Attributes
    ----------
    label : label
    by_vector : float
        The share of its samples that is recognised by the class vector, among classes held out with it.
    by_samples : float
        The share that is recognised by models trained on other samples of the class.
    taken_for : label
        The class that its samples are most often taken for.
    """

    label: Label
    by_vector: float
    by_samples: float
    taken_for: Label


@dataclass(frozen=True)
class NearDuplicate:
    """Two classes whose vectors are equal, or nearly so.

    Attributes
    ----------
    one, other : label
    distance : float
        The distance of their vectors as a part of the usual distance of a class to its nearest: 0 for equal ones.
    """

    one: Label
    other: Label
    distance: float


@dataclass(frozen=True)
class Leak:
    """Rows of a test part that are training samples too.

    Attributes
    ----------
    part : str
    n_samples : int
        The number of samples of the part.
    indices : tuple of int
        The row numbers of those that are equal to a training sample.
    """

    part: str
    n_samples: int
    indices: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class DataChecks:
    """The findings of :func:`check_data`.

    Attributes
    ----------
    labels : LabelIssues
    classes : tuple of ClassIssue
        The worst first.
    duplicates : tuple of NearDuplicate
        The nearest first.
    leaks : tuple of Leak
        Test parts with training samples in them.
    repeated : int
        How many training samples are equal to an earlier one.
    notes : tuple of str
        Checks that the data does not allow, and why.
    """

    labels: LabelIssues
    classes: tuple[ClassIssue, ...]
    duplicates: tuple[NearDuplicate, ...]
    leaks: tuple[Leak, ...]
    repeated: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<DataChecks: {len(self.labels)} labels, {len(self.classes)} class vectors, {len(self.duplicates)} pairs "
            f"of classes, {sum(len(leak.indices) for leak in self.leaks)} leaked samples>"
        )

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not (len(self.labels) or self.classes or self.duplicates or self.leaks)

    def to_dict(self) -> dict[str, Any]:
        """Return all findings as plain data."""
        return {
            "n_samples": self.labels.n_samples,
            "labels": self.labels.to_rows(),
            "classes": [vars(one) for one in self.classes],
            "duplicates": [vars(one) for one in self.duplicates],
            "leaks": [vars(one) | {"indices": list(one.indices)} for one in self.leaks],
            "repeated": self.repeated,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return all findings as JSON."""
        return dumps(self.to_dict(), indent=1) + "\n"

    def to_text(self, most: int = _LISTED) -> str:
        """Return the findings as text, with at most so many lines a table."""
        n, issues = self.labels.n_samples, len(self.labels)
        leaked = sum(len(leak.indices) for leak in self.leaks)
        blocks = [
            _block(
                f"Labels: {issues:,} of {n:,} are probably wrong ({percent(issues / n)})",
                ["row", "label", "rather", "probability"],
                [
                    [str(one["index"]), str(one["given"]), str(one["suggested"]), f"{one['probability']:.1g}"]
                    for one in self.labels.to_rows(most)
                ],
                issues,
            ),
            _block(
                f"Class vectors: {len(self.classes):,} do not fit the samples of their class",
                ["class", "by vector", "by samples", "taken for"],
                [
                    [str(one.label), percent(one.by_vector), percent(one.by_samples), str(one.taken_for)]
                    for one in self.classes[:most]
                ],
                len(self.classes),
            ),
            _block(
                f"Classes: {_count(len(self.duplicates), 'pair')} with nearly the same vector",
                ["class", "and", "distance"],
                [[str(one.one), str(one.other), percent(one.distance)] for one in self.duplicates[:most]],
                len(self.duplicates),
            ),
            _block(
                f"Leakage: {_count(leaked, 'test sample')} equal to a training sample",
                ["part", "samples", "leaked", "rows"],
                [
                    [leak.part, f"{leak.n_samples:,}", f"{len(leak.indices):,}", some(leak.indices, 5)]
                    for leak in self.leaks
                ],
                len(self.leaks),
            ),
        ]
        if self.repeated:
            blocks.append(f"Repeated: {_count(self.repeated, 'training sample')} equal to an earlier one")
        return "\n\n".join([*blocks, *(f"note: {note}" for note in self.notes)]) + "\n"


def check_data(dataset: Any, *, model: Any = None, random_state: Any = 0, progress: bool = False) -> DataChecks:
    """Check the labels, the class vectors and the parts of a data set.

    Parameters
    ----------
    dataset : Dataset
    model : estimator, optional
        A method with its parameters, which judges labels and class vectors. By default ``JCMSPL()``.
    random_state : int, RandomState or None, default 0
        Seed of the folds.
    progress : bool, default False
        Whether to show progress on a terminal.

    Returns
    -------
    checks : DataChecks

    Examples
    --------
    >>> from jcmspl.checks import check_data
    >>> from jcmspl.datasets import make_zsl
    >>> check_data(make_zsl(n_seen=10, n_unseen=2, random_state=0))
    <DataChecks: 0 labels, 0 class vectors, 0 pairs of classes, 0 leaked samples>
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"dataset must be a Dataset of jcmspl.datasets.load_dataset, but is a {type(dataset).__name__}: "
            "find_label_issues(X, y) checks the labels of arrays"
        )
    rows = dataset.rows("trainval")
    X, y = dataset.part("trainval")
    template = judge(model)
    options = {"model": template, "random_state": random_state, "progress": progress}
    labels = find_label_issues(X, y, class_vectors=dataset.classes, **options)
    labels = replace(labels, indices=rows[labels.indices], not_judged=rows[labels.not_judged], n_rows=len(dataset.y))
    classes, notes = _unfitting_classes(X, y, dataset.classes, labels, template, random_state)
    if not any(len(dataset.rows(part)) for part in _TESTED):
        notes += ("leakage was not checked: there are no test samples",)
    repeated, leaks = _leaks(dataset, rows)
    return DataChecks(labels, classes, near_duplicates(dataset.classes), leaks, repeated, notes)


def near_duplicates(table: ClassTable) -> tuple[NearDuplicate, ...]:
    """Return the pairs of classes whose vectors are nearly equal, the nearest first."""
    vectors = table.vectors - table.vectors.mean(axis=0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(lengths > 0, lengths, 1)
    if table.n_classes < _FEWEST_CLASSES:  # the distances of so few say nothing of what is usual
        found = [
            (i, j, 0.0) for i, j in combinations(range(table.n_classes), 2) if np.array_equal(vectors[i], vectors[j])
        ]
    else:
        neighbours = NearestNeighbors(algorithm="brute").fit(vectors)
        usual = float(np.median(neighbours.kneighbors(n_neighbors=1)[0])) or 1.0
        distances, others = neighbours.radius_neighbors(radius=_NEAR * usual)
        found = [
            (i, j, distance / usual)
            for i, (near, places) in enumerate(zip(distances, others, strict=True))
            for distance, j in zip(near.tolist(), places.tolist(), strict=True)
            if i < j
        ]
    labels = list(table)
    return tuple(NearDuplicate(labels[i], labels[j], d) for i, j, d in sorted(found, key=lambda pair: pair[2]))


def _unfitting_classes(
    X: Any, y: Any, table: ClassTable, labels: LabelIssues, model: Any, random_state: Any
) -> tuple[tuple[ClassIssue, ...], tuple[str, ...]]:
    """Return the classes whose vectors do not fit, and notes of what could not be checked."""
    names = sorted_labels(dict.fromkeys(y.tolist()))
    if len(names) < 2 * _FEWEST_CLASSES:
        return (), (f"class vectors were not checked: that takes {2 * _FEWEST_CLASSES} training classes at least",)
    right, wrong = Counter[Label](), Counter[tuple[Label, Label]]()
    folds = ClassKFold(min(4, len(names) // 2), random_state=random_state)
    for train, test in folds.split(y, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # find_label_issues has said it
            fitted = clone(model).fit(X[train], y[train], class_vectors=table)
        held_out = sorted_labels(dict.fromkeys(y[test].tolist()))
        for label, found in zip(y[test].tolist(), fitted.predict(X[test], candidates=held_out).tolist(), strict=True):
            right[label] += label == found
            wrong[label, found] += label != found
    counts = Counter(y.tolist())
    by_vector = {label: right[label] / counts[label] for label in names}
    by_samples = labels.recognised()
    usual = float(np.mean(list(by_vector.values())))
    found = []
    for label in names:
        if by_samples.get(label, 0.0) >= _COMPACT and by_vector[label] < _FITTING * usual:
            taken = max((pair for pair in wrong if pair[0] == label), key=lambda pair: wrong[pair])[1]
            found.append(ClassIssue(label, by_vector[label], by_samples[label], taken))
    return tuple(sorted(found, key=lambda one: one.by_vector - one.by_samples)), ()


def _leaks(dataset: Any, rows: IntArray) -> tuple[int, tuple[Leak, ...]]:
    """Return how many training samples are repetitions, and the test samples that are training samples."""
    trained = _hashes(dataset.X, rows)
    known = np.unique(trained)
    leaks = []
    for part in _TESTED:
        tested = dataset.rows(part)
        leaked = tested[np.isin(_hashes(dataset.X, tested), known)]
        if len(leaked):
            leaks.append(Leak(part, len(tested), tuple(leaked.tolist())))
    return len(trained) - len(known), tuple(leaks)


def _hashes(X: Any, rows: IntArray) -> Hashes:
    """Return the hashes of some rows, read a block at a time."""
    blocks = np.array_split(rows, max(1, -(-len(rows) // _ROWS)))
    return np.concatenate([row_hashes(np.asarray(read_rows(X, block))) for block in blocks])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _block(title: str, header: Sequence[str], lines: Sequence[Sequence[str]], n_found: int) -> str:
    """Return a title, and a table below it unless it would be empty."""
    if not lines:
        return title
    more = f"\n  and {n_found - len(lines):,} more (--json lists all)" if n_found > len(lines) else ""
    return f"{title}\n\n{aligned(header, lines)}{more}"
