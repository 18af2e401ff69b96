"""What scikit-learn's cross-validation and searches over classes are to measure: ``scoring=...``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from jcmspl.data.labels import Label, as_label_list
from jcmspl.evaluation.metrics import accuracy, harmonic_mean, hit_at_k
from jcmspl.model.candidates import unseen_in
from jcmspl.support.arguments import as_count, one_of

__all__ = ["HarmonicMeanScorer", "ZeroShotScorer"]

_AVERAGES = ("class", "sample")


@dataclass(frozen=True)
class ZeroShotScorer:
    """Zero-shot accuracy: samples of unseen classes are recognised among the unseen classes in y.

    Samples of classes that the model was trained on are left out. For ``scoring=`` of scikit-learn's functions, with
    models of this package, searches, and pipelines that end with one.

    Parameters
    ----------
    average : {"class", "sample"}, default "class"
        The mean over classes of the share within each, or the share of all samples.
    k : int, default 1
        Whether the class is among the k best: hit@k.

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

    Candidates are the classes that the model was trained on and the unseen classes in y; the bias on the former is that
    of the model (``seen_penalty``, or as calibrated). y must hold samples of both kinds: ``ClassKFold(test_seen=0.2)``
    sees to that. For ``scoring=`` of scikit-learn's functions, as :class:`ZeroShotScorer`.

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
                "y holds no samples of classes that the model was trained on, but a harmonic mean needs samples of "
                "both kinds: ClassKFold(test_seen=0.2) keeps some of the former for testing"
            )
        return accuracy(*zip(*pairs, strict=True), average=self.average)


def _model_and_samples(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the model that a search has chosen, or a pipeline ends with, and the samples as it takes them."""
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
            "y holds only classes that the model was trained on, and nothing that is unseen: split with cv=ClassKFold()"
        )
    return labels, unseen
