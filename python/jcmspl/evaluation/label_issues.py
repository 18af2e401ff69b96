"""Wrong labels: samples whose class is contradicted by models that were not trained on them.

Each fold of samples is recognised, among the training classes, by a model of the other folds. Scores become
probabilities by the one temperature that fits all of them best (log loss), wrong labels included. A wrong label has a
tiny probability, since the other samples of both classes speak against it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array, numbered, some, sorted_labels
from jcmspl.data.reading import finite_samples
from jcmspl.methods.jcmspl import JCMSPL
from jcmspl.support.arguments import Float64Array, IntArray, as_count
from jcmspl.support.progress import Progress
from jcmspl.support.shown import quoted

# Samples that are recognised at a time.
_BLOCK = 8192
# Scores of other classes that are kept of each sample: the best, which decide the probability of its own.
_MOST_OTHERS = 64
# A label with less probability is probably wrong. With 5 and 10 % of the labels of six data sets changed at random, 69
# to 98 % of these are changed ones, and 83 to 99 % of the changed ones are among these (bench/labels.py).
_SUSPICIOUS = 0.01
# Logarithms of temperatures, in units of the spread of the differences of scores.
_TEMPERATURES = (-8.0, 4.0)


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """Samples in the order in which their labels are worth a look, the most suspicious first.

    Attributes
    ----------
    indices : ndarray of int
        Row numbers of all judged samples.
    given : ndarray
        Their labels.
    suggested : ndarray
        The best other class.
    probabilities : ndarray
        The probabilities of the given labels: the lower, the more suspicious.
    is_recognised : ndarray of bool
        Whether the given class has the best score.
    n_issues : int
        How many of them, counted from the first, are probably wrong: a label with a probability below 1 %.
    n_samples : int
    not_judged : ndarray of int
        Rows whose class has a single sample, so that a model of the others does not know it.
    n_rows : int or None
        The length of :meth:`mask`, where indices are row numbers of a larger array; None: n_samples.

    Examples
    --------
    >>> from jcmspl.checks import find_label_issues
    >>> from jcmspl.datasets import make_zsl
    >>> X, y = make_zsl(n_seen=10, n_unseen=2, random_state=0).part("train")
    >>> wrong = y.copy()
    >>> wrong[5] = y[-1]
    >>> issues = find_label_issues(X, wrong)
    >>> int(issues.indices[0]), bool(issues.suggested[0] == y[5])
    (5, True)
    """

    indices: IntArray
    given: LabelArray
    suggested: LabelArray
    probabilities: Float64Array
    is_recognised: npt.NDArray[np.bool_]
    n_issues: int
    n_samples: int
    not_judged: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_rows: int | None = None

    def __len__(self) -> int:
        return self.n_issues

    def __iter__(self) -> Iterator[int]:
        """Give the row numbers of the probable issues."""
        return iter(self.indices[: self.n_issues].tolist())

    def __repr__(self) -> str:
        return f"<LabelIssues: {self.n_issues} of {self.n_samples} labels are probably wrong>"

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which samples have probable issues, a truth value for each sample."""
        found = np.zeros(self.n_samples if self.n_rows is None else self.n_rows, dtype=bool)
        found[self.indices[: self.n_issues]] = True
        return found

    def recognised(self) -> dict[Label, float]:
        """Return the share of each class's judged samples for which the models give its own label."""
        total, right = Counter(self.given.tolist()), Counter(self.given[self.is_recognised].tolist())
        return {label: right[label] / count for label, count in total.items()}

    def to_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return the probable issues as dicts, the most suspicious first, at most so many."""
        stop = self.n_issues if most is None else min(as_count(most, "most", minimum=0), self.n_issues)
        names = ("index", "given", "suggested", "probability")
        columns = (self.indices, self.given, self.suggested, self.probabilities)
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*(column[:stop].tolist() for column in columns), strict=True)
        ]


def find_label_issues(
    X: Any,
    y: Any,
    *,
    class_vectors: Any = None,
    model: Any = None,
    n_splits: int = 5,
    random_state: Any = 0,
    progress: bool = False,
) -> LabelIssues:
    """Find samples whose label is probably wrong, by models that were not trained on them.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        An array, a memory map or an array of dask.
    y : array_like of shape (n_samples,)
        The labels to check.
    class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like, optional
        As for ``fit``. They help where classes have few samples.
    model : estimator, optional
        A method with its parameters; a copy is fitted for each fold. By default ``JCMSPL()``.
    n_splits : int, default 5
        The number of folds; each class is spread over them evenly.
    random_state : int, RandomState or None, default 0
        Seed of the folds.
    progress : bool, default False
        Whether to show progress on a terminal.

    Returns
    -------
    issues : LabelIssues
    """
    template = judge(model)
    labels, X = as_label_list(y), finite_samples(X)
    if len(labels) != len(X):
        raise ValueError(f"there are {len(X)} samples in X but {len(labels)} labels in y")
    classes = sorted_labels(dict.fromkeys(labels))
    numbers = numbered(labels, classes)
    counts = np.bincount(numbers, minlength=1)
    if (counts > 1).sum() < 2:
        raise ValueError(
            f"y holds {(counts > 1).sum()} classes of two samples or more ({some(classes)} in all): a label is checked "
            "by other samples of its class, against those of other classes, so there must be two of these classes"
        )
    judged = np.flatnonzero(counts[numbers] > 1)
    own, suggested = np.empty(len(labels)), np.empty(len(labels), dtype=np.int64)
    others = np.full((len(labels), min(_MOST_OTHERS, len(classes) - 1)), -np.inf)
    folds = list(_folds(numbers[judged], as_count(n_splits, "n_splits", minimum=2), random_state))
    with Progress("checking labels", len(folds), "folds", enabled=progress) as shown:
        for number, (train, test) in enumerate(folds):
            with warnings.catch_warnings():
                if number:
                    warnings.simplefilter("ignore")  # the first fold has said it
                rows = judged[train]
                fitted = clone(template).fit(_rows(X, rows), [labels[i] for i in rows], class_vectors=class_vectors)
            known = sorted_labels(fitted.classes_.tolist())
            places = numbered(known, classes)
            for block in np.array_split(judged[test], max(1, -(-len(test) // _BLOCK))):
                scores = np.asarray(fitted.decision_function(_rows(X, block), candidates=known), dtype=np.float64)
                own[block], best, values = _split(scores, numbered([labels[i] for i in block], known))
                suggested[block] = places[best]
                others[block, : values.shape[1]] = values[:, : others.shape[1]]
            shown.update(number + 1)
    probabilities = _probabilities(own[judged], others[judged])
    order = np.argsort(probabilities, kind="stable")
    rows = judged[order]
    return LabelIssues(
        rows,
        label_array([labels[i] for i in rows]),
        label_array([classes[i] for i in suggested[rows]]),
        probabilities[order],
        own[rows] > others[rows, 0],
        int((probabilities < _SUSPICIOUS).sum()),
        len(labels),
        np.flatnonzero(counts[numbers] == 1),
    )


def judge(model: Any) -> Any:
    """Return an unfitted copy of the method that judges, by default ``JCMSPL()``."""
    if model is None:
        return JCMSPL(progress=False)
    if isinstance(model, type) or not (
        hasattr(model, "decision_function") and "class_vectors" in signature(model.fit).parameters
    ):
        kind = quoted(model) if isinstance(model, str) else type(model).__name__
        raise ValueError(f"model must be a method of jcmspl or a search, such as JCMSPL(), but is {kind}")
    return clone(model)


def _folds(numbers: IntArray, n_splits: int, random_state: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Give the rows of each fold, in which every class is spread evenly."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    n_splits = min(n_splits, int(np.bincount(numbers).max()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # it is in some of the folds
        yield from StratifiedKFold(n_splits, shuffle=True, random_state=random_state).split(numbers, numbers)


def _rows(X: Any, rows: IntArray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _split(scores: Float64Array, own: IntArray) -> tuple[Float64Array, IntArray, Float64Array]:
    """Return the scores of the samples' own classes, the best other classes, and the best scores of these."""
    rows = np.arange(len(scores))
    given = scores[rows, own]
    scores[rows, own] = -np.inf
    best = scores.argmax(axis=1)
    return given, best, -np.sort(-scores, axis=1)[:, :-1]


def _probabilities(own: Float64Array, others: Float64Array) -> Float64Array:
    """Return the probabilities of the given labels, at the temperature with the least log loss."""
    gaps = others - own[:, None]
    unit = float(np.std(gaps[np.isfinite(gaps)])) or 1.0

    def logs(log_temperature: float) -> Float64Array:
        return np.asarray(-logsumexp(np.c_[np.zeros(len(gaps)), gaps / (unit * np.exp(log_temperature))], axis=1))

    found = minimize_scalar(lambda value: -logs(value).mean(), bounds=_TEMPERATURES, method="bounded")
    return np.asarray(np.exp(logs(float(found.x))))
