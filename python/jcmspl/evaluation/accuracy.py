"""Metrics of zero-shot recognition, and scorers for scikit-learn's cross-validation and searches.

Accuracies are per class (the mean over classes of the share within each class, as most papers report) or per sample
(the share of all samples).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from jcmspl.data.labels import Label, as_label_list, some, sorted_labels
from jcmspl.model.calibration import SeenUnseenCurve, generalized_curve
from jcmspl.model.known_classes import unseen_in
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import IntArray, as_count, one_of

__all__ = [
    "HarmonicMeanScorer",
    "SeenUnseenCurve",
    "Tally",
    "ZeroShotScorer",
    "accuracy",
    "confusion_matrix",
    "generalized_curve",
    "harmonic_mean",
    "hit_at_k",
]

_AVERAGES = ("class", "sample")


def harmonic_mean(acc_seen: float, acc_unseen: float) -> float:
    """Return 2ab / (a + b), the usual measure of generalized recognition; 0 if both are 0.

    Parameters
    ----------
    acc_seen, acc_unseen : float
        Accuracies on samples of seen and of unseen classes, recognised among all classes.

    Examples
    --------
    >>> from jcmspl.metrics import harmonic_mean
    >>> harmonic_mean(0.6, 0.3)
    0.4
    """
    total = acc_seen + acc_unseen
    return 2 * acc_seen * acc_unseen / total if total > 0 else 0.0


def accuracy(y_true: Any, y_pred: Any, *, average: str = "class") -> float:
    """Return the top-1 accuracy.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_samples,)
    average : {"class", "sample"}, default "class"

    Examples
    --------
    >>> from jcmspl.metrics import accuracy
    >>> round(accuracy(["a", "a", "a", "b"], ["a", "a", "c", "c"]), 3)
    0.333
    >>> accuracy(["a", "a", "a", "b"], ["a", "a", "c", "c"], average="sample")
    0.5
    """
    return hit_at_k(y_true, [[label] for label in as_label_list(y_pred, "y_pred")], average=average)


def hit_at_k(y_true: Any, top_k: Any, *, average: str = "sample") -> float:
    """Return flat hit@k: how often the true label is among k predicted ones.

    Parameters
    ----------
    y_true : array_like of shape (n_samples,)
    top_k : array_like of shape (n_samples, k)
        Labels, as from predict_topk.
    average : {"class", "sample"}, default "sample"

    Examples
    --------
    >>> from jcmspl.metrics import hit_at_k
    >>> hit_at_k(["a", "b"], [["a", "c"], ["c", "a"]])
    0.5
    """
    one_of(average, "average", _AVERAGES)
    truth, named = as_label_list(y_true, "y_true"), [list(row) for row in top_k]
    if len(truth) != len(named):
        raise ValueError(f"there are {len(truth)} labels in y_true but {len(named)} predictions")
    if not truth:
        raise ValueError("y_true is empty: an accuracy needs samples")
    tally = Tally(max(len(row) for row in named))
    tally.update(truth, named)
    return tally.per_class(tally.k) if average == "class" else tally.per_sample(tally.k)


def confusion_matrix(y_true: Any, y_pred: Any, labels: Any = None) -> tuple[IntArray, list[Label]]:
    """Count how often each class was predicted for each class.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_samples,)
    labels : sequence, optional
        The classes and their order (default: all that occur, sorted).

    Returns
    -------
    counts : ndarray of shape (n_classes, n_classes)
        Rows are true classes, columns predicted ones.
    labels : list

    Examples
    --------
    >>> from jcmspl.metrics import confusion_matrix
    >>> counts, labels = confusion_matrix(["a", "a", "b"], ["a", "b", "b"])
    >>> counts
    array([[1, 1],
           [0, 1]])
    >>> labels
    ['a', 'b']
    """
    truth, named = as_label_list(y_true, "y_true"), as_label_list(y_pred, "y_pred")
    if len(truth) != len(named):
        raise ValueError(f"there are {len(truth)} labels in y_true but {len(named)} in y_pred")
    found = dict.fromkeys([*truth, *named])
    order = sorted_labels(found) if labels is None else as_label_list(labels, "labels")
    known = set(order)
    if strangers := [label for label in found if label not in known]:
        raise ValueError(f"labels lacks {some(strangers)}")
    tally = Tally(1)
    tally.update(truth, [[label] for label in named])
    return tally.matrix(order), order


class Tally:
    """Counts of hits and confusions, updated chunk by chunk; its size does not depend on the number of samples.

    Parameters
    ----------
    k : int
        The number of predicted labels for each sample.

    Examples
    --------
    >>> from jcmspl.metrics import Tally
    >>> tally = Tally(k=2)
    >>> tally.update(["a", "a", "b"], [["a", "b"], ["b", "a"], ["c", "a"]])
    >>> tally.per_class(1), tally.per_class(2)
    (0.25, 0.5)
    >>> tally.worst_confusions(1)
    [('a', 'b', 1)]
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self.confusions: Counter[tuple[Label, Label]] = Counter()  # (true, predicted)
        # by the rank of the true label; the last: not predicted
        self._hits: defaultdict[Label, IntArray] = defaultdict(lambda: np.zeros(k + 1, dtype=np.int64))

    def update(self, y_true: Any, top_k: Any) -> None:
        """Count samples by their true label and their k predicted ones, best first."""
        for label, row in zip(as_label_list(y_true), top_k, strict=True):
            named = list(row)
            self._hits[label][named.index(label) if label in named else self.k] += 1
            self.confusions[label, named[0]] += 1

    def recognise(self, recogniser: Recogniser, X: Any, y: Any) -> list[list[Label]]:
        """Predict samples, count them and return the predictions."""
        named: list[list[Label]] = recogniser.labels[recogniser.best(X, self.k)[0]].tolist()
        self.update(y, named)
        return named

    @property
    def counts(self) -> dict[Label, int]:
        """Number of samples of each class."""
        return {label: int(hits.sum()) for label, hits in self._hits.items()}

    def shares(self, k: int = 1) -> dict[Label, float]:
        """Return hit@k within each class."""
        return {label: float(hits[:k].sum() / hits.sum()) for label, hits in self._hits.items()}

    def per_class(self, k: int = 1) -> float:
        """Return the mean of hit@k over classes; for k = 1 the per-class accuracy."""
        return float(np.mean(list(self.shares(k).values()))) if self._hits else 0.0

    def per_sample(self, k: int = 1) -> float:
        """Return hit@k over all samples; for k = 1 the per-sample accuracy."""
        hits = sum(self._hits.values(), np.zeros(self.k + 1))
        return float(hits[:k].sum() / max(hits.sum(), 1))

    def worst_confusions(self, most: int = 10) -> list[tuple[Label, Label, int]]:
        """Return the most frequent mistakes as (true, predicted, count)."""
        return self._mistakes()[:most]

    def commonest_mistakes(self) -> dict[Label, tuple[Label, int]]:
        """Return the class most often predicted instead of each class with mistakes, and how often."""
        return {true: (named, count) for true, named, count in reversed(self._mistakes())}

    def _mistakes(self) -> list[tuple[Label, Label, int]]:
        wrong = [(true, named, count) for (true, named), count in self.confusions.items() if true != named]
        return sorted(wrong, key=lambda item: (-item[2], repr(item[:2])))

    def matrix(self, labels: Sequence[Label]) -> IntArray:
        """Return the confusion matrix of the given classes: rows are true classes, columns predicted ones."""
        number = {label: i for i, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (true, named), count in self.confusions.items():
            if true in number and named in number:
                counts[number[true], number[named]] += count
        return counts


@dataclass(frozen=True)
class ZeroShotScorer:
    """Zero-shot accuracy: samples of unseen classes are recognised among the unseen classes in y.

    Samples of training classes are left out. Pass it as ``scoring=`` to scikit-learn's functions, for models of this
    package, searches, and pipelines that end with one.

    Parameters
    ----------
    average : {"class", "sample"}, default "class"
        The mean over classes of the share within each, or the share of all samples.
    k : int, default 1
        A sample counts as recognised if its class is among the k best (hit@k).

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from jcmspl import JCMSPL, ClassKFold
    >>> from jcmspl.datasets import load_digits
    >>> from jcmspl.metrics import ZeroShotScorer
    >>> digits = load_digits()
    >>> X, y = digits.part("trainval")
    >>> how = {"cv": ClassKFold(2), "params": {"class_vectors": digits.classes}}
    >>> cross_val_score(JCMSPL(), X, y, scoring=ZeroShotScorer(average="sample"), **how).shape
    (2,)
    """

    average: str = "class"
    k: int = 1

    def __post_init__(self) -> None:
        one_of(self.average, "average", _AVERAGES)
        as_count(self.k, "k")

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted model on labelled samples."""
        model, samples = _model_and_samples(estimator, X)
        labels, unseen = _labels_and_unseen(model, y)
        rows = [row for row, label in enumerate(labels) if label in set(unseen)]
        named = model.predict_topk(_safe_indexing(samples, rows), self.k, candidates=unseen)
        return hit_at_k([labels[row] for row in rows], named.tolist(), average=self.average)


@dataclass(frozen=True)
class HarmonicMeanScorer:
    """Generalized recognition: the harmonic mean of the accuracies on seen and on unseen classes.

    Candidates are the training classes of the model and the unseen classes in y, with the model's own bias on training
    classes. y must hold samples of both kinds, as with ``ClassKFold(test_seen=0.2)``. Pass it as ``scoring=`` to
    scikit-learn's functions, like :class:`ZeroShotScorer`.

    Parameters
    ----------
    average : {"class", "sample"}, default "class"
        Of each accuracy: the mean over classes of the share within each, or the share of all samples.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from jcmspl import JCMSPL, ClassKFold
    >>> from jcmspl.datasets import load_digits
    >>> from jcmspl.metrics import HarmonicMeanScorer
    >>> digits = load_digits()
    >>> X, y = digits.part("trainval")
    >>> how = {"cv": ClassKFold(2, test_seen=0.2), "params": {"class_vectors": digits.classes}}
    >>> cross_val_score(JCMSPL(seen_penalty=0.1), X, y, scoring=HarmonicMeanScorer(), **how).shape
    (2,)
    """

    average: str = "class"

    def __post_init__(self) -> None:
        one_of(self.average, "average", _AVERAGES)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted model on labelled samples."""
        model, samples = _model_and_samples(estimator, X)
        labels, unseen = _labels_and_unseen(model, y)
        trained = model.classes_.tolist()
        named = model.predict(samples, candidates=[*trained, *unseen]).tolist()
        return harmonic_mean(*(self._accuracy(labels, named, kind) for kind in (trained, unseen)))

    def _accuracy(self, labels: list[Label], named: list[Label], kind: Sequence[Label]) -> float:
        among = set(kind)
        pairs = [(label, name) for label, name in zip(labels, named, strict=True) if label in among]
        if not pairs:
            raise ValueError(
                "y holds no samples of training classes, but a harmonic mean needs samples of seen and of unseen "
                "classes: split with cv=ClassKFold(test_seen=0.2)"
            )
        return accuracy(*zip(*pairs, strict=True), average=self.average)


def _model_and_samples(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the final model of a search or pipeline, and the samples transformed for it."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    samples = estimator[:-1].transform(X) if len(estimator) > 1 else X
    return _model_and_samples(estimator[-1], samples)


def _labels_and_unseen(model: Any, y: Any) -> tuple[list[Label], list[Label]]:
    labels = as_label_list(y)
    unseen = unseen_in(labels, model.class_table_, model.classes_.tolist())
    if not unseen:
        raise ValueError(
            "y holds only training classes, but the score needs samples of unseen ones: split with cv=ClassKFold()"
        )
    return labels, unseen
