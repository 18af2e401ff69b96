"""Metrics of zero-shot recognition.

All come in two kinds, and say which: per class (the mean over classes of the share within each class, as most of the
field reports) and per sample (the share of all samples).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from jcmspl.data.labels import Label, as_label_list, some, sorted_labels
from jcmspl.model.calibration import SeenUnseenCurve, generalized_curve
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import IntArray, one_of

__all__ = ["SeenUnseenCurve", "Tally", "accuracy", "confusion_matrix", "generalized_curve", "harmonic_mean", "hit_at_k"]


def harmonic_mean(acc_seen: float, acc_unseen: float) -> float:
    """Return 2ab / (a + b), the field's measure of generalized recognition; 0 if both are.

    Parameters
    ----------
    acc_seen, acc_unseen : float
        The accuracies on samples of seen and of unseen classes, among all classes.

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
    >>> from jcmspl.evaluation.metrics import accuracy
    >>> round(accuracy(["a", "a", "a", "b"], ["a", "a", "c", "c"]), 3)
    0.333
    >>> accuracy(["a", "a", "a", "b"], ["a", "a", "c", "c"], average="sample")
    0.5
    """
    return hit_at_k(y_true, [[label] for label in as_label_list(y_pred, "y_pred")], average=average)


def hit_at_k(y_true: Any, top_k: Any, *, average: str = "sample") -> float:
    """Return flat hit@k: how often the true label is among the k that were named.

    Parameters
    ----------
    y_true : array_like of shape (n_samples,)
    top_k : array_like of shape (n_samples, k)
        Labels, as predict_topk gives them.
    average : {"class", "sample"}, default "sample"

    Examples
    --------
    >>> from jcmspl.metrics import hit_at_k
    >>> hit_at_k(["a", "b"], [["a", "c"], ["c", "a"]])
    0.5
    """
    one_of(average, "average", ("class", "sample"))
    truth, named = as_label_list(y_true, "y_true"), [list(row) for row in top_k]
    if len(truth) != len(named):
        raise ValueError(f"there are {len(truth)} labels in y_true but {len(named)} predictions")
    if not truth:
        raise ValueError("there are no samples to be right or wrong about")
    tally = Tally(max(len(row) for row in named))
    tally.update(truth, named)
    return tally.per_class(tally.k) if average == "class" else tally.per_sample(tally.k)


def confusion_matrix(y_true: Any, y_pred: Any, labels: Any = None) -> tuple[IntArray, list[Label]]:
    """Count how often each class was taken for each other.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_samples,)
    labels : sequence, optional
        The classes and their order; by default all that occur, sorted.

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
    """Counts hits and confusions chunk by chunk; nothing in it grows with the number of samples.

    Parameters
    ----------
    k : int
        How many names each sample gets.

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
        # by rank of the true label; the last: not named at all
        self._hits: defaultdict[Label, IntArray] = defaultdict(lambda: np.zeros(k + 1, dtype=np.int64))

    def update(self, y_true: Any, top_k: Any) -> None:
        """Count samples with the labels that were named for them, best first."""
        for label, row in zip(as_label_list(y_true), top_k, strict=True):
            named = list(row)
            self._hits[label][named.index(label) if label in named else self.k] += 1
            self.confusions[label, named[0]] += 1

    def recognise(self, recogniser: Recogniser, X: Any, y: Any) -> list[list[Label]]:
        """Count samples with what they are taken for, and return that."""
        named: list[list[Label]] = recogniser.labels[recogniser.best(X, self.k)[0]].tolist()
        self.update(y, named)
        return named

    @property
    def counts(self) -> dict[Label, int]:
        """The number of samples of each class."""
        return {label: int(hits.sum()) for label, hits in self._hits.items()}

    def shares(self, k: int = 1) -> dict[Label, float]:
        """Return hit@k within each class."""
        return {label: float(hits[:k].sum() / hits.sum()) for label, hits in self._hits.items()}

    def per_class(self, k: int = 1) -> float:
        """Return hit@k, the mean over classes; for k = 1 the per-class accuracy."""
        return float(np.mean(list(self.shares(k).values()))) if self._hits else 0.0

    def per_sample(self, k: int = 1) -> float:
        """Return hit@k over all samples; for k = 1 the per-sample accuracy."""
        hits = sum(self._hits.values(), np.zeros(self.k + 1))
        return float(hits[:k].sum() / max(hits.sum(), 1))

    def worst_confusions(self, most: int = 10) -> list[tuple[Label, Label, int]]:
        """Return (true, predicted, how often) of the commonest mistakes."""
        wrong = [(true, named, count) for (true, named), count in self.confusions.items() if true != named]
        return sorted(wrong, key=lambda item: (-item[2], repr(item[:2])))[:most]

    def matrix(self, labels: Sequence[Label]) -> IntArray:
        """Return the confusion matrix of the given classes: rows are true ones, columns predicted ones."""
        number = {label: i for i, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (true, named), count in self.confusions.items():
            if true in number and named in number:
                counts[number[true], number[named]] += count
        return counts
