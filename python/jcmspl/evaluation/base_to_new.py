"""Base to new: training on a few labelled samples of half of the classes, tests on both halves.

Papers on prompt learning use this protocol to measure what a few samples add to aligned encoders.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jcmspl.data.labels import Label, as_label_list, some
from jcmspl.data.reading import read_rows
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.splits import shuffled_rows
from jcmspl.evaluation.base_to_new_report import ALL, COSINE, NO_TRAINING, BaseToNew, Figures, Row
from jcmspl.evaluation.findings import Accuracies, parameters_of, versions
from jcmspl.methods.jcmspl import JCMSPL
from jcmspl.methods.text_prototypes import TextPrototypes
from jcmspl.model.calibration import generalized_curve
from jcmspl.support.arguments import IntArray, as_count
from jcmspl.support.names import BASES
from jcmspl.support.progress import Progress
from jcmspl.support.shown import shown

# The share of samples of each class to test with, if the data set has no test parts.
_TESTED = 0.2
_CHUNK = 8192


def base_to_new(
    model: Any,
    dataset: Dataset,
    *,
    shots: Any = None,
    base: str | Iterable[Label] | None = None,
    n_draws: int = 1,
    random_state: int = 0,
    progress: bool = True,
) -> BaseToNew:
    """Fit a model to a few samples of base classes, and test it on base and new classes.

    :func:`jcmspl.evaluate` documents the parameters.
    """
    wanted, draws, seed = _checked_shots(shots), as_count(n_draws, "n_draws"), as_count(random_state, "random_state", 0)
    model = _unfitted(model)
    name = type(model).__name__
    base = base if base is None or isinstance(base, str) else as_label_list(list(base), "base")
    dataset, notes = _tested(dataset, base, seed)
    base = base if base is not None else BASES[2] if dataset.unseen else BASES[0]
    rows: dict[tuple[str, int | None], Row] = {}

    def add(method: str, n: int | None, n_samples: int, figures: Figures) -> None:
        rows.setdefault((method, n), Row(method, n, n_samples, [])).draws.append(figures)

    with Progress("base to new", draws * len(wanted), "fits", enabled=progress) as line:
        for draw in range(draws):
            halves = _Halves(dataset, base, seed + draw)
            for number, n in enumerate(wanted):
                X, y = halves.training(n)
                if not number and dataset.n_features == dataset.classes.n_attributes:
                    cosine = halves.figures(TextPrototypes(progress=False), X, y, calibrated=False)
                    add(COSINE, NO_TRAINING, 0, cosine)
                add(name, n, len(X), halves.figures(clone(model), X, y))
                line.update(draw * len(wanted) + number + 1)
    if few := halves.with_fewer_than(max((n for n in wanted if n is not None), default=0)):
        notes.append(f"{len(few)} classes have fewer training samples than shots and gave all of them: {some(few)}.")
    return BaseToNew(
        dataset=dataset.name,
        model=name,
        parameters={key: value for key, value in parameters_of(model).items() if key != "progress"},
        base=base if isinstance(base, str) else "given",
        n_base=len(halves.base),
        n_new=len(halves.new),
        n_tested=[len(halves.test_base), len(halves.test_new)],
        random_state=seed,
        rows=list(rows.values()),
        notes=notes,
        versions=versions(),
    )


def _checked_shots(shots: Any) -> list[int | None]:
    """Return the numbers of samples of each class, ascending; None means all."""
    given = [shots] if shots is None or isinstance(shots, (str, int, np.integer)) else list(shots)
    if strangers := [one for one in given if isinstance(one, str) and one != ALL]:
        raise ValueError(f"shots must be numbers of samples of each class, or {ALL!r}, but one is {strangers[0]!r}")
    wanted = [None if one is None or one == ALL else as_count(one, "shots") for one in given]
    if not wanted or len(set(wanted)) != len(wanted):
        raise ValueError(f"shots must be different numbers, at least one, but are {given}")
    return sorted(wanted, key=lambda n: np.inf if n is None else n)


def _unfitted(model: Any) -> Any:
    """Return an unfitted copy of a model or search; by default a new JCMSPL."""
    if model is None:
        return JCMSPL(progress=False)
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise TypeError(f"the model must be an estimator such as JCMSPL(), but is a {type(model).__name__}")
    twin = clone(model)
    return twin.set_params(progress=False) if "progress" in twin.get_params(deep=False) else twin


def _tested(dataset: Dataset, base: Any, seed: int) -> tuple[Dataset, list[str]]:
    """Return the data set with test samples of base classes, and sentences on the changes.

    To halve the classes of a data set in another way than its own, unseen classes need training samples, too: all
    samples are split anew.
    """
    unseen, notes = dataset.unseen, []
    if unseen and base is not None and base != BASES[2]:
        rows = np.sort(np.concatenate([dataset.rows(part) for part in ("trainval", "test_seen", "test_unseen")]))
        dataset = replace(dataset, parts={"train": rows})
        notes.append("The data set's own split of classes and samples is ignored.")
    elif base == BASES[2] and not unseen:
        raise ValueError(
            f"the data set {shown(dataset.name)} has no unseen classes to use as new ones: choose base={BASES[0]!r} or "
            f"{BASES[1]!r}, which halve its classes"
        )
    if not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(_TESTED, seed)
        notes.append(f"{_TESTED:.0%} of the samples of each class are drawn for testing.")
    return dataset, notes


class _Halves:
    """Base and new classes of a data set, with the rows to train on and to test on."""

    def __init__(self, dataset: Dataset, base: Any, seed: int) -> None:
        self._data, self._seed = dataset, seed
        self._table = dataset.classes
        # the part val is for choosing settings; it is training data only with the data set's own split
        train = dataset.rows("train" if base != BASES[2] else "trainval")
        test = np.union1d(dataset.rows("test_seen"), dataset.rows("test_unseen"))
        trainable, tested = (self._labels_of(rows) for rows in (train, test))
        if base == BASES[2]:
            self.base, self.new = dataset.seen, dataset.unseen
        else:
            both = [label for label in self._table if label in trainable and label in tested]
            self.base, self.new = _halved(both, base, seed)
        self._train = self._rows_of(train, self.base)
        self.test_base, self.test_new = (self._rows_of(test, side) for side in (self.base, self.new))

    def _labels_of(self, rows: IntArray) -> set[Label]:
        labels = list(self._table)
        return {labels[number] for number in np.unique(self._data.class_numbers[rows])}

    def _rows_of(self, rows: IntArray, labels: Sequence[Label]) -> IntArray:
        wanted = self._table.positions(labels)
        return rows[np.isin(self._data.class_numbers[rows], wanted)]

    def training(self, shots: int | None) -> tuple[Any, Any]:
        """Return so many samples of each base class; larger draws include smaller ones, and classes are independent."""
        rows = self._train
        if shots is not None:
            of_classes = shuffled_rows(rows, self._data.class_numbers, list(self._table), self._seed)
            rows = np.sort(np.concatenate([members[:shots] for members in of_classes]))
        return read_rows(self._data.X, rows), self._data.y[rows]

    def with_fewer_than(self, shots: int) -> list[Label]:
        """Return the base classes with fewer training samples."""
        counts = np.bincount(self._data.class_numbers[self._train], minlength=self._table.n_classes)
        return [label for label in self.base if counts[self._table.positions([label])[0]] < shots]

    def figures(self, model: Any, X: Any, y: Any, *, calibrated: bool = True) -> Figures:
        """Fit and calibrate a model, and test it."""
        model.fit(X, y, class_vectors=self._table.select([*self.base, *self.new]))
        if getattr(model, "interrupted_", False):  # after Ctrl-C a search keeps its best model so far
            raise KeyboardInterrupt
        if calibrated:
            self._calibrate(model, X, y)
        best = getattr(model, "best_estimator_", model)
        among_base, among_new = (best.recogniser(candidates=side) for side in (self.base, self.new))
        curve = generalized_curve(among_base, among_new, self._chunks())
        # an infinite bias recognises samples among the classes of their own half
        halves = Accuracies.of(curve.accuracies(-np.inf)[0], curve.accuracies(np.inf)[1])
        return Figures(
            base=halves.acc_seen,
            new=halves.acc_unseen,
            harmonic_mean=halves.harmonic_mean,
            seen_bias=best.seen_penalty_,
            generalized=Accuracies.of(*curve.accuracies(best.seen_penalty_)),
            uncalibrated=Accuracies.of(*curve.accuracies(0.0)),
            ausuc=curve.area(),
        )

    def _calibrate(self, model: Any, X: Any, y: Any) -> None:
        with warnings.catch_warnings(), contextlib.suppress(ValueError):  # too few classes or samples
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # from folds with one sample of each class
            model.calibrate(X, y, random_state=self._seed)

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        for rows in (self.test_base, self.test_new):
            for first in range(0, len(rows), _CHUNK):
                block = rows[first : first + _CHUNK]
                yield read_rows(self._data.X, block), self._data.y[block]


def _halved(labels: list[Label], base: Any, seed: int) -> tuple[list[Label], list[Label]]:
    """Return base and new classes, each in the order of the class vectors."""
    if len(labels) < 4:
        raise ValueError(
            f"{len(labels)} classes have training and test samples, but base to new needs four, two for each half"
        )
    half = (len(labels) + 1) // 2
    if isinstance(base, str):
        if base not in BASES:
            raise ValueError(f"base must be one of {', '.join(map(repr, BASES))} or a list of classes, but is {base!r}")
        order = np.arange(len(labels)) if base == BASES[0] else np.random.default_rng(seed).permutation(len(labels))
        chosen = {labels[i] for i in order[:half]}
    else:
        chosen = set(base)
        if missing := [label for label in chosen if label not in labels]:
            raise ValueError(f"base names {some(missing)}, which lack training or test samples")
    own = [label for label in labels if label in chosen]
    new = [label for label in labels if label not in chosen]
    if min(len(own), len(new)) < 2:
        raise ValueError(f"each half needs two classes, but there are {len(own)} base and {len(new)} new ones")
    return own, new
