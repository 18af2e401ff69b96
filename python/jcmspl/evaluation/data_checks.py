"""Checks of a data set before models are fitted: labels, class vectors, duplicate classes, leakage."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
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

# The least share of its samples that must be recognised by other samples before a class's vector is judged.
_LEAST_BY_SAMPLES = 0.5
# A class vector does not fit if it recognises less than this fraction of the mean over classes.
_MISFIT = 0.25
# Two vectors are nearly equal if their distance is below this fraction of the median distance to the nearest.
_NEAR = 0.05
# Distances of unit vectors below it are rounding errors.
_ROUNDING = 1e-7
_ROWS_PER_BLOCK = 8192
_MOST_LINES = 20
_FEWEST_CLASSES = 4
_TEST_PARTS = ("test_seen", "test_unseen")


@dataclass(frozen=True)
class ClassIssue:
    """A class whose samples are recognised by other samples of it, but not by its class vector.

    Attributes
    ----------
    label : label
    by_vector : float
        The share of its samples that is recognised by class vectors, among classes without training samples.
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
        The distance of their directions, as a fraction of the median distance to the nearest class; 0 for equal ones.
    """

    one: Label
    other: Label
    distance: float


@dataclass(frozen=True)
class Leak:
    """Samples of a test part that equal training samples.

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
        The checks that were skipped, with the reason.
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
        """Whether the checks found nothing; some may have been skipped (``notes``)."""
        return not (len(self.labels) or self.classes or self.duplicates or self.leaks or self.repeated)

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

    def to_text(self, most: int = _MOST_LINES) -> str:
        """Return the findings as text; each table has at most ``most`` lines."""
        n, issues = self.labels.n_samples, len(self.labels)
        leaked = sum(len(leak.indices) for leak in self.leaks)
        blocks = [
            _block(
                f"Labels: {issues:,} of {n:,} are probably wrong ({percent(issues / n)})",
                ["row", "label", "suggested", "probability"],
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
        The unfitted model that judges labels and class vectors. By default ``JCMSPL()``.
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
    # row numbers of the data set, not of the training part
    labels = replace(labels, indices=rows[labels.indices], not_judged=rows[labels.not_judged], n_rows=len(dataset.y))
    classes, notes = _unfitting_classes(X, y, dataset.classes, labels, template, random_state)
    if not any(len(dataset.rows(part)) for part in _TEST_PARTS):
        notes += ("leakage was not checked: there are no test samples",)
    repeated, leaks = _repeated_and_leaked(dataset, rows)
    return DataChecks(labels, classes, near_duplicates(dataset.classes), leaks, repeated, notes)


def near_duplicates(table: ClassTable) -> tuple[NearDuplicate, ...]:
    """Return the pairs of classes whose vectors have nearly the same direction from the mean, the nearest first."""
    vectors = table.vectors - table.vectors.mean(axis=0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(lengths > 0, lengths, 1)
    # the usual distance is that of different vectors, of which a few do not tell it
    different = np.unique(vectors.round(9), axis=0)
    usual = np.inf
    if len(different) >= _FEWEST_CLASSES:
        nearest, _ = NearestNeighbors(algorithm="brute").fit(different).kneighbors(n_neighbors=1)
        usual = float(np.median(nearest))
    radius = _ROUNDING if usual == np.inf else max(_ROUNDING, _NEAR * usual)
    distances, others = NearestNeighbors(algorithm="brute").fit(vectors).radius_neighbors(radius=radius)
    found = [
        (0.0 if distance <= _ROUNDING else distance / usual, i, j)
        for i, (near, places) in enumerate(zip(distances, others, strict=True))
        for distance, j in zip(near.tolist(), places.tolist(), strict=True)
        if i < j
    ]
    labels = list(table)
    return tuple(NearDuplicate(labels[i], labels[j], distance) for distance, i, j in sorted(found))


def _unfitting_classes(
    X: Any, y: Any, table: ClassTable, labels: LabelIssues, model: Any, random_state: Any
) -> tuple[tuple[ClassIssue, ...], tuple[str, ...]]:
    """Return the classes whose vectors do not fit, and notes of what could not be checked."""
    names = sorted_labels(dict.fromkeys(y.tolist()))
    if len(names) < 2 * _FEWEST_CLASSES:
        return (), (f"class vectors were not checked: that takes {2 * _FEWEST_CLASSES} training classes at least",)
    right, wrong = Counter[Label](), Counter[tuple[Label, Label]]()
    for train, test in ClassKFold(4, random_state=random_state).split(X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # find_label_issues has given these warnings
            fitted = clone(model).fit(X[train], y[train], class_vectors=table)
        held_out = sorted_labels(dict.fromkeys(y[test].tolist()))
        for label, found in zip(y[test].tolist(), fitted.predict(X[test], candidates=held_out).tolist(), strict=True):
            if label == found:
                right[label] += 1
            else:
                wrong[label, found] += 1
    counts = Counter(y.tolist())
    by_vector = {label: right[label] / counts[label] for label in names}
    by_samples = labels.recognised()
    mean = float(np.mean(list(by_vector.values())))
    found = []
    for label in names:
        if by_samples.get(label, 0.0) >= _LEAST_BY_SAMPLES and by_vector[label] < _MISFIT * mean:
            taken = max((pair for pair in wrong if pair[0] == label), key=lambda pair: wrong[pair])[1]
            found.append(ClassIssue(label, by_vector[label], by_samples[label], taken))
    return tuple(sorted(found, key=lambda one: one.by_vector - one.by_samples)), ()


def _repeated_and_leaked(dataset: Any, rows: IntArray) -> tuple[int, tuple[Leak, ...]]:
    """Return how many training samples equal an earlier one, and the test samples that equal training samples."""
    trained = _hashes(dataset.X, rows)
    known = np.unique(trained)
    leaks = []
    for part in _TEST_PARTS:
        tested = dataset.rows(part)
        leaked = tested[np.isin(_hashes(dataset.X, tested), known)]
        if len(leaked):
            leaks.append(Leak(part, len(tested), tuple(leaked.tolist())))
    return len(trained) - len(known), tuple(leaks)


def _hashes(X: Any, rows: IntArray) -> Hashes:
    """Return the hashes of some rows, read a block at a time."""
    blocks = np.array_split(rows, max(1, -(-len(rows) // _ROWS_PER_BLOCK)))
    return np.concatenate([row_hashes(np.asarray(read_rows(X, block))) for block in blocks])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _block(title: str, header: Sequence[str], lines: Sequence[Sequence[str]], n_found: int) -> str:
    """Return a title, and a table below it unless it would be empty."""
    if not lines:
        return title
    more = f"\n  and {n_found - len(lines):,} more (--json lists all)" if n_found > len(lines) else ""
    return f"{title}\n\n{aligned(header, lines)}{more}"
